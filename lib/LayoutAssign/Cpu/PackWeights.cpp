//===- PackWeights.cpp - Weights in the order that a CPU's kernels read ---===//
//
// The constant weights of a contraction go to the table as panels (Dialect/Cpu/WeightPanels.h),
// which are made when they are written out: emit packs them straight into the artefact. The
// contraction stays what it is; how its weights lie is the encoding of their type. Runs after
// channels-last and constant folding, so that the weights are entries of the table.
//
//   %w = prim.weight "w" : tensor<768x768xf32>
//   %y = prim.dot %x, %w batch [] x [] contract [1] x [0]
// becomes
//   %p = prim.weight "w.panels" : tensor<768x768xf32, #cpu.panels<k = [0], columns = 1, width =
//   32>> %y = prim.dot %x, %p batch [] x [] contract [1] x [0]
//
// The weights of 3x3 convolutions that are sooner done in tiles (Dialect/Cpu/Winograd.h) are
// transformed on the way.
//
// Filters of a convolution that come at run time are put in panels by the run, which is a
// transpose: panels of them are whole, and none are transformed.
//
//   %0 = prim.reshape %w : [filters / width, width, channels, taps]
//   %1 = prim.transpose %0 [0, 3, 2, 1]
//   %2 = prim.reshape %1 : tensor<..., #cpu.panels<...>>, as they lie
//
// The target's model says which order should be the fastest. Others that kernels can read come
// after it, for a tuning record or a tuner to choose: panels of other widths, tiles or none.
//
//===----------------------------------------------------------------------===//
#include "../ZeroPadding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include "tcc/Dialect/Prim/PresentTaps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Support/WeightTable.h"

namespace tcc {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// The orders in which the weights of a contraction may lie, best first.
struct Orders {
  SmallVector<prim::StorageLayout> layouts;
  DotSteps steps = {}; ///< of all that are panels
};

class PackWeights {
public:
  PackWeights(WeightTable &weights, const CpuTarget &cpu, const LayoutChooser &chooser)
      : weights(weights), cpu(cpu), chooser(chooser) {}
  /// Fails where the chooser does.
  LogicalResult pack(prim::DotOp op) { return pack(op, op.getRhsMutable(), ordersOf(op)); }
  LogicalResult pack(prim::ConvOp op) {
    op = fillVectors(op);
    return pack(op, op.getWMutable(), ordersOf(op));
  }

private:
  /// None where the weights stay as they are.
  Orders ordersOf(prim::DotOp op) const;
  Orders ordersOf(prim::ConvOp op) const;
  LogicalResult pack(Operation *op, OpOperand &weight, const Orders &orders);
  /// Whether the filters lie in panels once they are packed, now or by a run.
  bool takesPanels(prim::ConvOp op) const;
  /// `op` with as many filters as fill vectors, where the filters come at run time; those that it
  /// did not have are zeros.
  prim::ConvOp fillVectors(prim::ConvOp op) const;
  /// The weight that `v` is, if it has not been packed.
  const Weight *weightOf(Value v) const;
  /// Whether the bytes of `weight` may be multiplied in steps that saturate.
  bool fits(Value weight, cpu::PanelsAttr panels, DotSteps steps) const;
  /// What puts `weight` in that order.
  WeightMaker maker(Value weight, cpu::PanelsAttr panels, DotSteps steps) const;
  WeightMaker maker(Value weight, cpu::WinogradAttr tiles) const;
  /// `weight` under another name and encoding: a new one, which `maker` makes, if there is none.
  Value packed(Value weight, prim::StorageLayout layout, StringRef suffix, WeightMaker maker);

  WeightTable &weights;
  const CpuTarget &cpu;
  const LayoutChooser &chooser;
  /// One packing for equal requests.
  std::map<std::pair<std::string, const void *>, std::string> packedNames;
};

} // namespace

const Weight *PackWeights::weightOf(Value v) const {
  auto op = v.getDefiningOp<prim::WeightOp>();
  const Weight *weight = op && !prim::layoutOf(v) ? weights.lookup(op.getName()) : nullptr;
  return weight && bitWidth(weight->dtype) >= 8 ? weight : nullptr;
}

/// Whether a run brings `v`, in an order of axes that is known.
static bool comesAtRunTime(Value v) {
  RankedTensorType type = tensorType(v);
  return !v.getDefiningOp<prim::WeightOp>() && type.hasStaticShape() && !prim::layoutOf(v) &&
         isa<FloatType>(type.getElementType());
}

