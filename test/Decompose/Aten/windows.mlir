// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// Adaptive windows that differ are taken by index: along lines, 8 rows of each; along the last axis, rows of
// the elements that windows have first, second and so on, so that the last axis stays a vector's.
// CHECK-LABEL: func @adaptive
// CHECK: prim.take %{{.*}} axis 2 : (tensor<2x3x33x32xf32>, tensor<5x8xi64>) -> tensor<2x3x5x8x32xf32>
// CHECK: prim.reduce max %{{.*}} [3] : (tensor<2x3x5x8x32xf32>) -> tensor<2x3x5x32xf32>
// CHECK: prim.take %{{.*}} axis 3 : (tensor<2x3x5x32xf32>, tensor<8x5xi64>) -> tensor<2x3x5x8x5xf32>
// CHECK: prim.reduce max %{{.*}} [3] : (tensor<2x3x5x8x5xf32>) -> tensor<2x3x5x5xf32>
func.func @adaptive(%x: tensor<2x3x33x32xf32>) -> tensor<2x3x5x5xf32> {
  %0 = graph.node "aten" "adaptive_max_pool2d.default"(%x) {attrs = {self = #graph.operand<0>, output_size = [5, 5]}} : (tensor<2x3x33x32xf32>) -> tensor<2x3x5x5xf32>
  return %0 : tensor<2x3x5x5xf32>
}

// A widened filter sees as many elements as it reaches, not all of an axis; few are written out.
// CHECK-LABEL: func @antialiased
// CHECK-NOT: prim.dot
// CHECK: prim.take %{{.*}} axis 2 : (tensor<1x3x90x45xf32>, tensor<20x9xi64>) -> tensor<1x3x20x9x45xf32>
// CHECK: prim.reduce sum %{{.*}} [3] : (tensor<1x3x20x9x45xf32>) -> tensor<1x3x20x45xf32>
// CHECK: prim.take %{{.*}} axis 3 : (tensor<1x3x20x45xf32>, tensor<25xi64>) -> tensor<1x3x20x25xf32>
// CHECK-NOT: prim.dot
// CHECK: return
func.func @antialiased(%x: tensor<1x3x90x45xf32>) -> tensor<1x3x20x25xf32> {
  %0 = graph.node "aten" "_upsample_bilinear2d_aa.default"(%x) {attrs = {self = #graph.operand<0>, output_size = [20, 25], align_corners = false}} : (tensor<1x3x90x45xf32>) -> tensor<1x3x20x25xf32>
  return %0 : tensor<1x3x20x25xf32>
}

// The axis that grows is filtered last, of fewer elements.
// CHECK-LABEL: func @antialiased_growing
// CHECK: -> tensor<1x3x30x20xf32>
// CHECK: prim.take %{{.*}} axis 2 : (tensor<1x3x30x20xf32>
// CHECK: return
func.func @antialiased_growing(%x: tensor<1x3x30x45xf32>) -> tensor<1x3x60x20xf32> {
  %0 = graph.node "aten" "_upsample_bilinear2d_aa.default"(%x) {attrs = {self = #graph.operand<0>, output_size = [60, 20], align_corners = false}} : (tensor<1x3x30x45xf32>) -> tensor<1x3x60x20xf32>
  return %0 : tensor<1x3x60x20xf32>
}

// PyTorch mirrors a position and then rounds it: a half that was mirrored is another half. ONNX Runtime rounds first.
// CHECK-LABEL: func @nearest_mirrored
// CHECK-NOT: prim.round
// CHECK: prim.div
// CHECK: prim.round
func.func @nearest_mirrored(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x4x2xf32>) -> tensor<1x3x4x4xf32> {
  %0 = graph.node "aten" "grid_sampler_2d.default"(%x, %g) {attrs = {input = #graph.operand<0>, grid = #graph.operand<1>, interpolation_mode = 1, padding_mode = 2, align_corners = false}} : (tensor<1x3x8x8xf32>, tensor<1x4x4x2xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// The largest of a bin that has NaN alone is the lowest number, as where PyTorch starts.
// CHECK-LABEL: func @regions
// CHECK: %[[LOWEST:.*]] = prim.constant dense<-3.40282347E+38>
// CHECK: prim.compare gt %arg0
// CHECK: prim.select
// CHECK: prim.scatter_runs max
func.func @regions(%x: tensor<1x3x8x8xf32>, %r: tensor<4x5xf32>) -> tensor<4x3x2x2xf32> {
  %0 = graph.node "torchvision" "roi_pool.default"(%x, %r) {attrs = {input = #graph.operand<0>, rois = #graph.operand<1>, pooled_height = 2, pooled_width = 2, spatial_scale = 1.0}} : (tensor<1x3x8x8xf32>, tensor<4x5xf32>) -> tensor<4x3x2x2xf32>
  return %0 : tensor<4x3x2x2xf32>
}
