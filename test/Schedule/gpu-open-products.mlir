// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// How many blocks share what a tile of a product sums is left to the run, where it alone knows how long that is, or how
// many tiles there are: of `split` parts at most, in `most_blocks` blocks.

// Numbers of results have tiles of their own.
// CHECK-LABEL: @all_open
// CHECK: #kernel.by_size<small = #gpu.schedules<sm_90a = <form = product, {{[^<]*}}most_blocks = 198, split = 32, scratch_bytes = {{[0-9]+}}, resident = 1>>, below = {{[0-9]+}},
// CHECK: form = mma, {{[^<]*}}most_blocks = {{[0-9]+}}, split = 32, scratch_bytes = {{[0-9]+}}>>, below =
func.func @all_open(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %u: tensor<?x?xbf16>, %v: tensor<?x?xbf16>, %m: index, %n: index) {
  %0 = kernel.launch contraction "dot" ins(%x, %y : tensor<?x?xf32>, tensor<?x?xf32>) sizes(%m, %n) {
  ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    kernel.yield %c : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  %1 = kernel.launch contraction "dot" ins(%u, %v : tensor<?x?xbf16>, tensor<?x?xbf16>) sizes(%m, %n) {
  ^bb0(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x?xf32>
    kernel.yield %c : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  return
}

// One row by columns that lie along memory reads a matrix as memory gives it, however long it is.
// CHECK-LABEL: @open_length
// CHECK: form = column
// CHECK: form = mma, {{[^<]*}}most_blocks = {{[0-9]+}}, split = 32
func.func @open_length(%x: tensor<1x?xf32>, %y: tensor<?x768xf32>, %u: tensor<64x?xf16>, %v: tensor<768x?xf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %y : tensor<1x?xf32>, tensor<?x768xf32>) sizes() {
  ^bb0(%a: tensor<1x?xf32>, %b: tensor<?x768xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<1x?xf32>, tensor<?x768xf32>) -> tensor<1x768xf32>
    kernel.yield %c : tensor<1x768xf32>
  } -> tensor<1x768xf32>
  %1 = kernel.launch contraction "dot" ins(%u, %v : tensor<64x?xf16>, tensor<768x?xf16>) sizes() {
  ^bb0(%a: tensor<64x?xf16>, %b: tensor<768x?xf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<64x?xf16>, tensor<768x?xf16>) -> tensor<64x768xf32>
    kernel.yield %c : tensor<64x768xf32>
  } -> tensor<64x768xf32>
  return
}

// Sums of a few slices are never worth sharing, nor are those of narrow integers. Rows that alone are open have parts for some
// numbers of them.
// CHECK-LABEL: @refused
// CHECK-NOT: most_blocks
// CHECK: return
func.func @refused(%x: tensor<?x64x48xf32>, %y: tensor<?x48x64xf32>, %i: tensor<?x?xi8>, %j: tensor<?x?xi8>, %r: tensor<?x256xf32>, %w: tensor<256x256xf32>, %n: index, %m: index) {
  %0 = kernel.launch contraction "dot" ins(%x, %y : tensor<?x64x48xf32>, tensor<?x48x64xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x64x48xf32>, %b: tensor<?x48x64xf32>):
    %c = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<?x64x48xf32>, tensor<?x48x64xf32>) -> tensor<?x64x64xf32>
    kernel.yield %c : tensor<?x64x64xf32>
  } -> tensor<?x64x64xf32>
  %1 = kernel.launch contraction "dot" ins(%i, %j : tensor<?x?xi8>, tensor<?x?xi8>) sizes(%n, %m) {
  ^bb0(%a: tensor<?x?xi8>, %b: tensor<?x?xi8>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<?x?xi8>, tensor<?x?xi8>) -> tensor<?x?xi8>
    kernel.yield %c : tensor<?x?xi8>
  } -> tensor<?x?xi8>
  %2 = kernel.launch contraction "dot" ins(%r, %w : tensor<?x256xf32>, tensor<256x256xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x256xf32>, %b: tensor<256x256xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
    kernel.yield %c : tensor<?x256xf32>
  } -> tensor<?x256xf32>
  return
}

// A result that is turned has one kernel for all runs, whose tiles are not those of many results.
// CHECK-LABEL: @turned
// CHECK: <form = product, threads = 256, rows = 64, columns = 64, depth = 16>>}
func.func @turned(%x: tensor<?x28x28x64xf32>, %w: tensor<256x64xf32>, %n: index) -> tensor<?x256x28x28xf32> {
  %0 = kernel.launch contraction "dot_transpose" ins(%x, %w : tensor<?x28x28x64xf32>, tensor<256x64xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x28x28x64xf32>, %b: tensor<256x64xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [3] x [1] : (tensor<?x28x28x64xf32>, tensor<256x64xf32>) -> tensor<?x28x28x256xf32>
    %d = prim.transpose %c [0, 3, 1, 2] : (tensor<?x28x28x256xf32>) -> tensor<?x256x28x28xf32>
    kernel.yield %d : tensor<?x256x28x28xf32>
  } -> tensor<?x256x28x28xf32>
  return %0 : tensor<?x256x28x28xf32>
}
