// RUN: tcc-opt %s -tcc-simplify-fold-scales | FileCheck %s

// A bias, then a batch norm: (x*w + b) * s + t = x*(w*s) + (b*s + t).
// CHECK-LABEL: func @conv
// CHECK: %[[W:.*]] = prim.constant dense<{{\[}}{{\[}}{{\[}}2.000000e+00, 4.000000e+00]], {{\[}}{{\[}}9.000000e+00, 1.200000e+01]]]>
// CHECK: %[[C:.*]] = prim.conv %arg0, %[[W]]
// CHECK-DAG: %[[T:.*]] = prim.constant dense<[1.200000e+01, 3.200000e+01]> : tensor<2xf32>
// CHECK: %[[B:.*]] = prim.broadcast %[[T]] axes [1]
// CHECK: %[[Y:.*]] = prim.add %[[C]], %[[B]]
// CHECK-NEXT: return %[[Y]]
func.func @conv(%x: tensor<1x1x8xf32>) -> tensor<1x2x7xf32> {
  %w = prim.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %bias = prim.constant dense<[5.0, 10.0]> : tensor<2xf32>
  %scale = prim.constant dense<[[[2.0], [3.0]]]> : tensor<1x2x1xf32>
  %shift = prim.constant dense<2.0> : tensor<1x2x7xf32>
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x2xf32>) -> tensor<1x2x7xf32>
  %1 = prim.broadcast %bias axes [1] sizes() : (tensor<2xf32>) -> tensor<1x2x7xf32>
  %2 = prim.add %0, %1 : (tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> tensor<1x2x7xf32>
  %3 = prim.broadcast %scale axes [0, 1, 2] sizes() : (tensor<1x2x1xf32>) -> tensor<1x2x7xf32>
  %4 = prim.mul %2, %3 : (tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> tensor<1x2x7xf32>
  %5 = prim.add %4, %shift : (tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> tensor<1x2x7xf32>
  return %5 : tensor<1x2x7xf32>
}

// A scale of a linear layer of dynamic batch, weights [K, N].
// CHECK-LABEL: func @dot
// CHECK: %[[W:.*]] = prim.constant dense<{{\[}}[5.000000e-01, 1.000000e+00], [1.500000e+00, 2.000000e+00]]>
// CHECK: %[[D:.*]] = prim.dot %arg0, %[[W]]
// CHECK-NOT: prim.mul
// CHECK: return %[[D]]
func.func @dot(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %n = prim.dim %x, 0 : tensor<?x2xf32>
  %w = prim.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %two = prim.constant dense<2.0> : tensor<f32>
  %s = prim.broadcast %two axes [] sizes(%n) : (tensor<f32>) -> tensor<?x2xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %1 = prim.div %0, %s : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}

// The product has another reader.
// CHECK-LABEL: func @read_twice
// CHECK: prim.dot
// CHECK: prim.mul
func.func @read_twice(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %w = prim.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = prim.constant dense<2.0> : tensor<1x2xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = prim.mul %0, %s : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  return %0, %1 : tensor<1x2xf32>, tensor<1x2xf32>
}

// The weights have another reader; the scale differs from row to row; the scale
// carries a weight out of range; nothing to gain from one addition.
// CHECK-LABEL: func @stays
// CHECK-COUNT-4: prim.mul
// CHECK: prim.add
func.func @stays(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = prim.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = prim.constant dense<[[1.0, 2.0], [3.0, 5.0]]> : tensor<2x2xf32>
  %u = prim.constant dense<[[1.0, 2.0], [3.0, 1.0e+30]]> : tensor<2x2xf32>
  %t = prim.constant dense<[[1.0, 2.0], [3.0, 7.0]]> : tensor<2x2xf32>
  %s = prim.constant dense<2.0> : tensor<2x2xf32>
  %rows = prim.constant dense<[[2.0, 2.0], [3.0, 3.0]]> : tensor<2x2xf32>
  %large = prim.constant dense<1.0e+20> : tensor<2x2xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = prim.mul %0, %s : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = prim.mul %w, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = prim.dot %x, %v batch [] x [] contract [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = prim.mul %3, %rows : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = prim.dot %x, %u batch [] x [] contract [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %6 = prim.mul %5, %large : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %7 = prim.dot %x, %t batch [] x [] contract [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %8 = prim.add %7, %s : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1, %2, %4, %6, %8 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// (x*w * 2 + 0.5 + 1.5 * 2^23) - 1.5 * 2^23 rounds; what comes before that is folded.
// CHECK-LABEL: func @rounds
// CHECK: %[[D:.*]] = prim.dot
// CHECK-NOT: prim.mul
// CHECK: %[[S:.*]] = prim.add %[[D]]
// CHECK: %[[M:.*]] = prim.add %[[S]], %[[MAGIC:.*]] :
// CHECK: %[[Y:.*]] = prim.sub %[[M]], %[[MAGIC]]
// CHECK: return %[[Y]]
func.func @rounds(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = prim.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %two = prim.constant dense<2.0> : tensor<1x2xf32>
  %half = prim.constant dense<0.5> : tensor<1x2xf32>
  %magic = prim.constant dense<12582912.0> : tensor<1x2xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = prim.mul %0, %two : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %2 = prim.add %1, %half : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %3 = prim.add %2, %magic : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %4 = prim.sub %3, %magic : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  return %4 : tensor<1x2xf32>
}

// A filter would keep no weight that has all digits; one whose scale is 0, or that is 0, loses none.
// CHECK-LABEL: func @tiny
// CHECK: prim.dot
// CHECK: prim.mul
// CHECK: prim.dot
// CHECK-NOT: prim.mul
// CHECK: return
func.func @tiny(%x: tensor<1x2xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %w = prim.constant dense<[[1.0e-15, 2.0, 3.0], [2.0e-15, 4.0, 5.0]]> : tensor<2x3xf32>
  %v = prim.constant dense<[[1.0e-15, 2.0, 0.0], [2.0, 4.0, 0.0]]> : tensor<2x3xf32>
  %s = prim.constant dense<[1.0e-30, 0.0, 1.0e-30]> : tensor<3xf32>
  %c = prim.broadcast %s axes [1] sizes() : (tensor<3xf32>) -> tensor<1x3xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = prim.mul %0, %c : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  %2 = prim.dot %x, %v batch [] x [] contract [1] x [0] : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %3 = prim.mul %2, %c : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  return %1, %3 : tensor<1x3xf32>, tensor<1x3xf32>
}

// The sums of an integer product, scaled, biased and divided by the scale of the bytes that they become.
// CHECK-LABEL: func @sums
// CHECK: %[[SUMS:.*]] = prim.conv
// CHECK: %[[FLOAT:.*]] = prim.cast %[[SUMS]]
// CHECK: %[[SCALE:.*]] = prim.constant dense<[1.000000e+00, 1.500000e+00]> : tensor<2xf32>
// CHECK: %[[SCALES:.*]] = prim.broadcast %[[SCALE]] axes [1]
// CHECK: %[[SCALED:.*]] = prim.mul %[[FLOAT]], %[[SCALES]]
// CHECK: %[[SHIFT:.*]] = prim.constant dense<[5.000000e-01, 1.000000e+00]> : tensor<2xf32>
// CHECK: %[[SHIFTS:.*]] = prim.broadcast %[[SHIFT]] axes [1]
// CHECK: %[[Y:.*]] = prim.add %[[SCALED]], %[[SHIFTS]]
// CHECK: return %[[Y]]
func.func @sums(%x: tensor<1x1x8xui8>) -> tensor<1x2x6xf32> {
  %w = prim.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi8>
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64} : (tensor<1x1x8xui8>, tensor<2x1x3xi8>) -> tensor<1x2x6xi32>
  %1 = prim.cast %0 : (tensor<1x2x6xi32>) -> tensor<1x2x6xf32>
  %s = prim.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %2 = prim.broadcast %s axes [1] sizes() : (tensor<2xf32>) -> tensor<1x2x6xf32>
  %3 = prim.mul %1, %2 : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %b = prim.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %4 = prim.broadcast %b axes [1] sizes() : (tensor<2xf32>) -> tensor<1x2x6xf32>
  %5 = prim.add %3, %4 : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %y = prim.constant dense<2.0> : tensor<1x2x6xf32>
  %6 = prim.div %5, %y : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  return %6 : tensor<1x2x6xf32>
}
