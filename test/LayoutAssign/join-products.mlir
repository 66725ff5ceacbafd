// RUN: tcc-opt %s -tcc-test-fill-weights -tcc-layout-join-products -cse | FileCheck %s

// What follows all of them in the same way follows the joined product: biases one after the other, one scalar, a rounding.
// CHECK-LABEL: func @heads
// CHECK-SAME: (%[[X:.*]]: tensor<4x12xbf16>
// CHECK: %[[W:.*]] = prim.weight "q+k" : tensor<24x12xbf16>
// CHECK: %[[D:.*]] = prim.dot %[[X]], %[[W]] batch [] x [] contract [1] x [1] : {{.*}} -> tensor<4x24xf32>
// CHECK: %[[B:.*]] = prim.weight "a+b" : tensor<24xf32>
// CHECK: %[[C:.*]] = prim.broadcast %[[B]] axes [1] sizes() : (tensor<24xf32>) -> tensor<4x24xf32>
// CHECK: %[[S:.*]] = prim.add %[[D]], %[[C]]
// CHECK: %[[H:.*]] = prim.constant dense<5.000000e-01> : tensor<4x24xf32>
// CHECK: %[[M:.*]] = prim.mul %[[S]], %[[H]]
// CHECK: %[[N:.*]] = prim.cast %[[M]] : (tensor<4x24xf32>) -> tensor<4x24xbf16>
// CHECK-DAG: %[[Q:.*]] = prim.slice %[[N]] starts [0, 0]() steps [1, 1] sizes() : (tensor<4x24xbf16>) -> tensor<4x16xbf16>
// CHECK-DAG: %[[K:.*]] = prim.slice %[[N]] starts [0, 16]() steps [1, 1] sizes() : (tensor<4x24xbf16>) -> tensor<4x8xbf16>
// CHECK: prim.reshape %[[Q]]
// CHECK: prim.reshape %[[K]]
func.func @heads(%x: tensor<4x12xbf16>, %p: tensor<4x2x4xbf16>) -> (tensor<4x2x8xbf16>, tensor<4x2x4xbf16>) {
  %q = prim.weight "q" : tensor<16x12xbf16>
  %0 = prim.dot %x, %q batch [] x [] contract [1] x [1] : (tensor<4x12xbf16>, tensor<16x12xbf16>) -> tensor<4x16xf32>
  %a = prim.weight "a" : tensor<16xf32>
  %1 = prim.broadcast %a axes [1] sizes() : (tensor<16xf32>) -> tensor<4x16xf32>
  %2 = prim.add %0, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %h = prim.constant dense<0.5> : tensor<4x16xf32>
  %3 = prim.mul %2, %h : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %4 = prim.cast %3 : (tensor<4x16xf32>) -> tensor<4x16xbf16>
  %5 = prim.reshape %4 sizes() : (tensor<4x16xbf16>) -> tensor<4x2x8xbf16>
  %k = prim.weight "k" : tensor<8x12xbf16>
  %6 = prim.dot %x, %k batch [] x [] contract [1] x [1] : (tensor<4x12xbf16>, tensor<8x12xbf16>) -> tensor<4x8xf32>
  %b = prim.weight "b" : tensor<8xf32>
  %7 = prim.broadcast %b axes [1] sizes() : (tensor<8xf32>) -> tensor<4x8xf32>
  %8 = prim.add %6, %7 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = prim.constant dense<0.5> : tensor<4x8xf32>
  %9 = prim.mul %8, %g : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = prim.cast %9 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %11 = prim.reshape %10 sizes() : (tensor<4x8xbf16>) -> tensor<4x2x4xbf16>
  return %5, %11 : tensor<4x2x8xbf16>, tensor<4x2x4xbf16>
}

