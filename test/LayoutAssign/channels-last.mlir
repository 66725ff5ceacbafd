// RUN: tcc-opt %s -tcc-layout-channels-last | FileCheck %s

// Between convolutions nothing is transposed: bias, activation and pooling follow.
// CHECK-LABEL: func @chain
// CHECK: %[[X:.*]] = prim.transpose %arg0 [0, 2, 3, 1]
// CHECK: %[[C:.*]] = prim.conv %[[X]], %arg1 {{.*}}channels_last
// CHECK: %[[B:.*]] = prim.broadcast %arg2 axes [3]
// CHECK: %[[S:.*]] = prim.add %[[C]], %[[B]] : {{.*}} -> tensor<1x8x8x4xf32>
// CHECK: %[[P:.*]] = prim.pool {{.*}}channels_last
// CHECK-NOT: prim.transpose
// CHECK: %[[D:.*]] = prim.conv %[[P]], %arg3 {{.*}}channels_last
// CHECK: %[[Y:.*]] = prim.transpose %[[D]] [0, 3, 1, 2]
// CHECK: return %[[Y]]
func.func @chain(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %v: tensor<6x4x1x1xf32>) -> tensor<1x6x4x4xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = prim.broadcast %b axes [1] sizes() : (tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %2 = prim.add %0, %1 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = prim.pool max %2 sizes() {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  %4 = prim.conv %3, %v sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x4x4xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x4x4xf32>
  return %4 : tensor<1x6x4x4xf32>
}

// What a rule knows of a convolution's filters stays known.
// CHECK-LABEL: func @present_taps
// CHECK: prim.conv {{.*}}channels_last = true{{.*}}prim.present_taps = array<i64: 1, 3>
func.func @present_taps(%x: tensor<1x3x8xf32>, %w: tensor<4x3x2xf32>) -> tensor<1x4x7xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64, prim.present_taps = array<i64: 1, 3>} : (tensor<1x3x8xf32>, tensor<4x3x2xf32>) -> tensor<1x4x7xf32>
  return %0 : tensor<1x4x7xf32>
}

// A reshape across channels cannot follow: it reads the transpose back.
// CHECK-LABEL: func @flattened
// CHECK: %[[C:.*]] = prim.conv
// CHECK: %[[T:.*]] = prim.transpose %[[C]] [0, 3, 1, 2]
// CHECK: prim.reshape %[[T]]
func.func @flattened(%x: tensor<1x3x4x4xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x64xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x3x4x4xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x4x4xf32>
  %1 = prim.reshape %0 sizes() : (tensor<1x4x4x4xf32>) -> tensor<1x64xf32>
  return %1 : tensor<1x64xf32>
}

// Transposed convolutions (input dilation) have no channels-last kernel and stay.
// CHECK-LABEL: func @transposed_convolution
// CHECK-NEXT: prim.conv %arg0, %arg1
// CHECK-NOT: prim.transpose
func.func @transposed_convolution(%x: tensor<1x3x4x4xf32>, %w: tensor<4x3x2x2xf32>) -> tensor<1x4x8x8xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x4x4xf32>, tensor<4x3x2x2xf32>) -> tensor<1x4x8x8xf32>
  return %0 : tensor<1x4x8x8xf32>
}

// Without a convolution nothing is asked for.
// CHECK-LABEL: func @none
// CHECK-NEXT: prim.add
func.func @none(%x: tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %0 = prim.add %x, %x : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// A scale of channels that comes with unit axes behind them: no transpose stands between the convolution and it.
// CHECK-LABEL: func @scaled
// CHECK: %[[C:.*]] = prim.conv
// CHECK: %[[V:.*]] = prim.reshape %arg2 sizes() : (tensor<4x1x1xf32>) -> tensor<4xf32>
// CHECK: %[[B:.*]] = prim.broadcast %[[V]] axes [3] sizes() : (tensor<4xf32>) -> tensor<2x8x8x4xf32>
// CHECK: prim.mul %[[C]], %[[B]]
func.func @scaled(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x1x1xf32>, %s: tensor<4x1x1xf32>) -> tensor<2x4x8x8xf32> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x8x8xf32>
  %1 = prim.broadcast %s axes [1, 2, 3] sizes() : (tensor<4x1x1xf32>) -> tensor<2x4x8x8xf32>
  %2 = prim.mul %0, %1 : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return %2 : tensor<2x4x8x8xf32>
}

