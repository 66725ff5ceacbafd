// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-schedule-kernels | FileCheck %s
// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-schedule-kernels | tcc-opt | FileCheck %s
// What is recorded for each architecture, not that it is fastest.

// Sixteen bytes a thread.
// CHECK-LABEL: @loops
// CHECK: {schedule = #gpu.schedules<sm_80 = <form = loop, threads = 256, lanes = 4, index_bits = 32>, sm_90a = <form = loop, threads = 256, lanes = 4, index_bits = 32>>}
// CHECK: sm_90a = <form = transpose, threads = 256, rows = 32>>}
// CHECK: sm_90a = <form = transpose, threads = 256, lanes = 8, rows = 64, index_bits = 32>>}
// CHECK: sm_90a = <form = column, threads = 512, lanes = 4, row_threads = 16, split = 8, scratch_bytes = {{[0-9]+}}, index_bits = 32>>}
func.func @loops(%x: tensor<8192x4096xf32>, %y: tensor<?x64xf32>, %z: tensor<40x64xbf16>, %n: index) {
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
  %3 = kernel.launch loop "transpose" ins(%z : tensor<40x64xbf16>) sizes() {
  ^bb0(%a: tensor<40x64xbf16>):
    %b = prim.transpose %a [1, 0] : (tensor<40x64xbf16>) -> tensor<64x40xbf16>
    kernel.yield %b : tensor<64x40xbf16>
  } -> tensor<64x40xbf16>
  %2 = kernel.launch loop "sum" ins(%x : tensor<8192x4096xf32>) sizes() {
  ^bb0(%a: tensor<8192x4096xf32>):
    %b = prim.reduce sum %a [0] : (tensor<8192x4096xf32>) -> tensor<4096xf32>
    kernel.yield %b : tensor<4096xf32>
  } -> tensor<4096xf32>
  return
}

// Points of rows of any length are numbered through; elsewhere several shorter vectors make sixteen bytes; functions of narrow numbers take two, with one operand, but not with two, and those that branch four.
// CHECK-LABEL: @vectors
// CHECK: sm_90a = <form = loop, threads = 256, lanes = 4, index_bits = 32>>}
// CHECK: sm_90a = <form = loop, threads = 256, lanes = 2, vectors = 2, index_bits = 32>>}
// CHECK: sm_90a = <form = loop, threads = 128, lanes = 8, vectors = 2, index_bits = 32>>}
// CHECK: sm_90a = <form = loop, threads = 256, lanes = 8, index_bits = 32>>}
// CHECK: sm_90a = <form = loop, threads = 64, lanes = 8, vectors = 4, index_bits = 32>>}
func.func @vectors(%x: tensor<524288x6xf32>, %y: tensor<8192x4096xbf16>, %f: tensor<6xf32>) {
  %0 = kernel.launch loop "neg" ins(%x : tensor<524288x6xf32>) sizes() {
  ^bb0(%a: tensor<524288x6xf32>):
    %b = prim.neg %a : (tensor<524288x6xf32>) -> tensor<524288x6xf32>
    kernel.yield %b : tensor<524288x6xf32>
  } -> tensor<524288x6xf32>
  %3 = kernel.launch loop "add" ins(%x, %f : tensor<524288x6xf32>, tensor<6xf32>) sizes() {
  ^bb0(%a: tensor<524288x6xf32>, %b: tensor<6xf32>):
    %d = prim.broadcast %b axes [1] sizes() : (tensor<6xf32>) -> tensor<524288x6xf32>
    %e = prim.add %a, %d : (tensor<524288x6xf32>, tensor<524288x6xf32>) -> tensor<524288x6xf32>
    kernel.yield %e : tensor<524288x6xf32>
  } -> tensor<524288x6xf32>
  %1 = kernel.launch loop "tanh" ins(%y : tensor<8192x4096xbf16>) sizes() {
  ^bb0(%a: tensor<8192x4096xbf16>):
    %b = prim.tanh %a : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    kernel.yield %b : tensor<8192x4096xbf16>
  } -> tensor<8192x4096xbf16>
  %2 = kernel.launch loop "tanh_mul" ins(%y, %1 : tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) sizes() {
  ^bb0(%a: tensor<8192x4096xbf16>, %b: tensor<8192x4096xbf16>):
    %c = prim.tanh %a : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    %d = prim.mul %c, %b : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    kernel.yield %d : tensor<8192x4096xbf16>
  } -> tensor<8192x4096xbf16>
  %4 = kernel.launch loop "sin" ins(%y : tensor<8192x4096xbf16>) sizes() {
  ^bb0(%a: tensor<8192x4096xbf16>):
    %b = prim.sin %a : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
    kernel.yield %b : tensor<8192x4096xbf16>
  } -> tensor<8192x4096xbf16>
  return
}

// Threads that few columns leave over share their rows, through axes of one element and what follows the sum.
// CHECK-LABEL: @average
// CHECK: sm_90a = <form = column, threads = 128, lanes = 8, row_threads = 64, split = 49, scratch_bytes = {{[0-9]+}}, index_bits = 32>
func.func @average(%x: tensor<1x112x112x32xbf16>) {
  %0 = kernel.launch loop "reduce_div_cast" ins(%x : tensor<1x112x112x32xbf16>) sizes() {
  ^bb0(%a: tensor<1x112x112x32xbf16>):
    %c = prim.constant dense<12544.0> : tensor<1x32x1x1xf32>
    %b = prim.cast %a : (tensor<1x112x112x32xbf16>) -> tensor<1x112x112x32xf32>
    %s = prim.reduce sum %b [1, 2] : (tensor<1x112x112x32xf32>) -> tensor<1x32xf32>
    %r = prim.reshape %s sizes() : (tensor<1x32xf32>) -> tensor<1x32x1x1xf32>
    %d = prim.div %r, %c : (tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>) -> tensor<1x32x1x1xf32>
    %e = prim.cast %d : (tensor<1x32x1x1xf32>) -> tensor<1x32x1x1xbf16>
    kernel.yield %e : tensor<1x32x1x1xbf16>
  } -> tensor<1x32x1x1xbf16>
  return
}

