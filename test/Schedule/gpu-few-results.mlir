// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s

// Few results of long sums: blocks share what is summed, whatever form they take.
// CHECK-LABEL: @long_sums
// CHECK: sm_90a = <form = skinny, threads = 128, rows = 1, split = {{[0-9]+}}, scratch_bytes
// CHECK: sm_90a = <form = skinny, threads = 128, columns = 1, split = {{[0-9]+}}, scratch_bytes
// CHECK: sm_90a = <form = column, threads = 256, lanes = 2, row_threads = 128, split = {{[0-9]+}}, scratch_bytes
// CHECK: sm_90a = <form = mma, {{.*}} split = 64, scratch_bytes
func.func @long_sums(%x: tensor<64x32001xbf16>, %v: tensor<32001x1xbf16>, %y: tensor<2x100000xbf16>, %t: tensor<2x100000xbf16>, %w: tensor<100000x2xbf16>, %z: tensor<15x32001xbf16>, %m: tensor<32001x40xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %v : tensor<64x32001xbf16>, tensor<32001x1xbf16>) sizes() {
  ^bb0(%a: tensor<64x32001xbf16>, %b: tensor<32001x1xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<64x32001xbf16>, tensor<32001x1xbf16>) -> tensor<64x1xbf16>
    kernel.yield %c : tensor<64x1xbf16>
  } -> tensor<64x1xbf16>
  %1 = kernel.launch contraction "dot" ins(%y, %t : tensor<2x100000xbf16>, tensor<2x100000xbf16>) sizes() {
  ^bb0(%a: tensor<2x100000xbf16>, %b: tensor<2x100000xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<2x100000xbf16>, tensor<2x100000xbf16>) -> tensor<2x2xbf16>
    kernel.yield %c : tensor<2x2xbf16>
  } -> tensor<2x2xbf16>
  %2 = kernel.launch contraction "dot" ins(%y, %w : tensor<2x100000xbf16>, tensor<100000x2xbf16>) sizes() {
  ^bb0(%a: tensor<2x100000xbf16>, %b: tensor<100000x2xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<2x100000xbf16>, tensor<100000x2xbf16>) -> tensor<2x2xbf16>
    kernel.yield %c : tensor<2x2xbf16>
  } -> tensor<2x2xbf16>
  %3 = kernel.launch contraction "dot" ins(%z, %m : tensor<15x32001xbf16>, tensor<32001x40xbf16>) sizes() {
  ^bb0(%a: tensor<15x32001xbf16>, %b: tensor<32001x40xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<15x32001xbf16>, tensor<32001x40xbf16>) -> tensor<15x40xbf16>
    kernel.yield %c : tensor<15x40xbf16>
  } -> tensor<15x40xbf16>
  return
}

// A vector by a matrix in rows of 16 bits is a sum over rows in blocks of 512 threads; several rows are for matrix units.
// CHECK-LABEL: @narrow_sums_over_rows
// CHECK: sm_90a = <form = column, threads = 512, lanes = 8, row_threads = 16, split = 16, scratch_bytes
// CHECK: sm_90a = <form = wgmma,
func.func @narrow_sums_over_rows(%v: tensor<1x4096xbf16>, %m: tensor<4096x4096xbf16>, %x: tensor<4x2048xbf16>, %w: tensor<2048x2048xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%v, %m : tensor<1x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
    kernel.yield %c : tensor<1x4096xbf16>
  } -> tensor<1x4096xbf16>
  %1 = kernel.launch contraction "dot" ins(%x, %w : tensor<4x2048xbf16>, tensor<2048x2048xbf16>) sizes() {
  ^bb0(%a: tensor<4x2048xbf16>, %b: tensor<2048x2048xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<4x2048xbf16>
    kernel.yield %c : tensor<4x2048xbf16>
  } -> tensor<4x2048xbf16>
  return
}

// Small matrices of a batch: tiles no taller than they are, and the general form where both sides are short.
// CHECK-LABEL: @small_matrices
// CHECK: sm_90a = <form = wgmma, {{.*}}rows = 64, columns = {{[0-9]+}},
// CHECK: sm_90a = <form = product, threads = 128, vectors = 32, rows = 8, columns = 8,
func.func @small_matrices(%x: tensor<96x64x64xbf16>, %y: tensor<32x8x512xbf16>, %z: tensor<32x512x8xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %x : tensor<96x64x64xbf16>, tensor<96x64x64xbf16>) sizes() {
  ^bb0(%a: tensor<96x64x64xbf16>, %b: tensor<96x64x64xbf16>):
    %c = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<96x64x64xbf16>, tensor<96x64x64xbf16>) -> tensor<96x64x64xbf16>
    kernel.yield %c : tensor<96x64x64xbf16>
  } -> tensor<96x64x64xbf16>
  %1 = kernel.launch contraction "dot" ins(%y, %z : tensor<32x8x512xbf16>, tensor<32x512x8xbf16>) sizes() {
  ^bb0(%a: tensor<32x8x512xbf16>, %b: tensor<32x512x8xbf16>):
    %c = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<32x8x512xbf16>, tensor<32x512x8xbf16>) -> tensor<32x8x8xbf16>
    kernel.yield %c : tensor<32x8x8xbf16>
  } -> tensor<32x8x8xbf16>
  return
}
