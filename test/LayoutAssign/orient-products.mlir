// RUN: tcc-opt %s -tcc-layout-orient-products | FileCheck %s

// Points of planes: through what computes points of them too; each image by the same weights.
// CHECK-LABEL: func @planes
// CHECK: %[[W:.*]] = prim.broadcast %{{.*}} axes [1, 2] {{.*}} : (tensor<6x8xf32>) -> tensor<3x6x8xf32>
// CHECK: prim.dot %[[W]], %{{.*}} batch [0] x [0] contract [2] x [1] : (tensor<3x6x8xf32>, tensor<3x8x100xf32>) -> tensor<3x6x100xf32>
// CHECK: prim.maximum
// CHECK: prim.dot %{{.*}} batch [0] x [0] contract [2] x [1] : (tensor<3x2x6xf32>, tensor<3x6x100xf32>) -> tensor<3x2x100xf32>
// CHECK: prim.broadcast %{{.*}} axes [1] sizes() : (tensor<2xf32>) -> tensor<3x2x100xf32>
// CHECK: prim.add {{.*}} -> tensor<3x2x100xf32>
// CHECK: prim.logistic {{.*}} -> tensor<3x2x100xf32>
// CHECK: prim.reshape {{.*}} -> tensor<3x2x10x10xf32>
func.func @planes(%x: tensor<3x8x10x10xf32>, %w: tensor<6x8x1x1xf32>, %z: tensor<3x6x10x10xf32>, %v: tensor<2x6x1x1xf32>, %b: tensor<2x1x1xf32>) -> tensor<3x2x10x10xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<3x8x10x10xf32>, tensor<6x8x1x1xf32>) -> tensor<3x6x10x10xf32>
  %1 = prim.maximum %0, %z : (tensor<3x6x10x10xf32>, tensor<3x6x10x10xf32>) -> tensor<3x6x10x10xf32>
  %2 = prim.conv %1, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<3x6x10x10xf32>, tensor<2x6x1x1xf32>) -> tensor<3x2x10x10xf32>
  %3 = prim.broadcast %b axes [1, 2, 3] sizes() : (tensor<2x1x1xf32>) -> tensor<3x2x10x10xf32>
  %4 = prim.add %2, %3 : (tensor<3x2x10x10xf32>, tensor<3x2x10x10xf32>) -> tensor<3x2x10x10xf32>
  %5 = prim.logistic %4 : (tensor<3x2x10x10xf32>) -> tensor<3x2x10x10xf32>
  return %5 : tensor<3x2x10x10xf32>
}

// Every second point; groups, which are a batch beside the images. A filter for each channel stays.
// CHECK-LABEL: func @strides_and_groups
// CHECK: %[[P:.*]] = prim.slice %arg0 starts [0, 0, 0, 0]() steps [1, 1, 2, 3] {{.*}} -> tensor<1x8x5x4xf32>
// CHECK: %[[X:.*]] = prim.reshape %[[P]] {{.*}} -> tensor<8x20xf32>
// CHECK: prim.dot %{{.*}}, %[[X]] batch [] x [] contract [1] x [0] : (tensor<6x8xf32>, tensor<8x20xf32>) -> tensor<6x20xf32>
// CHECK: %[[V:.*]] = prim.reshape %arg3 {{.*}} -> tensor<2x3x4xf32>
// CHECK: %[[W:.*]] = prim.broadcast %[[V]] axes [1, 2, 3] {{.*}} -> tensor<3x2x3x4xf32>
// CHECK: %[[D:.*]] = prim.dot %[[W]], %{{.*}} batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<3x2x3x4xf32>, tensor<3x2x4x100xf32>) -> tensor<3x2x3x100xf32>
// CHECK: %[[F:.*]] = prim.reshape %[[D]] {{.*}} -> tensor<3x6x100xf32>
// CHECK: prim.logistic %[[F]]
// CHECK: prim.conv
func.func @strides_and_groups(%x: tensor<1x8x10x10xf32>, %y: tensor<3x8x10x10xf32>, %w: tensor<6x8x1x1xf32>, %v: tensor<6x4x1x1xf32>, %d: tensor<8x1x1x1xf32>, %z: tensor<3x8x10x10xf32>)
    -> (tensor<1x6x5x4xf32>, tensor<3x6x10x10xf32>, tensor<3x8x10x10xf32>) {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 2, 3>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x10x10xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x5x4xf32>
  %1 = prim.conv %y, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 2 : i64} : (tensor<3x8x10x10xf32>, tensor<6x4x1x1xf32>) -> tensor<3x6x10x10xf32>
  %2 = prim.logistic %1 : (tensor<3x6x10x10xf32>) -> tensor<3x6x10x10xf32>
  %3 = prim.conv %z, %d sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 8 : i64} : (tensor<3x8x10x10xf32>, tensor<8x1x1x1xf32>) -> tensor<3x8x10x10xf32>
  return %0, %2, %3 : tensor<1x6x5x4xf32>, tensor<3x6x10x10xf32>, tensor<3x8x10x10xf32>
}

