//===- Clusters.cpp - Which primitive belongs to which kernel ---------------===//
//
// The block is walked backwards, so that the kernels of all users of an operator
// are known when it is its turn. It joins the kernel of its users if there is one
// such kernel and its loop nest can compute it; else it becomes the root of a new
// kernel and its result goes to memory.
//
// - Free operators (views, constants, broadcasts, 16-bit floats made f32, masks of positions) are
//   copied into every reader.
// - A pointwise operator read by several kernels is computed in the earliest and
//   written from there, if that one reads it at its own loop index. Earliest is
//   right: no kernel before it can need the value, and none after it can be
//   needed by it, so there is no cycle. Not in the reduction of a whole tensor, which is
//   one task; a product before it takes the operator as its epilogue.
// - What a kernel would compute again at many of its points, and by many operators, goes to memory
//   before it: where a grid is sampled and by how much, which is the same for all channels; not of
//   so few points that a launch takes longer. A few cheap operators are sooner computed than read,
//   and so are rows taken by an index, but not at many places for each point.
// - A reduction over trailing axes joins the kernel of its users if that reads it
//   once a row: the rows are shared and softmax or layer norm become one kernel (ClusterRows.cpp).
// - A contraction or convolution joins a pointwise kernel of its own shape: that
//   becomes its epilogue. It joins a transpose that goes to memory as well, and is
//   stored in that order (the heads of attention, the channels of a last convolution).
//   Views that it can read in place (Analysis/DotOperand.h) are not copied for it.
//   Where no such kernel can have it, it takes along what makes its sums narrower, and if the
//   target prefers that, a sum that a row kernel is not the only one to read. Two of few rows that
//   one result is computed from are one kernel, if the target prefers that.
// - Attention is one kernel: the product with the values brings the softmax before it and the
//   product with the keys along (Analysis/AttentionForm.h), and what joins a cache and new keys, if
//   the target reads them from where they lie. What is computed for each score
//   from something else, a mask above all, joins where it is cheap, and so does what few queries
//   are computed by, if the target prefers that.
// - Operators with an algorithm of their own (sort, scan) are alone, but for those that change
//   a part of a tensor: what they write and where is computed at each point, so views and
//   pointwise operators before it join. So they do where the target's kernel asks for points,
//   unless those lie across in memory; and what such a kernel gives as two parts of a complex
//   number is stored as one.
//
//===----------------------------------------------------------------------===//
#include "Clustering.h"
#include "tcc/Analysis/AttentionForm.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::fusion;

/// A 16-bit float made f32: an instruction, and half the memory where it is not stored.
static bool isWidening(Operation *op) {
  auto cast = dyn_cast<prim::CastOp>(op);
  if (!cast)
    return false;
  Type from = tensorType(cast.getX()).getElementType();
  return (from.isF16() || from.isBF16()) && tensorType(cast.getResult()).getElementType().isF32();
}

/// How many points of a broadcast have one value in common; open extents count as many.
static int64_t repeats(prim::BroadcastOp op) {
  auto from = tensorType(op.getX()), to = tensorType(op.getResult());
  int64_t count = 1;
  for (auto [axis, extent] : llvm::enumerate(to.getShape())) {
    const auto *at = llvm::find(op.getAxes(), int64_t(axis));
    if (at == op.getAxes().end() || from.getDimSize(at - op.getAxes().begin()) != extent)
      count *= ShapedType::isDynamic(extent) ? kTypicalExtent : extent;
  }
  return count;
}

/// A condition of positions, and of values that many points have in common, as a mask of attention
/// is: computing it takes no longer than reading it, and tells a kernel what it need not compute.
static bool isMask(Operation *op, unsigned depth = 8) {
  constexpr int64_t kMany = 16;
  if (depth == 0 || op->getNumResults() != 1 || !prim::isElementwise(op) ||
      op->hasTrait<prim::Costly>() || !tensorType(op->getResult(0)).getElementType().isInteger(1))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value v) {
    Operation *from = v.getDefiningOp();
    for (; from && from->hasTrait<prim::StridedView>(); from = v.getDefiningOp())
      v = from->getOperand(0);
    while (auto broadcast = dyn_cast_or_null<prim::BroadcastOp>(from)) {
      if (repeats(broadcast) >= kMany)
        return true;
      from = broadcast.getX().getDefiningOp();
    }
    return from && (from->hasTrait<prim::Generated>() || isMask(from, depth - 1));
  });
}

