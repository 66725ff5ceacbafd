//===- BackwardBag.cpp - Gradients of bags of embeddings ------------------===//
//
// Every index of a bag gets the bag's gradient: its row that of the sum, divided by how many the
// bag has where it is their mean; of a maximum, the row that was found to be it, in each column.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/Bag.h"
#include "Decompose/Checks.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using K = prim::ReduceKind;
using P = prim::ComparePredicate;
using S = prim::ScatterKind;

Value aten::bagOfEach(PrimBuilder &b, Value offsets, Dim count, Dim bags) {
  Type i64 = b.builder().getI64Type();
  requireElements(b, bags, {count}, "a bag");
  Value begins =
      b.compare(P::ge, b.iota({count, b.dim(1)}, 0, i64), b.unsqueeze(b.cast(offsets, i64), {0}));
  Value bag = b.sub(b.reduce(K::sum, b.cast(begins, i64), {1}, false), 1.0);
  // Where the first one begins late, or there are more offsets than bags.
  Value last = b.fromHost({b.subDims(bags, b.dim(1))}, {}, i64);
  return b.maximum(b.minimum(bag, last), 0.0);
}

namespace {

Value scatterAdd(PrimBuilder &b, Value into, Value index, Value what) {
  return prim::ScatterAlongOp::create(b.builder(), b.location(), into.getType(), S::add, into,
                                      index, what, 0);
}

struct Bags {
  Value gradient, indices, bag, counts; ///< counts: where an index is not the row that pads
  Dim count;
};

FailureOr<Bags> readBags(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type i64 = b.builder().getI64Type();
  Bags bags{a.cast(a.tensor("grad"), a.wide()), a.cast(a.tensor("indices"), i64), {}, {}, {}};
  Value offsets = a.tensor("offsets");
  if (b.rank(bags.gradient) != 2 || b.rank(bags.indices) != 1 || b.rank(offsets) != 1)
    return a.fail("needs a gradient of each bag, a vector of indices and offsets");
  bags.count = b.dim(bags.indices, 0);
  bags.bag = bagOfEach(b, offsets, bags.count, b.dim(bags.gradient, 0));
  bags.counts = b.compare(P::ne, bags.indices, static_cast<double>(a.integer("padding_idx", -1)));
  return bags;
}

LogicalResult table(AtenNode &a) {
  PrimBuilder &b = a.b;
  Type wide = a.wide(), i64 = b.builder().getI64Type();
  auto bags = readBags(a);
  auto rows = a.extent("num_weights");
  if (failed(bags))
    return failure();
  if (!rows)
    return a.fail("needs a number of rows");
  requireInRange(b, bags->indices, *rows, IndexRange::positions);
  int64_t mode = a.integer("mode", kSumOfBag);
  Value into = b.full({*rows, b.dim(bags->gradient, 1)}, 0, wide);
  Value kept = b.cast(bags->counts, wide);
  auto sizes = [&] { // of bags, [bags]
    return scatterAdd(b, b.full({b.dim(bags->gradient, 0)}, 0, wide), bags->bag, kept);
  };
  if (mode == kMaximumOfBag) {
    Value largest = a.cast(a.tensor("maximum_indices"), i64);
    if (b.rank(largest) != 2)
      return a.fail("needs the row that is the largest of each bag and column");
    Value any = b.compare(P::gt, b.unsqueeze(sizes(), {1}), 0.0);
    Value g = b.select(any, bags->gradient, b.scalar(0, wide));
    largest = b.maximum(largest, b.scalar(0, i64));
    requireInRange(b, largest, *rows, IndexRange::positions);
    return a.give(scatterAdd(b, into, largest, g));
  }
  Value scale = kept;
  if (mode == kMeanOfBag)
    scale = b.div(scale, b.take(b.maximum(sizes(), 1.0), bags->bag, 0));
  if (a.tensor("per_sample_weights"))
    scale = b.mul(scale, a.cast(a.tensor("per_sample_weights"), wide));
  if (a.flag("scale_grad_by_freq", false)) {
    Value times =
        scatterAdd(b, b.full({*rows}, 0, wide), bags->indices, b.full({bags->count}, 1, wide));
    scale = b.div(scale, b.take(times, bags->indices, 0));
  }
  Value g = b.mul(b.take(bags->gradient, bags->bag, 0), b.unsqueeze(scale, {1}));
  return a.give(scatterAdd(b, into, b.broadcastTo(b.unsqueeze(bags->indices, {1}), b.dims(g)), g));
}

LogicalResult weights(AtenNode &a) {
  PrimBuilder &b = a.b;
  auto bags = readBags(a);
  if (failed(bags))
    return failure();
  Value rows = a.cast(a.tensor("weight"), a.wide());
  if (b.rank(rows) != 2)
    return a.fail("needs a matrix of rows");
  requireInRange(b, bags->indices, b.dim(rows, 0), IndexRange::positions);
  Value product = b.mul(b.take(bags->gradient, bags->bag, 0), b.take(rows, bags->indices, 0));
  Value sum = b.reduce(K::sum, product, {1}, false);
  return a.give(b.select(bags->counts, sum, b.scalar(0, b.elem(sum))));
}

} // namespace

void tcc::populateAtenBackwardBagRules(RuleSet &rules) {
  addRules(rules, {{"_embedding_bag_backward", "default", "grad indices offsets", table},
                   {"_embedding_bag_per_sample_weights_backward", "default",
                    "grad weight indices offsets", weights}});
}
