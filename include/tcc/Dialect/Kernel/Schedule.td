//===- Schedule.td - How a kernel is run on its target -*- tablegen -*-===//
//
// What the schedule phase writes on a launch and everything after reads. Here is what holds on
// any target: the question that each schedule answers. The schedules themselves belong to the
// dialects of those that know them, `#cpu...` (Dialect/Cpu/ScheduleAttrs.td) and `#gpu...`
// (Dialect/Gpu/GpuAttrs.td).
//
// Sizes are constants. Where an extent is open they hold for whatever it is: the number
// of tasks or blocks is a formula over the extents of a run, with these sizes in it.
//
//===----------------------------------------------------------------------===//
#ifndef TCC_DIALECT_KERNEL_SCHEDULE_TD
#define TCC_DIALECT_KERNEL_SCHEDULE_TD
include "mlir/IR/AttrTypeBase.td"
include "tcc/Dialect/Kernel/KernelBase.td"

def Kernel_Schedule : AttrInterface<"Schedule"> {
  let cppNamespace = "::tcc::kernel";
  let description = [{How a launch is cut into tasks and what loops a task is.}];
  let methods = [
    InterfaceMethod<"Fails, with an error at the launch, where it cannot run so.",
                    "::llvm::LogicalResult", "verifyLaunch", (ins "::mlir::Operation *":$launch)>
  ];
}

/// A schedule of a target's own dialect.
class Kernel_ScheduleAttr<Dialect dialect, string name, string nameInText>
    : AttrDef<dialect, name, [DeclareAttrInterfaceMethods<Kernel_Schedule>]> {
  let mnemonic = nameInText;
  let genVerifyDecl = 1;
}
#endif
