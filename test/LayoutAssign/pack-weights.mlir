// RUN: tcc-opt %s -tcc-test-fill-weights -tcc-layout-pack-weights -cse | FileCheck %s

// CHECK-LABEL: func @linear
// CHECK: %[[P:.*]] = prim.weight "w.panels" : tensor<12x40xf32, #cpu.panels<k = [0], columns = 1, width = {{[0-9]+}}>>
// CHECK: prim.dot %arg0, %[[P]] batch [] x [] contract [1] x [0] : {{.*}} -> tensor<?x40xf32>
func.func @linear(%x: tensor<?x12xf32>) -> tensor<?x40xf32> {
  %w = prim.weight "w" : tensor<12x40xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<?x12xf32>, tensor<12x40xf32>) -> tensor<?x40xf32>
  return %0 : tensor<?x40xf32>
}

// Equal requests share one packing.
// CHECK-LABEL: func @twice
// CHECK: prim.weight "v.panels" : tensor<16x8xf32, #cpu.panels<k = [1], columns = 0, width = {{[0-9]+}}>>
// CHECK-NOT: prim.weight
// CHECK: prim.dot {{.*}} contract [1] x [1]
// CHECK: prim.dot {{.*}} contract [1] x [1]
func.func @twice(%x: tensor<3x8xf32>, %y: tensor<5x8xf32>) -> (tensor<3x16xf32>, tensor<5x16xf32>) {
  %w = prim.weight "v" : tensor<16x8xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<3x8xf32>, tensor<16x8xf32>) -> tensor<3x16xf32>
  %1 = prim.dot %y, %w batch [] x [] contract [1] x [1] : (tensor<5x8xf32>, tensor<16x8xf32>) -> tensor<5x16xf32>
  return %0, %1 : tensor<3x16xf32>, tensor<5x16xf32>
}

// Depthwise: the channels of all groups lie side by side, as one group.
// CHECK-LABEL: func @depthwise
// CHECK: prim.weight "d.panels" : tensor<16x1x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 8>>
// CHECK: prim.conv {{.*}}groups = 16 : i64
func.func @depthwise(%x: tensor<1x6x6x16xf32>) -> tensor<1x4x4x16xf32> {
  %w = prim.weight "d" : tensor<16x1x3x3xf32>
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 16 : i64} : (tensor<1x6x6x16xf32>, tensor<16x1x3x3xf32>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}

// Weights that come at run time, and channels-second convolutions, stay as they are.
// CHECK-LABEL: func @stays
// CHECK: prim.dot
// CHECK: prim.conv
// CHECK-NOT: panels
func.func @stays(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %z: tensor<1x2x4x4xf32>) -> (tensor<4x4xf32>, tensor<1x2x4x4xf32>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %w = prim.weight "u" : tensor<2x2x1x1xf32>
  %1 = prim.conv %z, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<1x2x4x4xf32>
}

// Bytes lie in groups of neighbours in k, here in pairs; the last one is filled up.
// CHECK-LABEL: func @bytes
// CHECK: %[[P:.*]] = prim.weight "b.panels" : tensor<13x40xi8, #cpu.panels<k = [0], columns = 1, width = {{[0-9]+}}, step = 2>>
// CHECK: prim.dot %arg0, %[[P]] {{.*}} -> tensor<?x40xi32>
func.func @bytes(%x: tensor<?x13xui8>) -> tensor<?x40xi32> {
  %w = prim.weight "b" : tensor<13x40xi8>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<?x13xui8>, tensor<13x40xi8>) -> tensor<?x40xi32>
  return %0 : tensor<?x40xi32>
}

// Each tap of a convolution fills its groups, unless all taps are gathered.
// CHECK-LABEL: func @byte_taps
// CHECK: prim.weight "many.panels" : tensor<16x17x3x3xi8, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16, step = 2, run = 17>>
// CHECK: prim.weight "few.panels" : tensor<16x3x3x3xi8, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16, step = 2>>
func.func @byte_taps(%x: tensor<1x6x6x17xi8>, %y: tensor<1x6x6x3xi8>) -> (tensor<1x4x4x16xi32>, tensor<1x4x4x16xi32>) {
  %v = prim.weight "many" : tensor<16x17x3x3xi8>
  %w = prim.weight "few" : tensor<16x3x3x3xi8>
  %0 = prim.conv %x, %v sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x17xi8>, tensor<16x17x3x3xi8>) -> tensor<1x4x4x16xi32>
  %1 = prim.conv %y, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x3xi8>, tensor<16x3x3x3xi8>) -> tensor<1x4x4x16xi32>
  return %0, %1 : tensor<1x4x4x16xi32>, tensor<1x4x4x16xi32>
}

// Single bytes where groups do not fit: depthwise, and where the length is not known.
// CHECK-LABEL: func @single_bytes
// CHECK: prim.weight "unknown.panels" : tensor<13x40xi8, #cpu.panels<k = [0], columns = 1, width = {{[0-9]+}}>>
// CHECK: prim.weight "deep.panels" : tensor<16x1x3x3xi8, #cpu.panels<k = [2, 3, 1], columns = 0, width = 8>>
func.func @single_bytes(%x: tensor<?x?xui8>, %y: tensor<1x6x6x16xi8>) -> (tensor<?x40xi32>, tensor<1x4x4x16xi32>) {
  %w = prim.weight "unknown" : tensor<13x40xi8>
  %v = prim.weight "deep" : tensor<16x1x3x3xi8>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<?x?xui8>, tensor<13x40xi8>) -> tensor<?x40xi32>
  %1 = prim.conv %y, %v sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 16 : i64} : (tensor<1x6x6x16xi8>, tensor<16x1x3x3xi8>) -> tensor<1x4x4x16xi32>
  return %0, %1 : tensor<?x40xi32>, tensor<1x4x4x16xi32>
}