/// `filters` in whole panels for `op`, which a run moves there.
static Value turned(Operation *op, Value filters, cpu::PanelsAttr panels) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  RankedTensorType type = tensorType(filters);
  int64_t width = panels.getWidth();
  SmallVector<int64_t> cut{type.getDimSize(0) / width, width}, order{0}, lie{cut[0]};
  llvm::append_range(cut, type.getShape().drop_front());
  for (int64_t axis : panels.getK()) // behind the cut
    order.push_back(axis + 1);
  order.push_back(1);
  for (int64_t axis : ArrayRef(order).drop_front())
    lie.push_back(cut[axis]);
  auto shaped = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, type.getElementType());
  };
  Value v = prim::ReshapeOp::create(b, loc, shaped(cut), filters, ValueRange());
  v = prim::TransposeOp::create(b, loc, shaped(lie), v, order);
  return prim::ReshapeOp::create(b, loc, type.cloneWithEncoding(panels), v, ValueRange());
}

WeightMaker PackWeights::maker(Value weight, cpu::PanelsAttr panels, DotSteps steps) const {
  const Weight &source = *weightOf(weight);
  PanelPacking packing = cpu::packingOf(panels, tensorType(weight).getShape());
  packing.shape.steps = steps;
  unsigned bytes = bitWidth(source.dtype) / 8;
  uint64_t row = packing.shape.width * steps.size * bytes;
  uint64_t grain = steps.size > 1 ? row * packing.shape.panelRows() : row;
  return {grain, [source, row, bytes, packing](uint64_t begin, uint64_t end, char *to) {
            packPanelRows(source.bytes.data(), bytes, packing, begin / row, end / row, to);
          }};
}

bool PackWeights::fits(Value weight, cpu::PanelsAttr panels, DotSteps steps) const {
  const Weight &source = *weightOf(weight);
  PanelPacking packing = cpu::packingOf(panels, tensorType(weight).getShape());
  packing.shape.steps = steps;
  return !source.maker && fitsSaturatingSteps(source.bytes.data(), packing);
}

WeightMaker PackWeights::maker(Value weight, cpu::WinogradAttr tiles) const {
  const Weight &source = *weightOf(weight);
  int64_t filters = tensorType(weight).getDimSize(0);
  PanelShape shape = cpu::panelsOf(tiles, tensorType(weight).getShape());
  uint64_t panel = shape.elements() / shape.groups * sizeof(float);
  return {panel, [source, filters, shape, panel](uint64_t begin, uint64_t end, char *to) {
            packWinograd(reinterpret_cast<const float *>(source.bytes.data()), filters, shape,
                         begin / panel, end / panel, reinterpret_cast<float *>(to));
          }};
}

Value PackWeights::packed(Value weight, prim::StorageLayout layout, StringRef suffix,
                          WeightMaker maker) {
  auto op = weight.getDefiningOp<prim::WeightOp>();
  RankedTensorType type = tensorType(weight).cloneWithEncoding(layout);
  std::string &entry = packedNames[{op.getName().str(), type.getAsOpaquePointer()}];
  if (entry.empty()) {
    Weight later{weightOf(weight)->dtype, {}, {}, nullptr, nullptr, weightOf(weight)->role};
    later.shape.assign(layout.getStorageShape(type.getShape()));
    later.maker = std::make_shared<WeightMaker>(std::move(maker));
    entry = weights.add((op.getName() + suffix).str(), std::move(later));
  }
  OpBuilder b(op);
  return prim::WeightOp::create(b, op.getLoc(), type, b.getStringAttr(entry));
}

LogicalResult PackWeights::pack(Operation *op, OpOperand &weight, const Orders &orders) {
  if (orders.layouts.empty())
    return success();
  prim::StorageLayout chosen =
      chooser ? chooser(op, orders.layouts) : prim::StorageLayout(orders.layouts.front());
  if (!chosen)
    return failure();
  Value plain = weight.get();
  if (comesAtRunTime(plain))
    weight.assign(turned(op, plain, cast<cpu::PanelsAttr>(chosen)));
  else if (auto panels = dyn_cast<cpu::PanelsAttr>(chosen))
    weight.assign(packed(plain, panels, ".panels", maker(plain, panels, orders.steps)));
  else
    weight.assign(packed(plain, chosen, ".tiles", maker(plain, cast<cpu::WinogradAttr>(chosen))));
  return success();
}

/// Element types that the product template sums in `result`.
static bool packable(Type x, Type w, Type result) {
  auto plain = [](Type t) {
    auto i = dyn_cast<IntegerType>(t);
    return t.isF16() || t.isBF16() || t.isF32() || t.isF64() || (i && i.getWidth() >= 8);
  };
  bool isFloat = isa<FloatType>(result);
  return plain(x) && plain(w) && plain(result) && isa<FloatType>(x) == isFloat &&
         (isa<FloatType>(w) == isFloat || w.isInteger(8));
}