// Channels become neighbouring pixels where they lie: two phases of an axis of a transposed convolution, then both.
// CHECK-LABEL: func @interleaved
// CHECK: %[[C:.*]] = prim.conv {{.*}} -> tensor<?x5x7x16xf32>
// CHECK: %[[S:.*]] = prim.reshape %[[C]] sizes(%{{.*}}) : {{.*}} -> tensor<?x5x7x2x2x4xf32>
// CHECK: %[[T:.*]] = prim.transpose %[[S]] [0, 1, 3, 2, 4, 5] {{.*}} -> tensor<?x5x2x7x2x4xf32>
// CHECK: %[[M:.*]] = prim.reshape %[[T]] sizes(%{{.*}}) : {{.*}} -> tensor<?x10x14x4xf32>
// CHECK: prim.conv %[[M]]
func.func @interleaved(%x: tensor<?x3x5x7xf32>, %w: tensor<16x3x1x1xf32>, %v: tensor<4x4x1x1xf32>) -> tensor<?x4x10x14xf32> {
  %n = prim.dim %x, 0 : tensor<?x3x5x7xf32>
  %0 = prim.conv %x, %w sizes(%n) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x3x5x7xf32>, tensor<16x3x1x1xf32>, index) -> tensor<?x16x5x7xf32>
  %1 = prim.reshape %0 sizes(%n) : (tensor<?x16x5x7xf32>) -> tensor<?x1x2x2x4x5x7xf32>
  %2 = prim.transpose %1 [0, 1, 4, 5, 2, 6, 3] : (tensor<?x1x2x2x4x5x7xf32>) -> tensor<?x1x4x5x2x7x2xf32>
  %3 = prim.reshape %2 sizes(%n) : (tensor<?x1x4x5x2x7x2xf32>) -> tensor<?x4x10x14xf32>
  %4 = prim.conv %3, %v sizes(%n) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x4x10x14xf32>, tensor<4x4x1x1xf32>, index) -> tensor<?x4x10x14xf32>
  return %4 : tensor<?x4x10x14xf32>
}

// Pixels that change places with channels are no such order.
// CHECK-LABEL: func @not_interleaved
// CHECK: prim.conv
// CHECK: prim.transpose {{.*}} [0, 3, 1, 2]
// CHECK: prim.reshape {{.*}} -> tensor<2x4x4x6x5xf32>
func.func @not_interleaved(%x: tensor<2x3x5x6xf32>, %w: tensor<16x3x1x1xf32>) -> tensor<2x24x4x5xf32> {
  %0 = prim.conv %x, %w sizes() {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3x5x6xf32>, tensor<16x3x1x1xf32>) -> tensor<2x16x5x6xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x16x5x6xf32>) -> tensor<2x4x4x6x5xf32>
  %2 = prim.transpose %1 [0, 1, 3, 2, 4] : (tensor<2x4x4x6x5xf32>) -> tensor<2x4x6x4x5xf32>
  %3 = prim.reshape %2 sizes() : (tensor<2x4x6x4x5xf32>) -> tensor<2x24x4x5xf32>
  return %3 : tensor<2x24x4x5xf32>
}

