// RUN: tcc-opt %s -tcc-simplify-product-rows -cse | FileCheck %s

// Down to where another reshape gives the rows their axes back; scalars and biases follow.
// CHECK-LABEL: func @layer
// CHECK-NOT: prim.reshape
// CHECK: %[[D:.*]] = prim.dot %arg0, %arg1 batch [] x [] contract [2] x [1] : (tensor<2x8x32xf32>, tensor<64x32xf32>) -> tensor<2x8x64xf32>
// CHECK: %[[B:.*]] = prim.broadcast %arg2 axes [2] sizes() : (tensor<64xf32>) -> tensor<2x8x64xf32>
// CHECK: %[[S:.*]] = prim.add %[[D]], %[[B]]
// CHECK: %[[C:.*]] = prim.constant dense<5.000000e-01> : tensor<2x8x64xf32>
// CHECK: %[[M:.*]] = prim.mul %[[S]], %[[C]]
// CHECK: prim.cast %[[M]] : (tensor<2x8x64xf32>) -> tensor<2x8x64xbf16>
// CHECK-NOT: prim.reshape
// CHECK: return
func.func @layer(%x: tensor<2x8x32xf32>, %w: tensor<64x32xf32>, %b: tensor<64xf32>) -> tensor<2x8x64xbf16> {
  %0 = prim.reshape %x sizes() : (tensor<2x8x32xf32>) -> tensor<16x32xf32>
  %1 = prim.dot %0, %w batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<16x64xf32>
  %2 = prim.broadcast %b axes [1] sizes() : (tensor<64xf32>) -> tensor<16x64xf32>
  %3 = prim.add %1, %2 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %h = prim.constant dense<0.5> : tensor<16x64xf32>
  %4 = prim.mul %3, %h : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %5 = prim.cast %4 : (tensor<16x64xf32>) -> tensor<16x64xbf16>
  %6 = prim.reshape %5 sizes() : (tensor<16x64xbf16>) -> tensor<2x8x64xbf16>
  return %6 : tensor<2x8x64xbf16>
}

// Several products of one reshape, one after another, and a value that is read twice; another shape is a reshape of the
// new one.
// CHECK-LABEL: func @block
// CHECK: %[[U:.*]] = prim.dot %arg0, %arg1 batch [] x [] contract [2] x [0] : {{.*}} -> tensor<2x8x4xf32>
// CHECK: %[[G:.*]] = prim.logistic %[[U]]
// CHECK: %[[M:.*]] = prim.mul %[[U]], %[[G]]
// CHECK: %[[V:.*]] = prim.dot %arg0, %arg2 batch [] x [] contract [2] x [0] : {{.*}} -> tensor<2x8x4xf32>
// CHECK: %[[P:.*]] = prim.mul %[[M]], %[[V]]
// CHECK: %[[D:.*]] = prim.dot %[[P]], %arg3 batch [] x [] contract [2] x [1] : {{.*}} -> tensor<2x8x32xf32>
// CHECK: %[[S:.*]] = prim.add %[[D]], %arg0
// CHECK: %[[H:.*]] = prim.reshape %[[D]] sizes() : (tensor<2x8x32xf32>) -> tensor<16x8x4xf32>
// CHECK: return %[[S]], %[[H]]
func.func @block(%x: tensor<2x8x32xf32>, %u: tensor<32x4xf32>, %v: tensor<32x4xf32>, %d: tensor<32x4xf32>) -> (tensor<2x8x32xf32>, tensor<16x8x4xf32>) {
  %0 = prim.reshape %x sizes() : (tensor<2x8x32xf32>) -> tensor<16x32xf32>
  %1 = prim.dot %0, %u batch [] x [] contract [1] x [0] : (tensor<16x32xf32>, tensor<32x4xf32>) -> tensor<16x4xf32>
  %2 = prim.logistic %1 : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %3 = prim.mul %1, %2 : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  %4 = prim.reshape %3 sizes() : (tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %5 = prim.dot %0, %v batch [] x [] contract [1] x [0] : (tensor<16x32xf32>, tensor<32x4xf32>) -> tensor<16x4xf32>
  %6 = prim.reshape %5 sizes() : (tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %7 = prim.mul %4, %6 : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %8 = prim.reshape %7 sizes() : (tensor<2x8x4xf32>) -> tensor<16x4xf32>
  %9 = prim.dot %8, %d batch [] x [] contract [1] x [1] : (tensor<16x4xf32>, tensor<32x4xf32>) -> tensor<16x32xf32>
  %10 = prim.reshape %9 sizes() : (tensor<16x32xf32>) -> tensor<2x8x32xf32>
  %11 = prim.add %10, %x : (tensor<2x8x32xf32>, tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  %12 = prim.reshape %9 sizes() : (tensor<16x32xf32>) -> tensor<16x8x4xf32>
  return %11, %12 : tensor<2x8x32xf32>, tensor<16x8x4xf32>
}

// Rows that stay flattened, open rows, what differs from row to row.
// CHECK-LABEL: func @refused
// CHECK: %[[A:.*]] = prim.reshape %arg0 sizes() : (tensor<2x8x32xf32>) -> tensor<16x32xf32>
// CHECK: %[[B:.*]] = prim.dot %[[A]], %arg1
// CHECK: prim.reduce sum %[[B]] [0]
// CHECK: %[[C:.*]] = prim.reshape %arg2 sizes(%arg3)
// CHECK: prim.dot %[[C]], %arg1
// CHECK: %[[D:.*]] = prim.dot %[[A]], %arg4
// CHECK: prim.add %[[D]], %arg5
func.func @refused(%x: tensor<2x8x32xf32>, %w: tensor<32x4xf32>, %open: tensor<2x?x32xf32>, %n: index, %v: tensor<32x4xf32>, %z: tensor<16x4xf32>) -> (tensor<4xf32>, tensor<2x?x4xf32>, tensor<2x8x4xf32>) {
  %0 = prim.reshape %x sizes() : (tensor<2x8x32xf32>) -> tensor<16x32xf32>
  %1 = prim.dot %0, %w batch [] x [] contract [1] x [0] : (tensor<16x32xf32>, tensor<32x4xf32>) -> tensor<16x4xf32>
  %2 = prim.reduce sum %1 [0] : (tensor<16x4xf32>) -> tensor<4xf32>
  %3 = prim.reshape %open sizes(%n) : (tensor<2x?x32xf32>) -> tensor<?x32xf32>
  %4 = prim.dot %3, %w batch [] x [] contract [1] x [0] : (tensor<?x32xf32>, tensor<32x4xf32>) -> tensor<?x4xf32>
  %5 = prim.reshape %4 sizes(%n) : (tensor<?x4xf32>) -> tensor<2x?x4xf32>
  %6 = prim.dot %0, %v batch [] x [] contract [1] x [0] : (tensor<16x32xf32>, tensor<32x4xf32>) -> tensor<16x4xf32>
  %7 = prim.add %6, %z : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  %8 = prim.reshape %7 sizes() : (tensor<16x4xf32>) -> tensor<2x8x4xf32>
  return %2, %5, %8 : tensor<4xf32>, tensor<2x?x4xf32>, tensor<2x8x4xf32>
}
