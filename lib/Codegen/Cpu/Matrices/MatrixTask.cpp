//===- MatrixTask.cpp - The matrices of a task ----------------------------===//
#include "MatrixTask.h"
#include "../Products/StridedOperand.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Value TaskMatrices::base(const Memory &memory, Type type, unsigned inner) {
  Value first = batch;
  for (Value extent : ArrayRef(memory.extents).take_back(inner))
    first = f.e.mulIndex(first, extent);
  return m.k.address(memory.pointer, type, first);
}

Matrix TaskMatrices::matrix(const Memory &memory, unsigned inner) {
  Index stride = inner == 2 ? Index(memory.extents.back()) : Index(m.k.constant(1));
  return {base(memory, m.type, inner), stride, m.k.constant(1)};
}

Target TaskMatrices::target(const Memory &memory) {
  ArrayRef<Value> extents(memory.extents);
  return {matrix(memory), extents.drop_back().back(), extents.back()};
}

Matrix TaskMatrices::operand(Value v, unsigned inner) {
  Memory memory = *f.e.memoryOf(memoryBehind(v));
  memory.extents = extentsOf(f, v);
  return matrix(memory, inner);
}

void TaskMatrices::copy(Value x, const Memory &to, Value low, Value high) {
  Coords at;
  ArrayRef<Value> extents(to.extents);
  for (Value i : f.delinearize(batch, extents.drop_back(2)))
    at.push_back(Coord::uniform(i));
  f.loop(f.e.index(0), extents.drop_back().back(), 1, [&](Value i) {
    f.vectorLoop(low, high, m.lanes, false, [&](Value j) {
      Coords point(at);
      point.push_back(Coord::uniform(i));
      point.push_back(Coord::affine(j, f.e.lanes() > 1 ? 1 : 0));
      Value v = f.e.evalVector(x, point);
      f.failed |= !v;
      if (v)
        f.e.store(to, point, v);
    });
  });
}
