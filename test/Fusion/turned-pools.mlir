// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s
// What windows read more than once is turned in memory first; what they read once is read across.
// CHECK-LABEL: func @again
// CHECK: kernel.launch loop "transpose"
// CHECK: kernel.launch loop "pool"
// CHECK-NOT: prim.transpose
// CHECK: prim.pool
// CHECK: kernel.launch loop "transpose"
func.func @again(%x: tensor<2x32x14x14xf32>) -> tensor<2x32x5x5xf32> {
  %0 = prim.transpose %x [0, 2, 3, 1] : (tensor<2x32x14x14xf32>) -> tensor<2x14x14x32xf32>
  %1 = prim.pool max %0 sizes() {channels_last = true, window = array<i64: 7, 7>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>} : (tensor<2x14x14x32xf32>) -> tensor<2x5x5x32xf32>
  %2 = prim.transpose %1 [0, 3, 1, 2] : (tensor<2x5x5x32xf32>) -> tensor<2x32x5x5xf32>
  return %2 : tensor<2x32x5x5xf32>
}

// CHECK-LABEL: func @once
// CHECK: kernel.launch loop "pool"
// CHECK: prim.transpose
// CHECK: prim.pool
func.func @once(%x: tensor<2x32x14x14xf32>) -> tensor<2x32x7x7xf32> {
  %0 = prim.transpose %x [0, 2, 3, 1] : (tensor<2x32x14x14xf32>) -> tensor<2x14x14x32xf32>
  %1 = prim.pool max %0 sizes() {channels_last = true, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<2x14x14x32xf32>) -> tensor<2x7x7x32xf32>
  %2 = prim.transpose %1 [0, 3, 1, 2] : (tensor<2x7x7x32xf32>) -> tensor<2x32x7x7xf32>
  return %2 : tensor<2x32x7x7xf32>
}
