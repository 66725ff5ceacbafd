//===- ClusterRows.cpp - Reductions in the kernels of their users ---------===//
//
// A reduction over trailing axes joins a kernel that reads it once a row. So does one over axes
// before a few that stay, where the target has a kernel for rows of such lines: what is done with
// its result is done once a line, or at every point. Other reductions are loops at the points of
// their users. A target may have passes over few long rows that give values of rows alone as
// kernels of their own.
//
//===----------------------------------------------------------------------===//
#include "Clustering.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::fusion;

/// Axes that are the last ones.
static bool reducesTrailing(prim::ReduceOp op) {
  int64_t rank = tensorType(op.getX()).getRank(), n = op.getAxes().size();
  for (auto [i, axis] : llvm::enumerate(op.getAxes()))
    if (axis != rank - n + static_cast<int64_t>(i))
      return false;
  return n > 0;
}

/// Null: a loop at each of its points computes the reduction.
std::optional<RowAxes> Clustering::rowAxesOf(prim::ReduceOp op) {
  if (reducesTrailing(op))
    return RowAxes{static_cast<unsigned>(tensorType(op.getResult()).getRank()), 0};
  if (!policy.fuse || !policy.model || !policy.model->reducesAboveLines(op))
    return std::nullopt;
  return RowAxes{static_cast<unsigned>(op.getAxes().front()),
                 static_cast<unsigned>(tensorType(op.getX()).getRank() - op.getAxes().back() - 1)};
}

Access tcc::fusion::reducedAccess(RowAxes axes, ArrayRef<OpFoldResult> space) {
  Access at = identityAccess(axes.rows);
  for (unsigned dim = space.size() - axes.line; dim < space.size(); ++dim)
    at.push_back(dim);
  for (int &entry : at)
    if (getConstantIntValue(space[entry]) == 1)
      entry = kZero;
  return at;
}

/// The dims of `full` in which a kernel of points computes for each row, or for each point of it:
/// one for each dim of `own`, unit axes aside.
static std::optional<SmallVector<int>> dimsWithin(ArrayRef<OpFoldResult> own, RowAxes axes,
                                                  ArrayRef<OpFoldResult> full) {
  if (sameExtents(own, full))
    return llvm::to_vector(llvm::seq<int>(0, full.size()));
  SmallVector<int> dims(own.size(), kZero);
  unsigned next = 0;
  auto skip = [&] {
    while (next < full.size() && ((next >= axes.rows && next + axes.line < full.size()) ||
                                  getConstantIntValue(full[next]) == 1))
      ++next;
  };
  for (auto [dim, extent] : llvm::enumerate(own)) {
    if (getConstantIntValue(extent) == 1)
      continue;
    skip();
    if (next == full.size() || !sameExtents(ArrayRef(extent), full.slice(next, 1)))
      return std::nullopt;
    dims[dim] = next++;
  }
  skip();
  return next == full.size() ? std::optional(dims) : std::nullopt;
}

/// A kernel of points, or of what is made of each line of a row's results, computes those as well.
static bool joinsLines(RowAxes axes, ArrayRef<OpFoldResult> full, Access at, Cluster &g) {
  std::optional<SmallVector<int>> dims = dimsWithin(g.space, axes, full);
  if (!dims)
    return false;
  auto move = [&](Access &access) {
    for (int &entry : access)
      if (entry >= 0)
        entry = (*dims)[entry];
  };
  move(at);
  if (at != reducedAccess(axes, full))
    return false;
  for (auto &[value, access] : g.access)
    move(access);
  g.space.assign(full.begin(), full.end());
  g.rows = axes.rows;
  g.lineDims = axes.line;
  g.kind = KernelKind::Row;
  return true;
}

/// Whether a reduction in `g` is computed from `op`, which then is a pass over the rows before it.
static bool isEarlierPass(Operation *op, const Cluster &g) {
  SmallVector<Operation *> left(op->getUsers().begin(), op->getUsers().end());
  SmallPtrSet<Operation *, 16> seen;
  while (!left.empty()) {
    Operation *user = left.pop_back_val();
    bool within = g.ops.contains(user);
    if (!(within || user->hasTrait<prim::View>()) || !seen.insert(user).second)
      continue;
    if (within && user->hasTrait<prim::Reduction>())
      return true;
    left.append(user->getUsers().begin(), user->getUsers().end());
  }
  return false;
}

/// Whether the target's kernel of rows should do what is done with the result of `op` for each of
/// them too, and not rather leave it to a kernel behind it.
bool Clustering::computesForRows(prim::ReduceOp op) const {
  auto shape = tensorType(op.getX()).getShape();
  unsigned rowAxes = tensorType(op.getResult()).getRank();
  return !policy.fuse || !policy.model || ShapedType::isDynamicShape(shape) ||
         policy.model->computesForRows(op, ShapedType::getNumElements(shape.take_front(rowAxes)),
                                       ShapedType::getNumElements(shape.drop_front(rowAxes)));
}

