// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// A sum of bools counts.
// CHECK-LABEL: func @count
// CHECK: %[[V0:.*]] = prim.cast %arg0 : (tensor<2x8xi1>) -> tensor<2x8xi64>
// CHECK: %[[V1:.*]] = prim.reduce  sum %[[V0]] [1] : (tensor<2x8xi64>) -> tensor<2xi64>
// CHECK: return %[[V1]] : tensor<2xi64>
func.func @count(%x: tensor<2x8xi1>) -> tensor<2xi64> {
  %0 = graph.node "aten" "sum.dim_IntList"(%x) {attrs = {dim = [1], keepdim = false, self = #graph.operand<0>}} : (tensor<2x8xi1>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// The groups of narrow numbers are formed before the cast and left after the last one: all that is
// computed is about rows of one shape, and fits one kernel.
// CHECK-LABEL: func @narrow_groups
// CHECK: %[[G:.*]] = prim.reshape %arg0 {{.*}} -> tensor<2x2x2x5xbf16>
// CHECK: prim.cast %[[G]] : (tensor<2x2x2x5xbf16>) -> tensor<2x2x2x5xf32>
// CHECK: %[[Y:.*]] = prim.cast {{.*}} : (tensor<2x2x2x5xf32>) -> tensor<2x2x2x5xbf16>
// CHECK: %[[R:.*]] = prim.reshape %[[Y]] {{.*}} -> tensor<2x4x5xbf16>
// CHECK: return %[[R]]
func.func @narrow_groups(%x: tensor<2x4x5xbf16>, %w: tensor<4xbf16>) -> tensor<2x4x5xbf16> {
  %0 = graph.node "aten" "group_norm.default"(%x, %w) {attrs = {input = #graph.operand<0>, num_groups = 2, weight = #graph.operand<1>, eps = 1.000000e-05}} : (tensor<2x4x5xbf16>, tensor<4xbf16>) -> tensor<2x4x5xbf16>
  return %0 : tensor<2x4x5xbf16>
}

// What `if not condition.all()` is exported to.
// CHECK-LABEL: func @all_true
// CHECK: %[[ALL:.*]] = prim.reduce  all %arg0 [0, 1] : (tensor<2x8xi1>) -> tensor<i1>
// CHECK: %[[ANY:.*]] = prim.reduce  any %arg0 [0, 1] : (tensor<2x8xi1>) -> tensor<i1>
// CHECK: return %[[ALL]], %[[ANY]]
func.func @all_true(%x: tensor<2x8xi1>) -> (tensor<i1>, tensor<i1>) {
  %0 = graph.node "aten" "_is_all_true.default"(%x) {attrs = {self = #graph.operand<0>}} : (tensor<2x8xi1>) -> tensor<i1>
  %1 = graph.node "aten" "_is_any_true.default"(%x) {attrs = {self = #graph.operand<0>}} : (tensor<2x8xi1>) -> tensor<i1>
  return %0, %1 : tensor<i1>, tensor<i1>
}
