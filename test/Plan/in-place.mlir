// RUN: tcc-opt %s -split-input-file -tcc-plan-memory | FileCheck %s

// Each reads point by point what dies there: one buffer, and the output.
// CHECK: %[[ARENA:.*]] = host.arena 256
// CHECK: %[[A:.*]] = host.slice %[[ARENA]][0]
// CHECK: host.launch @k0_a ins({{.*}}) outs(%[[A]] :
// CHECK: %[[R:.*]] = host.view %[[A]] sizes() : memref<64xf32> -> memref<1x64xf32>
// CHECK: %[[B:.*]] = host.slice %[[ARENA]][0]
// CHECK: host.launch @k1_b ins(%[[R]] : {{.*}}) outs(%[[B]] :
// CHECK: %[[C:.*]] = host.output 0
// CHECK: host.launch @k2_c ins(%[[B]] : {{.*}}) outs(%[[C]] :
module {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = kernel.launch loop "a" ins(%x : tensor<64xf32>) sizes() {
    ^bb0(%a: tensor<64xf32>):
      %1 = prim.exp %a : (tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %1 : tensor<64xf32>
    } -> tensor<64xf32>
    %r = prim.reshape %0 sizes() : (tensor<64xf32>) -> tensor<1x64xf32>
    %2 = kernel.launch loop "b" ins(%r : tensor<1x64xf32>) sizes() {
    ^bb0(%a: tensor<1x64xf32>):
      %1 = prim.reshape %a sizes() : (tensor<1x64xf32>) -> tensor<64xf32>
      %3 = prim.sin %1 : (tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %3 : tensor<64xf32>
    } -> tensor<64xf32>
    %4 = kernel.launch loop "c" ins(%2 : tensor<64xf32>) sizes() {
    ^bb0(%a: tensor<64xf32>):
      %1 = prim.cos %a : (tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %1 : tensor<64xf32>
    } -> tensor<64xf32>
    return %4 : tensor<64xf32>
  }
}

// -----

// Softmax writes over its input, and the next buffer comes into its place.
// CHECK: %[[ARENA:.*]] = host.arena 2048
// CHECK: %[[S:.*]] = host.slice %[[ARENA]][0]
// CHECK: host.launch @k0_scores ins({{.*}}) outs(%[[S]] :
// CHECK: %[[T:.*]] = host.slice %[[ARENA]][0]
// CHECK: host.launch @k1_softmax ins(%[[S]] : {{.*}}) outs(%[[T]] :
// CHECK: %[[U:.*]] = host.slice %[[ARENA]][1024]
// CHECK: host.launch @k2_transposed ins(%[[T]] : {{.*}}) outs(%[[U]] :
// CHECK: %[[Y:.*]] = host.output 0
// CHECK: host.launch @k3_last ins(%[[U]] : {{.*}}) outs(%[[Y]] :
module {
  func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
    %0 = kernel.launch loop "scores" ins(%x : tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>):
      %1 = prim.exp %a : (tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %1 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    %2 = kernel.launch row[1] "softmax" ins(%0 : tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>):
      %1 = prim.reduce sum %a [1] : (tensor<16x16xf32>) -> tensor<16xf32>
      %3 = prim.broadcast %1 axes [0] sizes() : (tensor<16xf32>) -> tensor<16x16xf32>
      %4 = prim.div %a, %3 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %4 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    // Reads at another point than it writes.
    %5 = kernel.launch loop "transposed" ins(%2 : tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>):
      %1 = prim.transpose %a [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
      %3 = prim.neg %1 : (tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %3 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    %6 = kernel.launch loop "last" ins(%5 : tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>):
      %1 = prim.neg %a : (tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %1 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    return %6 : tensor<16x16xf32>
  }
}

// -----

// Not written over: what is read later, what is read at two points, operands of a
// contraction. The residual that its epilogue adds is.
// CHECK: host.slice %[[ARENA:.*]]{{\[}}[[A:[0-9]+]]{{\]}} sizes()
// CHECK: host.launch @k0_a
// CHECK-NOT: host.slice %[[ARENA]]{{\[}}[[A]]{{\]}} sizes()
// CHECK: host.slice %[[ARENA]]{{\[}}[[B:[0-9]+]]{{\]}} sizes()
// CHECK: host.launch @k1_b
// CHECK-NOT: host.slice %[[ARENA]]{{\[}}[[B]]{{\]}} sizes()
// CHECK: host.slice %[[ARENA]]{{\[}}[[R:[0-9]+]]{{\]}} sizes()
// CHECK: host.launch @k2_reversed
// CHECK: host.slice %[[ARENA]]{{\[}}[[R]]{{\]}} sizes()
// CHECK: host.launch @k3_product
// CHECK: host.output 0
// CHECK: host.launch @k4_last
module {
  func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
    %0 = kernel.launch loop "a" ins(%x : tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>):
      %1 = prim.exp %a : (tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %1 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    %2 = kernel.launch loop "b" ins(%0 : tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>):
      %1 = prim.sin %a : (tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %1 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    %5 = kernel.launch loop "reversed" ins(%2 : tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>):
      %1 = prim.reverse %a [1] : (tensor<16x16xf32>) -> tensor<16x16xf32>
      %3 = prim.add %1, %a : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %3 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    %6 = kernel.launch contraction "product" ins(%0, %5 : tensor<16x16xf32>, tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>, %r: tensor<16x16xf32>):
      %1 = prim.dot %a, %a batch [] x [] contract [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
      %3 = prim.add %1, %r : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %3 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    %7 = kernel.launch loop "last" ins(%6 : tensor<16x16xf32>) sizes() {
    ^bb0(%a: tensor<16x16xf32>):
      %1 = prim.neg %a : (tensor<16x16xf32>) -> tensor<16x16xf32>
      kernel.yield %1 : tensor<16x16xf32>
    } -> tensor<16x16xf32>
    return %7 : tensor<16x16xf32>
  }
}

// -----

// What has a size only at run time is allocated then, and written over like the rest.
// CHECK-NOT: host.arena
// CHECK: %[[A:.*]] = host.alloc sizes(
// CHECK: host.launch @k0_a ins({{.*}}) outs(%[[A]] :
// CHECK: host.launch @k0_a ins(%[[A]] : {{.*}}) outs(%[[A]] :
// CHECK: %[[C:.*]] = host.alloc sizes(
// CHECK: host.launch @k1_cut ins(%[[A]], {{.*}}) outs(%[[C]] :
// CHECK: host.free %[[A]]
// CHECK: %[[Y:.*]] = host.output 0
// CHECK: host.launch @k0_a ins(%[[C]] : {{.*}}) outs(%[[Y]] :
// CHECK: host.free %[[C]]
module {
  func.func @main(%x: tensor<?xf32>, %m: index) -> tensor<?xf32> {
    %n = prim.dim %x, 0 : tensor<?xf32>
    %0 = kernel.launch loop "a" ins(%x : tensor<?xf32>) sizes(%n) {
    ^bb0(%a: tensor<?xf32>):
      %1 = prim.exp %a : (tensor<?xf32>) -> tensor<?xf32>
      kernel.yield %1 : tensor<?xf32>
    } -> tensor<?xf32>
    %2 = kernel.launch loop "b" ins(%0 : tensor<?xf32>) sizes(%n) {
    ^bb0(%a: tensor<?xf32>):
      %1 = prim.exp %a : (tensor<?xf32>) -> tensor<?xf32>
      kernel.yield %1 : tensor<?xf32>
    } -> tensor<?xf32>
    // Has another size.
    %3 = kernel.launch loop "cut" ins(%2, %m : tensor<?xf32>, index) sizes(%m) {
    ^bb0(%a: tensor<?xf32>, %c: index):
      %1 = prim.slice %a starts [0]() steps [1] sizes(%c) : (tensor<?xf32>) -> tensor<?xf32>
      %4 = prim.exp %1 : (tensor<?xf32>) -> tensor<?xf32>
      kernel.yield %4 : tensor<?xf32>
    } -> tensor<?xf32>
    %5 = kernel.launch loop "last" ins(%3 : tensor<?xf32>) sizes(%m) {
    ^bb0(%a: tensor<?xf32>):
      %1 = prim.exp %a : (tensor<?xf32>) -> tensor<?xf32>
      kernel.yield %1 : tensor<?xf32>
    } -> tensor<?xf32>
    return %5 : tensor<?xf32>
  }
}

// -----

// The last kernel of a turn to read what is carried writes over it, whoever read it before.
// CHECK: scf.while (%[[V:.*]] = %{{.*}})
// CHECK: ^bb0(%[[C:.*]]: memref<64xf32>):
// CHECK: host.launch @k0_first ins(%[[C]] : {{.*}}) outs(%[[S:.*]] :
// CHECK: host.launch @k1_last ins(%[[C]], %[[S]] : {{.*}}) outs(%[[C]] :
// CHECK-NOT: host.copy
// CHECK: scf.yield %[[C]]
// What is carried on as it was keeps its block.
// CHECK: scf.while
// CHECK: ^bb0(%[[C:.*]]: memref<64xf32>, %[[D:.*]]: memref<64xf32>):
// CHECK: host.launch @k2_other ins(%[[C]] : {{.*}}) outs(%[[NEW:.*]] :
// CHECK-NOT: host.launch @k2_other ins(%[[C]] : {{.*}}) outs(%[[C]] :
func.func @main(%x: tensor<64xf32>, %n: i1) -> (tensor<64xf32>, tensor<64xf32>) {
  %r = prim.while(%x) {
  ^bb0(%v: tensor<64xf32>):
    prim.yield %n : i1
  } do {
  ^bb0(%v: tensor<64xf32>):
    %0 = kernel.launch row[0] "first" ins(%v : tensor<64xf32>) sizes() {
    ^bb0(%a: tensor<64xf32>):
      %1 = prim.reduce sum %a [0] : (tensor<64xf32>) -> tensor<f32>
      kernel.yield %1 : tensor<f32>
    } -> tensor<f32>
    %2 = kernel.launch loop "last" ins(%v, %0 : tensor<64xf32>, tensor<f32>) sizes() {
    ^bb0(%a: tensor<64xf32>, %s: tensor<f32>):
      %1 = prim.broadcast %s axes [] sizes() : (tensor<f32>) -> tensor<64xf32>
      %3 = prim.div %a, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %3 : tensor<64xf32>
    } -> tensor<64xf32>
    prim.yield %2 : tensor<64xf32>
  } : (tensor<64xf32>) -> tensor<64xf32>
  %q:2 = prim.while(%x, %r) {
  ^bb0(%v: tensor<64xf32>, %w: tensor<64xf32>):
    prim.yield %n : i1
  } do {
  ^bb0(%v: tensor<64xf32>, %w: tensor<64xf32>):
    %0 = kernel.launch loop "other" ins(%v : tensor<64xf32>) sizes() {
    ^bb0(%a: tensor<64xf32>):
      %1 = prim.exp %a : (tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %1 : tensor<64xf32>
    } -> tensor<64xf32>
    prim.yield %0, %v : tensor<64xf32>, tensor<64xf32>
  } : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %q#0, %q#1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// The condition of a loop does not write over what is carried, which the body reads after it.
// CHECK: scf.while (%[[V:.*]] = %{{.*}})
// CHECK: %[[MORE:.*]] = host.slice
// CHECK: host.launch @k0_more ins(%[[V]] : {{.*}}) outs(%[[MORE]] :
// CHECK-NOT: host.free
// CHECK: scf.condition(%{{.*}}) %[[V]]
func.func @main(%x: tensor<1xi8>) -> tensor<1xi8> {
  %r = prim.while(%x) {
  ^bb0(%v: tensor<1xi8>):
    %0 = kernel.launch loop "more" ins(%v : tensor<1xi8>) sizes() {
    ^bb0(%a: tensor<1xi8>):
      %1 = prim.constant dense<0> : tensor<1xi8>
      %2 = prim.compare ne %a, %1 : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi1>
      kernel.yield %2 : tensor<1xi1>
    } -> tensor<1xi1>
    %more = prim.extract %0[0] : (tensor<1xi1>) -> i1
    prim.yield %more : i1
  } do {
  ^bb0(%v: tensor<1xi8>):
    %0 = kernel.launch loop "next" ins(%v : tensor<1xi8>) sizes() {
    ^bb0(%a: tensor<1xi8>):
      %1 = prim.rem %a, %a : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
      kernel.yield %1 : tensor<1xi8>
    } -> tensor<1xi8>
    prim.yield %0 : tensor<1xi8>
  } : (tensor<1xi8>) -> tensor<1xi8>
  return %r : tensor<1xi8>
}

// -----

// A loop inside goes on in the block that its first turn takes over: what follows it in the turn
// around it has a block of its own.
// CHECK: do {
// CHECK: ^bb0(%{{.*}}: index, %[[V:.*]]: memref<4xf32>):
// CHECK: %[[INNER:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[V]])
// CHECK: %[[NEXT:.*]] = host.alloc sizes() : memref<4xf32>
// CHECK: host.launch @{{.*}}after ins(%[[INNER]]#1 : {{.*}}) outs(%[[NEXT]] :
// CHECK: host.free %[[INNER]]#1
// CHECK: scf.yield %{{.*}}, %[[NEXT]]
func.func @main(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = prim.while(%c0, %x) {
  ^bb0(%i: index, %v: tensor<4xf32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %v: tensor<4xf32>):
    %s:2 = prim.while(%c0, %v) {
    ^bb0(%j: index, %w: tensor<4xf32>):
      %again = arith.cmpi slt, %j, %i : index
      prim.yield %again : i1
    } do {
    ^bb0(%j: index, %w: tensor<4xf32>):
      %0 = kernel.launch loop "step" ins(%w : tensor<4xf32>) sizes() {
      ^bb0(%a: tensor<4xf32>):
        %1 = prim.exp %a : (tensor<4xf32>) -> tensor<4xf32>
        kernel.yield %1 : tensor<4xf32>
      } -> tensor<4xf32>
      %following = arith.addi %j, %c1 : index
      prim.yield %following, %0 : index, tensor<4xf32>
    } : (index, tensor<4xf32>) -> (index, tensor<4xf32>)
    %0 = kernel.launch loop "after" ins(%s#1 : tensor<4xf32>) sizes() {
    ^bb0(%a: tensor<4xf32>):
      %1 = prim.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
      kernel.yield %1 : tensor<4xf32>
    } -> tensor<4xf32>
    %next = arith.addi %i, %c1 : index
    prim.yield %next, %0 : index, tensor<4xf32>
  } : (index, tensor<4xf32>) -> (index, tensor<4xf32>)
  return %r#1 : tensor<4xf32>
}
