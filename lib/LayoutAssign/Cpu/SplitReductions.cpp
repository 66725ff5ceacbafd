//===- SplitReductions.cpp - Long reductions into few results, in two steps ----===//
//
// A kernel's tasks are its results, or rows of them, so the sum of a whole tensor is one task. It
// becomes two reductions: of parts, which run in parallel, and of what they give.
//
// An axis is cut in two, or between two reduced axes nothing is cut at all. Partial results of sums
// of narrow floats wait in the type that sums are kept in.
//
// Reduced axes on both sides of one that stays (the channels of images) are no row and no columns:
// the last ones come first, or where they are few the others. And where results lie side by side
// but are few (the coordinates of points), several rows are columns of one, and their results are
// reduced.
//
// Where results lie side by side, a task goes down a few columns. Rows of whole pages one below the
// other fall into the same few sets of L1 and L2 and each needs an entry of the translation buffer,
// so many of them are cut into parts as well, of which a part's rows are read beside each other.
//
// Of rows of a few elements, which fill no vector, rows are lanes: the elements of a place are a
// slice, and the slices are joined.
//
// An extent without a fitting divisor is cut behind the last whole part, and its rest reduced
// apart.
//
// The place of an extremum of short lines is two reductions as well (ShortExtrema.cpp), and an open
// number of rows of a few elements is cut in a way of its own (OpenRowsOfFew.cpp).
//
// How many parts depends on the extents only, so that a model gives the same on any number of
// threads.
//
//===----------------------------------------------------------------------===//
#include "PartialResults.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Analysis/OpenExtents.h"
#include "tcc/Dialect/Cpu/ColumnBlocks.h"
#include "tcc/Dialect/Cpu/NarrowLines.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Shares.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace tcc {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

constexpr int64_t kLong = 1 << 17;    ///< elements that are worth a second kernel
constexpr int64_t kPart = 1 << 14;    ///< elements of a part
constexpr int64_t kEnough = 8;        ///< tasks that keep threads busy without parts
constexpr int64_t kTaskColumns = 256; ///< results of a task where they lie side by side
constexpr int64_t kFarBytes = 2048;   ///< from row to row, that no prefetcher takes for one stream
constexpr int64_t kDeepRows = 256; ///< rows at such a distance that leave L2 before they are used
constexpr int64_t kPartRows = 32;  ///< of them in a part
constexpr int64_t kWorthTwo = 1 << 13; ///< elements of which two quick steps beat a slow one

/// A reduction in two steps: of `shape`, which is how x is seen, the axes `first` and then
/// `second`.
struct Cut {
  SmallVector<int64_t> shape, first, second;
};

/// An axis whose extent has no fitting divisor, and where its whole parts end.
struct Rest {
  int64_t axis, end;
};

class SplitReductionsPass : public tcc::impl::SplitReductionsPassBase<SplitReductionsPass> {
public:
  void runOnOperation() override {
    prim::markShares(getOperation());
    SmallVector<prim::ArgReduceOp> places;
    getOperation().walk([&](prim::ArgReduceOp op) { places.push_back(op); });
    for (prim::ArgReduceOp op : places)
      reduceShortExtremum(op);
    SmallVector<prim::ReduceOp> reductions;
    getOperation().walk([&](prim::ReduceOp op) { reductions.push_back(op); });
    for (prim::ReduceOp op : reductions)
      split(op);
  }

private:
  void split(prim::ReduceOp op);
  void splitOff(prim::ReduceOp op, Rest rest);
};

} // namespace

bool tcc::keepsPartsExact(prim::ReduceKind kind, Value x) {
  Type e = tensorType(x).getElementType();
  bool rounds = kind == prim::ReduceKind::sum || kind == prim::ReduceKind::prod;
  return !rounds || !isa<FloatType>(e) || e.getIntOrFloatBitWidth() >= 32;
}

/// Parts that keep a walk down the columns of a reduction in the caches; 1: it stays there.
static double partsOfDeepColumns(RankedTensorType type, ArrayRef<int64_t> axes, int64_t reduced) {
  int64_t rowBytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  for (int64_t extent : type.getShape().drop_front(axes.back() + 1))
    rowBytes *= extent;
  bool deep = rowBytes >= kFarBytes && reduced >= kDeepRows;
  return deep ? std::min<double>(kMostParts, reduced / kPartRows) : 1;
}