bool tcc::fusion::isFree(Operation *op) {
  return isWidening(op) || isMask(op) || op->hasTrait<prim::Generated>() ||
         op->hasTrait<prim::View>();
}

bool tcc::fusion::isPointwise(Operation *op) {
  return prim::isElementwise(op) || op->hasTrait<prim::PointAccess>();
}

bool tcc::fusion::isContraction(Operation *op) { return op->hasTrait<prim::Contraction>(); }

KernelKind tcc::fusion::contractionKind(Operation *op) {
  return op->hasTrait<prim::MatrixProduct>() ? KernelKind::Contraction : KernelKind::Convolution;
}

bool tcc::fusion::isHost(Operation *op) {
  return !isa<prim::PrimDialect>(op->getDialect()) || op->hasTrait<prim::HostOperator>();
}

bool tcc::fusion::readsMemory(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<prim::ScatterRunsOp>(op)) // every element is written where it was read
    return false;
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

SmallVector<OpFoldResult> Clustering::extentsOf(Operation *op, Value v) {
  builder.setInsertionPoint(op);
  return prim::dimsOf(builder, op->getLoc(), v);
}

/// Whether the tensor that `op` changes elements of is one number everywhere.
static bool isFilled(Operation *op) {
  auto constant = op->getOperand(0).getDefiningOp<prim::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getElements()) : DenseElementsAttr();
  return elements && elements.isSplat();
}

Cluster *Clustering::startCluster(Operation *op) {
  auto &g = *clusters.emplace_back(std::make_unique<Cluster>());
  g.root = op;
  g.position = positions[op];
  Value result = op->getResult(0);
  g.space = extentsOf(op, result);
  auto reduce = dyn_cast<prim::ReduceOp>(op);
  if (auto axes = reduce ? rowAxesOf(reduce) : std::nullopt) {
    g.kind = KernelKind::Row;
    g.rows = axes->rows;
    g.lineDims = axes->line;
    g.space = extentsOf(op, reduce.getX());
    g.access[result] = reducedAccess(*axes, g.space);
  } else {
    g.access[result] = identityAccess(g.space.size());
    if (isContraction(op))
      g.kind = contractionKind(op);
    else if (!isPointwise(op) && !isFree(op) && !op->hasTrait<prim::Reduction>())
      g.kind = KernelKind::Special;
    if (g.kind == KernelKind::Special && asksForPoints(op))
      g.asking = op;
    g.fills = policy.fuse && policy.model && policy.model->fillsFirst(op) && isFilled(op);
  }
  for (Value v : op->getResults())
    g.outputs.insert(v);
  g.ops.insert(op);
  clusterOf[op] = &g;
  places[op] = 1;
  if (isContraction(op) && policy.fuse)
    takeAttention(op, g);
  return &g;
}

/// Slices that are rows of x: an index a row, and then x itself.
static bool takesRows(Operation *op) {
  auto take = dyn_cast<prim::TakeOp>(op);
  return take && static_cast<int64_t>(take.getAxis()) + 1 < tensorType(take.getX()).getRank();
}

/// Pointwise operators that `v` is computed by, up to `most`; of 64 bits, which take twice the
/// vectors, one is two.
static unsigned countOperators(Value v, unsigned most, DenseSet<Operation *> &seen) {
  Operation *op = v.getDefiningOp();
  if (!op || isHost(op) || !(isPointwise(op) || isFree(op)) || !seen.insert(op).second)
    return 0;
  constexpr int64_t wide = 8; // bytes
  bool counts = isPointwise(op) && !isFree(op);
  unsigned count = counts * (elementBytes(tensorType(v).getElementType()) < wide ? 1 : 2);
  for (Value operand : op->getOperands())
    if (count < most && isa<RankedTensorType>(operand.getType()))
      count += countOperators(operand, most - count, seen);
  return count;
}

