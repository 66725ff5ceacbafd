//===- KernelBase.td - The kernel dialect -*- tablegen -*-===//
#ifndef TCC_DIALECT_KERNEL_BASE_TD
#define TCC_DIALECT_KERNEL_BASE_TD
include "mlir/IR/OpBase.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::tcc::kernel";
  let useDefaultAttributePrinterParser = 1;
  let summary = "What runs as one loop nest";
  let description = [{
    Given by the fuse phase: `kernel.launch` holds the primitives of one kernel. The
    schedule phase adds how it is run.
    Between launches stay only host arithmetic on extents, control flow, and
    reshapes, which cost nothing.
  }];
}
#endif
