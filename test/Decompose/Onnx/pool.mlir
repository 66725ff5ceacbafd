// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// An average that does not count padding divides by how many points there were, axis by axis.
// CHECK-LABEL: func @average
// CHECK: %[[V0:.*]] = prim.pool  sum %arg0 sizes() {dilations = array<i64: 1, 1>, high = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>, window = array<i64: 2, 2>} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK: %[[V1:.*]] = prim.constant dense<{{\[\[}}{{\[\[}}2.000000e+00, 2.000000e+00], [1.000000e+00, 1.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK: %[[V2:.*]] = prim.div %[[V0]], %[[V1]] : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK: %[[V3:.*]] = prim.constant dense<{{\[\[}}{{\[\[}}2.000000e+00, 1.000000e+00], [2.000000e+00, 1.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK: %[[V4:.*]] = prim.div %[[V2]], %[[V3]] : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK: return %[[V4]] : tensor<1x1x2x2xf32>
func.func @average(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %0 = graph.node "onnx" "AveragePool"(%x) {attrs = {kernel_shape = array<i64: 2, 2>, pads = array<i64: 0, 0, 1, 1>}, version = 19 : i64} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// CHECK-LABEL: func @global
// CHECK: %[[V0:.*]] = prim.reduce  max %arg0 [2, 3] : (tensor<1x2x4x4xf32>) -> tensor<1x2xf32>
// CHECK: %[[V1:.*]] = prim.reshape %[[V0]] sizes() : (tensor<1x2xf32>) -> tensor<1x2x1x1xf32>
// CHECK: return %[[V1]] : tensor<1x2x1x1xf32>
func.func @global(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32> {
  %0 = graph.node "onnx" "GlobalMaxPool"(%x) {version = 1 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  return %0 : tensor<1x2x1x1xf32>
}
