// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// Who walks along lines, and who sorts them.

// A block for few long lines, a warp for many of a few hundred elements, and threads with a line each where lines that lie
// together fill the machine.
// CHECK-LABEL: @places
// CHECK: <form = line, threads = 256, row_threads = 256, split = 256, scratch_bytes = 8192, index_bits = 32, resident = 1>
// CHECK: <form = line, threads = 128, lanes = 8, row_threads = 32, index_bits = 32>
// CHECK: <form = line, threads = 512, row_threads = 16, index_bits = 32>
// CHECK: <form = line, threads = 128, index_bits = 32>
func.func @places(%x: tensor<32x50257xbf16>, %y: tensor<8192x256xbf16>, %z: tensor<8x300x64xf32>, %w: tensor<4x19x512x512xf32>) {
  %0 = kernel.launch special "arg_reduce" ins(%x : tensor<32x50257xbf16>) sizes() {
  ^bb0(%a: tensor<32x50257xbf16>):
    %b = prim.arg_reduce max %a 1 : (tensor<32x50257xbf16>) -> tensor<32xi64>
    kernel.yield %b : tensor<32xi64>
  } -> tensor<32xi64>
  %1 = kernel.launch special "arg_reduce" ins(%y : tensor<8192x256xbf16>) sizes() {
  ^bb0(%a: tensor<8192x256xbf16>):
    %b = prim.arg_reduce max %a 1 : (tensor<8192x256xbf16>) -> tensor<8192xi64>
    kernel.yield %b : tensor<8192xi64>
  } -> tensor<8192xi64>
  %2 = kernel.launch special "arg_reduce" ins(%z : tensor<8x300x64xf32>) sizes() {
  ^bb0(%a: tensor<8x300x64xf32>):
    %b = prim.arg_reduce max %a 1 : (tensor<8x300x64xf32>) -> tensor<8x64xi64>
    kernel.yield %b : tensor<8x64xi64>
  } -> tensor<8x64xi64>
  %3 = kernel.launch special "arg_reduce" ins(%w : tensor<4x19x512x512xf32>) sizes() {
  ^bb0(%a: tensor<4x19x512x512xf32>):
    %b = prim.arg_reduce max %a 1 : (tensor<4x19x512x512xf32>) -> tensor<4x512x512xi64>
    kernel.yield %b : tensor<4x512x512xi64>
  } -> tensor<4x512x512xi64>
  return
}

