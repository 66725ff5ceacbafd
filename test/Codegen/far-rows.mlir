// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v4 --dump-ir %t --emit asm -o %t/code.s
// RUN: FileCheck %s < %t/8-codegen/k0_dot.mlir
// RUN: FileCheck %s --check-prefix=COPIED < %t/8-codegen/k1_dot.mlir
// RUN: FileCheck %s --check-prefix=NEAR < %t/8-codegen/k2_dot.mlir

// A few rows by a far matrix that comes at run time: while eight rows of it are multiplied the next eight are fetched, a vector's
// line for each vector of the tile.
// CHECK-LABEL: func.func @k0_dot
// CHECK-COUNT-32: "llvm.intr.prefetch"({{.*}}hint = 3
// CHECK: math.fma
// CHECK: return

// Where blocks of rows are copied, those of the next block are fetched into the second cache.
// COPIED-LABEL: func.func @k1_dot
// COPIED: "llvm.intr.prefetch"({{.*}}hint = 2
// COPIED: math.fma
// COPIED: return

// Not what the second cache holds.
// NEAR-LABEL: func.func @k2_dot
// NEAR-NOT: prefetch
// NEAR: return
func.func @main(%x: tensor<4x4096xf32> {graph.name = "x"}, %y: tensor<4096x4096xf32> {graph.name = "y"}, %z: tensor<64x4096xf32> {graph.name = "z"},
                %u: tensor<64x512xf32> {graph.name = "u"}, %v: tensor<512x256xf32> {graph.name = "v"})
    -> (tensor<4x4096xf32> {graph.name = "a"}, tensor<64x4096xf32> {graph.name = "b"}, tensor<64x256xf32> {graph.name = "c"}) {
  %a = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<4x4096xf32>, tensor<4096x4096xf32>) -> tensor<4x4096xf32>
  %b = prim.dot %z, %y batch [] x [] contract [1] x [0] : (tensor<64x4096xf32>, tensor<4096x4096xf32>) -> tensor<64x4096xf32>
  %c = prim.dot %u, %v batch [] x [] contract [1] x [0] : (tensor<64x512xf32>, tensor<512x256xf32>) -> tensor<64x256xf32>
  return %a, %b, %c : tensor<4x4096xf32>, tensor<64x4096xf32>, tensor<64x256xf32>
}
