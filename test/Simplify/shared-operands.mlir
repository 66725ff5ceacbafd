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

// A batch axis along which both are repeated repeats the result; the batch may be open.
// CHECK-LABEL: func @repeated
// CHECK-DAG: prim.reshape %arg0 sizes(%{{.*}}) : (tensor<?x8x1x4xf32>) -> tensor<?x8x4xf32>
// CHECK-DAG: prim.reshape %arg1 sizes(%{{.*}}) : (tensor<?x8x1x4xf32>) -> tensor<?x8x4xf32>
// CHECK: %[[D:.*]] = prim.dot %{{.*}}, %{{.*}} batch [0, 1] x [0, 1] contract [3] x [3] : {{.*}} -> tensor<?x2x4x4xf32>
// CHECK: prim.broadcast %[[D]] axes [0, 1, 3, 4] sizes(%{{.*}}) : (tensor<?x2x4x4xf32>) -> tensor<?x2x3x4x4xf32>
func.func @repeated(%c: tensor<?x8x1x4xf32>, %d: tensor<?x8x1x4xf32>) -> tensor<?x2x3x4x4xf32> {
  %n = prim.dim %c, 0 : tensor<?x8x1x4xf32>
  %0 = prim.broadcast %c axes [0, 1, 2, 3] sizes(%n) : (tensor<?x8x1x4xf32>) -> tensor<?x8x3x4xf32>
  %1 = prim.reshape %0 sizes(%n) : (tensor<?x8x3x4xf32>) -> tensor<?x2x4x3x4xf32>
  %2 = prim.broadcast %d axes [0, 1, 2, 3] sizes(%n) : (tensor<?x8x1x4xf32>) -> tensor<?x8x3x4xf32>
  %3 = prim.reshape %2 sizes(%n) : (tensor<?x8x3x4xf32>) -> tensor<?x2x4x3x4xf32>
  %4 = prim.dot %1, %3 batch [0, 1, 3] x [0, 1, 3] contract [4] x [4] : (tensor<?x2x4x3x4xf32>, tensor<?x2x4x3x4xf32>) -> tensor<?x2x3x4x4xf32>
  return %4 : tensor<?x2x3x4x4xf32>
}

// Of the left one alone it is columns, which lie beside it.
// CHECK-LABEL: func @columns
// CHECK: %[[R:.*]] = prim.reshape %arg1 sizes() : (tensor<2x3x6x4xf32>) -> tensor<2x18x4xf32>
// CHECK: %[[D:.*]] = prim.dot %arg0, %[[R]] batch [0] x [0] contract [2] x [2] : {{.*}} -> tensor<2x5x18xf32>
// CHECK: %[[P:.*]] = prim.reshape %[[D]] sizes() : (tensor<2x5x18xf32>) -> tensor<2x5x3x6xf32>
// CHECK: prim.transpose %[[P]] [0, 2, 1, 3]
func.func @columns(%c: tensor<2x5x4xf32>, %s: tensor<2x3x6x4xf32>) -> tensor<2x3x5x6xf32> {
  %0 = prim.broadcast %c axes [0, 2, 3] sizes() : (tensor<2x5x4xf32>) -> tensor<2x3x5x4xf32>
  %1 = prim.dot %0, %s batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<2x3x5x4xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x6xf32>
  return %1 : tensor<2x3x5x6xf32>
}

// Not where something else lies between, nor the only batch axis, nor an axis of which a reshape makes several.
// CHECK-LABEL: func @stays
// CHECK: prim.dot %{{.*}}, %arg1 batch [0, 1] x [0, 1] contract [3] x [2]
// CHECK: prim.dot %{{.*}}, %arg2 batch [0] x [0]
// CHECK: prim.dot %{{.*}} batch [0, 1] x [0, 1] contract [3] x [3]
func.func @stays(%c: tensor<2x5x4xf32>, %s: tensor<2x3x4x6xf32>, %t: tensor<2x6x4xf32>, %d: tensor<5x4xf32>, %e: tensor<6x4x4xf32>)
    -> (tensor<2x3x5x6xf32>, tensor<2x5x6xf32>, tensor<2x3x4x4xf32>) {
  %0 = prim.broadcast %c axes [0, 2, 3] sizes() : (tensor<2x5x4xf32>) -> tensor<2x3x5x4xf32>
  %1 = prim.dot %0, %s batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<2x3x5x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x5x6xf32>
  %2 = prim.broadcast %d axes [1, 2] sizes() : (tensor<5x4xf32>) -> tensor<2x5x4xf32>
  %3 = prim.dot %2, %t batch [0] x [0] contract [2] x [2] : (tensor<2x5x4xf32>, tensor<2x6x4xf32>) -> tensor<2x5x6xf32>
  %4 = prim.slice %e starts [0, 0, 0] () steps [6, 1, 1] sizes() : (tensor<6x4x4xf32>) -> tensor<1x4x4xf32>
  %5 = prim.broadcast %4 axes [0, 1, 2] sizes() : (tensor<1x4x4xf32>) -> tensor<6x4x4xf32>
  %6 = prim.reshape %5 sizes() : (tensor<6x4x4xf32>) -> tensor<2x3x4x4xf32>
  %7 = prim.dot %6, %6 batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  return %1, %3, %7 : tensor<2x3x5x6xf32>, tensor<2x5x6xf32>, tensor<2x3x4x4xf32>
}
