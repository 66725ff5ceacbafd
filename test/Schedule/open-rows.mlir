// RUN: tcc-opt %s -tcc-schedule-kernels | FileCheck %s
// RUN: tcc-opt %s -tcc-schedule-kernels | tcc-opt | FileCheck %s
// RUN: tcc-opt %s -tcc-schedule-kernels -tcc-plan-memory | FileCheck %s --check-prefix=PLAN
// A product of open rows has a schedule for a single row, which waits for memory, and one for more; where the second
// operand comes at run time one for the rows of a tile too, which do not copy it.

// CHECK-LABEL: @main
// CHECK: {schedule = #kernel.by_size<small = #cpu.contraction_schedule<lanes = 8, vectors = 3, rows = 1, {{.*}}, single_tile = true>, below = 769, large = #cpu.contraction_schedule<lanes = 8, vectors = 3, rows = 4, {{.*}}>>}
// Not where columns are not known either, nor a batch.
// CHECK: {schedule = #cpu.contraction_schedule<
// CHECK: {schedule = #cpu.contraction_schedule<

// CHECK-LABEL: @few
// CHECK: {schedule = #kernel.by_size<small = #cpu.contraction_schedule<{{.*}}, single_tile = true>, below = 769, large = #kernel.by_size<small = #cpu.contraction_schedule<{{.*}}, rows = 4, {{.*}}, b = in_place, {{.*}}>, below = 3073, large = #cpu.contraction_schedule<{{.*}}, b = copied, {{.*}}>>>}
// CHECK: {schedule = #kernel.by_size<small = #cpu.contraction_schedule<{{.*}}, single_tile = true>, below = 769, large = #kernel.by_size<small = #cpu.contraction_schedule<{{.*}}, b = in_place, {{.*}}>, below = 3073, large = #cpu.contraction_schedule<{{.*}}, b = copied, {{.*}}>>>}
// Weights that are widened: a few rows lie across several panels.
// CHECK: {schedule = #kernel.by_size<small = #cpu.contraction_schedule<{{.*}}, rows = 1, {{.*}}, single_tile = true>, below = 769, large = #kernel.by_size<small = #cpu.contraction_schedule<{{.*}}, rows = 2, {{.*}}, panels_per_task = 2, {{.*}}, single_tile = true>, below = 1537, large = #cpu.contraction_schedule<{{.*}}, rows = 4, {{.*}}>>>}

