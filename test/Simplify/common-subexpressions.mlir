// RUN: tcc-opt %s -tcc-simplify-common-subexpressions | FileCheck %s

// CHECK-LABEL: func @equal
// CHECK: prim.if
// CHECK: prim.neg
// CHECK-NOT: prim.if
// CHECK: prim.add %[[IF:.*]], %[[IF]] :
// CHECK-NOT: tcc.digest
func.func @equal(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %a = prim.if %c {
    %n = prim.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    prim.yield %n : tensor<4xf32>
  } else {
    prim.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  %b = prim.if %c {
    %n = prim.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    prim.yield %n : tensor<4xf32>
  } else {
    prim.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  %s = prim.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// What the branches read is equal only after a merge outside.
// CHECK-LABEL: func @equal_afterwards
// CHECK-COUNT-1: prim.if
// CHECK-NOT: prim.if
func.func @equal_afterwards(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %p = prim.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %q = prim.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %a = prim.if %c {
    %n = prim.neg %p : (tensor<4xf32>) -> tensor<4xf32>
    prim.yield %n : tensor<4xf32>
  } else {
    prim.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  %b = prim.if %c {
    %n = prim.neg %q : (tensor<4xf32>) -> tensor<4xf32>
    prim.yield %n : tensor<4xf32>
  } else {
    prim.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  %s = prim.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// CHECK-LABEL: func @different
// CHECK-COUNT-2: prim.if
func.func @different(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %a = prim.if %c {
    %n = prim.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    prim.yield %n : tensor<4xf32>
  } else {
    prim.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  %b = prim.if %c {
    %n = prim.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    prim.yield %n : tensor<4xf32>
  } else {
    prim.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  %s = prim.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}
