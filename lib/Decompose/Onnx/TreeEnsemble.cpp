//===- TreeEnsemble.cpp - Decision trees as gathers -------------------------===//
//
// All samples walk all trees at once: the state is a [samples, trees] tensor of
// node numbers, and one step looks up each node's test and moves on to the child
// that it names. Leaves are numbered after the nodes and lead to themselves, so
// that after as many steps as the deepest tree has levels all have arrived.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/TreeEnsemble.h"
#include "Decompose/Onnx/MachineLearning.h"
#include "Decompose/Onnx/Operands.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

class Walk {
public:
  Walk(PrimBuilder &b, const Trees &trees, Value x);
  Value leaves(); ///< the leaf of each sample in each tree

private:
  Value at(Value table, Value node) { return b.take(table, node, 0); }
  Value reals(ArrayRef<double> values);
  Value passes(Value node, Value value);
  Value isMember(Value node, Value value);

  PrimBuilder &b;
  const Trees &trees;
  Value x, features, splits, modes, onTrue, onFalse, missingTrue;
};

} // namespace

bool tcc::measure(Trees &trees) {
  int64_t n = trees.nodes();
  SmallVector<int64_t> level(n, 0);
  SmallVector<int64_t> open(trees.roots);
  // Each tree has one leaf more than nodes, and each is visited once: more visits are a cycle.
  int64_t most = 2 * n + static_cast<int64_t>(trees.roots.size());
  for (trees.visits = 0; !open.empty(); ++trees.visits) {
    int64_t node = open.pop_back_val();
    if (trees.visits == most || node < 0 || node >= n + trees.leaves())
      return false;
    if (node >= n)
      continue;
    trees.levels = std::max(trees.levels, level[node] + 1);
    for (int64_t child : {trees.onTrue[node], trees.onFalse[node]}) {
      if (child < 0 || child >= n + trees.leaves())
        return false;
      if (child < n)
        level[child] = level[node] + 1;
      open.push_back(child);
    }
  }
  return true;
}

Walk::Walk(PrimBuilder &b, const Trees &trees, Value x) : b(b), trees(trees), x(x) {
  if (trees.levels == 0)
    return;
  features = b.ints(trees.features);
  splits = reals(trees.splits);
  modes = b.ints(trees.modes);
  onTrue = b.ints(trees.onTrue);
  onFalse = b.ints(trees.onFalse);
  if (llvm::any_of(trees.missingTrue, [](int64_t v) { return v != 0; }))
    missingTrue = b.ints(trees.missingTrue);
}

Value Walk::reals(ArrayRef<double> values) {
  auto t = RankedTensorType::get({static_cast<int64_t>(values.size())}, b.builder().getF64Type());
  return b.cast(b.constant(DenseElementsAttr::get(t, values)), b.elem(x));
}

/// Whether the value is in its node's set.
Value Walk::isMember(Value node, Value value) {
  SmallVector<int64_t> owners;
  SmallVector<double> values;
  for (auto [owner, member] : trees.members) {
    owners.push_back(owner);
    values.push_back(member);
  }
  if (owners.empty()) { // a set without values
    owners.push_back(-1);
    values.push_back(0);
  }
  Value mine = b.compare(P::eq, b.unsqueeze(node, {2}), b.ints(owners));
  Value same = b.compare(P::eq, b.unsqueeze(value, {2}), reals(values));
  return b.reduce(K::any, b.binary<prim::AndOp>(mine, same), {2}, false);
}

/// Whether the test of each node holds for the sample's value.
Value Walk::passes(Value node, Value value) {
  static constexpr P kPredicates[] = {P::le, P::lt, P::ge, P::gt, P::eq, P::ne};
  Value split = at(splits, node), mode = at(modes, node), result;
  for (int64_t m = 0; m < Trees::kModes; ++m) {
    if (!llvm::is_contained(trees.modes, m))
      continue;
    Value holds =
        m == Trees::Member ? isMember(node, value) : b.compare(kPredicates[m], value, split);
    result =
        result ? b.select(b.compare(P::eq, mode, static_cast<double>(m)), holds, result) : holds;
  }
  if (!missingTrue)
    return result;
  Value tracks = b.compare(P::ne, at(missingTrue, node), 0.0);
  Value missing = b.predicate<prim::IsNanOp>(value);
  return b.select(missing, tracks, result);
}

Value Walk::leaves() {
  Type i64 = b.builder().getI64Type();
  Value node = b.broadcastTo(b.ints(trees.roots),
                             {b.dim(x, 0), b.dim(static_cast<int64_t>(trees.roots.size()))});
  for (int64_t level = 0; level < trees.levels; ++level) {
    Value inner = b.minimum(node, static_cast<double>(trees.nodes() - 1));
    Value value = b.takeAlong(x, at(features, inner), 1);
    Value next = b.select(passes(inner, value), at(onTrue, inner), at(onFalse, inner));
    node = b.select(b.compare(P::lt, node, static_cast<double>(trees.nodes())), next, node);
  }
  return b.sub(node, b.scalar(static_cast<double>(trees.nodes()), i64));
}

