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

// What is gathered is unpacked and dequantised, not the table.
// CHECK-LABEL: func @gather_blocks
// CHECK: %[[ROWS:.*]] = prim.take %arg0
// CHECK: prim.shift_right
// CHECK: %[[NUMBERS:.*]] = prim.reshape {{.*}} -> tensor<3x32xui8>
// CHECK: %[[SCALES:.*]] = prim.take %arg2
// CHECK: prim.take %[[SCALES]]
// CHECK: prim.sub
// CHECK: return {{.*}} : tensor<3x32xf32>
func.func @gather_blocks(%x: tensor<10x16xui8>, %ids: tensor<3xi64>, %s: tensor<10x2xf32>) -> tensor<3x32xf32> {
  %0 = graph.node "com.microsoft" "GatherBlockQuantized"(%x, %ids, %s) {attrs = {bits = 4 : i64, block_size = 16 : i64, gather_axis = 0 : i64, quantize_axis = 1 : i64}, version = 1 : i64} : (tensor<10x16xui8>, tensor<3xi64>, tensor<10x2xf32>) -> tensor<3x32xf32>
  return %0 : tensor<3x32xf32>
}
