// RUN: tcc-opt %s -tcc-simplify-integer-products | FileCheck %s

// Bytes less a zero point by weights with a scale a column: the sums are corrected and scaled once.
// CHECK-LABEL: func @columns
// CHECK: %[[Y:.*]] = prim.dot %arg0, %[[W:.*]] batch [] x [] contract [1] x [1] : (tensor<?x4xui8>, tensor<2x4xi8>) -> tensor<?x2xi32>
// CHECK: %[[WIDE:.*]] = prim.cast %[[W]] : (tensor<2x4xi8>) -> tensor<2x4xi32>
// CHECK: %[[SUMS:.*]] = prim.reduce sum %[[WIDE]] [1]
// CHECK: %[[SEVEN:.*]] = prim.constant dense<7> : tensor<2xi32>
// CHECK: %[[OFFSET:.*]] = prim.mul %[[SUMS]], %[[SEVEN]]
// CHECK: %[[ALL:.*]] = prim.broadcast %[[OFFSET]] axes [1]
// CHECK: %[[LESS:.*]] = prim.sub %[[Y]], %[[ALL]]
// CHECK: %[[FLOAT:.*]] = prim.cast %[[LESS]]
// CHECK: %[[SCALE:.*]] = prim.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: %[[SCALES:.*]] = prim.broadcast %[[SCALE]] axes [1]
// CHECK: prim.mul %[[FLOAT]], %[[SCALES]]
func.func @columns(%x: tensor<?x4xui8>) -> tensor<?x2xf32> {
  %c0 = arith.constant 0 : index
  %n = prim.dim %x, 0 : tensor<?x4xui8>
  %w = prim.constant dense<[[1, -2, 3, 4], [5, 6, -7, 8]]> : tensor<2x4xi8>
  %s = prim.constant dense<5.0e-01> : tensor<f32>
  %t = prim.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %z = prim.constant dense<7> : tensor<ui8>
  %zf = prim.cast %z : (tensor<ui8>) -> tensor<f32>
  %0 = prim.cast %x : (tensor<?x4xui8>) -> tensor<?x4xf32>
  %zs = prim.broadcast %zf axes [] sizes(%n) : (tensor<f32>) -> tensor<?x4xf32>
  %1 = prim.sub %0, %zs : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = prim.broadcast %s axes [] sizes(%n) : (tensor<f32>) -> tensor<?x4xf32>
  %3 = prim.mul %1, %2 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %4 = prim.cast %w : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %5 = prim.broadcast %t axes [0] sizes() : (tensor<2xf32>) -> tensor<2x4xf32>
  %6 = prim.mul %4, %5 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = prim.dot %3, %6 batch [] x [] contract [1] x [1] : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
  return %7 : tensor<?x2xf32>
}

