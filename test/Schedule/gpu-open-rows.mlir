// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | tcc-opt | FileCheck %s
// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels -tcc-plan-memory | FileCheck %s --check-prefix=PLAN
// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels -tcc-plan-memory | FileCheck %s --check-prefix=SHARED
// A product of open rows has schedules for some numbers of them, first one tile a block, then tile after tile, and for many: the host
// program starts one of a few kernels.

// CHECK-LABEL: @main
// CHECK: {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = wgmma, threads = {{[0-9]+}}, vectors = {{[0-9]+}}, kept = {{[0-9]+}}, rows = {{[0-9]+}}, columns = {{[0-9]+}}, shared_bytes = {{[0-9]+}}{{[^<]*}}>>, below = {{[0-9]+}}, large = #kernel.by_size<{{.*}}large = #gpu.schedules<sm_90a = <form = wgmma, threads = 384, {{[^<]*}}most_blocks = 132>>>
// Also where mma.sync would take a few tiles of rows.
// CHECK: {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = wgmma, {{.*}}>>, below = {{[0-9]+}}, large = #gpu.schedules<sm_90a = <form = wgmma, {{[^<]*}}most_blocks = 132>>>

// Exact products of open rows have more: one row and a few are those of warps over columns, blocks share what few rows sum.
// CHECK: {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = skinny, threads = 128, columns = 1, depth = 1>>, below = 769, large = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = skinny, threads = 128, columns = {{[0-9]+}}, depth = 4>>, below = 3073, large = {{.*}}<form = product, {{[^<]*}}split = {{[0-9]+}}, scratch_bytes = {{[0-9]+}}>>, below = {{[0-9]+}}, large = #kernel.by_size<{{.*}}large = #gpu.schedules<sm_90a = <form = product, {{[^<]*}}depth = 16>>>
// CHECK: {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = skinny, threads = 128, columns = 1, depth = 1>>, below = 257, large = {{.*}}form = product, {{[^<]*}}shared_bytes = {{[0-9]+}}>>, below = {{[0-9]+}}, large = #gpu.schedules<sm_90a = <form = product, {{[^<]*}}shared_bytes = {{[0-9]+}}>>>

// Numbers of rows whose best costs hardly less than another's share that one's kernel: the best of each would be more than twice as many.
// SHARED-COUNT-28: host.kernel @k
// SHARED-NOT: host.kernel @k

// PLAN-LABEL: @main
// PLAN: %[[BELOW:.*]] = arith.constant {{[0-9]+}} : index
// PLAN: %[[SMALL:.*]] = arith.cmpi ult, %{{.*}}, %[[BELOW]] : index
// PLAN: scf.if %[[SMALL]] {
// PLAN-NEXT: host.launch @k0_dot ins(
// PLAN-NEXT: } else {
// PLAN: scf.if
// PLAN-NEXT: host.launch @k1_dot ins(
// PLAN-NEXT: } else {
// PLAN: host.kernel @k0_dot
// PLAN: schedule = #gpu.schedules<sm_90a = <form = wgmma, threads = {{[0-9]+}}, vectors = {{[0-9]+}}
// PLAN: host.kernel @k1_dot
func.func @main(%x: tensor<?x768xbf16> {graph.name = "x"}, %z: tensor<?x4096xbf16> {graph.name = "z"}, %r: tensor<?x768xf32> {graph.name = "r"}, %d: tensor<?x512xf64> {graph.name = "d"}) -> (tensor<?x768xbf16> {graph.name = "y"}, tensor<?x4096xbf16> {graph.name = "u"}, tensor<?x768xf32> {graph.name = "t"}, tensor<?x256xf64> {graph.name = "e"}) {
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
  %q = prim.weight "q" : tensor<256x512xf64>
  %p = prim.dim %d, 0 : tensor<?x512xf64>
  %e = kernel.launch contraction "dot" ins(%d, %q : tensor<?x512xf64>, tensor<256x512xf64>) sizes(%p) {
  ^bb0(%a: tensor<?x512xf64>, %b: tensor<256x512xf64>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<?x512xf64>, tensor<256x512xf64>) -> tensor<?x256xf64>
    kernel.yield %c : tensor<?x256xf64>
  } -> tensor<?x256xf64>
  return %y, %u, %t, %e : tensor<?x768xbf16>, tensor<?x4096xbf16>, tensor<?x768xf32>, tensor<?x256xf64>
}
