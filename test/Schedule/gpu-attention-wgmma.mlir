// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-schedule-kernels | FileCheck %s
// How attention is cut where there is wgmma, not that it is fastest.

// Long sequences: 128 queries, as many keys as registers hold, tile after tile; elsewhere mma.sync.
// CHECK-LABEL: @long
// CHECK: sm_80 = <form = mma_attention, {{.*}}>, sm_90a = <form = wgmma_attention, threads = 384, rows = 128, columns = 128, shared_bytes = {{[0-9]+}}, most_blocks = 132, index_bits = 32>
func.func @long(%q: tensor<16x4096x128xbf16>, %k: tensor<16x4096x128xbf16>, %v: tensor<16x4096x128xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<16x4096x128xbf16>, tensor<16x4096x128xbf16>, tensor<16x4096x128xbf16>) sizes() {
  ^bb0(%a: tensor<16x4096x128xbf16>, %b: tensor<16x4096x128xbf16>, %c: tensor<16x4096x128xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<16x4096x128xbf16>, tensor<16x4096x128xbf16>) -> tensor<16x4096x4096xf32>
    %2 = prim.reduce max %1 [2] : (tensor<16x4096x4096xf32>) -> tensor<16x4096xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
    %4 = prim.sub %1, %3 : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
    %5 = prim.exp %4 : (tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<16x4096x4096xf32>) -> tensor<16x4096xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
    %8 = prim.div %5, %7 : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
    %9 = prim.cast %8 : (tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<16x4096x4096xbf16>, tensor<16x4096x128xbf16>) -> tensor<16x4096x128xf32>
    %11 = prim.cast %10 : (tensor<16x4096x128xf32>) -> tensor<16x4096x128xbf16>
    kernel.yield %11 : tensor<16x4096x128xbf16>
  } -> tensor<16x4096x128xbf16>
  return
}

// Few keys are one turn, and no more of them past the last one than a step; of many heads, all queries are a tile.
// CHECK-LABEL: @uneven
// CHECK: sm_90a = <form = wgmma_attention, threads = 512, vectors = 2, rows = 256, columns = 208,
func.func @uneven(%q: tensor<384x197x64xf16>, %k: tensor<384x197x64xf16>, %v: tensor<384x197x64xf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<384x197x64xf16>, tensor<384x197x64xf16>, tensor<384x197x64xf16>) sizes() {
  ^bb0(%a: tensor<384x197x64xf16>, %b: tensor<384x197x64xf16>, %c: tensor<384x197x64xf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<384x197x64xf16>, tensor<384x197x64xf16>) -> tensor<384x197x197xf32>
    %2 = prim.reduce max %1 [2] : (tensor<384x197x197xf32>) -> tensor<384x197xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<384x197xf32>) -> tensor<384x197x197xf32>
    %4 = prim.sub %1, %3 : (tensor<384x197x197xf32>, tensor<384x197x197xf32>) -> tensor<384x197x197xf32>
    %5 = prim.exp %4 : (tensor<384x197x197xf32>) -> tensor<384x197x197xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<384x197x197xf32>) -> tensor<384x197xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<384x197xf32>) -> tensor<384x197x197xf32>
    %8 = prim.div %5, %7 : (tensor<384x197x197xf32>, tensor<384x197x197xf32>) -> tensor<384x197x197xf32>
    %9 = prim.cast %8 : (tensor<384x197x197xf32>) -> tensor<384x197x197xf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<384x197x197xf16>, tensor<384x197x64xf16>) -> tensor<384x197x64xf32>
    %11 = prim.cast %10 : (tensor<384x197x64xf32>) -> tensor<384x197x64xf16>
    kernel.yield %11 : tensor<384x197x64xf16>
  } -> tensor<384x197x64xf16>
  return
}

