// RUN: tcc-opt %s -tcc-test-fill-weights -tcc-layout-k-major-weights -cse | FileCheck %s

// Of products for matrix units, where they lie the other way.
// CHECK-LABEL: func @linear
// CHECK: %[[A:.*]] = prim.weight "a.rows" : tensor<40x12xbf16>
// CHECK: prim.dot %arg0, %[[A]] batch [] x [] contract [1] x [1] : {{.*}} -> tensor<?x40xf32>
// CHECK: %[[B:.*]] = prim.weight "b" : tensor<12x40xf16>
// CHECK: prim.dot %arg1, %[[B]] batch [] x [] contract [1] x [1]
// CHECK: %[[C:.*]] = prim.weight "c.rows" : tensor<40x13xi8>
// CHECK: prim.dot %arg2, %[[C]] batch [] x [] contract [0] x [1] : {{.*}} -> tensor<?x40xi32>
func.func @linear(%x: tensor<?x12xbf16>, %y: tensor<3x40xf16>, %z: tensor<13x?xui8>) -> (tensor<?x40xf32>, tensor<3x12xf32>, tensor<?x40xi32>) {
  %a = prim.weight "a" : tensor<12x40xbf16>
  %0 = prim.dot %x, %a batch [] x [] contract [1] x [0] : (tensor<?x12xbf16>, tensor<12x40xbf16>) -> tensor<?x40xf32>
  %b = prim.weight "b" : tensor<12x40xf16>
  %1 = prim.dot %y, %b batch [] x [] contract [1] x [1] : (tensor<3x40xf16>, tensor<12x40xf16>) -> tensor<3x12xf32>
  %c = prim.weight "c" : tensor<13x40xi8>
  %2 = prim.dot %z, %c batch [] x [] contract [0] x [0] : (tensor<13x?xui8>, tensor<13x40xi8>) -> tensor<?x40xi32>
  return %0, %1, %2 : tensor<?x40xf32>, tensor<3x12xf32>, tensor<?x40xi32>
}

// Equal requests share one weight. Its elements are those of the transpose.
// CHECK-LABEL: func @twice
// CHECK: prim.weight "v.rows"
// CHECK-NOT: prim.weight
func.func @twice(%x: tensor<3x8xbf16>, %y: tensor<5x8xbf16>) -> (tensor<3x16xf32>, tensor<5x16xf32>) {
  %w = prim.weight "v" : tensor<8x16xbf16>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<3x8xbf16>, tensor<8x16xbf16>) -> tensor<3x16xf32>
  %1 = prim.dot %y, %w batch [] x [] contract [1] x [0] : (tensor<5x8xbf16>, tensor<8x16xbf16>) -> tensor<5x16xf32>
  return %0, %1 : tensor<3x16xf32>, tensor<5x16xf32>
}

// Columns along several axes are one; what sums another axis has rows of its own. Open rows stay.
// CHECK-LABEL: func @experts
// CHECK-DAG: %[[B:.*]] = prim.weight "e.rows2" : tensor<24x16xbf16>
// CHECK-DAG: %[[A:.*]] = prim.weight "e.rows1" : tensor<48x8xbf16>
// CHECK-DAG: %[[W:.*]] = prim.weight "e" : tensor<3x8x16xbf16>
// CHECK: %[[P:.*]] = prim.dot %arg0, %[[A]] batch [] x [] contract [1] x [1] : {{.*}} -> tensor<?x48xbf16>
// CHECK: prim.reshape %[[P]] sizes({{.*}}) : (tensor<?x48xbf16>) -> tensor<?x3x16xbf16>
// CHECK: %[[Q:.*]] = prim.dot %arg1, %[[B]] batch [] x [] contract [1] x [1] : {{.*}} -> tensor<5x24xbf16>
// CHECK: prim.reshape %[[Q]] sizes() : (tensor<5x24xbf16>) -> tensor<5x3x8xbf16>
// A batch of both, and several axes that are summed, stay.
// CHECK: prim.dot %arg2, %[[W]] batch [0] x [0]
// CHECK: prim.dot %arg3, %[[W]] batch [] x [] contract [1, 2] x [1, 2]
func.func @experts(%x: tensor<?x8xbf16>, %y: tensor<5x16xbf16>, %z: tensor<3x5x8xbf16>, %u: tensor<5x8x16xbf16>)
    -> (tensor<?x3x16xbf16>, tensor<5x3x8xbf16>, tensor<3x5x16xbf16>, tensor<5x3xbf16>) {
  %w = prim.weight "e" : tensor<3x8x16xbf16>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<?x8xbf16>, tensor<3x8x16xbf16>) -> tensor<?x3x16xbf16>
  %1 = prim.dot %y, %w batch [] x [] contract [1] x [2] : (tensor<5x16xbf16>, tensor<3x8x16xbf16>) -> tensor<5x3x8xbf16>
  %2 = prim.dot %z, %w batch [0] x [0] contract [2] x [1] : (tensor<3x5x8xbf16>, tensor<3x8x16xbf16>) -> tensor<3x5x16xbf16>
  %3 = prim.dot %u, %w batch [] x [] contract [1, 2] x [1, 2] : (tensor<5x8x16xbf16>, tensor<3x8x16xbf16>) -> tensor<5x3xbf16>
  return %0, %1, %2, %3 : tensor<?x3x16xbf16>, tensor<5x3x8xbf16>, tensor<3x5x16xbf16>, tensor<5x3xbf16>
}

