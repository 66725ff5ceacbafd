// RUN: tcc-opt %s -tcc-schedule-kernels | FileCheck %s
// The answers for x86-64-v3: what is recorded, not that it is fastest.

#columns = #cpu.panels<k = [0], columns = 1, width = 24>
#panels8 = #cpu.panels<k = [2, 3, 1], columns = 0, width = 8>
#panels16 = #cpu.panels<k = [2, 3, 1], columns = 0, width = 16>
#tiles = #cpu.winograd<width = 24>

// A plain loop, and one that reads across: blocks of rows.
// CHECK-LABEL: @loops
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 64>}
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = {{[0-9]+}}, block_rows = 16>}
func.func @loops(%x: tensor<?x256xf32>, %n: index, %y: tensor<64x64xf32>) {
  %0 = kernel.launch loop "neg" ins(%x : tensor<?x256xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x256xf32>):
    %b = prim.neg %a : (tensor<?x256xf32>) -> tensor<?x256xf32>
    kernel.yield %b : tensor<?x256xf32>
  } -> tensor<?x256xf32>
  %1 = kernel.launch loop "transpose" ins(%y : tensor<64x64xf32>) sizes() {
  ^bb0(%a: tensor<64x64xf32>):
    %b = prim.transpose %a [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    kernel.yield %b : tensor<64x64xf32>
  } -> tensor<64x64xf32>
  return
}

// Lines of an open number of short or open lines are one, but for scales of each line; long whole vectors stay.
// CHECK-LABEL: @joined_points
// CHECK: {schedule = #cpu.loop_schedule<lanes = 16, chunk = 4096, grain = 64, joined_axes = 2>} -> tensor<?x33xf32>
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, chunk = 4096, grain = 64, joined_axes = 3>} -> tensor<4x?x?xf32>
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = {{[0-9]+}}>} -> tensor<?x33xf32>
func.func @joined_points(%x: tensor<?x33xf32>, %n: index, %y: tensor<4x?x?xf32>, %m: index, %s: tensor<?x1xf32>) {
  %0 = kernel.launch loop "exp" ins(%x, %n : tensor<?x33xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<?x33xf32>, %i: index):
    %one = prim.constant dense<1.0> : tensor<f32>
    %ones = prim.broadcast %one axes [] sizes(%i) : (tensor<f32>) -> tensor<?x33xf32>
    %b = prim.add %a, %ones : (tensor<?x33xf32>, tensor<?x33xf32>) -> tensor<?x33xf32>
    %c = prim.exp %b : (tensor<?x33xf32>) -> tensor<?x33xf32>
    kernel.yield %c : tensor<?x33xf32>
  } -> tensor<?x33xf32>
  %1 = kernel.launch loop "neg" ins(%y : tensor<4x?x?xf32>) sizes(%n, %m) {
  ^bb0(%a: tensor<4x?x?xf32>):
    %b = prim.neg %a : (tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
    kernel.yield %b : tensor<4x?x?xf32>
  } -> tensor<4x?x?xf32>
  %2 = kernel.launch loop "mul" ins(%x, %s, %n : tensor<?x33xf32>, tensor<?x1xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<?x33xf32>, %b: tensor<?x1xf32>, %i: index):
    %c = prim.broadcast %b axes [0, 1] sizes(%i) : (tensor<?x1xf32>) -> tensor<?x33xf32>
    %d = prim.mul %a, %c : (tensor<?x33xf32>, tensor<?x33xf32>) -> tensor<?x33xf32>
    kernel.yield %d : tensor<?x33xf32>
  } -> tensor<?x33xf32>
  return
}

// What is put together along an open axis is pieces of one line with the axes behind it; along a known one behind an open
// axis the line is known.
// CHECK-LABEL: @open_pieces
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 64, copied_points = 4096, joined_axes = 2, joined_pieces = true>} -> tensor<8x?x64xf32>
// CHECK: prim.concat {{.*}} (tensor<?x384xf32>, tensor<?x640xf32>) -> tensor<?x1024xf32>
// CHECK: prim.reshape {{.*}} : (tensor<?x1024xf32>) -> tensor<?x16x64xf32>
func.func @open_pieces(%x: tensor<8x?x64xf32>, %y: tensor<8x?x64xf32>, %n: index, %u: tensor<?x6x64xf32>, %v: tensor<?x10x64xf32>) {
  %0 = kernel.launch loop "concat" ins(%x, %y : tensor<8x?x64xf32>, tensor<8x?x64xf32>) sizes(%n) {
  ^bb0(%a: tensor<8x?x64xf32>, %b: tensor<8x?x64xf32>):
    %c = prim.concat %a, %b axis 1 : (tensor<8x?x64xf32>, tensor<8x?x64xf32>) -> tensor<8x?x64xf32>
    kernel.yield %c : tensor<8x?x64xf32>
  } -> tensor<8x?x64xf32>
  %1 = kernel.launch loop "concat" ins(%u, %v : tensor<?x6x64xf32>, tensor<?x10x64xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x6x64xf32>, %b: tensor<?x10x64xf32>):
    %c = prim.concat %a, %b axis 1 : (tensor<?x6x64xf32>, tensor<?x10x64xf32>) -> tensor<?x16x64xf32>
    kernel.yield %c : tensor<?x16x64xf32>
  } -> tensor<?x16x64xf32>
  return
}

// Parts along an axis are pieces of one line as well; not those of the axes behind it, with gaps, or of
// what has fewer axes and is repeated along them.
// CHECK-LABEL: @parts
// CHECK: {schedule = #cpu.loop_schedule<{{.*}} axis = 1, {{.*}} joined_axes = 2, joined_pieces = true>} -> tensor<8x?x5xf32>
// CHECK: {schedule = #cpu.loop_schedule<{{.*}} axis = 1, {{.*}} joined_axes = 2, joined_pieces = true>} -> tensor<8x7x15xf32>
// CHECK-NOT: joined_axes
// CHECK: return
func.func @parts(%x: tensor<8x?x5xf32>, %y: tensor<8x7x5x3xf32>, %w: tensor<3xf32>, %n: index, %i: index, %m: index) {
  %0 = kernel.launch loop "roll" ins(%x, %i, %m : tensor<8x?x5xf32>, index, index) sizes(%n) {
  ^bb0(%a: tensor<8x?x5xf32>, %s: index, %l: index):
    %b = prim.slice %a starts [0, -9223372036854775808, 0](%s) steps [1, 1, 1] sizes(%l) : (tensor<8x?x5xf32>) -> tensor<8x?x5xf32>
    %c = prim.slice %a starts [0, 0, 0]() steps [1, 1, 1] sizes(%s) : (tensor<8x?x5xf32>) -> tensor<8x?x5xf32>
    %d = prim.concat %b, %c axis 1 : (tensor<8x?x5xf32>, tensor<8x?x5xf32>) -> tensor<8x?x5xf32>
    kernel.yield %d : tensor<8x?x5xf32>
  } -> tensor<8x?x5xf32>
  %1 = kernel.launch loop "roll" ins(%y : tensor<8x7x5x3xf32>) sizes() {
  ^bb0(%a: tensor<8x7x5x3xf32>):
    %b = prim.slice %a starts [0, 3, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<8x7x5x3xf32>) -> tensor<8x4x5x3xf32>
    %c = prim.slice %a starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<8x7x5x3xf32>) -> tensor<8x3x5x3xf32>
    %d = prim.concat %b, %c axis 1 : (tensor<8x4x5x3xf32>, tensor<8x3x5x3xf32>) -> tensor<8x7x5x3xf32>
    kernel.yield %d : tensor<8x7x5x3xf32>
  } -> tensor<8x7x5x3xf32>
  %2 = kernel.launch loop "cut" ins(%x, %m : tensor<8x?x5xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<8x?x5xf32>, %l: index):
    %b = prim.slice %a starts [0, 0, 1]() steps [1, 1, 1] sizes(%l) : (tensor<8x?x5xf32>) -> tensor<8x?x4xf32>
    %d = prim.concat %b, %b axis 1 : (tensor<8x?x4xf32>, tensor<8x?x4xf32>) -> tensor<8x?x4xf32>
    kernel.yield %d : tensor<8x?x4xf32>
  } -> tensor<8x?x4xf32>
  %3 = kernel.launch loop "gaps" ins(%x, %m : tensor<8x?x5xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<8x?x5xf32>, %l: index):
    %b = prim.slice %a starts [0, 0, 0]() steps [1, 2, 1] sizes(%l) : (tensor<8x?x5xf32>) -> tensor<8x?x5xf32>
    %d = prim.concat %b, %b axis 1 : (tensor<8x?x5xf32>, tensor<8x?x5xf32>) -> tensor<8x?x5xf32>
    kernel.yield %d : tensor<8x?x5xf32>
  } -> tensor<8x?x5xf32>
  %4 = kernel.launch loop "weights" ins(%w, %y : tensor<3xf32>, tensor<8x7x5x3xf32>) sizes() {
  ^bb0(%e: tensor<3xf32>, %a: tensor<8x7x5x3xf32>):
    %b = prim.slice %e starts [1]() steps [1] sizes() : (tensor<3xf32>) -> tensor<1xf32>
    %c = prim.reshape %b sizes() : (tensor<1xf32>) -> tensor<1x1x1x1xf32>
    %d = prim.broadcast %c axes [0, 1, 2, 3] sizes() : (tensor<1x1x1x1xf32>) -> tensor<8x1x5x3xf32>
    %f = prim.concat %d, %a axis 1 : (tensor<8x1x5x3xf32>, tensor<8x7x5x3xf32>) -> tensor<8x8x5x3xf32>
    kernel.yield %f : tensor<8x8x5x3xf32>
  } -> tensor<8x8x5x3xf32>
  return
}