// Of few heads, half of them are.
// CHECK-LABEL: @uneven_few
// CHECK: sm_90a = <form = wgmma_attention, threads = 384, rows = 128, columns = 208,
func.func @uneven_few(%q: tensor<140x197x64xf16>, %k: tensor<140x197x64xf16>, %v: tensor<140x197x64xf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<140x197x64xf16>, tensor<140x197x64xf16>, tensor<140x197x64xf16>) sizes() {
  ^bb0(%a: tensor<140x197x64xf16>, %b: tensor<140x197x64xf16>, %c: tensor<140x197x64xf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<140x197x64xf16>, tensor<140x197x64xf16>) -> tensor<140x197x197xf32>
    %2 = prim.reduce max %1 [2] : (tensor<140x197x197xf32>) -> tensor<140x197xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<140x197xf32>) -> tensor<140x197x197xf32>
    %4 = prim.sub %1, %3 : (tensor<140x197x197xf32>, tensor<140x197x197xf32>) -> tensor<140x197x197xf32>
    %5 = prim.exp %4 : (tensor<140x197x197xf32>) -> tensor<140x197x197xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<140x197x197xf32>) -> tensor<140x197xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<140x197xf32>) -> tensor<140x197x197xf32>
    %8 = prim.div %5, %7 : (tensor<140x197x197xf32>, tensor<140x197x197xf32>) -> tensor<140x197x197xf32>
    %9 = prim.cast %8 : (tensor<140x197x197xf32>) -> tensor<140x197x197xf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<140x197x197xf16>, tensor<140x197x64xf16>) -> tensor<140x197x64xf32>
    %11 = prim.cast %10 : (tensor<140x197x64xf32>) -> tensor<140x197x64xf16>
    kernel.yield %11 : tensor<140x197x64xf16>
  } -> tensor<140x197x64xf16>
  return
}

