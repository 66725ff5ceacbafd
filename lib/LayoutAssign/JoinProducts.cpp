//===- JoinProducts.cpp - Products of one operand become one product ------===//
//
// Queries, keys and values are products of the same rows by three weights. Each reads the rows and
// has the tail of its tiles for itself; with few rows a launch costs more than what it computes.
// Weights are constants, so they are put below one another when the artefact is written:
//
//   %q = prim.dot %x, %wq        %a = prim.dot %x, %wqkv
//   %k = prim.dot %x, %wk        %q = prim.slice %a [..., 0]
//   %v = prim.dot %x, %wv        %k = prim.slice %a [..., 768]
//                                %v = prim.slice %a [..., 1536]
//
// What follows all of them in the same way (biases, roundings) follows the joined product, so
// that it stays the epilogue of one. Where something elementwise follows only some of them, as
// a gate follows one of two, they stay apart: it would no longer be an epilogue. Others read the
// slices in place.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Support/WeightTable.h"
#include <cstring>
#include <numeric>

namespace tcc {
#define GEN_PASS_DEF_JOINPRODUCTSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class JoinProducts {
public:
  explicit JoinProducts(WeightTable &weights) : weights(weights) {}
  void run(Block &block);

private:
  using Values = SmallVector<Value, 4>;

  prim::WeightOp weightOf(Value v);
  bool isJoinable(prim::DotOp dot);
  std::optional<SmallVector<Values>> operandsOf(ArrayRef<Operation *> ops, const Values &members);
  SmallVector<Operation *> nextOf(const Values &members);
  bool isRowOf(Value bias);
  Value joinedWeights(OpBuilder &b, const Values &parts, unsigned axis = 0);
  Value joined(OpBuilder &b, const Values &parts, RankedTensorType result);
  void join(ArrayRef<prim::DotOp> dots);

  WeightTable &weights;
};

} // namespace

/// A weight that lies as its shape says, in whole bytes, and that nothing else reads.
prim::WeightOp JoinProducts::weightOf(Value v) {
  auto op = v.getDefiningOp<prim::WeightOp>();
  const Weight *weight =
      op && v.hasOneUse() && !prim::layoutOf(v) ? weights.describe(op.getName()) : nullptr;
  return weight && bitWidth(weight->dtype) >= 8 ? op : prim::WeightOp();
}

/// A matrix of weights in rows of k, by rows that are not empty.
bool JoinProducts::isJoinable(prim::DotOp dot) {
  return dot.getLhsBatch().empty() && tensorType(dot.getRhs()).getRank() == 2 &&
         dot.getRhsContract() == ArrayRef<int64_t>{1} && weightOf(dot.getRhs()) &&
         tensorType(dot.getResult()).getRank() > 0;
}

/// Whether a bias is that of a single row: a weight that lies in the last axis alone, because what
/// repeats nothing is folded.
bool JoinProducts::isRowOf(Value bias) {
  auto type = tensorType(bias);
  return weightOf(bias) && type.getRank() && type.getNumElements() == type.getShape().back();
}

/// The weights in `parts` one after the other along an axis in front of which they have one
/// element.
Value JoinProducts::joinedWeights(OpBuilder &b, const Values &parts, unsigned axis) {
  std::string name;
  SmallVector<Weight> sources;
  Weight whole = *weights.describe(weightOf(parts[0]).getName());
  uint64_t rows = 0;
  for (Value part : parts) {
    std::string own = weightOf(part).getName().str();
    name += (name.empty() ? "" : "+") + own;
    sources.push_back(*weights.lookup(own));
    rows += sources.back().shape[axis];
  }
  whole.shape[axis] = static_cast<int64_t>(rows);
  whole.bytes = {};
  whole.owner = nullptr;
  uint64_t grain = whole.size() / rows;
  auto make = [sources](uint64_t begin, uint64_t end, char *to) {
    uint64_t start = 0; // of a part
    for (const Weight &part : sources) {
      uint64_t from = std::max(begin, start), until = std::min(end, start + part.size());
      if (from < until)
        std::memcpy(to + (from - begin), part.bytes.data() + (from - start), until - from);
      start += part.size();
    }
  };
  whole.maker = std::make_shared<WeightMaker>(WeightMaker{grain, make});
  auto type = tensorType(parts[0]).clone(whole.shape);
  std::string given = weights.add(name, std::move(whole));
  return prim::WeightOp::create(b, parts[0].getLoc(), type, b.getStringAttr(given));
}

