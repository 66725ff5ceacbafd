// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s --check-prefix=HOST

// The mean of all elements and the sum of squares about it are two passes, each shared by all blocks.
// CHECK-LABEL: func @deviation
// CHECK: %[[SUM:.*]] = kernel.launch row[0] "reduce" ins(%arg0
// CHECK: kernel.launch row[0] "div_sub_mul_reduce_sqrt" ins({{.*}}%[[SUM]]
// HOST-LABEL: func @deviation
// HOST-COUNT-1: kernel.launch
// HOST-NOT: kernel.launch
// HOST: return
func.func @deviation(%x: tensor<512x1024xf32>) -> tensor<f32> {
  %n = prim.constant dense<524288.0> : tensor<f32>
  %0 = prim.reduce sum %x [0, 1] : (tensor<512x1024xf32>) -> tensor<f32>
  %1 = prim.div %0, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = prim.broadcast %1 axes [] sizes() : (tensor<f32>) -> tensor<512x1024xf32>
  %3 = prim.sub %x, %2 : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %4 = prim.mul %3, %3 : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %5 = prim.reduce sum %4 [0, 1] : (tensor<512x1024xf32>) -> tensor<f32>
  %6 = prim.sqrt %5 : (tensor<f32>) -> tensor<f32>
  return %6 : tensor<f32>
}

// A block has each of many rows. Blocks share what few long ones are reduced to, and points are loops.
// CHECK-LABEL: func @rows
// CHECK: kernel.launch row[1] "reduce_sub_exp"
// CHECK: kernel.launch row[1] "reduce" ins(%arg1
// CHECK: kernel.launch loop "sub_exp"
// CHECK: kernel.launch row[1] "reduce"
// CHECK: kernel.launch loop "div"
// CHECK-NOT: kernel.launch
// CHECK: return
func.func @rows(%x: tensor<100x50000xf32>, %y: tensor<4x50000xf32>) -> (tensor<100xf32>, tensor<4x50000xf32>) {
  %0 = prim.reduce max %x [1] : (tensor<100x50000xf32>) -> tensor<100xf32>
  %1 = prim.broadcast %0 axes [0] sizes() : (tensor<100xf32>) -> tensor<100x50000xf32>
  %2 = prim.sub %x, %1 : (tensor<100x50000xf32>, tensor<100x50000xf32>) -> tensor<100x50000xf32>
  %3 = prim.exp %2 : (tensor<100x50000xf32>) -> tensor<100x50000xf32>
  %4 = prim.reduce sum %3 [1] : (tensor<100x50000xf32>) -> tensor<100xf32>
  %5 = prim.reduce max %y [1] : (tensor<4x50000xf32>) -> tensor<4xf32>
  %6 = prim.broadcast %5 axes [0] sizes() : (tensor<4xf32>) -> tensor<4x50000xf32>
  %7 = prim.sub %y, %6 : (tensor<4x50000xf32>, tensor<4x50000xf32>) -> tensor<4x50000xf32>
  %8 = prim.exp %7 : (tensor<4x50000xf32>) -> tensor<4x50000xf32>
  %9 = prim.reduce sum %8 [1] : (tensor<4x50000xf32>) -> tensor<4xf32>
  %10 = prim.broadcast %9 axes [0] sizes() : (tensor<4xf32>) -> tensor<4x50000xf32>
  %11 = prim.div %8, %10 : (tensor<4x50000xf32>, tensor<4x50000xf32>) -> tensor<4x50000xf32>
  return %4, %11 : tensor<100xf32>, tensor<4x50000xf32>
}