/// Whether `op` is computed by so many operators that reading it takes no longer.
static bool isLong(Operation *op) {
  constexpr unsigned manyOperators = 8;
  DenseSet<Operation *> seen;
  return countOperators(op->getResult(0), manyOperators, seen) >= manyOperators;
}

/// Whether `op`, read at `at`, is the same at many points of `g`, and long to compute: where a
/// grid is sampled, for every channel.
static bool repeatsMuch(Operation *op, const Cluster &g, ArrayRef<OpFoldResult> own) {
  constexpr int64_t manyTimes = 8, openPoints = 8;
  // An open extent is several points, unless both have it.
  SmallVector<Value> open;
  auto points = [](ArrayRef<OpFoldResult> extents, auto unknown) {
    int64_t product = 1;
    for (OpFoldResult extent : extents) {
      auto known = getConstantIntValue(extent);
      product *= known ? *known : unknown(cast<Value>(extent));
    }
    return product;
  };
  int64_t all = points(g.space, [&](Value extent) {
    open.push_back(extent);
    return 1;
  });
  bool isPart = true;
  int64_t mine = points(own, [&](Value extent) {
    auto *same = llvm::find(open, extent);
    isPart &= same != open.end();
    if (same != open.end())
      open.erase(same);
    return 1;
  });
  for (size_t i = 0; i < open.size(); ++i)
    all *= openPoints;
  if (!isPart || all < manyTimes * mine)
    return false;
  return isLong(op);
}

/// Whether a function that is costly to compute goes into `op` alone, through operators on points:
/// then storing what `op` gives takes as much memory as storing what the function does.
static bool endsFunction(Operation *op, unsigned depth = 4) {
  return depth && prim::isElementwise(op) && llvm::any_of(op->getOperands(), [&](Value v) {
           Operation *from = v.getDefiningOp();
           return from && v.hasOneUse() && prim::isElementwise(from) &&
                  (from->hasTrait<prim::VeryCostly>() || endsFunction(from, depth - 1));
         });
}

/// Whether a loop that reads `op` at `at`, not along its last axis, should compute it for each row.
bool Clustering::worthEachRow(Operation *op, const Cluster &g, const Access &at) {
  if (g.kind != KernelKind::Loop || !policy.model)
    return true;
  int64_t rows = 1, length = 1;
  bool inRow = true;
  for (int64_t axis = g.space.size(); axis-- > 0;) {
    auto extent = getConstantIntValue(g.space[axis]);
    if (!extent)
      return true;
    inRow &= !llvm::is_contained(at, static_cast<int>(axis));
    (inRow ? length : rows) *= *extent;
  }
  return policy.model->computesForRows(op, rows, length);
}

/// Whether a loop takes no longer than a launch, whatever is computed at its points.
bool Clustering::hasFewPoints(const Cluster &g) const {
  int64_t points = 1;
  for (OpFoldResult extent : g.space) {
    auto known = getConstantIntValue(extent);
    if (!known)
      return false;
    points *= *known;
  }
  return g.kind == KernelKind::Loop && policy.model && points <= policy.model->fewPoints();
}