// A warp scans a short line; a block sorts a line in shared memory, digit by digit, and keeps the first few of a long one with others
// beside them; all blocks sort or scan a long one in scratch memory.
// CHECK-LABEL: @orders
// CHECK: <form = line, threads = 32, lanes = 2, row_threads = 32, index_bits = 32>
// CHECK: <form = line, threads = 256, vectors = 4, row_threads = 256, depth = 8, index_bits = 32>
// CHECK: <form = line, threads = 256, row_threads = 256, split = 264, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
// CHECK: <form = line, threads = 512, row_threads = 512, kept = 4096, shared_bytes = 32768, split = 4, scratch_bytes = 18500, index_bits = 32, resident = 1>
// CHECK: <form = line, threads = 512, lanes = 4, row_threads = 512, split = 264, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
func.func @orders(%x: tensor<1x128xi64>, %y: tensor<8x1000xf32>, %z: tensor<1x20000xf32>, %w: tensor<3x40000xf32>) {
  %0 = kernel.launch special "cumulative" ins(%x : tensor<1x128xi64>) sizes() {
  ^bb0(%a: tensor<1x128xi64>):
    %b = prim.cumulative sum %a 1 : (tensor<1x128xi64>) -> tensor<1x128xi64>
    kernel.yield %b : tensor<1x128xi64>
  } -> tensor<1x128xi64>
  %1:2 = kernel.launch special "sort" ins(%y : tensor<8x1000xf32>) sizes() {
  ^bb0(%a: tensor<8x1000xf32>):
    %b, %c = prim.sort %a axis 1 {descending = false} : (tensor<8x1000xf32>) -> (tensor<8x1000xf32>, tensor<8x1000xi64>)
    kernel.yield %b, %c : tensor<8x1000xf32>, tensor<8x1000xi64>
  } -> tensor<8x1000xf32>, tensor<8x1000xi64>
  %2:2 = kernel.launch special "sort" ins(%z : tensor<1x20000xf32>) sizes() {
  ^bb0(%a: tensor<1x20000xf32>):
    %b, %c = prim.sort %a axis 1 {descending = false} : (tensor<1x20000xf32>) -> (tensor<1x20000xf32>, tensor<1x20000xi64>)
    kernel.yield %b, %c : tensor<1x20000xf32>, tensor<1x20000xi64>
  } -> tensor<1x20000xf32>, tensor<1x20000xi64>
  %3:2 = kernel.launch special "top_k" ins(%z : tensor<1x20000xf32>) sizes() {
  ^bb0(%a: tensor<1x20000xf32>):
    %b, %c = prim.top_k %a axis 1 {largest = true} : (tensor<1x20000xf32>) -> (tensor<1x300xf32>, tensor<1x300xi64>)
    kernel.yield %b, %c : tensor<1x300xf32>, tensor<1x300xi64>
  } -> tensor<1x300xf32>, tensor<1x300xi64>
  %4 = kernel.launch special "cumulative" ins(%w : tensor<3x40000xf32>) sizes() {
  ^bb0(%a: tensor<3x40000xf32>):
    %b = prim.cumulative sum %a 1 : (tensor<3x40000xf32>) -> tensor<3x40000xf32>
    kernel.yield %b : tensor<3x40000xf32>
  } -> tensor<3x40000xf32>
  return
}

// A long line is looked at by several blocks.
// CHECK-LABEL: @vocabulary
// CHECK: <form = line, threads = 256, lanes = 4, row_threads = 256, split = 48, scratch_bytes = 4864, index_bits = 32, resident = 1>
func.func @vocabulary(%x: tensor<4x50000xf32>) {
  %0 = kernel.launch special "arg_reduce" ins(%x : tensor<4x50000xf32>) sizes() {
  ^bb0(%a: tensor<4x50000xf32>):
    %b = prim.arg_reduce max %a 1 : (tensor<4x50000xf32>) -> tensor<4xi64>
    kernel.yield %b : tensor<4xi64>
  } -> tensor<4xi64>
  return
}

