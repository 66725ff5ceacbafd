// RUN: tcc-opt %s -tcc-decompose-nodes -canonicalize -cse | FileCheck %s

// Every turn leaves the open extent of what it carries as it is: that of the state is known before the loop, no turn
// compares it with the operand's, and what the turns give is written into a tensor made before.
// CHECK-LABEL: func @scan
// CHECK-DAG: %[[N:.*]] = prim.dim %arg0, 0
// CHECK-DAG: %[[T:.*]] = prim.dim %arg1, 0
// CHECK: %[[ALL:.*]] = prim.broadcast {{.*}} sizes(%[[T]], %[[N]])
// CHECK: prim.while({{.*}}%arg0, %[[ALL]]
// CHECK: } do {
// CHECK-NOT: prim.assert
// CHECK-NOT: prim.concat
// CHECK: prim.insert_slice
func.func @scan(%h: tensor<?x3xf32> {graph.dims = ["N", 3]}, %x: tensor<?x?x3xf32> {graph.dims = ["T", "N", 3]}) -> (tensor<?x3xf32>, tensor<?x?x3xf32>) {
  %0:2 = graph.node "onnx" "Scan"(%h, %x) {attrs = {num_scan_inputs = 1 : i64}, regionNames = ["body"], version = 16 : i64} : (tensor<?x3xf32>, tensor<?x?x3xf32>) -> (tensor<?x3xf32>, tensor<?x?x3xf32>) {
  ^bb0(%c: tensor<?x3xf32>, %a: tensor<?x3xf32>):
    %1 = graph.node "onnx" "Add"(%c, %a) {version = 14 : i64} : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %2 = graph.node "onnx" "Tanh"(%1) {version = 13 : i64} : (tensor<?x3xf32>) -> tensor<?x3xf32>
    graph.yield %1, %2 : tensor<?x3xf32>, tensor<?x3xf32>
  }
  return %0#0, %0#1 : tensor<?x3xf32>, tensor<?x?x3xf32>
}

// What grows, and states of different extents that change places, have the extents of their turn.
// CHECK-LABEL: func @changes
// CHECK: } do {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i1, %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>, %[[Z:.*]]: tensor<?xf32>)
// CHECK: %[[N:.*]] = prim.dim %[[X]], 0
// CHECK: prim.broadcast {{.*}} sizes(%[[N]])
// CHECK: %[[G:.*]] = prim.concat %[[Z]], %[[Z]]
// CHECK: prim.yield {{.*}}, %[[Y]], {{.*}}, %[[G]]
func.func @changes(%m: tensor<i64>, %x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %go = graph.node "onnx" "Constant"() {attrs = {value = dense<true> : tensor<i1>}, version = 13 : i64} : () -> tensor<i1>
  %0:3 = graph.node "onnx" "Loop"(%m, %go, %x, %y, %z) {regionNames = ["body"], version = 16 : i64} : (tensor<i64>, tensor<i1>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%i: tensor<i64>, %k: tensor<i1>, %a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>):
    %one = graph.node "onnx" "Constant"() {attrs = {value = dense<1.0> : tensor<1xf32>}, version = 13 : i64} : () -> tensor<1xf32>
    %1 = graph.node "onnx" "Add"(%a, %one) {version = 14 : i64} : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
    %2 = graph.node "onnx" "Concat"(%c, %c) {attrs = {axis = 0 : i64}, version = 13 : i64} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    graph.yield %k, %b, %1, %2 : tensor<i1>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