// Biases of one row are weights of its shape.
// CHECK-LABEL: func @row
// CHECK: %[[W:.*]] = prim.weight "rq+rk" : tensor<24x12xbf16>
// CHECK: %[[D:.*]] = prim.dot %{{.*}}, %[[W]] batch [] x [] contract [2] x [1] : {{.*}} -> tensor<1x1x24xf32>
// CHECK: %[[B:.*]] = prim.weight "ra+rb" : tensor<1x1x24xf32>
// CHECK: %[[S:.*]] = prim.add %[[D]], %[[B]]
// CHECK-DAG: prim.slice %[[S]] starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<1x1x24xf32>) -> tensor<1x1x16xf32>
// CHECK-DAG: prim.slice %[[S]] starts [0, 0, 16]() steps [1, 1, 1] sizes() : (tensor<1x1x24xf32>) -> tensor<1x1x8xf32>
func.func @row(%x: tensor<1x1x12xbf16>) -> (tensor<2x8xf32>, tensor<2x4xf32>) {
  %q = prim.weight "rq" : tensor<16x12xbf16>
  %0 = prim.dot %x, %q batch [] x [] contract [2] x [1] : (tensor<1x1x12xbf16>, tensor<16x12xbf16>) -> tensor<1x1x16xf32>
  %a = prim.weight "ra" : tensor<1x1x16xf32>
  %1 = prim.add %0, %a : (tensor<1x1x16xf32>, tensor<1x1x16xf32>) -> tensor<1x1x16xf32>
  %2 = prim.reshape %1 sizes() : (tensor<1x1x16xf32>) -> tensor<2x8xf32>
  %k = prim.weight "rk" : tensor<8x12xbf16>
  %3 = prim.dot %x, %k batch [] x [] contract [2] x [1] : (tensor<1x1x12xbf16>, tensor<8x12xbf16>) -> tensor<1x1x8xf32>
  %b = prim.weight "rb" : tensor<1x1x8xf32>
  %4 = prim.add %3, %b : (tensor<1x1x8xf32>, tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %5 = prim.reshape %4 sizes() : (tensor<1x1x8xf32>) -> tensor<2x4xf32>
  return %2, %5 : tensor<2x8xf32>, tensor<2x4xf32>
}

// Open rows; one product has a type of its own.
// CHECK-LABEL: func @open
// CHECK: prim.weight "s+t" : tensor<16x12xbf16>
// CHECK: prim.dot {{.*}} -> tensor<?x16xbf16>
// CHECK: prim.slice {{.*}} -> tensor<?x8xbf16>
// CHECK: prim.slice {{.*}} -> tensor<?x8xbf16>
// CHECK: prim.dot %arg0, %{{.*}} -> tensor<?x8xf32>
func.func @open(%x: tensor<?x12xbf16>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %s = prim.weight "s" : tensor<8x12xbf16>
  %0 = prim.dot %x, %s batch [] x [] contract [1] x [1] : (tensor<?x12xbf16>, tensor<8x12xbf16>) -> tensor<?x8xbf16>
  %t = prim.weight "t" : tensor<8x12xbf16>
  %1 = prim.dot %x, %t batch [] x [] contract [1] x [1] : (tensor<?x12xbf16>, tensor<8x12xbf16>) -> tensor<?x8xbf16>
  %u = prim.weight "u" : tensor<8x12xbf16>
  %2 = prim.dot %x, %u batch [] x [] contract [1] x [1] : (tensor<?x12xbf16>, tensor<8x12xbf16>) -> tensor<?x8xf32>
  %3 = prim.dot %0, %1 batch [] x [] contract [1] x [1] : (tensor<?x8xbf16>, tensor<?x8xbf16>) -> tensor<?x?xf32>
  %4 = prim.dot %2, %2 batch [] x [] contract [1] x [1] : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x?xf32>
  return %3, %4 : tensor<?x?xf32>, tensor<?x?xf32>
}

// A gate is the epilogue of one; outputs are written where they go; a weight that others read; weights that lie across.
// CHECK-LABEL: func @refused
// CHECK-NOT: +
// CHECK-NOT: prim.slice
// CHECK: return
func.func @refused(%x: tensor<4x12xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8x12xbf16>, tensor<4x4xf32>) {
  %g = prim.weight "g" : tensor<8x12xbf16>
  %0 = prim.dot %x, %g batch [] x [] contract [1] x [1] : (tensor<4x12xbf16>, tensor<8x12xbf16>) -> tensor<4x8xbf16>
  %l = prim.logistic %0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %u = prim.weight "up" : tensor<8x12xbf16>
  %1 = prim.dot %x, %u batch [] x [] contract [1] x [1] : (tensor<4x12xbf16>, tensor<8x12xbf16>) -> tensor<4x8xbf16>
  %2 = prim.mul %l, %1 : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %y = prim.neg %x : (tensor<4x12xbf16>) -> tensor<4x12xbf16>
  %c = prim.weight "c" : tensor<8x12xbf16>
  %3 = prim.dot %y, %c batch [] x [] contract [1] x [1] : (tensor<4x12xbf16>, tensor<8x12xbf16>) -> tensor<4x8xbf16>
  %d = prim.weight "d" : tensor<8x12xbf16>
  %4 = prim.dot %y, %d batch [] x [] contract [1] x [1] : (tensor<4x12xbf16>, tensor<8x12xbf16>) -> tensor<4x8xbf16>
  %e = prim.weight "e" : tensor<12x8xbf16>
  %5 = prim.dot %y, %e batch [] x [] contract [1] x [0] : (tensor<4x12xbf16>, tensor<12x8xbf16>) -> tensor<4x8xf32>
  %6 = prim.dot %5, %5 batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %2, %3, %4, %d, %6 : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8x12xbf16>, tensor<4x4xf32>
}

// Weights of two types are not one tensor.
// CHECK-LABEL: func @mixed
// CHECK-NOT: +
// CHECK: return
func.func @mixed(%x: tensor<4x12xui8>) -> (tensor<4x2x4xi32>, tensor<4x2x4xi32>) {
  %g = prim.weight "signed" : tensor<8x12xi8>
  %0 = prim.dot %x, %g batch [] x [] contract [1] x [1] : (tensor<4x12xui8>, tensor<8x12xi8>) -> tensor<4x8xi32>
  %u = prim.weight "unsigned" : tensor<8x12xui8>
  %1 = prim.dot %x, %u batch [] x [] contract [1] x [1] : (tensor<4x12xui8>, tensor<8x12xui8>) -> tensor<4x8xi32>
  %2 = prim.reshape %0 sizes() : (tensor<4x8xi32>) -> tensor<4x2x4xi32>
  %3 = prim.reshape %1 sizes() : (tensor<4x8xi32>) -> tensor<4x2x4xi32>
  return %2, %3 : tensor<4x2x4xi32>, tensor<4x2x4xi32>
}
