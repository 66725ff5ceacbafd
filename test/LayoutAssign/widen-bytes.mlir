// RUN: tcc-opt %s -tcc-test-fill-weights -tcc-layout-pack-weights -tcc-layout-widen-bytes -cse | FileCheck %s

// Widened once for both products and for who reads floats; who reads bytes keeps them.
// CHECK-LABEL: func @shared
// CHECK: %[[X:.*]] = prim.cast %arg0 : (tensor<8x64xf32>) -> tensor<8x64xui8>
// CHECK: %[[A:.*]] = prim.cast %[[X]] : (tensor<8x64xui8>) -> tensor<8x64xi16>
// CHECK: %[[P:.*]] = prim.weight "w.panels" : tensor<64x32xi8, #cpu.panels<{{.*}}step = 2
// CHECK: prim.dot %[[A]], %[[P]] {{.*}} : (tensor<8x64xi16>
// CHECK: prim.dot %[[A]], %arg1 {{.*}} : (tensor<8x64xi16>, tensor<64x32xi8>) -> tensor<8x32xi32>
// CHECK: prim.cast %[[A]] : (tensor<8x64xi16>) -> tensor<8x64xf32>
// CHECK: prim.transpose %[[X]]
func.func @shared(%x: tensor<8x64xf32>, %y: tensor<64x32xi8>) -> (tensor<8x32xi32>, tensor<8x32xi32>, tensor<8x64xf32>, tensor<64x8xui8>) {
  %0 = prim.cast %x : (tensor<8x64xf32>) -> tensor<8x64xui8>
  %w = prim.weight "w" : tensor<64x32xi8>
  %1 = prim.dot %0, %w batch [] x [] contract [1] x [0] : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  %2 = prim.dot %0, %y batch [] x [] contract [1] x [0] : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  %3 = prim.cast %0 : (tensor<8x64xui8>) -> tensor<8x64xf32>
  %4 = prim.transpose %0 [1, 0] : (tensor<8x64xui8>) -> tensor<64x8xui8>
  return %1, %2, %3, %4 : tensor<8x32xi32>, tensor<8x32xi32>, tensor<8x64xf32>, tensor<64x8xui8>
}

// Weights of which no pair leaves 16 bits are multiplied four a step, with bytes.
// CHECK-LABEL: func @fours
// CHECK: prim.weight "v.panels" : tensor<8x8xi8, #cpu.panels<{{.*}}step = 4
// CHECK: prim.dot %arg0, %{{.*}} : (tensor<9x8xui8>
func.func @fours(%x: tensor<9x8xui8>) -> tensor<9x8xi32> {
  %w = prim.weight "v" : tensor<8x8xi8>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<9x8xui8>, tensor<8x8xi8>) -> tensor<9x8xi32>
  return %0 : tensor<9x8xi32>
}

// A convolution takes its zero point off the widened bytes.
// CHECK-LABEL: func @image
// CHECK: %[[A:.*]] = prim.cast %arg0 : (tensor<1x9x9x32xui8>) -> tensor<1x9x9x32xi16>
// CHECK: prim.conv %[[A]], {{.*}}zero = 125 : i64
func.func @image(%x: tensor<1x9x9x32xui8>) -> tensor<1x9x9x16xi32> {
  %w = prim.weight "filters" : tensor<16x32x3x3xi8>
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, zero = 125 : i64} : (tensor<1x9x9x32xui8>, tensor<16x32x3x3xi8>) -> tensor<1x9x9x16xi32>
  return %0 : tensor<1x9x9x16xi32>
}

// A filter for each channel is multiplied in single elements, and so are rows that do not lie along the sum.
// CHECK-LABEL: func @single
// CHECK-NOT: i16
// CHECK: return
func.func @single(%x: tensor<1x9x9x16xui8>, %y: tensor<64x9xi8>, %z: tensor<64x32xi8>) -> (tensor<1x9x9x16xi32>, tensor<9x32xi32>) {
  %w = prim.weight "depthwise" : tensor<16x1x3x3xi8>
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 16 : i64} : (tensor<1x9x9x16xui8>, tensor<16x1x3x3xi8>) -> tensor<1x9x9x16xi32>
  %1 = prim.dot %y, %z batch [] x [] contract [0] x [0] : (tensor<64x9xi8>, tensor<64x32xi8>) -> tensor<9x32xi32>
  return %0, %1 : tensor<1x9x9x16xi32>, tensor<9x32xi32>
}
