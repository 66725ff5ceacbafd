//===- ProjectedLstm.cpp - LSTM layers with projections -------------------===//
//
// The state is projected after each step, so this is a loop over time of its own beside
// Idioms/Recurrent.h. The products with the input need no state and stand before it.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Aten/ProjectedLstm.h"
#include "Decompose/Idioms/Matrices.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using matrices::transposed;

std::optional<ProjectedLstm> aten::projectedLstm(PrimBuilder &b, Value x, Value h, Value c,
                                                 ArrayRef<Value> params, bool reverse) {
  bool biases = params.size() == 5;
  Value projection = params.back();
  if (b.rank(projection) != 2 || b.rank(params[0]) != 2 || b.rank(params[1]) != 2 ||
      (biases && (b.rank(params[2]) != 1 || b.rank(params[3]) != 1)))
    return std::nullopt;
  Value input = b.matmul(x, transposed(b, params[0])); // [T, B, 4H]
  if (biases)
    input = b.add(input, b.add(params[2], params[3]));
  Dim steps = b.dim(x, 0), hidden = b.dim(projection, 1);
  Value last = b.sub(b.fromHost({steps}, {}, b.builder().getI64Type()), 1.0);
  Dims shape = {steps, b.dim(x, 1), b.dim(projection, 0)};
  auto step = [&](Value turn, ValueRange have) -> SmallVector<Value> {
    Value at = reverse ? b.sub(last, turn) : turn;
    Value gates = b.add(b.take(input, at, 0), b.matmul(have[0], transposed(b, params[1])));
    auto gate = [&](int64_t i) {
      return b.sliceAxis(gates, 1, b.mulDims(hidden, b.dim(i)), hidden);
    };
    Value keeps = b.mul(b.logistic(gate(1)), have[1]);
    Value cell = b.add(keeps, b.mul(b.logistic(gate(0)), b.tanh(gate(2))));
    Value state = b.matmul(b.mul(b.logistic(gate(3)), b.tanh(cell)), transposed(b, projection));
    Dims starts(3, b.dim(0));
    starts[0] = b.readElements(at)[0];
    return {state, cell, b.insertSlice(have[2], b.unsqueeze(state, {0}), starts)};
  };
  auto done = matrices::repeat(b, steps, {h, c, b.full(shape, 0, b.elem(x))}, step);
  return ProjectedLstm{done[2], done[0], done[1]};
}
