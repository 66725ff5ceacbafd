// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK-LABEL: func @reads
func.func @reads(%x: tensor<5x?xf32>, %i: tensor<2x3xi64>, %n: index) {
  // CHECK: prim.take %{{.*}}, %{{.*}} axis 0 : (tensor<5x?xf32>, tensor<2x3xi64>) -> tensor<2x3x?xf32>
  %0 = prim.take %x, %i axis 0 : (tensor<5x?xf32>, tensor<2x3xi64>) -> tensor<2x3x?xf32>
  // CHECK: prim.take_along %{{.*}}, %{{.*}} axis 1 : (tensor<5x?xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  %1 = prim.take_along %x, %i axis 1 : (tensor<5x?xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  // CHECK: prim.gather_nd %{{.*}}, %{{.*}} batch 0 : (tensor<5x7x8x9xf32>, tensor<2x3xi64>) -> tensor<2x9xf32>
  %y = prim.broadcast %x axes [0, 1] sizes() : (tensor<5x?xf32>) -> tensor<5x7x8x9xf32>
  %z = prim.slice %y starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<5x7x8x9xf32>) -> tensor<5x7x8x9xf32>
  %2 = prim.gather_nd %z, %i batch 0 : (tensor<5x7x8x9xf32>, tensor<2x3xi64>) -> tensor<2x9xf32>
  // CHECK: prim.nonzero %{{.*}} : (tensor<5x?xf32>) -> tensor<2x?xi64>
  %3 = prim.nonzero %x : (tensor<5x?xf32>) -> tensor<2x?xi64>
  // CHECK: prim.nonzero %{{.*}} count %{{.*}} : (tensor<5x?xf32>) -> tensor<2x?xi64>
  %4 = prim.nonzero %x count %n : (tensor<5x?xf32>) -> tensor<2x?xi64>
  return
}

// CHECK-LABEL: func @writes
func.func @writes(%x: tensor<5x?xf32>, %i: tensor<2x3xi64>, %u: tensor<2x3xf32>, %t: tensor<2x1xi32>, %v: tensor<2x?xf32>, %n: index) {
  // CHECK: prim.scatter_along add %{{.*}}, %{{.*}}, %{{.*}} axis 1
  %0 = prim.scatter_along add %x, %i, %u axis 1 : (tensor<5x?xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<5x?xf32>
  // CHECK: prim.scatter_runs add %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x?xf32>, tensor<2xi64>, tensor<2x?xf32>) -> tensor<2x?xf32>
  %r = prim.constant dense<[0, 1]> : tensor<2xi64>
  %3 = prim.scatter_runs add %v, %r, %v : (tensor<2x?xf32>, tensor<2xi64>, tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK: prim.scatter_nd max %{{.*}}, %{{.*}}, %{{.*}} :
  %1 = prim.scatter_nd max %x, %t, %v : (tensor<5x?xf32>, tensor<2x1xi32>, tensor<2x?xf32>) -> tensor<5x?xf32>
  // CHECK: prim.insert_slice %{{.*}}, %{{.*}} starts [1, -9223372036854775808](%{{.*}}) steps [1, -1]
  %2 = prim.insert_slice %x, %u starts [1, -9223372036854775808](%n) steps [1, -1] : (tensor<5x?xf32>, tensor<2x3xf32>, index) -> tensor<5x?xf32>
  return
}

// CHECK-LABEL: func @orders
func.func @orders(%x: tensor<5x?xf32>, %n: index) {
  // CHECK: prim.sort %{{.*}} axis 1 {descending = true} : (tensor<5x?xf32>) -> (tensor<5x?xf32>, tensor<5x?xi64>)
  %0:2 = prim.sort %x axis 1 {descending = true} : (tensor<5x?xf32>) -> (tensor<5x?xf32>, tensor<5x?xi64>)
  // CHECK: prim.kth %{{.*}} k %{{.*}} {descending = false} : (tensor<5x?xf32>, index) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  %k:2 = prim.kth %x k %n {descending = false} : (tensor<5x?xf32>, index) -> (tensor<5x1xf32>, tensor<5x1xi64>)
  // CHECK: prim.top_k %{{.*}} axis 0 {largest = true}
  %1:2 = prim.top_k %x axis 0 {largest = true} : (tensor<5x?xf32>) -> (tensor<3x?xf32>, tensor<3x?xi64>)
  // CHECK: prim.top_k %{{.*}} k %{{.*}} axis 1 {largest = false}
  %2:2 = prim.top_k %x k %n axis 1 {largest = false} : (tensor<5x?xf32>, index) -> (tensor<5x?xf32>, tensor<5x?xi64>)
  return
}
