// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/m.s
// RUN: FileCheck %s < %t/5-fuse.mlir
// RUN: tcc-opt %s --arch sm_90a -tcc-fuse-kernels | FileCheck %s --check-prefix=GPU

// Rows that lie in an operand as columns are turned in memory first; a GPU's kernel reads them across.
// What keeps its last axis is read where it lies.
// CHECK: %[[T:.*]] = kernel.launch loop "transpose" ins(%arg0
// CHECK-NOT: "transpose"
// CHECK: kernel.launch row{{.*}} ins(%[[T]]
// CHECK-NOT: "transpose"
// CHECK: kernel.launch row{{.*}} ins(%arg1
// GPU-NOT: kernel.launch loop
// GPU: kernel.launch row{{.*}} ins(%arg0
func.func @main(%x: tensor<200x100xf32>, %y: tensor<20x30x100xf32>) -> (tensor<100x200xf32>, tensor<30x20x100xf32>) {
  %0 = prim.transpose %x [1, 0] : (tensor<200x100xf32>) -> tensor<100x200xf32>
  %1 = prim.reduce max %0 [1] : (tensor<100x200xf32>) -> tensor<100xf32>
  %2 = prim.broadcast %1 axes [0] sizes() : (tensor<100xf32>) -> tensor<100x200xf32>
  %3 = prim.sub %0, %2 : (tensor<100x200xf32>, tensor<100x200xf32>) -> tensor<100x200xf32>
  %4 = prim.exp %3 : (tensor<100x200xf32>) -> tensor<100x200xf32>
  %5 = prim.reduce sum %4 [1] : (tensor<100x200xf32>) -> tensor<100xf32>
  %6 = prim.broadcast %5 axes [0] sizes() : (tensor<100xf32>) -> tensor<100x200xf32>
  %7 = prim.div %4, %6 : (tensor<100x200xf32>, tensor<100x200xf32>) -> tensor<100x200xf32>
  %8 = prim.transpose %y [1, 0, 2] : (tensor<20x30x100xf32>) -> tensor<30x20x100xf32>
  %9 = prim.reduce max %8 [2] : (tensor<30x20x100xf32>) -> tensor<30x20xf32>
  %10 = prim.broadcast %9 axes [0, 1] sizes() : (tensor<30x20xf32>) -> tensor<30x20x100xf32>
  %11 = prim.sub %8, %10 : (tensor<30x20x100xf32>, tensor<30x20x100xf32>) -> tensor<30x20x100xf32>
  return %7, %11 : tensor<100x200xf32>, tensor<30x20x100xf32>
}
