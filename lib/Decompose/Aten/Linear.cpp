//===- Linear.cpp - Matrix products and attention -------------------------===//
//
// Products become one prim.dot each, with transposes left to be absorbed; attention becomes the
// idiom that fusion recognises. beta = 0 drops its operand even where that is NaN, as BLAS defines
// it.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Attention.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

/// Whether numpy.matmul takes these operands, as far as their extents are known.
LogicalResult checkMatmul(AtenNode &a, Value x, Value y) {
  PrimBuilder &b = a.b;
  int64_t rx = b.rank(x), ry = b.rank(y);
  if (rx == 0 || ry == 0)
    return a.fail("a product of a rank-0 tensor");
  auto inner = b.known(b.dim(x, rx - 1)), outer = b.known(b.dim(y, ry == 1 ? 0 : ry - 2));
  if (inner && outer && *inner != *outer)
    return a.fail("the inner extents are " + llvm::Twine(*inner) + " and " + llvm::Twine(*outer));
  Dims dx = b.dims(x), dy = b.dims(y);
  if (rx > 2 && ry > 2 && !b.broadcastable(ArrayRef(dx).drop_back(2), ArrayRef(dy).drop_back(2)))
    return a.fail("the batch axes do not fit");
  return success();
}

LogicalResult product(AtenNode &a, StringRef first, StringRef second) {
  Value x = a.tensor(first), y = a.tensor(second);
  if (failed(checkMatmul(a, x, y)))
    return failure();
  return a.give(a.b.matmul(a.cast(x, a.own()), a.cast(y, a.own())));
}
LogicalResult matmul(AtenNode &a) { return product(a, "self", "other"); }
LogicalResult mm(AtenNode &a) { return product(a, "self", "mat2"); }
LogicalResult mv(AtenNode &a) { return product(a, "self", "vec"); }
LogicalResult dot(AtenNode &a) { return product(a, "self", "tensor"); }

LogicalResult outer(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.own()), y = a.cast(a.tensor("vec2"), a.own());
  if (b.rank(x) != 1 || b.rank(y) != 1)
    return a.fail("needs vectors");
  return a.give(b.mul(b.unsqueeze(x, {1}), b.unsqueeze(y, {0})));
}

/// The sum over the last axis of both.
LogicalResult inner(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.own()), y = a.cast(a.tensor("other"), a.own());
  if (b.rank(x) == 0 || b.rank(y) == 0)
    return a.give(b.mul(x, y));
  auto dx = b.known(b.dim(x, b.rank(x) - 1)), dy = b.known(b.dim(y, b.rank(y) - 1));
  if (dx && dy && *dx != *dy)
    return a.fail("the last extents differ");
  return a.give(b.dot(x, y, {}, {}, {b.rank(x) - 1}, {b.rank(y) - 1}));
}

/// Whether a factor is there and not 1; a complex one is not.
bool isFactor(AtenNode &a, StringRef name) {
  return isa_and_nonnull<DictionaryAttr>(a.c.attr(name)) || (a.has(name) && a.real(name, 1) != 1);
}

/// beta * self + p, where beta = 0 leaves out NaN too.
Value plusSelf(AtenNode &a, Value p) {
  PrimBuilder &b = a.b;
  Type wide = b.elem(p);
  bool scaled = isFactor(a, "beta");
  if (scaled && !isa<DictionaryAttr>(a.c.attr("beta")) && a.real("beta", 1) == 0) {
    Dims shape = b.broadcastShapes(b.dims(a.tensor("self")), b.dims(p));
    return b.broadcastTo(p, shape);
  }
  Value self = a.cast(a.tensor("self"), wide);
  return b.add(p, scaled ? b.mul(self, a.number("beta", wide)) : self);
}

/// beta * self + alpha * (x @ y), in f32 for narrower floats.
LogicalResult addProduct(AtenNode &a, StringRef first, StringRef second) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  Value x = a.tensor(first), y = a.tensor(second);
  if (failed(checkMatmul(a, x, y)))
    return failure();
  Value p = b.matmul(a.cast(x, a.own()), a.cast(y, a.own()), wide);
  if (isFactor(a, "alpha"))
    p = b.mul(p, a.number("alpha", wide));
  return a.give(plusSelf(a, p));
}
LogicalResult addmm(AtenNode &a) { return addProduct(a, "mat1", "mat2"); }
LogicalResult baddbmm(AtenNode &a) { return addProduct(a, "batch1", "batch2"); }
LogicalResult addmv(AtenNode &a) { return addProduct(a, "mat", "vec"); }

