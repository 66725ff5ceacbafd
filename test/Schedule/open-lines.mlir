// RUN: tcc-opt %s -tcc-schedule-kernels -split-input-file | FileCheck %s
// RUN: tcc-opt %s -tcc-schedule-kernels -split-input-file | tcc-opt -split-input-file | FileCheck %s
// Axes that are one for the code of a kernel of open extents.

// What is stacked is an operand seen with an axis of one: that axis and those behind it are one line of pieces, which are copied.
// CHECK-LABEL: @stack
// CHECK: {schedule = #cpu.loop_schedule<{{.*}}, axis = 1, {{.*}}, copied_points = 4096, joined_axes = 3, joined_pieces = true>}
func.func @stack(%x: tensor<?x?x9xf32> {graph.name = "x"}, %y: tensor<?x?x9xf32> {graph.name = "y"}) -> (tensor<?x2x?x9xf32> {graph.name = "z"}) {
  %m = prim.dim %x, 0 : tensor<?x?x9xf32>
  %n = prim.dim %x, 1 : tensor<?x?x9xf32>
  %z = kernel.launch loop "concat" ins(%x, %y : tensor<?x?x9xf32>, tensor<?x?x9xf32>) sizes(%m, %n) {
  ^bb0(%a: tensor<?x?x9xf32>, %b: tensor<?x?x9xf32>):
    %0 = prim.dim %a, 0 : tensor<?x?x9xf32>
    %1 = prim.dim %a, 1 : tensor<?x?x9xf32>
    %2 = prim.reshape %a sizes(%0, %1) : (tensor<?x?x9xf32>) -> tensor<?x1x?x9xf32>
    %3 = prim.reshape %b sizes(%0, %1) : (tensor<?x?x9xf32>) -> tensor<?x1x?x9xf32>
    %4 = prim.concat %2, %3 axis 1 : (tensor<?x1x?x9xf32>, tensor<?x1x?x9xf32>) -> tensor<?x2x?x9xf32>
    kernel.yield %4 : tensor<?x2x?x9xf32>
  } -> tensor<?x2x?x9xf32>
  return %z : tensor<?x2x?x9xf32>
}

// -----

// Sizes that nothing asks for change nothing.
// CHECK-LABEL: @unasked
// CHECK: {schedule = #cpu.loop_schedule<{{.*}}, axis = 1, {{.*}}, joined_axes = 2, joined_pieces = true>}
func.func @unasked(%x: tensor<?x4xf32> {graph.name = "x"}, %y: tensor<?x4xf32> {graph.name = "y"}) -> (tensor<?x2x4xf32> {graph.name = "z"}) {
  %n = prim.dim %x, 0 : tensor<?x4xf32>
  %z = kernel.launch loop "concat" ins(%x, %n, %y : tensor<?x4xf32>, index, tensor<?x4xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x4xf32>, %m: index, %b: tensor<?x4xf32>):
    %0 = prim.dim %a, 0 : tensor<?x4xf32>
    %1 = prim.reshape %a sizes(%m) : (tensor<?x4xf32>) -> tensor<?x1x4xf32>
    %2 = prim.dim %b, 0 : tensor<?x4xf32>
    %3 = prim.reshape %b sizes(%m) : (tensor<?x4xf32>) -> tensor<?x1x4xf32>
    %4 = prim.concat %1, %3 axis 1 : (tensor<?x1x4xf32>, tensor<?x1x4xf32>) -> tensor<?x2x4xf32>
    kernel.yield %4 : tensor<?x2x4xf32>
  } -> tensor<?x2x4xf32>
  return %z : tensor<?x2x4xf32>
}

// -----

