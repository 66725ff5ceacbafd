//===- SortKernel.cpp - Lines in order ------------------------------------===//
//
// Where a line lies along the last axis, each element becomes a word that integers compare like
// elements do, its place in the lower half. The line of the result that takes the places holds
// these words while the runtime sorts them (lib/Runtime/Sort.c), and gives then both results: the
// value is where the place says. Of more than a few first elements of a line, those are selected
// first (SelectedElement.cpp), unless they are most of a line that fits the stack: its words lie
// there.
//
// A small part of a line is kept on the stack while the line is looked through: of an element that
// comes behind as many as are asked for nothing is stored, and most are soon told to be such by one
// comparison with the last of those. When the stack is full of others, it is sorted, and what is
// behind is dropped. It has as much room again as it keeps, so that even where all elements come
// before what was kept by then each is sorted twice on average.
//
// Elements of 64 bits are sorted by their upper halves, and then those of each run whose upper
// halves are equal by their lower ones: few runs of numbers in no order, and one of small integers.
//
// Other lines are sorted as a heap (Common/OrderedLine.cpp), without any memory but the
// results.
//
//===----------------------------------------------------------------------===//
#include "../SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/OrderKey.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static bool ordersLargest(Operation *op) {
  auto sort = dyn_cast<prim::SortOp>(op);
  return sort ? sort.getDescending() : cast<prim::TopKOp>(op).getLargest();
}

/// Whether the first `kept` of a line are kept in order while it is looked through
/// (Common/FirstOfLine.cpp): they take in k log(n / k) of n in no order, each in a few instructions
/// where they fit registers. Few, and more of long lines.
static bool keepsFirst(int64_t kept, int64_t extent, bool wide, const CpuTarget &cpu) {
  constexpr int64_t few = 8, more = 16, longLine = 16;
  int64_t many = 4 * int64_t(cpu.lanes(kKeyBits));
  bool open = ShapedType::isDynamic(extent);
  return !ShapedType::isDynamic(kept) &&
         (kept < few || (kept <= more && (open || extent >= 2 * kept)) ||
          (!wide && !open && kept <= many && extent >= longLine * kept));
}

constexpr int64_t kOnStack = 8192; ///< words, all of which are sorted where most are kept

/// The words on the stack among which the first of lines are kept; 0: they are found otherwise.
static int64_t roomOfFirst(Operation *op, const CpuTarget &cpu) {
  constexpr int64_t kShare = 128, kMost = 1024, kFewMore = 128;
  auto top = dyn_cast<prim::TopKOp>(op);
  if (!top)
    return 0;
  RankedTensorType type = tensorType(top.getX());
  Type element = type.getElementType();
  int64_t extent = type.getShape().back();
  int64_t kept = tensorType(top.getValues()).getShape().back();
  bool open = ShapedType::isDynamic(extent);
  bool fits = !ShapedType::isDynamic(kept) && kept <= kMost &&
              (open || (extent >= kShare * kept && extent < int64_t(1) << kKeyBits));
  if (int64_t(top.getAxis()) + 1 != type.getRank() || !fits || hasWideKeys(element) ||
      computeType(element).getIntOrFloatBitWidth() < 8 || keepsFirst(kept, extent, false, cpu))
    return 0;
  return kept + std::max(kept, kFewMore);
}

bool tcc::codegen::boundsFirst(Operation *op, const CpuTarget &cpu) {
  return roomOfFirst(op, cpu) != 0;
}

bool tcc::codegen::selectsFirst(Operation *op, const CpuTarget &cpu) {
  constexpr int64_t kShare = 3;
  auto top = dyn_cast<prim::TopKOp>(op);
  if (!top)
    return false;
  RankedTensorType type = tensorType(top.getX());
  int64_t extent = type.getShape().back();
  int64_t kept = tensorType(top.getValues()).getShape().back();
  bool open = ShapedType::isDynamic(extent);
  bool isMost = !ShapedType::isDynamic(kept) && kShare * kept > extent;
  if (!open && extent <= kOnStack && isMost)
    return false;
  bool fits = open || extent < int64_t(1) << kKeyBits;
  return int64_t(top.getAxis()) + 1 == type.getRank() && fits && !boundsFirst(op, cpu) &&
         !keepsFirst(kept, extent, hasWideKeys(type.getElementType()), cpu);
}

