//===- OrderedGridKernel.cpp - Lines that are sorted digit by digit -------===//
//
// sort and top-k: elements become keys that integers compare as the elements do, keys are sorted
// digit by digit (GridSort.h), and results read the elements where their places say. The sort keeps
// the order of equals, so that ties go to the lower index.
//
// Long lines are sorted by all blocks. One that is no more than a few elements of a block's threads
// is one block's, and stays in its shared memory. Lines of open length have such a block as well,
// which compares and exchanges elements where they turn out to be longer.
//
//===----------------------------------------------------------------------===//
#include "../ScheduleChoice.h"
#include "GridSort.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "tcc/Codegen/Common/OrderKey.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Keys of bf16 are those of f32 whose lower half says nothing.
static unsigned emptyBits(Type e) { return e.isBF16() ? 16 : 0; }

static unsigned keyBits(Type e) { return (hasWideKeys(e) ? 2 : 1) * kKeyBits - emptyBits(e); }

/// The sort of lines along `axis` of `x`, whose extents are known.
static GridSortSizes sizesOf(RankedTensorType x, unsigned axis) {
  int64_t all = x.getNumElements();
  return {all / x.getDimSize(axis), x.getDimSize(axis), keyBits(x.getElementType()),
          GridSortSizes::ownOf(all)};
}

/// Of a line that is a block's, whose threads have `own` elements each, or less of an open one.
static GridSortSizes sizesInBlock(RankedTensorType x, unsigned axis, unsigned own) {
  int64_t length = x.getDimSize(axis);
  GridSortSizes sizes{1, length, keyBits(x.getElementType()), own};
  if (ShapedType::isDynamic(length))
    sizes.length = sizes.chunk();
  return sizes;
}

bool device::scheduleBlockOrder(ScheduleChoice &s, RankedTensorType x, unsigned axis, bool all) {
  constexpr int64_t kMostShared = 48 << 10; // bytes that a kernel need not ask for
  constexpr unsigned kMost = 16, kOpen = 8; // elements of a thread; of an open line
  // Lines that are exchanged sooner: an H100 takes 33 us for 8192 x 128 so, and 36 for 4096 x 256
  // of f32 in four passes; of i64 in eight, 68 and exchanged 54.
  const int64_t shortest = hasWideKeys(x.getElementType()) ? 256 : 128;
  int64_t length = x.getDimSize(axis);
  bool open = ShapedType::isDynamic(length);
  if (!x.getElementType().isIntOrFloat() || (open ? !all : length <= shortest))
    return false;
  unsigned own = open ? kOpen : unsigned(llvm::divideCeil(length, GridSortSizes::threads));
  if (own > kMost)
    return false;
  GridSortSizes sizes = sizesInBlock(x, axis, own);
  if (sizes.sharedBytes() > kMostShared)
    return false;
  s.threads = s.rowThreads = GridSortSizes::threads;
  s.vectors = own;
  s.depth = sizes.digitBits();
  return true;
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

void device::emitDigitOrderKernel(KernelFrame &f) {
  ImplicitLocOpBuilder &b = f.b;
  Operation *op = specialOf(f.launch);
  auto [x, axis] = *lineAxis(op);
  auto sortOp = dyn_cast<prim::SortOp>(op);
  bool descending = sortOp ? sortOp.getDescending() : cast<prim::TopKOp>(op).getLargest();
  auto type = tensorType(x);
  Type e = type.getElementType();
  bool inBlock = !f.schedule.getScratchBytes();
  GridSortSizes sizes =
      inBlock ? sizesInBlock(type, axis, f.schedule.getVectors()) : sizesOf(type, axis);
  SmallVector<Value> others = extentsOf(f, x);
  Value length = others[axis];
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
  auto keyOf = [&](Value line, Value place) {
    Value v = element(line, place);
    Value key = v ? orderKey(f, v, e, descending) : none;
    if (unsigned empty = emptyBits(e))
      key = arith::ShRUIOp::create(
          b, key, arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(empty))));
    return key;
  };
  auto store = [&](Value line, Value i, Value from) {
    Value v = element(line, arith::IndexCastUIOp::create(b, b.getIndexType(), from));
    if (!v)
      return;
    f.e.store(f.results[0], at(line, i), v);
    f.e.store(f.results[1], at(line, i), arith::ExtUIOp::create(b, b.getI64Type(), from));
  };
  if (inBlock) {
    GridSort sort(f, sizes, 0);
    auto ordered = [&] {
      sort.runLine(f.block, length, keyOf);
      f.loop(f.thread, f.results[0].extents[axis], GridSortSizes::threads,
             [&](Value i) { store(f.block, i, sort.placeInBlock(i)); });
    };
    if (!type.isDynamicDim(axis))
      return ordered();
    Value fits = f.less(f.e.subIndex(length, f.e.index(1)), f.e.index(sizes.chunk()));
    f.when(fits, ordered);
    Value isLonger = f.less(f.e.index(sizes.chunk()), length);
    return f.when(isLonger, [&] { emitOrderedBlockKernel(f); });
  }
  GridPhases phases(f);
  GridSort sort(f, sizes, 0);
  sort.run(phases, keyOf, [](Value) {});
  int64_t kept = tensorType(op->getResult(0)).getDimSize(axis), results = sizes.lines * kept;
  phases.finish(int64_t(llvm::divideCeil(results, GridSortSizes::threads)), [&](Value item) {
    Value number = f.e.addIndex(f.e.mulIndex(item, f.e.index(GridSortSizes::threads)), f.thread);
    f.when(f.less(number, f.e.index(results)), [&] {
      Value line = f.e.divIndex(number, f.e.index(kept)), i = f.e.remIndex(number, f.e.index(kept));
      store(line, i, sort.sortedPlace(line, i));
    });
  });
}
