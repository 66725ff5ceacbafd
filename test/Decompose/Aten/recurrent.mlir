// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// Gates are read where the weights stack them: none is moved.
// CHECK-LABEL: func @lstm_cell
// CHECK-NOT: prim.concat
// CHECK: prim.dot {{.*}}, %arg3 {{.*}} -> tensor<1x2x16xf32>
// CHECK: prim.dot {{.*}}, %arg4 {{.*}} -> tensor<2x16xf32>
// i, f, g and o of PyTorch's order: what is forgotten times the cell, and what is new.
// CHECK: %[[IN:.*]] = prim.slice %[[ALL:.*]] starts [0, 0]
// CHECK: prim.logistic %[[IN]]
// CHECK: %[[FORGET:.*]] = prim.slice %[[ALL]] starts [0, 4]
// CHECK: prim.logistic %[[FORGET]]
// CHECK: %[[CELL:.*]] = prim.slice %[[ALL]] starts [0, 8]
// CHECK: prim.tanh %[[CELL]]
// CHECK: %[[OUT:.*]] = prim.slice %[[ALL]] starts [0, 12]
// CHECK: prim.logistic %[[OUT]]
func.func @lstm_cell(%x: tensor<2x3xf32>, %h: tensor<2x4xf32>, %c: tensor<2x4xf32>, %wi: tensor<16x3xf32>, %wh: tensor<16x4xf32>, %bi: tensor<16xf32>, %bh: tensor<16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0:2 = graph.node "aten" "lstm_cell.default"(%x, %h, %c, %wi, %wh, %bi, %bh) {attrs = {b_hh = #graph.operand<6>, b_ih = #graph.operand<5>, hx = [#graph.operand<1>, #graph.operand<2>], input = #graph.operand<0>, w_hh = #graph.operand<4>, w_ih = #graph.operand<3>}} : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: func @gru_cell
// CHECK-NOT: prim.concat
// CHECK: prim.dot {{.*}}, %arg2 {{.*}} -> tensor<1x2x12xf32>
// CHECK: prim.slice %arg3 starts [0, 0]{{.*}} -> tensor<8x4xf32>
// Of PyTorch's r, z and n, z is the second.
// CHECK: %[[Z:.*]] = prim.slice %[[ZR:.*]] starts [0, 4]
// CHECK: prim.logistic %[[Z]]
// CHECK: %[[R:.*]] = prim.slice %[[ZR]] starts [0, 0]
// CHECK: prim.logistic %[[R]]
// CHECK: prim.slice %arg3 starts [8, 0]
func.func @gru_cell(%x: tensor<2x3xf32>, %h: tensor<2x4xf32>, %wi: tensor<12x3xf32>, %wh: tensor<12x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.node "aten" "gru_cell.default"(%x, %h, %wi, %wh) {attrs = {hx = #graph.operand<1>, input = #graph.operand<0>, w_hh = #graph.operand<3>, w_ih = #graph.operand<2>}} : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
