// What no rule takes is named, all of it in one error.
// RUN: tcc-opt %s -split-input-file -verify-diagnostics -tcc-decompose-nodes

// expected-error @+1 {{node '(unnamed)': onnx.Frobnicate (opset 20) on (f32[2x3]): no rule for this operator}}
module {
  func.func @unknown(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = graph.node "onnx" "Frobnicate"(%x) {version = 20 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

// -----

// expected-error @+1 {{node 'y': onnx.Mod (opset 13) on (f32[4], f32[4]): fmod must be 1 for floats}}
module {
  func.func @form(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = graph.node "onnx" "Mod"(%x, %x) {outs = ["y"], version = 13 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{2 nodes cannot be compiled}}
module {
  func.func @two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = graph.node "onnx" "Frobnicate"(%x) {version = 20 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = graph.node "onnx" "Neg"(%x) {version = 13 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = graph.node "aten" "frobnicate.default"(%x) {attrs = {self = #graph.operand<0>}} : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %2 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{onnx.MatMul (opset 13) on (f32[2x3], f32[4x5]): matrix product: extents 3 and 4 differ}}
module {
  func.func @shapes(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) -> tensor<2x5xf32> {
    %0 = graph.node "onnx" "MatMul"(%x, %y) {version = 13 : i64} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}

// -----

// expected-error @+1 {{windows that overlap cannot be written}}
module {
  func.func @overlapping_windows(%x: tensor<8xf32>, %y: tensor<3x4xf32>) -> tensor<8xf32> {
    %0 = graph.node "aten" "unfold_scatter.default"(%x, %y) {attrs = {self = #graph.operand<0>, src = #graph.operand<1>, dimension = 0, size = 4, step = 2}} : (tensor<8xf32>, tensor<3x4xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// expected-error @+1 {{the bias does not fit the channels}}
module {
  func.func @bias_over_time(%x: tensor<7x2x4xf32>, %w: tensor<3x4x5xf32>, %b: tensor<4xf32>) -> tensor<7x2x5xf32> {
    %0 = graph.node "aten" "conv_tbc.default"(%x, %w, %b) {attrs = {self = #graph.operand<0>, weight = #graph.operand<1>, bias = #graph.operand<2>, pad = 1}} : (tensor<7x2x4xf32>, tensor<3x4x5xf32>, tensor<4xf32>) -> tensor<7x2x5xf32>
    return %0 : tensor<7x2x5xf32>
  }
}

// -----

// expected-error @+1 {{needs sections or indices, one less than the file states parts}}
module {
  func.func @parts_by_a_matrix(%x: tensor<7xf32>, %i: tensor<1x2xi64>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) {
    %0:3 = graph.node "aten" "tensor_split.tensor_indices_or_sections"(%x, %i) {attrs = {self = #graph.operand<0>, tensor_indices_or_sections = #graph.operand<1>}} : (tensor<7xf32>, tensor<1x2xi64>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>)
    return %0#0, %0#1, %0#2 : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>
  }
}

// -----

// expected-error @+1 {{the operand has 5 channels, the weight expects 3}}
module {
  func.func @channels_of_integers(%x: tensor<1x5x8x8xui8>, %w: tensor<4x3x3x3xi8>) -> tensor<1x4x6x6xi32> {
    %0 = graph.node "onnx" "ConvInteger"(%x, %w) {version = 10 : i64} : (tensor<1x5x8x8xui8>, tensor<4x3x3x3xi8>) -> tensor<1x4x6x6xi32>
    return %0 : tensor<1x4x6x6xi32>
  }
}

// -----

// expected-error @+1 {{the weight does not split into 3 groups}}
module {
  func.func @groups_of_fused(%x: tensor<1x9x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
    %0 = graph.node "com.microsoft" "FusedConv"(%x, %w) {attrs = {activation = "Relu", group = 3 : i64}, version = 1 : i64} : (tensor<1x9x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
    return %0 : tensor<1x4x6x6xf32>
  }
}

// -----

// expected-error @+1 {{makes a tensor of extent -5}}
module {
  func.func @negative_size(%theta: tensor<2x2x3xf32>) -> tensor<2x?x?x2xf32> {
    %size = graph.node "onnx" "Constant"() {attrs = {value_ints = array<i64: 2, 3, 4, -5>}, version = 13 : i64} : () -> tensor<4xi64>
    %0 = graph.node "onnx" "AffineGrid"(%theta, %size) {version = 20 : i64} : (tensor<2x2x3xf32>, tensor<4xi64>) -> tensor<2x?x?x2xf32>
    return %0 : tensor<2x?x?x2xf32>
  }
}

// -----

// expected-error @+1 {{positions of blocks in the image: extents 36 and 25 differ}}
module {
  func.func @columns_of_another_image(%x: tensor<1x5x25xf32>) -> tensor<1x1x6x10xf32> {
    %image = graph.node "onnx" "Constant"() {attrs = {value_ints = array<i64: 6, 10>}, version = 13 : i64} : () -> tensor<2xi64>
    %block = graph.node "onnx" "Constant"() {attrs = {value_ints = array<i64: 1, 5>}, version = 13 : i64} : () -> tensor<2xi64>
    %0 = graph.node "onnx" "Col2Im"(%x, %image, %block) {version = 18 : i64} : (tensor<1x5x25xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x1x6x10xf32>
    return %0 : tensor<1x1x6x10xf32>
  }
}

// -----

// expected-error @+1 {{com.microsoft.nchwc.Conv (opset 1) on (f32[1x16x8x8], f32[16x16x3x3]): its data lie as suits the processor on which ONNX Runtime optimised the model; save it with ORT_ENABLE_EXTENDED}}
module {
  func.func @blocked(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32> {
    %0 = graph.node "com.microsoft.nchwc" "Conv"(%x, %w) {version = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32>
    return %0 : tensor<1x16x6x6xf32>
  }
}

// -----

// expected-error @+1 {{onnx.Equal (opset 19) on (string[2], string[1]): tensors of text are not supported: turn them into numbers before the model}}
module {
  func.func @text(%x: tensor<2x!graph.string>, %y: tensor<1x!graph.string>) -> tensor<2xi1> {
    %0 = graph.node "onnx" "Equal"(%x, %y) {outs = ["z"], version = 19 : i64} : (tensor<2x!graph.string>, tensor<1x!graph.string>) -> tensor<2xi1>
    return %0 : tensor<2xi1>
  }
}

// -----

// The result's rank would say how many axes the tuples index.
// expected-error @+1 {{onnx.GatherND (opset 13) on (f32[5x6], i64[4x?]): the length of the index tuples must be known}}
module {
  func.func @tuples(%x: tensor<5x6xf32>, %i: tensor<4x?xi64>) -> !graph.unknown {
    %0 = graph.node "onnx" "GatherND"(%x, %i) {version = 13 : i64} : (tensor<5x6xf32>, tensor<4x?xi64>) -> !graph.unknown
    return %0 : !graph.unknown
  }
}

// -----

// What follows was typed by integers that PyTorch does not give.
// expected-error @+1 {{aten.bincount.default on (i64[9], f32[9]): is said to give integers, but sums its weights as floats}}
module {
  func.func @weighed(%x: tensor<9xi64>, %w: tensor<9xf32>) -> tensor<?xi64> {
    %0 = graph.node "aten" "bincount.default"(%x, %w) {attrs = {self = #graph.operand<0>, weights = #graph.operand<1>}} : (tensor<9xi64>, tensor<9xf32>) -> tensor<?xi64>
    %1 = graph.node "aten" "neg.default"(%0) {attrs = {self = #graph.operand<0>}} : (tensor<?xi64>) -> tensor<?xi64>
    return %1 : tensor<?xi64>
  }
}
