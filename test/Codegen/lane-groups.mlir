// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k1_conv.mlir

// A vector has the filters of two groups of four: each channel of both is spread by one shuffle, which all taps use that the pixel
// meets. Lines of the filter that lie outside of the image are no turns of the loop, and the first pixel of a line has two taps.
// CHECK-LABEL: func.func @k1_conv
// CHECK: %[[FIRST:.*]] = arith.minsi {{.*}}, %c3
// CHECK: %[[LAST:.*]] = arith.maxsi
// CHECK: scf.for {{.*}} = %[[FIRST]] to %[[LAST]] step %c1 iter_args
// CHECK: vector.shuffle {{.*}} [0, 0, 0, 0, 4, 4, 4, 4]
// CHECK-COUNT-2: math.fma
// CHECK: vector.shuffle {{.*}} [0, 0, 0, 0, 4, 4, 4, 4]
// CHECK-COUNT-3: math.fma
// CHECK: vector.shuffle {{.*}} [1, 1, 1, 1, 5, 5, 5, 5]
// CHECK: vector.shuffle {{.*}} [2, 2, 2, 2, 6, 6, 6, 6]
// CHECK: vector.shuffle {{.*}} [3, 3, 3, 3, 7, 7, 7, 7]
// CHECK-NOT: vector.shuffle {{.*}} [0, 0, 0, 0, 0, 0, 0, 0]
func.func @main(%x: tensor<1x20x20x32xf32> {graph.name = "x"}) -> (tensor<1x20x20x32xf32> {graph.name = "y"}) {
  %c = prim.constant dense<0.5> : tensor<32x4x3x3xf32>
  %0 = prim.conv %x, %c sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 8 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x20x20x32xf32>, tensor<32x4x3x3xf32>) -> tensor<1x20x20x32xf32>
  return %0 : tensor<1x20x20x32xf32>
}
