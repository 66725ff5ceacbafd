// RUN: tcc-opt %s -tcc-simplify-row-order -cse | FileCheck %s

// A joined projection whose heads attention reads, and the projection behind attention, whose rows are put back.
// CHECK-LABEL: func @attention
// CHECK: %[[P:.*]] = prim.dot %arg0, %arg1 batch [] x [] contract [2] x [1] : {{.*}} -> tensor<4x5x16xf32>
// CHECK: %[[B:.*]] = prim.broadcast %arg2 axes [2] sizes() : (tensor<16xf32>) -> tensor<4x5x16xf32>
// CHECK: %[[A:.*]] = prim.add %[[P]], %[[B]]
// CHECK: %[[T:.*]] = prim.transpose %[[A]] [1, 0, 2] : (tensor<4x5x16xf32>) -> tensor<5x4x16xf32>
// CHECK: prim.reshape %[[T]] sizes() : (tensor<5x4x16xf32>) -> tensor<5x4x2x8xf32>
// CHECK: %[[V:.*]] = prim.dot %{{.*}} contract [3] x [0]
// CHECK: %[[H:.*]] = prim.transpose %[[V]] [0, 2, 1, 3] : (tensor<4x2x5x8xf32>) -> tensor<4x5x2x8xf32>
// CHECK: %[[J:.*]] = prim.reshape %[[H]] sizes() : (tensor<4x5x2x8xf32>) -> tensor<4x5x16xf32>
// CHECK: %[[O:.*]] = prim.dot %[[J]], %arg3 batch [] x [] contract [2] x [1] : {{.*}} -> tensor<4x5x16xf32>
// CHECK: %[[S:.*]] = prim.add %[[O]], %arg0
// CHECK: return %[[S]]
func.func @attention(%x: tensor<4x5x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>, %o: tensor<16x16xf32>) -> tensor<4x5x16xf32> {
  %0 = prim.transpose %x [1, 0, 2] : (tensor<4x5x16xf32>) -> tensor<5x4x16xf32>
  %1 = prim.dot %0, %w batch [] x [] contract [2] x [1] : (tensor<5x4x16xf32>, tensor<16x16xf32>) -> tensor<5x4x16xf32>
  %2 = prim.broadcast %b axes [2] sizes() : (tensor<16xf32>) -> tensor<5x4x16xf32>
  %3 = prim.add %1, %2 : (tensor<5x4x16xf32>, tensor<5x4x16xf32>) -> tensor<5x4x16xf32>
  %4 = prim.reshape %3 sizes() : (tensor<5x4x16xf32>) -> tensor<5x4x2x8xf32>
  %5 = prim.dot %4, %4 batch [1, 2] x [1, 2] contract [3] x [3] : (tensor<5x4x2x8xf32>, tensor<5x4x2x8xf32>) -> tensor<4x2x5x5xf32>
  %6 = prim.dot %5, %4 batch [0, 1] x [1, 2] contract [3] x [0] : (tensor<4x2x5x5xf32>, tensor<5x4x2x8xf32>) -> tensor<4x2x5x8xf32>
  %7 = prim.transpose %6 [2, 0, 1, 3] : (tensor<4x2x5x8xf32>) -> tensor<5x4x2x8xf32>
  %8 = prim.reshape %7 sizes() : (tensor<5x4x2x8xf32>) -> tensor<5x4x16xf32>
  %9 = prim.dot %8, %o batch [] x [] contract [2] x [1] : (tensor<5x4x16xf32>, tensor<16x16xf32>) -> tensor<5x4x16xf32>
  %10 = prim.transpose %9 [1, 0, 2] : (tensor<5x4x16xf32>) -> tensor<4x5x16xf32>
  %11 = prim.add %10, %x : (tensor<4x5x16xf32>, tensor<4x5x16xf32>) -> tensor<4x5x16xf32>
  return %11 : tensor<4x5x16xf32>
}

// Two products, a scalar and another value of the same order between them; three axes of rows.
// CHECK-LABEL: func @layers
// CHECK-NOT: prim.transpose
// CHECK: %[[P:.*]] = prim.dot %arg0, %arg1 {{.*}} -> tensor<2x3x4x6xf32>
// CHECK: %[[M:.*]] = prim.mul %[[P]], %{{.*}} : (tensor<2x3x4x6xf32>
// CHECK: %[[A:.*]] = prim.add %[[M]], %arg2
// CHECK: %[[Q:.*]] = prim.dot %[[A]], %arg1 {{.*}} -> tensor<2x3x4x6xf32>
// CHECK: return %[[Q]]
func.func @layers(%x: tensor<2x3x4x6xf32>, %w: tensor<6x6xf32>, %z: tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32> {
  %0 = prim.transpose %x [2, 0, 1, 3] : (tensor<2x3x4x6xf32>) -> tensor<4x2x3x6xf32>
  %1 = prim.dot %0, %w batch [] x [] contract [3] x [1] : (tensor<4x2x3x6xf32>, tensor<6x6xf32>) -> tensor<4x2x3x6xf32>
  %c = prim.constant dense<2.0> : tensor<4x2x3x6xf32>
  %2 = prim.mul %1, %c : (tensor<4x2x3x6xf32>, tensor<4x2x3x6xf32>) -> tensor<4x2x3x6xf32>
  %3 = prim.transpose %z [2, 0, 1, 3] : (tensor<2x3x4x6xf32>) -> tensor<4x2x3x6xf32>
  %4 = prim.add %2, %3 : (tensor<4x2x3x6xf32>, tensor<4x2x3x6xf32>) -> tensor<4x2x3x6xf32>
  %5 = prim.dot %4, %w batch [] x [] contract [3] x [1] : (tensor<4x2x3x6xf32>, tensor<6x6xf32>) -> tensor<4x2x3x6xf32>
  %6 = prim.transpose %5 [1, 2, 0, 3] : (tensor<4x2x3x6xf32>) -> tensor<2x3x4x6xf32>
  return %6 : tensor<2x3x4x6xf32>
}

// Rows that are read in the new order, or whose bias differs from row to row.
// CHECK-LABEL: func @refused
// CHECK: %[[T:.*]] = prim.transpose %arg0 [1, 0, 2]
// CHECK: %[[P:.*]] = prim.dot %[[T]], %arg1
// CHECK: prim.dot %[[T]], %arg2
// CHECK: return %[[P]]
func.func @refused(%x: tensor<4x5x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>, %z: tensor<5x4x16xf32>) -> (tensor<5x4x16xf32>, tensor<4x5x16xf32>) {
  %0 = prim.transpose %x [1, 0, 2] : (tensor<4x5x16xf32>) -> tensor<5x4x16xf32>
  %1 = prim.dot %0, %w batch [] x [] contract [2] x [1] : (tensor<5x4x16xf32>, tensor<16x16xf32>) -> tensor<5x4x16xf32>
  %2 = prim.dot %0, %v batch [] x [] contract [2] x [1] : (tensor<5x4x16xf32>, tensor<16x16xf32>) -> tensor<5x4x16xf32>
  %3 = prim.add %2, %z : (tensor<5x4x16xf32>, tensor<5x4x16xf32>) -> tensor<5x4x16xf32>
  %4 = prim.transpose %3 [1, 0, 2] : (tensor<5x4x16xf32>) -> tensor<4x5x16xf32>
  return %1, %4 : tensor<5x4x16xf32>, tensor<4x5x16xf32>
}
