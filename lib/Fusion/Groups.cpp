//===- Groups.cpp - Which primitive belongs to which kernel ---------------===//
//
// The block is walked backwards, so that the kernels of all users of an operator
// are known when it is its turn. It joins the kernel of its users if there is one
// such kernel and its loop nest can compute it; else it becomes the root of a new
// kernel and its result goes to memory.
//
// - Free operators (views, constants, broadcasts, 16-bit floats made f32) are copied into
//   every reader.
// - A pointwise operator read by several kernels is computed in the earliest and
//   written from there, if that one reads it at its own loop index. Earliest is
//   right: no kernel before it can need the value, and none after it can be
//   needed by it, so there is no cycle. Not in the reduction of a whole tensor, which is
//   one task; a product before it takes the operator as its epilogue.
// - A reduction over trailing axes joins the kernel of its users if that reads it
//   once a row: the rows are shared and softmax or layer norm become one kernel.
// - A contraction or convolution joins a pointwise kernel of its own shape: that
//   becomes its epilogue. It joins a transpose that goes to memory as well, and is
//   stored in that order (the heads of attention, the channels of a last convolution).
//   Views that it can read in place (Analysis/DotOperand.h) are not copied for it.
// - Attention is one kernel: the product with the values brings the softmax before it and the
//   product with the keys along (Analysis/AttentionForm.h). What is computed for each score
//   from something else, a mask above all, joins where it is cheap.
// - Operators with an algorithm of their own (sort, scan) are alone, but for those that change
//   a part of a tensor: what they write and where is computed at each point, so views and
//   pointwise operators before it join.
//
//===----------------------------------------------------------------------===//
#include "Groups.h"
#include "tcc/Analysis/AttentionForm.h"
#include "tcc/Dialect/Prim/DimTraces.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::fusion;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

/// A 16-bit float made f32: an instruction, and half the memory where it is not stored.
static bool isWidening(Operation *op) {
  auto cast = dyn_cast<prim::CastOp>(op);
  if (!cast)
    return false;
  Type from = tensorType(cast.getX()).getElementType();
  return (from.isF16() || from.isBF16()) && tensorType(cast.getResult()).getElementType().isF32();
}

bool tcc::fusion::isFree(Operation *op) {
  return isWidening(op) || op->hasTrait<prim::Generated>() || op->hasTrait<prim::View>();
}

bool tcc::fusion::isPointwise(Operation *op) {
  return prim::isElementwise(op) || op->hasTrait<prim::PointAccess>();
}

bool tcc::fusion::isContraction(Operation *op) { return op->hasTrait<prim::Contraction>(); }

static KernelKind contractionKind(Operation *op) {
  return op->hasTrait<prim::MatrixProduct>() ? KernelKind::Contraction : KernelKind::Convolution;
}

bool tcc::fusion::isHost(Operation *op) {
  return !isa<prim::PrimDialect>(op->getDialect()) || op->hasTrait<prim::HostOperator>();
}

bool tcc::fusion::readsMemory(OpOperand &use) {
  Operation *op = use.getOwner();
  if (prim::has<prim::UpdatesFirst>(op))
    return use.getOperandNumber() == 0;
  return isContraction(op) || !(isPointwise(op) || isFree(op) || op->hasTrait<prim::Reduction>());
}

std::optional<Value> tcc::fusion::readInPlace(OpOperand &use) {
  auto dot = dyn_cast<prim::DotOp>(use.getOwner());
  Operation *last = use.get().getDefiningOp();
  // Kernels that read a layout of their own take the other operand as it lies.
  if (!dot || !prim::has<prim::StridedView>(last) || prim::layoutOf(dot.getRhs()))
    return std::nullopt;
  auto extents = [&](Value v) {
    return getAsIndexOpFoldResult(v.getContext(), tensorType(v).getShape());
  };
  auto through = [&](Operation *op) {
    return op->getBlock() == dot->getBlock() && tensorType(op->getResult(0)).hasStaticShape() &&
           tensorType(op->getOperand(0)).hasStaticShape();
  };
  auto operand = dotOperand(dot, use.getOperandNumber(), extents, through);
  if (!operand || operand->view.length() == 0)
    return std::nullopt;
  Operation *source = operand->view.source().getDefiningOp();
  if (source && isFree(source))
    return std::nullopt;
  return operand->view.source();
}

