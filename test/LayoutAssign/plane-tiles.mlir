// RUN: tcc-opt %s -tcc-layout-orient-products | FileCheck %s

// Of one channel a result beyond L2 costs more to turn than its products: it is computed in planes. So are groups of eight and of
// four, whose input is beyond L2, and filters of narrow groups that a run brings, for which there is no other template.
// CHECK-LABEL: func @planes
// CHECK-COUNT-3: prim.conv {{.*}}cpu.in_planes
func.func @planes(%x: tensor<1x1x224x224xf32>, %y: tensor<1x256x56x56xf32>, %z: tensor<1x16x20x20xf32>, %v: tensor<16x4x3x3xf32>) -> (tensor<1x64x224x224xf32>, tensor<1x256x28x28xf32>, tensor<1x16x20x20xf32>) {
  %w = prim.weight "w" : tensor<64x1x3x3xf32>
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x1x224x224xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x224x224xf32>
  %u = prim.weight "u" : tensor<256x8x3x3xf32>
  %1 = prim.conv %y, %u sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 32 : i64} : (tensor<1x256x56x56xf32>, tensor<256x8x3x3xf32>) -> tensor<1x256x28x28xf32>
  %2 = prim.conv %z, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x16x20x20xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x20x20xf32>
  return %0, %1, %2 : tensor<1x64x224x224xf32>, tensor<1x256x28x28xf32>, tensor<1x16x20x20xf32>
}

// Many channels of a near image; narrow groups of weights that are near; a filter for each channel; strides of more than eight.
// CHECK-LABEL: func @stay
// CHECK-NOT: cpu.in_planes
func.func @stay(%x: tensor<1x64x20x20xf32>, %y: tensor<1x16x10x10xf32>, %v: tensor<16x1x7x7xf32>, %z: tensor<1x1x20000xf32>) -> (tensor<1x64x20x20xf32>, tensor<1x16x10x10xf32>, tensor<1x16x10x10xf32>, tensor<1x256x2000xf32>) {
  %w = prim.weight "w" : tensor<64x64x3x3xf32>
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x20x20xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x20x20xf32>
  %u = prim.weight "u" : tensor<16x4x3x3xf32>
  %1 = prim.conv %y, %u sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x16x10x10xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x10x10xf32>
  %2 = prim.conv %y, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>, groups = 16 : i64} : (tensor<1x16x10x10xf32>, tensor<16x1x7x7xf32>) -> tensor<1x16x10x10xf32>
  %t = prim.weight "t" : tensor<256x1x10xf32>
  %3 = prim.conv %z, %t sizes() {strides = array<i64: 10>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64} : (tensor<1x1x20000xf32>, tensor<256x1x10xf32>) -> tensor<1x256x2000xf32>
  return %0, %1, %2, %3 : tensor<1x64x20x20xf32>, tensor<1x16x10x10xf32>, tensor<1x16x10x10xf32>, tensor<1x256x2000xf32>
}

// Images of which only a run knows the extents, and open lengths: as planes of a typical size are, of constant and of run-time filters.
// CHECK-LABEL: func @open_planes
// CHECK-COUNT-3: prim.conv {{.*}}cpu.in_planes
func.func @open_planes(%x: tensor<2x96x?x?xf32>, %y: tensor<1x16x?x20xf32>, %z: tensor<1x80x?xf32>, %v: tensor<16x4x3x3xf32>) -> (tensor<2x48x?x?xf32>, tensor<1x16x?x20xf32>, tensor<1x12x?xf32>) {
  %h = prim.dim %x, 2 : tensor<2x96x?x?xf32>
  %l = prim.dim %x, 3 : tensor<2x96x?x?xf32>
  %m = prim.dim %y, 2 : tensor<1x16x?x20xf32>
  %n = prim.dim %z, 2 : tensor<1x80x?xf32>
  %w = prim.weight "w" : tensor<48x12x3x3xf32>
  %0 = prim.conv %x, %w sizes(%h, %l) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<2x96x?x?xf32>, tensor<48x12x3x3xf32>, index, index) -> tensor<2x48x?x?xf32>
  %1 = prim.conv %y, %v sizes(%m) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x16x?x20xf32>, tensor<16x4x3x3xf32>, index) -> tensor<1x16x?x20xf32>
  %u = prim.weight "u" : tensor<12x80x5xf32>
  %2 = prim.conv %z, %u sizes(%n) {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 2>, high = array<i64: 2>, groups = 1 : i64} : (tensor<1x80x?xf32>, tensor<12x80x5xf32>, index) -> tensor<1x12x?xf32>
  return %0, %1, %2 : tensor<2x48x?x?xf32>, tensor<1x16x?x20xf32>, tensor<1x12x?xf32>
}

