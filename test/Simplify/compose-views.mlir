// RUN: tcc-opt %s -tcc-simplify-compose-views | FileCheck %s

// CHECK-LABEL: func @heads
// CHECK-NEXT: %[[R:.*]] = prim.reshape %arg0 sizes() : (tensor<1x128x768xf32>) -> tensor<1x128x12x64xf32>
// CHECK-NEXT: %[[T:.*]] = prim.transpose %[[R]] [0, 2, 3, 1]
// CHECK-NEXT: return %[[T]]
func.func @heads(%x: tensor<1x128x768xf32>) -> tensor<1x12x64x128xf32> {
  %0 = prim.reshape %x sizes() : (tensor<1x128x768xf32>) -> tensor<1x128x12x64xf32>
  %1 = prim.transpose %0 [0, 2, 1, 3] : (tensor<1x128x12x64xf32>) -> tensor<1x12x128x64xf32>
  %2 = prim.reshape %1 sizes() : (tensor<1x12x128x64xf32>) -> tensor<12x128x64xf32>
  %3 = prim.transpose %2 [0, 2, 1] : (tensor<12x128x64xf32>) -> tensor<12x64x128xf32>
  %4 = prim.reshape %3 sizes() : (tensor<12x64x128xf32>) -> tensor<1x12x64x128xf32>
  return %4 : tensor<1x12x64x128xf32>
}

// Back in the order of the source: one reshape.
// CHECK-LABEL: func @tokens
// CHECK-NEXT: %[[R:.*]] = prim.reshape %arg0 sizes() : (tensor<2x14x14x768xf32>) -> tensor<2x196x768xf32>
// CHECK-NEXT: return %[[R]]
func.func @tokens(%x: tensor<2x14x14x768xf32>) -> tensor<2x196x768xf32> {
  %0 = prim.transpose %x [0, 3, 1, 2] : (tensor<2x14x14x768xf32>) -> tensor<2x768x14x14xf32>
  %1 = prim.reshape %0 sizes() : (tensor<2x768x14x14xf32>) -> tensor<2x768x196xf32>
  %2 = prim.transpose %1 [0, 2, 1] : (tensor<2x768x196xf32>) -> tensor<2x196x768xf32>
  return %2 : tensor<2x196x768xf32>
}

// An unknown extent is one factor.
// CHECK-LABEL: func @dynamic
// CHECK: %[[R:.*]] = prim.reshape %arg0 sizes(%{{.*}}) : (tensor<?x6xf32>) -> tensor<?x2x3xf32>
// CHECK-NEXT: %[[T:.*]] = prim.transpose %[[R]] [2, 0, 1]
// CHECK-NEXT: return %[[T]]
func.func @dynamic(%x: tensor<?x6xf32>) -> tensor<3x?x2xf32> {
  %n = prim.dim %x, 0 : tensor<?x6xf32>
  %0 = prim.reshape %x sizes(%n) : (tensor<?x6xf32>) -> tensor<?x2x3xf32>
  %1 = prim.transpose %0 [1, 0, 2] : (tensor<?x2x3xf32>) -> tensor<2x?x3xf32>
  %2 = prim.reshape %1 sizes(%n) : (tensor<2x?x3xf32>) -> tensor<2x?x3x1xf32>
  %3 = prim.transpose %2 [3, 2, 1, 0] : (tensor<2x?x3x1xf32>) -> tensor<1x3x?x2xf32>
  %4 = prim.reshape %3 sizes(%n) : (tensor<1x3x?x2xf32>) -> tensor<3x?x2xf32>
  return %4 : tensor<3x?x2xf32>
}

// Heads merged into the batch and split off again, the batch unknown: products of it are
// taken apart.
// CHECK-LABEL: func @heads_of_a_batch
// CHECK: %[[R:.*]] = prim.reshape %arg0 sizes(%{{.*}}) : (tensor<197x?x768xf32>) -> tensor<197x?x12x64xf32>
// CHECK-NEXT: %[[T:.*]] = prim.transpose %[[R]] [1, 2, 0, 3]
// CHECK-NEXT: return %[[T]]
func.func @heads_of_a_batch(%x: tensor<197x?x768xf32>) -> tensor<?x12x197x64xf32> {
  %n = prim.dim %x, 1 : tensor<197x?x768xf32>
  %c12 = arith.constant 12 : index
  %h = arith.muli %n, %c12 : index
  %0 = prim.reshape %x sizes(%h) : (tensor<197x?x768xf32>) -> tensor<197x?x64xf32>
  %1 = prim.transpose %0 [1, 0, 2] : (tensor<197x?x64xf32>) -> tensor<?x197x64xf32>
  %2 = prim.reshape %1 sizes(%n) : (tensor<?x197x64xf32>) -> tensor<?x12x197x64xf32>
  return %2 : tensor<?x12x197x64xf32>
}

