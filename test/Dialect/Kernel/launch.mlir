// RUN: tcc-opt %s | tcc-opt | FileCheck %s
// RUN: tcc-opt %s -mlir-print-op-generic | tcc-opt | FileCheck %s

// CHECK-LABEL: @kinds
func.func @kinds(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>) -> tensor<4xf32> {
  // CHECK: kernel.launch loop "neg" ins(%arg0 : tensor<4x8xf32>) sizes()
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x8xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>):
    %b = prim.neg %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    kernel.yield %b : tensor<4x8xf32>
  } -> tensor<4x8xf32>
  // CHECK: kernel.launch contraction "dot"
  %1 = kernel.launch contraction "dot" ins(%0, %y : tensor<4x8xf32>, tensor<8x2xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    kernel.yield %c : tensor<4x2xf32>
  } -> tensor<4x2xf32>
  // CHECK: kernel.launch row[1] "sum"
  %2 = kernel.launch row[1] "sum" ins(%1 : tensor<4x2xf32>) sizes() {
  ^bb0(%a: tensor<4x2xf32>):
    %b = prim.reduce sum %a [1] : (tensor<4x2xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
