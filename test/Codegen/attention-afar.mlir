// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k0_dot_reduce_sub_exp_div.mlir
// RUN: FileCheck %s --check-prefix=NEAR < %t/8-codegen/k1_dot_reduce_sub_exp_div.mlir

// L2 does not hold 96 heads: a tile of queries fetches a key of the next panel and a value, of 256 bytes each, beside its products.
// Beside its exponentials each query fetches the one of the next head.
// CHECK-LABEL: func.func @k0_dot_reduce_sub_exp_div
// CHECK-NOT: math.fma
// CHECK-COUNT-8: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK: math.fma
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK: math.exp
func.func @main(%q: tensor<96x128x64xf32>, %k: tensor<96x128x64xf32>, %v: tensor<96x128x64xf32>, %q4: tensor<4x128x64xf32>, %k4: tensor<4x128x64xf32>, %v4: tensor<4x128x64xf32>) -> (tensor<96x128x64xf32>, tensor<4x128x64xf32>) {
  %10 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<96x128x64xf32>, tensor<96x128x64xf32>) -> tensor<96x128x128xf32>
  %11 = prim.reduce max %10 [2] : (tensor<96x128x128xf32>) -> tensor<96x128xf32>
  %12 = prim.broadcast %11 axes [0, 1] sizes() : (tensor<96x128xf32>) -> tensor<96x128x128xf32>
  %13 = prim.sub %10, %12 : (tensor<96x128x128xf32>, tensor<96x128x128xf32>) -> tensor<96x128x128xf32>
  %14 = prim.exp %13 : (tensor<96x128x128xf32>) -> tensor<96x128x128xf32>
  %15 = prim.reduce sum %14 [2] : (tensor<96x128x128xf32>) -> tensor<96x128xf32>
  %16 = prim.broadcast %15 axes [0, 1] sizes() : (tensor<96x128xf32>) -> tensor<96x128x128xf32>
  %17 = prim.div %14, %16 : (tensor<96x128x128xf32>, tensor<96x128x128xf32>) -> tensor<96x128x128xf32>
  %18 = prim.dot %17, %v batch [0] x [0] contract [2] x [1] : (tensor<96x128x128xf32>, tensor<96x128x64xf32>) -> tensor<96x128x64xf32>

// It holds four.
// NEAR-LABEL: func.func @k1_dot_reduce_sub_exp_div
// NEAR-NOT: llvm.intr.prefetch
// NEAR: math.exp
// NEAR-NOT: llvm.intr.prefetch
  %20 = prim.dot %q4, %k4 batch [0] x [0] contract [2] x [2] : (tensor<4x128x64xf32>, tensor<4x128x64xf32>) -> tensor<4x128x128xf32>
  %21 = prim.reduce max %20 [2] : (tensor<4x128x128xf32>) -> tensor<4x128xf32>
  %22 = prim.broadcast %21 axes [0, 1] sizes() : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %23 = prim.sub %20, %22 : (tensor<4x128x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %24 = prim.exp %23 : (tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %25 = prim.reduce sum %24 [2] : (tensor<4x128x128xf32>) -> tensor<4x128xf32>
  %26 = prim.broadcast %25 axes [0, 1] sizes() : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %27 = prim.div %24, %26 : (tensor<4x128x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %28 = prim.dot %27, %v4 batch [0] x [0] contract [2] x [1] : (tensor<4x128x128xf32>, tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
  return %18, %28 : tensor<96x128x64xf32>, tensor<4x128x64xf32>
}
