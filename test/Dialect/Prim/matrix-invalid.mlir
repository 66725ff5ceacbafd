// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs matrices, not a tensor of rank 1}}
  %0:3 = prim.lu %x : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>, tensor<i64>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf16>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of 32-bit float or 64-bit float values}}
  %0 = prim.cholesky %x : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{needs square matrices, not 4 by 3}}
  %0 = prim.cholesky %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%t: tensor<4x4xf32>, %x: tensor<3x2xf32>) {
  // expected-error @+1 {{expected}}
  %0 = prim.triangular_solve %t, %x {unit = true, upper = false} : (tensor<4x4xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected}}
  %0:2 = prim.qr %x : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has neither two parts nor, of two, one}}
  %0 = prim.fourier %x axis 1 {inverse = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x?xf32>) {
  // expected-error @+1 {{needs a known extent along axis 1}}
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<4x?xf32>) -> (tensor<4x?xf32>, tensor<4x?xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{needs 5 elements along axis 1}}
  %0 = prim.fourier %x, %x axis 1 {inverse = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @wide(%x: tensor<2x3xf64>) {
  // expected-error @below {{needs no more columns than rows, not 2 by 3}}
  %0:5 = prim.svd %x {vectors = true} : (tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<3x2xf64>, tensor<3xf64>, tensor<3x3xf64>, tensor<2x8xf64>)
  return
}

// -----

func.func @room(%x: tensor<3x3xf64>) {
  // expected-error @below {{expected}}
  %0:3 = prim.symmetric_eigen %x {vectors = true} : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<3x4xf64>)
  return
}
