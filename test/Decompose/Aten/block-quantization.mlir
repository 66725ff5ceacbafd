// RUN: tcc-opt %s -split-input-file -verify-diagnostics -tcc-decompose-nodes -cse | FileCheck %s

// Each row is two groups of four, which have a scale each.
// CHECK-LABEL: func @groups
// CHECK: %[[X:.*]] = prim.reshape %arg0 {{.*}} -> tensor<3x2x4xi8>
// CHECK: %[[F:.*]] = prim.cast %[[X]] : (tensor<3x2x4xi8>) -> tensor<3x2x4xf32>
// CHECK: %[[S:.*]] = prim.reshape %arg1 {{.*}} -> tensor<3x2x1xf32>
// CHECK: %[[B:.*]] = prim.broadcast %[[S]] {{.*}} -> tensor<3x2x4xf32>
// CHECK: %[[Y:.*]] = prim.mul %[[F]], %[[B]]
// CHECK: %[[R:.*]] = prim.reshape %[[Y]] {{.*}} -> tensor<3x8xf32>
// CHECK: return %[[R]]
func.func @groups(%q: tensor<3x8xi8>, %s: tensor<3x2xf32>) -> tensor<3x8xf32> {
  %0 = graph.node "torchao" "dequantize_affine.default"(%q, %s) {attrs = {block_size = [1, 4], input = #graph.operand<0>, input_dtype = "i8", scale = #graph.operand<1>}} : (tensor<3x8xi8>, tensor<3x2xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// -----

// expected-error @+1 {{needs the size of a block along each axis}}
module {
  func.func @one_size(%q: tensor<3x8xi8>, %s: tensor<3x2xf32>) -> tensor<3x8xf32> {
    %0 = graph.node "torchao" "dequantize_affine.default"(%q, %s) {attrs = {block_size = [4], input = #graph.operand<0>, scale = #graph.operand<1>}} : (tensor<3x8xi8>, tensor<3x2xf32>) -> tensor<3x8xf32>
    return %0 : tensor<3x8xf32>
  }
}
