// RUN: tcc-opt %s -split-input-file -tcc-plan-memory | FileCheck %s

// Of three values in a row two live at once, since no kernel may write over what it
// reads backwards; results of the model go to its outputs.
// CHECK: module attributes {{.*}}arena{{.*}} = 8192
// CHECK-LABEL: func @chain
func.func @chain(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  // CHECK: kernel.launch loop "a"
  // CHECK: places = array<i64: [[A:[0-9]+]]>
  %0 = kernel.launch loop "a" ins(%x : tensor<1024xf32>) sizes() {
  ^bb0(%v: tensor<1024xf32>):
    %y = prim.reverse %v [0] : (tensor<1024xf32>) -> tensor<1024xf32>
    kernel.yield %y : tensor<1024xf32>
  } -> tensor<1024xf32>
  // CHECK: kernel.launch loop "b"
  %1 = kernel.launch loop "b" ins(%0 : tensor<1024xf32>) sizes() {
  ^bb0(%v: tensor<1024xf32>):
    %y = prim.reverse %v [0] : (tensor<1024xf32>) -> tensor<1024xf32>
    kernel.yield %y : tensor<1024xf32>
  } -> tensor<1024xf32>
  // CHECK: kernel.launch loop "c"
  // CHECK: places = array<i64: [[A]]>
  %2 = kernel.launch loop "c" ins(%1 : tensor<1024xf32>) sizes() {
  ^bb0(%v: tensor<1024xf32>):
    %y = prim.reverse %v [0] : (tensor<1024xf32>) -> tensor<1024xf32>
    kernel.yield %y : tensor<1024xf32>
  } -> tensor<1024xf32>
  // CHECK: kernel.launch loop "d"
  // CHECK: places = array<i64: -{{[0-9]+}}>
  %3 = kernel.launch loop "d" ins(%2 : tensor<1024xf32>) sizes() {
  ^bb0(%v: tensor<1024xf32>):
    %y = prim.reverse %v [0] : (tensor<1024xf32>) -> tensor<1024xf32>
    kernel.yield %y : tensor<1024xf32>
  } -> tensor<1024xf32>
  return %3 : tensor<1024xf32>
}