/// The axis of which `shape` has two instead.
static std::optional<unsigned> cutAxis(ArrayRef<int64_t> whole, ArrayRef<int64_t> shape) {
  if (shape.size() != whole.size() + 1)
    return std::nullopt;
  unsigned axis = 0;
  while (axis < whole.size() && whole[axis] == shape[axis])
    ++axis;
  bool cut = axis < whole.size() && whole[axis] == shape[axis] * shape[axis + 1] &&
             whole.drop_front(axis + 1) == shape.drop_front(axis + 2);
  return cut ? std::optional(axis) : std::nullopt;
}

/// A broadcast seen as `shape`, of which an axis is two instead; null: it is not.
static Value broadcastAs(OpBuilder &b, prim::BroadcastOp op, ArrayRef<int64_t> shape) {
  auto x = tensorType(op.getX()), type = tensorType(op.getResult());
  std::optional<unsigned> cut = cutAxis(type.getShape(), shape);
  if (!cut || !x.hasStaticShape())
    return {};
  SmallVector<int64_t> own, axes;
  for (auto [extent, place] : llvm::zip(x.getShape(), op.getAxes())) {
    unsigned axis = place;
    own.push_back(axis == *cut && extent != 1 ? shape[axis] : extent);
    axes.push_back(axis + (axis > *cut ? 1 : 0));
    if (axis != *cut)
      continue;
    own.push_back(extent == 1 ? 1 : shape[axis + 1]);
    axes.push_back(axis + 1);
  }
  Location loc = op.getLoc();
  Value seen = op.getX();
  if (x.getShape() != ArrayRef(own))
    seen = prim::ReshapeOp::create(b, loc, x.clone(own), seen, ValueRange{});
  return prim::BroadcastOp::create(b, loc, type.clone(shape), seen, axes, ValueRange{});
}

/// A computed or splat `x` of other extents, computed of operands that `operandAs` gives, or null.
/// Operators on points are done on their operands, because memory costs nothing to be seen in
/// another way: what is computed would be told apart at each point. Those whose value others need
/// stay as they are, and so do long functions, computed once; but where all others come later they
/// see what is computed here, if that is all of it.
static Value computedAs(OpBuilder &b, Value x, RankedTensorType given,
                        function_ref<Value(Value)> operandAs) {
  Operation *op = x.getDefiningOp();
  auto isSame = [&](Value v) {
    auto operand = dyn_cast<RankedTensorType>(v.getType());
    return operand && operand.getShape() == tensorType(x).getShape();
  };
  bool isKept = op && op->hasTrait<prim::VeryCostly>() && !x.hasOneUse();
  bool isWhole = given.getNumElements() == tensorType(x).getNumElements();
  Operation *reduce = &*b.getInsertionPoint();
  auto comesLater = [&](Operation *user) {
    return user->getBlock() == reduce->getBlock() && !user->isBeforeInBlock(reduce);
  };
  bool moves = op && op->getNumResults() == 1 && prim::isElementwise(op) &&
               (!isKept || (isWhole && llvm::all_of(op->getUsers(), comesLater))) &&
               llvm::all_of(op->getOperands(), isSame);
  auto constant = x.getDefiningOp<prim::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getElements()) : nullptr;
  if (!moves && !splat)
    return {};
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, operandAs(operand));
  Operation *moved = b.clone(*op, operands);
  if (splat)
    cast<prim::ConstantOp>(moved).setValueAttr(splat.resizeSplat(given));
  Value result = moved->getResult(0);
  result.setType(given);
  if (isKept && moves) {
    Value whole = prim::ReshapeOp::create(b, x.getLoc(), tensorType(x), result, ValueRange{});
    x.replaceUsesWithIf(whole, [&](OpOperand &use) { return use.getOwner() != reduce; });
  }
  return result;
}

/// `x` seen as `shape`.
static Value seenAs(OpBuilder &b, Value x, ArrayRef<int64_t> shape, DenseMap<Value, Value> &seen) {
  auto type = tensorType(x);
  if (type.getShape() == shape)
    return x;
  if (Value known = seen.lookup(x))
    return known;
  Value result = computedAs(b, x, type.clone(shape),
                            [&](Value operand) { return seenAs(b, operand, shape, seen); });
  if (auto broadcast = x.getDefiningOp<prim::BroadcastOp>())
    result = broadcastAs(b, broadcast, shape);
  if (!result) {
    Value source = x;
    for (auto view = source.getDefiningOp<prim::ReshapeOp>();
         view && tensorType(view.getX()).hasStaticShape();
         view = source.getDefiningOp<prim::ReshapeOp>())
      source = view.getX();
    result = prim::ReshapeOp::create(b, x.getLoc(), type.clone(shape), source, ValueRange{});
  }
  return seen[x] = result;
}

