//===- CpuBase.td - The cpu dialect -*- tablegen -*-===//
#ifndef TCC_DIALECT_CPU_BASE_TD
#define TCC_DIALECT_CPU_BASE_TD
include "mlir/IR/AttrTypeBase.td"

def Cpu_Dialect : Dialect {
  let name = "cpu";
  let cppNamespace = "::tcc::cpu";
  let useDefaultAttributePrinterParser = 1;
  let summary = "What layout and code generation of CPUs agree on";
  let description = [{
    The layouts of weights that the CPU's kernels read, as encodings of tensor types: layout
    chooses and packs, code generation reads, and every other phase asks `prim::StorageLayout`.
    And the schedules of launches, which `kernel.launch` holds.
  }];
}

class Cpu_DefaultInt<string value> : DefaultValuedParameter<"int64_t", value>;
#endif
