// Exact products of f32: tiles, and what shares their k, by how many there are and by what is waited for.
// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-schedule-kernels | FileCheck %s

// Few tiles: groups of a block's threads have parts of k.
// CHECK-LABEL: @few_tiles
// CHECK: sm_90a = <form = product, threads = 128, vectors = {{[0-9]+}}, rows = {{16|32}}, columns = 32, depth = 16
func.func @few_tiles(%x: tensor<24x768xf32>, %w: tensor<768x768xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<24x768xf32>, tensor<768x768xf32>) sizes() {
  ^bb0(%a: tensor<24x768xf32>, %b: tensor<768x768xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<24x768xf32>, tensor<768x768xf32>) -> tensor<24x768xf32>
    kernel.yield %c : tensor<24x768xf32>
  } -> tensor<24x768xf32>
  return
}

// Some more: copies bring slices to blocks that share tiles.
// CHECK-LABEL: @few_larger
// CHECK: sm_90a = <form = product, threads = 128, row_threads = 16, rows = 64, columns = 64, depth = 8, shared_bytes = 13056, split = 4,
func.func @few_larger(%x: tensor<128x768xf32>, %w: tensor<768x768xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<128x768xf32>, tensor<768x768xf32>) sizes() {
  ^bb0(%a: tensor<128x768xf32>, %b: tensor<768x768xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
    kernel.yield %c : tensor<128x768xf32>
  } -> tensor<128x768xf32>
  return
}

// As many tiles as multiprocessors: blocks share them, and fill two of each.
// CHECK-LABEL: @tile_each
// CHECK: sm_90a = <form = product, threads = 256, row_threads = 16, rows = 128, columns = 128, depth = 16, split = {{[0-9]+}}, scratch_bytes = {{[0-9]+}}, index_bits = 32>>}
func.func @tile_each(%x: tensor<512x4096xf32>, %w: tensor<4096x4096xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<512x4096xf32>, tensor<4096x4096xf32>) sizes() {
  ^bb0(%a: tensor<512x4096xf32>, %b: tensor<4096x4096xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<512x4096xf32>, tensor<4096x4096xf32>) -> tensor<512x4096xf32>
    kernel.yield %c : tensor<512x4096xf32>
  } -> tensor<512x4096xf32>
  return
}

// Few rows by a matrix that no cache keeps: groups and blocks share tiles, so that much is on its way.
// CHECK-LABEL: @few_rows
// CHECK: sm_90a = <form = product, threads = 64, vectors = 2, rows = 16, columns = 128, depth = 16, split = 16, scratch_bytes = {{[0-9]+}}, index_bits = 32>>}
func.func @few_rows(%x: tensor<16x4096xf32>, %w: tensor<4096x4096xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<16x4096xf32>, tensor<4096x4096xf32>) sizes() {
  ^bb0(%a: tensor<16x4096xf32>, %b: tensor<4096x4096xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<16x4096xf32>, tensor<4096x4096xf32>) -> tensor<16x4096xf32>
    kernel.yield %c : tensor<16x4096xf32>
  } -> tensor<16x4096xf32>
  return
}

// Many tiles: large ones, which nobody shares.
// CHECK-LABEL: @many_tiles
// CHECK: sm_90a = <form = product, threads = 256, row_threads = 16, rows = 128, columns = 128, depth = 16, index_bits = 32>>}
func.func @many_tiles(%x: tensor<2048x2048xf32>, %w: tensor<2048x2048xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<2048x2048xf32>, tensor<2048x2048xf32>) sizes() {
  ^bb0(%a: tensor<2048x2048xf32>, %b: tensor<2048x2048xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    kernel.yield %c : tensor<2048x2048xf32>
  } -> tensor<2048x2048xf32>
  return
}

// Operands that are computed on the way keep few registers of a thread.
// CHECK-LABEL: @computed
// CHECK: sm_90a = <form = product, threads = 256,
func.func @computed(%x: tensor<512x768xf32>, %w: tensor<768x768xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<512x768xf32>, tensor<768x768xf32>) sizes() {
  ^bb0(%a: tensor<512x768xf32>, %b: tensor<768x768xf32>):
    %e = prim.exp %a : (tensor<512x768xf32>) -> tensor<512x768xf32>
    %c = prim.dot %e, %b batch [] x [] contract [1] x [1] : (tensor<512x768xf32>, tensor<768x768xf32>) -> tensor<512x768xf32>
    kernel.yield %c : tensor<512x768xf32>
  } -> tensor<512x768xf32>
  return
}

// Fewer rows by many columns: copies bring slices to a ring.
// CHECK-LABEL: @ring
// CHECK: sm_90a = <form = product, threads = 128, row_threads = 16, rows = 64, columns = 128, depth = 16, shared_bytes = 38400, index_bits = 32>>}
func.func @ring(%x: tensor<64x1024xf32>, %w: tensor<32000x1024xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<64x1024xf32>, tensor<32000x1024xf32>) sizes() {
  ^bb0(%a: tensor<64x1024xf32>, %b: tensor<32000x1024xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<64x1024xf32>, tensor<32000x1024xf32>) -> tensor<64x32000xf32>
    kernel.yield %c : tensor<64x32000xf32>
  } -> tensor<64x32000xf32>
  return
}
