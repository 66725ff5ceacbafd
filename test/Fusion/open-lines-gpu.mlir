// RUN: tcc-opt %s --arch sm_90a -tcc-fuse-kernels | FileCheck %s
// A softmax over channels before pixels that only a run counts is one kernel of rows, a thread each: pixels are taken for
// many. A length that is open may be too long for a thread.

// CHECK-LABEL: func @channels
// CHECK: kernel.launch row[1]
// CHECK-NOT: kernel.launch
func.func @channels(%x: tensor<4x21x?xf32>) -> tensor<4x21x?xf32> {
  %n = prim.dim %x, 2 : tensor<4x21x?xf32>
  %0 = prim.reduce max %x [1] : (tensor<4x21x?xf32>) -> tensor<4x?xf32>
  %1 = prim.broadcast %0 axes [0, 2] sizes(%n) : (tensor<4x?xf32>) -> tensor<4x21x?xf32>
  %2 = prim.sub %x, %1 : (tensor<4x21x?xf32>, tensor<4x21x?xf32>) -> tensor<4x21x?xf32>
  %3 = prim.exp %2 : (tensor<4x21x?xf32>) -> tensor<4x21x?xf32>
  %4 = prim.reduce sum %3 [1] : (tensor<4x21x?xf32>) -> tensor<4x?xf32>
  %5 = prim.broadcast %4 axes [0, 2] sizes(%n) : (tensor<4x?xf32>) -> tensor<4x21x?xf32>
  %6 = prim.div %3, %5 : (tensor<4x21x?xf32>, tensor<4x21x?xf32>) -> tensor<4x21x?xf32>
  return %6 : tensor<4x21x?xf32>
}

// CHECK-LABEL: func @length
// CHECK-NOT: kernel.launch row
func.func @length(%x: tensor<4x?x64xf32>) -> tensor<4x?x64xf32> {
  %n = prim.dim %x, 1 : tensor<4x?x64xf32>
  %0 = prim.reduce max %x [1] : (tensor<4x?x64xf32>) -> tensor<4x64xf32>
  %1 = prim.broadcast %0 axes [0, 2] sizes(%n) : (tensor<4x64xf32>) -> tensor<4x?x64xf32>
  %2 = prim.sub %x, %1 : (tensor<4x?x64xf32>, tensor<4x?x64xf32>) -> tensor<4x?x64xf32>
  return %2 : tensor<4x?x64xf32>
}

// Two passes over few rows of pixels give a number of each row: kernels of their own, whose blocks share a row.
// CHECK-LABEL: func @variance
// CHECK: kernel.launch row[1]
// CHECK: kernel.launch row[1]
func.func @variance(%x: tensor<8x?x?xf32>) -> tensor<8xf32> {
  %n = prim.dim %x, 1 : tensor<8x?x?xf32>
  %m = prim.dim %x, 2 : tensor<8x?x?xf32>
  %0 = prim.reduce sum %x [1, 2] : (tensor<8x?x?xf32>) -> tensor<8xf32>
  %1 = prim.broadcast %0 axes [0] sizes(%n, %m) : (tensor<8xf32>) -> tensor<8x?x?xf32>
  %2 = prim.sub %x, %1 : (tensor<8x?x?xf32>, tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
  %3 = prim.mul %2, %2 : (tensor<8x?x?xf32>, tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
  %4 = prim.reduce sum %3 [1, 2] : (tensor<8x?x?xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
