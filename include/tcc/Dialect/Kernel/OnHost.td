//===- OnHost.td - That a launch runs beside the device -*- tablegen -*-===//
#ifndef TCC_DIALECT_KERNEL_ONHOST_TD
#define TCC_DIALECT_KERNEL_ONHOST_TD
include "mlir/IR/AttrTypeBase.td"
include "tcc/Dialect/Kernel/KernelBase.td"

def Kernel_OnHostAttr : AttrDef<Kernel_Dialect, "OnHost"> {
  let mnemonic = "on_host";
  let summary = "nanoseconds that a launch takes on the host, where it runs, and would take on the device";
  let parameters = (ins "int64_t":$here, "int64_t":$device);
  let assemblyFormat = "`<` struct(params) `>`";
}
#endif