static unsigned accumulatorBits(Type result) {
  return isa<FloatType>(result) ? std::max(32u, result.getIntOrFloatBitWidth())
                                : result.getIntOrFloatBitWidth();
}

/// Whether x and w are 8-bit integers that are summed in 32 bits.
static bool areBytes(Type x, Type w, Type result) {
  return x.isInteger(8) && w.isInteger(8) && result.isInteger(32);
}

/// Whether x and w are bf16 that are summed in f32.
static bool areBfloats(Type x, Type w, Type result) {
  return x.isBF16() && w.isBF16() && isa<FloatType>(result) && accumulatorBits(result) == 32;
}

/// How rows of x are multiplied with columns of w.
static DotSteps stepsOf(const CpuTarget &cpu, Type x, Type w, Type result) {
  if (areBfloats(x, w, result))
    return bfloatSteps(cpu);
  return areBytes(x, w, result) ? byteSteps(cpu, x.isUnsignedInteger(), w.isUnsignedInteger())
                                : DotSteps();
}

static void preferRoomForPairs(const CpuTarget &cpu, DotSteps steps,
                               SmallVectorImpl<int64_t> &widths) {
  std::optional<int64_t> width = roomForPairs(cpu, steps, -1);
  if (auto *found = width ? llvm::find(widths, *width) : widths.end(); found != widths.end())
    std::rotate(widths.begin(), found, found + 1);
}

Orders PackWeights::ordersOf(prim::DotOp op) const {
  auto lt = tensorType(op.getLhs()), rt = tensorType(op.getRhs());
  bool plain = weightOf(op.getRhs()) && rt.getRank() == 2 && op.getLhsBatch().empty() &&
               op.getRhsContract().size() == 1 && op.getLhsContract()[0] == lt.getRank() - 1;
  Type result = tensorType(op.getResult()).getElementType();
  if (!plain || !packable(lt.getElementType(), rt.getElementType(), result))
    return {};
  int64_t kAxis = op.getRhsContract()[0], nAxis = 1 - kAxis;
  int64_t n = rt.getDimSize(nAxis);
  if (n == 0 || rt.getDimSize(kAxis) == 0)
    return {};
  Orders orders;
  if (!lt.isDynamicDim(lt.getRank() - 1))
    orders.steps = stepsOf(cpu, lt.getElementType(), rt.getElementType(), result);
  if (orders.steps.size > 1 && areBytes(lt.getElementType(), rt.getElementType(), result)) {
    DotSteps saturating = saturatingSteps(cpu, orders.steps.lhsUnsigned, orders.steps.rhsUnsigned);
    auto panels = cpu::PanelsAttr::get(op.getContext(), kAxis, nAxis, choosePanelWidth(cpu, n), 1,
                                       saturating.size, 0, saturating.sumScale());
    if (saturating.size > 1 && fits(op.getRhs(), panels, saturating))
      orders.steps = saturating;
  }
  SmallVector<int64_t, 4> widths = panelWidths(cpu, n, accumulatorBits(result));
  preferRoomForPairs(cpu, orders.steps, widths);
  for (int64_t width : widths)
    orders.layouts.push_back(cpu::PanelsAttr::get(op.getContext(), kAxis, nAxis, width, 1,
                                                  orders.steps.size, 0, orders.steps.sumScale()));
  return orders;
}

/// How many bytes the channels of a convolution's result lie apart, where it becomes planes again
/// after what is computed point by point; 0: it does not, or nobody knows.
static int64_t bytesOfPlane(prim::ConvOp op) {
  constexpr unsigned mostOperators = 8;
  auto type = tensorType(op.getResult());
  ArrayRef<int64_t> pixels = type.getShape().drop_front().drop_back();
  Value v = op.getResult();
  for (unsigned i = 0; i < mostOperators && v.hasOneUse() && !ShapedType::isDynamicShape(pixels);
       ++i) {
    Operation *user = *v.user_begin();
    if (auto transpose = dyn_cast<prim::TransposeOp>(user)) {
      bool isPlanes =
          transpose.getPermutation().take_front(2) == ArrayRef({int64_t(0), type.getRank() - 1});
      int64_t bytes = tensorType(v).getElementTypeBitWidth() / 8;
      for (int64_t extent : pixels)
        bytes *= extent;
      return isPlanes ? bytes : 0;
    }
    if (!prim::isElementwise(user) || user->getNumResults() != 1)
      break;
    v = user->getResult(0);
  }
  return 0;
}

