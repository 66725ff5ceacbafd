//===- Matmul.cpp - Matrix products ---------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Einsum.h"
#include "Decompose/Onnx/Operands.h"
#include <cmath>

using namespace mlir;
using namespace tcc;

namespace {

LogicalResult matmul(NodeContext &c) {
  Value x = c.in(0), y = c.in(1);
  if (c.b.rank(x) == 0 || c.b.rank(y) == 0)
    return c.fail("a scalar is no matrix");
  if (c.b.elem(x) != c.b.elem(y))
    return c.fail("operands differ in element type");
  return c.give(c.b.matmul(x, y));
}

LogicalResult gemm(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), y = c.in(1);
  if (b.rank(x) != 2 || b.rank(y) != 2)
    return c.fail("needs two matrices");
  Type own = b.elem(x), wide = wideType(own);
  int64_t left = c.intAttr("transA", 0) ? 0 : 1, right = c.intAttr("transB", 0) ? 1 : 0;
  Value result = b.dot(x, y, {}, {}, {left}, {right}, wide);
  double alpha = c.floatAttr("alpha", 1), beta = c.floatAttr("beta", 1);
  if (isa<IntegerType>(wide) && (alpha != std::trunc(alpha) || beta != std::trunc(beta))) {
    wide = b.builder().getF64Type(); // a factor of integers may be a fraction: what results is cut
    result = b.cast(result, wide);
  }
  if (alpha != 1)
    result = b.cast(b.mul(b.cast(result, wide), alpha), wide);
  if (c.has(2)) {
    Value bias = b.cast(c.in(2), wide);
    Dims have = b.dims(bias), all = b.dims(result);
    if (have.size() > 2)
      return c.fail("needs a bias of rank 2 or less");
    for (auto [d, extent] : llvm::zip(have, ArrayRef(all).take_back(have.size())))
      requireBroadcast(b, d, extent);
    result = b.add(result, beta == 1 ? bias : b.mul(bias, beta));
  }
  return c.give(b.cast(result, own));
}

/// The determinant of matrices of known extent, by elimination with partial
/// pivoting, unrolled.
LogicalResult det(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = widen(b, c.in(0));
  int64_t rank = b.rank(x);
  if (rank < 2 || b.type(x).isDynamicDim(rank - 1) ||
      b.type(x).getDimSize(rank - 1) != b.type(x).getDimSize(rank - 2))
    return c.fail("needs square matrices of known extent");
  int64_t n = b.type(x).getDimSize(rank - 1);
  constexpr int64_t kLargest = 64;
  if (n > kLargest)
    return c.fail("matrices above 64 x 64 are not supported");
  Type index = b.builder().getI64Type();
  Value result = b.scalar(1, b.elem(x));
  for (int64_t k = 0; k < n; ++k) {
    // Row 0 of what is left changes places with the row of the largest first entry.
    int64_t left = n - k;
    Value first = b.sliceAxis(x, rank - 1, b.dim(0), b.dim(1)); // [.., left, 1]
    Dims list = b.dims(first);
    list.erase(list.begin() + rank - 2);
    Value best = prim::ArgReduceOp::create(b.builder(), b.location(), b.typeOf(list, index),
                                           prim::ReduceKind::max, b.abs(first), rank - 2)
                     .getResult();
    best = b.unsqueeze(best, {rank - 2}); // [.., 1, 1]
    Value row = alongAxis(b, b.iota({b.dim(left)}, 0, index), rank - 2, rank);
    using P = prim::ComparePredicate;
    Value isBest = b.compare(P::eq, row, best);
    Value pivot = b.reduce(prim::ReduceKind::sum, b.select(isBest, x, b.scalar(0, b.elem(x))),
                           {rank - 2}, true);
    Value top = b.sliceAxis(x, rank - 2, b.dim(0), b.dim(1));
    x = b.select(isBest, top, x);
    Value lead = b.sliceAxis(pivot, rank - 1, b.dim(0), b.dim(1));
    Value sign =
        b.select(b.compare(P::eq, best, 0.0), b.scalar(1, b.elem(x)), b.scalar(-1, b.elem(x)));
    result = b.mul(result, b.mul(lead, sign));
    if (left == 1)
      break;
    Value below = b.sliceAxis(x, rank - 2, b.dim(1), b.dim(left - 1));
    Value head = b.sliceAxis(below, rank - 1, b.dim(0), b.dim(1));
    Value one = b.scalar(1, b.elem(x));
    Value safe = b.select(b.compare(P::eq, lead, 0.0), one, lead);
    x = b.sub(below, b.mul(b.div(head, safe), pivot));
    x = b.sliceAxis(x, rank - 1, b.dim(1), b.dim(left - 1));
  }
  if (b.rank(result) == rank)
    result = b.squeeze(result, {rank - 2, rank - 1});
  return c.give(b.cast(result, b.elem(c.in(0))));
}

LogicalResult einsumRule(NodeContext &c) {
  SmallVector<Value> operands;
  for (size_t i = 0; i < c.numInputs(); ++i)
    operands.push_back(c.in(i));
  Value result = einsum(c.b, c.stringAttr("equation", ""), operands);
  return result ? c.give(result) : failure();
}

} // namespace

void tcc::populateOnnxMatmulRules(RuleSet &rules) {
  rules.add("onnx", "Einsum", einsumRule);
  rules.add("onnx", "MatMul", matmul);
  rules.add("onnx", "Gemm", gemm);
  rules.add("onnx", "Det", det);
}
