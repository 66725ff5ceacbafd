// RUN: rm -rf %t && mkdir -p %t/n %t/w
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v3 --dump-ir %t/n --emit asm -o %t/x.s
// RUN: cat %t/n/8-codegen/k*.mlir | FileCheck %s
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v4 --dump-ir %t/w --emit asm -o %t/x.s
// RUN: cat %t/w/8-codegen/k*.mlir | FileCheck %s --check-prefix=WIDE

// Rows that come from memory, eight beside each other: 1024 columns of sums lie on the stack, of which the first rows make the first.
// CHECK-LABEL: func.func @k0_reduce
// CHECK: %[[SUMS:.*]] = llvm.alloca %c1024_i64 x f32 {alignment = 64 : i64}
// CHECK: scf.for {{.*}} step %c16 {
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store
// CHECK: scf.for {{.*}} = %c8 to %c64 step %c8 {
// CHECK: scf.for {{.*}} step %c16 {
// CHECK-COUNT-9: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store

// Three rows are left of 27.
// CHECK-LABEL: func.func @k1_reduce
// CHECK: = %c8 to %c24 step %c8 {
// CHECK: scf.for
// CHECK-COUNT-9: llvm.load {{.*}} -> vector<16xf32>
// CHECK: scf.for {{.*}} step %c16 {
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store

// Not what L2 holds, short rows, or a few of them.
// CHECK-LABEL: func.func @k2_reduce
// CHECK-NOT: llvm.alloca
// CHECK-LABEL: func.func @k3_reduce
// CHECK-NOT: llvm.alloca
// CHECK-LABEL: func.func @k4_reduce
// CHECK-NOT: llvm.alloca

// Where registers hold runs as long: none.
// WIDE-NOT: llvm.alloca
func.func @main(%x: tensor<64x64x1024xf32>, %y: tensor<64x27x1024xf32>, %s: tensor<8x16x1000xf32>, %n: tensor<64x256x100xf32>, %f: tensor<256x9x1024xf32>)
    -> (tensor<64x1024xf32>, tensor<64x1024xf32>, tensor<8x1000xf32>, tensor<64x100xf32>, tensor<256x1024xf32>) {
  %0 = prim.reduce sum %x [1] : (tensor<64x64x1024xf32>) -> tensor<64x1024xf32>
  %1 = prim.reduce max %y [1] : (tensor<64x27x1024xf32>) -> tensor<64x1024xf32>
  %2 = prim.reduce sum %s [1] : (tensor<8x16x1000xf32>) -> tensor<8x1000xf32>
  %3 = prim.reduce sum %n [1] : (tensor<64x256x100xf32>) -> tensor<64x100xf32>
  %4 = prim.reduce sum %f [1] : (tensor<256x9x1024xf32>) -> tensor<256x1024xf32>
  return %0, %1, %2, %3, %4 : tensor<64x1024xf32>, tensor<64x1024xf32>, tensor<8x1000xf32>, tensor<64x100xf32>, tensor<256x1024xf32>
}