// Under a bound, with narrow heads: 64 queries, several blocks a multiprocessor, and fewer keys at a time where there are few;
// but not where tiles are too few.
// CHECK-LABEL: @causal
// CHECK: sm_90a = <form = wgmma_attention, threads = 256, rows = 64, columns = 64, shared_bytes = {{[0-9]+}}, most_blocks = 396,
func.func @causal(%q: tensor<96x512x64xbf16>, %k: tensor<96x512x64xbf16>, %v: tensor<96x512x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<96x512x64xbf16>, tensor<96x512x64xbf16>, tensor<96x512x64xbf16>) sizes() {
  ^bb0(%a: tensor<96x512x64xbf16>, %b: tensor<96x512x64xbf16>, %c: tensor<96x512x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<96x512x64xbf16>, tensor<96x512x64xbf16>) -> tensor<96x512x512xf32>
    %row = prim.iota 0 sizes() : tensor<512x512xi64>
    %column = prim.iota 1 sizes() : tensor<512x512xi64>
    %seen = prim.compare ge %row, %column : (tensor<512x512xi64>, tensor<512x512xi64>) -> tensor<512x512xi1>
    %all = prim.broadcast %seen axes [1, 2] sizes() : (tensor<512x512xi1>) -> tensor<96x512x512xi1>
    %none = prim.constant dense<0xFF800000> : tensor<96x512x512xf32>
    %masked = prim.select %all, %1, %none : (tensor<96x512x512xi1>, tensor<96x512x512xf32>, tensor<96x512x512xf32>) -> tensor<96x512x512xf32>
    %2 = prim.reduce max %masked [2] : (tensor<96x512x512xf32>) -> tensor<96x512xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<96x512xf32>) -> tensor<96x512x512xf32>
    %4 = prim.sub %masked, %3 : (tensor<96x512x512xf32>, tensor<96x512x512xf32>) -> tensor<96x512x512xf32>
    %5 = prim.exp %4 : (tensor<96x512x512xf32>) -> tensor<96x512x512xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<96x512x512xf32>) -> tensor<96x512xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<96x512xf32>) -> tensor<96x512x512xf32>
    %8 = prim.div %5, %7 : (tensor<96x512x512xf32>, tensor<96x512x512xf32>) -> tensor<96x512x512xf32>
    %9 = prim.cast %8 : (tensor<96x512x512xf32>) -> tensor<96x512x512xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<96x512x512xbf16>, tensor<96x512x64xbf16>) -> tensor<96x512x64xf32>
    %11 = prim.cast %10 : (tensor<96x512x64xf32>) -> tensor<96x512x64xbf16>
    kernel.yield %11 : tensor<96x512x64xbf16>
  } -> tensor<96x512x64xbf16>
  return
}
// CHECK-LABEL: @causal_long
// CHECK: sm_90a = <form = wgmma_attention, threads = 256, rows = 64, columns = 128, shared_bytes = {{[0-9]+}}, most_blocks = 264,
func.func @causal_long(%q: tensor<16x4096x64xbf16>, %k: tensor<16x4096x64xbf16>, %v: tensor<16x4096x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<16x4096x64xbf16>, tensor<16x4096x64xbf16>, tensor<16x4096x64xbf16>) sizes() {
  ^bb0(%a: tensor<16x4096x64xbf16>, %b: tensor<16x4096x64xbf16>, %c: tensor<16x4096x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<16x4096x64xbf16>, tensor<16x4096x64xbf16>) -> tensor<16x4096x4096xf32>
    %row = prim.iota 0 sizes() : tensor<4096x4096xi64>
    %column = prim.iota 1 sizes() : tensor<4096x4096xi64>
    %seen = prim.compare ge %row, %column : (tensor<4096x4096xi64>, tensor<4096x4096xi64>) -> tensor<4096x4096xi1>
    %all = prim.broadcast %seen axes [1, 2] sizes() : (tensor<4096x4096xi1>) -> tensor<16x4096x4096xi1>
    %none = prim.constant dense<0xFF800000> : tensor<16x4096x4096xf32>
    %masked = prim.select %all, %1, %none : (tensor<16x4096x4096xi1>, tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
    %2 = prim.reduce max %masked [2] : (tensor<16x4096x4096xf32>) -> tensor<16x4096xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
    %4 = prim.sub %masked, %3 : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
    %5 = prim.exp %4 : (tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<16x4096x4096xf32>) -> tensor<16x4096xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
    %8 = prim.div %5, %7 : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
    %9 = prim.cast %8 : (tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<16x4096x4096xbf16>, tensor<16x4096x64xbf16>) -> tensor<16x4096x64xf32>
    %11 = prim.cast %10 : (tensor<16x4096x64xf32>) -> tensor<16x4096x64xbf16>
    kernel.yield %11 : tensor<16x4096x64xbf16>
  } -> tensor<16x4096x64xbf16>
  return
}
// CHECK-LABEL: @causal_few
// CHECK: sm_90a = <form = wgmma_attention, threads = 384, rows = 128, columns = 128, shared_bytes = {{[0-9]+}}, most_blocks = 132,
func.func @causal_few(%q: tensor<32x512x64xbf16>, %k: tensor<32x512x64xbf16>, %v: tensor<32x512x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<32x512x64xbf16>, tensor<32x512x64xbf16>, tensor<32x512x64xbf16>) sizes() {
  ^bb0(%a: tensor<32x512x64xbf16>, %b: tensor<32x512x64xbf16>, %c: tensor<32x512x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<32x512x64xbf16>, tensor<32x512x64xbf16>) -> tensor<32x512x512xf32>
    %row = prim.iota 0 sizes() : tensor<512x512xi64>
    %column = prim.iota 1 sizes() : tensor<512x512xi64>
    %seen = prim.compare ge %row, %column : (tensor<512x512xi64>, tensor<512x512xi64>) -> tensor<512x512xi1>
    %all = prim.broadcast %seen axes [1, 2] sizes() : (tensor<512x512xi1>) -> tensor<32x512x512xi1>
    %none = prim.constant dense<0xFF800000> : tensor<32x512x512xf32>
    %masked = prim.select %all, %1, %none : (tensor<32x512x512xi1>, tensor<32x512x512xf32>, tensor<32x512x512xf32>) -> tensor<32x512x512xf32>
    %2 = prim.reduce max %masked [2] : (tensor<32x512x512xf32>) -> tensor<32x512xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<32x512xf32>) -> tensor<32x512x512xf32>
    %4 = prim.sub %masked, %3 : (tensor<32x512x512xf32>, tensor<32x512x512xf32>) -> tensor<32x512x512xf32>
    %5 = prim.exp %4 : (tensor<32x512x512xf32>) -> tensor<32x512x512xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<32x512x512xf32>) -> tensor<32x512xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<32x512xf32>) -> tensor<32x512x512xf32>
    %8 = prim.div %5, %7 : (tensor<32x512x512xf32>, tensor<32x512x512xf32>) -> tensor<32x512x512xf32>
    %9 = prim.cast %8 : (tensor<32x512x512xf32>) -> tensor<32x512x512xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<32x512x512xbf16>, tensor<32x512x64xbf16>) -> tensor<32x512x64xf32>
    %11 = prim.cast %10 : (tensor<32x512x64xf32>) -> tensor<32x512x64xbf16>
    kernel.yield %11 : tensor<32x512x64xbf16>
  } -> tensor<32x512x64xbf16>
  return
}