// PLAN-LABEL: @main
// PLAN: %[[BELOW:.*]] = arith.constant 769 : index
// PLAN: %[[SMALL:.*]] = arith.cmpi ult, %{{.*}}, %[[BELOW]] : index
// PLAN: scf.if %[[SMALL]] {
// PLAN-NEXT: host.launch @k0_dot ins(
// PLAN-NEXT: } else {
// PLAN-NEXT: host.launch @k1_dot ins(
#columns = #cpu.panels<k = [0], columns = 1, width = 24>
func.func @main(%x: tensor<?x512xf32> {graph.name = "x"}, %y: tensor<?x512xf32> {graph.name = "y"}, %b: tensor<3x?x64xf32> {graph.name = "b"}, %c: tensor<3x64x64xf32> {graph.name = "c"})
    -> (tensor<?x768xf32> {graph.name = "u"}, tensor<?x?xf32> {graph.name = "v"}, tensor<3x?x64xf32> {graph.name = "w"}) {
  %weights = prim.weight "w" : tensor<512x768xf32, #columns>
  %n = prim.dim %x, 0 : tensor<?x512xf32>
  %m = prim.dim %y, 0 : tensor<?x512xf32>
  %o = prim.dim %b, 1 : tensor<3x?x64xf32>
  %u = kernel.launch contraction "dot" ins(%x, %weights : tensor<?x512xf32>, tensor<512x768xf32, #columns>) sizes(%n) {
  ^bb0(%l: tensor<?x512xf32>, %r: tensor<512x768xf32, #columns>):
    %p = prim.dot %l, %r batch [] x [] contract [1] x [0] : (tensor<?x512xf32>, tensor<512x768xf32, #columns>) -> tensor<?x768xf32>
    kernel.yield %p : tensor<?x768xf32>
  } -> tensor<?x768xf32>
  %v = kernel.launch contraction "dot" ins(%x, %y : tensor<?x512xf32>, tensor<?x512xf32>) sizes(%n, %m) {
  ^bb0(%l: tensor<?x512xf32>, %r: tensor<?x512xf32>):
    %p = prim.dot %l, %r batch [] x [] contract [1] x [1] : (tensor<?x512xf32>, tensor<?x512xf32>) -> tensor<?x?xf32>
    kernel.yield %p : tensor<?x?xf32>
  } -> tensor<?x?xf32>
  %w = kernel.launch contraction "dot" ins(%b, %c : tensor<3x?x64xf32>, tensor<3x64x64xf32>) sizes(%o) {
  ^bb0(%l: tensor<3x?x64xf32>, %r: tensor<3x64x64xf32>):
    %p = prim.dot %l, %r batch [0] x [0] contract [2] x [1] : (tensor<3x?x64xf32>, tensor<3x64x64xf32>) -> tensor<3x?x64xf32>
    kernel.yield %p : tensor<3x?x64xf32>
  } -> tensor<3x?x64xf32>
  return %u, %v, %w : tensor<?x768xf32>, tensor<?x?xf32>, tensor<3x?x64xf32>
}

func.func @few(%x: tensor<?x512xf32> {graph.name = "x"}, %far: tensor<?x4096xf32> {graph.name = "far"}, %y: tensor<4096x768xf32> {graph.name = "y"}, %z: tensor<768x512xf32> {graph.name = "z"})
    -> (tensor<?x768xf32> {graph.name = "u"}, tensor<?x768xf32> {graph.name = "v"}, tensor<?x768xf32> {graph.name = "w"}) {
  %n = prim.dim %x, 0 : tensor<?x512xf32>
  %m = prim.dim %far, 0 : tensor<?x4096xf32>
  %u = kernel.launch contraction "dot" ins(%far, %y : tensor<?x4096xf32>, tensor<4096x768xf32>) sizes(%m) {
  ^bb0(%l: tensor<?x4096xf32>, %r: tensor<4096x768xf32>):
    %p = prim.dot %l, %r batch [] x [] contract [1] x [0] : (tensor<?x4096xf32>, tensor<4096x768xf32>) -> tensor<?x768xf32>
    kernel.yield %p : tensor<?x768xf32>
  } -> tensor<?x768xf32>
  %v = kernel.launch contraction "dot" ins(%x, %z : tensor<?x512xf32>, tensor<768x512xf32>) sizes(%n) {
  ^bb0(%l: tensor<?x512xf32>, %r: tensor<768x512xf32>):
    %p = prim.dot %l, %r batch [] x [] contract [1] x [1] : (tensor<?x512xf32>, tensor<768x512xf32>) -> tensor<?x768xf32>
    kernel.yield %p : tensor<?x768xf32>
  } -> tensor<?x768xf32>
  %weights = prim.weight "i" : tensor<512x768xi8, #columns>
  %w = kernel.launch contraction "dot" ins(%x, %weights : tensor<?x512xf32>, tensor<512x768xi8, #columns>) sizes(%n) {
  ^bb0(%l: tensor<?x512xf32>, %r: tensor<512x768xi8, #columns>):
    %p = prim.dot %l, %r batch [] x [] contract [1] x [0] : (tensor<?x512xf32>, tensor<512x768xi8, #columns>) -> tensor<?x768xf32>
    kernel.yield %p : tensor<?x768xf32>
  } -> tensor<?x768xf32>
  return %u, %v, %w : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?x768xf32>
}
