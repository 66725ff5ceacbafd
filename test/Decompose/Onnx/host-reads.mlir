// RUN: tcc-opt %s -tcc-decompose-nodes -canonicalize | FileCheck %s

// A condition of an argument with one element is computed where it is read, without a kernel.
// CHECK-LABEL: func @condition
// CHECK: %[[R:.*]] = prim.extract %arg0[0] : (tensor<i64>) -> index
// CHECK: %[[C:.*]] = arith.cmpi eq, %[[R]], %c16000
// CHECK: prim.if %[[C]]
func.func @condition(%rate: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %k = graph.node "onnx" "Constant"() {attrs = {value_int = 16000 : i64}, version = 13 : i64} : () -> tensor<i64>
  %c = graph.node "onnx" "Equal"(%rate, %k) {version = 13 : i64} : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %0 = graph.node "onnx" "If"(%c) {regionNames = ["then_branch", "else_branch"], version = 19 : i64} : (tensor<i1>) -> tensor<4xf32> {
    %1 = graph.node "onnx" "Neg"(%x) {version = 13 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }, {
    graph.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// So is an extent in floats that comes from another.
// CHECK-LABEL: func @extent
// CHECK-NOT: prim.ceil
// CHECK-NOT: prim.extract
// CHECK: prim.iota 0 sizes(
// CHECK: return
func.func @extent(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = graph.node "onnx" "Shape"(%x) {version = 13 : i64} : (tensor<?xf32>) -> tensor<1xi64>
  %f = graph.node "onnx" "Cast"(%n) {attrs = {to = 1 : i64}, version = 13 : i64} : (tensor<1xi64>) -> tensor<1xf32>
  %s = graph.node "onnx" "Squeeze"(%f) {version = 13 : i64} : (tensor<1xf32>) -> tensor<f32>
  %zero = graph.node "onnx" "Constant"() {attrs = {value_float = 0.0 : f32}, version = 13 : i64} : () -> tensor<f32>
  %one = graph.node "onnx" "Constant"() {attrs = {value_float = 1.0 : f32}, version = 13 : i64} : () -> tensor<f32>
  %0 = graph.node "onnx" "Range"(%zero, %s, %one) {version = 11 : i64} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// What kernels compute is read from its memory.
// CHECK-LABEL: func @computed
// CHECK: %[[S:.*]] = prim.reduce
// CHECK: prim.compare
// CHECK: prim.extract
func.func @computed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.node "onnx" "ReduceSum"(%x) {attrs = {keepdims = 0 : i64}, version = 13 : i64} : (tensor<4xf32>) -> tensor<f32>
  %k = graph.node "onnx" "Constant"() {attrs = {value_float = 0.0 : f32}, version = 13 : i64} : () -> tensor<f32>
  %c = graph.node "onnx" "Greater"(%s, %k) {version = 13 : i64} : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %0 = graph.node "onnx" "If"(%c) {regionNames = ["then_branch", "else_branch"], version = 19 : i64} : (tensor<i1>) -> tensor<4xf32> {
    %1 = graph.node "onnx" "Neg"(%x) {version = 13 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }, {
    graph.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
