// RUN: tcc-opt %s -split-input-file "-tcc-plan-memory=device" | FileCheck %s

// What launches read and write lies on the device: arguments, weights, the arena, outputs and
// state. A read of their memory is one of the device's, and a check of what it reads comes last.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<4xf32, #host.space<device>>
// CHECK-SAME: %[[S:[a-z0-9]*]]: memref<4xf32, #host.space<device>> {graph.name = "s", graph.state = "s"}
// CHECK-DAG: %[[ARENA:.*]] = host.arena 64 : <device>
// CHECK-DAG: %[[W:.*]] = host.weight "w" : memref<4xf32, #host.space<device>>
// CHECK: %[[A:.*]] = host.slice %[[ARENA]][0] sizes() : <device> -> memref<4xf32, #host.space<device>>
// CHECK: host.launch @k0_add ins(%[[X]], %[[W]] : {{.*}}) outs(%[[A]] :
// CHECK: %[[Y:.*]] = host.output 0 sizes() : memref<4xf32, #host.space<device>>
// CHECK: host.launch @k1_exp ins(%[[A]] : {{.*}}) outs(%[[Y]] :
// CHECK: host.read %[[A]][2] : (memref<4xf32, #host.space<device>>) -> f32
// CHECK: host.assert %{{.*}}, "negative"
// CHECK: host.copy %[[X]] to %[[SAVED:.*]] :
// CHECK: host.copy %[[SAVED]] to %[[S]]
func.func @main(%x: tensor<4xf32>, %s: tensor<4xf32> {graph.name = "s", graph.state = "s"})
    -> (tensor<4xf32>, tensor<4xf32> {graph.mutates = "s"}) {
  %w = prim.weight "w" : tensor<4xf32>
  %a = kernel.launch loop "add" ins(%x, %w : tensor<4xf32>, tensor<4xf32>) sizes() {
  ^bb0(%l: tensor<4xf32>, %r: tensor<4xf32>):
    %0 = prim.add %l, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %0 : tensor<4xf32>
  } -> tensor<4xf32>
  %v = prim.extract %a [2] : (tensor<4xf32>) -> f32
  %zero = arith.constant 0.0 : f32
  %good = arith.cmpf oge, %v, %zero : f32
  prim.assert %good, "negative"
  %y = kernel.launch loop "exp" ins(%a : tensor<4xf32>) sizes() {
  ^bb0(%l: tensor<4xf32>):
    %0 = prim.exp %l : (tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %0 : tensor<4xf32>
  } -> tensor<4xf32>
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// What only the host reads stays where it reads it: an input with a shape, a table. What a kernel
// reads as well is on the device.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[N:[a-z0-9]*]]: memref<1xi64>,
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<?xf32, #host.space<device>>)
// CHECK: %[[C:.*]] = host.constant dense<[3, 4]> : tensor<2xi64> : memref<2xi64>
// CHECK: %[[FLAT:.*]] = host.view %[[N]] sizes() : memref<1xi64> -> memref<i64>
// CHECK: host.read %[[FLAT]][0] : (memref<i64>) -> index
// CHECK: host.read %[[C]][1] : (memref<2xi64>) -> index
// CHECK: host.alloc sizes({{.*}}) : memref<?xf32, #host.space<device>>
func.func @main(%n: tensor<1xi64>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %c = prim.constant dense<[3, 4]> : tensor<2xi64>
  %flat = prim.reshape %n sizes() : (tensor<1xi64>) -> tensor<i64>
  %size = prim.extract %flat [0] : (tensor<i64>) -> index
  %more = prim.extract %c [1] : (tensor<2xi64>) -> index
  %both = arith.addi %size, %more : index
  %a = kernel.launch loop "exp" ins(%x : tensor<?xf32>) sizes(%both) {
  ^bb0(%l: tensor<?xf32>):
    %0 = prim.exp %l : (tensor<?xf32>) -> tensor<?xf32>
    kernel.yield %0 : tensor<?xf32>
  } -> tensor<?xf32>
  %y = kernel.launch loop "neg" ins(%a : tensor<?xf32>) sizes(%both) {
  ^bb0(%l: tensor<?xf32>):
    %0 = prim.neg %l : (tensor<?xf32>) -> tensor<?xf32>
    %1 = prim.reverse %0 [0] : (tensor<?xf32>) -> tensor<?xf32>
    kernel.yield %1 : tensor<?xf32>
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// A check of data is made when all is done; what it reads stays until then. One that only looks at
// extents, and one whose data says how large something is, are made where they stand.
// CHECK-LABEL: func.func @main(
// CHECK: host.assert %{{.*}}, "too few"
// CHECK: %[[GOOD:.*]] = host.slice %{{.*}}[0] sizes() : <device> -> memref<i1, #host.space<device>>
// CHECK: host.launch @k0_all ins(%{{.*}}) outs(%[[GOOD]] :
// CHECK: host.launch @k1_count
// CHECK: %[[N:.*]] = host.read
// CHECK: host.assert %{{.*}}, "negative"
// CHECK: host.launch @k2_exp
// CHECK: host.read %[[GOOD]][0]
// CHECK: host.assert %{{.*}}, "out of range"
// CHECK: return
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %d = prim.dim %x, 0 : tensor<?xf32>
  %enough = arith.cmpi sge, %d, %c0 : index
  prim.assert %enough, "too few"
  %good = kernel.launch loop "all" ins(%x : tensor<?xf32>) sizes() {
  ^bb0(%l: tensor<?xf32>):
    %0 = prim.constant dense<true> : tensor<i1>
    kernel.yield %0 : tensor<i1>
  } -> tensor<i1>
  %v = prim.extract %good [0] : (tensor<i1>) -> i1
  %is = arith.andi %v, %true : i1
  prim.assert %is, "out of range"
  %count = kernel.launch loop "count" ins(%x : tensor<?xf32>) sizes() {
  ^bb0(%l: tensor<?xf32>):
    %0 = prim.constant dense<3> : tensor<i64>
    kernel.yield %0 : tensor<i64>
  } -> tensor<i64>
  %n = prim.extract %count [0] : (tensor<i64>) -> index
  %some = arith.cmpi sge, %n, %c0 : index
  prim.assert %some, "negative"
  %y = kernel.launch loop "exp" ins(%x : tensor<?xf32>) sizes(%n) {
  ^bb0(%l: tensor<?xf32>):
    %0 = prim.exp %l : (tensor<?xf32>) -> tensor<?xf32>
    kernel.yield %0 : tensor<?xf32>
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