// Wide heads leave room for fewer keys.
// CHECK-LABEL: @wide
// CHECK: sm_90a = <form = wgmma_attention, threads = 384, rows = 128, columns = {{32|48|64|80}},
func.func @wide(%q: tensor<64x1024x256xbf16>, %k: tensor<64x1024x256xbf16>, %v: tensor<64x1024x256xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<64x1024x256xbf16>, tensor<64x1024x256xbf16>, tensor<64x1024x256xbf16>) sizes() {
  ^bb0(%a: tensor<64x1024x256xbf16>, %b: tensor<64x1024x256xbf16>, %c: tensor<64x1024x256xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<64x1024x256xbf16>, tensor<64x1024x256xbf16>) -> tensor<64x1024x1024xf32>
    %2 = prim.reduce max %1 [2] : (tensor<64x1024x1024xf32>) -> tensor<64x1024xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<64x1024xf32>) -> tensor<64x1024x1024xf32>
    %4 = prim.sub %1, %3 : (tensor<64x1024x1024xf32>, tensor<64x1024x1024xf32>) -> tensor<64x1024x1024xf32>
    %5 = prim.exp %4 : (tensor<64x1024x1024xf32>) -> tensor<64x1024x1024xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<64x1024x1024xf32>) -> tensor<64x1024xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<64x1024xf32>) -> tensor<64x1024x1024xf32>
    %8 = prim.div %5, %7 : (tensor<64x1024x1024xf32>, tensor<64x1024x1024xf32>) -> tensor<64x1024x1024xf32>
    %9 = prim.cast %8 : (tensor<64x1024x1024xf32>) -> tensor<64x1024x1024xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<64x1024x1024xbf16>, tensor<64x1024x256xbf16>) -> tensor<64x1024x256xf32>
    %11 = prim.cast %10 : (tensor<64x1024x256xf32>) -> tensor<64x1024x256xbf16>
    kernel.yield %11 : tensor<64x1024x256xbf16>
  } -> tensor<64x1024x256xbf16>
  return
}

// Too few tiles of 128 queries for the machine, and too few queries for any: mma.sync, which cuts them smaller.
// CHECK-LABEL: @few_tiles
// CHECK: sm_90a = <form = {{w?g?mma}}_attention, {{.*}}rows = {{16|32|64}},
func.func @few_tiles(%q: tensor<12x128x64xbf16>, %k: tensor<12x128x64xbf16>, %v: tensor<12x128x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<12x128x64xbf16>, tensor<12x128x64xbf16>, tensor<12x128x64xbf16>) sizes() {
  ^bb0(%a: tensor<12x128x64xbf16>, %b: tensor<12x128x64xbf16>, %c: tensor<12x128x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<12x128x64xbf16>, tensor<12x128x64xbf16>) -> tensor<12x128x128xf32>
    %2 = prim.reduce max %1 [2] : (tensor<12x128x128xf32>) -> tensor<12x128xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<12x128xf32>) -> tensor<12x128x128xf32>
    %4 = prim.sub %1, %3 : (tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    %5 = prim.exp %4 : (tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<12x128x128xf32>) -> tensor<12x128xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<12x128xf32>) -> tensor<12x128x128xf32>
    %8 = prim.div %5, %7 : (tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    %9 = prim.cast %8 : (tensor<12x128x128xf32>) -> tensor<12x128x128xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<12x128x128xbf16>, tensor<12x128x64xbf16>) -> tensor<12x128x64xf32>
    %11 = prim.cast %10 : (tensor<12x128x64xf32>) -> tensor<12x128x64xbf16>
    kernel.yield %11 : tensor<12x128x64xbf16>
  } -> tensor<12x128x64xbf16>
  return
}

