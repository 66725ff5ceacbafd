// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k0_conv.mlir
// RUN: FileCheck %s --check-prefix=EVEN < %t/8-codegen/k1_conv.mlir

// Of open planes a run chooses lines of equal length that fit the scratch memory, and how many. Register tiles of one to five
// vectors are written; what is left of a line's vectors is stored in halves, without masks.
// CHECK-LABEL: func.func @k0_conv
// CHECK: arith.cmpi eq, {{.*}}, %c8 : index
// CHECK-NEXT: scf.if
// CHECK: iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>) {
// CHECK: arith.cmpi eq, {{.*}}, %c40 : index
// CHECK-NEXT: scf.if
// CHECK-COUNT-40: math.fma
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}} vector<4xf32>
// CHECK: step %c2
// CHECK: step %c1

// Ten vectors are tiles of three, three, two and two: a last one of one would wait for its four sums.
// EVEN-LABEL: func.func @k1_conv
// EVEN: scf.for {{.*}} = %c0 to %c2 step %c1
// EVEN-COUNT-48: math.fma
// EVEN: scf.for {{.*}} = %c2 to %c4 step %c1
// EVEN-COUNT-32: math.fma
// EVEN-NOT: math.fma
func.func @main(%x: tensor<1x32x?x?xf32> {graph.name = "x", graph.dims = ["", "", "H", "W"]}, %v: tensor<16x4x3x3xf32> {graph.name = "v"}, %y: tensor<1x8x80xf32> {graph.name = "y"}, %u: tensor<4x8x3xf32> {graph.name = "u"}) -> (tensor<1x16x?x?xf32> {graph.name = "a"}, tensor<1x4x80xf32> {graph.name = "b"}) {
  %h = prim.dim %x, 2 : tensor<1x32x?x?xf32>
  %l = prim.dim %x, 3 : tensor<1x32x?x?xf32>
  %0 = prim.conv %x, %v sizes(%h, %l) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x32x?x?xf32>, tensor<16x4x3x3xf32>, index, index) -> tensor<1x16x?x?xf32>
  %1 = prim.conv %y, %u sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64} : (tensor<1x8x80xf32>, tensor<4x8x3xf32>) -> tensor<1x4x80xf32>
  return %0, %1 : tensor<1x16x?x?xf32>, tensor<1x4x80xf32>
}
