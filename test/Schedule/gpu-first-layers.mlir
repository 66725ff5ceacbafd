// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s

// Many results of short sums: mma.sync, in tiles that are no wider than the filters. What a tile
// finishes counts among such tiles, and not against wgmma, whose estimate leaves it out.
// CHECK-LABEL: @first_layer
// CHECK: sm_90a = <form = mma, {{.*}} columns = 32,
func.func @first_layer(%x: tensor<1x224x112x8xbf16>, %w: tensor<32x8x3x2xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x112x112x32xbf16> {
  %0 = kernel.launch convolution "conv_cast" ins(%x, %w : tensor<1x224x112x8xbf16>, tensor<32x8x3x2xbf16, #prim.axis_order<[0, 2, 3, 1]>>) sizes() {
  ^bb0(%a: tensor<1x224x112x8xbf16>, %b: tensor<32x8x3x2xbf16, #prim.axis_order<[0, 2, 3, 1]>>):
    %1 = prim.conv %a, %b sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 2, 1>} : (tensor<1x224x112x8xbf16>, tensor<32x8x3x2xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x112x112x32xf32>
    %2 = prim.cast %1 : (tensor<1x112x112x32xf32>) -> tensor<1x112x112x32xbf16>
    kernel.yield %2 : tensor<1x112x112x32xbf16>
  } -> tensor<1x112x112x32xbf16>
  return %0 : tensor<1x112x112x32xbf16>
}

// Few channels leave most of what wgmma multiplies of a tap empty.
// CHECK-LABEL: @few_channels
// CHECK: sm_90a = <form = mma,
// CHECK: sm_90a = <form = wgmma,
func.func @few_channels(%x24: tensor<8x28x28x24xbf16>, %w24: tensor<128x24x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>, %x64: tensor<8x28x28x64xbf16>, %w64: tensor<128x64x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> (tensor<8x28x28x128xbf16>, tensor<8x28x28x128xbf16>) {
  %24 = kernel.launch convolution "conv" ins(%x24, %w24 : tensor<8x28x28x24xbf16>, tensor<128x24x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>) sizes() {
  ^bb0(%a: tensor<8x28x28x24xbf16>, %b: tensor<128x24x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>):
    %d = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, groups = 1 : i64} : (tensor<8x28x28x24xbf16>, tensor<128x24x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<8x28x28x128xbf16>
    kernel.yield %d : tensor<8x28x28x128xbf16>
  } -> tensor<8x28x28x128xbf16>
  %64 = kernel.launch convolution "conv" ins(%x64, %w64 : tensor<8x28x28x64xbf16>, tensor<128x64x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>) sizes() {
  ^bb0(%a: tensor<8x28x28x64xbf16>, %b: tensor<128x64x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>):
    %d = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, groups = 1 : i64} : (tensor<8x28x28x64xbf16>, tensor<128x64x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<8x28x28x128xbf16>
    kernel.yield %d : tensor<8x28x28x128xbf16>
  } -> tensor<8x28x28x128xbf16>
  return %24, %64 : tensor<8x28x28x128xbf16>, tensor<8x28x28x128xbf16>
}
