//===- LineKernel.cpp - A thread a line ----------------------------------===//
#include "tcc/Codegen/Common/LineKernel.h"
#include "../Order/ThreadOrder.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

void device::emitLineKernel(KernelFrame &f) {
  Operation *op = specialOf(f.launch);
  auto [x, axis] = *lineAxis(op);
  SmallVector<Value> extents = extentsOf(f, x), others(extents);
  others.erase(others.begin() + axis);
  Value line = f.globalThread();
  f.when(f.less(line, f.volume(others)), [&, axis = axis] {
    Coords at;
    for (Value i : f.delinearize(line, others))
      at.push_back(Coord::uniform(i));
    at.insert(at.begin() + axis, Coord::uniform(f.e.index(0)));
    auto sort = dyn_cast<prim::SortOp>(op);
    if (!sort || !emitThreadOrder(f, sort, at, extents[axis]))
      emitLine(f, op, at, extents[axis]);
  });
}
