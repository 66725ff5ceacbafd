// RUN: tcc-opt %s -tcc-decompose-matrix-loops | FileCheck %s
// RUN: tcc-opt %s -tcc-decompose-matrix-loops=most-rows=6 | FileCheck %s --check-prefix=KERNELS

// Six turns are a loop, whose body has kernels of the whole matrix.
// CHECK-LABEL: func @lu
// CHECK-NOT: prim.lu
// CHECK: %[[DONE:.*]]:4 = prim.while(%arg0,
// CHECK: prim.arg_reduce max
// CHECK: prim.take_along
// CHECK: prim.div
// CHECK: return %[[DONE]]#0, %[[DONE]]#2, %[[DONE]]#1
func.func @lu(%x: tensor<6x6xf32>) -> (tensor<6x6xf32>, tensor<6xi64>, tensor<6xi64>) {
  %0:3 = prim.lu %x : (tensor<6x6xf32>) -> (tensor<6x6xf32>, tensor<6xi64>, tensor<6xi64>)
  return %0#0, %0#1, %0#2 : tensor<6x6xf32>, tensor<6xi64>, tensor<6xi64>
}

// Few turns are written out; without pivoting no row is looked for.
// CHECK-LABEL: func @small
// CHECK-NOT: prim.while
// CHECK-NOT: prim.arg_reduce
// CHECK-COUNT-2: prim.div
func.func @small(%x: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %0:3 = prim.lu %x {pivoting = false} : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xi64>, tensor<2xi64>)
  return %0#0 : tensor<2x2xf64>
}

// What is no factor stays.
// CHECK-LABEL: func @other
// CHECK-NEXT: prim.abs
// CHECK-NEXT: return
func.func @other(%x: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %0 = prim.abs %x : (tensor<2x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// A target with kernels keeps what they can have: 6 rows of f32, 3 of f64, if all extents are known.
// KERNELS-LABEL: func @lu
// KERNELS-NEXT: prim.lu
// KERNELS-LABEL: func @large
// KERNELS-NOT: prim.cholesky
func.func @large(%x: tensor<4x4xf64>, %y: tensor<7x7xf32>, %z: tensor<?x6x6xf32>) -> (tensor<4x4xf64>, tensor<7x7xf32>, tensor<?x6x6xf32>) {
  %0 = prim.cholesky %x : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %1 = prim.cholesky %y : (tensor<7x7xf32>) -> tensor<7x7xf32>
  %2 = prim.cholesky %z : (tensor<?x6x6xf32>) -> tensor<?x6x6xf32>
  return %0, %1, %2 : tensor<4x4xf64>, tensor<7x7xf32>, tensor<?x6x6xf32>
}
// KERNELS-LABEL: func @few
// KERNELS-COUNT-2: prim.cholesky
func.func @few(%x: tensor<5x3x3xf64>, %y: tensor<6x6xf32>) -> (tensor<5x3x3xf64>, tensor<6x6xf32>) {
  %0 = prim.cholesky %x : (tensor<5x3x3xf64>) -> tensor<5x3x3xf64>
  %1 = prim.cholesky %y : (tensor<6x6xf32>) -> tensor<6x6xf32>
  return %0, %1 : tensor<5x3x3xf64>, tensor<6x6xf32>
}

// No target that has loops has kernels for eigenvalues and singular values.
// KERNELS-LABEL: func @spectra
// KERNELS-NOT: prim.symmetric_eigen
// KERNELS-NOT: prim.svd
// KERNELS-COUNT-2: prim.while
func.func @spectra(%x: tensor<5x5xf64>) -> (tensor<5xf64>, tensor<5xf64>) {
  %0:3 = prim.symmetric_eigen %x {vectors = false} : (tensor<5x5xf64>) -> (tensor<5x5xf64>, tensor<5xf64>, tensor<5x8xf64>)
  %1:5 = prim.svd %x {vectors = false} : (tensor<5x5xf64>) -> (tensor<5x5xf64>, tensor<5x5xf64>, tensor<5xf64>, tensor<5x5xf64>, tensor<5x8xf64>)
  return %0#1, %1#2 : tensor<5xf64>, tensor<5xf64>
}