// The same where only a run knows the image: the sizes say that its axes stay.
// CHECK-LABEL: func @interleaved_open
// CHECK: %[[C:.*]] = prim.conv {{.*}} -> tensor<?x?x?x16xf32>
// CHECK: %[[S:.*]] = prim.reshape %[[C]] sizes(%{{.*}}) : {{.*}} -> tensor<?x?x?x2x2x4xf32>
// CHECK: %[[T:.*]] = prim.transpose %[[S]] [0, 1, 3, 2, 4, 5] {{.*}} -> tensor<?x?x2x?x2x4xf32>
// CHECK: %[[M:.*]] = prim.reshape %[[T]] sizes(%{{.*}}) : {{.*}} -> tensor<?x?x?x4xf32>
// CHECK: prim.conv %[[M]]
func.func @interleaved_open(%x: tensor<?x3x?x?xf32>, %w: tensor<16x3x1x1xf32>, %v: tensor<4x4x1x1xf32>) -> tensor<?x4x?x?xf32> {
  %c2 = arith.constant 2 : index
  %n = prim.dim %x, 0 : tensor<?x3x?x?xf32>
  %h = prim.dim %x, 2 : tensor<?x3x?x?xf32>
  %l = prim.dim %x, 3 : tensor<?x3x?x?xf32>
  %hh = arith.muli %h, %c2 : index
  %ll = arith.muli %l, %c2 : index
  %0 = prim.conv %x, %w sizes(%n, %h, %l) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x3x?x?xf32>, tensor<16x3x1x1xf32>, index, index, index) -> tensor<?x16x?x?xf32>
  %1 = prim.reshape %0 sizes(%n, %h, %l) : (tensor<?x16x?x?xf32>) -> tensor<?x1x2x2x4x?x?xf32>
  %2 = prim.transpose %1 [0, 1, 4, 5, 2, 6, 3] : (tensor<?x1x2x2x4x?x?xf32>) -> tensor<?x1x4x?x2x?x2xf32>
  %3 = prim.reshape %2 sizes(%n, %hh, %ll) : (tensor<?x1x4x?x2x?x2xf32>) -> tensor<?x4x?x?xf32>
  %4 = prim.conv %3, %v sizes(%n, %hh, %ll) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x4x?x?xf32>, tensor<4x4x1x1xf32>, index, index, index) -> tensor<?x4x?x?xf32>
  return %4 : tensor<?x4x?x?xf32>
}

// Pixels that are repeated, as an image twice as large has them, and pixels that are taken by index.
// CHECK-LABEL: func @resized
// CHECK: %[[C:.*]] = prim.conv
// CHECK: %[[B:.*]] = prim.broadcast %[[C]] axes [0, 1, 3, 4] sizes(%{{.*}}) : (tensor<?x5x7x4xf32>) -> tensor<?x5x2x7x4xf32>
// CHECK: %[[R:.*]] = prim.reshape %[[B]] sizes(%{{.*}}) : {{.*}} -> tensor<?x10x7x4xf32>
// CHECK: %[[T:.*]] = prim.take %[[R]], %{{.*}} axis 2 : {{.*}} -> tensor<?x10x9x4xf32>
// CHECK: prim.conv %[[T]]
func.func @resized(%x: tensor<?x3x5x7xf32>, %w: tensor<4x3x1x1xf32>, %v: tensor<4x4x1x1xf32>, %i: tensor<9xi64>) -> tensor<?x4x10x9xf32> {
  %n = prim.dim %x, 0 : tensor<?x3x5x7xf32>
  %0 = prim.conv %x, %w sizes(%n) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x3x5x7xf32>, tensor<4x3x1x1xf32>, index) -> tensor<?x4x5x7xf32>
  %1 = prim.broadcast %0 axes [0, 1, 2, 4] sizes(%n) : (tensor<?x4x5x7xf32>) -> tensor<?x4x5x2x7xf32>
  %2 = prim.reshape %1 sizes(%n) : (tensor<?x4x5x2x7xf32>) -> tensor<?x4x10x7xf32>
  %3 = prim.take %2, %i axis 3 : (tensor<?x4x10x7xf32>, tensor<9xi64>) -> tensor<?x4x10x9xf32>
  %4 = prim.conv %3, %v sizes(%n) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x4x10x9xf32>, tensor<4x4x1x1xf32>, index) -> tensor<?x4x10x9xf32>
  return %4 : tensor<?x4x10x9xf32>
}

