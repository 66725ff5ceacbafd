// RUN: tcc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{chunk is 0, at least 1}}
func.func @f() attributes {s = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 0, grain = 1>} {
  return
}

// -----

// expected-error @+1 {{block_axis is 1, which is not before axis 1}}
func.func @f() attributes {s = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 64, grain = 1, block_axis = 1, block_rows = 4>} {
  return
}

// -----

// expected-error @+1 {{a block of rows is read across, so that no run of them is copied}}
func.func @f() attributes {s = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 64, grain = 1, block_axis = 0, block_rows = 4, copied_points = 8>} {
  return
}

// -----

// expected-error @+1 {{a block of rows has no line of its own for windows}}
func.func @f() attributes {s = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 64, grain = 1, block_axis = 0, block_rows = 4, window_lines = true>} {
  return
}

// -----

// expected-error @+1 {{one row shares nothing}}
func.func @f() attributes {s = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 64, grain = 1, shared = true>} {
  return
}

// -----

// expected-error @+1 {{kept is -1, at least 0}}
func.func @f() attributes {s = #cpu.row_schedule<lanes = 8, grain = 1, kept = -1>} {
  return
}

// -----

// expected-error @+1 {{k_block is 0, at least 1}}
func.func @f() attributes {s = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, k_block = 0, a = in_place, b = in_place, epilogue = inline>} {
  return
}

// -----

// expected-error @+1 {{matrix_tiles take rows in place, at most 32, and several elements of k at a time}}
func.func @f() attributes {s = #cpu.contraction_schedule<lanes = 16, vectors = 1, rows = 33, unroll = 1, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, step_bytes = 2, matrix_tiles = true, epilogue = rolled>} {
  return
}

// -----

// expected-error @+1 {{single_tile leaves no choice of tiles, of which least_tiles tells}}
func.func @f() attributes {s = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline, least_tiles = 2, single_tile = true>} {
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>) {
  // expected-error @+1 {{has rows that are known, so that single_tile says nothing}}
  %0 = kernel.launch contraction "dot" ins(%x, %y : tensor<4x8xf32>, tensor<8x2xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    kernel.yield %c : tensor<4x2xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 1, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline, single_tile = true>} -> tensor<4x2xf32>
  return
}

// -----

// expected-error @+1 {{b is 'gathered', which only a can be}}
func.func @f() attributes {s = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = gathered, epilogue = inline>} {
  return
}

// -----

// expected-error @+1 {{least_tiles is 0, at least 1}}
func.func @f() attributes {s = #cpu.winograd_schedule<lanes = 8, vectors = 2, rows = 6, tiles_per_task = 3, panels_per_task = 1, least_tiles = 0>} {
  return
}

// -----

// expected-error @+1 {{rows is 0, at least 1}}
func.func @f() attributes {s = #cpu.winograd_schedule<lanes = 8, vectors = 2, rows = 0, tiles_per_task = 3, panels_per_task = 1>} {
  return
}

// -----

// expected-error @+1 {{pixels is 0, at least 1}}
func.func @f() attributes {s = #cpu.line_schedule<lanes = 8, pixels = 0, vectors_per_task = 2>} {
  return
}

// -----

// expected-error @+1 {{lines is 0, at least 1}}
func.func @f() attributes {s = #cpu.plane_schedule<lanes = 8, rows = 6, vectors = 3, lines = 0, columns = 56, channels = 21, grain_products = 1>} {
  return
}

// -----

