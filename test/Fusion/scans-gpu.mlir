// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s --check-prefix=HOST
// A GPU's scan computes what it reads where it reads it: the elements of a mask are counted in one kernel.

// CHECK-LABEL: func @counts
// CHECK: kernel.launch special "cast_cumulative"
// CHECK: prim.cast
// CHECK: prim.cumulative
// CHECK-NOT: kernel.launch
// CHECK: return
// HOST-LABEL: func @counts
// HOST: kernel.launch loop "cast"
// HOST: kernel.launch special "cumulative"
func.func @counts(%m: tensor<64x2048xi1>) -> tensor<64x2048xi64> {
  %0 = prim.cast %m : (tensor<64x2048xi1>) -> tensor<64x2048xi64>
  %1 = prim.cumulative sum %0 1 : (tensor<64x2048xi64>) -> tensor<64x2048xi64>
  return %1 : tensor<64x2048xi64>
}

// A long function waits for nobody before it in a loop of its own.
// CHECK-LABEL: func @function
// CHECK: kernel.launch loop "exp"
// CHECK: kernel.launch special "cumulative"
func.func @function(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> {
  %0 = prim.exp %x : (tensor<64x2048xf32>) -> tensor<64x2048xf32>
  %1 = prim.cumulative sum %0 1 : (tensor<64x2048xf32>) -> tensor<64x2048xf32>
  return %1 : tensor<64x2048xf32>
}