// Open images are a batch too; open pixels are counted from their extents, and the others follow a stride. What computes points
// afterwards takes the product's shape.
// CHECK-LABEL: func @open
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[HH:[a-z0-9]+]]: index, %[[WW:[a-z0-9]+]]: index
// CHECK: %[[W:.*]] = prim.broadcast %{{.*}} axes [1, 2] sizes(%[[N]]) : (tensor<6x8xf32>) -> tensor<?x6x8xf32>
// CHECK: %[[X:.*]] = prim.reshape %arg0 sizes(%[[N]]) : (tensor<?x8x10x10xf32>) -> tensor<?x8x100xf32>
// CHECK: prim.dot %[[W]], %[[X]] batch [0] x [0] contract [2] x [1] : (tensor<?x6x8xf32>, tensor<?x8x100xf32>) -> tensor<?x6x100xf32>
// CHECK: %[[P:.*]] = arith.muli %[[HH]], %[[WW]] : index
// CHECK: %[[S:.*]] = prim.slice %arg1 {{.*}} steps [1, 1, 2, 2] sizes(%[[HH]], %[[WW]]) : {{.*}} -> tensor<1x8x?x?xf32>
// CHECK: %[[Y:.*]] = prim.reshape %[[S]] sizes(%[[P]]) : (tensor<1x8x?x?xf32>) -> tensor<8x?xf32>
// CHECK: %[[D:.*]] = prim.dot %{{.*}}, %[[Y]] batch [] x [] contract [1] x [0] : (tensor<6x8xf32>, tensor<8x?xf32>) -> tensor<6x?xf32>
// CHECK: %[[L:.*]] = prim.logistic %[[D]] : (tensor<6x?xf32>) -> tensor<6x?xf32>
// CHECK: prim.reshape %[[L]] sizes(%[[HH]], %[[WW]]) : (tensor<6x?xf32>) -> tensor<1x6x?x?xf32>
func.func @open(%x: tensor<?x8x10x10xf32>, %y: tensor<1x8x?x?xf32>, %w: tensor<6x8x1x1xf32>, %n: index, %h: index, %v: index) -> (tensor<?x6x10x10xf32>, tensor<1x6x?x?xf32>) {
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x8x10x10xf32>, tensor<6x8x1x1xf32>, index) -> tensor<?x6x10x10xf32>
  %1 = prim.conv %y, %w sizes(%h, %v) {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x?x?xf32>, tensor<6x8x1x1xf32>, index, index) -> tensor<1x6x?x?xf32>
  %2 = prim.logistic %1 : (tensor<1x6x?x?xf32>) -> tensor<1x6x?x?xf32>
  return %0, %2 : tensor<?x6x10x10xf32>, tensor<1x6x?x?xf32>
}

