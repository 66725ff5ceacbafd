//===- Scatter.cpp - ATen's reductions into positions ---------------------===//
//
// What several updates of one position become: their sum, product, extreme or
// mean, with or without what was there. Without it, the positions that receive
// anything start from the reduction's neutral value.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Bag.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using S = prim::ScatterKind;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

struct Reduction {
  S kind;
  bool mean = false;
};

std::optional<Reduction> readReduction(StringRef name) {
  return llvm::StringSwitch<std::optional<Reduction>>(name)
      .Cases({"sum", "add"}, Reduction{S::add})
      .Cases({"prod", "multiply"}, Reduction{S::mul})
      .Case("amax", Reduction{S::max})
      .Case("amin", Reduction{S::min})
      .Case("mean", Reduction{S::add, true})
      .Default(std::nullopt);
}

Value neutral(PrimBuilder &b, S kind, Type t) {
  if (kind == S::max || kind == S::min)
    return extremeOf(b, t, kind == S::max ? -1 : 1);
  return b.scalar(kind == S::mul ? 1 : 0, t);
}

/// Updates along `axis` at `index`, which has their shape.
Value reduced(AtenNode &a, Reduction how, bool includeSelf, Value x, Value index, Value updates,
              int64_t axis) {
  PrimBuilder &b = a.b;
  auto scatter = [&](S kind, Value into, Value what) {
    return prim::ScatterAlongOp::create(b.builder(), b.location(), into.getType(), kind, into,
                                        index, what, axis)
        .getResult();
  };
  Type i64 = b.builder().getI64Type();
  Value counts;
  if (how.mean || !includeSelf)
    counts = scatter(S::add, b.full(b.dims(x), 0, i64), b.full(b.dims(index), 1, i64));
  Value base = x;
  if (!includeSelf)
    base = b.select(b.compare(P::gt, counts, 0.0), neutral(b, how.kind, b.elem(x)), x);
  Value result = scatter(how.kind, base, updates);
  if (!how.mean)
    return result;
  Value divisor = includeSelf ? b.add(counts, 1.0) : b.maximum(counts, 1.0);
  divisor = b.cast(divisor, b.elem(x));
  return isa<FloatType>(b.elem(x)) ? b.div(result, divisor)
                                   : b.binary<prim::FloorDivOp>(result, divisor);
}

/// The source cut to the extents of the indices.
Value cutTo(PrimBuilder &b, Value x, Value like) {
  for (int64_t i = 0; i < b.rank(x); ++i)
    if (!b.same(b.dim(like, i), b.dim(x, i)))
      x = b.sliceAxis(x, i, b.dim(0), b.dim(like, i));
  return x;
}

LogicalResult scatterReduce(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), index = a.tensor("index"), src = a.tensor("src");
  auto how = readReduction(a.text("reduce"));
  int64_t rank = b.rank(x);
  auto axis = a.axis("dim", 0, rank);
  if (!how || failed(axis) || b.rank(index) != rank || b.rank(src) != rank)
    return a.fail("operand, indices and source differ in rank");
  requireInRange(b, index, b.dim(x, *axis), IndexRange::positions);
  src = cutTo(b, a.cast(src, b.elem(x)), index);
  return a.give(reduced(a, *how, a.flag("include_self", true), x, index, src, *axis));
}

/// Slices along one axis, at a vector of positions.
LogicalResult indexReduce(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), index = a.tensor("index"), src = a.tensor("source");
  auto how = readReduction(a.text("reduce"));
  auto axis = a.axis("dim", 0, b.rank(x));
  if (!how || failed(axis) || b.rank(index) != 1 || b.rank(src) != b.rank(x))
    return a.fail("needs an axis, a vector of indices and a source");
  requireInRange(b, index, b.dim(x, *axis), IndexRange::positions);
  Value at = b.broadcastTo(alongAxis(b, index, *axis, b.rank(x)), b.dims(src));
  return a.give(
      reduced(a, *how, a.flag("include_self", true), x, at, a.cast(src, b.elem(x)), *axis));
}

/// Elements written at positions of the flat operand.
LogicalResult put(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value x = a.tensor("self"), index = a.tensor("index"), source = a.tensor("source");
  Dims shape = b.dims(x);
  Dim count = b.productOf(shape), updates = b.productOf(b.dims(index));
  Value flat = b.reshape(x, {count});
  S kind = a.flag("accumulate", false) ? S::add : S::assign;
  Value written =
      prim::ScatterAlongOp::create(b.builder(), b.location(), flat.getType(), kind, flat,
                                   b.wrapIndices(b.reshape(index, {updates}), count),
                                   b.reshape(a.cast(source, b.elem(x)), {updates}), 0);
  return a.give(b.reshape(written, shape));
}

