#include "tcc/Dialect/Kernel/KernelText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tcc;

std::string kernel::textOf(LaunchOp launch, bool withSchedule) {
  OpBuilder b(launch.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  SmallVector<Type> types(launch.getInputs().getTypes());
  types.append(launch.getSizes().getTypes().begin(), launch.getSizes().getTypes().end());
  auto function = func::FuncOp::create(b, b.getUnknownLoc(), "k", b.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  IRMapping map;
  for (auto [i, operand] : llvm::enumerate(launch->getOperands()))
    map.map(operand, block->getArgument(i));
  // An operand passed twice is two arguments.
  auto copy = cast<LaunchOp>(b.clone(*launch, map));
  copy->setOperands(block->getArguments());
  if (!withSchedule)
    copy.removeScheduleAttr();
  copy.removeOnHostAttr();
  copy.setName("k");
  func::ReturnOp::create(b, b.getUnknownLoc());
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.printGenericOpForm();
  module->print(os, flags);
  return text;
}