/// `x` from `start` on along `axis`, `size` long.
static Value cutAlong(OpBuilder &b, Value x, int64_t axis, int64_t start, int64_t size,
                      DenseMap<Value, Value> &seen) {
  if (Value known = seen.lookup(x))
    return known;
  auto type = tensorType(x);
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = size;
  RankedTensorType given = type.clone(shape);
  auto broadcast = x.getDefiningOp<prim::BroadcastOp>();
  Value result = computedAs(
      b, x, given, [&](Value operand) { return cutAlong(b, operand, axis, start, size, seen); });
  if (!result && broadcast && tensorType(broadcast.getX()).hasStaticShape()) {
    Value source = broadcast.getX();
    DenseMap<Value, Value> seenThere; // along another axis
    for (auto [own, place] : llvm::enumerate(broadcast.getAxes()))
      if (place == axis && tensorType(source).getDimSize(own) != 1)
        source = cutAlong(b, source, own, start, size, seenThere);
    result =
        prim::BroadcastOp::create(b, x.getLoc(), given, source, broadcast.getAxes(), ValueRange{});
  } else if (!result) {
    SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
    starts[axis] = start;
    result =
        prim::SliceOp::create(b, x.getLoc(), given, x, ValueRange{}, ValueRange{}, starts, steps);
  }
  return seen[x] = result;
}

Value tcc::joinedResults(OpBuilder &b, Location loc, prim::ReduceKind kind, Value l, Value r) {
  switch (kind) {
  case prim::ReduceKind::sum:
  case prim::ReduceKind::any: // of truth values, which add up by or
    return prim::AddOp::create(b, loc, l.getType(), l, r);
  case prim::ReduceKind::prod:
  case prim::ReduceKind::all: // which multiply by and
    return prim::MulOp::create(b, loc, l.getType(), l, r);
  case prim::ReduceKind::max:
    return prim::MaximumOp::create(b, loc, l.getType(), l, r);
  case prim::ReduceKind::min:
    return prim::MinimumOp::create(b, loc, l.getType(), l, r);
  }
  llvm_unreachable("a kind of reduction");
}

/// Reduces rows of a few elements by joining those of each place; false: there are no such rows.
static bool joinFew(prim::ReduceOp op) {
  constexpr int64_t kFew = 4; // elements from one lane to the next that are not gathered
  constexpr int64_t kFewest = 1 << 8;
  auto type = tensorType(op.getX()), given = tensorType(op.getResult());
  int64_t axis = type.getRank() - 1;
  bool open = !given.hasStaticShape();
  if (op.getAxes() != ArrayRef(axis) || type.getDimSize(axis) < 2 || type.getDimSize(axis) > kFew ||
      (!open && given.getNumElements() < kFewest) || !keepsPartsExact(op.getKind(), op.getX()))
    return false;
  OpBuilder b(op);
  Location loc = op.getLoc();
  SmallVector<Value> sizes = openExtents(b, op.getX());
  SmallVector<int64_t> shape(type.getShape()), steps(shape.size(), 1);
  shape[axis] = 1;
  Value all;
  for (int64_t place = 0; place < type.getDimSize(axis); ++place) {
    DenseMap<Value, Value> seen;
    SmallVector<int64_t> starts(shape.size(), 0);
    starts[axis] = place;
    Value x = op.getX(); // of what others read as well a slice, lest it be computed twice
    x = x.hasOneUse() && !open ? cutAlong(b, x, axis, place, 1, seen)
                               : Value(prim::SliceOp::create(b, loc, type.clone(shape), x,
                                                             ValueRange{}, sizes, starts, steps));
    all = all ? joinedResults(b, loc, op.getKind(), all, x) : x;
  }
  op.replaceAllUsesWith(prim::ReshapeOp::create(b, loc, given, all, sizes).getResult());
  op.erase();
  return true;
}

/// `axis` cut into `parts`; 1: what comes after it is reduced first, all of it as well.
static Cut cutInto(prim::ReduceOp op, int64_t axis, int64_t parts) {
  Cut cut{SmallVector<int64_t>(tensorType(op.getX()).getShape()), {}, {}};
  bool whole = parts == 1, all = parts == cut.shape[axis];
  int64_t shift = 0;
  // What is left of the cut axis lies behind its parts.
  if (!whole && !all) {
    cut.shape[axis] /= parts;
    cut.shape.insert(cut.shape.begin() + axis, parts);
    shift = 1;
  }
  for (int64_t reduced : op.getAxes()) {
    if (reduced < axis || (reduced == axis && !whole))
      cut.second.push_back(reduced);
    if (reduced > axis || (reduced == axis && !all))
      cut.first.push_back(reduced + shift);
  }
  return cut;
}

