// RUN: tcc-opt %s -tcc-layout-k-major-weights -canonicalize | FileCheck %s

// Filters that a run is given are put window first, then channels, by a kernel; the reshape says how they lie.
// CHECK-LABEL: func @filters
// CHECK: %[[T:.*]] = prim.transpose %arg1 [0, 2, 3, 1] : (tensor<64x32x3x3xbf16>) -> tensor<64x3x3x32xbf16>
// CHECK: %[[R:.*]] = prim.reshape %[[T]] sizes() : (tensor<64x3x3x32xbf16>) -> tensor<64x32x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv %arg0, %[[R]]
func.func @filters(%x: tensor<1x30x30x32xbf16>, %w: tensor<64x32x3x3xbf16>) -> tensor<1x28x28x64xf32> {
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x30x30x32xbf16>, tensor<64x32x3x3xbf16>) -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}

// Of points, they are a matrix, in any type.
// CHECK-LABEL: func @points
// CHECK: %[[P:.*]] = prim.reshape %arg1 sizes() : (tensor<96x64x1x1xf32>) -> tensor<96x64xf32>
// CHECK: prim.dot %arg0, %[[P]] batch [] x [] contract [3] x [1]
func.func @points(%x: tensor<2x40x40x64xf32>, %w: tensor<96x64x1x1xf32>) -> tensor<2x40x40x96xf32> {
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x40x40x64xf32>, tensor<96x64x1x1xf32>) -> tensor<2x40x40x96xf32>
  return %0 : tensor<2x40x40x96xf32>
}

// Images are filled up to four channels; where the window steps over pixels, these are joined, and so are its taps.
// CHECK-LABEL: func @images
// CHECK: prim.pad %arg1, {{.*}} : (tensor<64x3x7x7xbf16>, tensor<bf16>) -> tensor<64x4x7x7xbf16>
// CHECK: prim.transpose {{.*}} -> tensor<64x7x7x4xbf16>
// CHECK: prim.reshape {{.*}} -> tensor<64x4x7x7xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.pad %arg1, {{.*}} low [0, 0, 0, 1]{{.*}} -> tensor<64x4x7x8xbf16>
// CHECK: prim.reshape {{.*}} -> tensor<64x4x7x4x2xbf16>
// CHECK: prim.transpose {{.*}} [0, 2, 3, 4, 1] {{.*}} -> tensor<64x7x4x2x4xbf16>
// CHECK: prim.reshape {{.*}} -> tensor<64x8x7x4xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv {{.*}}strides = array<i64: 2, 1>
func.func @images(%x: tensor<1x112x112x3xbf16>, %w: tensor<64x3x7x7xbf16>) -> (tensor<1x106x106x64xf32>, tensor<1x56x56x64xf32>) {
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x112x112x3xbf16>, tensor<64x3x7x7xbf16>) -> tensor<1x106x106x64xf32>
  %1 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>, groups = 1 : i64} : (tensor<1x112x112x3xbf16>, tensor<64x3x7x7xbf16>) -> tensor<1x56x56x64xf32>
  return %0, %1 : tensor<1x106x106x64xf32>, tensor<1x56x56x64xf32>
}

// Filters of one channel each stay, as do those that are multiplied no longer than a kernel takes to start, and open ones.
// CHECK-LABEL: func @stay
// CHECK-NOT: prim.transpose
// CHECK-NOT: prim.reshape
func.func @stay(%x: tensor<8x58x58x128xbf16>, %d: tensor<128x1x3x3xbf16>, %y: tensor<1x8x8x16xbf16>, %w: tensor<16x16x3x3xbf16>, %z: tensor<1x58x58x128xbf16>, %o: tensor<?x128x3x3xbf16>) -> (tensor<8x56x56x128xf32>, tensor<1x6x6x16xf32>, tensor<1x56x56x?xf32>) {
  %0 = prim.conv %x, %d sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 128 : i64} : (tensor<8x58x58x128xbf16>, tensor<128x1x3x3xbf16>) -> tensor<8x56x56x128xf32>
  %1 = prim.conv %y, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x8x16xbf16>, tensor<16x16x3x3xbf16>) -> tensor<1x6x6x16xf32>
  %n = prim.dim %o, 0 : tensor<?x128x3x3xbf16>
  %2 = prim.conv %z, %o sizes(%n) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x58x58x128xbf16>, tensor<?x128x3x3xbf16>, index) -> tensor<1x56x56x?xf32>
  return %0, %1, %2 : tensor<8x56x56x128xf32>, tensor<1x6x6x16xf32>, tensor<1x56x56x?xf32>
}
