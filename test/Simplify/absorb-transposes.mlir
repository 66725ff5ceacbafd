// RUN: tcc-opt %s -tcc-simplify-absorb-transposes -canonicalize | FileCheck %s

// Attention: heads of q and k, and K^T, are other numberings of their axes.
// CHECK-LABEL: func @scores(%arg0: tensor<?x8x4x16xf32>, %arg1: tensor<?x8x4x16xf32>)
// CHECK-NEXT: prim.dot %arg0, %arg1 batch [0, 2] x [0, 2] contract [3] x [3]
func.func @scores(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x4x16xf32>) -> tensor<?x4x8x8xf32> {
  %0 = prim.transpose %q [0, 2, 1, 3] : (tensor<?x8x4x16xf32>) -> tensor<?x4x8x16xf32>
  %1 = prim.transpose %k [0, 2, 3, 1] : (tensor<?x8x4x16xf32>) -> tensor<?x4x16x8xf32>
  %2 = prim.dot %0, %1 batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<?x4x8x16xf32>, tensor<?x4x16x8xf32>) -> tensor<?x4x8x8xf32>
  return %2 : tensor<?x4x8x8xf32>
}

// The free axes of an operand keep their order in the result: these would swap.
// CHECK-LABEL: func @swapped
// CHECK: %[[T:.*]] = prim.transpose
// CHECK-NEXT: prim.dot %[[T]], %arg1 batch [] x [] contract [2] x [0]
func.func @swapped(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>) -> tensor<3x2x5xf32> {
  %0 = prim.transpose %x [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %1 = prim.dot %0, %w batch [] x [] contract [2] x [0] : (tensor<3x2x4xf32>, tensor<4x5xf32>) -> tensor<3x2x5xf32>
  return %1 : tensor<3x2x5xf32>
}

// A reduction names its axes as they lie in the source, also behind operators on single points.
// What is left is in order.
// CHECK-LABEL: func @sum
// CHECK-NEXT: %[[C:.*]] = prim.cast %arg0 : (tensor<3x4x5xi8>) -> tensor<3x4x5xi64>
// CHECK-NEXT: %[[S:.*]] = prim.reduce sum %[[C]] [1] : (tensor<3x4x5xi64>) -> tensor<3x5xi64>
// CHECK-NEXT: return %[[S]]
func.func @sum(%x: tensor<3x4x5xi8>) -> tensor<3x5xi64> {
  %0 = prim.transpose %x [0, 2, 1] : (tensor<3x4x5xi8>) -> tensor<3x5x4xi8>
  %1 = prim.cast %0 : (tensor<3x5x4xi8>) -> tensor<3x5x4xi64>
  %2 = prim.reduce sum %1 [2] : (tensor<3x5x4xi64>) -> tensor<3x5xi64>
  return %2 : tensor<3x5xi64>
}

// Here it is not, and what moves is the result.
// CHECK-LABEL: func @results
// CHECK-NEXT: %[[M:.*]] = prim.reduce max %arg0 [1] : (tensor<3x4x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: %[[T:.*]] = prim.transpose %[[M]] [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: return %[[T]]
func.func @results(%x: tensor<3x4x5xf32>) -> tensor<5x3xf32> {
  %0 = prim.transpose %x [2, 1, 0] : (tensor<3x4x5xf32>) -> tensor<5x4x3xf32>
  %1 = prim.reduce max %0 [1] : (tensor<5x4x3xf32>) -> tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
}

// Somebody else wants the transpose: it is there, and may as well be read.
// CHECK-LABEL: func @shared
// CHECK: %[[T:.*]] = prim.transpose
// CHECK: prim.reduce sum %[[T]] [1]
func.func @shared(%x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4x3xf32>) {
  %0 = prim.transpose %x [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = prim.reduce sum %0 [1] : (tensor<4x3xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4x3xf32>
}

// What is computed from transposes that put an axis of the batch last is computed with the batch first.
// CHECK-LABEL: func @batch_first
// CHECK: %[[A:.*]] = prim.broadcast %arg0 axes [0, 2, 3] sizes() : (tensor<2x4x5xf32>) -> tensor<2x3x4x5xf32>
// CHECK: %[[M:.*]] = prim.mul %[[A]], %arg1 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
// CHECK: prim.dot %[[M]], %arg2 batch [0, 1] x [0, 1] contract [3] x [2] : {{.*}} -> tensor<2x3x4x6xf32>
func.func @batch_first(%a: tensor<2x4x5xf32>, %b: tensor<2x3x4x5xf32>, %x: tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32> {
  %0 = prim.broadcast %a axes [0, 1, 2] sizes() : (tensor<2x4x5xf32>) -> tensor<2x4x5x3xf32>
  %1 = prim.transpose %b [0, 2, 3, 1] : (tensor<2x3x4x5xf32>) -> tensor<2x4x5x3xf32>
  %2 = prim.mul %0, %1 : (tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>) -> tensor<2x4x5x3xf32>
  %3 = prim.dot %2, %x batch [0, 3] x [0, 1] contract [2] x [2] : (tensor<2x4x5x3xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  return %3 : tensor<2x3x4x6xf32>
}

// Not where something lies so already, nor what others read too.
// CHECK-LABEL: func @batch_stays
// CHECK: prim.dot %{{.*}}, %arg2 batch [0, 3] x [0, 1] contract [2] x [2]
// CHECK: prim.dot %{{.*}}, %arg2 batch [0, 3] x [0, 1] contract [2] x [2]
func.func @batch_stays(%a: tensor<2x4x5x3xf32>, %b: tensor<2x3x4x5xf32>, %x: tensor<2x3x5x6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>, tensor<2x4x5x3xf32>) {
  %0 = prim.transpose %b [0, 2, 3, 1] : (tensor<2x3x4x5xf32>) -> tensor<2x4x5x3xf32>
  %1 = prim.mul %a, %0 : (tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>) -> tensor<2x4x5x3xf32>
  %2 = prim.dot %1, %x batch [0, 3] x [0, 1] contract [2] x [2] : (tensor<2x4x5x3xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  %3 = prim.exp %0 : (tensor<2x4x5x3xf32>) -> tensor<2x4x5x3xf32>
  %4 = prim.dot %3, %x batch [0, 3] x [0, 1] contract [2] x [2] : (tensor<2x4x5x3xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  return %2, %4, %3 : tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>, tensor<2x4x5x3xf32>
}
