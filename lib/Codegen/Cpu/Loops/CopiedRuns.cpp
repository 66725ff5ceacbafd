//===- CopiedRuns.cpp - Runs that are moved as they lie -------------------===//
//
// What a concatenation, a split or a flip of leading axes stores is long runs of its operands,
// which the schedule says. The C library copies those faster than a loop of vectors does: it knows
// the machine's own instructions for it (`rep movsb` writes whole lines of the cache without
// reading them before).
//
// Which runs these are is found by asking what a vector of the run would read: it must be read as
// it lies there, and the place must move by one element with the point.
//
//===----------------------------------------------------------------------===//
#include "CopiedRuns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Whether `v` is made of `other`, or of what would be read, which poison stands for.
static bool dependsOn(Value v, Value other) {
  if (v == other)
    return true;
  Operation *op = v.getDefiningOp();
  return op && (isa<LLVM::PoisonOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
                  return dependsOn(operand, other);
                }));
}

/// Whether the address moves by one element with `i`.
static bool followsPoints(Value pointer, Value i) {
  auto address = pointer.getDefiningOp<LLVM::GEPOp>();
  if (!address || address.getDynamicIndices().size() != 1)
    return false;
  auto cast = address.getDynamicIndices()[0].getDefiningOp<arith::IndexCastOp>();
  if (!cast)
    return false;
  LinearForm form;
  form.add(cast.getIn(), 1, i);
  return form.take(i) == 1 &&
         llvm::none_of(form.terms, [&](auto &term) { return dependsOn(term.first, i); });
}

bool tcc::codegen::copiedRun(KernelFrame &f, unsigned lanes, ArrayRef<Coord> outer, Value from,
                             Value to, std::optional<PointRange> range) {
  ValueRange values = f.yield().getValues();
  f.e.setLanes(lanes);
  // Never folded: the place is known to follow it.
  Value first = arith::MaxSIOp::create(f.b, from, f.e.index(range ? range->first : 0));
  if (range)
    f.e.bindRange(first, range->first, range->second);
  Coords at(outer);
  at.push_back(Coord::affine(first, 1));
  SmallVector<std::pair<Value, Value>> runs; // from, to
  for (auto [value, memory] : llvm::zip(values, f.results)) {
    auto source = f.e.readingOf(value, at).place, target = f.e.placeOf(memory, at);
    if (source && target && followsPoints(source->pointer, first))
      runs.push_back({source->pointer, target->pointer});
  }
  f.e.setLanes(1);
  if (runs.size() != values.size())
    return false;
  Value length = arith::IndexCastOp::create(f.b, f.b.getI64Type(), f.e.subIndex(to, from));
  for (auto [run, value] : llvm::zip(runs, values)) {
    int64_t bytes = elementBytes(tensorType(value).getElementType());
    Value size = LLVM::ConstantOp::create(f.b, f.b.getI64Type(), bytes);
    LLVM::MemcpyOp::create(f.b, run.second, run.first, arith::MulIOp::create(f.b, length, size),
                           /*isVolatile=*/false);
  }
  return true;
}
