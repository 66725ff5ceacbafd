//===- OrientProducts.cpp - Which operand of a product has the lanes ------===//
//
// A product's lanes are the columns of its right operand, best where those lie beside each other.
// Two kinds of products have them elsewhere as they come.
//
// - A filter of one point over channels that are planes. In the order of all other convolutions,
//   channels last, an image is transposed before and after; few channels on either side fill no
//   lanes, and there is little to multiply for what is moved. As weights by pixels it reads and
//   writes planes as they are, those of a group by its weights; what strides leave out is not
//   read. Images and their extents may be open. Where a convolution or a pool that wants channels
//   last is met through operators of points, it stays one. A convolution of few filters becomes one
//   of that kind (FewFilters.h).
// - A matrix across what is summed, and axes that no template takes as they lie (ProductAxes.h).
//
// Both are looked for among products of wide floats. Convolutions of narrow ones that no
// instruction multiplies are made such first: each number would be widened whenever it is read.
//
//===----------------------------------------------------------------------===//
#include "../Planes.h"
#include "FewFilters.h"
#include "ProductAxes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Cpu/PlaneTiles.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"

namespace tcc {
#define GEN_PASS_DEF_ORIENTPRODUCTSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class OrientProductsPass : public tcc::impl::OrientProductsPassBase<OrientProductsPass> {
public:
  OrientProductsPass(const CpuTarget *cpu, bool keepsNarrow, int64_t shortestLine)
      : cpu(cpu), keepsNarrow(keepsNarrow), limits{shortestLine} {}
  void runOnOperation() override;

private:
  const CpuTarget *cpu;
  bool keepsNarrow;
  PlanesLimits limits;
};

} // namespace

static bool isWide(Type element) { return element.isF32() || element.isF64(); }

static bool isPointwise(prim::ConvOp op) {
  auto all = [](ArrayRef<int64_t> list, int64_t value) {
    return llvm::all_of(list, [=](int64_t v) { return v == value; });
  };
  auto x = tensorType(op.getX()), w = tensorType(op.getW());
  auto result = tensorType(op.getResult());
  if (op.getChannelsLast() || x.getRank() < 3 || x.isDynamicDim(1) || !w.hasStaticShape() ||
      !isWide(x.getElementType()) || result.getElementType() != x.getElementType())
    return false;
  double pixels = typicalElements(result.getShape().drop_front(2));
  // A filter for each channel is no product.
  if (op.getGroups() != 1 && w.getDimSize(1) == 1)
    return false;
  // Weights of many channels are worth a packed order, which products of few pixels would miss.
  return pixels >= double(w.getDimSize(1)) && all(w.getShape().drop_front(2), 1) &&
         all(op.getInputDilation(), 1) && all(op.getLow(), 0) && all(op.getHigh(), 0);
}

/// A filter for each channel. Sums over channels, which it has none of, are what spreads a layout:
/// one of constants goes with its neighbours, and one that a run brings has no template but planes.
static bool isDepthwise(prim::ConvOp op) {
  std::optional<PlaneConv> conv = planeConv(op);
  return conv && conv->isDepthwise();
}

/// Nothing that channels last would be better for is met.
static bool staysPlanar(prim::ConvOp op, const CpuTarget &cpu) {
  return meetsPlanesOnly(op, [&](Operation *o) {
    if (o == op)
      return Met::Ends;
    if (auto conv = dyn_cast<prim::ConvOp>(o)) {
      if (isDepthwise(op) && comesAtRunTime(op.getW()))
        return Met::Ends;
      bool isFilterEach = isDepthwise(conv) && !comesAtRunTime(conv.getW());
      bool ends = isPointwise(conv) || hasFewFilters(conv, cpu) || prefersPlaneTiles(cpu, conv);
      return ends && isFilterEach == isDepthwise(op) ? Met::Ends : Met::Stops;
    }
    if (isa<prim::PoolOp>(o))
      return Met::Stops;
    bool follows = prim::isElementwise(o) || isa<prim::ConcatOp, prim::PadOp, prim::SliceOp>(o);
    return follows ? Met::Follows : Met::Ends;
  });
}

