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