static DenseElementsAttr splatOf(Value v) {
  auto constant = v.getDefiningOp<prim::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getElements()) : DenseElementsAttr();
  return dense && dense.isSplat() ? dense : DenseElementsAttr();
}

static bool isAlongColumns(prim::BroadcastOp op) {
  return op.getAxes() == ArrayRef<int64_t>{tensorType(op.getResult()).getRank() - 1} &&
         tensorType(op.getX()).getShape().back() == tensorType(op.getResult()).getShape().back();
}

/// The operators that follow the members, if each is followed by one, and all are alike.
SmallVector<Operation *> JoinProducts::nextOf(const Values &members) {
  SmallVector<Operation *> next;
  for (Value member : members) {
    if (!member.hasOneUse())
      return {};
    Operation *user = *member.user_begin();
    if (!prim::isElementwise(user) || user->getNumResults() != 1 ||
        user->getBlock() != member.getParentBlock())
      return {};
    if (!next.empty() &&
        (user->getName() != next[0]->getName() || user->getAttrs() != next[0]->getAttrs() ||
         tensorType(user->getResult(0)).getElementType() !=
             tensorType(next[0]->getResult(0)).getElementType() ||
         member.use_begin()->getOperandNumber() != members[0].use_begin()->getOperandNumber()))
      return {};
    next.push_back(user);
  }
  return next;
}

/// For each operand of `ops` what it is of each of them, if that can be joined; nothing for the
/// one that is the members.
std::optional<SmallVector<JoinProducts::Values>> JoinProducts::operandsOf(ArrayRef<Operation *> ops,
                                                                          const Values &members) {
  SmallVector<Values> all;
  for (unsigned i = 0; i < ops[0]->getNumOperands(); ++i) {
    Values parts;
    for (Operation *op : ops)
      parts.push_back(op->getOperand(i));
    all.push_back(parts[0] == members[0] ? Values() : parts);
    if (all.back().empty())
      continue;
    auto equalSplats = [&] {
      DenseElementsAttr first = splatOf(parts[0]);
      return first && llvm::all_of(parts, [&](Value part) {
               DenseElementsAttr splat = splatOf(part);
               return splat && splat.getSplatValue<Attribute>() == first.getSplatValue<Attribute>();
             });
    };
    auto biases = [&] {
      return llvm::all_of(parts, [&](Value part) {
        auto broadcast = part.getDefiningOp<prim::BroadcastOp>();
        return broadcast && part.hasOneUse() && isAlongColumns(broadcast) &&
               weightOf(broadcast.getX());
      });
    };
    auto rows = [&] { return llvm::all_of(parts, [&](Value part) { return isRowOf(part); }); };
    if (!equalSplats() && !biases() && !rows())
      return std::nullopt;
  }
  return all;
}

/// `parts` as one operand of a joined operator with `result`.
Value JoinProducts::joined(OpBuilder &b, const Values &parts, RankedTensorType result) {
  Location loc = parts[0].getLoc();
  auto type = result.clone(tensorType(parts[0]).getElementType());
  if (DenseElementsAttr splat = splatOf(parts[0]))
    return prim::ConstantOp::create(b, loc, type,
                                    DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
  if (isRowOf(parts[0]))
    return joinedWeights(b, parts, result.getRank() - 1);
  Values biases;
  for (Value part : parts)
    biases.push_back(part.getDefiningOp<prim::BroadcastOp>().getX());
  auto first = parts[0].getDefiningOp<prim::BroadcastOp>();
  return prim::BroadcastOp::create(b, loc, type, joinedWeights(b, biases), first.getAxes(),
                                   first.getSizes());
}

/// The columns of `all` from `first` on, in the shape of `like`.
static Value columnsOf(OpBuilder &b, Value all, int64_t first, Value like) {
  auto type = tensorType(like);
  SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1);
  starts.back() = first;
  SmallVector<Value> sizes;
  for (auto [axis, d] : llvm::enumerate(prim::dimsOf(b, all.getLoc(), all)))
    if (type.isDynamicDim(axis))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, all.getLoc(), d));
  return prim::SliceOp::create(b, like.getLoc(), type, all, ValueRange(), sizes, starts, steps);
}