//===----------------------------------------------------------------------===//
// Bags of embeddings
//===----------------------------------------------------------------------===//

constexpr auto kSum = kSumOfBag, kMean = kMeanOfBag, kMax = kMaximumOfBag;

/// Beside the bags: which one each index is in, how many rows count in each, and of maxima the row
/// that each is of (the first in its bag). What others would be of is nothing.
void giveBags(AtenNode &a, Value table, Value indices, Value offsets, Dim bags, int64_t mode,
              std::optional<Dim> padding);

/// How many indices each bag has: as many as there are up to where the next one begins.
Value sizesOfBags(PrimBuilder &b, Value offsets, Dim count) {
  Dim bags = b.dim(offsets, 0);
  Value begin = b.cast(offsets, b.builder().getI64Type());
  Value last = b.fromHost({count}, {}, b.elem(begin));
  Value all = b.pad(begin, last, {b.dim(0)}, {b.dim(1)});
  return b.sub(b.sliceAxis(all, 0, b.dim(1), bags), begin);
}

DenseIntElementsAttr knownIntegers(Value v) {
  auto constant = v.getDefiningOp<prim::ConstantOp>();
  return constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
}

/// Whether `v` is 0, step, 2 step and so on.
bool countsBy(Value v, int64_t step) {
  while (auto cast = v.getDefiningOp<prim::CastOp>())
    v = cast.getX();
  if (DenseIntElementsAttr known = knownIntegers(v))
    return llvm::all_of(llvm::enumerate(known.getValues<APInt>()), [&](auto at) {
      return at.value().getSExtValue() == static_cast<int64_t>(at.index()) * step;
    });
  auto times = v.getDefiningOp<prim::MulOp>();
  DenseIntElementsAttr factor = times ? knownIntegers(times->getOperand(1)) : nullptr;
  if (factor && factor.isSplat() && factor.getSplatValue<APInt>() == step)
    return times->getOperand(0).getDefiningOp<prim::IotaOp>() != nullptr;
  return step == 1 && v.getDefiningOp<prim::IotaOp>();
}

/// The length of all bags, if they begin at its multiples and take all of `count` indices: bags
/// that are the rows of a matrix.
std::optional<int64_t> lengthOfBags(PrimBuilder &b, Value offsets, Dim count) {
  auto all = b.known(count), bags = b.known(b.dim(offsets, 0));
  if (!all || !bags || *bags <= 0 || *all == 0 || *all % *bags != 0)
    return std::nullopt;
  int64_t length = *all / *bags;
  return countsBy(offsets, length) ? std::optional(length) : std::nullopt;
}

/// Where indices are not the row that pads.
Value isOther(AtenNode &a, Value indices, Dim padding) {
  PrimBuilder &b = a.b;
  if (auto row = b.known(padding))
    return b.compare(P::ne, indices, static_cast<double>(*row));
  return b.compare(P::ne, indices, a.extentTensor(padding, b.elem(indices)));
}

/// Bags of one length are reduced as what they are, rows of a matrix of rows.
LogicalResult embeddingRows(AtenNode &a, Value table, Value indices, int64_t length, int64_t mode,
                            std::optional<Dim> padding) {
  PrimBuilder &b = a.b;
  Type wide = a.wide();
  Dims shape = {b.dim(*b.known(b.dim(indices, 0)) / length), b.dim(length)};
  indices = b.reshape(indices, shape);
  Value rows = a.cast(b.take(table, indices, 0), wide),
        none = neutral(b, mode == kMax ? S::max : S::add, wide);
  if (Value weights = a.tensor("per_sample_weights"))
    rows = b.mul(rows, b.unsqueeze(b.reshape(a.cast(weights, wide), shape), {2}));
  Value size;
  if (padding) {
    Value kept = isOther(a, indices, *padding);
    rows = b.select(b.unsqueeze(kept, {2}), rows, none);
    size = b.unsqueeze(b.reduce(K::sum, b.cast(kept, wide), {1}, false), {1});
  }
  Value result = b.reduce(mode == kMax ? K::max : K::sum, rows, {1}, false);
  if (mode == kMean)
    result =
        size ? b.div(result, b.maximum(size, 1.0)) : b.div(result, static_cast<double>(length));
  if (mode == kMax && size)
    result = b.select(b.compare(P::gt, size, 0.0), result, b.scalar(0, wide));
  return a.give(result);
}