/// What `v`, a value of points of planes, is with all pixels on one axis, behind `lead` axes, in
/// the type `flat` of the extents `sizes`; null where that is not a number for each channel or
/// image.
static Value flattened(OpBuilder &b, Value v, RankedTensorType flat, ValueRange sizes,
                       int64_t lead) {
  auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
  if (!broadcast)
    return {};
  auto from = tensorType(broadcast.getX());
  SmallVector<int64_t> axes, extents;
  for (auto [axis, extent] : llvm::zip_equal(broadcast.getAxes(), from.getShape())) {
    if (extent == 1)
      continue;
    if (axis > 1 || ShapedType::isDynamic(extent))
      return {};
    axes.push_back(axis + lead - 2);
    extents.push_back(extent);
  }
  Value x =
      prim::ReshapeOp::create(b, v.getLoc(), from.clone(extents), broadcast.getX(), ValueRange{});
  auto type = flat.clone(from.getElementType());
  return prim::BroadcastOp::create(b, v.getLoc(), type, x, axes, sizes);
}

/// Operators of points that `planes`, a reshape of `product`, has as its only users take the
/// product's shape, so that a kernel of both has one. `flatSizes`, `sizes`: the open extents of
/// both.
static void followProduct(Value product, Value planes, ValueRange flatSizes, ValueRange sizes) {
  auto flat = tensorType(product);
  int64_t lead = flat.getRank() - 1;
  while (planes.hasOneUse()) {
    Operation *op = *planes.user_begin();
    auto result = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                           : RankedTensorType();
    if (!prim::isElementwise(op) || !result)
      return;
    OpBuilder b(op);
    SmallVector<Value> operands;
    for (Value v : op->getOperands()) {
      operands.push_back(v == planes ? product : flattened(b, v, flat, flatSizes, lead));
      if (!operands.back())
        return;
    }
    OperationState state(op->getLoc(), op->getName(), operands, flat.clone(result.getElementType()),
                         op->getAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    product = b.create(state)->getResult(0);
    planes = prim::ReshapeOp::create(b, op->getLoc(), result, product, sizes);
    op->replaceAllUsesWith(ValueRange(planes));
    op->erase();
  }
}

/// Weights by pixels, an image each.
static void multiplyPlanes(prim::ConvOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto result = tensorType(op.getResult());
  auto type = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, result.getElementType());
  };
  auto from = tensorType(op.getX());
  int64_t images = result.getDimSize(0), filters = result.getDimSize(1), groups = op.getGroups(),
          channels = from.getDimSize(1) / groups;
  // Open extents of the result, and of what has its images and all of its pixels on one axis.
  SmallVector<Value> sizes(op.getSizes()), ofImages, ofPixels;
  if (ShapedType::isDynamic(images))
    ofImages.push_back(sizes.front());
  int64_t pixels = 1;
  for (int64_t extent : result.getShape().drop_front(2))
    pixels *= ShapedType::isDynamic(extent) ? 1 : extent;
  if (sizes.size() > ofImages.size()) {
    Value count;
    if (pixels != 1)
      count = arith::ConstantIndexOp::create(b, loc, pixels);
    for (Value size : ArrayRef(sizes).drop_front(ofImages.size()))
      count = count ? arith::MulIOp::create(b, loc, count, size).getResult() : size;
    ofPixels.push_back(count);
    pixels = ShapedType::kDynamic;
  }
  SmallVector<Value> flatSizes(ofImages);
  llvm::append_range(flatSizes, ofPixels);
  Value x = op.getX();
  SmallVector<int64_t> read(from.getShape().take_front(2)), steps(2, 1);
  llvm::append_range(read, result.getShape().drop_front(2));
  llvm::append_range(steps, op.getStrides());
  bool skips = read != from.getShape();
  for (auto [extent, stride] : llvm::zip_equal(from.getShape().drop_front(2), op.getStrides()))
    skips |= ShapedType::isDynamic(extent) && stride != 1;
  if (skips)
    x = prim::SliceOp::create(b, loc, type(read), x, ValueRange{}, sizes,
                              SmallVector<int64_t>(read.size(), 0), steps);
  // Images and groups are a batch, those that are one left out.
  SmallVector<int64_t> lead, batch, weightAxes;
  if (images != 1)
    lead.push_back(images);
  if (groups > 1) {
    weightAxes.push_back(lead.size());
    lead.push_back(groups);
  }
  llvm::append_range(batch, llvm::seq<int64_t>(0, lead.size()));
  auto shape = [&](int64_t rows, int64_t columns) {
    SmallVector<int64_t> all(lead);
    all.append({rows, columns});
    return type(all);
  };
  int64_t k = lead.size();
  weightAxes.append({k, k + 1});
  SmallVector<int64_t> ofWeights = {filters / groups, channels};
  if (groups > 1)
    ofWeights.insert(ofWeights.begin(), groups);
  Value w = prim::ReshapeOp::create(b, loc, type(ofWeights), op.getW(), ValueRange{});
  if (images != 1)
    w = prim::BroadcastOp::create(b, loc, shape(filters / groups, channels), w, weightAxes,
                                  ofImages);
  x = prim::ReshapeOp::create(b, loc, shape(channels, pixels), x, flatSizes);
  Value product = prim::DotOp::create(b, loc, shape(filters / groups, pixels), w, x, batch, batch,
                                      ArrayRef<int64_t>{k + 1}, ArrayRef<int64_t>{k});
  if (groups > 1) {
    SmallVector<int64_t> all = {filters, pixels};
    if (images != 1)
      all.insert(all.begin(), images);
    product = prim::ReshapeOp::create(b, loc, type(all), product, flatSizes);
  }
  Value planes = prim::ReshapeOp::create(b, loc, result, product, sizes);
  op.replaceAllUsesWith(planes);
  op.erase();
  followProduct(product, planes, flatSizes, sizes);
}

