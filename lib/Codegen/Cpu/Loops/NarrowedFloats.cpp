//===- NarrowedFloats.cpp - Floats that become bytes ----------------------===//
//
// A float becomes a byte by way of an integer of 32 bits, clamped to what that holds, of which the
// lowest bits are taken (ElementalCast.cpp). x86's conversion gives the lowest integer for all that
// no integer stands for, and the lowest bits of that are 0: those of the lower bound, and of what
// is no number. So only what is too high is looked at.
//
// AVX2 packs two registers into one within their halves. After two packings, one permutation puts
// the bytes in order; LLVM puts them in order after each.
//
//===----------------------------------------------------------------------===//
#include "NarrowedFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tcc;

constexpr double kLowest = -0x1p31, kAbove = 0x1p31;

static bool isSplat(Value v, double number) {
  llvm::APFloat known(0.0f);
  return matchPattern(v, m_ConstantFloat(&known)) && known.convertToDouble() == number;
}

/// The condition of `select` as a comparison by `predicate` with `bound`; what is compared, or
/// null.
static Value comparedWith(arith::SelectOp select, arith::CmpFPredicate predicate, double bound) {
  auto test = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  bool fits = test && test.getPredicate() == predicate && isSplat(test.getRhs(), bound);
  return fits ? test.getLhs() : Value();
}

/// The vector of floats whose 32-bit integers, in their lowest bits, `words` has: clamped from
/// below to the lowest integer, and from above to the highest (or, of f32, to -1).
static Value clampedFloats(Value words) {
  using P = arith::CmpFPredicate;
  auto converted = words.getDefiningOp<arith::FPToSIOp>();
  auto isUsed = [](Operation *user) { return !user->use_empty(); };
  if (!converted || llvm::count_if(converted->getUsers(), isUsed) != 1)
    return {};
  auto high = converted.getIn().getDefiningOp<arith::SelectOp>();
  if (!high)
    return {};
  bool isF32 = getElementTypeOrSelf(converted.getIn()).isF32();
  Value x = isF32 ? comparedWith(high, P::OGE, kAbove) : Value();
  auto low = (isF32 ? high.getFalseValue() : high.getTrueValue()).getDefiningOp<arith::SelectOp>();
  Value above = comparedWith(low, P::OGT, kLowest);
  bool isLow = above && low.getTrueValue() == above && isSplat(low.getFalseValue(), kLowest);
  if (!isLow)
    return {};
  if (isF32)
    return x == above && isSplat(high.getTrueValue(), -1.0) ? above : Value();
  bool isHigh = comparedWith(high, P::OLT, kAbove - 1) == low.getResult() &&
                isSplat(high.getFalseValue(), kAbove - 1);
  return isHigh && getElementTypeOrSelf(above).isF64() ? above : Value();
}

namespace {

struct Narrowing {
  ImplicitLocOpBuilder &b;
  Value lanes(Value v, int64_t first, int64_t count) {
    return vector::ExtractStridedSliceOp::create(b, v, ArrayRef(first), ArrayRef(count),
                                                 ArrayRef<int64_t>(1));
  }
  Value call(StringRef name, int64_t lanes, Type element, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, VectorType::get({lanes}, element),
                                         b.getStringAttr(name), operands)
        .getResult(0);
  }
  Value splat(TypedAttr element, int64_t lanes) {
    auto type = VectorType::get({lanes}, element.getType());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, element));
  }
  Value words(Value x, int64_t first);
  Value bytes(Value x, int64_t first);
};

} // namespace

/// Integers of 8 floats from `first` on, right in their lowest bits.
Value Narrowing::words(Value x, int64_t first) {
  Type i32 = b.getI32Type();
  if (getElementTypeOrSelf(x).isF32()) {
    Value v = lanes(x, first, 8);
    Value high =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, v, splat(b.getF32FloatAttr(kAbove), 8));
    high = arith::ExtSIOp::create(b, VectorType::get({8}, i32), high);
    return arith::OrIOp::create(b, call("llvm.x86.avx.cvtt.ps2dq.256", 8, i32, v), high);
  }
  // Of two operands, one of which is no number, the instruction gives the second.
  Value most = splat(b.getF64FloatAttr(kAbove - 1), 4);
  auto half = [&](int64_t from) {
    Value v = call("llvm.x86.avx.min.pd.256", 4, b.getF64Type(), {most, lanes(x, from, 4)});
    return call("llvm.x86.avx.cvtt.pd2dq.256", 4, i32, v);
  };
  return vector::ShuffleOp::create(b, half(first), half(first + 4),
                                   llvm::to_vector(llvm::seq<int64_t>(0, 8)));
}

/// 32 bytes of floats from `first` on.
Value Narrowing::bytes(Value x, int64_t first) {
  Value lowest = splat(b.getI32IntegerAttr(255), 8);
  auto packed = [&](int64_t from) {
    auto part = [&](int64_t at) -> Value { return arith::AndIOp::create(b, words(x, at), lowest); };
    return call("llvm.x86.avx2.packusdw", 16, b.getI16Type(), {part(from), part(from + 8)});
  };
  Value mixed =
      call("llvm.x86.avx2.packuswb", 32, b.getI8Type(), {packed(first), packed(first + 16)});
  mixed = vector::BitCastOp::create(b, VectorType::get({8}, b.getI32Type()), mixed);
  mixed = vector::ShuffleOp::create(b, mixed, mixed, ArrayRef<int64_t>{0, 4, 1, 5, 2, 6, 3, 7});
  return vector::BitCastOp::create(b, VectorType::get({32}, b.getI8Type()), mixed);
}

void tcc::codegen::narrowFloats(func::FuncOp function, const CpuTarget &cpu) {
  constexpr int64_t kLanes = 32; // of bytes in a register
  bool hasAvx2 = llvm::is_contained(llvm::split(cpu.required, ','), StringRef("avx2"));
  if (!hasAvx2 || cpu.maskedMemory)
    return;
  function.walk([&](arith::TruncIOp op) {
    auto type = dyn_cast<VectorType>(op.getType());
    Value x = type && type.getElementType().isInteger(8) ? clampedFloats(op.getIn()) : Value();
    if (!x || type.getNumElements() % kLanes != 0)
      return;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Narrowing narrowing{b};
    Value all;
    for (int64_t first = 0; first < type.getNumElements(); first += kLanes) {
      Value part = narrowing.bytes(x, first);
      if (type.getNumElements() == kLanes) {
        all = part;
        break;
      }
      if (!all)
        all = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
      all =
          vector::InsertStridedSliceOp::create(b, part, all, ArrayRef(first), ArrayRef<int64_t>(1));
    }
    op.replaceAllUsesWith(all);
  });
}
