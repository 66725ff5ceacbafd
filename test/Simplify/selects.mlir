// RUN: tcc-opt %s -tcc-simplify-selects | FileCheck %s

// CHECK-LABEL: func @known
// CHECK: return %arg0, %arg1, %arg0
func.func @known(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: tensor<4xi1>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %true = prim.constant dense<true> : tensor<4xi1>
  %false = prim.constant dense<false> : tensor<4xi1>
  %0 = prim.select %true, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prim.select %false, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = prim.select %c, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @conditions
// CHECK: %[[S:.*]] = prim.select %arg2, %arg1, %arg0
// CHECK-NEXT: %[[N:.*]] = prim.compare ne %arg0, %arg1
// CHECK-NEXT: return %[[S]], %[[N]], %arg2
func.func @conditions(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: tensor<4xi1>)
    -> (tensor<4xf32>, tensor<4xi1>, tensor<4xi1>) {
  %true = prim.constant dense<true> : tensor<4xi1>
  %false = prim.constant dense<false> : tensor<4xi1>
  %not = prim.not %c : (tensor<4xi1>) -> tensor<4xi1>
  %0 = prim.select %not, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %equal = prim.compare eq %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = prim.not %equal : (tensor<4xi1>) -> tensor<4xi1>
  %2 = prim.select %c, %true, %false : (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xi1>, tensor<4xi1>
}

// NaN is not equal to itself and makes every order false.
// CHECK-LABEL: func @stays
// CHECK: prim.compare eq %arg0, %arg0
// CHECK: prim.compare lt
// CHECK: prim.not
func.func @stays(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>) {
  %0 = prim.compare eq %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = prim.compare lt %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = prim.not %1 : (tensor<4xi1>) -> tensor<4xi1>
  return %0, %2 : tensor<4xi1>, tensor<4xi1>
}
