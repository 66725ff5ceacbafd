//===- NamedTrees.cpp - Tree ensembles of opsets 1 and 3 --------------------===//
//
// TreeEnsembleClassifier and TreeEnsembleRegressor, as scikit-learn, XGBoost and
// LightGBM are exported: nodes and leaves stand in one list, each named by its
// tree and a number, and another list says what a leaf adds to which target. They
// are numbered anew for the walk of TreeEnsemble.cpp, and a leaf's additions become
// a row of a [leaves, targets] table: the result is a sum of rows over the trees.
//
// What two classes mean when the leaves speak of one alone is not in the standard;
// it is as ONNX Runtime has it.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/Classes.h"
#include "Decompose/Onnx/MachineLearning.h"
#include "Decompose/Onnx/TreeEnsemble.h"
#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;

namespace {

/// Reads the lists into `trees` and a table of what leaves add.
class Reader {
public:
  /// `kind` begins the names of the lists about leaves: "class" or "target".
  Reader(NodeContext &c, StringRef kind, int64_t targets) : c(c), kind(kind), targets(targets) {}
  LogicalResult read();

  Trees trees;
  SmallVector<double> added;   ///< [leaves, targets]
  SmallVector<int64_t> spoken; ///< whether a leaf has an entry for a target, alike
  bool negative = false;       ///< whether anything added is

private:
  using Name = std::pair<int64_t, int64_t>;
  std::optional<SmallVector<int64_t>> list(const Twine &name);
  std::optional<SmallVector<double>> reals(const Twine &name);
  LogicalResult number();
  LogicalResult link();
  LogicalResult readLeaves();

  NodeContext &c;
  StringRef kind;
  int64_t targets;
  SmallVector<Name> names;
  std::map<Name, int64_t> numbers; ///< of nodes; leaves are -1 - number until all are known
};

} // namespace

std::optional<SmallVector<int64_t>> Reader::list(const Twine &name) {
  return c.intsAttr(name.str());
}

/// A list of floats, or of doubles in a tensor (opset 3).
std::optional<SmallVector<double>> Reader::reals(const Twine &name) {
  if (Value v = c.tensorAttr((name + "_as_tensor").str()))
    return c.b.constantFloats(v);
  return c.floatsAttr(name.str());
}

static std::optional<int64_t> modeOf(StringRef name) {
  static constexpr StringRef kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const auto *found = llvm::find(kNames, name);
  if (found == std::end(kNames))
    return std::nullopt;
  return found - std::begin(kNames);
}

/// Gives nodes and leaves their numbers, and nodes their tests.
LogicalResult Reader::number() {
  auto tree = list("nodes_treeids"), id = list("nodes_nodeids"), feature = list("nodes_featureids"),
       missing = list("nodes_missing_value_tracks_true");
  auto value = reals("nodes_values");
  auto modes = dyn_cast_or_null<ArrayAttr>(c.attr("nodes_modes"));
  size_t n = tree ? tree->size() : 0;
  if (n == 0 || !id || id->size() != n || !feature || feature->size() != n || !value ||
      value->size() != n || !modes || modes.size() != n ||
      (missing && !missing->empty() && missing->size() != n))
    return c.fail("its lists of nodes differ in length");
  int64_t leaves = 0;
  for (size_t i = 0; i < n; ++i) {
    auto text = dyn_cast<StringAttr>(modes[i]);
    bool leaf = text && text.getValue() == "LEAF";
    auto mode = text && !leaf ? modeOf(text.getValue()) : std::nullopt;
    if (!leaf && (!mode || (*feature)[i] < 0))
      return c.fail("a node has no known test");
    names.push_back({(*tree)[i], (*id)[i]});
    if (!numbers.insert({names.back(), leaf ? -1 - leaves++ : trees.nodes()}).second)
      return c.fail("two nodes of a tree have one number");
    if (leaf)
      continue;
    trees.features.push_back((*feature)[i]);
    trees.modes.push_back(*mode);
    trees.splits.push_back((*value)[i]);
    trees.missingTrue.push_back(missing && !missing->empty() ? (*missing)[i] : 0);
  }
  trees.targets.assign(leaves, 0);
  return success();
}

