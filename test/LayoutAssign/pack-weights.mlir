// RUN: tcc-opt %s -tcc-test-fill-weights -tcc-layout-pack-weights -cse | FileCheck %s

// CHECK-LABEL: func @linear
// CHECK: %[[P:.*]] = prim.weight "w.panels" : tensor<1x{{[0-9]+}}x12x{{[0-9]+}}xf32>
// CHECK: prim.packed_dot %arg0, %[[P]] columns 40 : {{.*}} -> tensor<?x40xf32>
func.func @linear(%x: tensor<?x12xf32>) -> tensor<?x40xf32> {
  %w = prim.weight "w" : tensor<12x40xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<?x12xf32>, tensor<12x40xf32>) -> tensor<?x40xf32>
  return %0 : tensor<?x40xf32>
}

// Equal requests share one packing.
// CHECK-LABEL: func @twice
// CHECK: prim.weight "v.panels"
// CHECK-NOT: prim.weight
// CHECK: prim.packed_dot
// CHECK: prim.packed_dot
func.func @twice(%x: tensor<3x8xf32>, %y: tensor<5x8xf32>) -> (tensor<3x16xf32>, tensor<5x16xf32>) {
  %w = prim.weight "v" : tensor<16x8xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<3x8xf32>, tensor<16x8xf32>) -> tensor<3x16xf32>
  %1 = prim.dot %y, %w batch [] x [] contract [1] x [1] : (tensor<5x8xf32>, tensor<16x8xf32>) -> tensor<5x16xf32>
  return %0, %1 : tensor<3x16xf32>, tensor<5x16xf32>
}

// Depthwise: the channels of all groups lie side by side, as one group.
// CHECK-LABEL: func @depthwise
// CHECK: prim.weight "d.panels" : tensor<1x2x9x8xf32>
// CHECK: prim.packed_conv {{.*}}filters = 16 : i64, groups = 16 : i64
func.func @depthwise(%x: tensor<1x6x6x16xf32>) -> tensor<1x4x4x16xf32> {
  %w = prim.weight "d" : tensor<16x1x3x3xf32>
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 16 : i64} : (tensor<1x6x6x16xf32>, tensor<16x1x3x3xf32>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}

// Weights that come at run time, and channels-second convolutions, stay as they are.
// CHECK-LABEL: func @stays
// CHECK: prim.dot
// CHECK: prim.conv
// CHECK-NOT: packed
func.func @stays(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %z: tensor<1x2x4x4xf32>) -> (tensor<4x4xf32>, tensor<1x2x4x4xf32>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %w = prim.weight "u" : tensor<2x2x1x1xf32>
  %1 = prim.conv %z, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<1x2x4x4xf32>
}