// Few rows of any type.
// CHECK-LABEL: func @few_rows
// CHECK: prim.weight "s.rows" : tensor<8x4xf32>
func.func @few_rows(%x: tensor<2x3x4xf32>) -> tensor<2x3x8xf32> {
  %s = prim.weight "s" : tensor<4x8xf32>
  %0 = prim.dot %x, %s batch [] x [] contract [2] x [0] : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}

// A convolution of points is a product, in any type.
// CHECK-LABEL: func @points
// CHECK: %[[P:.*]] = prim.weight "p.points" : tensor<16x17xf32>
// CHECK: prim.dot %arg0, %[[P]] batch [] x [] contract [3] x [1] : {{.*}} -> tensor<1x6x6x16xf32>
func.func @points(%x: tensor<1x6x6x17xf32>) -> tensor<1x6x6x16xf32> {
  %p = prim.weight "p" : tensor<16x17x1x1xf32>
  %0 = prim.conv %x, %p sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x17xf32>, tensor<16x17x1x1xf32>) -> tensor<1x6x6x16xf32>
  return %0 : tensor<1x6x6x16xf32>
}

// Filters lie window first, then channels, in any type; of groups of one channel the channels of
// all lie together.
// CHECK-LABEL: func @filters
// CHECK: %[[W:.*]] = prim.weight "u.taps" : tensor<4x2x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv %arg0, %[[W]]
// CHECK: %[[D:.*]] = prim.weight "e.taps" : tensor<2x1x3x3xf32, #prim.axis_order<[2, 3, 1, 0]>>
// CHECK: prim.conv %arg0, %[[D]]
func.func @filters(%z: tensor<1x6x6x2xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x2xf32>) {
  %w = prim.weight "u" : tensor<4x2x3x3xf32>
  %0 = prim.conv %z, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x6x6x2xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x4x4xf32>
  %d = prim.weight "e" : tensor<2x1x3x3xf32>
  %1 = prim.conv %z, %d sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x6x6x2xf32>, tensor<2x1x3x3xf32>) -> tensor<1x4x4x2xf32>
  return %0, %1 : tensor<1x4x4x4xf32>, tensor<1x4x4x2xf32>
}

// Few channels are filled up for matrix units, of the input as well.
// CHECK-LABEL: func @image
// CHECK: %[[W:.*]] = prim.weight "i.taps" : tensor<8x4x5x5xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: %[[X:.*]] = prim.pad %arg0, {{.*}} -> tensor<?x9x9x4xbf16>
// CHECK: prim.conv %[[X]], %[[W]]
func.func @image(%x: tensor<?x9x9x3xbf16>) -> tensor<?x5x5x8xf32> {
  %n = prim.dim %x, 0 : tensor<?x9x9x3xbf16>
  %w = prim.weight "i" : tensor<8x3x5x5xbf16>
  %0 = prim.conv %x, %w sizes(%n) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x9x9x3xbf16>, tensor<8x3x5x5xbf16>, index) -> tensor<?x5x5x8xf32>
  return %0 : tensor<?x5x5x8xf32>
}

