// Launches that the template of one tile a block takes (WgmmaTileKernel.cpp), each by schedules of its own, small enough
// to be emulated (emulate_launches.py).
func.func @tails(%a: tensor<200x72xbf16>, %w: tensor<136x72xbf16>, %c: tensor<136xbf16>) -> tensor<200x136xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 288, vectors = 2, rows = 128, columns = 64, shared_bytes = 50208, split = 1, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 1, rows = 64, columns = 32, shared_bytes = 13328, split = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<200x72xbf16>, tensor<136x72xbf16>) -> tensor<200x136xbf16>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<136xbf16>) -> tensor<200x136xbf16>
  %y = prim.add %0, %1 : (tensor<200x136xbf16>, tensor<200x136xbf16>) -> tensor<200x136xbf16>
  return %y : tensor<200x136xbf16>
}
func.func @clusters(%a: tensor<70x320xbf16>, %w: tensor<96x320xbf16>, %z: tensor<70x96xf32>) -> tensor<70x96xf32> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 2, kept = 2, rows = 64, columns = 96, shared_bytes = 42016, split = 3, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 2, rows = 64, columns = 32, shared_bytes = 25632, split = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<70x320xbf16>, tensor<96x320xbf16>) -> tensor<70x96xf32>
  %y = prim.add %0, %z : (tensor<70x96xf32>, tensor<70x96xf32>) -> tensor<70x96xf32>
  return %y : tensor<70x96xf32>
}
func.func @columns(%a: tensor<100x136xf16>, %w: tensor<136x200xf16>) -> tensor<100x200xf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 288, vectors = 1, rows = 128, columns = 128, shared_bytes = 70672, split = 3, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 2, rows = 64, columns = 64, shared_bytes = 33824, split = 1, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [0] : (tensor<100x136xf16>, tensor<136x200xf16>) -> tensor<100x200xf16>
  return %y : tensor<100x200xf16>
}
func.func @permuted(%a: tensor<2x40x64xbf16>, %w: tensor<96x64xbf16>, %c: tensor<96xbf16>) -> tensor<40x2x96xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 1, rows = 64, columns = 32, shared_bytes = 13328, split = 1, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [2] x [1] : (tensor<2x40x64xbf16>, tensor<96x64xbf16>) -> tensor<2x40x96xbf16>
  %1 = prim.broadcast %c axes [2] sizes() : (tensor<96xbf16>) -> tensor<2x40x96xbf16>
  %2 = prim.add %0, %1 : (tensor<2x40x96xbf16>, tensor<2x40x96xbf16>) -> tensor<2x40x96xbf16>
  %y = prim.transpose %2 [1, 0, 2] : (tensor<2x40x96xbf16>) -> tensor<40x2x96xbf16>
  return %y : tensor<40x2x96xbf16>
}
func.func @conv_groups(%x: tensor<1x9x9x128xbf16>, %w: tensor<128x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>, %b: tensor<128xbf16>, %z: tensor<1x9x9x128xbf16>) -> tensor<1x9x9x128xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 3, kept = 3, rows = 64, columns = 64, shared_bytes = 50224, split = 3, index_bits = 32>]} {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 2 : i64, channels_last = true} : (tensor<1x9x9x128xbf16>, tensor<128x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x9x9x128xbf16>
  %1 = prim.broadcast %b axes [3] sizes() : (tensor<128xbf16>) -> tensor<1x9x9x128xbf16>
  %2 = prim.add %0, %1 : (tensor<1x9x9x128xbf16>, tensor<1x9x9x128xbf16>) -> tensor<1x9x9x128xbf16>
  %y = prim.add %2, %z : (tensor<1x9x9x128xbf16>, tensor<1x9x9x128xbf16>) -> tensor<1x9x9x128xbf16>
  return %y : tensor<1x9x9x128xbf16>
}
// Batches of matrices whose rows are whole tiles, with tails of k and of columns.
func.func @batch_rows(%a: tensor<3x128x72xbf16>, %w: tensor<3x72x40xbf16>, %z: tensor<3x128x40xbf16>) -> tensor<3x128x40xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 288, vectors = 2, rows = 128, columns = 64, shared_bytes = 50208, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 1, rows = 64, columns = 64, shared_bytes = 19472, split = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : (tensor<3x128x72xbf16>, tensor<3x72x40xbf16>) -> tensor<3x128x40xbf16>
  %y = prim.add %0, %z : (tensor<3x128x40xbf16>, tensor<3x128x40xbf16>) -> tensor<3x128x40xbf16>
  return %y : tensor<3x128x40xbf16>
}
func.func @batch_columns(%a: tensor<2x2x4x16x136xf16>, %w: tensor<2x2x72x136xf16>, %c: tensor<72xf32>) -> tensor<2x2x4x16x72xf32> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 2, kept = 2, rows = 64, columns = 32, shared_bytes = 25632, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 1, rows = 64, columns = 48, shared_bytes = 19472, split = 3, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [0, 1] x [0, 1] contract [4] x [3] : (tensor<2x2x4x16x136xf16>, tensor<2x2x72x136xf16>) -> tensor<2x2x4x16x72xf32>
  %1 = prim.broadcast %c axes [4] sizes() : (tensor<72xf32>) -> tensor<2x2x4x16x72xf32>
  %y = prim.add %0, %1 : (tensor<2x2x4x16x72xf32>, tensor<2x2x4x16x72xf32>) -> tensor<2x2x4x16x72xf32>
  return %y : tensor<2x2x4x16x72xf32>
}
// Rows of 32-bit elements along columns: transposes multiplied in the other order, with tails of everything, an odd number of steps,
// more steps than stages, clusters.
func.func @tf32_turned(%a: tensor<70x100xf32>, %w: tensor<100x72xf32>, %c: tensor<72xf32>) -> tensor<70x72xf32> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 2, rows = 32, columns = 64, shared_bytes = 25632, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 288, vectors = 3, rows = 96, columns = 128, shared_bytes = 87088, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 2, rows = 16, columns = 64, shared_bytes = 21536, split = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [0] : (tensor<70x100xf32>, tensor<100x72xf32>) -> tensor<70x72xf32>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<72xf32>) -> tensor<70x72xf32>
  %y = prim.add %0, %1 : (tensor<70x72xf32>, tensor<70x72xf32>) -> tensor<70x72xf32>
  return %y : tensor<70x72xf32>
}
func.func @tf32_turned_batch(%a: tensor<2x64x260xf32>, %w: tensor<2x260x68xf32>) -> tensor<2x64x68xf32> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 4, rows = 64, columns = 64, shared_bytes = 66624, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 2, rows = 32, columns = 64, shared_bytes = 25632, split = 3, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : (tensor<2x64x260xf32>, tensor<2x260x68xf32>) -> tensor<2x64x68xf32>
  return %y : tensor<2x64x68xf32>
}
// Matrices of a batch that end within tiles.
func.func @batch_ends(%a: tensor<3x70x72xbf16>, %w: tensor<3x72x40xbf16>, %z: tensor<3x70x40xbf16>) -> tensor<3x70x40xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 288, vectors = 2, rows = 128, columns = 64, shared_bytes = 50208, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 1, rows = 64, columns = 64, shared_bytes = 19472, split = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : (tensor<3x70x72xbf16>, tensor<3x72x40xbf16>) -> tensor<3x70x40xbf16>
  %y = prim.add %0, %z : (tensor<3x70x40xbf16>, tensor<3x70x40xbf16>) -> tensor<3x70x40xbf16>
  return %y : tensor<3x70x40xbf16>
}
func.func @tf32_turned_batch_ends(%a: tensor<2x50x260xf32>, %w: tensor<2x260x68xf32>) -> tensor<2x50x68xf32> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 4, rows = 64, columns = 64, shared_bytes = 66624, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 160, vectors = 2, rows = 32, columns = 64, shared_bytes = 25632, split = 3, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : (tensor<2x50x260xf32>, tensor<2x260x68xf32>) -> tensor<2x50x68xf32>
  return %y : tensor<2x50x68xf32>
}
// A result whose rows lie together.
func.func @turned_result(%a: tensor<2x40x136xbf16>, %w: tensor<72x136xbf16>, %c: tensor<72xbf16>) -> tensor<2x72x40xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 3, rows = 64, columns = 40, shared_bytes = 41008, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 288, vectors = 2, rows = 128, columns = 24, shared_bytes = 39968, split = 2, index_bits = 32>]} {
  %0 = prim.dot %a, %w batch [] x [] contract [2] x [1] : (tensor<2x40x136xbf16>, tensor<72x136xbf16>) -> tensor<2x40x72xbf16>
  %1 = prim.broadcast %c axes [2] sizes() : (tensor<72xbf16>) -> tensor<2x40x72xbf16>
  %2 = prim.add %0, %1 : (tensor<2x40x72xbf16>, tensor<2x40x72xbf16>) -> tensor<2x40x72xbf16>
  %y = prim.transpose %2 [0, 2, 1] : (tensor<2x40x72xbf16>) -> tensor<2x72x40xbf16>
  return %y : tensor<2x72x40xbf16>
}
// Left operands that lie across.
func.func @left_across(%a: tensor<2x136x104xbf16>, %w: tensor<2x136x72xbf16>) -> tensor<2x104x72xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma, threads = 160, vectors = 2, rows = 64, columns = 64, shared_bytes = 33824, index_bits = 32>, #gpu.schedule<form = wgmma, threads = 288, vectors = 2, rows = 128, columns = 64, shared_bytes = 50208, split = 2, index_bits = 32>]} {
  %y = prim.dot %a, %w batch [0] x [0] contract [1] x [1] : (tensor<2x136x104xbf16>, tensor<2x136x72xbf16>) -> tensor<2x104x72xbf16>
  return %y : tensor<2x104x72xbf16>
}