LogicalResult reduceBags(AtenNode &a, std::optional<Dim> padding) {
  PrimBuilder &b = a.b;
  Value table = a.tensor("weight"), indices = a.tensor("indices"), offsets = a.tensor("offsets");
  int64_t mode = a.integer("mode", kSum);
  if (b.rank(table) != 2 || b.rank(indices) != 1 || b.rank(offsets) != 1)
    return a.fail("needs a matrix, a vector of indices and offsets");
  Type wide = a.wide(), i64 = b.builder().getI64Type();
  requireInRange(b, indices, b.dim(table, 0), IndexRange::positions);
  requireInRange(b, offsets, b.addDims(b.dim(indices, 0), b.dim(1)), IndexRange::positions);
  Dim count = b.dim(indices, 0), bags = b.dim(offsets, 0), width = b.dim(table, 1);
  if (a.flag("include_last_offset", false)) {
    bags = b.subDims(bags, b.dim(1));
    offsets = b.sliceAxis(offsets, 0, b.dim(0), bags);
  }
  giveBags(a, table, indices, offsets, bags, mode, padding);
  if (auto length = lengthOfBags(b, offsets, count); length)
    return embeddingRows(a, table, indices, *length, mode, padding);
  Value rows = a.cast(b.take(table, indices, 0), wide);
  if (Value weights = a.tensor("per_sample_weights"))
    rows = b.mul(rows, b.unsqueeze(a.cast(weights, wide), {1}));
  Value counted = b.broadcastTo(b.scalar(1, i64), {count});
  if (padding) {
    Value kept = isOther(a, indices, *padding);
    counted = b.cast(kept, i64);
    rows = b.select(b.unsqueeze(kept, {1}), rows, neutral(b, mode == kMax ? S::max : S::add, wide));
  }
  Value start = b.broadcastTo(neutral(b, mode == kMax ? S::max : S::add, wide), {bags, width});
  auto combined = [&](S kind, Value into, Value what) {
    return prim::ScatterRunsOp::create(b.builder(), b.location(), into.getType(), kind, into,
                                       offsets, what)
        .getResult();
  };
  Value result = combined(mode == kMax ? S::max : S::add, start, rows);
  if (mode == kSum)
    return a.give(result);
  Value sizes =
      padding ? combined(S::add, b.full({bags}, 0, i64), counted) : sizesOfBags(b, offsets, count);
  sizes = b.unsqueeze(sizes, {1});
  if (mode == kMean)
    result = b.div(result, b.cast(b.maximum(sizes, 1.0), wide));
  if (mode == kMax)
    result = b.select(b.compare(P::gt, sizes, 0.0), result, b.scalar(0, wide));
  return a.give(result);
}

void giveBags(AtenNode &a, Value table, Value indices, Value offsets, Dim bags, int64_t mode,
              std::optional<Dim> padding) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type();
  auto wanted = [&](size_t i) -> std::optional<RankedTensorType> {
    if (i >= a.c.numResults() || !a.c.wants(i))
      return std::nullopt;
    auto type = dyn_cast<RankedTensorType>(a.c.node.getResult(i).getType());
    return type ? std::optional(type) : std::nullopt;
  };
  auto isNothing = [](RankedTensorType type) { return llvm::is_contained(type.getShape(), 0); };
  auto giveZeros = [&](size_t i, RankedTensorType type) {
    Dims dims;
    for (int64_t extent : type.getShape())
      dims.push_back(ShapedType::isDynamic(extent) ? bags : b.dim(extent));
    (void)a.give(i, b.full(dims, 0, i64));
  };
  if (!wanted(1) && !wanted(2) && !wanted(3))
    return;
  Dim count = b.dim(indices, 0);
  Value bag = bagOfEach(b, offsets, count, bags);
  Value kept = padding ? b.cast(isOther(a, indices, *padding), i64) : b.full({count}, 1, i64);
  auto scatter = [&](S kind, Value into, Value index, Value what) {
    return prim::ScatterAlongOp::create(b.builder(), b.location(), into.getType(), kind, into,
                                        index, what, 0)
        .getResult();
  };
  if (auto type = wanted(1))
    isNothing(*type) ? giveZeros(1, *type) : (void)a.give(1, bag);
  if (auto type = wanted(2))
    isNothing(*type) ? giveZeros(2, *type)
                     : (void)a.give(2, scatter(S::add, b.full({bags}, 0, i64), bag, kept));
  auto type = wanted(3);
  if (!type)
    return;
  if (mode != kMax || type->getRank() != 2)
    return giveZeros(3, *type);
  Type wide = a.wide();
  Value rows = a.cast(b.take(table, indices, 0), wide);
  if (padding)
    rows =
        b.select(b.unsqueeze(isOther(a, indices, *padding), {1}), rows, neutral(b, S::max, wide));
  Dims shape = {bags, b.dim(table, 1)};
  Value index = b.broadcastTo(b.unsqueeze(bag, {1}), b.dims(rows));
  Value most = scatter(S::max, b.full(shape, neutral(b, S::max, wide)), index, rows);
  Value last = a.extentTensor(b.subDims(count, b.dim(1)), i64);
  Value at =
      b.select(b.compare(P::eq, rows, b.take(most, bag, 0)), b.iota(b.dims(rows), 0, i64), last);
  Value first = scatter(S::min, b.full(shape, last), index, at);
  // Of a bag without rows that count, the first row of the table.
  Value any = b.compare(P::gt, scatter(S::add, b.full({bags}, 0, i64), bag, kept), 0.0);
  Value row = b.take(b.cast(indices, i64), first, 0);
  (void)a.give(3, b.select(b.unsqueeze(any, {1}), row, b.scalar(0, i64)));
}