// Where channels are put last they are filled up to whole accesses before that, of 16 and of 8 bits, and odd ones of all groups
// together; not where they lie last already, are few and even, or where no matrix unit multiplies them.
// CHECK-LABEL: func @turned
// CHECK-DAG: %[[W:.*]] = prim.weight "t.filled1" : tensor<8x32x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK-DAG: %[[P:.*]] = prim.pad %arg0, {{.*}} -> tensor<?x32x9x9xbf16>
// CHECK-DAG: %[[X:.*]] = prim.transpose %[[P]] [0, 2, 3, 1]
// CHECK-DAG: %[[T:.*]] = prim.weight "t.taps" : tensor<8x30x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv %[[X]], %[[W]]
// CHECK: prim.conv %arg1, %[[T]]
// CHECK: prim.weight "u.filled1" : tensor<8x32x3x3xi8, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.weight "v.taps" : tensor<8x30x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.weight "e.taps" : tensor<8x20x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.weight "o.filled2" : tensor<8x32x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv {{.*}} groups = 1 : i64
func.func @turned(%x: tensor<?x30x9x9xbf16>, %z: tensor<1x9x9x30xbf16>, %i: tensor<1x30x9x9xi8>, %f: tensor<1x30x9x9xf32>, %s: tensor<1x20x9x9xbf16>) -> (tensor<?x7x7x8xf32>, tensor<1x7x7x8xf32>, tensor<1x7x7x8xi32>, tensor<1x7x7x8xf32>, tensor<1x7x7x8xf32>, tensor<?x7x7x8xf32>) {
  %n = prim.dim %x, 0 : tensor<?x30x9x9xbf16>
  %w = prim.weight "t" : tensor<8x30x3x3xbf16>
  %a = prim.transpose %x [0, 2, 3, 1] : (tensor<?x30x9x9xbf16>) -> tensor<?x9x9x30xbf16>
  %0 = prim.conv %a, %w sizes(%n) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x9x9x30xbf16>, tensor<8x30x3x3xbf16>, index) -> tensor<?x7x7x8xf32>
  %1 = prim.conv %z, %w sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x9x9x30xbf16>, tensor<8x30x3x3xbf16>) -> tensor<1x7x7x8xf32>
  %u = prim.weight "u" : tensor<8x30x3x3xi8>
  %b = prim.transpose %i [0, 2, 3, 1] : (tensor<1x30x9x9xi8>) -> tensor<1x9x9x30xi8>
  %2 = prim.conv %b, %u sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x9x9x30xi8>, tensor<8x30x3x3xi8>) -> tensor<1x7x7x8xi32>
  %v = prim.weight "v" : tensor<8x30x3x3xf32>
  %c = prim.transpose %f [0, 2, 3, 1] : (tensor<1x30x9x9xf32>) -> tensor<1x9x9x30xf32>
  %3 = prim.conv %c, %v sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x9x9x30xf32>, tensor<8x30x3x3xf32>) -> tensor<1x7x7x8xf32>
  %e = prim.weight "e" : tensor<8x20x3x3xbf16>
  %d = prim.transpose %s [0, 2, 3, 1] : (tensor<1x20x9x9xbf16>) -> tensor<1x9x9x20xbf16>
  %4 = prim.conv %d, %e sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x9x9x20xbf16>, tensor<8x20x3x3xbf16>) -> tensor<1x7x7x8xf32>
  %o = prim.weight "o" : tensor<8x15x3x3xbf16>
  %5 = prim.conv %a, %o sizes(%n) {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<?x9x9x30xbf16>, tensor<8x15x3x3xbf16>, index) -> tensor<?x7x7x8xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<?x7x7x8xf32>, tensor<1x7x7x8xf32>, tensor<1x7x7x8xi32>, tensor<1x7x7x8xf32>, tensor<1x7x7x8xf32>, tensor<?x7x7x8xf32>
}

