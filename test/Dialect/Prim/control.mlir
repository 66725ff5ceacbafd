// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK-LABEL: func @branch
func.func @branch(%c: i1, %x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: prim.if %{{.*}} {
  // CHECK:   prim.yield %{{.*}} : tensor<?xf32>
  // CHECK: } else {
  // CHECK: } : tensor<?xf32>
  %0 = prim.if %c {
    %1 = prim.neg %x : (tensor<?xf32>) -> tensor<?xf32>
    prim.yield %1 : tensor<?xf32>
  } else {
    prim.yield %x : tensor<?xf32>
  } : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func @loop
func.func @loop(%n: index, %x: tensor<?xf32>) -> tensor<?xf32> {
  %one = arith.constant 1 : index
  // CHECK: prim.while(%{{.*}}, %{{.*}}) {
  // CHECK: } do {
  // CHECK: } : (index, tensor<?xf32>) -> (index, tensor<?xf32>)
  %r:2 = prim.while(%one, %x) {
  ^bb0(%i: index, %t: tensor<?xf32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %t: tensor<?xf32>):
    %j = arith.addi %i, %one : index
    prim.yield %j, %t : index, tensor<?xf32>
  } : (index, tensor<?xf32>) -> (index, tensor<?xf32>)
  return %r#1 : tensor<?xf32>
}

// CHECK-LABEL: func @random
func.func @random(%n: index) -> (tensor<?x3xui32>, tensor<4xui64>) {
  // CHECK: %[[SEED:.*]] = prim.random_seed : i64
  // CHECK: %[[DRAW:.*]] = prim.random_draw 0 : i64
  // CHECK: prim.random_bits %[[SEED]], %[[DRAW]] sizes(%{{.*}}) : tensor<?x3xui32>
  // CHECK: prim.random_bits %[[SEED]], %[[DRAW]] sizes() : tensor<4xui64>
  %seed = prim.random_seed : i64
  %draw = prim.random_draw 0 : i64
  %0 = prim.random_bits %seed, %draw sizes(%n) : tensor<?x3xui32>
  %1 = prim.random_bits %seed, %draw sizes() : tensor<4xui64>
  return %0, %1 : tensor<?x3xui32>, tensor<4xui64>
}

// CHECK-LABEL: func @others
func.func @others(%c: i1) {
  // CHECK: prim.assert %{{.*}}, "the batch is empty"
  prim.assert %c, "the batch is empty"
  return
}
