//===- If.cpp - If ---------------------------------------------------------===//
//
// An If with a condition that is known takes its branch; else both become the
// regions of a prim.if. Branches may give tensors of different rank: exporters
// write "drop this axis if its extent is 1" so. No one type fits both, so what
// follows the If is decomposed once in each branch (TailDuplication.h). Often it
// is legal for one of the ranks alone; the If then becomes a check that the run
// takes that branch.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/PackedSequence.h"
#include "Decompose/TailDuplication.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;

namespace {

/// Whether the host condition is "this extent is 1".
bool isExtentTest(Dim condition) {
  auto value = dyn_cast<Value>(condition);
  auto compare = value ? value.getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  return compare && compare.getPredicate() == Cmp::eq &&
         PrimBuilder::nonNegative(getAsOpFoldResult(compare.getLhs())) &&
         PrimBuilder::known(getAsOpFoldResult(compare.getRhs())) == 1;
}

/// Whether two host scalars are computed alike from the same values.
bool sameHost(Value x, Value y, unsigned depth = 8) {
  if (x == y)
    return true;
  Operation *a = x.getDefiningOp(), *b = y.getDefiningOp();
  if (!a || !b || depth == 0 || a->getName() != b->getName() || a->getNumRegions() != 0 ||
      a->getNumResults() != 1 || a->getAttrDictionary() != b->getAttrDictionary() ||
      a->getNumOperands() != b->getNumOperands() || !isMemoryEffectFree(a))
    return false;
  return llvm::all_of(llvm::zip(a->getOperands(), b->getOperands()), [&](auto pair) {
    return sameHost(std::get<0>(pair), std::get<1>(pair), depth - 1);
  });
}

/// What the branches around the insertion point say of `condition`.
std::optional<bool> impliedByBranches(PrimBuilder &b, Value condition) {
  Region *region = b.builder().getInsertionBlock()->getParent();
  for (; region; region = region->getParentRegion())
    if (auto parent = dyn_cast<prim::IfOp>(region->getParentOp()))
      if (sameHost(parent.getCondition(), condition))
        return region == &parent.getThenRegion();
  return std::nullopt;
}

/// An If both of whose branches a run may take.
struct Branches {
  NodeContext &c;
  Dim condition;
  Region *bodies[2];
  FailureOr<std::vector<Lowered>> results[2] = {};
  std::string why[2] = {};
  Block *blocks[2] = {};

  Dim holds(unsigned branch) { return branch == 0 ? condition : c.b.notDim(condition); }

  LogicalResult differ() {
    if (c.tailFits)
      return c.disagree("its branches give values of different rank or element type");
    if (!isExtentTest(condition))
      return c.fail("its branches give values of different rank or element type, and too much "
                    "follows to compile it for each");
    c.b.check(holds(1), "an extent is 1, which the model treats specially");
    auto otherwise = c.inlineBody(*bodies[1], {});
    return failed(otherwise) ? failure() : giveAll(c, *otherwise);
  }

  /// Both bodies end the block they stand in with the same types, or the node fails.
  LogicalResult build() {
    bool broken = false, tensors = true;
    auto body = [&](unsigned i) {
      results[i] = c.inlineBody(*bodies[i], {});
      broken |= failed(results[i]);
      return valuesOf(i, tensors);
    };
    auto joined = c.b.branch(condition, [&] { return body(0); }, [&] { return body(1); });
    if (broken)
      return failure();
    if (!joined || !tensors)
      return differ();
    return giveJoined(*joined);
  }

  /// What branch i carries out; clears `fits` when that is not tensors, or not as the other.
  SmallVector<Value> valuesOf(unsigned i, bool &fits) {
    auto values = succeeded(results[i]) ? carried(*results[i]) : std::nullopt;
    fits &= values.has_value();
    if (i == 1 && fits && succeeded(results[0]))
      fits = mergeRanks(*results[0], *results[1]);
    return values.value_or(SmallVector<Value>());
  }

  LogicalResult giveJoined(ArrayRef<Value> values) {
    return giveAll(c, uncarried(*results[0], values));
  }

  /// Each body goes on with what followed the If, and may not be legal with it.
  LogicalResult buildWithTails() {
    bool tensors = true;
    auto body = [&](unsigned i) {
      blocks[i] = c.b.builder().getInsertionBlock();
      results[i] = c.attemptBody(*bodies[i], why[i]);
      if (i == 1 && succeeded(results[0]) != succeeded(results[1]))
        hoist(succeeded(results[0]) ? 0 : 1);
      return valuesOf(i, tensors);
    };
    auto joined = c.b.branch(condition, [&] { return body(0); }, [&] { return body(1); });
    if (failed(results[0]) && failed(results[1]))
      return c.fail("neither branch can be followed by the rest of the model: " + why[0] + why[1]);
    for (unsigned i : {0, 1})
      if (failed(results[i]))
        return giveAll(c, *results[1 - i]);
    return joined && tensors ? giveJoined(*joined) : differ();
  }

  /// The other branch leads to what cannot be computed: a run must not take it,
  /// and what `branch` built goes before the operator that would have chosen.
  void hoist(unsigned branch) {
    OpBuilder::InsertionGuard guard(c.b.builder());
    Operation *chooses = blocks[branch]->getParentOp();
    c.b.builder().setInsertionPoint(chooses);
    c.b.check(holds(branch),
              "the model cannot go on after this branch of an If: " + why[1 - branch]);
    auto &operations = blocks[branch]->getOperations();
    auto end = branch == 0 ? std::prev(operations.end()) : operations.end(); // its prim.yield stays
    chooses->getBlock()->getOperations().splice(chooses->getIterator(), operations,
                                                operations.begin(), end);
  }
};

LogicalResult ifRule(NodeContext &c) {
  PrimBuilder &b = c.b;
  auto scalar = scalarOperand(c, 0);
  Region *bodies[] = {c.node.body("then_branch"), c.node.body("else_branch")};
  if (failed(scalar))
    return failure();
  if (!bodies[0] || !bodies[1])
    return c.fail("lacks a branch");
  Dim condition = b.readElements(*scalar)[0];
  std::optional<bool> known;
  if (auto constant = b.known(condition))
    known = *constant != 0;
  else
    known = impliedByBranches(b, cast<Value>(condition));
  if (known) {
    auto results = c.inlineBody(*bodies[*known ? 0 : 1], {});
    return failed(results) ? failure() : giveAll(c, *results);
  }
  Branches branches{c, condition, {bodies[0], bodies[1]}};
  return hasTail(c.node) ? branches.buildWithTails() : branches.build();
}

} // namespace

void tcc::populateOnnxIfRules(RuleSet &rules) { rules.add("onnx", "If", ifRule); }
