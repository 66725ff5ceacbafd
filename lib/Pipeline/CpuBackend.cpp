//===- CpuBackend.cpp - Kernels as code for the host's CPU ----------------===//
//
// x86 and Arm alike: what differs is data of CpuTarget.
//
//===----------------------------------------------------------------------===//
#include "Backends.h"
#include "HostObject.h"
#include "tcc/Codegen/Cpu/CpuLaunch.h"
#include "tcc/Codegen/Cpu/ScheduleModel.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Simplify/Simplify.h"
#include "tcc/Support/Error.h"

using namespace mlir;
using namespace tcc;

namespace {

class CpuBackend final : public Backend {
public:
  explicit CpuBackend(const Target &target) : Backend(target), model(target.host) {}

  StringRef name() const override { return "cpu"; }
  llvm::Error accepts(kernel::LaunchOp launch) const override { return acceptsElements(launch); }
  void addDecomposePasses(OpPassManager &passes, WeightTable &weights) const override {
    passes.addPass(createFourierLinesPass(&weights, {16384, 1024, target().host.lanes(32)}));
    passes.addPass(createWideSumsPass());
  }
  void addIntegerWeightPasses(OpPassManager &passes, WeightTable &weights) const override {
    if (target().host.byteDot != ByteDot::None)
      passes.addPass(
          createIntegerProductsPass(&weights, {[this](Operation *op) { return prefersFloats(op); },
                                               [this](Operation *op) { return widensRows(op); }}));
    passes.addPass(createIntegerWeightsPass(&weights));
    passes.addPass(createGroupedWeightsPass(&weights, &target().host));
  }
  void addAxisOrderPasses(OpPassManager &passes, Precision asked) const override {
    bool keepsNarrow = asked == Precision::BF16 || asked == Precision::F16;
    passes.addPass(createOrientProductsPass(&target().host, keepsNarrow, shortestLine()));
    passes.addPass(createChannelsLastPass(shortestLine(), 0));
  }
  void addLayoutPasses(OpPassManager &passes, WeightTable &weights,
                       const LayoutChooser &chooser) const override {
    passes.addPass(createPackWeightsPass(&weights, &target().host, chooser));
    passes.addPass(createWidenBytesPass(&target().host));
    passes.addPass(createVectorProductsPass({&target().host}));
    passes.addPass(createSeparatePoolsPass());
    passes.addPass(createSplitReductionsPass());
    passes.addPass(createOrderStatisticsPass());
  }
  const ScheduleModel &schedules() const override { return model; }
  std::unique_ptr<codegen::LaunchEmitter> launchEmitter() const override {
    return std::make_unique<codegen::CpuLaunchEmitter>(target().host);
  }
  llvm::Expected<KernelCode> compile(const KernelSource &kernel) const override;
  std::string key(unsigned) const override { return target().host.key(); }
  std::string tuningKey() const override { return target().host.key(); }

private:
  /// Of planes in which a filter of a channel is faster than transposed: as measured with vectors
  /// of 8, and two vectors of more.
  int64_t shortestLine() const {
    constexpr int64_t kMeasured = 12, kMeasuredLanes = 8;
    int64_t lanes = target().host.lanes(32);
    return lanes > kMeasuredLanes ? 2 * lanes : kMeasured;
  }

  /// Where bytes are multiplied in pairs: tiles (Winograd) of floats take fewer products where
  /// their weights are read for many pixels, and few terms are copied lines of floats.
  bool prefersFloats(Operation *op) const;
  /// Pairs of what a run brings on both sides, whose rows lie along what is summed.
  bool widensRows(Operation *op) const;

  codegen::CpuScheduleModel model;
};

} // namespace

bool CpuBackend::prefersFloats(Operation *op) const {
  if (target().host.byteDot != ByteDot::Pairs)
    return false;
  auto conv = dyn_cast<prim::ConvOp>(op);
  if (!conv)
    return false;
  auto w = tensorType(conv.getW()), result = tensorType(conv.getResult());
  if (!w.hasStaticShape() || w.getNumElements() == 0)
    return false;
  constexpr int64_t fewTerms = 64, fewPixels = 14 * 14, fewChannels = 8;
  if (conv.getGroups() != 1) // depthwise ones have lanes of their own
    return w.getDimSize(1) > 1 && w.getDimSize(1) < fewChannels;
  int64_t filters = w.getDimSize(0), terms = w.getNumElements() / filters;
  if (terms < fewTerms && gathersTaps({1, filters, w.getDimSize(1), terms / w.getDimSize(1)}))
    return true;
  auto ones = [](ArrayRef<int64_t> list) {
    return llvm::all_of(list, [](int64_t v) { return v == 1; });
  };
  bool isSmall = result.hasStaticShape() &&
                 result.getNumElements() / std::max<int64_t>(1, filters) < fewPixels;
  return w.getShape().drop_front(2) == ArrayRef<int64_t>{3, 3} && ones(conv.getStrides()) &&
         ones(conv.getDilations()) && !isSmall;
}

bool CpuBackend::widensRows(Operation *op) const {
  auto dot = cast<prim::DotOp>(op);
  return target().host.byteDot == ByteDot::Pairs && !dot.getRhsBatch().empty() &&
         dot.getLhsContract().back() == tensorType(dot.getLhs()).getRank() - 1;
}

llvm::Expected<KernelCode> CpuBackend::compile(const KernelSource &kernel) const {
  const CpuTarget &cpu = target().host;
  kernel::LaunchOp launch = kernel.launch;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(launch.getContext()));
  if (!codegen::emitKernel(launch, *module, kernel.symbol, cpu))
    return llvm::createStringError("no code");
  HostObject object(*module, kernel.symbol, kernel.symbol, cpu, kernel.observer);
  if (failed(object.lower()))
    return llvm::createStringError("lowering failed");
  auto bytes = object.emit(kernel.form);
  if (!bytes)
    return bytes.takeError();
  KernelCode code;
  code.push_back({CodeKind::HostObject, "", std::move(*bytes), {}});
  return code;
}

llvm::Expected<std::unique_ptr<Backend>> tcc::createCpuBackend(const Target &target) {
  if (!target.devices.empty())
    return userError("--backend cpu makes no code for the GPUs that --arch names");
  return std::make_unique<CpuBackend>(target);
}