// Points of a row that a thread keeps, and rows too few for the machine in blocks of a warp; few rows of open length are shared by all blocks.
// CHECK-LABEL: @rows
// CHECK: sm_80 = <form = row, threads = 32, lanes = 4, row_threads = 32, kept = 16, index_bits = 32>
// CHECK: sm_80 = <form = row, threads = 512, vectors = 4, row_threads = 512, split = 108, scratch_bytes = 7552>, sm_90a = <form = row, threads = 512, vectors = 4, row_threads = 512, split = 132, scratch_bytes = 8320>
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

// Many rows of open length are a block's each, or a warp's if they prove to be short.
// CHECK-LABEL: @open_rows
// CHECK: sm_80 = <form = row, threads = 256, vectors = 4, row_threads = 256, rows = 8>
func.func @open_rows(%x: tensor<?x?xf32>, %n: index, %m: index) {
  %0 = kernel.launch row[1] "sum" ins(%x : tensor<?x?xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x?xf32>):
    %b = prim.reduce sum %a [1] : (tensor<?x?xf32>) -> tensor<?xf32>
    kernel.yield %b : tensor<?xf32>
  } -> tensor<?xf32>
  return
}

// One launch, a form for each architecture.
// CHECK-LABEL: @products
// CHECK: {schedule = #gpu.schedules<sm_80 = <form = mma, threads = 256, vectors = 3, rows = 128, columns = 128, depth = 64, shared_bytes = 98304, index_bits = 32>, sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 128, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>>}
func.func @products(%x: tensor<8192x4096xbf16>, %w: tensor<4096x4096xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<8192x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
    kernel.yield %c : tensor<8192x4096xbf16>
  } -> tensor<8192x4096xbf16>
  return
}

// Short sums of many tiles: each warp group has tiles of its own, and finishes one while the other multiplies. Where a
// multiprocessor has one tile, both groups share it. Wide tiles where they fill the machine better, but not beside what takes
// registers after the product.
// CHECK-LABEL: @short_sums
// CHECK: sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 128, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>
// CHECK: sm_90a = <form = wgmma, threads = 384, rows = 128, columns = 192, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>
// CHECK: sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 192, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>
// CHECK: sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 96, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>
func.func @short_sums(%x: tensor<4096x768xbf16>, %w: tensor<3072x768xbf16>, %y: tensor<4096x3072xbf16>, %v: tensor<768x3072xbf16>, %q: tensor<2304x768xbf16>, %z: tensor<4096x2304xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<4096x768xbf16>, tensor<3072x768xbf16>) sizes() {
  ^bb0(%a: tensor<4096x768xbf16>, %b: tensor<3072x768xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<4096x768xbf16>, tensor<3072x768xbf16>) -> tensor<4096x3072xbf16>
    kernel.yield %c : tensor<4096x3072xbf16>
  } -> tensor<4096x3072xbf16>
  %1 = kernel.launch contraction "dot" ins(%y, %v : tensor<4096x3072xbf16>, tensor<768x3072xbf16>) sizes() {
  ^bb0(%a: tensor<4096x3072xbf16>, %b: tensor<768x3072xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<4096x3072xbf16>, tensor<768x3072xbf16>) -> tensor<4096x768xbf16>
    kernel.yield %c : tensor<4096x768xbf16>
  } -> tensor<4096x768xbf16>
  %2 = kernel.launch contraction "dot" ins(%x, %q : tensor<4096x768xbf16>, tensor<2304x768xbf16>) sizes() {
  ^bb0(%a: tensor<4096x768xbf16>, %b: tensor<2304x768xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<4096x768xbf16>, tensor<2304x768xbf16>) -> tensor<4096x2304xbf16>
    kernel.yield %c : tensor<4096x2304xbf16>
  } -> tensor<4096x2304xbf16>
  %3 = kernel.launch contraction "dot_add" ins(%x, %q, %z : tensor<4096x768xbf16>, tensor<2304x768xbf16>, tensor<4096x2304xbf16>) sizes() {
  ^bb0(%a: tensor<4096x768xbf16>, %b: tensor<2304x768xbf16>, %d: tensor<4096x2304xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<4096x768xbf16>, tensor<2304x768xbf16>) -> tensor<4096x2304xbf16>
    %e = prim.add %c, %d : (tensor<4096x2304xbf16>, tensor<4096x2304xbf16>) -> tensor<4096x2304xbf16>
    kernel.yield %e : tensor<4096x2304xbf16>
  } -> tensor<4096x2304xbf16>
  return
}

// Tiles of 192 rows in turns, where they leave less of the last wave idle; not beside what is read at the end.
// CHECK-LABEL: @tall_tiles
// CHECK: sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 192, columns = 128, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>
// CHECK: sm_90a = <form = wgmma, threads = 512, rows = 192, columns = 192,
func.func @tall_tiles(%x: tensor<6304x768xbf16>, %w: tensor<3072x768xbf16>, %z: tensor<6304x3072xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<6304x768xbf16>, tensor<3072x768xbf16>) sizes() {
  ^bb0(%a: tensor<6304x768xbf16>, %b: tensor<3072x768xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<6304x768xbf16>, tensor<3072x768xbf16>) -> tensor<6304x3072xbf16>
    kernel.yield %c : tensor<6304x3072xbf16>
  } -> tensor<6304x3072xbf16>
  %1 = kernel.launch contraction "dot_add" ins(%x, %w, %z : tensor<6304x768xbf16>, tensor<3072x768xbf16>, tensor<6304x3072xbf16>) sizes() {
  ^bb0(%a: tensor<6304x768xbf16>, %b: tensor<3072x768xbf16>, %d: tensor<6304x3072xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<6304x768xbf16>, tensor<3072x768xbf16>) -> tensor<6304x3072xbf16>
    %e = prim.add %c, %d : (tensor<6304x3072xbf16>, tensor<6304x3072xbf16>) -> tensor<6304x3072xbf16>
    kernel.yield %e : tensor<6304x3072xbf16>
  } -> tensor<6304x3072xbf16>
  return
}

