//===- TfIdf.cpp - TfIdfVectorizer over integers -----------------------------===//
//
// Counts the n-grams of a pool. For each length n and each number of skipped
// elements, the operand is compared with all grams of that length at once:
// element k of the window against element k of each gram.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;

namespace {

struct Grams {
  int64_t length = 1;
  SmallVector<SmallVector<int64_t>> elements; ///< [length][gram]
  int64_t count() const { return elements[0].size(); }
};

/// The pool by length: `ngram_counts[n - 1]` is where the n-grams begin.
FailureOr<SmallVector<Grams>> pool(NodeContext &c) {
  auto starts = c.intsAttr("ngram_counts"), all = c.intsAttr("pool_int64s");
  if (!starts || !all)
    return c.fail("only pools of integers are supported");
  SmallVector<Grams> list;
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t begin = (*starts)[i], n = i + 1;
    int64_t end = i + 1 < starts->size() ? (*starts)[i + 1] : static_cast<int64_t>(all->size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(all->size()) || (end - begin) % n)
      return c.fail("'ngram_counts' does not divide the pool");
    Grams grams;
    grams.length = n;
    grams.elements.resize(n);
    for (int64_t at = begin; at < end; ++at)
      grams.elements[(at - begin) % n].push_back((*all)[at]);
    list.push_back(grams);
  }
  return list;
}

/// How often each gram occurs along the last axis with `step` between its elements.
Value occurrences(PrimBuilder &b, Value x, const Grams &grams, int64_t step, Type type) {
  int64_t last = b.rank(x) - 1;
  Dim reach = b.dim((grams.length - 1) * step);
  Dim windows = b.maxDims(b.subDims(b.dim(x, last), reach), b.dim(0));
  Value equal;
  for (int64_t k = 0; k < grams.length; ++k) {
    Dim start = b.minDims(b.dim(k * step), b.dim(x, last)); // no window: an empty slice
    Value element = b.unsqueeze(b.sliceAxis(x, last, start, windows), {last + 1});
    Value wanted = b.cast(b.ints(grams.elements[k]), b.elem(x));
    Value hit = b.compare(prim::ComparePredicate::eq, element, wanted);
    equal = equal ? b.binary<prim::AndOp>(equal, hit) : hit;
  }
  return b.reduce(prim::ReduceKind::sum, b.cast(equal, type), last, false);
}

LogicalResult tfIdf(NodeContext &c) {
  PrimBuilder &b = c.b;
  Type f32 = b.builder().getF32Type();
  Value x = c.in(0);
  auto grams = pool(c);
  if (failed(grams))
    return failure();
  int64_t shortest = c.intAttr("min_gram_length", 1), longest = c.intAttr("max_gram_length", 1),
          skips = c.intAttr("max_skip_count", 0);
  auto places = c.intsAttr("ngram_indexes").value_or(SmallVector<int64_t>());
  auto weights = c.floatsAttr("weights");
  std::string mode = c.stringAttr("mode", "TF");
  constexpr int64_t kMany = 64;
  if (b.rank(x) < 1 || b.rank(x) > 2 || skips < 0 || skips > kMany ||
      (mode != "TF" && mode != "IDF" && mode != "TFIDF"))
    return c.fail("needs a vector or a batch of vectors, few skips and a known mode");
  SmallVector<Value> parts;
  int64_t total = 0;
  for (const Grams &g : *grams) {
    if (g.count() == 0)
      continue;
    total += g.count();
    Dims shape = b.dims(x);
    shape.back() = b.dim(g.count());
    Value counts = b.full(shape, 0, f32);
    for (int64_t skip = 0; skip <= (g.length == 1 ? 0 : skips); ++skip)
      if (g.length >= shortest && g.length <= longest)
        counts = b.add(counts, occurrences(b, x, g, skip + 1, f32));
    parts.push_back(counts);
  }
  if (parts.empty() || static_cast<int64_t>(places.size()) != total ||
      (weights && static_cast<int64_t>(weights->size()) != total))
    return c.fail("the pool, 'ngram_indexes' and 'weights' differ in length");
  int64_t last = b.rank(x) - 1;
  Value counts = b.concat(parts, last);
  if (mode != "TF") {
    if (mode == "IDF")
      counts = b.cast(b.compare(prim::ComparePredicate::gt, counts, 0.0), f32);
    SmallVector<float> w(total, 1);
    if (weights)
      w.assign(weights->begin(), weights->end());
    auto t = RankedTensorType::get({total}, f32);
    counts = b.mul(counts, b.constant(DenseElementsAttr::get(t, ArrayRef<float>(w))));
  }
  // Result position p holds the gram whose index is p.
  SmallVector<int64_t> gramAt(total, -1);
  for (auto [gram, place] : llvm::enumerate(places)) {
    if (place < 0 || place >= total || gramAt[place] >= 0)
      return c.fail("'ngram_indexes' is no permutation");
    gramAt[place] = gram;
  }
  return c.give(b.take(counts, b.ints(gramAt), last));
}

} // namespace

void tcc::populateOnnxTfIdfRules(RuleSet &rules) { rules.add("onnx", "TfIdfVectorizer", tfIdf); }
