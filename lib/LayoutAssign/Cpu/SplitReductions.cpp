//===- SplitReductions.cpp - Long reductions into few results, in two steps ----===//
//
// A kernel's tasks are its results, or rows of them, so the sum of a whole tensor is one task. It
// becomes two reductions: of parts, which run in parallel, and of what they give.
//
// An axis is cut in two, or between two reduced axes nothing is cut at all. Partial results would
// be rounded to a type narrower than the one that sums are kept in; such sums stay.
//
// Where results lie side by side, a task goes down a few columns. Rows of whole pages one below the
// other fall into the same few sets of L1 and L2 and each needs an entry of the translation buffer,
// so many of them are cut into parts as well, of which a part's rows are read beside each other.
//
// How many parts depends on the extents only, so that a model gives the same on any number of
// threads.
//
//===----------------------------------------------------------------------===//
#include "PartialResults.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
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
constexpr int64_t kMostParts = 256;   ///< of which the second kernel makes the result
constexpr int64_t kEnough = 16;       ///< tasks that keep threads busy without parts
constexpr int64_t kTaskColumns = 256; ///< results of a task where they lie side by side
constexpr int64_t kFarBytes = 2048;   ///< from row to row, that no prefetcher takes for one stream
constexpr int64_t kDeepRows = 256; ///< rows at such a distance that leave L2 before they are used
constexpr int64_t kPartRows = 32;  ///< of them in a part

/// Where a reduction is cut: `axis` into `parts` by what remains of it.
struct Cut {
  unsigned axis;
  int64_t parts;
};

class SplitReductionsPass : public tcc::impl::SplitReductionsPassBase<SplitReductionsPass> {
public:
  void runOnOperation() override {
    SmallVector<prim::ReduceOp> reductions;
    getOperation().walk([&](prim::ReduceOp op) { reductions.push_back(op); });
    for (prim::ReduceOp op : reductions)
      split(op);
  }

private:
  void split(prim::ReduceOp op);
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

/// The divisor of `extent` that is nearest to `wanted` by factor; all of it if it comes near.
static int64_t nearestDivisor(int64_t extent, double wanted) {
  if (extent <= 2 * wanted && wanted <= 2 * extent)
    return extent;
  int64_t best = 1;
  auto distance = [&](int64_t d) { return std::abs(std::log(d / wanted)); };
  for (int64_t d = 1; d <= std::min(extent, kMostParts); ++d)
    if (extent % d == 0 && distance(d) < distance(best))
      best = d;
  return best;
}

static std::optional<Cut> cutOf(prim::ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  if (!type.hasStaticShape() || !keepsPartsExact(op.getKind(), op.getX()))
    return std::nullopt;
  ArrayRef<int64_t> shape = type.getShape(), axes = op.getAxes();
  int64_t reduced = 1, kept = type.getNumElements();
  for (int64_t axis : axes)
    reduced *= shape[axis];
  if (kept < kLong || reduced == 0)
    return std::nullopt;
  kept /= reduced;
  bool trailing = axes.front() == type.getRank() - static_cast<int64_t>(axes.size());
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
      best = Cut{static_cast<unsigned>(axis), parts};
    }
    if (!trailing || before > kMostParts)
      break;
    before *= shape[axis];
  }
  return best;
}

void SplitReductionsPass::split(prim::ReduceOp op) {
  std::optional<Cut> cut = cutOf(op);
  if (!cut)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getX().getType());
  SmallVector<int64_t> shape(type.getShape()), first, second;
  // What is left of the cut axis lies behind its parts.
  bool whole = cut->parts == 1, all = cut->parts == shape[cut->axis];
  Value x = op.getX();
  unsigned shift = 0;
  if (!whole && !all) {
    shape[cut->axis] /= cut->parts;
    shape.insert(shape.begin() + cut->axis, cut->parts);
    x = prim::ReshapeOp::create(b, loc, type.clone(shape), x, ValueRange{});
    shift = 1;
  }
  SmallVector<int64_t> kept;
  for (int64_t axis : op.getAxes()) {
    bool isBefore = axis < cut->axis;
    if (axis == cut->axis && !whole)
      kept.push_back(axis);
    if (isBefore)
      kept.push_back(axis);
    else if (axis > cut->axis || !all)
      first.push_back(axis + shift);
  }
  SmallVector<int64_t> parts;
  SmallVector<int64_t> position(shape.size(), -1);
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(first, static_cast<int64_t>(axis))) {
      position[axis] = parts.size();
      parts.push_back(extent);
    }
  for (int64_t axis : kept)
    second.push_back(position[axis]);
  if (first.empty() || second.empty())
    return;
  Value partial = prim::ReduceOp::create(b, loc, type.clone(parts), op.getKind(), x, first);
  Value result = prim::ReduceOp::create(b, loc, op.getType(), op.getKind(), partial, second);
  op.replaceAllUsesWith(result);
  op.erase();
}

std::unique_ptr<Pass> tcc::createSplitReductionsPass() {
  return std::make_unique<SplitReductionsPass>();
}
