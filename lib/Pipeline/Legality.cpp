#include "Legality.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;

/// Primitives that stay outside of kernels.
static bool staysOnHost(Operation *op) {
  return op->hasTrait<prim::HostOperator>() || isa<prim::ConstantOp, prim::ReshapeOp>(op);
}

/// Whether the bytes of a tensor of known extents have no 64-bit count.
static bool overflows(Type type) {
  auto tensor = dyn_cast<ShapedType>(type);
  if (!tensor || !tensor.hasStaticShape() || llvm::is_contained(tensor.getShape(), 0))
    return false;
  constexpr int64_t kMaxElementBytes = 16;
  int64_t bytes = kMaxElementBytes;
  return llvm::any_of(tensor.getShape(),
                      [&](int64_t d) { return llvm::MulOverflow(bytes, d, bytes); });
}

/// Whether a run can take or give it: a tensor, after the plan phase memory, of known element type.
static bool isPortType(Type type, Phase phase) {
  auto shaped = dyn_cast<ShapedType>(type);
  bool isKind = phase >= Phase::Plan ? isa<MemRefType>(type) : isa<RankedTensorType>(type);
  return (isKind || (phase == Phase::Import && isa<UnrankedTensorType>(type))) &&
         prim::dtypeOf(shaped.getElementType()) && !overflows(type);
}

LogicalResult tcc::mayFollow(const Model &model, Phase phase) {
  func::FuncOp main = model.main();
  auto isPort = [&](Type type) { return isPortType(type, phase); };
  if (!llvm::all_of(main.getArgumentTypes(), isPort) ||
      !llvm::all_of(main.getResultTypes(), isPort))
    return main.emitError("after phase '")
           << phaseName(phase) << "' a model takes and gives no " << main.getFunctionType();
  return verifyPhase(*model.module, phase);
}

LogicalResult tcc::verifyPhase(ModuleOp module, Phase phase) {
  if (failed(verify(module)))
    return failure();
  auto result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool graph = isa<graph::GraphDialect>(op->getDialect());
    bool kernel = isa<kernel::KernelDialect>(op->getDialect());
    bool prim = isa<prim::PrimDialect>(op->getDialect());
    bool host = isa<host::HostDialect>(op->getDialect());
    bool legal = phase >= Phase::Plan || !host;
    legal &= !isa<func::CallOp>(op); // decompose inlines functions, and makes none
    if (phase >= Phase::Decompose)
      legal &= !graph;
    else // nodes are as the file has them
      legal &= !prim;
    if (phase < Phase::Fuse)
      legal &= !kernel;
    else if (phase < Phase::Plan)
      legal &= !prim || staysOnHost(op);
    else // values became memory, and launches name their kernels
      legal &= !prim && (!kernel || isa<host::KernelOp>(op->getParentOp()));
    if (!legal) {
      op->emitError("'") << op->getName() << "' may not exist after phase '" << phaseName(phase)
                         << "'";
      return WalkResult::interrupt();
    }
    auto launch = dyn_cast<kernel::LaunchOp>(op);
    if (phase >= Phase::Schedule && launch && !launch.getScheduleAttr()) {
      op->emitError("kernel '") << launch.getName() << "' has no schedule after phase '"
                                << phaseName(phase) << "'";
      return WalkResult::interrupt();
    }
    if (phase == Phase::Decompose && llvm::any_of(op->getResultTypes(), overflows)) {
      op->emitError("a result has a shape whose size overflows");
      return WalkResult::interrupt();
    }
    return kernel ? WalkResult::skip() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
