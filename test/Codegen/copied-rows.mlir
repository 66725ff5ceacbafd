// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k2_conv_transpose.mlir

// Three lines of three channels are copied for a task, with zeros before, behind and, where the image has no such line, in place of
// them. Pixels are three elements apart from then on, and taps need no pointers.
// CHECK-LABEL: func.func @k2_conv_transpose
// CHECK-NOT: x i64 {alignment = 64
// CHECK: scf.for {{.*}} = %c0 to %c3 step %c1
// CHECK: arith.cmpi ult
// CHECK: scf.for
// CHECK: llvm.store %cst, {{.*}} vector<8xf32>
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK: llvm.intr.masked.load
// CHECK: scf.for
// CHECK: llvm.store %cst, {{.*}} vector<8xf32>
// CHECK: scf.for {{.*}} = %c0 to %c9 step %c3 iter_args
// CHECK: llvm.load %[[PIXEL:.*]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-COUNT-2: math.fma
// CHECK-NEXT: llvm.getelementptr %[[PIXEL]][3]
// CHECK-NOT: llvm.inttoptr
func.func @main(%x: tensor<1x3x40x40xf32> {graph.name = "x"}, %w: tensor<32x3x3x3xf32> {graph.name = "w"}) -> (tensor<1x32x40x40xf32> {graph.name = "y"}) {
  %0 = prim.conv %x, %w sizes() {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x40x40xf32>, tensor<32x3x3x3xf32>) -> tensor<1x32x40x40xf32>
  return %0 : tensor<1x32x40x40xf32>
}
