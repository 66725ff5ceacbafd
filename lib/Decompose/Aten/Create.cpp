//===- Create.cpp - Tensors out of nothing, and copies --------------------===//
//
// Tensors that come from no operand are `iota` and arithmetic, not constants: their extents may be
// open, and a kernel computes an element sooner than it reads one. Points of linspace are counted
// from both ends, as torch does, so that the last one is exact.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/Matrices.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

namespace {

//===----------------------------------------------------------------------===//
// The same values
//===----------------------------------------------------------------------===//

/// clone, detach, contiguous, to, ...: at most another element type.
LogicalResult same(AtenNode &a) { return a.give(a.tensor("self")); }

/// Floats become integers of 8 and 16 bits by way of i32, whose low bits they are: torch's -1.0 is
/// 255 as uint8. What has more digits than an f32 becomes a narrower float by way of that, rounded
/// twice: torch's 1 + 2^-8 + 2^-40 is 1 as bf16.
Value converted(AtenNode &a, Value x) {
  constexpr unsigned kDigits = 24, kWidth = 32; // of f32
  OpBuilder &builder = a.b.builder();
  Type from = a.b.elem(x);
  if (auto to = dyn_cast<FloatType>(a.own())) {
    bool longer =
        from.isF64() || (isa<IntegerType>(from) && from.getIntOrFloatBitWidth() > kDigits);
    return longer && to.getWidth() < kWidth ? a.b.cast(x, builder.getF32Type()) : x;
  }
  auto to = dyn_cast<IntegerType>(a.own());
  bool narrow = to && to.getWidth() > 1 && to.getWidth() < kWidth;
  return narrow && isa<FloatType>(from) ? a.b.cast(x, builder.getI32Type()) : x;
}
LogicalResult convert(AtenNode &a) { return a.give(converted(a, a.tensor("self"))); }
LogicalResult convertPrimitive(AtenNode &a) { return a.give(converted(a, a.tensor("a"))); }

LogicalResult conjugate(AtenNode &a) { return a.give(a.conjugate(a.number("self", a.own()))); }

/// The source under the shape and type of self.
LogicalResult copy(AtenNode &a) {
  PrimBuilder &b = a.b;
  Dims want = b.dims(a.tensor("self"));
  Value src = a.tensor("src");
  if (b.rank(src) > static_cast<int64_t>(want.size()) || !b.broadcastable(b.dims(src), want))
    return a.fail("the source does not fit");
  return a.give(b.broadcastTo(converted(a, src), want));
}

//===----------------------------------------------------------------------===//
// One value everywhere
//===----------------------------------------------------------------------===//

LogicalResult giveFull(AtenNode &a, std::optional<Dims> size, Value value) {
  if (!size || !value)
    return a.fail("needs a list of extents and a number");
  if (llvm::any_of(*size, [&](Dim d) { return a.b.known(d).value_or(0) < 0; }))
    return a.fail("an extent is negative");
  if (a.b.rank(value) != 0)
    return a.fail("the value must be one number");
  return a.give(a.b.full(*size, value));
}

LogicalResult full(AtenNode &a) {
  return giveFull(a, a.extents("size"), a.number("fill_value", a.own()));
}
LogicalResult fullLike(AtenNode &a) {
  return giveFull(a, a.b.dims(a.tensor("self")), a.number("fill_value", a.own()));
}
LogicalResult fill(AtenNode &a) {
  return giveFull(a, a.b.dims(a.tensor("self")), a.number("value", a.own()));
}
template <int value> LogicalResult constantOf(AtenNode &a) {
  return giveFull(a, a.extents("size"), a.b.scalar(value, a.own()));
}
template <int value> LogicalResult constantLike(AtenNode &a) {
  return giveFull(a, a.b.dims(a.tensor("self")), a.b.scalar(value, a.own()));
}
LogicalResult scalarTensor(AtenNode &a) { return giveFull(a, Dims(), a.number("s", a.own())); }

//===----------------------------------------------------------------------===//
// Sequences of numbers
//===----------------------------------------------------------------------===//

/// An integer step, or a real one that is whole: arange(n, -n, -1.0).
std::optional<Dim> wholeStep(AtenNode &a) {
  std::optional<Dim> step = a.has("step") ? a.extent("step") : a.b.dim(1);
  if (step || a.tensor("step"))
    return step;
  constexpr double most = 1LL << 53;
  double real = a.real("step", 1);
  if (std::trunc(real) == real && std::abs(real) < most)
    step = a.b.dim(static_cast<int64_t>(real));
  return step;
}

/// A range of real numbers that only a run knows, as far as (end - start) / step says.
LogicalResult computedRange(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type f64 = b.builder().getF64Type(), i64 = b.builder().getI64Type();
  Value start = a.number("start", 0, f64), step = a.number("step", 1, f64);
  Value steps = b.div(b.sub(a.number("end", 0, f64), start), step);
  Dim count = b.readElements(b.cast(b.unary<prim::CeilOp>(steps), i64))[0];
  Value i = b.iota({b.maxDims(count, b.dim(0))}, 0, f64);
  if (isa<IntegerType>(a.own())) {
    step = b.unary<prim::TruncOp>(step);
    start = b.unary<prim::TruncOp>(start);
  }
  return a.give(b.add(b.mul(i, step), start));
}

/// start, start + step, ... up to end, which `closed` ranges (torch.range) have too.
template <bool closed> LogicalResult arange(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto isInteger = [&](StringRef name) { return !a.has(name) || a.extent(name).has_value(); };
  Type own = a.own();
  std::optional<Dim> step = wholeStep(a);
  if (!closed && isInteger("start") && isInteger("end") && step) {
    Dim start = a.extent("start", 0), end = a.extent("end", 0);
    auto by = b.known(*step);
    if (!by || *by == 0)
      return a.fail("the step must be a constant that is not 0");
    Dim span = *by > 0 ? b.subDims(end, start) : b.subDims(start, end);
    Dim count = *by == 1 || *by == -1 ? span : b.ceilDivDims(span, b.dim(std::abs(*by)));
    count = b.nonNegative(count) ? count : b.maxDims(count, b.dim(0));
    Type index = b.builder().getI64Type();
    Value v = b.iota({count}, 0, index);
    if (*by != 1)
      v = b.mul(v, a.extentTensor(*step, index));
    if (b.known(start) != 0)
      v = b.add(v, a.extentTensor(start, index));
    return a.give(v);
  }
  if (a.tensor("start") || a.tensor("end") || a.tensor("step"))
    return closed ? a.fail("the ends and the step must be constants") : computedRange(a);
  double start = a.real("start", 0), end = a.real("end", 0), by = a.real("step", 1);
  if (by == 0 || !std::isfinite((end - start) / by))
    return a.fail("the range is not finite");
  double steps = (end - start) / by;
  double count = std::max(0.0, closed ? std::floor(steps) + 1 : std::ceil(steps));
  if (count > 1e12)
    return a.fail("the range is too long");
  // The real range says how many there are; integers then step by integers.
  bool whole = isa<IntegerType>(own);
  Type wide = whole ? Type(b.builder().getI64Type()) : AtenNode::wide(own);
  Value i = b.iota({b.dim(static_cast<int64_t>(count))}, 0, wide);
  return a.give(b.add(b.mul(i, whole ? std::trunc(by) : by), whole ? std::trunc(start) : start));
}

/// `steps` points from start to end, each half counted from its own end, as torch does.
Value points(AtenNode &a, Value start, Value end, Dim steps, Type t) {
  PrimBuilder &b = a.b;
  Value i = b.iota({steps}, 0, b.builder().getI64Type());
  Value last = a.extentTensor(b.subDims(steps, b.dim(1)), b.builder().getI64Type());
  Value one = b.scalar(1, b.builder().getI64Type());
  Value step = b.div(b.sub(end, start), b.cast(b.maximum(last, one), t));
  Value forward = b.add(b.mul(b.cast(i, t), step), start);
  Value backward = b.sub(end, b.mul(b.cast(b.sub(last, i), t), step));
  Value half = a.extentTensor(b.floorDivDims(steps, b.dim(2)), b.builder().getI64Type());
  Value first = b.compare(P::lt, i, half);
  // One point is the start.
  Value alone = b.compare(P::eq, last, b.scalar(0, b.builder().getI64Type()));
  return b.select(b.binary<prim::OrOp>(first, b.broadcastTo(alone, {steps})), forward, backward);
}

/// The ends in the type that the points are computed in; integers have integer ends.
FailureOr<Value> pointsBetweenEnds(AtenNode &a) {
  PrimBuilder &b = a.b;
  bool whole = isa<IntegerType>(a.own());
  Type t = whole ? Type(b.builder().getF64Type()) : a.wide();
  auto end = [&](StringRef name) {
    Value v = a.number(name, t);
    return v && whole ? b.unary<prim::TruncOp>(v) : v;
  };
  Value start = end("start"), last = end("end");
  if (!start || !last || b.rank(start) != 0 || b.rank(last) != 0)
    return a.fail("the ends must be numbers");
  return points(a, start, last, a.extent("steps", 1), t);
}

LogicalResult linspace(AtenNode &a) {
  auto v = pointsBetweenEnds(a);
  return failed(v) ? failure() : a.give(*v);
}

LogicalResult logspace(AtenNode &a) {
  auto e = pointsBetweenEnds(a);
  return failed(e) ? failure() : a.give(a.b.pow(a.b.scalar(a.real("base", 10), a.b.elem(*e)), *e));
}

//===----------------------------------------------------------------------===//
// Triangles
//===----------------------------------------------------------------------===//

LogicalResult eye(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto rows = a.extent("n");
  if (!rows)
    return a.fail("needs a number of rows");
  Value d = matrices::distance(b, *rows, a.has("m") ? *a.extent("m") : *rows);
  return a.give(b.compare(P::eq, d, b.scalar(0, b.elem(d))));
}

template <P keep> LogicalResult triangle(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (b.rank(x) < 2)
    return a.fail("needs a matrix");
  Value d = matrices::distance(b, b.dim(x, b.rank(x) - 2), b.dim(x, b.rank(x) - 1));
  Value inside = b.compare(keep, d, a.extentTensor(a.extent("diagonal", 0), b.elem(d)));
  return a.give(b.select(inside, x, b.scalar(0, b.elem(x))));
}

/// Row and column of every element of a triangle, row-major: [2, count].
template <P keep> LogicalResult triangleIndices(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto rows = a.extent("row"), columns = a.extent("col");
  if (!rows || !columns)
    return a.fail("needs rows and columns");
  Value d = matrices::distance(b, *rows, *columns);
  Value inside = b.compare(keep, d, a.extentTensor(a.extent("offset", 0), b.elem(d)));
  return a.give(b.nonzero(inside));
}

/// A vector as a diagonal, or the diagonal of a matrix (torch.diag_embed for the former).
LogicalResult diagEmbed(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t rank = b.rank(x) + 1, offset = a.integer("offset", 0);
  auto i = a.axis("dim1", -2, rank), j = a.axis("dim2", -1, rank);
  if (failed(i) || failed(j) || b.rank(x) == 0 || *i == *j)
    return a.fail("needs two axes");
  Dim length = b.dim(x, b.rank(x) - 1), side = b.addDims(length, b.dim(std::abs(offset)));
  // Row r holds element r (or r + offset) at column r + offset.
  Value padded = b.pad(
      x, b.scalar(0, b.elem(x)),
      [&] {
        Dims low(b.rank(x), b.dim(0));
        low.back() = b.dim(std::max<int64_t>(-offset, 0));
        return low;
      }(),
      [&] {
        Dims high(b.rank(x), b.dim(0));
        high.back() = b.dim(std::max<int64_t>(offset, 0));
        return high;
      }());
  Value d = matrices::distance(b, side, side);
  Value on = b.compare(P::eq, d, b.scalar(static_cast<double>(offset), b.elem(d)));
  Value result = b.select(on, b.unsqueeze(padded, {-1}), b.scalar(0, b.elem(x)));
  SmallVector<int64_t> order;
  int64_t next = 0;
  for (int64_t axis = 0; axis < rank; ++axis)
    order.push_back(axis == *i ? rank - 2 : axis == *j ? rank - 1 : next++);
  return a.give(b.transpose(result, order));
}

} // namespace

