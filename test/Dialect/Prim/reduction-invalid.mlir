// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range for rank 2}}
  %0 = prim.reduce sum %x [2] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{result dim 0 is 2, expected 3}}
  %0 = prim.reduce sum %x [0] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi32>) {
  // expected-error @+1 {{takes bool, not 'i32'}}
  %0 = prim.reduce all %x [0] : (tensor<2xi32>) -> tensor<i32>
  return
}

// -----

func.func @f(%x: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{cannot order complex values}}
  %0 = prim.reduce max %x [0] : (tensor<2xcomplex<f32>>) -> tensor<complex<f32>>
  return
}

// -----

func.func @f(%x: tensor<2xf16>) {
  // expected-error @+1 {{has element type 'f32', expected 'f16'}}
  %0 = prim.reduce sum %x [0] : (tensor<2xf16>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2xf16>) {
  // expected-error @+1 {{finds the max or the min only}}
  %0 = prim.arg_reduce sum %x 0 : (tensor<2xf16>) -> tensor<i64>
  return
}

// -----

func.func @f(%x: tensor<2x3xf16>) {
  // expected-error @+1 {{result has rank 2, expected 1}}
  %0 = prim.arg_reduce max %x 0 : (tensor<2x3xf16>) -> tensor<1x3xi64>
  return
}

// -----

func.func @f(%x: tensor<2xf16>) {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0 = prim.cumulative sum %x 1 : (tensor<2xf16>) -> tensor<2xf16>
  return
}

// -----

func.func @f(%x: tensor<1x3xf32>) {
  // expected-error @+1 {{has a window of 1 axes for a tensor of rank 2}}
  %0 = prim.pool max %x sizes() {window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 1>} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>) {
  // expected-error @+1 {{needs one entry for each of 1 spatial axes}}
  %0 = prim.pool max %x sizes() {window = array<i64: 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 1>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>) {
  // expected-error @+1 {{has a window, stride or dilation below 1}}
  %0 = prim.pool max %x sizes() {window = array<i64: 3>, strides = array<i64: 0>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 1>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>) {
  // expected-error @+1 {{result dim 1 is 2, expected 3}}
  %0 = prim.pool max %x sizes() {window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 1>} : (tensor<1x3x8xf32>) -> tensor<1x2x4xf32>
  return
}