// Groups of few channels become one of 64, or of all that there are; in 16 bits, and where no group
// is left over.
// CHECK-LABEL: func @groups
// CHECK: %[[A:.*]] = prim.weight "g.groups16" : tensor<128x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv %arg0, %[[A]] {{.*}}groups = 2 : i64
// CHECK: %[[B:.*]] = prim.weight "h.groups8" : tensor<64x32x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv %arg1, %[[B]] {{.*}}groups = 1 : i64
// CHECK: %[[C:.*]] = prim.weight "j.taps" : tensor<80x16x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv %arg2, %[[C]] {{.*}}groups = 5 : i64
// CHECK: %[[D:.*]] = prim.weight "k.taps" : tensor<32x16x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK: prim.conv %arg3, %[[D]] {{.*}}groups = 2 : i64
func.func @groups(%x: tensor<1x6x6x128xbf16>, %y: tensor<1x6x6x32xbf16>, %z: tensor<1x6x6x80xbf16>, %f: tensor<1x6x6x32xf32>) -> (tensor<1x4x4x128xbf16>, tensor<1x4x4x64xbf16>, tensor<1x4x4x80xbf16>, tensor<1x4x4x32xf32>) {
  %g = prim.weight "g" : tensor<128x8x3x3xbf16>
  %0 = prim.conv %x, %g sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 16 : i64} : (tensor<1x6x6x128xbf16>, tensor<128x8x3x3xbf16>) -> tensor<1x4x4x128xbf16>
  %h = prim.weight "h" : tensor<64x4x3x3xbf16>
  %1 = prim.conv %y, %h sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 8 : i64} : (tensor<1x6x6x32xbf16>, tensor<64x4x3x3xbf16>) -> tensor<1x4x4x64xbf16>
  %j = prim.weight "j" : tensor<80x16x3x3xbf16>
  %2 = prim.conv %z, %j sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 5 : i64} : (tensor<1x6x6x80xbf16>, tensor<80x16x3x3xbf16>) -> tensor<1x4x4x80xbf16>
  %k = prim.weight "k" : tensor<32x16x3x3xf32>
  %3 = prim.conv %f, %k sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x6x6x32xf32>, tensor<32x16x3x3xf32>) -> tensor<1x4x4x32xf32>
  return %0, %1, %2, %3 : tensor<1x4x4x128xbf16>, tensor<1x4x4x64xbf16>, tensor<1x4x4x80xbf16>, tensor<1x4x4x32xf32>
}

// Where a window steps over two or four pixels of rows of as many, they are one: a tap of zeros before the seven, one
// after the three, none for four of four. Rows of odd length and long steps stay pixels of four channels.
// CHECK-LABEL: func @joined_pixels
// CHECK-DAG: prim.weight "s.pixels2.1" : tensor<8x8x7x4xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK-DAG: prim.weight "t.pixels2.0" : tensor<8x8x3x2xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK-DAG: prim.weight "q.pixels4.0" : tensor<8x16x4x1xbf16, #prim.axis_order<[0, 2, 3, 1]>>
// CHECK-DAG: prim.reshape {{.*}} -> tensor<?x16x8x8xbf16>
// CHECK-DAG: prim.conv {{.*}}high = array<i64: 3, 1>, {{.*}}low = array<i64: 3, 2>, strides = array<i64: 2, 1>} : (tensor<?x16x8x8xbf16>, {{.*}} -> tensor<?x8x8x8xf32>
// CHECK-DAG: prim.conv {{.*}}high = array<i64: 0, 0>, {{.*}}low = array<i64: 0, 0>, strides = array<i64: 2, 1>} : (tensor<?x16x8x8xbf16>, {{.*}} -> tensor<?x7x7x8xf32>
// CHECK-DAG: prim.conv {{.*}}high = array<i64: 0, 0>, {{.*}}low = array<i64: 0, 0>, strides = array<i64: 2, 1>} : (tensor<?x16x4x16xbf16>, {{.*}} -> tensor<?x7x4x8xf32>
// CHECK-DAG: prim.conv {{.*}} : (tensor<1x16x15x4xbf16>, {{.*}} -> tensor<1x7x7x8xf32>
func.func @joined_pixels(%x: tensor<?x16x16x3xbf16>, %y: tensor<1x16x15x3xbf16>) -> (tensor<?x8x8x8xf32>, tensor<?x7x7x8xf32>, tensor<?x7x4x8xf32>, tensor<1x7x7x8xf32>) {
  %n = prim.dim %x, 0 : tensor<?x16x16x3xbf16>
  %s = prim.weight "s" : tensor<8x3x7x7xbf16>
  %0 = prim.conv %x, %s sizes(%n) {channels_last = true, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>, groups = 1 : i64} : (tensor<?x16x16x3xbf16>, tensor<8x3x7x7xbf16>, index) -> tensor<?x8x8x8xf32>
  %t = prim.weight "t" : tensor<8x3x3x3xbf16>
  %1 = prim.conv %x, %t sizes(%n) {channels_last = true, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x16x16x3xbf16>, tensor<8x3x3x3xbf16>, index) -> tensor<?x7x7x8xf32>
  %q = prim.weight "q" : tensor<8x3x4x4xbf16>
  %2 = prim.conv %x, %q sizes(%n) {channels_last = true, strides = array<i64: 2, 4>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x16x16x3xbf16>, tensor<8x3x4x4xbf16>, index) -> tensor<?x7x4x8xf32>
  %3 = prim.conv %y, %t sizes() {channels_last = true, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x16x15x3xbf16>, tensor<8x3x3x3xbf16>) -> tensor<1x7x7x8xf32>
  return %0, %1, %2, %3 : tensor<?x8x8x8xf32>, tensor<?x7x7x8xf32>, tensor<?x7x4x8xf32>, tensor<1x7x7x8xf32>
}

