// Small launches of every form, which a GPU's results are checked on.
func.func @exp_f32(%x: tensor<130x64xf32>) -> tensor<130x64xf32> {
  %y = prim.exp %x : (tensor<130x64xf32>) -> tensor<130x64xf32>
  return %y : tensor<130x64xf32>
}
func.func @math(%x: tensor<3001xf32> {test.low = -30.0, test.high = 30.0}) -> (tensor<3001xf32>, tensor<3001xf32>, tensor<3001xf32>, tensor<3001xf32>, tensor<3001xf32>, tensor<3001xf32>) {
  %0 = prim.sin %x : (tensor<3001xf32>) -> tensor<3001xf32>
  %1 = prim.tanh %x : (tensor<3001xf32>) -> tensor<3001xf32>
  %2 = prim.erf %x : (tensor<3001xf32>) -> tensor<3001xf32>
  %3 = prim.logistic %x : (tensor<3001xf32>) -> tensor<3001xf32>
  %4 = prim.abs %x : (tensor<3001xf32>) -> tensor<3001xf32>
  %5 = prim.log %4 : (tensor<3001xf32>) -> tensor<3001xf32>
  %6 = prim.pow %4, %0 : (tensor<3001xf32>, tensor<3001xf32>) -> tensor<3001xf32>
  return %0, %1, %2, %3, %5, %6 : tensor<3001xf32>, tensor<3001xf32>, tensor<3001xf32>, tensor<3001xf32>, tensor<3001xf32>, tensor<3001xf32>
}
func.func @math_f64(%x: tensor<700xf64>) -> (tensor<700xf64>, tensor<700xf64>, tensor<700xf64>) {
  %0 = prim.abs %x : (tensor<700xf64>) -> tensor<700xf64>
  %1 = prim.exp %x : (tensor<700xf64>) -> tensor<700xf64>
  %2 = prim.log %0 : (tensor<700xf64>) -> tensor<700xf64>
  %3 = prim.sqrt %0 : (tensor<700xf64>) -> tensor<700xf64>
  return %1, %2, %3 : tensor<700xf64>, tensor<700xf64>, tensor<700xf64>
}
func.func @types(%a: tensor<40x24xf16>, %b: tensor<40x24xbf16>, %c: tensor<40x24xi8> {test.low = -100.0, test.high = 100.0}, %d: tensor<40x24xi64> {test.low = -1000.0, test.high = 1000.0}) -> (tensor<40x24xbf16>, tensor<40x24xi64>, tensor<40x24xf16>) {
  %0 = prim.cast %a : (tensor<40x24xf16>) -> tensor<40x24xbf16>
  %1 = prim.mul %0, %b : (tensor<40x24xbf16>, tensor<40x24xbf16>) -> tensor<40x24xbf16>
  %2 = prim.cast %c : (tensor<40x24xi8>) -> tensor<40x24xi64>
  %3 = prim.div %d, %2 : (tensor<40x24xi64>, tensor<40x24xi64>) -> tensor<40x24xi64>
  %4 = prim.cast %3 : (tensor<40x24xi64>) -> tensor<40x24xf16>
  return %1, %3, %4 : tensor<40x24xbf16>, tensor<40x24xi64>, tensor<40x24xf16>
}
func.func @open(%x: tensor<?x24xf32>) -> tensor<24x?xf32> {
  %n = prim.dim %x, 0 : tensor<?x24xf32>
  %0 = prim.transpose %x [1, 0] : (tensor<?x24xf32>) -> tensor<24x?xf32>
  %y = prim.exp %0 : (tensor<24x?xf32>) -> tensor<24x?xf32>
  return %y : tensor<24x?xf32>
}
func.func @concat_pad(%x: tensor<5x6xf32>, %z: tensor<5x3xf32>, %v: tensor<f32>) -> tensor<8x11xf32> {
  %0 = prim.concat %x, %z axis 1 : (tensor<5x6xf32>, tensor<5x3xf32>) -> tensor<5x9xf32>
  %y = prim.pad %0, %v low [1, 2] () interior [0, 0] sizes() : (tensor<5x9xf32>, tensor<f32>) -> tensor<8x11xf32>
  return %y : tensor<8x11xf32>
}
func.func @take(%x: tensor<90x16xf32>, %i: tensor<70xi64> {test.low = 0.0, test.high = 89.9}) -> tensor<70x16xf32> {
  %y = prim.take %x, %i axis 0 : (tensor<90x16xf32>, tensor<70xi64>) -> tensor<70x16xf32>
  return %y : tensor<70x16xf32>
}
func.func @softmax_warp(%x: tensor<50x100xf32>) -> tensor<50x100xf32> {
  %0 = prim.reduce max %x [1] : (tensor<50x100xf32>) -> tensor<50xf32>
  %1 = prim.broadcast %0 axes [0] sizes() : (tensor<50xf32>) -> tensor<50x100xf32>
  %2 = prim.sub %x, %1 : (tensor<50x100xf32>, tensor<50x100xf32>) -> tensor<50x100xf32>
  %3 = prim.exp %2 : (tensor<50x100xf32>) -> tensor<50x100xf32>
  %4 = prim.reduce sum %3 [1] : (tensor<50x100xf32>) -> tensor<50xf32>
  %5 = prim.broadcast %4 axes [0] sizes() : (tensor<50xf32>) -> tensor<50x100xf32>
  %y = prim.div %3, %5 : (tensor<50x100xf32>, tensor<50x100xf32>) -> tensor<50x100xf32>
  return %y : tensor<50x100xf32>
}
func.func @softmax_block(%x: tensor<5x4097xf32>) -> tensor<5x4097xf32> {
  %0 = prim.reduce max %x [1] : (tensor<5x4097xf32>) -> tensor<5xf32>
  %1 = prim.broadcast %0 axes [0] sizes() : (tensor<5xf32>) -> tensor<5x4097xf32>
  %2 = prim.sub %x, %1 : (tensor<5x4097xf32>, tensor<5x4097xf32>) -> tensor<5x4097xf32>
  %3 = prim.exp %2 : (tensor<5x4097xf32>) -> tensor<5x4097xf32>
  %4 = prim.reduce sum %3 [1] : (tensor<5x4097xf32>) -> tensor<5xf32>
  %5 = prim.broadcast %4 axes [0] sizes() : (tensor<5xf32>) -> tensor<5x4097xf32>
  %y = prim.div %3, %5 : (tensor<5x4097xf32>, tensor<5x4097xf32>) -> tensor<5x4097xf32>
  return %y : tensor<5x4097xf32>
}
func.func @softmax_loop(%x: tensor<3x70000xf32>) -> tensor<3x70000xf32> {
  %0 = prim.reduce max %x [1] : (tensor<3x70000xf32>) -> tensor<3xf32>
  %1 = prim.broadcast %0 axes [0] sizes() : (tensor<3xf32>) -> tensor<3x70000xf32>
  %2 = prim.sub %x, %1 : (tensor<3x70000xf32>, tensor<3x70000xf32>) -> tensor<3x70000xf32>
  %3 = prim.exp %2 : (tensor<3x70000xf32>) -> tensor<3x70000xf32>
  %4 = prim.reduce sum %3 [1] : (tensor<3x70000xf32>) -> tensor<3xf32>
  %5 = prim.broadcast %4 axes [0] sizes() : (tensor<3xf32>) -> tensor<3x70000xf32>
  %y = prim.div %3, %5 : (tensor<3x70000xf32>, tensor<3x70000xf32>) -> tensor<3x70000xf32>
  return %y : tensor<3x70000xf32>
}
func.func @reductions(%x: tensor<6x3000xf64>, %b: tensor<7x2000xi1> {test.low = -0.001, test.high = 0.001}, %i: tensor<6x300xi64> {test.low = -900.0, test.high = 900.0}) -> (tensor<f64>, tensor<7xi1>, tensor<6xi64>) {
  %0 = prim.reduce sum %x [0, 1] : (tensor<6x3000xf64>) -> tensor<f64>
  %1 = prim.reduce any %b [1] : (tensor<7x2000xi1>) -> tensor<7xi1>
  %2 = prim.reduce min %i [1] : (tensor<6x300xi64>) -> tensor<6xi64>
  return %0, %1, %2 : tensor<f64>, tensor<7xi1>, tensor<6xi64>
}
func.func @lines(%x: tensor<50x20xf32>) -> (tensor<50x20xf32>, tensor<50xi64>, tensor<50x20xf32>, tensor<50x4xf32>) {
  %0 = prim.cumulative sum %x 1 {exclusive = false, reverse = false} : (tensor<50x20xf32>) -> tensor<50x20xf32>
  %1 = prim.arg_reduce max %x 1 {last = false} : (tensor<50x20xf32>) -> tensor<50xi64>
  %2, %3 = prim.sort %x axis 1 {descending = false} : (tensor<50x20xf32>) -> (tensor<50x20xf32>, tensor<50x20xi64>)
  %4, %5 = prim.top_k %x axis 1 {largest = true} : (tensor<50x20xf32>) -> (tensor<50x4xf32>, tensor<50x4xi64>)
  return %0, %1, %2, %4 : tensor<50x20xf32>, tensor<50xi64>, tensor<50x20xf32>, tensor<50x4xf32>
}
func.func @scans_by_all_blocks(%x: tensor<2x33000xi64> {test.low = -9.0, test.high = 9.0}, %y: tensor<33001xf32>) -> (tensor<2x33000xi64>, tensor<33001xf32>) {
  %0 = prim.cumulative sum %x 1 {exclusive = true, reverse = false} : (tensor<2x33000xi64>) -> tensor<2x33000xi64>
  %1 = prim.cumulative max %y 0 {exclusive = false, reverse = true} : (tensor<33001xf32>) -> tensor<33001xf32>
  return %0, %1 : tensor<2x33000xi64>, tensor<33001xf32>
}
func.func @collected(%x: tensor<90x60xf32> {test.low = 1.0, test.high = 2.0}) -> tensor<2x5400xi64> {
  %y = prim.nonzero %x : (tensor<90x60xf32>) -> tensor<2x5400xi64>
  return %y : tensor<2x5400xi64>
}
func.func @fourier(%x: tensor<5x400xf32>, %re: tensor<2x64x9xf32>, %im: tensor<2x64x9xf32>, %u: tensor<3x257xf32>, %v: tensor<3x257xf32>) -> (tensor<5x201xf32>, tensor<5x201xf32>, tensor<2x64x9xf32>, tensor<2x64x9xf32>, tensor<3x512xf32>) {
  %0, %1 = prim.fourier %x axis 1 {inverse = false} : (tensor<5x400xf32>) -> (tensor<5x201xf32>, tensor<5x201xf32>)
  %2, %3 = prim.fourier %re, %im axis 1 {inverse = true, scale = 0.015625 : f64} : (tensor<2x64x9xf32>, tensor<2x64x9xf32>) -> (tensor<2x64x9xf32>, tensor<2x64x9xf32>)
  %4 = prim.fourier %u, %v axis 1 {inverse = true} : (tensor<3x257xf32>, tensor<3x257xf32>) -> tensor<3x512xf32>
  return %0, %1, %2, %3, %4 : tensor<5x201xf32>, tensor<5x201xf32>, tensor<2x64x9xf32>, tensor<2x64x9xf32>, tensor<3x512xf32>
}
func.func @fourier_pairs(%x: tensor<3x256x2xf32>, %w: tensor<16x16xf32>) -> tensor<3x256x2xf32> {
  %0 = prim.slice %x starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<3x256x2xf32>) -> tensor<3x256x1xf32>
  %1 = prim.reshape %0 sizes() : (tensor<3x256x1xf32>) -> tensor<3x16x16xf32>
  %2 = prim.slice %x starts [0, 0, 1]() steps [1, 1, 1] sizes() : (tensor<3x256x2xf32>) -> tensor<3x256x1xf32>
  %3 = prim.reshape %2 sizes() : (tensor<3x256x1xf32>) -> tensor<3x16x16xf32>
  %4:2 = prim.fourier %1, %3 axis 1 {inverse = false} : (tensor<3x16x16xf32>, tensor<3x16x16xf32>) -> (tensor<3x16x16xf32>, tensor<3x16x16xf32>)
  %5 = prim.broadcast %w axes [1, 2] sizes() : (tensor<16x16xf32>) -> tensor<3x16x16xf32>
  %6 = prim.mul %4#0, %5 : (tensor<3x16x16xf32>, tensor<3x16x16xf32>) -> tensor<3x16x16xf32>
  %7 = prim.mul %4#1, %5 : (tensor<3x16x16xf32>, tensor<3x16x16xf32>) -> tensor<3x16x16xf32>
  %8:2 = prim.fourier %6, %7 axis 2 {inverse = false} : (tensor<3x16x16xf32>, tensor<3x16x16xf32>) -> (tensor<3x16x16xf32>, tensor<3x16x16xf32>)
  %9 = prim.transpose %8#0 [0, 2, 1] : (tensor<3x16x16xf32>) -> tensor<3x16x16xf32>
  %10 = prim.reshape %9 sizes() : (tensor<3x16x16xf32>) -> tensor<3x256x1xf32>
  %11 = prim.transpose %8#1 [0, 2, 1] : (tensor<3x16x16xf32>) -> tensor<3x16x16xf32>
  %12 = prim.reshape %11 sizes() : (tensor<3x16x16xf32>) -> tensor<3x256x1xf32>
  %13 = prim.concat %10, %12 axis 2 : (tensor<3x256x1xf32>, tensor<3x256x1xf32>) -> tensor<3x256x2xf32>
  return %13 : tensor<3x256x2xf32>
}
func.func @places_by_blocks(%x: tensor<2x33000xi8> {test.low = -100.0, test.high = 100.0}, %y: tensor<50001xf32>) -> (tensor<2xi64>, tensor<i64>) {
  %0 = prim.arg_reduce max %x 1 {last = true} : (tensor<2x33000xi8>) -> tensor<2xi64>
  %1 = prim.arg_reduce min %y 0 : (tensor<50001xf32>) -> tensor<i64>
  return %0, %1 : tensor<2xi64>, tensor<i64>
}
func.func @sorted_scatters(%x: tensor<300x40xf32>, %i: tensor<9000x1xi64> {test.low = -5.0, test.high = 310.0}, %u: tensor<9000x40xf32>, %y: tensor<500x24xbf16>, %j: tensor<900x20xi64> {test.low = 0.0, test.high = 499.9}, %v: tensor<900x20xbf16>) -> (tensor<300x40xf32>, tensor<500x24xbf16>, tensor<500x24xbf16>) {
  %0 = prim.broadcast %i axes [0, 1] sizes() : (tensor<9000x1xi64>) -> tensor<9000x40xi64>
  %1 = prim.scatter_along add %x, %0, %u axis 0 : (tensor<300x40xf32>, tensor<9000x40xi64>, tensor<9000x40xf32>) -> tensor<300x40xf32>
  %2 = prim.scatter_along add %y, %j, %v axis 0 : (tensor<500x24xbf16>, tensor<900x20xi64>, tensor<900x20xbf16>) -> tensor<500x24xbf16>
  %3 = prim.scatter_along assign %y, %j, %v axis 0 : (tensor<500x24xbf16>, tensor<900x20xi64>, tensor<900x20xbf16>) -> tensor<500x24xbf16>
  return %1, %2, %3 : tensor<300x40xf32>, tensor<500x24xbf16>, tensor<500x24xbf16>
}
func.func @sums_in_fixed_point(%x: tensor<900xf32>, %i: tensor<7000xi64> {test.low = -3.0, test.high = 905.0}, %u: tensor<7000xf32>, %y: tensor<30x8xf32>, %j: tensor<900x8xi64> {test.low = 0.0, test.high = 29.9}, %v: tensor<900x8xf32>) -> (tensor<900xf32>, tensor<30x8xf32>) {
  %0 = prim.scatter_along add %x, %i, %u axis 0 : (tensor<900xf32>, tensor<7000xi64>, tensor<7000xf32>) -> tensor<900xf32>
  %1 = prim.scatter_along add %y, %j, %v axis 0 : (tensor<30x8xf32>, tensor<900x8xi64>, tensor<900x8xf32>) -> tensor<30x8xf32>
  return %0, %1 : tensor<900xf32>, tensor<30x8xf32>
}
func.func @products_f64(%a: tensor<150x70xf64>, %b: tensor<70x130xf64>, %c: tensor<90x70xf64>) -> (tensor<150x130xf64>, tensor<150x90xf64>) {
  %0 = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<150x70xf64>, tensor<70x130xf64>) -> tensor<150x130xf64>
  %1 = prim.dot %a, %c batch [] x [] contract [1] x [1] : (tensor<150x70xf64>, tensor<90x70xf64>) -> tensor<150x90xf64>
  return %0, %1 : tensor<150x130xf64>, tensor<150x90xf64>
}
func.func @scatters(%x: tensor<4x10x3xf32>, %i: tensor<4x25x2xi64> {test.low = 0.0, test.high = 9.9}, %u: tensor<4x25x2xf32>, %z: tensor<6x5x40xf32>, %j: tensor<30x2xi64> {test.low = 0.0, test.high = 4.9}, %w: tensor<30x40xf32>) -> (tensor<4x10x3xf32>, tensor<6x5x40xf32>, tensor<6x5x40xf32>) {
  %0 = prim.scatter_along assign %x, %i, %u axis 1 : (tensor<4x10x3xf32>, tensor<4x25x2xi64>, tensor<4x25x2xf32>) -> tensor<4x10x3xf32>
  %1 = prim.scatter_nd add %z, %j, %w : (tensor<6x5x40xf32>, tensor<30x2xi64>, tensor<30x40xf32>) -> tensor<6x5x40xf32>
  %2 = prim.scatter_nd assign %z, %j, %w : (tensor<6x5x40xf32>, tensor<30x2xi64>, tensor<30x40xf32>) -> tensor<6x5x40xf32>
  return %0, %1, %2 : tensor<4x10x3xf32>, tensor<6x5x40xf32>, tensor<6x5x40xf32>
}
func.func @insert_slice(%x: tensor<8x9xf32>, %u: tensor<3x4xf32>) -> tensor<8x9xf32> {
  %y = prim.insert_slice %x, %u starts [6, 1] () steps [-2, 2] : (tensor<8x9xf32>, tensor<3x4xf32>) -> tensor<8x9xf32>
  return %y : tensor<8x9xf32>
}
func.func @dot_f32(%a: tensor<70x33xf32>, %b: tensor<33x130xf32>, %c: tensor<130xf32>) -> tensor<70x130xf32> {
  %0 = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<70x33xf32>, tensor<33x130xf32>) -> tensor<70x130xf32>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<130xf32>) -> tensor<70x130xf32>
  %2 = prim.add %0, %1 : (tensor<70x130xf32>, tensor<70x130xf32>) -> tensor<70x130xf32>
  %y = prim.tanh %2 : (tensor<70x130xf32>) -> tensor<70x130xf32>
  return %y : tensor<70x130xf32>
}
func.func @dot_batched(%q: tensor<2x9x3x16xbf16>, %k: tensor<2x11x3x16xbf16>) -> tensor<2x3x9x11xbf16> {
  %y = prim.dot %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : (tensor<2x9x3x16xbf16>, tensor<2x11x3x16xbf16>) -> tensor<2x3x9x11xbf16>
  return %y : tensor<2x3x9x11xbf16>
}
func.func @dot_i8(%a: tensor<5x40xi8> {test.low = -120.0, test.high = 120.0}, %b: tensor<40x6xi8> {test.low = -120.0, test.high = 120.0}) -> tensor<5x6xi32> {
  %y = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<5x40xi8>, tensor<40x6xi8>) -> tensor<5x6xi32>
  return %y : tensor<5x6xi32>
}
func.func @dot_wgmma(%a: tensor<200x72xbf16>, %w: tensor<136x72xbf16>, %c: tensor<136xbf16>) -> tensor<200x136xbf16> {
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<200x72xbf16>, tensor<136x72xbf16>) -> tensor<200x136xbf16>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<136xbf16>) -> tensor<200x136xbf16>
  %y = prim.add %0, %1 : (tensor<200x136xbf16>, tensor<200x136xbf16>) -> tensor<200x136xbf16>
  return %y : tensor<200x136xbf16>
}
func.func @dot_wgmma_kn(%a: tensor<200x136xf16>, %w: tensor<136x264xf16>) -> tensor<200x264xf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [0] : (tensor<200x136xf16>, tensor<136x264xf16>) -> tensor<200x264xf16>
  return %y : tensor<200x264xf16>
}
func.func @dot_wgmma_open(%a: tensor<?x128xbf16>, %w: tensor<512x128xbf16>) -> tensor<?x512xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<?x128xbf16>, tensor<512x128xbf16>) -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @dot_wgmma_reshaped(%a: tensor<2x100x3x24xbf16>, %w: tensor<136x72xbf16>, %c: tensor<136xf32>) -> tensor<2x100x136xbf16> {
  %0 = prim.reshape %a sizes() : (tensor<2x100x3x24xbf16>) -> tensor<200x72xbf16>
  %1 = prim.dot %0, %w batch [] x [] contract [1] x [1] : (tensor<200x72xbf16>, tensor<136x72xbf16>) -> tensor<200x136xf32>
  %2 = prim.reshape %1 sizes() : (tensor<200x136xf32>) -> tensor<2x100x136xf32>
  %3 = prim.broadcast %c axes [2] sizes() : (tensor<136xf32>) -> tensor<2x100x136xf32>
  %4 = prim.add %2, %3 : (tensor<2x100x136xf32>, tensor<2x100x136xf32>) -> tensor<2x100x136xf32>
  %y = prim.cast %4 : (tensor<2x100x136xf32>) -> tensor<2x100x136xbf16>
  return %y : tensor<2x100x136xbf16>
}
func.func @conv(%x: tensor<2x6x9x10xf32>, %w: tensor<8x6x3x3xf32>) -> tensor<2x8x9x10xf32> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x6x9x10xf32>, tensor<8x6x3x3xf32>) -> tensor<2x8x9x10xf32>
  return %y : tensor<2x8x9x10xf32>
}
func.func @conv_grouped(%x: tensor<1x8x11x7xf32>, %w: tensor<12x4x3x2xf32>) -> tensor<1x12x5x4xf32> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 2>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 1>, high = array<i64: 0, 1>, groups = 2 : i64} : (tensor<1x8x11x7xf32>, tensor<12x4x3x2xf32>) -> tensor<1x12x5x4xf32>
  return %y : tensor<1x12x5x4xf32>
}
func.func @sum_all_split(%x: tensor<300x1001xf32>) -> tensor<f32> {
  %y = prim.reduce sum %x [0, 1] : (tensor<300x1001xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func @max_rows_split(%x: tensor<3x160000xbf16>) -> tensor<3xbf16> {
  %y = prim.reduce max %x [1] : (tensor<3x160000xbf16>) -> tensor<3xbf16>
  return %y : tensor<3xbf16>
}
func.func @sum_leading_split(%x: tensor<20000x12xf32>) -> tensor<12xf32> {
  %y = prim.reduce sum %x [0] : (tensor<20000x12xf32>) -> tensor<12xf32>
  return %y : tensor<12xf32>
}
// Averages of images: few columns, axes of one element after them, what follows the sum.
func.func @average(%x: tensor<1x19x21x72xbf16>) -> tensor<1x72x1x1xbf16> {
  %c = prim.constant dense<399.0> : tensor<1x72x1x1xf32>
  %0 = prim.cast %x : (tensor<1x19x21x72xbf16>) -> tensor<1x19x21x72xf32>
  %1 = prim.reduce sum %0 [1, 2] : (tensor<1x19x21x72xf32>) -> tensor<1x72xf32>
  %2 = prim.reshape %1 sizes() : (tensor<1x72xf32>) -> tensor<1x72x1x1xf32>
  %3 = prim.div %2, %c : (tensor<1x72x1x1xf32>, tensor<1x72x1x1xf32>) -> tensor<1x72x1x1xf32>
  %y = prim.cast %3 : (tensor<1x72x1x1xf32>) -> tensor<1x72x1x1xbf16>
  return %y : tensor<1x72x1x1xbf16>
}
func.func @average_split(%x: tensor<1x112x112x32xbf16>) -> tensor<1x32x1x1xbf16> {
  %c = prim.constant dense<12544.0> : tensor<1x32x1x1xf32>
  %0 = prim.cast %x : (tensor<1x112x112x32xbf16>) -> tensor<1x112x112x32xf32>
  %1 = prim.reduce sum %0 [1, 2] : (tensor<1x112x112x32xf32>) -> tensor<1x32xf32>
  %2 = prim.reshape %1 sizes() : (tensor<1x32xf32>) -> tensor<1x32x1x1xf32>
  %3 = prim.div %2, %c : (tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>) -> tensor<1x32x1x1xf32>
  %y = prim.cast %3 : (tensor<1x32x1x1xf32>) -> tensor<1x32x1x1xbf16>
  return %y : tensor<1x32x1x1xbf16>
}
func.func @average_odd(%x: tensor<3x17x31x7xbf16>) -> tensor<3x7x1x1xbf16> {
  %c = prim.constant dense<527.0> : tensor<3x7x1x1xf32>
  %0 = prim.cast %x : (tensor<3x17x31x7xbf16>) -> tensor<3x17x31x7xf32>
  %1 = prim.reduce sum %0 [1, 2] : (tensor<3x17x31x7xf32>) -> tensor<3x7xf32>
  %2 = prim.reshape %1 sizes() : (tensor<3x7xf32>) -> tensor<3x7x1x1xf32>
  %3 = prim.div %2, %c : (tensor<3x7x1x1xf32>, tensor<3x7x1x1xf32>) -> tensor<3x7x1x1xf32>
  %y = prim.cast %3 : (tensor<3x7x1x1xf32>) -> tensor<3x7x1x1xbf16>
  return %y : tensor<3x7x1x1xbf16>
}
// mma.sync: unaligned rows, operands along k or across, shared tiles, batches, bytes, open extents.
func.func @mma_tails(%a: tensor<70x65xbf16>, %w: tensor<100x65xbf16>) -> tensor<70x100xf32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<70x65xbf16>, tensor<100x65xbf16>) -> tensor<70x100xf32>
  return %y : tensor<70x100xf32>
}
func.func @mma_heads(%x: tensor<69x2x384xbf16>) -> tensor<2x2x69x69xf32> {
  %0 = prim.reshape %x sizes() : (tensor<69x2x384xbf16>) -> tensor<69x2x3x128xbf16>
  %1 = prim.transpose %0 [2, 1, 0, 3] : (tensor<69x2x3x128xbf16>) -> tensor<3x2x69x128xbf16>
  %2 = prim.slice %1 starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<3x2x69x128xbf16>) -> tensor<1x2x69x128xbf16>
  %q = prim.reshape %2 sizes() : (tensor<1x2x69x128xbf16>) -> tensor<2x69x2x64xbf16>
  %3 = prim.slice %1 starts [1, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<3x2x69x128xbf16>) -> tensor<1x2x69x128xbf16>
  %k = prim.reshape %3 sizes() : (tensor<1x2x69x128xbf16>) -> tensor<2x69x2x64xbf16>
  %y = prim.dot %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : (tensor<2x69x2x64xbf16>, tensor<2x69x2x64xbf16>) -> tensor<2x2x69x69xf32>
  return %y : tensor<2x2x69x69xf32>
}
func.func @mma_four_bytes(%a: tensor<70x66xf16>, %w: tensor<66x102xf16>) -> tensor<70x102xf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [0] : (tensor<70x66xf16>, tensor<66x102xf16>) -> tensor<70x102xf16>
  return %y : tensor<70x102xf16>
}
func.func @mma_across(%a: tensor<3x48x40xf16>, %w: tensor<3x48x64xf16>) -> tensor<3x40x64xf32> {
  %y = prim.dot %a, %w batch [0] x [0] contract [1] x [1] : (tensor<3x48x40xf16>, tensor<3x48x64xf16>) -> tensor<3x40x64xf32>
  return %y : tensor<3x40x64xf32>
}
func.func @mma_shared_tiles(%a: tensor<16x2000xbf16>, %w: tensor<200x2000xbf16>) -> tensor<16x200xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<16x2000xbf16>, tensor<200x2000xbf16>) -> tensor<16x200xbf16>
  return %y : tensor<16x200xbf16>
}
func.func @mma_one_row(%a: tensor<1x4096xbf16>, %w: tensor<512x4096xbf16>) -> tensor<1x512xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<512x4096xbf16>) -> tensor<1x512xbf16>
  return %y : tensor<1x512xbf16>
}
func.func @mma_bytes(%a: tensor<90x200xi8> {test.low = -120.0, test.high = 120.0}, %w: tensor<130x200xi8> {test.low = -120.0, test.high = 120.0}) -> tensor<90x130xi32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<90x200xi8>, tensor<130x200xi8>) -> tensor<90x130xi32>
  return %y : tensor<90x130xi32>
}
func.func @mma_bytes_across(%a: tensor<40x200xi8> {test.low = -120.0, test.high = 120.0}, %w: tensor<200x50xi8> {test.low = -120.0, test.high = 120.0}) -> tensor<40x50xi32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [0] : (tensor<40x200xi8>, tensor<200x50xi8>) -> tensor<40x50xi32>
  return %y : tensor<40x50xi32>
}
func.func @mma_large(%a: tensor<300x520xbf16>, %w: tensor<400x520xbf16>) -> tensor<300x400xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<300x520xbf16>, tensor<400x520xbf16>) -> tensor<300x400xbf16>
  return %y : tensor<300x400xbf16>
}
func.func @mma_open(%q: tensor<2x?x3x16xbf16>, %k: tensor<2x?x3x16xbf16>) -> tensor<2x3x?x?xbf16> {
  %y = prim.dot %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : (tensor<2x?x3x16xbf16>, tensor<2x?x3x16xbf16>) -> tensor<2x3x?x?xbf16>
  return %y : tensor<2x3x?x?xbf16>
}
func.func @mma_conv(%x: tensor<2x13x11x24xbf16>, %w: tensor<40x24x3x3xbf16>, %c: tensor<40xbf16>) -> tensor<2x7x6x40xbf16> {
  %0 = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<2x13x11x24xbf16>, tensor<40x24x3x3xbf16>) -> tensor<2x7x6x40xbf16>
  %1 = prim.broadcast %c axes [3] sizes() : (tensor<40xbf16>) -> tensor<2x7x6x40xbf16>
  %2 = prim.add %0, %1 : (tensor<2x7x6x40xbf16>, tensor<2x7x6x40xbf16>) -> tensor<2x7x6x40xbf16>
  %y = prim.logistic %2 : (tensor<2x7x6x40xbf16>) -> tensor<2x7x6x40xbf16>
  return %y : tensor<2x7x6x40xbf16>
}
func.func @attention_causal(%q: tensor<4x150x64xf32>, %k: tensor<4x150x64xf32>, %v: tensor<4x150x48xf32>) -> tensor<4x150x48xf32> {
  %0 = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x150x64xf32>, tensor<4x150x64xf32>) -> tensor<4x150x150xf32>
  %1 = prim.iota 0 sizes() : tensor<150x150xi64>
  %2 = prim.iota 1 sizes() : tensor<150x150xi64>
  %3 = prim.compare ge %1, %2 : (tensor<150x150xi64>, tensor<150x150xi64>) -> tensor<150x150xi1>
  %4 = prim.broadcast %3 axes [1, 2] sizes() : (tensor<150x150xi1>) -> tensor<4x150x150xi1>
  %5 = prim.constant dense<0xFF800000> : tensor<4x150x150xf32>
  %6 = prim.select %4, %0, %5 : (tensor<4x150x150xi1>, tensor<4x150x150xf32>, tensor<4x150x150xf32>) -> tensor<4x150x150xf32>
  %7 = prim.reduce max %6 [2] : (tensor<4x150x150xf32>) -> tensor<4x150xf32>
  %8 = prim.broadcast %7 axes [0, 1] sizes() : (tensor<4x150xf32>) -> tensor<4x150x150xf32>
  %9 = prim.sub %6, %8 : (tensor<4x150x150xf32>, tensor<4x150x150xf32>) -> tensor<4x150x150xf32>
  %10 = prim.exp %9 : (tensor<4x150x150xf32>) -> tensor<4x150x150xf32>
  %11 = prim.reduce sum %10 [2] : (tensor<4x150x150xf32>) -> tensor<4x150xf32>
  %12 = prim.broadcast %11 axes [0, 1] sizes() : (tensor<4x150xf32>) -> tensor<4x150x150xf32>
  %13 = prim.div %10, %12 : (tensor<4x150x150xf32>, tensor<4x150x150xf32>) -> tensor<4x150x150xf32>
  %14 = prim.dot %13, %v batch [0] x [0] contract [2] x [1] : (tensor<4x150x150xf32>, tensor<4x150x48xf32>) -> tensor<4x150x48xf32>
  return %14 : tensor<4x150x48xf32>
}
