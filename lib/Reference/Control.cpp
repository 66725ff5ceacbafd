#include "Reference/Interpreter.h"

using namespace mlir;

namespace tcc::reference {

llvm::Expected<Results> Interpreter::evaluateIf(prim::IfOp op, Operands operands) {
  bool condition = operands[0].integer(0) != 0;
  return run(condition ? op.getThenRegion() : op.getElseRegion(), {});
}

llvm::Expected<Results> Interpreter::evaluateWhile(prim::WhileOp op, Operands operands) {
  Results carried(operands);
  while (true) {
    for (auto [value, argument] : llvm::zip_equal(carried, op.getBody().getArguments()))
      if (llvm::Error error = checkType(value, argument.getType()))
        return atOp(op, std::move(error));
    llvm::Expected<Results> proceed = run(op.getCondition(), carried);
    if (!proceed)
      return proceed.takeError();
    if (proceed->front().integer(0) == 0)
      return carried;
    llvm::Expected<Results> next = run(op.getBody(), carried);
    if (!next)
      return next.takeError();
    carried = std::move(*next);
  }
}

} // namespace tcc::reference
