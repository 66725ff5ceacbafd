//===- SpecialKernel.cpp - Operators with an algorithm of their own -------===//
//
// Operators that write by index (ScatterKernel.cpp), that carry along an axis or order
// elements (LineKernel.cpp), that factor matrices (MatrixKernel.cpp), that
// transform lines (FourierKernel.cpp), or that collect what a condition selects, in order, as one
// task.
//
//===----------------------------------------------------------------------===//
#include "SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "tcc/Dialect/Kernel/SpecialOperator.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

void tcc::codegen::forEachPoint(KernelFrame &f, ArrayRef<Value> extents,
                                function_ref<void(Coords &)> body, Coords prefix) {
  if (extents.empty())
    return body(prefix);
  f.loop(f.e.index(0), extents.front(), 1, [&](Value i) {
    Coords at(prefix);
    at.push_back(Coord::uniform(i));
    forEachPoint(f, extents.drop_front(), body, at);
  });
}

namespace {

/// Collects the places of what is not 0, in order. Of vectors of a line the bits say which those
/// are. What is left of a line is looked at element by element: the place of each is written behind
/// those that were found, and is found itself by a count that goes on or not, which is no jump that
/// nobody can foretell.
class NonzeroEmitter {
public:
  NonzeroEmitter(KernelFrame &f, prim::NonzeroOp op)
      : f(f), op(op), k(f.b, f.launch.getLoc()), result(f.results[0]), i64(f.b.getI64Type()) {}

  void emit();

private:
  static constexpr int64_t kBlock = 64;

  Value isNonzero(ArrayRef<Coord> at);
  void findVectors(const Coords &at, Value i);
  void findBlock(const Coords &at, Index low, Index high);
  Value index(Value number) { return arith::IndexCastOp::create(f.b, f.b.getIndexType(), number); }
  Value lanesFromZero(unsigned lanes) {
    auto values = llvm::to_vector(llvm::seq<int64_t>(lanes));
    auto type = VectorType::get(lanes, i64);
    return arith::ConstantOp::create(f.b, DenseElementsAttr::get(type, ArrayRef(values)));
  }
  Value number(Value index) { return arith::IndexCastOp::create(f.b, i64, index); }
  /// The place along `axis` of what is found as number `at`.
  Value placeOf(int64_t axis, Value at) {
    return k.address(result.pointer, i64,
                     k.add(k.mul(k.constant(axis), result.extents.back()), at));
  }

  KernelFrame &f;
  prim::NonzeroOp op;
  KernelBuilder k;
  const Memory &result;
  Type i64;
  bool isScalar = false;
  Value block, counter; ///< places found of a block; how many were found before
};

} // namespace

/// Whether the element at `at`, or each of those, is not 0.
Value NonzeroEmitter::isNonzero(ArrayRef<Coord> at) {
  Value v = f.e.lanes() > 1 ? f.e.evalVector(op.getX(), at) : f.e.eval(op.getX(), at);
  f.failed |= !v;
  if (!v)
    return {};
  Value zero = arith::ConstantOp::create(f.b, cast<TypedAttr>(f.b.getZeroAttr(v.getType())));
  if (isa<FloatType>(getElementTypeOrSelf(v)))
    return arith::CmpFOp::create(f.b, arith::CmpFPredicate::UNE, v, zero);
  return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, v, zero);
}

void NonzeroEmitter::findVectors(const Coords &at, Value i) {
  Coords point(at);
  point.push_back(Coord::affine(i, 1));
  Value mask = isNonzero(point);
  if (!mask)
    return;
  unsigned lanes = f.e.lanes();
  Value one = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(1));
  Value before = k.load(i64, counter);
  auto storeAt = [&](Value first, Value to, unsigned count) {
    Value places = count > 1 ? k.broadcast(number(first), count) : number(first);
    if (count > 1)
      places = arith::AddIOp::create(f.b, places, lanesFromZero(count));
    for (auto [axis, c] : llvm::enumerate(at)) {
      Value same = number(c.base);
      k.store(count > 1 ? k.broadcast(same, count) : same, placeOf(axis, to));
    }
    k.store(places, placeOf(at.size(), to));
  };
  auto chosen = [&] {
    Value found = forEachLane(f, i, mask, {before}, [&](Value place, ValueRange have) {
      storeAt(place, index(have[0]), 1);
      return SmallVector<Value>{arith::AddIOp::create(f.b, have[0], one)};
    })[0];
    k.store(found, counter);
  };
  auto all = [&] {
    storeAt(i, index(before), lanes);
    Value count = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(lanes));
    k.store(arith::AddIOp::create(f.b, before, count), counter);
  };
  k.ifThenElse(vector::ReductionOp::create(f.b, vector::CombiningKind::AND, mask), all, chosen);
}

