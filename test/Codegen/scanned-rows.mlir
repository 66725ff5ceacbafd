// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: cat %t/8-codegen/k*_cumulative.mlir | FileCheck %s

// Rows of an open length: a task has a run of 2 kB where it may be alone, and asks whether there are enough columns to add each row to
// what was stored for the one before.
// CHECK-LABEL: func.func @k0_cumulative
// CHECK: %[[LONG:.*]] = arith.cmpi uge, %[[COUNT:.*]], %c128 : index
// CHECK: scf.if %[[LONG]] {
// CHECK-NOT: iter_args
// CHECK: %[[SHORT:.*]] = arith.cmpi ult, %[[COUNT]], %c128 : index
// CHECK: scf.if %[[SHORT]] {
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>)

// Not of what is rounded where it is stored, nor where a step gives what came before it.
// CHECK-LABEL: func.func @k1_cumulative
// CHECK-NOT: scf.if
// CHECK: scf.for {{.*}} iter_args
// CHECK-LABEL: func.func @k2_cumulative
// CHECK-NOT: scf.if
// CHECK: scf.for {{.*}} iter_args
func.func @main(%x: tensor<49x?xf32> {graph.name = "x"}, %h: tensor<49x?xf16> {graph.name = "h"})
    -> (tensor<49x?xf32> {graph.name = "a"}, tensor<49x?xf16> {graph.name = "b"}, tensor<49x?xf32> {graph.name = "c"}) {
  %a = prim.cumulative sum %x 0 : (tensor<49x?xf32>) -> tensor<49x?xf32>
  %b = prim.cumulative sum %h 0 : (tensor<49x?xf16>) -> tensor<49x?xf16>
  %c = prim.cumulative sum %x 0 {exclusive = true} : (tensor<49x?xf32>) -> tensor<49x?xf32>
  return %a, %b, %c : tensor<49x?xf32>, tensor<49x?xf16>, tensor<49x?xf32>
}
