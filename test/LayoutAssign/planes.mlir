// RUN: tcc-opt %s -tcc-layout-channels-last="shortest-line=20" | FileCheck %s

// A filter for each channel, planes before and after it, an open batch: nothing moves.
// CHECK-LABEL: func @planes
// CHECK-NOT: prim.transpose
// CHECK: prim.conv %arg0, %arg1 {{.*}} groups = 8
// CHECK-NOT: channels_last
// CHECK: return
func.func @planes(%x: tensor<?x8x20x40xf32>, %w: tensor<8x1x3x3xf32>, %n: index, %v: tensor<8x1x3x3xf32>) -> tensor<?x8x20x40xf32> {
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<?x8x20x40xf32>, tensor<8x1x3x3xf32>, index) -> tensor<?x8x20x40xf32>
  %1 = prim.logistic %0 : (tensor<?x8x20x40xf32>) -> tensor<?x8x20x40xf32>
  %2 = prim.conv %1, %v sizes(%n) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<?x8x20x40xf32>, tensor<8x1x3x3xf32>, index) -> tensor<?x8x20x40xf32>
  return %2 : tensor<?x8x20x40xf32>
}

// Behind operators of points comes a convolution over channels: both have channels last.
// CHECK-LABEL: func @met
// CHECK-COUNT-2: prim.conv {{.*}}channels_last
func.func @met(%x: tensor<1x8x20x40xf32>, %w: tensor<8x1x3x3xf32>, %v: tensor<4x8x1x1xf32>) -> tensor<1x4x20x40xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x20x40xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x20x40xf32>
  %1 = prim.logistic %0 : (tensor<1x8x20x40xf32>) -> tensor<1x8x20x40xf32>
  %2 = prim.conv %1, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x20x40xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x20x40xf32>
  return %2 : tensor<1x4x20x40xf32>
}

// Channels come last by the model's own transpose, or behind a reshape of pixels.
// CHECK-LABEL: func @turned
// CHECK-COUNT-2: prim.conv {{.*}}channels_last
func.func @turned(%x: tensor<1x20x40x8xf32>, %y: tensor<1x8x20x40xf32>, %w: tensor<8x1x3x3xf32>) -> (tensor<1x8x20x40xf32>, tensor<1x800x8xf32>) {
  %0 = prim.transpose %x [0, 3, 1, 2] : (tensor<1x20x40x8xf32>) -> tensor<1x8x20x40xf32>
  %1 = prim.conv %0, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x20x40xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x20x40xf32>
  %2 = prim.conv %y, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x20x40xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x20x40xf32>
  %3 = prim.reshape %2 sizes() : (tensor<1x8x20x40xf32>) -> tensor<1x8x800xf32>
  %4 = prim.transpose %3 [0, 2, 1] : (tensor<1x8x800xf32>) -> tensor<1x800x8xf32>
  return %1, %4 : tensor<1x8x20x40xf32>, tensor<1x800x8xf32>
}

// Short lines, two channels a group, f64: channels are better lanes, or there is no code for it.
// CHECK-LABEL: func @others
// CHECK-COUNT-3: prim.conv {{.*}}channels_last
func.func @others(%x: tensor<1x8x20x14xf32>, %w: tensor<8x1x3x3xf32>, %y: tensor<1x16x20x40xf32>, %v: tensor<8x2x3x3xf32>, %z: tensor<1x8x20x40xf64>, %u: tensor<8x1x3x3xf64>) -> (tensor<1x8x20x14xf32>, tensor<1x8x20x40xf32>, tensor<1x8x20x40xf64>) {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x20x14xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x20x14xf32>
  %1 = prim.conv %y, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x16x20x40xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x20x40xf32>
  %2 = prim.conv %z, %u sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x20x40xf64>, tensor<8x1x3x3xf64>) -> tensor<1x8x20x40xf64>
  return %0, %1, %2 : tensor<1x8x20x14xf32>, tensor<1x8x20x40xf32>, tensor<1x8x20x40xf64>
}