// What no matrix unit takes stays, as do weights that come at run time and channels that lie
// second.
// CHECK-LABEL: func @stays
// CHECK: prim.dot {{.*}} contract [1] x [0]
// CHECK: prim.dot {{.*}} contract [1] x [0]
// CHECK: prim.conv
// CHECK-NOT: axis_order
func.func @stays(%x: tensor<40x8xf32>, %y: tensor<4x8xbf16>, %r: tensor<8x4xbf16>, %s: tensor<1x2x4x4xf32>) -> (tensor<40x4xf32>, tensor<4x4xf32>, tensor<1x2x4x4xf32>) {
  %a = prim.weight "d" : tensor<8x4xf32>
  %0 = prim.dot %x, %a batch [] x [] contract [1] x [0] : (tensor<40x8xf32>, tensor<8x4xf32>) -> tensor<40x4xf32>
  %1 = prim.dot %y, %r batch [] x [] contract [1] x [0] : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf32>
  %w = prim.weight "f" : tensor<2x2x1x1xf32>
  %2 = prim.conv %s, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %0, %1, %2 : tensor<40x4xf32>, tensor<4x4xf32>, tensor<1x2x4x4xf32>
}

// Windows that do not overlap are patches, of as many images as there are; not where the image does not divide.
// CHECK-LABEL: func @patches
// CHECK: %[[W:.*]] = prim.weight "patch.patches" : tensor<8x48xbf16>
// CHECK: %[[C:.*]] = prim.reshape %arg0 {{.*}} -> tensor<?x3x4x2x4x3xbf16>
// CHECK: %[[T:.*]] = prim.transpose %[[C]] [0, 1, 3, 5, 2, 4] : {{.*}} -> tensor<?x3x2x3x4x4xbf16>
// CHECK: %[[R:.*]] = prim.reshape %[[T]] {{.*}} -> tensor<?x3x2x48xbf16>
// CHECK: prim.dot %[[R]], %[[W]] batch [] x [] contract [3] x [1] : {{.*}} -> tensor<?x3x2x8xf32>
// CHECK: prim.conv
// CHECK: %[[P:.*]] = prim.reshape %arg2 {{.*}} -> tensor<1x3x3x4x2x4xbf16>
// CHECK: prim.transpose %[[P]] [0, 2, 4, 1, 3, 5] : {{.*}} -> tensor<1x3x2x3x4x4xbf16>
func.func @patches(%x: tensor<?x12x8x3xbf16>, %y: tensor<1x13x8x3xbf16>, %z: tensor<1x3x12x8xbf16>) -> (tensor<?x3x2x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>) {
  %n = prim.dim %x, 0 : tensor<?x12x8x3xbf16>
  %w = prim.weight "patch" : tensor<8x3x4x4xbf16>
  %0 = prim.conv %x, %w sizes(%n) {channels_last = true, strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x12x8x3xbf16>, tensor<8x3x4x4xbf16>, index) -> tensor<?x3x2x8xf32>
  %1 = prim.conv %y, %w sizes() {channels_last = true, strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x13x8x3xbf16>, tensor<8x3x4x4xbf16>) -> tensor<1x3x2x8xf32>
  %2 = prim.transpose %z [0, 2, 3, 1] : (tensor<1x3x12x8xbf16>) -> tensor<1x12x8x3xbf16>
  %3 = prim.conv %2, %w sizes() {channels_last = true, strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x12x8x3xbf16>, tensor<8x3x4x4xbf16>) -> tensor<1x3x2x8xf32>
  return %0, %1, %3 : tensor<?x3x2x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>
}
