// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @views
// CHECK: %[[V0:.*]] = prim.reshape %arg0 sizes() : (tensor<2x6xf32>) -> tensor<4x3xf32>
// CHECK: %[[V1:.*]] = prim.transpose %[[V0]] [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V1]] : tensor<3x4xf32>
func.func @views(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = graph.node "aten" "view.default"(%x) {attrs = {self = #graph.operand<0>, size = [4, -1]}} : (tensor<2x6xf32>) -> tensor<4x3xf32>
  %1 = graph.node "aten" "permute.default"(%0) {attrs = {dims = [1, 0], self = #graph.operand<0>}} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func @expand
// CHECK: %[[V0:.*]] = prim.broadcast %arg0 axes [0, 1] sizes() : (tensor<1x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V0]] : tensor<3x4xf32>
func.func @expand(%x: tensor<1x4xf32>) -> tensor<3x4xf32> {
  %0 = graph.node "aten" "expand.default"(%x) {attrs = {self = #graph.operand<0>, size = [3, -1]}} : (tensor<1x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