// Three groups share tiles of 192 x 192, of which 6304 x 768 has one a multiprocessor, and tiles of 96 columns leave less of
// the last tile empty. A right operand that lies by rows comes in slices of 64 columns.
// CHECK-LABEL: @tiles_between
// CHECK: sm_90a = <form = wgmma, threads = 512, rows = 192, columns = 192, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>
// CHECK: sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 96, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>
// CHECK: sm_90a = <form = wgmma, threads = 512, rows = 192, columns = 192,
// CHECK: sm_90a = <form = wgmma, threads = {{[0-9]+}}, {{.*}}columns = {{64|128|192|256}},
func.func @tiles_between(%x: tensor<6304x3072xbf16>, %w: tensor<768x3072xbf16>, %y: tensor<25088x384xbf16>, %v: tensor<192x384xbf16>, %z: tensor<25088x192xbf16>,
    %t: tensor<3072x768xbf16>, %u: tensor<384x192xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<6304x3072xbf16>, tensor<768x3072xbf16>) sizes() {
  ^bb0(%a: tensor<6304x3072xbf16>, %b: tensor<768x3072xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<6304x3072xbf16>, tensor<768x3072xbf16>) -> tensor<6304x768xbf16>
    kernel.yield %c : tensor<6304x768xbf16>
  } -> tensor<6304x768xbf16>
  %1 = kernel.launch contraction "dot_add" ins(%y, %v, %z : tensor<25088x384xbf16>, tensor<192x384xbf16>, tensor<25088x192xbf16>) sizes() {
  ^bb0(%a: tensor<25088x384xbf16>, %b: tensor<192x384xbf16>, %d: tensor<25088x192xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<25088x384xbf16>, tensor<192x384xbf16>) -> tensor<25088x192xbf16>
    %e = prim.add %c, %d : (tensor<25088x192xbf16>, tensor<25088x192xbf16>) -> tensor<25088x192xbf16>
    kernel.yield %e : tensor<25088x192xbf16>
  } -> tensor<25088x192xbf16>
  %2 = kernel.launch contraction "dot" ins(%x, %t : tensor<6304x3072xbf16>, tensor<3072x768xbf16>) sizes() {
  ^bb0(%a: tensor<6304x3072xbf16>, %b: tensor<3072x768xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<6304x3072xbf16>, tensor<3072x768xbf16>) -> tensor<6304x768xbf16>
    kernel.yield %c : tensor<6304x768xbf16>
  } -> tensor<6304x768xbf16>
  %3 = kernel.launch contraction "dot_add" ins(%y, %u, %z : tensor<25088x384xbf16>, tensor<384x192xbf16>, tensor<25088x192xbf16>) sizes() {
  ^bb0(%a: tensor<25088x384xbf16>, %b: tensor<384x192xbf16>, %d: tensor<25088x192xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<25088x384xbf16>, tensor<384x192xbf16>) -> tensor<25088x192xbf16>
    %e = prim.add %c, %d : (tensor<25088x192xbf16>, tensor<25088x192xbf16>) -> tensor<25088x192xbf16>
    kernel.yield %e : tensor<25088x192xbf16>
  } -> tensor<25088x192xbf16>
  return
}

// One tile for each multiprocessor needs no blocks that take tile after tile.
// CHECK-LABEL: @single_tiles
// CHECK: sm_90a = <form = wgmma, threads = 160, vectors = 8, rows = 64, columns = 128, shared_bytes = {{[0-9]+}}, index_bits = 32>
func.func @single_tiles(%x: tensor<1568x2048xbf16>, %w: tensor<512x2048xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<1568x2048xbf16>, tensor<512x2048xbf16>) sizes() {
  ^bb0(%a: tensor<1568x2048xbf16>, %b: tensor<512x2048xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1568x2048xbf16>, tensor<512x2048xbf16>) -> tensor<1568x512xbf16>
    kernel.yield %c : tensor<1568x512xbf16>
  } -> tensor<1568x512xbf16>
  return
}

// Weights are fetched before earlier work ends, for as many steps as shared memory holds.
// CHECK-LABEL: @weights
// CHECK: sm_90a = <form = wgmma, threads = 384, row_threads = 128, kept = 6, rows = 128, columns = 128,
// CHECK: sm_90a = <form = wgmma, threads = 160, vectors = [[STAGES:[0-9]+]], kept = [[STAGES]], rows = 64,
func.func @weights(%x: tensor<8192x4096xbf16>, %y: tensor<128x768xbf16>) {
  %w = prim.weight "w" : tensor<4096x4096xbf16>
  %v = prim.weight "v" : tensor<3072x768xbf16>
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<8192x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
    kernel.yield %c : tensor<8192x4096xbf16>
  } -> tensor<8192x4096xbf16>
  %1 = kernel.launch contraction "dot" ins(%y, %v : tensor<128x768xbf16>, tensor<3072x768xbf16>) sizes() {
  ^bb0(%a: tensor<128x768xbf16>, %b: tensor<3072x768xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<128x768xbf16>, tensor<3072x768xbf16>) -> tensor<128x3072xbf16>
    kernel.yield %c : tensor<128x3072xbf16>
  } -> tensor<128x3072xbf16>
  return
}

