// RUN: tcc-opt %s -tcc-fuse-kernels -tcc-schedule-kernels | FileCheck %s
// How attention is cut on x86-64-v3, not that it is fastest.

// A query reads its values in one pass, all columns of a row beside each other; blocks are those of the longest part.
// CHECK-LABEL: func @decoder
// CHECK: #cpu.attention_schedule<lanes = 8, vectors = {{[0-9]+}}, rows = 1, value_vectors = 8, value_rows = 1, task_rows = 1, keys = 504, grain_products
func.func @decoder(%q: tensor<12x1x64xf32>, %k0: tensor<12x4032x64xf32>, %v0: tensor<12x4032x64xf32>, %k1: tensor<12x1x64xf32>, %v1: tensor<12x1x64xf32>) -> tensor<12x1x64xf32> {
  %k = prim.concat %k0, %k1 axis 1 : (tensor<12x4032x64xf32>, tensor<12x1x64xf32>) -> tensor<12x4033x64xf32>
  %v = prim.concat %v0, %v1 axis 1 : (tensor<12x4032x64xf32>, tensor<12x1x64xf32>) -> tensor<12x4033x64xf32>
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<12x1x64xf32>, tensor<12x4033x64xf32>) -> tensor<12x1x4033xf32>
  %1 = prim.reduce max %0 [2] : (tensor<12x1x4033xf32>) -> tensor<12x1xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<12x1xf32>) -> tensor<12x1x4033xf32>
  %3 = prim.sub %0, %2 : (tensor<12x1x4033xf32>, tensor<12x1x4033xf32>) -> tensor<12x1x4033xf32>
  %4 = prim.exp %3 : (tensor<12x1x4033xf32>) -> tensor<12x1x4033xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<12x1x4033xf32>) -> tensor<12x1xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<12x1xf32>) -> tensor<12x1x4033xf32>
  %7 = prim.div %4, %6 : (tensor<12x1x4033xf32>, tensor<12x1x4033xf32>) -> tensor<12x1x4033xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<12x1x4033xf32>, tensor<12x4033x64xf32>) -> tensor<12x1x64xf32>
  return %8 : tensor<12x1x64xf32>
}

// Few queries of few heads share the keys.
// CHECK-LABEL: func @shared
// CHECK: #cpu.attention_schedule<lanes = 8, vectors = {{[0-9]+}}, rows = 4, value_vectors = {{[0-9]+}}, value_rows = 4, task_rows = 8, keys = {{[0-9]+}}, split = 4,
func.func @shared(%q: tensor<4x8x64xf32>, %k0: tensor<4x4096x64xf32>, %v0: tensor<4x4096x64xf32>) -> tensor<4x8x64xf32> {
  %0 = prim.dot %q, %k0 batch [0] x [0] contract [2] x [2] : (tensor<4x8x64xf32>, tensor<4x4096x64xf32>) -> tensor<4x8x4096xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x4096xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x4096xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x4096xf32>, tensor<4x8x4096xf32>) -> tensor<4x8x4096xf32>
  %4 = prim.exp %3 : (tensor<4x8x4096xf32>) -> tensor<4x8x4096xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x8x4096xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x4096xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x4096xf32>, tensor<4x8x4096xf32>) -> tensor<4x8x4096xf32>
  %8 = prim.dot %7, %v0 batch [0] x [0] contract [2] x [1] : (tensor<4x8x4096xf32>, tensor<4x4096x64xf32>) -> tensor<4x8x64xf32>
  return %8 : tensor<4x8x64xf32>
}
