// RUN: tcc-opt %s -tcc-layout-split-reductions | FileCheck %s

// CHECK-LABEL: func @all
// CHECK: prim.reshape %{{.*}} -> tensor<256x16384xf32>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<256x16384xf32>) -> tensor<256xf32>
// CHECK: prim.reduce sum %{{.*}} [0] : (tensor<256xf32>) -> tensor<f32>
func.func @all(%x: tensor<4194304xf32>) -> tensor<f32> {
  %0 = prim.reduce sum %x [0] : (tensor<4194304xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Between two axes nothing is cut.
// CHECK-LABEL: func @axes
// CHECK-NOT: prim.reshape
// CHECK: prim.reduce max %{{.*}} [2, 3] : (tensor<2x32x101x103xbf16>) -> tensor<2x32xbf16>
// CHECK: prim.reduce max %{{.*}} [1] : (tensor<2x32xbf16>) -> tensor<2xbf16>
func.func @axes(%x: tensor<2x32x101x103xbf16>) -> tensor<2xbf16> {
  %0 = prim.reduce max %x [1, 2, 3] : (tensor<2x32x101x103xbf16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// Few columns.
// CHECK-LABEL: func @columns
// CHECK: prim.reshape %{{.*}} -> tensor<{{[0-9]+}}x{{[0-9]+}}x3xf32>
// CHECK: prim.reduce sum %{{.*}} [1]
// CHECK: prim.reduce sum %{{.*}} [0]
func.func @columns(%x: tensor<1048576x3xf32>) -> tensor<3xf32> {
  %0 = prim.reduce sum %x [0] : (tensor<1048576x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Many rows, few elements, no divisor, unknown extents, partial sums that would be rounded.
// CHECK-LABEL: func @kept
// CHECK-COUNT-5: prim.reduce
// CHECK-NOT: prim.reduce
func.func @kept(%x: tensor<1024x1024xf32>, %y: tensor<1000xf32>, %p: tensor<1299709xf32>, %d: tensor<?xf32>,
                %h: tensor<1048576xbf16>) -> (tensor<1024xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<bf16>) {
  %0 = prim.reduce sum %x [1] : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  %1 = prim.reduce sum %y [0] : (tensor<1000xf32>) -> tensor<f32>
  %2 = prim.reduce sum %p [0] : (tensor<1299709xf32>) -> tensor<f32>
  %3 = prim.reduce sum %d [0] : (tensor<?xf32>) -> tensor<f32>
  %4 = prim.reduce sum %h [0] : (tensor<1048576xbf16>) -> tensor<bf16>
  return %0, %1, %2, %3, %4 : tensor<1024xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<bf16>
}