/// Axes on both sides of one that stays; some of their extents may be open.
static Cut cutBetween(prim::ReduceOp op) {
  constexpr int64_t kFew = 16;
  Cut cut{SmallVector<int64_t>(tensorType(op.getX()).getShape()), {}, {}};
  int64_t run = cut.shape.size(), points = 1;
  for (int64_t axis : llvm::reverse(op.getAxes()))
    if (axis == run - 1) {
      --run;
      points *= ShapedType::isDynamic(cut.shape[run]) ? kTypicalExtent : cut.shape[run];
    }
  for (int64_t axis : op.getAxes())
    ((axis >= run) == (points >= kFew) ? cut.first : cut.second).push_back(axis);
  return cut;
}

/// Several rows side by side, where results are but a few; the last reduced axis gives them. A long
/// one has a rest where no number of rows that divides it fills vectors.
static std::optional<Cut> cutNarrow(prim::ReduceOp op, std::optional<Rest> &rest) {
  constexpr int64_t kNarrow = 32, kFewestTurns = 4;
  Cut cut{SmallVector<int64_t>(tensorType(op.getX()).getShape()), {}, {}};
  int64_t axis = op.getAxes().back(), results = 1, best = 0;
  for (int64_t extent : ArrayRef(cut.shape).drop_front(axis + 1))
    results *= extent;
  double nearest = 2; // times as many or as few
  for (int64_t rows = 2;
       results < kNarrow && rows * kFewestTurns <= cut.shape[axis] && rows <= 2 * kSideBySide;
       ++rows) {
    double far = std::abs(std::log2(double(rows * results) / kSideBySide));
    far += rows * results % kVectorLanes != 0; // what is left of a vector costs as much as one
    if (cut.shape[axis] % rows == 0 && far < nearest) {
      nearest = far;
      best = rows;
    }
  }
  if (!best)
    return std::nullopt;
  int64_t elements = tensorType(op.getX()).getNumElements(), extent = cut.shape[axis];
  int64_t end = best * results % kVectorLanes == 0 || elements < kLong
                    ? 0
                    : endOfParts(extent, results, std::min(kMostParts, elements / kPart));
  if (end > 0 && end < extent) {
    rest = Rest{axis, end};
    return std::nullopt;
  }
  cut.shape[axis] /= best;
  cut.shape.insert(cut.shape.begin() + axis + 1, best);
  cut.first.assign(op.getAxes());
  cut.second.push_back(axis + 1);
  return cut;
}

/// Extents that only a run knows: the rows up to the last open one are parts.
static std::optional<Cut> cutOpen(prim::ReduceOp op) {
  constexpr int64_t kShort = 64;
  ArrayRef<int64_t> shape = tensorType(op.getX()).getShape(), axes = op.getAxes();
  int64_t kept = axes.front(), inner = 1;
  bool trailing = kept == static_cast<int64_t>(shape.size() - axes.size());
  auto open = [&](int64_t axis) { return ShapedType::isDynamic(shape[axis]); };
  if (!trailing && axes.size() > 1 && axes.back() + 1 == static_cast<int64_t>(shape.size()))
    return cutBetween(op);
  if (!trailing || axes.size() < 2 || ShapedType::isDynamicShape(shape.take_front(kept)) ||
      ShapedType::getNumElements(shape.take_front(kept)) >= kEnough || llvm::none_of(axes, open))
    return std::nullopt;
  Cut cut{SmallVector<int64_t>(shape), {}, {}};
  size_t rows = axes.size() - 1;
  while (rows > 1 && !open(axes[rows - 1]) && !open(axes[rows]))
    --rows;
  for (int64_t axis : axes.drop_front(rows))
    inner = open(axis) ? kShort : inner * shape[axis];
  if (inner < kShort)
    return std::nullopt;
  cut.second.assign(axes.begin(), axes.begin() + rows);
  cut.first.assign(axes.begin() + rows, axes.end());
  return cut;
}

