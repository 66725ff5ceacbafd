// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK-LABEL: func @factors
func.func @factors(%x: tensor<2x?x4xf32>, %s: tensor<3x3xf64>) {
  // CHECK: prim.lu %{{.*}} {pivoting = false} : (tensor<2x?x4xf32>) -> (tensor<2x?x4xf32>, tensor<2x?xi64>, tensor<2x?xi64>)
  %0:3 = prim.lu %x {pivoting = false} : (tensor<2x?x4xf32>) -> (tensor<2x?x4xf32>, tensor<2x?xi64>, tensor<2x?xi64>)
  // CHECK: prim.symmetric_eigen %{{.*}} {vectors = true} : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<3x8xf64>)
  %e:3 = prim.symmetric_eigen %s {vectors = true} : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<3x8xf64>)
  // CHECK: prim.svd %{{.*}} {vectors = false}
  %v:5 = prim.svd %s {vectors = false} : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64>, tensor<3x8xf64>)
  // CHECK: prim.cholesky
  %1 = prim.cholesky %s : (tensor<3x3xf64>) -> tensor<3x3xf64>
  // CHECK: prim.qr
  %2:2 = prim.qr %x : (tensor<2x?x4xf32>) -> (tensor<2x?x4xf32>, tensor<2x?xf32>)
  return
}

// CHECK-LABEL: func @solved
func.func @solved(%t: tensor<3x3xf64>, %x: tensor<3x?xf64>, %tau: tensor<2xf64>) {
  // CHECK: prim.triangular_solve %{{.*}}, %{{.*}} {unit = true, upper = false}
  %0 = prim.triangular_solve %t, %x {unit = true, upper = false} : (tensor<3x3xf64>, tensor<3x?xf64>) -> tensor<3x?xf64>
  // CHECK: prim.reflect
  %1 = prim.reflect %t, %tau, %x : (tensor<3x3xf64>, tensor<2xf64>, tensor<3x?xf64>) -> tensor<3x?xf64>
  return
}

// CHECK-LABEL: func @lines
func.func @lines(%x: tensor<2x8xf32>, %half: tensor<2x5xf32>) {
  // CHECK: prim.fourier %{{.*}}, %{{.*}} axis 1 {inverse = true, scale = 1.250000e-01 : f64}
  %0:2 = prim.fourier %x, %x axis 1 {inverse = true, scale = 0.125 : f64} : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  // CHECK: prim.fourier %{{.*}} axis 1 {inverse = false} : (tensor<2x8xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
  %1:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<2x8xf32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
  // CHECK: prim.fourier %{{.*}}, %{{.*}} axis 1 {inverse = true} : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  %2 = prim.fourier %half, %half axis 1 {inverse = true} : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  return
}
