// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @views
// CHECK: %[[V0:.*]] = prim.reshape %arg0 sizes() : (tensor<2x6xf32>) -> tensor<4x3xf32>
// CHECK: %[[V1:.*]] = prim.transpose %[[V0]] [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V1]] : tensor<3x4xf32>
func.func @views(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = graph.node "aten" "view.default"(%x) {attrs = {self = #graph.operand<0>, size = [4, -1]}} : (tensor<2x6xf32>) -> tensor<4x3xf32>
  %1 = graph.node "aten" "permute.default"(%0) {attrs = {dims = [1, 0], self = #graph.operand<0>}} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func @expand
// CHECK: %[[V0:.*]] = prim.broadcast %arg0 axes [0, 1] sizes() : (tensor<1x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V0]] : tensor<3x4xf32>
func.func @expand(%x: tensor<1x4xf32>) -> tensor<3x4xf32> {
  %0 = graph.node "aten" "expand.default"(%x) {attrs = {self = #graph.operand<0>, size = [3, -1]}} : (tensor<1x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Windows of 48 every 32 elements are three pieces of 16 beside each other, each a slice of all pieces.
// CHECK-LABEL: func @windows
// CHECK: %[[S:.*]] = prim.slice %arg0 starts [0, 0]() steps [1, 1] sizes() : (tensor<2x100xf32>) -> tensor<2x80xf32>
// CHECK: %[[P:.*]] = prim.reshape %[[S]] sizes() : (tensor<2x80xf32>) -> tensor<2x5x16xf32>
// CHECK: %[[A:.*]] = prim.slice %[[P]] starts [0, 0, 0]() steps [1, 2, 1] sizes() : (tensor<2x5x16xf32>) -> tensor<2x2x16xf32>
// CHECK: %[[B:.*]] = prim.slice %[[P]] starts [0, 1, 0]() steps [1, 2, 1]
// CHECK: %[[C:.*]] = prim.slice %[[P]] starts [0, 2, 0]() steps [1, 2, 1]
// CHECK: prim.concat %[[A]], %[[B]], %[[C]] axis 2
// CHECK-NOT: prim.take
func.func @windows(%x: tensor<2x100xf32>) -> tensor<2x2x48xf32> {
  %0 = graph.node "aten" "unfold.default"(%x) {attrs = {self = #graph.operand<0>, dimension = 1, size = 48, step = 32}} : (tensor<2x100xf32>) -> tensor<2x2x48xf32>
  return %0 : tensor<2x2x48xf32>
}

// Pieces of two elements are too short to be copied one by one.
// CHECK-LABEL: func @short_pieces
// CHECK: prim.take
func.func @short_pieces(%x: tensor<2x100xf32>) -> tensor<2x24x6xf32> {
  %0 = graph.node "aten" "unfold.default"(%x) {attrs = {self = #graph.operand<0>, dimension = 1, size = 6, step = 4}} : (tensor<2x100xf32>) -> tensor<2x24x6xf32>
  return %0 : tensor<2x24x6xf32>
}

// Blocks of 4 every 2 pixels: offsets that fill a step are one image, four such images are added up,
// each offset for itself, and then put beside each other.
// CHECK-LABEL: func @columns
// CHECK: prim.reshape %arg0 sizes() : (tensor<1x48x9xf32>) -> tensor<1x3x2x2x2x2x3x3xf32>
// CHECK-COUNT-3: prim.add %{{.*}} : (tensor<1x3x2x2x4x4xf32>, tensor<1x3x2x2x4x4xf32>) -> tensor<1x3x2x2x4x4xf32>
// CHECK-NOT: prim.add
// CHECK: prim.transpose %{{.*}} [0, 1, 4, 2, 5, 3] : (tensor<1x3x2x2x4x4xf32>) -> tensor<1x3x4x2x4x2xf32>
// CHECK: prim.reshape %{{.*}} -> tensor<1x3x8x8xf32>
// CHECK-NOT: prim.slice
func.func @columns(%x: tensor<1x48x9xf32>) -> tensor<1x3x8x8xf32> {
  %0 = graph.node "aten" "col2im.default"(%x) {attrs = {self = #graph.operand<0>, output_size = [8, 8], kernel_size = [4, 4], dilation = [1, 1], padding = [0, 0], stride = [2, 2]}} : (tensor<1x48x9xf32>) -> tensor<1x3x8x8xf32>
  return %0 : tensor<1x3x8x8xf32>
}

// Of blocks of 3 every 2 pixels the second step lacks an offset, which is zero. What the padding cuts off
// is a part of a step.
// CHECK-LABEL: func @odd_columns
// CHECK: prim.pad %{{.*}} : (tensor<1x3x3x3x4x4xf32>, tensor<f32>) -> tensor<1x3x4x4x4x4xf32>
// CHECK-COUNT-3: prim.add %{{.*}} -> tensor<1x3x2x2x4x4xf32>
// CHECK-NOT: prim.add
// CHECK: prim.slice %{{.*}} starts [0, 0, 1, 0]() {{.*}} : (tensor<1x3x8x8xf32>) -> tensor<1x3x7x8xf32>
// CHECK: prim.slice %{{.*}} starts [0, 0, 0, 1]() {{.*}} : (tensor<1x3x7x8xf32>) -> tensor<1x3x7x7xf32>
func.func @odd_columns(%x: tensor<1x27x16xf32>) -> tensor<1x3x7x7xf32> {
  %0 = graph.node "aten" "col2im.default"(%x) {attrs = {self = #graph.operand<0>, output_size = [7, 7], kernel_size = [3, 3], dilation = [1, 1], padding = [1, 1], stride = [2, 2]}} : (tensor<1x27x16xf32>) -> tensor<1x3x7x7xf32>
  return %0 : tensor<1x3x7x7xf32>
}
