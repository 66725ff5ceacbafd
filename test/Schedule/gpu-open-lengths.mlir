// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels -tcc-schedule-word-indices | FileCheck %s
// Rows of open length whose points are stored: threads keep them where so many suffice, and indices are words in runs in which
// these do.

// CHECK-LABEL: @points
// CHECK: schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = row, threads = 256, vectors = 4, row_threads = 256, kept = 8, rows = 8, index_bits = 32>>, below = 1073741824, large = #gpu.schedules<sm_90a = <form = row, threads = 256, vectors = 4, row_threads = 256, kept = 8, rows = 8>>, largest = true>}
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

// Few rows, of which a run has as many, have all threads of a block each, or a warp of one; more rows fill the machine.
// CHECK-LABEL: @few
// CHECK: form = row, threads = 1024, vectors = 4, row_threads = 1024, kept = 8, rows = 1
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

// Extents that say how large views are, and a number that fills a tensor, leave indices words where the results are small enough.
// CHECK-LABEL: @groups
// CHECK: #kernel.by_size<small = #gpu.schedules<sm_90a = <form = row, {{.*}}, index_bits = 32>>, below = {{[0-9]+}}, large = #gpu.schedules<sm_90a = <form = row, threads = 1024, {{[^<]*}}rows = 1>>, largest = true>}
func.func @groups(%x: tensor<2x8x?x?xf32>, %count: f32, %n: index, %m: index) {
  %0 = kernel.launch row[2] "div" ins(%x, %count : tensor<2x8x?x?xf32>, f32) sizes(%n, %m) {
  ^bb0(%a: tensor<2x8x?x?xf32>, %c: f32):
    %h = prim.dim %a, 2 : tensor<2x8x?x?xf32>
    %w = prim.dim %a, 3 : tensor<2x8x?x?xf32>
    %r = prim.reshape %a sizes(%h, %w) : (tensor<2x8x?x?xf32>) -> tensor<2x2x4x?x?xf32>
    %s = prim.reduce sum %r [2, 3, 4] : (tensor<2x2x4x?x?xf32>) -> tensor<2x2xf32>
    %t = prim.from_elements %c, %c, %c, %c : (f32, f32, f32, f32) -> tensor<2x2xf32>
    %d = prim.div %s, %t : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %e = prim.broadcast %d axes [0, 1] sizes(%h, %w) : (tensor<2x2xf32>) -> tensor<2x2x4x?x?xf32>
    %y = prim.sub %r, %e : (tensor<2x2x4x?x?xf32>, tensor<2x2x4x?x?xf32>) -> tensor<2x2x4x?x?xf32>
    kernel.yield %y : tensor<2x2x4x?x?xf32>
  } -> tensor<2x2x4x?x?xf32>
  return
}
// What else is computed from an extent may be too large for a word.
// CHECK-LABEL: @computed
// CHECK: schedule = #gpu.schedules<sm_90a = <form = row, {{[^<]*}}rows = 1>>}
func.func @computed(%x: tensor<4x?xf32>, %n: index) {
  %0 = kernel.launch row[1] "mul" ins(%x : tensor<4x?xf32>) sizes(%n) {
  ^bb0(%a: tensor<4x?xf32>):
    %h = prim.dim %a, 1 : tensor<4x?xf32>
    %i = prim.from_elements %h : (index) -> tensor<i64>
    %k = prim.mul %i, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %f = prim.cast %k : (tensor<i64>) -> tensor<f32>
    %b = prim.broadcast %f axes [] sizes(%h) : (tensor<f32>) -> tensor<4x?xf32>
    %s = prim.reduce sum %a [1] : (tensor<4x?xf32>) -> tensor<4xf32>
    %e = prim.broadcast %s axes [0] sizes(%h) : (tensor<4xf32>) -> tensor<4x?xf32>
    %y = prim.mul %b, %e : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
    kernel.yield %y : tensor<4x?xf32>
  } -> tensor<4x?xf32>
  return
}

