// RUN: tcc %s --start-from layout --stop-after schedule --target x86_64-linux --cpu x86-64-v4 -o %t
// RUN: FileCheck %s < %t
// RUN: tcc %s --start-from layout --stop-after schedule --target x86_64-linux --cpu x86-64-v3 -o %t.narrow
// RUN: FileCheck %s --check-prefix=NARROW < %t.narrow
// Tiles of rows by a matrix that comes at run time and lies in a cache that cores share read it in place.

// CHECK-LABEL: @main
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, rows = 8, {{.*}}, a = in_place, b = in_place,
// What lies far is copied, and so is what many rows read.
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, k_block = 64, a = in_place, b = copied,
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, k_block = 256, a = in_place, b = copied,
// Rows that lie whole pages apart, of a left operand along its rows: in blocks of k.
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, k_block = 256, a = in_place, b = in_place,
// A few rows of a far matrix: in blocks of more rows than the eight that fewer rows have beside each other.
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, unroll = 2, {{.*}}, k_block = 64, a = in_place, b = in_place,
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, unroll = 8, {{.*}}, k_block = 8, a = in_place, b = in_place,
func.func @main(%x: tensor<33x768xf32> {graph.name = "x"}, %y: tensor<768x768xf32> {graph.name = "y"}, %z: tensor<33x4096xf32> {graph.name = "z"},
                %u: tensor<4096x4000xf32> {graph.name = "u"}, %v: tensor<5000x768xf32> {graph.name = "v"}, %w: tensor<768x33xf32> {graph.name = "w"},
                %p: tensor<768x1024xf32> {graph.name = "p"}, %q: tensor<12x3000xf32> {graph.name = "q"}, %r: tensor<4x3000xf32> {graph.name = "r"},
                %s: tensor<3000x2000xf32> {graph.name = "s"})
    -> (tensor<33x768xf32> {graph.name = "a"}, tensor<33x4000xf32> {graph.name = "b"}, tensor<5000x768xf32> {graph.name = "c"}, tensor<33x1024xf32> {graph.name = "d"},
        tensor<12x2000xf32> {graph.name = "e"}, tensor<4x2000xf32> {graph.name = "f"}) {
  %a = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<33x768xf32>, tensor<768x768xf32>) -> tensor<33x768xf32>
  %b = prim.dot %z, %u batch [] x [] contract [1] x [0] : (tensor<33x4096xf32>, tensor<4096x4000xf32>) -> tensor<33x4000xf32>
  %c = prim.dot %v, %y batch [] x [] contract [1] x [0] : (tensor<5000x768xf32>, tensor<768x768xf32>) -> tensor<5000x768xf32>
  %d = prim.dot %w, %p batch [] x [] contract [0] x [0] : (tensor<768x33xf32>, tensor<768x1024xf32>) -> tensor<33x1024xf32>
  %e = prim.dot %q, %s batch [] x [] contract [1] x [0] : (tensor<12x3000xf32>, tensor<3000x2000xf32>) -> tensor<12x2000xf32>
  %f = prim.dot %r, %s batch [] x [] contract [1] x [0] : (tensor<4x3000xf32>, tensor<3000x2000xf32>) -> tensor<4x2000xf32>
  return %a, %b, %c, %d, %e, %f : tensor<33x768xf32>, tensor<33x4000xf32>, tensor<5000x768xf32>, tensor<33x1024xf32>, tensor<12x2000xf32>, tensor<4x2000xf32>
}

// A row by a matrix of an open number of rows, which L2 may not hold: eight of them beside each other. What it may hold, and what
// more rows copy, is as before.
// CHECK-LABEL: @lengths
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, unroll = 8, {{.*}}, k_block = 8, a = in_place, b = in_place,
// CHECK-NOT: k_block = 8,
func.func @lengths(%x: tensor<1x?xf32> {graph.name = "x"}, %y: tensor<?x4096xf32> {graph.name = "y"}, %z: tensor<?x64xf32> {graph.name = "z"},
                   %w: tensor<100x?xf32> {graph.name = "w"})
    -> (tensor<1x4096xf32> {graph.name = "a"}, tensor<1x64xf32> {graph.name = "b"}, tensor<100x4096xf32> {graph.name = "c"}) {
  %a = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<1x?xf32>, tensor<?x4096xf32>) -> tensor<1x4096xf32>
  %b = prim.dot %x, %z batch [] x [] contract [1] x [0] : (tensor<1x?xf32>, tensor<?x64xf32>) -> tensor<1x64xf32>
  %c = prim.dot %w, %y batch [] x [] contract [1] x [0] : (tensor<100x?xf32>, tensor<?x4096xf32>) -> tensor<100x4096xf32>
  return %a, %b, %c : tensor<1x4096xf32>, tensor<1x64xf32>, tensor<100x4096xf32>
}