// Rows that are only numbered otherwise lie as they lay: heads side by side, of several sentences.
// CHECK-LABEL: @reshaped_rows
// CHECK: sm_80 = <form = mma, {{.*}}, sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 128,
func.func @reshaped_rows(%x: tensor<8x512x12x64xbf16>, %w: tensor<3072x768xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<8x512x12x64xbf16>, tensor<3072x768xbf16>) sizes() {
  ^bb0(%a: tensor<8x512x12x64xbf16>, %b: tensor<3072x768xbf16>):
    %r = prim.reshape %a sizes() : (tensor<8x512x12x64xbf16>) -> tensor<4096x768xbf16>
    %c = prim.dot %r, %b batch [] x [] contract [1] x [1] : (tensor<4096x768xbf16>, tensor<3072x768xbf16>) -> tensor<4096x3072xf32>
    kernel.yield %c : tensor<4096x3072xf32>
  } -> tensor<4096x3072xf32>
  return
}

// Parts of 8 x 8 where each multiprocessor has at most one block of them.
// CHECK-LABEL: @few_tiles
// CHECK: sm_90a = <form = product, threads = 64, vectors = 16, rows = 8, columns = 8, depth = 16, index_bits = 32>>}
func.func @few_tiles(%x: tensor<32x256xf32>, %w: tensor<256x256xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<32x256xf32>, tensor<256x256xf32>) sizes() {
  ^bb0(%a: tensor<32x256xf32>, %b: tensor<256x256xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    kernel.yield %c : tensor<32x256xf32>
  } -> tensor<32x256xf32>
  return
}

