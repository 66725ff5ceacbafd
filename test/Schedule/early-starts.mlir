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
