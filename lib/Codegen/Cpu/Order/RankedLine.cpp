//===- RankedLine.cpp - Short lines are sorted by counting ----------------===//
//
// The place of an element in the order of its line is the number of those that come before it: as
// many comparisons as the line has pairs, which depend on nothing. Of a few vectors of elements
// that takes less than any sort that looks at one element after the other. With the number of its
// own place to begin with, an element takes one away for each larger one before it and adds one for
// each smaller one after it, so that equal ones stay in their order.
//
// The keys of a group of vectors lie in registers while each key of the line is compared with all
// of them.
//
//===----------------------------------------------------------------------===//
#include "../SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/OrderKey.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static unsigned bitsOfKey(Operation *op) {
  Type element = tensorType(op->getOperand(0)).getElementType();
  return hasWideKeys(element) ? 2 * kKeyBits : kKeyBits;
}

bool tcc::codegen::ranksLine(Operation *op, const CpuTarget &cpu) {
  constexpr int64_t kMostVectors = 8;
  if (!isa<prim::SortOp, prim::TopKOp>(op))
    return false;
  auto [x, axis] = *lineAxis(op);
  auto type = tensorType(x);
  int64_t extent = type.getShape().back();
  auto kept = tensorType(op->getResult(0)).getShape().back();
  return axis + 1 == type.getRank() && !ShapedType::isDynamic(extent) && extent > 1 && kept > 1 &&
         computeType(type.getElementType()).getIntOrFloatBitWidth() <= 2 * kKeyBits &&
         extent <= kMostVectors * cpu.lanes(bitsOfKey(op));
}

namespace {

class RankedLine {
public:
  RankedLine(KernelFrame &f, Operation *op, Coords at)
      : f(f), op(op), at(std::move(at)), x(lineAxis(op)->first), axis(lineAxis(op)->second),
        element(tensorType(x).getElementType()), bits(bitsOfKey(op)), lanes(f.cpu.lanes(bits)),
        length(tensorType(x).getShape().back()), vectors(llvm::divideCeil(length, lanes)),
        keys(onStack()), ranks(onStack()) {}
  void emit();

private:
  Memory onStack();
  Coords along(Value i) {
    Coords point(at);
    point[axis] = Coord::affine(i, f.e.lanes() > 1 ? 1 : 0);
    return point;
  }
  void makeKeys();
  Value keyAt(Value i);
  Value larger(Value left, Value right);
  Value outside(int64_t lane, bool before);
  void rank(int64_t first, int64_t count);
  void store();

  KernelFrame &f;
  Operation *op;
  Coords at;
  Value x;
  unsigned axis;
  Type element;
  unsigned bits, lanes;
  int64_t length, vectors;
  Memory keys, ranks;
};

} // namespace

/// Whole vectors of integers for all lines of a thread.
Memory RankedLine::onStack() {
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(&f.function.getBody().front());
  Type type = f.b.getIntegerType(bits);
  Value count = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(vectors * lanes));
  Value pointer = LLVM::AllocaOp::create(f.b, LLVM::LLVMPointerType::get(f.b.getContext()), type,
                                         count, /*alignment=*/64);
  Value extent = arith::ConstantIndexOp::create(f.b, vectors * lanes);
  return {pointer, {extent}, type};
}

/// Keys that compare as signed integers do, as all processors have it.
void RankedLine::makeKeys() {
  bool descending = isa<prim::SortOp>(op) ? cast<prim::SortOp>(op).getDescending()
                                          : cast<prim::TopKOp>(op).getLargest();
  IntegerLanes integers{f};
  unsigned width = lanesFor(lanes, length);
  f.overlappingLoop(f.e.index(0), f.e.index(length), width, true, [&](ArrayRef<Value> places) {
    SmallVector<Value> made;
    for (Value i : places) {
      Value v = f.e.lanes() > 1 ? f.e.evalVector(x, along(i)) : f.e.eval(x, along(i));
      f.failed |= !v;
      if (!v)
        return;
      Value key = orderKey(f, v, element, descending);
      Value sign = integers.constant(static_cast<int64_t>(uint64_t(1) << (bits - 1)), bits);
      made.push_back(arith::XOrIOp::create(f.b, key, sign));
    }
    for (auto [i, key] : llvm::zip_equal(places, made))
      f.e.store(keys, {Coord::affine(i, f.e.lanes() > 1 ? 1 : 0)}, key);
  });
}

/// The key at `i` in all lanes.
Value RankedLine::keyAt(Value i) { return f.e.splat(f.e.load(keys, {Coord::uniform(i)}), lanes); }

/// -1 in the lanes where `left` is larger.
Value RankedLine::larger(Value left, Value right) {
  Value is = arith::CmpIOp::create(f.b, arith::CmpIPredicate::sgt, left, right);
  return arith::ExtSIOp::create(f.b, left.getType(), is);
}

