// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels -tcc-schedule-word-indices | FileCheck %s
// Launches of open extents have indices of words in runs in which these do, few points of long reductions threads that share
// them, and products on mma.sync tiles for what a run has.

// CHECK-LABEL: @bias
// CHECK: #kernel.by_size<small = #gpu.schedules<sm_90a = <form = loop, threads = 256, index_bits = 32>>, below = 1073741824, large = #gpu.schedules<sm_90a = <form = loop, threads = 256>>, largest = true>}
func.func @bias(%x: tensor<?x64x?xf32>, %y: tensor<64x1xf32>, %n: index, %m: index) {
  %0 = kernel.launch loop "add" ins(%x, %y, %n, %m : tensor<?x64x?xf32>, tensor<64x1xf32>, index, index) sizes(%n, %m) {
  ^bb0(%a: tensor<?x64x?xf32>, %b: tensor<64x1xf32>, %j: index, %k: index):
    %c = prim.broadcast %b axes [1, 2] sizes(%j, %k) : (tensor<64x1xf32>) -> tensor<?x64x?xf32>
    %d = prim.add %a, %c : (tensor<?x64x?xf32>, tensor<?x64x?xf32>) -> tensor<?x64x?xf32>
    kernel.yield %d : tensor<?x64x?xf32>
  } -> tensor<?x64x?xf32>
  return
}

// Few points are shared by the threads of a block. Whatever is largest has few elements, so what is made has.
// CHECK-LABEL: @sums
// CHECK: #kernel.by_size<small = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = column, {{[^<]*}}index_bits = 32>>, below = 135168, large = #gpu.schedules<sm_90a = <form = loop, threads = 256, index_bits = 32>>>, below = 1073741824, large = #gpu.schedules<sm_90a = <form = loop, threads = 256>>, largest = true>}
func.func @sums(%x: tensor<?x1000x?xf32>, %n: index, %m: index) {
  %0 = kernel.launch loop "sum" ins(%x : tensor<?x1000x?xf32>) sizes(%n, %m) {
  ^bb0(%a: tensor<?x1000x?xf32>):
    %j = prim.dim %a, 0 : tensor<?x1000x?xf32>
    %k = prim.dim %a, 2 : tensor<?x1000x?xf32>
    %b = prim.reduce sum %a [1] : (tensor<?x1000x?xf32>) -> tensor<?x?xf32>
    %c = prim.reshape %b sizes(%j, %k) : (tensor<?x?xf32>) -> tensor<?x1x?xf32>
    kernel.yield %c : tensor<?x1x?xf32>
  } -> tensor<?x1x?xf32>
  return
}