static WinogradExtents tileExtents(prim::ConvOp op) {
  auto w = tensorType(op.getW()), y = tensorType(op.getResult());
  auto extent = [&](int64_t axis) { return y.isDynamicDim(axis) ? -1 : y.getDimSize(axis); };
  auto groups = static_cast<int64_t>(op.getGroups());
  return {extent(0),        extent(1), extent(2), w.getDimSize(1), w.getDimSize(0) / groups,
          bytesOfPlane(op), groups};
}

/// Whether tiles can compute the convolution.
static bool hasTiles(prim::ConvOp op, const CpuTarget &cpu) {
  auto x = tensorType(op.getX()), w = tensorType(op.getW()), y = tensorType(op.getResult());
  auto ones = [](ArrayRef<int64_t> list) {
    return llvm::all_of(list, [](int64_t v) { return v == 1; });
  };
  return y.getRank() == 4 && w.getDimSize(2) == 3 && w.getDimSize(3) == 3 &&
         ones(op.getStrides()) && ones(op.getDilations()) && x.getElementType().isF32() &&
         w.getElementType().isF32() && y.getElementType().isF32() &&
         fitsWinograd(cpu, tileExtents(op));
}

bool PackWeights::takesPanels(prim::ConvOp op) const {
  auto xt = tensorType(op.getX()), wt = tensorType(op.getW());
  int64_t spatial = op.getStrides().size();
  Type result = tensorType(op.getResult()).getElementType();
  return (weightOf(op.getW()) || comesAtRunTime(op.getW())) && op.getChannelsLast() &&
         spatial >= 1 && spatial <= 3 && !xt.isDynamicDim(xt.getRank() - 1) &&
         llvm::all_of(op.getInputDilation(), [](int64_t d) { return d == 1; }) &&
         packable(xt.getElementType(), wt.getElementType(), result) && wt.getNumElements() != 0;
}

static Value reshaped(OpBuilder &b, Value x, ArrayRef<int64_t> shape, ValueRange sizes) {
  auto type = tensorType(x).clone(shape);
  return type == x.getType() ? x : prim::ReshapeOp::create(b, x.getLoc(), type, x, sizes);
}

prim::ConvOp PackWeights::fillVectors(prim::ConvOp op) const {
  if (!takesPanels(op) || !comesAtRunTime(op.getW()))
    return op;
  auto type = tensorType(op.getResult()), filters = tensorType(op.getW());
  int64_t groups = op.getGroups(), count = filters.getDimSize(0) / groups,
          full = llvm::alignTo(count, cpu.lanes(accumulatorBits(type.getElementType())));
  bool isDepthwise = groups > 1 && count == 1 && filters.getDimSize(1) == 1;
  unsigned bits = accumulatorBits(type.getElementType());
  unsigned narrow = narrowGroupLanes(cpu, {groups, count, filters.getDimSize(1), 1}, bits);
  bool sharesVectors = narrow && groups * count % narrow == 0; // of several groups
  if (full == count || isDepthwise || sharesVectors)
    return op;
  OpBuilder b(op);
  SmallVector<int64_t> joined(filters.getShape()), wide(type.getShape());
  joined.front() = wide.back() = groups * full;
  // Of several groups each is filled, with the groups as an axis of their own.
  SmallVector<int64_t> apart(filters.getShape()), split = wide;
  if (groups > 1) {
    apart.front() = count;
    apart.insert(apart.begin(), groups);
    split.back() = groups;
    split.push_back(full);
  }
  SmallVector<int64_t> more = apart;
  more[groups > 1 ? 1 : 0] = full;
  Value padded = reshaped(b, filledUp(b, reshaped(b, op.getW(), apart, {}), more), joined, {});
  auto filled = cast<prim::ConvOp>(b.clone(*op));
  filled.getWMutable().assign(padded);
  filled.getResult().setType(type.clone(wide));
  prim::setPresentTaps(filled, {});
  Value ofGroups = reshaped(b, filled, split, op.getSizes());
  SmallVector<int64_t> start(split.size(), 0), ones(split.size(), 1);
  split.back() = count;
  Value first = prim::SliceOp::create(b, op.getLoc(), type.clone(split), ofGroups, ValueRange(),
                                      op.getSizes(), start, ones);
  op.replaceAllUsesWith(reshaped(b, first, type.getShape(), op.getSizes()));
  op.erase();
  return filled;
}

