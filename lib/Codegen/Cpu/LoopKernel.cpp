//===- LoopKernel.cpp - One point at a time -------------------------------===//
//
// All results have one shape. A task is a run of at most kLoopChunk points of the
// innermost axis; inside, vectors of neighbouring points, then single points.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

bool tcc::codegen::emitLoopKernel(KernelFrame &f) {
  const Memory &out = f.results[0];
  auto store = [&](ArrayRef<Coord> at) {
    for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
      Value v = f.e.eval(value, at);
      if (!v) {
        f.failed = true;
        return;
      }
      f.e.store(memory, at, v);
    }
  };
  if (out.extents.empty()) {
    f.loop(f.begin, f.end, 1, [&](Value) { store({}); });
    return !f.failed;
  }
  ValueRange outer = ArrayRef(out.extents).drop_back();
  Value inner = out.extents.back();
  auto type = cast<RankedTensorType>(f.launch.getResultTypes()[0]);
  unsigned lanes = lanesFor(f.cpu, f.launch, type.getShape().back());
  Value chunks =
      f.e.divIndex(f.e.addIndex(inner, f.e.index(kLoopChunk - 1)), f.e.index(kLoopChunk));
  f.loop(f.begin, f.end, 1, [&](Value task) {
    Value chunk = f.e.remIndex(task, chunks);
    Coords at;
    for (Value i : f.delinearize(f.e.divIndex(task, chunks), outer))
      at.push_back(Coord::uniform(i));
    Value low = f.e.mulIndex(chunk, f.e.index(kLoopChunk));
    Value high = f.minIndex(f.e.addIndex(low, f.e.index(kLoopChunk)), inner);
    if (getConstantIntValue(chunks) == 1) {
      low = f.e.index(0);
      high = inner;
    }
    at.push_back({});
    f.vectorLoop(low, high, lanes, true, [&](Value i) {
      at.back() = Coord::affine(i, f.e.lanes() > 1 ? 1 : 0);
      store(at);
    });
  });
  return !f.failed;
}
