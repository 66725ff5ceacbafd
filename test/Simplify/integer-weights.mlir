// RUN: tcc-opt %s -tcc-simplify-integer-weights | FileCheck %s

// Integers times a scale for each column: the product reads them, and its columns are scaled.
// CHECK-LABEL: func @columns
// CHECK: %[[W:.*]] = prim.weight "w"
// CHECK: %[[S:.*]] = prim.reshape %arg1 sizes() : (tensor<8x1xf32>) -> tensor<8xf32>
// CHECK: %[[Y:.*]] = prim.dot %arg0, %[[W]] {{.*}} : (tensor<1x4xf32>, tensor<8x4xi8>) -> tensor<1x8xf32>
// CHECK: %[[ALL:.*]] = prim.broadcast %[[S]] axes [1]
// CHECK: prim.mul %[[Y]], %[[ALL]]
func.func @columns(%x: tensor<1x4xf32>, %scale: tensor<8x1xf32>) -> tensor<1x8xf32> {
  %w = prim.weight "w" : tensor<8x4xi8>
  %0 = prim.cast %w : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %1 = prim.broadcast %scale axes [0, 1] sizes() : (tensor<8x1xf32>) -> tensor<8x4xf32>
  %2 = prim.mul %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = prim.dot %x, %2 batch [] x [] contract [1] x [1] : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<1x8xf32>
  return %3 : tensor<1x8xf32>
}

// One scale for all, and k first.
// CHECK-LABEL: func @one
// CHECK: prim.dot %arg0, %{{.*}} contract [1] x [0] : (tensor<1x4xf32>, tensor<4x8xui8>) -> tensor<1x8xf32>
// CHECK: prim.broadcast %arg1 axes [] sizes() : (tensor<f32>) -> tensor<1x8xf32>
func.func @one(%x: tensor<1x4xf32>, %scale: tensor<f32>) -> tensor<1x8xf32> {
  %w = prim.weight "w" : tensor<4x8xui8>
  %0 = prim.cast %w : (tensor<4x8xui8>) -> tensor<4x8xf32>
  %1 = prim.broadcast %scale axes [] sizes() : (tensor<f32>) -> tensor<4x8xf32>
  %2 = prim.mul %1, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = prim.dot %x, %2 batch [] x [] contract [1] x [0] : (tensor<1x4xf32>, tensor<4x8xf32>) -> tensor<1x8xf32>
  return %3 : tensor<1x8xf32>
}

// Zero points of 0, and narrow floats where nothing is scaled before the sum.
// CHECK-LABEL: func @zeros
// CHECK: prim.dot %arg0, %{{.*}} contract [1] x [1] : (tensor<1x4xbf16>, tensor<8x4xi8>) -> tensor<1x8xbf16>
// CHECK: prim.dot %arg0, %{{.*}} contract [1] x [1] : (tensor<1x4xbf16>, tensor<8x4xbf16>) -> tensor<1x8xbf16>
func.func @zeros(%x: tensor<1x4xbf16>, %scale: tensor<bf16>) -> (tensor<1x8xbf16>, tensor<1x8xbf16>) {
  %w = prim.weight "w" : tensor<8x4xi8>
  %zero = prim.constant dense<0> : tensor<8x4xi8>
  %0 = prim.cast %w : (tensor<8x4xi8>) -> tensor<8x4xbf16>
  %1 = prim.cast %zero : (tensor<8x4xi8>) -> tensor<8x4xbf16>
  %2 = prim.sub %0, %1 : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %3 = prim.dot %x, %2 batch [] x [] contract [1] x [1] : (tensor<1x4xbf16>, tensor<8x4xbf16>) -> tensor<1x8xbf16>
  %4 = prim.broadcast %scale axes [] sizes() : (tensor<bf16>) -> tensor<8x4xbf16>
  %5 = prim.cast %w : (tensor<8x4xi8>) -> tensor<8x4xbf16>
  %6 = prim.mul %5, %4 : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %7 = prim.dot %x, %6 batch [] x [] contract [1] x [1] : (tensor<1x4xbf16>, tensor<8x4xbf16>) -> tensor<1x8xbf16>
  return %3, %7 : tensor<1x8xbf16>, tensor<1x8xbf16>
}

// A scale for each k is not one of the result; many rows are worth wide weights.
// CHECK-LABEL: func @others
// CHECK: prim.dot %arg0, %{{.*}} (tensor<1x4xf32>, tensor<8x4xf32>)
// CHECK: prim.dot %arg2, %{{.*}} (tensor<512x4xf32>, tensor<8x4xf32>)
func.func @others(%x: tensor<1x4xf32>, %scale: tensor<1x4xf32>, %many: tensor<512x4xf32>) -> (tensor<1x8xf32>, tensor<512x8xf32>) {
  %w = prim.weight "w" : tensor<8x4xi8>
  %0 = prim.cast %w : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %1 = prim.broadcast %scale axes [0, 1] sizes() : (tensor<1x4xf32>) -> tensor<8x4xf32>
  %2 = prim.mul %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = prim.dot %x, %2 batch [] x [] contract [1] x [1] : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<1x8xf32>
  %4 = prim.cast %w : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %5 = prim.dot %many, %4 batch [] x [] contract [1] x [1] : (tensor<512x4xf32>, tensor<8x4xf32>) -> tensor<512x8xf32>
  return %3, %5 : tensor<1x8xf32>, tensor<512x8xf32>
}

