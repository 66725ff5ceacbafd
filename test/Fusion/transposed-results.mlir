// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s

#panels = #cpu.panels<k = [2, 1], columns = 0, width = 8>

// The heads of attention, put side by side: the product stores them there.
// CHECK-LABEL: func @heads
// CHECK: kernel.launch contraction "dot_transpose"
// CHECK-NOT: kernel.launch
// CHECK: return
func.func @heads(%p: tensor<2x8x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<8x2x4xf32> {
  %0 = prim.dot %p, %v batch [0] x [0] contract [2] x [1] : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %1 = prim.transpose %0 [1, 0, 2] : (tensor<2x8x4xf32>) -> tensor<8x2x4xf32>
  return %1 : tensor<8x2x4xf32>
}

// Convolution, bias and SiLU, stored channels first.
// CHECK-LABEL: func @last_convolution
// CHECK: kernel.launch convolution "conv_add_logistic_mul_transpose"
// CHECK-NOT: kernel.launch
// CHECK: return
func.func @last_convolution(%x: tensor<1x8x3xf32>, %w: tensor<8x3x1xf32, #panels>, %b: tensor<8xf32>) -> tensor<1x8x8xf32> {
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64} : (tensor<1x8x3xf32>, tensor<8x3x1xf32, #panels>) -> tensor<1x8x8xf32>
  %1 = prim.broadcast %b axes [2] sizes() : (tensor<8xf32>) -> tensor<1x8x8xf32>
  %2 = prim.add %0, %1 : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %3 = prim.logistic %2 : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %4 = prim.mul %2, %3 : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %5 = prim.transpose %4 [0, 2, 1] : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  return %5 : tensor<1x8x8xf32>
}

// Of two transposes one only can be the order in which the product is stored, and an
// operator after the transpose reads it at other points.
// CHECK-LABEL: func @two_orders
// CHECK-COUNT-3: kernel.launch
// CHECK: return
func.func @two_orders(%x: tensor<2x4x4xf32>) -> (tensor<4x2x4xf32>, tensor<4x4x2xf32>) {
  %0 = prim.dot %x, %x batch [0] x [0] contract [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %1 = prim.transpose %0 [1, 0, 2] : (tensor<2x4x4xf32>) -> tensor<4x2x4xf32>
  %2 = prim.transpose %0 [1, 2, 0] : (tensor<2x4x4xf32>) -> tensor<4x4x2xf32>
  return %1, %2 : tensor<4x2x4xf32>, tensor<4x4x2xf32>
}

// Part of a product has fewer points than the product, which would be stored past its end.
// CHECK-LABEL: func @part_of_a_product
// CHECK: kernel.launch contraction "dot"
// CHECK: kernel.launch loop
// CHECK: return
func.func @part_of_a_product(%x: tensor<4x8xf32>, %y: tensor<8x6xf32>) -> tensor<3x4xf32> {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = prim.slice %0 starts [0, 0]() steps [1, 1] sizes() : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %2 = prim.transpose %1 [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// An element stored at many points is not the product's own either.
// CHECK-LABEL: func @widened_product
// CHECK: kernel.launch contraction "dot"
// CHECK: kernel.launch loop
// CHECK: return
func.func @widened_product(%x: tensor<4x8xf32>, %y: tensor<8x1xf32>) -> tensor<5x4xf32> {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x1xf32>) -> tensor<4x1xf32>
  %1 = prim.broadcast %0 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x5xf32>
  %2 = prim.transpose %1 [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// What is read across its lines by an index, from many more points than it has, is turned first.
// CHECK-LABEL: func @enlarged
// CHECK: %[[T:.*]] = kernel.launch loop "transpose"
// CHECK: kernel.launch loop "take" ins(%[[T]]
// CHECK: return
func.func @enlarged(%x: tensor<16x3xf32>, %i: tensor<128xi64>) -> tensor<3x128xf32> {
  %0 = prim.transpose %x [1, 0] : (tensor<16x3xf32>) -> tensor<3x16xf32>
  %1 = prim.take %0, %i axis 1 : (tensor<3x16xf32>, tensor<128xi64>) -> tensor<3x128xf32>
  return %1 : tensor<3x128xf32>
}

// Of fewer points it is read where it lies.
// CHECK-LABEL: func @shrunk
// CHECK: kernel.launch loop "take" ins(%arg0
// CHECK-NOT: kernel.launch
// CHECK: return
func.func @shrunk(%x: tensor<16x3xf32>, %i: tensor<32xi64>) -> tensor<3x32xf32> {
  %0 = prim.transpose %x [1, 0] : (tensor<16x3xf32>) -> tensor<3x16xf32>
  %1 = prim.take %0, %i axis 1 : (tensor<3x16xf32>, tensor<32xi64>) -> tensor<3x32xf32>
  return %1 : tensor<3x32xf32>
}
