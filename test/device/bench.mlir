// Launches that are timed on a GPU; scripts and figures: docs/Rationale/gpu-code.md.
func.func @bench_copy_f32(%x: tensor<8192x4096xf32>) -> tensor<8192x4096xf32> {
  %y = prim.neg %x : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>

  return %y : tensor<8192x4096xf32>
}
func.func @bench_sin_cos_f32(%x: tensor<8192x4096xf32>) -> tensor<8192x4096xf32> {
  %0 = prim.cos %x : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %y = prim.sin %0 : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>

  return %y : tensor<8192x4096xf32>
}
func.func @bench_gelu_add_f32(%x: tensor<8192x4096xf32>, %z: tensor<8192x4096xf32>) -> tensor<8192x4096xf32> {
  %c = prim.constant dense<0.70710678> : tensor<f32>
  %h = prim.constant dense<0.5> : tensor<f32>
  %o = prim.constant dense<1.0> : tensor<f32>
  %cb = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<8192x4096xf32>
  %hb = prim.broadcast %h axes [] sizes() : (tensor<f32>) -> tensor<8192x4096xf32>
  %ob = prim.broadcast %o axes [] sizes() : (tensor<f32>) -> tensor<8192x4096xf32>
  %0 = prim.add %x, %z : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %1 = prim.mul %0, %cb : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %2 = prim.erf %1 : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %3 = prim.add %2, %ob : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %4 = prim.mul %0, %hb : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %y = prim.mul %4, %3 : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>

  return %y : tensor<8192x4096xf32>
}
func.func @bench_softmax_f32(%x: tensor<8192x4096xf32>) -> tensor<8192x4096xf32> {
  %0 = prim.reduce max %x [1] : (tensor<8192x4096xf32>) -> tensor<8192xf32>
  %1 = prim.broadcast %0 axes [0] sizes() : (tensor<8192xf32>) -> tensor<8192x4096xf32>
  %2 = prim.sub %x, %1 : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %3 = prim.exp %2 : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %4 = prim.reduce sum %3 [1] : (tensor<8192x4096xf32>) -> tensor<8192xf32>
  %5 = prim.broadcast %4 axes [0] sizes() : (tensor<8192xf32>) -> tensor<8192x4096xf32>
  %y = prim.div %3, %5 : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>

  return %y : tensor<8192x4096xf32>
}
func.func @bench_layer_norm_f32(%x: tensor<8192x4096xf32>, %g: tensor<4096xf32>, %b: tensor<4096xf32>) -> tensor<8192x4096xf32> {
  %n = prim.constant dense<2.441406e-04> : tensor<f32>
  %e = prim.constant dense<1.0e-5> : tensor<f32>
  %nb = prim.broadcast %n axes [] sizes() : (tensor<f32>) -> tensor<8192xf32>
  %eb = prim.broadcast %e axes [] sizes() : (tensor<f32>) -> tensor<8192xf32>
  %0 = prim.reduce sum %x [1] : (tensor<8192x4096xf32>) -> tensor<8192xf32>
  %1 = prim.mul %0, %nb : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  %2 = prim.broadcast %1 axes [0] sizes() : (tensor<8192xf32>) -> tensor<8192x4096xf32>
  %3 = prim.sub %x, %2 : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %4 = prim.mul %3, %3 : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %5 = prim.reduce sum %4 [1] : (tensor<8192x4096xf32>) -> tensor<8192xf32>
  %6 = prim.mul %5, %nb : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  %7 = prim.add %6, %eb : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  %8 = prim.rsqrt %7 : (tensor<8192xf32>) -> tensor<8192xf32>
  %9 = prim.broadcast %8 axes [0] sizes() : (tensor<8192xf32>) -> tensor<8192x4096xf32>
  %10 = prim.mul %3, %9 : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %11 = prim.broadcast %g axes [1] sizes() : (tensor<4096xf32>) -> tensor<8192x4096xf32>
  %12 = prim.broadcast %b axes [1] sizes() : (tensor<4096xf32>) -> tensor<8192x4096xf32>
  %13 = prim.mul %10, %11 : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %y = prim.add %13, %12 : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>

  return %y : tensor<8192x4096xf32>
}
func.func @bench_transpose_f32(%x: tensor<8192x4096xf32>) -> tensor<4096x8192xf32> {
  %y = prim.transpose %x [1, 0] : (tensor<8192x4096xf32>) -> tensor<4096x8192xf32>

  return %y : tensor<4096x8192xf32>
}
func.func @bench_sum_leading_f32(%x: tensor<8192x4096xf32>) -> tensor<4096xf32> {
  %y = prim.reduce sum %x [0] : (tensor<8192x4096xf32>) -> tensor<4096xf32>

  return %y : tensor<4096xf32>
}
func.func @bench_copy_bf16(%x: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> {
  %y = prim.neg %x : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>

  return %y : tensor<8192x4096xbf16>
}
func.func @bench_sin_cos_bf16(%x: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> {
  %0 = prim.cos %x : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %y = prim.sin %0 : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>

  return %y : tensor<8192x4096xbf16>
}
func.func @bench_gelu_add_bf16(%x: tensor<8192x4096xbf16>, %z: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> {
  %c = prim.constant dense<0.70710678> : tensor<bf16>
  %h = prim.constant dense<0.5> : tensor<bf16>
  %o = prim.constant dense<1.0> : tensor<bf16>
  %cb = prim.broadcast %c axes [] sizes() : (tensor<bf16>) -> tensor<8192x4096xbf16>
  %hb = prim.broadcast %h axes [] sizes() : (tensor<bf16>) -> tensor<8192x4096xbf16>
  %ob = prim.broadcast %o axes [] sizes() : (tensor<bf16>) -> tensor<8192x4096xbf16>
  %0 = prim.add %x, %z : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %1 = prim.mul %0, %cb : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %2 = prim.erf %1 : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %3 = prim.add %2, %ob : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %4 = prim.mul %0, %hb : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %y = prim.mul %4, %3 : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>

  return %y : tensor<8192x4096xbf16>
}
func.func @bench_softmax_bf16(%x: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> {
  %0 = prim.reduce max %x [1] : (tensor<8192x4096xbf16>) -> tensor<8192xbf16>
  %1 = prim.broadcast %0 axes [0] sizes() : (tensor<8192xbf16>) -> tensor<8192x4096xbf16>
  %2 = prim.sub %x, %1 : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %3 = prim.exp %2 : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %4 = prim.reduce sum %3 [1] : (tensor<8192x4096xbf16>) -> tensor<8192xbf16>
  %5 = prim.broadcast %4 axes [0] sizes() : (tensor<8192xbf16>) -> tensor<8192x4096xbf16>
  %y = prim.div %3, %5 : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>

  return %y : tensor<8192x4096xbf16>
}
func.func @bench_layer_norm_bf16(%x: tensor<8192x4096xbf16>, %g: tensor<4096xbf16>, %b: tensor<4096xbf16>) -> tensor<8192x4096xbf16> {
  %n = prim.constant dense<2.441406e-04> : tensor<bf16>
  %e = prim.constant dense<1.0e-5> : tensor<bf16>
  %nb = prim.broadcast %n axes [] sizes() : (tensor<bf16>) -> tensor<8192xbf16>
  %eb = prim.broadcast %e axes [] sizes() : (tensor<bf16>) -> tensor<8192xbf16>
  %0 = prim.reduce sum %x [1] : (tensor<8192x4096xbf16>) -> tensor<8192xbf16>
  %1 = prim.mul %0, %nb : (tensor<8192xbf16>, tensor<8192xbf16>) -> tensor<8192xbf16>
  %2 = prim.broadcast %1 axes [0] sizes() : (tensor<8192xbf16>) -> tensor<8192x4096xbf16>
  %3 = prim.sub %x, %2 : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %4 = prim.mul %3, %3 : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %5 = prim.reduce sum %4 [1] : (tensor<8192x4096xbf16>) -> tensor<8192xbf16>
  %6 = prim.mul %5, %nb : (tensor<8192xbf16>, tensor<8192xbf16>) -> tensor<8192xbf16>
  %7 = prim.add %6, %eb : (tensor<8192xbf16>, tensor<8192xbf16>) -> tensor<8192xbf16>
  %8 = prim.rsqrt %7 : (tensor<8192xbf16>) -> tensor<8192xbf16>
  %9 = prim.broadcast %8 axes [0] sizes() : (tensor<8192xbf16>) -> tensor<8192x4096xbf16>
  %10 = prim.mul %3, %9 : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %11 = prim.broadcast %g axes [1] sizes() : (tensor<4096xbf16>) -> tensor<8192x4096xbf16>
  %12 = prim.broadcast %b axes [1] sizes() : (tensor<4096xbf16>) -> tensor<8192x4096xbf16>
  %13 = prim.mul %10, %11 : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %y = prim.add %13, %12 : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>

  return %y : tensor<8192x4096xbf16>
}
func.func @bench_transpose_bf16(%x: tensor<8192x4096xbf16>) -> tensor<4096x8192xbf16> {
  %y = prim.transpose %x [1, 0] : (tensor<8192x4096xbf16>) -> tensor<4096x8192xbf16>

  return %y : tensor<4096x8192xbf16>
}
func.func @bench_sum_leading_bf16(%x: tensor<8192x4096xbf16>) -> tensor<4096xbf16> {
  %y = prim.reduce sum %x [0] : (tensor<8192x4096xbf16>) -> tensor<4096xbf16>

  return %y : tensor<4096xbf16>
}
func.func @bench_sum_all_f32(%x: tensor<8192x4096xf32>) -> tensor<f32> {
  %y = prim.reduce sum %x [0, 1] : (tensor<8192x4096xf32>) -> tensor<f32>

  return %y : tensor<f32>
}
func.func @bench_gemm_8192(%a: tensor<8192x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>

  return %y : tensor<8192x8192xbf16>
}
func.func @bench_gemm_4096(%a: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>

  return %y : tensor<4096x4096xbf16>
}
func.func @bench_gemm_4096_kn(%a: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>

  return %y : tensor<4096x4096xbf16>
}
func.func @bench_gemm_4096_bias_relu(%a: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %c: tensor<4096xbf16>) -> tensor<4096x4096xbf16> {
  %z = prim.constant dense<0.0> : tensor<bf16>
  %zb = prim.broadcast %z axes [] sizes() : (tensor<bf16>) -> tensor<4096x4096xbf16>
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = prim.add %0, %1 : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %y = prim.maximum %2, %zb : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>

  return %y : tensor<4096x4096xbf16>
}
func.func @bench_gemm_1024_4096_4096(%a: tensor<1024x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<1024x4096xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1024x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1024x4096xbf16>

  return %y : tensor<1024x4096xbf16>
}
func.func @bench_gemm_tails(%a: tensor<1000x1096xbf16>, %w: tensor<1208x1096xbf16>, %c: tensor<1208xbf16>) -> tensor<1000x1208xbf16> {
  %z = prim.constant dense<0.0> : tensor<bf16>
  %zb = prim.broadcast %z axes [] sizes() : (tensor<bf16>) -> tensor<1000x1208xbf16>
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1000x1096xbf16>, tensor<1208x1096xbf16>) -> tensor<1000x1208xbf16>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<1208xbf16>) -> tensor<1000x1208xbf16>
  %2 = prim.add %0, %1 : (tensor<1000x1208xbf16>, tensor<1000x1208xbf16>) -> tensor<1000x1208xbf16>
  %y = prim.maximum %2, %zb : (tensor<1000x1208xbf16>, tensor<1000x1208xbf16>) -> tensor<1000x1208xbf16>

  return %y : tensor<1000x1208xbf16>
}
func.func @bench_gemm_tails_kn(%a: tensor<1000x1096xbf16>, %w: tensor<1096x1208xbf16>, %c: tensor<1208xbf16>) -> tensor<1000x1208xbf16> {
  %z = prim.constant dense<0.0> : tensor<bf16>
  %zb = prim.broadcast %z axes [] sizes() : (tensor<bf16>) -> tensor<1000x1208xbf16>
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [0] : (tensor<1000x1096xbf16>, tensor<1096x1208xbf16>) -> tensor<1000x1208xbf16>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<1208xbf16>) -> tensor<1000x1208xbf16>
  %2 = prim.add %0, %1 : (tensor<1000x1208xbf16>, tensor<1000x1208xbf16>) -> tensor<1000x1208xbf16>
  %y = prim.maximum %2, %zb : (tensor<1000x1208xbf16>, tensor<1000x1208xbf16>) -> tensor<1000x1208xbf16>

  return %y : tensor<1000x1208xbf16>
}
func.func @bench_gemm_bert(%a: tensor<4096x768xbf16>, %w: tensor<3072x768xbf16>, %c: tensor<3072xbf16>) -> tensor<4096x3072xbf16> {
  %z = prim.constant dense<0.0> : tensor<bf16>
  %zb = prim.broadcast %z axes [] sizes() : (tensor<bf16>) -> tensor<4096x3072xbf16>
  %0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<4096x768xbf16>, tensor<3072x768xbf16>) -> tensor<4096x3072xbf16>
  %1 = prim.broadcast %c axes [1] sizes() : (tensor<3072xbf16>) -> tensor<4096x3072xbf16>
  %2 = prim.add %0, %1 : (tensor<4096x3072xbf16>, tensor<4096x3072xbf16>) -> tensor<4096x3072xbf16>
  %y = prim.maximum %2, %zb : (tensor<4096x3072xbf16>, tensor<4096x3072xbf16>) -> tensor<4096x3072xbf16>

  return %y : tensor<4096x3072xbf16>
}
func.func @bench_gemm_f16(%a: tensor<2048x2048xf16>, %w: tensor<2048x2048xf16>) -> tensor<2048x2048xf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf16>

  return %y : tensor<2048x2048xf16>
}
func.func @bench_gemm_f32_2048(%a: tensor<2048x2048xf32>, %w: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>

  return %y : tensor<2048x2048xf32>
}
func.func @bench_conv_f32(%x: tensor<32x56x56x64xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<32x56x56x64xf32> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<32x56x56x64xf32>, tensor<64x64x3x3xf32>) -> tensor<32x56x56x64xf32>

  return %y : tensor<32x56x56x64xf32>
}
func.func @bench_sum_all_bf16(%x: tensor<8192x4096xbf16>) -> tensor<bf16> {
  %y = prim.reduce sum %x [0, 1] : (tensor<8192x4096xbf16>) -> tensor<bf16>
  return %y : tensor<bf16>
}
func.func @bench_max_rows_8_f32(%x: tensor<8x4194304xf32>) -> tensor<8xf32> {
  %y = prim.reduce max %x [1] : (tensor<8x4194304xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @bench_sum_leading_64_f32(%x: tensor<524288x64xf32>) -> tensor<64xf32> {
  %y = prim.reduce sum %x [0] : (tensor<524288x64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func @bench_average_12544_32(%x: tensor<1x112x112x32xbf16>) -> tensor<1x32x1x1xbf16> {
  %c = prim.constant dense<12544.0> : tensor<1x32x1x1xf32>
  %0 = prim.cast %x : (tensor<1x112x112x32xbf16>) -> tensor<1x112x112x32xf32>
  %1 = prim.reduce sum %0 [1, 2] : (tensor<1x112x112x32xf32>) -> tensor<1x32xf32>
  %2 = prim.reshape %1 sizes() : (tensor<1x32xf32>) -> tensor<1x32x1x1xf32>
  %3 = prim.div %2, %c : (tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>) -> tensor<1x32x1x1xf32>
  %y = prim.cast %3 : (tensor<1x32x1x1xf32>) -> tensor<1x32x1x1xbf16>
  return %y : tensor<1x32x1x1xbf16>
}
func.func @bench_average_3136_72(%x: tensor<1x56x56x72xbf16>) -> tensor<1x72x1x1xbf16> {
  %c = prim.constant dense<3136.0> : tensor<1x72x1x1xf32>
  %0 = prim.cast %x : (tensor<1x56x56x72xbf16>) -> tensor<1x56x56x72xf32>
  %1 = prim.reduce sum %0 [1, 2] : (tensor<1x56x56x72xf32>) -> tensor<1x72xf32>
  %2 = prim.reshape %1 sizes() : (tensor<1x72xf32>) -> tensor<1x72x1x1xf32>
  %3 = prim.div %2, %c : (tensor<1x72x1x1xf32>, tensor<1x72x1x1xf32>) -> tensor<1x72x1x1xf32>
  %y = prim.cast %3 : (tensor<1x72x1x1xf32>) -> tensor<1x72x1x1xbf16>
  return %y : tensor<1x72x1x1xbf16>
}
func.func @bench_average_196_480(%x: tensor<1x14x14x480xbf16>) -> tensor<1x480x1x1xbf16> {
  %c = prim.constant dense<196.0> : tensor<1x480x1x1xf32>
  %0 = prim.cast %x : (tensor<1x14x14x480xbf16>) -> tensor<1x14x14x480xf32>
  %1 = prim.reduce sum %0 [1, 2] : (tensor<1x14x14x480xf32>) -> tensor<1x480xf32>
  %2 = prim.reshape %1 sizes() : (tensor<1x480xf32>) -> tensor<1x480x1x1xf32>
  %3 = prim.div %2, %c : (tensor<1x480x1x1xf32>, tensor<1x480x1x1xf32>) -> tensor<1x480x1x1xf32>
  %y = prim.cast %3 : (tensor<1x480x1x1xf32>) -> tensor<1x480x1x1xbf16>
  return %y : tensor<1x480x1x1xbf16>
}
func.func @bench_average_49_1152(%x: tensor<1x7x7x1152xbf16>) -> tensor<1x1152x1x1xbf16> {
  %c = prim.constant dense<49.0> : tensor<1x1152x1x1xf32>
  %0 = prim.cast %x : (tensor<1x7x7x1152xbf16>) -> tensor<1x7x7x1152xf32>
  %1 = prim.reduce sum %0 [1, 2] : (tensor<1x7x7x1152xf32>) -> tensor<1x1152xf32>
  %2 = prim.reshape %1 sizes() : (tensor<1x1152xf32>) -> tensor<1x1152x1x1xf32>
  %3 = prim.div %2, %c : (tensor<1x1152x1x1xf32>, tensor<1x1152x1x1xf32>) -> tensor<1x1152x1x1xf32>
  %y = prim.cast %3 : (tensor<1x1152x1x1xf32>) -> tensor<1x1152x1x1xbf16>
  return %y : tensor<1x1152x1x1xbf16>
}
// Products that fill the machine less, in every template that takes them: the name says which.
func.func @bench_gemm_1_4096_4096(%a: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<1x4096xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
  return %y : tensor<1x4096xbf16>
}
func.func @bench_gemm_1_8192_2048(%a: tensor<1x2048xbf16>, %w: tensor<8192x2048xbf16>) -> tensor<1x8192xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<1x8192xbf16>
  return %y : tensor<1x8192xbf16>
}
func.func @bench_gemm_1_2048_8192(%a: tensor<1x8192xbf16>, %w: tensor<2048x8192xbf16>) -> tensor<1x2048xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<1x2048xbf16>
  return %y : tensor<1x2048xbf16>
}
func.func @bench_gemm_16_4096_4096(%a: tensor<16x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<16x4096xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<16x4096xbf16>
  return %y : tensor<16x4096xbf16>
}
func.func @bench_gemm_64_4096_4096(%a: tensor<64x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<64x4096xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<64x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<64x4096xbf16>
  return %y : tensor<64x4096xbf16>
}
func.func @bench_gemm_bert_b1_qkv(%a: tensor<128x768xbf16>, %w: tensor<768x768xbf16>) -> tensor<128x768xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xbf16>
  return %y : tensor<128x768xbf16>
}
func.func @bench_gemm_bert_b1_up(%a: tensor<128x768xbf16>, %w: tensor<3072x768xbf16>) -> tensor<128x3072xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<128x768xbf16>, tensor<3072x768xbf16>) -> tensor<128x3072xbf16>
  return %y : tensor<128x3072xbf16>
}
func.func @bench_gemm_bert_b1_down(%a: tensor<128x3072xbf16>, %w: tensor<768x3072xbf16>) -> tensor<128x768xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<128x3072xbf16>, tensor<768x3072xbf16>) -> tensor<128x768xbf16>
  return %y : tensor<128x768xbf16>
}
func.func @bench_gemm_bert_b32_down(%a: tensor<4096x3072xbf16>, %w: tensor<768x3072xbf16>) -> tensor<4096x768xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<4096x3072xbf16>, tensor<768x3072xbf16>) -> tensor<4096x768xbf16>
  return %y : tensor<4096x768xbf16>
}
func.func @bench_gemm_vit_b32(%a: tensor<6304x768xbf16>, %w: tensor<768x768xbf16>) -> tensor<6304x768xbf16> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<6304x768xbf16>, tensor<768x768xbf16>) -> tensor<6304x768xbf16>
  return %y : tensor<6304x768xbf16>
}
func.func @bench_gemm_bert_b32_f32(%a: tensor<4096x768xbf16>, %w: tensor<768x768xbf16>) -> tensor<4096x768xf32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<4096x768xbf16>, tensor<768x768xbf16>) -> tensor<4096x768xf32>
  return %y : tensor<4096x768xf32>
}
func.func @bench_gemm_i8_4096(%a: tensor<4096x4096xi8>, %w: tensor<4096x4096xi8>) -> tensor<4096x4096xi32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<4096x4096xi8>, tensor<4096x4096xi8>) -> tensor<4096x4096xi32>
  return %y : tensor<4096x4096xi32>
}
func.func @bench_gemm_i8_1024(%a: tensor<1024x1024xi8>, %w: tensor<1024x1024xi8>) -> tensor<1024x1024xi32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1024x1024xi8>, tensor<1024x1024xi8>) -> tensor<1024x1024xi32>
  return %y : tensor<1024x1024xi32>
}
func.func @bench_gemm_tf32_8192(%a: tensor<8192x8192xf32>, %w: tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<8192x8192xf32>, tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  return %y : tensor<8192x8192xf32>
}
func.func @bench_gemm_tf32_4096(%a: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %y : tensor<4096x4096xf32>
}
func.func @bench_gemm_tf32_1024_4096_4096(%a: tensor<1024x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<1024x4096xf32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
  return %y : tensor<1024x4096xf32>
}
func.func @bench_scores_bert_b32(%a: tensor<384x128x64xbf16>, %w: tensor<384x128x64xbf16>) -> tensor<384x128x128xbf16> {
  %y = prim.dot %a, %w batch [0] x [0] contract [2] x [2] : (tensor<384x128x64xbf16>, tensor<384x128x64xbf16>) -> tensor<384x128x128xbf16>
  return %y : tensor<384x128x128xbf16>
}
func.func @bench_values_bert_b32(%a: tensor<384x128x128xbf16>, %w: tensor<384x128x64xbf16>) -> tensor<384x128x64xbf16> {
  %y = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : (tensor<384x128x128xbf16>, tensor<384x128x64xbf16>) -> tensor<384x128x64xbf16>
  return %y : tensor<384x128x64xbf16>
}
// resnet50's and resnext101's convolutions, batch 32, and a depthwise one.
func.func @bench_conv_56_64_3x3(%x: tensor<32x56x56x64xbf16>, %w: tensor<64x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x64xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<32x56x56x64xbf16>, tensor<64x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x64xbf16>
  return %y : tensor<32x56x56x64xbf16>
}
func.func @bench_conv_28_128_3x3(%x: tensor<32x28x28x128xbf16>, %w: tensor<128x128x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x128xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<32x28x28x128xbf16>, tensor<128x128x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x128xbf16>
  return %y : tensor<32x28x28x128xbf16>
}
func.func @bench_conv_14_256_3x3(%x: tensor<32x14x14x256xbf16>, %w: tensor<256x256x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x14x14x256xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<32x14x14x256xbf16>, tensor<256x256x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x14x14x256xbf16>
  return %y : tensor<32x14x14x256xbf16>
}
func.func @bench_conv_7_512_3x3(%x: tensor<32x7x7x512xbf16>, %w: tensor<512x512x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x7x7x512xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<32x7x7x512xbf16>, tensor<512x512x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x7x7x512xbf16>
  return %y : tensor<32x7x7x512xbf16>
}
func.func @bench_conv_56_128_3x3_s2(%x: tensor<32x56x56x128xbf16>, %w: tensor<128x128x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x128xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<32x56x56x128xbf16>, tensor<128x128x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x128xbf16>
  return %y : tensor<32x28x28x128xbf16>
}
func.func @bench_conv_56_256_1x1_s2(%x: tensor<32x56x56x256xbf16>, %w: tensor<512x256x1x1xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x512xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64, channels_last = true} : (tensor<32x56x56x256xbf16>, tensor<512x256x1x1xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x512xbf16>
  return %y : tensor<32x28x28x512xbf16>
}
func.func @bench_conv_224_4_7x7_s2(%x: tensor<32x224x224x4xbf16>, %w: tensor<64x4x7x7xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x112x112x64xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>, groups = 1 : i64, channels_last = true} : (tensor<32x224x224x4xbf16>, tensor<64x4x7x7xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x112x112x64xbf16>
  return %y : tensor<32x112x112x64xbf16>
}
func.func @bench_conv_b1_14_256_3x3(%x: tensor<1x14x14x256xbf16>, %w: tensor<256x256x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x14x14x256xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<1x14x14x256xbf16>, tensor<256x256x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<1x14x14x256xbf16>
  return %y : tensor<1x14x14x256xbf16>
}
func.func @bench_conv_56_256_g32(%x: tensor<32x56x56x256xbf16>, %w: tensor<256x8x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x256xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 32 : i64, channels_last = true} : (tensor<32x56x56x256xbf16>, tensor<256x8x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x256xbf16>
  return %y : tensor<32x56x56x256xbf16>
}
func.func @bench_conv_28_512_g32(%x: tensor<32x28x28x512xbf16>, %w: tensor<512x16x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x512xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 32 : i64, channels_last = true} : (tensor<32x28x28x512xbf16>, tensor<512x16x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x512xbf16>
  return %y : tensor<32x28x28x512xbf16>
}
func.func @bench_conv_56_96_depthwise(%x: tensor<32x56x56x96xbf16>, %w: tensor<96x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<32x56x56x96xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 96 : i64, channels_last = true} : (tensor<32x56x56x96xbf16>, tensor<96x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<32x56x56x96xbf16>
  return %y : tensor<32x56x56x96xbf16>
}
// The same with groups joined (tcc-layout-k-major-weights); convnext_tiny's and efficientnet_b0's depthwise ones.
func.func @bench_conv_56_256_joined(%x: tensor<32x56x56x256xbf16>, %w: tensor<256x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x256xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 4 : i64, channels_last = true} : (tensor<32x56x56x256xbf16>, tensor<256x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x56x56x256xbf16>
  return %y : tensor<32x56x56x256xbf16>
}
func.func @bench_conv_28_512_joined(%x: tensor<32x28x28x512xbf16>, %w: tensor<512x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x512xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64, channels_last = true} : (tensor<32x28x28x512xbf16>, tensor<512x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x28x28x512xbf16>
  return %y : tensor<32x28x28x512xbf16>
}
func.func @bench_conv_14_1024_joined(%x: tensor<32x14x14x1024xbf16>, %w: tensor<1024x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x14x14x1024xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 16 : i64, channels_last = true} : (tensor<32x14x14x1024xbf16>, tensor<1024x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>) -> tensor<32x14x14x1024xbf16>
  return %y : tensor<32x14x14x1024xbf16>
}
func.func @bench_conv_56_96_depthwise_7x7(%x: tensor<32x56x56x96xbf16>, %w: tensor<96x1x7x7xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<32x56x56x96xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>, groups = 96 : i64, channels_last = true} : (tensor<32x56x56x96xbf16>, tensor<96x1x7x7xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<32x56x56x96xbf16>
  return %y : tensor<32x56x56x96xbf16>
}
func.func @bench_conv_14_384_depthwise_7x7(%x: tensor<32x14x14x384xbf16>, %w: tensor<384x1x7x7xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<32x14x14x384xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>, groups = 384 : i64, channels_last = true} : (tensor<32x14x14x384xbf16>, tensor<384x1x7x7xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<32x14x14x384xbf16>
  return %y : tensor<32x14x14x384xbf16>
}
func.func @bench_conv_b1_112_96_depthwise_s2(%x: tensor<1x112x112x96xbf16>, %w: tensor<96x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<1x56x56x96xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 96 : i64, channels_last = true} : (tensor<1x112x112x96xbf16>, tensor<96x1x3x3xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<1x56x56x96xbf16>
  return %y : tensor<1x56x56x96xbf16>
}
func.func @bench_conv_b1_14_672_depthwise_5x5(%x: tensor<1x14x14x672xbf16>, %w: tensor<672x1x5x5xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<1x14x14x672xbf16> {
  %y = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, groups = 672 : i64, channels_last = true} : (tensor<1x14x14x672xbf16>, tensor<672x1x5x5xbf16, #prim.axis_order<[2, 3, 1, 0]>>) -> tensor<1x14x14x672xbf16>
  return %y : tensor<1x14x14x672xbf16>
}
func.func @bench_average_b1_7_1152(%x: tensor<1x7x7x1152xbf16>) -> tensor<1x1152xf32> {
  %0 = prim.cast %x : (tensor<1x7x7x1152xbf16>) -> tensor<1x7x7x1152xf32>
  %y = prim.reduce sum %0 [1, 2] : (tensor<1x7x7x1152xf32>) -> tensor<1x1152xf32>
  return %y : tensor<1x1152xf32>
}
func.func @bench_gemm_f32_1_4096_4096(%a: tensor<1x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<1x4096xf32> {
  %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<1x4096xf32>, tensor<4096x4096xf32>) -> tensor<1x4096xf32>
  return %y : tensor<1x4096xf32>
}
// Attention: flops count keys that are hidden too.
func.func @bench_attention_4096_128(%q: tensor<16x4096x128xbf16>, %k: tensor<16x4096x128xbf16>, %v: tensor<16x4096x128xbf16>) -> tensor<16x4096x128xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<16x4096x128xbf16>, tensor<16x4096x128xbf16>) -> tensor<16x4096x4096xf32>
  %c = prim.constant dense<8.838834765e-02> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<16x4096x4096xf32>
  %scaled = prim.mul %dot, %cs : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %top = prim.reduce max %scaled [2] : (tensor<16x4096x4096xf32>) -> tensor<16x4096xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
  %less = prim.sub %scaled, %tops : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %e = prim.exp %less : (tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %sum = prim.reduce sum %e [2] : (tensor<16x4096x4096xf32>) -> tensor<16x4096xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
  %weights = prim.div %e, %sums : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %w = prim.cast %weights : (tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<16x4096x4096xbf16>, tensor<16x4096x128xbf16>) -> tensor<16x4096x128xf32>
  %heads = prim.cast %wide_y : (tensor<16x4096x128xf32>) -> tensor<16x4096x128xbf16>
  return %heads : tensor<16x4096x128xbf16>
}
func.func @bench_attention_causal_16384_128(%q: tensor<4x16384x128xbf16>, %k: tensor<4x16384x128xbf16>, %v: tensor<4x16384x128xbf16>) -> tensor<4x16384x128xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<4x16384x128xbf16>, tensor<4x16384x128xbf16>) -> tensor<4x16384x16384xf32>
  %c = prim.constant dense<8.838834765e-02> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<4x16384x16384xf32>
  %scaled = prim.mul %dot, %cs : (tensor<4x16384x16384xf32>, tensor<4x16384x16384xf32>) -> tensor<4x16384x16384xf32>
  %row = prim.iota 0 sizes() : tensor<16384x16384xi64>
  %col = prim.iota 1 sizes() : tensor<16384x16384xi64>
  %cc = prim.compare ge %row, %col : (tensor<16384x16384xi64>, tensor<16384x16384xi64>) -> tensor<16384x16384xi1>
  %seen = prim.broadcast %cc axes [1, 2] sizes() : (tensor<16384x16384xi1>) -> tensor<4x16384x16384xi1>
  %none = prim.constant dense<0xFF800000> : tensor<4x16384x16384xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<4x16384x16384xi1>, tensor<4x16384x16384xf32>, tensor<4x16384x16384xf32>) -> tensor<4x16384x16384xf32>
  %top = prim.reduce max %causal [2] : (tensor<4x16384x16384xf32>) -> tensor<4x16384xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<4x16384xf32>) -> tensor<4x16384x16384xf32>
  %less = prim.sub %causal, %tops : (tensor<4x16384x16384xf32>, tensor<4x16384x16384xf32>) -> tensor<4x16384x16384xf32>
  %e = prim.exp %less : (tensor<4x16384x16384xf32>) -> tensor<4x16384x16384xf32>
  %sum = prim.reduce sum %e [2] : (tensor<4x16384x16384xf32>) -> tensor<4x16384xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<4x16384xf32>) -> tensor<4x16384x16384xf32>
  %weights = prim.div %e, %sums : (tensor<4x16384x16384xf32>, tensor<4x16384x16384xf32>) -> tensor<4x16384x16384xf32>
  %w = prim.cast %weights : (tensor<4x16384x16384xf32>) -> tensor<4x16384x16384xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<4x16384x16384xbf16>, tensor<4x16384x128xbf16>) -> tensor<4x16384x128xf32>
  %heads = prim.cast %wide_y : (tensor<4x16384x128xf32>) -> tensor<4x16384x128xbf16>
  return %heads : tensor<4x16384x128xbf16>
}
func.func @bench_attention_causal_4096_64(%q: tensor<16x4096x64xbf16>, %k: tensor<16x4096x64xbf16>, %v: tensor<16x4096x64xbf16>) -> tensor<16x4096x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<16x4096x64xbf16>, tensor<16x4096x64xbf16>) -> tensor<16x4096x4096xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<16x4096x4096xf32>
  %scaled = prim.mul %dot, %cs : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %row = prim.iota 0 sizes() : tensor<4096x4096xi64>
  %col = prim.iota 1 sizes() : tensor<4096x4096xi64>
  %cc = prim.compare ge %row, %col : (tensor<4096x4096xi64>, tensor<4096x4096xi64>) -> tensor<4096x4096xi1>
  %seen = prim.broadcast %cc axes [1, 2] sizes() : (tensor<4096x4096xi1>) -> tensor<16x4096x4096xi1>
  %none = prim.constant dense<0xFF800000> : tensor<16x4096x4096xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<16x4096x4096xi1>, tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %top = prim.reduce max %causal [2] : (tensor<16x4096x4096xf32>) -> tensor<16x4096xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
  %less = prim.sub %causal, %tops : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %e = prim.exp %less : (tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %sum = prim.reduce sum %e [2] : (tensor<16x4096x4096xf32>) -> tensor<16x4096xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<16x4096xf32>) -> tensor<16x4096x4096xf32>
  %weights = prim.div %e, %sums : (tensor<16x4096x4096xf32>, tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xf32>
  %w = prim.cast %weights : (tensor<16x4096x4096xf32>) -> tensor<16x4096x4096xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<16x4096x4096xbf16>, tensor<16x4096x64xbf16>) -> tensor<16x4096x64xf32>
  %heads = prim.cast %wide_y : (tensor<16x4096x64xf32>) -> tensor<16x4096x64xbf16>
  return %heads : tensor<16x4096x64xbf16>
}
func.func @bench_attention_bert_b32(%qm: tensor<32x128x12x64xbf16>, %km: tensor<32x128x12x64xbf16>, %vm: tensor<32x128x12x64xbf16>) -> tensor<32x128x12x64xbf16> {
  %q = prim.transpose %qm [0, 2, 1, 3] : (tensor<32x128x12x64xbf16>) -> tensor<32x12x128x64xbf16>
  %k = prim.transpose %km [0, 2, 1, 3] : (tensor<32x128x12x64xbf16>) -> tensor<32x12x128x64xbf16>
  %v = prim.transpose %vm [0, 2, 1, 3] : (tensor<32x128x12x64xbf16>) -> tensor<32x12x128x64xbf16>
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<32x12x128x64xbf16>, tensor<32x12x128x64xbf16>) -> tensor<32x12x128x128xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<32x12x128x128xf32>
  %scaled = prim.mul %dot, %cs : (tensor<32x12x128x128xf32>, tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %top = prim.reduce max %scaled [3] : (tensor<32x12x128x128xf32>) -> tensor<32x12x128xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<32x12x128xf32>) -> tensor<32x12x128x128xf32>
  %less = prim.sub %scaled, %tops : (tensor<32x12x128x128xf32>, tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %e = prim.exp %less : (tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %sum = prim.reduce sum %e [3] : (tensor<32x12x128x128xf32>) -> tensor<32x12x128xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<32x12x128xf32>) -> tensor<32x12x128x128xf32>
  %weights = prim.div %e, %sums : (tensor<32x12x128x128xf32>, tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %w = prim.cast %weights : (tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<32x12x128x128xbf16>, tensor<32x12x128x64xbf16>) -> tensor<32x12x128x64xf32>
  %heads = prim.cast %wide_y : (tensor<32x12x128x64xf32>) -> tensor<32x12x128x64xbf16>
  %y = prim.transpose %heads [0, 2, 1, 3] : (tensor<32x12x128x64xbf16>) -> tensor<32x128x12x64xbf16>
  return %y : tensor<32x128x12x64xbf16>
}
func.func @bench_attention_bert_b32_padding(%qm: tensor<32x128x12x64xbf16>, %km: tensor<32x128x12x64xbf16>, %vm: tensor<32x128x12x64xbf16>, %mask: tensor<32x128xf32>) -> tensor<32x128x12x64xbf16> {
  %q = prim.transpose %qm [0, 2, 1, 3] : (tensor<32x128x12x64xbf16>) -> tensor<32x12x128x64xbf16>
  %k = prim.transpose %km [0, 2, 1, 3] : (tensor<32x128x12x64xbf16>) -> tensor<32x12x128x64xbf16>
  %v = prim.transpose %vm [0, 2, 1, 3] : (tensor<32x128x12x64xbf16>) -> tensor<32x12x128x64xbf16>
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<32x12x128x64xbf16>, tensor<32x12x128x64xbf16>) -> tensor<32x12x128x128xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<32x12x128x128xf32>
  %scaled = prim.mul %dot, %cs : (tensor<32x12x128x128xf32>, tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %spread = prim.broadcast %mask axes [0, 3] sizes() : (tensor<32x128xf32>) -> tensor<32x12x128x128xf32>
  %masked = prim.add %scaled, %spread : (tensor<32x12x128x128xf32>, tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %top = prim.reduce max %masked [3] : (tensor<32x12x128x128xf32>) -> tensor<32x12x128xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<32x12x128xf32>) -> tensor<32x12x128x128xf32>
  %less = prim.sub %masked, %tops : (tensor<32x12x128x128xf32>, tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %e = prim.exp %less : (tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %sum = prim.reduce sum %e [3] : (tensor<32x12x128x128xf32>) -> tensor<32x12x128xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<32x12x128xf32>) -> tensor<32x12x128x128xf32>
  %weights = prim.div %e, %sums : (tensor<32x12x128x128xf32>, tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xf32>
  %w = prim.cast %weights : (tensor<32x12x128x128xf32>) -> tensor<32x12x128x128xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<32x12x128x128xbf16>, tensor<32x12x128x64xbf16>) -> tensor<32x12x128x64xf32>
  %heads = prim.cast %wide_y : (tensor<32x12x128x64xf32>) -> tensor<32x12x128x64xbf16>
  %y = prim.transpose %heads [0, 2, 1, 3] : (tensor<32x12x128x64xbf16>) -> tensor<32x128x12x64xbf16>
  return %y : tensor<32x128x12x64xbf16>
}
func.func @bench_attention_vit_b32(%x: tensor<32x197x2304xbf16>) -> tensor<32x197x12x64xbf16> {
  %qs = prim.slice %x starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<32x197x2304xbf16>) -> tensor<32x197x768xbf16>
  %qr = prim.reshape %qs sizes() : (tensor<32x197x768xbf16>) -> tensor<32x197x12x64xbf16>
  %q = prim.transpose %qr [0, 2, 1, 3] : (tensor<32x197x12x64xbf16>) -> tensor<32x12x197x64xbf16>
  %ks = prim.slice %x starts [0, 0, 768]() steps [1, 1, 1] sizes() : (tensor<32x197x2304xbf16>) -> tensor<32x197x768xbf16>
  %kr = prim.reshape %ks sizes() : (tensor<32x197x768xbf16>) -> tensor<32x197x12x64xbf16>
  %k = prim.transpose %kr [0, 2, 1, 3] : (tensor<32x197x12x64xbf16>) -> tensor<32x12x197x64xbf16>
  %vs = prim.slice %x starts [0, 0, 1536]() steps [1, 1, 1] sizes() : (tensor<32x197x2304xbf16>) -> tensor<32x197x768xbf16>
  %vr = prim.reshape %vs sizes() : (tensor<32x197x768xbf16>) -> tensor<32x197x12x64xbf16>
  %v = prim.transpose %vr [0, 2, 1, 3] : (tensor<32x197x12x64xbf16>) -> tensor<32x12x197x64xbf16>
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<32x12x197x64xbf16>, tensor<32x12x197x64xbf16>) -> tensor<32x12x197x197xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<32x12x197x197xf32>
  %scaled = prim.mul %dot, %cs : (tensor<32x12x197x197xf32>, tensor<32x12x197x197xf32>) -> tensor<32x12x197x197xf32>
  %top = prim.reduce max %scaled [3] : (tensor<32x12x197x197xf32>) -> tensor<32x12x197xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<32x12x197xf32>) -> tensor<32x12x197x197xf32>
  %less = prim.sub %scaled, %tops : (tensor<32x12x197x197xf32>, tensor<32x12x197x197xf32>) -> tensor<32x12x197x197xf32>
  %e = prim.exp %less : (tensor<32x12x197x197xf32>) -> tensor<32x12x197x197xf32>
  %sum = prim.reduce sum %e [3] : (tensor<32x12x197x197xf32>) -> tensor<32x12x197xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<32x12x197xf32>) -> tensor<32x12x197x197xf32>
  %weights = prim.div %e, %sums : (tensor<32x12x197x197xf32>, tensor<32x12x197x197xf32>) -> tensor<32x12x197x197xf32>
  %w = prim.cast %weights : (tensor<32x12x197x197xf32>) -> tensor<32x12x197x197xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<32x12x197x197xbf16>, tensor<32x12x197x64xbf16>) -> tensor<32x12x197x64xf32>
  %heads = prim.cast %wide_y : (tensor<32x12x197x64xf32>) -> tensor<32x12x197x64xbf16>
  %y = prim.transpose %heads [0, 2, 1, 3] : (tensor<32x12x197x64xbf16>) -> tensor<32x197x12x64xbf16>
  return %y : tensor<32x197x12x64xbf16>
}
func.func @bench_attention_gpt2_b8(%x: tensor<8x512x2304xbf16>) -> tensor<8x512x12x64xbf16> {
  %qs = prim.slice %x starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<8x512x2304xbf16>) -> tensor<8x512x768xbf16>
  %qr = prim.reshape %qs sizes() : (tensor<8x512x768xbf16>) -> tensor<8x512x12x64xbf16>
  %q = prim.transpose %qr [0, 2, 1, 3] : (tensor<8x512x12x64xbf16>) -> tensor<8x12x512x64xbf16>
  %ks = prim.slice %x starts [0, 0, 768]() steps [1, 1, 1] sizes() : (tensor<8x512x2304xbf16>) -> tensor<8x512x768xbf16>
  %kr = prim.reshape %ks sizes() : (tensor<8x512x768xbf16>) -> tensor<8x512x12x64xbf16>
  %k = prim.transpose %kr [0, 2, 1, 3] : (tensor<8x512x12x64xbf16>) -> tensor<8x12x512x64xbf16>
  %vs = prim.slice %x starts [0, 0, 1536]() steps [1, 1, 1] sizes() : (tensor<8x512x2304xbf16>) -> tensor<8x512x768xbf16>
  %vr = prim.reshape %vs sizes() : (tensor<8x512x768xbf16>) -> tensor<8x512x12x64xbf16>
  %v = prim.transpose %vr [0, 2, 1, 3] : (tensor<8x512x12x64xbf16>) -> tensor<8x12x512x64xbf16>
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<8x12x512x64xbf16>, tensor<8x12x512x64xbf16>) -> tensor<8x12x512x512xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<8x12x512x512xf32>
  %scaled = prim.mul %dot, %cs : (tensor<8x12x512x512xf32>, tensor<8x12x512x512xf32>) -> tensor<8x12x512x512xf32>
  %row = prim.iota 0 sizes() : tensor<512x512xi64>
  %col = prim.iota 1 sizes() : tensor<512x512xi64>
  %cc = prim.compare ge %row, %col : (tensor<512x512xi64>, tensor<512x512xi64>) -> tensor<512x512xi1>
  %seen = prim.broadcast %cc axes [2, 3] sizes() : (tensor<512x512xi1>) -> tensor<8x12x512x512xi1>
  %none = prim.constant dense<0xFF800000> : tensor<8x12x512x512xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<8x12x512x512xi1>, tensor<8x12x512x512xf32>, tensor<8x12x512x512xf32>) -> tensor<8x12x512x512xf32>
  %top = prim.reduce max %causal [3] : (tensor<8x12x512x512xf32>) -> tensor<8x12x512xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<8x12x512xf32>) -> tensor<8x12x512x512xf32>
  %less = prim.sub %causal, %tops : (tensor<8x12x512x512xf32>, tensor<8x12x512x512xf32>) -> tensor<8x12x512x512xf32>
  %e = prim.exp %less : (tensor<8x12x512x512xf32>) -> tensor<8x12x512x512xf32>
  %sum = prim.reduce sum %e [3] : (tensor<8x12x512x512xf32>) -> tensor<8x12x512xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<8x12x512xf32>) -> tensor<8x12x512x512xf32>
  %weights = prim.div %e, %sums : (tensor<8x12x512x512xf32>, tensor<8x12x512x512xf32>) -> tensor<8x12x512x512xf32>
  %w = prim.cast %weights : (tensor<8x12x512x512xf32>) -> tensor<8x12x512x512xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<8x12x512x512xbf16>, tensor<8x12x512x64xbf16>) -> tensor<8x12x512x64xf32>
  %heads = prim.cast %wide_y : (tensor<8x12x512x64xf32>) -> tensor<8x12x512x64xbf16>
  %y = prim.transpose %heads [0, 2, 1, 3] : (tensor<8x12x512x64xbf16>) -> tensor<8x512x12x64xbf16>
  return %y : tensor<8x512x12x64xbf16>
}
func.func @bench_attention_llama_2048(%q: tensor<1x8x4x2048x128xbf16>, %k: tensor<1x8x2048x128xbf16>, %v: tensor<1x8x2048x128xbf16>) -> tensor<1x8x4x2048x128xbf16> {
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [4] x [3] : (tensor<1x8x4x2048x128xbf16>, tensor<1x8x2048x128xbf16>) -> tensor<1x8x4x2048x2048xf32>
  %c = prim.constant dense<8.838834765e-02> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<1x8x4x2048x2048xf32>
  %scaled = prim.mul %dot, %cs : (tensor<1x8x4x2048x2048xf32>, tensor<1x8x4x2048x2048xf32>) -> tensor<1x8x4x2048x2048xf32>
  %row = prim.iota 0 sizes() : tensor<2048x2048xi64>
  %col = prim.iota 1 sizes() : tensor<2048x2048xi64>
  %cc = prim.compare ge %row, %col : (tensor<2048x2048xi64>, tensor<2048x2048xi64>) -> tensor<2048x2048xi1>
  %seen = prim.broadcast %cc axes [3, 4] sizes() : (tensor<2048x2048xi1>) -> tensor<1x8x4x2048x2048xi1>
  %none = prim.constant dense<0xFF800000> : tensor<1x8x4x2048x2048xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<1x8x4x2048x2048xi1>, tensor<1x8x4x2048x2048xf32>, tensor<1x8x4x2048x2048xf32>) -> tensor<1x8x4x2048x2048xf32>
  %top = prim.reduce max %causal [4] : (tensor<1x8x4x2048x2048xf32>) -> tensor<1x8x4x2048xf32>
  %tops = prim.broadcast %top axes [0, 1, 2, 3] sizes() : (tensor<1x8x4x2048xf32>) -> tensor<1x8x4x2048x2048xf32>
  %less = prim.sub %causal, %tops : (tensor<1x8x4x2048x2048xf32>, tensor<1x8x4x2048x2048xf32>) -> tensor<1x8x4x2048x2048xf32>
  %e = prim.exp %less : (tensor<1x8x4x2048x2048xf32>) -> tensor<1x8x4x2048x2048xf32>
  %sum = prim.reduce sum %e [4] : (tensor<1x8x4x2048x2048xf32>) -> tensor<1x8x4x2048xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2, 3] sizes() : (tensor<1x8x4x2048xf32>) -> tensor<1x8x4x2048x2048xf32>
  %weights = prim.div %e, %sums : (tensor<1x8x4x2048x2048xf32>, tensor<1x8x4x2048x2048xf32>) -> tensor<1x8x4x2048x2048xf32>
  %w = prim.cast %weights : (tensor<1x8x4x2048x2048xf32>) -> tensor<1x8x4x2048x2048xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [4] x [2] : (tensor<1x8x4x2048x2048xbf16>, tensor<1x8x2048x128xbf16>) -> tensor<1x8x4x2048x128xf32>
  %heads = prim.cast %wide_y : (tensor<1x8x4x2048x128xf32>) -> tensor<1x8x4x2048x128xbf16>
  return %heads : tensor<1x8x4x2048x128xbf16>
}

