//===- KernelOps.td - Groups of primitives that run as one loop nest -*- tablegen -*-===//
#ifndef TCC_DIALECT_KERNEL_OPS_TD
#define TCC_DIALECT_KERNEL_OPS_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::tcc::kernel";
  let summary = "What runs as one loop nest";
  let description = [{
    Given by the fuse phase: `kernel.launch` holds the primitives of one kernel.
    Between launches stay only host arithmetic on extents, control flow, and
    reshapes, which cost nothing.
  }];
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_LaunchOp : Kernel_Op<"launch", [Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
                                           DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "one kernel: memory in, memory out, everything between in registers";
  let description = [{
    `inputs` are tensors in memory and host scalars; the region's arguments stand
    for them in order. What the region yields is written to memory. `sizes` gives
    the dims of all results that are `?`, result by result.

    ```mlir
    %y = kernel.launch "relu" ins(%x : tensor<8xf32>) sizes() {
    ^bb0(%a: tensor<8xf32>):
      ...
      kernel.yield %b : tensor<8xf32>
    } -> tensor<8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$inputs, Variadic<Index>:$sizes);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `ins` `(` ($inputs^ `:` type($inputs))? `)` `sizes` `(` $sizes `)` $body attr-dict
    `->` type($results)
  }];
  let hasVerifier = 1;
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, HasParent<"LaunchOp">]> {
  let summary = "the values that a kernel writes to memory";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}
#endif