namespace {

class Grouping {
public:
  Grouping(Block &block, FusionPolicy policy)
      : block(block), policy(policy), builder(block.getParentOp()->getContext()) {
    unsigned n = 0;
    for (Operation &op : block)
      positions[&op] = n++;
  }
  std::vector<std::unique_ptr<Group>> run();

private:
  /// Whoever reads `value` through free operators: groups, or memory.
  /// `copied`: a view of the value is written to memory for those who need it there.
  void readers(Value value, llvm::SmallSetVector<Group *, 4> &groups, bool &memory,
               bool copied = false);
  /// Whether the host reads `value`, if at all, after `position`.
  bool hostReadersFollow(Value value, unsigned position);
  /// The index at which group `g` reads `value`.
  Access accessIn(Group &g, Value value);
  void place(Operation *op);
  Group *startGroup(Operation *op);
  bool needsCopy(Value view);
  SmallVector<OpFoldResult> extentsOf(Operation *op, Value v);
  bool joins(Operation *op, Group &g);
  bool joinsRows(prim::ReduceOp op, Group &g);
  bool joinsPoints(prim::ReduceOp op, Group &g);
  bool joinsEpilogue(Operation *op, Group &g);
  void takeAttention(Operation *op, Group &g);
  bool worthRecomputing(Operation *op, Group &g);
  void add(Operation *op, Group &g);

  Block &block;
  FusionPolicy policy;
  DenseMap<Operation *, unsigned> positions;
  DenseMap<Operation *, Group *> groupOf;
  std::vector<std::unique_ptr<Group>> groups;
  OpBuilder builder;
  prim::DimTraces traces{builder};
};

} // namespace

void Grouping::readers(Value value, llvm::SmallSetVector<Group *, 4> &found, bool &memory,
                       bool copied) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    Operation *here = block.findAncestorOpInBlock(*user);
    if (here != user || isHost(user)) {
      memory |= !copied && !isa<prim::DimOp>(user);
    } else if (isFree(user)) {
      Group *copy = groupOf.lookup(user);
      readers(user->getResult(0), found, memory, copied || copy);
      if (copy)
        found.insert(copy);
    } else if (Group *g = groupOf.lookup(user)) {
      // Contractions and special operators read their operands from memory: that of
      // a copied view, where there is one.
      bool inMemory = readsMemory(use);
      if (inMemory && copied && !readInPlace(use))
        continue;
      found.insert(g);
      memory |= inMemory;
    }
  }
}

bool Grouping::hostReadersFollow(Value value, unsigned position) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (here != user || isHost(user))
      return isa<prim::DimOp>(user) || positions[here] > position;
    return !isFree(user) || hostReadersFollow(user->getResult(0), position);
  });
}

Access Grouping::accessIn(Group &g, Value value) {
  std::optional<Access> merged;
  auto take = [&](Access a) {
    for (auto [axis, entry] : llvm::enumerate(a))
      if (tensorType(value).getDimSize(axis) == 1)
        entry = kZero;
    merged = merged ? mergeAccess(*merged, a) : a;
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != &block)
      continue;
    if (isFree(user) && groupOf.lookup(user) != &g) {
      Access at = accessIn(g, user->getResult(0));
      if (static_cast<int64_t>(at.size()) == tensorType(user->getResult(0)).getRank())
        take(operandAccess(user, use.getOperandNumber(), at));
    } else if (groupOf.lookup(user) == &g) {
      Access reduced;
      // Loops inside a point's code get numbers that no loop dim has.
      unsigned begin = g.kind == KernelKind::Row ? g.rows : 100;
      for (unsigned i = 0; i < 8; ++i)
        reduced.push_back(begin + i);
      take(operandAccess(user, use.getOperandNumber(), g.access[user->getResult(0)], reduced));
    }
  }
  return merged.value_or(Access{});
}

/// Whether an access is at the loop index itself, unit axes aside.
static bool isIdentity(ArrayRef<int> at, ArrayRef<OpFoldResult> space) {
  if (at.size() != space.size())
    return false;
  for (auto [dim, entry] : llvm::enumerate(at))
    if (entry != static_cast<int>(dim) && (entry != kZero || getConstantIntValue(space[dim]) != 1))
      return false;
  return true;
}

/// Whether an access walks the first `count` loop dims in order, unit axes and loop
/// dims of one iteration aside.
static bool isPrefix(ArrayRef<int> at, unsigned count, ArrayRef<OpFoldResult> space) {
  unsigned next = 0;
  auto skipUnitDims = [&](int upTo) {
    while (next < count && static_cast<int>(next) != upTo && getConstantIntValue(space[next]) == 1)
      ++next;
  };
  for (int entry : at) {
    if (entry == kZero)
      continue;
    skipUnitDims(entry);
    if (entry != static_cast<int>(next++))
      return false;
  }
  skipUnitDims(-1);
  return next == count;
}

