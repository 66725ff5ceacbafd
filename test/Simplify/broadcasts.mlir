// RUN: tcc-opt %s -tcc-simplify-broadcasts | FileCheck %s

// CHECK-LABEL: func @elementwise
// CHECK: %[[A:.*]] = prim.add %arg0, %arg1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK: %[[M:.*]] = prim.mul %[[A]], %{{.*}} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK: %[[B:.*]] = prim.broadcast %[[M]] axes [1]
// CHECK: return %[[B]]
func.func @elementwise(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %two = prim.constant dense<2.0> : tensor<2x3xf32>
  %0 = prim.broadcast %x axes [1] sizes() : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = prim.broadcast %y axes [1] sizes() : (tensor<3xf32>) -> tensor<2x3xf32>
  %2 = prim.add %0, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = prim.mul %2, %two : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// CHECK-LABEL: func @reduced
// CHECK-DAG: %[[FIVE:.*]] = prim.constant dense<5.000000e+00> : tensor<3xf32>
// CHECK: prim.mul %{{.*}}, %[[FIVE]]
// CHECK: %[[R:.*]] = prim.reduce max
// CHECK-SAME: (tensor<3xf32>) -> tensor<f32>
func.func @reduced(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %0 = prim.broadcast %x axes [1] sizes() : (tensor<3xf32>) -> tensor<5x3xf32>
  %1 = prim.reduce sum %0 [0] : (tensor<5x3xf32>) -> tensor<3xf32>
  %2 = prim.reduce max %0 [0, 1] : (tensor<5x3xf32>) -> tensor<f32>
  return %1, %2 : tensor<3xf32>, tensor<f32>
}

// CHECK-LABEL: func @unit_axes
// CHECK-NEXT: prim.reshape
// CHECK-NEXT: return
func.func @unit_axes(%x: tensor<3x1xf32>) -> tensor<3xf32> {
  %0 = prim.reduce sum %x [1] : (tensor<3x1xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Broadcasts along other axes, and axes that may be empty, stay.
// CHECK-LABEL: func @stays
// CHECK: prim.broadcast
// CHECK: prim.broadcast
// CHECK: prim.add
// CHECK: prim.broadcast
// CHECK: prim.reduce max
func.func @stays(%x: tensor<3xf32>, %n: index) -> (tensor<3x3xf32>, tensor<3xf32>) {
  %0 = prim.broadcast %x axes [0] sizes() : (tensor<3xf32>) -> tensor<3x3xf32>
  %1 = prim.broadcast %x axes [1] sizes() : (tensor<3xf32>) -> tensor<3x3xf32>
  %2 = prim.add %0, %1 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %3 = prim.broadcast %x axes [1] sizes(%n) : (tensor<3xf32>) -> tensor<?x3xf32>
  %4 = prim.reduce max %3 [0] : (tensor<?x3xf32>) -> tensor<3xf32>
  return %2, %4 : tensor<3x3xf32>, tensor<3xf32>
}
