// RUN: tcc-opt %s -tcc-test-fill-weights -tcc-decompose-nodes -cse | FileCheck %s

// Axes are an attribute at first and an operand since opset 13, where kept axes are the default.
// CHECK-LABEL: func @sums
// CHECK-DAG: prim.reduce sum %arg0 [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
// CHECK-DAG: %[[KEPT:.*]] = prim.reduce sum %arg0 [0] : (tensor<2x3x4xf32>) -> tensor<3x4xf32>
// CHECK: prim.reshape %[[KEPT]] sizes() : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
func.func @sums(%x: tensor<2x3x4xf32>) -> (tensor<2x4xf32>, tensor<1x3x4xf32>) {
  %axes = graph.weight "axes" : tensor<1xi64>
  %0 = graph.node "onnx" "ReduceSum"(%x) {attrs = {axes = array<i64: 1>, keepdims = 0 : i64}, version = 11 : i64} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %1 = graph.node "onnx" "ReduceSum"(%x, %axes) {version = 13 : i64} : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<1x3x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<1x3x4xf32>
}

// A mean of bf16 is summed in f32; its count is known here.
// CHECK-LABEL: func @mean
// CHECK: %[[V0:.*]] = prim.cast %arg0 : (tensor<2x8xbf16>) -> tensor<2x8xf32>
// CHECK: %[[V1:.*]] = prim.reduce  sum %[[V0]] [1] : (tensor<2x8xf32>) -> tensor<2xf32>
// CHECK: %[[V2:.*]] = prim.constant dense<8.000000e+00> : tensor<2xf32>
// CHECK: %[[V3:.*]] = prim.div %[[V1]], %[[V2]] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: %[[V4:.*]] = prim.cast %[[V3]] : (tensor<2xf32>) -> tensor<2xbf16>
// CHECK: return %[[V4]] : tensor<2xbf16>
func.func @mean(%x: tensor<2x8xbf16>) -> tensor<2xbf16> {
  %0 = graph.node "onnx" "ReduceMean"(%x) {attrs = {axes = array<i64: -1>, keepdims = 0 : i64}, version = 13 : i64} : (tensor<2x8xbf16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// CHECK-LABEL: func @arg
// CHECK: %[[V0:.*]] = prim.arg_reduce  max %arg0 1 {last = true} : (tensor<2x8xf32>) -> tensor<2xi64>
// CHECK: %[[V1:.*]] = prim.reshape %[[V0]] sizes() : (tensor<2xi64>) -> tensor<2x1xi64>
// CHECK: return %[[V1]] : tensor<2x1xi64>
func.func @arg(%x: tensor<2x8xf32>) -> tensor<2x1xi64> {
  %0 = graph.node "onnx" "ArgMax"(%x) {attrs = {axis = 1 : i64, select_last_index = 1 : i64}, version = 13 : i64} : (tensor<2x8xf32>) -> tensor<2x1xi64>
  return %0 : tensor<2x1xi64>
}
