//===- KernelOps.td - Groups of primitives that run as one loop nest -*- tablegen -*-===//
#ifndef TCC_DIALECT_KERNEL_OPS_TD
#define TCC_DIALECT_KERNEL_OPS_TD
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tcc/Dialect/Kernel/KernelBase.td"
include "tcc/Dialect/Kernel/OnHost.td"
include "tcc/Dialect/Kernel/Schedule.td"

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_KernelKind : I32EnumAttr<"KernelKind", "the loop nest that a kernel needs", [
  I32EnumAttrCase<"Loop", 0, "loop">, I32EnumAttrCase<"Row", 1, "row">,
  I32EnumAttrCase<"Contraction", 2, "contraction">,
  I32EnumAttrCase<"Convolution", 3, "convolution">, I32EnumAttrCase<"Special", 4, "special">,
  I32EnumAttrCase<"Attention", 5, "attention">]> {
  let cppNamespace = "::tcc::kernel";
  let genSpecializedAttr = 0;
}
def Kernel_KernelKindAttr : EnumAttr<Kernel_Dialect, Kernel_KernelKind, "kind">;

def Kernel_Place : I32EnumAttr<"Place", "the side of a machine with a device that has a tensor",
                               [I32EnumAttrCase<"Host", 0, "host">, I32EnumAttrCase<"Device", 1, "device">]> {
  let cppNamespace = "::tcc::kernel";
  let genSpecializedAttr = 0;
}
def Kernel_PlaceAttr : EnumAttr<Kernel_Dialect, Kernel_Place, "place">;

def Kernel_LaunchOp : Kernel_Op<"launch", [Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
                                           DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "one kernel: memory in, memory out, everything between in registers";
  let description = [{
    `inputs` are tensors in memory and host scalars; the region's arguments stand
    for them in order. What the region yields is written to memory. `sizes` gives
    the dims of all results that are `?`, result by result.

    `kind` says what the region is made of, and so which loop nest it needs:

    | kind | region |
    |---|---|
    | `loop` | one value at a point of the results, which have one shape; behind them may be whether anything that is read is bad, a reduction to one truth value |
    | `row` | the first `rows` axes are rows; each is reduced along the axes after them, or along those before a last one of a few points |
    | `contraction` | a matrix product and what is computed from each of its elements |
    | `convolution` | the same of a convolution |
    | `special` | one operator with an algorithm of its own: sort, scatter, scan |
    | `attention` | a product, the softmax of what is computed from its elements, a product with the weights that gives, and what is computed from each element of that |

    `schedule` says how the target runs it; the schedule phase gives it to every launch. Of a model for
    a device, a launch that has `on_host` runs on the host, and what it reads and gives lies there. A
    `prim.while` or `prim.if` says which of its tensors do by `kernel.on_host = array<i64: ...>`, an
    argument of the model by `kernel.on_host`.

    ```mlir
    %y = kernel.launch loop "relu" ins(%x : tensor<8xf32>) sizes() {
    ^bb0(%a: tensor<8xf32>):
      ...
      kernel.yield %b : tensor<8xf32>
    } -> tensor<8xf32>
    %s = kernel.launch row[1] "softmax" ins(%y : tensor<4x8xf32>) sizes() { ... } -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Kernel_KernelKindAttr:$kind, OptionalAttr<I64Attr>:$rows, StrAttr:$name,
                       OptionalAttr<Kernel_Schedule>:$schedule, OptionalAttr<Kernel_OnHostAttr>:$on_host,
                       Variadic<AnyType>:$inputs, Variadic<Index>:$sizes);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    custom<Kind>($kind) (`` `[` $rows^ `]`)? $name `ins` `(` ($inputs^ `:` type($inputs))? `)` `sizes` `(` $sizes `)` $body attr-dict
    `->` type($results)
  }];
  let hasVerifier = 1;
}

def Kernel_MoveOp : Kernel_Op<"move", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "a tensor on the other side of a machine with a device";
  let description = [{
    To the host it waits for all that was started before; weights and constants lie on both sides.

    ```mlir
    %y = kernel.move %x to host : tensor<?xi64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, Kernel_PlaceAttr:$place);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `to` $place attr-dict `:` type($x)";
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, HasParent<"LaunchOp">]> {
  let summary = "the values that a kernel writes to memory";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}
#endif
