// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK-LABEL: func @reductions
func.func @reductions(%x: tensor<2x?x4xbf16>, %b: tensor<3xi1>) {
  // CHECK: prim.reduce sum %{{.*}} [0, 2] : (tensor<2x?x4xbf16>) -> tensor<?xbf16>
  %0 = prim.reduce sum %x [0, 2] : (tensor<2x?x4xbf16>) -> tensor<?xbf16>
  // CHECK: prim.reduce any %{{.*}} [0] : (tensor<3xi1>) -> tensor<i1>
  %1 = prim.reduce any %b [0] : (tensor<3xi1>) -> tensor<i1>
  // CHECK: prim.arg_reduce max %{{.*}} 1 : (tensor<2x?x4xbf16>) -> tensor<2x4xi64>
  %2 = prim.arg_reduce max %x 1 : (tensor<2x?x4xbf16>) -> tensor<2x4xi64>
  // CHECK: prim.arg_reduce min %{{.*}} 1 {last = true}
  %3 = prim.arg_reduce min %x 1 {last = true} : (tensor<2x?x4xbf16>) -> tensor<2x4xi32>
  // CHECK: prim.cumulative prod %{{.*}} 2 {exclusive = true, reverse = true}
  %4 = prim.cumulative prod %x 2 {exclusive = true, reverse = true} : (tensor<2x?x4xbf16>) -> tensor<2x?x4xbf16>
  return
}

// CHECK-LABEL: func @windows
func.func @windows(%x: tensor<1x3x?xf32>, %n: index) {
  // CHECK: prim.pool max %{{.*}} sizes(%{{.*}}) {dilations = array<i64: 1>, high = array<i64: 1>, low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 3>}
  %0 = prim.pool max %x sizes(%n) {window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 1>} : (tensor<1x3x?xf32>) -> tensor<1x3x?xf32>
  return
}
