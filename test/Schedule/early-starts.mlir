// RUN: tcc-opt %s -tcc-schedule-early-starts | FileCheck %s
// Behind which kernels the next one starts before they end: in front of a product of few rows and
// narrow weights, and behind one in front of what has no tiles.

// CHECK-LABEL: @layer
// CHECK: form = loop, threads = 128, next_early = true
// CHECK: form = skinny, threads = 256, lanes = 8, columns = 1, next_early = true
// CHECK: form = loop, threads = 128>
// CHECK: form = wgmma
func.func @layer(%x: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<1x4096xbf16> {
  %0 = kernel.launch loop "neg" ins(%x : tensor<1x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1x4096xbf16>):
    %s = prim.neg %a : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
    kernel.yield %s : tensor<1x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>} -> tensor<1x4096xbf16>
  %1 = kernel.launch contraction "few" ins(%0, %w : tensor<1x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %d = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
    kernel.yield %d : tensor<1x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = skinny, threads = 256, lanes = 8, columns = 1>>} -> tensor<1x4096xbf16>
  %2 = kernel.launch loop "neg" ins(%1 : tensor<1x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1x4096xbf16>):
    %s = prim.neg %a : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
    kernel.yield %s : tensor<1x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>} -> tensor<1x4096xbf16>
  %3 = kernel.launch contraction "tiles" ins(%2, %w : tensor<1x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %d = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
    kernel.yield %d : tensor<1x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = wgmma, threads = 160, vectors = 8, rows = 64, columns = 64>>} -> tensor<1x4096xbf16>
  return %3 : tensor<1x4096xbf16>
}