/// Finds the children of nodes and the roots: what is no one's child.
LogicalResult Reader::link() {
  auto onTrue = list("nodes_truenodeids"), onFalse = list("nodes_falsenodeids");
  if (!onTrue || onTrue->size() != names.size() || !onFalse || onFalse->size() != names.size())
    return c.fail("its lists of nodes differ in length");
  auto placed = [&](int64_t number) { return number < 0 ? trees.nodes() - 1 - number : number; };
  std::set<Name> children;
  for (auto [name, yes, no] : llvm::zip(names, *onTrue, *onFalse)) {
    if (numbers[name] < 0)
      continue;
    for (auto [child, to] : {std::pair(yes, &trees.onTrue), std::pair(no, &trees.onFalse)}) {
      auto found = numbers.find({name.first, child});
      if (found == numbers.end())
        return c.fail("a child is no node of its tree");
      to->push_back(placed(found->second));
      children.insert(found->first);
    }
  }
  for (Name name : names)
    if (!children.count(name))
      trees.roots.push_back(placed(numbers[name]));
  std::set<int64_t> count;
  for (auto [tree, node] : names)
    count.insert(tree);
  if (trees.roots.size() != count.size() || !measure(trees) ||
      trees.visits != static_cast<int64_t>(names.size()))
    return c.fail("its nodes form no trees");
  return success();
}

LogicalResult Reader::readLeaves() {
  auto tree = list(kind + "_treeids"), id = list(kind + "_nodeids"), target = list(kind + "_ids");
  auto weight = reals(kind + "_weights");
  size_t n = tree ? tree->size() : 0;
  if (!id || id->size() != n || !target || target->size() != n || !weight || weight->size() != n)
    return c.fail("its lists of leaves differ in length");
  int64_t cells;
  if (llvm::MulOverflow(trees.leaves(), targets, cells) || cells > (int64_t(1) << 28))
    return c.fail("has too many leaves and targets");
  added.assign(cells, 0);
  spoken.assign(cells, 0);
  for (size_t i = 0; i < n; ++i) {
    auto found = numbers.find({(*tree)[i], (*id)[i]});
    if (found == numbers.end() || (*target)[i] < 0 || (*target)[i] >= targets)
      return c.fail("what a leaf adds has no leaf or no target");
    if (found->second >= 0)
      continue; // of an inner node: never reached
    int64_t cell = (-1 - found->second) * targets + (*target)[i];
    added[cell] += (*weight)[i];
    spoken[cell] = 1;
    negative |= (*weight)[i] < 0;
  }
  return success();
}

LogicalResult Reader::read() {
  if (failed(number()) || failed(link()))
    return failure();
  Value x = c.in(0);
  int64_t widest = trees.features.empty() ? 0 : *llvm::max_element(trees.features);
  if (auto columns = c.b.known(c.b.dim(x, c.b.rank(x) - 1)); columns && widest >= *columns)
    return c.fail("a node tests a feature that samples do not have");
  return readLeaves();
}

namespace {

/// What the leaves that samples reach add up to.
struct Totals {
  Value scores; ///< [samples, targets]
  Value spoken; ///< i1 alike, or null when every leaf speaks of every target
};

} // namespace

static Value table(PrimBuilder &b, ArrayRef<double> values, int64_t targets, Type element) {
  auto t = RankedTensorType::get({static_cast<int64_t>(values.size()) / targets, targets},
                                 b.builder().getF64Type());
  return b.cast(b.constant(DenseElementsAttr::get(t, values)), element);
}

static Totals total(NodeContext &c, const Reader &reader, Value x, int64_t targets,
                    StringRef function) {
  PrimBuilder &b = c.b;
  Value leaf = reachedLeaves(b, reader.trees, x);
  Value each = b.take(table(b, reader.added, targets, b.elem(x)), leaf, 0);
  Totals totals;
  Value speaks;
  if (llvm::is_contained(reader.spoken, 0)) {
    SmallVector<double> flags(reader.spoken.begin(), reader.spoken.end());
    Value flag = b.take(table(b, flags, targets, b.builder().getF32Type()), leaf, 0);
    speaks = b.compare(P::ne, flag, 0.0);
    totals.spoken = b.reduce(K::any, speaks, {1}, false);
  }
  if (function == "MIN" || function == "MAX") {
    bool least = function == "MIN";
    if (speaks)
      each = b.select(speaks, each, b.scalar(least ? INFINITY : -INFINITY, b.elem(x)));
    totals.scores = b.reduce(least ? K::min : K::max, each, {1}, false);
    if (speaks)
      totals.scores = b.select(totals.spoken, totals.scores, b.scalar(0, b.elem(x)));
    return totals;
  }
  totals.scores = b.reduce(K::sum, each, {1}, false);
  if (function == "AVERAGE")
    totals.scores = b.div(totals.scores, static_cast<double>(reader.trees.roots.size()));
  return totals;
}