// Few lines that lie across are shared by blocks where they are long. A block sorts lines of open length as those that it has
// room for; short ones are exchanged.
// CHECK-LABEL: @across
// CHECK: <form = line, threads = 512, row_threads = 16, split = 156, scratch_bytes = 83968, index_bits = 32, resident = 1>
// CHECK: <form = line, threads = 256, vectors = 8, row_threads = 256, depth = 8>
// CHECK: <form = line, threads = 64, row_threads = 64, kept = 128, shared_bytes = 1024, index_bits = 32>
func.func @across(%x: tensor<20000x50xbf16>, %y: tensor<?x?xf32>, %z: tensor<100x128xf32>, %n: index, %m: index) {
  %0 = kernel.launch special "arg_reduce" ins(%x : tensor<20000x50xbf16>) sizes() {
  ^bb0(%a: tensor<20000x50xbf16>):
    %b = prim.arg_reduce max %a 0 : (tensor<20000x50xbf16>) -> tensor<50xi64>
    kernel.yield %b : tensor<50xi64>
  } -> tensor<50xi64>
  %1:2 = kernel.launch special "sort" ins(%y : tensor<?x?xf32>) sizes(%n, %m, %n, %m) {
  ^bb0(%a: tensor<?x?xf32>):
    %b, %c = prim.sort %a axis 1 {descending = false} : (tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
    kernel.yield %b, %c : tensor<?x?xf32>, tensor<?x?xi64>
  } -> tensor<?x?xf32>, tensor<?x?xi64>
  %2:2 = kernel.launch special "sort" ins(%z : tensor<100x128xf32>) sizes() {
  ^bb0(%a: tensor<100x128xf32>):
    %b, %c = prim.sort %a axis 1 {descending = false} : (tensor<100x128xf32>) -> (tensor<100x128xf32>, tensor<100x128xi64>)
    kernel.yield %b, %c : tensor<100x128xf32>, tensor<100x128xi64>
  } -> tensor<100x128xf32>, tensor<100x128xi64>
  return
}

// The places of what is selected: counted first by all warps where there are many.
// CHECK-LABEL: @selected
// CHECK: <form = collect, threads = 32>
// CHECK: <form = collect, threads = 256, split = 49, scratch_bytes = {{[0-9]+}}>
func.func @selected(%x: tensor<300xi1>, %y: tensor<100x1000xi1>, %n: index) {
  %0 = kernel.launch special "nonzero" ins(%x, %n : tensor<300xi1>, index) sizes(%n) {
  ^bb0(%a: tensor<300xi1>, %b: index):
    %c = prim.nonzero %a count %b : (tensor<300xi1>) -> tensor<1x?xi64>
    kernel.yield %c : tensor<1x?xi64>
  } -> tensor<1x?xi64>
  %1 = kernel.launch special "nonzero" ins(%y, %n : tensor<100x1000xi1>, index) sizes(%n) {
  ^bb0(%a: tensor<100x1000xi1>, %b: index):
    %c = prim.nonzero %a count %b : (tensor<100x1000xi1>) -> tensor<2x?xi64>
    kernel.yield %c : tensor<2x?xi64>
  } -> tensor<2x?xi64>
  return
}

// Lines of a Fourier transform: two real ones as one, several of a block where they are short or neighbours in memory.
// CHECK-LABEL: @transforms
// CHECK: <form = line, threads = 256, vectors = 2, row_threads = 64, shared_bytes = 18464, index_bits = 32>
// CHECK: <form = line, threads = 512, row_threads = 512, shared_bytes = 36872, index_bits = 32>
// CHECK: <form = line, threads = 512, row_threads = 64, shared_bytes = 36928, index_bits = 32>
func.func @transforms(%x: tensor<16384x512xf32>, %y: tensor<8x4096xf32>, %z: tensor<64x512x512xf32>) {
  %0:2 = kernel.launch special "fourier" ins(%x : tensor<16384x512xf32>) sizes() {
  ^bb0(%a: tensor<16384x512xf32>):
    %b:2 = prim.fourier %a axis 1 {inverse = false} : (tensor<16384x512xf32>) -> (tensor<16384x257xf32>, tensor<16384x257xf32>)
    kernel.yield %b#0, %b#1 : tensor<16384x257xf32>, tensor<16384x257xf32>
  } -> tensor<16384x257xf32>, tensor<16384x257xf32>
  %1:2 = kernel.launch special "fourier" ins(%y : tensor<8x4096xf32>) sizes() {
  ^bb0(%a: tensor<8x4096xf32>):
    %b:2 = prim.fourier %a, %a axis 1 {inverse = false} : (tensor<8x4096xf32>, tensor<8x4096xf32>) -> (tensor<8x4096xf32>, tensor<8x4096xf32>)
    kernel.yield %b#0, %b#1 : tensor<8x4096xf32>, tensor<8x4096xf32>
  } -> tensor<8x4096xf32>, tensor<8x4096xf32>
  %2:2 = kernel.launch special "fourier" ins(%z : tensor<64x512x512xf32>) sizes() {
  ^bb0(%a: tensor<64x512x512xf32>):
    %b:2 = prim.fourier %a, %a axis 1 {inverse = false} : (tensor<64x512x512xf32>, tensor<64x512x512xf32>) -> (tensor<64x512x512xf32>, tensor<64x512x512xf32>)
    kernel.yield %b#0, %b#1 : tensor<64x512x512xf32>, tensor<64x512x512xf32>
  } -> tensor<64x512x512xf32>, tensor<64x512x512xf32>
  return
}

// Twice as many threads as a matrix of 256 rows has, for the product that later columns lose.
// CHECK-LABEL: @factors
// CHECK: <form = line, threads = 512, vectors = 2, row_threads = 512, depth = 16, shared_bytes = 21504, index_bits = 32, resident = 1>
func.func @factors(%x: tensor<256x256xf32>) {
  %0 = kernel.launch special "cholesky" ins(%x : tensor<256x256xf32>) sizes() {
  ^bb0(%a: tensor<256x256xf32>):
    %b = prim.cholesky %a : (tensor<256x256xf32>) -> tensor<256x256xf32>
    kernel.yield %b : tensor<256x256xf32>
  } -> tensor<256x256xf32>
  return
}

// One matrix has the blocks of a cluster, two columns a warp; many have a block each.
// CHECK-LABEL: @reflections
// CHECK: <form = line, threads = 512, vectors = 2, row_threads = 512, depth = 16, shared_bytes = 16768, split = 8, index_bits = 32, resident = 1>
// CHECK: <form = line, threads = 512, vectors = 8, row_threads = 512, depth = 16, shared_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
func.func @reflections(%x: tensor<256x256xf32>, %y: tensor<200x64x64xf32>) {
  %0:2 = kernel.launch special "qr" ins(%x : tensor<256x256xf32>) sizes() {
  ^bb0(%a: tensor<256x256xf32>):
    %b:2 = prim.qr %a : (tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256xf32>)
    kernel.yield %b#0, %b#1 : tensor<256x256xf32>, tensor<256xf32>
  } -> tensor<256x256xf32>, tensor<256xf32>
  %1:2 = kernel.launch special "qr" ins(%y : tensor<200x64x64xf32>) sizes() {
  ^bb0(%a: tensor<200x64x64xf32>):
    %b:2 = prim.qr %a : (tensor<200x64x64xf32>) -> (tensor<200x64x64xf32>, tensor<200x64xf32>)
    kernel.yield %b#0, %b#1 : tensor<200x64x64xf32>, tensor<200x64xf32>
  } -> tensor<200x64x64xf32>, tensor<200x64xf32>
  return
}

// Four lanes of a warp turn a pair of columns of 16 rows; a thread has a square of two pairs' elements of a symmetric matrix.
// CHECK-LABEL: @spectra
// CHECK: <form = line, threads = 32, vectors = 4, row_threads = 32, depth = 8, shared_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
// CHECK: <form = line, threads = 1024, row_threads = 1024, depth = 8, shared_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
func.func @spectra(%x: tensor<64x16x12xf64>, %y: tensor<64x64xf64>) {
  %0:5 = kernel.launch special "svd" ins(%x : tensor<64x16x12xf64>) sizes() {
  ^bb0(%a: tensor<64x16x12xf64>):
    %b:5 = prim.svd %a {vectors = false} : (tensor<64x16x12xf64>) -> (tensor<64x16x12xf64>, tensor<64x12x16xf64>, tensor<64x12xf64>, tensor<64x12x12xf64>, tensor<64x16x8xf64>)
    kernel.yield %b#0, %b#1, %b#2, %b#3, %b#4 : tensor<64x16x12xf64>, tensor<64x12x16xf64>, tensor<64x12xf64>, tensor<64x12x12xf64>, tensor<64x16x8xf64>
  } -> tensor<64x16x12xf64>, tensor<64x12x16xf64>, tensor<64x12xf64>, tensor<64x12x12xf64>, tensor<64x16x8xf64>
  %1:3 = kernel.launch special "symmetric_eigen" ins(%y : tensor<64x64xf64>) sizes() {
  ^bb0(%a: tensor<64x64xf64>):
    %b:3 = prim.symmetric_eigen %a {vectors = true} : (tensor<64x64xf64>) -> (tensor<64x64xf64>, tensor<64xf64>, tensor<64x8xf64>)
    kernel.yield %b#0, %b#1, %b#2 : tensor<64x64xf64>, tensor<64xf64>, tensor<64x8xf64>
  } -> tensor<64x64xf64>, tensor<64xf64>, tensor<64x8xf64>
  return
}
