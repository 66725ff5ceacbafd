// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// Filters keep their shape, wherever their axes lie.
// CHECK-LABEL: func @filters
// CHECK: prim.conv {{.*}} tensor<16x8x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>
func.func @filters(%x: tensor<1x6x6x8xf32>, %w: tensor<16x8x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x4x4x16xf32> {
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x8xf32>, tensor<16x8x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}
