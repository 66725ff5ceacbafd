// RUN: tcc-opt %s -tcc-layout-split-reductions | FileCheck %s

// CHECK-LABEL: func @all
// CHECK: prim.reshape %{{.*}} -> tensor<256x16384xf32>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<256x16384xf32>) -> tensor<256xf32>
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<256xf32>) -> tensor<f32>
func.func @all(%x: tensor<4194304xf32>) -> tensor<f32> {
  %0 = prim.reduce sum %x [0] : (tensor<4194304xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Between two axes nothing is cut.
// CHECK-LABEL: func @axes
// CHECK-NOT: prim.reshape
// CHECK: prim.reduce max %{{.*}} [2, 3] : (tensor<2x32x101x103xbf16>) -> tensor<2x32xbf16>
// CHECK: prim.reduce max %{{.*}} [1] : (tensor<2x32xbf16>) -> tensor<2xbf16>
func.func @axes(%x: tensor<2x32x101x103xbf16>) -> tensor<2xbf16> {
  %0 = prim.reduce max %x [1, 2, 3] : (tensor<2x32x101x103xbf16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// Few columns: rows side by side, and of those parts.
// CHECK-LABEL: func @columns
// CHECK: prim.reshape %{{.*}} -> tensor<32768x32x3xf32>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<{{[0-9]+}}x{{[0-9]+}}x32x3xf32>)
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<{{[0-9]+}}x32x3xf32>) -> tensor<32x3xf32>
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<32x3xf32>) -> tensor<3xf32>
// CHECK: prim.reduce max %{{.*}} [1] : (tensor<7x2x16x7xf32>) -> tensor<7x16x7xf32>
// CHECK: prim.reduce max %{{.*}} [1] : (tensor<7x16x7xf32>) -> tensor<7x7xf32>
// Of many rows of such lines a row kernel does one at a time.
// CHECK: prim.reduce max %{{.*}} [1] : (tensor<64x1000x7xf32>) -> tensor<64x7xf32>
func.func @columns(%x: tensor<1048576x3xf32>, %y: tensor<7x4000x7xf32>, %z: tensor<64x1000x7xf32>) -> (tensor<3xf32>, tensor<7x7xf32>, tensor<64x7xf32>) {
  %0 = prim.reduce sum %x [0] : (tensor<1048576x3xf32>) -> tensor<3xf32>
  %1 = prim.reduce max %y [1] : (tensor<7x4000x7xf32>) -> tensor<7x7xf32>
  %2 = prim.reduce max %z [1] : (tensor<64x1000x7xf32>) -> tensor<64x7xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<7x7xf32>, tensor<64x7xf32>
}

// Channels: the axes behind them first, or those before where the others are few.
// CHECK-LABEL: func @channels
// CHECK: prim.reduce sum %{{.*}} [2, 3] : (tensor<16x64x56x56xf32>) -> tensor<16x64xf32>
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<16x64xf32>) -> tensor<64xf32>
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<{{[0-9]+}}x197x3xf32>) -> tensor<197x3xf32>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<197x3xf32>) -> tensor<197xf32>
func.func @channels(%x: tensor<16x64x56x56xf32>, %y: tensor<512x197x3xf32>) -> (tensor<64xf32>, tensor<197xf32>) {
  %0 = prim.reduce sum %x [0, 2, 3] : (tensor<16x64x56x56xf32>) -> tensor<64xf32>
  %1 = prim.reduce sum %y [0, 2] : (tensor<512x197x3xf32>) -> tensor<197xf32>
  return %0, %1 : tensor<64xf32>, tensor<197xf32>
}