// Beside a convolution of 3 by 3 of the same input; of few pixels, also of an open number of images.
// CHECK-LABEL: func @convolutions
// CHECK-COUNT-4: prim.conv
// CHECK-NOT: prim.dot
func.func @convolutions(%x: tensor<1x8x10x10xf32>, %w: tensor<6x8x1x1xf32>, %v: tensor<6x8x3x3xf32>, %o: tensor<?x8x2x2xf32>, %n: index, %f: tensor<1x8x2x2xf32>)
    -> (tensor<1x6x10x10xf32>, tensor<1x6x8x8xf32>, tensor<?x6x2x2xf32>, tensor<1x6x2x2xf32>) {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x10x10xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x10x10xf32>
  %1 = prim.conv %x, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x10x10xf32>, tensor<6x8x3x3xf32>) -> tensor<1x6x8x8xf32>
  %2 = prim.conv %o, %w sizes(%n) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x8x2x2xf32>, tensor<6x8x1x1xf32>, index) -> tensor<?x6x2x2xf32>
  %3 = prim.conv %f, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x2x2xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x2x2xf32>
  return %0, %1, %2, %3 : tensor<1x6x10x10xf32>, tensor<1x6x8x8xf32>, tensor<?x6x2x2xf32>, tensor<1x6x2x2xf32>
}

// A column by a matrix that lies across, also of a batch.
// CHECK-LABEL: func @columns
// CHECK: prim.dot %arg1, %arg0 batch [] x [] contract [0] x [0] : (tensor<128x1xf32>, tensor<128x64xf32>) -> tensor<1x64xf32>
// CHECK: prim.dot %arg3, %arg2 batch [0] x [1] contract [1] x [0] : (tensor<3x128xf32>, tensor<128x3x64xf32>) -> tensor<3x64xf32>
// CHECK: prim.dot %arg4, %arg1 batch [] x [] contract [1] x [0]
func.func @columns(%x: tensor<128x64xf32>, %v: tensor<128x1xf32>, %y: tensor<128x3x64xf32>, %u: tensor<3x128xf32>, %along: tensor<64x128xf32>)
    -> (tensor<64x1xf32>, tensor<3x64xf32>, tensor<64x1xf32>) {
  %0 = prim.dot %x, %v batch [] x [] contract [0] x [0] : (tensor<128x64xf32>, tensor<128x1xf32>) -> tensor<64x1xf32>
  %1 = prim.dot %y, %u batch [1] x [0] contract [0] x [1] : (tensor<128x3x64xf32>, tensor<3x128xf32>) -> tensor<3x64xf32>
  %2 = prim.dot %along, %v batch [] x [] contract [1] x [0] : (tensor<64x128xf32>, tensor<128x1xf32>) -> tensor<64x1xf32>
  return %0, %1, %2 : tensor<64x1xf32>, tensor<3x64xf32>, tensor<64x1xf32>
}

// Columns before what is summed and behind it; too few behind it are copied beside the others.
// CHECK-LABEL: func @split
// CHECK: %[[X:.*]] = prim.broadcast %arg0 axes [2, 3] {{.*}} -> tensor<5x7x33x10xf32>
// CHECK: %[[D:.*]] = prim.dot %[[X]], %arg1 batch [0, 1] x [0, 1] contract [3] x [2] : {{.*}} -> tensor<5x7x33x16xf32>
// CHECK: prim.transpose %[[D]] [2, 0, 1, 3] : {{.*}} -> tensor<33x5x7x16xf32>
// CHECK: prim.dot %arg0, %{{.*}} : (tensor<33x10xf32>, tensor<10x20xf32>) -> tensor<33x20xf32>
func.func @split(%x: tensor<33x10xf32>, %y: tensor<5x7x10x16xf32>, %z: tensor<5x10x4xf32>) -> (tensor<33x5x7x16xf32>, tensor<33x5x4xf32>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [2] : (tensor<33x10xf32>, tensor<5x7x10x16xf32>) -> tensor<33x5x7x16xf32>
  %1 = prim.dot %x, %z batch [] x [] contract [1] x [1] : (tensor<33x10xf32>, tensor<5x10x4xf32>) -> tensor<33x5x4xf32>
  return %0, %1 : tensor<33x5x7x16xf32>, tensor<33x5x4xf32>
}

