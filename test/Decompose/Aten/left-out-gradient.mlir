// A gradient that a mask leaves out has no type: what the others are computed in is theirs, no f32 between.
// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @filters_and_bias
// CHECK-NOT: f32
// CHECK: prim.dot %{{.*}} -> tensor<1x4x2xf64>
// CHECK-NOT: f32
// CHECK: prim.reduce sum %arg0 [0, 2] : (tensor<3x4x6xf64>) -> tensor<4xf64>
// CHECK-NOT: f32
// CHECK: return
func.func @filters_and_bias(%g: tensor<3x4x6xf64>, %x: tensor<3x2x8xf64>, %w: tensor<4x2x3xf64>) -> (tensor<4x2x3xf64>, tensor<4xf64>) {
  %0:3 = graph.node "aten" "convolution_backward.default"(%g, %x, %w) {attrs = {grad_output = #graph.operand<0>, input = #graph.operand<1>, weight = #graph.operand<2>, groups = 1, output_mask = [false, true, true]}, outs = ["", "w", "b"]} : (tensor<3x4x6xf64>, tensor<3x2x8xf64>, tensor<4x2x3xf64>) -> (none, tensor<4x2x3xf64>, tensor<4xf64>)
  return %0#1, %0#2 : tensor<4x2x3xf64>, tensor<4xf64>
}
