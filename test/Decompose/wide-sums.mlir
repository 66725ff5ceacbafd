// RUN: tcc-opt %s -tcc-decompose-wide-sums | FileCheck %s

// CHECK-LABEL: func @runs
// CHECK: %[[X:.*]] = prim.cast %{{.*}} : (tensor<2x4xf16>) -> tensor<2x4xf32>
// CHECK: %[[U:.*]] = prim.cast %{{.*}} : (tensor<9x4xf16>) -> tensor<9x4xf32>
// CHECK: %[[S:.*]] = prim.scatter_runs mul %[[X]], %{{.*}}, %[[U]]
// CHECK: %[[R:.*]] = prim.cast %[[S]] : (tensor<2x4xf32>) -> tensor<2x4xf16>
// CHECK: return %[[R]], %[[R]]
func.func @runs(%x: tensor<2x4xf16>, %i: tensor<2xi64>, %u: tensor<9x4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>) {
  %0 = prim.scatter_runs mul %x, %i, %u : (tensor<2x4xf16>, tensor<2xi64>, tensor<9x4xf16>) -> tensor<2x4xf16>
  return %0, %0 : tensor<2x4xf16>, tensor<2x4xf16>
}

// Of open extents nobody knows how often updates meet.
// CHECK-LABEL: func @open
// CHECK: prim.scatter_nd add %{{.*}} -> tensor<2x4xf32>
func.func @open(%x: tensor<2x4xbf16>, %i: tensor<?x1xi64>, %u: tensor<?x4xbf16>) -> tensor<2x4xbf16> {
  %0 = prim.scatter_nd add %x, %i, %u : (tensor<2x4xbf16>, tensor<?x1xi64>, tensor<?x4xbf16>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}

// Few updates, extrema and what is written round nothing, or little; f32 is wide enough.
// CHECK-LABEL: func @others
// CHECK-NOT: prim.cast
// CHECK: return
func.func @others(%x: tensor<99xbf16>, %i: tensor<9xi64>, %u: tensor<9xbf16>, %y: tensor<9xbf16>, %z: tensor<9xf32>, %w: tensor<9xf32>) -> (tensor<99xbf16>, tensor<9xbf16>, tensor<9xbf16>, tensor<9xf32>) {
  %0 = prim.scatter_along add %x, %i, %u axis 0 : (tensor<99xbf16>, tensor<9xi64>, tensor<9xbf16>) -> tensor<99xbf16>
  %1 = prim.scatter_along max %y, %i, %u axis 0 : (tensor<9xbf16>, tensor<9xi64>, tensor<9xbf16>) -> tensor<9xbf16>
  %2 = prim.scatter_along assign %y, %i, %u axis 0 : (tensor<9xbf16>, tensor<9xi64>, tensor<9xbf16>) -> tensor<9xbf16>
  %3 = prim.scatter_along add %z, %i, %w axis 0 : (tensor<9xf32>, tensor<9xi64>, tensor<9xf32>) -> tensor<9xf32>
  return %0, %1, %2, %3 : tensor<99xbf16>, tensor<9xbf16>, tensor<9xbf16>, tensor<9xf32>
}
