//===- DynamicPeak.cpp - What results of dynamic shape take at most -------===//
//
// A run allocates the dynamic arenas (Places.h), whose sizes are constants times
// products of extents, and the results that have no arena: which of these live
// together is known. Which moment is their peak can depend on the dims: it is taken
// with all of them at 128. Blocks of loops and branches count nothing here.
//
//===----------------------------------------------------------------------===//
#include "DynamicPeak.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Kernel/Places.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace tcc;

namespace {

/// Bytes by the product of unknown extents that they are multiplied with.
using Sizes = std::map<std::string, double>;

struct Extent {
  std::string text; ///< "" for a constant
  double value;     ///< with the model's dims at kTypical
};
constexpr double kTypical = 128;

class PeakFinder {
public:
  explicit PeakFinder(func::FuncOp function) : block(function.getBody().front()) {
    unsigned n = 0;
    for (Operation &op : block)
      positions[&op] = n++;
  }
  Sizes run();

private:
  Extent extentOf(Value v);
  unsigned lastUse(Value v);
  void add(kernel::LaunchOp launch);
  std::string factorsOf(Value v, double &typical);

  Block &block;
  DenseMap<Operation *, unsigned> positions;
  std::map<unsigned, std::pair<Sizes, double>> live; ///< by position of a launch
  std::map<int64_t, std::string> factors;            ///< of the dynamic arenas
};

} // namespace

Extent PeakFinder::extentOf(Value v) {
  Operation *op = v.getDefiningOp();
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant)))
    return {std::to_string(constant.getSExtValue()), double(constant.getSExtValue())};
  if (auto dim = dyn_cast_or_null<prim::DimOp>(op))
    if (auto argument = dyn_cast<BlockArgument>(dim.getX()))
      if (auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
        if (auto names =
                function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "graph.dims"))
          if (auto name = dyn_cast<StringAttr>(names[dim.getAxis()]))
            return {name.getValue().str(), kTypical};
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    Extent x = extentOf(op->getOperand(0)), y = extentOf(op->getOperand(1));
    if (isa<arith::MulIOp>(op))
      return {x.text + "*" + y.text, x.value * y.value};
    bool adds = isa<arith::AddIOp>(op);
    return {"(" + x.text + (adds ? " + " : " - ") + y.text + ")",
            adds ? x.value + y.value : x.value - y.value};
  }
  return {"?", kTypical};
}

unsigned PeakFinder::lastUse(Value v) {
  unsigned last = 0;
  for (Operation *user : v.getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    last = std::max(last, positions.lookup(here));
    if (isa<prim::ReshapeOp>(user) && here == user)
      last = std::max(last, lastUse(user->getResult(0)));
  }
  return last;
}

/// The unknown extents of `v` multiplied.
std::string PeakFinder::factorsOf(Value v, double &typical) {
  OpBuilder b(v.getDefiningOp());
  SmallVector<std::string> texts;
  for (OpFoldResult d : prim::dimsOf(b, v.getLoc(), v)) {
    if (getConstantIntValue(d))
      continue;
    Extent extent = extentOf(cast<Value>(d));
    texts.push_back(extent.text);
    typical *= extent.value;
  }
  llvm::sort(texts);
  return llvm::join(texts, "*");
}

void PeakFinder::add(kernel::LaunchOp launch) {
  auto places = launch->getAttrOfType<DenseI64ArrayAttr>(kPlacesAttr);
  auto arenas = launch->getAttrOfType<DenseI64ArrayAttr>(kArenasAttr);
  for (auto [i, value] : llvm::enumerate(launch.getResults())) {
    double typical = 1;
    if (arenas && arenas[i] > 0) {
      factors.try_emplace(arenas[i], factorsOf(value, typical));
      continue;
    }
    // A result that took an input's block over is that block's last part.
    if (!places || (places[i] != kDynamicPlace && inputOfPlace(places[i]) < 0))
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    double bytes = elementBytes(type.getElementType());
    for (int64_t d : type.getShape())
      bytes *= ShapedType::isDynamic(d) ? 1 : double(d);
    std::string extents = factorsOf(value, typical);
    unsigned first = positions[launch] + (inputOfPlace(places[i]) >= 0 ? 1 : 0);
    for (auto &[at, moment] : live)
      if (at >= first && at <= std::max(first, lastUse(value))) {
        moment.first[extents] += bytes;
        moment.second += bytes * typical;
      }
  }
}

Sizes PeakFinder::run() {
  SmallVector<kernel::LaunchOp> launches = llvm::to_vector(block.getOps<kernel::LaunchOp>());
  for (kernel::LaunchOp launch : launches)
    live[positions[launch]];
  for (kernel::LaunchOp launch : launches)
    add(launch);
  const std::pair<Sizes, double> *peak = nullptr;
  for (auto &[at, moment] : live)
    if (!peak || moment.second > peak->second)
      peak = &moment;
  Sizes total = peak ? peak->first : Sizes();
  if (auto sizes =
          block.getParentOp()->getParentOfType<ModuleOp>()->getAttrOfType<DenseI64ArrayAttr>(
              kDynamicArenasAttr))
    for (auto &[arena, extents] : factors)
      total[extents] += double(sizes[arena - 1]);
  return total;
}

emit::ManifestAmount tcc::peakBytes(func::FuncOp function, uint64_t fixed) {
  Sizes sizes = PeakFinder(function).run();
  auto constant = static_cast<int64_t>(fixed + static_cast<uint64_t>(sizes[""]));
  sizes.erase("");
  if (sizes.empty())
    return constant;
  std::string text = constant ? std::to_string(constant) : "";
  for (auto &[extents, bytes] : sizes)
    text +=
        (text.empty() ? "" : " + ") + std::to_string(static_cast<int64_t>(bytes)) + "*" + extents;
  return text;
}
