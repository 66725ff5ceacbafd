//===- SharedPoints.cpp - What neighbouring points have in common ---------===//
//
// Where an image is sampled is the same for all its channels, and which pixels a resize weighs for
// all images. A thread that has the points of several channels computes that once: of what its
// points are computed from, what does not depend on an axis is shared along it.
//
// Each value of the kernel is followed to what it is read from, with the axes of the result that
// each of its indices depends on, and those that it depends on itself.
//
//===----------------------------------------------------------------------===//
#include "SharedPoints.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

using Axes = uint64_t; ///< of the result, a bit each
using At = SmallVector<Axes>;

class PointCosts {
public:
  /// What `v` depends on at indices that depend on `at`; null where it is not known.
  std::optional<Axes> visit(Value v, const At &at);
  /// What is computed for each point, and what is the same along an axis.
  std::pair<unsigned, unsigned> along(unsigned axis) const;

private:
  std::optional<Axes> compute(Value v, const At &at);
  std::optional<Axes> ofAll(Operation *op, const At &at);
  Axes add(Axes axes, unsigned cost) {
    costs.push_back({axes, cost});
    return axes;
  }

  static constexpr unsigned kMost = 512; ///< values that are followed
  std::map<std::pair<void *, std::vector<Axes>>, Axes> known;
  SmallVector<std::pair<Axes, unsigned>> costs;
};

} // namespace

static Axes together(ArrayRef<Axes> at) {
  Axes all = 0;
  for (Axes axes : at)
    all |= axes;
  return all;
}

/// Indices of x where those of `to` are of its reshape: groups of axes of as many elements.
static At beforeReshape(ArrayRef<int64_t> to, ArrayRef<int64_t> from, const At &at) {
  At result(from.size(), 0);
  size_t i = 0, k = 0;
  while (k < from.size() || i < to.size()) {
    size_t first = k;
    Axes group = 0;
    int64_t have = 1, want = 1;
    do {
      if (i < to.size() && (have <= want || k == from.size())) {
        group |= to[i] == 1 ? 0 : at[i];
        have *= to[i++];
      } else if (k < from.size()) {
        want *= from[k++];
      }
    } while (have != want);
    for (; first < k; ++first)
      result[first] = from[first] == 1 ? 0 : group;
  }
  return result;
}

std::optional<Axes> PointCosts::ofAll(Operation *op, const At &at) {
  Axes all = 0;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    std::optional<Axes> axes = visit(operand, at);
    if (!axes)
      return std::nullopt;
    all |= *axes;
  }
  return all;
}

std::optional<Axes> PointCosts::visit(Value v, const At &at) {
  std::pair<void *, std::vector<Axes>> key{v.getAsOpaquePointer(), {at.begin(), at.end()}};
  if (auto it = known.find(key); it != known.end())
    return it->second;
  if (known.size() == kMost)
    return std::nullopt;
  std::optional<Axes> axes = compute(v, at);
  if (axes)
    known[key] = *axes;
  return axes;
}

std::optional<Axes> PointCosts::compute(Value v, const At &at) {
  constexpr unsigned kLoad = 2, kGather = 2, kFunction = 10, kCostly = 4;
  Operation *op = v.getDefiningOp();
  if (!op)
    return add(together(at), kLoad);
  if (prim::isElementwise(op)) {
    std::optional<Axes> all = ofAll(op, at);
    unsigned cost = op->hasTrait<prim::VeryCostly>() ? kFunction
                    : op->hasTrait<prim::Costly>()   ? kCostly
                                                     : 1;
    return all ? std::optional(add(*all, cost)) : std::nullopt;
  }
  auto shapeOf = [](Value tensor) { return tensorType(tensor).getShape(); };
  using Result = std::optional<Axes>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](prim::ConstantOp) { return Axes(0); })
      .Case([&](prim::IotaOp o) { return at[o.getAxis()]; })
      .Case([&](prim::BroadcastOp o) {
        At before;
        for (auto [i, axis] : llvm::enumerate(o.getAxes()))
          before.push_back(shapeOf(o.getX())[i] == 1 ? 0 : at[axis]);
        return visit(o.getX(), before);
      })
      .Case([&](prim::TransposeOp o) {
        At before(at.size());
        for (auto [i, axis] : llvm::enumerate(o.getPermutation()))
          before[axis] = at[i];
        return visit(o.getX(), before);
      })
      .Case([&](prim::ReshapeOp o) {
        return visit(o.getX(), beforeReshape(shapeOf(o.getResult()), shapeOf(o.getX()), at));
      })
      .Case([&](prim::SliceOp o) { return visit(o.getX(), at); })
      .Case([&](prim::ReverseOp o) { return visit(o.getX(), at); })
      .Case([&](prim::PadOp o) -> Result {
        std::optional<Axes> inner = visit(o.getX(), at);
        return inner ? Result(add(*inner | together(at), kGather)) : Result();
      })
      .Case([&](prim::TakeOp o) -> Result {
        int64_t axis = o.getAxis(), rank = tensorType(o.getIndices()).getRank();
        std::optional<Axes> index = visit(o.getIndices(), At(ArrayRef(at).slice(axis, rank)));
        if (!index)
          return Result();
        At before(at.begin(), at.begin() + axis);
        before.push_back(*index);
        before.append(at.begin() + axis + rank, at.end());
        add(*index, kGather);
        return visit(o.getX(), before);
      })
      .Case([&](prim::TakeAlongOp o) -> Result {
        std::optional<Axes> index = visit(o.getIndices(), at);
        if (!index)
          return Result();
        At before(at);
        before[o.getAxis()] = *index;
        add(*index, kGather);
        return visit(o.getX(), before);
      })
      .Default([](Operation *) { return Result(); });
}

std::pair<unsigned, unsigned> PointCosts::along(unsigned axis) const {
  unsigned all = 0, shared = 0;
  for (auto [axes, cost] : costs) {
    all += cost;
    shared += axes >> axis & 1 ? 0 : cost;
  }
  return {all, shared};
}

std::optional<device::SharedPoints> device::sharedPoints(kernel::LaunchOp launch, int64_t most) {
  constexpr unsigned kLeastShared = 12; // operators of a point
  constexpr double kLeastGain = 1.3;
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  int64_t rank = space.getRank();
  if (!space.hasStaticShape() || rank < 2 || rank > 64)
    return std::nullopt;
  PointCosts costs;
  At at;
  for (int64_t i = 0; i < rank; ++i)
    at.push_back(space.getDimSize(i) == 1 ? 0 : Axes(1) << i);
  for (Value yielded : launch.getBody().front().getTerminator()->getOperands())
    if (cast<RankedTensorType>(yielded.getType()).getShape() != space.getShape() ||
        !costs.visit(yielded, at))
      return std::nullopt;
  std::optional<SharedPoints> best;
  double gain = kLeastGain;
  for (int64_t axis = rank - 2; axis >= 0; --axis) {
    auto [all, shared] = costs.along(unsigned(axis));
    for (unsigned points : {2, 3, 4}) {
      if (shared < kLeastShared || points > most || space.getDimSize(axis) % points != 0)
        continue;
      double with = double(all) / (double(shared) / points + double(all - shared));
      if (with <= gain)
        continue;
      gain = with;
      best = SharedPoints{unsigned(rank - 1 - axis), points};
    }
  }
  return best;
}