// An image that grows and that nobody wants channels last is transposed while it is small; one that
// shrinks is transposed afterwards.
// CHECK-LABEL: func @enlarged
// CHECK: %[[C:.*]] = prim.conv
// CHECK: %[[T:.*]] = prim.transpose %[[C]] [0, 3, 1, 2]
// CHECK: prim.take %[[T]], %{{.*}} axis 2 : {{.*}} -> tensor<2x4x9x7xf32>
// CHECK: %[[S:.*]] = prim.take %[[C]], %{{.*}} axis 1 : {{.*}} -> tensor<2x3x7x4xf32>
// CHECK: prim.transpose %[[S]] [0, 3, 1, 2]
func.func @enlarged(%x: tensor<2x3x5x7xf32>, %w: tensor<4x3x1x1xf32>, %i: tensor<9xi64>, %j: tensor<3xi64>) -> (tensor<2x4x9x7xf32>, tensor<2x4x3x7xf32>) {
  %0 = prim.conv %x, %w sizes() {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3x5x7xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x5x7xf32>
  %1 = prim.take %0, %i axis 2 : (tensor<2x4x5x7xf32>, tensor<9xi64>) -> tensor<2x4x9x7xf32>
  %2 = prim.take %0, %j axis 2 : (tensor<2x4x5x7xf32>, tensor<3xi64>) -> tensor<2x4x3x7xf32>
  return %1, %2 : tensor<2x4x9x7xf32>, tensor<2x4x3x7xf32>
}

// Channels that are repeated are not pixels: the transpose back is read.
// CHECK-LABEL: func @repeated_channels
// CHECK: prim.transpose {{.*}} [0, 3, 1, 2]
// CHECK: prim.broadcast
func.func @repeated_channels(%x: tensor<2x3x5x6xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<2x8x5x6xf32> {
  %0 = prim.conv %x, %w sizes() {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3x5x6xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x5x6xf32>
  %1 = prim.broadcast %0 axes [0, 1, 3, 4] sizes() : (tensor<2x4x5x6xf32>) -> tensor<2x4x2x5x6xf32>
  %2 = prim.reshape %1 sizes() : (tensor<2x4x2x5x6xf32>) -> tensor<2x8x5x6xf32>
  return %2 : tensor<2x8x5x6xf32>
}

// A sum of images of which a run may find one to be a single pixel.
// CHECK-LABEL: func @broadcast
// CHECK: %[[C:.*]] = prim.conv
// CHECK: %[[B:.*]] = prim.broadcast %[[C]] axes [0, 1, 2, 3] sizes(%{{.*}}) : (tensor<2x?x7x4xf32>) -> tensor<2x?x7x4xf32>
// CHECK: prim.neg %[[B]] : (tensor<2x?x7x4xf32>)
func.func @broadcast(%x: tensor<2x3x?x7xf32>, %w: tensor<4x3x1x1xf32>, %k: index) -> tensor<2x4x?x7xf32> {
  %n = prim.dim %x, 2 : tensor<2x3x?x7xf32>
  %0 = prim.conv %x, %w sizes(%n) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3x?x7xf32>, tensor<4x3x1x1xf32>, index) -> tensor<2x4x?x7xf32>
  %1 = prim.broadcast %0 axes [0, 1, 2, 3] sizes(%k) : (tensor<2x4x?x7xf32>) -> tensor<2x4x?x7xf32>
  %2 = prim.neg %1 : (tensor<2x4x?x7xf32>) -> tensor<2x4x?x7xf32>
  return %2 : tensor<2x4x?x7xf32>
}

// What begins and ends channels last is not turned to planes between: pixels that are taken and repeated.
// CHECK-LABEL: func @undone
// CHECK-NOT: prim.transpose
// CHECK: %[[T:.*]] = prim.take %arg0, %arg1 axis 1
// CHECK: %[[R:.*]] = prim.broadcast %[[T]] axes [0, 1, 2, 4]
// CHECK: %[[J:.*]] = prim.reshape %[[R]]
// CHECK: %[[Y:.*]] = prim.tanh %[[J]]
// CHECK: return %[[Y]]
func.func @undone(%x: tensor<2x5x4x8xf32>, %i: tensor<9xi64>) -> tensor<2x9x12x8xf32> {
  %0 = prim.transpose %x [0, 3, 1, 2] : (tensor<2x5x4x8xf32>) -> tensor<2x8x5x4xf32>
  %1 = prim.take %0, %i axis 2 : (tensor<2x8x5x4xf32>, tensor<9xi64>) -> tensor<2x8x9x4xf32>
  %2 = prim.broadcast %1 axes [0, 1, 2, 3] sizes() : (tensor<2x8x9x4xf32>) -> tensor<2x8x9x4x3xf32>
  %3 = prim.reshape %2 sizes() : (tensor<2x8x9x4x3xf32>) -> tensor<2x8x9x12xf32>
  %4 = prim.tanh %3 : (tensor<2x8x9x12xf32>) -> tensor<2x8x9x12xf32>
  %5 = prim.transpose %4 [0, 2, 3, 1] : (tensor<2x8x9x12xf32>) -> tensor<2x9x12x8xf32>
  return %5 : tensor<2x9x12x8xf32>
}

// Repeated along an axis that a reshape has given them.
// CHECK-LABEL: func @repeated
// CHECK-NOT: prim.transpose
// CHECK: %[[R:.*]] = prim.broadcast %arg0 axes [0, 1, 3, 4] sizes() : (tensor<2x5x4x8xf32>) -> tensor<2x5x3x4x8xf32>
// CHECK: %[[J:.*]] = prim.reshape %[[R]] sizes() : (tensor<2x5x3x4x8xf32>) -> tensor<2x15x4x8xf32>
// CHECK: return %[[J]]
func.func @repeated(%x: tensor<2x5x4x8xf32>) -> tensor<2x15x4x8xf32> {
  %0 = prim.transpose %x [0, 3, 1, 2] : (tensor<2x5x4x8xf32>) -> tensor<2x8x5x4xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x8x5x4xf32>) -> tensor<2x8x5x1x4xf32>
  %2 = prim.broadcast %1 axes [0, 1, 2, 3, 4] sizes() : (tensor<2x8x5x1x4xf32>) -> tensor<2x8x5x3x4xf32>
  %3 = prim.reshape %2 sizes() : (tensor<2x8x5x3x4xf32>) -> tensor<2x8x15x4xf32>
  %4 = prim.transpose %3 [0, 2, 3, 1] : (tensor<2x8x15x4xf32>) -> tensor<2x15x4x8xf32>
  return %4 : tensor<2x15x4x8xf32>
}

// Joined and given the next axis at once.
// CHECK-LABEL: func @repeated_twice
// CHECK-NOT: prim.transpose
// CHECK: prim.reshape %{{.*}} -> tensor<2x15x4x8xf32>
// CHECK: prim.reshape %{{.*}} -> tensor<2x15x12x8xf32>
// CHECK-NOT: prim.transpose
// CHECK: return
func.func @repeated_twice(%x: tensor<2x5x4x8xf32>) -> tensor<2x15x12x8xf32> {
  %0 = prim.transpose %x [0, 3, 1, 2] : (tensor<2x5x4x8xf32>) -> tensor<2x8x5x4xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x8x5x4xf32>) -> tensor<2x8x5x1x4xf32>
  %2 = prim.broadcast %1 axes [0, 1, 2, 3, 4] sizes() : (tensor<2x8x5x1x4xf32>) -> tensor<2x8x5x3x4xf32>
  %3 = prim.reshape %2 sizes() : (tensor<2x8x5x3x4xf32>) -> tensor<2x8x15x4x1xf32>
  %4 = prim.broadcast %3 axes [0, 1, 2, 3, 4] sizes() : (tensor<2x8x15x4x1xf32>) -> tensor<2x8x15x4x3xf32>
  %5 = prim.reshape %4 sizes() : (tensor<2x8x15x4x3xf32>) -> tensor<2x8x15x12xf32>
  %6 = prim.transpose %5 [0, 2, 3, 1] : (tensor<2x8x15x12xf32>) -> tensor<2x15x12x8xf32>
  return %6 : tensor<2x15x12x8xf32>
}

