// RUN: tcc-opt %s -split-input-file -tcc-test-fill-weights -tcc-layout-narrow=precision=bf16 -cse | FileCheck %s
// RUN: tcc-opt %s -split-input-file -tcc-test-fill-weights -tcc-layout-narrow=precision=f16 -cse | FileCheck %s --check-prefix=HALF
// RUN: tcc-opt %s -split-input-file -tcc-test-fill-weights -tcc-layout-narrow -cse | FileCheck %s --check-prefix=EXACT

// EXACT-NOT: bf16
// HALF-NOT: bf16

// Operands are narrow, sums are not; an input keeps its type, and so does what is only returned.
// CHECK-LABEL: func @product(%arg0: tensor<?x12xf32>) -> tensor<?x40xf32>
// CHECK-DAG: %[[W:.*]] = prim.weight "w" : tensor<12x40xf32>
// CHECK-DAG: %[[NW:.*]] = prim.cast %[[W]] : (tensor<12x40xf32>) -> tensor<12x40xbf16>
// CHECK-DAG: %[[NX:.*]] = prim.cast %arg0 : (tensor<?x12xf32>) -> tensor<?x12xbf16>
// CHECK: %[[Y:.*]] = prim.dot %[[NX]], %[[NW]] {{.*}} : (tensor<?x12xbf16>, tensor<12x40xbf16>) -> tensor<?x40xf32>
// CHECK-NEXT: return %[[Y]]
// HALF: prim.dot {{.*}} : (tensor<?x12xf16>, tensor<12x40xf16>) -> tensor<?x40xf32>
func.func @product(%x: tensor<?x12xf32>) -> tensor<?x40xf32> {
  %w = prim.weight "w" : tensor<12x40xf32>
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<?x12xf32>, tensor<12x40xf32>) -> tensor<?x40xf32>
  return %0 : tensor<?x40xf32>
}

// -----

