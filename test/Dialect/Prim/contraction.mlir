// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK-LABEL: func @products
func.func @products(%a: tensor<?x2x3xbf16>, %b: tensor<?x3x5xbf16>, %i: tensor<4x8xi8>, %u: tensor<8xui8>) {
  // CHECK: prim.dot %{{.*}}, %{{.*}} batch [0] x [0] contract [2] x [1]
  %0 = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<?x2x3xbf16>, tensor<?x3x5xbf16>) -> tensor<?x2x5xf32>
  // CHECK: prim.dot %{{.*}}, %{{.*}} batch [] x [] contract [1] x [0] : (tensor<4x8xi8>, tensor<8xui8>) -> tensor<4xi32>
  %1 = prim.dot %i, %u batch [] x [] contract [1] x [0] : (tensor<4x8xi8>, tensor<8xui8>) -> tensor<4xi32>
  return
}

// CHECK-LABEL: func @convolution
func.func @convolution(%x: tensor<1x4x?xf32>, %w: tensor<6x2x3xf32>, %n: index) {
  // CHECK: prim.conv %{{.*}}, %{{.*}} sizes(%{{.*}}) {dilations = array<i64: 1>, groups = 2 : i64
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 2 : i64} : (tensor<1x4x?xf32>, tensor<6x2x3xf32>, index) -> tensor<1x6x?xf32>
  return
}

// CHECK-LABEL: func @transform
func.func @transform(%x: tensor<2x?xcomplex<f32>>) {
  // CHECK: prim.fft %{{.*}} axis 1 {inverse = true}
  %0 = prim.fft %x axis 1 {inverse = true} : (tensor<2x?xcomplex<f32>>) -> tensor<2x?xcomplex<f32>>
  return
}