// expected-error @+1 {{grain is 0, at least 1}}
func.func @f() attributes {s = #cpu.special_schedule<lanes = 8, grain = 0>} {
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{of kind 'loop' cannot run by a row_schedule}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  } {schedule = #cpu.row_schedule<lanes = 8, grain = 4, kept = 0>} -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<400x?xf32>) {
  // expected-error @+1 {{has rows of an open length, which cannot lie across lanes}}
  %0 = kernel.launch row[1] "sum" ins(%x : tensor<400x?xf32>) sizes() {
  ^bb0(%a: tensor<400x?xf32>):
    %b = prim.reduce sum %a [1] : (tensor<400x?xf32>) -> tensor<400xf32>
    kernel.yield %b : tensor<400xf32>
  } {schedule = #cpu.row_schedule<lanes = 8, grain = 32, kept = 0, across = true>} -> tensor<400xf32>
  return
}

// -----

func.func @f(%x: tensor<400x5xf32>) {
  // expected-error @+1 {{stores more than an element a row, so that rows cannot lie across lanes}}
  %0 = kernel.launch row[1] "shift" ins(%x : tensor<400x5xf32>) sizes() {
  ^bb0(%a: tensor<400x5xf32>):
    %b = prim.reduce sum %a [1] : (tensor<400x5xf32>) -> tensor<400xf32>
    %c = prim.broadcast %b axes [0] sizes() : (tensor<400xf32>) -> tensor<400x5xf32>
    %d = prim.sub %a, %c : (tensor<400x5xf32>, tensor<400x5xf32>) -> tensor<400x5xf32>
    kernel.yield %d : tensor<400x5xf32>
  } {schedule = #cpu.row_schedule<lanes = 8, grain = 32, kept = 0, across = true>} -> tensor<400x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{of rank 1 has no axis 1}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  } {schedule = #cpu.loop_schedule<lanes = 4, axis = 1, chunk = 64, grain = 1>} -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x?xf32>, %n: index) {
  // expected-error @+1 {{has an open extent after axis 0}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x?xf32>) sizes(%n) {
  ^bb0(%a: tensor<4x?xf32>):
    kernel.yield %a : tensor<4x?xf32>
  } {schedule = #cpu.loop_schedule<lanes = 4, chunk = 64, grain = 1>} -> tensor<4x?xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>) {
  // expected-error @+1 {{of kind 'contraction' has no taps, so a cannot be 'pointers'}}
  %1 = kernel.launch contraction "dot" ins(%x, %y : tensor<4x8xf32>, tensor<8x2xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    kernel.yield %c : tensor<4x2xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = pointers, b = in_place, epilogue = inline>} -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>) {
  // expected-error @+1 {{has no transformed weights for a winograd_schedule}}
  %1 = kernel.launch contraction "dot" ins(%x, %y : tensor<4x8xf32>, tensor<8x2xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    kernel.yield %c : tensor<4x2xf32>
  } {schedule = #cpu.winograd_schedule<lanes = 8, vectors = 2, rows = 6, tiles_per_task = 3, panels_per_task = 1>} -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x9xf32, #cpu.panels<k = [0], columns = 1, width = 16>>) {
  // expected-error @+1 {{has panels of 16 columns, but its schedule reads 8}}
  %1 = kernel.launch contraction "k" ins(%x, %w : tensor<4x8xf32>, tensor<8x9xf32, #cpu.panels<k = [0], columns = 1, width = 16>>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x9xf32, #cpu.panels<k = [0], columns = 1, width = 16>>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x9xf32, #cpu.panels<k = [0], columns = 1, width = 16>>) -> tensor<4x9xf32>
    kernel.yield %c : tensor<4x9xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline>} -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x9xf32, #cpu.panels<k = [0], columns = 1, width = 8, groups = 3>>) {
  // expected-error @+1 {{has packed weights, which are not those of rows times columns}}
  %1 = kernel.launch contraction "k" ins(%x, %w : tensor<4x8xf32>, tensor<8x9xf32, #cpu.panels<k = [0], columns = 1, width = 8, groups = 3>>) sizes() {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x9xf32, #cpu.panels<k = [0], columns = 1, width = 8, groups = 3>>):
    %c = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x9xf32, #cpu.panels<k = [0], columns = 1, width = 8, groups = 3>>) -> tensor<4x9xf32>
    kernel.yield %c : tensor<4x9xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline>} -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x32x9x9xf32>, %w: tensor<16x32x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16>>) {
  // expected-error @+1 {{has packed weights, which need channels last and no dilated input}}
  %1 = kernel.launch convolution "k" ins(%x, %w : tensor<1x32x9x9xf32>, tensor<16x32x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16>>) sizes() {
  ^bb0(%a: tensor<1x32x9x9xf32>, %b: tensor<16x32x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16>>):
    %c = prim.conv %a, %b sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x32x9x9xf32>, tensor<16x32x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16>>) -> tensor<1x16x9x9xf32>
    kernel.yield %c : tensor<1x16x9x9xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 2, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline>} -> tensor<1x16x9x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x9x9x32xf32>, %w: tensor<16x32x3x3xf32, #cpu.panels<k = [1, 2, 3], columns = 0, width = 16>>) {
  // expected-error @+1 {{has packed weights, in which taps do not come before channels}}
  %1 = kernel.launch convolution "k" ins(%x, %w : tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #cpu.panels<k = [1, 2, 3], columns = 0, width = 16>>) sizes() {
  ^bb0(%a: tensor<1x9x9x32xf32>, %b: tensor<16x32x3x3xf32, #cpu.panels<k = [1, 2, 3], columns = 0, width = 16>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #cpu.panels<k = [1, 2, 3], columns = 0, width = 16>>) -> tensor<1x9x9x16xf32>
    kernel.yield %c : tensor<1x9x9x16xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 2, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline>} -> tensor<1x9x9x16xf32>
  return
}

// -----

func.func @f(%x: tensor<1x9x9x32xf32>, %w: tensor<16x32x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16, groups = 2>>) {
  // expected-error @+1 {{has 1 groups, its panels 2 groups}}
  %1 = kernel.launch convolution "k" ins(%x, %w : tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16, groups = 2>>) sizes() {
  ^bb0(%a: tensor<1x9x9x32xf32>, %b: tensor<16x32x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16, groups = 2>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16, groups = 2>>) -> tensor<1x9x9x16xf32>
    kernel.yield %c : tensor<1x9x9x16xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 2, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline>} -> tensor<1x9x9x16xf32>
  return
}

// -----

func.func @f(%x: tensor<1x9x9x32xf32>, %w: tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) {
  // expected-error @+1 {{has transformed weights, which only a winograd_schedule reads}}
  %1 = kernel.launch convolution "k" ins(%x, %w : tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) sizes() {
  ^bb0(%a: tensor<1x9x9x32xf32>, %b: tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) -> tensor<1x9x9x16xf32>
    kernel.yield %c : tensor<1x9x9x16xf32>
  } {schedule = #cpu.contraction_schedule<lanes = 8, vectors = 2, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline>} -> tensor<1x9x9x16xf32>
  return
}

// -----

func.func @f(%x: tensor<1x9x9x32xf32>, %w: tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) {
  // expected-error @+1 {{is in tiles, which need stride and dilation 1}}
  %1 = kernel.launch convolution "k" ins(%x, %w : tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) sizes() {
  ^bb0(%a: tensor<1x9x9x32xf32>, %b: tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x9x9x32xf32>, tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) -> tensor<1x5x5x16xf32>
    kernel.yield %c : tensor<1x5x5x16xf32>
  } {schedule = #cpu.winograd_schedule<lanes = 8, vectors = 2, rows = 6, tiles_per_task = 3, panels_per_task = 1>} -> tensor<1x5x5x16xf32>
  return
}

// -----

func.func @f(%x: tensor<1x9x9x64xf32>, %w: tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) {
  // expected-error @+1 {{is in tiles, with panels of several groups}}
  %1 = kernel.launch convolution "k" ins(%x, %w : tensor<1x9x9x64xf32>, tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) sizes() {
  ^bb0(%a: tensor<1x9x9x64xf32>, %b: tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>):
    %c = prim.conv %a, %b sizes() {channels_last = true, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<1x9x9x64xf32>, tensor<16x32x3x3xf32, #cpu.winograd<width = 16>>) -> tensor<1x9x9x16xf32>
    kernel.yield %c : tensor<1x9x9x16xf32>
  } {schedule = #cpu.winograd_schedule<lanes = 8, vectors = 2, rows = 6, tiles_per_task = 3, panels_per_task = 1>} -> tensor<1x9x9x16xf32>
  return
}

// -----

// expected-error @+1 {{value_rows is 0, at least 1}}
func.func @f() attributes {s = #cpu.attention_schedule<lanes = 8, vectors = 2, rows = 4, value_vectors = 2, value_rows = 0, task_rows = 16, keys = 64, grain_products = 1>} {
  return
}

// -----

// expected-error @+1 {{matrix_tiles have 32 rows and two vectors of 16 lanes}}
func.func @f() attributes {s = #cpu.attention_schedule<lanes = 16, vectors = 2, rows = 32, value_vectors = 2, value_rows = 6, task_rows = 32, keys = 64, matrix_tiles = true, grain_products = 1>} {
  return
}

// -----

// expected-error @+1 {{keys is 60, no multiple of panels of 16}}
func.func @f() attributes {s = #cpu.attention_schedule<lanes = 8, vectors = 2, rows = 4, value_vectors = 2, value_rows = 4, task_rows = 16, keys = 60, grain_products = 1>} {
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{of kind 'loop' cannot run by an attention_schedule}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  } {schedule = #cpu.attention_schedule<lanes = 8, vectors = 2, rows = 4, value_vectors = 2, value_rows = 4, task_rows = 16, keys = 64, grain_products = 1>} -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{lanes is 4294967296, at most 1024}}
func.func @f() attributes {s = #cpu.contraction_schedule<lanes = 4294967296, vectors = 1, rows = 4, unroll = 2, tiles_per_task = 1, panels_per_task = 1, a = in_place, b = in_place, epilogue = inline>} {
  return
}

// -----

// expected-error @+1 {{rows is 1025, at most 1024}}
func.func @f() attributes {s = #cpu.winograd_schedule<lanes = 8, vectors = 1, rows = 1025, tiles_per_task = 1, panels_per_task = 1>} {
  return
}

// -----

// expected-error @+1 {{no axes are one, so that no pieces are put together along them}}
func.func @f() attributes {s = #cpu.loop_schedule<lanes = 8, chunk = 64, grain = 1, joined_pieces = true>} {
  return
}

// -----

// expected-error @+1 {{joined_axes is 0, at least 1}}
func.func @f() attributes {s = #cpu.loop_schedule<lanes = 8, chunk = 64, grain = 1, joined_axes = 0>} {
  return
}

// -----

func.func @f(%x: tensor<4x?xf32>, %n: index) {
  // expected-error @+1 {{of rank 2 has no 3 axes that are one}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x?xf32>) sizes(%n) {
  ^bb0(%a: tensor<4x?xf32>):
    kernel.yield %a : tensor<4x?xf32>
  } {schedule = #cpu.loop_schedule<lanes = 4, chunk = 64, grain = 1, joined_axes = 3>} -> tensor<4x?xf32>
  return
}

// -----

func.func @f(%x: tensor<4x?xf32>, %n: index) {
  // expected-error @+1 {{of rank 1 has no axis 1}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x?xf32>) sizes(%n) {
  ^bb0(%a: tensor<4x?xf32>):
    kernel.yield %a : tensor<4x?xf32>
  } {schedule = #cpu.loop_schedule<lanes = 4, axis = 1, chunk = 64, grain = 1, joined_axes = 2>} -> tensor<4x?xf32>
  return
}

// -----

func.func @f(%x: tensor<4x?xf32>, %n: index) {
  // expected-error @+1 {{puts no pieces together along the first of the axes that are one}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x?xf32>) sizes(%n) {
  ^bb0(%a: tensor<4x?xf32>):
    kernel.yield %a : tensor<4x?xf32>
  } {schedule = #cpu.loop_schedule<lanes = 4, chunk = 64, grain = 1, joined_axes = 2, joined_pieces = true>} -> tensor<4x?xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x?xf32>, %n: index) {
  // expected-error @+1 {{joins axes, but does not end with axis 0}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<2x4x?xf32>) sizes(%n) {
  ^bb0(%a: tensor<2x4x?xf32>):
    kernel.yield %a : tensor<2x4x?xf32>
  } {schedule = #cpu.loop_schedule<lanes = 4, chunk = 64, grain = 1, joined_axes = 2>} -> tensor<2x4x?xf32>
  return
}

// -----

// expected-error @+1 {{lanes lie across rows, or along columns}}
func.func @f() attributes {s = #cpu.row_schedule<lanes = 8, grain = 1, kept = 0, across = true, columns = 64>} {
  return
}

// -----

func.func @f(%x: tensor<400x64xf32>) {
  // expected-error @+1 {{has no columns of known extents beside what it reduces}}
  %0 = kernel.launch row[1] "sum" ins(%x : tensor<400x64xf32>) sizes() {
  ^bb0(%a: tensor<400x64xf32>):
    %b = prim.reduce sum %a [1] : (tensor<400x64xf32>) -> tensor<400xf32>
    kernel.yield %b : tensor<400xf32>
  } {schedule = #cpu.row_schedule<lanes = 8, grain = 4, kept = 0, columns = 32>} -> tensor<400xf32>
  return
}