// Others end as planes.
// CHECK-LABEL: func @planes
// CHECK: prim.transpose %arg0 [0, 3, 1, 2]
// CHECK: prim.take %{{.*}} axis 2
func.func @planes(%x: tensor<2x5x4x8xf32>, %i: tensor<9xi64>) -> tensor<2x8x9x4xf32> {
  %0 = prim.transpose %x [0, 3, 1, 2] : (tensor<2x5x4x8xf32>) -> tensor<2x8x5x4xf32>
  %1 = prim.take %0, %i axis 2 : (tensor<2x8x5x4xf32>, tensor<9xi64>) -> tensor<2x8x9x4xf32>
  return %1 : tensor<2x8x9x4xf32>
}

// Tokens whose rows are reduced on the way back are meant to be rows.
// CHECK-LABEL: func @tokens
// CHECK: prim.transpose %arg0 [0, 2, 1] : (tensor<2x32x100xf32>) -> tensor<2x100x32xf32>
// CHECK: prim.reduce max %{{.*}} [2] : (tensor<2x100x32xf32>) -> tensor<2x100xf32>
// CHECK: prim.transpose %{{.*}} [0, 2, 1] : (tensor<2x100x32xf32>) -> tensor<2x32x100xf32>
func.func @tokens(%x: tensor<2x32x100xf32>) -> tensor<2x32x100xf32> {
  %0 = prim.transpose %x [0, 2, 1] : (tensor<2x32x100xf32>) -> tensor<2x100x32xf32>
  %1 = prim.reduce max %0 [2] : (tensor<2x100x32xf32>) -> tensor<2x100xf32>
  %2 = prim.broadcast %1 axes [0, 1] sizes() : (tensor<2x100xf32>) -> tensor<2x100x32xf32>
  %3 = prim.sub %0, %2 : (tensor<2x100x32xf32>, tensor<2x100x32xf32>) -> tensor<2x100x32xf32>
  %4 = prim.transpose %3 [0, 2, 1] : (tensor<2x100x32xf32>) -> tensor<2x32x100xf32>
  return %4 : tensor<2x32x100xf32>
}

