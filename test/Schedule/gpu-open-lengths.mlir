// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// Rows of open length whose points are stored: threads keep them where so many suffice, and indices are words in runs in which
// these do.

// CHECK-LABEL: @points
// CHECK: schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = row, threads = 256, vectors = 4, row_threads = 256, kept = 8, rows = 8, index_bits = 32>>, below = 1073741824, large = #gpu.schedules<sm_90a = <form = row, threads = 256, vectors = 4, row_threads = 256, kept = 8, rows = 8>>>
func.func @points(%x: tensor<?x?xf32>, %n: index, %m: index) {
  %0 = kernel.launch row[1] "sub" ins(%x, %n, %m : tensor<?x?xf32>, index, index) sizes(%n, %m) {
  ^bb0(%a: tensor<?x?xf32>, %j: index, %k: index):
    %b = prim.reduce max %a [1] : (tensor<?x?xf32>) -> tensor<?xf32>
    %c = prim.broadcast %b axes [0] sizes(%j, %k) : (tensor<?xf32>) -> tensor<?x?xf32>
    %d = prim.sub %a, %c : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    kernel.yield %d : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  return
}

// Few rows, of which a run has as many, have all threads of a block each; more rows fill the machine.
// CHECK-LABEL: @few
// CHECK: form = row, threads = 1024, vectors = 4, row_threads = 1024, kept = 8, rows = 32
func.func @few(%x: tensor<132x?xf32>, %m: index) {
  %0 = kernel.launch row[1] "sub" ins(%x, %m : tensor<132x?xf32>, index) sizes(%m) {
  ^bb0(%a: tensor<132x?xf32>, %k: index):
    %b = prim.reduce max %a [1] : (tensor<132x?xf32>) -> tensor<132xf32>
    %c = prim.broadcast %b axes [0] sizes(%k) : (tensor<132xf32>) -> tensor<132x?xf32>
    %d = prim.sub %a, %c : (tensor<132x?xf32>, tensor<132x?xf32>) -> tensor<132x?xf32>
    kernel.yield %d : tensor<132x?xf32>
  } -> tensor<132x?xf32>
  return
}
// CHECK-LABEL: @more
// CHECK: form = row, threads = 256, vectors = 4, row_threads = 256, kept = 8, rows = 8
func.func @more(%x: tensor<133x?xf32>, %m: index) {
  %0 = kernel.launch row[1] "sub" ins(%x, %m : tensor<133x?xf32>, index) sizes(%m) {
  ^bb0(%a: tensor<133x?xf32>, %k: index):
    %b = prim.reduce max %a [1] : (tensor<133x?xf32>) -> tensor<133xf32>
    %c = prim.broadcast %b axes [0] sizes(%k) : (tensor<133xf32>) -> tensor<133x?xf32>
    %d = prim.sub %a, %c : (tensor<133x?xf32>, tensor<133x?xf32>) -> tensor<133x?xf32>
    kernel.yield %d : tensor<133x?xf32>
  } -> tensor<133x?xf32>
  return
}
