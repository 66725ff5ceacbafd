// Filters of an open number of groups are a matrix for each, those of open extents with one channel are multiplied as they
// lie; where only their number is open they are a convolution's. What does not fit together stops the run.
// RUN: tcc-opt %s -tcc-decompose-nodes -cse -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @own_filters
// CHECK-NOT: prim.conv
// CHECK: prim.assert %{{.*}}, "the filters and their groups: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "the channels of operand and weight: extents of the operands differ"
// CHECK: prim.take %arg0, {{.*}} -> tensor<1x?x9x3x7xf32>
// CHECK: prim.take {{.*}} -> tensor<1x?x3x7x3x7xf32>
// CHECK: prim.dot {{.*}} batch [0] x [0] contract [2] x [1] : (tensor<?x?x36xf32>, tensor<?x36x49xf32>) -> tensor<?x?x49xf32>
func.func @own_filters(%x: tensor<1x?x9x9xf32>, %w: tensor<?x4x3x3xf32>, %g: tensor<i64>) -> tensor<1x?x7x7xf32> {
  %0 = graph.node "aten" "conv2d.default"(%x, %w, %g) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>, groups = #graph.operand<2>}} : (tensor<1x?x9x9xf32>, tensor<?x4x3x3xf32>, tensor<i64>) -> tensor<1x?x7x7xf32>
  return %0 : tensor<1x?x7x7xf32>
}

// CHECK-LABEL: func @template
// CHECK-NOT: prim.dot
// CHECK: prim.assert %{{.*}}, "a convolution's kernel has no elements"
// CHECK: prim.assert %{{.*}}, "a convolution's kernel is larger than its operand"
// CHECK: prim.take {{.*}} -> tensor<1x4x?x?xf32>
// CHECK: prim.reduce sum {{.*}} [2] : (tensor<1x4x?x?xf32>) -> tensor<1x4x?xf32>
func.func @template(%x: tensor<4x?xf32>, %w: tensor<4x1x?xf32>) -> tensor<4x?xf32> {
  %0 = graph.node "aten" "conv1d.default"(%x, %w) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>, groups = 4}} : (tensor<4x?xf32>, tensor<4x1x?xf32>) -> tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// A known window of one channel is what lies under each of its taps.
// CHECK-LABEL: func @tap_by_tap
// CHECK-NOT: prim.take
// CHECK: prim.assert %{{.*}}, "the channels of operand and weight: extents of the operands differ"
// CHECK: prim.slice {{.*}} starts [0, 0, 0]() steps [1, 1, 2] {{.*}} -> tensor<1x?x4xf32>
// CHECK: prim.mul
// CHECK: prim.slice {{.*}} starts [0, 0, 1]() steps [1, 1, 2] {{.*}} -> tensor<1x?x4xf32>
// CHECK: prim.mul
// CHECK: prim.add
// CHECK-NOT: prim.reduce
func.func @tap_by_tap(%x: tensor<1x?x9xf32>, %w: tensor<?x1x2xf32>) -> tensor<1x?x4xf32> {
  %g = graph.node "aten" "sym_size.int"(%w) {attrs = {self = #graph.operand<0>, dim = 0}} : (tensor<?x1x2xf32>) -> tensor<i64>
  %0 = graph.node "aten" "conv1d.default"(%x, %w, %g) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>, groups = #graph.operand<2>, stride = [2]}} : (tensor<1x?x9xf32>, tensor<?x1x2xf32>, tensor<i64>) -> tensor<1x?x4xf32>
  return %0 : tensor<1x?x4xf32>
}

// Few filters multiply the pixels once for all taps; half as many as channels are few, and planes of 16 bits would be rounded.
// CHECK-LABEL: func @few
// CHECK: prim.dot {{.*}} -> tensor<2x1x?x9xf32>
// CHECK: prim.take {{.*}} axis 2 : (tensor<2x1x?xf32>, tensor<?x?xi64>) -> tensor<2x1x?x?xf32>
// CHECK: prim.reduce sum {{.*}} [2]
// CHECK: prim.take {{.*}} -> tensor<2x2x?x?xf32>
// CHECK: prim.dot
// CHECK: prim.take {{.*}} -> tensor<2x2x?x?xbf16>
// CHECK: prim.dot
func.func @few(%x: tensor<2x2x9xf32>, %w: tensor<1x2x?xf32>, %v: tensor<2x2x?xf32>, %y: tensor<2x2x9xbf16>, %u: tensor<1x2x?xbf16>) -> (tensor<2x1x?xf32>, tensor<2x2x?xf32>, tensor<2x1x?xbf16>) {
  %0 = graph.node "aten" "conv1d.default"(%x, %w) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>}} : (tensor<2x2x9xf32>, tensor<1x2x?xf32>) -> tensor<2x1x?xf32>
  %1 = graph.node "aten" "conv1d.default"(%x, %v) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>}} : (tensor<2x2x9xf32>, tensor<2x2x?xf32>) -> tensor<2x2x?xf32>
  %2 = graph.node "aten" "conv1d.default"(%y, %u) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>}} : (tensor<2x2x9xbf16>, tensor<1x2x?xbf16>) -> tensor<2x1x?xbf16>
  return %0, %1, %2 : tensor<2x1x?xf32>, tensor<2x2x?xf32>, tensor<2x1x?xbf16>
}

