// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-schedule-kernels | FileCheck %s
// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-schedule-kernels | tcc-opt | FileCheck %s
// What is recorded for each architecture, not that it is fastest.

// Sixteen bytes a thread, and more where there is enough for every multiprocessor.
// CHECK-LABEL: @loops
// CHECK: {schedule = #kernel.gpu_schedules<sm_80 = <form = loop, threads = 256, lanes = 4, vectors = 4, index_bits = 32>, sm_90a = <form = loop, threads = 256, lanes = 4, vectors = 4, index_bits = 32>>}
// CHECK: sm_90a = <form = transpose, threads = 256>>}
// CHECK: sm_90a = <form = column, threads = 1024, lanes = 4, split = 8, scratch_bytes = 266240, index_bits = 32>>}
func.func @loops(%x: tensor<8192x4096xf32>, %y: tensor<?x64xf32>, %n: index) {
  %0 = kernel.launch loop "neg" ins(%x : tensor<8192x4096xf32>) sizes() {
  ^bb0(%a: tensor<8192x4096xf32>):
    %b = prim.neg %a : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
    kernel.yield %b : tensor<8192x4096xf32>
  } -> tensor<8192x4096xf32>
  %1 = kernel.launch loop "transpose" ins(%y : tensor<?x64xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x64xf32>):
    %b = prim.transpose %a [1, 0] : (tensor<?x64xf32>) -> tensor<64x?xf32>
    kernel.yield %b : tensor<64x?xf32>
  } -> tensor<64x?xf32>
  %2 = kernel.launch loop "sum" ins(%x : tensor<8192x4096xf32>) sizes() {
  ^bb0(%a: tensor<8192x4096xf32>):
    %b = prim.reduce sum %a [0] : (tensor<8192x4096xf32>) -> tensor<4096xf32>
    kernel.yield %b : tensor<4096xf32>
  } -> tensor<4096xf32>
  return
}

// Points of a row that a thread keeps; few rows of open length are shared by all blocks.
// CHECK-LABEL: @rows
// CHECK: sm_80 = <form = row, threads = 256, lanes = 4, row_threads = 32, kept = 16, index_bits = 32>
// CHECK: sm_80 = <form = row, threads = 512, row_threads = 512, split = 108, scratch_bytes = 7552>, sm_90a = <form = row, threads = 512, row_threads = 512, split = 132, scratch_bytes = 8320>
func.func @rows(%x: tensor<64x512xf32>, %y: tensor<4x?xf32>, %n: index) {
  %0 = kernel.launch row[1] "sum" ins(%x : tensor<64x512xf32>) sizes() {
  ^bb0(%a: tensor<64x512xf32>):
    %b = prim.reduce sum %a [1] : (tensor<64x512xf32>) -> tensor<64xf32>
    kernel.yield %b : tensor<64xf32>
  } -> tensor<64xf32>
  %1 = kernel.launch row[1] "sum" ins(%y : tensor<4x?xf32>) sizes() {
  ^bb0(%a: tensor<4x?xf32>):
    %b = prim.reduce sum %a [1] : (tensor<4x?xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// One launch, a form for each architecture.
// CHECK-LABEL: @products
// CHECK: {schedule = #kernel.gpu_schedules<sm_80 = <form = product, threads = 256, rows = 128, columns = 128, depth = 16, index_bits = 32>, sm_90a = <form = wgmma, threads = 384, rows = 128, columns = 256, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>>}
func.func @products(%x: tensor<8192x4096xbf16>, %w: tensor<4096x4096xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<8192x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
    kernel.yield %c : tensor<8192x4096xbf16>
  } -> tensor<8192x4096xbf16>
  return
}