// Matrix units multiply 32 columns at least: of eight, and short sums, the general form is faster. Tiles take turns where
// results of four bytes are much to store for their steps.
// CHECK-LABEL: @narrow_and_stored
// CHECK: sm_90a = <form = product, threads = 128, lanes = 2, rows = 128, columns = 8, depth = 16, index_bits = 32>>}
// CHECK: sm_90a = <form = mma,
// CHECK: sm_90a = <form = wgmma, threads = 384, row_threads = 128, {{.*}}rows = 128, columns = 128,
func.func @narrow_and_stored(%x: tensor<32x56x56x256xbf16>, %w: tensor<256x8x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>, %v: tensor<256x8x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>, %i: tensor<4096x4096xi8>) {
  %0 = kernel.launch convolution "conv" ins(%x, %w : tensor<32x56x56x256xbf16>, tensor<256x8x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) sizes() {
  ^bb0(%a: tensor<32x56x56x256xbf16>, %b: tensor<256x8x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 32 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<32x56x56x256xbf16>, tensor<256x8x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x256xbf16>
    kernel.yield %c : tensor<32x56x56x256xbf16>
  } -> tensor<32x56x56x256xbf16>
  %1 = kernel.launch convolution "conv" ins(%x, %v : tensor<32x56x56x256xbf16>, tensor<256x8x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>) sizes() {
  ^bb0(%a: tensor<32x56x56x256xbf16>, %b: tensor<256x8x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 32 : i64, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, strides = array<i64: 1, 1>} : (tensor<32x56x56x256xbf16>, tensor<256x8x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x256xbf16>
    kernel.yield %c : tensor<32x56x56x256xbf16>
  } -> tensor<32x56x56x256xbf16>
  %2 = kernel.launch contraction "dot" ins(%i, %i : tensor<4096x4096xi8>, tensor<4096x4096xi8>) sizes() {
  ^bb0(%a: tensor<4096x4096xi8>, %b: tensor<4096x4096xi8>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<4096x4096xi8>, tensor<4096x4096xi8>) -> tensor<4096x4096xi32>
    kernel.yield %c : tensor<4096x4096xi32>
  } -> tensor<4096x4096xi32>
  return
}

// What is inserted into what a loop carries, and read elsewhere as well, is stored twice by the kernel that makes it.
// CHECK-LABEL: @row_of_a_loop
// CHECK: %[[NEXT:.*]]:2 = kernel.launch loop "next"
// CHECK: kernel.yield %[[V:.*]], %[[V]] : tensor<16xf32>, tensor<16xf32>
// CHECK: kernel.launch special "insert_slice" ins(%{{.*}}, %[[NEXT]]#1, %{{.*}} :
// CHECK: prim.yield %{{.*}}, %[[NEXT]]#0,
func.func @row_of_a_loop(%n: index, %x: tensor<16xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = prim.while(%c0, %x, %y) {
  ^bb0(%i: index, %h: tensor<16xf32>, %all: tensor<8x16xf32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %h: tensor<16xf32>, %all: tensor<8x16xf32>):
    %next = kernel.launch loop "next" ins(%h : tensor<16xf32>) sizes() {
    ^bb0(%a: tensor<16xf32>):
      %1 = prim.exp %a : (tensor<16xf32>) -> tensor<16xf32>
      kernel.yield %1 : tensor<16xf32>
    } -> tensor<16xf32>
    %rows = kernel.launch special "insert_slice" ins(%all, %next, %i : tensor<8x16xf32>, tensor<16xf32>, index) sizes() {
    ^bb0(%a: tensor<8x16xf32>, %b: tensor<16xf32>, %at: index):
      %1 = prim.reshape %b sizes() : (tensor<16xf32>) -> tensor<1x16xf32>
      %2 = prim.insert_slice %a, %1 starts [-9223372036854775808, 0](%at) steps [1, 1] : (tensor<8x16xf32>, tensor<1x16xf32>, index) -> tensor<8x16xf32>
      kernel.yield %2 : tensor<8x16xf32>
    } -> tensor<8x16xf32>
    %after = arith.addi %i, %c1 : index
    prim.yield %after, %next, %rows : index, tensor<16xf32>, tensor<8x16xf32>
  } : (index, tensor<16xf32>, tensor<8x16xf32>) -> (index, tensor<16xf32>, tensor<8x16xf32>)
  return %r#2 : tensor<8x16xf32>
}

// Small matrices go to groups of a block's threads, each a whole one, and so do groups of a convolution; parts of short
// sums go to groups too. Few columns are the few rows of the other operand.
// CHECK-LABEL: @grouped_products
// CHECK: sm_90a = <form = product, threads = 128, lanes = 8, rows = 16, columns = 16, depth = 16, index_bits = 32>>}
// CHECK: sm_90a = <form = product, threads = 128, vectors = 8, rows = 16, columns = 16, depth = 16, index_bits = 32>>}
// CHECK: sm_90a = <form = product, threads = {{[0-9]+}}, lanes = {{[0-9]+}}, rows = 128, columns = 8, depth = 16, index_bits = 32>>}
// CHECK: sm_90a = <form = skinny, threads = 128, rows = 4, index_bits = 32>>}
// CHECK: sm_90a = <form = skinny, threads = 128, rows = 4, index_bits = 32>>}
func.func @grouped_products(%x: tensor<65536x16x16xf32>, %y: tensor<32x256xf32>, %w: tensor<512x256xf32>, %i: tensor<32x56x56x256xf32>, %f: tensor<256x8x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>, %m: tensor<8192x4096xf32>, %v: tensor<4096x1xf32>, %n: tensor<8192x4096xbf16>, %u: tensor<4096xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %x : tensor<65536x16x16xf32>, tensor<65536x16x16xf32>) sizes() {
  ^bb0(%a: tensor<65536x16x16xf32>, %b: tensor<65536x16x16xf32>):
    %c = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<65536x16x16xf32>, tensor<65536x16x16xf32>) -> tensor<65536x16x16xf32>
    kernel.yield %c : tensor<65536x16x16xf32>
  } -> tensor<65536x16x16xf32>
  %1 = kernel.launch contraction "dot" ins(%y, %w : tensor<32x256xf32>, tensor<512x256xf32>) sizes() {
  ^bb0(%a: tensor<32x256xf32>, %b: tensor<512x256xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<32x256xf32>, tensor<512x256xf32>) -> tensor<32x512xf32>
    kernel.yield %c : tensor<32x512xf32>
  } -> tensor<32x512xf32>
  %2 = kernel.launch convolution "conv" ins(%i, %f : tensor<32x56x56x256xf32>, tensor<256x8x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>) sizes() {
  ^bb0(%a: tensor<32x56x56x256xf32>, %b: tensor<256x8x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 32 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<32x56x56x256xf32>, tensor<256x8x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x256xf32>
    kernel.yield %c : tensor<32x56x56x256xf32>
  } -> tensor<32x56x56x256xf32>
  %3 = kernel.launch contraction "dot" ins(%m, %v : tensor<8192x4096xf32>, tensor<4096x1xf32>) sizes() {
  ^bb0(%a: tensor<8192x4096xf32>, %b: tensor<4096x1xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<8192x4096xf32>, tensor<4096x1xf32>) -> tensor<8192x1xf32>
    kernel.yield %c : tensor<8192x1xf32>
  } -> tensor<8192x1xf32>
  %4 = kernel.launch contraction "dot" ins(%n, %u : tensor<8192x4096xbf16>, tensor<4096xbf16>) sizes() {
  ^bb0(%a: tensor<8192x4096xbf16>, %b: tensor<4096xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<8192x4096xbf16>, tensor<4096xbf16>) -> tensor<8192xbf16>
    kernel.yield %c : tensor<8192xbf16>
  } -> tensor<8192xbf16>
  return
}

// Blocks bring the updates of lines in order while others copy; fewer are looked at by everybody. Which rows have
// updates is noted in shared memory where these are fewer than rows.
// CHECK-LABEL: @scatters
// CHECK: sm_90a = <form = scatter, threads = 256, row_threads = 1, split = 396, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>>}
// CHECK: sm_90a = <form = scatter, threads = 128, index_bits = 32>>}
// CHECK: sm_90a = <form = scatter, threads = 512, lanes = 4, row_threads = 16, shared_bytes = 17000, split = 264, index_bits = 32, resident = 2>>}
func.func @scatters(%x: tensor<50000x128xf32>, %i: tensor<100x128xi64>, %u: tensor<100x128xf32>, %y: tensor<4x100000xf32>, %j: tensor<2x100000xi64>, %v: tensor<2x100000xf32>, %z: tensor<300x200x64xf32>, %k: tensor<500x2xi64>, %w: tensor<500x64xf32>) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<50000x128xf32>, tensor<100x128xi64>, tensor<100x128xf32>) sizes() {
  ^bb0(%a: tensor<50000x128xf32>, %b: tensor<100x128xi64>, %c: tensor<100x128xf32>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<50000x128xf32>, tensor<100x128xi64>, tensor<100x128xf32>) -> tensor<50000x128xf32>
    kernel.yield %d : tensor<50000x128xf32>
  } -> tensor<50000x128xf32>
  %1 = kernel.launch special "scatter_along" ins(%y, %j, %v : tensor<4x100000xf32>, tensor<2x100000xi64>, tensor<2x100000xf32>) sizes() {
  ^bb0(%a: tensor<4x100000xf32>, %b: tensor<2x100000xi64>, %c: tensor<2x100000xf32>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<4x100000xf32>, tensor<2x100000xi64>, tensor<2x100000xf32>) -> tensor<4x100000xf32>
    kernel.yield %d : tensor<4x100000xf32>
  } -> tensor<4x100000xf32>
  %2 = kernel.launch special "scatter_nd" ins(%z, %k, %w : tensor<300x200x64xf32>, tensor<500x2xi64>, tensor<500x64xf32>) sizes() {
  ^bb0(%a: tensor<300x200x64xf32>, %b: tensor<500x2xi64>, %c: tensor<500x64xf32>):
    %d = prim.scatter_nd add %a, %b, %c : (tensor<300x200x64xf32>, tensor<500x2xi64>, tensor<500x64xf32>) -> tensor<300x200x64xf32>
    kernel.yield %d : tensor<300x200x64xf32>
  } -> tensor<300x200x64xf32>
  return
}