// Filters that come at run time are turned by the run: whole panels, those of a group beside each other.
// CHECK-LABEL: func @late
// CHECK: %[[CUT:.*]] = prim.reshape %arg1 sizes() : (tensor<32x5x3x2xf32>) -> tensor<2x16x5x3x2xf32>
// CHECK: %[[TURNED:.*]] = prim.transpose %[[CUT]] [0, 3, 4, 2, 1] : (tensor<2x16x5x3x2xf32>) -> tensor<2x3x2x5x16xf32>
// CHECK: %[[P:.*]] = prim.reshape %[[TURNED]] sizes() : (tensor<2x3x2x5x16xf32>) -> tensor<32x5x3x2xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16>>
// CHECK: prim.conv %arg0, %[[P]]
// CHECK: -> tensor<32x5x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16, groups = 2>>
// CHECK: -> tensor<16x1x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 8>>
func.func @late(%x: tensor<1x6x6x5xf32>, %w: tensor<32x5x3x2xf32>, %y: tensor<1x6x6x10xf32>, %v: tensor<32x5x3x3xf32>, %z: tensor<1x6x6x16xf32>, %u: tensor<16x1x3x3xf32>) -> (tensor<1x4x5x32xf32>, tensor<1x4x4x32xf32>, tensor<1x4x4x16xf32>) {
  %0 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x5xf32>, tensor<32x5x3x2xf32>) -> tensor<1x4x5x32xf32>
  %1 = prim.conv %y, %v sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x6x6x10xf32>, tensor<32x5x3x3xf32>) -> tensor<1x4x4x32xf32>
  %2 = prim.conv %z, %u sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 16 : i64} : (tensor<1x6x6x16xf32>, tensor<16x1x3x3xf32>) -> tensor<1x4x4x16xf32>
  return %0, %1, %2 : tensor<1x4x5x32xf32>, tensor<1x4x4x32xf32>, tensor<1x4x4x16xf32>
}

// Zeros fill the last vector, and their results are left out.
// CHECK-LABEL: func @late_few
// CHECK: prim.pad %arg1, {{.*}} : (tensor<5x4x3x3xf32>, tensor<f32>) -> tensor<8x4x3x3xf32>
// CHECK: %[[WIDE:.*]] = prim.conv {{.*}} -> tensor<?x4x4x8xf32>
// CHECK: prim.slice %[[WIDE]] {{.*}} -> tensor<?x4x4x5xf32>
func.func @late_few(%x: tensor<?x6x6x4xf32>, %w: tensor<5x4x3x3xf32>, %n: index) -> tensor<?x4x4x5xf32> {
  %0 = prim.conv %x, %w sizes(%n) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x6x6x4xf32>, tensor<5x4x3x3xf32>, index) -> tensor<?x4x4x5xf32>
  return %0 : tensor<?x4x4x5xf32>
}

// Those of each group, where there are several.
// CHECK-LABEL: func @late_few_of_groups
// CHECK: prim.pad {{.*}} : (tensor<2x5x4x3x3xf32>, tensor<f32>) -> tensor<2x8x4x3x3xf32>
// CHECK: %[[WIDE:.*]] = prim.conv {{.*}} -> tensor<?x4x4x16xf32>
// CHECK: %[[APART:.*]] = prim.reshape %[[WIDE]] {{.*}} -> tensor<?x4x4x2x8xf32>
// CHECK: prim.slice %[[APART]] {{.*}} -> tensor<?x4x4x2x5xf32>
func.func @late_few_of_groups(%x: tensor<?x6x6x8xf32>, %w: tensor<10x4x3x3xf32>, %n: index) -> tensor<?x4x4x10xf32> {
  %0 = prim.conv %x, %w sizes(%n) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<?x6x6x8xf32>, tensor<10x4x3x3xf32>, index) -> tensor<?x4x4x10xf32>
  return %0 : tensor<?x4x4x10xf32>
}

// Not bytes, filters of open extents, a filter for each channel, planes, or an input with zeros between its points.
// CHECK-LABEL: func @late_stays
// CHECK-NOT: panels
// CHECK: return
func.func @late_stays(%b: tensor<1x6x6x16xi8>, %v: tensor<16x16x3x3xi8>, %x: tensor<1x6x6x4xf32>, %o: tensor<?x4x3x3xf32>, %n: index, %g: tensor<4x1x3x3xf32>, %p: tensor<1x4x6x6xf32>, %w: tensor<8x4x3x3xf32>) -> (tensor<1x4x4x16xi32>, tensor<1x4x4x?xf32>, tensor<1x4x4x4xf32>, tensor<1x8x4x4xf32>, tensor<1x9x9x8xf32>) {
  %0 = prim.conv %b, %v sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x16xi8>, tensor<16x16x3x3xi8>) -> tensor<1x4x4x16xi32>
  %1 = prim.conv %x, %o sizes(%n) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<?x4x3x3xf32>, index) -> tensor<1x4x4x?xf32>
  %2 = prim.conv %x, %g sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x6x6x4xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x4x4xf32>
  %3 = prim.conv %p, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x6x6xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x4x4xf32>
  %4 = prim.conv %x, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<8x4x3x3xf32>) -> tensor<1x9x9x8xf32>
  return %0, %1, %2, %3, %4 : tensor<1x4x4x16xi32>, tensor<1x4x4x?xf32>, tensor<1x4x4x4xf32>, tensor<1x8x4x4xf32>, tensor<1x9x9x8xf32>
}
