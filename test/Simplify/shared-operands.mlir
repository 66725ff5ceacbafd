// RUN: tcc-opt %s -tcc-simplify-shared-operands -cse | FileCheck %s

// CHECK-LABEL: func @open
// CHECK-DAG: %[[Q:.*]] = prim.reshape %arg0 sizes(%{{.*}}) : (tensor<1x8x?x4xf32>) -> tensor<1x2x4x?x4xf32>
// CHECK-DAG: %[[K:.*]] = prim.reshape %arg1
// CHECK: %[[D:.*]] = prim.dot %[[Q]], %[[K]] batch [0, 1] x [0, 1] contract [4] x [3]
// CHECK: prim.reshape %[[D]] {{.*}} -> tensor<1x8x?x?xf32>
func.func @open(%q: tensor<1x8x?x4xf32>, %k: tensor<1x2x1x?x4xf32>, %n: index) -> tensor<1x8x?x?xf32> {
  %0 = prim.broadcast %k axes [0, 1, 2, 3, 4] sizes(%n) : (tensor<1x2x1x?x4xf32>) -> tensor<1x2x4x?x4xf32>
  %1 = prim.reshape %0 sizes(%n) : (tensor<1x2x4x?x4xf32>) -> tensor<1x8x?x4xf32>
  %2 = prim.dot %q, %1 batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<1x8x?x4xf32>, tensor<1x8x?x4xf32>) -> tensor<1x8x?x?xf32>
  return %2 : tensor<1x8x?x?xf32>
}

// Rows that lie before the heads follow the copies.
// CHECK-LABEL: func @rows_before
// CHECK: %[[R:.*]] = prim.reshape %arg0
// CHECK: %[[T:.*]] = prim.transpose %[[R]] [1, 2, 0, 3] : (tensor<5x2x4x4xf32>) -> tensor<2x4x5x4xf32>
// CHECK: %[[D:.*]] = prim.dot %[[T]], %arg1 batch [0] x [0] contract [3] x [2]
// CHECK: prim.reshape %[[D]] {{.*}} -> tensor<8x5x16xf32>
func.func @rows_before(%q: tensor<5x8x4xf32>, %k: tensor<2x16x4xf32>) -> tensor<8x5x16xf32> {
  %0 = prim.broadcast %k axes [0, 2, 3] sizes() : (tensor<2x16x4xf32>) -> tensor<2x4x16x4xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x4x16x4xf32>) -> tensor<8x16x4xf32>
  %2 = prim.dot %q, %1 batch [1] x [0] contract [2] x [2] : (tensor<5x8x4xf32>, tensor<8x16x4xf32>) -> tensor<8x5x16xf32>
  return %2 : tensor<8x5x16xf32>
}

// All heads after one another, and then again: no copies of one head lie side by side. Nor does
// a product without batches share anything.
// CHECK-LABEL: func @other_order
// CHECK: prim.dot {{.*}} batch [0] x [0] contract [2] x [2] : (tensor<8x5x4xf32>, tensor<8x16x4xf32>)
func.func @other_order(%q: tensor<8x5x4xf32>, %k: tensor<2x16x4xf32>) -> tensor<8x5x16xf32> {
  %0 = prim.broadcast %k axes [1, 2, 3] sizes() : (tensor<2x16x4xf32>) -> tensor<4x2x16x4xf32>
  %1 = prim.reshape %0 sizes() : (tensor<4x2x16x4xf32>) -> tensor<8x16x4xf32>
  %2 = prim.dot %q, %1 batch [0] x [0] contract [2] x [2] : (tensor<8x5x4xf32>, tensor<8x16x4xf32>) -> tensor<8x5x16xf32>
  return %2 : tensor<8x5x16xf32>
}
// CHECK-LABEL: func @no_batch
// CHECK: prim.broadcast
func.func @no_batch(%q: tensor<5x4xf32>, %k: tensor<2x4xf32>) -> tensor<5x8xf32> {
  %0 = prim.broadcast %k axes [0, 2] sizes() : (tensor<2x4xf32>) -> tensor<2x4x4xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x4x4xf32>) -> tensor<8x4xf32>
  %2 = prim.dot %q, %1 batch [] x [] contract [1] x [1] : (tensor<5x4xf32>, tensor<8x4xf32>) -> tensor<5x8xf32>
  return %2 : tensor<5x8xf32>
}