/// `op` in f32 of narrow floats, which are widened where they are stored.
static prim::ConvOp widened(prim::ConvOp op) {
  OpBuilder b(op);
  auto wide = cast<prim::ConvOp>(b.clone(*op));
  b.setInsertionPoint(wide);
  for (OpOperand *operand : {&wide.getXMutable(), &wide.getWMutable()}) {
    RankedTensorType type = tensorType(operand->get()).clone(b.getF32Type());
    operand->set(prim::CastOp::create(b, op.getLoc(), type, operand->get()));
  }
  wide.getResult().setType(tensorType(op.getResult()).clone(b.getF32Type()));
  return wide;
}

/// Whether nothing multiplies narrow floats, so that each would be widened whenever it is read, by
/// tap and by register tile, and there are pixels enough for more bytes of weights to be no matter.
static bool widensOperands(prim::ConvOp op, const CpuTarget &cpu) {
  constexpr double kFewPixels = 32;
  Type x = tensorType(op.getX()).getElementType();
  RankedTensorType y = tensorType(op.getResult());
  bool isAlone = x.isF16() || (x.isBF16() && !cpu.bfloatTiles && bfloatSteps(cpu).size == 1);
  bool sumsWide = y.getElementType().isF32() || y.getElementType() == x;
  if (!isAlone || tensorType(op.getW()).getElementType() != x || !sumsWide || op.getChannelsLast())
    return false;
  double pixels = typicalElements(y.getShape().drop_front(2));
  if (!y.isDynamicDim(0))
    pixels *= double(y.getDimSize(0));
  return pixels >= kFewPixels;
}

/// A convolution of bf16 that pairs of channels are no help for, of few channels in each group: in
/// planes of f32, if those are faster.
static void widenForPlanes(prim::ConvOp op, const CpuTarget &cpu) {
  auto w = tensorType(op.getW());
  if (cpu.bfloatTiles || !w.getElementType().isBF16() || op.getChannelsLast() ||
      !tensorType(op.getResult()).getElementType().isF32())
    return;
  prim::ConvOp wide = widened(op);
  if (prefersPlaneTiles(cpu, wide, bfloatSteps(cpu).size) && staysPlanar(op, cpu)) {
    wide->setAttr(kInPlanes, UnitAttr::get(op.getContext()));
    op.replaceAllUsesWith(wide.getResult());
    op.erase();
    return;
  }
  Operation *operands[] = {wide.getX().getDefiningOp(), wide.getW().getDefiningOp()};
  wide.erase();
  for (Operation *cast : operands)
    cast->erase();
}

