#include "Plan/KernelTable.h"
#include "mlir/IR/Builders.h"
#include "tcc/Dialect/Kernel/KernelText.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::plan;

/// A kernel of this launch alone; an operand passed twice is two arguments.
static host::KernelOp outlined(kernel::LaunchOp launch, StringRef name, OpBuilder b) {
  auto kernel = host::KernelOp::create(b, launch.getLoc(), name);
  Block &block = kernel.getBody().emplaceBlock();
  for (Value operand : launch->getOperands())
    block.addArgument(operand.getType(), launch.getLoc());
  b.setInsertionPointToStart(&block);
  auto copy = cast<kernel::LaunchOp>(b.clone(*launch));
  kernel.setOnHost(bool(copy.removeOnHostAttr()));
  copy->setOperands(block.getArguments());
  host::YieldOp::create(b, launch.getLoc(), copy.getResults());
  return kernel;
}

host::KernelOp KernelTable::kernelOf(kernel::LaunchOp launch) {
  host::KernelOp &known = kernels[kernel::textOf(launch)]; // whose schedule tells the side
  if (!known) {
    std::string name = ("k" + llvm::Twine(kernels.size() - 1) + "_" + launch.getName()).str();
    known = outlined(launch, name, OpBuilder::atBlockEnd(module.getBody()));
  }
  return known;
}
