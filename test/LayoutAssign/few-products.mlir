// RUN: tcc-opt %s -tcc-layout-channels-last="most-products=100000" | FileCheck %s
// A filter for each channel between planes, of so few multiplications that two transposes would cost more.

// CHECK-LABEL: func @few
// CHECK-NOT: prim.transpose
// CHECK: prim.conv %arg0, %arg1 {{.*}} groups = 8
// CHECK-NOT: channels_last
// CHECK: return
func.func @few(%x: tensor<1x8x20x40xbf16>, %w: tensor<8x1x3x3xbf16>) -> tensor<1x8x20x40xbf16> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x20x40xbf16>, tensor<8x1x3x3xbf16>) -> tensor<1x8x20x40xbf16>
  return %0 : tensor<1x8x20x40xbf16>
}

// Of an open batch nobody knows how many there are.
// CHECK-LABEL: func @open
// CHECK: prim.conv {{.*}}channels_last
func.func @open(%x: tensor<?x8x20x40xf32>, %w: tensor<8x1x3x3xf32>, %n: index) -> tensor<?x8x20x40xf32> {
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<?x8x20x40xf32>, tensor<8x1x3x3xf32>, index) -> tensor<?x8x20x40xf32>
  return %0 : tensor<?x8x20x40xf32>
}

// Twice as wide they are many.
// CHECK-LABEL: func @many
// CHECK: prim.conv {{.*}}channels_last
func.func @many(%x: tensor<1x8x20x80xbf16>, %w: tensor<8x1x3x3xbf16>) -> tensor<1x8x20x80xbf16> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x20x80xbf16>, tensor<8x1x3x3xbf16>) -> tensor<1x8x20x80xbf16>
  return %0 : tensor<1x8x20x80xbf16>
}