// Tokens that become pixels for a convolution, behind a resize and a concatenation, lie as they are.
// CHECK-LABEL: func @pixels_of_tokens
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x20x8xf32>, %[[Y:[a-z0-9]+]]: tensor<2x40x8xf32>
// CHECK-NOT: prim.transpose
// CHECK: %[[S:.*]] = prim.reshape %[[X]] sizes() : (tensor<2x20x8xf32>) -> tensor<2x5x4x8xf32>
// CHECK: %[[T:.*]] = prim.take %[[S]], %{{.*}} axis 1 : {{.*}} -> tensor<2x10x4x8xf32>
// CHECK: %[[L:.*]] = prim.reshape %[[Y]] sizes() : (tensor<2x40x8xf32>) -> tensor<2x10x4x8xf32>
// CHECK: %[[J:.*]] = prim.concat %[[T]], %[[L]] axis 3
// CHECK: prim.conv %[[J]], {{.*}}channels_last
func.func @pixels_of_tokens(%x: tensor<2x20x8xf32>, %y: tensor<2x40x8xf32>, %i: tensor<10xi64>, %w: tensor<6x16x1x1xf32>) -> tensor<2x6x10x4xf32> {
  %0 = prim.transpose %x [0, 2, 1] : (tensor<2x20x8xf32>) -> tensor<2x8x20xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x8x20xf32>) -> tensor<2x8x5x4xf32>
  %2 = prim.take %1, %i axis 2 : (tensor<2x8x5x4xf32>, tensor<10xi64>) -> tensor<2x8x10x4xf32>
  %3 = prim.transpose %y [0, 2, 1] : (tensor<2x40x8xf32>) -> tensor<2x8x40xf32>
  %4 = prim.reshape %3 sizes() : (tensor<2x8x40xf32>) -> tensor<2x8x10x4xf32>
  %5 = prim.concat %2, %4 axis 1 : (tensor<2x8x10x4xf32>, tensor<2x8x10x4xf32>) -> tensor<2x16x10x4xf32>
  %6 = prim.conv %5, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x10x4xf32>, tensor<6x16x1x1xf32>) -> tensor<2x6x10x4xf32>
  return %6 : tensor<2x6x10x4xf32>
}

// Of tokens whose channels are split nothing lies so, nor is there a reason where planes are wanted.
// CHECK-LABEL: func @no_pixels_of_tokens
// CHECK: prim.transpose %arg0 [0, 2, 1]
// CHECK: prim.transpose %{{.*}} [0, 2, 3, 1] : (tensor<2x4x10x4xf32>)
func.func @no_pixels_of_tokens(%x: tensor<2x20x8xf32>, %w: tensor<6x4x1x1xf32>) -> tensor<2x6x10x4xf32> {
  %0 = prim.transpose %x [0, 2, 1] : (tensor<2x20x8xf32>) -> tensor<2x8x20xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x8x20xf32>) -> tensor<2x4x10x4xf32>
  %2 = prim.conv %1, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x4x10x4xf32>, tensor<6x4x1x1xf32>) -> tensor<2x6x10x4xf32>
  return %2 : tensor<2x6x10x4xf32>
}

// CHECK-LABEL: func @tokens_as_planes
// CHECK: %[[T:.*]] = prim.transpose %arg0 [0, 2, 1]
// CHECK: %[[R:.*]] = prim.reshape %[[T]]
// CHECK: return %[[R]]
func.func @tokens_as_planes(%x: tensor<2x20x8xf32>) -> tensor<2x8x5x4xf32> {
  %0 = prim.transpose %x [0, 2, 1] : (tensor<2x20x8xf32>) -> tensor<2x8x20xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x8x20xf32>) -> tensor<2x8x5x4xf32>
  return %1 : tensor<2x8x5x4xf32>
}