// What is repeated along lines that only a run knows leaves them one where it keeps them; where it may have one point it does not.
// CHECK-LABEL: @repeated_lines
// CHECK: {schedule = #cpu.loop_schedule<{{.*}} axis = 2, {{.*}} joined_axes = 2>} -> tensor<?x21x?x?xf32>
// CHECK-NOT: joined_axes
// CHECK: return
func.func @repeated_lines(%x: tensor<?x21x?x?xf32>, %s: tensor<?x?x?xf32>, %n: index, %h: index, %w: index) {
  %0 = kernel.launch loop "sub" ins(%x, %s : tensor<?x21x?x?xf32>, tensor<?x?x?xf32>) sizes(%n, %h, %w) {
  ^bb0(%a: tensor<?x21x?x?xf32>, %b: tensor<?x?x?xf32>):
    %i = prim.dim %b, 0 : tensor<?x?x?xf32>
    %j = prim.dim %b, 1 : tensor<?x?x?xf32>
    %k = prim.dim %b, 2 : tensor<?x?x?xf32>
    %c = prim.reshape %b sizes(%i, %j, %k) : (tensor<?x?x?xf32>) -> tensor<?x1x?x?xf32>
    %d = prim.broadcast %c axes [0, 1, 2, 3] sizes(%i, %j, %k) : (tensor<?x1x?x?xf32>) -> tensor<?x21x?x?xf32>
    %e = prim.sub %a, %d : (tensor<?x21x?x?xf32>, tensor<?x21x?x?xf32>) -> tensor<?x21x?x?xf32>
    kernel.yield %e : tensor<?x21x?x?xf32>
  } -> tensor<?x21x?x?xf32>
  %1 = kernel.launch loop "sub" ins(%x, %s, %h : tensor<?x21x?x?xf32>, tensor<?x?x?xf32>, index) sizes(%n, %h, %w) {
  ^bb0(%a: tensor<?x21x?x?xf32>, %b: tensor<?x?x?xf32>, %j: index):
    %i = prim.dim %b, 0 : tensor<?x?x?xf32>
    %k = prim.dim %b, 2 : tensor<?x?x?xf32>
    %d = prim.broadcast %b axes [0, 2, 3] sizes(%i, %j, %k) : (tensor<?x?x?xf32>) -> tensor<?x21x?x?xf32>
    %e = prim.sub %a, %d : (tensor<?x21x?x?xf32>, tensor<?x21x?x?xf32>) -> tensor<?x21x?x?xf32>
    kernel.yield %e : tensor<?x21x?x?xf32>
  } -> tensor<?x21x?x?xf32>
  return
}

// Axes of one point behind the lanes change nothing.
// CHECK-LABEL: @behind
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = {{[0-9]+}}, block_rows = 16>}
func.func @behind(%y: tensor<64x64x1x1xf32>) {
  %1 = kernel.launch loop "transpose" ins(%y : tensor<64x64x1x1xf32>) sizes() {
  ^bb0(%a: tensor<64x64x1x1xf32>):
    %b = prim.transpose %a [1, 0, 2, 3] : (tensor<64x64x1x1xf32>) -> tensor<64x64x1x1xf32>
    kernel.yield %b : tensor<64x64x1x1xf32>
  } -> tensor<64x64x1x1xf32>
  return
}

// Axes behind those that a scan goes along are one, of which lines are lanes; what reads and takes places sees them so.
// CHECK-LABEL: @scanned
// CHECK: prim.reshape %arg0 sizes() : (tensor<257x64x3xf32>) -> tensor<257x192xf32>
// CHECK: prim.cumulative {{ *}}sum %{{.+}} 0 : (tensor<257x192xf32>)
// CHECK: prim.reshape {{.+}} -> tensor<257x64x3xf32>
// CHECK: prim.iota 1 sizes() : tensor<2x9x35xi32>
// CHECK: prim.cumulative {{ *}}max %{{.+}} 1 : (tensor<2x9x35xi32>)
func.func @scanned(%x: tensor<257x64x3xf32>, %y: tensor<2x9x5x7xi1>) {
  %0 = kernel.launch special "cumulative" ins(%x : tensor<257x64x3xf32>) sizes() {
  ^bb0(%a: tensor<257x64x3xf32>):
    %b = prim.cumulative sum %a 0 : (tensor<257x64x3xf32>) -> tensor<257x64x3xf32>
    kernel.yield %b : tensor<257x64x3xf32>
  } -> tensor<257x64x3xf32>
  %1 = kernel.launch special "select_cumulative" ins(%y : tensor<2x9x5x7xi1>) sizes() {
  ^bb0(%a: tensor<2x9x5x7xi1>):
    %b = prim.iota 1 sizes() : tensor<2x9x5x7xi32>
    %c = prim.constant dense<0> : tensor<2x9x5x7xi32>
    %d = prim.select %a, %b, %c : (tensor<2x9x5x7xi1>, tensor<2x9x5x7xi32>, tensor<2x9x5x7xi32>) -> tensor<2x9x5x7xi32>
    %e = prim.cumulative max %d 1 : (tensor<2x9x5x7xi32>) -> tensor<2x9x5x7xi32>
    kernel.yield %e : tensor<2x9x5x7xi32>
  } -> tensor<2x9x5x7xi32>
  return
}

// Of several results none is given in the shape before a reshape alone: a kernel of points has one shape.
// CHECK-LABEL: @of_one_shape
// CHECK: kernel.yield %{{.+}}, %{{.+}} : tensor<1000x1xf32>, tensor<1000x1xf32>
func.func @of_one_shape(%x: tensor<1000x1xf32>) {
  %0:2 = kernel.launch loop "exp_log" ins(%x : tensor<1000x1xf32>) sizes() {
  ^bb0(%a: tensor<1000x1xf32>):
    %b = prim.exp %a : (tensor<1000x1xf32>) -> tensor<1000x1xf32>
    %c = prim.reshape %b sizes() : (tensor<1000x1xf32>) -> tensor<1000xf32>
    %d = prim.reshape %c sizes() : (tensor<1000xf32>) -> tensor<1000x1xf32>
    %e = prim.log %d : (tensor<1000x1xf32>) -> tensor<1000x1xf32>
    kernel.yield %e, %b : tensor<1000x1xf32>, tensor<1000x1xf32>
  } -> tensor<1000x1xf32>, tensor<1000x1xf32>
  return
}

// Lines that are cut into several, and then joined: channels are blocks all the same.
// CHECK-LABEL: @recut
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 2, chunk = 4096, grain = {{[0-9]+}}, block_axis = 1, block_rows = 8>}
func.func @recut(%y: tensor<3x4097x192xf32>, %z: tensor<192xf32>) {
  %1 = kernel.launch loop "add_transpose" ins(%y, %z : tensor<3x4097x192xf32>, tensor<192xf32>) sizes() {
  ^bb0(%a: tensor<3x4097x192xf32>, %v: tensor<192xf32>):
    %w = prim.broadcast %v axes [2] sizes() : (tensor<192xf32>) -> tensor<3x4097x192xf32>
    %b = prim.add %a, %w : (tensor<3x4097x192xf32>, tensor<3x4097x192xf32>) -> tensor<3x4097x192xf32>
    %c = prim.reshape %b sizes() : (tensor<3x4097x192xf32>) -> tensor<3x8194x96xf32>
    %d = prim.slice %c starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<3x8194x96xf32>) -> tensor<3x8193x96xf32>
    %e = prim.transpose %d [0, 2, 1] : (tensor<3x8193x96xf32>) -> tensor<3x96x8193xf32>
    kernel.yield %e : tensor<3x96x8193xf32>
  } -> tensor<3x96x8193xf32>
  return
}

// Axes of a few points behind the lanes are stored interleaved, in blocks of fewer rows, of channels that are several
// axes afterwards.
// CHECK-LABEL: @interleaved
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 4, chunk = 2048, grain = {{[0-9]+}}, block_axis = 1, block_rows = 8>}
func.func @interleaved(%y: tensor<1x28x28x256xf32>) {
  %1 = kernel.launch loop "neg_transpose" ins(%y : tensor<1x28x28x256xf32>) sizes() {
  ^bb0(%a: tensor<1x28x28x256xf32>):
    %b = prim.neg %a : (tensor<1x28x28x256xf32>) -> tensor<1x28x28x256xf32>
    %c = prim.reshape %b sizes() : (tensor<1x28x28x256xf32>) -> tensor<1x28x28x2x2x64xf32>
    %d = prim.transpose %c [0, 5, 1, 3, 2, 4] : (tensor<1x28x28x2x2x64xf32>) -> tensor<1x64x28x2x28x2xf32>
    kernel.yield %d : tensor<1x64x28x2x28x2xf32>
  } -> tensor<1x64x28x2x28x2xf32>
  return
}

// Where joined axes are sliced, lanes lie anywhere: channels are blocks all the same.
// CHECK-LABEL: @joined
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 3, chunk = 4096, grain = {{[0-9]+}}, block_axis = 1, block_rows = 16>}
func.func @joined(%y: tensor<1x57x57x128xf32>) {
  %1 = kernel.launch loop "neg_transpose" ins(%y : tensor<1x57x57x128xf32>) sizes() {
  ^bb0(%a: tensor<1x57x57x128xf32>):
    %b = prim.neg %a : (tensor<1x57x57x128xf32>) -> tensor<1x57x57x128xf32>
    %c = prim.reshape %b sizes() : (tensor<1x57x57x128xf32>) -> tensor<57x57x2x2x32xf32>
    %d = prim.transpose %c [0, 2, 1, 3, 4] : (tensor<57x57x2x2x32xf32>) -> tensor<57x2x57x2x32xf32>
    %e = prim.reshape %d sizes() : (tensor<57x2x57x2x32xf32>) -> tensor<1x114x114x32xf32>
    %f = prim.slice %e starts [0, 1, 1, 0]() steps [1, 1, 1, 1] sizes() : (tensor<1x114x114x32xf32>) -> tensor<1x112x112x32xf32>
    %g = prim.transpose %f [0, 3, 1, 2] : (tensor<1x112x112x32xf32>) -> tensor<1x32x112x112xf32>
    kernel.yield %g : tensor<1x32x112x112xf32>
  } -> tensor<1x32x112x112xf32>
  return
}

// Four points of an axis behind the one along which memory lies are stored interleaved.
// CHECK-LABEL: @four
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 4, chunk = 1024, grain = {{[0-9]+}}>}
func.func @four(%y: tensor<512x784xf32>) {
  %1 = kernel.launch loop "neg_transpose" ins(%y : tensor<512x784xf32>) sizes() {
  ^bb0(%a: tensor<512x784xf32>):
    %b = prim.neg %a : (tensor<512x784xf32>) -> tensor<512x784xf32>
    %c = prim.reshape %b sizes() : (tensor<512x784xf32>) -> tensor<1x4x4x32x28x28xf32>
    %d = prim.transpose %c [0, 3, 4, 1, 5, 2] : (tensor<1x4x4x32x28x28xf32>) -> tensor<1x32x28x4x28x4xf32>
    kernel.yield %d : tensor<1x32x28x4x28x4xf32>
  } -> tensor<1x32x28x4x28x4xf32>
  return
}