// f32 is exact: no matrix unit. Up to 16 rows: warps share what is summed. A few more: blocks share what a tile sums, and
// meet in scratch memory, or as a cluster on sm_90a. Open rows, and what wgmma does not take.
// CHECK-LABEL: @other_products
// CHECK: sm_80 = <form = product, {{.*}}, sm_90a = <form = product,
// CHECK: sm_80 = <form = skinny_mma, threads = {{[0-9]+}}, columns = {{[0-9]+}}, depth = {{[0-9]+}}, index_bits = 32>, sm_90a = <form = skinny_mma, threads = 512, columns = 32, depth = 2,
// CHECK: sm_80 = <form = mma, threads = {{[0-9]+}}, vectors = {{[0-9]+}}, rows = 32, columns = {{[0-9]+}}, depth = 64, shared_bytes = {{[0-9]+}}, split = {{[0-9]+}}, scratch_bytes = {{[0-9]+}}, index_bits = 32>, sm_90a = <form = wgmma, threads = 160, vectors = {{[0-9]+}}, rows = 64, columns = {{[0-9]+}}, shared_bytes = {{[0-9]+}}, {{(split = [0-9]+, )?}}index_bits = 32>
// CHECK: sm_90a = <form = mma, {{.*}}depth = 128
// CHECK: sm_90a = <form = mma, {{.*}}depth = 64, shared_bytes = {{[0-9]+}}>
func.func @other_products(%f: tensor<512x512xf32>, %x: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16>, %z: tensor<24x4096xbf16>, %i: tensor<200x512xi8>, %j: tensor<512x300xi8>, %q: tensor<12x?x64xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%f, %f : tensor<512x512xf32>, tensor<512x512xf32>) sizes() {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    kernel.yield %c : tensor<512x512xf32>
  } -> tensor<512x512xf32>
  %1 = kernel.launch contraction "dot" ins(%x, %w : tensor<1x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xf32>
    kernel.yield %c : tensor<1x4096xf32>
  } -> tensor<1x4096xf32>
  %4 = kernel.launch contraction "dot" ins(%z, %w : tensor<24x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<24x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<24x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<24x4096xf32>
    kernel.yield %c : tensor<24x4096xf32>
  } -> tensor<24x4096xf32>
  %2 = kernel.launch contraction "dot" ins(%i, %j : tensor<200x512xi8>, tensor<512x300xi8>) sizes() {
  ^bb0(%a: tensor<200x512xi8>, %b: tensor<512x300xi8>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<200x512xi8>, tensor<512x300xi8>) -> tensor<200x300xi32>
    kernel.yield %c : tensor<200x300xi32>
  } -> tensor<200x300xi32>
  %n = prim.dim %q, 1 : tensor<12x?x64xbf16>
  %3 = kernel.launch contraction "dot" ins(%q, %q : tensor<12x?x64xbf16>, tensor<12x?x64xbf16>) sizes(%n, %n) {
  ^bb0(%a: tensor<12x?x64xbf16>, %b: tensor<12x?x64xbf16>):
    %c = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<12x?x64xbf16>, tensor<12x?x64xbf16>) -> tensor<12x?x?xf32>
    kernel.yield %c : tensor<12x?x?xf32>
  } -> tensor<12x?x?xf32>
  return
}

// Weights of few rows are streamed by all multiprocessors, one tile a block, whose sums a cluster shares where k is long.
// A permuted result, of which no slabs can be copied, keeps to one tile a block.
// CHECK-LABEL: @few_rows
// CHECK: sm_90a = <form = wgmma, threads = {{160|288}}, vectors = {{[0-9]+}}, rows = {{64|128}}, columns = {{[0-9]+}}, shared_bytes = {{[0-9]+}}, index_bits = 32>
// CHECK: sm_90a = <form = wgmma, threads = {{160|288}}, vectors = {{[0-9]+}}, rows = {{64|128}}, columns = {{[0-9]+}}, shared_bytes = {{[0-9]+}}, split = {{[3-8]}}, index_bits = 32>
// CHECK: sm_90a = <form = wgmma, threads = {{160|288}}, {{.*}}, shared_bytes = {{[0-9]+}}, index_bits = 32>
func.func @few_rows(%x: tensor<128x768xbf16>, %w: tensor<3072x768xbf16>, %y: tensor<128x3072xbf16>, %v: tensor<768x3072xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<128x768xbf16>, tensor<3072x768xbf16>) sizes() {
  ^bb0(%a: tensor<128x768xbf16>, %b: tensor<3072x768xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<128x768xbf16>, tensor<3072x768xbf16>) -> tensor<128x3072xbf16>
    kernel.yield %c : tensor<128x3072xbf16>
  } -> tensor<128x3072xbf16>
  %1 = kernel.launch contraction "dot" ins(%y, %v : tensor<128x3072xbf16>, tensor<768x3072xbf16>) sizes() {
  ^bb0(%a: tensor<128x3072xbf16>, %b: tensor<768x3072xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<128x3072xbf16>, tensor<768x3072xbf16>) -> tensor<128x768xbf16>
    kernel.yield %c : tensor<128x768xbf16>
  } -> tensor<128x768xbf16>
  %2 = kernel.launch contraction "dot_transpose" ins(%x, %w : tensor<128x768xbf16>, tensor<3072x768xbf16>) sizes() {
  ^bb0(%a: tensor<128x768xbf16>, %b: tensor<3072x768xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<128x768xbf16>, tensor<3072x768xbf16>) -> tensor<128x3072xbf16>
    %t = prim.transpose %c [1, 0] : (tensor<128x3072xbf16>) -> tensor<3072x128xbf16>
    kernel.yield %t : tensor<3072x128xbf16>
  } -> tensor<3072x128xbf16>
  return
}