/// beta * self + alpha * sum over the batch.
LogicalResult addbmm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("batch1"), y = a.tensor("batch2");
  if (b.rank(x) != 3 || b.rank(y) != 3 || failed(checkMatmul(a, x, y)))
    return a.fail("needs batches of matrices");
  Type wide = a.wide();
  Value p = b.mul(b.reduce(K::sum, b.matmul(a.cast(x, wide), a.cast(y, wide)), {0}, false),
                  a.number("alpha", 1, wide));
  return a.give(plusSelf(a, p));
}

/// beta * self + alpha * x yT.
LogicalResult addr(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  Value x = a.cast(a.tensor("vec1"), wide), y = a.cast(a.tensor("vec2"), wide);
  if (b.rank(x) != 1 || b.rank(y) != 1)
    return a.fail("needs vectors");
  Value p = b.mul(b.mul(b.unsqueeze(x, {1}), b.unsqueeze(y, {0})), a.number("alpha", 1, wide));
  return a.give(plusSelf(a, p));
}

LogicalResult linear(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("input"), a.own()), w = a.cast(a.tensor("weight"), a.own());
  Value bias = a.tensor("bias");
  if (b.rank(x) == 0 || b.rank(w) < 1 || b.rank(w) > 2)
    return a.fail("needs a matrix of weights");
  Value turned = b.rank(w) == 2 ? b.transpose(w, {1, 0}) : w;
  if (failed(checkMatmul(a, x, turned)))
    return failure();
  Type wide = bias ? a.wide() : a.own();
  Value y = b.matmul(x, turned, wide);
  return a.give(bias ? b.add(y, a.cast(bias, wide)) : y);
}

/// The product of three tensors with new axes, summed over some.
LogicalResult trilinear(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value product;
  for (auto [name, expand] : {std::pair("i1", "expand1"), {"i2", "expand2"}, {"i3", "expand3"}}) {
    Value x = a.cast(a.tensor(name), a.wide());
    auto axes = a.integers(expand);
    if (!axes)
      return a.fail("needs lists of axes");
    for (int64_t &axis : *axes) {
      auto inside = a.within(axis, b.rank(x) + axes->size());
      if (failed(inside))
        return failure();
      axis = *inside;
    }
    llvm::sort(*axes);
    if (std::adjacent_find(axes->begin(), axes->end()) != axes->end())
      return a.fail("an axis is named twice");
    if (!axes->empty())
      x = b.unsqueeze(x, *axes);
    if (product && b.rank(product) != b.rank(x))
      return a.fail("the operands get different numbers of axes");
    product = product ? b.mul(product, x) : x;
  }
  auto summed = a.integers("sumdim");
  if (!summed)
    return a.fail("needs a list of axes");
  if (summed->empty())
    return a.give(product);
  auto axes = a.axes("sumdim", b.rank(product));
  return failed(axes) ? failure() : a.give(b.reduce(K::sum, product, *axes, false));
}

/// x1 W[o] x2 + bias.
LogicalResult bilinear(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("input1"), a.own()), y = a.cast(a.tensor("input2"), a.own());
  Value w = a.cast(a.tensor("weight"), a.own());
  if (b.rank(w) != 3 || b.rank(x) == 0 || b.rank(x) != b.rank(y))
    return a.fail("needs operands of one rank and three axes of weights");
  // [.., i] with [o, i, j] is [.., o, j]; then the sum over j with y.
  Value left = b.dot(x, w, {}, {}, {b.rank(x) - 1}, {1});
  Value v = b.reduce(K::sum, b.mul(left, b.unsqueeze(y, {-2})), {-1}, false);
  if (Value bias = a.tensor("bias"))
    v = b.add(v, a.cast(bias, b.elem(v)));
  return a.give(v);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

} // namespace