void NonzeroEmitter::findBlock(const Coords &at, Index low, Index high) {
  Value count = k.loop(low, high, k.constant(1), {k.zero(i64)}, [&](Index i, ValueRange have) {
    Coords point(at);
    if (!isScalar)
      point.push_back(Coord::uniform(k.value(i)));
    Value next = isNonzero(point);
    if (!next)
      return SmallVector<Value>(have);
    k.store(k.toI64(i), k.address(block, i64, index(have[0])));
    next = arith::ExtUIOp::create(f.b, i64, next);
    return SmallVector<Value>{arith::AddIOp::create(f.b, have[0], next)};
  })[0];
  Value before = k.load(i64, counter), first = index(before);
  Value eight = arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(sizeof(int64_t)));
  Value bytes = arith::MulIOp::create(f.b, count, eight);
  if (!isScalar)
    LLVM::MemcpyOp::create(f.b, placeOf(at.size(), first), block, bytes, /*isVolatile=*/false);
  for (auto [axis, c] : llvm::enumerate(at)) {
    Value place = number(c.base), to = placeOf(axis, first);
    k.loop(k.constant(0), index(count), k.constant(1),
           [&](Index i) { k.store(place, k.address(to, i64, i)); });
  }
  k.store(arith::AddIOp::create(f.b, before, count), counter);
}

void NonzeroEmitter::emit() {
  SmallVector<Value> extents = extentsOf(f, op.getX());
  isScalar = extents.empty();
  Value line = isScalar ? f.e.index(1) : extents.pop_back_val();
  block = k.scratch(i64, kBlock);
  counter = k.scratch(i64, 1);
  k.store(k.zero(i64), counter);
  // A few vectors, whose bits are one word.
  constexpr unsigned kVectors = 4;
  auto type = cast<RankedTensorType>(op.getX().getType());
  unsigned lanes = 1;
  if (!isScalar) {
    unsigned width = computeType(type.getElementType()).getIntOrFloatBitWidth();
    lanes = std::min<unsigned>(kBlock, kVectors * f.cpu.lanes(std::max(8u, width)));
    lanes = lanesFor(lanes, type.getShape().back());
  }
  forEachPoint(f, extents, [&](Coords &at) {
    Value rest = f.e.index(0);
    if (lanes > 1)
      rest = f.wholeVectors(line, lanes, [&](ArrayRef<Value> i) { findVectors(at, i.front()); });
    k.loop(rest, line, k.constant(kBlock),
           [&](Index low) { findBlock(at, low, k.min(k.add(low, k.constant(kBlock)), line)); });
  });
}

bool tcc::codegen::emitSpecialKernel(KernelFrame &f) {
  Operation *op = kernel::specialOf(f.launch);
  if (lineAxis(op)) {
    emitLines(f, op);
  } else if (auto kth = dyn_cast<prim::KthOp>(op)) {
    emitSelectedElements(f, kth);
  } else if (prim::has<prim::UpdatesFirst>(op)) {
    emitScatter(f, op);
  } else if (op->hasTrait<prim::MatrixFactor>()) {
    emitMatrices(f, op);
  } else if (auto fourier = dyn_cast<prim::FourierOp>(op)) {
    emitFourier(f, fourier);
  } else if (auto nonzero = dyn_cast<prim::NonzeroOp>(op)) {
    NonzeroEmitter(f, nonzero).emit();
  } else {
    op->emitError("code generation for '") << op->getName() << "' is missing";
    f.failed = true;
  }
  return !f.failed;
}