/// Whether `op` should be a kernel of its own before `g`, which gives values of the same rows.
bool Clustering::wantsOwnPass(prim::ReduceOp op, const Cluster &g) {
  auto shape = tensorType(op.getX()).getShape();
  auto of = shape.take_front(tensorType(op.getResult()).getRank());
  bool asks = policy.fuse && policy.model && !ShapedType::isDynamicShape(of);
  if (!asks || !isEarlierPass(op, g))
    return false;
  int64_t rows = ShapedType::getNumElements(of);
  auto length = int64_t(typicalElements(shape.drop_front(of.size()), kTypicalReduction));
  if (policy.model->computesForRows(op, rows, length))
    return false;
  bool ofRows = llvm::all_of(g.outputs, [&](Value v) {
    RankedTensorType type = tensorType(v);
    return type.hasStaticShape() && type.getNumElements() <= rows;
  });
  return ofRows;
}

bool Clustering::joinsRows(prim::ReduceOp op, Cluster &g) {
  std::optional<RowAxes> axes = rowAxesOf(op);
  if (!axes || g.kind == KernelKind::Contraction || g.kind == KernelKind::Convolution)
    return false;
  unsigned rows = axes->rows;
  SmallVector<OpFoldResult> full = extentsOf(op, op.getX());
  Access at = accessIn(g, op.getResult());
  auto readOnceARow = [&] {
    return axes->line ? at == reducedAccess(*axes, full) : isPrefix(at, rows, g.space);
  };
  if (g.kind == KernelKind::Row)
    return g.rows == rows && g.lineDims == axes->line && sameExtents(g.space, full) &&
           readOnceARow() && (axes->line || !wantsOwnPass(op, g));
  for (Operation *other : g.ops)
    if (other->hasTrait<prim::Reduction>() || (axes->line && !prim::isElementwise(other)))
      return false;
  if (axes->line)
    return joinsLines(*axes, full, at, g);
  if (rows > g.space.size() || !isPrefix(at, rows, g.space))
    return false;
  // What is done at each point of few long rows is a loop behind the kernels that reduce them.
  if (sameExtents(g.space, full) && !computesForRows(op))
    return false;
  if (sameExtents(g.space, full)) {
    g.rows = rows; // the pointwise part runs over whole rows
  } else {
    // The pointwise part runs once a row, whose place is that of its point: a unit axis that is
    // moved between them would give the others' positions other strides.
    if (!sameExtents(g.space, ArrayRef(full).take_front(rows)))
      return false;
    g.rows = rows;
    g.space = full;
  }
  g.kind = KernelKind::Row;
  return true;
}

/// The reduction that `v` is computed from, point by point of its results.
static prim::ReduceOp reductionBehind(Value v, unsigned depth = 6) {
  Operation *op = v.getDefiningOp();
  if (auto reduce = dyn_cast_or_null<prim::ReduceOp>(op))
    return reduce;
  if (!op || depth == 0 || !(prim::isElementwise(op) || isa<prim::ReshapeOp>(op)))
    return {};
  for (Value operand : op->getOperands())
    if (auto reduce = reductionBehind(operand, depth - 1))
      return reduce;
  return {};
}

/// Whether `op`, read at `at`, is computed from what rows give that `g` is about, or will be: once
/// a line.
bool Clustering::isOfLines(Operation *op, const Cluster &g, ArrayRef<int> at) {
  prim::ReduceOp reduce = reductionBehind(op->getResult(0));
  std::optional<RowAxes> axes = reduce ? rowAxesOf(reduce) : std::nullopt;
  if (!axes || !axes->line || (g.kind != KernelKind::Loop && g.lineDims != axes->line))
    return false;
  if (g.kind == KernelKind::Loop &&
      !llvm::all_of(g.ops, [](Operation *other) { return prim::isElementwise(other); }))
    return false;
  if (!sameExtents(g.space, extentsOf(op, reduce.getX())))
    return false;
  Access ofResult = reducedAccess(*axes, g.space), own(at);
  llvm::erase(ofResult, kZero); // of one point
  llvm::erase(own, kZero);
  return own == ofResult;
}

/// A reduction over other axes is a loop at each of its points; what is done with the
/// result may follow in the same kernel, if it has no more points.
bool Clustering::joinsPoints(prim::ReduceOp op, Cluster &g) {
  if (reducesTrailing(op) || g.kind != KernelKind::Loop ||
      llvm::any_of(g.ops, [](Operation *o) { return o->hasTrait<prim::Reduction>(); }))
    return false;
  Access at = accessIn(g, op.getResult());
  for (auto [dim, extent] : llvm::enumerate(g.space))
    if (getConstantIntValue(extent) != 1 && llvm::count(at, static_cast<int>(dim)) != 1)
      return false;
  return !llvm::is_contained(at, kUnknown);
}
