// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v4 --dump-ir %t --emit asm -o %t/m.s
// RUN: cat %t/8-codegen/k*.mlir | FileCheck %s

// What the loops of a row share is kept for the row. Of rows turned over it would be that of another row.
// CHECK-LABEL: func.func @k0
// CHECK-NOT: llvm.alloca
// CHECK-LABEL: func.func @k1
// CHECK: llvm.alloca
func.func @main(%x: tensor<20x32xf32>, %i: tensor<9xi64>, %j: tensor<9xi64>) -> (tensor<9xf32>, tensor<9xf32>) {
  %e = prim.take %x, %i axis 0 : (tensor<20x32xf32>, tensor<9xi64>) -> tensor<9x32xf32>
  %r = prim.reverse %e [0] : (tensor<9x32xf32>) -> tensor<9x32xf32>
  %m = prim.reduce max %r [1] : (tensor<9x32xf32>) -> tensor<9xf32>
  %b = prim.broadcast %m axes [0] sizes() : (tensor<9xf32>) -> tensor<9x32xf32>
  %d = prim.sub %r, %b : (tensor<9x32xf32>, tensor<9x32xf32>) -> tensor<9x32xf32>
  %s = prim.reduce sum %d [1] : (tensor<9x32xf32>) -> tensor<9xf32>
  %f = prim.take %x, %j axis 0 : (tensor<20x32xf32>, tensor<9xi64>) -> tensor<9x32xf32>
  %n = prim.reduce max %f [1] : (tensor<9x32xf32>) -> tensor<9xf32>
  %c = prim.broadcast %n axes [0] sizes() : (tensor<9xf32>) -> tensor<9x32xf32>
  %g = prim.sub %f, %c : (tensor<9x32xf32>, tensor<9x32xf32>) -> tensor<9x32xf32>
  %t = prim.reduce sum %g [1] : (tensor<9x32xf32>) -> tensor<9xf32>
  return %s, %t : tensor<9xf32>, tensor<9xf32>
}