// A convolution takes off the zero point itself, -3 here; weights of ui8 around 128 are i8.
// CHECK-LABEL: func @padded
// CHECK: %[[I8:.*]] = prim.cast %{{.*}} : (tensor<2x1x3xi32>) -> tensor<2x1x3xi8>
// CHECK: prim.conv %arg0, %[[I8]] sizes() {{{.*}}high = array<i64: 1>{{.*}}zero = -3 : i64} : (tensor<1x1x8xi8>, tensor<2x1x3xi8>) -> tensor<1x2x8xi32>
// CHECK-NOT: prim.sub
func.func @padded(%x: tensor<1x1x8xi8>) -> tensor<1x2x8xf32> {
  %w = prim.constant dense<[[[1, 128, 130]], [[0, 255, 127]]]> : tensor<2x1x3xui8>
  %s = prim.constant dense<2.5e-01> : tensor<1x1x8xf32>
  %t = prim.constant dense<2.0> : tensor<2x1x3xf32>
  %p = prim.constant dense<-3.0> : tensor<1x1x8xf32>
  %q = prim.constant dense<128.0> : tensor<2x1x3xf32>
  %0 = prim.cast %x : (tensor<1x1x8xi8>) -> tensor<1x1x8xf32>
  %1 = prim.sub %0, %p : (tensor<1x1x8xf32>, tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %2 = prim.mul %1, %s : (tensor<1x1x8xf32>, tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %3 = prim.cast %w : (tensor<2x1x3xui8>) -> tensor<2x1x3xf32>
  %4 = prim.sub %3, %q : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %5 = prim.mul %4, %t : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %6 = prim.conv %2, %5 sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
  return %6 : tensor<1x2x8xf32>
}

// Scales along what is summed, zero points between two integers, and those of weights in groups leave
// products of floats.
// CHECK-LABEL: func @others
// CHECK: prim.conv %arg0, %{{.*}} low = array<i64: 1>{{.*}} : (tensor<1x1x8xui8>, tensor<2x1x3xi8>) -> tensor<1x2x8xi32>
// CHECK-COUNT-3: prim.conv %{{.*}} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
func.func @others(%x: tensor<1x1x8xui8>, %scale: tensor<1x1x8xf32>) -> (tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) {
  %w = prim.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi8>
  %s = prim.constant dense<2.5e-01> : tensor<1x1x8xf32>
  %t = prim.constant dense<2.0> : tensor<2x1x3xf32>
  %along = prim.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %taps = prim.broadcast %along axes [0, 1, 2] sizes() : (tensor<1x1x3xf32>) -> tensor<2x1x3xf32>
  %half = prim.constant dense<1.5> : tensor<1x1x8xf32>
  %one = prim.constant dense<1.0> : tensor<2x1x3xf32>
  %0 = prim.cast %x : (tensor<1x1x8xui8>) -> tensor<1x1x8xf32>
  %1 = prim.mul %0, %s : (tensor<1x1x8xf32>, tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %2 = prim.cast %w : (tensor<2x1x3xi8>) -> tensor<2x1x3xf32>
  %3 = prim.mul %2, %t : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %4 = prim.conv %1, %3 sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
  %5 = prim.mul %0, %scale : (tensor<1x1x8xf32>, tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %6 = prim.conv %5, %3 sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
  %7 = prim.mul %2, %taps : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %8 = prim.conv %1, %7 sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
  %9 = prim.sub %0, %half : (tensor<1x1x8xf32>, tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %10 = prim.mul %9, %s : (tensor<1x1x8xf32>, tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %11 = prim.conv %10, %3 sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
  %12 = prim.sub %2, %one : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %13 = prim.mul %12, %t : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %14 = prim.conv %1, %13 sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
  return %4, %6, %8, %11, %14 : tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>
}

// An integer convolution whose border is a number takes that off, and it is added again: 5 times the filter's sum.
// CHECK-LABEL: func @border
// CHECK: %[[Y:.*]] = prim.conv %arg0, %{{.*}} sizes() {{{.*}}high = array<i64: 2>{{.*}}low = array<i64: 1>{{.*}}zero = 5 : i64} : (tensor<1x1x8xui8>, tensor<2x1x3xi8>) -> tensor<1x2x9xi32>
// CHECK: %[[FIVE:.*]] = prim.constant dense<5> : tensor<2xi32>
// CHECK: %[[TIMES:.*]] = prim.mul %{{.*}}, %[[FIVE]]
// CHECK: %[[ALL:.*]] = prim.broadcast %[[TIMES]] axes [1]
// CHECK: prim.add %[[Y]], %[[ALL]]
// Not where 0 surrounds the border.
// CHECK: prim.conv %{{[0-9]+}}, %{{.*}}low = array<i64: 1>
func.func @border(%x: tensor<1x1x8xui8>) -> (tensor<1x2x9xi32>, tensor<1x2x11xi32>) {
  %w = prim.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi8>
  %five = prim.constant dense<5> : tensor<ui8>
  %0 = prim.pad %x, %five low [0, 0, 1]() interior [0, 0, 0] sizes() : (tensor<1x1x8xui8>, tensor<ui8>) -> tensor<1x1x11xui8>
  %1 = prim.conv %0, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64} : (tensor<1x1x11xui8>, tensor<2x1x3xi8>) -> tensor<1x2x9xi32>
  %2 = prim.conv %0, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x1x11xui8>, tensor<2x1x3xi8>) -> tensor<1x2x11xi32>
  return %1, %2 : tensor<1x2x9xi32>, tensor<1x2x11xi32>
}

// Each filter's zero point is as often too much as what its window sums up to, less the input's zero point.
// CHECK-LABEL: func @filters
// CHECK: %[[Y:.*]] = prim.conv %arg0, %{{.*}}zero = 3 : i64} : (tensor<1x2x8xui8>, tensor<2x2x3xui8>) -> tensor<1x2x8xi32>
// CHECK: %[[WIDE:.*]] = prim.cast %arg0 : (tensor<1x2x8xui8>) -> tensor<1x2x8xi32>
// CHECK: %[[LESS:.*]] = prim.sub %[[WIDE]]
// CHECK: %[[PLANES:.*]] = prim.reduce sum %[[LESS]] [1]
// CHECK: %[[SINGLE:.*]] = prim.reshape %[[PLANES]]
// CHECK: %[[SEEN:.*]] = prim.pool sum %[[SINGLE]] sizes() {{{.*}}high = array<i64: 1>, low = array<i64: 1>{{.*}}window = array<i64: 3>}
// CHECK: %[[ALL:.*]] = prim.broadcast %[[SEEN]] axes [0, 1, 2]
// CHECK: %[[ZEROS:.*]] = prim.constant dense<[100, 200]> : tensor<2xi32>
// CHECK: %[[OF:.*]] = prim.broadcast %[[ZEROS]] axes [1]
// CHECK: %[[MUCH:.*]] = prim.mul %[[ALL]], %[[OF]]
// CHECK: prim.sub %[[Y]], %[[MUCH]]
func.func @filters(%x: tensor<1x2x8xui8>) -> tensor<1x2x8xf32> {
  %w = prim.weight "w" : tensor<2x2x3xui8>
  %s = prim.constant dense<2.5e-01> : tensor<1x2x8xf32>
  %t = prim.constant dense<2.0> : tensor<2x2x3xf32>
  %p = prim.constant dense<3.0> : tensor<1x2x8xf32>
  %q = prim.constant dense<[100.0, 200.0]> : tensor<2xf32>
  %zeros = prim.broadcast %q axes [0] sizes() : (tensor<2xf32>) -> tensor<2x2x3xf32>
  %0 = prim.cast %x : (tensor<1x2x8xui8>) -> tensor<1x2x8xf32>
  %1 = prim.sub %0, %p : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %2 = prim.mul %1, %s : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %3 = prim.cast %w : (tensor<2x2x3xui8>) -> tensor<2x2x3xf32>
  %4 = prim.sub %3, %zeros : (tensor<2x2x3xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  %5 = prim.mul %4, %t : (tensor<2x2x3xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  %6 = prim.conv %2, %5 sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x2x8xf32>, tensor<2x2x3xf32>) -> tensor<1x2x8xf32>
  return %6 : tensor<1x2x8xf32>
}

// Two activations, one of them behind a transpose, of a batch; a run knows the scales and zero points of each row of the other.
// CHECK-LABEL: func @activations
// CHECK: %[[ZERO:.*]] = prim.cast %{{.*}} : (tensor<2x?xf32>) -> tensor<2x?xi32>
// CHECK: %[[T:.*]] = prim.transpose %arg1 [0, 2, 1] : (tensor<2x5x4xi8>) -> tensor<2x4x5xi8>
// CHECK: %[[Y:.*]] = prim.dot %arg0, %[[T]] batch [0] x [0] contract [2] x [1] : (tensor<2x?x4xi8>, tensor<2x4x5xi8>) -> tensor<2x?x5xi32>
// CHECK: %[[ROWS:.*]] = prim.reduce sum %{{.*}} [2] : (tensor<2x?x4xi32>) -> tensor<2x?xi32>
// CHECK: prim.broadcast %[[ROWS]] axes [0, 1]
// CHECK: prim.sub %[[Y]], %{{.*}} : (tensor<2x?x5xi32>
// CHECK: %[[COLUMNS:.*]] = prim.reduce sum %{{.*}} [1] : (tensor<2x4x5xi32>) -> tensor<2x5xi32>
// CHECK: prim.broadcast %[[ZERO]] axes [0, 1]
// CHECK: prim.broadcast %[[COLUMNS]] axes [0, 2]
// CHECK: %[[SUMS:.*]] = prim.sub
// CHECK: prim.cast %[[SUMS]] : (tensor<2x?x5xi32>) -> tensor<2x?x5xf32>
// CHECK: prim.broadcast %{{.*}} axes [0, 1]
// CHECK: prim.constant dense<5.000000e-01> : tensor<f32>
func.func @activations(%x: tensor<2x?x4xi8>, %y: tensor<2x5x4xi8>, %scale: tensor<2x?x1xf32>, %zero: tensor<2x?x1xi64>) -> tensor<2x?x5xf32> {
  %c1 = arith.constant 1 : index
  %n = prim.dim %x, 1 : tensor<2x?x4xi8>
  %s = prim.constant dense<5.0e-01> : tensor<2x5x4xf32>
  %p = prim.constant dense<3.0> : tensor<2x5x4xf32>
  %0 = prim.cast %x : (tensor<2x?x4xi8>) -> tensor<2x?x4xf32>
  %z = prim.cast %zero : (tensor<2x?x1xi64>) -> tensor<2x?x1xf32>
  %zeros = prim.broadcast %z axes [0, 1, 2] sizes(%n) : (tensor<2x?x1xf32>) -> tensor<2x?x4xf32>
  %scales = prim.broadcast %scale axes [0, 1, 2] sizes(%n) : (tensor<2x?x1xf32>) -> tensor<2x?x4xf32>
  %1 = prim.sub %0, %zeros : (tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  %2 = prim.mul %1, %scales : (tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  %3 = prim.cast %y : (tensor<2x5x4xi8>) -> tensor<2x5x4xf32>
  %4 = prim.sub %3, %p : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  %5 = prim.mul %4, %s : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  %6 = prim.transpose %5 [0, 2, 1] : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
  %7 = prim.dot %2, %6 batch [0] x [0] contract [2] x [1] : (tensor<2x?x4xf32>, tensor<2x4x5xf32>) -> tensor<2x?x5xf32>
  return %7 : tensor<2x?x5xf32>
}

// Not where a scale differs along what is summed, or the sum may leave 32 bits.
// CHECK-LABEL: func @floats
// CHECK-COUNT-2: prim.dot %{{.*}} : (tensor<2x?xf32>, tensor<3x?xf32>) -> tensor<2x3xf32>
func.func @floats(%x: tensor<2x?xi8>, %y: tensor<3x?xi8>, %scale: tensor<?xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %c1 = arith.constant 1 : index
  %n = prim.dim %x, 1 : tensor<2x?xi8>
  %s = prim.constant dense<5.0e-01> : tensor<f32>
  %0 = prim.cast %x : (tensor<2x?xi8>) -> tensor<2x?xf32>
  %scales = prim.broadcast %scale axes [1] sizes(%n) : (tensor<?xf32>) -> tensor<2x?xf32>
  %same = prim.broadcast %s axes [] sizes(%n) : (tensor<f32>) -> tensor<2x?xf32>
  %of = prim.broadcast %s axes [] sizes(%n) : (tensor<f32>) -> tensor<3x?xf32>
  %1 = prim.mul %0, %scales : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  %2 = prim.mul %0, %same : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  %3 = prim.cast %y : (tensor<3x?xi8>) -> tensor<3x?xf32>
  %4 = prim.mul %3, %of : (tensor<3x?xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>
  %5 = prim.dot %1, %4 batch [] x [] contract [1] x [1] : (tensor<2x?xf32>, tensor<3x?xf32>) -> tensor<2x3xf32>
  %6 = prim.dot %2, %4 batch [] x [] contract [1] x [1] : (tensor<2x?xf32>, tensor<3x?xf32>) -> tensor<2x3xf32>
  return %5, %6 : tensor<2x3xf32>, tensor<2x3xf32>
}