// What is computed of groups that are channels again is computed in groups, whose scale is one number a line.
// CHECK-LABEL: @groups
// CHECK: ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8x4x784xf32>, tensor<8x4x1xf32>, tensor<8x8x14x28xf32>)
// CHECK: prim.reshape %{{.*}} (tensor<8x8x14x28xf32>) -> tensor<8x4x784xf32>
// CHECK-NOT: prim.reshape
// CHECK: prim.maximum {{.*}} tensor<8x4x784xf32>
// CHECK: kernel.yield {{.*}} : tensor<8x4x784xf32>
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 2, {{.*}}>} -> tensor<8x4x784xf32>
// CHECK: prim.reshape {{.*}} -> tensor<8x8x14x28xf32>
func.func @groups(%x: tensor<8x4x2x14x28xf32>, %s: tensor<8x4x1x1x1xf32>, %r: tensor<8x8x14x28xf32>) -> tensor<8x8x14x28xf32> {
  %1 = kernel.launch loop "mul_maximum" ins(%x, %s, %r : tensor<8x4x2x14x28xf32>, tensor<8x4x1x1x1xf32>, tensor<8x8x14x28xf32>) sizes() {
  ^bb0(%a: tensor<8x4x2x14x28xf32>, %b: tensor<8x4x1x1x1xf32>, %e: tensor<8x8x14x28xf32>):
    %c = prim.broadcast %b axes [0, 1, 2, 3, 4] sizes() : (tensor<8x4x1x1x1xf32>) -> tensor<8x4x2x14x28xf32>
    %d = prim.mul %a, %c : (tensor<8x4x2x14x28xf32>, tensor<8x4x2x14x28xf32>) -> tensor<8x4x2x14x28xf32>
    %f = prim.reshape %d sizes() : (tensor<8x4x2x14x28xf32>) -> tensor<8x8x14x28xf32>
    %g = prim.add %f, %e : (tensor<8x8x14x28xf32>, tensor<8x8x14x28xf32>) -> tensor<8x8x14x28xf32>
    %z = prim.constant dense<0.0> : tensor<8x8x14x28xf32>
    %h = prim.maximum %g, %z : (tensor<8x8x14x28xf32>, tensor<8x8x14x28xf32>) -> tensor<8x8x14x28xf32>
    kernel.yield %h : tensor<8x8x14x28xf32>
  } -> tensor<8x8x14x28xf32>
  return %1 : tensor<8x8x14x28xf32>
}

// A scale for each channel after that is none of a group: the kernel stays in channels.
// CHECK-LABEL: @channels
// CHECK: prim.reshape {{.*}} -> tensor<8x8x14x28xf32>
// CHECK: kernel.yield {{.*}} : tensor<8x8x14x28xf32>
func.func @channels(%x: tensor<8x4x2x14x28xf32>, %s: tensor<8x4x1x1x1xf32>, %r: tensor<1x8x1x1xf32>) -> tensor<8x8x14x28xf32> {
  %1 = kernel.launch loop "mul_mul" ins(%x, %s, %r : tensor<8x4x2x14x28xf32>, tensor<8x4x1x1x1xf32>, tensor<1x8x1x1xf32>) sizes() {
  ^bb0(%a: tensor<8x4x2x14x28xf32>, %b: tensor<8x4x1x1x1xf32>, %e: tensor<1x8x1x1xf32>):
    %c = prim.broadcast %b axes [0, 1, 2, 3, 4] sizes() : (tensor<8x4x1x1x1xf32>) -> tensor<8x4x2x14x28xf32>
    %d = prim.mul %a, %c : (tensor<8x4x2x14x28xf32>, tensor<8x4x2x14x28xf32>) -> tensor<8x4x2x14x28xf32>
    %f = prim.reshape %d sizes() : (tensor<8x4x2x14x28xf32>) -> tensor<8x8x14x28xf32>
    %g = prim.broadcast %e axes [0, 1, 2, 3] sizes() : (tensor<1x8x1x1xf32>) -> tensor<8x8x14x28xf32>
    %h = prim.mul %f, %g : (tensor<8x8x14x28xf32>, tensor<8x8x14x28xf32>) -> tensor<8x8x14x28xf32>
    kernel.yield %h : tensor<8x8x14x28xf32>
  } -> tensor<8x8x14x28xf32>
  return %1 : tensor<8x8x14x28xf32>
}

// Lines of a few points that are moved whole, or summed up beside each other, are one line.
// CHECK-LABEL: @moved_whole
// CHECK: prim.transpose {{.*}} [0, 2, 1, 3] : (tensor<8x4x16x784xf32>) -> tensor<8x16x4x784xf32>
// CHECK: prim.reduce sum {{.*}} [1] : (tensor<50x125x128xf32>) -> tensor<50x128xf32>
// CHECK: prim.slice {{.*}} starts [2, 0]() steps [2, 1] sizes() : (tensor<64x49xf32>) -> tensor<30x49xf32>
// CHECK: prim.concat {{.*}} axis 0 : (tensor<3x49xf32>, tensor<2x49xf32>) -> tensor<5x49xf32>
// CHECK: prim.reverse {{.*}} [0] : (tensor<5x49xf32>) -> tensor<5x49xf32>
// CHECK: prim.take {{.*}} axis 0 : (tensor<100x49xf32>, tensor<9xi64>) -> tensor<9x49xf32>
func.func @moved_whole(%x: tensor<8x64x28x28xf32>, %s: tensor<50x125x16x8xf32>, %y: tensor<64x7x7xf32>, %p: tensor<3x7x7xf32>,
                       %q: tensor<2x7x7xf32>, %t: tensor<100x7x7xf32>, %i: tensor<9xi64>) {
  %0 = kernel.launch loop "transpose" ins(%x : tensor<8x64x28x28xf32>) sizes() {
  ^bb0(%a: tensor<8x64x28x28xf32>):
    %b = prim.reshape %a sizes() : (tensor<8x64x28x28xf32>) -> tensor<8x4x16x28x28xf32>
    %c = prim.transpose %b [0, 2, 1, 3, 4] : (tensor<8x4x16x28x28xf32>) -> tensor<8x16x4x28x28xf32>
    kernel.yield %c : tensor<8x16x4x28x28xf32>
  } -> tensor<8x16x4x28x28xf32>
  %1 = kernel.launch loop "reduce" ins(%s : tensor<50x125x16x8xf32>) sizes() {
  ^bb0(%a: tensor<50x125x16x8xf32>):
    %b = prim.reduce sum %a [1] : (tensor<50x125x16x8xf32>) -> tensor<50x16x8xf32>
    kernel.yield %b : tensor<50x16x8xf32>
  } -> tensor<50x16x8xf32>
  %2 = kernel.launch loop "slice" ins(%y : tensor<64x7x7xf32>) sizes() {
  ^bb0(%a: tensor<64x7x7xf32>):
    %b = prim.slice %a starts [2, 0, 0] () steps [2, 1, 1] sizes() : (tensor<64x7x7xf32>) -> tensor<30x7x7xf32>
    kernel.yield %b : tensor<30x7x7xf32>
  } -> tensor<30x7x7xf32>
  %3 = kernel.launch loop "reverse" ins(%p, %q : tensor<3x7x7xf32>, tensor<2x7x7xf32>) sizes() {
  ^bb0(%a: tensor<3x7x7xf32>, %b: tensor<2x7x7xf32>):
    %c = prim.concat %a, %b axis 0 : (tensor<3x7x7xf32>, tensor<2x7x7xf32>) -> tensor<5x7x7xf32>
    %d = prim.reverse %c [0] : (tensor<5x7x7xf32>) -> tensor<5x7x7xf32>
    kernel.yield %d : tensor<5x7x7xf32>
  } -> tensor<5x7x7xf32>
  %4 = kernel.launch loop "take" ins(%t, %i : tensor<100x7x7xf32>, tensor<9xi64>) sizes() {
  ^bb0(%a: tensor<100x7x7xf32>, %b: tensor<9xi64>):
    %c = prim.take %a, %b axis 0 : (tensor<100x7x7xf32>, tensor<9xi64>) -> tensor<9x7x7xf32>
    kernel.yield %c : tensor<9x7x7xf32>
  } -> tensor<9x7x7xf32>
  return
}

// Not those that are moved, cut or summed up along an axis of theirs.
// CHECK-LABEL: @moved_in_part
// CHECK: prim.transpose {{.*}} tensor<4x28x7x28xf32>
// CHECK: prim.reduce {{.*}} tensor<50x7x5xf32>
// CHECK: prim.slice {{.*}} tensor<64x6x7xf32>
// CHECK: prim.slice {{.*}} tensor<64x7x7xf32>
// CHECK: prim.reverse {{.*}} tensor<5x7x7xf32>
func.func @moved_in_part(%x: tensor<4x7x28x28xf32>, %s: tensor<50x7x9x5xf32>, %y: tensor<64x7x7xf32>, %w: tensor<64x7x14xf32>, %p: tensor<5x7x7xf32>) {
  %0 = kernel.launch loop "transpose" ins(%x : tensor<4x7x28x28xf32>) sizes() {
  ^bb0(%a: tensor<4x7x28x28xf32>):
    %c = prim.transpose %a [0, 2, 1, 3] : (tensor<4x7x28x28xf32>) -> tensor<4x28x7x28xf32>
    kernel.yield %c : tensor<4x28x7x28xf32>
  } -> tensor<4x28x7x28xf32>
  %1 = kernel.launch loop "reduce" ins(%s : tensor<50x7x9x5xf32>) sizes() {
  ^bb0(%a: tensor<50x7x9x5xf32>):
    %b = prim.reduce sum %a [2] : (tensor<50x7x9x5xf32>) -> tensor<50x7x5xf32>
    kernel.yield %b : tensor<50x7x5xf32>
  } -> tensor<50x7x5xf32>
  %2 = kernel.launch loop "slice" ins(%y : tensor<64x7x7xf32>) sizes() {
  ^bb0(%a: tensor<64x7x7xf32>):
    %b = prim.slice %a starts [0, 1, 0] () steps [1, 1, 1] sizes() : (tensor<64x7x7xf32>) -> tensor<64x6x7xf32>
    kernel.yield %b : tensor<64x6x7xf32>
  } -> tensor<64x6x7xf32>
  %3 = kernel.launch loop "slice" ins(%w : tensor<64x7x14xf32>) sizes() {
  ^bb0(%a: tensor<64x7x14xf32>):
    %b = prim.slice %a starts [0, 0, 0] () steps [1, 1, 2] sizes() : (tensor<64x7x14xf32>) -> tensor<64x7x7xf32>
    kernel.yield %b : tensor<64x7x7xf32>
  } -> tensor<64x7x7xf32>
  %4 = kernel.launch loop "reverse" ins(%p : tensor<5x7x7xf32>) sizes() {
  ^bb0(%a: tensor<5x7x7xf32>):
    %d = prim.reverse %a [1] : (tensor<5x7x7xf32>) -> tensor<5x7x7xf32>
    kernel.yield %d : tensor<5x7x7xf32>
  } -> tensor<5x7x7xf32>
  return
}