// A residual block: each branch is rounded before they meet, the sum once for its readers, among
// them a norm, whose inside stays f32, through the view before the last product.
// CHECK-LABEL: func @residual
// CHECK: %[[P:.*]] = prim.dot
// CHECK: %[[B:.*]] = prim.add %[[P]]
// CHECK-NEXT: %[[NB:.*]] = prim.cast %[[B]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK-NEXT: %[[RB:.*]] = prim.cast %[[NB]] : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = prim.add {{.*}}%[[RB]]
// CHECK-NEXT: %[[NS:.*]] = prim.cast %[[S]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK-NEXT: %[[RS:.*]] = prim.cast %[[NS]] : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[M:.*]] = prim.reduce sum %[[RS]]
// CHECK-NEXT: %[[MM:.*]] = prim.broadcast %[[M]]
// CHECK-NEXT: %[[D:.*]] = prim.sub %[[RS]], %[[MM]]
// CHECK-NEXT: %[[Q:.*]] = prim.mul %[[D]], %[[D]]
// CHECK-NEXT: %[[ND:.*]] = prim.cast %[[Q]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK-NEXT: %[[T:.*]] = prim.transpose %[[ND]] [1, 0] : (tensor<4x8xbf16>) -> tensor<8x4xbf16>
// CHECK-NEXT: %[[E:.*]] = prim.dot %[[ND]], %[[T]]
// CHECK: return %[[E]], %[[RS]]
func.func @residual(%x: tensor<4x8xf32>, %r: tensor<4x8xf32>, %bias: tensor<8xf32>) -> (tensor<4x4xf32>, tensor<4x8xf32>) {
  %w = prim.weight "residual" : tensor<8x8xf32>
  %p = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %c = prim.constant dense<0.5> : tensor<4x8xf32>
  %b = prim.add %p, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = prim.add %r, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = prim.reduce sum %s [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %mm = prim.broadcast %m axes [0] sizes() : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = prim.sub %s, %mm : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = prim.mul %d, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = prim.transpose %q [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %e = prim.dot %q, %t batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %e, %s : tensor<4x4xf32>, tensor<4x8xf32>
}

// -----

// Elementwise operators that meet again are one kernel: only what leaves it is rounded.
// CHECK-LABEL: func @silu
// CHECK: %[[P:.*]] = prim.dot
// CHECK-NEXT: %[[L:.*]] = prim.logistic %[[P]]
// CHECK-NEXT: %[[M:.*]] = prim.mul %[[P]], %[[L]]
// CHECK-NEXT: %[[N:.*]] = prim.cast %[[M]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK-NEXT: prim.dot %[[N]]
func.func @silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = prim.weight "silu" : tensor<8x8xf32>
  %p = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %l = prim.logistic %p : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = prim.mul %p, %l : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = prim.dot %m, %w batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %q : tensor<4x8xf32>
}

// -----

// Scores stay f32 from the product to the end of the softmax, probabilities are an operand.
// CHECK-LABEL: func @attention
// CHECK: %[[S:.*]] = prim.dot {{.*}} -> tensor<4x4xf32>
// CHECK-NEXT: %[[X:.*]] = prim.add %[[S]], %arg3
// CHECK-NEXT: prim.reduce max %[[X]]
// CHECK-NOT: prim.cast
// CHECK: %[[Q:.*]] = prim.div
// CHECK-NEXT: %[[N:.*]] = prim.cast %[[Q]] : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT: prim.dot %[[N]]
func.func @attention(%q: tensor<4x8xf32>, %k: tensor<8x4xf32>, %v: tensor<4x8xf32>, %mask: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %s = prim.dot %q, %k batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %x = prim.add %s, %mask : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = prim.reduce max %x [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  %mm = prim.broadcast %m axes [0] sizes() : (tensor<4xf32>) -> tensor<4x4xf32>
  %d = prim.sub %x, %mm : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = prim.exp %d : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = prim.reduce sum %e [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  %zz = prim.broadcast %z axes [0] sizes() : (tensor<4xf32>) -> tensor<4x4xf32>
  %p = prim.div %e, %zz : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %o = prim.dot %p, %v batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Rows of a table are taken in the narrow type, and what moves them follows; a maximum over windows
// is exact.
// CHECK-LABEL: func @moves
// CHECK-DAG: %[[T:.*]] = prim.cast %{{.*}} : (tensor<10x8xf32>) -> tensor<10x8xbf16>
// CHECK: %[[R:.*]] = prim.take %[[T]], %arg0 axis 0 : (tensor<10x8xbf16>, tensor<4xi64>) -> tensor<4x8xbf16>
// CHECK: prim.reshape {{.*}} -> tensor<1x4x8xbf16>
// CHECK: prim.pool max {{.*}} -> tensor<1x4x4xbf16>
// CHECK: prim.cast {{.*}} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xf32>
func.func @moves(%i: tensor<4xi64>) -> tensor<1x4x4xf32> {
  %w = prim.weight "table" : tensor<10x8xf32>
  %t = prim.take %w, %i axis 0 : (tensor<10x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  %r = prim.reshape %t sizes() : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
  %p = prim.pool max %r sizes() {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>} : (tensor<1x4x8xf32>) -> tensor<1x4x4xf32>
  return %p : tensor<1x4x4xf32>
}

// -----

// Left alone: a product that sums nothing, one of weights beyond the range of f16 (the 70,000 numbers
// that fill this one), thresholds that are taken one by one, and other types.
// CHECK-LABEL: func @stays
// CHECK: prim.dot %arg0, %arg1 {{.*}} : (tensor<4x1xf32>, tensor<1x8xf32>)
// CHECK: prim.take {{.*}} -> tensor<4xf32>
// CHECK: prim.dot {{.*}} : (tensor<4x8xf64>, tensor<8x4xf64>)
// HALF-LABEL: func @stays
// HALF: prim.dot {{.*}} : (tensor<4x7xf32>, tensor<7x10000xf32>) -> tensor<4x10000xf32>
func.func @stays(%x: tensor<4x1xf32>, %y: tensor<1x8xf32>, %i: tensor<4xi64>, %a: tensor<4x8xf64>, %b: tensor<8x4xf64>, %z: tensor<4x7xf32>)
    -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4x4xf64>, tensor<4x10000xf32>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<4x1xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %w = prim.weight "thresholds" : tensor<10xf32>
  %t = prim.take %w, %i axis 0 : (tensor<10xf32>, tensor<4xi64>) -> tensor<4xf32>
  %d = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf64>, tensor<8x4xf64>) -> tensor<4x4xf64>
  %v = prim.weight "large" : tensor<7x10000xf32>
  %l = prim.dot %z, %v batch [] x [] contract [1] x [0] : (tensor<4x7xf32>, tensor<7x10000xf32>) -> tensor<4x10000xf32>
  return %0, %t, %d, %l : tensor<4x8xf32>, tensor<4xf32>, tensor<4x4xf64>, tensor<4x10000xf32>
}
