// RUN: tcc-opt %s -tcc-layout-filter-gradients -cse | FileCheck %s

// The taps of a window are one product of rows, whose right operand has the channels that all see.
// CHECK-LABEL: func @taps
// CHECK: %[[G:.*]] = prim.transpose {{.*}} [0, 2, 1] : (tensor<4x5x6xbf16>) -> tensor<4x6x5xbf16>
// CHECK: %[[L:.*]] = prim.reshape %[[G]] sizes() : (tensor<4x6x5xbf16>) -> tensor<24x5xbf16>
// CHECK: %[[T:.*]] = prim.transpose %arg1 [0, 2, 1] : (tensor<4x8x6xbf16>) -> tensor<4x6x8xbf16>
// CHECK: %[[X:.*]] = prim.pad %[[T]], {{.*}} low [0, 1, 0]{{.*}} -> tensor<4x7x8xbf16>
// CHECK: prim.slice %[[X]] starts [0, 0, 0]
// CHECK: prim.slice %[[X]] starts [0, 1, 0]
// CHECK: %[[C:.*]] = prim.concat {{.*}} axis 2 : {{.*}} -> tensor<4x6x2x8xbf16>
// CHECK: %[[R:.*]] = prim.reshape %[[C]] sizes() : (tensor<4x6x2x8xbf16>) -> tensor<24x16xbf16>
// CHECK: %[[D:.*]] = prim.dot %[[L]], %[[R]] batch [] x [] contract [0] x [0] : {{.*}} -> tensor<5x16xbf16>
// CHECK: %[[S:.*]] = prim.reshape %[[D]] sizes() : (tensor<5x16xbf16>) -> tensor<5x2x8xbf16>
// CHECK: prim.transpose %[[S]] [0, 2, 1] : (tensor<5x2x8xbf16>) -> tensor<5x8x2xbf16>
func.func @taps(%g: tensor<4x1x5x6xbf16>, %x: tensor<4x8x6xbf16>) -> tensor<1x5x8x2xbf16> {
  %zero = prim.constant dense<0.0> : tensor<bf16>
  %wide = prim.pad %x, %zero low [0, 0, 1]() interior [0, 0, 0] sizes() : (tensor<4x8x6xbf16>, tensor<bf16>) -> tensor<4x8x7xbf16>
  %0 = prim.slice %wide starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<4x8x7xbf16>) -> tensor<4x8x6xbf16>
  %1 = prim.reshape %0 sizes() : (tensor<4x8x6xbf16>) -> tensor<4x1x8x6xbf16>
  %2 = prim.dot %g, %1 batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x1x5x6xbf16>, tensor<4x1x8x6xbf16>) -> tensor<1x5x8xbf16>
  %3 = prim.reshape %2 sizes() : (tensor<1x5x8xbf16>) -> tensor<1x5x8x1xbf16>
  %4 = prim.slice %wide starts [0, 0, 1]() steps [1, 1, 1] sizes() : (tensor<4x8x7xbf16>) -> tensor<4x8x6xbf16>
  %5 = prim.reshape %4 sizes() : (tensor<4x8x6xbf16>) -> tensor<4x1x8x6xbf16>
  %6 = prim.dot %g, %5 batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x1x5x6xbf16>, tensor<4x1x8x6xbf16>) -> tensor<1x5x8xbf16>
  %7 = prim.reshape %6 sizes() : (tensor<1x5x8xbf16>) -> tensor<1x5x8x1xbf16>
  %8 = prim.concat %3, %7 axis 3 : (tensor<1x5x8x1xbf16>, tensor<1x5x8x1xbf16>) -> tensor<1x5x8x2xbf16>
  return %8 : tensor<1x5x8x2xbf16>
}

// Groups are products of all channels, of which each keeps its own, where there are few for matrix units.
// CHECK-LABEL: func @diagonal
// CHECK: %[[D:.*]] = prim.dot {{.*}} batch [] x [] contract [0] x [0] : (tensor<24x6xbf16>, tensor<24x10xbf16>) -> tensor<6x10xbf16>
// CHECK: %[[A:.*]] = prim.reshape {{.*}} -> tensor<2x3x1x2x5xbf16>
// CHECK: %[[O:.*]] = prim.compare eq
// CHECK: %[[K:.*]] = prim.select %[[O]], %[[A]]
// CHECK: prim.reduce sum %[[K]] [3] : (tensor<2x3x1x2x5xbf16>) -> tensor<2x3x1x5xbf16>
func.func @diagonal(%g: tensor<4x2x3x6xbf16>, %x: tensor<4x2x5x6xbf16>) -> tensor<2x3x5xbf16> {
  %0 = prim.dot %g, %x batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x2x3x6xbf16>, tensor<4x2x5x6xbf16>) -> tensor<2x3x5xbf16>
  return %0 : tensor<2x3x5xbf16>
}

// Groups of one channel each are sums of columns, in f32.
// CHECK-LABEL: func @groups
// CHECK-NOT: prim.dot
// CHECK: %[[M:.*]] = prim.mul {{.*}} : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
// CHECK: prim.reduce sum %[[M]] [0, 1] : (tensor<4x6x8xf32>) -> tensor<8xf32>
// CHECK: prim.reduce sum {{.*}} [0, 1] : (tensor<4x6x8xf32>) -> tensor<8xf32>
func.func @groups(%g: tensor<4x8x1x6xf32>, %x: tensor<4x8x1x6xf32>, %h: tensor<4x8x1x6xbf16>) -> (tensor<8x1x1xf32>, tensor<8x1x1xbf16>) {
  %0 = prim.dot %g, %x batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x8x1x6xf32>, tensor<4x8x1x6xf32>) -> tensor<8x1x1xf32>
  %1 = prim.dot %h, %h batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x8x1x6xbf16>, tensor<4x8x1x6xbf16>) -> tensor<8x1x1xbf16>
  return %0, %1 : tensor<8x1x1xf32>, tensor<8x1x1xbf16>
}

// Other groups of several channels stay, as do integers, open extents and products that sum something else.
// CHECK-LABEL: func @stay
// CHECK-NOT: prim.transpose
// CHECK-COUNT-4: prim.dot {{.*}} batch [1] x [1]
func.func @stay(%g: tensor<4x2x3x6xf32>, %x: tensor<4x2x5x6xf32>, %i: tensor<4x1x8x6xi32>, %o: tensor<?x1x8x6xf32>, %k: tensor<4x1x8x6xf32>) -> (tensor<2x3x5xf32>, tensor<1x8x8xi32>, tensor<1x8x8xf32>, tensor<1x4x8x4x8xf32>) {
  %0 = prim.dot %g, %x batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x2x3x6xf32>, tensor<4x2x5x6xf32>) -> tensor<2x3x5xf32>
  %1 = prim.dot %i, %i batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x1x8x6xi32>, tensor<4x1x8x6xi32>) -> tensor<1x8x8xi32>
  %2 = prim.dot %o, %o batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<?x1x8x6xf32>, tensor<?x1x8x6xf32>) -> tensor<1x8x8xf32>
  %3 = prim.dot %k, %k batch [1] x [1] contract [3] x [3] : (tensor<4x1x8x6xf32>, tensor<4x1x8x6xf32>) -> tensor<1x4x8x4x8xf32>
  return %0, %1, %2, %3 : tensor<2x3x5xf32>, tensor<1x8x8xi32>, tensor<1x8x8xf32>, tensor<1x4x8x4x8xf32>
}
