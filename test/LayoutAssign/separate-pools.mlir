// RUN: tcc-opt %s -tcc-layout-separate-pools | FileCheck %s

// Of an open batch, channels last.
// CHECK-LABEL: func @batch
// CHECK: %[[N:.*]] = prim.dim %{{.*}}, 0
// CHECK: prim.pool max %{{.*}} sizes(%[[N]]) {{{.*}}window = array<i64: 5, 1>} : (tensor<?x20x20x8xf32>) -> tensor<?x20x20x8xf32>
// CHECK: prim.pool max %{{.*}} sizes(%{{.*}}) {{{.*}}window = array<i64: 1, 5>} : (tensor<?x20x20x8xf32>) -> tensor<?x20x20x8xf32>
func.func @batch(%x: tensor<?x20x20x8xf32>) -> tensor<?x20x20x8xf32> {
  %n = prim.dim %x, 0 : tensor<?x20x20x8xf32>
  %0 = prim.pool max %x sizes(%n) {channels_last = true, window = array<i64: 5, 5>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>} : (tensor<?x20x20x8xf32>) -> tensor<?x20x20x8xf32>
  return %0 : tensor<?x20x20x8xf32>
}

// Of planes the kernel makes a line of the rows that its windows see; volumes have one axis more.
// CHECK-LABEL: func @planes
// CHECK-COUNT-1: prim.pool max {{.*}}window = array<i64: 5, 5>
// CHECK-NOT: prim.transpose
// CHECK: prim.pool max {{.*}}window = array<i64: 5, 1, 1>
// CHECK: prim.pool max {{.*}}window = array<i64: 1, 5, 1>
// CHECK: prim.pool max {{.*}}window = array<i64: 1, 1, 5>
func.func @planes(%x: tensor<1x32x7x7xf32>, %y: tensor<1x8x20x20x20xf32>) -> (tensor<1x32x3x3xf32>, tensor<1x8x20x20x20xf32>) {
  %0 = prim.pool max %x sizes() {window = array<i64: 5, 5>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>} : (tensor<1x32x7x7xf32>) -> tensor<1x32x3x3xf32>
  %1 = prim.pool max %y sizes() {window = array<i64: 5, 5, 5>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, low = array<i64: 2, 2, 2>, high = array<i64: 2, 2, 2>} : (tensor<1x8x20x20x20xf32>) -> tensor<1x8x20x20x20xf32>
  return %0, %1 : tensor<1x32x3x3xf32>, tensor<1x8x20x20x20xf32>
}

// Lines of few points fill no vector, channels do: windows of few taps, one step apart.
// CHECK-LABEL: func @short_lines
// CHECK: %[[T:.*]] = prim.transpose %arg0 [0, 2, 3, 1]
// CHECK: %[[P:.*]] = prim.pool max %[[T]] {{.*}}channels_last = true{{.*}} -> tensor<1x7x7x32xf32>
// CHECK: prim.transpose %[[P]] [0, 3, 1, 2]
// CHECK: prim.pool max %arg0 {{.*}} -> tensor<1x32x4x4xf32>
// CHECK: prim.pool max %arg1 {{.*}} -> tensor<1x9x7x7xf32>
func.func @short_lines(%x: tensor<1x32x7x7xf32>, %y: tensor<1x9x7x7xf32>) -> (tensor<1x32x7x7xf32>, tensor<1x32x4x4xf32>, tensor<1x9x7x7xf32>) {
  %0 = prim.pool max %x sizes() {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>} : (tensor<1x32x7x7xf32>) -> tensor<1x32x7x7xf32>
  %1 = prim.pool max %x sizes() {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>} : (tensor<1x32x7x7xf32>) -> tensor<1x32x4x4xf32>
  %2 = prim.pool max %y sizes() {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>} : (tensor<1x9x7x7xf32>) -> tensor<1x9x7x7xf32>
  return %0, %1, %2 : tensor<1x32x7x7xf32>, tensor<1x32x4x4xf32>, tensor<1x9x7x7xf32>
}

// The axis that is read with a stride comes last, when the other one has fewer lines.
// CHECK-LABEL: func @strided
// CHECK: prim.pool sum {{.*}} {channels_last = true, dilations = array<i64: 1, 1>, high = array<i64: 3, 0>, low = array<i64: 3, 0>, strides = array<i64: 2, 1>, window = array<i64: 7, 1>} : (tensor<1x40x40x8xf32>) -> tensor<1x20x40x8xf32>
// CHECK: prim.pool sum {{.*}}strides = array<i64: 1, 2>, window = array<i64: 1, 7>} : (tensor<1x20x40x8xf32>) -> tensor<1x20x20x8xf32>
func.func @strided(%x: tensor<1x40x40x8xf32>) -> tensor<1x20x20x8xf32> {
  %0 = prim.pool sum %x sizes() {channels_last = true, window = array<i64: 7, 7>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>} : (tensor<1x40x40x8xf32>) -> tensor<1x20x20x8xf32>
  return %0 : tensor<1x20x20x8xf32>
}

