// torch's prims with names of their own for ATen's arguments, and those that ATen lacks.
// RUN: tcc-opt %s -split-input-file -verify-diagnostics -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @moved
// CHECK: %[[T:.*]] = prim.transpose %arg0 [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
// CHECK: %[[R:.*]] = prim.reverse %[[T]] [0]
// CHECK: %[[C:.*]] = prim.reshape %[[R]] sizes() : (tensor<6x2xf32>) -> tensor<3x4xf32>
// CHECK: return %[[C]]
func.func @moved(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = graph.node "prims" "transpose.default"(%x) {attrs = {a = #graph.operand<0>, permutation = [1, 0]}} : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %1 = graph.node "prims" "copy_strided.default"(%0) {attrs = {a = #graph.operand<0>, stride = [2, 1]}} : (tensor<6x2xf32>) -> tensor<6x2xf32>
  %2 = graph.node "prims" "rev.default"(%1) {attrs = {a = #graph.operand<0>, dims = [0]}} : (tensor<6x2xf32>) -> tensor<6x2xf32>
  %3 = graph.node "prims" "split_dim.default"(%2) {attrs = {a = #graph.operand<0>, dim = 0, outer_length = 3}} : (tensor<6x2xf32>) -> tensor<3x2x2xf32>
  %4 = graph.node "prims" "collapse_view.default"(%3) {attrs = {a = #graph.operand<0>, start = 1, end = 2}} : (tensor<3x2x2xf32>) -> tensor<3x4xf32>
  return %4 : tensor<3x4xf32>
}

// Axes that are left out are of extent 1.
// CHECK-LABEL: func @repeated
// CHECK: prim.broadcast %{{.*}} -> tensor<2x4x3xf32>
func.func @repeated(%x: tensor<2x1xf32>) -> tensor<2x4x3xf32> {
  %0 = graph.node "prims" "broadcast_in_dim.default"(%x) {attrs = {a = #graph.operand<0>, shape = [2, 4, 3], broadcast_dimensions = [0, 2]}} : (tensor<2x1xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// CHECK-LABEL: func @summed
// CHECK: prim.reduce {{.*}}sum %arg0 [0]
func.func @summed(%x: tensor<2x6xf32>) -> tensor<6xf32> {
  %0 = graph.node "prims" "sum.default"(%x) {attrs = {inp = #graph.operand<0>, dims = [0]}} : (tensor<2x6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: func @counted
// CHECK: prim.constant dense<[3, 1, -1, -3, -5]>
func.func @counted() -> tensor<5xi64> {
  %0 = graph.node "prims" "iota.default"() {attrs = {length = 5, start = 3, step = -2}} : () -> tensor<5xi64>
  return %0 : tensor<5xi64>
}

// CHECK-LABEL: func @drawn
// CHECK: prim.random_bits
// CHECK: prim.random_bits
func.func @drawn() -> (tensor<2x3xf32>, tensor<4xf64>) {
  %0 = graph.node "prims" "normal.default"() {attrs = {shape = [2, 3], mean = 1.0, std = 2.0}} : () -> tensor<2x3xf32>
  %1 = graph.node "prims" "uniform.default"() {attrs = {shape = [4], low = -1.0, high = 3.0, stride = [1]}} : () -> tensor<4xf64>
  return %0, %1 : tensor<2x3xf32>, tensor<4xf64>
}

// CHECK-LABEL: func @number
// CHECK: prim.reshape %arg0 {{.*}}: (tensor<1x1xf32>) -> tensor<f32>
func.func @number(%x: tensor<1x1xf32>) -> tensor<f32> {
  %0 = graph.node "prims" "item.default"(%x) {attrs = {a = #graph.operand<0>}} : (tensor<1x1xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @+1 {{prims.split_dim.default on (f32[6]): the extent is no multiple of outer_length}}
module {
  func.func @parts(%x: tensor<6xf32>) -> tensor<4x1xf32> {
    %0 = graph.node "prims" "split_dim.default"(%x) {attrs = {a = #graph.operand<0>, dim = 0, outer_length = 4}} : (tensor<6xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
}

// -----

// expected-error @+1 {{prims.broadcast_in_dim.default on (f32[2x3]): the places of the axes do not rise within the shape}}
module {
  func.func @turned(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
    %0 = graph.node "prims" "broadcast_in_dim.default"(%x) {attrs = {a = #graph.operand<0>, shape = [3, 2], broadcast_dimensions = [1, 0]}} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}