// A few rows of narrower elements are widened once, whole, for the panels of a large matrix that a tile streams; one row is
// not.
// CHECK-LABEL: @narrow_rows
// CHECK: {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 3, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = {{[0-9]+}}, a = copied, b = in_place, epilogue = rolled
// CHECK: {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 3, rows = 1, unroll = 2, tiles_per_task = 1, panels_per_task = {{[0-9]+}}, a = in_place, b = in_place, epilogue = rolled
func.func @narrow_rows(%x: tensor<4x2048xf16>, %y: tensor<1x2048xf16>, %w: tensor<2048x5632xf16, #columns>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<4x2048xf16>, tensor<2048x5632xf16, #columns>) sizes() {
  ^bb0(%a: tensor<4x2048xf16>, %b: tensor<2048x5632xf16, #columns>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x2048xf16>, tensor<2048x5632xf16, #columns>) -> tensor<4x5632xf16>
    kernel.yield %c : tensor<4x5632xf16>
  } -> tensor<4x5632xf16>
  %1 = kernel.launch contraction "dot" ins(%y, %w : tensor<1x2048xf16>, tensor<2048x5632xf16, #columns>) sizes() {
  ^bb0(%a: tensor<1x2048xf16>, %b: tensor<2048x5632xf16, #columns>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<1x2048xf16>, tensor<2048x5632xf16, #columns>) -> tensor<1x5632xf16>
    kernel.yield %c : tensor<1x5632xf16>
  } -> tensor<1x5632xf16>
  return
}

// What is turned around is read across as what is not. Vectors have as many lanes as elements have room: those of
// the places of rows do not count.
// CHECK-LABEL: @moved
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = {{[0-9]+}}, block_rows = 16>}
// CHECK: {schedule = #cpu.loop_schedule<lanes = 32, axis = 1, chunk = 4096, grain = {{[0-9]+}}>}
// CHECK: {schedule = #cpu.loop_schedule<lanes = 32, axis = 1, chunk = 4096, grain = {{[0-9]+}}>}
func.func @moved(%x: tensor<64x64xf32>, %y: tensor<64x100xi8>, %i: tensor<50xi64>) {
  %0 = kernel.launch loop "reverse_transpose" ins(%x : tensor<64x64xf32>) sizes() {
  ^bb0(%a: tensor<64x64xf32>):
    %b = prim.reverse %a [1] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %c = prim.transpose %b [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    kernel.yield %c : tensor<64x64xf32>
  } -> tensor<64x64xf32>
  %1 = kernel.launch loop "reverse" ins(%y : tensor<64x100xi8>) sizes() {
  ^bb0(%a: tensor<64x100xi8>):
    %b = prim.reverse %a [1] : (tensor<64x100xi8>) -> tensor<64x100xi8>
    kernel.yield %b : tensor<64x100xi8>
  } -> tensor<64x100xi8>
  %2 = kernel.launch loop "take" ins(%y, %i : tensor<64x100xi8>, tensor<50xi64>) sizes() {
  ^bb0(%a: tensor<64x100xi8>, %b: tensor<50xi64>):
    %c = prim.take %a, %b axis 0 : (tensor<64x100xi8>, tensor<50xi64>) -> tensor<50x100xi8>
    kernel.yield %c : tensor<50x100xi8>
  } -> tensor<50x100xi8>
  return
}

// Places that a mask is made of are computed for as many lanes as a vector has of what it masks.
// CHECK-LABEL: @triangle
// CHECK: {schedule = #cpu.loop_schedule<lanes = 32, axis = 1,
func.func @triangle(%x: tensor<128x128xi1>) {
  %0 = kernel.launch loop "sub_compare_select" ins(%x : tensor<128x128xi1>) sizes() {
  ^bb0(%a: tensor<128x128xi1>):
    %j = prim.iota 1 sizes() : tensor<128x128xi32>
    %i = prim.iota 0 sizes() : tensor<128x128xi32>
    %d = prim.sub %j, %i : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi32>
    %z = prim.constant dense<0> : tensor<128x128xi32>
    %c = prim.compare ge %d, %z : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi1>
    %f = prim.constant dense<false> : tensor<128x128xi1>
    %s = prim.select %c, %a, %f : (tensor<128x128xi1>, tensor<128x128xi1>, tensor<128x128xi1>) -> tensor<128x128xi1>
    kernel.yield %s : tensor<128x128xi1>
  } -> tensor<128x128xi1>
  return
}

// The columns decide on panels; rows that only a run knows are assumed to be many.
// CHECK-LABEL: @products
// CHECK: large = #cpu.contraction_schedule<lanes = 8, vectors = 3, rows = 4, unroll = 2, {{.*}} a = in_place, b = in_place, epilogue = rolled, grain_products = 131072>>}
// CHECK: large = #cpu.contraction_schedule<lanes = 8, vectors = 3, rows = 4, {{.*}}, b = in_place, epilogue = rolled, grain_products = 131072>>>}
func.func @products(%x: tensor<?x64xf32>, %w: tensor<64x256xf32, #columns>, %n: index, %y: tensor<64x256xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<?x64xf32>, tensor<64x256xf32, #columns>) sizes(%n) {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<64x256xf32, #columns>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<?x64xf32>, tensor<64x256xf32, #columns>) -> tensor<?x256xf32>
    kernel.yield %c : tensor<?x256xf32>
  } -> tensor<?x256xf32>
  %1 = kernel.launch contraction "dot" ins(%x, %y : tensor<?x64xf32>, tensor<64x256xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<64x256xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<?x64xf32>, tensor<64x256xf32>) -> tensor<?x256xf32>
    kernel.yield %c : tensor<?x256xf32>
  } -> tensor<?x256xf32>
  return
}

// Many products beside each other keep threads busy: each is a task, which reads its panels where they lie.
// CHECK-LABEL: @batch
// CHECK: {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 3, rows = 4, unroll = 2, tiles_per_task = 16, panels_per_task = {{[0-9]+}}, a = in_place, b = in_place,
func.func @batch(%x: tensor<96x64x64xf32>, %y: tensor<96x64x64xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %y : tensor<96x64x64xf32>, tensor<96x64x64xf32>) sizes() {
  ^bb0(%a: tensor<96x64x64xf32>, %b: tensor<96x64x64xf32>):
    %c = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<96x64x64xf32>, tensor<96x64x64xf32>) -> tensor<96x64x64xf32>
    kernel.yield %c : tensor<96x64x64xf32>
  } -> tensor<96x64x64xf32>
  return
}

// A product with two axes of columns has no template: point by point.
// CHECK-LABEL: @no_template
// CHECK: {schedule = #cpu.loop_schedule<
func.func @no_template(%x: tensor<4x8xf32>, %y: tensor<8x2x3xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %y : tensor<4x8xf32>, tensor<8x2x3xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x2x3xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2x3xf32>) -> tensor<4x2x3xf32>
    kernel.yield %c : tensor<4x2x3xf32>
  } -> tensor<4x2x3xf32>
  return
}