// Windows are copied tap by tap on sm_90a, each tile of the filters of one group. Channels in a filter each: strips of
// pixels.
// CHECK-LABEL: @convolutions
// CHECK: sm_80 = <form = mma, {{.*}}, sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 128,
// CHECK: sm_80 = <form = mma, {{.*}}, sm_90a = <form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 64,
// CHECK: sm_90a = <form = loop, threads = 128, lanes = 4, rows = 8, index_bits = 32>
#taps = #prim.axis_order<[0, 2, 3, 1]>
func.func @convolutions(%x: tensor<32x28x28x128xbf16>, %w: tensor<128x128x3x3xbf16, #taps>, %y: tensor<32x28x28x512xbf16>, %v: tensor<512x64x3x3xbf16, #taps>, %d: tensor<512x1x7x7xbf16, #prim.axis_order<[2, 3, 1, 0]>>) {
  %0 = kernel.launch convolution "conv" ins(%x, %w : tensor<32x28x28x128xbf16>, tensor<128x128x3x3xbf16, #taps>) sizes() {
  ^bb0(%a: tensor<32x28x28x128xbf16>, %b: tensor<128x128x3x3xbf16, #taps>):
    %c = prim.conv %a, %b sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<32x28x28x128xbf16>, tensor<128x128x3x3xbf16, #taps>) -> tensor<32x28x28x128xbf16>
    kernel.yield %c : tensor<32x28x28x128xbf16>
  } -> tensor<32x28x28x128xbf16>
  %1 = kernel.launch convolution "conv" ins(%y, %v : tensor<32x28x28x512xbf16>, tensor<512x64x3x3xbf16, #taps>) sizes() {
  ^bb0(%a: tensor<32x28x28x512xbf16>, %b: tensor<512x64x3x3xbf16, #taps>):
    %c = prim.conv %a, %b sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64, channels_last = true} : (tensor<32x28x28x512xbf16>, tensor<512x64x3x3xbf16, #taps>) -> tensor<32x28x28x512xbf16>
    kernel.yield %c : tensor<32x28x28x512xbf16>
  } -> tensor<32x28x28x512xbf16>
  %2 = kernel.launch convolution "conv" ins(%y, %d : tensor<32x28x28x512xbf16>, tensor<512x1x7x7xbf16, #prim.axis_order<[2, 3, 1, 0]>>) sizes() {
  ^bb0(%a: tensor<32x28x28x512xbf16>, %b: tensor<512x1x7x7xbf16, #prim.axis_order<[2, 3, 1, 0]>>):
    %c = prim.conv %a, %b sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>, groups = 512 : i64, channels_last = true} : (tensor<32x28x28x512xbf16>, tensor<512x1x7x7xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<32x28x28x512xbf16>
    kernel.yield %c : tensor<32x28x28x512xbf16>
  } -> tensor<32x28x28x512xbf16>
  return
}

// A vector by a matrix in rows is a sum over these; few rows too, where the cache keeps the matrix for the others. What has
// columns side by side in k is for warps.
// CHECK-LABEL: @sums_over_rows
// CHECK: sm_90a = <form = column, threads = 512, lanes = 4, row_threads = 16, split = 8, scratch_bytes = {{[0-9]+}}, index_bits = 32>
// CHECK: sm_90a = <form = column, {{.*}}lanes = 4
// CHECK: sm_90a = <form = product,
// CHECK: sm_90a = <form = skinny,
func.func @sums_over_rows(%v: tensor<1x4096xf32>, %m: tensor<4096x4096xf32>, %x: tensor<4x2048xf32>, %w: tensor<2048x2048xf32>, %y: tensor<4x4096xf32>) {
  %0 = kernel.launch contraction "dot" ins(%v, %m : tensor<1x4096xf32>, tensor<4096x4096xf32>) sizes() {
  ^bb0(%a: tensor<1x4096xf32>, %b: tensor<4096x4096xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<1x4096xf32>, tensor<4096x4096xf32>) -> tensor<1x4096xf32>
    kernel.yield %c : tensor<1x4096xf32>
  } -> tensor<1x4096xf32>
  %1 = kernel.launch contraction "dot" ins(%x, %w : tensor<4x2048xf32>, tensor<2048x2048xf32>) sizes() {
  ^bb0(%a: tensor<4x2048xf32>, %b: tensor<2048x2048xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x2048xf32>, tensor<2048x2048xf32>) -> tensor<4x2048xf32>
    kernel.yield %c : tensor<4x2048xf32>
  } -> tensor<4x2048xf32>
  %2 = kernel.launch contraction "dot" ins(%y, %m : tensor<4x4096xf32>, tensor<4096x4096xf32>) sizes() {
  ^bb0(%a: tensor<4x4096xf32>, %b: tensor<4096x4096xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x4096xf32>, tensor<4096x4096xf32>) -> tensor<4x4096xf32>
    kernel.yield %c : tensor<4x4096xf32>
  } -> tensor<4x4096xf32>
  %3 = kernel.launch contraction "dot" ins(%v, %m : tensor<1x4096xf32>, tensor<4096x4096xf32>) sizes() {
  ^bb0(%a: tensor<1x4096xf32>, %b: tensor<4096x4096xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1x4096xf32>, tensor<4096x4096xf32>) -> tensor<1x4096xf32>
    kernel.yield %c : tensor<1x4096xf32>
  } -> tensor<1x4096xf32>
  return
}

// What a transpose reads may be filled up behind.
// CHECK-LABEL: @filled
// CHECK: sm_90a = <form = transpose,
func.func @filled(%x: tensor<8x100x3136xbf16>) -> tensor<8x3136x104xbf16> {
  %0 = kernel.launch loop "pad_transpose" ins(%x : tensor<8x100x3136xbf16>) sizes() {
  ^bb0(%a: tensor<8x100x3136xbf16>):
    %z = prim.constant dense<0.0> : tensor<bf16>
    %p = prim.pad %a, %z low [0, 0, 0]() interior [0, 0, 0] sizes() : (tensor<8x100x3136xbf16>, tensor<bf16>) -> tensor<8x104x3136xbf16>
    %t = prim.transpose %p [0, 2, 1] : (tensor<8x104x3136xbf16>) -> tensor<8x3136x104xbf16>
    kernel.yield %t : tensor<8x3136x104xbf16>
  } -> tensor<8x3136x104xbf16>
  return %0 : tensor<8x3136x104xbf16>
}

// Short axes are one of a tile with those that lie before them: of results, here pixels and phases, and of operands. Where both are
// short, or an axis would be of both, points are a loop's.
// CHECK-LABEL: @joined
// CHECK: sm_90a = <form = transpose, threads = 256, lanes = 8, rows = 64, index_bits = 32>
// CHECK: sm_90a = <form = transpose, threads = 256, lanes = 8, rows = 64, index_bits = 32>
// CHECK: sm_90a = <form = loop,
// CHECK: sm_90a = <form = loop,
func.func @joined(%x: tensor<8x64x64x2x2x128xbf16>, %y: tensor<4096x8x16xbf16>, %z: tensor<8x64x64x3xbf16>, %v: tensor<4x8x3x7x5xbf16>) {
  %0 = kernel.launch loop "transpose" ins(%x : tensor<8x64x64x2x2x128xbf16>) sizes() {
  ^bb0(%a: tensor<8x64x64x2x2x128xbf16>):
    %t = prim.transpose %a [0, 5, 1, 3, 2, 4] : (tensor<8x64x64x2x2x128xbf16>) -> tensor<8x128x64x2x64x2xbf16>
    kernel.yield %t : tensor<8x128x64x2x64x2xbf16>
  } -> tensor<8x128x64x2x64x2xbf16>
  %1 = kernel.launch loop "transpose" ins(%y : tensor<4096x8x16xbf16>) sizes() {
  ^bb0(%a: tensor<4096x8x16xbf16>):
    %t = prim.transpose %a [2, 1, 0] : (tensor<4096x8x16xbf16>) -> tensor<16x8x4096xbf16>
    kernel.yield %t : tensor<16x8x4096xbf16>
  } -> tensor<16x8x4096xbf16>
  %2 = kernel.launch loop "transpose" ins(%z : tensor<8x64x64x3xbf16>) sizes() {
  ^bb0(%a: tensor<8x64x64x3xbf16>):
    %t = prim.transpose %a [0, 1, 3, 2] : (tensor<8x64x64x3xbf16>) -> tensor<8x64x3x64xbf16>
    kernel.yield %t : tensor<8x64x3x64xbf16>
  } -> tensor<8x64x3x64xbf16>
  %3 = kernel.launch loop "transpose" ins(%v : tensor<4x8x3x7x5xbf16>) sizes() {
  ^bb0(%a: tensor<4x8x3x7x5xbf16>):
    %t = prim.transpose %a [0, 1, 2, 4, 3] : (tensor<4x8x3x7x5xbf16>) -> tensor<4x8x3x5x7xbf16>
    kernel.yield %t : tensor<4x8x3x5x7xbf16>
  } -> tensor<4x8x3x5x7xbf16>
  return
}

// A gate that is a part of an argument is read behind the product, tile after tile; a part of what is computed is not
// the product's own place.
// CHECK-LABEL: @gates
// CHECK: sm_90a = <form = wgmma, {{.*}}most_blocks = 132
// CHECK-NOT: most_blocks
// CHECK: return
func.func @gates(%a: tensor<4x1024x1152xbf16>, %w: tensor<1152x1152xbf16>, %g: tensor<4x6912xbf16>) {
  %0 = kernel.launch contraction "gated" ins(%a, %w, %g : tensor<4x1024x1152xbf16>, tensor<1152x1152xbf16>, tensor<4x6912xbf16>) sizes() {
  ^bb0(%x: tensor<4x1024x1152xbf16>, %y: tensor<1152x1152xbf16>, %z: tensor<4x6912xbf16>):
    %1 = prim.dot %x, %y batch [] x [] contract [2] x [1] : (tensor<4x1024x1152xbf16>, tensor<1152x1152xbf16>) -> tensor<4x1024x1152xf32>
    %2 = prim.cast %1 : (tensor<4x1024x1152xf32>) -> tensor<4x1024x1152xbf16>
    %3 = prim.reshape %z sizes() : (tensor<4x6912xbf16>) -> tensor<4x1x6912xbf16>
    %4 = prim.slice %3 starts [0, 0, 2304]() steps [1, 1, 1] sizes() : (tensor<4x1x6912xbf16>) -> tensor<4x1x1152xbf16>
    %5 = prim.broadcast %4 axes [0, 1, 2] sizes() : (tensor<4x1x1152xbf16>) -> tensor<4x1024x1152xbf16>
    %6 = prim.mul %5, %2 : (tensor<4x1024x1152xbf16>, tensor<4x1024x1152xbf16>) -> tensor<4x1024x1152xbf16>
    kernel.yield %6 : tensor<4x1024x1152xbf16>
  } -> tensor<4x1024x1152xbf16>
  %7 = kernel.launch contraction "part" ins(%a, %w : tensor<4x1024x1152xbf16>, tensor<1152x1152xbf16>) sizes() {
  ^bb0(%x: tensor<4x1024x1152xbf16>, %y: tensor<1152x1152xbf16>):
    %1 = prim.dot %x, %y batch [] x [] contract [2] x [1] : (tensor<4x1024x1152xbf16>, tensor<1152x1152xbf16>) -> tensor<4x1024x1152xf32>
    %2 = prim.cast %1 : (tensor<4x1024x1152xf32>) -> tensor<4x1024x1152xbf16>
    %3 = prim.slice %2 starts [0, 24, 0]() steps [1, 1, 1] sizes() : (tensor<4x1024x1152xbf16>) -> tensor<4x1000x1152xbf16>
    kernel.yield %3 : tensor<4x1000x1152xbf16>
  } -> tensor<4x1000x1152xbf16>
  return
}
