// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @linear
// CHECK: %[[V0:.*]] = prim.transpose %arg1 [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:.*]] = prim.dot %arg0, %[[V0]] batch [] x [] contract [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V2:.*]] = prim.broadcast %arg2 axes [1] sizes() : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V3:.*]] = prim.add %[[V1]], %[[V2]] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: return %[[V3]] : tensor<2x4xf32>
func.func @linear(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = graph.node "aten" "linear.default"(%x, %w, %b) {attrs = {bias = #graph.operand<2>, input = #graph.operand<0>, weight = #graph.operand<1>}} : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func @addmm
// CHECK: %[[V0:.*]] = prim.dot %arg1, %arg2 batch [] x [] contract [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V1:.*]] = prim.broadcast %arg0 axes [1] sizes() : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V2:.*]] = prim.add %[[V0]], %[[V1]] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: return %[[V2]] : tensor<2x4xf32>
func.func @addmm(%b: tensor<4xf32>, %x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.node "aten" "addmm.default"(%b, %x, %w) {attrs = {mat1 = #graph.operand<1>, mat2 = #graph.operand<2>, self = #graph.operand<0>}} : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
