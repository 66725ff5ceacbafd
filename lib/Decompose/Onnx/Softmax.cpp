//===- Softmax.cpp - Softmax, LogSoftmax, Hardmax -------------------------===//
//
// Until opset 12 the operand was coerced to a matrix at `axis`: the operator
// then ran over all axes from `axis` on together. Since 13 it runs over one.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Softmax.h"
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using K = prim::ReduceKind;

namespace {

FailureOr<SmallVector<int64_t>> softmaxAxes(NodeContext &c) {
  int64_t rank = c.b.rank(c.in(0));
  if (c.version() >= 13) {
    auto axis = axisAttr(c, -1);
    if (failed(axis))
      return failure();
    return SmallVector<int64_t>{*axis};
  }
  int64_t axis = c.intAttr("axis", 1);
  if (axis == rank) // a matrix with one column
    return SmallVector<int64_t>{};
  auto first = axisWithin(c, axis, rank);
  if (failed(first))
    return failure();
  return axesFrom(*first, rank);
}

LogicalResult softmax(NodeContext &c) {
  auto axes = softmaxAxes(c);
  return failed(axes) ? failure() : c.give(softmaxOver(c.b, c.in(0), *axes));
}

LogicalResult logSoftmax(NodeContext &c) {
  auto axes = softmaxAxes(c);
  return failed(axes) ? failure() : c.give(logSoftmaxOver(c.b, c.in(0), *axes));
}

LogicalResult hardmax(NodeContext &c) {
  auto axes = softmaxAxes(c);
  if (failed(axes))
    return failure();
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Dims have = b.dims(x);
  Value flat = x;
  int64_t axis = axes->empty() ? 0 : axes->front();
  if (axes->size() != 1) { // coerced: one axis for all that follow
    Dims matrix(have.begin(), have.begin() + (axes->empty() ? have.size() : axis));
    axis = matrix.size();
    matrix.push_back(b.productOf(ArrayRef(have).drop_front(axis)));
    flat = b.reshape(x, matrix);
  }
  Dims list = b.dims(flat), rest = list;
  rest.erase(rest.begin() + axis);
  Type index = b.builder().getI64Type();
  Value best = prim::ArgReduceOp::create(b.builder(), b.location(), b.typeOf(rest, index), K::max,
                                         flat, axis)
                   .getResult();
  Value position = alongAxis(b, b.iota({list[axis]}, 0, index), axis, list.size());
  Value hit = b.compare(prim::ComparePredicate::eq, position, b.unsqueeze(best, {axis}));
  return c.give(b.reshape(b.cast(hit, b.elem(x)), have));
}

} // namespace

void tcc::populateOnnxSoftmaxRules(RuleSet &rules) {
  rules.add("onnx", "Softmax", softmax);
  rules.add("onnx", "LogSoftmax", logSoftmax);
  rules.add("onnx", "Hardmax", hardmax);
}
