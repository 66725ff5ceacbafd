// RUN: tcc-opt %s --arch sm_80,sm_86 -tcc-schedule-kernels | FileCheck %s
// RUN: tcc-opt %s --arch sm_80,sm_86 -tcc-schedule-kernels | tcc-opt | FileCheck %s
// How attention is cut, not that it is fastest.

// Many queries: a warp has all keys of its own. Where a block has little shared memory, too.
// CHECK-LABEL: @many
// CHECK: sm_80 = <form = mma_attention, threads = {{[0-9]+}}, vectors = {{[0-9]}}, row_threads = 4, rows = {{64|128}}, columns = 64, shared_bytes = {{[0-9]+}}, index_bits = 32>, sm_86 = <form = mma_attention, {{.*}}row_threads = 4,
func.func @many(%q: tensor<96x512x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q : tensor<96x512x64xbf16>) sizes() {
  ^bb0(%a: tensor<96x512x64xbf16>):
    %1 = prim.dot %a, %a batch [0] x [0] contract [2] x [2] : (tensor<96x512x64xbf16>, tensor<96x512x64xbf16>) -> tensor<96x512x512xf32>
    %2 = prim.reduce max %1 [2] : (tensor<96x512x512xf32>) -> tensor<96x512xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<96x512xf32>) -> tensor<96x512x512xf32>
    %4 = prim.sub %1, %3 : (tensor<96x512x512xf32>, tensor<96x512x512xf32>) -> tensor<96x512x512xf32>
    %5 = prim.exp %4 : (tensor<96x512x512xf32>) -> tensor<96x512x512xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<96x512x512xf32>) -> tensor<96x512xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<96x512xf32>) -> tensor<96x512x512xf32>
    %8 = prim.div %5, %7 : (tensor<96x512x512xf32>, tensor<96x512x512xf32>) -> tensor<96x512x512xf32>
    %9 = prim.cast %8 : (tensor<96x512x512xf32>) -> tensor<96x512x512xbf16>
    %10 = prim.dot %9, %a batch [0] x [0] contract [2] x [1] : (tensor<96x512x512xbf16>, tensor<96x512x64xbf16>) -> tensor<96x512x64xbf16>
    kernel.yield %10 : tensor<96x512x64xbf16>
  } -> tensor<96x512x64xbf16>
  return
}

// One query of each head, of which four share keys: 16 rows of a block, warps and blocks share the keys.
// CHECK-LABEL: @decode
// CHECK: sm_80 = <form = mma_attention, {{.*}}row_threads = {{16|32}}, rows = 16, {{.*}}split = {{[0-9]+}}, scratch_bytes = {{[0-9]+}}, index_bits = 32>, sm_86
func.func @decode(%q: tensor<8x4x64xbf16>, %k: tensor<8x4096x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k : tensor<8x4x64xbf16>, tensor<8x4096x64xbf16>) sizes() {
  ^bb0(%a: tensor<8x4x64xbf16>, %b: tensor<8x4096x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<8x4x64xbf16>, tensor<8x4096x64xbf16>) -> tensor<8x4x4096xf32>
    %2 = prim.reduce max %1 [2] : (tensor<8x4x4096xf32>) -> tensor<8x4xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<8x4xf32>) -> tensor<8x4x4096xf32>
    %4 = prim.sub %1, %3 : (tensor<8x4x4096xf32>, tensor<8x4x4096xf32>) -> tensor<8x4x4096xf32>
    %5 = prim.exp %4 : (tensor<8x4x4096xf32>) -> tensor<8x4x4096xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<8x4x4096xf32>) -> tensor<8x4xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<8x4xf32>) -> tensor<8x4x4096xf32>
    %8 = prim.div %5, %7 : (tensor<8x4x4096xf32>, tensor<8x4x4096xf32>) -> tensor<8x4x4096xf32>
    %9 = prim.cast %8 : (tensor<8x4x4096xf32>) -> tensor<8x4x4096xbf16>
    %10 = prim.dot %9, %b batch [0] x [0] contract [2] x [1] : (tensor<8x4x4096xbf16>, tensor<8x4096x64xbf16>) -> tensor<8x4x64xbf16>
    kernel.yield %10 : tensor<8x4x64xbf16>
  } -> tensor<8x4x64xbf16>
  return
}

// f32 is not rounded: the general form.
// CHECK-LABEL: @exact
// CHECK: sm_80 = <form = attention, threads = 256, row_threads = 16, rows = 64, columns = 64, depth = 16, index_bits = 32>
func.func @exact(%q: tensor<4x64x64xf32>) {
  %0 = kernel.launch attention "attention" ins(%q : tensor<4x64x64xf32>) sizes() {
  ^bb0(%a: tensor<4x64x64xf32>):
    %1 = prim.dot %a, %a batch [0] x [0] contract [2] x [2] : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %2 = prim.reduce max %1 [2] : (tensor<4x64x64xf32>) -> tensor<4x64xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<4x64xf32>) -> tensor<4x64x64xf32>
    %4 = prim.sub %1, %3 : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %5 = prim.exp %4 : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<4x64x64xf32>) -> tensor<4x64xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<4x64xf32>) -> tensor<4x64x64xf32>
    %8 = prim.div %5, %7 : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %9 = prim.dot %8, %a batch [0] x [0] contract [2] x [1] : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    kernel.yield %9 : tensor<4x64x64xf32>
  } -> tensor<4x64x64xf32>
  return
}