/// Extents are equal as values, or asked of the same axis in two places.
static bool sameExtent(OpFoldResult x, OpFoldResult y) {
  if (isEqualConstantIntOrValue(x, y))
    return true;
  auto dimOf = [](OpFoldResult d) {
    auto value = dyn_cast<Value>(d);
    return value ? value.getDefiningOp<prim::DimOp>() : prim::DimOp();
  };
  prim::DimOp dx = dimOf(x), dy = dimOf(y);
  return dx && dy && dx.getX() == dy.getX() && dx.getAxis() == dy.getAxis();
}

static bool sameExtents(ArrayRef<OpFoldResult> x, ArrayRef<OpFoldResult> y) {
  return x.size() == y.size() && llvm::all_of(llvm::zip(x, y), [](auto p) {
           return sameExtent(std::get<0>(p), std::get<1>(p));
         });
}

/// Axes that are the last ones.
static bool reducesTrailing(prim::ReduceOp op) {
  int64_t rank = tensorType(op.getX()).getRank(), n = op.getAxes().size();
  for (auto [i, axis] : llvm::enumerate(op.getAxes()))
    if (axis != rank - n + static_cast<int64_t>(i))
      return false;
  return n > 0;
}

SmallVector<OpFoldResult> Grouping::extentsOf(Operation *op, Value v) {
  builder.setInsertionPoint(op);
  return prim::dimsOf(builder, op->getLoc(), v);
}

Group *Grouping::startGroup(Operation *op) {
  auto &g = *groups.emplace_back(std::make_unique<Group>());
  g.root = op;
  g.position = positions[op];
  Value result = op->getResult(0);
  g.space = extentsOf(op, result);
  if (auto reduce = dyn_cast<prim::ReduceOp>(op); reduce && reducesTrailing(reduce)) {
    g.kind = KernelKind::Row;
    g.rows = tensorType(result).getRank();
    g.space = extentsOf(op, reduce.getX());
    g.access[result] = identityAccess(g.rows);
  } else {
    g.access[result] = identityAccess(g.space.size());
    if (isContraction(op))
      g.kind = contractionKind(op);
    else if (!isPointwise(op) && !isFree(op) && !op->hasTrait<prim::Reduction>())
      g.kind = KernelKind::Special;
  }
  for (Value v : op->getResults())
    g.outputs.insert(v);
  g.ops.insert(op);
  groupOf[op] = &g;
  if (isContraction(op) && policy.fuse)
    takeAttention(op, g);
  return &g;
}

bool Grouping::joinsRows(prim::ReduceOp op, Group &g) {
  if (!reducesTrailing(op) || g.kind == KernelKind::Contraction ||
      g.kind == KernelKind::Convolution)
    return false;
  unsigned rows = tensorType(op.getResult()).getRank();
  SmallVector<OpFoldResult> full = extentsOf(op, op.getX());
  Access at = accessIn(g, op.getResult());
  if (g.kind == KernelKind::Row)
    return g.rows == rows && sameExtents(g.space, full) && isPrefix(at, rows, g.space);
  for (Operation *other : g.ops)
    if (other->hasTrait<prim::Reduction>())
      return false;
  if (rows > g.space.size() || !isPrefix(at, rows, g.space))
    return false;
  if (sameExtents(g.space, full)) {
    g.rows = rows; // the pointwise part runs over whole rows
  } else {
    // The pointwise part runs once a row: its space is the rows, unit axes aside.
    SmallVector<OpFoldResult> own;
    for (OpFoldResult d : g.space)
      if (getConstantIntValue(d) != 1)
        own.push_back(d);
    SmallVector<OpFoldResult> head;
    for (OpFoldResult d : ArrayRef(full).take_front(rows))
      if (getConstantIntValue(d) != 1)
        head.push_back(d);
    if (!sameExtents(own, head) || g.space.size() != rows)
      return false;
    g.rows = rows;
    g.space = full;
  }
  g.kind = KernelKind::Row;
  return true;
}

/// What the epilogue of a product reads instead of it: the product under another
/// shape with the same columns, or itself.
static Value rowsOf(Operation *op) {
  Value result = op->getResult(0);
  auto reshape =
      result.hasOneUse() ? dyn_cast<prim::ReshapeOp>(*result.user_begin()) : prim::ReshapeOp();
  if (!reshape || !op->hasTrait<prim::MatrixProduct>())
    return result;
  if (auto dot = dyn_cast<prim::DotOp>(op)) {
    int64_t columns =
        tensorType(dot.getRhs()).getRank() - dot.getRhsBatch().size() - dot.getRhsContract().size();
    if (columns != 1)
      return result;
  }
  auto from = tensorType(result), to = tensorType(reshape.getResult());
  bool sameColumns = to.getRank() > 0 && !from.isDynamicDim(from.getRank() - 1) &&
                     from.getShape().back() == to.getShape().back();
  return sameColumns ? reshape.getResult() : result;
}

