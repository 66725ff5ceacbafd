// RUN: tcc-opt %s -tcc-schedule-join-checks | FileCheck %s
// Which kernels check the indices that they read.

// Of open length; what asks for the answer comes behind the kernel that gives it.
// CHECK-LABEL: @take
// CHECK: %[[Y:.*]]:2 = kernel.launch loop "take" ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<300x64xf32>, tensor<?xi64>, index)
// CHECK: kernel.yield %{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<i1>
// CHECK: form = loop, threads = 256, lanes = 4, scratch_bytes = 4096>
// CHECK: %[[BAD:.*]] = prim.extract %[[Y]]#1
// CHECK: prim.assert
// CHECK: return %[[Y]]#0
func.func @take(%x: tensor<300x64xf32>, %i: tensor<?xi64>) -> tensor<?x64xf32> {
  %n = prim.dim %i, 0 : tensor<?xi64>
  %0 = kernel.launch row[0] "check" ins(%i, %n : tensor<?xi64>, index) sizes() {
  ^bb0(%a: tensor<?xi64>, %d: index):
    %c = prim.constant dense<300> : tensor<i64>
    %m = prim.broadcast %c axes [] sizes(%d) : (tensor<i64>) -> tensor<?xi64>
    %g = prim.compare ge %a, %m : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
    %r = prim.reduce any %g [0] : (tensor<?xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 256, row_threads = 256>>} -> tensor<i1>
  %bad = prim.extract %0[0] : (tensor<i1>) -> i1
  %true = arith.constant true
  %good = arith.xori %bad, %true : i1
  prim.assert %good, "an index is out of range"
  %1 = kernel.launch loop "take" ins(%x, %i : tensor<300x64xf32>, tensor<?xi64>) sizes(%n) {
  ^bb0(%a: tensor<300x64xf32>, %b: tensor<?xi64>):
    %t = prim.take %a, %b axis 0 : (tensor<300x64xf32>, tensor<?xi64>) -> tensor<?x64xf32>
    kernel.yield %t : tensor<?x64xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256, lanes = 4>>} -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// What reads something else, has few points, or is numbered through has its check before it.
// CHECK-LABEL: @apart
// CHECK: kernel.launch row[0] "check"
// CHECK: kernel.launch loop "other"
// CHECK: lanes = 4>>} -> tensor<4x64xf32>
// CHECK: kernel.launch row[0] "check"
// CHECK: kernel.launch loop "flat"
// CHECK: lanes = 2>>} -> tensor<1000xi64>
func.func @apart(%x: tensor<300x64xf32>, %i: tensor<1000xi64>, %j: tensor<4xi64>) -> (tensor<4x64xf32>, tensor<1000xi64>, tensor<i1>, tensor<i1>) {
  %0 = kernel.launch row[0] "check" ins(%i : tensor<1000xi64>) sizes() {
  ^bb0(%a: tensor<1000xi64>):
    %c = prim.constant dense<300> : tensor<1000xi64>
    %g = prim.compare ge %a, %c : (tensor<1000xi64>, tensor<1000xi64>) -> tensor<1000xi1>
    %r = prim.reduce any %g [0] : (tensor<1000xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 256, row_threads = 256>>} -> tensor<i1>
  %1 = kernel.launch loop "other" ins(%x, %j : tensor<300x64xf32>, tensor<4xi64>) sizes() {
  ^bb0(%a: tensor<300x64xf32>, %b: tensor<4xi64>):
    %t = prim.take %a, %b axis 0 : (tensor<300x64xf32>, tensor<4xi64>) -> tensor<4x64xf32>
    kernel.yield %t : tensor<4x64xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256, lanes = 4>>} -> tensor<4x64xf32>
  %2 = kernel.launch row[0] "check" ins(%i : tensor<1000xi64>) sizes() {
  ^bb0(%a: tensor<1000xi64>):
    %c = prim.constant dense<300> : tensor<1000xi64>
    %g = prim.compare ge %a, %c : (tensor<1000xi64>, tensor<1000xi64>) -> tensor<1000xi1>
    %r = prim.reduce any %g [0] : (tensor<1000xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 256, row_threads = 256>>} -> tensor<i1>
  %3 = kernel.launch loop "flat" ins(%i : tensor<1000xi64>) sizes() {
  ^bb0(%a: tensor<1000xi64>):
    %t = prim.neg %a : (tensor<1000xi64>) -> tensor<1000xi64>
    kernel.yield %t : tensor<1000xi64>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256, lanes = 2>>} -> tensor<1000xi64>
  return %1, %3, %0, %2 : tensor<4x64xf32>, tensor<1000xi64>, tensor<i1>, tensor<i1>
}
