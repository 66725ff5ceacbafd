//===- LineKernel.cpp - Operators that work along one axis ----------------===//
#include "tcc/Codegen/Common/LineKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

SmallVector<Value> tcc::codegen::extentsOf(LaunchFrame &f, Value v) {
  SmallVector<Value> extents;
  for (int64_t i = 0, e = tensorType(v).getRank(); i < e; ++i)
    extents.push_back(f.e.extent(v, i));
  return extents;
}

static void emitCumulative(LaunchFrame &f, prim::CumulativeOp op, Coords at, Value length) {
  Type e = tensorType(op.getX()).getElementType();
  Value neutral = arith::ConstantOp::create(f.b, neutralElement(op.getKind(), e));
  auto loop = scf::ForOp::create(f.b, f.e.index(0), length, f.e.index(1), ValueRange{neutral});
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar(), carried = loop.getRegionIterArg(0);
  if (op.getReverse())
    i = f.e.subIndex(f.e.subIndex(length, f.e.index(1)), i);
  at[op.getAxis()] = Coord::uniform(i);
  Value next = f.e.nested([&]() -> Value {
    Value v = f.e.eval(op.getX(), at);
    return v ? emitCombine(f.b, op.getKind(), e, carried, v) : Value();
  });
  f.failed |= !next;
  f.e.store(f.results[0], at, op.getExclusive() || !next ? carried : next);
  scf::YieldOp::create(f.b, next ? next : carried);
}

/// Whether `x` comes before `y` when ordered; NaN is the largest.
Value tcc::codegen::comesBefore(LaunchFrame &f, Type e, bool descending, Value x, Value y) {
  if (descending)
    std::swap(x, y);
  if (isa<FloatType>(e)) {
    Value less = arith::CmpFOp::create(f.b, arith::CmpFPredicate::OLT, x, y);
    Value xNumber = arith::CmpFOp::create(f.b, arith::CmpFPredicate::ORD, x, x);
    Value yNan = arith::CmpFOp::create(f.b, arith::CmpFPredicate::UNO, y, y);
    return arith::OrIOp::create(f.b, less, arith::AndIOp::create(f.b, xNumber, yNan));
  }
  auto i = cast<IntegerType>(e);
  bool isUnsigned = i.isUnsigned() || i.getWidth() == 1;
  return arith::CmpIOp::create(
      f.b, isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt, x, y);
}

static Value equalOrBothNan(LaunchFrame &f, Value x, Value y) {
  auto compare = [&](arith::CmpFPredicate p, Value l, Value r) {
    return Value(arith::CmpFOp::create(f.b, p, l, r));
  };
  using P = arith::CmpFPredicate;
  Value nan = arith::AndIOp::create(f.b, compare(P::UNO, x, x), compare(P::UNO, y, y));
  return arith::OrIOp::create(f.b, compare(P::OEQ, x, y), nan);
}

/// Whether `v`, which comes later in the line, takes the place of `best`.
static Value isBetter(LaunchFrame &f, prim::ArgReduceOp op, Value v, Value best) {
  Type e = tensorType(op.getX()).getElementType();
  bool largest = op.getKind() == prim::ReduceKind::max;
  // NaN is extreme either way: for the minimum it must come first.
  Value better = comesBefore(f, e, largest, v, best);
  if (isa<FloatType>(e) && !largest) {
    Value vNan = arith::CmpFOp::create(f.b, arith::CmpFPredicate::UNO, v, v);
    Value bestNumber = arith::CmpFOp::create(f.b, arith::CmpFPredicate::ORD, best, best);
    Value less = arith::CmpFOp::create(f.b, arith::CmpFPredicate::OLT, v, best);
    better = arith::OrIOp::create(f.b, less, arith::AndIOp::create(f.b, vNan, bestNumber));
  }
  if (!op.getLast())
    return better;
  Value equal = isa<FloatType>(e)
                    ? equalOrBothNan(f, v, best)
                    : Value(arith::CmpIOp::create(f.b, arith::CmpIPredicate::eq, v, best));
  return arith::OrIOp::create(f.b, better, equal);
}

/// The line at `at`, which has elements.
static void emitBestOfLine(LaunchFrame &f, prim::ArgReduceOp op, Coords at, Value length) {
  at[op.getAxis()] = Coord::uniform(f.e.index(0));
  Value first = f.e.eval(op.getX(), at);
  if (!first) {
    f.failed = true;
    return;
  }
  auto loop =
      scf::ForOp::create(f.b, f.e.index(1), length, f.e.index(1), ValueRange{first, f.e.index(0)});
  {
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar(), best = loop.getRegionIterArg(0);
    at[op.getAxis()] = Coord::uniform(i);
    Value v = f.e.nested([&] { return f.e.eval(op.getX(), at); });
    Value better = isBetter(f, op, v, best);
    Value nextBest = arith::SelectOp::create(f.b, better, v, best);
    Value nextIndex = arith::SelectOp::create(f.b, better, i, loop.getRegionIterArg(1));
    scf::YieldOp::create(f.b, ValueRange{nextBest, nextIndex});
  }
  Type indexType = tensorType(op.getResult()).getElementType();
  at.erase(at.begin() + op.getAxis());
  f.e.store(f.results[0], at, arith::IndexCastOp::create(f.b, indexType, loop.getResult(1)));
}

/// Nobody asks for the best of no elements, but what is fused may come to pass by it: memory
/// that is not there is not read.
static void emitArgReduce(LaunchFrame &f, prim::ArgReduceOp op, Coords at, Value length) {
  if (getConstantIntValue(length).value_or(0) > 0)
    return emitBestOfLine(f, op, at, length);
  Value any = arith::CmpIOp::create(f.b, arith::CmpIPredicate::sgt, length, f.e.index(0));
  auto branch = scf::IfOp::create(f.b, any, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested([&] { emitBestOfLine(f, op, at, length); });
}

std::optional<std::pair<Value, unsigned>> tcc::codegen::lineAxis(Operation *op) {
  using Line = std::optional<std::pair<Value, unsigned>>;
  return llvm::TypeSwitch<Operation *, Line>(op)
      .Case<prim::CumulativeOp, prim::ArgReduceOp, prim::SortOp, prim::TopKOp>(
          [](auto o) { return Line({o.getX(), static_cast<unsigned>(o.getAxis())}); })
      .Default([](Operation *) { return std::nullopt; });
}

void tcc::codegen::emitLine(LaunchFrame &f, Operation *op, Coords at, Value length) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](prim::CumulativeOp o) { emitCumulative(f, o, at, length); })
      .Case([&](prim::ArgReduceOp o) { emitArgReduce(f, o, at, length); })
      .Case([&](prim::SortOp o) {
        emitOrderedLine(f, o.getX(), o.getAxis(), o.getDescending(), at, length);
      })
      .Case([&](prim::TopKOp o) {
        emitOrderedLine(f, o.getX(), o.getAxis(), o.getLargest(), at, length);
      });
}