bool Grouping::joinsEpilogue(Operation *op, Group &g) {
  auto transposed = dyn_cast<prim::TransposeOp>(g.root);
  if (g.kind != KernelKind::Loop || (!isPointwise(g.root) && !transposed))
    return false;
  for (Operation *other : g.ops)
    if (!prim::isElementwise(other) && other != transposed)
      return false;
  Value rows = transposed ? op->getResult(0) : rowsOf(op);
  SmallVector<OpFoldResult> own = extentsOf(op, rows);
  if (transposed && transposed.getPermutation().size() != own.size())
    return false; // a reshape lies between
  Access at = accessIn(g, rows), wanted = identityAccess(own.size());
  if (transposed) // the epilogue stores at the transposed point
    for (auto [i, axis] : llvm::enumerate(transposed.getPermutation()))
      wanted[axis] = i;
  if (at.size() != own.size() || (!transposed && !sameExtents(g.space, own)))
    return false;
  for (auto [entry, there, extent] : llvm::zip(at, wanted, own))
    if (entry != there && (entry != kZero || getConstantIntValue(extent) != 1))
      return false;
  g.kind = contractionKind(op);
  return true;
}

/// A reduction over other axes is a loop at each of its points; what is done with the
/// result may follow in the same kernel, if it has no more points.
bool Grouping::joinsPoints(prim::ReduceOp op, Group &g) {
  if (reducesTrailing(op) || g.kind != KernelKind::Loop ||
      llvm::any_of(g.ops, [](Operation *o) { return o->hasTrait<prim::Reduction>(); }))
    return false;
  Access at = accessIn(g, op.getResult());
  for (auto [dim, extent] : llvm::enumerate(g.space))
    if (getConstantIntValue(extent) != 1 && llvm::count(at, static_cast<int>(dim)) != 1)
      return false;
  return !llvm::is_contained(at, kUnknown);
}

/// A value read at the loop index is computed once a point. Read in any other way
/// it is computed again and again, which only cheap operators are worth.
bool Grouping::worthRecomputing(Operation *op, Group &g) {
  Access at = accessIn(g, op->getResult(0));
  bool windows = llvm::any_of(g.ops, [](Operation *o) { return isa<prim::PoolOp>(o); });
  unsigned loops = 0, dims = 0;
  for (int entry : at)
    loops += entry >= 0;
  for (OpFoldResult extent : g.space)
    dims += getConstantIntValue(extent) != 1;
  if (!llvm::is_contained(at, kUnknown) && loops >= dims)
    return true;
  // Once a row, or hoisted out of the innermost loop.
  bool outerOnly = !llvm::is_contained(at, kUnknown) &&
                   !llvm::is_contained(at, static_cast<int>(g.space.size()) - 1);
  return (outerOnly && !windows) || (!op->hasTrait<prim::Costly>() && !windows);
}

bool Grouping::joins(Operation *op, Group &g) {
  // A longer body compiles slowly and gains nothing: its values leave registers.
  constexpr unsigned kMaxOps = 192;
  if (g.ops.size() >= kMaxOps)
    return false;
  if (g.kind == KernelKind::Special)
    return prim::has<prim::UpdatesFirst>(g.root) && isPointwise(op);
  // Once a score, or once an element of the result.
  if (g.kind == KernelKind::Attention)
    return prim::isElementwise(op) && !op->hasTrait<prim::Costly>();
  if (auto reduce = dyn_cast<prim::ReduceOp>(op))
    return joinsRows(reduce, g) || joinsPoints(reduce, g);
  if (isContraction(op))
    return joinsEpilogue(op, g);
  if (!isPointwise(op))
    return false;
  if ((g.kind == KernelKind::Contraction || g.kind == KernelKind::Convolution) &&
      !prim::isElementwise(op))
    return false;
  return worthRecomputing(op, g);
}