// Not where an operand is computed, nor where it is put there in two shapes.
// CHECK-LABEL: @computed
// CHECK-NOT: joined_axes
func.func @computed(%x: tensor<?x9xf32> {graph.name = "x"}, %y: tensor<?x9xf32> {graph.name = "y"})
    -> (tensor<2x?x9xf32> {graph.name = "z"}, tensor<2x?x9xf32> {graph.name = "w"}) {
  %n = prim.dim %x, 0 : tensor<?x9xf32>
  %z = kernel.launch loop "concat" ins(%x, %y : tensor<?x9xf32>, tensor<?x9xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x9xf32>, %b: tensor<?x9xf32>):
    %0 = prim.dim %a, 0 : tensor<?x9xf32>
    %1 = prim.reshape %a sizes(%0) : (tensor<?x9xf32>) -> tensor<1x?x9xf32>
    %2 = prim.neg %b : (tensor<?x9xf32>) -> tensor<?x9xf32>
    %3 = prim.reshape %2 sizes(%0) : (tensor<?x9xf32>) -> tensor<1x?x9xf32>
    %4 = prim.concat %1, %3 axis 0 : (tensor<1x?x9xf32>, tensor<1x?x9xf32>) -> tensor<2x?x9xf32>
    kernel.yield %4 : tensor<2x?x9xf32>
  } -> tensor<2x?x9xf32>
  %w = kernel.launch loop "concat" ins(%x : tensor<?x9xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x9xf32>):
    %0 = prim.dim %a, 0 : tensor<?x9xf32>
    %1 = prim.reshape %a sizes(%0) : (tensor<?x9xf32>) -> tensor<1x?x9xf32>
    %2 = prim.reshape %a sizes(%0) : (tensor<?x9xf32>) -> tensor<?x9x1xf32>
    %3 = prim.reshape %2 sizes(%0) : (tensor<?x9x1xf32>) -> tensor<1x?x9xf32>
    %4 = prim.concat %1, %3 axis 0 : (tensor<1x?x9xf32>, tensor<1x?x9xf32>) -> tensor<2x?x9xf32>
    kernel.yield %4 : tensor<2x?x9xf32>
  } -> tensor<2x?x9xf32>
  return %z, %w : tensor<2x?x9xf32>, tensor<2x?x9xf32>
}

// -----

// Behind an open batch the pixels of channels that are cut, turned or put together are one axis, as where the batch is known.
// CHECK-LABEL: @halves
// CHECK: prim.slice {{.*}} starts [0, 24, 0]{{.*}} : (tensor<?x48x9xf32>) -> tensor<?x24x9xf32>
// CHECK: {schedule = #cpu.loop_schedule<{{.*}}, axis = 2, {{.*}}>} -> tensor<?x24x9xf32>
func.func @halves(%x: tensor<?x48x3x3xf32> {graph.name = "x"}) -> (tensor<?x24x3x3xf32> {graph.name = "z"}) {
  %n = prim.dim %x, 0 : tensor<?x48x3x3xf32>
  %z = kernel.launch loop "mul" ins(%x, %n : tensor<?x48x3x3xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<?x48x3x3xf32>, %b: index):
    %0 = prim.slice %a starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes(%b) : (tensor<?x48x3x3xf32>) -> tensor<?x24x3x3xf32>
    %1 = prim.slice %a starts [0, 24, 0, 0]() steps [1, 1, 1, 1] sizes(%b) : (tensor<?x48x3x3xf32>) -> tensor<?x24x3x3xf32>
    %2 = prim.mul %0, %1 : (tensor<?x24x3x3xf32>, tensor<?x24x3x3xf32>) -> tensor<?x24x3x3xf32>
    kernel.yield %2 : tensor<?x24x3x3xf32>
  } -> tensor<?x24x3x3xf32>
  return %z : tensor<?x24x3x3xf32>
}

// -----

// Not where the pixels themselves are cut.
// CHECK-LABEL: @cut
// CHECK: prim.slice {{.*}} starts [0, 0, 1, 0]
// CHECK: -> tensor<?x48x2x3xf32>
func.func @cut(%x: tensor<?x48x3x3xf32> {graph.name = "x"}) -> (tensor<?x48x2x3xf32> {graph.name = "z"}) {
  %n = prim.dim %x, 0 : tensor<?x48x3x3xf32>
  %z = kernel.launch loop "neg" ins(%x, %n : tensor<?x48x3x3xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<?x48x3x3xf32>, %b: index):
    %0 = prim.slice %a starts [0, 0, 1, 0]() steps [1, 1, 1, 1] sizes(%b) : (tensor<?x48x3x3xf32>) -> tensor<?x48x2x3xf32>
    %1 = prim.neg %0 : (tensor<?x48x2x3xf32>) -> tensor<?x48x2x3xf32>
    kernel.yield %1 : tensor<?x48x2x3xf32>
  } -> tensor<?x48x2x3xf32>
  return %z : tensor<?x48x2x3xf32>
}

// -----