/// Lines of an image that a filter of one point passes over are not turned to channels last with
/// the others, where it comes as planes: the first is every so many lines of it. Along a line all
/// is read, by vectors.
static void leaveLinesOut(prim::ConvOp op) {
  auto x = tensorType(op.getX()), w = tensorType(op.getW()), y = tensorType(op.getResult());
  Operation *from = op.getX().getDefiningOp();
  bool comesAsPlanes = !from || isa<prim::ReshapeOp>(from);
  bool isWidened = llvm::any_of(op.getInputDilation(), [](int64_t d) { return d != 1; });
  if (op.getChannelsLast() || !comesAsPlanes || !op.getX().hasOneUse() || isWidened ||
      w.getDimSize(1) == 1)
    return;
  SmallVector<int64_t> steps(x.getRank(), 1), shape(x.getShape()), strides(op.getStrides()),
      high(op.getHigh());
  for (int64_t axis = 2; axis + 1 < x.getRank(); ++axis) {
    int64_t stride = strides[axis - 2], input = x.getDimSize(axis), output = y.getDimSize(axis);
    bool skips = w.getDimSize(axis) == 1 && stride > 1 && op.getLow()[axis - 2] == 0 &&
                 !ShapedType::isDynamic(input) && !ShapedType::isDynamic(output) && output > 0 &&
                 (output - 1) * stride < input;
    if (!skips)
      continue;
    steps[axis] = stride;
    shape[axis] = output;
    strides[axis - 2] = 1;
    high[axis - 2] = 0;
  }
  if (ArrayRef<int64_t>(shape) == x.getShape())
    return;
  OpBuilder b(op);
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < x.getRank(); ++axis)
    if (ShapedType::isDynamic(shape[axis]))
      sizes.push_back(getValueOrCreateConstantIndexOp(
          b, op.getLoc(), prim::dimOf(b, op.getLoc(), op.getX(), axis)));
  Value lines = prim::SliceOp::create(b, op.getLoc(), x.clone(shape), op.getX(), ValueRange{},
                                      sizes, SmallVector<int64_t>(x.getRank(), 0), steps);
  op.getXMutable().assign(lines);
  op.setStrides(strides);
  op.setHigh(high);
}

void OrientProductsPass::runOnOperation() {
  SmallVector<prim::ConvOp> convolutions;
  SmallVector<prim::DotOp> products;
  SmallVector<prim::ConvOp> fewFilters, narrowAlone;
  getOperation().walk([&](prim::ConvOp op) {
    if (!keepsNarrow && widensOperands(op, *cpu))
      narrowAlone.push_back(op);
  });
  for (prim::ConvOp op : narrowAlone) {
    OpBuilder b(op);
    Value sums = widened(op).getResult();
    if (auto type = tensorType(op.getResult()); sums.getType() != type)
      sums = prim::CastOp::create(b, op.getLoc(), type, sums);
    op.replaceAllUsesWith(sums);
    op.erase();
  }
  getOperation().walk([&](prim::ConvOp op) {
    if (hasFewFilters(op, *cpu) && staysPlanar(op, *cpu))
      fewFilters.push_back(op);
  });
  for (prim::ConvOp op : fewFilters)
    sumShiftedPlanes(op);
  getOperation().walk([&](Operation *op) {
    if (auto conv = dyn_cast<prim::ConvOp>(op);
        conv && isPointwise(conv) && staysPlanar(conv, *cpu))
      convolutions.push_back(conv);
    if (auto dot = dyn_cast<prim::DotOp>(op);
        dot && isWide(tensorType(dot.getResult()).getElementType()) &&
        tensorType(dot.getLhs()).getElementType() == tensorType(dot.getRhs()).getElementType() &&
        isWide(tensorType(dot.getLhs()).getElementType()) &&
        tensorType(dot.getLhs()).hasStaticShape() && tensorType(dot.getRhs()).hasStaticShape() &&
        tensorType(dot.getResult()).getNumElements() > 0)
      products.push_back(dot);
  });
  for (prim::DotOp op : products)
    orderAxes(op);
  for (prim::ConvOp op : convolutions)
    multiplyPlanes(op);
  SmallVector<prim::ConvOp> narrow;
  getOperation().walk([&](prim::ConvOp op) {
    if (tensorType(op.getX()).getElementType().isBF16())
      narrow.push_back(op);
  });
  for (prim::ConvOp op : narrow)
    widenForPlanes(op, *cpu);
  getOperation().walk([&](prim::ConvOp op) {
    if (op->hasAttr(kInPlanes))
      return;
    bool isLoop = isDepthwise(op) && isConvolutionOfPlanes(op, limits);
    if (!isLoop && prefersPlaneTiles(*cpu, op) && staysPlanar(op, *cpu))
      op->setAttr(kInPlanes, UnitAttr::get(op.getContext()));
    else
      leaveLinesOut(op);
  });
}

std::unique_ptr<Pass> tcc::createOrientProductsPass(const CpuTarget *cpu, bool keepsNarrow,
                                                    int64_t shortestLine) {
  return std::make_unique<OrientProductsPass>(cpu, keepsNarrow, shortestLine);
}