// CHECK-LABEL: func @turned
// CHECK: prim.reverse
// CHECK: prim.pad %arg0
// CHECK: prim.dot
func.func @turned(%x: tensor<1x4x9xf32>, %w: tensor<4x3x?xf32>) -> tensor<1x3x?xf32> {
  %0 = graph.node "onnx" "ConvTranspose"(%x, %w) {attrs = {strides = array<i64: 2>}, version = 11 : i64} : (tensor<1x4x9xf32>, tensor<4x3x?xf32>) -> tensor<1x3x?xf32>
  return %0 : tensor<1x3x?xf32>
}

// CHECK-LABEL: func @many_filters
// CHECK-NOT: prim.take
// CHECK: prim.conv %arg0, %arg1
func.func @many_filters(%x: tensor<2x4x9x9xf32>, %w: tensor<?x4x3x3xf32>) -> tensor<2x?x7x7xf32> {
  %0 = graph.node "aten" "conv2d.default"(%x, %w) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>}} : (tensor<2x4x9x9xf32>, tensor<?x4x3x3xf32>) -> tensor<2x?x7x7xf32>
  return %0 : tensor<2x?x7x7xf32>
}

// What is padded, or cut off, follows from the kernel.
// CHECK-LABEL: func @as_large_as_before
// CHECK: %[[EXTENT:.*]] = prim.dim %arg1, 2
// CHECK: prim.pad %arg0
// CHECK: prim.dot
func.func @as_large_as_before(%x: tensor<1x4x9xf32>, %w: tensor<3x4x?xf32>) -> tensor<1x3x9xf32> {
  %0 = graph.node "onnx" "Conv"(%x, %w) {attrs = {auto_pad = "SAME_UPPER"}, version = 11 : i64} : (tensor<1x4x9xf32>, tensor<3x4x?xf32>) -> tensor<1x3x9xf32>
  return %0 : tensor<1x3x9xf32>
}

// CHECK-LABEL: func @as_large_as_stated
// CHECK: prim.pad %arg0
// CHECK: prim.dot
func.func @as_large_as_stated(%x: tensor<1x4x9xf32>, %w: tensor<4x3x?xf32>) -> tensor<1x3x20xf32> {
  %0 = graph.node "onnx" "ConvTranspose"(%x, %w) {attrs = {output_shape = array<i64: 20>, strides = array<i64: 2>}, version = 11 : i64} : (tensor<1x4x9xf32>, tensor<4x3x?xf32>) -> tensor<1x3x20xf32>
  return %0 : tensor<1x3x20xf32>
}

// The gradient of the operand is a convolution the other way round, that of the filters one product.
// CHECK-LABEL: func @gradients
// CHECK: prim.reverse
// CHECK: prim.dot
// CHECK: prim.take %{{.*}} -> tensor<2x4x?x?xf32>
// CHECK: prim.dot {{.*}} batch [0] x [0] contract [2] x [2]
// CHECK: prim.reduce sum %arg0 [0, 2]
func.func @gradients(%g: tensor<2x3x?xf32>, %x: tensor<2x4x9xf32>, %w: tensor<3x4x?xf32>) -> (tensor<2x4x9xf32>, tensor<3x4x?xf32>, tensor<3xf32>) {
  %0:3 = graph.node "aten" "convolution_backward.default"(%g, %x, %w) {attrs = {grad_output = #graph.operand<0>, input = #graph.operand<1>, weight = #graph.operand<2>, groups = 1, stride = [2], padding = [1]}} : (tensor<2x3x?xf32>, tensor<2x4x9xf32>, tensor<3x4x?xf32>) -> (tensor<2x4x9xf32>, tensor<3x4x?xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x4x9xf32>, tensor<3x4x?xf32>, tensor<3xf32>
}

// -----

// expected-error @+1 {{'output_shape' needs 1 entries}}
module {
  func.func @of_another_rank(%x: tensor<1x4x9xf32>, %w: tensor<4x3x?xf32>) -> tensor<1x3x?xf32> {
    %0 = graph.node "onnx" "ConvTranspose"(%x, %w) {attrs = {output_shape = array<i64: 20, 20>}, version = 11 : i64} : (tensor<1x4x9xf32>, tensor<4x3x?xf32>) -> tensor<1x3x?xf32>
    return %0 : tensor<1x3x?xf32>
  }
}

// -----

// expected-error @+1 {{a stride or a dilation is below 1}}
module {
  func.func @without_steps(%x: tensor<1x4x9xf32>, %w: tensor<3x4x?xf32>) -> tensor<1x3x?xf32> {
    %0 = graph.node "aten" "conv1d.default"(%x, %w) {attrs = {input = #graph.operand<0>, weight = #graph.operand<1>, stride = [0]}} : (tensor<1x4x9xf32>, tensor<3x4x?xf32>) -> tensor<1x3x?xf32>
    return %0 : tensor<1x3x?xf32>
  }
}