// Each architecture decides for itself, and products of f32 are left alone.
// CHECK-LABEL: @wide
// CHECK: sm_80 = <form = loop, threads = 256>, sm_90a = <form = loop, threads = 256, next_early = true>
// CHECK-LABEL: @f32
// CHECK: form = loop, threads = 256>
func.func @wide(%x: tensor<4x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4x4096xbf16> {
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x4096xbf16>) sizes() {
  ^bb0(%a: tensor<4x4096xbf16>):
    %r = prim.neg %a : (tensor<4x4096xbf16>) -> tensor<4x4096xbf16>
    kernel.yield %r : tensor<4x4096xbf16>
  } {schedule = #gpu.schedules<sm_80 = <form = loop, threads = 256>, sm_90a = <form = loop, threads = 256>>} -> tensor<4x4096xbf16>
  %1 = kernel.launch contraction "dot" ins(%0, %w : tensor<4x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<4x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %d = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<4x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4x4096xbf16>
    kernel.yield %d : tensor<4x4096xbf16>
  } {schedule = #gpu.schedules<sm_80 = <form = mma, threads = 128, rows = 16, columns = 64>, sm_90a = <form = skinny_mma, threads = 128, columns = 8, depth = 1>>} -> tensor<4x4096xbf16>
  return %1 : tensor<4x4096xbf16>
}
func.func @f32(%x: tensor<1x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<1x4096xf32> {
  %0 = kernel.launch loop "neg" ins(%x : tensor<1x4096xf32>) sizes() {
  ^bb0(%a: tensor<1x4096xf32>):
    %r = prim.neg %a : (tensor<1x4096xf32>) -> tensor<1x4096xf32>
    kernel.yield %r : tensor<1x4096xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256>>} -> tensor<1x4096xf32>
  %1 = kernel.launch contraction "dot" ins(%0, %w : tensor<1x4096xf32>, tensor<4096x4096xf32>) sizes() {
  ^bb0(%a: tensor<1x4096xf32>, %b: tensor<4096x4096xf32>):
    %d = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1x4096xf32>, tensor<4096x4096xf32>) -> tensor<1x4096xf32>
    kernel.yield %d : tensor<1x4096xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = skinny, threads = 256, lanes = 4, columns = 1>>} -> tensor<1x4096xf32>
  return %1 : tensor<1x4096xf32>
}

// Many blocks take too long to say it: 16 MB are no short kernel, of an open extent it is not known.
// CHECK-LABEL: @long
// CHECK: form = loop, threads = 256>
// CHECK: form = skinny
// CHECK: form = loop, threads = 128, next_early = true>
// CHECK: form = skinny
func.func @long(%x: tensor<1024x4096xbf16>, %y: tensor<?x4096xbf16>, %v: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16>, %n: index) {
  %0 = kernel.launch loop "neg" ins(%x : tensor<1024x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1024x4096xbf16>):
    %r = prim.neg %a : (tensor<1024x4096xbf16>) -> tensor<1024x4096xbf16>
    kernel.yield %r : tensor<1024x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256>>} -> tensor<1024x4096xbf16>
  %1 = kernel.launch contraction "dot" ins(%v, %w : tensor<1x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %d = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
    kernel.yield %d : tensor<1x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = skinny, threads = 256, lanes = 8, columns = 1>>} -> tensor<1x4096xbf16>
  %2 = kernel.launch loop "neg" ins(%y : tensor<?x4096xbf16>) sizes(%n) {
  ^bb0(%a: tensor<?x4096xbf16>):
    %r = prim.neg %a : (tensor<?x4096xbf16>) -> tensor<?x4096xbf16>
    kernel.yield %r : tensor<?x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>} -> tensor<?x4096xbf16>
  %3 = kernel.launch contraction "dot" ins(%v, %w : tensor<1x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
  ^bb0(%a: tensor<1x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %d = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
    kernel.yield %d : tensor<1x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = skinny, threads = 256, lanes = 8, columns = 1>>} -> tensor<1x4096xbf16>
  return
}

// What needs nothing of a check of indices runs beside it, and a check beside what does not need it. Not where
// it has scratch memory and is no scatter, where the second reads the first, where it changes what the first reads, or
// may be given memory that the first was the last to read.
// CHECK-LABEL: @checked
// CHECK: form = row, threads = 64, row_threads = 64, next_beside = true>
// CHECK: form = row, threads = 32, row_threads = 32, next_beside = true, beside = true>
// CHECK: form = loop, threads = 128, beside = true>
// CHECK: form = loop, threads = 256>
func.func @checked(%i: tensor<64xi64>, %j: tensor<32xi64>, %t: tensor<90xf32>) -> (tensor<i1>, tensor<i1>, tensor<64xf32>) {
  %0 = kernel.launch row[0] "check" ins(%i : tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<64xi64>):
    %z = prim.constant dense<0> : tensor<64xi64>
    %c = prim.compare lt %a, %z : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
    %r = prim.reduce any %c [0] : (tensor<64xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 64, row_threads = 64>>} -> tensor<i1>
  %1 = kernel.launch row[0] "check" ins(%j : tensor<32xi64>) sizes() {
  ^bb0(%a: tensor<32xi64>):
    %z = prim.constant dense<0> : tensor<32xi64>
    %c = prim.compare lt %a, %z : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi1>
    %r = prim.reduce any %c [0] : (tensor<32xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 32, row_threads = 32>>} -> tensor<i1>
  %2 = kernel.launch loop "take" ins(%t, %i : tensor<90xf32>, tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<90xf32>, %b: tensor<64xi64>):
    %r = prim.take %a, %b axis 0 : (tensor<90xf32>, tensor<64xi64>) -> tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>} -> tensor<64xf32>
  %3 = kernel.launch loop "neg" ins(%2 : tensor<64xf32>) sizes() {
  ^bb0(%a: tensor<64xf32>):
    %r = prim.neg %a : (tensor<64xf32>) -> tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256>>} -> tensor<64xf32>
  return %0, %1, %3 : tensor<i1>, tensor<i1>, tensor<64xf32>
}

// CHECK-LABEL: @apart
// CHECK: form = loop, threads = 32>
// CHECK: form = row, threads = 64, row_threads = 64>
// CHECK: form = loop, threads = 128>
// CHECK: form = row, threads = 64, row_threads = 64, scratch_bytes = 4096>
// CHECK: form = row, threads = 96, row_threads = 96, scratch_bytes = 4096>
// CHECK: form = scatter, threads = 128>
func.func @apart(%i: tensor<64xi64>, %t: tensor<90xf32>) -> (tensor<i1>, tensor<64xf32>, tensor<i1>, tensor<i64>, tensor<64xi64>) {
  %0 = kernel.launch loop "neg" ins(%i : tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<64xi64>):
    %r = prim.neg %a : (tensor<64xi64>) -> tensor<64xi64>
    kernel.yield %r : tensor<64xi64>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 32>>} -> tensor<64xi64>
  %1 = kernel.launch row[0] "check" ins(%0 : tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<64xi64>):
    %z = prim.constant dense<0> : tensor<64xi64>
    %c = prim.compare lt %a, %z : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
    %r = prim.reduce any %c [0] : (tensor<64xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 64, row_threads = 64>>} -> tensor<i1>
  %2 = kernel.launch loop "take" ins(%t, %i : tensor<90xf32>, tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<90xf32>, %b: tensor<64xi64>):
    %r = prim.take %a, %b axis 0 : (tensor<90xf32>, tensor<64xi64>) -> tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>} -> tensor<64xf32>
  %3 = kernel.launch row[0] "check" ins(%i : tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<64xi64>):
    %z = prim.constant dense<0> : tensor<64xi64>
    %c = prim.compare lt %a, %z : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
    %r = prim.reduce any %c [0] : (tensor<64xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 64, row_threads = 64, scratch_bytes = 4096>>} -> tensor<i1>
  %4 = kernel.launch row[0] "sum" ins(%i : tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<64xi64>):
    %r = prim.reduce sum %a [0] : (tensor<64xi64>) -> tensor<i64>
    kernel.yield %r : tensor<i64>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 96, row_threads = 96, scratch_bytes = 4096>>} -> tensor<i64>
  %5 = kernel.launch special "insert" ins(%i, %4 : tensor<64xi64>, tensor<i64>) sizes() {
  ^bb0(%a: tensor<64xi64>, %b: tensor<i64>):
    %u = prim.reshape %b sizes() : (tensor<i64>) -> tensor<1xi64>
    %r = prim.insert_slice %a, %u starts [3]() steps [1] : (tensor<64xi64>, tensor<1xi64>) -> tensor<64xi64>
    kernel.yield %r : tensor<64xi64>
  } {schedule = #gpu.schedules<sm_90a = <form = scatter, threads = 128>>} -> tensor<64xi64>
  return %1, %2, %3, %4, %5 : tensor<i1>, tensor<64xf32>, tensor<i1>, tensor<i64>, tensor<64xi64>
}

