// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK-LABEL: @schedules
func.func @schedules(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>) -> tensor<4xf32> {
  // CHECK: {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 512>}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x8xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>):
    %b = prim.neg %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    kernel.yield %b : tensor<4x8xf32>
  } {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 512>} -> tensor<4x8xf32>
  // CHECK: {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline, grain_products = 131072>}
  %1 = kernel.launch contraction "dot" ins(%0, %y : tensor<4x8xf32>, tensor<8x2xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    kernel.yield %c : tensor<4x2xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline, grain_products = 131072>} -> tensor<4x2xf32>
  // CHECK: k_block = 4, a = in_place, b = copied, step_bytes = 2, matrix_tiles = true, epilogue = rolled>}
  %2 = kernel.launch contraction "dot" ins(%0, %y : tensor<4x8xf32>, tensor<8x2xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    kernel.yield %c : tensor<4x2xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, k_block = 4, a = in_place, b = copied, step_bytes = 2, matrix_tiles = true, epilogue = rolled>} -> tensor<4x2xf32>
  // CHECK: {schedule = #cpu.row_schedule<lanes = 1, grain = 4, kept = 16384>}
  %3 = kernel.launch row[1] "sum" ins(%1 : tensor<4x2xf32>) sizes() {
  ^bb0(%a: tensor<4x2xf32>):
    %b = prim.reduce sum %a [1] : (tensor<4x2xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } {schedule = #cpu.row_schedule<lanes = 1, grain = 4, kept = 16384>} -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: @attributes
// CHECK-SAME: attention = #cpu.attention_schedule<lanes = 8, vectors = 2, rows = 4, value_vectors = 2, value_rows = 4, task_rows = 16, keys = 64, split = 4, grain_products = 1>
// CHECK-SAME: blocks = #cpu.row_schedule<lanes = 16, grain = 1, kept = 32768, columns = 256>
// CHECK-SAME: by_matrix = #cpu.attention_schedule<lanes = 16, vectors = 2, rows = 32, value_vectors = 2, value_rows = 32, task_rows = 64, keys = 96, matrix_tiles = true, grain_products = 1>
// CHECK-SAME: copies = #cpu.loop_schedule<lanes = 8, chunk = 65536, grain = 1, copied_points = 4096>
// CHECK-SAME: joined = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 1, joined_axes = 3>
// CHECK-SAME: line = #cpu.line_schedule<lanes = 8, pixels = 6, vectors_per_task = 2>
// CHECK-SAME: loop = #cpu.loop_schedule<lanes = 8, axis = 2, chunk = 64, grain = 1, block_axis = 1, block_rows = 16>
// CHECK-SAME: past = #cpu.loop_schedule<lanes = 8, chunk = 4096, grain = 1, past_caches = true>
// CHECK-SAME: past_rows = #cpu.row_schedule<lanes = 16, grain = 4, kept = 16384, past_caches = true>
// CHECK-SAME: planes = #cpu.plane_schedule<lanes = 16, rows = 6, vectors = 3, lines = 4, columns = 56, channels = 21, grain_products = 131072>
// CHECK-SAME: rows = #cpu.row_schedule<lanes = 16, grain = 64, kept = 16384, across = true>
// CHECK-SAME: special = #cpu.special_schedule<lanes = 8, grain = 4>
// CHECK-SAME: winograd = #cpu.winograd_schedule<lanes = 8, vectors = 2, rows = 6, tiles_per_task = 3, panels_per_task = 1, least_tiles = 2>
func.func @attributes() attributes {
    blocks = #cpu.row_schedule<lanes = 16, grain = 1, kept = 32768, columns = 256>,
    attention = #cpu.attention_schedule<lanes = 8, vectors = 2, rows = 4, value_vectors = 2, value_rows = 4, task_rows = 16, keys = 64, split = 4, grain_products = 1>,
    by_matrix = #cpu.attention_schedule<lanes = 16, vectors = 2, rows = 32, value_vectors = 2, value_rows = 32, task_rows = 64, keys = 96, matrix_tiles = true, grain_products = 1>,
    copies = #cpu.loop_schedule<lanes = 8, chunk = 65536, grain = 1, copied_points = 4096>,
    joined = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 1, joined_axes = 3>,
    line = #cpu.line_schedule<lanes = 8, pixels = 6, vectors_per_task = 2>,
    planes = #cpu.plane_schedule<lanes = 16, rows = 6, vectors = 3, lines = 4, columns = 56, channels = 21, grain_products = 131072>,
    past = #cpu.loop_schedule<lanes = 8, chunk = 4096, grain = 1, past_caches = true>,
    past_rows = #cpu.row_schedule<lanes = 16, grain = 4, kept = 16384, past_caches = true>,
    rows = #cpu.row_schedule<lanes = 16, grain = 64, kept = 16384, across = true>,
    loop = #cpu.loop_schedule<lanes = 8, axis = 2, chunk = 64, grain = 1, block_axis = 1, block_rows = 16>,
    special = #cpu.special_schedule<lanes = 8, grain = 4>,
    winograd = #cpu.winograd_schedule<lanes = 8, vectors = 2, rows = 6, tiles_per_task = 3, panels_per_task = 1, least_tiles = 2>} {
  return
}
