// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s --check-prefix=HOST
// Where a grid is sampled is the same for all channels. On a GPU that is computed for each of them where points are
// few, which takes less than another launch; of many, and on a CPU, by a kernel before.

// CHECK-LABEL: func @few
// CHECK: kernel.launch loop
// CHECK: prim.floor
// CHECK: prim.take_along
// CHECK-NOT: kernel.launch
// CHECK: return
// HOST-LABEL: func @few
// HOST-COUNT-2: kernel.launch loop
// HOST: return
func.func @few(%x: tensor<2x8x1760xf32>, %g: tensor<2x900xf32>) -> tensor<2x8x900xf32> {
  %0 = prim.add %g, %g : (tensor<2x900xf32>, tensor<2x900xf32>) -> tensor<2x900xf32>
  %1 = prim.mul %0, %g : (tensor<2x900xf32>, tensor<2x900xf32>) -> tensor<2x900xf32>
  %2 = prim.sub %1, %0 : (tensor<2x900xf32>, tensor<2x900xf32>) -> tensor<2x900xf32>
  %3 = prim.maximum %2, %g : (tensor<2x900xf32>, tensor<2x900xf32>) -> tensor<2x900xf32>
  %4 = prim.floor %3 : (tensor<2x900xf32>) -> tensor<2x900xf32>
  %5 = prim.minimum %4, %1 : (tensor<2x900xf32>, tensor<2x900xf32>) -> tensor<2x900xf32>
  %6 = prim.mul %5, %4 : (tensor<2x900xf32>, tensor<2x900xf32>) -> tensor<2x900xf32>
  %7 = prim.add %6, %2 : (tensor<2x900xf32>, tensor<2x900xf32>) -> tensor<2x900xf32>
  %8 = prim.abs %7 : (tensor<2x900xf32>) -> tensor<2x900xf32>
  %9 = prim.cast %8 : (tensor<2x900xf32>) -> tensor<2x900xi64>
  %10 = prim.broadcast %9 axes [0, 2] sizes() : (tensor<2x900xi64>) -> tensor<2x8x900xi64>
  %11 = prim.take_along %x, %10 axis 2 : (tensor<2x8x1760xf32>, tensor<2x8x900xi64>) -> tensor<2x8x900xf32>
  return %11 : tensor<2x8x900xf32>
}

// CHECK-LABEL: func @many
// CHECK-COUNT-2: kernel.launch loop
// CHECK: return
// HOST-LABEL: func @many
// HOST-COUNT-2: kernel.launch loop
// HOST: return
func.func @many(%x: tensor<2x8x1760xf32>, %g: tensor<2x900000xf32>) -> tensor<2x8x900000xf32> {
  %0 = prim.add %g, %g : (tensor<2x900000xf32>, tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %1 = prim.mul %0, %g : (tensor<2x900000xf32>, tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %2 = prim.sub %1, %0 : (tensor<2x900000xf32>, tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %3 = prim.maximum %2, %g : (tensor<2x900000xf32>, tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %4 = prim.floor %3 : (tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %5 = prim.minimum %4, %1 : (tensor<2x900000xf32>, tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %6 = prim.mul %5, %4 : (tensor<2x900000xf32>, tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %7 = prim.add %6, %2 : (tensor<2x900000xf32>, tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %8 = prim.abs %7 : (tensor<2x900000xf32>) -> tensor<2x900000xf32>
  %9 = prim.cast %8 : (tensor<2x900000xf32>) -> tensor<2x900000xi64>
  %10 = prim.broadcast %9 axes [0, 2] sizes() : (tensor<2x900000xi64>) -> tensor<2x8x900000xi64>
  %11 = prim.take_along %x, %10 axis 2 : (tensor<2x8x1760xf32>, tensor<2x8x900000xi64>) -> tensor<2x8x900000xf32>
  return %11 : tensor<2x8x900000xf32>
}
