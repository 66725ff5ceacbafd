//===- Algebra.cpp - Sums of products, norms of matrices ------------------===//
//
// Rules of torch.linalg and its relatives that sums, products and idioms make up. They compute in
// f32 or wider and cast once at the end, because torch does too. Differences are
// here since they are contractions in all but name.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Linalg.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Einsum.h"
#include "Decompose/Idioms/Matrices.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;

namespace {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult einsumRule(AtenNode &a) {
  SmallVector<Value> operands = a.tensors("tensors");
  if (operands.empty() || llvm::is_contained(operands, Value()))
    return a.fail("needs tensors");
  for (Value &v : operands)
    v = a.cast(v, a.own());
  Value result = einsum(a.b, a.text("equation"), operands);
  return result ? a.give(result) : failure();
}

LogicalResult tensorDot(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.own()), y = a.cast(a.tensor("other"), a.own());
  auto left = a.integers("dims_self"), right = a.integers("dims_other");
  if (!left || !right || left->size() != right->size())
    return a.fail("needs as many axes of one operand as of the other");
  for (auto [list, operand] : {std::pair(&*left, x), std::pair(&*right, y)})
    for (int64_t &axis : *list) {
      auto inside = a.within(axis, b.rank(operand));
      if (failed(inside))
        return failure();
      axis = *inside;
    }
  for (auto [i, j] : llvm::zip(*left, *right)) {
    auto dx = b.known(b.dim(x, i)), dy = b.known(b.dim(y, j));
    if (dx == dy)
      continue;
    if (dx != 1 && dy != 1) {
      requireSame(b, b.dim(x, i), b.dim(y, j), "contracted axes");
      continue;
    }
    // An extent of 1 goes with every element of the other operand's axis.
    Value &longer = dx == 1 ? y : x;
    longer = b.reduce(K::sum, longer, {dx == 1 ? j : i}, true);
  }
  return a.give(b.dot(x, y, {}, {}, *left, *right));
}

LogicalResult kronecker(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.own()), y = a.cast(a.tensor("other"), a.own());
  int64_t rank = std::max(b.rank(x), b.rank(y));
  Dims dx(rank - b.rank(x), b.dim(1)), dy(rank - b.rank(y), b.dim(1));
  dx.append(b.dims(x));
  dy.append(b.dims(y));
  Dims spreadX, spreadY, merged;
  for (auto [i, j] : llvm::zip(dx, dy)) {
    spreadX.append({i, b.dim(1)});
    spreadY.append({b.dim(1), j});
    merged.push_back(b.mulDims(i, j));
  }
  return a.give(b.reshape(b.mul(b.reshape(x, spreadX), b.reshape(y, spreadY)), merged));
}

/// The sum over one axis of both, the first one conjugate.
LogicalResult vectorProduct(AtenNode &a, Value x, Value y, int64_t axis) {
  PrimBuilder &b = a.b;
  x = a.conjugate(a.cast(x, a.wide()));
  y = a.cast(y, a.wide());
  b.broadcastTogether(x, y);
  auto inside = a.within(axis, b.rank(x));
  if (failed(inside) || b.rank(x) == 0)
    return a.fail("needs vectors");
  return a.give(b.reduce(K::sum, b.mul(x, y), {*inside}, false));
}
LogicalResult vdot(AtenNode &a) { return vectorProduct(a, a.tensor("self"), a.tensor("other"), 0); }
LogicalResult vecdot(AtenNode &a) {
  return vectorProduct(a, a.tensor("x"), a.tensor("y"), a.integer("dim", -1));
}