bool tcc::codegen::sortsWords(Operation *op, const CpuTarget &cpu) {
  if (!isa<prim::SortOp, prim::TopKOp>(op))
    return false;
  auto [x, axis] = *lineAxis(op);
  auto type = cast<RankedTensorType>(x.getType());
  int64_t extent = type.getShape().back();
  bool open = ShapedType::isDynamic(extent);
  if (axis + 1 != type.getRank() || (!open && extent >= int64_t(1) << kKeyBits) ||
      computeType(type.getElementType()).getIntOrFloatBitWidth() > 2 * kKeyBits)
    return false;
  int64_t kept = cast<RankedTensorType>(op->getResult(0).getType()).getShape().back();
  bool keeps = keepsFirst(kept, extent, hasWideKeys(type.getElementType()), cpu);
  return isa<prim::SortOp>(op) || selectsFirst(op, cpu) || boundsFirst(op, cpu) ||
         (!open && extent <= kOnStack && !keeps);
}

/// The half of a wide key that is sorted by, or all of another, above the place (index).
static Value wordOf(LaunchFrame &f, Value key, Value place, bool lower) {
  IntegerLanes lanes{f};
  constexpr unsigned bits = 2 * kKeyBits;
  Value half = lanes.constant(kKeyBits, bits);
  Value shifted = key.getType() != lanes.of(bits)
                      ? arith::ExtUIOp::create(f.b, lanes.of(bits), key).getResult()
                  : lower ? key
                          : arith::ShRUIOp::create(f.b, key, half).getResult();
  place = arith::IndexCastOp::create(f.b, lanes.of(bits), place);
  return arith::OrIOp::create(f.b, arith::ShLIOp::create(f.b, shifted, half), place);
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

namespace {

/// One line, and where its words are.
class SortedLine {
public:
  SortedLine(KernelFrame &f, Operation *op, Coords at, Value length)
      : f(f), op(op), at(std::move(at)), length(length), x(lineAxis(op)->first),
        axis(lineAxis(op)->second), element(tensorType(x).getElementType()),
        selects(selectsFirst(op, f.cpu)), room(roomOfFirst(op, f.cpu)),
        all(isa<prim::SortOp>(op) || selects), count(selects ? f.results[0].extents[axis] : length),
        words(all    ? f.results[1]
              : room ? wordsOnStack(f, f.e.index(room + kLookedAt * f.cpu.lanes(kKeyBits)))
                     : wordsOnStack(f, length)) {}
  void emit();

private:
  static constexpr int64_t kLookedAt = 4; ///< vectors at once, whether any of them is kept

  Coords along(Value i) {
    Coords point(at);
    point[axis] = Coord::affine(i, f.e.lanes() > 1 ? 1 : 0);
    return point;
  }
  Coords wordAt(Value i) { return all ? along(i) : Coords(ArrayRef<Coord>(along(i)).take_back(1)); }
  Value constant(int64_t v) { return arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(v)); }
  /// The place (i64) that the word at `i` has.
  Value placeAt(Value i) {
    return arith::AndIOp::create(f.b, f.e.load(words, wordAt(i)),
                                 constant((int64_t(1) << kKeyBits) - 1));
  }
  Value keyAt(Value i) {
    return arith::ShRUIOp::create(f.b, f.e.load(words, wordAt(i)), constant(kKeyBits));
  }
  void makeWords(Value i, Value place, bool lower);
  void makeWordsTo(Value end);
  void sort(Value begin, Value end);
  Value elementAt(Value place);
  void keepFirst();
  void sortRuns();
  Value endOfRun(Value begin);

  KernelFrame &f;
  Operation *op;
  Coords at;
  Value length, x;
  unsigned axis;
  Type element;
  bool selects; ///< of the line those that come first
  int64_t room; ///< for words among which those are kept, or 0
  bool all;     ///< as many words as elements of the results
  Value count;  ///< of the words
  Memory words;
};

} // namespace

