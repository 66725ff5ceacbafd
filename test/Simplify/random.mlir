// Two draws stay two, are never computed by the compiler, and count even where nobody reads them.
// RUN: tcc-opt %s -tcc-simplify-fold-constants -tcc-simplify-common-subexpressions -canonicalize | FileCheck %s

module attributes {tcc.generators = 1 : i64} {
// CHECK-LABEL: func @draws
// CHECK: %[[SEED:.*]] = prim.random_seed : i64
// CHECK-NOT: prim.random_seed
// CHECK: %[[A:.*]] = prim.random_draw 0 : i64
// CHECK: prim.random_bits %[[SEED]], %[[A]]
// CHECK: %[[B:.*]] = prim.random_draw 0 : i64
// CHECK: prim.random_bits %[[SEED]], %[[B]]
// CHECK: prim.random_draw 0 : i64
// CHECK: prim.random_draw 1 : i64
// CHECK: prim.random_bits
// CHECK: return
func.func @draws() -> (tensor<4xui32>, tensor<4xui32>, tensor<4xui32>) {
  %s0 = prim.random_seed : i64
  %a = prim.random_draw 0 : i64
  %0 = prim.random_bits %s0, %a sizes() : tensor<4xui32>
  %s1 = prim.random_seed : i64
  %b = prim.random_draw 0 : i64
  %1 = prim.random_bits %s1, %b sizes() : tensor<4xui32>
  %unread = prim.random_draw 0 : i64
  %key = arith.constant 7 : i64
  %c = prim.random_draw 1 : i64
  %2 = prim.random_bits %key, %c sizes() : tensor<4xui32>
  return %0, %1, %2 : tensor<4xui32>, tensor<4xui32>, tensor<4xui32>
}

// Equal branches draw different numbers.
// CHECK-LABEL: func @branches
// CHECK-COUNT-2: prim.if
func.func @branches(%c: i1, %x: tensor<4xui32>) -> (tensor<4xui32>, tensor<4xui32>) {
  %s = prim.random_seed : i64
  %a = prim.if %c {
    %d = prim.random_draw 0 : i64
    %0 = prim.random_bits %s, %d sizes() : tensor<4xui32>
    prim.yield %0 : tensor<4xui32>
  } else {
    prim.yield %x : tensor<4xui32>
  } : tensor<4xui32>
  %b = prim.if %c {
    %d = prim.random_draw 0 : i64
    %0 = prim.random_bits %s, %d sizes() : tensor<4xui32>
    prim.yield %0 : tensor<4xui32>
  } else {
    prim.yield %x : tensor<4xui32>
  } : tensor<4xui32>
  return %a, %b : tensor<4xui32>, tensor<4xui32>
}
}
