// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @softmax
// CHECK: %[[V0:.*]] = prim.reduce  max %arg0 [1] : (tensor<2x8xf32>) -> tensor<2xf32>
// CHECK: %[[V1:.*]] = prim.reshape %[[V0]] sizes() : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK: %[[V2:.*]] = prim.broadcast %[[V1]] axes [0, 1] sizes() : (tensor<2x1xf32>) -> tensor<2x8xf32>
// CHECK: %[[V3:.*]] = prim.sub %arg0, %[[V2]] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: %[[V4:.*]] = prim.exp %[[V3]] : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: %[[V5:.*]] = prim.reduce  sum %[[V4]] [1] : (tensor<2x8xf32>) -> tensor<2xf32>
// CHECK: %[[V6:.*]] = prim.reshape %[[V5]] sizes() : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK: %[[V7:.*]] = prim.broadcast %[[V6]] axes [0, 1] sizes() : (tensor<2x1xf32>) -> tensor<2x8xf32>
// CHECK: %[[V8:.*]] = prim.div %[[V4]], %[[V7]] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: return %[[V8]] : tensor<2x8xf32>
func.func @softmax(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = graph.node "onnx" "Softmax"(%x) {attrs = {axis = -1 : i64}, version = 13 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func @layer_norm
// CHECK: %[[V0:.*]] = prim.reduce  sum %arg0 [1] : (tensor<2x8xf32>) -> tensor<2xf32>
// CHECK: %[[V1:.*]] = prim.reshape %[[V0]] sizes() : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK: %[[V2:.*]] = prim.constant dense<8.000000e+00> : tensor<2x1xf32>
// CHECK: %[[V3:.*]] = prim.div %[[V1]], %[[V2]] : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK: %[[V4:.*]] = prim.broadcast %[[V3]] axes [0, 1] sizes() : (tensor<2x1xf32>) -> tensor<2x8xf32>
// CHECK: %[[V5:.*]] = prim.sub %arg0, %[[V4]] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: %[[V6:.*]] = prim.mul %[[V5]], %[[V5]] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: %[[V7:.*]] = prim.reduce  sum %[[V6]] [1] : (tensor<2x8xf32>) -> tensor<2xf32>
// CHECK: %[[V8:.*]] = prim.reshape %[[V7]] sizes() : (tensor<2xf32>) -> tensor<2x1xf32>
// CHECK: %[[V9:.*]] = prim.div %[[V8]], %[[V2]] : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK: %[[V10:.*]] = prim.constant dense<9.99999974E-6> : tensor<2x1xf32>
// CHECK: %[[V11:.*]] = prim.add %[[V9]], %[[V10]] : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK: %[[V12:.*]] = prim.rsqrt %[[V11]] : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK: %[[V13:.*]] = prim.broadcast %[[V12]] axes [0, 1] sizes() : (tensor<2x1xf32>) -> tensor<2x8xf32>
// CHECK: %[[V14:.*]] = prim.mul %[[V5]], %[[V13]] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: %[[V15:.*]] = prim.broadcast %arg1 axes [1] sizes() : (tensor<8xf32>) -> tensor<2x8xf32>
// CHECK: %[[V16:.*]] = prim.mul %[[V14]], %[[V15]] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: %[[V17:.*]] = prim.broadcast %arg2 axes [1] sizes() : (tensor<8xf32>) -> tensor<2x8xf32>
// CHECK: %[[V18:.*]] = prim.add %[[V16]], %[[V17]] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: return %[[V18]] : tensor<2x8xf32>
func.func @layer_norm(%x: tensor<2x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %0 = graph.node "onnx" "LayerNormalization"(%x, %s, %b) {attrs = {axis = -1 : i64, epsilon = 1.0e-05 : f32}, version = 17 : i64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
