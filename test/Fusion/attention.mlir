// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s

// One kernel, with the mask that is computed for each score, the heads that are views, the
// guard against rows that see nothing, and the transpose that puts heads side by side.
// CHECK-LABEL: func @causal
// CHECK: kernel.launch attention "{{.*}}" ins(%arg0, %arg1, %arg2 :
// CHECK: prim.dot
// CHECK: prim.reduce max
// CHECK: prim.reduce sum
// CHECK: prim.dot
// CHECK: %[[O:.*]] = prim.transpose
// CHECK: kernel.yield %[[O]]
// CHECK-NOT: kernel.launch
func.func @causal(%q: tensor<1x8x32xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x16xf32>) -> tensor<1x8x2x16xf32> {
  %0 = prim.reshape %q sizes() : (tensor<1x8x32xf32>) -> tensor<1x8x2x16xf32>
  %1 = prim.dot %0, %k batch [0, 2] x [0, 1] contract [3] x [3] : (tensor<1x8x2x16xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x8x8xf32>
  %2 = prim.iota 0 sizes() : tensor<8x8xi64>
  %3 = prim.iota 1 sizes() : tensor<8x8xi64>
  %4 = prim.compare ge %2, %3 : (tensor<8x8xi64>, tensor<8x8xi64>) -> tensor<8x8xi1>
  %5 = prim.broadcast %4 axes [2, 3] sizes() : (tensor<8x8xi1>) -> tensor<1x2x8x8xi1>
  %6 = prim.constant dense<0xFF800000> : tensor<1x2x8x8xf32>
  %7 = prim.select %5, %1, %6 : (tensor<1x2x8x8xi1>, tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %8 = prim.reduce max %7 [3] : (tensor<1x2x8x8xf32>) -> tensor<1x2x8xf32>
  %9 = prim.reshape %8 sizes() : (tensor<1x2x8xf32>) -> tensor<1x2x8x1xf32>
  %10 = prim.constant dense<0xFF800000> : tensor<1x2x8x1xf32>
  %11 = prim.compare eq %9, %10 : (tensor<1x2x8x1xf32>, tensor<1x2x8x1xf32>) -> tensor<1x2x8x1xi1>
  %12 = prim.constant dense<0.000000e+00> : tensor<1x2x8x1xf32>
  %13 = prim.select %11, %12, %9 : (tensor<1x2x8x1xi1>, tensor<1x2x8x1xf32>, tensor<1x2x8x1xf32>) -> tensor<1x2x8x1xf32>
  %14 = prim.broadcast %13 axes [0, 1, 2, 3] sizes() : (tensor<1x2x8x1xf32>) -> tensor<1x2x8x8xf32>
  %15 = prim.sub %7, %14 : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %16 = prim.exp %15 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %17 = prim.reduce sum %16 [3] : (tensor<1x2x8x8xf32>) -> tensor<1x2x8xf32>
  %18 = prim.reshape %17 sizes() : (tensor<1x2x8xf32>) -> tensor<1x2x8x1xf32>
  %19 = prim.constant dense<1.000000e+00> : tensor<1x2x8x1xf32>
  %20 = prim.maximum %18, %19 : (tensor<1x2x8x1xf32>, tensor<1x2x8x1xf32>) -> tensor<1x2x8x1xf32>
  %21 = prim.broadcast %20 axes [0, 1, 2, 3] sizes() : (tensor<1x2x8x1xf32>) -> tensor<1x2x8x8xf32>
  %22 = prim.div %16, %21 : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %23 = prim.dot %22, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<1x2x8x8xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x8x16xf32>
  %24 = prim.transpose %23 [0, 2, 1, 3] : (tensor<1x2x8x16xf32>) -> tensor<1x8x2x16xf32>
  return %24 : tensor<1x8x2x16xf32>
}

// Four query heads share one of keys: the scores have their heads in one axis or in two.
// CHECK-LABEL: func @grouped
// CHECK: kernel.launch attention "{{.*}}" ins(%arg0, %arg1, %arg3, %arg4, %arg2 :
// CHECK-NOT: kernel.launch
func.func @grouped(%q: tensor<2x4x?x16xf32>, %k: tensor<2x?x16xf32>, %v: tensor<2x?x16xf32>, %n: index, %m: index) -> tensor<2x4x?x16xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [3] x [2] : (tensor<2x4x?x16xf32>, tensor<2x?x16xf32>) -> tensor<2x4x?x?xf32>
  %1 = prim.reduce max %0 [3] : (tensor<2x4x?x?xf32>) -> tensor<2x4x?xf32>
  %2 = prim.reshape %1 sizes(%n) : (tensor<2x4x?xf32>) -> tensor<2x4x?x1xf32>
  %3 = prim.broadcast %2 axes [0, 1, 2, 3] sizes(%n, %m) : (tensor<2x4x?x1xf32>) -> tensor<2x4x?x?xf32>
  %4 = prim.sub %0, %3 : (tensor<2x4x?x?xf32>, tensor<2x4x?x?xf32>) -> tensor<2x4x?x?xf32>
  %5 = prim.exp %4 : (tensor<2x4x?x?xf32>) -> tensor<2x4x?x?xf32>
  %6 = prim.reduce sum %5 [3] : (tensor<2x4x?x?xf32>) -> tensor<2x4x?xf32>
  %7 = prim.reshape %6 sizes(%n) : (tensor<2x4x?xf32>) -> tensor<2x4x?x1xf32>
  %8 = prim.broadcast %7 axes [0, 1, 2, 3] sizes(%n, %m) : (tensor<2x4x?x1xf32>) -> tensor<2x4x?x?xf32>
  %9 = prim.div %5, %8 : (tensor<2x4x?x?xf32>, tensor<2x4x?x?xf32>) -> tensor<2x4x?x?xf32>
  %10 = prim.dot %9, %v batch [0] x [0] contract [3] x [1] : (tensor<2x4x?x?xf32>, tensor<2x?x16xf32>) -> tensor<2x4x?x16xf32>
  return %10 : tensor<2x4x?x16xf32>
}

// Weights that are not a number become 0, as exporters write it; not with a shift of another kind,
// which leaves some of a row numbers.
// CHECK-LABEL: func @zeroed
// CHECK: kernel.launch attention
// CHECK: prim.is_nan
// CHECK-NOT: kernel.launch
func.func @zeroed(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = prim.exp %3 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %8 = prim.is_nan %7 : (tensor<4x8x8xf32>) -> tensor<4x8x8xi1>
  %9 = prim.constant dense<0.0> : tensor<4x8x8xf32>
  %10 = prim.select %8, %9, %7 : (tensor<4x8x8xi1>, tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %11 = prim.dot %10, %v batch [0] x [0] contract [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %11 : tensor<4x8x16xf32>
}
// CHECK-LABEL: func @zeroed_otherwise
// CHECK-NOT: kernel.launch attention
func.func @zeroed_otherwise(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %half = prim.constant dense<0.5> : tensor<4x8xf32>
  %less = prim.mul %1, %half : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %less axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = prim.exp %3 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %8 = prim.is_nan %7 : (tensor<4x8x8xf32>) -> tensor<4x8x8xi1>
  %9 = prim.constant dense<0.0> : tensor<4x8x8xf32>
  %10 = prim.select %8, %9, %7 : (tensor<4x8x8xi1>, tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %11 = prim.dot %10, %v batch [0] x [0] contract [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %11 : tensor<4x8x16xf32>
}

// Weights that somebody else reads are in memory: three kernels.
// CHECK-LABEL: func @weights_wanted
// CHECK-NOT: kernel.launch attention
func.func @weights_wanted(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x8xf32>) {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = prim.exp %3 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %8, %7 : tensor<4x8x16xf32>, tensor<4x8x8xf32>
}

// The sum is of other elements than those that are divided by it; heads too wide for a cache.
// CHECK-LABEL: func @other_sum
// CHECK-NOT: kernel.launch attention
func.func @other_sum(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = prim.exp %3 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %5 = prim.reduce sum %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %8 : tensor<4x8x16xf32>
}
// CHECK-LABEL: func @too_wide
// CHECK-NOT: kernel.launch attention
func.func @too_wide(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x512xf32>) -> tensor<4x8x512xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %3 = prim.sub %0, %2 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %4 = prim.exp %3 : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x8x8xf32>) -> tensor<4x8xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x8x8xf32>
  %7 = prim.div %4, %6 : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x512xf32>) -> tensor<4x8x512xf32>
  return %8 : tensor<4x8x512xf32>
}

// A cache and the keys that come to it are read where they lie; not if somebody else reads what they are joined to, as
// the next run's cache is.
// CHECK-LABEL: func @cached
// CHECK: kernel.launch attention "{{.*}}" ins(%arg0, %arg1, %arg3, %arg2, %arg4 :
// CHECK: prim.concat %{{.*}}, %{{.*}} axis 1
// CHECK: prim.dot
// CHECK: prim.concat %{{.*}}, %{{.*}} axis 1
// CHECK: prim.dot
// CHECK-NOT: kernel.launch
// CHECK-LABEL: func @returned
// CHECK: %[[KEYS:.*]] = kernel.launch loop "concat"
// CHECK: kernel.launch attention "{{.*}}" ins(%arg0, %[[KEYS]],
func.func @cached(%q: tensor<4x1x16xf32>, %k0: tensor<4x99x16xf32>, %v0: tensor<4x99x16xf32>, %k1: tensor<4x1x16xf32>, %v1: tensor<4x1x16xf32>) -> tensor<4x1x16xf32> {
  %k = prim.concat %k0, %k1 axis 1 : (tensor<4x99x16xf32>, tensor<4x1x16xf32>) -> tensor<4x100x16xf32>
  %v = prim.concat %v0, %v1 axis 1 : (tensor<4x99x16xf32>, tensor<4x1x16xf32>) -> tensor<4x100x16xf32>
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x1x16xf32>, tensor<4x100x16xf32>) -> tensor<4x1x100xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x1x100xf32>) -> tensor<4x1xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x1x100xf32>
  %3 = prim.sub %0, %2 : (tensor<4x1x100xf32>, tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %4 = prim.exp %3 : (tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x1x100xf32>) -> tensor<4x1xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x1x100xf32>
  %7 = prim.div %4, %6 : (tensor<4x1x100xf32>, tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<4x1x100xf32>, tensor<4x100x16xf32>) -> tensor<4x1x16xf32>
  return %8 : tensor<4x1x16xf32>
}
func.func @returned(%q: tensor<4x1x16xf32>, %k0: tensor<4x99x16xf32>, %v0: tensor<4x99x16xf32>, %k1: tensor<4x1x16xf32>, %v1: tensor<4x1x16xf32>) -> (tensor<4x1x16xf32>, tensor<4x100x16xf32>) {
  %k = prim.concat %k0, %k1 axis 1 : (tensor<4x99x16xf32>, tensor<4x1x16xf32>) -> tensor<4x100x16xf32>
  %v = prim.concat %v0, %v1 axis 1 : (tensor<4x99x16xf32>, tensor<4x1x16xf32>) -> tensor<4x100x16xf32>
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x1x16xf32>, tensor<4x100x16xf32>) -> tensor<4x1x100xf32>
  %1 = prim.reduce max %0 [2] : (tensor<4x1x100xf32>) -> tensor<4x1xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x1x100xf32>
  %3 = prim.sub %0, %2 : (tensor<4x1x100xf32>, tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %4 = prim.exp %3 : (tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<4x1x100xf32>) -> tensor<4x1xf32>
  %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x1x100xf32>
  %7 = prim.div %4, %6 : (tensor<4x1x100xf32>, tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %8 = prim.dot %7, %v batch [0] x [0] contract [2] x [1] : (tensor<4x1x100xf32>, tensor<4x100x16xf32>) -> tensor<4x1x16xf32>
  return %8, %k : tensor<4x1x16xf32>, tensor<4x100x16xf32>
}
