//===- SortKernel.cpp - Lines in order ------------------------------------===//
//
// Where a line lies along the last axis and its elements have at most 32 bits, each becomes a
// word that integers compare like elements do, its place in the lower half. The line of
// the result that takes the places holds these words while the runtime sorts them
// (lib/Runtime/Sort.c), and gives then both results: the value is where the place says. Of
// more than a few first elements of a line that fits the stack, the words lie there.
//
// Other lines are sorted as a heap (Common/OrderedLine.cpp), without any memory but the
// results.
//
//===----------------------------------------------------------------------===//
#include "SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/NarrowTypes.h"
#include "tcc/Dialect/Prim/Signedness.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

constexpr unsigned kKeyBits = 32;

static bool ordersLargest(Operation *op) {
  auto sort = dyn_cast<prim::SortOp>(op);
  return sort ? sort.getDescending() : cast<prim::TopKOp>(op).getLargest();
}

bool tcc::codegen::sortsWords(Operation *op, const CpuTarget &cpu) {
  // The first k elements take in k log(n / k) of n in no order, each in a few instructions where
  // they fit registers (Common/FirstOfLine.cpp): few, and more of long lines.
  constexpr int64_t most = 8192, few = 8, more = 16, longLine = 16;
  int64_t many = 4 * int64_t(cpu.lanes(kKeyBits));
  if (!isa<prim::SortOp, prim::TopKOp>(op))
    return false;
  auto [x, axis] = *lineAxis(op);
  auto type = cast<RankedTensorType>(x.getType());
  int64_t extent = type.getShape().back();
  bool open = ShapedType::isDynamic(extent);
  if (axis + 1 != type.getRank() || (!open && extent >= int64_t(1) << kKeyBits) ||
      computeType(type.getElementType()).getIntOrFloatBitWidth() > kKeyBits)
    return false;
  int64_t kept = cast<RankedTensorType>(op->getResult(0).getType()).getShape().back();
  bool keeps = kept < few || (kept <= more && extent >= 2 * kept) ||
               (kept <= many && extent >= longLine * kept);
  return isa<prim::SortOp>(op) || (!open && extent <= most && !keeps);
}

namespace {

/// Integers of some width, in as many lanes as there are at hand.
struct Lanes {
  LaunchFrame &f;
  Type of(unsigned bits) {
    Type type = f.b.getIntegerType(bits);
    return f.e.lanes() > 1 ? Type(VectorType::get({f.e.lanes()}, type)) : type;
  }
  Value constant(int64_t v, unsigned bits) {
    Value one = arith::ConstantOp::create(f.b, f.b.getIntegerAttr(f.b.getIntegerType(bits), v));
    return f.e.lanes() > 1 ? f.e.splat(one, f.e.lanes()) : one;
  }
};

} // namespace

/// 32 bits that compare, unsigned, as the elements do: NaN comes last, and zeros are equal.
static Value keyOf(LaunchFrame &f, Value v, Type e, bool descending) {
  Lanes lanes{f};
  Value key, signBit = lanes.constant(int64_t(1) << (kKeyBits - 1), kKeyBits);
  if (isa<FloatType>(e)) {
    Value bits = arith::BitcastOp::create(f.b, lanes.of(kKeyBits), v);
    Value zero = arith::ConstantOp::create(f.b, cast<TypedAttr>(f.b.getZeroAttr(v.getType())));
    auto compare = [&](arith::CmpFPredicate p, Value x, Value y) {
      return arith::CmpFOp::create(f.b, p, x, y);
    };
    bits = arith::SelectOp::create(f.b, compare(arith::CmpFPredicate::OEQ, v, zero),
                                   lanes.constant(0, kKeyBits), bits);
    Value sign = arith::ShRSIOp::create(f.b, bits, lanes.constant(kKeyBits - 1, kKeyBits));
    key = arith::XOrIOp::create(f.b, bits, arith::OrIOp::create(f.b, sign, signBit));
    key = arith::SelectOp::create(f.b, compare(arith::CmpFPredicate::UNO, v, v),
                                  lanes.constant(-1, kKeyBits), key);
  } else {
    bool isUnsigned = prim::isUnsigned(e), narrow = v.getType() != lanes.of(kKeyBits);
    key = !narrow      ? v
          : isUnsigned ? Value(arith::ExtUIOp::create(f.b, lanes.of(kKeyBits), v))
                       : Value(arith::ExtSIOp::create(f.b, lanes.of(kKeyBits), v));
    if (!isUnsigned)
      key = arith::XOrIOp::create(f.b, key, signBit);
  }
  return descending ? Value(arith::XOrIOp::create(f.b, key, lanes.constant(-1, kKeyBits))) : key;
}