/// The product of a chain with the fewest multiplications (Cormen et al., Introduction to
/// Algorithms, 15.2); extents that only a run knows count as 1,000.
Value productOfChain(PrimBuilder &b, ArrayRef<Value> list) {
  constexpr double kTypical = 1000;
  size_t n = list.size();
  auto extent = [&](Value v, int64_t axis) {
    int64_t known = tensorType(v).getDimSize(axis);
    return ShapedType::isDynamic(known) ? kTypical : double(known);
  };
  SmallVector<double> sizes; // matrix i is sizes[i] by sizes[i + 1]; a vector is one row or column
  sizes.push_back(b.rank(list.front()) == 1 ? 1 : extent(list.front(), 0));
  for (auto [i, v] : llvm::enumerate(list))
    sizes.push_back(b.rank(v) == 1 ? (i == 0 ? extent(v, 0) : 1) : extent(v, 1));
  std::vector<std::vector<double>> least(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> cut(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length)
    for (size_t i = 0; i + length < n; ++i) {
      size_t j = i + length;
      least[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        double cost = least[i][k] + least[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (cost < least[i][j]) {
          least[i][j] = cost;
          cut[i][j] = k;
        }
      }
    }
  auto product = [&](auto &self, size_t i, size_t j) -> Value {
    return i == j ? list[i] : b.matmul(self(self, i, cut[i][j]), self(self, cut[i][j] + 1, j));
  };
  return product(product, 0, n - 1);
}

LogicalResult multiDot(AtenNode &a) {
  PrimBuilder &b = a.b;
  SmallVector<Value> list = a.tensors(a.has("tensors") ? "tensors" : "matrices");
  for (auto [i, v] : llvm::enumerate(list)) {
    bool isEnd = i == 0 || i + 1 == list.size();
    if (!v || b.rank(v) < (isEnd ? 1 : 2) || b.rank(v) > 2)
      return a.fail("needs matrices");
    list[i] = a.cast(v, a.own());
  }
  return list.empty() ? a.fail("needs matrices") : a.give(productOfChain(b, list));
}

LogicalResult matrixPower(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  int64_t n = a.integer("n", 1), rank = b.rank(x);
  if (rank < 2 || n < -1024 || n > 1024)
    return a.fail("needs matrices and an exponent from -1024 to 1024");
  if (n < 0) {
    if (!AtenNode::isFloat(b.elem(x)))
      return a.fail("needs real or complex numbers, to invert them");
    x = b.cast(x, matrices::inDoubles(b.elem(x)));
    matrices::LU lu = matrices::factorLU(b, x);
    Dims batch = b.dims(x);
    batch.truncate(rank - 2);
    x = matrices::solve(b, lu, matrices::identity(b, batch, b.dim(x, rank - 1), b.elem(x)));
    n = -n;
  }
  Type i64 = b.builder().getI64Type();
  Dims shape = b.dims(x);
  Value result = b.cast(
      b.compare(P::eq, b.iota(shape, rank - 2, i64), b.iota(shape, rank - 1, i64)), b.elem(x));
  bool first = true;
  for (Value square = x; n > 0; n /= 2) {
    if (n % 2)
      result = std::exchange(first, false) ? square : b.matmul(result, square);
    if (n > 1)
      square = b.matmul(square, square);
  }
  return a.give(result);
}

/// x[i+1] y[i+2] - x[i+2] y[i+1] along an axis of extent 3.
LogicalResult cross(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.own()), y = a.cast(a.tensor("other"), a.own());
  b.broadcastTogether(x, y);
  int64_t rank = b.rank(x), axis = -1;
  if (a.has("dim") || a.c.node.getTarget().starts_with("linalg")) {
    auto given = a.axis("dim", -1, rank);
    if (failed(given))
      return failure();
    axis = *given;
  } else { // the first one of extent 3
    for (int64_t i = rank; i-- > 0;)
      axis = b.known(b.dim(x, i)) == 3 ? i : axis;
  }
  if (rank == 0 || axis < 0 || b.known(b.dim(x, axis)).value_or(3) != 3)
    return a.fail("needs an axis of extent 3");
  auto turned = [&](Value v, int64_t by) {
    return b.concat(
        {b.sliceAxis(v, axis, b.dim(by), b.dim(3 - by)), b.sliceAxis(v, axis, b.dim(0), b.dim(by))},
        axis);
  };
  return a.give(b.sub(b.mul(turned(x, 1), turned(y, 2)), b.mul(turned(x, 2), turned(y, 1))));
}

LogicalResult trace(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  if (b.rank(x) != 2)
    return a.fail("needs a matrix");
  Value diagonal = a.cast(matrices::diagonal(b, x), a.wide());
  return a.give(b.reduce(K::sum, diagonal, {0}, false));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// The largest or smallest singular value, or their sum, over two axes.
Value spectralNorm(AtenNode &a, Value x, ArrayRef<int64_t> axes, K kind, bool keep) {
  PrimBuilder &b = a.b;
  SmallVector<int64_t> order, both = {std::min(axes[0], axes[1]), std::max(axes[0], axes[1])};
  for (int64_t i = 0; i < b.rank(x); ++i)
    if (!llvm::is_contained(axes, i))
      order.push_back(i);
  order.append(axes.begin(), axes.end());
  Value turned = b.cast(b.transpose(x, order), matrices::inDoubles(b.elem(x)));
  Value values = matrices::factorSVD(b, turned, matrices::Singular::Values).values;
  Value norm = b.reduce(kind, values, {b.rank(values) - 1}, false);
  if (kind == K::max)
    norm = b.maximum(norm, 0.0); // of no values at all
  return keep ? b.unsqueeze(norm, both) : norm;
}

} // namespace

FailureOr<Value> aten::matrixNormOf(AtenNode &a, Value own, StringRef name, double order,
                                    ArrayRef<int64_t> axes, bool keep) {
  PrimBuilder &b = a.b;
  if (name == "nuc")
    return spectralNorm(a, own, axes, K::sum, keep);
  Value x = a.magnitude(own);
  SmallVector<int64_t> both = {std::min(axes[0], axes[1]), std::max(axes[0], axes[1])};
  if (name == "fro")
    return normOver(b, x, 2, both, keep);
  bool byRow = std::isinf(order);
  if (std::abs(order) == 2)
    return spectralNorm(a, own, axes, order > 0 ? K::max : K::min, keep);
  if (!name.empty() || (!byRow && std::abs(order) != 1))
    return a.fail("matrices have no norm of this order");
  int64_t summed = byRow ? axes[1] : axes[0], left = byRow ? axes[0] : axes[1];
  Value sums = b.reduce(K::sum, x, {summed}, true);
  Value norm = b.reduce(order > 0 ? K::max : K::min, sums, {left}, true);
  if (order > 0 && b.known(b.dim(x, left)).value_or(0) == 0) // no sums at all: 0, as none is below
    norm = b.maximum(norm, b.scalar(0, b.elem(norm)));
  return keep ? norm : b.squeeze(norm, both);
}

namespace {

LogicalResult matrixNorm(AtenNode &a, ArrayRef<int64_t> axes, bool keep) {
  StringRef name = a.has("ord") ? a.text("ord") : "fro";
  Value x = a.wideTensor(a.c.hasAttr("A") ? "A" : "self");
  auto norm = matrixNormOf(a, x, name, name.empty() ? a.real("ord", 0) : 0, axes, keep);
  return succeeded(norm) ? a.give(*norm) : failure();
}

FailureOr<SmallVector<int64_t>> axesInOrder(AtenNode &a, int64_t rank) {
  SmallVector<int64_t> axes = a.integers("dim").value_or(SmallVector<int64_t>());
  for (int64_t &axis : axes) {
    auto inside = a.within(axis, rank);
    if (failed(inside))
      return failure();
    axis = *inside;
  }
  return axes;
}

LogicalResult linalgMatrixNorm(AtenNode &a) {
  Value x = a.tensor(a.c.hasAttr("A") ? "A" : "self");
  if (!x || a.b.rank(x) < 2)
    return a.fail("needs matrices");
  auto axes = axesInOrder(a, a.b.rank(x));
  if (failed(axes))
    return failure();
  if (axes->empty())
    *axes = {a.b.rank(x) - 2, a.b.rank(x) - 1};
  return axes->size() == 2 ? matrixNorm(a, *axes, a.flag("keepdim", false))
                           : a.fail("needs two axes");
}

/// A vector's norm, a matrix's, or without an order that of all elements.
LogicalResult linalgNorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto axes = axesInOrder(a, b.rank(x));
  if (failed(axes))
    return failure();
  bool keep = a.flag("keepdim", false), everything = axes->empty();
  if (everything)
    *axes = allAxes(b.rank(x));
  if (axes->size() == 2 && (a.has("ord") || !everything))
    return matrixNorm(a, *axes, keep);
  if (a.has("ord") && axes->size() != 1)
    return a.fail("an order needs one or two axes");
  return a.give(normOver(b, a.magnitude(a.wideTensor("self")), a.real("ord", 2), *axes, keep));
}

/// Slices along an axis whose norm exceeds a bound, scaled down to it.
LogicalResult renorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.wideTensor("self");
  auto axis = a.axis("dim", 0, b.rank(x));
  if (failed(axis) || b.rank(x) < 2)
    return a.fail("needs two axes");
  SmallVector<int64_t> others = allAxes(b.rank(x));
  others.erase(others.begin() + *axis);
  Value norm = normOver(b, a.magnitude(x), a.real("p", 2), others, true),
        one = b.scalar(1, b.elem(norm));
  Value most = a.number("maxnorm", b.elem(norm));
  Value factor = b.select(b.compare(P::gt, norm, most), b.div(most, b.add(norm, 1e-7)), one);
  return a.give(b.mul(x, b.cast(factor, b.elem(x))));
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

/// What a derivative along an axis divides by: one step, or where each element lies.
struct Spacing {
  double step = 1;
  Value places; ///< [n], or null
};

/// a x[i] + b x[i + 1] + c x[i + 2] is the derivative at point `at` (0, 1, 2) of the parabola
/// through three points whose distances are d and e.
std::array<Value, 3> parabola(PrimBuilder &b, Value d, Value e, int64_t at) {
  Value both = b.add(d, e), de = b.mul(d, e);
  auto over = [&](Value x, Value y, Value z) { return b.div(x, b.mul(y, z)); };
  if (at == 0)
    return {b.neg(over(b.add(both, d), d, both)), b.div(both, de), b.neg(over(d, e, both))};
  if (at == 1)
    return {b.neg(over(e, d, both)), b.div(b.sub(e, d), de), over(d, e, both)};
  return {over(e, d, both), b.neg(b.div(both, de)), over(b.add(both, e), e, both)};
}

/// Central differences, at the ends one-sided ones of `order` points more.
Value gradientAlong(AtenNode &a, Value x, int64_t axis, const Spacing &spacing, int64_t order) {
  PrimBuilder &b = a.b;
  Dim n = b.dim(x, axis), inner = b.subDims(n, b.dim(2)), one = b.dim(1);
  requireAtMost(b, b.dim(order + 1), n, "the points of a gradient");
  auto part = [&](Dim start, Dim size) { return b.sliceAxis(x, axis, start, size); };
  auto fromEnd = [&](int64_t i) { return b.subDims(n, b.dim(i)); };
  Value gaps;
  if (spacing.places) {
    Value p = a.cast(spacing.places, b.elem(x));
    Dim count = fromEnd(1);
    gaps = b.sub(b.sliceAxis(p, 0, one, count), b.sliceAxis(p, 0, b.dim(0), count));
  } else {
    gaps = b.full({fromEnd(1)}, spacing.step, b.elem(x));
  }
  auto gap = [&](Dim start, Dim size) {
    return alongAxis(b, b.sliceAxis(gaps, 0, start, size), axis, b.rank(x));
  };
  auto slope = [&](Dim start, Dim size, int64_t at) {
    auto w = parabola(b, gap(start, size), gap(b.addDims(start, one), size), at);
    Value sum = b.mul(w[0], part(start, size));
    for (int64_t i : {1, 2})
      sum = b.add(sum, b.mul(w[i], part(b.addDims(start, b.dim(i)), size)));
    return sum;
  };
  auto difference = [&](Dim start) {
    return b.div(b.sub(part(b.addDims(start, one), one), part(start, one)), gap(start, one));
  };
  Value first = order == 1 ? difference(b.dim(0)) : slope(b.dim(0), one, 0);
  Value last = order == 1 ? difference(fromEnd(2)) : slope(fromEnd(3), one, 2);
  if (b.known(inner) == 0)
    return b.concat({first, last}, axis);
  // Of equal gaps the middle point has no part in the slope, also where it is not finite.
  Value middle = spacing.places
                     ? slope(b.dim(0), inner, 1)
                     : b.div(b.sub(part(b.dim(2), inner), part(b.dim(0), inner)), 2 * spacing.step);
  return b.concat({first, middle, last}, axis);
}

LogicalResult gradient(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.cast(a.tensor("self"), a.wide());
  auto axes = a.has("dim") ? axesInOrder(a, b.rank(x)) : FailureOr(allAxes(b.rank(x)));
  int64_t order = a.integer("edge_order", 1);
  if (failed(axes) || order < 1 || order > 2)
    return a.fail("needs axes and an edge order of 1 or 2");
  SmallVector<Value> places = a.tensors("spacing");
  if (llvm::is_contained(places, Value()))
    places.clear(); // a list of numbers
  auto listed = a.reals("spacing");
  SmallVector<double> steps = listed.value_or(SmallVector<double>());
  if (places.empty() && !listed)
    steps.assign(axes->size(), a.real("spacing", 1));
  size_t given = places.empty() ? steps.size() : places.size();
  if (given != axes->size())
    return a.fail("needs a spacing for each axis");
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    Spacing spacing;
    if (places.empty())
      spacing.step = steps[i];
    else
      spacing.places = places[i];
    if (failed(a.give(i, gradientAlong(a, x, axis, spacing, order))))
      return failure();
  }
  return success();
}