void tcc::populateAtenCreateRules(RuleSet &rules) {
  addRules(rules, {{"clone", "default", "self", same},
                   {"detach", "default", "self", same},
                   {"detach_copy", "default", "self", same},
                   {"alias", "default", "self", same},
                   {"alias_copy", "default", "self", same},
                   {"contiguous", "default", "self", same},
                   {"lift_fresh", "default", "self", same},
                   {"lift_fresh_copy", "default", "self", same},
                   {"lift", "default", "self", same},
                   {"to", "dtype dtype_layout device other prim_Device prim_dtype prim_other",
                    "self", convert},
                   {"_to_copy", "default", "self", convert},
                   {"type_as", "default", "self", convert},
                   {"_conj", "default", "", conjugate},
                   {"_conj_physical", "default", "self", conjugate},
                   {"_conj_copy", "default", "self", conjugate},
                   {"conj", "default", "self", conjugate},
                   {"conj_physical", "default", "self", conjugate},
                   {"resolve_conj", "default", "self", same},
                   {"resolve_neg", "default", "self", same},
                   {"copy", "default", "self src", copy}});
  addRules(rules, {{"full", "default", "", full},
                   {"full_like", "default", "self", fullLike},
                   {"new_full", "default", "self", full},
                   {"fill", "Scalar Tensor", "self", fill},
                   {"zero", "default", "self", constantLike<0>},
                   {"zeros", "default", "", constantOf<0>},
                   {"_efficientzerotensor", "default", "", constantOf<0>},
                   {"ones", "default", "", constantOf<1>},
                   {"new_zeros", "default", "self", constantOf<0>},
                   {"new_ones", "default", "self", constantOf<1>},
                   {"zeros_like", "default", "self", constantLike<0>},
                   {"ones_like", "default", "self", constantLike<1>},
                   {"empty", "memory_format", "", constantOf<0>},
                   {"empty_strided", "default", "", constantOf<0>},
                   {"new_empty", "default", "self", constantOf<0>},
                   {"new_empty_strided", "default", "self", constantOf<0>},
                   {"empty_like", "default", "self", constantLike<0>},
                   {"empty_permuted", "default", "", constantOf<0>},
                   {"scalar_tensor", "default", "", scalarTensor},
                   {"arange", "default start start_step", "", arange<false>},
                   {"range", "default step", "", arange<true>},
                   {"linspace", "default Tensor_Tensor Tensor_Scalar Scalar_Tensor", "", linspace},
                   {"logspace", "default Tensor_Tensor Tensor_Scalar Scalar_Tensor", "", logspace},
                   {"eye", "default m", "", eye},
                   {"tril", "default", "self", triangle<P::le>},
                   {"triu", "default", "self", triangle<P::ge>},
                   {"tril_indices", "default", "", triangleIndices<P::le>},
                   {"triu_indices", "default", "", triangleIndices<P::ge>},
                   {"diag_embed", "default", "self", diagEmbed}});
  addRules(rules, {{"convert_element_type", "default", "a", convertPrimitive}}, "prims");
}
