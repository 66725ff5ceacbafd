// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%n: index) {
  // expected-error @+1 {{has 1 dynamic result dims but 0 sizes}}
  %0 = prim.iota 0 sizes() : tensor<?xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0 = prim.iota 1 sizes() : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{axis -1 is out of range for rank 1}}
  %0 = prim.dim %x, -1 : tensor<2xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{has 1 elements, its type 2}}
  %0 = prim.from_elements %n : (index) -> tensor<2xi64>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{takes host scalars, not 'tensor<f32>'}}
  %0 = prim.from_elements %x : (tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi64>) {
  // expected-error @+1 {{has no element 2 in 'tensor<2xi64>'}}
  %0 = prim.extract %x[2] : (tensor<2xi64>) -> index
  return
}

// -----

func.func @f(%x: tensor<2xi64>) {
  // expected-error @+1 {{gives 'tensor<i64>', which is not a scalar}}
  %0 = prim.extract %x[0] : (tensor<2xi64>) -> tensor<i64>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{changes the number of elements from 6 to 5}}
  %0 = prim.reshape %x sizes() : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{changes the element type}}
  %0 = prim.reshape %x sizes() : (tensor<2x3xf32>) -> tensor<6xf16>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{names axis 0 twice}}
  %0 = prim.transpose %x [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{permutes 1 axes of a tensor of rank 2}}
  %0 = prim.transpose %x [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{result dim 0 is 2, expected 3}}
  %0 = prim.transpose %x [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{has element type 'i32', expected 'f32'}}
  %0 = prim.transpose %x [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axes must increase}}
  %0 = prim.broadcast %x axes [1, 0] sizes() : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{axis 0 of extent 2 cannot become 3}}
  %0 = prim.broadcast %x axes [0] sizes() : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{has a step of 0}}
  %0 = prim.slice %x starts [0]() steps [0] sizes() : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{has 0 dynamic starts, expected 1}}
  %0 = prim.slice %x starts [-9223372036854775808]() steps [1] sizes() : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{needs one entry for each of 1 axes}}
  %0 = prim.slice %x starts [0, 0]() steps [1, 1] sizes() : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %p: tensor<1xf32>) {
  // expected-error @+1 {{pads with a tensor of rank 1}}
  %0 = prim.pad %x, %p low [0]() interior [0] sizes() : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %p: tensor<f32>) {
  // expected-error @+1 {{has a negative interior}}
  %0 = prim.pad %x, %p low [0]() interior [-1] sizes() : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %p: tensor<f16>) {
  // expected-error @+1 {{has element type 'f16', expected 'f32'}}
  %0 = prim.pad %x, %p low [0]() interior [0] sizes() : (tensor<2xf32>, tensor<f16>) -> tensor<3xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has no operands}}
  %0 = "prim.concat"() {axis = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<2x1xf32>) {
  // expected-error @+1 {{operand has rank 2, the result 1}}
  %0 = prim.concat %x, %y axis 0 : (tensor<2xf32>, tensor<2x1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{result dim 0 is 5, expected 4}}
  %0 = prim.concat %x, %x axis 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0 = prim.reverse %x [1] : (tensor<2xf32>) -> tensor<2xf32>
  return
}
