//===- Passes.td - The pass of the decompose phase -*- tablegen -*-===//
#ifndef TCC_DECOMPOSE_PASSES_TD
#define TCC_DECOMPOSE_PASSES_TD
include "tcc/Dialect/PassBase.td"

def DecomposeNodesPass : Tcc_Pass<"tcc-decompose-nodes"> {
  let summary = "Give every node its rule's primitives";
  let description = [{
    A file's operators are many, differ from format to format and version to version, and broadcast
    as they like; primitives are few and say everything. A node without a rule, or whose rule
    refuses it, is named in one error with all others. Small weights become constants, whose
    elements rules can look at.

    ```mlir before
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
      %0 = graph.node "onnx" "Relu"(%x) {version = 14 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = graph.node "onnx" "Add"(%0, %y) {version = 14 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
    ```
    ```mlir after -cse
    func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) -> tensor<2x3xf32> {
      %0 = prim.constant dense<0.000000e+00> : tensor<2x3xf32>
      %1 = prim.maximum %arg0, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %2 = prim.broadcast %arg1 axes [1] sizes() : (tensor<3xf32>) -> tensor<2x3xf32>
      %3 = prim.add %1, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      return %3 : tensor<2x3xf32>
    }
    ```

    Runs first, on what import gives, and before everything else, which knows primitives only.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}
#endif
