// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k0_conv.mlir

// Copies of all channels stay in L1: filters are the outer loop, and the sums of one register tile's four wait to be stored
// instead of those of all 32. Strides tell planes apart, whose points copies pick. Vectors of a line of 100 are stored as they
// are, and what is left of one in half a vector, since masks cost something.
// CHECK-LABEL: func.func @k0_conv
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: vector.shuffle {{.*}} [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK: scf.for {{.*}} = %c0 to %c8 step %c1
// CHECK-NEXT: arith.muli
// CHECK-NEXT: scf.for {{.*}} step %c1
// CHECK-COUNT-48: math.fma
// CHECK: scf.for {{.*}} = %c0 to %c4 step %c1
// CHECK: scf.for {{.*}} = %c0 to %c96 step %c8
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}} vector<8xf32>
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}} vector<4xf32>
// CHECK-NOT: math.fma
func.func @main(%x: tensor<1x1x200x200xf32> {graph.name = "x"}, %w: tensor<32x1x3x3xf32> {graph.name = "w"}) -> (tensor<1x32x100x100xf32> {graph.name = "y"}) {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x1x200x200xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x100x100xf32>
  return %0 : tensor<1x32x100x100xf32>
}