/// A value read at the loop index is computed once a point. Read in any other way
/// it is computed again and again, which only cheap operators are worth, and few of them.
bool Clustering::worthRecomputing(Operation *op, Cluster &g) {
  Access at = accessIn(g, op->getResult(0));
  bool windows = llvm::any_of(g.ops, [](Operation *o) { return isa<prim::PoolOp>(o); });
  unsigned loops = 0, dims = 0;
  for (int entry : at)
    loops += entry >= 0;
  for (OpFoldResult extent : g.space)
    dims += getConstantIntValue(extent) != 1;
  if (!llvm::is_contained(at, kUnknown) && loops >= dims)
    return true;
  if (isOfLines(op, g, at))
    return true;
  // Once a row, or hoisted out of the innermost loop.
  bool outerOnly = !llvm::is_contained(at, kUnknown) &&
                   !llvm::is_contained(at, static_cast<int>(g.space.size()) - 1);
  if (windows)
    return false;
  constexpr unsigned kMostPlaces = 16; // steps of a scan by doubling would double them
  constexpr unsigned kFewPlaces = 2;   // of what takes long to compute
  if (outerOnly)
    return worthEachRow(op, g, at);
  unsigned asked = placesRead(g, op->getResult(0));
  bool few = hasFewPoints(g);
  bool costly = op->hasTrait<prim::Costly>() && !takesRows(op) &&
                !(few && asked == 1 && !op->hasTrait<prim::VeryCostly>());
  return !costly && asked <= kMostPlaces && !(asked > 1 && endsFunction(op)) &&
         !(asked > kFewPlaces && isLong(op)) &&
         (few || !repeatsMuch(op, g, extentsOf(op, op->getResult(0))));
}

/// Before an operator that asks for points: for each once, or for few operators on those that are
/// the same for many lines.
bool Clustering::joinsAsking(Operation *op, Cluster &g) {
  if (!isPointwise(op) || liesAcross(op->getResult(0)) ||
      !policy.model->computesForPoints(g.asking, op))
    return false;
  // A line is one task, and its steps wait for each other: long functions have loops of their own.
  if (isa<prim::CumulativeOp>(g.asking) && op->hasTrait<prim::VeryCostly>())
    return false;
  auto own = tensorType(op->getResult(0)), whole = tensorType(g.asking->getResult(0));
  constexpr int64_t kOften = 8;
  bool once = own.hasStaticShape() && whole.hasStaticShape() &&
              own.getNumElements() * kOften > whole.getNumElements();
  return once ||
         (!op->hasTrait<prim::Costly>() && !repeatsMuch(op, g, extentsOf(op, op->getResult(0))));
}