// Nor where the line of pieces has so few points that a run is of several lines.
// CHECK-LABEL: @few_points
// CHECK: {schedule = #cpu.loop_schedule
// CHECK-NOT: joined_axes
// CHECK: return
func.func @few_points(%x: tensor<?x?x2x1xf32> {graph.name = "x"}) -> (tensor<?x?x3x1xf32> {graph.name = "z"}) {
  %m = prim.dim %x, 0 : tensor<?x?x2x1xf32>
  %n = prim.dim %x, 1 : tensor<?x?x2x1xf32>
  %z = kernel.launch loop "concat" ins(%x, %m, %n : tensor<?x?x2x1xf32>, index, index) sizes(%m, %n) {
  ^bb0(%a: tensor<?x?x2x1xf32>, %b: index, %c: index):
    %0 = prim.slice %a starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes(%b, %c) : (tensor<?x?x2x1xf32>) -> tensor<?x?x1x1xf32>
    %1 = prim.slice %a starts [0, 0, 1, 0]() steps [1, 1, 1, 1] sizes(%b, %c) : (tensor<?x?x2x1xf32>) -> tensor<?x?x1x1xf32>
    %2 = prim.concat %0, %1, %1 axis 2 : (tensor<?x?x1x1xf32>, tensor<?x?x1x1xf32>, tensor<?x?x1x1xf32>) -> tensor<?x?x3x1xf32>
    kernel.yield %2 : tensor<?x?x3x1xf32>
  } -> tensor<?x?x3x1xf32>
  return %z : tensor<?x?x3x1xf32>
}

// -----

// An open number of rows is read in groups, two vectors of each at a time; neither rows that lie one behind the other nor short ones.
// CHECK-LABEL: @rows
// CHECK: {schedule = #cpu.loop_schedule<lanes = 16, chunk = 256, {{.*}}>} -> tensor<1024xf32>
// CHECK: {schedule = #cpu.loop_schedule<lanes = 64, axis = 1, chunk = 256, {{.*}}>} -> tensor<16x1024xf32>
// CHECK: {schedule = #cpu.loop_schedule<lanes = 64, chunk = 256, {{.*}}>} -> tensor<256xf32>
func.func @rows(%x: tensor<?x1024xf32> {graph.name = "x"}, %y: tensor<16x?x1024xf32> {graph.name = "y"}, %z: tensor<?x256xf32> {graph.name = "z"})
    -> (tensor<1024xf32> {graph.name = "u"}, tensor<16x1024xf32> {graph.name = "v"}, tensor<256xf32> {graph.name = "w"}) {
  %u = kernel.launch loop "sum" ins(%x : tensor<?x1024xf32>) sizes() {
  ^bb0(%a: tensor<?x1024xf32>):
    %0 = prim.reduce sum %a [0] : (tensor<?x1024xf32>) -> tensor<1024xf32>
    kernel.yield %0 : tensor<1024xf32>
  } -> tensor<1024xf32>
  %v = kernel.launch loop "sum" ins(%y : tensor<16x?x1024xf32>) sizes() {
  ^bb0(%a: tensor<16x?x1024xf32>):
    %0 = prim.reduce sum %a [1] : (tensor<16x?x1024xf32>) -> tensor<16x1024xf32>
    kernel.yield %0 : tensor<16x1024xf32>
  } -> tensor<16x1024xf32>
  %w = kernel.launch loop "sum" ins(%z : tensor<?x256xf32>) sizes() {
  ^bb0(%a: tensor<?x256xf32>):
    %0 = prim.reduce sum %a [0] : (tensor<?x256xf32>) -> tensor<256xf32>
    kernel.yield %0 : tensor<256xf32>
  } -> tensor<256xf32>
  return %u, %v, %w : tensor<1024xf32>, tensor<16x1024xf32>, tensor<256xf32>
}

// -----

// An element that all points share, which names an axis, tells none of the open ones apart.
// CHECK-LABEL: @one_element
// CHECK: {schedule = #cpu.loop_schedule<{{.*}}joined_axes = 3>}
func.func @one_element(%x: tensor<9x2x?xf16> {graph.name = "x"}, %y: tensor<1xf16> {graph.name = "y"}) -> (tensor<9x2x?xf16> {graph.name = "z"}) {
  %n = prim.dim %x, 2 : tensor<9x2x?xf16>
  %z = kernel.launch loop "add" ins(%x, %y, %n : tensor<9x2x?xf16>, tensor<1xf16>, index) sizes(%n) {
  ^bb0(%a: tensor<9x2x?xf16>, %b: tensor<1xf16>, %c: index):
    %0 = prim.broadcast %b axes [2] sizes(%c) : (tensor<1xf16>) -> tensor<9x2x?xf16>
    %1 = prim.add %a, %0 : (tensor<9x2x?xf16>, tensor<9x2x?xf16>) -> tensor<9x2x?xf16>
    kernel.yield %1 : tensor<9x2x?xf16>
  } -> tensor<9x2x?xf16>
  return %z : tensor<9x2x?xf16>
}
