// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s --check-prefix=HOST
// What updates are added to is one number: a GPU's scatter makes it where it writes, and nothing stores it before.

// CHECK-LABEL: func @zeros
// CHECK: kernel.launch special "scatter_along" ins(%arg0, %arg1 :
// CHECK: prim.constant dense<0.000000e+00>
// CHECK: prim.scatter_along
// CHECK-NOT: kernel.launch
// CHECK: return
// HOST-LABEL: func @zeros
// HOST: kernel.launch loop "constant"
// HOST: kernel.launch special "scatter_along"
func.func @zeros(%i: tensor<5000x64xi64>, %u: tensor<5000x64xf32>) -> tensor<300x64xf32> {
  %0 = prim.constant dense<0.0> : tensor<300x64xf32>
  %1 = prim.scatter_along add %0, %i, %u axis 0 : (tensor<300x64xf32>, tensor<5000x64xi64>, tensor<5000x64xf32>) -> tensor<300x64xf32>
  return %1 : tensor<300x64xf32>
}

// Numbers that differ lie in memory.
// CHECK-LABEL: func @numbers
// CHECK: kernel.launch special "scatter_along" ins(%{{[^,]*}}, %arg0, %arg1 :
func.func @numbers(%i: tensor<9xi64>, %u: tensor<9xf32>) -> tensor<3xf32> {
  %0 = prim.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = prim.scatter_along add %0, %i, %u axis 0 : (tensor<3xf32>, tensor<9xi64>, tensor<9xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
