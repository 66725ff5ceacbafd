// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// An index out of range stops the run, as in PyTorch.
// CHECK-LABEL: func @embedding
// CHECK: %[[V0:.*]] = prim.constant dense<0> : tensor<3xi64>
// CHECK: %[[V1:.*]] = prim.compare  lt %arg1, %[[V0]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK: %[[V2:.*]] = prim.constant dense<10> : tensor<3xi64>
// CHECK: %[[V3:.*]] = prim.compare  ge %arg1, %[[V2]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK: %[[V4:.*]] = prim.or %[[V1]], %[[V3]] : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
// CHECK: %[[V5:.*]] = prim.reduce  any %[[V4]] [0] : (tensor<3xi1>) -> tensor<i1>
// CHECK: %[[V6:.*]] = prim.extract %[[V5]][0] : (tensor<i1>) -> i1
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[V7:.*]] = arith.xori %[[V6]], %[[TRUE]] : i1
// CHECK: prim.assert %[[V7]], "an index is out of range"
// CHECK: %[[V8:.*]] = prim.take %arg0, %arg1 axis 0 : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
// CHECK: return %[[V8]] : tensor<3x4xf32>
func.func @embedding(%w: tensor<10x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %0 = graph.node "aten" "embedding.default"(%w, %i) {attrs = {indices = #graph.operand<1>, weight = #graph.operand<0>}} : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Bags that begin at the multiples of one length are rows: nothing is written by index.
// CHECK-LABEL: func @bags_of_one_length
// CHECK: %[[I:.*]] = prim.reshape %arg1 sizes() : (tensor<12xi64>) -> tensor<4x3xi64>
// CHECK: %[[R:.*]] = prim.take %arg0, %[[I]] axis 0 : (tensor<10x4xf32>, tensor<4x3xi64>) -> tensor<4x3x4xf32>
// CHECK: %[[S:.*]] = prim.reduce  sum %[[R]] [1] : (tensor<4x3x4xf32>) -> tensor<4x4xf32>
// CHECK: prim.div %[[S]]
// CHECK-LABEL: func @bags
// CHECK: prim.scatter_runs  add {{.*}} : (tensor<4x4xf32>, tensor<4xi64>, tensor<12x4xf32>) -> tensor<4x4xf32>
func.func @bags_of_one_length(%w: tensor<10x4xf32>, %i: tensor<12xi64>) -> tensor<4x4xf32> {
  %0 = graph.node "aten" "arange.start_step"() {attrs = {end = 12 : i64, start = 0 : i64, step = 3 : i64}} : () -> tensor<4xi64>
  %1 = graph.node "aten" "embedding_bag.padding_idx"(%w, %i, %0) {attrs = {indices = #graph.operand<1>, offsets = #graph.operand<2>, mode = 1 : i64, weight = #graph.operand<0>}} : (tensor<10x4xf32>, tensor<12xi64>, tensor<4xi64>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func @bags(%w: tensor<10x4xf32>, %i: tensor<12xi64>) -> tensor<4x4xf32> {
  %0 = graph.node "aten" "arange.start_step"() {attrs = {end = 8 : i64, start = 0 : i64, step = 2 : i64}} : () -> tensor<4xi64>
  %1 = graph.node "aten" "embedding_bag.padding_idx"(%w, %i, %0) {attrs = {indices = #graph.operand<1>, offsets = #graph.operand<2>, mode = 1 : i64, weight = #graph.operand<0>}} : (tensor<10x4xf32>, tensor<12xi64>, tensor<4xi64>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// Indices of the first axes are one number of a row, and one check looks at all of them; behind another axis, tuples.
// CHECK-LABEL: func @first
// CHECK: prim.compare  lt %arg1
// CHECK: prim.compare  ge %arg1
// CHECK: prim.compare  lt %arg2
// CHECK: prim.compare  ge %arg2
// CHECK: prim.reduce  any
// CHECK-NOT: prim.reduce
// CHECK: prim.assert
// CHECK-NOT: prim.assert
// CHECK: %[[X:.*]] = prim.reshape %arg0 sizes() : (tensor<5x6x4xf32>) -> tensor<30x4xf32>
// CHECK: prim.take %[[X]], %{{.*}} axis 0 : (tensor<30x4xf32>, tensor<7xi64>) -> tensor<7x4xf32>
func.func @first(%x: tensor<5x6x4xf32>, %i: tensor<7xi64>, %j: tensor<7xi64>) -> tensor<7x4xf32> {
  %0 = graph.node "aten" "index.Tensor"(%x, %i, %j) {attrs = {self = #graph.operand<0>, indices = [#graph.operand<1>, #graph.operand<2>]}} : (tensor<5x6x4xf32>, tensor<7xi64>, tensor<7xi64>) -> tensor<7x4xf32>
  return %0 : tensor<7x4xf32>
}
// CHECK-LABEL: func @behind
// CHECK-COUNT-2: prim.assert
// CHECK: prim.gather_nd
func.func @behind(%x: tensor<4x5x6xf32>, %i: tensor<7x1xi64>, %j: tensor<3xi64>) -> tensor<4x7x3xf32> {
  %0 = graph.node "aten" "index.Tensor"(%x, %i, %j) {attrs = {self = #graph.operand<0>, indices = [unit, #graph.operand<1>, #graph.operand<2>]}} : (tensor<4x5x6xf32>, tensor<7x1xi64>, tensor<3xi64>) -> tensor<4x7x3xf32>
  return %0 : tensor<4x7x3xf32>
}
