// RUN: tcc-opt %s -tcc-schedule-kernels -verify-diagnostics

#panels = #cpu.panels<k = [2, 3, 4, 5, 1], columns = 0, width = 8>

// Packed weights are for the templates, which have at most three axes of pixels.
func.func @f(%x: tensor<1x2x2x2x2x8xf32>, %w: tensor<8x8x1x1x1x1xf32, #panels>) {
  // expected-error @+1 {{the target has no code for kernel 'conv'}}
  %0 = kernel.launch convolution "conv" ins(%x, %w : tensor<1x2x2x2x2x8xf32>, tensor<8x8x1x1x1x1xf32, #panels>) sizes() {
  ^bb0(%a: tensor<1x2x2x2x2x8xf32>, %b: tensor<8x8x1x1x1x1xf32, #panels>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, input_dilation = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 0, 0>, groups = 1 : i64} : (tensor<1x2x2x2x2x8xf32>, tensor<8x8x1x1x1x1xf32, #panels>) -> tensor<1x2x2x2x2x8xf32>
    kernel.yield %c : tensor<1x2x2x2x2x8xf32>
  } -> tensor<1x2x2x2x2x8xf32>
  return
}
