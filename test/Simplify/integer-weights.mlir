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

// An open number of rows may be few; of narrow floats it may be many, which are multiplied as they are.
// CHECK-LABEL: func @open
// CHECK: prim.dot %arg0, %{{.*}} : (tensor<?x4xf32>, tensor<8x4xi8>) -> tensor<?x8xf32>
// CHECK: prim.broadcast %{{.*}} axes [1] sizes(%{{.*}}) : (tensor<8xf32>) -> tensor<?x8xf32>
// CHECK: prim.dot %arg1, %{{.*}} : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xbf16>
// CHECK: prim.dot %arg3, %{{.*}} : (tensor<?x17x4xf32>, tensor<8x4xf32>) -> tensor<?x17x8xf32>
func.func @open(%x: tensor<?x4xf32>, %b: tensor<?x4xbf16>, %scale: tensor<8x1xf32>, %y: tensor<?x17x4xf32>) -> (tensor<?x8xf32>, tensor<?x8xbf16>, tensor<?x17x8xf32>) {
  %w = prim.weight "w" : tensor<8x4xi8>
  %0 = prim.cast %w : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %1 = prim.broadcast %scale axes [0, 1] sizes() : (tensor<8x1xf32>) -> tensor<8x4xf32>
  %2 = prim.mul %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = prim.dot %x, %2 batch [] x [] contract [1] x [1] : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  %v = prim.weight "v" : tensor<8x4xi8>
  %4 = prim.cast %v : (tensor<8x4xi8>) -> tensor<8x4xbf16>
  %5 = prim.dot %b, %4 batch [] x [] contract [1] x [1] : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xbf16>
  %6 = prim.cast %w : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %7 = prim.mul %6, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %8 = prim.dot %y, %7 batch [] x [] contract [2] x [1] : (tensor<?x17x4xf32>, tensor<8x4xf32>) -> tensor<?x17x8xf32>
  return %3, %5, %8 : tensor<?x8xf32>, tensor<?x8xbf16>, tensor<?x17x8xf32>
}