Value tcc::reachedLeaves(PrimBuilder &b, const Trees &trees, Value x) {
  return Walk(b, trees, x).leaves();
}

static std::optional<SmallVector<double>> doubles(NodeContext &c, StringRef name) {
  Value v = c.tensorAttr(name);
  return v ? c.b.constantFloats(v) : std::nullopt;
}

/// Children are nodes, or leaves where the flags say so.
static bool readChildren(NodeContext &c, StringRef ids, StringRef flags, int64_t nodes,
                         SmallVector<int64_t> &to) {
  auto list = c.intsAttr(ids), leaf = c.intsAttr(flags);
  if (!list || !leaf || static_cast<int64_t>(list->size()) != nodes || leaf->size() != list->size())
    return false;
  for (auto [id, isLeaf] : llvm::zip(*list, *leaf)) {
    if (id < 0 || id > INT32_MAX || (!isLeaf && id >= nodes))
      return false;
    to.push_back(isLeaf ? nodes + id : id);
  }
  return true;
}

static bool readTrees(NodeContext &c, Trees &trees) {
  auto features = c.intsAttr("nodes_featureids"), roots = c.intsAttr("tree_roots"),
       targets = c.intsAttr("leaf_targetids");
  auto splits = doubles(c, "nodes_splits");
  Value modes = c.tensorAttr("nodes_modes");
  auto kinds = modes ? c.b.constantInts(modes) : std::nullopt;
  if (!features || !roots || !targets || !splits || !kinds || features->empty() || roots->empty() ||
      splits->size() != features->size() || kinds->size() != features->size())
    return false;
  trees.features = *features;
  trees.roots = *roots;
  trees.targets = *targets;
  trees.splits = *splits;
  trees.modes = *kinds;
  trees.missingTrue = c.intsAttr("nodes_missing_value_tracks_true")
                          .value_or(SmallVector<int64_t>(features->size(), 0));
  if (trees.missingTrue.size() != features->size() ||
      llvm::any_of(trees.modes, [](int64_t m) { return m < 0 || m >= Trees::kModes; }))
    return false;
  // Sets lie one after the other, each ended by NaN, in order of the nodes.
  auto members = doubles(c, "membership_values").value_or(SmallVector<double>());
  size_t next = 0;
  for (auto [node, mode] : llvm::enumerate(trees.modes))
    for (; mode == Trees::Member && next < members.size(); ++next) {
      if (std::isnan(members[next])) {
        ++next;
        break;
      }
      trees.members.push_back({static_cast<int64_t>(node), members[next]});
    }
  return readChildren(c, "nodes_truenodeids", "nodes_trueleafs", trees.nodes(), trees.onTrue) &&
         readChildren(c, "nodes_falsenodeids", "nodes_falseleafs", trees.nodes(), trees.onFalse) &&
         measure(trees);
}

/// What the leaves of all trees give each target together.
static Value aggregate(NodeContext &c, const Trees &trees, Value leaf, Value weights,
                       int64_t targets) {
  PrimBuilder &b = c.b;
  Value amount = b.unsqueeze(b.take(weights, leaf, 0), {2}); // [samples, trees, 1]
  Value mine = b.compare(P::eq, b.unsqueeze(b.take(b.ints(trees.targets), leaf, 0), {2}),
                         b.iota({b.dim(targets)}, 0, b.builder().getI64Type()));
  int64_t function = c.intAttr("aggregate_function", 1);
  if (function > 1) { // the smallest or largest; 0 for a target that no leaf has
    double worst = function == 2 ? INFINITY : -INFINITY;
    Value each = b.select(mine, amount, b.scalar(worst, b.elem(weights)));
    Value best = b.reduce(function == 2 ? K::min : K::max, each, {1}, false);
    Value any = b.reduce(K::any, mine, {1}, false);
    return b.select(any, best, b.scalar(0, b.elem(weights)));
  }
  Value sum = b.reduce(K::sum, b.select(mine, amount, b.scalar(0, b.elem(weights))), {1}, false);
  return function == 0 ? b.div(sum, static_cast<double>(trees.roots.size())) : sum;
}

static LogicalResult treeEnsemble(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value x = c.in(0), weights = c.tensorAttr("leaf_weights");
  Trees trees;
  int64_t targets = c.intAttr("n_targets", 0), after = c.intAttr("post_transform", 0);
  if (b.rank(x) != 2 || !isa<FloatType>(b.elem(x)))
    return c.fail("needs a batch of floats");
  if (!readTrees(c, trees) || !weights || b.known(b.dim(weights, 0)) != trees.leaves())
    return c.fail("its nodes and leaves do not form trees");
  if (targets < 1 || after < 0 || after > 2)
    return c.fail("needs targets, and no transform after but softmax and logistic");
  Value y = aggregate(c, trees, reachedLeaves(b, trees, x), b.cast(weights, b.elem(x)), targets);
  return c.give(after == 1 ? b.softmax(y, 1) : after == 2 ? b.logistic(y) : y);
}

void tcc::populateOnnxTreeEnsembleRules(RuleSet &rules) {
  rules.add("ai.onnx.ml", "TreeEnsemble", treeEnsemble);
}
