// RUN: tcc-opt %s -tcc-decompose-fourier-lines | FileCheck %s --check-prefix=NONE
// RUN: tcc-opt %s -tcc-decompose-fourier-lines='longest=1024 largest-prime=13 fewest-lines=16' | FileCheck %s

// Many lines of a length with small factors have a kernel; without kernels they are a product,
// real ones with half of the columns.
// CHECK-LABEL: func @many
// CHECK-NEXT: prim.fourier
// CHECK-NEXT: return
// NONE-LABEL: func @many
// NONE: prim.weight {{.*}} : tensor<60x62xf32>
// NONE: prim.dot
func.func @many(%x: tensor<32x60xf32>) -> tensor<32x31xf32> {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<32x60xf32>) -> (tensor<32x31xf32>, tensor<32x31xf32>)
  return %0#0 : tensor<32x31xf32>
}

// One line is a matrix of 32 columns, half of whose rows are transformed.
// CHECK-LABEL: func @few
// CHECK: prim.fourier %{{.*}} axis 1 {inverse = false} : (tensor<1x32x32xf32>) -> (tensor<1x17x32xf32>, tensor<1x17x32xf32>)
// CHECK: prim.mul
// CHECK: prim.fourier %{{.*}} axis 2 {inverse = false} : (tensor<1x17x32xf32>, tensor<1x17x32xf32>) -> (tensor<1x17x32xf32>, tensor<1x17x32xf32>)
// CHECK: prim.concat
func.func @few(%x: tensor<1x1024xf32>) -> tensor<1x513xf32> {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<1x1024xf32>) -> (tensor<1x513xf32>, tensor<1x513xf32>)
  return %0#0 : tensor<1x513xf32>
}

// Nor is there a stage for a large prime.
// CHECK-LABEL: func @prime
// CHECK-NOT: prim.fourier
// CHECK: prim.dot
func.func @prime(%re: tensor<64x12xf32>, %im: tensor<64x12xf32>) -> tensor<64x23xf32> {
  %0 = prim.fourier %re, %im axis 1 {inverse = true, scale = 0.5 : f64} : (tensor<64x12xf32>, tensor<64x12xf32>) -> tensor<64x23xf32>
  return %0 : tensor<64x23xf32>
}
