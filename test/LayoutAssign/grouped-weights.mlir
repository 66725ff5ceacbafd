// RUN: tcc-opt %s -tcc-layout-grouped-weights -cse | FileCheck %s

// With a scale and a zero point a group, for any number of rows; both products read one weight.
// CHECK-LABEL: func @groups
// CHECK: %[[W:.*]] = prim.weight "integers.grouped" : tensor<4x64xf32, #cpu.grouped<columns = 0, width = 8, group = 32, bits = 4>>
// CHECK: prim.dot %arg0, %[[W]] batch [] x [] contract [2] x [1]
// CHECK: prim.dot %arg1, %[[W]] batch [] x [] contract [1] x [1]
func.func @groups(%x: tensor<1x1x64xf32>, %y: tensor<?x64xf32>) -> (tensor<1x1x4xf32>, tensor<?x4xf32>) {
  %w = prim.constant dense<11> : tensor<4x2x32xui8>
  %scale = prim.constant dense<[[[0.5], [0.25]], [[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]> : tensor<4x2x1xf32>
  %zero = prim.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]], [[7.0], [8.0]]]> : tensor<4x2x1xf32>
  %0 = prim.cast %w : (tensor<4x2x32xui8>) -> tensor<4x2x32xf32>
  %1 = prim.broadcast %zero axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x32xf32>
  %2 = prim.sub %0, %1 : (tensor<4x2x32xf32>, tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %3 = prim.broadcast %scale axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x32xf32>
  %4 = prim.mul %2, %3 : (tensor<4x2x32xf32>, tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %5 = prim.reshape %4 sizes() : (tensor<4x2x32xf32>) -> tensor<4x64xf32>
  %6 = prim.dot %x, %5 batch [] x [] contract [2] x [1] : (tensor<1x1x64xf32>, tensor<4x64xf32>) -> tensor<1x1x4xf32>
  %7 = prim.dot %y, %5 batch [] x [] contract [1] x [1] : (tensor<?x64xf32>, tensor<4x64xf32>) -> tensor<?x4xf32>
  return %6, %7 : tensor<1x1x4xf32>, tensor<?x4xf32>
}

// k first. Integers from -8 to 7 are stored with 8 added, which is the zero point of all.
// CHECK-LABEL: func @signed
// CHECK: prim.weight "integers.grouped{{.*}}" : tensor<64x4xf32, #cpu.grouped<columns = 1, width = 8, group = 32, bits = 4, zero = 8>>
func.func @signed(%x: tensor<3x64xf32>) -> tensor<3x4xf32> {
  %w = prim.constant dense<-5> : tensor<2x32x4xi8>
  %scale = prim.constant dense<[[[0.5, 0.25, 1.0, 2.0]], [[3.0, 4.0, 5.0, 6.0]]]> : tensor<2x1x4xf32>
  %0 = prim.cast %w : (tensor<2x32x4xi8>) -> tensor<2x32x4xf32>
  %1 = prim.broadcast %scale axes [0, 1, 2] sizes() : (tensor<2x1x4xf32>) -> tensor<2x32x4xf32>
  %2 = prim.mul %1, %0 : (tensor<2x32x4xf32>, tensor<2x32x4xf32>) -> tensor<2x32x4xf32>
  %3 = prim.reshape %2 sizes() : (tensor<2x32x4xf32>) -> tensor<64x4xf32>
  %4 = prim.dot %x, %3 batch [] x [] contract [1] x [0] : (tensor<3x64xf32>, tensor<64x4xf32>) -> tensor<3x4xf32>
  return %4 : tensor<3x4xf32>
}

// A scale a column, in groups of at most 256; integers of more bits keep a byte each.
// CHECK-LABEL: func @columns
// CHECK: prim.weight "integers.grouped{{.*}}" : tensor<4x600xf32, #cpu.grouped<columns = 0, width = 8, group = 200, bits = 8, zero = 128>>
func.func @columns(%x: tensor<64x600xf32>) -> tensor<64x4xf32> {
  %w = prim.constant dense<-11> : tensor<4x600xi8>
  %scale = prim.constant dense<[[0.5], [0.25], [1.0], [2.0]]> : tensor<4x1xf32>
  %0 = prim.cast %w : (tensor<4x600xi8>) -> tensor<4x600xf32>
  %1 = prim.broadcast %scale axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x600xf32>
  %2 = prim.mul %0, %1 : (tensor<4x600xf32>, tensor<4x600xf32>) -> tensor<4x600xf32>
  %3 = prim.dot %x, %2 batch [] x [] contract [1] x [1] : (tensor<64x600xf32>, tensor<4x600xf32>) -> tensor<64x4xf32>
  return %3 : tensor<64x4xf32>
}

// Groups that fill no words, scales that come at run time, and a scale for each k are left alone.
// CHECK-LABEL: func @others
// CHECK-NOT: #cpu.grouped
func.func @others(%x: tensor<3x6xf32>, %y: tensor<3x64xf32>, %scale: tensor<4x1xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %v = prim.constant dense<11> : tensor<4x6xui8>
  %two = prim.constant dense<2.0> : tensor<4x6xf32>
  %0 = prim.cast %v : (tensor<4x6xui8>) -> tensor<4x6xf32>
  %1 = prim.mul %0, %two : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = prim.dot %x, %1 batch [] x [] contract [1] x [1] : (tensor<3x6xf32>, tensor<4x6xf32>) -> tensor<3x4xf32>
  %w = prim.constant dense<11> : tensor<4x64xui8>
  %3 = prim.cast %w : (tensor<4x64xui8>) -> tensor<4x64xf32>
  %4 = prim.broadcast %scale axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x64xf32>
  %5 = prim.mul %3, %4 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %6 = prim.dot %y, %5 batch [] x [] contract [1] x [1] : (tensor<3x64xf32>, tensor<4x64xf32>) -> tensor<3x4xf32>
  %each = prim.weight "each" : tensor<64xf32>
  %7 = prim.broadcast %each axes [1] sizes() : (tensor<64xf32>) -> tensor<4x64xf32>
  %8 = prim.mul %3, %7 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %9 = prim.dot %y, %8 batch [] x [] contract [1] x [1] : (tensor<3x64xf32>, tensor<4x64xf32>) -> tensor<3x4xf32>
  return %2, %6, %9 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
