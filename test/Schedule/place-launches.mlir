// RUN: tcc-opt %s -split-input-file --arch sm_90a -tcc-schedule-kernels -tcc-schedule-place-launches | FileCheck %s

// A loop whose every turn the host waits for, over little: all of it is on the host, and what it begins with is
// moved once. What comes after stays on the device.
// CHECK-LABEL: func.func @main
// CHECK: kernel.launch loop "sum"
// CHECK-NOT: on_host
// CHECK: %[[FIRST:.*]] = kernel.move %{{.*}} to host : tensor<8xf32>
// CHECK: %[[LAST:.*]] = prim.while(%[[FIRST]])
// CHECK: kernel.launch row[0] "largest"
// CHECK: on_host = #kernel.on_host<here = {{[0-9]+}}, device = {{[0-9]+}}>, schedule = #cpu.
// CHECK: kernel.launch loop "half"
// CHECK: on_host = {{.*}} schedule = #cpu.
// CHECK: {kernel.on_host = array<i64: 0>}
// CHECK: %[[BACK:.*]] = kernel.move %[[LAST]] to device
// CHECK: kernel.launch loop "neg" ins(%[[BACK]] :
// CHECK-NOT: on_host
// CHECK: return
func.func @main(%x: tensor<65536x8xf32>) -> tensor<4096x8xf32> {
  %e = kernel.launch loop "sum" ins(%x : tensor<65536x8xf32>) sizes() {
  ^bb0(%a: tensor<65536x8xf32>):
    %0 = prim.reduce sum %a [0] : (tensor<65536x8xf32>) -> tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  } -> tensor<8xf32>
  %r = prim.while(%e) {
  ^bb0(%a: tensor<8xf32>):
    %m = kernel.launch row[0] "largest" ins(%a : tensor<8xf32>) sizes() {
    ^bb0(%b: tensor<8xf32>):
      %0 = prim.reduce max %b [0] : (tensor<8xf32>) -> tensor<f32>
      kernel.yield %0 : tensor<f32>
    } -> tensor<f32>
    %v = prim.extract %m [0] : (tensor<f32>) -> f32
    %one = arith.constant 1.0 : f32
    %more = arith.cmpf ogt, %v, %one : f32
    prim.yield %more : i1
  } do {
  ^bb0(%a: tensor<8xf32>):
    %h = kernel.launch loop "half" ins(%a : tensor<8xf32>) sizes() {
    ^bb0(%b: tensor<8xf32>):
      %0 = prim.tanh %b : (tensor<8xf32>) -> tensor<8xf32>
      kernel.yield %0 : tensor<8xf32>
    } -> tensor<8xf32>
    prim.yield %h : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %n = kernel.launch loop "neg" ins(%r : tensor<8xf32>) sizes() {
  ^bb0(%b: tensor<8xf32>):
    %0 = prim.neg %b : (tensor<8xf32>) -> tensor<8xf32>
    %1 = prim.broadcast %0 axes [1] sizes() : (tensor<8xf32>) -> tensor<4096x8xf32>
    kernel.yield %1 : tensor<4096x8xf32>
  } -> tensor<4096x8xf32>
  return %n : tensor<4096x8xf32>
}

// -----

// What is large stays on the device although the host waits for it, and so does what only a check reads.
// CHECK-LABEL: func.func @main
// CHECK-NOT: on_host
// CHECK-NOT: kernel.move
// CHECK: return
func.func @main(%x: tensor<4096x4096xf32>, %i: tensor<16xi64>) -> tensor<4096x4096xf32> {
  %m = kernel.launch row[0] "mean" ins(%x : tensor<4096x4096xf32>) sizes() {
  ^bb0(%a: tensor<4096x4096xf32>):
    %0 = prim.reduce sum %a [0, 1] : (tensor<4096x4096xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  } -> tensor<f32>
  %l = kernel.launch row[0] "largest" ins(%i : tensor<16xi64>) sizes() {
  ^bb0(%a: tensor<16xi64>):
    %0 = prim.reduce max %a [0] : (tensor<16xi64>) -> tensor<i64>
    kernel.yield %0 : tensor<i64>
  } -> tensor<i64>
  %v = prim.extract %m [0] : (tensor<f32>) -> f32
  %last = prim.extract %l [0] : (tensor<i64>) -> i64
  %c9 = arith.constant 9 : i64
  %good = arith.cmpi slt, %last, %c9 : i64
  prim.assert %good, "an index is out of range"
  %zero = arith.constant 0.0 : f32
  %c = arith.cmpf ogt, %v, %zero : f32
  %r = prim.if %c {
    %e = kernel.launch loop "exp" ins(%x : tensor<4096x4096xf32>) sizes() {
    ^bb0(%a: tensor<4096x4096xf32>):
      %0 = prim.exp %a : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      kernel.yield %0 : tensor<4096x4096xf32>
    } -> tensor<4096x4096xf32>
    prim.yield %e : tensor<4096x4096xf32>
  } else {
    prim.yield %x : tensor<4096x4096xf32>
  } : tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}
