// Operands of open extents that a run could make too small or too large for each other: it is stopped.
// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @channels_in_groups
// CHECK: prim.assert %{{.*}}, "channels in groups: extents of the operands differ"
func.func @channels_in_groups(%x: tensor<3x?x2x2xf32>, %s: tensor<?xf32>) -> tensor<3x?x2x2xf32> {
  %0 = graph.node "onnx" "GroupNormalization"(%x, %s, %s) {attrs = {num_groups = 2 : i64}, version = 21 : i64} : (tensor<3x?x2x2xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<3x?x2x2xf32>
  return %0 : tensor<3x?x2x2xf32>
}

// CHECK-LABEL: func @heads_and_masks
// CHECK: prim.assert %{{.*}}, "features in heads: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "the mask's keys: an extent is too large"
func.func @heads_and_masks(%q: tensor<1x3x?xf32>, %k: tensor<1x5x8xf32>, %mask: tensor<3x?xf32>) -> tensor<1x3x?xf32> {
  %0 = graph.node "onnx" "Attention"(%q, %k, %k, %mask) {attrs = {kv_num_heads = 2 : i64, q_num_heads = 2 : i64}, version = 23 : i64} : (tensor<1x3x?xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<3x?xf32>) -> tensor<1x3x?xf32>
  return %0 : tensor<1x3x?xf32>
}

// CHECK-LABEL: func @keys_and_values
// CHECK: prim.assert %{{.*}}, "heads of K and V: extents of the operands differ"
func.func @keys_and_values(%q: tensor<1x2x3x4xf32>, %k: tensor<1x?x5x4xf32>, %v: tensor<1x2x5x4xf32>) -> tensor<1x2x3x4xf32> {
  %0 = graph.node "onnx" "Attention"(%q, %k, %v) {version = 23 : i64} : (tensor<1x2x3x4xf32>, tensor<1x?x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x3x4xf32>
  return %0 : tensor<1x2x3x4xf32>
}

// CHECK-LABEL: func @offsets_of_taps
// CHECK: prim.assert %{{.*}}, "channels of the weight: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "offsets and input: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "offsets of the taps: extents of the operands differ"
func.func @offsets_of_taps(%x: tensor<1x?x3x3xf32>, %w: tensor<1x1x2x2xf32>, %o: tensor<?x?x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %0 = graph.node "onnx" "DeformConv"(%x, %w, %o) {attrs = {kernel_shape = array<i64: 2, 2>}, version = 22 : i64} : (tensor<1x?x3x3xf32>, tensor<1x1x2x2xf32>, tensor<?x?x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}

// CHECK-LABEL: func @blocked_scales
// CHECK-COUNT-2: prim.assert %{{.*}}, "a blocked scale: extents of the operands differ"
func.func @blocked_scales(%x: tensor<?x4xui8>, %s: tensor<?x?xf32>) -> tensor<?x4xf32> {
  %0 = graph.node "onnx" "DequantizeLinear"(%x, %s) {attrs = {axis = 1 : i64, block_size = 2 : i64}, version = 21 : i64} : (tensor<?x4xui8>, tensor<?x?xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func @grids
// CHECK: prim.assert %{{.*}}, "x and grid: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "the grid's coordinates: extents of the operands differ"
func.func @grids(%x: tensor<?x1x4x4xf32>, %g: tensor<?x6x6x?xf32>) -> tensor<?x1x6x6xf32> {
  %0 = graph.node "onnx" "GridSample"(%x, %g) {version = 22 : i64} : (tensor<?x1x4x4xf32>, tensor<?x6x6x?xf32>) -> tensor<?x1x6x6xf32>
  return %0 : tensor<?x1x6x6xf32>
}

// CHECK-LABEL: func @matrices_of_grids
// CHECK: prim.assert %{{.*}}, "theta and size: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "theta's rows: extents of the operands differ"
func.func @matrices_of_grids(%theta: tensor<?x?x3xf32>, %size: tensor<4xi64>) -> tensor<?x?x?x2xf32> {
  %0 = graph.node "onnx" "AffineGrid"(%theta, %size) {version = 20 : i64} : (tensor<?x?x3xf32>, tensor<4xi64>) -> tensor<?x?x?x2xf32>
  return %0 : tensor<?x?x?x2xf32>
}

// CHECK-LABEL: func @features
// CHECK: prim.assert %{{.*}}, "an index is out of range"
func.func @features(%x: tensor<3x4xf32>, %i: tensor<2xi64>) -> tensor<3x2xf32> {
  %0 = graph.node "ai.onnx.ml" "ArrayFeatureExtractor"(%x, %i) {version = 1 : i64} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// An index that is one for a whole slice is looked at once.
// CHECK-LABEL: func @one_for_a_slice
// CHECK: prim.reduce any %{{.*}} [0] : (tensor<9xi1>) -> tensor<i1>
// CHECK: prim.assert %{{.*}}, "an index is out of range"
func.func @one_for_a_slice(%x: tensor<3x4xf32>, %i: tensor<9x1xi64>, %u: tensor<9x4xf32>) -> tensor<3x4xf32> {
  %s = graph.node "onnx" "Shape"(%u) {version = 21 : i64} : (tensor<9x4xf32>) -> tensor<2xi64>
  %0 = graph.node "onnx" "Expand"(%i, %s) {version = 13 : i64} : (tensor<9x1xi64>, tensor<2xi64>) -> tensor<9x4xi64>
  %1 = graph.node "onnx" "ScatterElements"(%x, %0, %u) {attrs = {reduction = "add"}, version = 18 : i64} : (tensor<3x4xf32>, tensor<9x4xi64>, tensor<9x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// One that is for none, as the slices may be empty, is not looked at by itself.
// CHECK-LABEL: func @perhaps_for_none
// CHECK-NOT: (tensor<9xi1>)
// CHECK: prim.assert %{{.*}}, "an index is out of range"
func.func @perhaps_for_none(%x: tensor<3x?xf32>, %i: tensor<9x1xi64>, %u: tensor<9x?xf32>) -> tensor<3x?xf32> {
  %s = graph.node "onnx" "Shape"(%u) {version = 21 : i64} : (tensor<9x?xf32>) -> tensor<2xi64>
  %0 = graph.node "onnx" "Expand"(%i, %s) {version = 13 : i64} : (tensor<9x1xi64>, tensor<2xi64>) -> tensor<9x?xi64>
  %1 = graph.node "onnx" "ScatterElements"(%x, %0, %u) {attrs = {reduction = "add"}, version = 18 : i64} : (tensor<3x?xf32>, tensor<9x?xi64>, tensor<9x?xf32>) -> tensor<3x?xf32>
  return %1 : tensor<3x?xf32>
}

// A bias is broadcast to the product, never the product to it.
// CHECK-LABEL: func @bias_of_a_product
// CHECK: prim.assert %{{.*}}, "extents of the operands do not broadcast"
func.func @bias_of_a_product(%x: tensor<3x5xf32>, %y: tensor<5x?xf32>, %c: tensor<4xf32>) -> tensor<3x?xf32> {
  %0 = graph.node "onnx" "Gemm"(%x, %y, %c) {version = 13 : i64} : (tensor<3x5xf32>, tensor<5x?xf32>, tensor<4xf32>) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}

// CHECK-LABEL: func @gates
// CHECK: prim.assert %{{.*}}, "directions of the weights: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "gates of the weights: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "biases of the gates: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "lengths and input: extents of the operands differ"
func.func @gates(%x: tensor<2x3x4xf32>, %w: tensor<?x?x4xf32>, %r: tensor<1x18x6xf32>, %b: tensor<1x?xf32>, %l: tensor<?xi32>) -> tensor<2x1x3x6xf32> {
  %0 = graph.node "onnx" "GRU"(%x, %w, %r, %b, %l) {attrs = {hidden_size = 6 : i64}, version = 22 : i64} : (tensor<2x3x4xf32>, tensor<?x?x4xf32>, tensor<1x18x6xf32>, tensor<1x?xf32>, tensor<?xi32>) -> tensor<2x1x3x6xf32>
  return %0 : tensor<2x1x3x6xf32>
}

// CHECK-LABEL: func @boxes
// CHECK: prim.assert %{{.*}}, "boxes and their batch indices: extents of the operands differ"
// CHECK: prim.assert %{{.*}}, "the end of a part of an axis: an extent is too large"
func.func @boxes(%x: tensor<1x1x8x8xf32>, %r: tensor<?x?xf32>, %i: tensor<3xi64>) -> tensor<3x1x1x1xf32> {
  %0 = graph.node "onnx" "RoiAlign"(%x, %r, %i) {attrs = {sampling_ratio = 2 : i64}, version = 22 : i64} : (tensor<1x1x8x8xf32>, tensor<?x?xf32>, tensor<3xi64>) -> tensor<3x1x1x1xf32>
  return %0 : tensor<3x1x1x1xf32>
}

// Each axis's scale is a part of a vector, which must have as many.
// CHECK-LABEL: func @scales
// CHECK: prim.assert %{{.*}}, "the end of a part of an axis: an extent is too large"
func.func @scales(%x: tensor<2x4xf32>, %s: tensor<?xf32>) -> tensor<?x?xf32> {
  %0 = graph.node "onnx" "Resize"(%x, %s) {version = 10 : i64} : (tensor<2x4xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func @angles
// CHECK: prim.assert %{{.*}}, "extents of the operands do not broadcast"
// CHECK: prim.assert %{{.*}}, "angles and features: extents of the operands differ"
func.func @angles(%x: tensor<?x4x3x8xf32>, %c: tensor<2x3x?xf32>) -> tensor<?x4x3x8xf32> {
  %0 = graph.node "onnx" "RotaryEmbedding"(%x, %c, %c) {version = 23 : i64} : (tensor<?x4x3x8xf32>, tensor<2x3x?xf32>, tensor<2x3x?xf32>) -> tensor<?x4x3x8xf32>
  return %0 : tensor<?x4x3x8xf32>
}

// CHECK-LABEL: func @one_number
// CHECK: prim.assert %{{.*}}, "an operand of one element: extents of the operands differ"
func.func @one_number(%x: tensor<2xf32>, %low: tensor<?xf32>) -> tensor<2xf32> {
  %0 = graph.node "onnx" "Clip"(%x, %low) {version = 13 : i64} : (tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A condition may be longer than its axis, as it may be shorter.
// CHECK-LABEL: func @conditions_past_the_end
// CHECK: prim.slice %arg1 starts [0]() steps [1] sizes() : (tensor<5xi1>) -> tensor<3xi1>
func.func @conditions_past_the_end(%x: tensor<3x2xf32>, %c: tensor<5xi1>) -> tensor<?x2xf32> {
  %0 = graph.node "onnx" "Compress"(%x, %c) {attrs = {axis = 0 : i64}, version = 11 : i64} : (tensor<3x2xf32>, tensor<5xi1>) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// CHECK-LABEL: func @branches
// CHECK: prim.assert %{{.*}}, "features in branches: extents of the operands differ"
func.func @branches(%x: tensor<2x3x?xf32>, %g: tensor<2x3x4xf32>) -> tensor<2x3x?xf32> {
  %0 = graph.node "com.microsoft" "HyperConnectionPreMix"(%x, %g) {attrs = {num_branches = 4 : i64}, version = 1 : i64} : (tensor<2x3x?xf32>, tensor<2x3x4xf32>) -> tensor<2x3x?xf32>
  return %0 : tensor<2x3x?xf32>
}

// CHECK-LABEL: func @channels_of_a_state
// CHECK: prim.assert %{{.*}}, "CausalConvWithState: the channels: extents of the operands differ"
func.func @channels_of_a_state(%x: tensor<1x5x4xf32>, %w: tensor<4x1x3xf32>, %s: tensor<1x2x?xf32>) -> tensor<1x5x4xf32> {
  %none = graph.none : none
  %0 = graph.node "com.microsoft" "CausalConvWithState"(%x, %w, %none, %s) {attrs = {channels_last = 1 : i64}, version = 1 : i64} : (tensor<1x5x4xf32>, tensor<4x1x3xf32>, none, tensor<1x2x?xf32>) -> tensor<1x5x4xf32>
  return %0 : tensor<1x5x4xf32>
}
