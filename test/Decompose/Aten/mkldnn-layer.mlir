// oneDNN's layer is one direction of an LSTM, time first, whatever the node says of its network; its states may lack the
// axis of the direction. Its gradient takes the gates from the outputs: a loop from the beginning for the cells, one from
// the end for the gates' gradients, and none for the weights.
// RUN: tcc-opt %s -tcc-decompose-nodes -cse -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @layer
// CHECK: prim.dot %arg0, %arg1
// CHECK: prim.while
// CHECK: arith.subi %c4, %{{.*}} : index
// CHECK: prim.tanh
// CHECK: return %{{.*}} : tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
func.func @layer(%x: tensor<5x2x3xf32>, %wi: tensor<16x3xf32>, %wh: tensor<16x4xf32>, %b: tensor<16xf32>, %h: tensor<2x4xf32>, %c: tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0:4 = graph.node "aten" "mkldnn_rnn_layer.default"(%x, %wi, %wh, %b, %h, %c) {attrs = {input = #graph.operand<0>, weight0 = #graph.operand<1>, weight1 = #graph.operand<2>, weight2 = #graph.operand<3>, weight3 = #graph.operand<3>, hx_ = #graph.operand<4>, cx_ = #graph.operand<5>, reverse = true, batch_sizes = [], mode = 2, hidden_size = 4, num_layers = 3, has_biases = true, bidirectional = true, batch_first = true, train = false}} : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<0xui8>)
  return %0#0, %0#1, %0#2 : tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: func @gradient
// CHECK: prim.concat %{{.*}}, %{{.*}} axis 0 : {{.*}} -> tensor<5x2x4xf32>
// CHECK-DAG: prim.dot %arg0, %arg1 {{.*}} -> tensor<5x2x16xf32>
// CHECK-DAG: prim.dot %{{.*}}, %arg2 {{.*}} -> tensor<5x2x16xf32>
// CHECK: prim.while
// CHECK: prim.while
// CHECK: prim.dot {{.*}}, %arg2 {{.*}} -> tensor<2x4xf32>
// CHECK-DAG: prim.dot {{.*}}, %arg1 {{.*}} -> tensor<5x2x3xf32>
// CHECK-DAG: prim.dot {{.*}} contract [0] x [0] : (tensor<10x16xf32>, tensor<10x3xf32>) -> tensor<16x3xf32>
// CHECK-DAG: prim.dot {{.*}} contract [0] x [0] : (tensor<10x16xf32>, tensor<10x4xf32>) -> tensor<16x4xf32>
func.func @gradient(%x: tensor<5x2x3xf32>, %wi: tensor<16x3xf32>, %wh: tensor<16x4xf32>, %b: tensor<16xf32>, %h: tensor<1x2x4xf32>, %y: tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %0:7 = graph.node "aten" "mkldnn_rnn_layer_backward.default"(%x, %wi, %wh, %b, %h, %y) {attrs = {input = #graph.operand<0>, weight1 = #graph.operand<1>, weight2 = #graph.operand<2>, weight3 = #graph.operand<3>, weight4 = #graph.operand<3>, hx_ = #graph.operand<4>, cx_tmp = #graph.operand<4>, output = #graph.operand<5>, grad_output = #graph.operand<5>, reverse = false, mode = 2, has_biases = true, batch_sizes = []}} : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<1x2x4xf32>, tensor<5x2x4xf32>) -> (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 : tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// -----

// expected-error @+1 {{only LSTM layers of sequences of one length are supported}}
module {
  func.func @packed(%x: tensor<5x2x3xf32>, %wi: tensor<16x3xf32>, %wh: tensor<16x4xf32>, %h: tensor<2x4xf32>) -> tensor<5x2x4xf32> {
    %0:4 = graph.node "aten" "mkldnn_rnn_layer.default"(%x, %wi, %wh, %h) {attrs = {input = #graph.operand<0>, weight0 = #graph.operand<1>, weight1 = #graph.operand<2>, hx_ = #graph.operand<3>, cx_ = #graph.operand<3>, batch_sizes = [2, 2, 1, 1, 1], mode = 2, has_biases = false}} : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<0xui8>)
    return %0#0 : tensor<5x2x4xf32>
  }
}

// -----

// expected-error @+1 {{only LSTM layers of sequences of one length are supported}}
module {
  func.func @of_a_gru(%x: tensor<5x2x3xf32>, %wi: tensor<12x3xf32>, %wh: tensor<12x4xf32>, %h: tensor<2x4xf32>) -> tensor<5x2x4xf32> {
    %0:4 = graph.node "aten" "mkldnn_rnn_layer.default"(%x, %wi, %wh, %h) {attrs = {input = #graph.operand<0>, weight0 = #graph.operand<1>, weight1 = #graph.operand<2>, hx_ = #graph.operand<3>, cx_ = #graph.operand<3>, batch_sizes = [], mode = 3, has_biases = false}} : (tensor<5x2x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<0xui8>)
    return %0#0 : tensor<5x2x4xf32>
  }
}
