// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// Two types become the wider kind: i64 and f32 give f32.
// CHECK-LABEL: func @promote
// CHECK: %[[V0:.*]] = prim.cast %arg0 : (tensor<4xi64>) -> tensor<4xf32>
// CHECK: %[[V1:.*]] = prim.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK: %[[V2:.*]] = prim.mul %arg1, %[[V1]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[V3:.*]] = prim.add %[[V0]], %[[V2]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: return %[[V3]] : tensor<4xf32>
func.func @promote(%x: tensor<4xi64>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.node "aten" "add.Tensor"(%x, %y) {attrs = {alpha = 2 : i64, other = #graph.operand<1>, self = #graph.operand<0>}} : (tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The sign of NaN is 0.
// CHECK-LABEL: func @sign
// CHECK: %[[V0:.*]] = prim.sign %arg0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[V1:.*]] = prim.is_nan %arg0 : (tensor<4xf32>) -> tensor<4xi1>
// CHECK: %[[V2:.*]] = prim.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[V3:.*]] = prim.select %[[V1]], %[[V2]], %[[V0]] : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: return %[[V3]] : tensor<4xf32>
func.func @sign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.node "aten" "sign.default"(%x) {attrs = {self = #graph.operand<0>}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The root of an integer is a float.
// CHECK-LABEL: func @sqrt
// CHECK: %[[V0:.*]] = prim.cast %arg0 : (tensor<4xi32>) -> tensor<4xf32>
// CHECK: %[[V1:.*]] = prim.sqrt %[[V0]] : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: return %[[V1]] : tensor<4xf32>
func.func @sqrt(%x: tensor<4xi32>) -> tensor<4xf32> {
  %0 = graph.node "aten" "sqrt.default"(%x) {attrs = {self = #graph.operand<0>}} : (tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// torch.special's names of operators that torch has too.
// CHECK-LABEL: func @special
// CHECK: prim.expm1
// CHECK: prim.log1p
// CHECK: prim.lgamma
// CHECK: prim.digamma
// CHECK: prim.dot
// CHECK: prim.reduce  max
func.func @special(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %0 = graph.node "aten" "special_expm1.default"(%x) {attrs = {self = #graph.operand<0>}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.node "aten" "special_log1p.default"(%0) {attrs = {self = #graph.operand<0>}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.node "aten" "special_gammaln.default"(%1) {attrs = {self = #graph.operand<0>}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = graph.node "aten" "special_psi.default"(%2) {attrs = {self = #graph.operand<0>}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = graph.node "aten" "linalg_matmul.default"(%3, %x) {attrs = {self = #graph.operand<0>, other = #graph.operand<1>}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = graph.node "aten" "special_logsumexp.default"(%4) {attrs = {self = #graph.operand<0>, dim = [1]}} : (tensor<4x4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// The least common multiple of narrow integers is found in 32 bits.
// CHECK-LABEL: func @divisors
// CHECK: %[[GCD:.*]] = prim.gcd %arg0, %arg1 : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
// CHECK: %[[SHARE:.*]] = prim.div %arg0, %[[GCD]]
// CHECK: prim.cast %[[SHARE]] : (tensor<4xi8>) -> tensor<4xi32>
// CHECK: %[[LCM:.*]] = prim.cast %{{.*}} : (tensor<4xi32>) -> tensor<4xi8>
// CHECK: return %[[GCD]], %[[LCM]]
func.func @divisors(%x: tensor<4xi8>, %y: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %0 = graph.node "aten" "gcd.default"(%x, %y) {attrs = {other = #graph.operand<1>, self = #graph.operand<0>}} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %1 = graph.node "aten" "lcm.default"(%x, %y) {attrs = {other = #graph.operand<1>, self = #graph.operand<0>}} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %0, %1 : tensor<4xi8>, tensor<4xi8>
}