// The product of another extent is no factor of it.
// CHECK-LABEL: func @heads_of_another
// CHECK: prim.reshape
// CHECK-NEXT: prim.transpose
// CHECK: prim.reshape
func.func @heads_of_another(%x: tensor<8x?x768xf32>, %n: index) -> tensor<?x12x8x64xf32> {
  %c12 = arith.constant 12 : index
  %h = arith.muli %n, %c12 : index
  %0 = prim.reshape %x sizes(%h) : (tensor<8x?x768xf32>) -> tensor<8x?x64xf32>
  %1 = prim.transpose %0 [1, 0, 2] : (tensor<8x?x64xf32>) -> tensor<?x8x64xf32>
  %2 = prim.reshape %1 sizes(%n) : (tensor<?x8x64xf32>) -> tensor<?x12x8x64xf32>
  return %2 : tensor<?x12x8x64xf32>
}

// Merging an unknown extent, or cutting across the factors, ends a chain.
// CHECK-LABEL: func @stays
// CHECK: prim.transpose %arg0 [1, 0]
// CHECK: prim.reshape
// CHECK: prim.transpose %arg1 [1, 0]
// CHECK: prim.reshape
func.func @stays(%x: tensor<4x6xf32>, %y: tensor<?x4xf32>, %n: index) -> (tensor<8x3xf32>, tensor<?xf32>) {
  %0 = prim.transpose %x [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = prim.reshape %0 sizes() : (tensor<6x4xf32>) -> tensor<8x3xf32>
  %2 = prim.transpose %y [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %3 = prim.reshape %2 sizes(%n) : (tensor<4x?xf32>) -> tensor<?xf32>
  return %1, %3 : tensor<8x3xf32>, tensor<?xf32>
}

// CHECK-LABEL: func @unit_axes
// CHECK-NEXT: %[[R:.*]] = prim.reshape %arg0 sizes() : (tensor<1x8x1x1xf32>) -> tensor<1x1x1x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @unit_axes(%x: tensor<1x8x1x1xf32>) -> tensor<1x1x1x8xf32> {
  %0 = prim.transpose %x [0, 2, 3, 1] : (tensor<1x8x1x1xf32>) -> tensor<1x1x1x8xf32>
  return %0 : tensor<1x1x1x8xf32>
}

// CHECK-LABEL: func @take_one
// CHECK: %[[S:.*]] = prim.slice %arg0 starts [2, 0]() steps [1, 1] sizes() : (tensor<3x5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT: prim.reshape %[[S]] sizes() : (tensor<1x5xf32>) -> tensor<5xf32>
func.func @take_one(%x: tensor<3x5xf32>) -> tensor<5xf32> {
  %i = prim.constant dense<2> : tensor<i64>
  %0 = prim.take %x, %i axis 0 : (tensor<3x5xf32>, tensor<i64>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// An index that the host knows is clamped there and the start of a slice.
// CHECK-LABEL: func @host_index
// CHECK: %[[LEAST:.*]] = arith.minsi %arg1, %{{.*}} : index
// CHECK: %[[START:.*]] = arith.maxsi %[[LEAST]], %{{.*}} : index
// CHECK: %[[S:.*]] = prim.slice %arg0 starts [0, {{.*}}](%[[START]]) steps [1, 1] sizes(%{{.*}}) : (tensor<?x?xf32>) -> tensor<?x1xf32>
// CHECK: %[[R:.*]] = prim.reshape %[[S]] sizes(%{{.*}}) : (tensor<?x1xf32>) -> tensor<?xf32>
// CHECK: return %[[R]]
func.func @host_index(%x: tensor<?x?xf32>, %i: index) -> tensor<?xf32> {
  %0 = prim.from_elements %i : (index) -> tensor<i64>
  %1 = prim.take %x, %0 axis 1 : (tensor<?x?xf32>, tensor<i64>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