// Slices of taken slices are counted through along each axis, and a place beside an extent is a word too.
// CHECK-LABEL: @taken
// CHECK: small = #gpu.schedules<sm_90a = <form = loop, threads = 256, index_bits = 32>>, below = 1073741824
func.func @taken(%x: tensor<?x8x?x?xf32>, %z: tensor<?xi64>, %n: index, %m: index) -> tensor<?x8x?x?xf32> {
  %d = prim.dim %x, 2 : tensor<?x8x?x?xf32>
  %minus = arith.constant -1 : index
  %last = arith.addi %d, %minus : index
  %0 = kernel.launch loop "take" ins(%x, %z, %m, %last : tensor<?x8x?x?xf32>, tensor<?xi64>, index, index) sizes(%n, %m, %m) {
  ^bb0(%a: tensor<?x8x?x?xf32>, %b: tensor<?xi64>, %i: index, %j: index):
    %c = prim.iota 0 sizes(%i) : tensor<?xi64>
    %e = prim.from_elements %j : (index) -> tensor<i64>
    %f = prim.broadcast %e axes [] sizes(%i) : (tensor<i64>) -> tensor<?xi64>
    %g = prim.minimum %c, %f : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
    %h = prim.take %a, %g axis 2 : (tensor<?x8x?x?xf32>, tensor<?xi64>) -> tensor<?x8x?x?xf32>
    %k = prim.take %h, %b axis 3 : (tensor<?x8x?x?xf32>, tensor<?xi64>) -> tensor<?x8x?x?xf32>
    kernel.yield %k : tensor<?x8x?x?xf32>
  } -> tensor<?x8x?x?xf32>
  return %0 : tensor<?x8x?x?xf32>
}

// Places that have two axes, as the windows of a convolution by open filters.
// CHECK-LABEL: @windows_taken
// CHECK: small = #gpu.schedules<sm_90a = <form = loop, threads = 256, index_bits = 32>>, below = 1073741824
func.func @windows_taken(%x: tensor<2x8x?xf32>, %n: index, %m: index) -> tensor<2x8x?x?xf32> {
  %0 = kernel.launch loop "take" ins(%x, %n, %m : tensor<2x8x?xf32>, index, index) sizes(%n, %m) {
  ^bb0(%a: tensor<2x8x?xf32>, %i: index, %j: index):
    %c = prim.iota 0 sizes(%i) : tensor<?xi64>
    %d = prim.broadcast %c axes [0] sizes(%i, %j) : (tensor<?xi64>) -> tensor<?x?xi64>
    %e = prim.iota 0 sizes(%j) : tensor<?xi64>
    %f = prim.broadcast %e axes [1] sizes(%i, %j) : (tensor<?xi64>) -> tensor<?x?xi64>
    %g = prim.add %d, %f : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi64>
    %h = prim.take %a, %g axis 2 : (tensor<2x8x?xf32>, tensor<?x?xi64>) -> tensor<2x8x?x?xf32>
    kernel.yield %h : tensor<2x8x?x?xf32>
  } -> tensor<2x8x?x?xf32>
  return %0 : tensor<2x8x?x?xf32>
}

// What is computed from taken slices may have more elements than all that is there, and a number any size.
// CHECK-LABEL: @unbounded
// CHECK-NOT: index_bits = 32
// CHECK: return
func.func @unbounded(%x: tensor<?x8x?xf32>, %y: tensor<?x8xf32>, %z: tensor<?xi64>, %n: index, %any: index) -> tensor<?x8xf32> {
  %0 = kernel.launch loop "take" ins(%x, %z : tensor<?x8x?xf32>, tensor<?xi64>) sizes(%n) {
  ^bb0(%a: tensor<?x8x?xf32>, %b: tensor<?xi64>):
    %h = prim.take %a, %b axis 2 : (tensor<?x8x?xf32>, tensor<?xi64>) -> tensor<?x8x?xf32>
    %s = prim.reduce sum %h [2] : (tensor<?x8x?xf32>) -> tensor<?x8xf32>
    kernel.yield %s : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  %square = arith.muli %any, %any : index
  %1 = kernel.launch loop "take" ins(%0, %y, %square, %n : tensor<?x8xf32>, tensor<?x8xf32>, index, index) sizes(%n) {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>, %j: index, %i: index):
    %e = prim.from_elements %j : (index) -> tensor<i64>
    %f = prim.cast %e : (tensor<i64>) -> tensor<f32>
    %g = prim.broadcast %f axes [] sizes(%i) : (tensor<f32>) -> tensor<8x?xf32>
    %t = prim.transpose %a [1, 0] : (tensor<?x8xf32>) -> tensor<8x?xf32>
    %u = prim.add %t, %g : (tensor<8x?xf32>, tensor<8x?xf32>) -> tensor<8x?xf32>
    %v = prim.transpose %u [1, 0] : (tensor<8x?xf32>) -> tensor<?x8xf32>
    kernel.yield %v : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
