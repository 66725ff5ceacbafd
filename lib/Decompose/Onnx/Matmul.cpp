//===- Matmul.cpp - Matrix products ---------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"

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
  if (alpha != 1)
    result = b.cast(b.mul(b.cast(result, wide), alpha), wide);
  if (c.has(2)) {
    Value bias = b.cast(c.in(2), wide);
    result = b.add(result, beta == 1 ? bias : b.mul(bias, beta));
  }
  return c.give(b.cast(result, own));
}

/// An 8-bit operand less its zero point, as i32. A vector of zero points runs
/// along `axis` (rows of the left, columns of the right operand).
Value centred(PrimBuilder &b, Value x, Value zero, int64_t axis) {
  Type i32 = b.builder().getI32Type();
  Value wide = b.cast(x, i32);
  if (!zero)
    return wide;
  zero = b.cast(zero, i32);
  if (b.rank(zero) == 1 && b.known(b.dim(zero, 0)) != 1)
    zero = alongAxis(b, zero, b.axisOf(axis, b.rank(x)), b.rank(x));
  else if (b.rank(zero) == 1)
    zero = b.reshape(zero, ArrayRef<Dim>());
  return b.sub(wide, zero);
}

/// The product of integer matrices less their zero points, exact in i32. With x
/// and y the operands, p and q their zero points and n their common extent,
///   (x - p)(y - q) = xy - p rowless(y) - q columnless(x) + npq,
/// whose first term runs on the 8-bit operands as they are.
Value integerProduct(PrimBuilder &b, Value x, Value y, Value p, Value q) {
  Type i32 = b.builder().getI32Type();
  bool small = b.elem(x).getIntOrFloatBitWidth() == 8 && b.elem(y).getIntOrFloatBitWidth() == 8;
  auto scalarLike = [&](Value zero) {
    return !zero || b.rank(zero) == 0 || b.known(b.dim(zero, 0)) == 1;
  };
  if (!small || b.rank(x) < 2 || b.rank(y) < 2 || !scalarLike(p) || !scalarLike(q))
    return b.matmul(centred(b, x, p, -2), centred(b, y, q, -1), i32);
  Value product = b.matmul(x, y, i32);
  auto isZero = [&](Value zero) {
    auto constants = zero ? b.constantInts(zero) : std::nullopt;
    return !zero || (constants && llvm::all_of(*constants, [](int64_t v) { return v == 0; }));
  };
  auto scalar32 = [&](Value zero) { return b.reshape(b.cast(zero, i32), ArrayRef<Dim>()); };
  if (!isZero(q)) {
    Value rows = b.reduce(prim::ReduceKind::sum, b.cast(x, i32), {-1}, true);
    product = b.sub(product, b.mul(rows, scalar32(q)));
  }
  if (!isZero(p)) {
    Value columns = b.reduce(prim::ReduceKind::sum, b.cast(y, i32), {-2}, true);
    product = b.sub(product, b.mul(columns, scalar32(p)));
    if (!isZero(q)) {
      Value count = scalarOf(b, b.dim(x, b.rank(x) - 1), i32);
      product = b.add(product, b.mul(b.mul(scalar32(p), scalar32(q)), count));
    }
  }
  return product;
}

LogicalResult matmulInteger(NodeContext &c) {
  return c.give(integerProduct(c.b, c.in(0), c.in(1), c.inOr(2, {}), c.inOr(3, {})));
}

/// The determinant by elimination over a small static matrix, pivot-free orders
/// being wrong, so with partial pivoting by selection.
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

} // namespace

void tcc::populateOnnxMatmulRules(RuleSet &rules) {
  rules.add("onnx", "MatMul", matmul);
  rules.add("onnx", "Gemm", gemm);
  rules.add("onnx", "MatMulInteger", matmulInteger);
  rules.add("onnx", "Det", det);
}