static std::optional<Cut> cutOf(prim::ReduceOp op, std::optional<Rest> &rest) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  if (op.getAxes().empty())
    return std::nullopt;
  if (!type.hasStaticShape())
    return cutOpen(op);
  ArrayRef<int64_t> shape = type.getShape(), axes = op.getAxes();
  int64_t reduced = 1, kept = type.getNumElements(), rank = type.getRank();
  for (int64_t axis : axes)
    reduced *= shape[axis];
  if (kept < kWorthTwo || reduced == 0)
    return std::nullopt;
  kept /= reduced;
  bool trailing = axes.front() == rank - static_cast<int64_t>(axes.size());
  if (!trailing && axes.back() == rank - 1)
    return cutBetween(op);
  if (narrowLinesOf(op) || rereadsColumns(op))
    return std::nullopt; // a row kernel does them
  if (auto cut = trailing ? std::nullopt : cutNarrow(op, rest); cut || rest)
    return cut;
  if (type.getNumElements() < kLong)
    return std::nullopt;
  int64_t tasks = trailing ? kept : llvm::divideCeil(kept, kTaskColumns);
  double wanted = 1;
  if (tasks < kEnough)
    wanted = std::min<double>(kMostParts, type.getNumElements() / kPart) / tasks;
  if (!trailing)
    wanted = std::max(wanted, partsOfDeepColumns(type, axes, reduced));
  if (wanted < 2)
    return std::nullopt;
  // Of a run of trailing axes those before the one that is cut are parts as they are.
  std::optional<Cut> best;
  double nearest = 4;
  int64_t before = 1;
  for (int64_t axis : axes) {
    int64_t parts = nearestDivisor(shape[axis], wanted / before);
    double ratio = before * parts / wanted, factor = std::max(ratio, 1 / ratio);
    if (before * parts > 1 && factor < nearest) {
      nearest = factor;
      best = cutInto(op, axis, parts);
    }
    if (!trailing || before > kMostParts)
      break;
    before *= shape[axis];
  }
  // A long function that is needed again is computed with all that needs it, if that is a row.
  Operation *made = op.getX().getDefiningOp();
  bool isKept = trailing && made && made->hasTrait<prim::VeryCostly>() && !op.getX().hasOneUse();
  int64_t parts = std::llround(wanted), outer = axes.front();
  if (!best && !isKept && parts <= shape[outer]) {
    int64_t end = trailing ? 0 : endOfParts(shape[outer], kept, parts);
    rest = Rest{outer, end ? end : shape[outer] / parts * parts};
  }
  return best;
}

/// The whole parts apart from the rest, which no kernel of parts has.
void SplitReductionsPass::splitOff(prim::ReduceOp op, Rest rest) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = tensorType(op.getX()), given = tensorType(op.getResult());
  bool widens = !keepsPartsExact(op.getKind(), op.getX());
  RankedTensorType kept = widens ? given.clone(b.getF32Type()) : given;
  auto reduced = [&](int64_t start, int64_t end) {
    DenseMap<Value, Value> seen;
    Value x = cutAlong(b, op.getX(), rest.axis, start, end - start, seen);
    if (widens)
      x = prim::CastOp::create(b, loc, tensorType(x).clone(b.getF32Type()), x);
    return prim::ReduceOp::create(b, loc, kept, op.getKind(), x, op.getAxes());
  };
  prim::ReduceOp whole = reduced(0, rest.end);
  Value result =
      joinedResults(b, loc, op.getKind(), whole, reduced(rest.end, type.getDimSize(rest.axis)));
  if (widens)
    result = prim::CastOp::create(b, loc, given, result);
  op.replaceAllUsesWith(result);
  op.erase();
  split(whole);
}

void SplitReductionsPass::split(prim::ReduceOp op) {
  if (joinFew(op) || splitOpenRowsOfFew(op))
    return;
  std::optional<Rest> rest;
  std::optional<Cut> cut = cutOf(op, rest);
  if (rest)
    return splitOff(op, *rest);
  if (!cut || cut->first.empty() || cut->second.empty())
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = tensorType(op.getX()), given = tensorType(op.getResult());
  bool widens = !keepsPartsExact(op.getKind(), op.getX());
  Type element = widens ? b.getF32Type() : type.getElementType();
  DenseMap<Value, Value> seen;
  Value x = seenAs(b, op.getX(), cut->shape, seen);
  if (widens)
    x = prim::CastOp::create(b, loc, type.clone(cut->shape, element), x);
  SmallVector<int64_t> parts, position(cut->shape.size()), second;
  for (auto [axis, extent] : llvm::enumerate(cut->shape))
    if (!llvm::is_contained(cut->first, static_cast<int64_t>(axis))) {
      position[axis] = parts.size();
      parts.push_back(extent);
    }
  for (int64_t axis : cut->second)
    second.push_back(position[axis]);
  auto partial =
      prim::ReduceOp::create(b, loc, type.clone(parts, element), op.getKind(), x, cut->first);
  Value result =
      prim::ReduceOp::create(b, loc, given.clone(element), op.getKind(), partial, second);
  Value stored = result;
  if (widens)
    stored = prim::CastOp::create(b, loc, given, stored);
  op.replaceAllUsesWith(stored);
  op.erase();
  split(partial);
}

std::unique_ptr<Pass> tcc::createSplitReductionsPass() {
  return std::make_unique<SplitReductionsPass>();
}
