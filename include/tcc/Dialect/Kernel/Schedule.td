//===- Schedule.td - How a kernel is run on its target -*- tablegen -*-===//
//
// What the schedule phase writes on a launch and everything after reads. Here is what holds on
// any target: the question that each schedule answers. The schedules themselves belong to the
// dialects of those that know them, `#cpu...` (Dialect/Cpu/ScheduleAttrs.td) and `#gpu...`
// (Dialect/Gpu/GpuAttrs.td).
//
// Sizes are constants. Where an extent is open they hold for whatever it is: the number
// of tasks or blocks is a formula over the extents of a run, with these sizes in it. Or a launch
// has several schedules, of which each run takes one (`#kernel.by_size`).
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

def Kernel_BySizeAttr : Kernel_ScheduleAttr<Kernel_Dialect, "BySize", "by_size"> {
  let summary = "schedules of which each run takes one, by the size of what the launch makes";
  let description = [{
    `small` holds for runs in which the first result has fewer than `below` elements, `large` for all
    others. The plan makes two kernels of the launch, and the host program starts one of them. `large`
    may tell sizes apart itself, from `below` on: then there are three kernels, or more.

        #kernel.by_size<small = #gpu.schedules<...>, below = 786432, large = #gpu.schedules<...>>

    With `largest = true` what counts is the largest tensor that the launch reads or makes. Its `small`
    may tell apart what is made.
  }];
  let parameters = (ins "::tcc::kernel::Schedule":$small, "int64_t":$below,
                        "::tcc::kernel::Schedule":$large, DefaultValuedParameter<"bool", "false">:$largest);
  let assemblyFormat = "`<` struct(params) `>`";
}
#endif
