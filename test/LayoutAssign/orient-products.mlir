// RUN: tcc-opt %s -tcc-layout-orient-products | FileCheck %s

// Points of planes: through what computes points of them too; each image by the same weights.
// CHECK-LABEL: func @planes
// CHECK: %[[W:.*]] = prim.broadcast %{{.*}} axes [1, 2] {{.*}} : (tensor<6x8xf32>) -> tensor<3x6x8xf32>
// CHECK: prim.dot %[[W]], %{{.*}} batch [0] x [0] contract [2] x [1] : (tensor<3x6x8xf32>, tensor<3x8x100xf32>) -> tensor<3x6x100xf32>
// CHECK: prim.maximum
// CHECK: prim.dot %{{.*}} batch [0] x [0] contract [2] x [1] : (tensor<3x2x6xf32>, tensor<3x6x100xf32>) -> tensor<3x2x100xf32>
// CHECK: prim.broadcast %{{.*}} axes [1] sizes() : (tensor<2xf32>) -> tensor<3x2x100xf32>
// CHECK: prim.add {{.*}} -> tensor<3x2x100xf32>
// CHECK: prim.logistic {{.*}} -> tensor<3x2x100xf32>
// CHECK: prim.reshape {{.*}} -> tensor<3x2x10x10xf32>
func.func @planes(%x: tensor<3x8x10x10xf32>, %w: tensor<6x8x1x1xf32>, %z: tensor<3x6x10x10xf32>, %v: tensor<2x6x1x1xf32>, %b: tensor<2x1x1xf32>) -> tensor<3x2x10x10xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<3x8x10x10xf32>, tensor<6x8x1x1xf32>) -> tensor<3x6x10x10xf32>
  %1 = prim.maximum %0, %z : (tensor<3x6x10x10xf32>, tensor<3x6x10x10xf32>) -> tensor<3x6x10x10xf32>
  %2 = prim.conv %1, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<3x6x10x10xf32>, tensor<2x6x1x1xf32>) -> tensor<3x2x10x10xf32>
  %3 = prim.broadcast %b axes [1, 2, 3] sizes() : (tensor<2x1x1xf32>) -> tensor<3x2x10x10xf32>
  %4 = prim.add %2, %3 : (tensor<3x2x10x10xf32>, tensor<3x2x10x10xf32>) -> tensor<3x2x10x10xf32>
  %5 = prim.logistic %4 : (tensor<3x2x10x10xf32>) -> tensor<3x2x10x10xf32>
  return %5 : tensor<3x2x10x10xf32>
}

// Beside a convolution of 3 by 3 of the same input; with strides; of an open extent; of few pixels.
// CHECK-LABEL: func @convolutions
// CHECK-COUNT-5: prim.conv
// CHECK-NOT: prim.dot
func.func @convolutions(%x: tensor<1x8x10x10xf32>, %w: tensor<6x8x1x1xf32>, %v: tensor<6x8x3x3xf32>, %o: tensor<?x8x10x10xf32>, %n: index, %f: tensor<1x8x2x2xf32>, %s: tensor<1x8x20x20xf32>)
    -> (tensor<1x6x10x10xf32>, tensor<1x6x8x8xf32>, tensor<1x6x10x10xf32>, tensor<?x6x10x10xf32>, tensor<1x6x2x2xf32>) {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x10x10xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x10x10xf32>
  %1 = prim.conv %x, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x10x10xf32>, tensor<6x8x3x3xf32>) -> tensor<1x6x8x8xf32>
  %2 = prim.conv %s, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x20x20xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x10x10xf32>
  %3 = prim.conv %o, %w sizes(%n) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x8x10x10xf32>, tensor<6x8x1x1xf32>, index) -> tensor<?x6x10x10xf32>
  %4 = prim.conv %f, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x2x2xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x2x2xf32>
  return %0, %1, %2, %3, %4 : tensor<1x6x10x10xf32>, tensor<1x6x8x8xf32>, tensor<1x6x10x10xf32>, tensor<?x6x10x10xf32>, tensor<1x6x2x2xf32>
}

// A column by a matrix that lies across, also of a batch.
// CHECK-LABEL: func @columns
// CHECK: prim.dot %arg1, %arg0 batch [] x [] contract [0] x [0] : (tensor<128x1xf32>, tensor<128x64xf32>) -> tensor<1x64xf32>
// CHECK: prim.dot %arg3, %arg2 batch [0] x [1] contract [1] x [0] : (tensor<3x128xf32>, tensor<128x3x64xf32>) -> tensor<3x64xf32>
// CHECK: prim.dot %arg4, %arg1 batch [] x [] contract [1] x [0]
func.func @columns(%x: tensor<128x64xf32>, %v: tensor<128x1xf32>, %y: tensor<128x3x64xf32>, %u: tensor<3x128xf32>, %along: tensor<64x128xf32>)
    -> (tensor<64x1xf32>, tensor<3x64xf32>, tensor<64x1xf32>) {
  %0 = prim.dot %x, %v batch [] x [] contract [0] x [0] : (tensor<128x64xf32>, tensor<128x1xf32>) -> tensor<64x1xf32>
  %1 = prim.dot %y, %u batch [1] x [0] contract [0] x [1] : (tensor<128x3x64xf32>, tensor<3x128xf32>) -> tensor<3x64xf32>
  %2 = prim.dot %along, %v batch [] x [] contract [1] x [0] : (tensor<64x128xf32>, tensor<128x1xf32>) -> tensor<64x1xf32>
  return %0, %1, %2 : tensor<64x1xf32>, tensor<3x64xf32>, tensor<64x1xf32>
}

// Columns before what is summed and behind it; too few behind it.
// CHECK-LABEL: func @split
// CHECK: %[[X:.*]] = prim.broadcast %arg0 axes [2, 3] {{.*}} -> tensor<5x7x33x10xf32>
// CHECK: %[[D:.*]] = prim.dot %[[X]], %arg1 batch [0, 1] x [0, 1] contract [3] x [2] : {{.*}} -> tensor<5x7x33x16xf32>
// CHECK: prim.transpose %[[D]] [2, 0, 1, 3] : {{.*}} -> tensor<33x5x7x16xf32>
// CHECK: prim.dot %arg0, %arg2 batch [] x []
func.func @split(%x: tensor<33x10xf32>, %y: tensor<5x7x10x16xf32>, %z: tensor<5x10x4xf32>) -> (tensor<33x5x7x16xf32>, tensor<33x5x4xf32>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [2] : (tensor<33x10xf32>, tensor<5x7x10x16xf32>) -> tensor<33x5x7x16xf32>
  %1 = prim.dot %x, %z batch [] x [] contract [1] x [1] : (tensor<33x10xf32>, tensor<5x10x4xf32>) -> tensor<33x5x4xf32>
  return %0, %1 : tensor<33x5x7x16xf32>, tensor<33x5x4xf32>
}