// Small windows, sums that would be rounded, one axis.
// CHECK-LABEL: func @kept
// CHECK-COUNT-3: prim.pool
// CHECK-NOT: prim.pool
func.func @kept(%x: tensor<1x8x20x20xf32>, %y: tensor<1x8x20x20xbf16>) -> (tensor<1x8x20x20xf32>, tensor<1x8x20x20xbf16>, tensor<1x8x20x20xf32>) {
  %0 = prim.pool max %x sizes() {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>} : (tensor<1x8x20x20xf32>) -> tensor<1x8x20x20xf32>
  %1 = prim.pool sum %y sizes() {window = array<i64: 5, 5>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>} : (tensor<1x8x20x20xbf16>) -> tensor<1x8x20x20xbf16>
  %2 = prim.pool max %x sizes() {window = array<i64: 1, 31>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 15>, high = array<i64: 0, 15>} : (tensor<1x8x20x20xf32>) -> tensor<1x8x20x20xf32>
  return %0, %1, %2 : tensor<1x8x20x20xf32>, tensor<1x8x20x20xbf16>, tensor<1x8x20x20xf32>
}

// Windows end to end are parts of a line, which are reduced; short ones, and those that leave a rest, stay.
// CHECK-LABEL: func @parts
// CHECK: %[[P:.*]] = prim.reshape %arg0 {{.*}} -> tensor<2x3x2x8x3x8xf32>
// CHECK: prim.reduce max %[[P]] [3, 5] : (tensor<2x3x2x8x3x8xf32>) -> tensor<2x3x2x3xf32>
// CHECK: prim.pool max
// CHECK: prim.pool max
// CHECK: return
func.func @parts(%x: tensor<2x3x16x24xf32>, %y: tensor<2x3x25xf32>) -> (tensor<2x3x2x3xf32>, tensor<2x3x8x12xf32>, tensor<2x3x3xf32>) {
  %0 = prim.pool max %x sizes() {window = array<i64: 8, 8>, strides = array<i64: 8, 8>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<2x3x16x24xf32>) -> tensor<2x3x2x3xf32>
  %1 = prim.pool max %x sizes() {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<2x3x16x24xf32>) -> tensor<2x3x8x12xf32>
  %2 = prim.pool max %y sizes() {window = array<i64: 8>, strides = array<i64: 8>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>} : (tensor<2x3x25xf32>) -> tensor<2x3x3xf32>
  return %0, %1, %2 : tensor<2x3x2x3xf32>, tensor<2x3x8x12xf32>, tensor<2x3x3xf32>
}

// Short lines of windows a few elements apart: channels are the lanes, of volumes.
// CHECK-LABEL: func @turned
// CHECK: %[[X:.*]] = prim.transpose %arg0 [0, 2, 3, 4, 1] : (tensor<2x16x14x14x14xf32>) -> tensor<2x14x14x14x16xf32>
// CHECK: %[[P:.*]] = prim.pool sum %[[X]] {{.*}}channels_last = true{{.*}}strides = array<i64: 4, 4, 4>
// CHECK: prim.transpose %[[P]] [0, 4, 1, 2, 3] : (tensor<2x4x4x4x16xf32>) -> tensor<2x16x4x4x4xf32>
func.func @turned(%y: tensor<2x16x14x14x14xf32>) -> tensor<2x16x4x4x4xf32> {
  %1 = prim.pool sum %y sizes() {window = array<i64: 5, 5, 5>, strides = array<i64: 4, 4, 4>, dilations = array<i64: 1, 1, 1>, low = array<i64: 2, 2, 2>, high = array<i64: 2, 2, 2>} : (tensor<2x16x14x14x14xf32>) -> tensor<2x16x4x4x4xf32>
  return %1 : tensor<2x16x4x4x4xf32>
}

// Channels that fill no vectors, lines of many results, an open batch: the windows stay as they lie.
// CHECK-LABEL: func @unturned
// CHECK-NOT: prim.transpose
// CHECK: return
func.func @unturned(%x: tensor<2x17x14x14xf32>, %y: tensor<2x16x112x112xf32>, %z: tensor<?x32x14x14xf32>) -> (tensor<2x17x5x5xf32>, tensor<2x16x37x37xf32>, tensor<?x32x5x5xf32>) {
  %n = prim.dim %z, 0 : tensor<?x32x14x14xf32>
  %0 = prim.pool max %x sizes() {window = array<i64: 7, 7>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>} : (tensor<2x17x14x14xf32>) -> tensor<2x17x5x5xf32>
  %1 = prim.pool max %y sizes() {window = array<i64: 5, 5>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>} : (tensor<2x16x112x112xf32>) -> tensor<2x16x37x37xf32>
  %2 = prim.pool max %z sizes(%n) {window = array<i64: 7, 7>, strides = array<i64: 3, 3>, dilations = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>} : (tensor<?x32x14x14xf32>) -> tensor<?x32x5x5xf32>
  return %0, %1, %2 : tensor<2x17x5x5xf32>, tensor<2x16x37x37xf32>, tensor<?x32x5x5xf32>
}