bool Clustering::joins(Operation *op, Cluster &g) {
  // A longer body compiles slowly and gains nothing: its values leave registers.
  constexpr unsigned kMaxOps = 192;
  if (g.ops.size() >= kMaxOps)
    return false;
  if (g.asking)
    return joinsAsking(op, g);
  if (g.kind == KernelKind::Special)
    return prim::has<prim::UpdatesFirst>(g.root) && isPointwise(op);
  // Once a score, or once an element of the result; queries once a tile of them.
  if (g.kind == KernelKind::Attention && g.scores && isQuery(op->getResult(0), g))
    return isPointwise(op) && !op->hasTrait<prim::VeryCostly>() && !endsProduct(op, g);
  if (g.kind == KernelKind::Attention)
    return prim::isElementwise(op) && !op->hasTrait<prim::Costly>();
  if (auto reduce = dyn_cast<prim::ReduceOp>(op))
    return joinsRows(reduce, g) || joinsPoints(reduce, g);
  if (isContraction(op))
    return joinsEpilogue(op, g) ||
           (goesWithProduct(op, g) && sameExtents(g.space, extentsOf(op, op->getResult(0))) &&
            isIdentity(accessIn(g, op->getResult(0)), g.space));
  if (!isPointwise(op))
    return false;
  if ((g.kind == KernelKind::Contraction || g.kind == KernelKind::Convolution || g.lineDims) &&
      !prim::isElementwise(op))
    return false;
  return !endsProduct(op, g) && worthRecomputing(op, g);
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

void Clustering::add(Operation *op, Cluster &g) {
  bool isProduct = isContraction(op);
  if (g.scores && isQuery(op->getResult(0), g))
    g.queries.insert(op);
  g.ops.insert(op);
  places[op] = placesRead(g, op->getResult(0));
  clusterOf[op] = &g;
  if (g.kind != KernelKind::Attention && g.kind != KernelKind::Special)
    g.access[op->getResult(0)] = accessIn(g, op->getResult(0));
  if (isProduct)
    takeAttention(op, g);
}

/// The softmax and the product that `op` has its weights from join its kernel.
void Clustering::takeAttention(Operation *op, Cluster &g) {
  auto dot = dyn_cast<prim::DotOp>(op);
  std::optional<AttentionForm> form =
      policy.attention && dot ? matchAttention(dot) : std::optional<AttentionForm>();
  if (!form || !hasAttentionKernel(*form) ||
      llvm::any_of(form->ops, [&](Operation *part) { return part != op && isApart(part); }) ||
      (policy.model && !policy.model->prefersAttention(*form)))
    return;
  g.kind = KernelKind::Attention;
  if (policy.model && policy.model->computesQueries(*form))
    g.scores = form->scores;
  for (Operation *part : form->ops) {
    g.ops.insert(part);
    clusterOf[part] = &g;
  }
  takeJoins(*form, g);
}

/// Keys and values that are put together for this attention alone stay where their parts lie.
void Clustering::takeJoins(const AttentionForm &form, Cluster &g) {
  std::optional<JoinedKeys> joined = joinedKeys(form);
  if (!joined || isApart(joined->keys) || isApart(joined->values) ||
      (policy.model && !policy.model->readsParts(form, joined->keys.getInputs().size())))
    return;
  for (auto [keys, values] : llvm::zip(joined->keys.getInputs(), joined->values.getInputs())) {
    OpFoldResult ofKeys = extentsOf(joined->keys, keys)[joined->keys.getAxis()];
    OpFoldResult ofValues = extentsOf(joined->values, values)[joined->values.getAxis()];
    if (!sameExtents(ofKeys, ofValues))
      return;
  }
  for (Operation *concat : {joined->keys.getOperation(), joined->values.getOperation()}) {
    g.joins.push_back(concat);
    g.ops.insert(concat);
    clusterOf[concat] = &g;
  }
}

void Clustering::place(Operation *op) {
  if (storesParts(op))
    return;
  llvm::SmallSetVector<Cluster *, 4> found;
  bool memory = false;
  for (Value v : op->getResults())
    readers(v, found, memory);
  if (found.empty() && !memory)
    return; // dead
  if (op->getNumResults() != 1 || found.empty() || !policy.fuse || isApart(op)) {
    startCluster(op);
    return;
  }
  Cluster *first =
      *llvm::min_element(found, [](Cluster *a, Cluster *b) { return a->position < b->position; });
  bool shared = memory || found.size() > 1;
  if (!shared) {
    joins(op, *first) ? add(op, *first) : (void)startCluster(op);
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
  // A reduction of everything is one task: it should not make what others need as well. Nor should
  // those of few long rows.
  bool isSerial = first->kind == KernelKind::Row &&
                  (first->rows == 0 || llvm::any_of(first->ops, [&](Operation *other) {
                     auto reduce = dyn_cast<prim::ReduceOp>(other);
                     return reduce && !first->lineDims && !computesForRows(reduce);
                   }));
  bool rootAtFull = first->access[first->root->getResult(0)].size() == first->space.size();
  if (readsOwn && !isSerial && (first->kind == KernelKind::Row ? !addsToProduct(op) : rootAtFull)) {
    add(op, *first);
    first->outputs.insert(op->getResult(0));
    return;
  }
  startCluster(op);
}

std::vector<std::unique_ptr<Cluster>> Clustering::run() {
  for (Operation &op : llvm::reverse(block)) {
    if (isHost(&op) || clusterOf.contains(&op))
      continue;
    if (!isFree(&op)) {
      place(&op);
      continue;
    }
    auto transpose = dyn_cast<prim::TransposeOp>(op);
    if (!isa<prim::ReshapeOp>(op) &&
        (needsCopy(op.getResult(0)) || (transpose && turnsFirst(transpose))))
      startCluster(&op);
  }
  llvm::sort(clusters, [](auto &a, auto &b) { return a->position < b->position; });
  return std::move(clusters);
}

std::vector<std::unique_ptr<Cluster>> tcc::fusion::formClusters(Block &block, FusionPolicy policy) {
  return Clustering(block, policy).run();
}