// Tiles of 128 queries would leave half of the multiprocessors idle: 64 queries, and as many keys as long ones have.
// CHECK-LABEL: @small_tiles
// CHECK: sm_90a = <form = wgmma_attention, threads = 256, rows = 64, columns = 128,
func.func @small_tiles(%q: tensor<8x1024x64xbf16>, %k: tensor<8x1024x64xbf16>, %v: tensor<8x1024x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) sizes() {
  ^bb0(%a: tensor<8x1024x64xbf16>, %b: tensor<8x1024x64xbf16>, %c: tensor<8x1024x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) -> tensor<8x1024x1024xf32>
    %2 = prim.reduce max %1 [2] : (tensor<8x1024x1024xf32>) -> tensor<8x1024xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<8x1024xf32>) -> tensor<8x1024x1024xf32>
    %4 = prim.sub %1, %3 : (tensor<8x1024x1024xf32>, tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
    %5 = prim.exp %4 : (tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<8x1024x1024xf32>) -> tensor<8x1024xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<8x1024xf32>) -> tensor<8x1024x1024xf32>
    %8 = prim.div %5, %7 : (tensor<8x1024x1024xf32>, tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>
    %9 = prim.cast %8 : (tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<8x1024x1024xbf16>, tensor<8x1024x64xbf16>) -> tensor<8x1024x64xf32>
    %11 = prim.cast %10 : (tensor<8x1024x64xf32>) -> tensor<8x1024x64xbf16>
    kernel.yield %11 : tensor<8x1024x64xbf16>
  } -> tensor<8x1024x64xbf16>
  return
}

// CHECK-LABEL: @token
// CHECK: sm_90a = <form = mma_attention, {{.*}}row_threads = {{16|32}}, rows = 16, {{.*}}split = {{[0-9]+}},
func.func @token(%q: tensor<8x4x64xbf16>, %k: tensor<8x16384x64xbf16>, %v: tensor<8x16384x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<8x4x64xbf16>, tensor<8x16384x64xbf16>, tensor<8x16384x64xbf16>) sizes() {
  ^bb0(%a: tensor<8x4x64xbf16>, %b: tensor<8x16384x64xbf16>, %c: tensor<8x16384x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<8x4x64xbf16>, tensor<8x16384x64xbf16>) -> tensor<8x4x16384xf32>
    %2 = prim.reduce max %1 [2] : (tensor<8x4x16384xf32>) -> tensor<8x4xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<8x4xf32>) -> tensor<8x4x16384xf32>
    %4 = prim.sub %1, %3 : (tensor<8x4x16384xf32>, tensor<8x4x16384xf32>) -> tensor<8x4x16384xf32>
    %5 = prim.exp %4 : (tensor<8x4x16384xf32>) -> tensor<8x4x16384xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<8x4x16384xf32>) -> tensor<8x4xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<8x4xf32>) -> tensor<8x4x16384xf32>
    %8 = prim.div %5, %7 : (tensor<8x4x16384xf32>, tensor<8x4x16384xf32>) -> tensor<8x4x16384xf32>
    %9 = prim.cast %8 : (tensor<8x4x16384xf32>) -> tensor<8x4x16384xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<8x4x16384xbf16>, tensor<8x16384x64xbf16>) -> tensor<8x4x64xf32>
    %11 = prim.cast %10 : (tensor<8x4x64xf32>) -> tensor<8x4x64xbf16>
    kernel.yield %11 : tensor<8x4x64xbf16>
  } -> tensor<8x4x64xbf16>
  return
}

