// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// One of the first elements of a long line is looked for among those; lines lie along the last axis for that.
// CHECK-LABEL: func @kthvalue
// CHECK: %[[V:.*]], %[[I:.*]] = prim.top_k %arg0 axis 1 {largest = false} : (tensor<20x300xf32>) -> (tensor<20x5xf32>, tensor<20x5xi64>)
// CHECK: prim.slice %[[V]] starts [0, 4]() steps [1, 1] sizes() : (tensor<20x5xf32>) -> tensor<20x1xf32>
func.func @kthvalue(%x: tensor<20x300xf32>) -> (tensor<20xf32>, tensor<20xi64>) {
  %0:2 = graph.node "aten" "kthvalue.default"(%x) {attrs = {self = #graph.operand<0>, k = 5, dim = 1}} : (tensor<20x300xf32>) -> (tensor<20xf32>, tensor<20xi64>)
  return %0#0, %0#1 : tensor<20xf32>, tensor<20xi64>
}

// CHECK-LABEL: func @across
// CHECK: %[[T:.*]] = prim.transpose %arg0 [1, 0]
// CHECK: prim.top_k %[[T]] axis 1 {largest = false} : (tensor<20x300xf32>) -> (tensor<20x5xf32>, tensor<20x5xi64>)
func.func @across(%x: tensor<300x20xf32>) -> (tensor<20xf32>, tensor<20xi64>) {
  %0:2 = graph.node "aten" "kthvalue.default"(%x) {attrs = {self = #graph.operand<0>, k = 5, dim = 0}} : (tensor<300x20xf32>) -> (tensor<20xf32>, tensor<20xi64>)
  return %0#0, %0#1 : tensor<20xf32>, tensor<20xi64>
}

// One in the middle, or of a short or open line, needs the line sorted (of one line, once).
// CHECK-LABEL: func @sorted
// CHECK-NOT: prim.top_k
// CHECK-COUNT-3: prim.sort
// CHECK-NOT: prim.top_k
func.func @sorted(%x: tensor<20x300xf32>, %y: tensor<20x30xf32>, %z: tensor<20x?xf32>)
    -> (tensor<20xf32>, tensor<20xi64>, tensor<20xf32>, tensor<20xi64>, tensor<20xf32>, tensor<20xi64>, tensor<20xf32>, tensor<20xi64>) {
  %0:2 = graph.node "aten" "kthvalue.default"(%x) {attrs = {self = #graph.operand<0>, k = 17, dim = 1}} : (tensor<20x300xf32>) -> (tensor<20xf32>, tensor<20xi64>)
  %1:2 = graph.node "aten" "kthvalue.default"(%y) {attrs = {self = #graph.operand<0>, k = 2, dim = 1}} : (tensor<20x30xf32>) -> (tensor<20xf32>, tensor<20xi64>)
  %2:2 = graph.node "aten" "kthvalue.default"(%z) {attrs = {self = #graph.operand<0>, k = 2, dim = 1}} : (tensor<20x?xf32>) -> (tensor<20xf32>, tensor<20xi64>)
  %3:2 = graph.node "aten" "median.dim"(%x) {attrs = {self = #graph.operand<0>, dim = 1, keepdim = false}} : (tensor<20x300xf32>) -> (tensor<20xf32>, tensor<20xi64>)
  return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1, %3#0, %3#1 : tensor<20xf32>, tensor<20xi64>, tensor<20xf32>, tensor<20xi64>, tensor<20xf32>, tensor<20xi64>, tensor<20xf32>, tensor<20xi64>
}

// What there is counts as it lies; where there may be none, a number is put to it.
// CHECK-LABEL: func @bincount
// CHECK-NOT: prim.concat
// CHECK: prim.reduce max %arg0 [0] : (tensor<100xi64>) -> tensor<i64>
// CHECK: prim.reduce min %arg0 [0] : (tensor<100xi64>) -> tensor<i64>
// CHECK: prim.concat %arg1
// CHECK: prim.concat %arg1
func.func @bincount(%x: tensor<100xi64>, %y: tensor<?xi64>) -> (tensor<?xi64>, tensor<?xi64>) {
  %0 = graph.node "aten" "bincount.default"(%x) {attrs = {self = #graph.operand<0>, minlength = 7}} : (tensor<100xi64>) -> tensor<?xi64>
  %1 = graph.node "aten" "bincount.default"(%y) {attrs = {self = #graph.operand<0>, minlength = 7}} : (tensor<?xi64>) -> tensor<?xi64>
  return %0, %1 : tensor<?xi64>, tensor<?xi64>
}

// Sums of weights are floats, whatever a file states of them.
// CHECK-LABEL: func @weighed_bincount
// CHECK-SAME: -> (tensor<?xf32>, tensor<?xf64>)
// CHECK: prim.scatter_along add {{.*}} -> tensor<?xf32>
// CHECK: prim.scatter_along add {{.*}} -> tensor<?xf64>
func.func @weighed_bincount(%x: tensor<100xi64>, %w: tensor<100xf32>, %n: tensor<100xi32>) -> (tensor<?xi64>, tensor<?xi64>) {
  %0 = graph.node "aten" "bincount.default"(%x, %w) {attrs = {self = #graph.operand<0>, weights = #graph.operand<1>}} : (tensor<100xi64>, tensor<100xf32>) -> tensor<?xi64>
  %1 = graph.node "aten" "bincount.default"(%x, %n) {attrs = {self = #graph.operand<0>, weights = #graph.operand<1>}} : (tensor<100xi64>, tensor<100xi32>) -> tensor<?xi64>
  %size = graph.node "aten" "sym_size.int"(%0) {attrs = {self = #graph.operand<0>, dim = 0}} : (tensor<?xi64>) -> i64
  return %0, %1 : tensor<?xi64>, tensor<?xi64>
}
