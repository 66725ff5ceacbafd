// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// Each result of a convolution of images of one point meets one tap: it is a product.
// CHECK-LABEL: func @transposed
// CHECK-NOT: prim.conv
// CHECK: prim.dot %{{.*}} : (tensor<8x100xf32>, tensor<100x8192xf32>) -> tensor<8x8192xf32>
// CHECK: prim.reshape %{{.*}} -> tensor<8x512x4x4xf32>
func.func @transposed(%x: tensor<8x100x1x1xf32>, %w: tensor<100x512x4x4xf32>) -> tensor<8x512x4x4xf32> {
  %0 = graph.node "aten" "convolution.default"(%x, %w) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>, stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = true, output_padding = [0, 0], groups = 1}} : (tensor<8x100x1x1xf32>, tensor<100x512x4x4xf32>) -> tensor<8x512x4x4xf32>
  return %0 : tensor<8x512x4x4xf32>
}

// The tap in the middle, of a filter that reaches over the image.
// CHECK-LABEL: func @padded
// CHECK: prim.slice %{{.*}} starts [0, 0, 1, 1]() steps [1, 1, 1, 1] sizes() : (tensor<6x5x3x3xf32>) -> tensor<6x5x1x1xf32>
// CHECK-NOT: prim.conv
// CHECK: prim.dot %{{.*}} : (tensor<2x5xf32>, tensor<5x6xf32>) -> tensor<2x6xf32>
func.func @padded(%x: tensor<2x5x1x1xf32>, %w: tensor<6x5x3x3xf32>) -> tensor<2x6x1x1xf32> {
  %0 = graph.node "aten" "convolution.default"(%x, %w) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>, stride = [1, 1], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1}} : (tensor<2x5x1x1xf32>, tensor<6x5x3x3xf32>) -> tensor<2x6x1x1xf32>
  return %0 : tensor<2x6x1x1xf32>
}