// With a scale and a zero point a group: halves of a group share a byte.
// CHECK-LABEL: func @groups
// CHECK: %[[X:.*]] = prim.reshape %arg0 sizes() : (tensor<1x1x64xf32>) -> tensor<2x32xf32>
// CHECK: %[[W:.*]] = prim.weight "integers" : tensor<4x2x16xui8>
// CHECK: prim.slice %[[X]] starts [0, 0]() steps [1, 1]
// CHECK: prim.slice %[[X]] starts [0, 16]() steps [1, 1]
// CHECK: prim.and %[[W]]
// CHECK: prim.shift_right %[[W]]
// CHECK: prim.broadcast %arg2 axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x16xf32>
// CHECK: prim.sub
// CHECK: prim.broadcast %arg1 axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x16xf32>
// CHECK: prim.reduce sum %{{.*}} [1, 2] : (tensor<4x2x16xf32>) -> tensor<4xf32>
func.func @groups(%x: tensor<1x1x64xf32>, %scale: tensor<4x2x1xf32>, %zero: tensor<4x2x1xf32>) -> tensor<1x1x4xf32> {
  %w = prim.constant dense<11> : tensor<4x2x32xui8>
  %0 = prim.cast %w : (tensor<4x2x32xui8>) -> tensor<4x2x32xf32>
  %1 = prim.broadcast %zero axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x32xf32>
  %2 = prim.sub %0, %1 : (tensor<4x2x32xf32>, tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %3 = prim.broadcast %scale axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x32xf32>
  %4 = prim.mul %2, %3 : (tensor<4x2x32xf32>, tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %5 = prim.reshape %4 sizes() : (tensor<4x2x32xf32>) -> tensor<4x64xf32>
  %6 = prim.dot %x, %5 batch [] x [] contract [2] x [1] : (tensor<1x1x64xf32>, tensor<4x64xf32>) -> tensor<1x1x4xf32>
  return %6 : tensor<1x1x4xf32>
}

// Integers from -8 to 7 are stored with 8 added.
// CHECK-LABEL: func @signed
// CHECK: prim.weight "integers{{.*}}" : tensor<4x2x16xui8>
// CHECK: prim.constant dense<8.000000e+00> : tensor<4x2x16xf32>
func.func @signed(%x: tensor<1x64xf32>, %scale: tensor<4x2x1xf32>) -> tensor<1x4xf32> {
  %w = prim.constant dense<-3> : tensor<4x2x32xi8>
  %0 = prim.cast %w : (tensor<4x2x32xi8>) -> tensor<4x2x32xf32>
  %1 = prim.broadcast %scale axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x32xf32>
  %2 = prim.mul %1, %0 : (tensor<4x2x32xf32>, tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %3 = prim.reshape %2 sizes() : (tensor<4x2x32xf32>) -> tensor<4x64xf32>
  %4 = prim.dot %x, %3 batch [] x [] contract [1] x [1] : (tensor<1x64xf32>, tensor<4x64xf32>) -> tensor<1x4xf32>
  return %4 : tensor<1x4xf32>
}

// Integers of more bits keep a byte each; several rows are left to constant folding.
// CHECK-LABEL: func @bytes
// CHECK: %[[W:.*]] = prim.weight "integers{{.*}}" : tensor<4x2x32xi8>
// CHECK: prim.cast %[[W]]
// CHECK: prim.reduce
// CHECK: prim.dot %arg1
func.func @bytes(%x: tensor<1x64xf32>, %more: tensor<2x64xf32>, %scale: tensor<4x2x1xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>) {
  %w = prim.constant dense<-11> : tensor<4x2x32xi8>
  %0 = prim.cast %w : (tensor<4x2x32xi8>) -> tensor<4x2x32xf32>
  %1 = prim.broadcast %scale axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x32xf32>
  %2 = prim.mul %0, %1 : (tensor<4x2x32xf32>, tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %3 = prim.reshape %2 sizes() : (tensor<4x2x32xf32>) -> tensor<4x64xf32>
  %4 = prim.reshape %2 sizes() : (tensor<4x2x32xf32>) -> tensor<4x64xf32>
  %5 = prim.dot %x, %3 batch [] x [] contract [1] x [1] : (tensor<1x64xf32>, tensor<4x64xf32>) -> tensor<1x4xf32>
  %6 = prim.dot %more, %4 batch [] x [] contract [1] x [1] : (tensor<2x64xf32>, tensor<4x64xf32>) -> tensor<2x4xf32>
  return %5, %6 : tensor<1x4xf32>, tensor<2x4xf32>
}
