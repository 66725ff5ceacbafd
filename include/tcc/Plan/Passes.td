//===- Passes.td - The pass of the plan phase -*- tablegen -*-===//
#ifndef TCC_PLAN_PASSES_TD
#define TCC_PLAN_PASSES_TD
include "tcc/Dialect/PassBase.td"

def PlanMemoryPass : Tcc_Pass<"tcc-plan-memory"> {
  let summary = "Give every result its memory, and make the program that a run follows";
  let description = [{
    Before it the model is values, after it memory. Where each result lies is decided once, and the
    program that says so is all that code generation, the reports and the runtime go by.

    ```mlir before
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8xf32> {
      %0 = kernel.launch loop "neg" ins(%x : tensor<8x64xf32>) sizes() {
      ^bb0(%a: tensor<8x64xf32>):
        %2 = prim.neg %a : (tensor<8x64xf32>) -> tensor<8x64xf32>
        kernel.yield %2 : tensor<8x64xf32>
      } -> tensor<8x64xf32>
      %1 = kernel.launch row[1] "sum" ins(%0 : tensor<8x64xf32>) sizes() {
      ^bb0(%a: tensor<8x64xf32>):
        %2 = prim.reduce sum %a [1] : (tensor<8x64xf32>) -> tensor<8xf32>
        kernel.yield %2 : tensor<8xf32>
      } -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
    ```mlir after
    func.func @main(%arg0: memref<8x64xf32>) -> memref<8xf32> {
      %0 = host.arena 2048 : !host.arena
      %1 = host.slice %0[0] sizes() : !host.arena -> memref<8x64xf32>
      host.launch @k0_neg ins(%arg0 : memref<8x64xf32>) outs(%1 : memref<8x64xf32>)
      %2 = host.output 0 sizes() : memref<8xf32>
      host.launch @k1_sum ins(%1 : memref<8x64xf32>) outs(%2 : memref<8xf32>)
      return %2 : memref<8xf32>
    }
    host.kernel @k0_neg {
    ^bb0(%arg0: tensor<8x64xf32>):
      %0 = kernel.launch loop "neg" ins(%arg0 : tensor<8x64xf32>) sizes() {
      ^bb0(%arg1: tensor<8x64xf32>):
        %1 = prim.neg %arg1 : (tensor<8x64xf32>) -> tensor<8x64xf32>
        kernel.yield %1 : tensor<8x64xf32>
      } -> tensor<8x64xf32>
      host.yield %0 : tensor<8x64xf32>
    }
    host.kernel @k1_sum {
    ^bb0(%arg0: tensor<8x64xf32>):
      %0 = kernel.launch row[1] "sum" ins(%arg0 : tensor<8x64xf32>) sizes() {
      ^bb0(%arg1: tensor<8x64xf32>):
        %1 = prim.reduce  sum %arg1 [1] : (tensor<8x64xf32>) -> tensor<8xf32>
        kernel.yield %1 : tensor<8xf32>
      } -> tensor<8xf32>
      host.yield %0 : tensor<8xf32>
    }
    ```

    Runs after fusion, since what runs as one kernel needs no memory in between, and after
    tcc-schedule-kernels, since launches with different schedules are different kernels.
  }];
  let dependentDialects = ["::tcc::host::HostDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"inPlace", "in-place", "bool", "true", "results may lie where an input of their kernel dies">,
    Option<"onDevice", "device", "bool", "false", "tensors of launches lie on a device">
  ];
}
#endif
