// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-schedule-kernels | FileCheck %s
// What sums that are bound by memory, or are of wide numbers, are made by.

// Weights that one tile of 64 rows reads come no sooner in a cluster; of more rows they are shared.
// CHECK-LABEL: @few_rows
// CHECK: sm_90a = <form = wgmma, threads = 160, vectors = 8, rows = 64, columns = {{32|40}}, shared_bytes = {{[0-9]+}}, index_bits = 32>>}
// CHECK: sm_90a = <form = wgmma, threads = 160, vectors = {{[0-9]+}}, rows = 64, columns = {{[0-9]+}}, shared_bytes = {{[0-9]+}}, split = {{[2-8]}}, index_bits = 32>>}
func.func @few_rows(%a: tensor<64x4096xbf16>, %w: tensor<4096x4096xbf16>, %z: tensor<1024x4096xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%a, %w : tensor<64x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%l: tensor<64x4096xbf16>, %r: tensor<4096x4096xbf16>):
    %d = prim.dot %l, %r batch [] x [] contract [1] x [1] : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16>
    kernel.yield %d : tensor<64x4096xbf16>
  } -> tensor<64x4096xbf16>
  %1 = kernel.launch contraction "dot" ins(%a, %z : tensor<64x4096xbf16>, tensor<1024x4096xbf16>) sizes() {
  ^bb0(%l: tensor<64x4096xbf16>, %r: tensor<1024x4096xbf16>):
    %d = prim.dot %l, %r batch [] x [] contract [1] x [1] : (tensor<64x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<64x1024xbf16>
    kernel.yield %d : tensor<64x1024xbf16>
  } -> tensor<64x1024xbf16>
  return
}

// Slices of sixteen of k for matrix units, which multiply f64; of integers of 64 bits eight.
// CHECK-LABEL: @wide
// CHECK: sm_90a = <form = product, threads = 128, row_threads = 8, rows = 64, columns = 64, depth = 16, shared_bytes = 81920, index_bits = 32>>}
// CHECK: sm_90a = <form = product, threads = 256, rows = 64, columns = 64, depth = 8, index_bits = 32>>}
func.func @wide(%a: tensor<1024x1024xf64>, %b: tensor<1024x1024xf64>, %c: tensor<1024x1024xi64>, %d: tensor<1024x1024xi64>) {
  %0 = kernel.launch contraction "dot" ins(%a, %b : tensor<1024x1024xf64>, tensor<1024x1024xf64>) sizes() {
  ^bb0(%l: tensor<1024x1024xf64>, %r: tensor<1024x1024xf64>):
    %y = prim.dot %l, %r batch [] x [] contract [1] x [0] : (tensor<1024x1024xf64>, tensor<1024x1024xf64>) -> tensor<1024x1024xf64>
    kernel.yield %y : tensor<1024x1024xf64>
  } -> tensor<1024x1024xf64>
  %1 = kernel.launch contraction "dot" ins(%c, %d : tensor<1024x1024xi64>, tensor<1024x1024xi64>) sizes() {
  ^bb0(%l: tensor<1024x1024xi64>, %r: tensor<1024x1024xi64>):
    %y = prim.dot %l, %r batch [] x [] contract [1] x [0] : (tensor<1024x1024xi64>, tensor<1024x1024xi64>) -> tensor<1024x1024xi64>
    kernel.yield %y : tensor<1024x1024xi64>
  } -> tensor<1024x1024xi64>
  return
}

