// RUN: tcc-opt %s -tcc-test-fill-weights -tcc-layout-pack-weights -cse | FileCheck %s

// 3x3 weights of many channels are transformed to 16 points.
// CHECK-LABEL: func @tiles
// CHECK: prim.weight "a.tiles" : tensor<64x64x3x3xf32, #cpu.winograd<width = {{[0-9]+}}>>
// CHECK: prim.conv {{.*}}#cpu.winograd<{{.*}} -> tensor<1x28x28x64xf32>
func.func @tiles(%x: tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32> {
  %wa = prim.weight "a" : tensor<64x64x3x3xf32>
  %a = prim.conv %x, %wa sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x28x28x64xf32>
  return %a : tensor<1x28x28x64xf32>
}

// Extents and images may be unknown.
// CHECK-LABEL: func @dynamic
// CHECK: prim.conv {{.*}}#cpu.winograd<{{.*}} -> tensor<?x?x?x64xf32>
func.func @dynamic(%x: tensor<?x?x?x64xf32>, %n: index, %h: index, %v: index) -> tensor<?x?x?x64xf32> {
  %wb = prim.weight "b" : tensor<64x64x3x3xf32>
  %b = prim.conv %x, %wb sizes(%n, %h, %v) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<?x?x?x64xf32>, tensor<64x64x3x3xf32>, index, index, index) -> tensor<?x?x?x64xf32>
  return %b : tensor<?x?x?x64xf32>
}

// Groups whose filters are whole panels of a group each.
// CHECK-LABEL: func @groups
// CHECK: prim.weight "g.tiles" : tensor<96x24x3x3xf32, #cpu.winograd<width = {{8|24}}>>
// CHECK: prim.conv {{.*}}#cpu.winograd<{{.*}} -> tensor<1x28x28x96xf32>
func.func @groups(%x: tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32> {
  %w = prim.weight "g" : tensor<96x24x3x3xf32>
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x28x28x96xf32>, tensor<96x24x3x3xf32>) -> tensor<1x28x28x96xf32>
  return %0 : tensor<1x28x28x96xf32>
}

// Not: few channels, few pixels for many weights, strides, dilations, groups of few channels or of a part of a panel, other
// windows and types.
// CHECK-LABEL: func @stays
// CHECK-NOT: winograd
// CHECK: return
func.func @stays(%x: tensor<1x28x28x4xf32>, %y: tensor<1x3x3x256xf32>, %z: tensor<1x28x28x64xf32>, %h: tensor<1x28x28x64xf16>) -> (tensor<1x28x28x64xf32>, tensor<1x3x3x256xf32>, tensor<1x14x14x64xf32>, tensor<1x26x26x64xf32>, tensor<1x28x28x64xf32>, tensor<1x28x28x72xf32>, tensor<1x30x30x64xf32>, tensor<1x28x28x64xf16>) {
  %wfew = prim.weight "few" : tensor<64x4x3x3xf32>
  %few = prim.conv %x, %wfew sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x28x28x4xf32>, tensor<64x4x3x3xf32>) -> tensor<1x28x28x64xf32>
  %wsmall = prim.weight "small" : tensor<256x256x3x3xf32>
  %small = prim.conv %y, %wsmall sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x3x256xf32>, tensor<256x256x3x3xf32>) -> tensor<1x3x3x256xf32>
  %wstride = prim.weight "stride" : tensor<64x64x3x3xf32>
  %stride = prim.conv %z, %wstride sizes() {channels_last = true, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x14x14x64xf32>
  %wdilation = prim.weight "dilation" : tensor<64x64x3x3xf32>
  %dilation = prim.conv %z, %wdilation sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x26x26x64xf32>
  %wgroups = prim.weight "groups" : tensor<64x8x3x3xf32>
  %groups = prim.conv %z, %wgroups sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x28x28x64xf32>, tensor<64x8x3x3xf32>) -> tensor<1x28x28x64xf32>
  %wparts = prim.weight "parts" : tensor<72x32x3x3xf32>
  %parts = prim.conv %z, %wparts sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<1x28x28x64xf32>, tensor<72x32x3x3xf32>) -> tensor<1x28x28x72xf32>
  %wwindow = prim.weight "window" : tensor<64x64x1x1xf32>
  %window = prim.conv %z, %wwindow sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<64x64x1x1xf32>) -> tensor<1x30x30x64xf32>
  %whalf = prim.weight "half" : tensor<64x64x3x3xf16>
  %half = prim.conv %h, %whalf sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x28x28x64xf16>, tensor<64x64x3x3xf16>) -> tensor<1x28x28x64xf16>
  return %few, %small, %stride, %dilation, %groups, %parts, %window, %half : tensor<1x28x28x64xf32>, tensor<1x3x3x256xf32>, tensor<1x14x14x64xf32>, tensor<1x26x26x64xf32>, tensor<1x28x28x64xf32>, tensor<1x28x28x72xf32>, tensor<1x30x30x64xf32>, tensor<1x28x28x64xf16>
}

// Nor where a block of tiles is so small that many weights come again for each of a few images.
// CHECK-LABEL: func @again
// CHECK-NOT: winograd
// CHECK: return
func.func @again(%x: tensor<4x7x7x512xf32>) -> tensor<4x7x7x512xf32> {
  %w = prim.weight "again" : tensor<512x512x3x3xf32>
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<4x7x7x512xf32>, tensor<512x512x3x3xf32>) -> tensor<4x7x7x512xf32>
  return %0 : tensor<4x7x7x512xf32>
}

// Nor where few channels become planes of whole pages, whose lines share sets of the cache; of other sizes, or where channels
// stay last, they do.
// CHECK-LABEL: func @pages
// CHECK: prim.conv {{.*}}#cpu.panels
// CHECK: prim.conv {{.*}}#cpu.winograd
// CHECK: prim.conv {{.*}}#cpu.winograd
func.func @pages(%x: tensor<1x128x128x16xf32>, %y: tensor<1x124x124x16xf32>) -> (tensor<1x32x128x128xf32>, tensor<1x32x124x124xf32>, tensor<1x128x128x32xf32>) {
  %w0 = prim.weight "pages0" : tensor<32x16x3x3xf32>
  %0 = prim.conv %x, %w0 sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x128x128x16xf32>, tensor<32x16x3x3xf32>) -> tensor<1x128x128x32xf32>
  %t0 = prim.transpose %0 [0, 3, 1, 2] : (tensor<1x128x128x32xf32>) -> tensor<1x32x128x128xf32>
  %w1 = prim.weight "pages1" : tensor<32x16x3x3xf32>
  %1 = prim.conv %y, %w1 sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x124x124x16xf32>, tensor<32x16x3x3xf32>) -> tensor<1x124x124x32xf32>
  %t1 = prim.transpose %1 [0, 3, 1, 2] : (tensor<1x124x124x32xf32>) -> tensor<1x32x124x124xf32>
  %w2 = prim.weight "pages2" : tensor<32x16x3x3xf32>
  %2 = prim.conv %x, %w2 sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x128x128x16xf32>, tensor<32x16x3x3xf32>) -> tensor<1x128x128x32xf32>
  return %t0, %t1, %2 : tensor<1x32x128x128xf32>, tensor<1x32x124x124xf32>, tensor<1x128x128x32xf32>
}
