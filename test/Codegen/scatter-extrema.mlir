// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v3 --emit asm -o %t.s
// RUN: FileCheck %s < %t.s

// What an update leaves is stored as a whole: the next one of the place does not wait for a store under a mask.
// CHECK-NOT: vmaskmov
// CHECK: vmaxps
// CHECK-NOT: vmaskmov
func.func @main(%x: tensor<10x64xf32>, %i: tensor<999xi64>, %u: tensor<999x64xf32>) -> tensor<10x64xf32> {
  %0 = prim.broadcast %i axes [0] sizes() : (tensor<999xi64>) -> tensor<999x64xi64>
  %1 = prim.scatter_along max %x, %0, %u axis 0 : (tensor<10x64xf32>, tensor<999x64xi64>, tensor<999x64xf32>) -> tensor<10x64xf32>
  return %1 : tensor<10x64xf32>
}
