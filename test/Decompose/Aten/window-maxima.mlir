// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// Where the maximum of each window is: slices, one for each element of a window, compared one after
// the other, of which a NaN counts. How far from the corner the best one is fits 32 bits; a window whose
// corner is outside begins with the first element inside.
// CHECK-LABEL: func @places
// CHECK-NOT: prim.take
// CHECK-NOT: prim.arg_reduce
// CHECK: %[[V:.*]] = prim.slice %[[X:.*]] starts [0, 0, 1, 1]() steps [1, 1, 2, 2]
// CHECK: %[[GT:.*]] = prim.compare gt %[[V]], %[[BEST:.*]] :
// CHECK: %[[NAN:.*]] = prim.compare ne %[[V]], %[[V]] :
// CHECK: %[[BETTER:.*]] = prim.or %[[GT]], %[[NAN]]
// CHECK: prim.select %[[BETTER]], %{{.*}} : (tensor<2x3x5x6xi1>, tensor<2x3x5x6xi32>, tensor<2x3x5x6xi32>) -> tensor<2x3x5x6xi32>
// CHECK: return
func.func @places(%x: tensor<2x3x8x10xf32>) -> (tensor<2x3x5x6xf32>, tensor<2x3x5x6xi64>) {
  %0:2 = graph.node "aten" "max_pool2d_with_indices.default"(%x) {attrs = {self = #graph.operand<0>, kernel_size = [2, 2], stride = [2, 2], padding = [1, 1]}} : (tensor<2x3x8x10xf32>) -> (tensor<2x3x5x6xf32>, tensor<2x3x5x6xi64>)
  return %0#0, %0#1 : tensor<2x3x5x6xf32>, tensor<2x3x5x6xi64>
}

// Where that compares half as much or less, one axis after the other, the last one first. A line's
// place is one in the plane; what lies outside has none, and whatever is inside comes before that.
// CHECK-LABEL: func @by_axes
// CHECK-COUNT-4: prim.slice %{{.*}} : (tensor<1x2x9x13xf32>) -> tensor<1x2x9x9xf32>
// CHECK: %[[NONE:.*]] = prim.constant dense<-1> : tensor<i32>
// CHECK: %[[PLACES:.*]] = prim.pad %{{.*}}, %[[NONE]] low [0, 0, 2, 0]
// CHECK: prim.slice %[[PLACES]] starts [0, 0, 0, 0]() {{.*}} -> tensor<1x2x9x9xi32>
// CHECK: prim.compare lt %{{.*}} : (tensor<1x2x9x9xi32>, tensor<1x2x9x9xi32>)
// CHECK-NOT: prim.arg_reduce
// CHECK: return
func.func @by_axes(%x: tensor<1x2x9x9xf32>) -> (tensor<1x2x9x9xf32>, tensor<1x2x9x9xi64>) {
  %0:2 = graph.node "aten" "max_pool2d_with_indices.default"(%x) {attrs = {self = #graph.operand<0>, kernel_size = [5, 5], stride = [1, 1], padding = [2, 2]}} : (tensor<1x2x9x9xf32>) -> (tensor<1x2x9x9xf32>, tensor<1x2x9x9xi64>)
  return %0#0, %0#1 : tensor<1x2x9x9xf32>, tensor<1x2x9x9xi64>
}

// Windows that are long along an axis are laid out as one.
// CHECK-LABEL: func @large
// CHECK: prim.arg_reduce
func.func @large(%x: tensor<1x1x33x33xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xi64>) {
  %0:2 = graph.node "aten" "max_pool2d_with_indices.default"(%x) {attrs = {self = #graph.operand<0>, kernel_size = [33, 33]}} : (tensor<1x1x33x33xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xi64>)
  return %0#0, %0#1 : tensor<1x1x1x1xf32>, tensor<1x1x1x1xi64>
}