// A head size that is no multiple of eight has no boxes.
// CHECK-LABEL: @odd_head
// CHECK: sm_90a = <form = mma_attention,
func.func @odd_head(%q: tensor<384x512x68xbf16>, %k: tensor<384x512x68xbf16>, %v: tensor<384x512x68xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<384x512x68xbf16>, tensor<384x512x68xbf16>, tensor<384x512x68xbf16>) sizes() {
  ^bb0(%a: tensor<384x512x68xbf16>, %b: tensor<384x512x68xbf16>, %c: tensor<384x512x68xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<384x512x68xbf16>, tensor<384x512x68xbf16>) -> tensor<384x512x512xf32>
    %2 = prim.reduce max %1 [2] : (tensor<384x512x512xf32>) -> tensor<384x512xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<384x512xf32>) -> tensor<384x512x512xf32>
    %4 = prim.sub %1, %3 : (tensor<384x512x512xf32>, tensor<384x512x512xf32>) -> tensor<384x512x512xf32>
    %5 = prim.exp %4 : (tensor<384x512x512xf32>) -> tensor<384x512x512xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<384x512x512xf32>) -> tensor<384x512xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<384x512xf32>) -> tensor<384x512x512xf32>
    %8 = prim.div %5, %7 : (tensor<384x512x512xf32>, tensor<384x512x512xf32>) -> tensor<384x512x512xf32>
    %9 = prim.cast %8 : (tensor<384x512x512xf32>) -> tensor<384x512x512xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<384x512x512xbf16>, tensor<384x512x68xbf16>) -> tensor<384x512x68xf32>
    %11 = prim.cast %10 : (tensor<384x512x68xf32>) -> tensor<384x512x68xbf16>
    kernel.yield %11 : tensor<384x512x68xbf16>
  } -> tensor<384x512x68xbf16>
  return
}

// One image's heads are few tiles: 64 queries each, not all keys in one turn of 128.
// CHECK-LABEL: @one_image
// CHECK: sm_90a = <form = wgmma_attention, threads = 256, rows = 64, columns = 112,
func.func @one_image(%q: tensor<12x197x64xbf16>, %k: tensor<12x197x64xbf16>, %v: tensor<12x197x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<12x197x64xbf16>, tensor<12x197x64xbf16>, tensor<12x197x64xbf16>) sizes() {
  ^bb0(%a: tensor<12x197x64xbf16>, %b: tensor<12x197x64xbf16>, %c: tensor<12x197x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<12x197x64xbf16>, tensor<12x197x64xbf16>) -> tensor<12x197x197xf32>
    %2 = prim.reduce max %1 [2] : (tensor<12x197x197xf32>) -> tensor<12x197xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<12x197xf32>) -> tensor<12x197x197xf32>
    %4 = prim.sub %1, %3 : (tensor<12x197x197xf32>, tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
    %5 = prim.exp %4 : (tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<12x197x197xf32>) -> tensor<12x197xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<12x197xf32>) -> tensor<12x197x197xf32>
    %8 = prim.div %5, %7 : (tensor<12x197x197xf32>, tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
    %9 = prim.cast %8 : (tensor<12x197x197xf32>) -> tensor<12x197x197xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<12x197x197xbf16>, tensor<12x197x64xbf16>) -> tensor<12x197x64xf32>
    %11 = prim.cast %10 : (tensor<12x197x64xf32>) -> tensor<12x197x64xbf16>
    kernel.yield %11 : tensor<12x197x64xbf16>
  } -> tensor<12x197x64xbf16>
  return
}

