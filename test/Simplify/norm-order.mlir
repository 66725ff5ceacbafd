// RUN: tcc-opt %s -tcc-simplify-norm-order -cse | FileCheck %s

// A layer norm before a window attention: rolled along two axes, and put in windows. The reshape behind the
// transpose stays.
// CHECK-LABEL: func @windows
// CHECK: %[[A:.*]] = prim.slice %arg0 starts [0, 1, 0, 0]
// CHECK: %[[B:.*]] = prim.slice %arg0 starts [0, 0, 0, 0]
// CHECK: %[[C:.*]] = prim.concat %[[A]], %[[B]] axis 1
// CHECK: %[[D:.*]] = prim.concat %{{.*}}, %{{.*}} axis 2
// CHECK: %[[R:.*]] = prim.reshape %[[D]] sizes() : (tensor<2x4x6x8xf32>) -> tensor<2x2x2x2x3x8xf32>
// CHECK: %[[X:.*]] = prim.transpose %[[R]] [0, 1, 3, 2, 4, 5] : {{.*}} -> tensor<2x2x2x2x3x8xf32>
// CHECK: %[[S:.*]] = prim.reduce sum %[[X]] [5] : (tensor<2x2x2x2x3x8xf32>) -> tensor<2x2x2x2x3xf32>
// CHECK: %[[K:.*]] = prim.reshape %[[S]] sizes() : {{.*}} -> tensor<2x2x2x2x3x1xf32>
// CHECK: %[[E:.*]] = prim.constant dense<8.000000e+00> : tensor<2x2x2x2x3x1xf32>
// CHECK: %[[M:.*]] = prim.div %[[K]], %[[E]]
// CHECK: %[[F:.*]] = prim.broadcast %[[M]] axes [0, 1, 2, 3, 4, 5] sizes()
// CHECK: %[[G:.*]] = prim.sub %[[X]], %[[F]]
// CHECK: %[[W:.*]] = prim.broadcast %arg1 axes [5] sizes() : (tensor<8xf32>) -> tensor<2x2x2x2x3x8xf32>
// CHECK: %[[H:.*]] = prim.mul %[[G]], %[[W]]
// CHECK: %[[O:.*]] = prim.reshape %[[H]] sizes() : (tensor<2x2x2x2x3x8xf32>) -> tensor<8x6x8xf32>
// CHECK: return %[[O]]
func.func @windows(%x: tensor<2x4x6x8xf32>, %w: tensor<8xf32>) -> tensor<8x6x8xf32> {
  %0 = prim.reduce sum %x [3] : (tensor<2x4x6x8xf32>) -> tensor<2x4x6xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x4x6xf32>) -> tensor<2x4x6x1xf32>
  %2 = prim.constant dense<8.0> : tensor<2x4x6x1xf32>
  %3 = prim.div %1, %2 : (tensor<2x4x6x1xf32>, tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
  %4 = prim.broadcast %3 axes [0, 1, 2, 3] sizes() : (tensor<2x4x6x1xf32>) -> tensor<2x4x6x8xf32>
  %5 = prim.sub %x, %4 : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %6 = prim.broadcast %w axes [3] sizes() : (tensor<8xf32>) -> tensor<2x4x6x8xf32>
  %7 = prim.mul %5, %6 : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32>
  %8 = prim.slice %7 starts [0, 1, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<2x4x6x8xf32>) -> tensor<2x3x6x8xf32>
  %9 = prim.slice %7 starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<2x4x6x8xf32>) -> tensor<2x1x6x8xf32>
  %10 = prim.concat %8, %9 axis 1 : (tensor<2x3x6x8xf32>, tensor<2x1x6x8xf32>) -> tensor<2x4x6x8xf32>
  %11 = prim.slice %10 starts [0, 0, 2, 0]() steps [1, 1, 1, 1] sizes() : (tensor<2x4x6x8xf32>) -> tensor<2x4x4x8xf32>
  %12 = prim.slice %10 starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<2x4x6x8xf32>) -> tensor<2x4x2x8xf32>
  %13 = prim.concat %11, %12 axis 2 : (tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>) -> tensor<2x4x6x8xf32>
  %14 = prim.reshape %13 sizes() : (tensor<2x4x6x8xf32>) -> tensor<2x2x2x2x3x8xf32>
  %15 = prim.transpose %14 [0, 1, 3, 2, 4, 5] : (tensor<2x2x2x2x3x8xf32>) -> tensor<2x2x2x2x3x8xf32>
  %16 = prim.reshape %15 sizes() : (tensor<2x2x2x2x3x8xf32>) -> tensor<8x6x8xf32>
  return %16 : tensor<8x6x8xf32>
}

