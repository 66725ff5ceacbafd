// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k2_conv_transpose.mlir

// A table has a pointer for each of nine taps and each row of a tile. Those of a tap are a vector: what lies outside of the image
// points to a line of zeros, and taps that no row has inside are noted as a byte each, and passed over.
// CHECK-LABEL: func.func @k2_conv_transpose
// CHECK: llvm.alloca {{.*}} x f32
// CHECK: %[[ZEROS:.*]] = llvm.alloca {{.*}} x f32
// CHECK: %[[REACHED:.*]] = llvm.alloca {{.*}} x i8
// CHECK: %[[TABLE:.*]] = llvm.alloca {{.*}} x i64
// CHECK: scf.for %[[TAP:.*]] = %c0 to %c9 step %c1
// CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[ZEROS]] :
// CHECK: %[[OUTSIDE:.*]] = vector.broadcast %[[ADDRESS]]
// CHECK: arith.select {{.*}}, %[[OUTSIDE]] :
// CHECK: arith.select {{.*}}, %[[OUTSIDE]]
// CHECK: vector.reduction <or>
// CHECK: llvm.getelementptr %[[REACHED]]
// CHECK: llvm.getelementptr %[[TABLE]]
// CHECK-NEXT: llvm.store {{.*}} vector<8xi64>
// CHECK: llvm.load {{.*}} -> i8
// CHECK: scf.if
// CHECK: llvm.getelementptr %[[TABLE]]
// CHECK: math.fma
func.func @main(%x: tensor<1x24x20x20xf32> {graph.name = "x"}, %w: tensor<16x24x3x3xf32> {graph.name = "w"}) -> (tensor<1x16x20x20xf32> {graph.name = "y"}) {
  %0 = prim.conv %x, %w sizes() {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x24x20x20xf32>, tensor<16x24x3x3xf32>) -> tensor<1x16x20x20xf32>
  return %0 : tensor<1x16x20x20xf32>
}
