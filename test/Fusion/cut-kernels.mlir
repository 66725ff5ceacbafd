// RUN: tcc-opt %s -tcc-fuse-kernels -tcc-fuse-cut-kernels=cut=1 | FileCheck %s
// RUN: tcc-opt %s -tcc-fuse-kernels -tcc-fuse-cut-kernels=cut=2 | FileCheck %s --check-prefix=SECOND
// RUN: tcc-opt %s -tcc-fuse-kernels -tcc-fuse-cut-kernels | FileCheck %s --check-prefix=WHOLE

// A product without what is computed from its elements.
// CHECK-LABEL: func @product
// CHECK: %[[SUMS:.*]] = kernel.launch contraction "dot" ins(%arg0, %arg1 :
// CHECK: kernel.launch loop "add_tanh" ins(%[[SUMS]] :
// WHOLE-LABEL: func @product
// WHOLE: kernel.launch contraction "dot_add_tanh"
// The costly function apart from what reads it.
// SECOND-LABEL: func @product
// SECOND: kernel.launch contraction "dot_add_tanh"
func.func @product(%x: tensor<8x16xf32>, %w: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %one = prim.constant dense<1.0> : tensor<8x8xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = prim.add %0, %one : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = prim.tanh %1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// Rows: exponentials and their sums, which then are read by all elements; or the exponentials.
// CHECK-LABEL: func @rows
// CHECK: %[[ROWS:.*]]:2 = kernel.launch row[1] "exp_reduce" ins(%arg0 :
// CHECK: kernel.launch loop "div" ins(%[[ROWS]]#1, %[[ROWS]]#0 :
// SECOND-LABEL: func @rows
// SECOND: %[[EXP:.*]] = kernel.launch loop "exp" ins(%arg0 :
// SECOND: kernel.launch row[1] "reduce_div" ins(%[[EXP]] :
// WHOLE-LABEL: func @rows
// WHOLE: kernel.launch row[1] "exp_reduce_div"
func.func @rows(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = prim.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = prim.reduce sum %0 [1] : (tensor<8x16xf32>) -> tensor<8xf32>
  %2 = prim.broadcast %1 axes [0] sizes() : (tensor<8xf32>) -> tensor<8x16xf32>
  %3 = prim.div %0, %2 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// What depends on an extent that a run knows.
// CHECK-LABEL: func @open
// CHECK: %[[SIN:.*]] = kernel.launch loop "sin" ins(%arg0 : tensor<?x16xf32>) sizes(
// CHECK: kernel.launch loop "cos" ins(%[[SIN]] : tensor<?x16xf32>) sizes(
// WHOLE-LABEL: func @open
// WHOLE: kernel.launch loop "sin_cos"
func.func @open(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = prim.sin %x : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %1 = prim.cos %0 : (tensor<?x16xf32>) -> tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}
