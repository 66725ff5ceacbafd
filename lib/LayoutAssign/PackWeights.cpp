//===- PackWeights.cpp - Weights in the order that kernels read -----------===//
//
// A contraction with constant weights becomes its packed form, and the weights go
// to the table as panels (Target/WeightPanels.h), which are made when they are
// written out: emit packs them straight into the artefact. Runs after channels-last
// and constant folding, so that the weights are entries of the table.
//
//   %y = prim.dot %x, %w batch [] x [] contract [1] x [0]
// becomes
//   %p = prim.weight "w.panels" : tensor<1x24x768x32xf32>
//   %y = prim.packed_dot %x, %p columns 768
//
// The weights of 3x3 convolutions that are sooner done in tiles (Target/Winograd.h) are
// transformed on the way.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Support/WeightTable.h"
#include "tcc/Target/Winograd.h"

namespace tcc {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

namespace {

class PackWeights {
public:
  PackWeights(WeightTable &weights, const CpuTarget &cpu) : weights(weights), cpu(cpu) {}
  void pack(prim::DotOp op);
  void pack(prim::ConvOp op);

private:
  const Weight *weightOf(Value v, std::string &name);
  Value panels(OpBuilder &b, Location loc, const Weight &weight, StringRef name,
               const PanelShape &shape, PanelAxis group, PanelAxis column, ArrayRef<PanelAxis> k);
  /// The panels of a 3x3 convolution in tiles.
  Value tiles(OpBuilder &b, Location loc, const Weight &weight, StringRef name, int64_t filters,
              int64_t channels);
  /// The weight of `shape` under `key`: a new one, which `maker` makes, if there is none.
  Value packed(OpBuilder &b, Location loc, DType dtype, const Twine &name, const std::string &key,
               const PanelShape &shape, WeightMaker maker);