/// The words at `i` and its lanes, of the elements at `place` (index) and its lanes.
void SortedLine::makeWords(Value i, Value place, bool lower) {
  Value v = f.e.lanes() > 1 ? f.e.evalVector(x, along(place)) : f.e.eval(x, along(place));
  f.failed |= !v;
  if (!v)
    return;
  Value key = orderKey(f, v, element, ordersLargest(op));
  f.e.store(words, wordAt(i), wordOf(f, key, f.e.coordValue(along(place)[axis]), lower));
}

/// The words of [begin, end).
void SortedLine::sort(Value begin, Value end) {
  Type i64 = f.b.getI64Type();
  // The values' own line is room until they are known.
  int64_t bytes = all ? storageType(element).getIntOrFloatBitWidth() / 8 : 0;
  Value kept = arith::IndexCastOp::create(f.b, i64, f.results[0].extents[axis]);
  Value room = arith::MulIOp::create(f.b, kept, constant(bytes));
  Value count = arith::IndexCastOp::create(f.b, i64, f.e.subIndex(end, begin));
  LLVM::CallOp::create(f.b, sortWords(f),
                       ValueRange{lineOf(f, words, wordAt(begin)), count,
                                  lineOf(f, f.results[0], along(f.e.index(0))), room});
}

/// Where the run of equal keys from `begin` on ends.
Value SortedLine::endOfRun(Value begin) {
  Type index = f.b.getIndexType();
  Value key = keyAt(begin), last = f.e.subIndex(count, f.e.index(1));
  auto loop =
      scf::WhileOp::create(f.b, TypeRange{index}, ValueRange{f.e.addIndex(begin, f.e.index(1))});
  OpBuilder::InsertionGuard guard(f.b);
  Value i = f.b.createBlock(&loop.getBefore(), {}, index, f.b.getLoc())->getArgument(0);
  f.e.nested([&] {
    Value isIn = arith::CmpIOp::create(f.b, arith::CmpIPredicate::slt, i, count);
    Value same =
        arith::CmpIOp::create(f.b, arith::CmpIPredicate::eq, keyAt(f.minIndex(i, last)), key);
    scf::ConditionOp::create(f.b, arith::AndIOp::create(f.b, isIn, same), i);
  });
  i = f.b.createBlock(&loop.getAfter(), {}, index, f.b.getLoc())->getArgument(0);
  scf::YieldOp::create(f.b, f.e.addIndex(i, f.e.index(1)));
  return loop.getResult(0);
}

/// Runs of equal upper halves by the lower ones.
void SortedLine::sortRuns() {
  Type index = f.b.getIndexType();
  auto loop = scf::WhileOp::create(f.b, TypeRange{index}, ValueRange{f.e.index(0)});
  OpBuilder::InsertionGuard guard(f.b);
  Value begin = f.b.createBlock(&loop.getBefore(), {}, index, f.b.getLoc())->getArgument(0);
  scf::ConditionOp::create(f.b, arith::CmpIOp::create(f.b, arith::CmpIPredicate::slt, begin, count),
                           begin);
  begin = f.b.createBlock(&loop.getAfter(), {}, index, f.b.getLoc())->getArgument(0);
  f.e.nested([&] {
    Value end = endOfRun(begin);
    Value many = arith::CmpIOp::create(f.b, arith::CmpIPredicate::sgt, f.e.subIndex(end, begin),
                                       f.e.index(1));
    f.when(many, [&] {
      f.loop(begin, end, 1, [&](Value i) {
        makeWords(i, arith::IndexCastOp::create(f.b, index, placeAt(i)), /*lower=*/true);
      });
      sort(begin, end);
    });
    scf::YieldOp::create(f.b, end);
  });
}

/// The words of the elements before `end`.
void SortedLine::makeWordsTo(Value end) {
  unsigned lanes = lanesFor(f.cpu.lanes(kKeyBits), tensorType(x).getShape().back());
  f.vectorLoop(f.e.index(0), end, lanes, true, [&](Value i) { makeWords(i, i, /*lower=*/false); });
}

