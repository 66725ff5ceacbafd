// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// Operands broadcast from the right.
// CHECK-LABEL: func @broadcast
// CHECK: %[[V0:.*]] = prim.broadcast %arg1 axes [1, 2] sizes() : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
// CHECK: %[[V1:.*]] = prim.sub %arg0, %[[V0]] : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK: return %[[V1]] : tensor<2x3x4xf32>
func.func @broadcast(%x: tensor<2x3x4xf32>, %y: tensor<3x1xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.node "onnx" "Sub"(%x, %y) {version = 14 : i64} : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// Before opset 7 an attribute said which axes the second operand has.
// CHECK-LABEL: func @aligned
// CHECK: %[[V0:.*]] = prim.reshape %arg1 sizes() : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK: %[[V1:.*]] = prim.broadcast %[[V0]] axes [1, 2] sizes() : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
// CHECK: %[[V2:.*]] = prim.add %arg0, %[[V1]] : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK: return %[[V2]] : tensor<2x3x4xf32>
func.func @aligned(%x: tensor<2x3x4xf32>, %y: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.node "onnx" "Add"(%x, %y) {attrs = {axis = 1 : i64, broadcast = 1 : i64}, version = 6 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// The extent that a run knows is that of the larger operand.
// CHECK-LABEL: func @open
// CHECK: %[[V0:.*]] = prim.dim %arg0, 0 : tensor<?x4xf32>
// CHECK: %[[V1:.*]] = prim.broadcast %arg1 axes [0, 1] sizes(%[[V0]]) : (tensor<1x4xf32>) -> tensor<?x4xf32>
// CHECK: %[[V2:.*]] = prim.maximum %arg0, %[[V1]] : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: return %[[V2]] : tensor<?x4xf32>
func.func @open(%x: tensor<?x4xf32>, %y: tensor<1x4xf32>) -> tensor<?x4xf32> {
  %0 = graph.node "onnx" "Max"(%x, %y) {version = 13 : i64} : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// A cast to 4 bits drops the high bits of an i32.
// CHECK-LABEL: func @narrow
// CHECK: %[[V0:.*]] = prim.cast %arg0 : (tensor<4xf32>) -> tensor<4xi32>
// CHECK: %[[V1:.*]] = prim.cast %[[V0]] : (tensor<4xi32>) -> tensor<4xi4>
// CHECK: return %[[V1]] : tensor<4xi4>
func.func @narrow(%x: tensor<4xf32>) -> tensor<4xi4> {
  %0 = graph.node "onnx" "Cast"(%x) {attrs = {to = 22 : i64}, version = 21 : i64} : (tensor<4xf32>) -> tensor<4xi4>
  return %0 : tensor<4xi4>
}

// Mod of integers has the sign of the divisor, with fmod that of the dividend.
// CHECK-LABEL: func @modulo
// CHECK: %[[V0:.*]] = prim.mod %arg0, %arg1 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK: %[[V1:.*]] = prim.rem %arg0, %arg1 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK: return %[[V0]], %[[V1]] : tensor<4xi32>, tensor<4xi32>
func.func @modulo(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = graph.node "onnx" "Mod"(%x, %y) {version = 13 : i64} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = graph.node "onnx" "Mod"(%x, %y) {attrs = {fmod = 1 : i64}, version = 13 : i64} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}

// A base and an exponent of two float types are raised in the wider one.
// CHECK-LABEL: func @pow_of_mixed_floats
// CHECK: %[[V0:.*]] = prim.cast %arg0 : (tensor<2xf16>) -> tensor<2xf32>
// CHECK: %[[V1:.*]] = prim.pow %[[V0]], %arg1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: prim.cast %[[V1]] : (tensor<2xf32>) -> tensor<2xf16>
func.func @pow_of_mixed_floats(%x: tensor<2xf16>, %y: tensor<2xf32>) -> tensor<2xf16> {
  %0 = graph.node "onnx" "Pow"(%x, %y) {attrs = {}, version = 15 : i64} : (tensor<2xf16>, tensor<2xf32>) -> tensor<2xf16>
  return %0 : tensor<2xf16>
}

// The learning rate may be wider than the tensors, or narrower.
// CHECK-LABEL: func @rate_of_another_type
// CHECK: prim.cast %arg2 : (tensor<2xf32>) -> tensor<2xf64>
// CHECK: return %{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>
func.func @rate_of_another_type(%rate: tensor<f64>, %count: tensor<i64>, %x: tensor<2xf32>, %g: tensor<2xf32>, %h: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0:2 = graph.node "ai.onnx.preview.training" "Adagrad"(%rate, %count, %x, %g, %h) {version = 1 : i64} : (tensor<f64>, tensor<i64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}
