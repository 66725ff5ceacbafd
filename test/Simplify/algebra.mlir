// RUN: tcc-opt %s -tcc-simplify-algebra | FileCheck %s

// CHECK-LABEL: func @merged_constants
// CHECK: %[[M:.*]] = prim.mul %arg0
// CHECK: %[[TWO:.*]] = prim.constant dense<2.000000e+00>
// CHECK: %[[Y:.*]] = prim.add %[[M]], %[[TWO]]
// CHECK-NEXT: return %[[Y]]
func.func @merged_constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = prim.constant dense<2.0> : tensor<4xf32>
  %three = prim.constant dense<3.0> : tensor<4xf32>
  %one = prim.constant dense<1.0> : tensor<4xf32>
  %0 = prim.mul %x, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prim.add %0, %three : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = prim.sub %1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func @identities
// CHECK-NOT: prim.{{mul|div|sub|add|neg|pow}}
// CHECK: return %arg0
func.func @identities(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = prim.constant dense<1.0> : tensor<4xf32>
  %zero = prim.constant dense<0.0> : tensor<4xf32>
  %negzero = prim.constant dense<-0.0> : tensor<4xf32>
  %0 = prim.mul %one, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prim.div %0, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = prim.sub %1, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = prim.add %2, %negzero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = prim.neg %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = prim.neg %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = prim.pow %5, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %6 : tensor<4xf32>
}

// CHECK-LABEL: func @dynamic
// CHECK: %[[FIVE:.*]] = prim.constant dense<5.000000e+00> : tensor<f32>
// CHECK: %[[B:.*]] = prim.broadcast %[[FIVE]] axes []
// CHECK: prim.add %arg0, %[[B]]
// CHECK-NEXT: return
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = prim.dim %x, 0 : tensor<?xf32>
  %two = prim.constant dense<2.0> : tensor<f32>
  %three = prim.constant dense<3.0> : tensor<f32>
  %a = prim.broadcast %two axes [] sizes(%n) : (tensor<f32>) -> tensor<?xf32>
  %b = prim.broadcast %three axes [] sizes(%n) : (tensor<f32>) -> tensor<?xf32>
  %0 = prim.add %x, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = prim.add %0, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// CHECK-LABEL: func @integers_wrap
// CHECK: prim.constant dense<-2>
// CHECK: prim.add
// CHECK-NOT: prim.add
// CHECK: return
func.func @integers_wrap(%x: tensor<4xi8>) -> tensor<4xi8> {
  %a = prim.constant dense<127> : tensor<4xi8>
  %0 = prim.add %x, %a : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %1 = prim.add %0, %a : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %1 : tensor<4xi8>
}

// CHECK-LABEL: func @powers
// CHECK: %[[S:.*]] = prim.mul %arg0, %arg0
// CHECK: %[[C:.*]] = prim.mul %[[S]], %arg0
// CHECK: %[[D:.*]] = prim.div %{{.*}}, %arg0
// CHECK: %[[H:.*]] = prim.pow %arg0
// CHECK: return %[[C]], %[[D]], %[[H]]
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %three = prim.constant dense<3.0> : tensor<4xf32>
  %minus = prim.constant dense<-1.0> : tensor<4xf32>
  %half = prim.constant dense<0.5> : tensor<4xf32>
  %0 = prim.pow %x, %three : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prim.pow %x, %minus : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // sqrt(-0) is -0, pow(-0, 0.5) is 0.
  %2 = prim.pow %x, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @by_powers_of_two
// CHECK: %[[Q:.*]] = prim.constant dense<1.250000e-01>
// CHECK: %[[A:.*]] = prim.mul %arg0, %[[Q]]
// CHECK: %[[B:.*]] = prim.div %arg0
// CHECK: return %[[A]], %[[B]]
func.func @by_powers_of_two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %eight = prim.constant dense<8.0> : tensor<4xf32>
  %three = prim.constant dense<3.0> : tensor<4xf32>
  %0 = prim.div %x, %eight : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prim.div %x, %three : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Floats that IEEE 754 keeps apart stay: the sign of zero, rounding by addition of
// a large number, constants whose sum or product is rounded or overflows.
// CHECK-LABEL: func @stays
// CHECK: prim.add
// CHECK: prim.add
// CHECK: prim.sub
// CHECK: prim.add
// CHECK: prim.add
// CHECK: prim.mul
// CHECK: prim.mul
// CHECK: return
func.func @stays(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = prim.constant dense<0.0> : tensor<4xf32>
  %magic = prim.constant dense<8388608.0> : tensor<4xf32>
  %tenth = prim.constant dense<0.1> : tensor<4xf32>
  %one = prim.constant dense<1.0> : tensor<4xf32>
  %large = prim.constant dense<1.0e+30> : tensor<4xf32>
  %small = prim.constant dense<7.8886090522101181e-31> : tensor<4xf32>
  %0 = prim.add %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prim.add %x, %magic : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = prim.sub %1, %magic : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = prim.add %x, %tenth : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = prim.add %3, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = prim.mul %x, %large : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = prim.mul %5, %small : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %2, %4, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// |-x| is |x| where there is a sign.
// CHECK-LABEL: func @magnitude
// CHECK-DAG: prim.abs %arg0
// CHECK-DAG: %[[N:.*]] = prim.neg %arg1
// CHECK-DAG: prim.abs %[[N]]
func.func @magnitude(%x: tensor<4xi8>, %y: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xui8>) {
  %0 = prim.neg %x : (tensor<4xi8>) -> tensor<4xi8>
  %1 = prim.abs %0 : (tensor<4xi8>) -> tensor<4xi8>
  %2 = prim.neg %y : (tensor<4xui8>) -> tensor<4xui8>
  %3 = prim.abs %2 : (tensor<4xui8>) -> tensor<4xui8>
  return %1, %3 : tensor<4xi8>, tensor<4xui8>
}

// Integers that a constant has for each channel are added up beforehand.
// CHECK-LABEL: func @channels
// CHECK: %[[SUM:.*]] = prim.sub %{{.*}}, %{{.*}} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
// CHECK: %[[ALL:.*]] = prim.broadcast %[[SUM]] axes [1]
// CHECK: %[[Y:.*]] = prim.add %arg0, %[[ALL]]
// CHECK-NEXT: return %[[Y]]
func.func @channels(%x: tensor<4x2xi32>) -> tensor<4x2xi32> {
  %a = prim.constant dense<[1, 2]> : tensor<2xi32>
  %b = prim.constant dense<[7, -9]> : tensor<2xi32>
  %0 = prim.broadcast %a axes [1] sizes() : (tensor<2xi32>) -> tensor<4x2xi32>
  %1 = prim.broadcast %b axes [1] sizes() : (tensor<2xi32>) -> tensor<4x2xi32>
  %2 = prim.sub %x, %0 : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi32>
  %3 = prim.add %2, %1 : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi32>
  return %3 : tensor<4x2xi32>
}