Orders PackWeights::ordersOf(prim::ConvOp op) const {
  if (!takesPanels(op))
    return {};
  auto xt = tensorType(op.getX()), wt = tensorType(op.getW());
  int64_t groups = op.getGroups();
  bool atRunTime = comesAtRunTime(op.getW());
  Type result = tensorType(op.getResult()).getElementType();
  Orders orders;
  MLIRContext *context = op.getContext();
  bool tiles = !atRunTime && hasTiles(op, cpu),
       prefersTiles = tiles && prefersWinograd(cpu, tileExtents(op));
  auto addTiles = [&] {
    for (int64_t width : winogradWidths(cpu, tileExtents(op)))
      orders.layouts.push_back(cpu::WinogradAttr::get(context, width));
  };
  if (prefersTiles)
    addTiles();
  ConvExtents extents{groups, wt.getDimSize(0) / groups, wt.getDimSize(1), 1};
  SmallVector<int64_t> k;
  for (int64_t axis = 2; axis < wt.getRank(); ++axis) {
    extents.taps *= wt.getDimSize(axis);
    k.push_back(axis);
  }
  k.push_back(1);
  unsigned bits = accumulatorBits(result);
  if (atRunTime)
    orders.steps = {};
  else if (areBytes(xt.getElementType(), wt.getElementType(), result)) {
    bool xUnsigned = xt.getElementType().isUnsignedInteger();
    bool wUnsigned = wt.getElementType().isUnsignedInteger();
    orders.steps = convByteSteps(cpu, extents, xUnsigned, wUnsigned);
    DotSteps saturating = saturatingSteps(cpu, xUnsigned, wUnsigned);
    PanelShape shape = convPanels(cpu, extents, bits, saturating);
    auto panels = cpu::PanelsAttr::get(context, k, 0, shape.width, groups, saturating.size,
                                       shape.run, saturating.sumScale());
    if (orders.steps.size > 1 && saturating.size > 1 && fits(op.getW(), panels, saturating))
      orders.steps = saturating;
  } else if (areBfloats(xt.getElementType(), wt.getElementType(), result))
    orders.steps = convBfloatSteps(cpu, extents);
  if (orders.steps.size > 1)
    orders.steps.lhsZero = static_cast<int32_t>(op.getZero());
  else if (op.getZero() != 0 && !narrowGroupLanes(cpu, extents) && !gathersTaps(extents))
    return {}; // single elements are multiplied as they lie there
  PanelShape shape = convPanels(cpu, extents, bits, orders.steps);
  SmallVector<int64_t, 4> widths{shape.width};
  PresentTaps taps; // gathered, all are multiplied
  if (!gathersTaps(extents))
    taps = {prim::presentTaps(op), extents.channels};
  if (!narrowGroupLanes(cpu, extents, bits))
    widths = panelWidths(cpu, extents.filters, bits, taps);
  preferRoomForPairs(cpu, orders.steps, widths);
  // Whole lines of planes that share sets of a cache are stored by square tiles.
  int64_t apart = bytesOfPlane(op);
  if (apart && !narrowGroupLanes(cpu, extents, bits) && shareSets(apart, widths.front()))
    if (int64_t square = squarePanelWidth(cpu, extents.filters, bits))
      std::swap(widths.front(), *llvm::find(widths, square));
  if (atRunTime) {
    widths.push_back(cpu.lanes(bits));
    int64_t columns = wt.getDimSize(0) / shape.groups;
    llvm::erase_if(widths, [&](int64_t width) { return columns % width != 0; });
  }
  for (int64_t width : widths)
    orders.layouts.push_back(cpu::PanelsAttr::get(
        context, k, 0, width, shape.groups, shape.steps.size, shape.run, shape.steps.sumScale()));
  if (tiles && !prefersTiles)
    addTiles();
  return orders;
}

namespace {

class PackWeightsPass : public tcc::impl::PackWeightsPassBase<PackWeightsPass> {
public:
  PackWeightsPass(WeightTable *weights, const CpuTarget *cpu, LayoutChooser chooser)
      : weights(weights), cpu(cpu), chooser(std::move(chooser)) {}
  void runOnOperation() override {
    PackWeights packer(*weights, *cpu, chooser);
    auto all = [&](auto op) { return WalkResult(packer.pack(op)); };
    if (getOperation().walk([&](prim::DotOp op) { return all(op); }).wasInterrupted() ||
        getOperation().walk([&](prim::ConvOp op) { return all(op); }).wasInterrupted())
      signalPassFailure();
  }

private:
  WeightTable *weights;
  const CpuTarget *cpu;
  LayoutChooser chooser;
};

} // namespace

std::unique_ptr<Pass> tcc::createPackWeightsPass(WeightTable *weights, const CpuTarget *cpu,
                                                 LayoutChooser chooser) {
  return std::make_unique<PackWeightsPass>(weights, cpu, std::move(chooser));
}
