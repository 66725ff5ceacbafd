// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v4 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k0_conv.mlir

// A line of 512 results by eight filters. Copies of lines are whole lines of the cache long, fetch the line of the next task
// where the image is beyond L2, and register tiles of 8 by 3 the 24 lines of the result that their sums go to.
// CHECK-LABEL: func.func @k0_conv
// CHECK: scf.for {{.*}} = %c0 to %c528 step %c16
// CHECK-NOT: llvm.intr.prefetch
// CHECK: scf.for {{.*}} = %c0 to %c528 step %c16
// CHECK-NOT: llvm.intr.prefetch
// CHECK: scf.for {{.*}} = %c0 to %c528 step %c16
// CHECK: llvm.intr.prefetch
// CHECK: scf.for {{.*}} = %c0 to %c10 step %c1
// CHECK-COUNT-24: llvm.intr.prefetch
// CHECK: math.fma
// CHECK-COUNT-16: llvm.intr.prefetch
// CHECK: math.fma
// CHECK-NOT: llvm.intr.prefetch
func.func @main(%x: tensor<1x4x512x512xf32> {graph.name = "x"}, %w: tensor<8x4x3x3xf32> {graph.name = "w"}) -> (tensor<1x8x512x512xf32> {graph.name = "y"}) {
  %0 = prim.conv %x, %w sizes() {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x4x512x512xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x512x512xf32>
  return %0 : tensor<1x8x512x512xf32>
}
