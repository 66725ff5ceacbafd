// RUN: tcc %s --start-from simplify --stop-after simplify --target x86_64-linux --cpu x86-64-v3 -o %t
// RUN: FileCheck %s < %t
// RUN: tcc %s --start-from simplify --stop-after simplify --target x86_64-linux --cpu znver4 -o %t.steps
// RUN: FileCheck %s --check-prefix=STEPS < %t.steps
// Products of two operands that come in a run multiply bytes. Where pairs of 16 bits are multiplied, rows are widened
// less their zero point, and the right operand's columns are not summed; steps of bytes are corrected by such sums.

// CHECK-LABEL: @main
// CHECK: %[[WIDE:.*]] = prim.cast %arg0 : (tensor<2x4x8xui8>) -> tensor<2x4x8xi16>
// CHECK: %[[ROWS:.*]] = prim.sub %[[WIDE]],
// CHECK: %[[Y:.*]] = prim.dot %[[ROWS]], %arg1 batch [0] x [0] contract [2] x [1] : (tensor<2x4x8xi16>, tensor<2x8x6xi8>) -> tensor<2x4x6xi32>
// CHECK-NOT: prim.reduce
// CHECK: prim.cast %[[Y]] : (tensor<2x4x6xi32>) -> tensor<2x4x6xf32>
// STEPS-LABEL: @main
// STEPS: prim.dot %arg0, %arg1 batch [0] x [0] contract [2] x [1] : (tensor<2x4x8xui8>, tensor<2x8x6xi8>) -> tensor<2x4x6xi32>
// STEPS: prim.reduce sum
// What lies across its rows is copied byte by byte as it is, and so is what weights are multiplied by.
// CHECK: prim.dot %arg2, %arg1 batch [0] x [0] contract [1] x [1] : (tensor<2x8x4xui8>, tensor<2x8x6xi8>)
// CHECK: prim.dot %arg3, %{{.*}} batch [] x [] contract [1] x [0] : (tensor<4x8xui8>, tensor<8x2xi8>)
func.func @main(%x: tensor<2x4x8xui8> {graph.name = "x"}, %y: tensor<2x8x6xi8> {graph.name = "y"},
                %t: tensor<2x8x4xui8> {graph.name = "t"}, %r: tensor<4x8xui8> {graph.name = "r"})
    -> (tensor<2x4x6xf32> {graph.name = "a"}, tensor<2x4x6xf32> {graph.name = "b"}, tensor<4x2xf32> {graph.name = "c"}) {
  %z = prim.constant dense<7.0> : tensor<2x4x8xf32>
  %s = prim.constant dense<0.5> : tensor<2x4x8xf32>
  %0 = prim.cast %x : (tensor<2x4x8xui8>) -> tensor<2x4x8xf32>
  %1 = prim.sub %0, %z : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %2 = prim.mul %1, %s : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %u = prim.constant dense<0.25> : tensor<2x8x6xf32>
  %3 = prim.cast %y : (tensor<2x8x6xi8>) -> tensor<2x8x6xf32>
  %4 = prim.mul %3, %u : (tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  %5 = prim.dot %2, %4 batch [0] x [0] contract [2] x [1] : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  %zt = prim.constant dense<7.0> : tensor<2x8x4xf32>
  %st = prim.constant dense<0.5> : tensor<2x8x4xf32>
  %6 = prim.cast %t : (tensor<2x8x4xui8>) -> tensor<2x8x4xf32>
  %7 = prim.sub %6, %zt : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %8 = prim.mul %7, %st : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %9 = prim.dot %8, %4 batch [0] x [0] contract [1] x [1] : (tensor<2x8x4xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  %zr = prim.constant dense<7.0> : tensor<4x8xf32>
  %10 = prim.cast %r : (tensor<4x8xui8>) -> tensor<4x8xf32>
  %11 = prim.sub %10, %zr : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = prim.constant dense<[[1, -2], [3, 4], [5, 6], [-7, 8], [1, -2], [3, 4], [5, 6], [-7, 8]]> : tensor<8x2xi8>
  %12 = prim.cast %w : (tensor<8x2xi8>) -> tensor<8x2xf32>
  %sw = prim.constant dense<0.25> : tensor<8x2xf32>
  %sr = prim.constant dense<0.5> : tensor<4x8xf32>
  %14 = prim.mul %11, %sr : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %15 = prim.mul %12, %sw : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %13 = prim.dot %14, %15 batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %5, %9, %13 : tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<4x2xf32>
}
