// RUN: tcc-opt %s -tcc-decompose-nodes | FileCheck %s

// The condition is a host value, and the branches read what is around them.
// CHECK-LABEL: func @branch
// CHECK: %[[C:.*]] = prim.extract %arg0[0] : (tensor<i1>) -> i1
// CHECK: %[[R:.*]] = prim.if %[[C]] {
// CHECK: %[[N:.*]] = prim.neg %arg1
// CHECK: prim.yield %[[N]]
// CHECK: } else {
// CHECK-NEXT: prim.yield %arg1
// CHECK: return %[[R]]
func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.node "onnx" "If"(%c) {regionNames = ["then_branch", "else_branch"], version = 19 : i64} : (tensor<i1>) -> tensor<4xf32> {
    %1 = graph.node "onnx" "Neg"(%x) {version = 13 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }, {
    graph.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
