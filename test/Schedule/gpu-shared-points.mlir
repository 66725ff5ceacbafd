// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// Points along an axis along which much is the same are a thread's together.

// Where each pixel is read from is computed once for the channels, of which a thread has three.
// CHECK-LABEL: @channels
// CHECK: <form = loop, threads = 256, vectors = 3, depth = 1, index_bits = 32>
func.func @channels(%x: tensor<8x3x50177xf32>, %g: tensor<8x50177xf32>) -> tensor<8x3x50177xf32> {
  %0 = kernel.launch loop "take_along" ins(%x, %g : tensor<8x3x50177xf32>, tensor<8x50177xf32>) sizes() {
  ^bb0(%a: tensor<8x3x50177xf32>, %b: tensor<8x50177xf32>):
    %c = prim.exp %b : (tensor<8x50177xf32>) -> tensor<8x50177xf32>
    %d = prim.floor %c : (tensor<8x50177xf32>) -> tensor<8x50177xf32>
    %e = prim.cast %d : (tensor<8x50177xf32>) -> tensor<8x50177xi64>
    %f = prim.reshape %e sizes() : (tensor<8x50177xi64>) -> tensor<8x1x50177xi64>
    %h = prim.broadcast %f axes [0, 1, 2] sizes() : (tensor<8x1x50177xi64>) -> tensor<8x3x50177xi64>
    %i = prim.take_along %a, %h axis 2 : (tensor<8x3x50177xf32>, tensor<8x3x50177xi64>) -> tensor<8x3x50177xf32>
    kernel.yield %i : tensor<8x3x50177xf32>
  } -> tensor<8x3x50177xf32>
  return %0 : tensor<8x3x50177xf32>
}

// Of four of eight images the rows and columns that are weighed are the same.
// CHECK-LABEL: @images
// CHECK: <form = loop, threads = 256, vectors = 4, depth = 2, index_bits = 32>
func.func @images(%x: tensor<8x300x300xf32>, %g: tensor<511xi64>, %w: tensor<511xf32>) -> tensor<8x511x511xf32> {
  %0 = kernel.launch loop "take" ins(%x, %g, %w : tensor<8x300x300xf32>, tensor<511xi64>, tensor<511xf32>) sizes() {
  ^bb0(%a: tensor<8x300x300xf32>, %b: tensor<511xi64>, %c: tensor<511xf32>):
    %d = prim.take %a, %b axis 1 : (tensor<8x300x300xf32>, tensor<511xi64>) -> tensor<8x511x300xf32>
    %e = prim.take %d, %b axis 2 : (tensor<8x511x300xf32>, tensor<511xi64>) -> tensor<8x511x511xf32>
    %h = prim.exp %c : (tensor<511xf32>) -> tensor<511xf32>
    %i = prim.broadcast %h axes [2] sizes() : (tensor<511xf32>) -> tensor<8x511x511xf32>
    %j = prim.mul %e, %i : (tensor<8x511x511xf32>, tensor<8x511x511xf32>) -> tensor<8x511x511xf32>
    kernel.yield %j : tensor<8x511x511xf32>
  } -> tensor<8x511x511xf32>
  return %0 : tensor<8x511x511xf32>
}

// A bias for each channel is little to have in common.
// CHECK-LABEL: @bias
// CHECK: <form = loop, threads = 256, lanes = 4, index_bits = 32>
func.func @bias(%x: tensor<64x64x4096xf32>, %g: tensor<64xf32>) -> tensor<64x64x4096xf32> {
  %0 = kernel.launch loop "add" ins(%x, %g : tensor<64x64x4096xf32>, tensor<64xf32>) sizes() {
  ^bb0(%a: tensor<64x64x4096xf32>, %b: tensor<64xf32>):
    %c = prim.broadcast %b axes [1] sizes() : (tensor<64xf32>) -> tensor<64x64x4096xf32>
    %d = prim.add %a, %c : (tensor<64x64x4096xf32>, tensor<64x64x4096xf32>) -> tensor<64x64x4096xf32>
    kernel.yield %d : tensor<64x64x4096xf32>
  } -> tensor<64x64x4096xf32>
  return %0 : tensor<64x64x4096xf32>
}