// Panels of whole lines stay in place however long; others, which leave L1, are copied for more rows than a few.
// CHECK-LABEL: @parts
// CHECK-COUNT-3: schedule = #cpu.contraction_schedule<{{.*}}, b = in_place,
// NARROW-LABEL: @parts
// NARROW: schedule = #cpu.contraction_schedule<{{.*}}, k_block = 256, a = in_place, b = copied, {{.*}} -> tensor<33x768xf32>
// NARROW: schedule = #cpu.contraction_schedule<{{.*}}, a = in_place, b = in_place, {{.*}} -> tensor<24x768xf32>
// NARROW: schedule = #cpu.contraction_schedule<{{.*}}, a = in_place, b = in_place, {{.*}} -> tensor<33x760xf32>
func.func @parts(%x: tensor<33x512xf32> {graph.name = "x"}, %y: tensor<512x768xf32> {graph.name = "y"}, %z: tensor<24x512xf32> {graph.name = "z"},
                 %u: tensor<33x300xf32> {graph.name = "u"}, %v: tensor<300x760xf32> {graph.name = "v"})
    -> (tensor<33x768xf32> {graph.name = "a"}, tensor<24x768xf32> {graph.name = "b"}, tensor<33x760xf32> {graph.name = "c"}) {
  %a = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<33x512xf32>, tensor<512x768xf32>) -> tensor<33x768xf32>
  %b = prim.dot %z, %y batch [] x [] contract [1] x [0] : (tensor<24x512xf32>, tensor<512x768xf32>) -> tensor<24x768xf32>
  %c = prim.dot %u, %v batch [] x [] contract [1] x [0] : (tensor<33x300xf32>, tensor<300x760xf32>) -> tensor<33x760xf32>
  return %a, %b, %c : tensor<33x768xf32>, tensor<24x768xf32>, tensor<33x760xf32>
}

// Such panels are copied too where a batch's matrices take more than L2 between them, and for many rows, known or not, of which
// vectors lie across two lines. What stays in L2 and few rows are in place.
// CHECK-LABEL: @leaving
// CHECK-COUNT-5: schedule = #cpu.contraction_schedule<{{.*}}, b = in_place,
// NARROW-LABEL: @leaving
// NARROW: schedule = #cpu.contraction_schedule<{{.*}}, a = in_place, b = copied, {{.*}} -> tensor<16x66x512xf32>
// NARROW: schedule = #cpu.contraction_schedule<{{.*}}, a = in_place, b = in_place, {{.*}} -> tensor<16x32x512xf32>
// NARROW: schedule = #cpu.contraction_schedule<{{.*}}, a = in_place, b = in_place, {{.*}} -> tensor<2x66x512xf32>
// NARROW: schedule = #cpu.contraction_schedule<{{.*}}, a = in_place, b = copied, {{.*}} -> tensor<200x501xf32>
// NARROW: schedule = #cpu.contraction_schedule<{{.*}}, a = in_place, b = in_place, {{.*}} -> tensor<100x501xf32>
func.func @leaving(%x: tensor<16x66x128xf32> {graph.name = "x"}, %y: tensor<16x128x512xf32> {graph.name = "y"}, %z: tensor<16x32x128xf32> {graph.name = "z"},
                   %u: tensor<2x66x100xf32> {graph.name = "u"}, %v: tensor<2x100x512xf32> {graph.name = "v"}, %r: tensor<200x77xf32> {graph.name = "r"},
                   %s: tensor<77x501xf32> {graph.name = "s"}, %t: tensor<100x77xf32> {graph.name = "t"})
    -> (tensor<16x66x512xf32> {graph.name = "a"}, tensor<16x32x512xf32> {graph.name = "b"}, tensor<2x66x512xf32> {graph.name = "c"},
        tensor<200x501xf32> {graph.name = "d"}, tensor<100x501xf32> {graph.name = "e"}) {
  %a = prim.dot %x, %y batch [0] x [0] contract [2] x [1] : (tensor<16x66x128xf32>, tensor<16x128x512xf32>) -> tensor<16x66x512xf32>
  %b = prim.dot %z, %y batch [0] x [0] contract [2] x [1] : (tensor<16x32x128xf32>, tensor<16x128x512xf32>) -> tensor<16x32x512xf32>
  %c = prim.dot %u, %v batch [0] x [0] contract [2] x [1] : (tensor<2x66x100xf32>, tensor<2x100x512xf32>) -> tensor<2x66x512xf32>
  %d = prim.dot %r, %s batch [] x [] contract [1] x [0] : (tensor<200x77xf32>, tensor<77x501xf32>) -> tensor<200x501xf32>
  %e = prim.dot %t, %s batch [] x [] contract [1] x [0] : (tensor<100x77xf32>, tensor<77x501xf32>) -> tensor<100x501xf32>
  return %a, %b, %c, %d, %e : tensor<16x66x512xf32>, tensor<16x32x512xf32>, tensor<2x66x512xf32>, tensor<200x501xf32>, tensor<100x501xf32>
}
