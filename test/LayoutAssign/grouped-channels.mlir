// RUN: tcc-opt %s -tcc-layout-grouped-channels -cse | FileCheck %s
// RUN: tcc-opt %s "-tcc-layout-grouped-channels=fewest=100" | FileCheck %s --check-prefix=FEW

// A group norm of a batch with scales of channels, whose result has another reader.
// CHECK-LABEL: func @norm
// CHECK: %[[X:.*]] = prim.cast
// CHECK: %[[P:.*]] = prim.reduce sum %[[X]] [2, 3] : (tensor<2x8x6x6xf32>) -> tensor<2x8xf32>
// CHECK: %[[Q:.*]] = prim.reshape %[[P]] sizes() : (tensor<2x8xf32>) -> tensor<2x4x2xf32>
// CHECK: %[[S:.*]] = prim.reduce sum %[[Q]] [2] : (tensor<2x4x2xf32>) -> tensor<2x4xf32>
// CHECK: %[[U:.*]] = prim.reshape %[[S]] sizes() : (tensor<2x4xf32>) -> tensor<2x4x1x1x1xf32>
// CHECK: %[[G:.*]] = prim.reshape %[[U]] sizes() : (tensor<2x4x1x1x1xf32>) -> tensor<2x4xf32>
// CHECK: %[[B:.*]] = prim.broadcast %[[G]] axes [0, 1] sizes() : (tensor<2x4xf32>) -> tensor<2x4x2xf32>
// CHECK: %[[C:.*]] = prim.reshape %[[B]] sizes() : (tensor<2x4x2xf32>) -> tensor<2x8xf32>
// CHECK: %[[M:.*]] = prim.broadcast %[[C]] axes [0, 1] sizes() : (tensor<2x8xf32>) -> tensor<2x8x6x6xf32>
// CHECK: %[[D:.*]] = prim.sub %[[X]], %[[M]]
// CHECK: %[[V:.*]] = prim.reshape %arg2 sizes() : (tensor<1x4x2x1x1xf32>) -> tensor<4x2xf32>
// CHECK: %[[W:.*]] = prim.reshape %[[V]] sizes() : (tensor<4x2xf32>) -> tensor<8xf32>
// CHECK: %[[A:.*]] = prim.broadcast %[[W]] axes [1] sizes() : (tensor<8xf32>) -> tensor<2x8x6x6xf32>
// CHECK: %[[Y:.*]] = prim.mul %[[D]], %[[A]]
// CHECK: %[[E:.*]] = prim.constant dense<2.000000e+00> : tensor<2x8x6x6xf32>
// CHECK: %[[Z:.*]] = prim.mul %[[Y]], %[[E]]
// CHECK: return %[[Z]], %[[S]]
// FEW-LABEL: func @norm
// FEW: prim.reduce sum %{{.*}} [2, 3, 4]
func.func @norm(%x: tensor<2x3x8x8xbf16>, %w: tensor<8x3x3x3xbf16>, %s: tensor<1x4x2x1x1xf32>) -> (tensor<2x8x6x6xf32>, tensor<2x4xf32>) {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x8x8xbf16>, tensor<8x3x3x3xbf16>) -> tensor<2x8x6x6xbf16>
  %1 = prim.reshape %0 sizes() : (tensor<2x8x6x6xbf16>) -> tensor<2x4x2x6x6xbf16>
  %2 = prim.cast %1 : (tensor<2x4x2x6x6xbf16>) -> tensor<2x4x2x6x6xf32>
  %3 = prim.reduce sum %2 [2, 3, 4] : (tensor<2x4x2x6x6xf32>) -> tensor<2x4xf32>
  %4 = prim.reshape %3 sizes() : (tensor<2x4xf32>) -> tensor<2x4x1x1x1xf32>
  %5 = prim.broadcast %4 axes [0, 1, 2, 3, 4] sizes() : (tensor<2x4x1x1x1xf32>) -> tensor<2x4x2x6x6xf32>
  %6 = prim.sub %2, %5 : (tensor<2x4x2x6x6xf32>, tensor<2x4x2x6x6xf32>) -> tensor<2x4x2x6x6xf32>
  %7 = prim.broadcast %s axes [0, 1, 2, 3, 4] sizes() : (tensor<1x4x2x1x1xf32>) -> tensor<2x4x2x6x6xf32>
  %8 = prim.mul %6, %7 : (tensor<2x4x2x6x6xf32>, tensor<2x4x2x6x6xf32>) -> tensor<2x4x2x6x6xf32>
  %9 = prim.constant dense<2.0> : tensor<2x4x2x6x6xf32>
  %10 = prim.mul %8, %9 : (tensor<2x4x2x6x6xf32>, tensor<2x4x2x6x6xf32>) -> tensor<2x4x2x6x6xf32>
  %11 = prim.reshape %10 sizes() : (tensor<2x4x2x6x6xf32>) -> tensor<2x8x6x6xf32>
  return %11, %3 : tensor<2x8x6x6xf32>, tensor<2x4xf32>
}

// What no convolution gives; another order of channels behind the norm; a value for each pixel.
// CHECK-LABEL: func @refused
// CHECK: prim.reduce max %{{.*}} [2, 3, 4]
// CHECK: prim.reduce sum %{{.*}} [2, 3, 4]
// CHECK: prim.reduce min %{{.*}} [2, 3, 4]
func.func @refused(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x1x1xf32>, %p: tensor<6x6xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2x4x6x6xf32>, tensor<2x4xf32>) {
  %0 = prim.reshape %x sizes() : (tensor<2x8x6x6xf32>) -> tensor<2x4x2x6x6xf32>
  %1 = prim.reduce max %0 [2, 3, 4] : (tensor<2x4x2x6x6xf32>) -> tensor<2x4xf32>
  %2 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x8x6x6xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x6x6xf32>
  %3 = prim.reshape %2 sizes() : (tensor<2x8x6x6xf32>) -> tensor<2x4x2x6x6xf32>
  %4 = prim.reduce sum %3 [2, 3, 4] : (tensor<2x4x2x6x6xf32>) -> tensor<2x4xf32>
  %5 = prim.transpose %3 [0, 2, 1, 3, 4] : (tensor<2x4x2x6x6xf32>) -> tensor<2x2x4x6x6xf32>
  %6 = prim.reshape %2 sizes() : (tensor<2x8x6x6xf32>) -> tensor<2x4x2x6x6xf32>
  %7 = prim.broadcast %p axes [3, 4] sizes() : (tensor<6x6xf32>) -> tensor<2x4x2x6x6xf32>
  %8 = prim.add %6, %7 : (tensor<2x4x2x6x6xf32>, tensor<2x4x2x6x6xf32>) -> tensor<2x4x2x6x6xf32>
  %9 = prim.reduce min %8 [2, 3, 4] : (tensor<2x4x2x6x6xf32>) -> tensor<2x4xf32>
  return %1, %4, %5, %9 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2x4x6x6xf32>, tensor<2x4xf32>
}
