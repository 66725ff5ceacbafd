// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// Vectors go through views that put whole vectors of rows together; where rows cut them, threads have several points.

// CHECK-LABEL: @views
// CHECK: <form = loop, threads = 256, lanes = 8, index_bits = 32>
// CHECK: <form = loop, threads = 256, vectors = 8, index_bits = 32>
// CHECK: <form = loop, threads = 256, lanes = 8, index_bits = 32>
// CHECK: <form = scatter, threads = 128, lanes = 8, index_bits = 32>
// CHECK: <form = loop, threads = 256, lanes = 8>
// CHECK: <form = loop, threads = 256, vectors = 8>
func.func @views(%x: tensor<8192x1024xbf16>, %y: tensor<8192x1023xbf16>, %v: tensor<bf16>, %z: tensor<32x56x56x256xbf16>,
                 %k: tensor<8x1024x64xbf16>, %u: tensor<8x1x64xbf16>, %i: index) {
  %0 = kernel.launch loop "concat" ins(%x, %x : tensor<8192x1024xbf16>, tensor<8192x1024xbf16>) sizes() {
  ^bb0(%a: tensor<8192x1024xbf16>, %b: tensor<8192x1024xbf16>):
    %c = prim.concat %a, %b axis 1 : (tensor<8192x1024xbf16>, tensor<8192x1024xbf16>) -> tensor<8192x2048xbf16>
    kernel.yield %c : tensor<8192x2048xbf16>
  } -> tensor<8192x2048xbf16>
  %1 = kernel.launch loop "concat" ins(%x, %y : tensor<8192x1024xbf16>, tensor<8192x1023xbf16>) sizes() {
  ^bb0(%a: tensor<8192x1024xbf16>, %b: tensor<8192x1023xbf16>):
    %c = prim.concat %a, %b axis 1 : (tensor<8192x1024xbf16>, tensor<8192x1023xbf16>) -> tensor<8192x2047xbf16>
    kernel.yield %c : tensor<8192x2047xbf16>
  } -> tensor<8192x2047xbf16>
  %2 = kernel.launch loop "pad" ins(%z, %v : tensor<32x56x56x256xbf16>, tensor<bf16>) sizes() {
  ^bb0(%a: tensor<32x56x56x256xbf16>, %b: tensor<bf16>):
    %c = prim.pad %a, %b low [0, 1, 1, 0] () interior [0, 0, 0, 0] sizes() : (tensor<32x56x56x256xbf16>, tensor<bf16>) -> tensor<32x58x58x256xbf16>
    kernel.yield %c : tensor<32x58x58x256xbf16>
  } -> tensor<32x58x58x256xbf16>
  %3 = kernel.launch special "insert_slice" ins(%k, %u : tensor<8x1024x64xbf16>, tensor<8x1x64xbf16>) sizes() {
  ^bb0(%a: tensor<8x1024x64xbf16>, %b: tensor<8x1x64xbf16>):
    %c = prim.insert_slice %a, %b starts [0, 500, 0] () steps [1, 1, 1] : (tensor<8x1024x64xbf16>, tensor<8x1x64xbf16>) -> tensor<8x1024x64xbf16>
    kernel.yield %c : tensor<8x1024x64xbf16>
  } -> tensor<8x1024x64xbf16>
  %4 = kernel.launch loop "slice" ins(%x, %i : tensor<8192x1024xbf16>, index) sizes() {
  ^bb0(%a: tensor<8192x1024xbf16>, %b: index):
    %c = prim.slice %a starts [-9223372036854775808, 0](%b) steps [1, 1] sizes() : (tensor<8192x1024xbf16>) -> tensor<4096x1024xbf16>
    kernel.yield %c : tensor<4096x1024xbf16>
  } -> tensor<4096x1024xbf16>
  %5 = kernel.launch loop "slice" ins(%y, %i : tensor<8192x1023xbf16>, index) sizes() {
  ^bb0(%a: tensor<8192x1023xbf16>, %b: index):
    %c = prim.slice %a starts [-9223372036854775808, 0](%b) steps [1, 1] sizes() : (tensor<8192x1023xbf16>) -> tensor<8191x1023xbf16>
    kernel.yield %c : tensor<8191x1023xbf16>
  } -> tensor<8191x1023xbf16>
  return
}