/// Each way to choose `r` of n elements, in lexicographic order of their positions.
LogicalResult combinations(AtenNode &a) {
  constexpr int64_t kMost = 1 << 20;
  PrimBuilder &b = a.b;
  Value x = a.tensor("self");
  auto n = b.rank(x) == 1 ? b.known(b.dim(x, 0)) : std::nullopt;
  int64_t r = a.integer("r", 2), again = a.flag("with_replacement", false) ? 0 : 1;
  if (!n || r < 1)
    return a.fail("needs a known number of elements, of which one or more are chosen");
  SmallVector<int64_t> all, chosen;
  std::function<bool(int64_t)> choose = [&](int64_t from) {
    if (static_cast<int64_t>(chosen.size()) == r) {
      all.append(chosen.begin(), chosen.end());
      return static_cast<int64_t>(all.size()) <= kMost;
    }
    for (int64_t i = from; i < *n; ++i) {
      chosen.push_back(i);
      if (!choose(i + again))
        return false;
      chosen.pop_back();
    }
    return true;
  };
  if (r > 64 || !choose(0))
    return a.fail("has more than " + llvm::Twine(kMost) + " positions");
  int64_t rows = static_cast<int64_t>(all.size()) / r;
  return a.give(b.reshape(b.take(x, b.ints(all), 0), {b.dim(rows), b.dim(r)}));
}

} // namespace

void tcc::populateAtenAlgebraRules(RuleSet &rules) {
  addRules(rules, {{"einsum", "default", "", einsumRule},
                   {"tensordot", "default", "self other", tensorDot},
                   {"kron", "default", "self other", kronecker},
                   {"vdot", "default", "self other", vdot},
                   {"linalg_vecdot", "default", "x y", vecdot},
                   {"linalg_multi_dot", "default", "", multiDot},
                   {"chain_matmul", "default", "", multiDot},
                   {"matrix_power", "default", "self", matrixPower},
                   {"linalg_matrix_power", "default", "self", matrixPower},
                   {"cross", "default", "self other", cross},
                   {"linalg_cross", "default", "self other", cross},
                   {"trace", "default", "self", trace},
                   {"linalg_norm", "default ord_str", "self", linalgNorm},
                   {"linalg_matrix_norm", "default str_ord", "", linalgMatrixNorm},
                   {"renorm", "default", "self", renorm},
                   {"gradient",
                    "scalarint scalararray array scalarrayint scalarrayarray tensorarrayint "
                    "tensorarray",
                    "self", gradient},
                   {"combinations", "default", "self", combinations}});
}
