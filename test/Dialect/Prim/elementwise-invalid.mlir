// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{all non-scalar operands/results must have the same shape and base type}}
  %0 = prim.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{requires the same element type for all operands and results}}
  %0 = prim.mul %x, %y : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of floating-point or complex-type values}}
  %0 = prim.exp %x : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of floating-point values}}
  %0 = prim.erf %x : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of integer values}}
  %0 = prim.not %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{result #0 must be ranked tensor of 1-bit signless integer values}}
  %0 = prim.is_inf %x : (tensor<2xf32>) -> tensor<2xi8>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{compares 'f32' with 'f16'}}
  %0 = prim.compare eq %x, %y : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%x: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{cannot order complex values}}
  %0 = prim.compare lt %x, %x : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{has element type 'f16', expected 'f32'}}
  %0 = prim.select %c, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{cannot read 'f32' as 'i16'}}
  %0 = prim.bitcast %x : (tensor<2xf32>) -> tensor<2xi16>
  return
}

// -----

func.func @f(%x: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{has element type 'f64', expected 'f32'}}
  %0 = prim.real %x : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{has element type 'f32', expected 'f64'}}
  %0 = prim.complex %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
  return
}