Value aten::repeatHeads(PrimBuilder &b, Value x, Dim heads) {
  int64_t axis = b.rank(x) - 3;
  Dims have = b.dims(x);
  if (b.same(have[axis], heads))
    return x;
  Dims wide = have, merged = have;
  wide.insert(wide.begin() + axis + 1, b.floorDivDims(heads, have[axis]));
  merged[axis] = heads;
  return b.reshape(b.broadcastTo(b.unsqueeze(x, {axis + 1}), wide), merged);
}

Value aten::attentionScale(AtenNode &a, Value query, Type elementType) {
  PrimBuilder &b = a.b;
  Dim last = b.dim(query, b.rank(query) - 1);
  if (a.has("scale"))
    return a.number("scale", elementType);
  if (auto width = b.known(last))
    return b.scalar(1 / std::sqrt(static_cast<double>(*width)), elementType);
  return b.rsqrt(a.extentTensor(last, elementType));
}

Value aten::maskedScores(AtenNode &a, Value scores, Value mask, bool causal) {
  PrimBuilder &b = a.b;
  double inf = std::numeric_limits<double>::infinity();
  if (mask && b.elem(mask).isInteger(1))
    scores = b.select(mask, scores, b.scalar(-inf, b.elem(scores)));
  else if (mask)
    scores = b.add(scores, a.cast(mask, b.elem(scores)));
  if (!causal)
    return scores;
  Type index = b.builder().getI64Type();
  int64_t rank = b.rank(scores);
  Dims shape = {b.dim(scores, rank - 2), b.dim(scores, rank - 1)};
  Value allowed = b.compare(P::ge, b.iota(shape, 0, index), b.iota(shape, 1, index));
  return b.select(allowed, scores, b.scalar(-inf, b.elem(scores)));
}

namespace {

/// Softmax over the last axis. A row that is masked altogether gives 0, as torch
/// has it: its sum is 0, and all others are at least 1.
Value attentionWeights(PrimBuilder &b, Value scores, bool mayBeEmpty) {
  int64_t axis = b.rank(scores) - 1;
  if (!mayBeEmpty)
    return b.softmax(scores, axis);
  Value top = b.reduce(K::max, scores, {axis}, true);
  Value zero = b.scalar(0, b.elem(scores));
  Value empty = b.compare(P::eq, top, -std::numeric_limits<double>::infinity());
  Value e = b.exp(b.sub(scores, b.select(empty, zero, top)));
  return b.div(e, b.maximum(b.reduce(K::sum, e, {axis}, true), 1.0));
}

/// `grouped`: several heads of queries may share those of keys and values without being told.
template <bool grouped> LogicalResult attention(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  Value q = a.tensor("query"), k = a.tensor("key"), v = a.tensor("value");
  Value mask = a.tensor("attn_mask") ? a.tensor("attn_mask") : a.tensor("attn_bias");
  if (a.real("dropout_p", 0) != 0)
    return a.fail("random dropout is not supported; export the model in eval()");
  int64_t rank = b.rank(q);
  if (rank < 2 || b.rank(k) != rank || b.rank(v) != rank)
    return a.fail("query, key and value differ in rank");
  if (a.flag("enable_gqa", grouped) && rank >= 3) {
    k = repeatHeads(b, k, b.dim(q, rank - 3));
    v = repeatHeads(b, v, b.dim(q, rank - 3));
  }
  SmallVector<int64_t> order = allAxes(rank);
  std::swap(order[rank - 2], order[rank - 1]);
  Value turned = b.transpose(k, order);
  if (failed(checkMatmul(a, q, turned)))
    return failure();
  Value scores = b.matmul(q, turned, wide);
  scores = b.mul(scores, attentionScale(a, q, wide));
  if (mask && !b.broadcastable(b.dims(mask), b.dims(scores)))
    return a.fail("the mask does not fit the scores");
  scores = maskedScores(a, scores, mask, a.flag("is_causal", false));
  Value weights = a.cast(attentionWeights(b, scores, bool(mask)), b.elem(v));
  if (failed(checkMatmul(a, weights, v)))
    return failure();
  if (a.c.numResults() > 1 && a.c.wants(1)) {
    auto stated = dyn_cast<RankedTensorType>(a.c.node.getResult(1).getType());
    if (!stated || stated.getRank() != rank - 1 || !isa<FloatType>(a.own(1)))
      return a.fail("the weights are not supported as a result");
    Value top = b.reduce(K::max, scores, {rank - 1}, true);
    Value sum = b.reduce(K::sum, b.exp(b.sub(scores, top)), {rank - 1}, false);
    (void)a.give(1, b.add(b.log(sum), b.squeeze(top, {rank - 1})));
  }
  return a.give(b.matmul(weights, v, wide));
}

/// A mixture of experts: rows that are sorted by expert, each group times its expert's
/// matrix. `offs` says where each group ends; rows after the last one give zeros.
LogicalResult groupedProduct(AtenNode &a, StringRef rowsName, StringRef matricesName) {
  PrimBuilder &b = a.b;
  Value x = a.tensor(rowsName), w = a.tensor(matricesName), ends = a.tensor("offs");
  if (!ends && b.rank(x) == 3 && b.rank(w) == 3)
    return a.give(b.matmul(a.cast(x, a.wide()), a.cast(w, a.wide())));
  auto groups = ends && b.rank(ends) == 1 ? b.known(b.dim(ends, 0)) : std::nullopt;
  if (!groups || b.rank(x) != 2 || b.rank(w) != 3 || b.known(b.dim(w, 0)) != groups ||
      a.has("bias"))
    return a.fail("needs rows, as many matrices as groups, and no bias");
  using Cmp = arith::CmpIPredicate;
  Dim start = b.dim(0), rows = b.dim(x, 0), columns = b.dim(w, 2);
  SmallVector<Value> parts;
  for (auto [i, end] : llvm::enumerate(b.readElements(ends))) {
    b.check(b.andDims(b.compareDims(Cmp::sle, start, end), b.compareDims(Cmp::sle, end, rows)),
            "the ends of the groups do not ascend, or lie beyond the rows");
    Value part = b.sliceAxis(x, 0, start, b.subDims(end, start));
    Value matrix = b.squeeze(b.sliceAxis(w, 0, b.dim(i), b.dim(1)), {0});
    parts.push_back(b.matmul(part, a.cast(matrix, b.elem(x)), a.own()));
    start = end;
  }
  parts.push_back(b.full({b.subDims(rows, start), columns}, 0, a.own()));
  return a.give(b.reshape(b.concat(parts, 0), {rows, columns}));
}
LogicalResult groupedMm(AtenNode &a) { return groupedProduct(a, "self", "mat2"); }
LogicalResult groupedMmFallback(AtenNode &a) { return groupedProduct(a, "input", "weight"); }

} // namespace

