// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k0_dot.mlir
// RUN: FileCheck %s --check-prefix=SINGLE < %t/8-codegen/k1_dot.mlir

// The tasks of an entry of a batch that a thread has are done together: of 24 tasks four lie below each other, for which panels
// are copied once.
// CHECK-LABEL: func.func @k0_dot(
// CHECK: %[[FIRST:.*]] = arith.divui %arg1, %c24
// CHECK: %[[LAST:.*]] = arith.divui {{.*}}, %c24
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step %c1 {
// CHECK: arith.divui {{.*}}, %c4
// CHECK: arith.divui {{.*}}, %c4
// CHECK: scf.for {{.*}} step %c1 {
// CHECK: scf.for {{.*}} step %c10 {
// CHECK: math.fma

// An entry that is one task is done as before: nothing is asked.
// SINGLE-LABEL: func.func @k1_dot(
// SINGLE-NOT: arith.divui
// SINGLE: scf.for %{{.*}} = %arg1 to %arg2 step %c1 {
// SINGLE-NOT: arith.divui
// SINGLE: math.fma
func.func @main(%x: tensor<3x128x768xf32> {graph.name = "x"}, %y: tensor<3x256x768xf32> {graph.name = "y"}, %z: tensor<96x64x64xf32> {graph.name = "z"})
    -> (tensor<3x128x256xf32> {graph.name = "a"}, tensor<96x64x64xf32> {graph.name = "b"}) {
  %a = prim.dot %x, %y batch [0] x [0] contract [2] x [2] : (tensor<3x128x768xf32>, tensor<3x256x768xf32>) -> tensor<3x128x256xf32>
  %b = prim.dot %z, %z batch [0] x [0] contract [2] x [1] : (tensor<96x64x64xf32>, tensor<96x64x64xf32>) -> tensor<96x64x64xf32>
  return %a, %b : tensor<3x128x256xf32>, tensor<96x64x64xf32>
}