// What is summed is computed in the shape of the parts.
// CHECK-LABEL: func @computed
// CHECK-DAG: %[[X:.*]] = prim.reshape %arg0 {{.*}} -> tensor<50x20x1000xf32>
// CHECK-DAG: %[[Y:.*]] = prim.reshape %arg1 {{.*}} -> tensor<50x20x1000xf32>
// CHECK: %[[D:.*]] = prim.sub %[[X]], %[[Y]]
// CHECK: %[[S:.*]] = prim.mul %[[D]], %[[D]] : {{.*}} -> tensor<50x20x1000xf32>
// CHECK: prim.reduce sum %[[S]] [1, 2]
func.func @computed(%x: tensor<1000x1000xf32>, %y: tensor<1000x1000xf32>) -> tensor<f32> {
  %0 = prim.sub %x, %y : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %1 = prim.mul %0, %0 : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %2 = prim.reduce sum %1 [0, 1] : (tensor<1000x1000xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// A broadcast is one along both parts of the axis, of what it has there or of one element.
// CHECK-LABEL: func @centred
// CHECK-DAG: %[[X:.*]] = prim.reshape %arg0 {{.*}} -> tensor<2x8x8x2048xf32>
// CHECK-DAG: %[[M:.*]] = prim.reshape %arg1 {{.*}} -> tensor<2x1x1x1xf32>
// CHECK-DAG: %[[B:.*]] = prim.broadcast %[[M]] axes [0, 1, 2, 3] {{.*}} -> tensor<2x8x8x2048xf32>
// CHECK-DAG: %[[S:.*]] = prim.reshape %arg2 {{.*}} -> tensor<8x8xf32>
// CHECK-DAG: %[[C:.*]] = prim.broadcast %[[S]] axes [1, 2] {{.*}} -> tensor<2x8x8x2048xf32>
// CHECK-DAG: prim.sub %[[X]], %[[B]]
func.func @centred(%x: tensor<2x64x2048xf32>, %m: tensor<2x1x1xf32>, %s: tensor<64xf32>) -> tensor<2xf32> {
  %b = prim.broadcast %m axes [0, 1, 2] sizes() : (tensor<2x1x1xf32>) -> tensor<2x64x2048xf32>
  %c = prim.broadcast %s axes [1] sizes() : (tensor<64xf32>) -> tensor<2x64x2048xf32>
  %d = prim.sub %x, %b : (tensor<2x64x2048xf32>, tensor<2x64x2048xf32>) -> tensor<2x64x2048xf32>
  %e = prim.mul %d, %c : (tensor<2x64x2048xf32>, tensor<2x64x2048xf32>) -> tensor<2x64x2048xf32>
  %r = prim.reduce sum %e [1, 2] : (tensor<2x64x2048xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// Parts of sums of narrow floats are wide.
// CHECK-LABEL: func @wide
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<64x16384xf32>) -> tensor<64xf32>
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<64xf32>) -> tensor<f32>
// CHECK: prim.cast %{{.*}} : (tensor<f32>) -> tensor<bf16>
func.func @wide(%h: tensor<1048576xbf16>) -> tensor<bf16> {
  %0 = prim.reduce sum %h [0] : (tensor<1048576xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}

// Rows a page long, one below the other.
// CHECK-LABEL: func @deep
// CHECK: prim.reshape %{{.*}} -> tensor<128x32x1024xf32>
// CHECK: prim.reduce prod %{{.*}} [1] : (tensor<128x32x1024xf32>) -> tensor<128x1024xf32>
// CHECK: prim.reduce prod %{{.*}} [0] : (tensor<128x1024xf32>) -> tensor<1024xf32>
// CHECK: prim.reshape %{{.*}} -> tensor<8x32x32x4096xf32>
// CHECK: prim.reduce sum %{{.*}} [2] : (tensor<8x32x32x4096xf32>) -> tensor<8x32x4096xf32>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<8x32x4096xf32>) -> tensor<8x4096xf32>
func.func @deep(%x: tensor<4096x1024xf32>, %y: tensor<8x1024x4096xf32>) -> (tensor<1024xf32>, tensor<8x4096xf32>) {
  %0 = prim.reduce prod %x [0] : (tensor<4096x1024xf32>) -> tensor<1024xf32>
  %1 = prim.reduce sum %y [1] : (tensor<8x1024x4096xf32>) -> tensor<8x4096xf32>
  return %0, %1 : tensor<1024xf32>, tensor<8x4096xf32>
}

// Short rows, few of them, many rows that are reduced, few elements, unknown extents.
// CHECK-LABEL: func @kept
// CHECK-COUNT-5: prim.reduce
// CHECK-NOT: prim.reduce
func.func @kept(%s: tensor<2048x16x256xf32>, %f: tensor<64x65536xf32>, %x: tensor<1024x1024xf32>, %y: tensor<1000xf32>, %d: tensor<?xf32>)
    -> (tensor<2048x256xf32>, tensor<65536xf32>, tensor<1024xf32>, tensor<f32>, tensor<f32>) {
  %5 = prim.reduce sum %s [1] : (tensor<2048x16x256xf32>) -> tensor<2048x256xf32>
  %6 = prim.reduce sum %f [0] : (tensor<64x65536xf32>) -> tensor<65536xf32>
  %0 = prim.reduce sum %x [1] : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  %1 = prim.reduce sum %y [0] : (tensor<1000xf32>) -> tensor<f32>
  %3 = prim.reduce sum %d [0] : (tensor<?xf32>) -> tensor<f32>
  return %5, %6, %0, %1, %3 : tensor<2048x256xf32>, tensor<65536xf32>, tensor<1024xf32>, tensor<f32>, tensor<f32>
}

// An extent without a fitting divisor: whole parts, a rest, and both joined; of what is computed,
// the operands are cut.
// CHECK-LABEL: func @prime
// CHECK: %[[X:.*]] = prim.slice %arg0 starts [0]() {{.*}} -> tensor<999973xf16>
// CHECK: %[[XS:.*]] = prim.reshape %[[X]] {{.*}} -> tensor<61x16393xf16>
// CHECK: %[[S:.*]] = prim.mul %[[XS]], {{.*}} -> tensor<61x16393xf16>
// CHECK: %[[P:.*]] = prim.reduce sum {{.*}} [1] : (tensor<61x16393xf32>) -> tensor<61xf32>
// CHECK: %[[A:.*]] = prim.reduce sum %[[P]] [0]
// CHECK: prim.slice %arg0 starts [999973]() {{.*}} -> tensor<30xf16>
// CHECK: %[[R:.*]] = prim.reduce sum {{.*}} [0] : (tensor<30xf32>) -> tensor<f32>
// CHECK: prim.add %[[A]], %[[R]]
func.func @prime(%x: tensor<1000003xf16>, %y: tensor<1000003xf16>) -> tensor<f16> {
  %0 = prim.mul %x, %y : (tensor<1000003xf16>, tensor<1000003xf16>) -> tensor<1000003xf16>
  %1 = prim.reduce sum %0 [0] : (tensor<1000003xf16>) -> tensor<f16>
  return %1 : tensor<f16>
}

// CHECK-LABEL: func @prime_rows
// CHECK: prim.reduce max {{.*}} [2] : (tensor<7x9x16666xf32>) -> tensor<7x9xf32>
// CHECK: prim.reduce max {{.*}} [1] : (tensor<7x7xf32>) -> tensor<7xf32>
// CHECK: prim.maximum
func.func @prime_rows(%x: tensor<7x150001xf32>) -> tensor<7xf32> {
  %0 = prim.reduce max %x [1] : (tensor<7x150001xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// What is the same along the axis is not cut.
// CHECK-LABEL: func @prime_broadcast
// CHECK: prim.slice %arg0
// CHECK-NOT: prim.slice %arg1
// CHECK: prim.reduce all {{.*}} [1] : (tensor<{{[0-9]+x[0-9]+}}xi1>)
// CHECK: prim.mul
// CHECK: return
func.func @prime_broadcast(%x: tensor<1000003xf32>, %y: tensor<1xf32>) -> tensor<i1> {
  %0 = prim.broadcast %y axes [0] sizes() : (tensor<1xf32>) -> tensor<1000003xf32>
  %1 = prim.compare lt %x, %0 : (tensor<1000003xf32>, tensor<1000003xf32>) -> tensor<1000003xi1>
  %2 = prim.reduce all %1 [0] : (tensor<1000003xi1>) -> tensor<i1>
  return %2 : tensor<i1>
}

// Open extents: rows are parts, if a row is no few elements.
// CHECK-LABEL: func @open
// CHECK: prim.reduce sum {{.*}} [2] : (tensor<?x?x100xf32>) -> tensor<?x?xf32>
// CHECK: prim.reduce sum {{.*}} [0, 1] : (tensor<?x?xf32>) -> tensor<f32>
// CHECK: prim.reduce sum {{.*}} [1, 2] : (tensor<?x100x10xi32>) -> tensor<?xi32>
// CHECK: prim.reduce sum {{.*}} [0] : (tensor<?xi32>) -> tensor<i32>
// CHECK: prim.reduce max {{.*}} [0, 1] : (tensor<?x4xf32>) -> tensor<f32>
func.func @open(%x: tensor<?x?x100xf32>, %y: tensor<?x100x10xi32>, %z: tensor<?x4xf32>) -> (tensor<f32>, tensor<i32>, tensor<f32>) {
  %0 = prim.reduce sum %x [0, 1, 2] : (tensor<?x?x100xf32>) -> tensor<f32>
  %1 = prim.reduce sum %y [0, 1, 2] : (tensor<?x100x10xi32>) -> tensor<i32>
  %2 = prim.reduce max %z [0, 1] : (tensor<?x4xf32>) -> tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<i32>, tensor<f32>
}

// The place of an extremum of short lines: the extremum, and the first place where it is.
// CHECK-LABEL: func @places
// CHECK: %[[M:.*]] = prim.reduce max %arg0 [1] : (tensor<1000x15xf32>) -> tensor<1000xf32>
// CHECK: %[[S:.*]] = prim.broadcast %[[M]] axes [0]
// CHECK: prim.compare eq %arg0, %[[S]]
// CHECK: prim.compare ne %arg0, %arg0
// CHECK: prim.or
// CHECK: prim.select {{.*}} -> tensor<1000x15xi32>
// CHECK: prim.reduce min %{{.*}} [1] : (tensor<1000x15xi32>) -> tensor<1000xi32>
// CHECK: prim.cast %{{.*}} : (tensor<1000xi32>) -> tensor<1000xi64>
// The last one of integers, which are no NaN, in rows of lines of a few points.
// CHECK: prim.reduce min %arg1 [1] : (tensor<64x100x7xi32>) -> tensor<64x7xi32>
// CHECK-NOT: prim.or
// CHECK: prim.reduce max %{{.*}} [1] : (tensor<64x100x7xi32>) -> tensor<64x7xi32>
// Long lines have lanes that look for a place each.
// CHECK: prim.arg_reduce max %arg2 1
func.func @places(%x: tensor<1000x15xf32>, %y: tensor<64x100x7xi32>, %z: tensor<1000x150xf32>) -> (tensor<1000xi64>, tensor<64x7xi64>, tensor<1000xi64>) {
  %0 = prim.arg_reduce max %x 1 : (tensor<1000x15xf32>) -> tensor<1000xi64>
  %1 = prim.arg_reduce min %y 1 {last = true} : (tensor<64x100x7xi32>) -> tensor<64x7xi64>
  %2 = prim.arg_reduce max %z 1 : (tensor<1000x150xf32>) -> tensor<1000xi64>
  return %0, %1, %2 : tensor<1000xi64>, tensor<64x7xi64>, tensor<1000xi64>
}

// An exponential that is needed again is computed with the sum of its part.
// CHECK-LABEL: func @shared
// CHECK: %[[X:.*]] = prim.reshape %arg0 {{.*}} -> tensor<1x64x15625xf32>
// CHECK: %[[E:.*]] = prim.exp %[[X]] : (tensor<1x64x15625xf32>)
// CHECK: %[[W:.*]] = prim.reshape %[[E]] {{.*}} -> tensor<1x1000000xf32>
// CHECK: prim.reduce sum %[[E]] [2]
// CHECK: prim.div %[[W]]
func.func @shared(%x: tensor<1x1000000xf32>) -> tensor<1x1000000xf32> {
  %0 = prim.exp %x : (tensor<1x1000000xf32>) -> tensor<1x1000000xf32>
  %1 = prim.reduce sum %0 [1] : (tensor<1x1000000xf32>) -> tensor<1xf32>
  %2 = prim.broadcast %1 axes [0] sizes() : (tensor<1xf32>) -> tensor<1x1000000xf32>
  %3 = prim.div %0, %2 : (tensor<1x1000000xf32>, tensor<1x1000000xf32>) -> tensor<1x1000000xf32>
  return %3 : tensor<1x1000000xf32>
}

// Rows of a few elements are lanes: what is reduced is computed of each place, or sliced where it is needed again.
// CHECK-LABEL: func @few
// CHECK: %[[A:.+]] = prim.slice %arg0 starts [0, 0]{{.*}} -> tensor<1000x1xf32>
// CHECK: %[[B:.+]] = prim.slice %arg0 starts [0, 1]
// CHECK: %[[M:.+]] = prim.maximum %[[A]], %[[B]]
// CHECK: %[[C:.+]] = prim.slice %arg0 starts [0, 2]
// CHECK: %[[N:.+]] = prim.maximum %[[M]], %[[C]]
// CHECK: prim.reshape %[[N]] {{.*}} -> tensor<1000xf32>
// CHECK: prim.neg {{.*}} -> tensor<1000x1xf32>
// CHECK: prim.neg {{.*}} -> tensor<1000x1xf32>
// CHECK: prim.add
// Not of a few rows, nor longer ones, nor sums that are rounded between.
// CHECK: prim.reduce sum {{.*}} : (tensor<100x3xf32>)
// CHECK: prim.reduce sum {{.*}} : (tensor<1000x5xf32>)
// CHECK: prim.reduce sum {{.*}} : (tensor<1000x3xf16>)
func.func @few(%x: tensor<1000x3xf32>, %y: tensor<1000x2xf32>, %z: tensor<100x3xf32>, %u: tensor<1000x5xf32>, %v: tensor<1000x3xf16>)
    -> (tensor<1000xf32>, tensor<1000xf32>, tensor<100xf32>, tensor<1000xf32>, tensor<1000xf16>) {
  %0 = prim.reduce max %x [1] : (tensor<1000x3xf32>) -> tensor<1000xf32>
  %1 = prim.neg %y : (tensor<1000x2xf32>) -> tensor<1000x2xf32>
  %2 = prim.reduce sum %1 [1] : (tensor<1000x2xf32>) -> tensor<1000xf32>
  %3 = prim.reduce sum %z [1] : (tensor<100x3xf32>) -> tensor<100xf32>
  %4 = prim.reduce sum %u [1] : (tensor<1000x5xf32>) -> tensor<1000xf32>
  %5 = prim.reduce sum %v [1] : (tensor<1000x3xf16>) -> tensor<1000xf16>
  return %0, %2, %3, %4, %5 : tensor<1000xf32>, tensor<1000xf32>, tensor<100xf32>, tensor<1000xf32>, tensor<1000xf16>
}

// What is computed once and needed again is summed over columns from memory, in whole parts that fill
// vectors and a rest: no number of rows divides 28571.
// CHECK-LABEL: @kept_columns
// CHECK: %[[EXP:.*]] = prim.exp %{{.*}} : (tensor<28571x7xf32>)
// CHECK: prim.slice %[[EXP]] starts [0, 0]() {{.*}} -> tensor<28416x7xf32>
// CHECK: prim.reduce sum %{{.*}} [2] : (tensor<12x2x74x16x7xf32>) -> tensor<12x2x16x7xf32>
// CHECK: prim.slice %[[EXP]] starts [28416, 0]() {{.*}} -> tensor<155x7xf32>
// CHECK: prim.add
func.func @kept_columns(%x: tensor<28571x7xf32>) -> (tensor<28571x7xf32>, tensor<7xf32>) {
  %0 = prim.exp %x : (tensor<28571x7xf32>) -> tensor<28571x7xf32>
  %1 = prim.reduce sum %0 [0] : (tensor<28571x7xf32>) -> tensor<7xf32>
  return %0, %1 : tensor<28571x7xf32>, tensor<7xf32>
}

// Of an open batch too the axes behind one that stays come first, or where they are few the others; and rows of a few
// elements are lanes.
// CHECK-LABEL: func @open_batch
// CHECK: %[[P:.+]] = prim.reduce sum %arg0 [2, 3] : (tensor<?x128x30x30xf32>) -> tensor<?x128xf32>
// CHECK: prim.reduce sum %[[P]] [0] : (tensor<?x128xf32>) -> tensor<128xf32>
// CHECK: %[[Q:.+]] = prim.reduce sum %arg1 [0, 1] : (tensor<?x64x40x3xf32>) -> tensor<40x3xf32>
// CHECK: prim.reduce sum %[[Q]] [1] : (tensor<40x3xf32>) -> tensor<40xf32>
// CHECK: %[[N:.+]] = prim.dim %arg2, 0
// CHECK: %[[A:.+]] = prim.slice %arg2 starts [0, 0, 0]() steps [1, 1, 1] sizes(%[[N]]) : (tensor<?x1000x2xf32>) -> tensor<?x1000x1xf32>
// CHECK: %[[B:.+]] = prim.slice %arg2 starts [0, 0, 1]() steps [1, 1, 1] sizes(%[[N]])
// CHECK: %[[M:.+]] = prim.maximum %[[A]], %[[B]]
// CHECK: prim.reshape %[[M]] sizes(%[[N]]) : (tensor<?x1000x1xf32>) -> tensor<?x1000xf32>
func.func @open_batch(%x: tensor<?x128x30x30xf32>, %y: tensor<?x64x40x3xf32>, %z: tensor<?x1000x2xf32>)
    -> (tensor<128xf32>, tensor<40xf32>, tensor<?x1000xf32>) {
  %0 = prim.reduce sum %x [0, 2, 3] : (tensor<?x128x30x30xf32>) -> tensor<128xf32>
  %1 = prim.reduce sum %y [0, 1, 3] : (tensor<?x64x40x3xf32>) -> tensor<40xf32>
  %2 = prim.reduce max %z [2] : (tensor<?x1000x2xf32>) -> tensor<?x1000xf32>
  return %0, %1, %2 : tensor<128xf32>, tensor<40xf32>, tensor<?x1000xf32>
}

// Of an open number of rows of a few several are columns of one, in four parts; the rest is reduced apart, and what is broadcast is
// as many times as there are beside each other.
// CHECK-LABEL: func @points(
// CHECK: %[[ROWS:.*]] = prim.dim %[[X:.*]], 0 : tensor<?x3xf32>
// CHECK: %[[TURNS:.*]] = arith.divui %[[ROWS]], %c64{{.*}} : index
// CHECK: %[[END:.*]] = arith.muli %[[TURNS]], %c64{{.*}} : index
// CHECK: %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[END]] : index
// CHECK: prim.slice %[[X]] starts [0, 0]() steps [1, 1] sizes(%[[END]])
// CHECK: %[[PARTS:.*]] = prim.reshape %{{.*}} sizes(%[[TURNS]]) : (tensor<?x3xf32>) -> tensor<4x?x48xf32>
// CHECK: prim.broadcast %arg1 axes [1] sizes() : (tensor<3xf32>) -> tensor<16x3xf32>
// CHECK: prim.broadcast %{{.*}} axes [2] sizes(%[[TURNS]]) : (tensor<48xf32>) -> tensor<4x?x48xf32>
// CHECK: prim.sub %[[PARTS]], %{{.*}} : (tensor<4x?x48xf32>, tensor<4x?x48xf32>) -> tensor<4x?x48xf32>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<4x?x48xf32>) -> tensor<4x48xf32>
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<64x3xf32>) -> tensor<3xf32>
// CHECK: prim.slice %[[X]] starts [{{-[0-9]+}}, 0](%[[END]]) steps [1, 1] sizes(%[[LEFT]])
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<?x3xf32>) -> tensor<3xf32>
// CHECK: prim.add
func.func @points(%x: tensor<?x3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %n = prim.dim %x, 0 : tensor<?x3xf32>
  %0 = prim.broadcast %y axes [1] sizes(%n) : (tensor<3xf32>) -> tensor<?x3xf32>
  %1 = prim.sub %x, %0 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %2 = prim.reduce sum %1 [0] : (tensor<?x3xf32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}

// Rows of two open axes are one; partial sums of narrow floats wait in f32.
// CHECK-LABEL: func @batches_of_points(
// CHECK: arith.muli
// CHECK: prim.reshape %{{.*}} : (tensor<?x?x2x2xf16>) -> tensor<?x4xf16>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<4x?x32xf32>) -> tensor<4x32xf32>
func.func @batches_of_points(%x: tensor<?x?x2x2xf16>) -> tensor<2x2xf16> {
  %0 = prim.reduce sum %x [0, 1] : (tensor<?x?x2x2xf16>) -> tensor<2x2xf16>
  return %0 : tensor<2x2xf16>
}

// Not what is moved on the way, what lanes fill, or what a run tells columns of.
// CHECK-LABEL: func @other_rows(
// CHECK-NOT: divui
func.func @other_rows(%x: tensor<?x3xf32>, %y: tensor<?x40xf32>, %z: tensor<?x?xf32>) -> (tensor<3xf32>, tensor<40xf32>, tensor<?xf32>) {
  %n = prim.dim %x, 0 : tensor<?x3xf32>
  %0 = prim.reverse %x [0] : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %1 = prim.reduce sum %0 [0] : (tensor<?x3xf32>) -> tensor<3xf32>
  %2 = prim.reduce sum %y [0] : (tensor<?x40xf32>) -> tensor<40xf32>
  %3 = prim.reduce sum %z [0] : (tensor<?x?xf32>) -> tensor<?xf32>
  return %1, %2, %3 : tensor<3xf32>, tensor<40xf32>, tensor<?xf32>
}
