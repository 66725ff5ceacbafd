// RUN: tcc-opt %s -split-input-file "-tcc-plan-memory=device" | FileCheck %s

// What a launch on the host reads and gives lies there, in blocks of its own; a move copies, and what the
// model returns is copied to its output. The host reads its own memory.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[N:[a-z0-9]*]]: memref<4xi64> {{.*}}, %[[X:[a-z0-9]*]]: memref<8xf32, #host.space<device>>)
// CHECK: %[[S:.*]] = host.alloc sizes() : memref<i64>
// CHECK: host.launch @k0_sum ins(%[[N]] : memref<4xi64>) outs(%[[S]] : memref<i64>) {on_host = #kernel.on_host<here = 300, device = 2500>}
// CHECK: %[[M:.*]] = host.alloc sizes() : memref<8xf32>
// CHECK: host.copy %[[X]] to %[[M]] : memref<8xf32, #host.space<device>> to memref<8xf32>
// CHECK: host.launch @k1_neg ins(%[[M]] : {{.*}}) outs(%[[Y:.*]] : memref<8xf32>)
// CHECK: host.copy %[[Y]] to %[[D:.*]] : memref<8xf32> to memref<8xf32, #host.space<device>>
// CHECK: host.launch @k2_exp ins(%[[D]] : {{.*}}) outs(%{{.*}} : memref<8xf32, #host.space<device>>)
// CHECK-NOT: on_host
// CHECK: host.read %[[S]][0] : (memref<i64>) -> i64
// CHECK: host.copy %[[S]] to %{{.*}} : memref<i64> to memref<i64, #host.space<device>>
// CHECK: return
// CHECK: host.kernel @k0_sum
// CHECK: } {on_host}
// CHECK: host.kernel @k2_exp
// CHECK-NOT: on_host
func.func @main(%n: tensor<4xi64> {kernel.on_host}, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<i64>) {
  %s = kernel.launch row[0] "sum" ins(%n : tensor<4xi64>) sizes() {
  ^bb0(%a: tensor<4xi64>):
    %0 = prim.reduce sum %a [0] : (tensor<4xi64>) -> tensor<i64>
    kernel.yield %0 : tensor<i64>
  } {on_host = #kernel.on_host<here = 300, device = 2500>} -> tensor<i64>
  %m = kernel.move %x to host : tensor<8xf32>
  %y = kernel.launch loop "neg" ins(%m : tensor<8xf32>) sizes() {
  ^bb0(%a: tensor<8xf32>):
    %0 = prim.neg %a : (tensor<8xf32>) -> tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  } {on_host = #kernel.on_host<here = 300, device = 2500>} -> tensor<8xf32>
  %d = kernel.move %y to device : tensor<8xf32>
  %z = kernel.launch loop "exp" ins(%d : tensor<8xf32>) sizes() {
  ^bb0(%a: tensor<8xf32>):
    %0 = prim.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  } -> tensor<8xf32>
  %size = prim.extract %s [0] : (tensor<i64>) -> i64
  %c8 = arith.constant 8 : i64
  %few = arith.cmpi sle, %size, %c8 : i64
  prim.assert %few, "too many"
  return %z, %s : tensor<8xf32>, tensor<i64>
}

// -----

// A weight lies on both sides, and what a loop carries on one.
// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = host.weight "w" : memref<4xf32>
// CHECK: %[[FIRST:.*]] = host.alloc sizes() : memref<4xf32>
// CHECK: host.copy %{{.*}} to %[[FIRST]] : memref<4xf32, #host.space<device>> to memref<4xf32>
// CHECK: scf.while (%[[A:.*]] = %[[FIRST]]) : (memref<4xf32>) -> memref<4xf32>
// CHECK: host.read %[[A]][0] : (memref<4xf32>) -> f32
// CHECK: host.launch @k0_sub ins(%{{.*}}, %[[W]] : memref<4xf32>, memref<4xf32>) outs(%[[NEXT:.*]] : memref<4xf32>)
// CHECK: scf.yield %[[NEXT]] : memref<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = prim.weight "w" : tensor<4xf32>
  %here = kernel.move %w to host : tensor<4xf32>
  %first = kernel.move %x to host : tensor<4xf32>
  %r = prim.while(%first) {
  ^bb0(%a: tensor<4xf32>):
    %v = prim.extract %a [0] : (tensor<4xf32>) -> f32
    %zero = arith.constant 0.0 : f32
    %more = arith.cmpf ogt, %v, %zero : f32
    prim.yield %more : i1
  } do {
  ^bb0(%a: tensor<4xf32>):
    %0 = kernel.launch loop "sub" ins(%a, %here : tensor<4xf32>, tensor<4xf32>) sizes() {
    ^bb0(%l: tensor<4xf32>, %r: tensor<4xf32>):
      %1 = prim.sub %l, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      kernel.yield %1 : tensor<4xf32>
    } {on_host = #kernel.on_host<here = 300, device = 2500>} -> tensor<4xf32>
    prim.yield %0 : tensor<4xf32>
  } {kernel.on_host = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
