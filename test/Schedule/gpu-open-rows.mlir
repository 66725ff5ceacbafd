// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | tcc-opt | FileCheck %s
// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels -tcc-plan-memory | FileCheck %s --check-prefix=PLAN
// A product of open rows has a schedule for few of them, one tile a block, and one for many, tile after tile: the host
// program starts one of two kernels.

// CHECK-LABEL: @main
// CHECK: {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = wgmma, threads = {{[0-9]+}}, vectors = 8, kept = 8, rows = {{[0-9]+}}, columns = {{[0-9]+}}, shared_bytes = {{[0-9]+}}>>, below = [[BELOW:[0-9]+]], large = #gpu.schedules<sm_90a = <form = wgmma, threads = 384, {{.*}}most_blocks = 132>>>}
// Also where mma.sync would take a few tiles of rows.
// CHECK: {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = wgmma, {{.*}}>>, below = {{[0-9]+}}, large = #gpu.schedules<sm_90a = <form = wgmma, {{.*}}most_blocks = 132>>>}

// Exact products of open rows have more: blocks share what few rows sum, and indices of few are words.
// CHECK: {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = product, {{.*}}split = {{[0-9]+}}, scratch_bytes = {{[0-9]+}}, index_bits = 32>>, below = {{[0-9]+}}, large = #kernel.by_size<{{.*}}large = #gpu.schedules<sm_90a = <form = product, {{[^<]*}}depth = 16>>>

// PLAN-LABEL: @main
// PLAN: %[[BELOW:.*]] = arith.constant {{[0-9]+}} : index
// PLAN: %[[SMALL:.*]] = arith.cmpi ult, %{{.*}}, %[[BELOW]] : index
// PLAN: scf.if %[[SMALL]] {
// PLAN-NEXT: host.launch @k0_dot ins(
// PLAN-NEXT: } else {
// PLAN-NEXT: host.launch @k1_dot ins(
// PLAN-NEXT: }
// PLAN: host.kernel @k0_dot
// PLAN: schedule = #gpu.schedules<sm_90a = <form = wgmma, threads = {{[0-9]+}}, vectors = 8
// PLAN: host.kernel @k1_dot
// PLAN: schedule = #gpu.schedules<sm_90a = <form = wgmma, threads = 384
func.func @main(%x: tensor<?x768xbf16> {graph.name = "x"}, %z: tensor<?x4096xbf16> {graph.name = "z"}, %r: tensor<?x768xf32> {graph.name = "r"}) -> (tensor<?x768xbf16> {graph.name = "y"}, tensor<?x4096xbf16> {graph.name = "u"}, tensor<?x768xf32> {graph.name = "t"}) {
  %w = prim.weight "w" : tensor<768x768xbf16>
  %v = prim.weight "v" : tensor<4096x4096xbf16>
  %n = prim.dim %x, 0 : tensor<?x768xbf16>
  %m = prim.dim %z, 0 : tensor<?x4096xbf16>
  %y = kernel.launch contraction "dot" ins(%x, %w : tensor<?x768xbf16>, tensor<768x768xbf16>) sizes(%n) {
  ^bb0(%a: tensor<?x768xbf16>, %b: tensor<768x768xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<?x768xbf16>, tensor<768x768xbf16>) -> tensor<?x768xbf16>
    kernel.yield %c : tensor<?x768xbf16>
  } -> tensor<?x768xbf16>
  %u = kernel.launch contraction "dot" ins(%z, %v : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) sizes(%m) {
  ^bb0(%a: tensor<?x4096xbf16>, %b: tensor<4096x4096xbf16>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<?x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<?x4096xbf16>
    kernel.yield %c : tensor<?x4096xbf16>
  } -> tensor<?x4096xbf16>
  %s = prim.weight "s" : tensor<768x768xf32>
  %o = prim.dim %r, 0 : tensor<?x768xf32>
  %t = kernel.launch contraction "dot" ins(%r, %s : tensor<?x768xf32>, tensor<768x768xf32>) sizes(%o) {
  ^bb0(%a: tensor<?x768xf32>, %b: tensor<768x768xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<?x768xf32>, tensor<768x768xf32>) -> tensor<?x768xf32>
    kernel.yield %c : tensor<?x768xf32>
  } -> tensor<?x768xf32>
  return %y, %u, %t : tensor<?x768xbf16>, tensor<?x4096xbf16>, tensor<?x768xf32>
}
