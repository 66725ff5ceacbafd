// Until opset 8 a batch norm could hold statistics of each position: all of them are channels.
// RUN: tcc-opt %s -tcc-decompose-nodes -cse -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @positions
// CHECK: prim.reshape %arg0 sizes(%{{.*}}) : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
// CHECK: prim.reshape %arg1 sizes() : (tensor<3x4xf32>) -> tensor<12xf32>
// CHECK: prim.reshape %{{.*}} sizes(%{{.*}}) : (tensor<?x12xf32>) -> tensor<?x3x4xf32>
func.func @positions(%x: tensor<?x3x4xf32>, %s: tensor<3x4xf32>) -> tensor<?x3x4xf32> {
  %0 = graph.node "onnx" "BatchNormalization"(%x, %s, %s, %s, %s) {attrs = {spatial = 0 : i64}, version = 7 : i64} : (tensor<?x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<?x3x4xf32>
  return %0 : tensor<?x3x4xf32>
}

// The statistics that training gives have their own shape again.
// CHECK-LABEL: func @trained
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<5x12xf32>) -> tensor<12xf32>
// CHECK: return %{{.*}}, %{{.*}} : tensor<5x3x4xf32>, tensor<3x4xf32>
func.func @trained(%x: tensor<5x3x4xf32>, %s: tensor<3x4xf32>) -> (tensor<5x3x4xf32>, tensor<3x4xf32>) {
  %0:2 = graph.node "onnx" "BatchNormalization"(%x, %s, %s, %s, %s) {attrs = {spatial = 0 : i64}, version = 7 : i64} : (tensor<5x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<5x3x4xf32>, tensor<3x4xf32>)
  return %0#0, %0#1 : tensor<5x3x4xf32>, tensor<3x4xf32>
}

// -----

// expected-error @+1 {{needs statistics of the shape of an element of the batch}}
module {
  func.func @of_a_plane(%x: tensor<2x3x4x5xf32>, %s: tensor<4x5xf32>) -> tensor<2x3x4x5xf32> {
    %0 = graph.node "onnx" "BatchNormalization"(%x, %s, %s, %s, %s) {attrs = {spatial = 0 : i64}, version = 7 : i64} : (tensor<2x3x4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<2x3x4x5xf32>
    return %0 : tensor<2x3x4x5xf32>
  }
}
