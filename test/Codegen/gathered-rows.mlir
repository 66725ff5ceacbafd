// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v4 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k1_conv.mlir

// Lines are short, of 14 pixels: what lies under each of a tile's six pixels is put beside each other. A line of the filter, three
// pixels of twelve channels, is copied at once where it is inside of the image, else pixel by pixel, with zeros outside.
// CHECK-LABEL: func.func @k1_conv
// CHECK: scf.for {{.*}} = %c0 to %c6 step %c1 iter_args
// CHECK: scf.for {{.*}} = %c0 to %c3 step %c1
// CHECK: arith.cmpi ult, {{.*}}, %c14
// CHECK: arith.cmpi ult, {{.*}}, %c12
// CHECK: scf.if
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: else
// CHECK: scf.for {{.*}} = %c0 to %c3 step %c1
// CHECK: arith.cmpi ult, {{.*}}, %c14
// CHECK: scf.if
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: else
// CHECK: llvm.store %cst{{.*}} vector<8xf32>
// CHECK: llvm.store %cst{{.*}} vector<4xf32>
// CHECK: math.fma
func.func @main(%x: tensor<1x14x14x12xf32> {graph.name = "x"}) -> (tensor<1x14x14x64xf32> {graph.name = "y"}) {
  %w = prim.constant dense<0.5> : tensor<64x12x3x3xf32>
  %0 = prim.conv %x, %w sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x14x14x12xf32>, tensor<64x12x3x3xf32>) -> tensor<1x14x14x64xf32>
  return %0 : tensor<1x14x14x64xf32>
}
