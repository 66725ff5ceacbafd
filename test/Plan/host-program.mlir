// RUN: tcc-opt %s -split-input-file -tcc-plan-memory | FileCheck %s

// What no kernel writes is copied to its output. Buffers that change places are saved
// first, and written when all else is done.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<4xf32> {graph.name = "a", graph.state = "a"}
// CHECK-SAME: %[[B:[a-z0-9]*]]: memref<4xf32> {graph.name = "b", graph.state = "b"}
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<4xf32>
// CHECK: %[[Y:.*]] = host.output 0 sizes() : memref<4xf32>
// CHECK: host.copy %[[X]] to %[[Y]]
// CHECK: %[[OLDB:.*]] = host.alloc sizes() : memref<4xf32>
// CHECK: host.copy %[[B]] to %[[OLDB]]
// CHECK: %[[OLDA:.*]] = host.alloc sizes() : memref<4xf32>
// CHECK: host.copy %[[A]] to %[[OLDA]]
// CHECK: host.copy %[[OLDB]] to %[[A]]
// CHECK: host.copy %[[OLDA]] to %[[B]]
// CHECK: host.free %[[OLDB]]
// CHECK: host.free %[[OLDA]]
// CHECK: return %[[A]], %[[Y]], %[[B]]
func.func @main(%a: tensor<4xf32> {graph.name = "a", graph.state = "a"}, %b: tensor<4xf32> {graph.name = "b", graph.state = "b"}, %x: tensor<4xf32>)
    -> (tensor<4xf32> {graph.mutates = "a"}, tensor<4xf32>, tensor<4xf32> {graph.mutates = "b"}) {
  return %b, %x, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A loop owns what it carries: it is copied on the way in, the next turn's value, which
// lies in the arena, over the last turn's, and freed when its last reader is done.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[N:[a-z0-9]*]]: index, %[[X:[a-z0-9]*]]: memref<4xf32>)
// CHECK: %[[ARENA:.*]] = host.arena 64
// CHECK: %[[FIRST:.*]] = host.alloc sizes() : memref<4xf32>
// CHECK: host.copy %[[X]] to %[[FIRST]]
// CHECK: %[[R:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[FIRST]])
// CHECK: do {
// CHECK: ^bb0(%{{.*}}: index, %[[LAST:.*]]: memref<4xf32>):
// CHECK: %[[NEXT:.*]] = host.slice %[[ARENA]][0]
// CHECK: host.launch @k0_next ins(%[[LAST]] : {{.*}}) outs(%[[NEXT]] :
// CHECK: host.copy %[[NEXT]] to %[[LAST]]
// CHECK: scf.yield %{{.*}}, %[[LAST]]
// CHECK: %[[Y:.*]] = host.output 0
// CHECK: host.launch @k1_after ins(%[[R]]#1 : {{.*}}) outs(%[[Y]] :
// CHECK: host.free %[[R]]#1
func.func @main(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = prim.while(%c0, %x) {
  ^bb0(%i: index, %v: tensor<4xf32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %v: tensor<4xf32>):
    %0 = kernel.launch loop "next" ins(%v : tensor<4xf32>) sizes() {
    ^bb0(%a: tensor<4xf32>):
      %1 = prim.reverse %a [0] : (tensor<4xf32>) -> tensor<4xf32>
      kernel.yield %1 : tensor<4xf32>
    } -> tensor<4xf32>
    %next = arith.addi %i, %c1 : index
    prim.yield %next, %0 : index, tensor<4xf32>
  } : (index, tensor<4xf32>) -> (index, tensor<4xf32>)
  %y = kernel.launch loop "after" ins(%r#1 : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    %1 = prim.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %1 : tensor<4xf32>
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A block of the heap leaves a branch as it is; what lies elsewhere leaves as a copy.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[C:[a-z0-9]*]]: i1, %[[X:[a-z0-9]*]]: memref<?xf32>)
// CHECK: %[[N:.*]] = host.dim %[[X]], 0
// CHECK: %[[R:.*]] = scf.if %[[C]] -> (memref<?xf32>) {
// CHECK: %[[V:.*]] = host.alloc sizes(%[[N]]) : memref<?xf32>
// CHECK: host.launch @k0_then ins(%[[X]] : {{.*}}) outs(%[[V]] :
// CHECK: scf.yield %[[V]]
// CHECK: } else {
// CHECK: %[[COPY:.*]] = host.alloc sizes(%[[N]]) : memref<?xf32>
// CHECK: host.copy %[[X]] to %[[COPY]]
// CHECK: scf.yield %[[COPY]]
// CHECK: %[[M:.*]] = host.dim %[[R]], 0
// CHECK: %[[Y:.*]] = host.output 0 sizes(%[[M]])
// CHECK: host.copy %[[R]] to %[[Y]]
func.func @main(%c: i1, %x: tensor<?xf32>) -> tensor<?xf32> {
  %n = prim.dim %x, 0 : tensor<?xf32>
  %r = prim.if %c {
    %0 = kernel.launch loop "then" ins(%x : tensor<?xf32>) sizes(%n) {
    ^bb0(%a: tensor<?xf32>):
      %1 = prim.exp %a : (tensor<?xf32>) -> tensor<?xf32>
      kernel.yield %1 : tensor<?xf32>
    } -> tensor<?xf32>
    prim.yield %0 : tensor<?xf32>
  } else {
    prim.yield %x : tensor<?xf32>
  } : tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// A reshape with open extents has others than its operand, also where their types are one.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<?x?xf32>
// CHECK: %[[VIEW:.*]] = host.view %[[X]] sizes(%{{.*}}, %{{.*}}) : memref<?x?xf32> -> memref<?x?xf32>
// CHECK: host.launch @k0_reverse ins(%[[VIEW]] :
func.func @main(%x: tensor<?x?xf32>, %a: index, %b: index) -> tensor<?x?xf32> {
  %0 = prim.reshape %x sizes(%a, %b) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = kernel.launch loop "reverse" ins(%0 : tensor<?x?xf32>) sizes(%a, %b) {
  ^bb0(%v: tensor<?x?xf32>):
    %2 = prim.reverse %v [0] : (tensor<?x?xf32>) -> tensor<?x?xf32>
    kernel.yield %2 : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}
