// RUN: tcc-opt %s -tcc-layout-order-statistics | FileCheck %s

// CHECK-LABEL: func @median
// CHECK: %[[K:.*]] = arith.constant 500
// CHECK: %[[V:.*]], %[[I:.*]] = prim.kth %arg0 k %[[K]] {descending = false}
// CHECK: return %[[V]], %[[I]]
func.func @median(%x: tensor<10x1001xf32>) -> (tensor<10x1xf32>, tensor<10x1xi64>) {
  %0:2 = prim.sort %x axis 1 {descending = false} : (tensor<10x1001xf32>) -> (tensor<10x1001xf32>, tensor<10x1001xi64>)
  %1 = prim.slice %0#0 starts [0, 500] () steps [1, 1] sizes() : (tensor<10x1001xf32>) -> tensor<10x1xf32>
  %2 = prim.slice %0#1 starts [0, 500] () steps [1, 1] sizes() : (tensor<10x1001xi64>) -> tensor<10x1xi64>
  return %1, %2 : tensor<10x1xf32>, tensor<10x1xi64>
}

// Of a place that a run tells, and of some lines.
// CHECK-LABEL: func @open
// CHECK: %[[P:.*]], %{{.*}} = prim.kth %arg0 k %arg1 {descending = false} : (tensor<?x?xf32>, index) -> (tensor<?x1xf32>, tensor<?x1xi64>)
// CHECK: prim.slice %[[P]] starts [0, 0]() steps [1, 1] sizes(%arg2)
func.func @open(%x: tensor<?x?xf32>, %k: index, %n: index) -> tensor<?x1xf32> {
  %0:2 = prim.sort %x axis 1 {descending = false} : (tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  %1 = prim.slice %0#0 starts [0, -9223372036854775808] (%k) steps [1, 1] sizes(%n) : (tensor<?x?xf32>) -> tensor<?x1xf32>
  return %1 : tensor<?x1xf32>
}

// Other uses need the order, and short lines are sorted as fast.
// CHECK-LABEL: func @all
// CHECK-NOT: prim.kth
func.func @all(%x: tensor<10x1001xf32>, %y: tensor<10x64xf32>) -> (tensor<10x1xf32>, tensor<10x1001xf32>, tensor<10x1xf32>) {
  %0:2 = prim.sort %x axis 1 {descending = false} : (tensor<10x1001xf32>) -> (tensor<10x1001xf32>, tensor<10x1001xi64>)
  %1 = prim.slice %0#0 starts [0, 500] () steps [1, 1] sizes() : (tensor<10x1001xf32>) -> tensor<10x1xf32>
  %2:2 = prim.sort %y axis 1 {descending = false} : (tensor<10x64xf32>) -> (tensor<10x64xf32>, tensor<10x64xi64>)
  %3 = prim.slice %2#0 starts [0, 32] () steps [1, 1] sizes() : (tensor<10x64xf32>) -> tensor<10x1xf32>
  return %1, %0#0, %3 : tensor<10x1xf32>, tensor<10x1001xf32>, tensor<10x1xf32>
}

// Lines along another axis are turned, unless lanes keep the few that are taken of each.
// CHECK-LABEL: func @across
// CHECK: %[[X:.*]] = prim.transpose %arg0 [2, 1, 0] : (tensor<1001x4x10xf32>) -> tensor<10x4x1001xf32>
// CHECK: %[[V:.*]], %[[I:.*]] = prim.top_k %[[X]] axis 2 {largest = true} : (tensor<10x4x1001xf32>) -> (tensor<10x4x40xf32>, tensor<10x4x40xi64>)
// CHECK: %[[V1:.*]] = prim.transpose %[[V]] [2, 1, 0] : (tensor<10x4x40xf32>) -> tensor<40x4x10xf32>
// CHECK: %[[I1:.*]] = prim.transpose %[[I]] [2, 1, 0]
// CHECK: prim.top_k %arg0 axis 0
// CHECK: return %[[V1]], %[[I1]]
func.func @across(%x: tensor<1001x4x10xf32>) -> (tensor<40x4x10xf32>, tensor<40x4x10xi64>, tensor<4x4x10xf32>) {
  %0:2 = prim.top_k %x axis 0 {largest = true} : (tensor<1001x4x10xf32>) -> (tensor<40x4x10xf32>, tensor<40x4x10xi64>)
  %1:2 = prim.top_k %x axis 0 {largest = true} : (tensor<1001x4x10xf32>) -> (tensor<4x4x10xf32>, tensor<4x4x10xi64>)
  return %0#0, %0#1, %1#0 : tensor<40x4x10xf32>, tensor<40x4x10xi64>, tensor<4x4x10xf32>
}

// So are lines whose length a run knows.
// CHECK-LABEL: func @open_across
// CHECK: prim.transpose %arg0 [1, 0] : (tensor<?x7xf32>) -> tensor<7x?xf32>
// CHECK: prim.sort %{{.*}} axis 1 {descending = false} : (tensor<7x?xf32>)
func.func @open_across(%x: tensor<?x7xf32>) -> (tensor<?x7xf32>, tensor<?x7xi64>) {
  %0:2 = prim.sort %x axis 0 {descending = false} : (tensor<?x7xf32>) -> (tensor<?x7xf32>, tensor<?x7xi64>)
  return %0#0, %0#1 : tensor<?x7xf32>, tensor<?x7xi64>
}