// Rows before what is summed and behind it are columns; those of several axes are one.
// CHECK-LABEL: func @split_rows
// CHECK: %[[X:.*]] = prim.broadcast %arg1 axes [1, 2] {{.*}} -> tensor<3x100x31xf32>
// CHECK: %[[Y:.*]] = prim.reshape %arg0 {{.*}} -> tensor<3x31x784xf32>
// CHECK: %[[D:.*]] = prim.dot %[[X]], %[[Y]] batch [0] x [0] contract [2] x [1] : {{.*}} -> tensor<3x100x784xf32>
// CHECK: prim.reshape %[[D]] {{.*}} -> tensor<3x100x28x28xf32>
func.func @split_rows(%x: tensor<3x31x28x28xf32>, %y: tensor<100x31xf32>) -> tensor<3x28x28x100xf32> {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [1] : (tensor<3x31x28x28xf32>, tensor<100x31xf32>) -> tensor<3x28x28x100xf32>
  return %0 : tensor<3x28x28x100xf32>
}

// Two filters of three taps are six of one point, whose planes are padded, fewer than the channels, shifted and added up.
// As many filters as lanes, and few channels, stay.
// CHECK-LABEL: func @few_filters
// CHECK: %[[W:.*]] = prim.transpose %arg1 [2, 0, 1] : (tensor<2x8x3xf32>) -> tensor<3x2x8xf32>
// CHECK: prim.dot %{{.*}} : (tensor<6x8xf32>, tensor<8x32xf32>) -> tensor<6x32xf32>
// CHECK: prim.pad %{{.*}} -> tensor<1x6x34xf32>
// CHECK: prim.slice %{{.*}} starts [0, 0, 0]() steps [1, 1, 1] {{.*}} -> tensor<1x2x32xf32>
// CHECK: prim.slice %{{.*}} starts [0, 2, 1]() steps [1, 1, 1] {{.*}} -> tensor<1x2x32xf32>
// CHECK: prim.add
// CHECK: prim.slice %{{.*}} starts [0, 4, 2]() steps [1, 1, 1] {{.*}} -> tensor<1x2x32xf32>
// CHECK: prim.add
// CHECK: prim.conv
// CHECK: prim.conv
// CHECK-NOT: prim.conv
// CHECK: return
func.func @few_filters(%x: tensor<1x8x32xf32>, %w: tensor<2x8x3xf32>, %many: tensor<16x8x3xf32>, %y: tensor<1x7x32xf32>, %v: tensor<2x7x3xf32>) -> (tensor<1x2x32xf32>, tensor<1x16x32xf32>, tensor<1x2x32xf32>) {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x8x32xf32>, tensor<2x8x3xf32>) -> tensor<1x2x32xf32>
  %1 = prim.conv %y, %v sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x7x32xf32>, tensor<2x7x3xf32>) -> tensor<1x2x32xf32>
  %c = prim.constant dense<[[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]]> : tensor<1x1x8xf32>
  %d = prim.transpose %c [0, 2, 1] : (tensor<1x1x8xf32>) -> tensor<1x8x1xf32>
  %e = prim.broadcast %d axes [0, 1, 2] sizes() : (tensor<1x8x1xf32>) -> tensor<1x8x32xf32>
  %2 = prim.conv %e, %many sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x8x32xf32>, tensor<16x8x3xf32>) -> tensor<1x16x32xf32>
  return %0, %2, %1 : tensor<1x2x32xf32>, tensor<1x16x32xf32>, tensor<1x2x32xf32>
}

// The same of open lines, of an open number of images: planes are as long as the line, and two longer with their zeros.
// CHECK-LABEL: func @open_filters
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[L:[a-z0-9]+]]: index
// CHECK: prim.dot %{{.*}} : (tensor<?x6x8xf32>, tensor<?x8x?xf32>) -> tensor<?x6x?xf32>
// CHECK: %[[WIDE:.*]] = arith.addi %{{.*}}, %c2 : index
// CHECK: %[[P:.*]] = prim.pad %{{.*}} low [0, 0, 1]() interior [0, 0, 0] sizes(%{{.*}}, %[[WIDE]]) {{.*}} -> tensor<?x6x?xf32>
// CHECK: prim.slice %[[P]] starts [0, 0, 0]() steps [1, 1, 1] sizes(%[[N]], %[[L]]) {{.*}} -> tensor<?x2x?xf32>
// CHECK: prim.slice %[[P]] starts [0, 4, 2]() steps [1, 1, 1] sizes(%[[N]], %[[L]]) {{.*}} -> tensor<?x2x?xf32>
// CHECK: prim.add
// CHECK-NOT: prim.conv
// CHECK: return
func.func @open_filters(%x: tensor<?x8x?xf32>, %w: tensor<2x8x3xf32>, %n: index, %l: index) -> tensor<?x2x?xf32> {
  %0 = prim.conv %x, %w sizes(%n, %l) {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<?x8x?xf32>, tensor<2x8x3xf32>, index, index) -> tensor<?x2x?xf32>
  return %0 : tensor<?x2x?xf32>
}

