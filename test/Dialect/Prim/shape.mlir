// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK-LABEL: func @constants
func.func @constants(%n: index) -> index {
  // CHECK: prim.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = prim.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: prim.weight "w" : tensor<2x3xi4>
  %1 = prim.weight "w" : tensor<2x3xi4>
  // CHECK: prim.iota 1 sizes(%{{.*}}) : tensor<?x4xf16>
  %2 = prim.iota 1 sizes(%n) : tensor<?x4xf16>
  // CHECK: prim.dim %{{.*}}, 0 : tensor<?x4xf16>
  %3 = prim.dim %2, 0 : tensor<?x4xf16>
  // CHECK: prim.from_elements %{{.*}}, %{{.*}} : (index, index) -> tensor<2xi64>
  %4 = prim.from_elements %3, %n : (index, index) -> tensor<2xi64>
  // CHECK: prim.extract %{{.*}}[1] : (tensor<2xi64>) -> index
  %5 = prim.extract %4[1] : (tensor<2xi64>) -> index
  return %5 : index
}

// CHECK-LABEL: func @views
func.func @views(%x: tensor<2x?xf32>, %n: index, %p: tensor<f32>) {
  // CHECK: prim.reshape %{{.*}} sizes(%{{.*}}) : (tensor<2x?xf32>) -> tensor<?xf32>
  %0 = prim.reshape %x sizes(%n) : (tensor<2x?xf32>) -> tensor<?xf32>
  // CHECK: prim.transpose %{{.*}} [1, 0] : (tensor<2x?xf32>) -> tensor<?x2xf32>
  %1 = prim.transpose %x [1, 0] : (tensor<2x?xf32>) -> tensor<?x2xf32>
  // CHECK: prim.broadcast %{{.*}} axes [1, 2] sizes(%{{.*}}) : (tensor<2x?xf32>) -> tensor<3x2x?xf32>
  %2 = prim.broadcast %x axes [1, 2] sizes(%n) : (tensor<2x?xf32>) -> tensor<3x2x?xf32>
  // CHECK: prim.slice %{{.*}} starts [1, -9223372036854775808](%{{.*}}) steps [-1, 2] sizes(%{{.*}})
  %3 = prim.slice %x starts [1, -9223372036854775808](%n) steps [-1, 2] sizes(%n) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK: prim.pad %{{.*}}, %{{.*}} low [-1, -9223372036854775808](%{{.*}}) interior [0, 1] sizes(%{{.*}})
  %4 = prim.pad %x, %p low [-1, -9223372036854775808](%n) interior [0, 1] sizes(%n) : (tensor<2x?xf32>, tensor<f32>, index, index) -> tensor<3x?xf32>
  // CHECK: prim.concat %{{.*}}, %{{.*}} axis 0 : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<4x?xf32>
  %5 = prim.concat %x, %x axis 0 : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<4x?xf32>
  // CHECK: prim.reverse %{{.*}} [0, 1] : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %6 = prim.reverse %x [0, 1] : (tensor<2x?xf32>) -> tensor<2x?xf32>
  return
}