/// Templates keep a few rows of queries and results in a cache, and sums in f32.
static bool hasAttentionKernel(AttentionForm &form) {
  constexpr int64_t kMostColumns = 256;
  auto isFloat = [](Value v) {
    Type t = tensorType(v).getElementType();
    return t.isF32() || t.isF16() || t.isBF16();
  };
  auto isNarrow = [](int64_t columns) {
    return !ShapedType::isDynamic(columns) && columns > 0 && columns <= kMostColumns;
  };
  prim::DotOp scores = form.scores, values = form.values;
  auto isDense = [](Value v) { return !tensorType(v).getEncoding(); };
  if (!isDense(scores.getLhs()) || !isDense(scores.getRhs()) || !isDense(values.getRhs()))
    return false; // weights in the order of another template
  int64_t depth = tensorType(scores.getLhs()).getDimSize(scores.getLhsContract()[0]);
  return scores.getLhsContract().size() == 1 && isNarrow(depth) &&
         isNarrow(tensorType(values.getResult()).getShape().back()) &&
         tensorType(scores.getResult()).getElementType().isF32() && isFloat(scores.getLhs()) &&
         isFloat(scores.getRhs()) && isFloat(values.getRhs()) && isFloat(values.getResult());
}

void Grouping::add(Operation *op, Group &g) {
  bool isProduct = isContraction(op);
  g.ops.insert(op);
  groupOf[op] = &g;
  if (g.kind != KernelKind::Attention && g.kind != KernelKind::Special)
    g.access[op->getResult(0)] = accessIn(g, op->getResult(0));
  if (isProduct)
    takeAttention(op, g);
}

/// The softmax and the product that `op` has its weights from join its kernel.
void Grouping::takeAttention(Operation *op, Group &g) {
  auto dot = dyn_cast<prim::DotOp>(op);
  std::optional<AttentionForm> form =
      policy.attention && dot ? matchAttention(dot) : std::optional<AttentionForm>();
  if (!form || !hasAttentionKernel(*form) ||
      (policy.model && !policy.model->prefersAttention(*form)))
    return;
  g.kind = KernelKind::Attention;
  for (Operation *part : form->ops) {
    g.ops.insert(part);
    groupOf[part] = &g;
  }
}

void Grouping::place(Operation *op) {
  llvm::SmallSetVector<Group *, 4> found;
  bool memory = false;
  for (Value v : op->getResults())
    readers(v, found, memory);
  if (found.empty() && !memory)
    return; // dead
  if (op->getNumResults() != 1 || found.empty() || !policy.fuse) {
    startGroup(op);
    return;
  }
  Group *first =
      *llvm::min_element(found, [](Group *a, Group *b) { return a->position < b->position; });
  bool shared = memory || found.size() > 1;
  if (!shared) {
    joins(op, *first) ? add(op, *first) : (void)startGroup(op);
    return;
  }
  // Several readers: computed in the first and written from there, if that one
  // computes it at every point of its own loops. Host readers come later or not
  // at all only if they follow the kernel.
  bool hostFollows = hostReadersFollow(op->getResult(0), first->position);
  bool plain = (first->kind == KernelKind::Loop || first->kind == KernelKind::Row) &&
               prim::isElementwise(op);
  bool readsOwn = plain && hostFollows &&
                  sameExtents(first->space, extentsOf(op, op->getResult(0))) &&
                  isIdentity(accessIn(*first, op->getResult(0)), first->space);
  // A reduction of everything is one task: it should not make what others need as well.
  bool isSerial = first->kind == KernelKind::Row && first->rows == 0;
  bool rootAtFull = first->access[first->root->getResult(0)].size() == first->space.size();
  if (readsOwn && !isSerial && (first->kind == KernelKind::Row || rootAtFull)) {
    add(op, *first);
    first->outputs.insert(op->getResult(0));
    return;
  }
  startGroup(op);
}

/// Whether the value of a free operator must lie in memory. A reshape renames what its
/// operand is stored in.
bool Grouping::needsCopy(Value view) {
  return llvm::any_of(view.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (block.findAncestorOpInBlock(*user) != user || isHost(user))
      return !isa<prim::DimOp>(user);
    if (groupOf.lookup(user))
      return readsMemory(use) && !(isContraction(user) && readInPlace(use));
    return isa<prim::ReshapeOp>(user) && needsCopy(user->getResult(0));
  });
}

std::vector<std::unique_ptr<Group>> Grouping::run() {
  for (Operation &op : llvm::reverse(block)) {
    if (isHost(&op) || groupOf.contains(&op))
      continue;
    if (!isFree(&op)) {
      place(&op);
      continue;
    }
    if (!isa<prim::ReshapeOp>(op) && needsCopy(op.getResult(0)))
      startGroup(&op);
  }
  llvm::sort(groups, [](auto &a, auto &b) { return a->position < b->position; });
  return std::move(groups);
}

std::vector<std::unique_ptr<Group>> tcc::fusion::formGroups(Block &block, FusionPolicy policy) {
  return Grouping(block, policy).run();
}