// Of an open number of known images it stays a convolution.
// CHECK-LABEL: func @open_number
// CHECK: prim.conv
// CHECK-NOT: prim.dot
func.func @open_number(%x: tensor<?x8x32xf32>, %w: tensor<2x8x3xf32>, %n: index) -> tensor<?x2x32xf32> {
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<?x8x32xf32>, tensor<2x8x3xf32>, index) -> tensor<?x2x32xf32>
  return %0 : tensor<?x2x32xf32>
}

// Twelve planes of eight channels: the image is padded.
// CHECK-LABEL: func @more_planes
// CHECK: prim.pad %arg0, {{.*}} -> tensor<1x8x34xf32>
// CHECK: prim.dot %{{.*}} : (tensor<12x8xf32>, tensor<8x34xf32>) -> tensor<12x34xf32>
// CHECK-NOT: prim.pad
// CHECK: return
func.func @more_planes(%x: tensor<1x8x32xf32>, %w: tensor<4x8x3xf32>) -> tensor<1x4x32xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x8x32xf32>, tensor<4x8x3xf32>) -> tensor<1x4x32xf32>
  return %0 : tensor<1x4x32xf32>
}

// Five filters leave lanes of any vector of filters empty, and 64 channels outweigh the sums of planes.
// CHECK-LABEL: func @lanes_left
// CHECK: prim.dot %{{.*}} : (tensor<15x64xf32>, tensor<64x80xf32>) -> tensor<15x80xf32>
// CHECK: prim.pad %{{.*}} -> tensor<1x15x82xf32>
// CHECK: prim.slice %{{.*}} starts [0, 10, 2]() steps [1, 1, 1] {{.*}} -> tensor<1x5x80xf32>
func.func @lanes_left(%x: tensor<1x64x80xf32>, %w: tensor<5x64x3xf32>) -> tensor<1x5x80xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x64x80xf32>, tensor<5x64x3xf32>) -> tensor<1x5x80xf32>
  return %0 : tensor<1x5x80xf32>
}

// Five filters of a group fill a part of a vector: pixels are the lanes. Of 64 filters none is empty.
// CHECK-LABEL: func @pixels_are_lanes
// CHECK: prim.conv %arg0, %arg2 {{.*}}cpu.in_planes
// CHECK: prim.conv
// CHECK-NOT: cpu.in_planes
// CHECK: return
func.func @pixels_are_lanes(%x: tensor<1x32x40x40xf32>, %t: tensor<1x32x40x40xf32>, %w: tensor<10x16x3x3xf32>, %v: tensor<64x32x3x3xf32>) -> (tensor<1x10x40x40xf32>, tensor<1x64x40x40xf32>) {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<1x32x40x40xf32>, tensor<10x16x3x3xf32>) -> tensor<1x10x40x40xf32>
  %1 = prim.conv %t, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x32x40x40xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x40x40xf32>
  return %0, %1 : tensor<1x10x40x40xf32>, tensor<1x64x40x40xf32>
}

// Lines that a filter of one point passes over are not turned with the others; those of what a convolution gives may lie
// channels last already.
// CHECK-LABEL: func @lines_left_out
// CHECK: %[[L:.*]] = prim.slice %arg0 starts [0, 0, 0, 0]() steps [1, 1, 3, 1] {{.*}} -> tensor<?x64x2x6xf32>
// CHECK: %[[C:.*]] = prim.conv %[[L]], {{.*}}strides = array<i64: 1, 3>
// CHECK: prim.conv %[[C]], {{.*}}strides = array<i64: 2, 2>
func.func @lines_left_out(%x: tensor<?x64x6x6xf32>, %w: tensor<64x64x1x1xf32>, %v: tensor<64x64x1x1xf32>, %n: index) -> tensor<?x64x1x1xf32> {
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x64x6x6xf32>, tensor<64x64x1x1xf32>, index) -> tensor<?x64x2x2xf32>
  %1 = prim.conv %0, %v sizes(%n) {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x64x2x2xf32>, tensor<64x64x1x1xf32>, index) -> tensor<?x64x1x1xf32>
  return %1 : tensor<?x64x1x1xf32>
}