// Rows of a few elements have a thread each, and long ones of odd lengths several elements a thread; elements that lie inside
// what is kept are shared by all threads of a block; axes too short for a tile are read across.
// CHECK-LABEL: @shapes
// CHECK: <form = row, threads = 256, row_threads = 1, kept = 7, index_bits = 32>
// CHECK: <form = row, threads = 256, row_threads = 256, kept = 16, index_bits = 32>
// CHECK: <form = column, threads = 1024, row_threads = 1024, index_bits = 32>
// CHECK: <form = loop, threads = 256, vectors = 8, index_bits = 32>
func.func @shapes(%x: tensor<4000000x7xbf16>, %y: tensor<8192x4095xbf16>, %z: tensor<32x512x56x56xbf16>, %w: tensor<64x3x224x224xbf16>) {
  %0 = kernel.launch row[1] "max" ins(%x : tensor<4000000x7xbf16>) sizes() {
  ^bb0(%a: tensor<4000000x7xbf16>):
    %b = prim.reduce max %a [1] : (tensor<4000000x7xbf16>) -> tensor<4000000xbf16>
    kernel.yield %b : tensor<4000000xbf16>
  } -> tensor<4000000xbf16>
  %1 = kernel.launch row[1] "max" ins(%y : tensor<8192x4095xbf16>) sizes() {
  ^bb0(%a: tensor<8192x4095xbf16>):
    %b = prim.reduce max %a [1] : (tensor<8192x4095xbf16>) -> tensor<8192xbf16>
    kernel.yield %b : tensor<8192xbf16>
  } -> tensor<8192xbf16>
  %2 = kernel.launch loop "sum" ins(%z : tensor<32x512x56x56xbf16>) sizes() {
  ^bb0(%a: tensor<32x512x56x56xbf16>):
    %b = prim.reduce sum %a [0, 2, 3] : (tensor<32x512x56x56xbf16>) -> tensor<512xbf16>
    kernel.yield %b : tensor<512xbf16>
  } -> tensor<512xbf16>
  %3 = kernel.launch loop "transpose" ins(%w : tensor<64x3x224x224xbf16>) sizes() {
  ^bb0(%a: tensor<64x3x224x224xbf16>):
    %b = prim.transpose %a [0, 2, 3, 1] : (tensor<64x3x224x224xbf16>) -> tensor<64x224x224x3xbf16>
    kernel.yield %b : tensor<64x224x224x3xbf16>
  } -> tensor<64x224x224x3xbf16>
  return
}

// What reads several places for each point has few points a thread, not sixteen bytes of them.
// CHECK-LABEL: @resamples
// CHECK: <form = loop, threads = 128, vectors = 4, index_bits = 32>
// CHECK: <form = loop, threads = 256, vectors = 8, index_bits = 32>
func.func @resamples(%x: tensor<8x16x128x128xbf16>, %i: tensor<217xi32>, %j: tensor<217xi32>) {
  %0 = kernel.launch loop "take_add" ins(%x, %i, %j : tensor<8x16x128x128xbf16>, tensor<217xi32>, tensor<217xi32>) sizes() {
  ^bb0(%a: tensor<8x16x128x128xbf16>, %b: tensor<217xi32>, %c: tensor<217xi32>):
    %d = prim.take %a, %b axis 3 : (tensor<8x16x128x128xbf16>, tensor<217xi32>) -> tensor<8x16x128x217xbf16>
    %e = prim.take %a, %c axis 3 : (tensor<8x16x128x128xbf16>, tensor<217xi32>) -> tensor<8x16x128x217xbf16>
    %f = prim.add %d, %e : (tensor<8x16x128x217xbf16>, tensor<8x16x128x217xbf16>) -> tensor<8x16x128x217xbf16>
    kernel.yield %f : tensor<8x16x128x217xbf16>
  } -> tensor<8x16x128x217xbf16>
  %1 = kernel.launch loop "take" ins(%x, %i : tensor<8x16x128x128xbf16>, tensor<217xi32>) sizes() {
  ^bb0(%a: tensor<8x16x128x128xbf16>, %b: tensor<217xi32>):
    %d = prim.take %a, %b axis 3 : (tensor<8x16x128x128xbf16>, tensor<217xi32>) -> tensor<8x16x128x217xbf16>
    kernel.yield %d : tensor<8x16x128x217xbf16>
  } -> tensor<8x16x128x217xbf16>
  return
}

