// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// A product and a convolution keep their shapes, however their weights lie.
// CHECK-LABEL: func @panels
// CHECK-SAME: tensor<8x20xf32, #cpu.panels<k = [0], columns = 1, width = 16>>
// CHECK-SAME: tensor<6x4x3xi8, #cpu.panels<k = [2, 1], columns = 0, width = 8, groups = 2, step = 4, run = 4, sums = -128>>
func.func @panels(%x: tensor<?x9x8xf32>, %d: tensor<8x20xf32, #cpu.panels<k = [0], columns = 1, width = 16>>,
                  %y: tensor<1x9x8xi8>,
                  %w: tensor<6x4x3xi8, #cpu.panels<k = [2, 1], width = 8, columns = 0, groups = 2, step = 4, run = 4, sums = -128>>) {
  // CHECK: prim.dot {{.*}} contract [2] x [0]
  %0 = prim.dot %x, %d batch [] x [] contract [2] x [0] : (tensor<?x9x8xf32>, tensor<8x20xf32, #cpu.panels<k = [0], columns = 1, width = 16>>) -> tensor<?x9x20xf32>
  return
}

// CHECK-LABEL: func @tiles
func.func @tiles(%x: tensor<1x?x9x32xf32>, %w: tensor<24x32x3x3xf32, #cpu.winograd<width = 16>>, %n: index) {
  // CHECK: prim.conv {{.*}} tensor<24x32x3x3xf32, #cpu.winograd<width = 16>>
  %0 = prim.conv %x, %w sizes(%n) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 0>, high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<1x?x9x32xf32>, tensor<24x32x3x3xf32, #cpu.winograd<width = 16>>, index) -> tensor<1x?x7x24xf32>
  return
}

// CHECK-LABEL: func @grouped
func.func @grouped(%x: tensor<?x64xf32>, %w: tensor<64x24xf32, #cpu.grouped<columns = 1, width = 16, group = 32, bits = 4, zero = 8>>) {
  // CHECK: prim.dot {{.*}} tensor<64x24xf32, #cpu.grouped<columns = 1, width = 16, group = 32, bits = 4, zero = 8>>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<?x64xf32>, tensor<64x24xf32, #cpu.grouped<columns = 1, width = 16, group = 32, bits = 4, zero = 8>>) -> tensor<?x24xf32>
  return
}
