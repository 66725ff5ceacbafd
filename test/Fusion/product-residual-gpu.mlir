// RUN: tcc-opt %s --arch sm_90a -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-fuse-kernels | FileCheck %s --check-prefix=OTHERS
// A sum that a norm and what follows later read goes with its product, where bulk copies bring what is added while many
// rows are multiplied.

// CHECK-LABEL: func @many_rows
// CHECK: kernel.launch contraction
// CHECK: prim.dot
// CHECK: prim.add
// CHECK: kernel.launch row
// CHECK-NOT: prim.add
// CHECK: prim.reduce
// OTHERS-LABEL: func @many_rows
// OTHERS: kernel.launch contraction
// OTHERS-NOT: prim.add
// OTHERS: kernel.launch row
// OTHERS: prim.add
func.func @many_rows(%x: tensor<2048x128xbf16>, %w: tensor<64x128xbf16>, %z: tensor<2048x64xbf16>) -> (tensor<2048x64xbf16>, tensor<2048x64xbf16>) {
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<2048x128xbf16>, tensor<64x128xbf16>) -> tensor<2048x64xf32>
  %1 = prim.cast %z : (tensor<2048x64xbf16>) -> tensor<2048x64xf32>
  %2 = prim.add %0, %1 : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %3 = prim.cast %2 : (tensor<2048x64xf32>) -> tensor<2048x64xbf16>
  %4 = prim.cast %3 : (tensor<2048x64xbf16>) -> tensor<2048x64xf32>
  %5 = prim.reduce max %4 [1] : (tensor<2048x64xf32>) -> tensor<2048xf32>
  %6 = prim.broadcast %5 axes [0] sizes() : (tensor<2048xf32>) -> tensor<2048x64xf32>
  %7 = prim.sub %4, %6 : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %8 = prim.cast %7 : (tensor<2048x64xf32>) -> tensor<2048x64xbf16>
  return %3, %8 : tensor<2048x64xbf16>, tensor<2048x64xbf16>
}

// Few rows are read by the norm as soon.
// CHECK-LABEL: func @few_rows
// CHECK: kernel.launch contraction
// CHECK-NOT: prim.add
// CHECK: kernel.launch row
// CHECK: prim.add
// OTHERS-LABEL: func @few_rows
func.func @few_rows(%x: tensor<128x128xbf16>, %w: tensor<64x128xbf16>, %z: tensor<128x64xbf16>) -> (tensor<128x64xbf16>, tensor<128x64xbf16>) {
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<128x128xbf16>, tensor<64x128xbf16>) -> tensor<128x64xf32>
  %1 = prim.cast %z : (tensor<128x64xbf16>) -> tensor<128x64xf32>
  %2 = prim.add %0, %1 : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %3 = prim.cast %2 : (tensor<128x64xf32>) -> tensor<128x64xbf16>
  %4 = prim.cast %3 : (tensor<128x64xbf16>) -> tensor<128x64xf32>
  %5 = prim.reduce max %4 [1] : (tensor<128x64xf32>) -> tensor<128xf32>
  %6 = prim.broadcast %5 axes [0] sizes() : (tensor<128xf32>) -> tensor<128x64xf32>
  %7 = prim.sub %4, %6 : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %8 = prim.cast %7 : (tensor<128x64xf32>) -> tensor<128x64xbf16>
  return %3, %8 : tensor<128x64xbf16>, tensor<128x64xbf16>
}