/// All bits of the lanes before `lane`, or of those behind it.
Value RankedLine::outside(int64_t lane, bool before) {
  SmallVector<APInt> mask;
  for (int64_t i = 0; i < lanes; ++i)
    mask.push_back(APInt(bits, (before ? i < lane : i > lane) ? -1 : 0, /*isSigned=*/true));
  auto type = VectorType::get({lanes}, f.b.getIntegerType(bits));
  return arith::ConstantOp::create(f.b, DenseElementsAttr::get(type, mask));
}

/// The ranks of `count` vectors from the one with number `first` on.
void RankedLine::rank(int64_t first, int64_t count) {
  SmallVector<Value> own, counts;
  for (int64_t v = first; v < first + count; ++v) {
    own.push_back(f.e.load(keys, {Coord::affine(f.e.index(v * lanes), 1)}));
    SmallVector<APInt> places;
    for (int64_t i = 0; i < lanes; ++i)
      places.push_back(APInt(bits, v * lanes + i));
    auto type = cast<VectorType>(own.back().getType());
    counts.push_back(arith::ConstantOp::create(f.b, DenseElementsAttr::get(type, places)));
  }
  auto lessBefore = [&](Value &sum, Value key, Value mine) {
    sum = arith::AddIOp::create(f.b, sum, larger(key, mine));
  };
  auto moreBehind = [&](Value &sum, Value key, Value mine) {
    sum = arith::SubIOp::create(f.b, sum, larger(mine, key));
  };
  auto whole = [&](int64_t low, int64_t high, auto change) {
    if (low >= high)
      return;
    auto loop = scf::ForOp::create(f.b, f.e.index(low), f.e.index(high), f.e.index(1), counts);
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(loop.getBody());
    f.e.nested([&] {
      Value key = keyAt(loop.getInductionVar());
      SmallVector<Value> sums(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      for (auto [sum, mine] : llvm::zip_equal(sums, own))
        change(sum, key, mine);
      scf::YieldOp::create(f.b, sums);
    });
    counts.assign(loop.getResults().begin(), loop.getResults().end());
  };
  whole(0, first * lanes, lessBefore);
  for (int64_t i = first * lanes; i < std::min((first + count) * lanes, length); ++i) {
    Value key = keyAt(f.e.index(i));
    for (int64_t v = first; v < first + count; ++v) {
      Value &sum = counts[v - first], mine = own[v - first];
      int64_t lane = i - v * lanes;
      if (lane < 0) { // comes before this vector
        lessBefore(sum, key, mine);
      } else if (lane >= lanes) {
        moreBehind(sum, key, mine);
      } else {
        Value less = arith::AndIOp::create(f.b, larger(key, mine), outside(lane, false));
        Value more = arith::AndIOp::create(f.b, larger(mine, key), outside(lane, true));
        sum = arith::SubIOp::create(f.b, arith::AddIOp::create(f.b, sum, less), more);
      }
    }
  }
  whole((first + count) * lanes, length, moreBehind);
  for (int64_t v = first; v < first + count; ++v)
    f.e.store(ranks, {Coord::affine(f.e.index(v * lanes), 1)}, counts[v - first]);
}

/// Elements and places where the ranks say; of a part of them, the places first.
void RankedLine::store() {
  Type index = f.b.getIndexType(), i64 = f.b.getI64Type();
  bool all = isa<prim::SortOp>(op);
  auto give = [&](Value to, Value from) {
    f.e.store(f.results[1], along(to), arith::IndexCastOp::create(f.b, i64, from));
    Value v = f.e.eval(x, along(from));
    f.failed |= !v;
    if (v)
      f.e.store(f.results[0], along(to), v);
  };
  f.loop(f.e.index(0), f.e.index(length), 1, [&](Value i) {
    Value to = f.e.load(ranks, {Coord::uniform(i)});
    to = arith::IndexCastOp::create(f.b, index, to);
    if (all)
      return give(to, i);
    Value place = arith::IndexCastOp::create(f.b, f.b.getIntegerType(bits), i);
    f.e.store(keys, {Coord::uniform(to)}, place);
  });
  if (all)
    return;
  f.loop(f.e.index(0), f.results[0].extents[axis], 1, [&](Value to) {
    Value from = f.e.load(keys, {Coord::uniform(to)});
    give(to, arith::IndexCastOp::create(f.b, index, from));
  });
}

void RankedLine::emit() {
  // As many as leave registers for a key and what is compared.
  const int64_t group = std::max(1u, (f.cpu.vectorRegisters - 4) / 3);
  makeKeys();
  f.e.setLanes(lanes);
  for (int64_t first = 0; first < vectors; first += group)
    rank(first, std::min(group, vectors - first));
  f.e.setLanes(1);
  store();
}

void tcc::codegen::emitRankedLine(KernelFrame &f, Operation *op, Coords at) {
  RankedLine(f, op, std::move(at)).emit();
}
