// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: cat %t/8-codegen/k*_scatter_along.mlir | FileCheck %s

// A task adds 256 columns of each update, a run of 1 kB of every 20 kB of memory: the run of a later update is fetched, line by line.
// CHECK-LABEL: func.func @k0_scatter_along
// CHECK-COUNT-16: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch

// Not what L2 holds, nor updates whose columns are all of one task.
// CHECK-LABEL: func.func @k1_scatter_along
// CHECK-NOT: llvm.intr.prefetch
func.func @main(%x: tensor<17x5003xf32>, %i: tensor<3000xi64>, %u: tensor<3000x5003xf32>, %j: tensor<20xi64>, %v: tensor<20x5003xf32>,
                %y: tensor<17x32xf32>, %k: tensor<9000xi64>, %w: tensor<9000x32xf32>)
    -> (tensor<17x5003xf32>, tensor<17x5003xf32>, tensor<17x32xf32>) {
  %0 = prim.broadcast %i axes [0] sizes() : (tensor<3000xi64>) -> tensor<3000x5003xi64>
  %1 = prim.scatter_along add %x, %0, %u axis 0 : (tensor<17x5003xf32>, tensor<3000x5003xi64>, tensor<3000x5003xf32>) -> tensor<17x5003xf32>
  %2 = prim.broadcast %j axes [0] sizes() : (tensor<20xi64>) -> tensor<20x5003xi64>
  %3 = prim.scatter_along add %x, %2, %v axis 0 : (tensor<17x5003xf32>, tensor<20x5003xi64>, tensor<20x5003xf32>) -> tensor<17x5003xf32>
  %4 = prim.broadcast %k axes [0] sizes() : (tensor<9000xi64>) -> tensor<9000x32xi64>
  %5 = prim.scatter_along add %y, %4, %w axis 0 : (tensor<17x32xf32>, tensor<9000x32xi64>, tensor<9000x32xf32>) -> tensor<17x32xf32>
  return %1, %3, %5 : tensor<17x5003xf32>, tensor<17x5003xf32>, tensor<17x32xf32>
}
