// Launches that the templates for wgmma take, small enough to be emulated (emulate_launches.py).
func.func @conv_same(%x: tensor<1x8x16x64xbf16>, %w: tensor<64x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x8x16x64xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, kept = 4, rows = 128, columns = 64, shared_bytes = 214144, most_blocks = 132, index_bits = 32>]} {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<1x8x16x64xbf16>, tensor<64x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x8x16x64xbf16>
  return %y : tensor<1x8x16x64xbf16>
}
func.func @conv_tails(%x: tensor<2x7x9x72xbf16>, %w: tensor<72x72x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>, %b: tensor<72xbf16>, %z: tensor<2x7x9x72xbf16>) -> tensor<2x7x9x72xbf16> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<2x7x9x72xbf16>, tensor<72x72x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<2x7x9x72xbf16>
  %1 = prim.broadcast %b axes [3] sizes() : (tensor<72xbf16>) -> tensor<2x7x9x72xbf16>
  %2 = prim.add %0, %1 : (tensor<2x7x9x72xbf16>, tensor<2x7x9x72xbf16>) -> tensor<2x7x9x72xbf16>
  %3 = prim.add %2, %z : (tensor<2x7x9x72xbf16>, tensor<2x7x9x72xbf16>) -> tensor<2x7x9x72xbf16>
  %c = prim.constant dense<0.0> : tensor<bf16>
  %cb = prim.broadcast %c axes [] sizes() : (tensor<bf16>) -> tensor<2x7x9x72xbf16>
  %y = prim.maximum %3, %cb : (tensor<2x7x9x72xbf16>, tensor<2x7x9x72xbf16>) -> tensor<2x7x9x72xbf16>
  return %y : tensor<2x7x9x72xbf16>
}
func.func @conv_strided(%x: tensor<2x15x13x64xbf16>, %w: tensor<64x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>, %b: tensor<64xbf16>) -> tensor<2x8x7x64xbf16> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<2x15x13x64xbf16>, tensor<64x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<2x8x7x64xbf16>
  %1 = prim.broadcast %b axes [3] sizes() : (tensor<64xbf16>) -> tensor<2x8x7x64xbf16>
  %2 = prim.add %0, %1 : (tensor<2x8x7x64xbf16>, tensor<2x8x7x64xbf16>) -> tensor<2x8x7x64xbf16>
  %c = prim.constant dense<0.0> : tensor<bf16>
  %cb = prim.broadcast %c axes [] sizes() : (tensor<bf16>) -> tensor<2x8x7x64xbf16>
  %y = prim.maximum %2, %cb : (tensor<2x8x7x64xbf16>, tensor<2x8x7x64xbf16>) -> tensor<2x8x7x64xbf16>
  return %y : tensor<2x8x7x64xbf16>
}
func.func @conv_points_strided(%x: tensor<3x16x16x64xbf16>, %w: tensor<136x64x1x1xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<3x8x8x136xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64, channels_last = true} : (tensor<3x16x16x64xbf16>, tensor<136x64x1x1xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<3x8x8x136xbf16>
  return %y : tensor<3x8x8x136xbf16>
}
func.func @conv_dilated(%x: tensor<1x12x14x32xf16>, %w: tensor<64x32x3x2xf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x9x13x64xf32> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 2, 3>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 2>, high = array<i64: 1, 0>, groups = 1 : i64, channels_last = true} : (tensor<1x12x14x32xf16>, tensor<64x32x3x2xf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x9x13x64xf32>
  return %y : tensor<1x9x13x64xf32>
}
func.func @conv_groups(%x: tensor<1x9x9x128xbf16>, %w: tensor<128x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>, %b: tensor<128xbf16>) -> tensor<1x9x9x128xbf16> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 2 : i64, channels_last = true} : (tensor<1x9x9x128xbf16>, tensor<128x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x9x9x128xbf16>
  %1 = prim.broadcast %b axes [3] sizes() : (tensor<128xbf16>) -> tensor<1x9x9x128xbf16>
  %2 = prim.add %0, %1 : (tensor<1x9x9x128xbf16>, tensor<1x9x9x128xbf16>) -> tensor<1x9x9x128xbf16>
  %c = prim.constant dense<0.0> : tensor<bf16>
  %cb = prim.broadcast %c axes [] sizes() : (tensor<bf16>) -> tensor<1x9x9x128xbf16>
  %y = prim.maximum %2, %cb : (tensor<1x9x9x128xbf16>, tensor<1x9x9x128xbf16>) -> tensor<1x9x9x128xbf16>
  return %y : tensor<1x9x9x128xbf16>
}
func.func @conv_line(%x: tensor<2x70x64xbf16>, %w: tensor<64x64x5xbf16, #prim.axis_order<[0, 2, 1]>>) -> tensor<2x35x64xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 2>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 2>, high = array<i64: 2>, groups = 1 : i64, channels_last = true} : (tensor<2x70x64xbf16>, tensor<64x64x5xbf16, #prim.axis_order<[0, 2, 1]>>) -> tensor<2x35x64xbf16>
  return %y : tensor<2x35x64xbf16>
}
func.func @conv_volume(%x: tensor<1x5x6x7x16xbf16>, %w: tensor<64x16x2x3x2xbf16, #prim.axis_order<[0, 2, 3, 4, 1]>>) -> tensor<1x4x6x4x64xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1, 2>, dilations = array<i64: 1, 1, 1>, input_dilation = array<i64: 1, 1, 1>, low = array<i64: 0, 1, 1>, high = array<i64: 0, 1, 0>, groups = 1 : i64, channels_last = true} : (tensor<1x5x6x7x16xbf16>, tensor<64x16x2x3x2xbf16, #prim.axis_order<[0, 2, 3, 4, 1]>>) -> tensor<1x4x6x4x64xbf16>
  return %y : tensor<1x4x6x4x64xbf16>
}
func.func @dot(%a: tensor<200x72xbf16>, %w: tensor<136x72xbf16>, %c: tensor<136xbf16>) -> tensor<200x136xbf16> {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<200x72xbf16>, tensor<136x72xbf16>) -> tensor<200x136xbf16>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<136xbf16>) -> tensor<200x136xbf16>
  %y = prim.add %0, %1 : (tensor<200x136xbf16>, tensor<200x136xbf16>) -> tensor<200x136xbf16>
  return %y : tensor<200x136xbf16>
}
func.func @dot_kn(%a: tensor<200x136xf16>, %w: tensor<136x264xf16>) -> tensor<200x264xf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [0] : (tensor<200x136xf16>, tensor<136x264xf16>) -> tensor<200x264xf16>
  return %y : tensor<200x264xf16>
}
func.func @dot_i8(%a: tensor<100x208xi8> {test.low = -120.0, test.high = 120.0}, %w: tensor<72x208xui8> {test.low = 0.0, test.high = 250.0}) -> tensor<100x72xi32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<100x208xi8>, tensor<72x208xui8>) -> tensor<100x72xi32>
  return %y : tensor<100x72xi32>
}
// A result of 8 bits goes in slabs of 128 columns.
func.func @dot_quantised(%a: tensor<70x144xui8> {test.low = 0.0, test.high = 250.0}, %w: tensor<144x144xi8> {test.low = -120.0, test.high = 120.0}, %s: tensor<144xf32> {test.low = 1.0e-4, test.high = 1.0e-3}) -> tensor<70x144xi8> {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<70x144xui8>, tensor<144x144xi8>) -> tensor<70x144xi32>
  %1 = prim.cast %0 : (tensor<70x144xi32>) -> tensor<70x144xf32>
  %2 = prim.broadcast %s axes [1] sizes() : (tensor<144xf32>) -> tensor<70x144xf32>
  %3 = prim.mul %1, %2 : (tensor<70x144xf32>, tensor<70x144xf32>) -> tensor<70x144xf32>
  %4 = prim.round %3 : (tensor<70x144xf32>) -> tensor<70x144xf32>
  %y = prim.cast %4 : (tensor<70x144xf32>) -> tensor<70x144xi8>
  return %y : tensor<70x144xi8>
}
func.func @dot_tf32(%a: tensor<72x100xf32>, %w: tensor<72x100xf32>, %c: tensor<72xf32>) -> tensor<72x72xf32> {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<72x100xf32>, tensor<72x100xf32>) -> tensor<72x72xf32>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<72xf32>) -> tensor<72x72xf32>
  %y = prim.add %0, %1 : (tensor<72x72xf32>, tensor<72x72xf32>) -> tensor<72x72xf32>
  return %y : tensor<72x72xf32>
}
func.func @conv_i8(%x: tensor<1x6x7x48xi8> {test.low = -120.0, test.high = 120.0}, %w: tensor<64x48x3x3xi8, #prim.axis_order<[0, 2, 3, 1]>> {test.low = -120.0, test.high = 120.0}) -> tensor<1x6x7x64xi32> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<1x6x7x48xi8>, tensor<64x48x3x3xi8, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x6x7x64xi32>
  return %y : tensor<1x6x7x64xi32>
}
// What is added, and what is the same in all rows, comes while the tile is multiplied; weights before that. Slabs of 64
// bytes a row, and of 128.
func.func @dot_residual(%a: tensor<3x100x136xbf16>, %w: tensor<200x136xbf16>, %c: tensor<200xf32>, %z: tensor<3x100x200xbf16>) -> tensor<3x100x200xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, rows = 128, columns = 96, shared_bytes = 232448, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 384, kept = 3, rows = 128, columns = 160, shared_bytes = 232448, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 2, rows = 64, columns = 64, shared_bytes = 33824, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [2] x [1] : (tensor<3x100x136xbf16>, tensor<200x136xbf16>) -> tensor<3x100x200xf32>
  %1 = prim.broadcast %c axes [2] sizes() : (tensor<200xf32>) -> tensor<3x100x200xf32>
  %2 = prim.add %0, %1 : (tensor<3x100x200xf32>, tensor<3x100x200xf32>) -> tensor<3x100x200xf32>
  %3 = prim.cast %z : (tensor<3x100x200xbf16>) -> tensor<3x100x200xf32>
  %4 = prim.add %2, %3 : (tensor<3x100x200xf32>, tensor<3x100x200xf32>) -> tensor<3x100x200xf32>
  %y = prim.cast %4 : (tensor<3x100x200xf32>) -> tensor<3x100x200xbf16>
  return %y : tensor<3x100x200xbf16>
}
// A gate that lies beside others in one argument, a value a column and image.
func.func @dot_gated(%a: tensor<3x100x136xbf16>, %w: tensor<72x136xbf16>, %g: tensor<3x216xbf16>, %z: tensor<3x100x72xbf16>) -> tensor<3x100x72xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, row_threads = 128, kept = 3, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 512, rows = 192, columns = 128, shared_bytes = 232448, most_blocks = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [2] x [1] : (tensor<3x100x136xbf16>, tensor<72x136xbf16>) -> tensor<3x100x72xf32>
  %1 = prim.cast %0 : (tensor<3x100x72xf32>) -> tensor<3x100x72xbf16>
  %2 = prim.reshape %g sizes() : (tensor<3x216xbf16>) -> tensor<3x1x216xbf16>
  %3 = prim.slice %2 starts [0, 0, 72]() steps [1, 1, 1] sizes() : (tensor<3x1x216xbf16>) -> tensor<3x1x72xbf16>
  %4 = prim.broadcast %3 axes [0, 1, 2] sizes() : (tensor<3x1x72xbf16>) -> tensor<3x100x72xbf16>
  %5 = prim.mul %4, %1 : (tensor<3x100x72xbf16>, tensor<3x100x72xbf16>) -> tensor<3x100x72xbf16>
  %y = prim.add %z, %5 : (tensor<3x100x72xbf16>, tensor<3x100x72xbf16>) -> tensor<3x100x72xbf16>
  return %y : tensor<3x100x72xbf16>
}
// A result of 32 bits whose slabs have 16 columns.
func.func @dot_narrow_slabs(%a: tensor<150x72xbf16>, %w: tensor<80x72xbf16>) -> tensor<150x80xf32> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 48, shared_bytes = 232448, most_blocks = 132, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<150x72xbf16>, tensor<80x72xbf16>) -> tensor<150x80xf32>
  return %y : tensor<150x80xf32>
}
// Groups that take turns at tiles of 192 rows.
func.func @dot_tall(%a: tensor<500x136xbf16>, %w: tensor<72x136xbf16>, %c: tensor<72xf32>) -> tensor<500x72xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, row_threads = 128, kept = 3, rows = 192, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<500x136xbf16>, tensor<72x136xbf16>) -> tensor<500x72xf32>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<72xf32>) -> tensor<500x72xf32>
  %2 = prim.add %0, %1 : (tensor<500x72xf32>, tensor<500x72xf32>) -> tensor<500x72xf32>
  %y = prim.cast %2 : (tensor<500x72xf32>) -> tensor<500x72xbf16>
  return %y : tensor<500x72xbf16>
}
// Three groups share tiles of 192 rows, with a residual and without.
func.func @dot_three(%a: tensor<400x136xbf16>, %w: tensor<200x136xbf16>, %c: tensor<200xf32>) -> tensor<400x200xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 512, kept = 3, rows = 192, columns = 192, shared_bytes = 232448, most_blocks = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<400x136xbf16>, tensor<200x136xbf16>) -> tensor<400x200xf32>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<200xf32>) -> tensor<400x200xf32>
  %2 = prim.add %0, %1 : (tensor<400x200xf32>, tensor<400x200xf32>) -> tensor<400x200xf32>
  %y = prim.cast %2 : (tensor<400x200xf32>) -> tensor<400x200xbf16>
  return %y : tensor<400x200xbf16>
}
func.func @dot_three_residual(%a: tensor<400x136xbf16>, %w: tensor<136x136xbf16>, %z: tensor<400x136xbf16>) -> tensor<400x136xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 512, rows = 192, columns = 128, shared_bytes = 232448, most_blocks = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<400x136xbf16>, tensor<136x136xbf16>) -> tensor<400x136xf32>
  %1 = prim.cast %z : (tensor<400x136xbf16>) -> tensor<400x136xf32>
  %2 = prim.add %0, %1 : (tensor<400x136xf32>, tensor<400x136xf32>) -> tensor<400x136xf32>
  %y = prim.cast %2 : (tensor<400x136xf32>) -> tensor<400x136xbf16>
  return %y : tensor<400x136xbf16>
}
// Matrices of a batch whose rows are whole tiles.
func.func @batch_kn(%a: tensor<3x128x136xbf16>, %w: tensor<3x136x72xbf16>, %c: tensor<72xf32>, %z: tensor<3x128x72xbf16>) -> tensor<3x128x72xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 384, row_threads = 128, kept = 2, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : (tensor<3x128x136xbf16>, tensor<3x136x72xbf16>) -> tensor<3x128x72xf32>
  %1 = prim.broadcast %c axes [2] sizes() : (tensor<72xf32>) -> tensor<3x128x72xf32>
  %2 = prim.add %0, %1 : (tensor<3x128x72xf32>, tensor<3x128x72xf32>) -> tensor<3x128x72xf32>
  %3 = prim.cast %z : (tensor<3x128x72xbf16>) -> tensor<3x128x72xf32>
  %4 = prim.add %2, %3 : (tensor<3x128x72xf32>, tensor<3x128x72xf32>) -> tensor<3x128x72xf32>
  %y = prim.cast %4 : (tensor<3x128x72xf32>) -> tensor<3x128x72xbf16>
  return %y : tensor<3x128x72xbf16>
}
func.func @batch_nk(%a: tensor<2x256x72xbf16>, %w: tensor<2x80x72xbf16>) -> tensor<2x256x80xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, rows = 128, columns = 96, shared_bytes = 232448, most_blocks = 2, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 132, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [0] x [0] contract [2] x [2] : (tensor<2x256x72xbf16>, tensor<2x80x72xbf16>) -> tensor<2x256x80xbf16>
  return %y : tensor<2x256x80xbf16>
}
// Matrices of a batch that end within tiles, whose other rows are the next one's, or small boxes of the last one's.
func.func @batch_ends(%a: tensor<3x100x136xbf16>, %w: tensor<3x136x72xbf16>, %c: tensor<72xf32>, %z: tensor<3x100x72xbf16>) -> tensor<3x100x72xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 132, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : (tensor<3x100x136xbf16>, tensor<3x136x72xbf16>) -> tensor<3x100x72xf32>
  %1 = prim.broadcast %c axes [2] sizes() : (tensor<72xf32>) -> tensor<3x100x72xf32>
  %2 = prim.add %0, %1 : (tensor<3x100x72xf32>, tensor<3x100x72xf32>) -> tensor<3x100x72xf32>
  %3 = prim.cast %z : (tensor<3x100x72xbf16>) -> tensor<3x100x72xf32>
  %4 = prim.add %2, %3 : (tensor<3x100x72xf32>, tensor<3x100x72xf32>) -> tensor<3x100x72xf32>
  %y = prim.cast %4 : (tensor<3x100x72xf32>) -> tensor<3x100x72xbf16>
  return %y : tensor<3x100x72xbf16>
}
func.func @batch_ends_nk(%a: tensor<2x130x72xbf16>, %w: tensor<2x80x72xbf16>) -> tensor<2x130x80xf32> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 512, rows = 192, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [0] x [0] contract [2] x [2] : (tensor<2x130x72xbf16>, tensor<2x80x72xbf16>) -> tensor<2x130x80xf32>
  return %y : tensor<2x130x80xf32>
}
// As many matrices as a run has.
func.func @batch_open(%a: tensor<?x100x136xbf16>, %w: tensor<?x136x72xbf16>) -> tensor<?x100x72xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, row_threads = 128, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : (tensor<?x100x136xbf16>, tensor<?x136x72xbf16>) -> tensor<?x100x72xbf16>
  return %y : tensor<?x100x72xbf16>
}
// Left operands that lie across, with tails of everything, by rows and by columns of the right one, and of a batch.
func.func @left_across(%a: tensor<136x200xbf16>, %w: tensor<136x72xbf16>, %c: tensor<72xf32>) -> tensor<200x72xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 384, row_threads = 128, kept = 2, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 512, rows = 192, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [0] x [0] : (tensor<136x200xbf16>, tensor<136x72xbf16>) -> tensor<200x72xf32>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<72xf32>) -> tensor<200x72xf32>
  %2 = prim.add %0, %1 : (tensor<200x72xf32>, tensor<200x72xf32>) -> tensor<200x72xf32>
  %y = prim.cast %2 : (tensor<200x72xf32>) -> tensor<200x72xbf16>
  return %y : tensor<200x72xbf16>
}
func.func @left_across_batch(%a: tensor<3x72x104xf16>, %w: tensor<3x80x72xf16>) -> tensor<3x104x80xf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 384, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 2, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 384, row_threads = 128, kept = 2, rows = 128, columns = 64, shared_bytes = 232448, most_blocks = 132, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [0] x [0] contract [1] x [2] : (tensor<3x72x104xf16>, tensor<3x80x72xf16>) -> tensor<3x104x80xf16>
  return %y : tensor<3x104x80xf16>
}
