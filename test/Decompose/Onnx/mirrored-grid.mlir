// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// A position that was mirrored at the borders has its neighbours inside, or at the border itself: they are mirrored by no division of
// their own. Cubic filters reach further.
// CHECK-LABEL: func @linear
// CHECK-COUNT-2: prim.div
// CHECK-NOT: prim.div
// CHECK: return
func.func @linear(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x4x2xf32>) -> tensor<1x3x4x4xf32> {
  %0 = graph.node "onnx" "GridSample"(%x, %g) {attrs = {mode = "linear", padding_mode = "reflection"}, version = 20 : i64} : (tensor<1x3x8x8xf32>, tensor<1x4x4x2xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// CHECK-LABEL: func @cubic
// CHECK-COUNT-10: prim.div
// CHECK-NOT: prim.div
// CHECK: return
func.func @cubic(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x4x2xf32>) -> tensor<1x3x4x4xf32> {
  %0 = graph.node "onnx" "GridSample"(%x, %g) {attrs = {mode = "cubic", padding_mode = "reflection"}, version = 20 : i64} : (tensor<1x3x8x8xf32>, tensor<1x4x4x2xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}
