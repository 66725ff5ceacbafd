// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK-LABEL: func @field
func.func @field(%x: tensor<2x?xf16>, %z: tensor<3xcomplex<f32>>) {
  // CHECK: prim.exp %{{.*}} : (tensor<2x?xf16>) -> tensor<2x?xf16>
  %0 = prim.exp %x : (tensor<2x?xf16>) -> tensor<2x?xf16>
  // CHECK: prim.sqrt %{{.*}} : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %1 = prim.sqrt %z : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  // CHECK: prim.logistic
  %2 = prim.logistic %x : (tensor<2x?xf16>) -> tensor<2x?xf16>
  // CHECK: prim.erf
  %3 = prim.erf %x : (tensor<2x?xf16>) -> tensor<2x?xf16>
  // CHECK: prim.is_nan %{{.*}} : (tensor<2x?xf16>) -> tensor<2x?xi1>
  %4 = prim.is_nan %x : (tensor<2x?xf16>) -> tensor<2x?xi1>
  // CHECK: prim.neg
  %5 = prim.neg %z : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  return
}

// CHECK-LABEL: func @binary
func.func @binary(%x: tensor<4xf8E4M3FN>, %i: tensor<4xi4>, %u: tensor<4xui8>, %b: tensor<4xi1>) {
  // CHECK: prim.add %{{.*}}, %{{.*}} : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
  %0 = prim.add %x, %x : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
  // CHECK: prim.floor_div
  %1 = prim.floor_div %i, %i : (tensor<4xi4>, tensor<4xi4>) -> tensor<4xi4>
  // CHECK: prim.shift_right
  %2 = prim.shift_right %u, %u : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  // CHECK: prim.xor
  %3 = prim.xor %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: prim.gcd %{{.*}} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %5 = prim.gcd %u, %u : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  // CHECK: prim.nextafter
  %4 = prim.nextafter %x, %x : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
  return
}

// CHECK-LABEL: func @conversions
func.func @conversions(%x: tensor<?xf32>, %i: tensor<?xi32>, %c: tensor<?xi1>, %z: tensor<?xcomplex<f64>>,
                       %d: tensor<?xf64>) {
  // CHECK: prim.compare lt %{{.*}}, %{{.*}} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
  %0 = prim.compare lt %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
  // CHECK: prim.compare ne
  %1 = prim.compare ne %z, %z : (tensor<?xcomplex<f64>>, tensor<?xcomplex<f64>>) -> tensor<?xi1>
  // CHECK: prim.select
  %2 = prim.select %c, %x, %x : (tensor<?xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  // CHECK: prim.cast %{{.*}} : (tensor<?xf32>) -> tensor<?xf8E5M2>
  %3 = prim.cast %x : (tensor<?xf32>) -> tensor<?xf8E5M2>
  // CHECK: prim.cast %{{.*}} {saturate = false} : (tensor<?xf32>) -> tensor<?xf8E5M2>
  %4 = prim.cast %x {saturate = false} : (tensor<?xf32>) -> tensor<?xf8E5M2>
  // CHECK: prim.bitcast %{{.*}} : (tensor<?xf32>) -> tensor<?xui32>
  %5 = prim.bitcast %x : (tensor<?xf32>) -> tensor<?xui32>
  // CHECK: prim.real %{{.*}} : (tensor<?xcomplex<f64>>) -> tensor<?xf64>
  %6 = prim.real %z : (tensor<?xcomplex<f64>>) -> tensor<?xf64>
  // CHECK: prim.imag
  %7 = prim.imag %z : (tensor<?xcomplex<f64>>) -> tensor<?xf64>
  // CHECK: prim.complex %{{.*}}, %{{.*}} : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xcomplex<f64>>
  %8 = prim.complex %d, %d : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xcomplex<f64>>
  return
}