/// A negative `padding_idx` is none.
LogicalResult embeddingBag(AtenNode &a) {
  int64_t padding = a.integer("padding_idx", -1);
  return reduceBags(a, padding < 0 ? std::nullopt : std::optional<Dim>(a.b.dim(padding)));
}

/// A negative `padding_idx` counts from the table's end; without one nothing pads.
LogicalResult embeddingBagPadded(AtenNode &a) {
  PrimBuilder &b = a.b;
  if (!a.has("padding_idx"))
    return reduceBags(a, std::nullopt);
  int64_t padding = a.integer("padding_idx", 0);
  Dim rows = b.dim(a.tensor("weight"), 0);
  return reduceBags(a, padding < 0 ? b.addDims(rows, b.dim(padding)) : b.dim(padding));
}

/// Rows in use that are longer than `max_norm`, cut to it; 1e-7 as in torch.
LogicalResult embeddingRenorm(AtenNode &a) {
  PrimBuilder &b = a.b;
  Value w = a.cast(a.tensor("self"), a.wide()), indices = a.tensor("indices");
  if (b.rank(w) != 2 || !isa<IntegerType>(b.elem(indices)))
    return a.fail("needs a matrix and integer indices");
  Type t = b.elem(w);
  double most = a.real("max_norm", 1), p = a.real("norm_type", 2);
  Value norm = b.abs(w);
  if (std::isinf(p))
    norm = b.reduce(K::max, norm, {1}, true);
  else
    norm = b.pow(b.reduce(K::sum, b.pow(norm, p), {1}, true), 1 / p);
  Dim rows = b.dim(w, 0), count = b.productOf(b.dims(indices));
  Value unused = b.full({rows}, 0, t), flat = b.wrapIndices(b.reshape(indices, {count}), rows);
  Value used = prim::ScatterAlongOp::create(b.builder(), b.location(), unused.getType(), S::assign,
                                            unused, flat, b.full({count}, 1, t), 0);
  Value cut = b.binary<prim::AndOp>(b.compare(P::gt, norm, most),
                                    b.compare(P::ne, b.unsqueeze(used, {1}), 0.0));
  return a.give(b.select(cut, b.mul(w, b.div(b.scalar(most, t), b.add(norm, 1e-7))), w));
}

} // namespace

void tcc::populateAtenScatterRules(RuleSet &rules) {
  addRules(rules,
           {{"embedding_renorm", "default", "self indices", embeddingRenorm},
            {"scatter_reduce", "two", "self index src", scatterReduce, "self index src"},
            {"index_reduce", "default", "self index source", indexReduce, "self index source"},
            {"put", "default", "self index source", put},
            {"embedding_bag", "default", "weight indices offsets", embeddingBag},
            {"embedding_bag", "padding_idx", "weight indices offsets", embeddingBagPadded},
            {"_embedding_bag", "default", "weight indices offsets", embeddingBag},
            {"_embedding_bag_forward_only", "default", "weight indices offsets", embeddingBag}});
}
