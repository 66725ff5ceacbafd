#include "Decompose/Idioms/Attention.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Softmax.h"
#include <limits>

using namespace mlir;
using namespace tcc;

Value tcc::splitHeads(PrimBuilder &b, Value x, int64_t heads) {
  if (b.rank(x) != 3) {
    b.fault("queries, keys or values of rank " + llvm::Twine(b.rank(x)) +
            ", not [batch, tokens, features]");
    return b.full(Dims(4, b.dim(1)), 0, b.elem(x));
  }
  Dims d = b.dims(x);
  Dim n = b.dim(heads), each = wholeQuotient(b, d[2], n, "features in heads");
  return b.transpose(b.reshape(x, {d[0], d[1], n, each}), {0, 2, 1, 3});
}

Value tcc::mergeHeads(PrimBuilder &b, Value x) {
  Dims d = b.dims(x);
  return b.reshape(b.transpose(x, {0, 2, 1, 3}), {d[0], d[2], b.mulDims(d[1], d[3])});
}

Value tcc::causalMask(PrimBuilder &b, Dim queries, Dim keys, Dim offset) {
  Type index = b.builder().getI64Type();
  Value row = b.add(b.iota({queries}, 0, index), scalarOf(b, offset, index));
  Value column = b.iota({keys}, 0, index);
  return b.compare(prim::ComparePredicate::ge, b.unsqueeze(row, {1}), b.unsqueeze(column, {0}));
}

/// Softmax over the last axis in which a row of -inf gives zeros.
static Value softmaxOrZero(PrimBuilder &b, Value x) {
  using K = prim::ReduceKind;
  using P = prim::ComparePredicate;
  Value top = b.reduce(K::max, x, {-1}, true);
  Value zero = b.scalar(0, b.elem(x)), one = b.scalar(1, b.elem(x));
  Value none = b.scalar(-std::numeric_limits<double>::infinity(), b.elem(x));
  Value e = b.exp(b.sub(x, b.select(b.compare(P::eq, top, none), zero, top)));
  Value sum = b.reduce(K::sum, e, {-1}, true);
  return b.div(e, b.select(b.compare(P::eq, sum, zero), one, sum));
}

/// Softmax over the last axis and the one score `sink`, whose own weight is left out.
static Value softmaxBeside(PrimBuilder &b, Value x, Value sink) {
  using K = prim::ReduceKind;
  sink = b.cast(sink, b.elem(x));
  Value top = b.maximum(b.reduce(K::max, x, {-1}, true), sink);
  Value e = b.exp(b.sub(x, top));
  return b.div(e, b.add(b.reduce(K::sum, e, {-1}, true), b.exp(b.sub(sink, top))));
}

/// Several query heads may share one head of keys and values; they then have an
/// axis of their own in the products, and `heads` and `shared` are [B, N, ..]
/// and [B, N / group, ..].
static Value headwise(PrimBuilder &b, Value heads, Value shared, int64_t sharedContract,
                      Type type) {
  Dims h = b.dims(heads), s = b.dims(shared);
  auto many = b.known(h[1]), few = b.known(s[1]);
  if (b.same(h[1], s[1]) || few == 0)
    return b.dot(heads, shared, {0, 1}, {0, 1}, {3}, {sharedContract}, type);
  Dim group = b.floorDivDims(h[1], b.maxDims(s[1], b.dim(1)));
  if (many && few && *many % *few != 0)
    b.fault("the query heads do not divide among the heads of keys");
  else if (!many || !few)
    b.check(b.compareDims(arith::CmpIPredicate::eq, b.mulDims(group, s[1]), h[1]),
            "attention: the query heads do not divide among the heads of keys");
  Value grouped = b.reshape(heads, {h[0], s[1], group, h[2], h[3]});
  Value product = b.dot(grouped, shared, {0, 1}, {0, 1}, {4}, {sharedContract}, type);
  return b.reshape(product, {h[0], h[1], h[2], s[sharedContract == 3 ? 2 : 3]});
}

Attended tcc::attend(PrimBuilder &b, const Attention &a) {
  Type own = b.elem(a.query), wide = wideType(own);
  Attended r;
  Value scores = headwise(b, a.query, a.key, 3, wide);
  Dim width = b.dim(a.query, 3);
  if (a.scale != 0)
    scores = b.mul(scores, a.scale);
  else if (auto constant = b.known(width))
    scores = b.mul(scores, 1 / std::sqrt(static_cast<double>(*constant)));
  else
    scores = b.mul(scores, b.rsqrt(scalarOf(b, width, wide)));
  r.scores = r.capped = scores;
  if (a.softcap > 0)
    r.capped = b.mul(b.tanh(b.div(scores, a.softcap)), a.softcap);
  r.masked = a.bias ? b.add(r.capped, b.cast(a.bias, wide)) : r.capped;
  if (a.allowed)
    r.masked =
        b.select(a.allowed, r.masked, b.scalar(-std::numeric_limits<double>::infinity(), wide));
  Value weights = a.sink        ? softmaxBeside(b, r.masked, a.sink)
                  : a.emptyRows ? softmaxOrZero(b, r.masked)
                                : softmaxOver(b, r.masked, 3);
  r.weights = b.cast(weights, own);
  r.result = headwise(b, r.weights, a.value, 2, own);
  return r;
}

Value tcc::rotate(PrimBuilder &b, Value x, Value cos, Value sin, int64_t rotated,
                  bool interleaved) {
  int64_t last = b.rank(x) - 1;
  Dim width = b.dim(x, last), turned = rotated > 0 ? b.dim(rotated) : width;
  Dim half = b.floorDivDims(turned, b.dim(2));
  Value head = b.sliceAxis(x, last, b.dim(0), turned);
  Value first, second;
  Dims pairs = b.dims(head);
  pairs.back() = half;
  if (interleaved) {
    Dims split = pairs;
    split.push_back(b.dim(2));
    Value parts = b.reshape(head, split);
    auto part = [&](int64_t i) {
      return b.squeeze(b.sliceAxis(parts, last + 1, b.dim(i), b.dim(1)), {last + 1});
    };
    first = part(0);
    second = part(1);
  } else {
    first = b.sliceAxis(head, last, b.dim(0), half);
    second = b.sliceAxis(head, last, half, half);
  }
  cos = b.cast(cos, b.elem(x));
  sin = b.cast(sin, b.elem(x));
  Value re = b.sub(b.mul(first, cos), b.mul(second, sin));
  Value im = b.add(b.mul(first, sin), b.mul(second, cos));
  Value result;
  if (interleaved)
    result =
        b.reshape(b.concat({b.unsqueeze(re, {last + 1}), b.unsqueeze(im, {last + 1})}, last + 1),
                  b.dims(head));
  else
    result = b.concat({re, im}, last);
  if (PrimBuilder::same(turned, width))
    return result;
  return b.concat({result, b.sliceAxis(x, last, turned, b.subDims(width, turned))}, last);
}