// Sums of elements are those of integers, for which six blocks a multiprocessor have a part each, and three of f64; rows are
// sorted.
// CHECK-LABEL: @elements
// CHECK: sm_90a = <form = scatter, threads = 256, row_threads = 1, split = 660, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>>}
// CHECK: sm_90a = <form = scatter, threads = 256, lanes = 4, row_threads = 32, split = 396, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>>}
// CHECK: sm_90a = <form = scatter, threads = 256, row_threads = 1, split = 396, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>>}
func.func @elements(%x: tensor<10000x64xf32>, %i: tensor<40000x64xi64>, %u: tensor<40000x64xf32>, %y: tensor<50000x128xf32>, %j: tensor<100000x1xi64>, %v: tensor<100000x128xf32>, %z: tensor<10000x64xf64>, %w: tensor<40000x64xf64>) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<10000x64xf32>, tensor<40000x64xi64>, tensor<40000x64xf32>) sizes() {
  ^bb0(%a: tensor<10000x64xf32>, %b: tensor<40000x64xi64>, %c: tensor<40000x64xf32>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<10000x64xf32>, tensor<40000x64xi64>, tensor<40000x64xf32>) -> tensor<10000x64xf32>
    kernel.yield %d : tensor<10000x64xf32>
  } -> tensor<10000x64xf32>
  %1 = kernel.launch special "scatter_along" ins(%y, %j, %v : tensor<50000x128xf32>, tensor<100000x1xi64>, tensor<100000x128xf32>) sizes() {
  ^bb0(%a: tensor<50000x128xf32>, %b: tensor<100000x1xi64>, %c: tensor<100000x128xf32>):
    %e = prim.broadcast %b axes [0, 1] sizes() : (tensor<100000x1xi64>) -> tensor<100000x128xi64>
    %d = prim.scatter_along add %a, %e, %c axis 0 : (tensor<50000x128xf32>, tensor<100000x128xi64>, tensor<100000x128xf32>) -> tensor<50000x128xf32>
    kernel.yield %d : tensor<50000x128xf32>
  } -> tensor<50000x128xf32>
  %2 = kernel.launch special "scatter_along" ins(%z, %i, %w : tensor<10000x64xf64>, tensor<40000x64xi64>, tensor<40000x64xf64>) sizes() {
  ^bb0(%a: tensor<10000x64xf64>, %b: tensor<40000x64xi64>, %c: tensor<40000x64xf64>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<10000x64xf64>, tensor<40000x64xi64>, tensor<40000x64xf64>) -> tensor<10000x64xf64>
    kernel.yield %d : tensor<10000x64xf64>
  } -> tensor<10000x64xf64>
  return
}

// Products that sum nothing have no axis for the matrix units to go along.
// CHECK-LABEL: @outer
// CHECK: sm_90a = <form = mma
// CHECK: sm_90a = <form = mma
func.func @outer(%a: tensor<30x77x99xbf16>, %b: tensor<30x77x99xbf16>, %x: tensor<8x16xbf16>, %y: tensor<8x64xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%a, %b : tensor<30x77x99xbf16>, tensor<30x77x99xbf16>) sizes() {
  ^bb0(%l: tensor<30x77x99xbf16>, %r: tensor<30x77x99xbf16>):
    %d = prim.dot %l, %r batch [0, 1, 2] x [0, 1, 2] contract [] x [] : (tensor<30x77x99xbf16>, tensor<30x77x99xbf16>) -> tensor<30x77x99xbf16>
    kernel.yield %d : tensor<30x77x99xbf16>
  } -> tensor<30x77x99xbf16>
  %1 = kernel.launch contraction "dot" ins(%x, %y : tensor<8x16xbf16>, tensor<8x64xbf16>) sizes() {
  ^bb0(%l: tensor<8x16xbf16>, %r: tensor<8x64xbf16>):
    %d = prim.dot %l, %r batch [0] x [0] contract [] x [] : (tensor<8x16xbf16>, tensor<8x64xbf16>) -> tensor<8x16x64xbf16>
    kernel.yield %d : tensor<8x16x64xbf16>
  } -> tensor<8x16x64xbf16>
  return
}

// Short rows of numbers that all rows share are a thread's each: which of 37 boundaries is the next.
// CHECK-LABEL: @boundaries
// CHECK: <form = row, threads = 256, row_threads = 1, kept = 37, index_bits = 32>
func.func @boundaries(%x: tensor<37xf32>, %y: tensor<2097152xf32>) -> tensor<2097152xi64> {
  %0 = kernel.launch row[1] "reduce" ins(%x, %y : tensor<37xf32>, tensor<2097152xf32>) sizes() {
  ^bb0(%a: tensor<37xf32>, %b: tensor<2097152xf32>):
    %c = prim.broadcast %a axes [1] sizes() : (tensor<37xf32>) -> tensor<2097152x37xf32>
    %d = prim.broadcast %b axes [0] sizes() : (tensor<2097152xf32>) -> tensor<2097152x37xf32>
    %e = prim.compare lt %c, %d : (tensor<2097152x37xf32>, tensor<2097152x37xf32>) -> tensor<2097152x37xi1>
    %f = prim.cast %e : (tensor<2097152x37xi1>) -> tensor<2097152x37xi64>
    %g = prim.reduce sum %f [1] : (tensor<2097152x37xi64>) -> tensor<2097152xi64>
    kernel.yield %g : tensor<2097152xi64>
  } -> tensor<2097152xi64>
  return %0 : tensor<2097152xi64>
}
