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

// A loop owns what it carries: it is copied on the way in, the next turn's value takes the place of
// the last turn's, and it is freed when its last reader is done. A value that is made of the last
// turn's has a block of its own.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[N:[a-z0-9]*]]: index, %[[X:[a-z0-9]*]]: memref<4xf32>)
// CHECK: %[[FIRST:.*]] = host.alloc sizes() : memref<4xf32>
// CHECK: host.copy %[[X]] to %[[FIRST]]
// CHECK: %[[R:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[FIRST]])
// CHECK: do {
// CHECK: ^bb0(%{{.*}}: index, %[[LAST:.*]]: memref<4xf32>):
// CHECK: %[[NEXT:.*]] = host.alloc sizes() : memref<4xf32>
// CHECK: host.launch @k0_next ins(%[[LAST]] : {{.*}}) outs(%[[NEXT]] :
// CHECK: host.free %[[LAST]]
// CHECK: scf.yield %{{.*}}, %[[NEXT]]
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

// What only earlier launches of a turn read is written over by its next value; what two results come
// from keeps its block, and so does what is carried as it is.
// CHECK-LABEL: func.func @main(
// CHECK: ^bb0(%{{.*}}: index, %[[H:.*]]: memref<4xf32>, %[[C:.*]]: memref<4xf32>, %[[X:.*]]: memref<4xf32>):
// CHECK: host.launch @k0_gates ins(%[[H]] : {{.*}}) outs(%[[GATES:.*]] :
// CHECK: %[[NEXT:.*]] = host.alloc sizes() : memref<4xf32>
// CHECK: host.launch @k1_cell ins(%[[GATES]], %[[C]] : {{.*}}) outs(%[[H]], %[[NEXT]] :
// CHECK: host.free %[[C]]
// CHECK: scf.yield %{{.*}}, %[[H]], %[[NEXT]], %[[X]]
func.func @main(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:4 = prim.while(%c0, %x, %x, %x) {
  ^bb0(%i: index, %h: tensor<4xf32>, %c: tensor<4xf32>, %v: tensor<4xf32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %h: tensor<4xf32>, %c: tensor<4xf32>, %v: tensor<4xf32>):
    %gates = kernel.launch loop "gates" ins(%h : tensor<4xf32>) sizes() {
    ^bb0(%a: tensor<4xf32>):
      %1 = prim.reverse %a [0] : (tensor<4xf32>) -> tensor<4xf32>
      kernel.yield %1 : tensor<4xf32>
    } -> tensor<4xf32>
    %cell:2 = kernel.launch loop "cell" ins(%gates, %c : tensor<4xf32>, tensor<4xf32>) sizes() {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %1 = prim.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %2 = prim.tanh %1 : (tensor<4xf32>) -> tensor<4xf32>
      kernel.yield %2, %1 : tensor<4xf32>, tensor<4xf32>
    } -> tensor<4xf32>, tensor<4xf32>
    %next = arith.addi %i, %c1 : index
    prim.yield %next, %cell#0, %cell#1, %v : index, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (index, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (index, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %r#1 : tensor<4xf32>
}

// -----

// A row that nobody else reads is written where it is inserted, and the launch that would insert it is none.
// CHECK-LABEL: func.func @main(
// CHECK: ^bb0(%[[I:.*]]: index, %[[H:.*]]: memref<16xf32>, %[[ALL:.*]]: memref<8x16xf32>):
// CHECK: %[[NEXT:.*]] = host.alloc sizes() : memref<16xf32>
// CHECK: %[[EACH:.*]] = arith.constant 16 : index
// CHECK: %[[AT:.*]] = arith.muli %[[I]], %[[EACH]]
// CHECK: %[[ROW:.*]] = host.part %[[ALL]][%[[AT]]] : memref<8x16xf32> -> memref<16xf32>
// CHECK: host.launch @k0_next ins(%[[H]] : {{.*}}) outs(%[[NEXT]], %[[ROW]] :
// CHECK-NOT: host.launch
// CHECK: scf.yield %{{.*}}, %[[NEXT]], %[[ALL]]
func.func @main(%n: index, %x: tensor<16xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = prim.while(%c0, %x, %y) {
  ^bb0(%i: index, %h: tensor<16xf32>, %all: tensor<8x16xf32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %h: tensor<16xf32>, %all: tensor<8x16xf32>):
    %next:2 = kernel.launch loop "next" ins(%h : tensor<16xf32>) sizes() {
    ^bb0(%a: tensor<16xf32>):
      %1 = prim.reverse %a [0] : (tensor<16xf32>) -> tensor<16xf32>
      kernel.yield %1, %1 : tensor<16xf32>, tensor<16xf32>
    } -> tensor<16xf32>, tensor<16xf32>
    %rows = kernel.launch special "insert_slice" ins(%all, %next#1, %i : tensor<8x16xf32>, tensor<16xf32>, index) sizes() {
    ^bb0(%a: tensor<8x16xf32>, %b: tensor<16xf32>, %at: index):
      %1 = prim.reshape %b sizes() : (tensor<16xf32>) -> tensor<1x16xf32>
      %2 = prim.insert_slice %a, %1 starts [-9223372036854775808, 0](%at) steps [1, 1] : (tensor<8x16xf32>, tensor<1x16xf32>, index) -> tensor<8x16xf32>
      kernel.yield %2 : tensor<8x16xf32>
    } -> tensor<8x16xf32>
    %after = arith.addi %i, %c1 : index
    prim.yield %after, %next#0, %rows : index, tensor<16xf32>, tensor<8x16xf32>
  } : (index, tensor<16xf32>, tensor<8x16xf32>) -> (index, tensor<16xf32>, tensor<8x16xf32>)
  return %r#2 : tensor<8x16xf32>
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

// -----

// A result that is returned in another shape, whose extents are known before it is made, lies in the output; not where they are
// told later.
// CHECK-LABEL: func.func @main(
// CHECK: %[[OUT:.*]] = host.output 0 sizes({{.*}}) : memref<?x?xf32>
// CHECK: %[[SEEN:.*]] = host.view %[[OUT]] sizes({{.*}}) : memref<?x?xf32> -> memref<?x?xf32>
// CHECK: host.launch @{{.*}} outs(%[[SEEN]] : memref<?x?xf32>)
// CHECK: host.launch
// CHECK: host.copy
// CHECK: return %[[OUT]]
func.func @main(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %a = prim.dim %x, 0 : tensor<?x?xf32>
  %b = prim.dim %x, 1 : tensor<?x?xf32>
  %0 = kernel.launch loop "neg" ins(%x : tensor<?x?xf32>) sizes(%a, %b) {
  ^bb0(%p: tensor<?x?xf32>):
    %n = prim.neg %p : (tensor<?x?xf32>) -> tensor<?x?xf32>
    kernel.yield %n : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  %1 = prim.reshape %0 sizes(%b, %a) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = kernel.launch loop "abs" ins(%x : tensor<?x?xf32>) sizes(%a, %b) {
  ^bb0(%p: tensor<?x?xf32>):
    %n = prim.abs %p : (tensor<?x?xf32>) -> tensor<?x?xf32>
    kernel.yield %n : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  %c = prim.dim %y, 0 : tensor<?xf32>
  %3 = prim.reshape %2 sizes(%c, %b) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %1, %3 : tensor<?x?xf32>, tensor<?x?xf32>
}