// Nor beside what is beside what it reads. Scratch memory of a scatter lies behind that of a check.
// CHECK-LABEL: @chain
// CHECK: form = loop, threads = 32, next_beside = true>
// CHECK: form = row, threads = 64, row_threads = 64, beside = true>
// CHECK: form = loop, threads = 96>
// CHECK: form = row, threads = 64, row_threads = 64, split = 64, scratch_bytes = 4608, next_beside = true>
// CHECK: form = scatter, threads = 256, row_threads = 1, split = 9, scratch_bytes = 12048, beside = true>
func.func @chain(%i: tensor<64xi64>, %t: tensor<64xf32>, %n: tensor<64xi64>) -> (tensor<i1>, tensor<64xf32>, tensor<i1>, tensor<64xf32>) {
  %0 = kernel.launch loop "neg" ins(%t : tensor<64xf32>) sizes() {
  ^bb0(%a: tensor<64xf32>):
    %r = prim.neg %a : (tensor<64xf32>) -> tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 32>>} -> tensor<64xf32>
  %1 = kernel.launch row[0] "check" ins(%i : tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<64xi64>):
    %z = prim.constant dense<0> : tensor<64xi64>
    %c = prim.compare lt %a, %z : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
    %r = prim.reduce any %c [0] : (tensor<64xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 64, row_threads = 64>>} -> tensor<i1>
  %2 = kernel.launch loop "exp" ins(%0 : tensor<64xf32>) sizes() {
  ^bb0(%a: tensor<64xf32>):
    %r = prim.exp %a : (tensor<64xf32>) -> tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 96>>} -> tensor<64xf32>
  %3 = kernel.launch row[0] "check" ins(%n : tensor<64xi64>) sizes() {
  ^bb0(%a: tensor<64xi64>):
    %z = prim.constant dense<0> : tensor<64xi64>
    %c = prim.compare lt %a, %z : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
    %r = prim.reduce any %c [0] : (tensor<64xi1>) -> tensor<i1>
    kernel.yield %r : tensor<i1>
  } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 64, row_threads = 64, split = 64, scratch_bytes = 4608>>} -> tensor<i1>
  %4 = kernel.launch special "scatter" ins(%t, %n, %2 : tensor<64xf32>, tensor<64xi64>, tensor<64xf32>) sizes() {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xi64>, %c: tensor<64xf32>):
    %r = prim.scatter_along add %a, %b, %c axis 0 : (tensor<64xf32>, tensor<64xi64>, tensor<64xf32>) -> tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  } {schedule = #gpu.schedules<sm_90a = <form = scatter, threads = 256, row_threads = 1, split = 9, scratch_bytes = 10000>>} -> tensor<64xf32>
  return %1, %2, %3, %4 : tensor<i1>, tensor<64xf32>, tensor<i1>, tensor<64xf32>
}

// Which of two schedules a product of open rows will have is not known: nothing starts before it or beside it, and what
// comes behind it is looked at anew.
// CHECK-LABEL: @open_rows
// CHECK: schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>
// CHECK: schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = skinny, threads = 256, lanes = 8, columns = 1>>, below = 65536,
// CHECK: schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>
func.func @open_rows(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xbf16>, %z: tensor<64xbf16>) -> (tensor<?x4096xbf16>, tensor<64xbf16>) {
  %n = prim.dim %x, 0 : tensor<?x4096xbf16>
  %0 = kernel.launch loop "neg" ins(%x : tensor<?x4096xbf16>) sizes(%n) {
  ^bb0(%a: tensor<?x4096xbf16>):
    %s = prim.neg %a : (tensor<?x4096xbf16>) -> tensor<?x4096xbf16>
    kernel.yield %s : tensor<?x4096xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>} -> tensor<?x4096xbf16>
  %1 = kernel.launch contraction "dot" ins(%0, %w : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) sizes(%n) {
  ^bb0(%a: tensor<?x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %d = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<?x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<?x4096xbf16>
    kernel.yield %d : tensor<?x4096xbf16>
  } {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = skinny, threads = 256, lanes = 8, columns = 1>>, below = 65536, large = #gpu.schedules<sm_90a = <form = wgmma, threads = 384, rows = 128, columns = 128, most_blocks = 132>>>} -> tensor<?x4096xbf16>
  %2 = kernel.launch loop "neg" ins(%z : tensor<64xbf16>) sizes() {
  ^bb0(%a: tensor<64xbf16>):
    %s = prim.neg %a : (tensor<64xbf16>) -> tensor<64xbf16>
    kernel.yield %s : tensor<64xbf16>
  } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 128>>} -> tensor<64xbf16>
  return %1, %2 : tensor<?x4096xbf16>, tensor<64xbf16>
}
