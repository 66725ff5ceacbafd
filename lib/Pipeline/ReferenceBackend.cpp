//===- ReferenceBackend.cpp - Kernels run by the interpreter --------------===//
//
// An oracle for all but the kernels' code: weights, schedules and therefore fusion's result, the
// plan and the host program are those of the CPU's back-end, and so are the
// runtime and the file; a kernel's code is its own text, which the reference interpreter runs
// (lib/Runtime/Interpreter.h). Outputs that are wrong with one and right with the other are
// a kernel's fault; those that are wrong with both are not.
//
//===----------------------------------------------------------------------===//
#include "Backends.h"
#include "tcc/Dialect/Kernel/KernelText.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/Error.h"

using namespace mlir;
using namespace tcc;

namespace {

class InterpretedLaunches final : public codegen::LaunchEmitter {
public:
  void emit(codegen::HostCode &code, const codegen::LaunchSite &site) override {
    Value words = code.onStack(site.words);
    code.callVoid("tcc_rt_interpret", {code.frame, code.constant(site.kernel), words});
  }
};

class ReferenceBackend final : public Backend {
public:
  explicit ReferenceBackend(std::unique_ptr<Backend> imitated)
      : Backend(imitated->target()), imitated(std::move(imitated)) {}

  StringRef name() const override { return "reference"; }
  llvm::Error accepts(kernel::LaunchOp launch) const override;
  void addDecomposePasses(OpPassManager &passes, WeightTable &weights) const override {
    imitated->addDecomposePasses(passes, weights);
  }
  void addIntegerWeightPasses(OpPassManager &passes, WeightTable &weights) const override {
    imitated->addIntegerWeightPasses(passes, weights);
  }
  void addAxisOrderPasses(OpPassManager &passes, Precision asked) const override {
    imitated->addAxisOrderPasses(passes, asked);
  }
  void addLayoutPasses(OpPassManager &passes, WeightTable &weights,
                       const LayoutChooser &chooser) const override {
    imitated->addLayoutPasses(passes, weights, chooser);
  }
  void addSchedulePasses(OpPassManager &passes) const override {
    imitated->addSchedulePasses(passes);
  }
  const ScheduleModel &schedules() const override { return imitated->schedules(); }
  std::unique_ptr<codegen::LaunchEmitter> launchEmitter() const override {
    return std::make_unique<InterpretedLaunches>();
  }
  llvm::Expected<KernelCode> compile(const KernelSource &kernel) const override;
  std::string key(unsigned) const override { return ""; }
  std::string tuningKey() const override { return imitated->tuningKey(); }

private:
  std::unique_ptr<Backend> imitated;
};

} // namespace

llvm::Error ReferenceBackend::accepts(kernel::LaunchOp launch) const {
  Operation *unknown = nullptr;
  launch.getBody().walk([&](Operation *op) {
    if (!isa<kernel::YieldOp>(op) && !reference::isEvaluable(op->getName()))
      unknown = op;
  });
  return unknown ? userError("the reference interpreter does not know '" +
                             unknown->getName().getStringRef() + "'")
                 : llvm::Error::success();
}

llvm::Expected<KernelCode> ReferenceBackend::compile(const KernelSource &kernel) const {
  std::string text = kernel::textOf(kernel.launch);
  KernelCode code;
  code.push_back({CodeKind::Text, "", {text.begin(), text.end()}, {}});
  return code;
}

llvm::Expected<std::unique_ptr<Backend>> tcc::createReferenceBackend(const Target &target) {
  if (!target.devices.empty())
    return userError("--backend reference runs kernels in the host's memory: leave out --arch");
  auto imitated = createCpuBackend(target);
  if (!imitated)
    return imitated.takeError();
  return std::make_unique<ReferenceBackend>(std::move(*imitated));
}
