// RUN: tcc-opt %s -tcc-layout-split-reductions | FileCheck %s
// What the form of a softmax says is written on its operators before the maximum and the sum are made in parts.

// CHECK-LABEL: func.func @softmax
// CHECK: prim.exp {{.*}} {prim.not_positive}
// CHECK: prim.div {{.*}} {prim.shares}
func.func @softmax(%x: tensor<1x1000000xf32>) -> tensor<1x1000000xf32> {
  %0 = prim.reduce max %x [1] : (tensor<1x1000000xf32>) -> tensor<1xf32>
  %1 = prim.reshape %0 sizes() : (tensor<1xf32>) -> tensor<1x1xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<1x1xf32>) -> tensor<1x1000000xf32>
  %3 = prim.sub %x, %2 : (tensor<1x1000000xf32>, tensor<1x1000000xf32>) -> tensor<1x1000000xf32>
  %4 = prim.exp %3 : (tensor<1x1000000xf32>) -> tensor<1x1000000xf32>
  %5 = prim.reduce sum %4 [1] : (tensor<1x1000000xf32>) -> tensor<1xf32>
  %6 = prim.reshape %5 sizes() : (tensor<1xf32>) -> tensor<1x1xf32>
  %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<1x1xf32>) -> tensor<1x1000000xf32>
  %8 = prim.div %4, %7 : (tensor<1x1000000xf32>, tensor<1x1000000xf32>) -> tensor<1x1000000xf32>
  return %8 : tensor<1x1000000xf32>
}

// Along another axis than the last each lane has a sum of its own to divide by.
// CHECK-LABEL: func.func @columns
// CHECK: prim.exp {{.*}} {prim.not_positive}
// CHECK-NOT: prim.shares
func.func @columns(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = prim.reduce max %x [0] : (tensor<8x32xf32>) -> tensor<32xf32>
  %1 = prim.broadcast %0 axes [1] sizes() : (tensor<32xf32>) -> tensor<8x32xf32>
  %2 = prim.sub %x, %1 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %3 = prim.exp %2 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %4 = prim.reduce sum %3 [0] : (tensor<8x32xf32>) -> tensor<32xf32>
  %5 = prim.broadcast %4 axes [1] sizes() : (tensor<32xf32>) -> tensor<8x32xf32>
  %6 = prim.div %3, %5 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %6 : tensor<8x32xf32>
}

// Nothing is known of what the smallest is subtracted from, nor of the maximum of something else.
// CHECK-LABEL: func.func @others
// CHECK-NOT: prim.not_positive
// CHECK-NOT: prim.shares
func.func @others(%x: tensor<8x32xf32>, %y: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = prim.reduce min %x [1] : (tensor<8x32xf32>) -> tensor<8xf32>
  %1 = prim.broadcast %0 axes [0] sizes() : (tensor<8xf32>) -> tensor<8x32xf32>
  %2 = prim.sub %x, %1 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %3 = prim.exp %2 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %4 = prim.reduce max %y [1] : (tensor<8x32xf32>) -> tensor<8xf32>
  %5 = prim.broadcast %4 axes [0] sizes() : (tensor<8xf32>) -> tensor<8x32xf32>
  %6 = prim.sub %x, %5 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %7 = prim.exp %6 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  return %3, %7 : tensor<8x32xf32>, tensor<8x32xf32>
}