/// base_values as a tensor of `element`, or null when there are none.
static Value baseValues(NodeContext &c, Type element) {
  if (Value v = c.tensorAttr("base_values_as_tensor"))
    return c.b.rank(v) == 1 ? c.b.cast(v, element) : Value();
  return floatTable(c, "base_values", element);
}

static LogicalResult treeRegressor(NodeContext &c) {
  PrimBuilder &b = c.b;
  FailureOr<Value> x = samples(c);
  int64_t targets = c.intAttr("n_targets", 1);
  std::string function = c.stringAttr("aggregate_function", "SUM");
  if (failed(x))
    return failure();
  if (targets < 1 || !llvm::is_contained({"SUM", "AVERAGE", "MIN", "MAX"}, function))
    return c.fail("needs targets and a known aggregate_function");
  Reader reader(c, "target", targets);
  if (failed(reader.read()))
    return failure();
  Value y = total(c, reader, *x, targets, function).scores;
  if (Value base = baseValues(c, b.elem(y))) {
    if (b.known(b.dim(base, 0)) != targets)
      return c.fail("needs a base value for each target");
    y = b.add(y, base);
  }
  y = transformScores(c, y);
  return y ? c.give(b.cast(y, b.builder().getF32Type()))
           : c.fail("has no rule for its post_transform");
}

/// Two classes, and leaves that speak of one score alone.
static LogicalResult givePair(NodeContext &c, Value score, bool negative,
                              ArrayRef<int64_t> labels) {
  PrimBuilder &b = c.b;
  Type f32 = b.builder().getF32Type();
  score = b.cast(score, f32); // [samples, 1]
  Value second = b.compare(P::gt, score, negative ? 0.0 : 0.5);
  bool logistic = c.stringAttr("post_transform", "NONE") == "LOGISTIC";
  Value other = negative || logistic ? b.neg(score) : b.sub(b.scalar(1, f32), score);
  Value pair = b.concat({other, score}, 1);
  pair = logistic ? b.logistic(pair) : pair;
  Value at = b.cast(b.squeeze(second, {1}), b.builder().getI64Type());
  return giveClasses(c, labels, at, isProbit(c) ? Value() : pair);
}

static LogicalResult treeClassifier(NodeContext &c) {
  PrimBuilder &b = c.b;
  FailureOr<Value> x = samples(c);
  auto labels = classLabels(c, "classlabels_int64s");
  if (failed(x) || failed(labels))
    return failure();
  int64_t classes = labels->size();
  Reader reader(c, "class", classes);
  if (failed(reader.read()))
    return failure();
  auto ids = c.intsAttr("class_ids");
  if (!ids || ids->empty())
    return c.fail("its leaves speak of no class");
  Totals totals = total(c, reader, *x, classes, "SUM");
  Value y = totals.scores, base = baseValues(c, b.elem(y));
  if (classes <= 2 && llvm::all_equal(*ids)) {
    y = b.sliceAxis(y, 1, b.dim(ids->front()), b.dim(int64_t(1)));
    if (classes != 2 || (base && b.known(b.dim(base, 0)) != 1))
      return c.fail("needs two classes and at most one base value where leaves speak of one");
    return givePair(c, base ? b.add(y, base) : y, reader.negative, *labels);
  }
  Value spoken = totals.spoken;
  if (base) {
    if (b.known(b.dim(base, 0)) != classes)
      return c.fail("needs a base value for each class");
    y = b.add(y, base);
    spoken = {};
  }
  Value ranked = spoken ? b.select(spoken, y, b.scalar(-INFINITY, b.elem(y))) : y;
  return giveClasses(c, *labels, largestClass(b, ranked), transformScores(c, y));
}

void tcc::populateOnnxNamedTreeRules(RuleSet &rules) {
  rules.add("ai.onnx.ml", "TreeEnsembleClassifier", treeClassifier);
  rules.add("ai.onnx.ml", "TreeEnsembleRegressor", treeRegressor);
}
