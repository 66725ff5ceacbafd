// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%c: i1, %x: tensor<2xf32>) {
  // expected-error @+1 {{the else region must yield 1 values}}
  %0 = prim.if %c {
    prim.yield %x : tensor<2xf32>
  } else {
    prim.yield
  } : tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{region has 0 arguments for 1 carried values}}
  %0 = prim.while(%x) {
    %c = arith.constant true
    prim.yield %c : i1
  } do {
  ^bb0(%t: tensor<2xf32>):
    prim.yield %t : tensor<2xf32>
  } : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{the body must yield 1 values}}
  %0 = prim.while(%x) {
  ^bb0(%t: tensor<2xf32>):
    %c = arith.constant true
    prim.yield %c : i1
  } do {
  ^bb0(%t: tensor<2xf32>):
    prim.yield
  } : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{the condition must yield 1 values}}
  %0 = prim.while(%x) {
  ^bb0(%t: tensor<2xf32>):
    prim.yield
  } do {
  ^bb0(%t: tensor<2xf32>):
    prim.yield %t : tensor<2xf32>
  } : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%s: i64) {
  // expected-error @+1 {{has 1 dynamic result dims but 0 sizes}}
  %0 = prim.random_bits %s, %s sizes() : tensor<?xui32>
  return
}

// -----

func.func @f(%s: i64) {
  // expected-error @+1 {{must be ranked tensor of 32-bit unsigned integer or 64-bit unsigned integer values}}
  %0 = prim.random_bits %s, %s sizes() : tensor<3xi32>
  return
}

// -----

func.func @f() -> i64 {
  // expected-error @+1 {{draws from generator 1, the module has 0 beside the context's}}
  %0 = prim.random_draw 1 : i64
  return %0 : i64
}

// -----

func.func @f() -> i64 {
  // expected-error @+1 {{attribute 'generator' failed to satisfy constraint}}
  %0 = prim.random_draw -1 : i64
  return %0 : i64
}

// -----

func.func @kind_of_result(%c: i1, %x: tensor<2xf32>) {
  // expected-error @+1 {{the then region: value 0 is 'tensor<2xf32>' and goes on as 'tensor<2xf16>'}}
  %0 = prim.if %c {
    prim.yield %x : tensor<2xf32>
  } else {
    prim.yield %x : tensor<2xf32>
  } : tensor<2xf16>
  return
}

// -----

func.func @kind_of_carried_value(%n: index, %c: i1) {
  // expected-error @+1 {{the body: value 0 is 'index' and goes on as 'f16'}}
  %0 = prim.while(%n) {
  ^bb0(%i: index):
    prim.yield %c : i1
  } do {
  ^bb0(%i: index):
    prim.yield %i : index
  } : (index) -> f16
  return
}

// -----

func.func @kind_of_argument(%x: tensor<2x3xf32>, %c: i1) {
  // expected-error @+1 {{carried value 0 is 'tensor<2x3xf32>' and goes on as 'tensor<?x4xf32>'}}
  %0 = prim.while(%x) {
  ^bb0(%i: tensor<?x4xf32>):
    prim.yield %c : i1
  } do {
  ^bb0(%i: tensor<?x4xf32>):
    prim.yield %i : tensor<?x4xf32>
  } : (tensor<2x3xf32>) -> tensor<?x4xf32>
  return
}
