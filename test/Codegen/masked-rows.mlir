// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v4 --dump-ir %t --emit asm -o %t/m.s
// RUN: FileCheck %s < %t/8-codegen/k0_select.mlir

// Vectors before the diagonal are zeros, which nothing is read for; the one that has it asks, and those behind it are moved.
// CHECK: scf.for
// CHECK-NOT: llvm.load
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for
// CHECK: arith.select
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: llvm.load
// CHECK-NOT: arith.select
// CHECK: llvm.store
func.func @main(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %c = prim.iota 1 sizes() : tensor<64x512xi32>
  %r = prim.iota 0 sizes() : tensor<64x512xi32>
  %m = prim.compare ge %c, %r : (tensor<64x512xi32>, tensor<64x512xi32>) -> tensor<64x512xi1>
  %z = prim.constant dense<0.0> : tensor<64x512xf32>
  %s = prim.select %m, %x, %z : (tensor<64x512xi1>, tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
  return %s : tensor<64x512xf32>
}
