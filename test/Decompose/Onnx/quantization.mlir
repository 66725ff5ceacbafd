// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// Rounds to even, adds the zero point, then clamps.
// CHECK-LABEL: func @quantize
// CHECK: %[[V0:.*]] = prim.broadcast %arg1 axes [] sizes() : (tensor<f32>) -> tensor<4xf32>
// CHECK: %[[V1:.*]] = prim.div %arg0, %[[V0]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[V2:.*]] = prim.round %[[V1]] : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[V3:.*]] = prim.cast %arg2 : (tensor<ui8>) -> tensor<f32>
// CHECK: %[[V4:.*]] = prim.broadcast %[[V3]] axes [] sizes() : (tensor<f32>) -> tensor<4xf32>
// CHECK: %[[V5:.*]] = prim.add %[[V2]], %[[V4]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[V6:.*]] = prim.cast %[[V5]] : (tensor<4xf32>) -> tensor<4xui8>
// CHECK: return %[[V6]] : tensor<4xui8>
func.func @quantize(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<4xui8> {
  %0 = graph.node "onnx" "QuantizeLinear"(%x, %s, %z) {version = 13 : i64} : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}