// An open batch, rows of two axes, and a second value of the same rows.
// CHECK-LABEL: func @open
// CHECK-DAG: %[[X:.*]] = prim.transpose %arg0 [1, 0, 2, 3] : (tensor<?x6x2x8xf32>) -> tensor<6x?x2x8xf32>
// CHECK-DAG: %[[Z:.*]] = prim.transpose %arg1 [1, 0, 2, 3] : (tensor<?x6x2x8xf32>) -> tensor<6x?x2x8xf32>
// CHECK-DAG: %[[A:.*]] = prim.add %[[X]], %[[Z]]
// CHECK-DAG: %[[N:.*]] = prim.dim
// CHECK: %[[S:.*]] = prim.reduce max %[[A]] [2, 3] : (tensor<6x?x2x8xf32>) -> tensor<6x?xf32>
// CHECK: prim.reshape %[[S]] sizes(%[[N]]) : (tensor<6x?xf32>) -> tensor<6x?x1x1xf32>
// CHECK: prim.broadcast %{{.*}} axes [0, 1, 2, 3] sizes(%[[N]]) : (tensor<6x?x1x1xf32>) -> tensor<6x?x2x8xf32>
// CHECK: %[[R:.*]] = prim.sub %[[A]]
// CHECK: return %[[R]]
func.func @open(%x: tensor<?x6x2x8xf32>, %z: tensor<?x6x2x8xf32>) -> tensor<6x?x2x8xf32> {
  %n = prim.dim %x, 0 : tensor<?x6x2x8xf32>
  %0 = prim.add %x, %z : (tensor<?x6x2x8xf32>, tensor<?x6x2x8xf32>) -> tensor<?x6x2x8xf32>
  %1 = prim.reduce max %0 [2, 3] : (tensor<?x6x2x8xf32>) -> tensor<?x6xf32>
  %2 = prim.reshape %1 sizes(%n) : (tensor<?x6xf32>) -> tensor<?x6x1x1xf32>
  %3 = prim.broadcast %2 axes [0, 1, 2, 3] sizes(%n) : (tensor<?x6x1x1xf32>) -> tensor<?x6x2x8xf32>
  %4 = prim.sub %0, %3 : (tensor<?x6x2x8xf32>, tensor<?x6x2x8xf32>) -> tensor<?x6x2x8xf32>
  %5 = prim.transpose %4 [1, 0, 2, 3] : (tensor<?x6x2x8xf32>) -> tensor<6x?x2x8xf32>
  return %5 : tensor<6x?x2x8xf32>
}

// Nothing is reduced; rows that are read in the old order as well; a transpose of the rows' own axis; a value of each
// row that is no row; one window, of which a transpose moves no row.
// CHECK-LABEL: func @refused
// CHECK: prim.exp %arg0
// CHECK: prim.reduce max %arg0 [2]
// CHECK: prim.reduce sum %arg0 [2]
// CHECK: prim.reduce min %arg0 [2]
// CHECK: prim.reduce max %arg2 [4]
func.func @refused(%x: tensor<4x6x8xf32>, %r: tensor<4x6x1xf32>, %o: tensor<2x1x7x1x8xf32>) -> (tensor<6x4x8xf32>, tensor<6x4x8xf32>, tensor<4x6x8xf32>, tensor<4x8x6xf32>, tensor<6x4x8xf32>, tensor<2x1x1x7x8xf32>) {
  %0 = prim.exp %x : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %1 = prim.transpose %0 [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  %2 = prim.reduce max %x [2] : (tensor<4x6x8xf32>) -> tensor<4x6xf32>
  %3 = prim.reshape %2 sizes() : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %4 = prim.broadcast %3 axes [0, 1, 2] sizes() : (tensor<4x6x1xf32>) -> tensor<4x6x8xf32>
  %5 = prim.sub %x, %4 : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %6 = prim.transpose %5 [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  %7 = prim.reduce sum %x [2] : (tensor<4x6x8xf32>) -> tensor<4x6xf32>
  %8 = prim.reshape %7 sizes() : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %9 = prim.broadcast %8 axes [0, 1, 2] sizes() : (tensor<4x6x1xf32>) -> tensor<4x6x8xf32>
  %10 = prim.div %x, %9 : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %11 = prim.transpose %10 [0, 2, 1] : (tensor<4x6x8xf32>) -> tensor<4x8x6xf32>
  %12 = prim.reduce min %x [2] : (tensor<4x6x8xf32>) -> tensor<4x6xf32>
  %13 = prim.reshape %12 sizes() : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
  %14 = prim.add %13, %r : (tensor<4x6x1xf32>, tensor<4x6x1xf32>) -> tensor<4x6x1xf32>
  %15 = prim.broadcast %14 axes [0, 1, 2] sizes() : (tensor<4x6x1xf32>) -> tensor<4x6x8xf32>
  %16 = prim.mul %x, %15 : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %17 = prim.transpose %16 [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  %18 = prim.reduce max %o [4] : (tensor<2x1x7x1x8xf32>) -> tensor<2x1x7x1xf32>
  %19 = prim.broadcast %18 axes [0, 1, 2, 3] sizes() : (tensor<2x1x7x1xf32>) -> tensor<2x1x7x1x8xf32>
  %20 = prim.sub %o, %19 : (tensor<2x1x7x1x8xf32>, tensor<2x1x7x1x8xf32>) -> tensor<2x1x7x1x8xf32>
  %21 = prim.transpose %20 [0, 1, 3, 2, 4] : (tensor<2x1x7x1x8xf32>) -> tensor<2x1x1x7x8xf32>
  return %1, %6, %5, %11, %17, %21 : tensor<6x4x8xf32>, tensor<6x4x8xf32>, tensor<4x6x8xf32>, tensor<4x8x6xf32>, tensor<6x4x8xf32>, tensor<2x1x1x7x8xf32>
}
