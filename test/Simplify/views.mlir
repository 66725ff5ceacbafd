// RUN: tcc-opt %s -tcc-simplify-views | FileCheck %s

// CHECK-LABEL: func @undone
// CHECK-NEXT: return %arg0, %arg0, %arg0
func.func @undone(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = prim.transpose %x [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = prim.transpose %0 [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  %2 = prim.reshape %x sizes() : (tensor<2x3x4xf32>) -> tensor<24xf32>
  %3 = prim.reshape %2 sizes() : (tensor<24xf32>) -> tensor<2x3x4xf32>
  %4 = prim.reverse %x [0, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %5 = prim.reverse %4 [0, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %1, %3, %5 : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: func @dynamic
// CHECK-NEXT: return %arg0
func.func @dynamic(%x: tensor<?x4xf32>, %n: index, %m: index) -> tensor<?x4xf32> {
  %0 = prim.reshape %x sizes(%m) : (tensor<?x4xf32>) -> tensor<?xf32>
  %1 = prim.reshape %0 sizes(%n) : (tensor<?xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// CHECK-LABEL: func @split_and_concat
// CHECK-NEXT: return %arg0
func.func @split_and_concat(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %0 = prim.slice %x starts [0, 0]() steps [1, 1] sizes() : (tensor<2x6xf32>) -> tensor<2x2xf32>
  %1 = prim.slice %x starts [0, 2]() steps [1, 1] sizes() : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %2 = prim.slice %x starts [0, 5]() steps [1, 1] sizes() : (tensor<2x6xf32>) -> tensor<2x1xf32>
  %3 = prim.concat %0, %1, %2 axis 1 : (tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x6xf32>
  return %3 : tensor<2x6xf32>
}

// CHECK-LABEL: func @concat_and_split
// CHECK-NEXT: return %arg1
func.func @concat_and_split(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = prim.concat %x, %y axis 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  %1 = prim.slice %0 starts [0, 3]() steps [1, 1] sizes() : (tensor<2x7xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func @composed
// CHECK-NEXT: %[[S:.*]] = prim.slice %arg0 starts [7]() steps [-6]
// CHECK-NEXT: %[[B:.*]] = prim.broadcast %arg1 axes [2] sizes()
// CHECK-NEXT: return %[[S]], %[[B]]
func.func @composed(%x: tensor<20xf32>, %y: tensor<3xf32>) -> (tensor<2xf32>, tensor<5x2x3xf32>) {
  %0 = prim.slice %x starts [1]() steps [3] sizes() : (tensor<20xf32>) -> tensor<6xf32>
  %1 = prim.slice %0 starts [2]() steps [-2] sizes() : (tensor<6xf32>) -> tensor<2xf32>
  %2 = prim.broadcast %y axes [1] sizes() : (tensor<3xf32>) -> tensor<2x3xf32>
  %3 = prim.broadcast %2 axes [1, 2] sizes() : (tensor<2x3xf32>) -> tensor<5x2x3xf32>
  return %1, %3 : tensor<2xf32>, tensor<5x2x3xf32>
}

// Two unknown extents may trade places; a slice may touch both operands; slices
// apart, or in another order, are not the whole.
// CHECK-LABEL: func @stays
// CHECK: prim.reshape
// CHECK: prim.concat
// CHECK: prim.slice
// CHECK: prim.slice
// CHECK: prim.slice
// CHECK: prim.concat
func.func @stays(%x: tensor<?x?xf32>, %n: index, %m: index, %y: tensor<4xf32>)
    -> (tensor<?x?xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = prim.reshape %x sizes(%n, %m) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = prim.concat %y, %y axis 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %2 = prim.slice %1 starts [2]() steps [1] sizes() : (tensor<8xf32>) -> tensor<4xf32>
  %3 = prim.slice %y starts [2]() steps [1] sizes() : (tensor<4xf32>) -> tensor<2xf32>
  %4 = prim.slice %y starts [0]() steps [1] sizes() : (tensor<4xf32>) -> tensor<2xf32>
  %5 = prim.concat %3, %4 axis 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0, %2, %5 : tensor<?x?xf32>, tensor<4xf32>, tensor<4xf32>
}

// More than 32 operands become a tree.
// CHECK-LABEL: func @wide_concat
// CHECK-COUNT-3: prim.concat %arg0, {{.*}} -> tensor<{{64|12}}xf32>
// CHECK: prim.concat %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} axis 0 : (tensor<64xf32>, tensor<64xf32>, tensor<12xf32>) -> tensor<140xf32>
func.func @wide_concat(%x: tensor<2xf32>) -> tensor<140xf32> {
  %0 = prim.concat %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x axis 0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<140xf32>
  return %0 : tensor<140xf32>
}
