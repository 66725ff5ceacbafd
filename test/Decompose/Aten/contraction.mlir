// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// CHECK-LABEL: func @linear
// CHECK: %[[V0:.*]] = prim.transpose %arg1 [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:.*]] = prim.dot %arg0, %[[V0]] batch [] x [] contract [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V2:.*]] = prim.broadcast %arg2 axes [1] sizes() : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V3:.*]] = prim.add %[[V1]], %[[V2]] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: return %[[V3]] : tensor<2x4xf32>
func.func @linear(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = graph.node "aten" "linear.default"(%x, %w, %b) {attrs = {bias = #graph.operand<2>, input = #graph.operand<0>, weight = #graph.operand<1>}} : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func @addmm
// CHECK: %[[V0:.*]] = prim.dot %arg1, %arg2 batch [] x [] contract [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V1:.*]] = prim.broadcast %arg0 axes [1] sizes() : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V2:.*]] = prim.add %[[V0]], %[[V1]] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: return %[[V2]] : tensor<2x4xf32>
func.func @addmm(%b: tensor<4xf32>, %x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.node "aten" "addmm.default"(%b, %x, %w) {attrs = {mat1 = #graph.operand<1>, mat2 = #graph.operand<2>, self = #graph.operand<0>}} : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// Distances between many rows come from a product, and none where that is ruled out.
// CHECK-LABEL: func @distances
// CHECK: %[[V0:.*]] = prim.transpose %arg1 [1, 0]
// CHECK: %[[V1:.*]] = prim.dot %arg0, %[[V0]] {{.*}} -> tensor<30x3xf32>
// CHECK: prim.sub
// CHECK: prim.maximum
// CHECK: prim.sqrt {{.*}} tensor<30x3xf32>
func.func @distances(%x: tensor<30x5xf32>, %y: tensor<3x5xf32>) -> tensor<30x3xf32> {
  %0 = graph.node "aten" "cdist.default"(%x, %y) {attrs = {x1 = #graph.operand<0>, x2 = #graph.operand<1>}} : (tensor<30x5xf32>, tensor<3x5xf32>) -> tensor<30x3xf32>
  return %0 : tensor<30x3xf32>
}

// CHECK-LABEL: func @exact_distances
// CHECK-NOT: prim.dot
// CHECK: prim.sub {{.*}} tensor<30x3x5xf32>
// CHECK: prim.reduce sum
func.func @exact_distances(%x: tensor<30x5xf32>, %y: tensor<3x5xf32>) -> tensor<30x3xf32> {
  %0 = graph.node "aten" "cdist.default"(%x, %y) {attrs = {compute_mode = 2 : i64, x1 = #graph.operand<0>, x2 = #graph.operand<1>}} : (tensor<30x5xf32>, tensor<3x5xf32>) -> tensor<30x3xf32>
  return %0 : tensor<30x3xf32>
}

// A label that stands twice is a diagonal, which is a slice.
// CHECK-LABEL: func @trace
// CHECK: %[[F:.*]] = prim.reshape %arg0 {{.*}} -> tensor<30x9801xf32>
// CHECK: %[[D:.*]] = prim.slice %[[F]]{{.*}}100{{.*}} -> tensor<30x99xf32>
// CHECK: prim.reduce sum %[[D]] [1]
// CHECK-NOT: prim.select
func.func @trace(%x: tensor<30x99x99xf32>) -> tensor<30xf32> {
  %0 = graph.node "aten" "einsum.default"(%x) {attrs = {equation = "bii->b", tensors = [#graph.operand<0>]}} : (tensor<30x99x99xf32>) -> tensor<30xf32>
  return %0 : tensor<30xf32>
}
