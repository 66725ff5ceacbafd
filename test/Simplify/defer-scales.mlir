// RUN: tcc-opt %s -tcc-simplify-defer-scales | FileCheck %s

// CHECK-LABEL: func @both
// CHECK: %[[T:.*]] = prim.transpose %arg1
// CHECK: %[[D:.*]] = prim.dot %arg0, %[[T]]
// CHECK: %[[C:.*]] = prim.constant dense<1.250000e-01> : tensor<2x4x4xf32>
// CHECK: %[[R:.*]] = prim.mul %[[D]], %[[C]]
// CHECK: return %[[R]]
func.func @both(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  %c = prim.constant dense<0.25> : tensor<2x4x8xf32>
  %0 = prim.mul %q, %c : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %d = prim.constant dense<0.5> : tensor<2x4x8xf32>
  %1 = prim.mul %k, %d : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %2 = prim.transpose %1 [0, 2, 1] : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
  %3 = prim.dot %0, %2 batch [0] x [0] contract [2] x [1] : (tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
  return %3 : tensor<2x4x4xf32>
}

// A scaled operand that is read elsewhere is computed anyway.
// CHECK-LABEL: func @shared
// CHECK: %[[M:.*]] = prim.mul
// CHECK: prim.dot %[[M]]
func.func @shared(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x8xf32>) {
  %c = prim.constant dense<0.25> : tensor<4x8xf32>
  %0 = prim.mul %x, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = prim.dot %0, %y batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %1, %0 : tensor<4x4xf32>, tensor<4x8xf32>
}

// Half precision may need the scale to stay in range; a scale of zero is not one.
// CHECK-LABEL: func @narrow
// CHECK: %[[M:.*]] = prim.mul
// CHECK: prim.dot %[[M]]
// CHECK: %[[Z:.*]] = prim.mul
// CHECK: prim.dot %[[Z]]
func.func @narrow(%x: tensor<4x8xf16>, %y: tensor<8x4xf16>, %z: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> (tensor<4x4xf16>, tensor<4x4xf32>) {
  %c = prim.constant dense<0.25> : tensor<4x8xf16>
  %0 = prim.mul %x, %c : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  %1 = prim.dot %0, %y batch [] x [] contract [1] x [0] : (tensor<4x8xf16>, tensor<8x4xf16>) -> tensor<4x4xf16>
  %d = prim.constant dense<0.0> : tensor<4x8xf32>
  %2 = prim.mul %z, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = prim.dot %2, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %1, %3 : tensor<4x4xf16>, tensor<4x4xf32>
}

// Operands that were scaled so that their product stays within range.
// CHECK-LABEL: func @far_from_one
// CHECK-COUNT-2: prim.mul
// CHECK: prim.dot
// CHECK-NEXT: return
func.func @far_from_one(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %c = prim.constant dense<1.0e-10> : tensor<4x8xf32>
  %d = prim.constant dense<1.0e-10> : tensor<8x4xf32>
  %0 = prim.mul %x, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = prim.mul %y, %d : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = prim.dot %0, %1 batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