void tcc::populateAtenLinearRules(RuleSet &rules) {
  addRules(rules, {{"grouped_mm_fallback", "default", "input weight offs", groupedMmFallback}},
           "transformers");
  addRules(
      rules,
      {{"_grouped_mm", "default", "self mat2", groupedMm},
       {"matmul", "default", "self other", matmul},
       {"linalg_matmul", "default", "self other", matmul},
       {"mm", "default dtype", "self mat2", mm},
       {"bmm", "default dtype", "self mat2", mm},
       {"mv", "default", "self vec", mv},
       {"dot", "default", "self tensor", dot},
       {"inner", "default", "self other", inner},
       {"outer", "default", "self vec2", outer},
       {"ger", "default", "self vec2", outer},
       {"addmm", "default dtype", "self mat1 mat2", addmm},
       {"baddbmm", "default dtype", "self batch1 batch2", baddbmm},
       {"addmv", "default", "self mat vec", addmv},
       {"addbmm", "default", "self batch1 batch2", addbmm},
       {"addr", "default", "self vec1 vec2", addr},
       {"linear", "default", "input weight", linear},
       {"_trilinear", "default", "i1 i2 i3", trilinear},
       {"bilinear", "default", "input1 input2 weight", bilinear},
       {"scaled_dot_product_attention", "default", "query key value", attention<false>},
       {"_scaled_dot_product_attention_math", "default", "query key value", attention<false>},
       {"_scaled_dot_product_flash_attention_for_cpu", "default", "query key value",
        attention<true>},
       {"_scaled_dot_product_flash_attention", "default", "query key value", attention<true>},
       {"_scaled_dot_product_efficient_attention", "default", "query key value", attention<true>},
       {"_scaled_dot_product_cudnn_attention", "default", "query key value", attention<true>},
       {"_scaled_dot_product_fused_attention_overrideable", "default", "query key value",
        attention<true>}});
}
