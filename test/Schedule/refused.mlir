// RUN: tcc-opt %s -tcc-schedule-kernels -verify-diagnostics

// Packed weights are for the templates, which have at most three axes of pixels.
func.func @f(%x: tensor<1x2x2x2x2x8xf32>, %w: tensor<1x1x8x8xf32>) {
  // expected-error @+1 {{the target has no code for kernel 'packed_conv'}}
  %0 = kernel.launch convolution "packed_conv" ins(%x, %w : tensor<1x2x2x2x2x8xf32>, tensor<1x1x8x8xf32>) sizes() {
  ^bb0(%a: tensor<1x2x2x2x2x8xf32>, %b: tensor<1x1x8x8xf32>):
    %c = prim.packed_conv %a, %b sizes() {window = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 0, 0, 0>, groups = 1 : i64, filters = 8 : i64} : (tensor<1x2x2x2x2x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x2x2x2x2x8xf32>
    kernel.yield %c : tensor<1x2x2x2x2x8xf32>
  } -> tensor<1x2x2x2x2x8xf32>
  return
}
