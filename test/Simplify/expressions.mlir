// RUN: tcc-opt %s -tcc-simplify-expressions | FileCheck %s

// A cast there and back vanishes, which brings the additions together.
// CHECK-LABEL: func @together
// CHECK: %[[C:.*]] = prim.constant dense<5.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = prim.add %arg0, %[[C]]
// CHECK-NEXT: return %[[Y]]
func.func @together(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = prim.constant dense<2.0> : tensor<4xf32>
  %three = prim.constant dense<3.0> : tensor<4xf32>
  %0 = prim.add %x, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prim.cast %0 : (tensor<4xf32>) -> tensor<4xf64>
  %2 = prim.cast %1 : (tensor<4xf64>) -> tensor<4xf32>
  %3 = prim.add %2, %three : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// One that loses digits stays, and what it parts stays apart.
// CHECK-LABEL: func @apart
// CHECK: prim.add
// CHECK: prim.cast
// CHECK: prim.cast
// CHECK: prim.add
func.func @apart(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = prim.constant dense<2.0> : tensor<4xf32>
  %three = prim.constant dense<3.0> : tensor<4xf32>
  %0 = prim.add %x, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prim.cast %0 : (tensor<4xf32>) -> tensor<4xf16>
  %2 = prim.cast %1 : (tensor<4xf16>) -> tensor<4xf32>
  %3 = prim.add %2, %three : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
