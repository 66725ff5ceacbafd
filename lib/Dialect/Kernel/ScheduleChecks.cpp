#include "tcc/Dialect/Kernel/ScheduleChecks.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::kernel;

LogicalResult kernel::verifySizes(llvm::function_ref<InFlightDiagnostic()> emitError,
                                  std::initializer_list<ScheduleSize> sizes) {
  for (const ScheduleSize &size : sizes) {
    if (size.value < size.least)
      return emitError() << size.name << " is " << size.value << ", at least " << size.least;
    if (size.value > size.most)
      return emitError() << size.name << " is " << size.value << ", at most " << size.most;
  }
  return success();
}

LogicalResult kernel::verifyKind(LaunchOp launch, StringRef schedule,
                                 llvm::ArrayRef<KernelKind> kinds) {
  if (llvm::is_contained(kinds, launch.getKind()))
    return success();
  return launch.emitOpError("of kind '")
         << stringifyKernelKind(launch.getKind()) << "' cannot run by "
         << (schedule.starts_with("a") ? "an " : "a ") << schedule;
}