// One image or sentence, and one token of a decoder whose four heads share a cache.
func.func @bench_attention_bert_b1(%q: tensor<12x128x64xbf16>, %k: tensor<12x128x64xbf16>, %v: tensor<12x128x64xbf16>) -> tensor<12x128x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<12x128x64xbf16>, tensor<12x128x64xbf16>) -> tensor<12x128x128xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<12x128x128xf32>
  %scaled = prim.mul %dot, %cs : (tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %top = prim.reduce max %scaled [2] : (tensor<12x128x128xf32>) -> tensor<12x128xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<12x128xf32>) -> tensor<12x128x128xf32>
  %less = prim.sub %scaled, %tops : (tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %e = prim.exp %less : (tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %sum = prim.reduce sum %e [2] : (tensor<12x128x128xf32>) -> tensor<12x128xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<12x128xf32>) -> tensor<12x128x128xf32>
  %weights = prim.div %e, %sums : (tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %w = prim.cast %weights : (tensor<12x128x128xf32>) -> tensor<12x128x128xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<12x128x128xbf16>, tensor<12x128x64xbf16>) -> tensor<12x128x64xf32>
  %y = prim.cast %wide_y : (tensor<12x128x64xf32>) -> tensor<12x128x64xbf16>
  return %y : tensor<12x128x64xbf16>
}
func.func @bench_attention_vit_b1(%q: tensor<12x197x64xbf16>, %k: tensor<12x197x64xbf16>, %v: tensor<12x197x64xbf16>) -> tensor<12x197x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<12x197x64xbf16>, tensor<12x197x64xbf16>) -> tensor<12x197x197xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<12x197x197xf32>
  %scaled = prim.mul %dot, %cs : (tensor<12x197x197xf32>, tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
  %top = prim.reduce max %scaled [2] : (tensor<12x197x197xf32>) -> tensor<12x197xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<12x197xf32>) -> tensor<12x197x197xf32>
  %less = prim.sub %scaled, %tops : (tensor<12x197x197xf32>, tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
  %e = prim.exp %less : (tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
  %sum = prim.reduce sum %e [2] : (tensor<12x197x197xf32>) -> tensor<12x197xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<12x197xf32>) -> tensor<12x197x197xf32>
  %weights = prim.div %e, %sums : (tensor<12x197x197xf32>, tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
  %w = prim.cast %weights : (tensor<12x197x197xf32>) -> tensor<12x197x197xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<12x197x197xbf16>, tensor<12x197x64xbf16>) -> tensor<12x197x64xf32>
  %y = prim.cast %wide_y : (tensor<12x197x64xf32>) -> tensor<12x197x64xbf16>
  return %y : tensor<12x197x64xbf16>
}
func.func @bench_attention_gpt2_b1(%q: tensor<12x128x64xbf16>, %k: tensor<12x128x64xbf16>, %v: tensor<12x128x64xbf16>) -> tensor<12x128x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<12x128x64xbf16>, tensor<12x128x64xbf16>) -> tensor<12x128x128xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<12x128x128xf32>
  %scaled = prim.mul %dot, %cs : (tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %row = prim.iota 0 sizes() : tensor<128x128xi64>
  %col = prim.iota 1 sizes() : tensor<128x128xi64>
  %cc = prim.compare ge %row, %col : (tensor<128x128xi64>, tensor<128x128xi64>) -> tensor<128x128xi1>
  %seen = prim.broadcast %cc axes [1, 2] sizes() : (tensor<128x128xi1>) -> tensor<12x128x128xi1>
  %none = prim.constant dense<0xFF800000> : tensor<12x128x128xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<12x128x128xi1>, tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %top = prim.reduce max %causal [2] : (tensor<12x128x128xf32>) -> tensor<12x128xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<12x128xf32>) -> tensor<12x128x128xf32>
  %less = prim.sub %causal, %tops : (tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %e = prim.exp %less : (tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %sum = prim.reduce sum %e [2] : (tensor<12x128x128xf32>) -> tensor<12x128xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<12x128xf32>) -> tensor<12x128x128xf32>
  %weights = prim.div %e, %sums : (tensor<12x128x128xf32>, tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %w = prim.cast %weights : (tensor<12x128x128xf32>) -> tensor<12x128x128xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<12x128x128xbf16>, tensor<12x128x64xbf16>) -> tensor<12x128x64xf32>
  %y = prim.cast %wide_y : (tensor<12x128x64xf32>) -> tensor<12x128x64xbf16>
  return %y : tensor<12x128x64xbf16>
}
func.func @bench_attention_decode_1024(%q: tensor<8x4x1x64xbf16>, %k: tensor<8x1024x64xbf16>, %v: tensor<8x1024x64xbf16>) -> tensor<8x4x1x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [3] x [2] : (tensor<8x4x1x64xbf16>, tensor<8x1024x64xbf16>) -> tensor<8x4x1x1024xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<8x4x1x1024xf32>
  %scaled = prim.mul %dot, %cs : (tensor<8x4x1x1024xf32>, tensor<8x4x1x1024xf32>) -> tensor<8x4x1x1024xf32>
  %top = prim.reduce max %scaled [3] : (tensor<8x4x1x1024xf32>) -> tensor<8x4x1xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<8x4x1xf32>) -> tensor<8x4x1x1024xf32>
  %less = prim.sub %scaled, %tops : (tensor<8x4x1x1024xf32>, tensor<8x4x1x1024xf32>) -> tensor<8x4x1x1024xf32>
  %e = prim.exp %less : (tensor<8x4x1x1024xf32>) -> tensor<8x4x1x1024xf32>
  %sum = prim.reduce sum %e [3] : (tensor<8x4x1x1024xf32>) -> tensor<8x4x1xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<8x4x1xf32>) -> tensor<8x4x1x1024xf32>
  %weights = prim.div %e, %sums : (tensor<8x4x1x1024xf32>, tensor<8x4x1x1024xf32>) -> tensor<8x4x1x1024xf32>
  %w = prim.cast %weights : (tensor<8x4x1x1024xf32>) -> tensor<8x4x1x1024xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [3] x [1] : (tensor<8x4x1x1024xbf16>, tensor<8x1024x64xbf16>) -> tensor<8x4x1x64xf32>
  %y = prim.cast %wide_y : (tensor<8x4x1x64xf32>) -> tensor<8x4x1x64xbf16>
  return %y : tensor<8x4x1x64xbf16>
}
func.func @bench_attention_decode_16384(%q: tensor<8x4x1x64xbf16>, %k: tensor<8x16384x64xbf16>, %v: tensor<8x16384x64xbf16>) -> tensor<8x4x1x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [3] x [2] : (tensor<8x4x1x64xbf16>, tensor<8x16384x64xbf16>) -> tensor<8x4x1x16384xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<8x4x1x16384xf32>
  %scaled = prim.mul %dot, %cs : (tensor<8x4x1x16384xf32>, tensor<8x4x1x16384xf32>) -> tensor<8x4x1x16384xf32>
  %top = prim.reduce max %scaled [3] : (tensor<8x4x1x16384xf32>) -> tensor<8x4x1xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<8x4x1xf32>) -> tensor<8x4x1x16384xf32>
  %less = prim.sub %scaled, %tops : (tensor<8x4x1x16384xf32>, tensor<8x4x1x16384xf32>) -> tensor<8x4x1x16384xf32>
  %e = prim.exp %less : (tensor<8x4x1x16384xf32>) -> tensor<8x4x1x16384xf32>
  %sum = prim.reduce sum %e [3] : (tensor<8x4x1x16384xf32>) -> tensor<8x4x1xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<8x4x1xf32>) -> tensor<8x4x1x16384xf32>
  %weights = prim.div %e, %sums : (tensor<8x4x1x16384xf32>, tensor<8x4x1x16384xf32>) -> tensor<8x4x1x16384xf32>
  %w = prim.cast %weights : (tensor<8x4x1x16384xf32>) -> tensor<8x4x1x16384xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [3] x [1] : (tensor<8x4x1x16384xbf16>, tensor<8x16384x64xbf16>) -> tensor<8x4x1x64xf32>
  %y = prim.cast %wide_y : (tensor<8x4x1x64xf32>) -> tensor<8x4x1x64xbf16>
  return %y : tensor<8x4x1x64xbf16>
}
func.func @bench_attention_decode_b32_2048(%q: tensor<256x4x1x128xbf16>, %k: tensor<256x2048x128xbf16>, %v: tensor<256x2048x128xbf16>) -> tensor<256x4x1x128xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [3] x [2] : (tensor<256x4x1x128xbf16>, tensor<256x2048x128xbf16>) -> tensor<256x4x1x2048xf32>
  %c = prim.constant dense<8.838834765e-02> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<256x4x1x2048xf32>
  %scaled = prim.mul %dot, %cs : (tensor<256x4x1x2048xf32>, tensor<256x4x1x2048xf32>) -> tensor<256x4x1x2048xf32>
  %top = prim.reduce max %scaled [3] : (tensor<256x4x1x2048xf32>) -> tensor<256x4x1xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<256x4x1xf32>) -> tensor<256x4x1x2048xf32>
  %less = prim.sub %scaled, %tops : (tensor<256x4x1x2048xf32>, tensor<256x4x1x2048xf32>) -> tensor<256x4x1x2048xf32>
  %e = prim.exp %less : (tensor<256x4x1x2048xf32>) -> tensor<256x4x1x2048xf32>
  %sum = prim.reduce sum %e [3] : (tensor<256x4x1x2048xf32>) -> tensor<256x4x1xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<256x4x1xf32>) -> tensor<256x4x1x2048xf32>
  %weights = prim.div %e, %sums : (tensor<256x4x1x2048xf32>, tensor<256x4x1x2048xf32>) -> tensor<256x4x1x2048xf32>
  %w = prim.cast %weights : (tensor<256x4x1x2048xf32>) -> tensor<256x4x1x2048xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [3] x [1] : (tensor<256x4x1x2048xbf16>, tensor<256x2048x128xbf16>) -> tensor<256x4x1x128xf32>
  %y = prim.cast %wide_y : (tensor<256x4x1x128xf32>) -> tensor<256x4x1x128xbf16>
  return %y : tensor<256x4x1x128xbf16>
}