// An image whose size only a run knows may be small: then tasks are, so that threads share it.
// CHECK-LABEL: @open_image
// CHECK: tiles_per_task = {{[0-9]+}}, panels_per_task = 1, a = pointers, b = in_place, epilogue = rolled, least_tiles = {{[0-9]+}}>}
func.func @open_image(%x: tensor<1x?x?x32xf32>, %k: tensor<16x32x3x3xf32, #panels16>, %h: index, %w: index) {
  %0 = kernel.launch convolution "k" ins(%x, %k : tensor<1x?x?x32xf32>, tensor<16x32x3x3xf32, #panels16>) sizes(%h, %w) {
  ^bb0(%a: tensor<1x?x?x32xf32>, %b: tensor<16x32x3x3xf32, #panels16>):
    %c0 = arith.constant 0 : index
    %1 = prim.dim %a, 1 : tensor<1x?x?x32xf32>
    %2 = prim.dim %a, 2 : tensor<1x?x?x32xf32>
    %c = prim.conv %a, %b sizes(%1, %2) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x?x?x32xf32>, tensor<16x32x3x3xf32, #panels16>, index, index) -> tensor<1x?x?x16xf32>
    kernel.yield %c : tensor<1x?x?x16xf32>
  } -> tensor<1x?x?x16xf32>
  return
}

// Convolutions: transformed weights, groups narrower than a vector, a 1x1 window read in
// place, lines of few channels copied (nine products of each of twelve sums would spill), and the rest
// through pointers.
// CHECK-LABEL: @convolutions
// CHECK: {schedule = #cpu.winograd_schedule<lanes = 8, vectors = 3, rows = {{[0-9]+}}, tiles_per_task = {{[0-9]+}}, panels_per_task = {{[0-9]+}}>}
// CHECK: {schedule = #cpu.line_schedule<lanes = 8, pixels = 6, vectors_per_task = 1>}
// CHECK: a = in_place, b = in_place, epilogue = inline>}
// CHECK: rows = 6, unroll = 3, {{.*}} a = copied, b = in_place, epilogue = inline, grain_products = {{[0-9]+}}>}
// CHECK: a = pointers, b = in_place, epilogue = rolled>}
func.func @convolutions(%x: tensor<1x9x9x32xf32>, %t: tensor<24x32x3x3xf32, #tiles>, %d: tensor<32x1x3x3xf32, #panels8>,
                        %p: tensor<16x32x1x1xf32, #panels16>, %y: tensor<1x9x9x3xf32>, %g: tensor<16x3x3x3xf32, #panels16>,
                        %k: tensor<16x32x3x3xf32, #panels16>) {
  %0 = kernel.launch convolution "conv" ins(%x, %t : tensor<1x9x9x32xf32>, tensor<24x32x3x3xf32, #tiles>) sizes() {
  ^bb0(%a: tensor<1x9x9x32xf32>, %b: tensor<24x32x3x3xf32, #tiles>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x9x9x32xf32>, tensor<24x32x3x3xf32, #tiles>) -> tensor<1x9x9x24xf32>
    kernel.yield %c : tensor<1x9x9x24xf32>
  } -> tensor<1x9x9x24xf32>
  %1 = kernel.launch convolution "conv" ins(%x, %d : tensor<1x9x9x32xf32>, tensor<32x1x3x3xf32, #panels8>) sizes() {
  ^bb0(%a: tensor<1x9x9x32xf32>, %b: tensor<32x1x3x3xf32, #panels8>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 32 : i64} : (tensor<1x9x9x32xf32>, tensor<32x1x3x3xf32, #panels8>) -> tensor<1x9x9x32xf32>
    kernel.yield %c : tensor<1x9x9x32xf32>
  } -> tensor<1x9x9x32xf32>
  %2 = kernel.launch convolution "conv" ins(%x, %p : tensor<1x9x9x32xf32>, tensor<16x32x1x1xf32, #panels16>) sizes() {
  ^bb0(%a: tensor<1x9x9x32xf32>, %b: tensor<16x32x1x1xf32, #panels16>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x9x9x32xf32>, tensor<16x32x1x1xf32, #panels16>) -> tensor<1x9x9x16xf32>
    kernel.yield %c : tensor<1x9x9x16xf32>
  } -> tensor<1x9x9x16xf32>
  %3 = kernel.launch convolution "conv" ins(%y, %g : tensor<1x9x9x3xf32>, tensor<16x3x3x3xf32, #panels16>) sizes() {
  ^bb0(%a: tensor<1x9x9x3xf32>, %b: tensor<16x3x3x3xf32, #panels16>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x9x9x3xf32>, tensor<16x3x3x3xf32, #panels16>) -> tensor<1x9x9x16xf32>
    kernel.yield %c : tensor<1x9x9x16xf32>
  } -> tensor<1x9x9x16xf32>
  %4 = kernel.launch convolution "conv" ins(%x, %k : tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #panels16>) sizes() {
  ^bb0(%a: tensor<1x9x9x32xf32>, %b: tensor<16x32x3x3xf32, #panels16>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #panels16>) -> tensor<1x5x5x16xf32>
    kernel.yield %c : tensor<1x5x5x16xf32>
  } -> tensor<1x5x5x16xf32>
  return
}

// What has a schedule keeps it.
// CHECK-LABEL: @kept
// CHECK: {schedule = #cpu.row_schedule<lanes = 4, grain = 7, kept = 0>}
// CHECK: {schedule = #cpu.row_schedule<lanes = 8, grain = 4, kept = 16384>}
func.func @kept(%x: tensor<4x64xf32>) {
  %0 = kernel.launch row[1] "sum" ins(%x : tensor<4x64xf32>) sizes() {
  ^bb0(%a: tensor<4x64xf32>):
    %b = prim.reduce sum %a [1] : (tensor<4x64xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } {schedule = #cpu.row_schedule<lanes = 4, grain = 7, kept = 0>} -> tensor<4xf32>
  %1 = kernel.launch row[1] "sum" ins(%x : tensor<4x64xf32>) sizes() {
  ^bb0(%a: tensor<4x64xf32>):
    %b = prim.reduce sum %a [1] : (tensor<4x64xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// Lanes are several registers' worth; a thread gets some thousand elements.
// CHECK-LABEL: @special
// CHECK: {schedule = #cpu.special_schedule<lanes = 32, grain = 64>}
// CHECK: {schedule = #cpu.special_schedule<lanes = 32, grain = 5>}
func.func @special(%x: tensor<4x64xf32>, %i: tensor<90x1xi64>, %u: tensor<90x64xf32>) {
  %0 = kernel.launch special "cumulative" ins(%x : tensor<4x64xf32>) sizes() {
  ^bb0(%a: tensor<4x64xf32>):
    %b = prim.cumulative sum %a 1 : (tensor<4x64xf32>) -> tensor<4x64xf32>
    kernel.yield %b : tensor<4x64xf32>
  } -> tensor<4x64xf32>
  %1 = kernel.launch special "scatter_nd" ins(%x, %i, %u : tensor<4x64xf32>, tensor<90x1xi64>, tensor<90x64xf32>) sizes() {
  ^bb0(%a: tensor<4x64xf32>, %b: tensor<90x1xi64>, %c: tensor<90x64xf32>):
    %d = prim.scatter_nd add %a, %b, %c : (tensor<4x64xf32>, tensor<90x1xi64>, tensor<90x64xf32>) -> tensor<4x64xf32>
    kernel.yield %d : tensor<4x64xf32>
  } -> tensor<4x64xf32>
  return
}

// Attention: blocks of queries and keys in equal parts, whole panels; a query alone is a row.
// CHECK-LABEL: @attention
// CHECK: {schedule = #cpu.attention_schedule<lanes = 8, vectors = 3, rows = 4, value_vectors = 3, value_rows = 4, task_rows = 36, keys = 408, grain_products = 131072>}
// CHECK: {schedule = #cpu.attention_schedule<lanes = 8, vectors = 2, rows = 1, value_vectors = 8, value_rows = 1, task_rows = 1, keys = 16, grain_products = 131072>}
func.func @attention(%q: tensor<4x130x64xf32>, %k: tensor<4x400x64xf32>, %o: tensor<4x1x64xf32>, %s: tensor<4x9x64xf32>) {
  %0 = kernel.launch attention "many" ins(%q, %k : tensor<4x130x64xf32>, tensor<4x400x64xf32>) sizes() {
  ^bb0(%a: tensor<4x130x64xf32>, %b: tensor<4x400x64xf32>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<4x130x64xf32>, tensor<4x400x64xf32>) -> tensor<4x130x400xf32>
    %2 = prim.reduce max %1 [2] : (tensor<4x130x400xf32>) -> tensor<4x130xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<4x130xf32>) -> tensor<4x130x400xf32>
    %4 = prim.sub %1, %3 : (tensor<4x130x400xf32>, tensor<4x130x400xf32>) -> tensor<4x130x400xf32>
    %5 = prim.exp %4 : (tensor<4x130x400xf32>) -> tensor<4x130x400xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<4x130x400xf32>) -> tensor<4x130xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<4x130xf32>) -> tensor<4x130x400xf32>
    %8 = prim.div %5, %7 : (tensor<4x130x400xf32>, tensor<4x130x400xf32>) -> tensor<4x130x400xf32>
    %9 = prim.dot %8, %b batch [0] x [0] contract [2] x [1] : (tensor<4x130x400xf32>, tensor<4x400x64xf32>) -> tensor<4x130x64xf32>
    kernel.yield %9 : tensor<4x130x64xf32>
  } -> tensor<4x130x64xf32>
  %1 = kernel.launch attention "one" ins(%o, %s : tensor<4x1x64xf32>, tensor<4x9x64xf32>) sizes() {
  ^bb0(%a: tensor<4x1x64xf32>, %b: tensor<4x9x64xf32>):
    %1 = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<4x1x64xf32>, tensor<4x9x64xf32>) -> tensor<4x1x9xf32>
    %2 = prim.reduce max %1 [2] : (tensor<4x1x9xf32>) -> tensor<4x1xf32>
    %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x1x9xf32>
    %4 = prim.sub %1, %3 : (tensor<4x1x9xf32>, tensor<4x1x9xf32>) -> tensor<4x1x9xf32>
    %5 = prim.exp %4 : (tensor<4x1x9xf32>) -> tensor<4x1x9xf32>
    %6 = prim.reduce sum %5 [2] : (tensor<4x1x9xf32>) -> tensor<4x1xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x1x9xf32>
    %8 = prim.div %5, %7 : (tensor<4x1x9xf32>, tensor<4x1x9xf32>) -> tensor<4x1x9xf32>
    %9 = prim.dot %8, %b batch [0] x [0] contract [2] x [1] : (tensor<4x1x9xf32>, tensor<4x9x64xf32>) -> tensor<4x1x64xf32>
    kernel.yield %9 : tensor<4x1x64xf32>
  } -> tensor<4x1x64xf32>
  return
}

// One row by a matrix that is far larger than L2 and lies row by row: eight of its rows at a time,
// each from end to end.
// CHECK-LABEL: @streamed
// CHECK: rows = 1, unroll = 8, {{.*}} k_block = 8, a = in_place, b = in_place,
func.func @streamed(%x: tensor<1x4096xf32>, %y: tensor<4096x4096xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %y : tensor<1x4096xf32>, tensor<4096x4096xf32>) sizes() {
  ^bb0(%a: tensor<1x4096xf32>, %b: tensor<4096x4096xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<1x4096xf32>, tensor<4096x4096xf32>) -> tensor<1x4096xf32>
    kernel.yield %c : tensor<1x4096xf32>
  } -> tensor<1x4096xf32>
  return
}

// Two rows wait for what L2 does not hold too; more of them compute meanwhile, and read panels of columns.
// CHECK-LABEL: @streamed_by_few
// CHECK: rows = 2, {{.*}} k_block = 8, a = in_place, b = in_place,
// CHECK: rows = 3, unroll = 2, {{.*}} a = in_place, b = in_place,
func.func @streamed_by_few(%x: tensor<2x600xf32>, %z: tensor<3x600xf32>, %y: tensor<600x600xf32>) {
  %0 = kernel.launch contraction "dot" ins(%x, %y : tensor<2x600xf32>, tensor<600x600xf32>) sizes() {
  ^bb0(%a: tensor<2x600xf32>, %b: tensor<600x600xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<2x600xf32>, tensor<600x600xf32>) -> tensor<2x600xf32>
    kernel.yield %c : tensor<2x600xf32>
  } -> tensor<2x600xf32>
  %1 = kernel.launch contraction "dot" ins(%z, %y : tensor<3x600xf32>, tensor<600x600xf32>) sizes() {
  ^bb0(%a: tensor<3x600xf32>, %b: tensor<600x600xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<3x600xf32>, tensor<600x600xf32>) -> tensor<3x600xf32>
    kernel.yield %c : tensor<3x600xf32>
  } -> tensor<3x600xf32>
  return
}

// Lines of 7 fill no vectors. Nothing tells the points of a plane apart, and each channel has a number
// of its own: planes are lines of 49.
// CHECK-LABEL: func @planes(%arg0: tensor<2x16x7x7xf32>, %arg1: tensor<16x1x1xf32>)
// CHECK-DAG: %[[X:.*]] = prim.reshape %arg0 sizes() : (tensor<2x16x7x7xf32>) -> tensor<2x16x49xf32>
// CHECK-DAG: %[[B:.*]] = prim.reshape %arg1 sizes() : (tensor<16x1x1xf32>) -> tensor<16x1xf32>
// CHECK: %[[R:.*]] = kernel.launch loop "add" ins(%[[X]], %[[B]] :
// CHECK: prim.broadcast %{{.*}} axes [1, 2] sizes() : (tensor<16x1xf32>) -> tensor<2x16x49xf32>
// CHECK: #cpu.loop_schedule<lanes = 8, axis = 2
// CHECK: %[[Y:.*]] = prim.reshape %[[R]] sizes() : (tensor<2x16x49xf32>) -> tensor<2x16x7x7xf32>
// CHECK: return %[[Y]]
func.func @planes(%x: tensor<2x16x7x7xf32>, %bias: tensor<16x1x1xf32>) -> tensor<2x16x7x7xf32> {
  %0 = kernel.launch loop "add" ins(%x, %bias : tensor<2x16x7x7xf32>, tensor<16x1x1xf32>) sizes() {
  ^bb0(%a: tensor<2x16x7x7xf32>, %b: tensor<16x1x1xf32>):
    %1 = prim.broadcast %b axes [1, 2, 3] sizes() : (tensor<16x1x1xf32>) -> tensor<2x16x7x7xf32>
    %2 = prim.add %a, %1 : (tensor<2x16x7x7xf32>, tensor<2x16x7x7xf32>) -> tensor<2x16x7x7xf32>
    kernel.yield %2 : tensor<2x16x7x7xf32>
  } -> tensor<2x16x7x7xf32>
  return %0 : tensor<2x16x7x7xf32>
}

// Numbers of columns tell them apart, if those are not but a few.
// CHECK-LABEL: func @columns
// CHECK: kernel.launch loop "add" ins(%arg0, %arg1 : tensor<2x16x7x40xf32>, tensor<40xf32>)
func.func @columns(%x: tensor<2x16x7x40xf32>, %bias: tensor<40xf32>) -> tensor<2x16x7x40xf32> {
  %0 = kernel.launch loop "add" ins(%x, %bias : tensor<2x16x7x40xf32>, tensor<40xf32>) sizes() {
  ^bb0(%a: tensor<2x16x7x40xf32>, %b: tensor<40xf32>):
    %1 = prim.broadcast %b axes [3] sizes() : (tensor<40xf32>) -> tensor<2x16x7x40xf32>
    %2 = prim.add %a, %1 : (tensor<2x16x7x40xf32>, tensor<2x16x7x40xf32>) -> tensor<2x16x7x40xf32>
    kernel.yield %2 : tensor<2x16x7x40xf32>
  } -> tensor<2x16x7x40xf32>
  return %0 : tensor<2x16x7x40xf32>
}

// What is stored in fewer bits is computed for a whole vector of results, where little else is done.
// CHECK-LABEL: @narrowing
// CHECK: {schedule = #cpu.loop_schedule<lanes = 32, axis = 1,
// CHECK: {schedule = #cpu.loop_schedule<lanes = 16, axis = 1,
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 1,
func.func @narrowing(%x: tensor<64x256xf32>, %y: tensor<64x256xf64>, %z: tensor<64x256xi8>) {
  %0 = kernel.launch loop "cast" ins(%x : tensor<64x256xf32>) sizes() {
  ^bb0(%a: tensor<64x256xf32>):
    %b = prim.cast %a : (tensor<64x256xf32>) -> tensor<64x256xi8>
    kernel.yield %b : tensor<64x256xi8>
  } -> tensor<64x256xi8>
  %1 = kernel.launch loop "cast" ins(%y : tensor<64x256xf64>) sizes() {
  ^bb0(%a: tensor<64x256xf64>):
    %b = prim.cast %a : (tensor<64x256xf64>) -> tensor<64x256xbf16>
    kernel.yield %b : tensor<64x256xbf16>
  } -> tensor<64x256xbf16>
  %2 = kernel.launch loop "cast" ins(%z : tensor<64x256xi8>) sizes() {
  ^bb0(%a: tensor<64x256xi8>):
    %b = prim.cast %a : (tensor<64x256xi8>) -> tensor<64x256xf32>
    kernel.yield %b : tensor<64x256xf32>
  } -> tensor<64x256xf32>
  return
}

// A few rows by each matrix of a batch that is larger than the caches together: eight rows of a matrix are read beside each
// other. Not where all of them fit, nor of many rows, which copy.
// CHECK-LABEL: @batch_of_few_rows
// CHECK: panels_per_task = 22, k_block = 8, a = in_place, b = in_place
// CHECK: panels_per_task = {{[0-9]+}}, a = in_place, b = in_place
// CHECK-NOT: k_block = 8
func.func @batch_of_few_rows(%a: tensor<100x2x64xf32>, %b: tensor<100x64x513xf32>, %c: tensor<5x2x64xf32>, %d: tensor<5x64x513xf32>,
                             %g: tensor<100x16x64xf32>) {
  %0 = kernel.launch contraction "dot" ins(%a, %b : tensor<100x2x64xf32>, tensor<100x64x513xf32>) sizes() {
  ^bb0(%x: tensor<100x2x64xf32>, %y: tensor<100x64x513xf32>):
    %z = prim.dot %x, %y batch [0] x [0] contract [2] x [1] : (tensor<100x2x64xf32>, tensor<100x64x513xf32>) -> tensor<100x2x513xf32>
    kernel.yield %z : tensor<100x2x513xf32>
  } -> tensor<100x2x513xf32>
  %1 = kernel.launch contraction "dot" ins(%c, %d : tensor<5x2x64xf32>, tensor<5x64x513xf32>) sizes() {
  ^bb0(%x: tensor<5x2x64xf32>, %y: tensor<5x64x513xf32>):
    %z = prim.dot %x, %y batch [0] x [0] contract [2] x [1] : (tensor<5x2x64xf32>, tensor<5x64x513xf32>) -> tensor<5x2x513xf32>
    kernel.yield %z : tensor<5x2x513xf32>
  } -> tensor<5x2x513xf32>
  %2 = kernel.launch contraction "dot" ins(%g, %b : tensor<100x16x64xf32>, tensor<100x64x513xf32>) sizes() {
  ^bb0(%x: tensor<100x16x64xf32>, %y: tensor<100x64x513xf32>):
    %z = prim.dot %x, %y batch [0] x [0] contract [2] x [1] : (tensor<100x16x64xf32>, tensor<100x64x513xf32>) -> tensor<100x16x513xf32>
    kernel.yield %z : tensor<100x16x513xf32>
  } -> tensor<100x16x513xf32>
  return
}

// What is put together before the last axis is pieces of one line, long ones of which are copied: a task does more of them. Not of
// few points, nor what is computed.
// CHECK-LABEL: @pieces
// CHECK-COUNT-2: prim.reshape %{{.+}} sizes() : (tensor<4x64x3136xf32>) -> tensor<4x200704xf32>
// CHECK: prim.concat %{{.+}} axis 1 : (tensor<4x200704xf32>, tensor<4x200704xf32>) -> tensor<4x401408xf32>
// CHECK: chunk = 65536, grain = 1, copied_points = 4096>
// CHECK: prim.reshape {{.+}} (tensor<4x401408xf32>) -> tensor<4x128x3136xf32>
// CHECK: prim.concat %{{.+}}, %{{.+}} axis 0 : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<2000xf32>
// CHECK: prim.concat %{{.+}} axis 1 : (tensor<9x1x8xf32>, tensor<9x2x8xf32>)
// CHECK: prim.concat %{{.+}} axis 0 : (tensor<64x3136xf32>, tensor<64x3136xf32>)
// CHECK: chunk = 4096
// CHECK-NOT: copied_points
// CHECK: return
func.func @pieces(%x: tensor<4x64x3136xf32>, %y: tensor<4x64x3136xf32>, %r: tensor<1000xf32>, %f: tensor<9x1x8xf32>,
                  %g: tensor<9x2x8xf32>, %p: tensor<64x3136xf32>) {
  %0 = kernel.launch loop "concat" ins(%x, %y : tensor<4x64x3136xf32>, tensor<4x64x3136xf32>) sizes() {
  ^bb0(%a: tensor<4x64x3136xf32>, %b: tensor<4x64x3136xf32>):
    %c = prim.concat %a, %b axis 1 : (tensor<4x64x3136xf32>, tensor<4x64x3136xf32>) -> tensor<4x128x3136xf32>
    kernel.yield %c : tensor<4x128x3136xf32>
  } -> tensor<4x128x3136xf32>
  %1 = kernel.launch loop "stack" ins(%r : tensor<1000xf32>) sizes() {
  ^bb0(%a: tensor<1000xf32>):
    %b = prim.reshape %a sizes() : (tensor<1000xf32>) -> tensor<1x1000xf32>
    %c = prim.concat %b, %b axis 0 : (tensor<1x1000xf32>, tensor<1x1000xf32>) -> tensor<2x1000xf32>
    kernel.yield %c : tensor<2x1000xf32>
  } -> tensor<2x1000xf32>
  %2 = kernel.launch loop "concat" ins(%f, %g : tensor<9x1x8xf32>, tensor<9x2x8xf32>) sizes() {
  ^bb0(%a: tensor<9x1x8xf32>, %b: tensor<9x2x8xf32>):
    %c = prim.concat %a, %b axis 1 : (tensor<9x1x8xf32>, tensor<9x2x8xf32>) -> tensor<9x3x8xf32>
    kernel.yield %c : tensor<9x3x8xf32>
  } -> tensor<9x3x8xf32>
  %3 = kernel.launch loop "neg_concat" ins(%p : tensor<64x3136xf32>) sizes() {
  ^bb0(%a: tensor<64x3136xf32>):
    %b = prim.neg %a : (tensor<64x3136xf32>) -> tensor<64x3136xf32>
    %c = prim.concat %a, %b axis 0 : (tensor<64x3136xf32>, tensor<64x3136xf32>) -> tensor<128x3136xf32>
    kernel.yield %c : tensor<128x3136xf32>
  } -> tensor<128x3136xf32>
  return
}

// Lanes are rows where those are short, many, and give an element each.
// CHECK-LABEL: @short_rows
// CHECK: #cpu.row_schedule<lanes = {{[0-9]+}}, grain = {{[0-9]+}}, kept = 16384, across = true>
// CHECK: #cpu.row_schedule<lanes = {{[0-9]+}}, grain = 4, kept = 16384>
// CHECK: #cpu.row_schedule<lanes = {{[0-9]+}}, grain = 4, kept = 16384>
func.func @short_rows(%x: tensor<300x5xf32>, %few: tensor<30x5xf32>)
    -> (tensor<300xf32>, tensor<30xf32>, tensor<300x5xf32>) {
  %0 = kernel.launch row[1] "reduce" ins(%x : tensor<300x5xf32>) sizes() {
  ^bb0(%a: tensor<300x5xf32>):
    %b = prim.reduce max %a [1] : (tensor<300x5xf32>) -> tensor<300xf32>
    kernel.yield %b : tensor<300xf32>
  } -> tensor<300xf32>
  %1 = kernel.launch row[1] "reduce" ins(%few : tensor<30x5xf32>) sizes() {
  ^bb0(%a: tensor<30x5xf32>):
    %b = prim.reduce max %a [1] : (tensor<30x5xf32>) -> tensor<30xf32>
    kernel.yield %b : tensor<30xf32>
  } -> tensor<30xf32>
  %2 = kernel.launch row[1] "shift" ins(%x : tensor<300x5xf32>) sizes() {
  ^bb0(%a: tensor<300x5xf32>):
    %b = prim.reduce max %a [1] : (tensor<300x5xf32>) -> tensor<300xf32>
    %c = prim.broadcast %b axes [0] sizes() : (tensor<300xf32>) -> tensor<300x5xf32>
    %d = prim.sub %a, %c : (tensor<300x5xf32>, tensor<300x5xf32>) -> tensor<300x5xf32>
    kernel.yield %d : tensor<300x5xf32>
  } -> tensor<300x5xf32>
  return %0, %1, %2 : tensor<300xf32>, tensor<30xf32>, tensor<300x5xf32>
}

// Lines of seven points are one line, along which the scale has a period of seven.
// CHECK-LABEL: @periodic_lines
// CHECK: kernel.launch loop "mul" ins(%{{.*}}, %{{.*}} : tensor<7000xf32>, tensor<7xf32>)
// CHECK: %[[LINES:.*]] = prim.broadcast %{{.*}} axes [1] sizes() : (tensor<7xf32>) -> tensor<1000x7xf32>
// CHECK: %[[LINE:.*]] = prim.reshape %[[LINES]] sizes() : (tensor<1000x7xf32>) -> tensor<7000xf32>
// CHECK: prim.mul %{{.*}}, %[[LINE]] : (tensor<7000xf32>, tensor<7000xf32>)
// CHECK: #cpu.loop_schedule<lanes = {{[0-9]+}}, chunk = 4096
// Scales of rows have none.
// CHECK: kernel.launch loop "mul" ins(%{{.*}}, %{{.*}} : tensor<1000x7xf32>, tensor<1000xf32>)
func.func @periodic_lines(%x: tensor<1000x7xf32>, %columns: tensor<7xf32>, %rows: tensor<1000xf32>)
    -> (tensor<1000x7xf32>, tensor<1000x7xf32>) {
  %0 = kernel.launch loop "mul" ins(%x, %columns : tensor<1000x7xf32>, tensor<7xf32>) sizes() {
  ^bb0(%a: tensor<1000x7xf32>, %b: tensor<7xf32>):
    %c = prim.broadcast %b axes [1] sizes() : (tensor<7xf32>) -> tensor<1000x7xf32>
    %d = prim.mul %a, %c : (tensor<1000x7xf32>, tensor<1000x7xf32>) -> tensor<1000x7xf32>
    kernel.yield %d : tensor<1000x7xf32>
  } -> tensor<1000x7xf32>
  %1 = kernel.launch loop "mul" ins(%x, %rows : tensor<1000x7xf32>, tensor<1000xf32>) sizes() {
  ^bb0(%a: tensor<1000x7xf32>, %b: tensor<1000xf32>):
    %c = prim.broadcast %b axes [0] sizes() : (tensor<1000xf32>) -> tensor<1000x7xf32>
    %d = prim.mul %a, %c : (tensor<1000x7xf32>, tensor<1000x7xf32>) -> tensor<1000x7xf32>
    kernel.yield %d : tensor<1000x7xf32>
  } -> tensor<1000x7xf32>
  return %0, %1 : tensor<1000x7xf32>, tensor<1000x7xf32>
}

// What outgrows the caches is stored past them, if it lies in whole vectors: not half of it, nor odd rows, nor what waits in the
// result for a row's last loop, nor exponentials of narrow rows.
// CHECK-LABEL: @past_caches
// CHECK: loop "neg"{{.+}}tensor<8192x1024xf32>
// CHECK: past_caches = true>
// CHECK: loop "neg"{{.+}}tensor<4096x1024xf32>
// CHECK-NOT: past_caches
// CHECK: loop "neg"{{.+}}tensor<8381439xf32>
// CHECK-NOT: past_caches
// CHECK: row[1] "exps"{{.+}}tensor<8192x1024xf32>
// CHECK: past_caches = true>
// CHECK: row[1] "exps"{{.+}}tensor<256x32768xf32>
// CHECK-NOT: past_caches
// CHECK: row[1] "narrow"{{.+}}tensor<8192x2048xbf16>
// CHECK-NOT: past_caches
// CHECK: return
func.func @past_caches(%x: tensor<8192x1024xf32>, %y: tensor<4096x1024xf32>, %z: tensor<8193x1023xf32>, %w: tensor<256x32768xf32>,
                       %v: tensor<8192x2048xbf16>) {
  %0 = kernel.launch loop "neg" ins(%x : tensor<8192x1024xf32>) sizes() {
  ^bb0(%a: tensor<8192x1024xf32>):
    %b = prim.neg %a : (tensor<8192x1024xf32>) -> tensor<8192x1024xf32>
    kernel.yield %b : tensor<8192x1024xf32>
  } -> tensor<8192x1024xf32>
  %1 = kernel.launch loop "neg" ins(%y : tensor<4096x1024xf32>) sizes() {
  ^bb0(%a: tensor<4096x1024xf32>):
    %b = prim.neg %a : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
    kernel.yield %b : tensor<4096x1024xf32>
  } -> tensor<4096x1024xf32>
  %2 = kernel.launch loop "neg" ins(%z : tensor<8193x1023xf32>) sizes() {
  ^bb0(%a: tensor<8193x1023xf32>):
    %b = prim.neg %a : (tensor<8193x1023xf32>) -> tensor<8193x1023xf32>
    kernel.yield %b : tensor<8193x1023xf32>
  } -> tensor<8193x1023xf32>
  %3 = kernel.launch row[1] "exps" ins(%x : tensor<8192x1024xf32>) sizes() {
  ^bb0(%a: tensor<8192x1024xf32>):
    %e = prim.exp %a : (tensor<8192x1024xf32>) -> tensor<8192x1024xf32>
    %s = prim.reduce sum %e [1] : (tensor<8192x1024xf32>) -> tensor<8192xf32>
    %c = prim.broadcast %s axes [0] sizes() : (tensor<8192xf32>) -> tensor<8192x1024xf32>
    %d = prim.div %e, %c : (tensor<8192x1024xf32>, tensor<8192x1024xf32>) -> tensor<8192x1024xf32>
    kernel.yield %d : tensor<8192x1024xf32>
  } -> tensor<8192x1024xf32>
  %4 = kernel.launch row[1] "exps" ins(%w : tensor<256x32768xf32>) sizes() {
  ^bb0(%a: tensor<256x32768xf32>):
    %e = prim.exp %a : (tensor<256x32768xf32>) -> tensor<256x32768xf32>
    %s = prim.reduce sum %e [1] : (tensor<256x32768xf32>) -> tensor<256xf32>
    %c = prim.broadcast %s axes [0] sizes() : (tensor<256xf32>) -> tensor<256x32768xf32>
    %d = prim.div %e, %c : (tensor<256x32768xf32>, tensor<256x32768xf32>) -> tensor<256x32768xf32>
    kernel.yield %d : tensor<256x32768xf32>
  } -> tensor<256x32768xf32>
  %5 = kernel.launch row[1] "narrow" ins(%v : tensor<8192x2048xbf16>) sizes() {
  ^bb0(%a: tensor<8192x2048xbf16>):
    %f = prim.cast %a : (tensor<8192x2048xbf16>) -> tensor<8192x2048xf32>
    %e = prim.exp %f : (tensor<8192x2048xf32>) -> tensor<8192x2048xf32>
    %s = prim.reduce sum %e [1] : (tensor<8192x2048xf32>) -> tensor<8192xf32>
    %c = prim.broadcast %s axes [0] sizes() : (tensor<8192xf32>) -> tensor<8192x2048xf32>
    %d = prim.div %e, %c : (tensor<8192x2048xf32>, tensor<8192x2048xf32>) -> tensor<8192x2048xf32>
    %g = prim.cast %d : (tensor<8192x2048xf32>) -> tensor<8192x2048xbf16>
    kernel.yield %g : tensor<8192x2048xbf16>
  } -> tensor<8192x2048xbf16>
  return
}

// Axes that nothing tells apart are one beside others that are open (the pixels of a channel), or whose length a run knows (those of
// a row that is reduced). A result of that length is seen so inside of its kernel alone, and lines that fill vectors stay.
// CHECK-LABEL: @open_lines
// CHECK: loop "points" ins(%arg0{{.+}} : tensor<?x33xf32>
// CHECK: prim.reshape %arg1 {{.+}} : (tensor<?x64x7x9xf32>) -> tensor<?x64x63xf32>
// CHECK: prim.broadcast %{{.+}} axes [0, 1, 2] {{.+}} : (tensor<1x64x1xf32>) -> tensor<?x64x63xf32>
// CHECK: prim.reshape %{{.+}} : (tensor<?x64x63xf32>) -> tensor<?x64x7x9xf32>
// CHECK: %[[LENGTH:.+]] = arith.muli
// CHECK: prim.reshape %arg2 sizes(%[[LENGTH]]) : (tensor<4x64x?x?xf32>) -> tensor<4x64x?xf32>
// CHECK: prim.reduce sum %{{.+}} [2] : (tensor<4x64x?xf32>) -> tensor<4x64xf32>
// CHECK: loop "repeated" ins({{.+}} : tensor<?x33xf32>
// CHECK: loop "whole" ins({{.+}} : tensor<?x256xf32>
func.func @open_lines(%x: tensor<?x33xf32>, %y: tensor<?x64x7x9xf32>, %z: tensor<4x64x?x?xf32>, %l: tensor<33xf32>, %w: tensor<?x256xf32>,
                      %n: index) {
  %0 = kernel.launch loop "points" ins(%x, %n : tensor<?x33xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<?x33xf32>, %m: index):
    %c = prim.constant dense<2.0> : tensor<f32>
    %s = prim.broadcast %c axes [] sizes(%m) : (tensor<f32>) -> tensor<?x33xf32>
    %b = prim.mul %a, %s : (tensor<?x33xf32>, tensor<?x33xf32>) -> tensor<?x33xf32>
    kernel.yield %b : tensor<?x33xf32>
  } -> tensor<?x33xf32>
  %1 = kernel.launch loop "channels" ins(%y, %n : tensor<?x64x7x9xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<?x64x7x9xf32>, %m: index):
    %c = prim.constant dense<2.0> : tensor<1x64x1x1xf32>
    %s = prim.broadcast %c axes [0, 1, 2, 3] sizes(%m) : (tensor<1x64x1x1xf32>) -> tensor<?x64x7x9xf32>
    %b = prim.mul %a, %s : (tensor<?x64x7x9xf32>, tensor<?x64x7x9xf32>) -> tensor<?x64x7x9xf32>
    kernel.yield %b : tensor<?x64x7x9xf32>
  } -> tensor<?x64x7x9xf32>
  %2 = kernel.launch row[2] "sum" ins(%z : tensor<4x64x?x?xf32>) sizes() {
  ^bb0(%a: tensor<4x64x?x?xf32>):
    %b = prim.reduce sum %a [2, 3] : (tensor<4x64x?x?xf32>) -> tensor<4x64xf32>
    kernel.yield %b : tensor<4x64xf32>
  } -> tensor<4x64xf32>
  %3 = kernel.launch loop "repeated" ins(%x, %l, %n : tensor<?x33xf32>, tensor<33xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<?x33xf32>, %c: tensor<33xf32>, %m: index):
    %s = prim.broadcast %c axes [1] sizes(%m) : (tensor<33xf32>) -> tensor<?x33xf32>
    %b = prim.mul %a, %s : (tensor<?x33xf32>, tensor<?x33xf32>) -> tensor<?x33xf32>
    kernel.yield %b : tensor<?x33xf32>
  } -> tensor<?x33xf32>
  %4 = kernel.launch loop "whole" ins(%w : tensor<?x256xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x256xf32>):
    %b = prim.neg %a : (tensor<?x256xf32>) -> tensor<?x256xf32>
    kernel.yield %b : tensor<?x256xf32>
  } -> tensor<?x256xf32>
  return
}

// Windows of planes are reduced a line at a time, where they are stored at their own points: not those
// that something else takes from another place, nor windows of one axis.
// CHECK-LABEL: func @window_lines
// CHECK: kernel.launch loop "scaled"
// CHECK: } {schedule = #cpu.loop_schedule<lanes = {{.+}}, window_lines = true>}
// CHECK: kernel.launch loop "turned"
// CHECK-NOT: window_lines
// CHECK: return
func.func @window_lines(%x: tensor<2x3x20x40xf32>) {
  %0 = kernel.launch loop "scaled" ins(%x : tensor<2x3x20x40xf32>) sizes() {
  ^bb0(%a: tensor<2x3x20x40xf32>):
    %p = prim.pool max %a sizes() {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 0, 0>} : (tensor<2x3x20x40xf32>) -> tensor<2x3x10x20xf32>
    %c = prim.constant dense<2.0> : tensor<2x3x10x20xf32>
    %b = prim.mul %p, %c : (tensor<2x3x10x20xf32>, tensor<2x3x10x20xf32>) -> tensor<2x3x10x20xf32>
    kernel.yield %b : tensor<2x3x10x20xf32>
  } -> tensor<2x3x10x20xf32>
  %1 = kernel.launch loop "turned" ins(%x : tensor<2x3x20x40xf32>) sizes() {
  ^bb0(%a: tensor<2x3x20x40xf32>):
    %p = prim.pool max %a sizes() {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 0, 0>} : (tensor<2x3x20x40xf32>) -> tensor<2x3x10x20xf32>
    %b = prim.transpose %p [0, 1, 3, 2] : (tensor<2x3x10x20xf32>) -> tensor<2x3x20x10xf32>
    kernel.yield %b : tensor<2x3x20x10xf32>
  } -> tensor<2x3x20x10xf32>
  %2 = kernel.launch loop "line" ins(%x : tensor<2x3x20x40xf32>) sizes() {
  ^bb0(%a: tensor<2x3x20x40xf32>):
    %p = prim.pool max %a sizes() {window = array<i64: 1, 3>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 1>, high = array<i64: 0, 0>} : (tensor<2x3x20x40xf32>) -> tensor<2x3x20x20xf32>
    kernel.yield %p : tensor<2x3x20x20xf32>
  } -> tensor<2x3x20x20xf32>
  return
}

// What few rows have in common is computed for all of them at once, if it is more than a few operators.
// CHECK-LABEL: func @shared_rows
// CHECK: kernel.launch loop "three"
// CHECK: } {schedule = #cpu.loop_schedule<lanes = 8, axis = 2, chunk = {{.+}}, block_axis = 1, block_rows = 3, shared = true>}
// CHECK: return
func.func @shared_rows(%x: tensor<2x3x40xf32>, %g: tensor<2x1x30xf32>) {
  %three = kernel.launch loop "three" ins(%x, %g : tensor<2x3x40xf32>, tensor<2x1x30xf32>) sizes() {
  ^bb0(%a: tensor<2x3x40xf32>, %b: tensor<2x1x30xf32>):
    %e0 = prim.exp %b : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e1 = prim.tanh %e0 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e2 = prim.exp %e1 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e3 = prim.tanh %e2 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e4 = prim.exp %e3 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e5 = prim.tanh %e4 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e6 = prim.exp %e5 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e7 = prim.tanh %e6 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %s = prim.slice %a starts [0, 0, 5]() steps [1, 1, 1] sizes() : (tensor<2x3x40xf32>) -> tensor<2x3x30xf32>
    %w = prim.broadcast %e7 axes [0, 1, 2] sizes() : (tensor<2x1x30xf32>) -> tensor<2x3x30xf32>
    %m = prim.mul %s, %w : (tensor<2x3x30xf32>, tensor<2x3x30xf32>) -> tensor<2x3x30xf32>
    kernel.yield %m : tensor<2x3x30xf32>
  } -> tensor<2x3x30xf32>
  return
}
// CHECK-LABEL: func @many_rows
// CHECK-NOT: shared
// CHECK: return
func.func @many_rows(%x: tensor<2x9x40xf32>, %g: tensor<2x1x30xf32>) {
  %nine = kernel.launch loop "nine" ins(%x, %g : tensor<2x9x40xf32>, tensor<2x1x30xf32>) sizes() {
  ^bb0(%a: tensor<2x9x40xf32>, %b: tensor<2x1x30xf32>):
    %e0 = prim.exp %b : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e1 = prim.tanh %e0 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e2 = prim.exp %e1 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e3 = prim.tanh %e2 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e4 = prim.exp %e3 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e5 = prim.tanh %e4 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e6 = prim.exp %e5 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %e7 = prim.tanh %e6 : (tensor<2x1x30xf32>) -> tensor<2x1x30xf32>
    %s = prim.slice %a starts [0, 0, 5]() steps [1, 1, 1] sizes() : (tensor<2x9x40xf32>) -> tensor<2x9x30xf32>
    %w = prim.broadcast %e7 axes [0, 1, 2] sizes() : (tensor<2x1x30xf32>) -> tensor<2x9x30xf32>
    %m = prim.mul %s, %w : (tensor<2x9x30xf32>, tensor<2x9x30xf32>) -> tensor<2x9x30xf32>
    kernel.yield %m : tensor<2x9x30xf32>
  } -> tensor<2x9x30xf32>
  return
}

// Reads that wait for the read before, again and again: several vectors beside each other. With an open line and masks
// that cost something, one.
// CHECK-LABEL: @halving
// CHECK: {schedule = #cpu.loop_schedule<lanes = 32,
// CHECK: {schedule = #cpu.loop_schedule<lanes = 8,
func.func @halving(%s: tensor<64xi32>, %x: tensor<999xi32>, %y: tensor<?xi32>, %n: index) {
  %0 = kernel.launch loop "chain" ins(%s, %x : tensor<64xi32>, tensor<999xi32>) sizes() {
  ^bb0(%a: tensor<64xi32>, %b: tensor<999xi32>):
    %1 = prim.take %a, %b axis 0 : (tensor<64xi32>, tensor<999xi32>) -> tensor<999xi32>
    %2 = prim.take %a, %1 axis 0 : (tensor<64xi32>, tensor<999xi32>) -> tensor<999xi32>
    %3 = prim.neg %2 : (tensor<999xi32>) -> tensor<999xi32>
    %4 = prim.take %a, %3 axis 0 : (tensor<64xi32>, tensor<999xi32>) -> tensor<999xi32>
    %5 = prim.take %a, %4 axis 0 : (tensor<64xi32>, tensor<999xi32>) -> tensor<999xi32>
    %6 = prim.take %a, %5 axis 0 : (tensor<64xi32>, tensor<999xi32>) -> tensor<999xi32>
    kernel.yield %6 : tensor<999xi32>
  } -> tensor<999xi32>
  %7 = kernel.launch loop "open" ins(%s, %y : tensor<64xi32>, tensor<?xi32>) sizes(%n) {
  ^bb0(%a: tensor<64xi32>, %b: tensor<?xi32>):
    %1 = prim.take %a, %b axis 0 : (tensor<64xi32>, tensor<?xi32>) -> tensor<?xi32>
    %2 = prim.take %a, %1 axis 0 : (tensor<64xi32>, tensor<?xi32>) -> tensor<?xi32>
    %4 = prim.take %a, %2 axis 0 : (tensor<64xi32>, tensor<?xi32>) -> tensor<?xi32>
    %5 = prim.take %a, %4 axis 0 : (tensor<64xi32>, tensor<?xi32>) -> tensor<?xi32>
    %6 = prim.take %a, %5 axis 0 : (tensor<64xi32>, tensor<?xi32>) -> tensor<?xi32>
    kernel.yield %6 : tensor<?xi32>
  } -> tensor<?xi32>
  return
}

// Rows of a few points are pieces of one line, short ones among longer ones too.
// CHECK-LABEL: @short_pieces
// CHECK: prim.concat %{{.+}} axis 1 : (tensor<64x119xf32>, tensor<64x7xf32>, tensor<64x35xf32>) -> tensor<64x161xf32>
// CHECK: prim.reshape {{.+}} (tensor<64x161xf32>) -> tensor<64x23x7xf32>
func.func @short_pieces(%x: tensor<64x17x7xf32>, %y: tensor<64x1x7xf32>, %z: tensor<64x5x7xf32>) {
  %0 = kernel.launch loop "concat" ins(%x, %y, %z : tensor<64x17x7xf32>, tensor<64x1x7xf32>, tensor<64x5x7xf32>) sizes() {
  ^bb0(%a: tensor<64x17x7xf32>, %b: tensor<64x1x7xf32>, %c: tensor<64x5x7xf32>):
    %d = prim.concat %a, %b, %c axis 1 : (tensor<64x17x7xf32>, tensor<64x1x7xf32>, tensor<64x5x7xf32>) -> tensor<64x23x7xf32>
    kernel.yield %d : tensor<64x23x7xf32>
  } -> tensor<64x23x7xf32>
  return
}

// What is one element, however many axes it names, tells no axes apart; two elements do.
// CHECK-LABEL: @one_element
// CHECK: prim.reshape %{{.+}} sizes() : (tensor<1x1xf32>) -> tensor<f32>
// CHECK-NEXT: prim.broadcast %{{.+}} axes [] sizes() : (tensor<f32>) -> tensor<4704xf32>
// CHECK: -> tensor<4704xf32>
// CHECK: prim.broadcast %{{.+}} axes [2, 3] sizes() : (tensor<2x1xf32>) -> tensor<48x7x2x7xf32>
// CHECK: -> tensor<48x7x2x7xf32>
func.func @one_element(%x: tensor<48x7x2x7xf32>, %y: tensor<1x1xf32>, %z: tensor<2x1xf32>) {
  %0 = kernel.launch loop "mul" ins(%x, %y : tensor<48x7x2x7xf32>, tensor<1x1xf32>) sizes() {
  ^bb0(%a: tensor<48x7x2x7xf32>, %b: tensor<1x1xf32>):
    %c = prim.broadcast %b axes [2, 3] sizes() : (tensor<1x1xf32>) -> tensor<48x7x2x7xf32>
    %d = prim.mul %a, %c : (tensor<48x7x2x7xf32>, tensor<48x7x2x7xf32>) -> tensor<48x7x2x7xf32>
    kernel.yield %d : tensor<48x7x2x7xf32>
  } -> tensor<48x7x2x7xf32>
  %1 = kernel.launch loop "mul" ins(%x, %z : tensor<48x7x2x7xf32>, tensor<2x1xf32>) sizes() {
  ^bb0(%a: tensor<48x7x2x7xf32>, %b: tensor<2x1xf32>):
    %c = prim.broadcast %b axes [2, 3] sizes() : (tensor<2x1xf32>) -> tensor<48x7x2x7xf32>
    %d = prim.mul %a, %c : (tensor<48x7x2x7xf32>, tensor<48x7x2x7xf32>) -> tensor<48x7x2x7xf32>
    kernel.yield %d : tensor<48x7x2x7xf32>
  } -> tensor<48x7x2x7xf32>
  return
}
