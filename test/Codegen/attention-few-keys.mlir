// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v4 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/5-fuse.mlir

// Of forty keys, products, softmax and products are three kernels, but where positions hide half of them: those compute it all.
// CHECK: kernel.launch attention
// CHECK-NOT: kernel.launch attention
// CHECK: kernel.launch contraction
// CHECK-NOT: kernel.launch attention
// CHECK: kernel.launch contraction
// CHECK-NOT: kernel.launch attention
func.func @main(%q: tensor<4x40x16xf32>, %k: tensor<4x40x16xf32>, %v: tensor<4x40x16xf32>, %o: tensor<4x40x16xf32>) -> (tensor<4x40x16xf32>, tensor<4x40x16xf32>) {
  %a0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x40x16xf32>, tensor<4x40x16xf32>) -> tensor<4x40x40xf32>
  %a1 = prim.iota 0 sizes() : tensor<40x40xi64>
  %a2 = prim.iota 1 sizes() : tensor<40x40xi64>
  %a3 = prim.compare ge %a1, %a2 : (tensor<40x40xi64>, tensor<40x40xi64>) -> tensor<40x40xi1>
  %a4 = prim.broadcast %a3 axes [1, 2] sizes() : (tensor<40x40xi1>) -> tensor<4x40x40xi1>
  %a5 = prim.constant dense<0xFF800000> : tensor<4x40x40xf32>
  %a6 = prim.select %a4, %a0, %a5 : (tensor<4x40x40xi1>, tensor<4x40x40xf32>, tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  %a7 = prim.reduce max %a6 [2] : (tensor<4x40x40xf32>) -> tensor<4x40xf32>
  %a8 = prim.broadcast %a7 axes [0, 1] sizes() : (tensor<4x40xf32>) -> tensor<4x40x40xf32>
  %a9 = prim.sub %a6, %a8 : (tensor<4x40x40xf32>, tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  %a10 = prim.exp %a9 : (tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  %a11 = prim.reduce sum %a10 [2] : (tensor<4x40x40xf32>) -> tensor<4x40xf32>
  %a12 = prim.broadcast %a11 axes [0, 1] sizes() : (tensor<4x40xf32>) -> tensor<4x40x40xf32>
  %a13 = prim.div %a10, %a12 : (tensor<4x40x40xf32>, tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  %a14 = prim.dot %a13, %v batch [0] x [0] contract [2] x [1] : (tensor<4x40x40xf32>, tensor<4x40x16xf32>) -> tensor<4x40x16xf32>
  %b0 = prim.dot %q, %o batch [0] x [0] contract [2] x [2] : (tensor<4x40x16xf32>, tensor<4x40x16xf32>) -> tensor<4x40x40xf32>
  %b7 = prim.reduce max %b0 [2] : (tensor<4x40x40xf32>) -> tensor<4x40xf32>
  %b8 = prim.broadcast %b7 axes [0, 1] sizes() : (tensor<4x40xf32>) -> tensor<4x40x40xf32>
  %b9 = prim.sub %b0, %b8 : (tensor<4x40x40xf32>, tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  %b10 = prim.exp %b9 : (tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  %b11 = prim.reduce sum %b10 [2] : (tensor<4x40x40xf32>) -> tensor<4x40xf32>
  %b12 = prim.broadcast %b11 axes [0, 1] sizes() : (tensor<4x40xf32>) -> tensor<4x40x40xf32>
  %b13 = prim.div %b10, %b12 : (tensor<4x40x40xf32>, tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  %b14 = prim.dot %b13, %v batch [0] x [0] contract [2] x [1] : (tensor<4x40x40xf32>, tensor<4x40x16xf32>) -> tensor<4x40x16xf32>
  return %a14, %b14 : tensor<4x40x16xf32>, tensor<4x40x16xf32>
}
