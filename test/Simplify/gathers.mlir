// RUN: tcc-opt %s -tcc-simplify-gathers | FileCheck %s

// One element a row of a log-softmax: what is gathered is the argument.
// CHECK-LABEL: func @loss
// CHECK: %[[G:.*]] = prim.take_along %arg0, %arg2 axis 1 : (tensor<8x100xbf16>, tensor<8x1xi64>) -> tensor<8x1xbf16>
// CHECK: %[[C:.*]] = prim.cast %[[G]] : (tensor<8x1xbf16>) -> tensor<8x1xf32>
// CHECK: %[[B:.*]] = prim.broadcast %arg1 axes [0, 1] sizes() : (tensor<8x1xf32>) -> tensor<8x1xf32>
// CHECK: prim.sub %[[C]], %[[B]] : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
func.func @loss(%x: tensor<8x100xbf16>, %s: tensor<8x1xf32>, %i: tensor<8x1xi64>) -> tensor<8x1xf32> {
  %0 = prim.cast %x : (tensor<8x100xbf16>) -> tensor<8x100xf32>
  %1 = prim.broadcast %s axes [0, 1] sizes() : (tensor<8x1xf32>) -> tensor<8x100xf32>
  %2 = prim.sub %0, %1 : (tensor<8x100xf32>, tensor<8x100xf32>) -> tensor<8x100xf32>
  %3 = prim.take_along %2, %i axis 1 : (tensor<8x100xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  return %3 : tensor<8x1xf32>
}

// A constant is one of fewer elements; what varies along the axis stays.
// CHECK-LABEL: func @constants
// CHECK: %[[G:.*]] = prim.take_along %arg0
// CHECK: prim.constant dense<2.000000e+00> : tensor<8x1xf32>
// CHECK: prim.mul %[[G]]
func.func @constants(%x: tensor<8x100xf32>, %i: tensor<8x1xi64>) -> tensor<8x1xf32> {
  %0 = prim.constant dense<2.0> : tensor<8x100xf32>
  %1 = prim.mul %x, %0 : (tensor<8x100xf32>, tensor<8x100xf32>) -> tensor<8x100xf32>
  %2 = prim.take_along %1, %i axis 1 : (tensor<8x100xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  return %2 : tensor<8x1xf32>
}

// Two operands to gather, as much gathered as computed, a part of the rows: left alone.
// CHECK-LABEL: func @stays
// CHECK: prim.add %arg0, %arg1
// CHECK: prim.exp %arg0
// CHECK-COUNT-3: prim.take_along
func.func @stays(%x: tensor<8x100xf32>, %y: tensor<8x100xf32>, %i: tensor<8x1xi64>, %j: tensor<8x90xi64>, %k: tensor<4x1xi64>)
    -> (tensor<8x1xf32>, tensor<8x90xf32>, tensor<4x1xf32>) {
  %0 = prim.add %x, %y : (tensor<8x100xf32>, tensor<8x100xf32>) -> tensor<8x100xf32>
  %1 = prim.exp %x : (tensor<8x100xf32>) -> tensor<8x100xf32>
  %2 = prim.take_along %0, %i axis 1 : (tensor<8x100xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
  %3 = prim.take_along %1, %j axis 1 : (tensor<8x100xf32>, tensor<8x90xi64>) -> tensor<8x90xf32>
  %4 = prim.take_along %1, %k axis 1 : (tensor<8x100xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
  return %2, %3, %4 : tensor<8x1xf32>, tensor<8x90xf32>, tensor<4x1xf32>
}
