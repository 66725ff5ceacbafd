// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<5x4xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{result dim 1 is 5, expected 4}}
  %0 = prim.take %x, %i axis 0 : (tensor<5x4xf32>, tensor<2xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %i: tensor<2xui32>) {
  // expected-error @+1 {{operand #1 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values}}
  %0 = prim.take %x, %i axis 0 : (tensor<5x4xf32>, tensor<2xui32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{has element type 'f16', expected 'f32'}}
  %0 = prim.take %x, %i axis 0 : (tensor<5x4xf32>, tensor<2xi64>) -> tensor<2x4xf16>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{has indices of rank 1 for a tensor of rank 2}}
  %0 = prim.take_along %x, %i axis 0 : (tensor<5x4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %i: tensor<2x?xi64>) {
  // expected-error @+1 {{needs indices whose last extent is static}}
  %0 = prim.gather_nd %x, %i batch 0 : (tensor<5x4xf32>, tensor<2x?xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{indexes 0 + 3 axes of a tensor of rank 2}}
  %0 = prim.gather_nd %x, %i batch 0 : (tensor<5x4xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<5xf32>, %i: tensor<2xi64>, %u: tensor<2x1xf32>) {
  // expected-error @+1 {{needs indices and updates of x's rank, 1}}
  %0 = prim.scatter_along add %x, %i, %u axis 0 : (tensor<5xf32>, tensor<2xi64>, tensor<2x1xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<5xcomplex<f32>>, %i: tensor<2xi64>, %u: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{cannot order complex values}}
  %0 = prim.scatter_along max %x, %i, %u axis 0 : (tensor<5xcomplex<f32>>, tensor<2xi64>, tensor<2xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{updates have rank 1, expected 2}}
  %0 = prim.scatter_nd add %x, %i, %u : (tensor<5x4xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<5xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf16>) {
  // expected-error @+1 {{has element type 'f16', expected 'f32'}}
  %0 = prim.scatter_nd assign %x, %i, %u : (tensor<5xf32>, tensor<2x1xi64>, tensor<2xf16>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{inserts a tensor of rank 1 into one of rank 2}}
  %0 = prim.insert_slice %x, %u starts [0, 0]() steps [1, 1] : (tensor<5x4xf32>, tensor<2xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %u: tensor<2x4xf32>) {
  // expected-error @+1 {{has a step of 0}}
  %0 = prim.insert_slice %x, %u starts [0, 0]() steps [0, 1] : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>) {
  // expected-error @+1 {{result dim 0 is 3, expected 2}}
  %0 = prim.nonzero %x : (tensor<5x4xf32>) -> tensor<3x?xi64>
  return
}

// -----

func.func @f(%x: tensor<5xcomplex<f32>>) {
  // expected-error @+1 {{cannot order complex values}}
  %0:2 = prim.sort %x axis 0 {descending = false} : (tensor<5xcomplex<f32>>) -> (tensor<5xcomplex<f32>>, tensor<5xi64>)
  return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0:2 = prim.sort %x axis 1 {descending = false} : (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xi64>)
  return
}

// -----

func.func @f(%x: tensor<f32>, %k: index) {
  // expected-error @+1 {{needs a last axis}}
  %0:2 = prim.kth %x k %k {descending = false} : (tensor<f32>, index) -> (tensor<f32>, tensor<i64>)
  return
}

// -----

func.func @f(%x: tensor<4x5xf32>, %k: index) {
  // expected-error @+1 {{result has rank 1, expected 2}}
  %0:2 = prim.kth %x k %k {descending = false} : (tensor<4x5xf32>, index) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{takes 6 of 5 elements}}
  %0:2 = prim.top_k %x axis 0 {largest = true} : (tensor<5xf32>) -> (tensor<6xf32>, tensor<6xi64>)
  return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{needs `k` exactly when the result's extent is dynamic}}
  %0:2 = prim.top_k %x axis 0 {largest = true} : (tensor<5xf32>) -> (tensor<?xf32>, tensor<?xi64>)
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %i: tensor<5xi64>, %u: tensor<9xf32>) {
  // expected-error @+1 {{needs updates of x's rank, 2}}
  %0 = prim.scatter_runs add %x, %i, %u : (tensor<5x4xf32>, tensor<5xi64>, tensor<9xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<5x4xf32>, %i: tensor<5x1xi64>, %u: tensor<9x4xf32>) {
  // expected-error @+1 {{needs a vector of begins}}
  %0 = prim.scatter_runs add %x, %i, %u : (tensor<5x4xf32>, tensor<5x1xi64>, tensor<9x4xf32>) -> tensor<5x4xf32>
  return
}
