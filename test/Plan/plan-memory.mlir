// RUN: tcc-opt %s -split-input-file -tcc-plan-memory | FileCheck %s

// Of three values in a row two live at once, since no kernel may write over what it
// reads backwards; results of the model go to its outputs. Equal launches start one kernel.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:.*]]: memref<1024xf32>) -> memref<1024xf32>
// CHECK: %[[ARENA:.*]] = host.arena 8192
// CHECK: %[[A:.*]] = host.slice %[[ARENA]]{{\[}}[[AT:[0-9]+]]{{\]}} sizes()
// CHECK: host.launch @k0_a ins(%[[X]] : {{.*}}) outs(%[[A]] :
// CHECK: %[[B:.*]] = host.slice %[[ARENA]]
// CHECK: host.launch @k0_a ins(%[[A]] : {{.*}}) outs(%[[B]] :
// CHECK: %[[C:.*]] = host.slice %[[ARENA]]{{\[}}[[AT]]{{\]}} sizes()
// CHECK: host.launch @k0_a ins(%[[B]] : {{.*}}) outs(%[[C]] :
// CHECK: %[[Y:.*]] = host.output 0 sizes() : memref<1024xf32>
// CHECK: host.launch @k0_a ins(%[[C]] : {{.*}}) outs(%[[Y]] :
// CHECK: return %[[Y]]
// CHECK: host.kernel @k0_a
// CHECK-NEXT: ^bb0(%[[V:.*]]: tensor<1024xf32>):
// CHECK-NEXT: %[[W:.*]] = kernel.launch loop "a" ins(%[[V]] : tensor<1024xf32>)
// CHECK: host.yield %[[W]]
// CHECK-NOT: host.kernel
func.func @chain(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = kernel.launch loop "a" ins(%x : tensor<1024xf32>) sizes() {
  ^bb0(%v: tensor<1024xf32>):
    %y = prim.reverse %v [0] : (tensor<1024xf32>) -> tensor<1024xf32>
    kernel.yield %y : tensor<1024xf32>
  } -> tensor<1024xf32>
  %1 = kernel.launch loop "b" ins(%0 : tensor<1024xf32>) sizes() {
  ^bb0(%v: tensor<1024xf32>):
    %y = prim.reverse %v [0] : (tensor<1024xf32>) -> tensor<1024xf32>
    kernel.yield %y : tensor<1024xf32>
  } -> tensor<1024xf32>
  %2 = kernel.launch loop "c" ins(%1 : tensor<1024xf32>) sizes() {
  ^bb0(%v: tensor<1024xf32>):
    %y = prim.reverse %v [0] : (tensor<1024xf32>) -> tensor<1024xf32>
    kernel.yield %y : tensor<1024xf32>
  } -> tensor<1024xf32>
  %3 = kernel.launch loop "d" ins(%2 : tensor<1024xf32>) sizes() {
  ^bb0(%v: tensor<1024xf32>):
    %y = prim.reverse %v [0] : (tensor<1024xf32>) -> tensor<1024xf32>
    kernel.yield %y : tensor<1024xf32>
  } -> tensor<1024xf32>
  return %3 : tensor<1024xf32>
}

// -----

// A module may have several functions; equal launches of all of them start one kernel.
// CHECK-LABEL: func.func @first(
// CHECK: host.launch @k0_exp
// CHECK-LABEL: func.func @second(
// CHECK: host.launch @k0_exp
// CHECK: host.kernel @k0_exp
// CHECK-NOT: host.kernel
func.func @first(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kernel.launch loop "exp" ins(%x : tensor<8xf32>) sizes() {
  ^bb0(%v: tensor<8xf32>):
    %y = prim.exp %v : (tensor<8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @second(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = kernel.launch loop "exp" ins(%x : tensor<8xf32>) sizes() {
  ^bb0(%v: tensor<8xf32>):
    %y = prim.exp %v : (tensor<8xf32>) -> tensor<8xf32>
    kernel.yield %y : tensor<8xf32>
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