  WeightTable &weights;
  const CpuTarget &cpu;
  std::map<std::string, std::string> packedNames; ///< one packing for equal requests
};

} // namespace

const Weight *PackWeights::weightOf(Value v, std::string &name) {
  auto op = v.getDefiningOp<prim::WeightOp>();
  if (!op)
    return nullptr;
  name = op.getName().str();
  const Weight *weight = weights.lookup(name);
  return weight && bitWidth(weight->dtype) >= 8 ? weight : nullptr;
}

Value PackWeights::panels(OpBuilder &b, Location loc, const Weight &weight, StringRef name,
                          const PanelShape &shape, PanelAxis group, PanelAxis column,
                          ArrayRef<PanelAxis> k) {
  std::string key = name.str();
  for (int64_t v : {shape.groups, shape.panels, shape.k, shape.width, group.stride, column.stride,
                    shape.run, int64_t(shape.bytes.size), int64_t(shape.bytes.sumScale())})
    key += "," + std::to_string(v);
  for (PanelAxis axis : k)
    key += "," + std::to_string(axis.extent) + ":" + std::to_string(axis.stride);
  unsigned bytes = bitWidth(weight.dtype) / 8;
  uint64_t row = shape.width * shape.bytes.size * bytes;
  uint64_t grain = shape.bytes.size > 1 ? row * shape.panelRows() : row;
  auto make = [source = weight, row, bytes, shape, group, column,
               axes = SmallVector<PanelAxis>(k)](uint64_t begin, uint64_t end, char *to) {
    packPanelRows(source.bytes.data(), bytes, shape, group, column, axes, begin / row, end / row,
                  to);
  };
  return packed(b, loc, weight.dtype, name + ".panels", key, shape, {grain, std::move(make)});
}

Value PackWeights::tiles(OpBuilder &b, Location loc, const Weight &weight, StringRef name,
                         int64_t filters, int64_t channels) {
  PanelShape shape = winogradPanels(cpu, filters, channels);
  uint64_t panel = shape.elements() / shape.groups * sizeof(float);
  auto make = [source = weight, filters, shape, panel](uint64_t begin, uint64_t end, char *to) {
    packWinograd(reinterpret_cast<const float *>(source.bytes.data()), filters, shape,
                 begin / panel, end / panel, reinterpret_cast<float *>(to));
  };
  return packed(b, loc, weight.dtype, name + ".tiles",
                (name + ",tiles," + Twine(shape.width)).str(), shape, {panel, std::move(make)});
}

Value PackWeights::packed(OpBuilder &b, Location loc, DType dtype, const Twine &name,
                          const std::string &key, const PanelShape &shape, WeightMaker maker) {
  SmallVector<int64_t, 4> dims = shape.dims();
  std::string &entry = packedNames[key];
  if (entry.empty()) {
    auto shared = std::make_shared<WeightMaker>(std::move(maker));
    entry = weights.add(name.str(), {dtype, dims, {}, nullptr, std::move(shared)});
  }
  auto type = RankedTensorType::get(dims, prim::elementType(b.getContext(), dtype));
  return prim::WeightOp::create(b, loc, type, b.getStringAttr(entry));
}

/// Element types that the product template sums in `result`.
static bool packable(Type x, Type w, Type result) {
  auto plain = [](Type t) {
    auto i = dyn_cast<IntegerType>(t);
    return t.isF16() || t.isBF16() || t.isF32() || t.isF64() || (i && i.getWidth() >= 8);
  };
  bool isFloat = isa<FloatType>(result);
  return plain(x) && plain(w) && plain(result) && isa<FloatType>(x) == isFloat &&
         isa<FloatType>(w) == isFloat;
}

static unsigned accumulatorBits(Type result) {
  return isa<FloatType>(result) ? std::max(32u, result.getIntOrFloatBitWidth())
                                : result.getIntOrFloatBitWidth();
}

/// Whether x and w are 8-bit integers that are summed in 32 bits.
static bool areBytes(Type x, Type w, Type result) {
  return x.isInteger(8) && w.isInteger(8) && result.isInteger(32);
}

void PackWeights::pack(prim::DotOp op) {
  std::string name;
  auto lt = tensorType(op.getLhs()), rt = tensorType(op.getRhs());
  const Weight *weight = weightOf(op.getRhs(), name);
  bool plain = weight && rt.getRank() == 2 && op.getLhsBatch().empty() &&
               op.getRhsContract().size() == 1 && op.getLhsContract()[0] == lt.getRank() - 1;
  Type result = tensorType(op.getResult()).getElementType();
  if (!plain || !packable(lt.getElementType(), rt.getElementType(), result))
    return;
  int64_t kAxis = op.getRhsContract()[0], nAxis = 1 - kAxis;
  int64_t n = rt.getDimSize(nAxis), k = rt.getDimSize(kAxis);
  if (n == 0 || k == 0)
    return;
  auto stride = [&](int64_t axis) { return axis == 0 ? rt.getDimSize(1) : 1; };
  ByteGroups bytes;
  if (areBytes(lt.getElementType(), rt.getElementType(), result) &&
      !lt.isDynamicDim(lt.getRank() - 1))
    bytes = byteGroups(cpu, lt.getElementType().isUnsignedInteger(),
                       rt.getElementType().isUnsignedInteger());
  PanelShape shape = packedPanels(cpu, 1, n, k, accumulatorBits(result), bytes);
  OpBuilder b(op);
  Value packed = panels(b, op.getLoc(), *weight, name, shape, {1, 0}, {n, stride(nAxis)},
                        PanelAxis{k, stride(kAxis)});
  Value dot = prim::PackedDotOp::create(b, op.getLoc(), op.getType(), op.getLhs(), packed, n);
  op.getResult().replaceAllUsesWith(dot);
  op.erase();
}

/// Whether tiles can compute the convolution, and sooner.
static bool prefersTiles(prim::ConvOp op, const CpuTarget &cpu) {
  auto x = tensorType(op.getX()), w = tensorType(op.getW()), y = tensorType(op.getResult());
  auto ones = [](ArrayRef<int64_t> list) {
    return llvm::all_of(list, [](int64_t v) { return v == 1; });
  };
  if (y.getRank() != 4 || w.getDimSize(2) != 3 || w.getDimSize(3) != 3 || op.getGroups() != 1 ||
      !ones(op.getStrides()) || !ones(op.getDilations()) || !x.getElementType().isF32() ||
      !w.getElementType().isF32() || !y.getElementType().isF32())
    return false;
  auto extent = [&](int64_t axis) { return y.isDynamicDim(axis) ? -1 : y.getDimSize(axis); };
  return prefersWinograd(cpu, {extent(0), extent(1), extent(2), w.getDimSize(1), w.getDimSize(0)});
}

void PackWeights::pack(prim::ConvOp op) {
  std::string name;
  auto xt = tensorType(op.getX()), wt = tensorType(op.getW());
  const Weight *weight = weightOf(op.getW(), name);
  int64_t spatial = op.getStrides().size(), groups = op.getGroups();
  Type result = tensorType(op.getResult()).getElementType();
  if (!weight || !op.getChannelsLast() || spatial < 1 || spatial > 3 ||
      xt.isDynamicDim(xt.getRank() - 1) ||
      llvm::any_of(op.getInputDilation(), [](int64_t d) { return d != 1; }) ||
      !packable(xt.getElementType(), wt.getElementType(), result) || wt.getNumElements() == 0)
    return;
  int64_t filters = wt.getDimSize(0) / groups, channels = wt.getDimSize(1), taps = 1;
  SmallVector<int64_t> window(wt.getShape().drop_front(2));
  for (int64_t extent : window)
    taps *= extent;
  ConvExtents extents{groups, filters, channels, taps};
  ByteGroups bytes;
  if (areBytes(xt.getElementType(), wt.getElementType(), result))
    bytes = convByteGroups(cpu, extents, xt.getElementType().isUnsignedInteger(),
                           wt.getElementType().isUnsignedInteger());
  ConvPanels packing = convPanels(cpu, extents, accumulatorBits(result), bytes);
  OpBuilder b(op);
  bool inTiles = prefersTiles(op, cpu);
  Value packed = inTiles ? tiles(b, op.getLoc(), *weight, name, filters, channels)
                         : panels(b, op.getLoc(), *weight, name, packing.shape, packing.group,
                                  packing.column, packing.k);
  Value conv = prim::PackedConvOp::create(
      b, op.getLoc(), op.getType(), op.getX(), packed, op.getSizes(), window, op.getStrides(),
      op.getDilations(), op.getLow(), groups, wt.getDimSize(0), inTiles ? kWinogradOutputs : 0);
  op.getResult().replaceAllUsesWith(conv);
  op.erase();
}

namespace {

class PackWeightsPass : public tcc::impl::PackWeightsPassBase<PackWeightsPass> {
public:
  PackWeightsPass(WeightTable *weights, const CpuTarget *cpu) : weights(weights), cpu(cpu) {}
  void runOnOperation() override {
    PackWeights packer(*weights, *cpu);
    getOperation().walk([&](prim::DotOp op) { packer.pack(op); });
    getOperation().walk([&](prim::ConvOp op) { packer.pack(op); });
  }

private:
  WeightTable *weights;
  const CpuTarget *cpu;
};

} // namespace

std::unique_ptr<Pass> tcc::createPackWeightsPass(WeightTable *weights, const CpuTarget *cpu) {
  return std::make_unique<PackWeightsPass>(weights, cpu);
}
