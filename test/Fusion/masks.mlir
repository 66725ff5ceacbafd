// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s

// A mask of positions and of a row of a few values is computed by each kernel that asks for it.
// CHECK-LABEL: func @copied
// CHECK: kernel.launch loop
// CHECK: prim.iota
// CHECK: prim.compare le
// CHECK: prim.and
// CHECK: prim.select
// CHECK: kernel.launch row
// CHECK: prim.iota
// CHECK: prim.and
// CHECK: prim.reduce max
// CHECK-NOT: kernel.launch
// CHECK: return
func.func @copied(%x: tensor<4x64x64xf32>, %z: tensor<4x64x64xf32>, %seen: tensor<4x64xi1>) -> (tensor<4x64x64xf32>, tensor<4x64xf32>) {
  %p = prim.iota 0 sizes() : tensor<64xi32>
  %0 = prim.broadcast %p axes [1] sizes() : (tensor<64xi32>) -> tensor<64x64xi32>
  %1 = prim.broadcast %p axes [0] sizes() : (tensor<64xi32>) -> tensor<64x64xi32>
  %2 = prim.compare le %0, %1 : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %3 = prim.broadcast %2 axes [1, 2] sizes() : (tensor<64x64xi1>) -> tensor<4x64x64xi1>
  %4 = prim.broadcast %seen axes [0, 2] sizes() : (tensor<4x64xi1>) -> tensor<4x64x64xi1>
  %5 = prim.and %3, %4 : (tensor<4x64x64xi1>, tensor<4x64x64xi1>) -> tensor<4x64x64xi1>
  %low = prim.constant dense<-1.0> : tensor<4x64x64xf32>
  %6 = prim.select %5, %x, %low : (tensor<4x64x64xi1>, tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %7 = prim.select %5, %z, %low : (tensor<4x64x64xi1>, tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %8 = prim.reduce max %7 [2] : (tensor<4x64x64xf32>) -> tensor<4x64xf32>
  return %6, %8 : tensor<4x64x64xf32>, tensor<4x64xf32>
}

// One that reads as many values as it has itself is computed once, in a kernel of its own where it is an output.
// CHECK-LABEL: func @written
// CHECK: kernel.launch loop "and"
// CHECK: kernel.launch loop "select"
// CHECK-NOT: prim.and
// CHECK: return
func.func @written(%x: tensor<4x64xf32>, %y: tensor<4x64xi1>, %z: tensor<4x64xf32>) -> (tensor<4x64xi1>, tensor<4x64xf32>) {
  %p = prim.iota 1 sizes() : tensor<4x64xi32>
  %c = prim.constant dense<5> : tensor<4x64xi32>
  %0 = prim.compare le %p, %c : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
  %1 = prim.and %0, %y : (tensor<4x64xi1>, tensor<4x64xi1>) -> tensor<4x64xi1>
  %2 = prim.reshape %0 sizes() : (tensor<4x64xi1>) -> tensor<64x4xi1>
  %t = prim.transpose %2 [1, 0] : (tensor<64x4xi1>) -> tensor<4x64xi1>
  %3 = prim.select %t, %x, %z : (tensor<4x64xi1>, tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %1, %3 : tensor<4x64xi1>, tensor<4x64xf32>
}

// It is copied too after a kernel has written what it is computed from.
// CHECK-LABEL: func @of_stored
// CHECK: kernel.launch loop "broadcast"
// CHECK: kernel.launch loop
// CHECK: prim.iota
// CHECK: prim.compare eq
// CHECK: prim.or
// CHECK: kernel.launch special "scatter_along"
// CHECK-NOT: prim.compare
// CHECK: return
func.func @of_stored(%n: index, %y: tensor<?xi1>, %at: tensor<?xi64>, %v: tensor<?xi64>) -> (tensor<?xi1>, tensor<?xi64>) {
  %p = prim.iota 0 sizes(%n) : tensor<?xi64>
  %c = prim.constant dense<0> : tensor<i64>
  %0 = prim.broadcast %c axes [] sizes(%n) : (tensor<i64>) -> tensor<?xi64>
  %1 = prim.compare eq %p, %0 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
  %2 = prim.or %y, %1 : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  %3 = prim.scatter_along assign %0, %at, %v axis 0 : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  return %2, %3 : tensor<?xi1>, tensor<?xi64>
}