/// The elements at `place` and its lanes.
Value SortedLine::elementAt(Value place) {
  bool many = f.e.lanes() > 1;
  Value v = many ? f.e.evalVector(x, along(place)) : f.e.eval(x, along(place));
  f.failed |= !v;
  Type one = computeType(element), type = many ? Type(VectorType::get({f.e.lanes()}, one)) : one;
  return v ? v : arith::ConstantOp::create(f.b, cast<TypedAttr>(f.b.getZeroAttr(type)));
}

/// The words of those that are asked for, in order, among the first ones.
void SortedLine::keepFirst() {
  KernelBuilder k(f.b, f.launch.getLoc());
  Type index = f.b.getIndexType(), i64 = f.b.getI64Type();
  bool largest = ordersLargest(op);
  unsigned lanes = kLookedAt * f.cpu.lanes(kKeyBits);
  Value kept = f.results[0].extents[axis], some = f.minIndex(length, f.e.index(room));
  // Variables, which LLVM keeps in registers.
  Value words = k.scratch(i64, 1), bound = k.scratch(computeType(element), 1);
  auto filled = [&] { return arith::IndexCastOp::create(f.b, index, k.load(i64, words)); };
  auto last = [&] { return k.load(computeType(element), bound); };
  auto drop = [&](Value end) {
    sort(f.e.index(0), end);
    Value place = placeAt(f.e.subIndex(kept, f.e.index(1)));
    k.store(arith::IndexCastOp::create(f.b, i64, kept), words);
    k.store(elementAt(arith::IndexCastOp::create(f.b, index, place)), bound);
  };
  auto keep = [&](Value place) {
    Value to = filled();
    makeWords(to, place, /*lower=*/false);
    k.store(arith::IndexCastOp::create(f.b, i64, f.e.addIndex(to, f.e.index(1))), words);
  };
  makeWordsTo(some);
  drop(some);
  Value n = f.e.index(lanes);
  Value whole = f.e.mulIndex(f.e.divIndex(f.e.subIndex(length, some), n), n);
  Value end = f.e.addIndex(some, whole);
  f.loop(some, end, lanes, [&](Value i) {
    f.e.setLanes(lanes);
    Value v = elementAt(i);
    f.e.setLanes(1);
    forEachLane(f, i, comesBefore(f, element, largest, v, f.e.splat(last(), lanes)), {},
                [&](Value place, ValueRange) {
                  keep(place);
                  return SmallVector<Value>();
                });
    Value now = filled();
    Value full = arith::CmpIOp::create(f.b, arith::CmpIPredicate::sgt, now, f.e.index(room));
    f.when(full, [&] { drop(now); });
  });
  f.loop(end, length, 1, [&](Value i) {
    f.when(comesBefore(f, element, largest, elementAt(i), last()), [&] { keep(i); });
  });
  Value now = filled();
  f.when(arith::CmpIOp::create(f.b, arith::CmpIPredicate::sgt, now, kept),
         [&] { sort(f.e.index(0), now); });
}

void SortedLine::emit() {
  Value none = f.e.index(0);
  if (room) {
    keepFirst();
  } else if (selects) {
    unsigned bits = hasWideKeys(element) ? 2 * kKeyBits : kKeyBits;
    Value sign = IntegerLanes{f}.constant(int64_t(uint64_t(1) << (bits - 1)), bits);
    forFirstOfOrder(f, cast<prim::TopKOp>(op), at, [&](Value number, Value key, Value place) {
      Value own = arith::XOrIOp::create(f.b, key, sign);
      f.e.store(words, wordAt(number), wordOf(f, own, place, /*lower=*/false));
    });
    sort(none, count);
  } else {
    makeWordsTo(length);
    sort(none, length);
  }
  if (hasWideKeys(element))
    sortRuns();
  f.loop(none, f.results[0].extents[axis], 1, [&](Value i) {
    Value place = placeAt(i);
    f.e.store(f.results[1], along(i), place);
    Value v = f.e.eval(x, along(arith::IndexCastOp::create(f.b, f.b.getIndexType(), place)));
    f.failed |= !v;
    if (v)
      f.e.store(f.results[0], along(i), v);
  });
}

void tcc::codegen::emitSortedLine(KernelFrame &f, Operation *op, Coords at, Value length) {
  SortedLine(f, op, std::move(at), length).emit();
}
