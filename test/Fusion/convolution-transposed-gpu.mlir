// RUN: tcc-opt %s --arch sm_90a -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s --check-prefix=CPU
// What a convolution computes is transposed by a kernel of its own on GPUs, and narrowed before it; on CPUs it is stored
// where it belongs.

// CHECK-LABEL: func @narrowed
// CHECK: kernel.launch convolution "conv_cast"
// CHECK: prim.conv
// CHECK: prim.cast
// CHECK-NOT: prim.transpose
// CHECK: kernel.launch loop "transpose"
// CHECK: prim.transpose
// CPU-LABEL: func @narrowed
// CPU: kernel.launch convolution "conv_cast_transpose"
func.func @narrowed(%x: tensor<2x8x9x16xbf16>, %w: tensor<16x1x3x3xbf16>) -> tensor<2x16x8x9xbf16> {
  %0 = prim.conv %x, %w sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 16 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x8x9x16xbf16>, tensor<16x1x3x3xbf16>) -> tensor<2x8x9x16xf32>
  %1 = prim.cast %0 : (tensor<2x8x9x16xf32>) -> tensor<2x8x9x16xbf16>
  %2 = prim.transpose %1 [0, 3, 1, 2] : (tensor<2x8x9x16xbf16>) -> tensor<2x16x8x9xbf16>
  return %2 : tensor<2x16x8x9xbf16>
}

// CHECK-LABEL: func @alone
// CHECK: kernel.launch convolution "conv"
// CHECK: kernel.launch loop "transpose"
// CPU-LABEL: func @alone
// CPU: kernel.launch convolution "conv_transpose"
func.func @alone(%x: tensor<2x8x9x16xf32>, %w: tensor<24x16x3x3xf32>) -> tensor<2x24x8x9xf32> {
  %0 = prim.conv %x, %w sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x8x9x16xf32>, tensor<24x16x3x3xf32>) -> tensor<2x8x9x24xf32>
  %1 = prim.transpose %0 [0, 3, 1, 2] : (tensor<2x8x9x24xf32>) -> tensor<2x24x8x9xf32>
  return %1 : tensor<2x24x8x9xf32>
}

// A product keeps its transpose.
// CHECK-LABEL: func @product
// CHECK: kernel.launch contraction "dot_transpose"
func.func @product(%x: tensor<64x32xbf16>, %w: tensor<48x32xbf16>) -> tensor<48x64xf32> {
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<64x32xbf16>, tensor<48x32xbf16>) -> tensor<64x48xf32>
  %1 = prim.transpose %0 [1, 0] : (tensor<64x48xf32>) -> tensor<48x64xf32>
  return %1 : tensor<48x64xf32>
}
