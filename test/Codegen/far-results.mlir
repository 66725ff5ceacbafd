// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/code.s
// RUN: FileCheck %s --check-prefix=FAR < %t/8-codegen/k0_dot.mlir
// RUN: FileCheck %s --check-prefix=NEAR < %t/8-codegen/k1_dot.mlir
// RUN: FileCheck %s --check-prefix=TURNED < %t/8-codegen/k2_dot_transpose.mlir
// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v4 --dump-ir %t --emit asm -o %t/code.s
// RUN: FileCheck %s --check-prefix=NEAR < %t/8-codegen/k0_dot.mlir

// A result that leaves the caches: a tile fetches the lines of its four rows of 96 bytes before it multiplies. Of eight tasks
// below each other the first four are numbered before those beside them, so that threads write whole rows.
// FAR-LABEL: func.func @k0_dot
// FAR: arith.divui %arg1, %c4
// FAR: arith.remui %{{.*}}, %c10
// FAR: arith.divui %{{.*}}, %c10
// FAR-COUNT-8: "llvm.intr.prefetch"({{.*}}hint = 3
// FAR: math.fma
// FAR: return

// Not what the last cache holds, nor with vectors of whole lines.
// NEAR-LABEL: func.func @k{{[01]}}_dot
// NEAR-NOT: prefetch
// NEAR: return

// Nor results that are stored across their columns, which wait until lines are whole. 512 rows are one band.
// TURNED-LABEL: func.func @k2_dot_transpose
// TURNED: arith.divui %arg1, %c8
// TURNED-NOT: prefetch
// TURNED: return
func.func @main(%x: tensor<2048x64xf32> {graph.name = "x"}, %y: tensor<64x2048xf32> {graph.name = "y"}, %z: tensor<512x64xf32> {graph.name = "z"},
                %u: tensor<64x512xf32> {graph.name = "u"})
    -> (tensor<2048x2048xf32> {graph.name = "a"}, tensor<512x512xf32> {graph.name = "b"}, tensor<2048x512xf32> {graph.name = "c"}) {
  %a = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<2048x64xf32>, tensor<64x2048xf32>) -> tensor<2048x2048xf32>
  %b = prim.dot %z, %u batch [] x [] contract [1] x [0] : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %s = prim.dot %z, %y batch [] x [] contract [1] x [0] : (tensor<512x64xf32>, tensor<64x2048xf32>) -> tensor<512x2048xf32>
  %c = prim.transpose %s [1, 0] : (tensor<512x2048xf32>) -> tensor<2048x512xf32>
  return %a, %b, %c : tensor<2048x2048xf32>, tensor<512x512xf32>, tensor<2048x512xf32>
}
