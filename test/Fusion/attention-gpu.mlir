// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s --arch sim -tcc-fuse-kernels | FileCheck %s
// GPUs have one kernel for attention where their matrix units multiply both times, and in f32 where there are rows and
// heads enough for the machine: few rows are better off with a kernel for each product.

// CHECK-LABEL: func @halves
// CHECK: kernel.launch attention
// CHECK-NOT: kernel.launch
func.func @halves(%q: tensor<4x8x16xbf16>, %k: tensor<4x8x16xbf16>, %v: tensor<4x8x16xbf16>) -> tensor<4x8x16xbf16> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x8x16xbf16>, tensor<4x8x16xbf16>) -> tensor<4x8x8xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = prim.exp %3 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %8 = prim.cast %7 : (tensor<4x8x8xf32>) -> tensor<4x8x8xbf16>
  %9 = prim.dot %8, %v batch [0] x [0] contract [2] x [1] : (tensor<4x8x8xbf16>, tensor<4x8x16xbf16>) -> tensor<4x8x16xbf16>
  return %9 : tensor<4x8x16xbf16>
}

// CHECK-LABEL: func @exact
// CHECK-NOT: kernel.launch attention
func.func @exact(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = prim.exp %3 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %8 : tensor<4x8x16xf32>
}

// CHECK-LABEL: func @exact_heads
// CHECK: kernel.launch attention
// CHECK-NOT: kernel.launch
func.func @exact_heads(%q: tensor<96x128x64xf32>, %k: tensor<96x128x64xf32>, %v: tensor<96x128x64xf32>) -> tensor<96x128x64xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<96x128x64xf32>, tensor<96x128x64xf32>) -> tensor<96x128x128xf32>
  %1 = prim.reduce max %0 [2] : (tensor<96x128x128xf32>) -> tensor<96x128xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<96x128xf32>) -> tensor<96x128x128xf32>
  %3 = prim.sub %0, %2 : (tensor<96x128x128xf32>, tensor<96x128x128xf32>) -> tensor<96x128x128xf32>
  %4 = prim.exp %3 : (tensor<96x128x128xf32>) -> tensor<96x128x128xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<96x128x128xf32>) -> tensor<96x128xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<96x128xf32>) -> tensor<96x128x128xf32>
  %7 = prim.div %4, %6 : (tensor<96x128x128xf32>, tensor<96x128x128xf32>) -> tensor<96x128x128xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<96x128x128xf32>, tensor<96x128x64xf32>) -> tensor<96x128x64xf32>
  return %8 : tensor<96x128x64xf32>
}

// One head has too few rows for its keys.
// CHECK-LABEL: func @exact_keys
// CHECK-NOT: kernel.launch attention
func.func @exact_keys(%q: tensor<1x4096x64xf32>, %k: tensor<1x4096x64xf32>, %v: tensor<1x4096x64xf32>) -> tensor<1x4096x64xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<1x4096x64xf32>, tensor<1x4096x64xf32>) -> tensor<1x4096x4096xf32>
  %1 = prim.reduce max %0 [2] : (tensor<1x4096x4096xf32>) -> tensor<1x4096xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<1x4096xf32>) -> tensor<1x4096x4096xf32>
  %3 = prim.sub %0, %2 : (tensor<1x4096x4096xf32>, tensor<1x4096x4096xf32>) -> tensor<1x4096x4096xf32>
  %4 = prim.exp %3 : (tensor<1x4096x4096xf32>) -> tensor<1x4096x4096xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<1x4096x4096xf32>) -> tensor<1x4096xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<1x4096xf32>) -> tensor<1x4096x4096xf32>
  %7 = prim.div %4, %6 : (tensor<1x4096x4096xf32>, tensor<1x4096x4096xf32>) -> tensor<1x4096x4096xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<1x4096x4096xf32>, tensor<1x4096x64xf32>) -> tensor<1x4096x64xf32>
  return %8 : tensor<1x4096x64xf32>
}

// Weights that stay in f32 are not what the matrix units multiply with bf16.
// CHECK-LABEL: func @mixed
// CHECK-NOT: kernel.launch attention
func.func @mixed(%q: tensor<4x8x16xbf16>, %k: tensor<4x8x16xbf16>, %v: tensor<4x8x16xbf16>) -> tensor<4x8x16xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x8x16xbf16>, tensor<4x8x16xbf16>) -> tensor<4x8x8xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = prim.exp %3 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x16xbf16>) -> tensor<4x8x16xf32>
  return %8 : tensor<4x8x16xf32>
}

// Lengths that only a run knows are taken for those of texts.
// CHECK-LABEL: func @exact_open
// CHECK: kernel.launch attention
// CHECK-NOT: kernel.launch
func.func @exact_open(%q: tensor<32x?x64xf32>, %k: tensor<32x?x64xf32>, %v: tensor<32x?x64xf32>) -> tensor<32x?x64xf32> {
  %n = prim.dim %q, 1 : tensor<32x?x64xf32>
  %m = prim.dim %k, 1 : tensor<32x?x64xf32>
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<32x?x64xf32>, tensor<32x?x64xf32>) -> tensor<32x?x?xf32>
  %1 = prim.reduce max %0 [2] : (tensor<32x?x?xf32>) -> tensor<32x?xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes(%n, %m) : (tensor<32x?xf32>) -> tensor<32x?x?xf32>
  %3 = prim.sub %0, %2 : (tensor<32x?x?xf32>, tensor<32x?x?xf32>) -> tensor<32x?x?xf32>
  %4 = prim.exp %3 : (tensor<32x?x?xf32>) -> tensor<32x?x?xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<32x?x?xf32>) -> tensor<32x?xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes(%n, %m) : (tensor<32x?xf32>) -> tensor<32x?x?xf32>
  %7 = prim.div %4, %6 : (tensor<32x?x?xf32>, tensor<32x?x?xf32>) -> tensor<32x?x?xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<32x?x?xf32>, tensor<32x?x64xf32>) -> tensor<32x?x64xf32>
  return %8 : tensor<32x?x64xf32>
}