// Many short tiles: the queries of two are on their way.
// CHECK-LABEL: @short
// CHECK: sm_90a = <form = wgmma_attention, threads = 384, vectors = 2, rows = 128, columns = 128,
func.func @short(%q: tensor<384x128x64xbf16>, %k: tensor<384x128x64xbf16>, %v: tensor<384x128x64xbf16>) {
  %0 = kernel.launch attention "attention" ins(%q, %k, %v : tensor<384x128x64xbf16>, tensor<384x128x64xbf16>, tensor<384x128x64xbf16>) sizes() {
  ^bb0(%a: tensor<384x128x64xbf16>, %b: tensor<384x128x64xbf16>, %c: tensor<384x128x64xbf16>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<384x128x64xbf16>, tensor<384x128x64xbf16>) -> tensor<384x128x128xf32>
    %2 = prim.reduce max %1 [2] : (tensor<384x128x128xf32>) -> tensor<384x128xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<384x128xf32>) -> tensor<384x128x128xf32>
    %4 = prim.sub %1, %3 : (tensor<384x128x128xf32>, tensor<384x128x128xf32>) -> tensor<384x128x128xf32>
    %5 = prim.exp %4 : (tensor<384x128x128xf32>) -> tensor<384x128x128xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<384x128x128xf32>) -> tensor<384x128xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<384x128xf32>) -> tensor<384x128x128xf32>
    %8 = prim.div %5, %7 : (tensor<384x128x128xf32>, tensor<384x128x128xf32>) -> tensor<384x128x128xf32>
    %9 = prim.cast %8 : (tensor<384x128x128xf32>) -> tensor<384x128x128xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<384x128x128xbf16>, tensor<384x128x64xbf16>) -> tensor<384x128x64xf32>
    %11 = prim.cast %10 : (tensor<384x128x64xf32>) -> tensor<384x128x64xbf16>
    kernel.yield %11 : tensor<384x128x64xbf16>
  } -> tensor<384x128x64xbf16>
  return
}

// Queries and keys of open length: a run of few queries has small tiles. Without wgmma they are those of a text of
// some hundreds.
// CHECK-LABEL: @open_text
// CHECK: by_size<small = #gpu.schedules<sm_80 = <form = mma_attention, threads = 128, vectors = 2, row_threads = 8, rows = 32, columns = 128, {{[^>]*}}>, sm_90a = <form = wgmma_attention, threads = 256, rows = 64, columns = 64,
// CHECK-SAME: below = 946176, large = #gpu.schedules<sm_80 = <form = mma_attention, {{[^>]*}}>, sm_90a = <form = wgmma_attention, threads = 256, rows = 64, columns = 128,
func.func @open_text(%q: tensor<8x?x64xbf16>, %k: tensor<8x?x64xbf16>) {
  %n = prim.dim %q, 1 : tensor<8x?x64xbf16>
  %0 = kernel.launch attention "attention" ins(%q, %k, %k : tensor<8x?x64xbf16>, tensor<8x?x64xbf16>, tensor<8x?x64xbf16>) sizes(%n) {
  ^bb0(%a: tensor<8x?x64xbf16>, %b: tensor<8x?x64xbf16>, %c: tensor<8x?x64xbf16>):
    %r = prim.dim %a, 1 : tensor<8x?x64xbf16>
    %s = prim.dim %b, 1 : tensor<8x?x64xbf16>
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<8x?x64xbf16>, tensor<8x?x64xbf16>) -> tensor<8x?x?xf32>
    %2 = prim.reduce max %1 [2] : (tensor<8x?x?xf32>) -> tensor<8x?xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes(%r, %s) : (tensor<8x?xf32>) -> tensor<8x?x?xf32>
    %4 = prim.sub %1, %3 : (tensor<8x?x?xf32>, tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
    %5 = prim.exp %4 : (tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<8x?x?xf32>) -> tensor<8x?xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes(%r, %s) : (tensor<8x?xf32>) -> tensor<8x?x?xf32>
    %8 = prim.div %5, %7 : (tensor<8x?x?xf32>, tensor<8x?x?xf32>) -> tensor<8x?x?xf32>
    %9 = prim.cast %8 : (tensor<8x?x?xf32>) -> tensor<8x?x?xbf16>
    %10 = prim.dot %9, %c batch [0] x [0] contract [2] x [1] : (tensor<8x?x?xbf16>, tensor<8x?x64xbf16>) -> tensor<8x?x64xf32>
    %11 = prim.cast %10 : (tensor<8x?x64xf32>) -> tensor<8x?x64xbf16>
    kernel.yield %11 : tensor<8x?x64xbf16>
  } -> tensor<8x?x64xbf16>
  return
}
