// Products of 8-bit floats whose scales are of a whole operand, or of its rows and columns.
// RUN: tcc-opt %s -split-input-file -verify-diagnostics -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @lines
// CHECK: %[[X:.*]] = prim.cast %arg0 : (tensor<2x4xf8E4M3FN>) -> tensor<2x4xf32>
// CHECK: %[[Y:.*]] = prim.cast %arg1 : (tensor<4x3xf8E4M3FN>) -> tensor<4x3xf32>
// CHECK: %[[P:.*]] = prim.dot %[[X]], %[[Y]] {{.*}} -> tensor<2x3xf32>
// CHECK: %[[A:.*]] = prim.broadcast %arg2 axes [0, 1] {{.*}} -> tensor<2x3xf32>
// CHECK: %[[R:.*]] = prim.mul %[[P]], %[[A]]
// CHECK: %[[B:.*]] = prim.broadcast %arg3 axes [0, 1] {{.*}} -> tensor<2x3xf32>
// CHECK: prim.mul %[[R]], %[[B]]
func.func @lines(%x: tensor<2x4xf8E4M3FN>, %y: tensor<4x3xf8E4M3FN>, %a: tensor<2x1xf32>, %b: tensor<1x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.node "aten" "_scaled_mm_v2.default"(%x, %y, %a, %b) {attrs = {self = #graph.operand<0>, mat2 = #graph.operand<1>, scale_a = [#graph.operand<2>], recipe_a = [1], swizzle_a = [0], scale_b = [#graph.operand<3>], recipe_b = [1], swizzle_b = [0], contraction_dim = []}} : (tensor<2x4xf8E4M3FN>, tensor<4x3xf8E4M3FN>, tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// expected-error @+1 {{scales of blocks are not supported}}
module {
  func.func @blocks(%x: tensor<2x64xf8E4M3FN>, %y: tensor<64x3xf8E4M3FN>, %a: tensor<2x2xf32>, %b: tensor<3x2xf32>) -> tensor<2x3xf32> {
    %0 = graph.node "aten" "_scaled_mm_v2.default"(%x, %y, %a, %b) {attrs = {self = #graph.operand<0>, mat2 = #graph.operand<1>, scale_a = [#graph.operand<2>], recipe_a = [3], swizzle_a = [0], scale_b = [#graph.operand<3>], recipe_b = [3], swizzle_b = [0]}} : (tensor<2x64xf8E4M3FN>, tensor<64x3xf8E4M3FN>, tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
