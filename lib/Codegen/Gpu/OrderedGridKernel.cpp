//===- OrderedGridKernel.cpp - Lines that all blocks sort -----------------===//
//
// sort and top-k of lines that are long, or too long for a block's shared memory: elements become
// keys that integers compare as the elements do, keys are sorted digit by digit over the grid
// (GridSort.h), and results read the elements where their places say. The sort keeps the order of
// equals, so that ties go to the lower index.
//
//===----------------------------------------------------------------------===//
#include "GridSort.h"
#include "ScheduleChoice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "tcc/Codegen/Common/OrderKey.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Keys of bf16 are those of f32 whose lower half says nothing.
static unsigned emptyBits(Type e) { return e.isBF16() ? 16 : 0; }

/// The sort of lines along `axis` of `x`, whose extents are known.
static GridSortSizes sizesOf(RankedTensorType x, unsigned axis) {
  Type e = x.getElementType();
  unsigned bits = (hasWideKeys(e) ? 2 : 1) * kKeyBits - emptyBits(e);
  int64_t all = x.getNumElements();
  return {all / x.getDimSize(axis), x.getDimSize(axis), bits, GridSortSizes::ownOf(all)};
}

bool device::scheduleGridOrder(ScheduleChoice &s, RankedTensorType x, unsigned axis,
                               const GpuArch &arch) {
  constexpr int64_t kMostScratch = int64_t(1) << 30;
  constexpr unsigned kBlocks = 2; // of a multiprocessor
  if (!x.hasStaticShape() || x.getNumElements() == 0 || !x.getElementType().isIntOrFloat())
    return false;
  int64_t scratch = kCounterBytes + sizesOf(x, axis).bytes();
  if (scratch > kMostScratch)
    return false;
  s.threads = s.rowThreads = GridSortSizes::threads;
  s.split = unsigned(arch.multiprocessors) * kBlocks;
  s.scratchBytes = unsigned(scratch);
  return true;
}

void device::emitOrderedGridKernel(KernelFrame &f) {
  ImplicitLocOpBuilder &b = f.b;
  Operation *op = specialOf(f.launch);
  auto [x, axis] = *lineAxis(op);
  auto sortOp = dyn_cast<prim::SortOp>(op);
  bool descending = sortOp ? sortOp.getDescending() : cast<prim::TopKOp>(op).getLargest();
  auto type = tensorType(x);
  Type e = type.getElementType();
  GridSortSizes sizes = sizesOf(type, axis);
  SmallVector<Value> others = extentsOf(f, x);
  others.erase(others.begin() + axis);
  auto at = [&, axis = axis](Value line, Value place) {
    Coords coords;
    for (Value i : f.delinearize(line, others))
      coords.push_back(Coord::uniform(i));
    coords.insert(coords.begin() + axis, Coord::uniform(place));
    return coords;
  };
  auto element = [&, x = x](Value line, Value place) {
    f.e.forget();
    Value v = f.e.eval(x, at(line, place));
    f.failed |= !v;
    return v;
  };
  Value none = arith::ConstantOp::create(
      b, b.getZeroAttr(b.getIntegerType(sizes.wordBits()))); // after an error
  GridPhases phases(f);
  GridSort sort(f, sizes, 0);
  sort.run(
      phases,
      [&](Value line, Value place) {
        Value v = element(line, place);
        Value key = v ? orderKey(f, v, e, descending) : none;
        if (unsigned empty = emptyBits(e))
          key = arith::ShRUIOp::create(
              b, key, arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(empty))));
        return key;
      },
      [](Value) {});
  int64_t kept = tensorType(op->getResult(0)).getDimSize(axis), results = sizes.lines * kept;
  phases.finish(int64_t(llvm::divideCeil(results, GridSortSizes::threads)), [&](Value item) {
    Value number = f.e.addIndex(f.e.mulIndex(item, f.e.index(GridSortSizes::threads)), f.thread);
    f.when(f.less(number, f.e.index(results)), [&] {
      Value line = f.e.divIndex(number, f.e.index(kept)), i = f.e.remIndex(number, f.e.index(kept));
      Value from = sort.sortedPlace(line, i);
      Value v = element(line, arith::IndexCastUIOp::create(b, b.getIndexType(), from));
      if (!v)
        return;
      f.e.store(f.results[0], at(line, i), v);
      f.e.store(f.results[1], at(line, i), arith::ExtUIOp::create(b, b.getI64Type(), from));
    });
  });
}
