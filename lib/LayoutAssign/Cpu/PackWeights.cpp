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
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Cpu/Winograd.h"
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

class PackWeights {
public:
  PackWeights(WeightTable &weights, const CpuTarget &cpu) : weights(weights), cpu(cpu) {}
  void pack(prim::DotOp op);
  void pack(prim::ConvOp op);

private:
  /// The weight that `v` is, if it has not been packed.
  const Weight *weightOf(Value v) const;
  /// `weight` in panels of `shape`, with axes `k` and `columns`.
  Value panels(Value weight, const PanelShape &shape, ArrayRef<int64_t> k, int64_t columns);
  /// The weights of a 3x3 convolution, for tiles.
  Value tiles(Value weight);
  /// `weight` under another name and encoding: a new one, which `maker` makes, if there is none.
  Value packed(Value weight, prim::StorageLayout layout, StringRef suffix, WeightMaker maker);

  WeightTable &weights;
  const CpuTarget &cpu;
  /// One packing for equal requests.
  std::map<std::pair<std::string, const void *>, std::string> packedNames;
};

} // namespace

const Weight *PackWeights::weightOf(Value v) const {
  auto op = v.getDefiningOp<prim::WeightOp>();
  const Weight *weight = op && !prim::layoutOf(v) ? weights.lookup(op.getName()) : nullptr;
  return weight && bitWidth(weight->dtype) >= 8 ? weight : nullptr;
}

Value PackWeights::panels(Value weight, const PanelShape &shape, ArrayRef<int64_t> k,
                          int64_t columns) {
  const Weight &source = *weightOf(weight);
  auto layout = cpu::PanelsAttr::get(weight.getContext(), k, columns, shape.width, shape.groups,
                                     shape.bytes.size, shape.bytes.size > 1 ? shape.run : 0,
                                     shape.bytes.sumScale());
  PanelPacking packing = cpu::packingOf(layout, tensorType(weight).getShape());
  packing.shape.bytes = shape.bytes;
  unsigned bytes = bitWidth(source.dtype) / 8;
  uint64_t row = shape.width * shape.bytes.size * bytes;
  uint64_t grain = shape.bytes.size > 1 ? row * shape.panelRows() : row;
  auto make = [source, row, bytes, packing](uint64_t begin, uint64_t end, char *to) {
    packPanelRows(source.bytes.data(), bytes, packing, begin / row, end / row, to);
  };
  return packed(weight, layout, ".panels", {grain, std::move(make)});
}

Value PackWeights::tiles(Value weight) {
  const Weight &source = *weightOf(weight);
  int64_t filters = tensorType(weight).getDimSize(0), channels = tensorType(weight).getDimSize(1);
  PanelShape shape = winogradPanels(cpu, filters, channels);
  uint64_t panel = shape.elements() / shape.groups * sizeof(float);
  auto make = [source, filters, shape, panel](uint64_t begin, uint64_t end, char *to) {
    packWinograd(reinterpret_cast<const float *>(source.bytes.data()), filters, shape,
                 begin / panel, end / panel, reinterpret_cast<float *>(to));
  };
  return packed(weight, cpu::WinogradAttr::get(weight.getContext(), shape.width), ".tiles",
                {panel, std::move(make)});
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
  auto lt = tensorType(op.getLhs()), rt = tensorType(op.getRhs());
  bool plain = weightOf(op.getRhs()) && rt.getRank() == 2 && op.getLhsBatch().empty() &&
               op.getRhsContract().size() == 1 && op.getLhsContract()[0] == lt.getRank() - 1;
  Type result = tensorType(op.getResult()).getElementType();
  if (!plain || !packable(lt.getElementType(), rt.getElementType(), result))
    return;
  int64_t kAxis = op.getRhsContract()[0], nAxis = 1 - kAxis;
  int64_t n = rt.getDimSize(nAxis), k = rt.getDimSize(kAxis);
  if (n == 0 || k == 0)
    return;
  ByteSteps bytes;
  if (areBytes(lt.getElementType(), rt.getElementType(), result) &&
      !lt.isDynamicDim(lt.getRank() - 1))
    bytes = byteSteps(cpu, lt.getElementType().isUnsignedInteger(),
                      rt.getElementType().isUnsignedInteger());
  PanelShape shape = packedPanels(cpu, 1, n, k, accumulatorBits(result), bytes);
  op.getRhsMutable().assign(panels(op.getRhs(), shape, kAxis, nAxis));
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
  auto xt = tensorType(op.getX()), wt = tensorType(op.getW());
  int64_t spatial = op.getStrides().size(), groups = op.getGroups();
  Type result = tensorType(op.getResult()).getElementType();
  if (!weightOf(op.getW()) || !op.getChannelsLast() || spatial < 1 || spatial > 3 ||
      xt.isDynamicDim(xt.getRank() - 1) ||
      llvm::any_of(op.getInputDilation(), [](int64_t d) { return d != 1; }) ||
      !packable(xt.getElementType(), wt.getElementType(), result) || wt.getNumElements() == 0)
    return;
  if (prefersTiles(op, cpu))
    return op.getWMutable().assign(tiles(op.getW()));
  ConvExtents extents{groups, wt.getDimSize(0) / groups, wt.getDimSize(1), 1};
  SmallVector<int64_t> k;
  for (int64_t axis = 2; axis < wt.getRank(); ++axis) {
    extents.taps *= wt.getDimSize(axis);
    k.push_back(axis);
  }
  k.push_back(1);
  ByteSteps bytes;
  if (areBytes(xt.getElementType(), wt.getElementType(), result))
    bytes = convByteSteps(cpu, extents, xt.getElementType().isUnsignedInteger(),
                          wt.getElementType().isUnsignedInteger());
  PanelShape shape = convPanels(cpu, extents, accumulatorBits(result), bytes);
  op.getWMutable().assign(panels(op.getW(), shape, k, 0));
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
