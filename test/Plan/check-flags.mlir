// RUN: tcc-opt %s -split-input-file "-tcc-plan-memory=device" | FileCheck %s

// A truth value that a launch leaves for checks alone lies where the host finds it later; the host
// program reads nothing and asserts nothing. Which value is the bad one follows from the condition.
// CHECK-LABEL: func.func @main(
// CHECK: %[[BAD:.*]] = host.flag true, "out of range" : memref<i1, #host.space<pinned>>
// CHECK: host.launch @k0_any ins(%{{.*}}) outs(%[[BAD]] : memref<i1, #host.space<pinned>>)
// CHECK: %[[GOOD:.*]] = host.flag false, "not finite" : memref<1xi1, #host.space<pinned>>
// CHECK: host.launch @k1_all ins(%{{.*}}) outs(%[[GOOD]] :
// CHECK: host.launch @k2_exp
// CHECK-NOT: host.read
// CHECK-NOT: host.assert
// CHECK: return
func.func @main(%x: tensor<8xi1>) -> tensor<8xi1> {
  %true = arith.constant true
  %bad = kernel.launch loop "any" ins(%x : tensor<8xi1>) sizes() {
  ^bb0(%l: tensor<8xi1>):
    %0 = prim.constant dense<true> : tensor<i1>
    kernel.yield %0 : tensor<i1>
  } -> tensor<i1>
  %v = prim.extract %bad [0] : (tensor<i1>) -> i1
  %fine = arith.xori %v, %true : i1
  prim.assert %fine, "out of range"
  %good = kernel.launch loop "all" ins(%x : tensor<8xi1>) sizes() {
  ^bb0(%l: tensor<8xi1>):
    %0 = prim.constant dense<true> : tensor<1xi1>
    kernel.yield %0 : tensor<1xi1>
  } -> tensor<1xi1>
  %flat = prim.reshape %good sizes() : (tensor<1xi1>) -> tensor<i1>
  %w = prim.extract %flat [0] : (tensor<i1>) -> i1
  prim.assert %w, "not finite"
  %y = kernel.launch loop "exp" ins(%x : tensor<8xi1>) sizes() {
  ^bb0(%l: tensor<8xi1>):
    kernel.yield %l : tensor<8xi1>
  } -> tensor<8xi1>
  return %y : tensor<8xi1>
}

// -----

// What is read for something else as well is read: by a kernel, by two checks that disagree, as a
// condition of a branch.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: host.flag
// CHECK: return
func.func @main(%x: tensor<8xi1>) -> (tensor<i1>, tensor<i1>) {
  %true = arith.constant true
  %shared = kernel.launch loop "any" ins(%x : tensor<8xi1>) sizes() {
  ^bb0(%l: tensor<8xi1>):
    %0 = prim.constant dense<true> : tensor<i1>
    kernel.yield %0 : tensor<i1>
  } -> tensor<i1>
  %v = prim.extract %shared [0] : (tensor<i1>) -> i1
  prim.assert %v, "none"
  %torn = kernel.launch loop "torn" ins(%x : tensor<8xi1>) sizes() {
  ^bb0(%l: tensor<8xi1>):
    %0 = prim.constant dense<true> : tensor<i1>
    kernel.yield %0 : tensor<i1>
  } -> tensor<i1>
  %w = prim.extract %torn [0] : (tensor<i1>) -> i1
  %not = arith.xori %w, %true : i1
  prim.assert %w, "one way"
  prim.assert %not, "the other"
  %choice = kernel.launch loop "choice" ins(%x : tensor<8xi1>) sizes() {
  ^bb0(%l: tensor<8xi1>):
    %0 = prim.constant dense<true> : tensor<i1>
    kernel.yield %0 : tensor<i1>
  } -> tensor<i1>
  %c = prim.extract %choice [0] : (tensor<i1>) -> i1
  %r = prim.if %c {
    prim.yield %shared : tensor<i1>
  } else {
    prim.yield %torn : tensor<i1>
  } : tensor<i1>
  return %shared, %r : tensor<i1>, tensor<i1>
}
