// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v4 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k0_dot_select_reduce_sub_exp.mlir
// RUN: FileCheck %s --check-prefix=MASKED < %t/8-codegen/k1_dot_add_reduce_sub_exp.mlir

// Of a block of keys, which is all of them, a tile of queries is multiplied by the panels that one of its rows sees; a row's
// own scores are not compared with its bound, and the weights of a tile are multiplied by the values that it sees alone.
// CHECK-LABEL: func.func @k0_dot_select_reduce_sub_exp
// CHECK: llvm.store {{.*}} : i64, !llvm.ptr
// CHECK: %[[SEES:.*]] = arith.andi
// CHECK: scf.if %[[SEES]] {
// CHECK: math.fma
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK-NOT: arith.cmpi {{.*}} vector<16xi64>
// CHECK: math.exp
// CHECK: scf.for {{.*}} = %c0 to %[[LENGTH:[0-9]+]] step %c2 iter_args
// CHECK: math.fma
func.func @main(%q: tensor<4x128x64xf32>, %k: tensor<4x128x64xf32>, %v: tensor<4x128x64xf32>, %other: tensor<4x128x64xf32>, %bias: tensor<128x128xf32>) -> (tensor<4x128x64xf32>, tensor<4x128x64xf32>) {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x128x64xf32>, tensor<4x128x64xf32>) -> tensor<4x128x128xf32>
  %1 = prim.iota 0 sizes() : tensor<128x128xi64>
  %2 = prim.iota 1 sizes() : tensor<128x128xi64>
  %3 = prim.compare ge %1, %2 : (tensor<128x128xi64>, tensor<128x128xi64>) -> tensor<128x128xi1>
  %4 = prim.broadcast %3 axes [1, 2] sizes() : (tensor<128x128xi1>) -> tensor<4x128x128xi1>
  %5 = prim.constant dense<0xFF800000> : tensor<4x128x128xf32>
  %6 = prim.select %4, %0, %5 : (tensor<4x128x128xi1>, tensor<4x128x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %7 = prim.reduce max %6 [2] : (tensor<4x128x128xf32>) -> tensor<4x128xf32>
  %8 = prim.broadcast %7 axes [0, 1] sizes() : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %9 = prim.sub %6, %8 : (tensor<4x128x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %10 = prim.exp %9 : (tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %11 = prim.reduce sum %10 [2] : (tensor<4x128x128xf32>) -> tensor<4x128xf32>
  %12 = prim.broadcast %11 axes [0, 1] sizes() : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %13 = prim.div %10, %12 : (tensor<4x128x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %14 = prim.dot %13, %v batch [0] x [0] contract [2] x [1] : (tensor<4x128x128xf32>, tensor<4x128x64xf32>) -> tensor<4x128x64xf32>

// What scores are biased with is fetched beside the products of a tile, 64 keys of each of six queries.
// MASKED-LABEL: func.func @k1_dot_add_reduce_sub_exp
// MASKED-COUNT-24: llvm.intr.prefetch
// MASKED: math.fma
// MASKED-NOT: llvm.intr.prefetch
// MASKED: math.exp
  %20 = prim.dot %q, %other batch [0] x [0] contract [2] x [2] : (tensor<4x128x64xf32>, tensor<4x128x64xf32>) -> tensor<4x128x128xf32>
  %21 = prim.broadcast %bias axes [1, 2] sizes() : (tensor<128x128xf32>) -> tensor<4x128x128xf32>
  %22 = prim.add %20, %21 : (tensor<4x128x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %23 = prim.reduce max %22 [2] : (tensor<4x128x128xf32>) -> tensor<4x128xf32>
  %24 = prim.broadcast %23 axes [0, 1] sizes() : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %25 = prim.sub %22, %24 : (tensor<4x128x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %26 = prim.exp %25 : (tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %27 = prim.reduce sum %26 [2] : (tensor<4x128x128xf32>) -> tensor<4x128xf32>
  %28 = prim.broadcast %27 axes [0, 1] sizes() : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %29 = prim.div %26, %28 : (tensor<4x128x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %30 = prim.dot %29, %v batch [0] x [0] contract [2] x [1] : (tensor<4x128x128xf32>, tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
  return %14, %30 : tensor<4x128x64xf32>, tensor<4x128x64xf32>
}