// Channels that are sampled at several places of one image are a thread's together, one point of each; of a vector's neighbours
// each would be gathered as well. Not where all of them read many places, or one.
// CHECK-LABEL: @samples
// CHECK: <form = loop, threads = 256, vectors = 3, depth = 1, index_bits = 32>
// CHECK: <form = loop, threads = 256, lanes = 4, index_bits = 32>
// CHECK: <form = loop, threads = 256, lanes = 4, index_bits = 32>
func.func @samples(%x: tensor<8x3x50176xf32>, %i: tensor<8x50176xi32>) {
  %g4 = kernel.launch loop "take_along" ins(%x, %i : tensor<8x3x50176xf32>, tensor<8x50176xi32>) sizes() {
  ^bb0(%a: tensor<8x3x50176xf32>, %b: tensor<8x50176xi32>):
    %c = prim.constant dense<1> : tensor<8x50176xi32>
    %i0 = prim.add %b, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r0 = prim.reshape %i0 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n0 = prim.broadcast %r0 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t0 = prim.take_along %a, %n0 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %i1 = prim.add %i0, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r1 = prim.reshape %i1 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n1 = prim.broadcast %r1 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t1 = prim.take_along %a, %n1 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %s1 = prim.add %t0, %t1 : (tensor<8x3x50176xf32>, tensor<8x3x50176xf32>) -> tensor<8x3x50176xf32>
    %i2 = prim.add %i1, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r2 = prim.reshape %i2 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n2 = prim.broadcast %r2 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t2 = prim.take_along %a, %n2 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %s2 = prim.add %s1, %t2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xf32>) -> tensor<8x3x50176xf32>
    %i3 = prim.add %i2, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r3 = prim.reshape %i3 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n3 = prim.broadcast %r3 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t3 = prim.take_along %a, %n3 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %s3 = prim.add %s2, %t3 : (tensor<8x3x50176xf32>, tensor<8x3x50176xf32>) -> tensor<8x3x50176xf32>
    kernel.yield %s3 : tensor<8x3x50176xf32>
  } -> tensor<8x3x50176xf32>
  %g6 = kernel.launch loop "take_along" ins(%x, %i : tensor<8x3x50176xf32>, tensor<8x50176xi32>) sizes() {
  ^bb0(%a: tensor<8x3x50176xf32>, %b: tensor<8x50176xi32>):
    %c = prim.constant dense<1> : tensor<8x50176xi32>
    %i0 = prim.add %b, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r0 = prim.reshape %i0 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n0 = prim.broadcast %r0 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t0 = prim.take_along %a, %n0 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %i1 = prim.add %i0, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r1 = prim.reshape %i1 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n1 = prim.broadcast %r1 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t1 = prim.take_along %a, %n1 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %s1 = prim.add %t0, %t1 : (tensor<8x3x50176xf32>, tensor<8x3x50176xf32>) -> tensor<8x3x50176xf32>
    %i2 = prim.add %i1, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r2 = prim.reshape %i2 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n2 = prim.broadcast %r2 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t2 = prim.take_along %a, %n2 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %s2 = prim.add %s1, %t2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xf32>) -> tensor<8x3x50176xf32>
    %i3 = prim.add %i2, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r3 = prim.reshape %i3 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n3 = prim.broadcast %r3 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t3 = prim.take_along %a, %n3 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %s3 = prim.add %s2, %t3 : (tensor<8x3x50176xf32>, tensor<8x3x50176xf32>) -> tensor<8x3x50176xf32>
    %i4 = prim.add %i3, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r4 = prim.reshape %i4 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n4 = prim.broadcast %r4 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t4 = prim.take_along %a, %n4 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %s4 = prim.add %s3, %t4 : (tensor<8x3x50176xf32>, tensor<8x3x50176xf32>) -> tensor<8x3x50176xf32>
    %i5 = prim.add %i4, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r5 = prim.reshape %i5 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n5 = prim.broadcast %r5 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t5 = prim.take_along %a, %n5 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    %s5 = prim.add %s4, %t5 : (tensor<8x3x50176xf32>, tensor<8x3x50176xf32>) -> tensor<8x3x50176xf32>
    kernel.yield %s5 : tensor<8x3x50176xf32>
  } -> tensor<8x3x50176xf32>
  %g1 = kernel.launch loop "take_along" ins(%x, %i : tensor<8x3x50176xf32>, tensor<8x50176xi32>) sizes() {
  ^bb0(%a: tensor<8x3x50176xf32>, %b: tensor<8x50176xi32>):
    %c = prim.constant dense<1> : tensor<8x50176xi32>
    %i0 = prim.add %b, %c : (tensor<8x50176xi32>, tensor<8x50176xi32>) -> tensor<8x50176xi32>
    %r0 = prim.reshape %i0 sizes() : (tensor<8x50176xi32>) -> tensor<8x1x50176xi32>
    %n0 = prim.broadcast %r0 axes [0, 1, 2] sizes() : (tensor<8x1x50176xi32>) -> tensor<8x3x50176xi32>
    %t0 = prim.take_along %a, %n0 axis 2 : (tensor<8x3x50176xf32>, tensor<8x3x50176xi32>) -> tensor<8x3x50176xf32>
    kernel.yield %t0 : tensor<8x3x50176xf32>
  } -> tensor<8x3x50176xf32>
  return
}
