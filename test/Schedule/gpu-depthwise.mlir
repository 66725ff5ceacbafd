// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// Depthwise convolutions: strips of several channels where there are points enough, else a point a thread.

// CHECK-LABEL: @many
// CHECK: form = loop, threads = {{[0-9]+}}, lanes = 4, {{.*}}rows = 8
func.func @many(%x: tensor<1x112x112x256xbf16>, %w: tensor<256x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) {
  %0 = kernel.launch convolution "conv" ins(%x, %w : tensor<1x112x112x256xbf16>, tensor<256x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) sizes() {
  ^bb0(%a: tensor<1x112x112x256xbf16>, %b: tensor<256x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 256 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x112x112x256xbf16>, tensor<256x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<1x112x112x256xbf16>
    kernel.yield %c : tensor<1x112x112x256xbf16>
  } -> tensor<1x112x112x256xbf16>
  return
}

// CHECK-LABEL: @few
// CHECK: form = loop, threads = {{[0-9]+}}, rows = 1
func.func @few(%x: tensor<1x14x14x384xbf16>, %w: tensor<384x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) {
  %0 = kernel.launch convolution "conv" ins(%x, %w : tensor<1x14x14x384xbf16>, tensor<384x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) sizes() {
  ^bb0(%a: tensor<1x14x14x384xbf16>, %b: tensor<384x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 384 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x14x14x384xbf16>, tensor<384x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<1x14x14x384xbf16>
    kernel.yield %c : tensor<1x14x14x384xbf16>
  } -> tensor<1x14x14x384xbf16>
  return
}

// Filters that a run is given lie as they do.
// CHECK-LABEL: @given
// CHECK: form = loop, threads = {{[0-9]+}}, lanes = 4, {{.*}}rows = 8
func.func @given(%x: tensor<1x112x112x256xbf16>, %w: tensor<256x1x3x3xbf16>) {
  %0 = kernel.launch convolution "conv" ins(%x, %w : tensor<1x112x112x256xbf16>, tensor<256x1x3x3xbf16>) sizes() {
  ^bb0(%a: tensor<1x112x112x256xbf16>, %b: tensor<256x1x3x3xbf16>):
    %c = prim.conv %a, %b sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 256 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x112x112x256xbf16>, tensor<256x1x3x3xbf16>) -> tensor<1x112x112x256xbf16>
    kernel.yield %c : tensor<1x112x112x256xbf16>
  } -> tensor<1x112x112x256xbf16>
  return
}
