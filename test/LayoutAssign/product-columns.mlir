// RUN: tcc-opt %s -tcc-layout-product-columns -cse | FileCheck %s

// What is read several times, numbers and another product of the same columns, of open rows.
// CHECK-LABEL: func @gated
// CHECK: %[[P:.*]] = prim.dot %arg0, %arg1
// CHECK: %[[Q:.*]] = prim.dot %arg0, %arg2
// CHECK-DAG: %[[HALF:.*]] = prim.constant dense<5.000000e-01> : tensor<f32>
// CHECK-DAG: %[[B:.*]] = prim.reshape %arg3 sizes() : (tensor<4x6xf32>) -> tensor<24xf32>
// CHECK: %[[BIAS:.*]] = prim.broadcast %[[B]] axes [1] sizes({{.*}}) : (tensor<24xf32>) -> tensor<?x24xf32>
// CHECK: %[[SUM:.*]] = prim.add %[[P]], %[[BIAS]] : (tensor<?x24xf32>, tensor<?x24xf32>) -> tensor<?x24xf32>
// CHECK: %[[GATE:.*]] = prim.logistic %[[SUM]]
// CHECK: %[[NUMBER:.*]] = prim.broadcast %[[HALF]] axes [] sizes({{.*}}) : (tensor<f32>) -> tensor<?x24xf32>
// CHECK: %[[ALL:.*]] = prim.mul %[[GATE]], %[[NUMBER]]
// CHECK: %[[LAST:.*]] = prim.mul %[[ALL]], %[[Q]]
// CHECK: %[[R:.*]] = prim.reshape %[[LAST]] sizes({{.*}}) : (tensor<?x24xf32>) -> tensor<?x4x6xf32>
// CHECK: prim.transpose %[[R]] [1, 0, 2]
func.func @gated(%x: tensor<?x32xf32>, %v: tensor<24x32xf32>, %w: tensor<24x32xf32>, %b: tensor<4x6xf32>) -> tensor<4x?x6xf32> {
  %n = prim.dim %x, 0 : tensor<?x32xf32>
  %p = prim.dot %x, %v batch [] x [] contract [1] x [1] : (tensor<?x32xf32>, tensor<24x32xf32>) -> tensor<?x24xf32>
  %q = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<?x32xf32>, tensor<24x32xf32>) -> tensor<?x24xf32>
  %half = prim.constant dense<0.5> : tensor<f32>
  %0 = prim.reshape %p sizes(%n) : (tensor<?x24xf32>) -> tensor<?x4x6xf32>
  %1 = prim.reshape %q sizes(%n) : (tensor<?x24xf32>) -> tensor<?x4x6xf32>
  %2 = prim.broadcast %b axes [1, 2] sizes(%n) : (tensor<4x6xf32>) -> tensor<?x4x6xf32>
  %3 = prim.add %0, %2 : (tensor<?x4x6xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %4 = prim.logistic %3 : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %5 = prim.broadcast %half axes [] sizes(%n) : (tensor<f32>) -> tensor<?x4x6xf32>
  %6 = prim.mul %4, %5 : (tensor<?x4x6xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %7 = prim.mul %6, %1 : (tensor<?x4x6xf32>, tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %8 = prim.transpose %7 [1, 0, 2] : (tensor<?x4x6xf32>) -> tensor<4x?x6xf32>
  return %8 : tensor<4x?x6xf32>
}

// Heads that are normalised stay rows of their own.
// CHECK-LABEL: func @heads
// CHECK: %[[R:.*]] = prim.reshape {{.*}} -> tensor<16x4x6xf32>
// CHECK: prim.abs %[[R]]
func.func @heads(%x: tensor<16x32xf32>, %w: tensor<24x32xf32>) -> tensor<16x4xf32> {
  %p = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<24x32xf32>) -> tensor<16x24xf32>
  %0 = prim.reshape %p sizes() : (tensor<16x24xf32>) -> tensor<16x4x6xf32>
  %1 = prim.abs %0 : (tensor<16x4x6xf32>) -> tensor<16x4x6xf32>
  %2 = prim.reduce sum %1 [2] : (tensor<16x4x6xf32>) -> tensor<16x4xf32>
  return %2 : tensor<16x4xf32>
}

// What differs from row to row stays where it lies.
// CHECK-LABEL: func @each_row
// CHECK: %[[R:.*]] = prim.reshape {{.*}} -> tensor<16x4x6xf32>
// CHECK: prim.add %[[R]]
func.func @each_row(%x: tensor<16x32xf32>, %w: tensor<24x32xf32>, %y: tensor<16x6xf32>) -> tensor<16x4x6xf32> {
  %p = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<24x32xf32>) -> tensor<16x24xf32>
  %0 = prim.reshape %p sizes() : (tensor<16x24xf32>) -> tensor<16x4x6xf32>
  %1 = prim.broadcast %y axes [0, 2] sizes() : (tensor<16x6xf32>) -> tensor<16x4x6xf32>
  %2 = prim.add %0, %1 : (tensor<16x4x6xf32>, tensor<16x4x6xf32>) -> tensor<16x4x6xf32>
  return %2 : tensor<16x4x6xf32>
}

// Rows that are split are no columns.
// CHECK-LABEL: func @rows
// CHECK: %[[R:.*]] = prim.reshape {{.*}} -> tensor<4x4x24xf32>
// CHECK: prim.abs %[[R]]
func.func @rows(%x: tensor<16x32xf32>, %w: tensor<24x32xf32>) -> tensor<4x4x24xf32> {
  %p = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<24x32xf32>) -> tensor<16x24xf32>
  %0 = prim.reshape %p sizes() : (tensor<16x24xf32>) -> tensor<4x4x24xf32>
  %1 = prim.abs %0 : (tensor<4x4x24xf32>) -> tensor<4x4x24xf32>
  return %1 : tensor<4x4x24xf32>
}

// A number has no columns.
// CHECK-LABEL: func @number
// CHECK: %[[R:.*]] = prim.reshape {{.*}} -> tensor<1x1xf32>
// CHECK: prim.abs %[[R]]
func.func @number(%x: tensor<32xf32>, %w: tensor<32xf32>) -> tensor<1x1xf32> {
  %p = prim.dot %x, %w batch [] x [] contract [0] x [0] : (tensor<32xf32>, tensor<32xf32>) -> tensor<f32>
  %0 = prim.reshape %p sizes() : (tensor<f32>) -> tensor<1x1xf32>
  %1 = prim.abs %0 : (tensor<1x1xf32>) -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}
