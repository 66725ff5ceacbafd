#include "Backends.h"
#include "mlir/Pass/PassManager.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tcc;

static constexpr BackendKind kKinds[] = {
    {"cpu", "code for the CPU of the target, x86-64 or AArch64", createCpuBackend},
    {"cuda", "code for the NVIDIA GPUs that --arch names", createGpuBackend},
    {"reference", "the reference interpreter, within the plan of the CPU's back-end",
     createReferenceBackend}};

Backend::~Backend() = default;

void Backend::addAxisOrderPasses(mlir::OpPassManager &passes, Precision) const {
  passes.addPass(createChannelsLastPass(0, 0));
}

ArrayRef<BackendKind> tcc::backendKinds() { return kKinds; }

/// The back-end whose code is for the whole of the target.
static StringRef ownBackend(const Target &target) {
  return target.devices.empty() ? "cpu" : "cuda";
}

Expected<std::unique_ptr<Backend>> tcc::createBackend(StringRef name, const Target &target) {
  if (name == kOwnBackend)
    name = ownBackend(target);
  for (const BackendKind &kind : kKinds)
    if (kind.name == name)
      return kind.create(target);
  return userError("--backend '" + printable(name) + "' is unknown (see --list-backends)");
}

static bool holdsComplex(mlir::Type type) {
  auto tensor = dyn_cast<mlir::RankedTensorType>(type);
  return tensor && isa<mlir::ComplexType>(tensor.getElementType());
}

Error tcc::acceptsElements(kernel::LaunchOp launch) {
  mlir::WalkResult found = launch.walk([](mlir::Operation *op) {
    return any_of(op->getOperandTypes(), holdsComplex) || any_of(op->getResultTypes(), holdsComplex)
               ? mlir::WalkResult::interrupt()
               : mlir::WalkResult::advance();
  });
  return found.wasInterrupted() ? userError("no code is generated for complex numbers yet")
                                : Error::success();
}