// An open number of channels, and open images of as many filters as fill vectors.
// CHECK-LABEL: func @open_stay
// CHECK-NOT: cpu.in_planes
func.func @open_stay(%x: tensor<1x?x30x30xf32>, %v: tensor<12x3x3x3xf32>, %y: tensor<1x64x?x?xf32>) -> (tensor<1x12x30x30xf32>, tensor<1x64x?x?xf32>) {
  %h = prim.dim %y, 2 : tensor<1x64x?x?xf32>
  %l = prim.dim %y, 3 : tensor<1x64x?x?xf32>
  %0 = prim.conv %x, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x?x30x30xf32>, tensor<12x3x3x3xf32>) -> tensor<1x12x30x30xf32>
  %w = prim.weight "w" : tensor<64x64x3x3xf32>
  %1 = prim.conv %y, %w sizes(%h, %l) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x?x?xf32>, tensor<64x64x3x3xf32>, index, index) -> tensor<1x64x?x?xf32>
  return %0, %1 : tensor<1x12x30x30xf32>, tensor<1x64x?x?xf32>
}

// A filter for each channel: pixels of 8 kB that lie under its taps share sets of a cache, and filters that a run brings, which
// neighbours that want channels last do not keep from planes.
// CHECK-LABEL: func @each_channel
// CHECK-COUNT-3: prim.conv {{.*}}cpu.in_planes
// CHECK: prim.conv
// CHECK-NOT: cpu.in_planes
func.func @each_channel(%x: tensor<1x2048x31x31xf32>, %y: tensor<4x240x28x28xf32>, %v: tensor<240x1x5x5xf32>) -> (tensor<1x2048x31x31xf32>, tensor<4x240x28x28xf32>, tensor<4x64x26x26xf32>) {
  %w = prim.weight "w" : tensor<2048x1x5x5xf32>
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, groups = 2048 : i64} : (tensor<1x2048x31x31xf32>, tensor<2048x1x5x5xf32>) -> tensor<1x2048x31x31xf32>
  %1 = prim.conv %y, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, groups = 240 : i64} : (tensor<4x240x28x28xf32>, tensor<240x1x5x5xf32>) -> tensor<4x240x28x28xf32>
  %2 = prim.conv %y, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, groups = 240 : i64} : (tensor<4x240x28x28xf32>, tensor<240x1x5x5xf32>) -> tensor<4x240x28x28xf32>
  %u = prim.weight "u" : tensor<64x240x3x3xf32>
  %3 = prim.conv %2, %u sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<4x240x28x28xf32>, tensor<64x240x3x3xf32>) -> tensor<4x64x26x26xf32>
  return %0, %1, %3 : tensor<1x2048x31x31xf32>, tensor<4x240x28x28xf32>, tensor<4x64x26x26xf32>
}

// A neighbour that wants channels last keeps constant ones; pixels of 960 bytes share no sets; of short lines loops of what a run
// brings are faster.
// CHECK-LABEL: func @each_channel_stays
// CHECK-NOT: cpu.in_planes
func.func @each_channel_stays(%x: tensor<1x2048x31x31xf32>, %y: tensor<1x240x28x28xf32>, %z: tensor<2x96x7x7xf32>, %v: tensor<96x1x3x3xf32>) -> (tensor<1x512x31x31xf32>, tensor<1x240x28x28xf32>, tensor<2x96x7x7xf32>) {
  %w = prim.weight "w" : tensor<2048x1x5x5xf32>
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, groups = 2048 : i64} : (tensor<1x2048x31x31xf32>, tensor<2048x1x5x5xf32>) -> tensor<1x2048x31x31xf32>
  %u = prim.weight "u" : tensor<512x2048x3x3xf32>
  %1 = prim.conv %0, %u sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x2048x31x31xf32>, tensor<512x2048x3x3xf32>) -> tensor<1x512x31x31xf32>
  %t = prim.weight "t" : tensor<240x1x5x5xf32>
  %2 = prim.conv %y, %t sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, groups = 240 : i64} : (tensor<1x240x28x28xf32>, tensor<240x1x5x5xf32>) -> tensor<1x240x28x28xf32>
  %3 = prim.conv %z, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 96 : i64} : (tensor<2x96x7x7xf32>, tensor<96x1x3x3xf32>) -> tensor<2x96x7x7xf32>
  return %1, %2, %3 : tensor<1x512x31x31xf32>, tensor<1x240x28x28xf32>, tensor<2x96x7x7xf32>
}