// bf16 of groups of few channels, which pairs are no help for, is multiplied in planes of f32.
// CHECK-LABEL: func @narrow_groups
// CHECK: %[[X:.*]] = prim.cast %arg0 : (tensor<?x4x112x17xbf16>) -> tensor<?x4x112x17xf32>
// CHECK: %[[W:.*]] = prim.cast %arg1 : (tensor<48x1x13x13xbf16>) -> tensor<48x1x13x13xf32>
// CHECK: prim.conv %[[X]], %[[W]] {{.*}}cpu.in_planes
func.func @narrow_groups(%x: tensor<?x4x112x17xbf16>, %w: tensor<48x1x13x13xbf16>, %n: index) -> tensor<?x48x100x17xf32> {
  %0 = prim.conv %x, %w sizes(%n) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 6>, high = array<i64: 0, 6>, groups = 4 : i64} : (tensor<?x4x112x17xbf16>, tensor<48x1x13x13xbf16>, index) -> tensor<?x48x100x17xf32>
  return %0 : tensor<?x48x100x17xf32>
}

// Terms that lie on both sides of the rows are copied beside each other; so are few columns on both sides of what is summed. Terms
// that one stride leads along stay where they are, and so do those of which the axes between have one point.
// CHECK-LABEL: func @gathered_axes
// CHECK: %[[T:.*]] = prim.transpose %arg0 [1, 0, 2] : (tensor<5x6x7xf32>) -> tensor<6x5x7xf32>
// CHECK: %[[L:.*]] = prim.reshape %[[T]] sizes() : (tensor<6x5x7xf32>) -> tensor<6x35xf32>
// CHECK: %[[R:.*]] = prim.reshape %arg1 sizes() : (tensor<5x7x9xf32>) -> tensor<35x9xf32>
// CHECK: prim.dot %[[L]], %[[R]] batch [] x [] contract [1] x [0] : (tensor<6x35xf32>, tensor<35x9xf32>) -> tensor<6x9xf32>
// CHECK: %[[C:.*]] = prim.transpose %arg2 [1, 0, 2] : (tensor<4x7x2xf32>) -> tensor<7x4x2xf32>
// CHECK: %[[M:.*]] = prim.reshape %[[C]] sizes() : (tensor<7x4x2xf32>) -> tensor<7x8xf32>
// CHECK: prim.dot %{{.*}}, %[[M]] batch [] x [] contract [1] x [0] : (tensor<30x7xf32>, tensor<7x8xf32>) -> tensor<30x8xf32>
// CHECK: prim.dot %arg3, %arg1 batch [] x [] contract [1, 2] x [0, 1]
// CHECK: prim.dot %arg4, %arg1 batch [] x [] contract [0, 2] x [0, 1]
func.func @gathered_axes(%x: tensor<5x6x7xf32>, %w: tensor<5x7x9xf32>, %c: tensor<4x7x2xf32>, %y: tensor<6x5x7xf32>, %one: tensor<5x1x7xf32>) -> (tensor<6x9xf32>, tensor<5x6x4x2xf32>, tensor<6x9xf32>, tensor<1x9xf32>) {
  %0 = prim.dot %x, %w batch [] x [] contract [0, 2] x [0, 1] : (tensor<5x6x7xf32>, tensor<5x7x9xf32>) -> tensor<6x9xf32>
  %1 = prim.dot %x, %c batch [] x [] contract [2] x [1] : (tensor<5x6x7xf32>, tensor<4x7x2xf32>) -> tensor<5x6x4x2xf32>
  %2 = prim.dot %y, %w batch [] x [] contract [1, 2] x [0, 1] : (tensor<6x5x7xf32>, tensor<5x7x9xf32>) -> tensor<6x9xf32>
  %3 = prim.dot %one, %w batch [] x [] contract [0, 2] x [0, 1] : (tensor<5x1x7xf32>, tensor<5x7x9xf32>) -> tensor<1x9xf32>
  return %0, %1, %2, %3 : tensor<6x9xf32>, tensor<5x6x4x2xf32>, tensor<6x9xf32>, tensor<1x9xf32>
}