/// The runtime's function.
static LLVM::LLVMFuncOp sortWords(KernelFrame &f) {
  constexpr StringLiteral name = "tcc_sort_words";
  auto module = f.function->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  MLIRContext *context = b.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type();
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, i64, pointer, i64});
  return LLVM::LLVMFuncOp::create(b, f.function.getLoc(), name, type);
}

/// A line of words for all lines of a thread.
static Memory wordsOnStack(KernelFrame &f, Value length) {
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(&f.function.getBody().front());
  Type i64 = f.b.getI64Type();
  Value count = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(*getConstantIntValue(length)));
  Value pointer = LLVM::AllocaOp::create(f.b, LLVM::LLVMPointerType::get(f.b.getContext()), i64,
                                         count, /*alignment=*/64);
  return {pointer, {length}, i64};
}

/// What lies where a line of `memory` begins, whose other indices `at` has.
static Value lineOf(KernelFrame &f, const Memory &memory, ArrayRef<Coord> at) {
  Value first = f.e.index(0);
  for (auto [extent, c] : llvm::zip_equal(memory.extents, at))
    first = f.e.addIndex(f.e.mulIndex(first, extent), c.base);
  Value offset = arith::IndexCastOp::create(f.b, f.b.getI64Type(), first);
  return LLVM::GEPOp::create(f.b, memory.pointer.getType(), storageType(memory.elementType),
                             memory.pointer, ArrayRef<LLVM::GEPArg>{offset});
}

void tcc::codegen::emitSortedLine(KernelFrame &f, Operation *op, Coords at, Value length) {
  auto [x, axis] = *lineAxis(op);
  auto type = cast<RankedTensorType>(x.getType());
  bool all = isa<prim::SortOp>(op);
  Memory words = all ? f.results[1] : wordsOnStack(f, length);
  auto along = [&, axis = axis](Value i) {
    Coords point(at);
    point[axis] = Coord::affine(i, f.e.lanes() > 1 ? 1 : 0);
    return point;
  };
  auto wordAt = [&](Value i) {
    return all ? along(i) : Coords(ArrayRef<Coord>(along(i)).take_back(1));
  };
  unsigned lanes = lanesFor(f.cpu.lanes(32), type.getShape().back());
  f.vectorLoop(f.e.index(0), length, lanes, true, [&, x = x](Value i) {
    Value v = f.e.evalVector(x, along(i));
    f.failed |= !v;
    if (!v)
      return;
    Lanes wide{f};
    Value key = keyOf(f, v, type.getElementType(), ordersLargest(op));
    key = arith::ExtUIOp::create(f.b, wide.of(64), key);
    Value place = f.e.coordValue(wordAt(i).back());
    place = arith::IndexCastOp::create(f.b, wide.of(64), place);
    Value high = arith::ShLIOp::create(f.b, key, wide.constant(kKeyBits, 64));
    f.e.store(words, wordAt(i), arith::OrIOp::create(f.b, high, place));
  });
  Value count = arith::IndexCastOp::create(f.b, f.b.getI64Type(), length), none = f.e.index(0);
  // The values' own line is room until they are known.
  int64_t bytes = all ? storageType(type.getElementType()).getIntOrFloatBitWidth() / 8 : 0;
  Value room = arith::MulIOp::create(f.b, count,
                                     arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(bytes)));
  LLVM::CallOp::create(f.b, sortWords(f),
                       ValueRange{lineOf(f, words, wordAt(none)), count,
                                  lineOf(f, f.results[0], along(none)), room});
  f.loop(none, f.results[0].extents[axis], 1, [&, x = x](Value i) {
    Value mask =
        arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr((int64_t(1) << kKeyBits) - 1));
    Value place = arith::AndIOp::create(f.b, f.e.load(words, wordAt(i)), mask);
    f.e.store(f.results[1], along(i), place);
    Value v = f.e.eval(x, along(arith::IndexCastOp::create(f.b, f.b.getIndexType(), place)));
    f.failed |= !v;
    if (v)
      f.e.store(f.results[0], along(i), v);
  });
}
