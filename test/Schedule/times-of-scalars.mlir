// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels -tcc-schedule-place-launches | FileCheck %s

// A kernel that computes with extents has a time like any other.
// CHECK-LABEL: func.func @main
// CHECK: kernel.launch loop "shift"
// CHECK: on_host
func.func @main(%n: tensor<4xi64>) -> index {
  %c3 = arith.constant 3 : index
  %s = kernel.launch loop "shift" ins(%n, %c3 : tensor<4xi64>, index) sizes() {
  ^bb0(%a: tensor<4xi64>, %i: index):
    %c1 = arith.constant 1 : index
    %j = arith.subi %i, %c1 : index
    %0 = prim.slice %a starts [-9223372036854775808](%j) steps [1] sizes() : (tensor<4xi64>) -> tensor<1xi64>
    kernel.yield %0 : tensor<1xi64>
  } -> tensor<1xi64>
  %v = prim.extract %s [0] : (tensor<1xi64>) -> index
  return %v : index
}