// An open extent that is summed is in no result, but in what is read. Points that lie as their operands do are numbered through.
// CHECK-LABEL: @others
// CHECK: #kernel.by_size<small = #gpu.schedules<sm_90a = <form = {{[^<]*}}index_bits = 32>>, below = 1073741824, large = #gpu.schedules<{{[^<]*<[^<]*}}>>, largest = true>}
// CHECK-NOT: index_bits = 32
// CHECK: return
func.func @others(%x: tensor<4096x?x64xf32>, %y: tensor<?x?xf32>, %n: index, %m: index) {
  %0 = kernel.launch loop "sum" ins(%x : tensor<4096x?x64xf32>) sizes() {
  ^bb0(%a: tensor<4096x?x64xf32>):
    %b = prim.reduce sum %a [1] : (tensor<4096x?x64xf32>) -> tensor<4096x64xf32>
    kernel.yield %b : tensor<4096x64xf32>
  } -> tensor<4096x64xf32>
  %1 = kernel.launch loop "neg" ins(%y : tensor<?x?xf32>) sizes(%n, %m) {
  ^bb0(%a: tensor<?x?xf32>):
    %b = prim.neg %a : (tensor<?x?xf32>) -> tensor<?x?xf32>
    kernel.yield %b : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: @product
// CHECK: #kernel.by_size<small = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = mma, {{[^<]*}}rows = 16, {{[^<]*}}index_bits = 32>>, below = {{[0-9]+}}, large = {{.*}}large = #gpu.schedules<sm_90a = <form = mma, threads = 256, vectors = 3, rows = 128, columns = 128, {{.*}}>>, largest = true>}
func.func @product(%x: tensor<?x300xbf16>, %n: index) {
  %0 = kernel.launch contraction "dot" ins(%x : tensor<?x300xbf16>) sizes(%n, %n) {
  ^bb0(%a: tensor<?x300xbf16>):
    %b = prim.dot %a, %a batch [] x [] contract [1] x [1] : (tensor<?x300xbf16>, tensor<?x300xbf16>) -> tensor<?x?xbf16>
    kernel.yield %b : tensor<?x?xbf16>
  } -> tensor<?x?xbf16>
  return
}

// Places of extrema in few lines, which may be long, have blocks with more threads than those in many.
// CHECK-LABEL: @places
// CHECK: form = line, threads = 512, row_threads = 512
// CHECK: form = line, threads = 128, row_threads = 128
func.func @places(%x: tensor<64x?xf32>, %y: tensor<4096x?xf32>) {
  %0 = kernel.launch special "arg_reduce" ins(%x : tensor<64x?xf32>) sizes() {
  ^bb0(%a: tensor<64x?xf32>):
    %b = prim.arg_reduce max %a 1 : (tensor<64x?xf32>) -> tensor<64xi64>
    kernel.yield %b : tensor<64xi64>
  } -> tensor<64xi64>
  %1 = kernel.launch special "arg_reduce" ins(%y : tensor<4096x?xf32>) sizes() {
  ^bb0(%a: tensor<4096x?xf32>):
    %b = prim.arg_reduce max %a 1 : (tensor<4096x?xf32>) -> tensor<4096xi64>
    kernel.yield %b : tensor<4096xi64>
  } -> tensor<4096xi64>
  return
}

// A length that is open may be short, and eight threads share it, or long: as many blocks as a run says.
// CHECK-LABEL: @lengths
// CHECK: small = #gpu.schedules<sm_90a = <form = column, threads = 256, {{[^<]*}}row_threads = 8, most_blocks = 528, split = 528, scratch_bytes = {{[0-9]+}}, index_bits = 32>>, below = 135168
func.func @lengths(%x: tensor<?x?x4096xf32>, %n: index) {
  %0 = kernel.launch loop "sum" ins(%x : tensor<?x?x4096xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x?x4096xf32>):
    %b = prim.reduce sum %a [1] : (tensor<?x?x4096xf32>) -> tensor<?x4096xf32>
    kernel.yield %b : tensor<?x4096xf32>
  } -> tensor<?x4096xf32>
  return
}

// Convolutions, and operands that are filled up, read what comes in.
// CHECK-LABEL: @windows
// CHECK: #kernel.by_size<small = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = product, {{[^<]*}}most_blocks = 198, {{[^<]*}}index_bits = 32, resident = 1>>, below = {{[0-9]+}}, large = #gpu.schedules<sm_90a = <form = product, {{[^<]*}}index_bits = 32>>>, below = 1073741824, large = {{.*}}, largest = true>}
// CHECK: small = #gpu.schedules<sm_90a = <form = loop, threads = 256, index_bits = 32>>, below = 1073741824
func.func @windows(%x: tensor<2x?x?x64xf32>, %w: tensor<64x64x3x3xf32>, %h: index, %v: index) -> tensor<2x?x?x64xf32> {
  %0 = kernel.launch convolution "conv" ins(%x, %w, %h, %v : tensor<2x?x?x64xf32>, tensor<64x64x3x3xf32>, index, index) sizes(%h, %v) {
  ^bb0(%a: tensor<2x?x?x64xf32>, %b: tensor<64x64x3x3xf32>, %i: index, %j: index):
    %c = prim.conv %a, %b sizes(%i, %j) {channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x?x?x64xf32>, tensor<64x64x3x3xf32>, index, index) -> tensor<2x?x?x64xf32>
    kernel.yield %c : tensor<2x?x?x64xf32>
  } -> tensor<2x?x?x64xf32>
  %1 = kernel.launch loop "pad" ins(%0, %h, %v : tensor<2x?x?x64xf32>, index, index) sizes(%h, %v) {
  ^bb0(%a: tensor<2x?x?x64xf32>, %i: index, %j: index):
    %z = prim.constant dense<0.0> : tensor<f32>
    %c = prim.pad %a, %z low [0, 0, 0, 1]() interior [0, 0, 0, 0] sizes(%i, %j) : (tensor<2x?x?x64xf32>, tensor<f32>, index, index) -> tensor<2x?x?x67xf32>
    kernel.yield %c : tensor<2x?x?x67xf32>
  } -> tensor<2x?x?x67xf32>
  return %0 : tensor<2x?x?x64xf32>
}

// What is summed may be larger than all that is read; what is computed from an extent counts more than elements; strips of
// depthwise convolutions count in words as it is.
// CHECK-LABEL: @larger
// CHECK-NOT: index_bits = 32
// CHECK: return
func.func @larger(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %n: index, %m: index, %k: i64) {
  %0 = kernel.launch loop "sum" ins(%x, %y, %n, %m : tensor<?x64xf32>, tensor<?x64xf32>, index, index) sizes(%n) {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<?x64xf32>, %i: index, %j: index):
    %c = prim.broadcast %a axes [0, 2] sizes(%i, %j) : (tensor<?x64xf32>) -> tensor<?x?x64xf32>
    %d = prim.broadcast %b axes [1, 2] sizes(%i, %j) : (tensor<?x64xf32>) -> tensor<?x?x64xf32>
    %e = prim.maximum %c, %d : (tensor<?x?x64xf32>, tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
    %f = prim.reduce sum %e [1] : (tensor<?x?x64xf32>) -> tensor<?x64xf32>
    kernel.yield %f : tensor<?x64xf32>
  } -> tensor<?x64xf32>
  %1 = kernel.launch loop "add" ins(%x, %k, %n : tensor<?x64xf32>, i64, index) sizes(%n) {
  ^bb0(%a: tensor<?x64xf32>, %i: i64, %j: index):
    %c = prim.from_elements %i : (i64) -> tensor<i64>
    %d = prim.cast %c : (tensor<i64>) -> tensor<f32>
    %e = prim.broadcast %d axes [] sizes(%j) : (tensor<f32>) -> tensor<64x?xf32>
    %t = prim.transpose %a [1, 0] : (tensor<?x64xf32>) -> tensor<64x?xf32>
    %f = prim.add %t, %e : (tensor<64x?xf32>, tensor<64x?xf32>) -> tensor<64x?xf32>
    kernel.yield %f : tensor<64x?xf32>
  } -> tensor<64x?xf32>
  return
}