/// Whether something reads `v` that could be the epilogue of its product, or would need a copy.
static bool isBestApart(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    return prim::isElementwise(user) || user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// `dots` have one left operand, and are in the order of the block.
void JoinProducts::join(ArrayRef<prim::DotOp> dots) {
  // What all of them are followed by, and what is read of that.
  Values members;
  for (prim::DotOp dot : dots)
    members.push_back(dot.getResult());
  struct Step {
    SmallVector<Operation *> ops;
    SmallVector<Values> operands;
  };
  SmallVector<Step> steps;
  for (SmallVector<Operation *> next = nextOf(members); !next.empty(); next = nextOf(members)) {
    auto operands = operandsOf(next, members);
    if (!operands)
      break;
    steps.push_back({next, std::move(*operands)});
    members.clear();
    for (Operation *op : next)
      members.push_back(op->getResult(0));
  }
  if (llvm::any_of(members, isBestApart))
    return;
  prim::DotOp first = dots[0];
  OpBuilder b(first);
  Values parts;
  SmallVector<int64_t> columns;
  for (prim::DotOp dot : dots) {
    parts.push_back(dot.getRhs());
    columns.push_back(tensorType(dot.getRhs()).getDimSize(0));
  }
  SmallVector<int64_t> shape(tensorType(first.getResult()).getShape());
  shape.back() = std::accumulate(columns.begin(), columns.end(), int64_t(0));
  auto type = tensorType(first.getResult()).clone(shape);
  Value all = prim::DotOp::create(b, first.getLoc(), type, first.getLhs(), joinedWeights(b, parts),
                                  ArrayRef<int64_t>(), ArrayRef<int64_t>(), first.getLhsContract(),
                                  ArrayRef<int64_t>{1});
  for (const Step &step : steps) {
    auto result = type.clone(tensorType(step.ops[0]->getResult(0)).getElementType());
    Values operands;
    for (const Values &of : step.operands)
      operands.push_back(of.empty() ? all : joined(b, of, result));
    Operation *op = b.clone(*step.ops[0]);
    op->setOperands(operands);
    op->getResult(0).setType(result);
    all = op->getResult(0);
  }
  int64_t begin = 0;
  for (auto [member, width] : llvm::zip(members, columns)) {
    member.replaceAllUsesWith(columnsOf(b, all, begin, member));
    begin += width;
  }
  for (const Step &step : llvm::reverse(steps))
    for (Operation *op : step.ops)
      op->erase();
  for (prim::DotOp dot : dots)
    dot->erase();
}

void JoinProducts::run(Block &block) {
  // By the left operand, what is summed of it and the types of weights and result.
  using Key = std::tuple<Value, ArrayRef<int64_t>, Type, Type>;
  SmallVector<std::pair<Key, SmallVector<prim::DotOp>>> groups;
  for (prim::DotOp dot : block.getOps<prim::DotOp>()) {
    if (!isJoinable(dot))
      continue;
    Key key(dot.getLhs(), dot.getLhsContract(), tensorType(dot.getRhs()).getElementType(),
            tensorType(dot.getResult()).getElementType());
    auto *group = llvm::find_if(groups, [&](auto &known) { return known.first == key; });
    if (group == groups.end())
      groups.push_back({key, {dot}});
    else
      group->second.push_back(dot);
  }
  for (auto &[key, dots] : groups)
    if (dots.size() > 1)
      join(dots);
}

namespace {

class JoinProductsPass : public tcc::impl::JoinProductsPassBase<JoinProductsPass> {
public:
  explicit JoinProductsPass(WeightTable *weights) : weights(weights) {}
  void runOnOperation() override {
    JoinProducts joiner(*weights);
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      joiner.run(*block);
  }

private:
  WeightTable *weights;
};

} // namespace

std::unique_ptr<Pass> tcc::createJoinProductsPass(WeightTable *weights) {
  return std::make_unique<JoinProductsPass>(weights);
}
