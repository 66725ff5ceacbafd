// RUN: tcc-opt %s -split-input-file -tcc-plan-memory | FileCheck %s

// A kernel that changes a part of what a loop carries changes it in place.
// CHECK-LABEL: func.func @main
// CHECK: } do {
// CHECK: ^bb0(%{{.*}}: index, %[[ALL:.*]]: memref<?x8xf32>):
// CHECK: host.launch @k0_insert ins(%[[ALL]], {{.*}}) outs(%[[ALL]] :
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi
// CHECK-NEXT: scf.yield %[[NEXT]], %[[ALL]]
func.func @main(%n: index, %u: tensor<1x8xf32>, %init: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = prim.while(%c0, %init) {
  ^bb0(%i: index, %all: tensor<?x8xf32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %all: tensor<?x8xf32>):
    %m = prim.dim %all, 0 : tensor<?x8xf32>
    %0 = kernel.launch special "insert" ins(%all, %u, %i : tensor<?x8xf32>, tensor<1x8xf32>, index) sizes(%m) {
    ^bb0(%a: tensor<?x8xf32>, %b: tensor<1x8xf32>, %at: index):
      %1 = prim.insert_slice %a, %b starts [-9223372036854775808, 0](%at) steps [1, 1] : (tensor<?x8xf32>, tensor<1x8xf32>, index) -> tensor<?x8xf32>
      kernel.yield %1 : tensor<?x8xf32>
    } -> tensor<?x8xf32>
    %next = arith.addi %i, %c1 : index
    prim.yield %next, %0 : index, tensor<?x8xf32>
  } : (index, tensor<?x8xf32>) -> (index, tensor<?x8xf32>)
  return %r#1 : tensor<?x8xf32>
}

// -----

// Not where the loop needs the old value as well.
// CHECK-LABEL: func.func @main
// CHECK: } do {
// CHECK: ^bb0(%{{.*}}: index, %[[ALL:.*]]: memref<?x8xf32>, %[[OLD:.*]]: memref<?x8xf32>):
// CHECK: %[[NEW:.*]] = host.alloc sizes(
// CHECK: host.launch @k0_insert ins(%[[ALL]], {{.*}}) outs(%[[NEW]] :
func.func @main(%n: index, %u: tensor<1x8xf32>, %init: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = prim.while(%c0, %init, %init) {
  ^bb0(%i: index, %all: tensor<?x8xf32>, %old: tensor<?x8xf32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %all: tensor<?x8xf32>, %old: tensor<?x8xf32>):
    %m = prim.dim %all, 0 : tensor<?x8xf32>
    %0 = kernel.launch special "insert" ins(%all, %u, %i : tensor<?x8xf32>, tensor<1x8xf32>, index) sizes(%m) {
    ^bb0(%a: tensor<?x8xf32>, %b: tensor<1x8xf32>, %at: index):
      %1 = prim.insert_slice %a, %b starts [-9223372036854775808, 0](%at) steps [1, 1] : (tensor<?x8xf32>, tensor<1x8xf32>, index) -> tensor<?x8xf32>
      kernel.yield %1 : tensor<?x8xf32>
    } -> tensor<?x8xf32>
    %next = arith.addi %i, %c1 : index
    prim.yield %next, %0, %all : index, tensor<?x8xf32>, tensor<?x8xf32>
  } : (index, tensor<?x8xf32>, tensor<?x8xf32>) -> (index, tensor<?x8xf32>, tensor<?x8xf32>)
  return %r#2 : tensor<?x8xf32>
}

// -----

