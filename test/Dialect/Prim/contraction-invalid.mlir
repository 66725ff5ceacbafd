// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+1 {{pairs axes of extent 3 and 4}}
  %0 = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+1 {{pairs a different number of axes on the two sides}}
  %0 = prim.dot %a, %b batch [] x [] contract [1, 0] x [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+1 {{result dim 1 is 4, expected 5}}
  %0 = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xi32>) {
  // expected-error @+1 {{multiplies 'i32' into 'f32'}}
  %0 = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<2x3xf32>, tensor<3x5xi32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+1 {{multiplies 'f32' into 'f16'}}
  %0 = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf16>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{has 4 input channels, its weight expects 2}}
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x8xf32>, tensor<6x2x3xf32>) -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %w: tensor<5x2x3xf32>) {
  // expected-error @+1 {{has 5 output channels for 2 groups}}
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 2 : i64} : (tensor<1x4x8xf32>, tensor<5x2x3xf32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{has a stride or dilation below 1}}
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 0>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{result dim 1 is 8, expected 6}}
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{needs one entry for each of 1 spatial axes}}
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xcomplex<f32>>) {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0 = prim.fft %x axis 1 {inverse = false} : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of complex-type values}}
  %0 = prim.fft %x axis 0 {inverse = false} : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}
