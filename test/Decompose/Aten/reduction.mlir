// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// A sum of bools counts.
// CHECK-LABEL: func @count
// CHECK: %[[V0:.*]] = prim.cast %arg0 : (tensor<2x8xi1>) -> tensor<2x8xi64>
// CHECK: %[[V1:.*]] = prim.reduce  sum %[[V0]] [1] : (tensor<2x8xi64>) -> tensor<2xi64>
// CHECK: return %[[V1]] : tensor<2xi64>
func.func @count(%x: tensor<2x8xi1>) -> tensor<2xi64> {
  %0 = graph.node "aten" "sum.dim_IntList"(%x) {attrs = {dim = [1], keepdim = false, self = #graph.operand<0>}} : (tensor<2x8xi1>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
