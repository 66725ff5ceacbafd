// RUN: tcc-opt %s -tcc-simplify-reached-taps | FileCheck %s

// Over a single pixel only the tap in the middle meets it.
// CHECK-LABEL: func @pixel
// CHECK: %[[W:.*]] = prim.slice %arg1 starts [0, 0, 1, 4]() {{.*}} -> tensor<33x24x7x1xf32>
// CHECK: prim.conv %arg0, %[[W]] {{.*}}high = array<i64: 3, 0>{{.*}}low = array<i64: 3, 0>{{.*}} -> tensor<16x33x2x1xf32>
func.func @pixel(%x: tensor<16x24x4x1xf32>, %w: tensor<33x24x9x9xf32>) -> tensor<16x33x2x1xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 3, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 4, 4>, high = array<i64: 4, 4>, groups = 1 : i64} : (tensor<16x24x4x1xf32>, tensor<33x24x9x9xf32>) -> tensor<16x33x2x1xf32>
  return %0 : tensor<16x33x2x1xf32>
}

// Dilated taps are further away; what an open batch is does not matter.
// CHECK-LABEL: func @dilated
// CHECK: prim.slice %arg1 starts [0, 0, 1]() {{.*}} -> tensor<4x2x1xf32>
// CHECK: prim.conv {{.*}}high = array<i64: 0>{{.*}}low = array<i64: 0>
func.func @dilated(%x: tensor<?x2x8xf32>, %w: tensor<4x2x3xf32>, %n: index) -> tensor<?x4x8xf32> {
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 1>, dilations = array<i64: 8>, input_dilation = array<i64: 1>, low = array<i64: 8>, high = array<i64: 8>, groups = 1 : i64} : (tensor<?x2x8xf32>, tensor<4x2x3xf32>, index) -> tensor<?x4x8xf32>
  return %0 : tensor<?x4x8xf32>
}

// What filters have of the taps that stay: of the bits of four taps, 1 and 3 become 0 and 1.
// CHECK-LABEL: func @present
// CHECK: prim.slice %arg1 starts [0, 0, 0, 1]() {{.*}} -> tensor<2x2x2x1xf32>
// CHECK: prim.conv {{.*}}prim.present_taps = array<i64: 1, 2>
func.func @present(%x: tensor<1x2x4x1xf32>, %w: tensor<2x2x2x2xf32>) -> tensor<1x2x4x1xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 0, 0>, groups = 1 : i64, prim.present_taps = array<i64: 2, 13>} : (tensor<1x2x4x1xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x4x1xf32>
  return %0 : tensor<1x2x4x1xf32>
}

// All taps meet the image, or nobody knows, or none does.
// CHECK-LABEL: func @all
// CHECK-NOT: prim.slice
func.func @all(%x: tensor<1x2x8xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x8xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x2x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}
// CHECK-LABEL: func @open
// CHECK-NOT: prim.slice
func.func @open(%x: tensor<1x2x?xf32>, %w: tensor<4x2x9xf32>, %n: index) -> tensor<1x4x?xf32> {
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 4>, high = array<i64: 4>, groups = 1 : i64} : (tensor<1x2x?xf32>, tensor<4x2x9xf32>, index) -> tensor<1x4x?xf32>
  return %0 : tensor<1x4x?xf32>
}
// CHECK-LABEL: func @outside
// CHECK-NOT: prim.slice
func.func @outside(%x: tensor<1x2x1xf32>, %w: tensor<4x2x2xf32>) -> tensor<1x4x1xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 9>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 4>, high = array<i64: 4>, groups = 1 : i64} : (tensor<1x2x1xf32>, tensor<4x2x2xf32>) -> tensor<1x4x1xf32>
  return %0 : tensor<1x4x1xf32>
}
