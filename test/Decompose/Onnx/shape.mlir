// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// A slice past an end is cut at it.
// CHECK-LABEL: func @slice
// CHECK: %[[V0:.*]] = prim.slice %arg0 starts [5, 0]() steps [1, 1] sizes() : (tensor<8x6xf32>) -> tensor<3x6xf32>
// CHECK: return %[[V0]] : tensor<3x6xf32>
func.func @slice(%x: tensor<8x6xf32>) -> tensor<3x6xf32> {
  %0 = graph.node "onnx" "Slice"(%x) {attrs = {axes = array<i64: 0>, ends = array<i64: 100>, starts = array<i64: -3>}, version = 9 : i64} : (tensor<8x6xf32>) -> tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}

// CHECK-LABEL: func @views
// CHECK: %[[V0:.*]] = prim.reshape %arg0 sizes() : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
// CHECK: %[[V1:.*]] = prim.transpose %[[V0]] [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK: %[[V2:.*]] = prim.reshape %[[V1]] sizes() : (tensor<3x2xf32>) -> tensor<3x1x2xf32>
// CHECK: %[[V3:.*]] = prim.concat %[[V2]], %[[V2]] axis 1 : (tensor<3x1x2xf32>, tensor<3x1x2xf32>) -> tensor<3x2x2xf32>
// CHECK: return %[[V3]] : tensor<3x2x2xf32>
func.func @views(%x: tensor<2x1x3xf32>) -> tensor<3x2x2xf32> {
  %0 = graph.node "onnx" "Squeeze"(%x) {attrs = {axes = array<i64: 1>}, version = 11 : i64} : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
  %1 = graph.node "onnx" "Transpose"(%0) {version = 13 : i64} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = graph.node "onnx" "Unsqueeze"(%1) {attrs = {axes = array<i64: 1>}, version = 11 : i64} : (tensor<3x2xf32>) -> tensor<3x1x2xf32>
  %3 = graph.node "onnx" "Concat"(%2, %2) {attrs = {axis = 1 : i64}, version = 13 : i64} : (tensor<3x1x2xf32>, tensor<3x1x2xf32>) -> tensor<3x2x2xf32>
  return %3 : tensor<3x2x2xf32>
}

// Upsample by a whole number repeats elements, of open extents as well.
// CHECK-LABEL: func @upsample_open
// CHECK-NOT: prim.take
// CHECK: prim.broadcast %arg0 axes [0, 1, 2, 4] {{.*}} -> tensor<1x3x?x2x?xf32>
// CHECK-NOT: prim.take
// CHECK: prim.broadcast %{{.*}} axes [0, 1, 2, 3] {{.*}} -> tensor<1x3x?x?x2xf32>
func.func @upsample_open(%x: tensor<1x3x?x?xf32>) -> tensor<1x3x?x?xf32> {
  %0 = graph.node "onnx" "Upsample"(%x) {attrs = {mode = "nearest", scales = array<f32: 1.0, 1.0, 2.0, 2.0>}, version = 7 : i64} : (tensor<1x3x?x?xf32>) -> tensor<1x3x?x?xf32>
  return %0 : tensor<1x3x?x?xf32>
}

// A walk back along an axis without elements has none either.
// CHECK-LABEL: func @nothing_reversed
// CHECK: prim.slice %arg0 starts [0, 0]() steps [-1, 1] sizes() : (tensor<0x6xf32>) -> tensor<0x6xf32>
func.func @nothing_reversed(%x: tensor<0x6xf32>) -> tensor<0x6xf32> {
  %start = graph.node "onnx" "Constant"() {attrs = {value_ints = array<i64: -1>}, version = 13 : i64} : () -> tensor<1xi64>
  %stop = graph.node "onnx" "Constant"() {attrs = {value_ints = array<i64: -9223372036854775808>}, version = 13 : i64} : () -> tensor<1xi64>
  %axis = graph.node "onnx" "Constant"() {attrs = {value_ints = array<i64: 0>}, version = 13 : i64} : () -> tensor<1xi64>
  %0 = graph.node "onnx" "Slice"(%x, %start, %stop, %axis, %start) {version = 13 : i64} : (tensor<0x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<0x6xf32>
  return %0 : tensor<0x6xf32>
}

// The axes tell how many bounds there are, where their own length is open.
// CHECK-LABEL: func @bounds_of_open_length
// CHECK: prim.slice %arg0 starts [0, {{.*}}](%{{.*}}) steps [1, 1]
func.func @bounds_of_open_length(%x: tensor<8x6xf32>, %starts: tensor<?xi64>, %stops: tensor<?xi64>) -> tensor<8x?xf32> {
  %axes = graph.node "onnx" "Constant"() {attrs = {value_ints = array<i64: 1>}, version = 13 : i64} : () -> tensor<1xi64>
  %0 = graph.node "onnx" "Slice"(%x, %starts, %stops, %axes) {version = 13 : i64} : (tensor<8x6xf32>, tensor<?xi64>, tensor<?xi64>, tensor<1xi64>) -> tensor<8x?xf32>
  return %0 : tensor<8x?xf32>
}

// How many sizes there are follows from the matrices, where their own number is open.
// CHECK-LABEL: func @sizes_of_open_number
// CHECK: prim.assert %{{.*}}, "a shape operand has an unexpected number of elements"
// CHECK: return %{{.*}} : tensor<?x?x?x2xf32>
func.func @sizes_of_open_number(%theta: tensor<?x2x3xf32>, %size: tensor<?xi64>) -> tensor<?x?x?x2xf32> {
  %0 = graph.node "onnx" "AffineGrid"(%theta, %size) {version = 20 : i64} : (tensor<?x2x3xf32>, tensor<?xi64>) -> tensor<?x?x?x2xf32>
  return %0 : tensor<?x?x?x2xf32>
}