// A scatter writes over a tensor that dies there; not over a function's argument.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = host.slice %{{.*}}[0]
// CHECK: host.launch @k0_argument ins(%{{.*}}) outs(%[[A]] :
// CHECK: %[[D:.*]] = host.slice %{{.*}}[0]
// CHECK: host.launch @k0_argument ins(%[[A]], {{.*}}) outs(%[[D]] :
module {
  func.func @main(%x: tensor<16xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<16xf32> {
    %0 = kernel.launch special "argument" ins(%x, %i, %u : tensor<16xf32>, tensor<2xi64>, tensor<2xf32>) sizes() {
    ^bb0(%a: tensor<16xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>):
      %1 = prim.scatter_along assign %a, %b, %c axis 0 : (tensor<16xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<16xf32>
      kernel.yield %1 : tensor<16xf32>
    } -> tensor<16xf32>
    %2 = kernel.launch special "dying" ins(%0, %i, %u : tensor<16xf32>, tensor<2xi64>, tensor<2xf32>) sizes() {
    ^bb0(%a: tensor<16xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>):
      %1 = prim.scatter_along assign %a, %b, %c axis 0 : (tensor<16xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<16xf32>
      kernel.yield %1 : tensor<16xf32>
    } -> tensor<16xf32>
    %3 = kernel.launch loop "last" ins(%2 : tensor<16xf32>) sizes() {
    ^bb0(%a: tensor<16xf32>):
      %1 = prim.exp %a : (tensor<16xf32>) -> tensor<16xf32>
      kernel.yield %1 : tensor<16xf32>
    } -> tensor<16xf32>
    return %3 : tensor<16xf32>
  }
}

// -----

// A cache that the model changes: a part of it, where it lies. Nothing is written at the end.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9]*]]: memref<2x8xf32>, %[[CACHE:[a-z0-9]*]]: memref<16x8xf32>
// CHECK: host.launch @k0_insert ins(%[[CACHE]], %[[X]] : {{.*}}) outs(%[[CACHE]] :
// CHECK: host.launch @k1_exp ins(%[[CACHE]] :
// CHECK-NOT: host.copy
// CHECK: return {{.*}}, %[[CACHE]] :
func.func @main(%x: tensor<2x8xf32>, %cache: tensor<16x8xf32> {graph.state = "cache", graph.name = "cache"})
    -> (tensor<16x8xf32>, tensor<16x8xf32> {graph.mutates = "cache"}) {
  %0 = kernel.launch special "insert" ins(%cache, %x : tensor<16x8xf32>, tensor<2x8xf32>) sizes() {
  ^bb0(%a: tensor<16x8xf32>, %b: tensor<2x8xf32>):
    %1 = prim.insert_slice %a, %b starts [3, 0]() steps [1, 1] : (tensor<16x8xf32>, tensor<2x8xf32>) -> tensor<16x8xf32>
    kernel.yield %1 : tensor<16x8xf32>
  } -> tensor<16x8xf32>
  %2 = kernel.launch loop "exp" ins(%0 : tensor<16x8xf32>) sizes() {
  ^bb0(%a: tensor<16x8xf32>):
    %1 = prim.exp %a : (tensor<16x8xf32>) -> tensor<16x8xf32>
    kernel.yield %1 : tensor<16x8xf32>
  } -> tensor<16x8xf32>
  return %2, %0 : tensor<16x8xf32>, tensor<16x8xf32>
}

// -----

// Not where a later kernel needs what was there.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9]*]]: memref<2x8xf32>, %[[CACHE:[a-z0-9]*]]: memref<16x8xf32>
// CHECK: %[[NEW:.*]] = host.slice
// CHECK: host.launch @k0_insert ins(%[[CACHE]], %[[X]] : {{.*}}) outs(%[[NEW]] :
// CHECK: host.launch @k1_exp ins(%[[CACHE]] :
// CHECK: host.copy %[[NEW]] to %[[CACHE]]
func.func @main(%x: tensor<2x8xf32>, %cache: tensor<16x8xf32> {graph.state = "cache", graph.name = "cache"})
    -> (tensor<16x8xf32>, tensor<16x8xf32> {graph.mutates = "cache"}) {
  %0 = kernel.launch special "insert" ins(%cache, %x : tensor<16x8xf32>, tensor<2x8xf32>) sizes() {
  ^bb0(%a: tensor<16x8xf32>, %b: tensor<2x8xf32>):
    %1 = prim.insert_slice %a, %b starts [3, 0]() steps [1, 1] : (tensor<16x8xf32>, tensor<2x8xf32>) -> tensor<16x8xf32>
    kernel.yield %1 : tensor<16x8xf32>
  } -> tensor<16x8xf32>
  %2 = kernel.launch loop "exp" ins(%cache : tensor<16x8xf32>) sizes() {
  ^bb0(%a: tensor<16x8xf32>):
    %1 = prim.exp %a : (tensor<16x8xf32>) -> tensor<16x8xf32>
    kernel.yield %1 : tensor<16x8xf32>
  } -> tensor<16x8xf32>
  return %2, %0 : tensor<16x8xf32>, tensor<16x8xf32>
}
