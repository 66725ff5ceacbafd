// RUN: tcc-opt %s -tcc-schedule-kernels | FileCheck %s
// Rows that L2 does not hold are cut into blocks that it holds, each by all panels of weights: 16 tiles of four rows. Where k is
// cut, by as many panels as there is room for sums.

// CHECK-LABEL: @main
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, rows = 4, {{.*}}, tiles_per_task = 16, panels_per_task = 32, a = in_place, b = in_place,
// CHECK: schedule = #cpu.contraction_schedule<{{.*}}, rows = 4, {{.*}}, tiles_per_task = 16, panels_per_task = 8, k_block = 768, a = in_place, b = in_place,
// Of an open number of rows, which may be few, panels stay and not the rows.
// CHECK: large = #cpu.contraction_schedule<{{.*}}, rows = 4, {{.*}}, tiles_per_task = 64, panels_per_task = 2, a = in_place, b = in_place,
#columns = #cpu.panels<k = [0], columns = 1, width = 24>
func.func @main(%x: tensor<2048x768xf32> {graph.name = "x"}, %z: tensor<512x3072xf32> {graph.name = "z"}, %y: tensor<?x768xf32> {graph.name = "y"})
    -> (tensor<2048x768xf32> {graph.name = "u"}, tensor<512x768xf32> {graph.name = "t"}, tensor<?x768xf32> {graph.name = "v"}) {
  %w = prim.weight "w" : tensor<768x768xf32, #columns>
  %long = prim.weight "long" : tensor<3072x768xf32, #columns>
  %n = prim.dim %y, 0 : tensor<?x768xf32>
  %u = kernel.launch contraction "dot" ins(%x, %w : tensor<2048x768xf32>, tensor<768x768xf32, #columns>) sizes() {
  ^bb0(%l: tensor<2048x768xf32>, %r: tensor<768x768xf32, #columns>):
    %p = prim.dot %l, %r batch [] x [] contract [1] x [0] : (tensor<2048x768xf32>, tensor<768x768xf32, #columns>) -> tensor<2048x768xf32>
    kernel.yield %p : tensor<2048x768xf32>
  } -> tensor<2048x768xf32>
  %t = kernel.launch contraction "dot" ins(%z, %long : tensor<512x3072xf32>, tensor<3072x768xf32, #columns>) sizes() {
  ^bb0(%l: tensor<512x3072xf32>, %r: tensor<3072x768xf32, #columns>):
    %p = prim.dot %l, %r batch [] x [] contract [1] x [0] : (tensor<512x3072xf32>, tensor<3072x768xf32, #columns>) -> tensor<512x768xf32>
    kernel.yield %p : tensor<512x768xf32>
  } -> tensor<512x768xf32>
  %v = kernel.launch contraction "dot" ins(%y, %w : tensor<?x768xf32>, tensor<768x768xf32, #columns>) sizes(%n) {
  ^bb0(%l: tensor<?x768xf32>, %r: tensor<768x768xf32, #columns>):
    %p = prim.dot %l, %r batch [] x [] contract [1] x [0] : (tensor<?x768xf32>, tensor<768x768xf32, #columns>) -> tensor<?x768xf32>
    kernel.yield %p : tensor<?x768xf32>
  } -> tensor<?x768xf32>
  return %u, %t, %v : tensor<2048x768xf32>, tensor<512x768xf32>, tensor<?x768xf32>
}