// Nothing multiplies bf16 or f16 there: they are widened once, filters too, and a filter of one point is weights by pixels then.
// CHECK-LABEL: func @narrow
// CHECK-DAG: prim.cast %arg0 : (tensor<1x8x10x10xbf16>) -> tensor<1x8x10x10xf32>
// CHECK-DAG: prim.cast %{{.*}} : (tensor<64x8x3x3xbf16>) -> tensor<64x8x3x3xf32>
// CHECK: prim.conv {{.*}} : (tensor<1x8x10x10xf32>, tensor<64x8x3x3xf32>) -> tensor<1x64x10x10xf32>
// CHECK: prim.dot {{.*}} : (tensor<2x8xf32>, tensor<8x100xf32>) -> tensor<2x100xf32>
// CHECK: prim.cast {{.*}}f32>) -> tensor<{{.*}}xf16>
func.func @narrow(%x: tensor<1x8x10x10xbf16>, %y: tensor<1x8x10x10xf16>) -> (tensor<1x64x10x10xf32>, tensor<1x2x10x10xf16>) {
  %w = prim.weight "narrow.w" : tensor<64x8x3x3xbf16>
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x10x10xbf16>, tensor<64x8x3x3xbf16>) -> tensor<1x64x10x10xf32>
  %u = prim.weight "narrow.u" : tensor<2x8x1x1xf16>
  %1 = prim.conv %y, %u sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x10x10xf16>, tensor<2x8x1x1xf16>) -> tensor<1x2x10x10xf16>
  return %0, %1 : tensor<1x64x10x10xf32>, tensor<1x2x10x10xf16>
}

// Of few pixels reading the filters is the most, which wide ones are more of; operands of two types stay.
// CHECK-LABEL: func @few_pixels
// CHECK-NOT: prim.cast
// CHECK: return
func.func @few_pixels(%x: tensor<1x8x5x5xbf16>, %y: tensor<1x8x10x10xf32>) -> (tensor<1x64x5x5xf32>, tensor<1x64x10x10xf32>) {
  %w = prim.weight "few.w" : tensor<64x8x3x3xbf16>
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x5x5xbf16>, tensor<64x8x3x3xbf16>) -> tensor<1x64x5x5xf32>
  %1 = prim.conv %y, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x10x10xf32>, tensor<64x8x3x3xbf16>) -> tensor<1x64x10x10xf32>
  return %0, %1 : tensor<1x64x5x5xf32>, tensor<1x64x10x10xf32>
}

// What is summed is in the order of the operand that would take more to copy.
// CHECK-LABEL: func @fewer_copied
// CHECK: %[[SMALL:.*]] = prim.transpose %arg1 [1, 0] : (tensor<7x5xf32>) -> tensor<5x7xf32>
// CHECK: prim.transpose %arg2 [0, 2, 1] : (tensor<3x5x7xf32>) -> tensor<3x7x5xf32>
// CHECK-NOT: prim.transpose
// CHECK: return
func.func @fewer_copied(%x: tensor<6x5x7xf32>, %y: tensor<7x5xf32>, %few: tensor<3x5x7xf32>, %z: tensor<7x5x9xf32>) -> (tensor<6xf32>, tensor<3x9xf32>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1, 2] x [1, 0] : (tensor<6x5x7xf32>, tensor<7x5xf32>) -> tensor<6xf32>
  %1 = prim.dot %few, %z batch [] x [] contract [2, 1] x [0, 1] : (tensor<3x5x7xf32>, tensor<7x5x9xf32>) -> tensor<3x9xf32>
  return %0, %1 : tensor<6xf32>, tensor<3x9xf32>
}
