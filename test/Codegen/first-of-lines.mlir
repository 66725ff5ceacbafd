// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/m.s
// RUN: cat %t/8-codegen/k*.mlir | FileCheck %s

// A small part of a line is kept on the stack: elements are compared with the last of it, and words made of few.
// CHECK-LABEL: func.func @k0
// CHECK: llvm.alloca %{{.*}} x i64
// CHECK: call @tcc_sort_words
// CHECK: scf.for
// CHECK: arith.cmpf olt, %{{.*}} : vector<32xf32>
// CHECK: scf.while
// CHECK: call @tcc_sort_words
// CHECK: call @tcc_sort_words

// Of keys of 64 bits, of a larger part of a line and of what registers keep no words wait there.
// CHECK-LABEL: func.func @k1
// CHECK-NOT: vector<32x
// CHECK-LABEL: func.func @k2
// CHECK-NOT: vector<32x
// CHECK-LABEL: func.func @k3
// CHECK-NOT: tcc_sort_words
func.func @main(%x: tensor<4x50257xf32>, %y: tensor<4x50257xf64>, %z: tensor<4x5000xf32>) -> (tensor<4x50xf32>, tensor<4x50xf64>, tensor<4x50xf32>, tensor<4x10xf32>) {
  %0:2 = prim.top_k %x axis 1 {largest = true} : (tensor<4x50257xf32>) -> (tensor<4x50xf32>, tensor<4x50xi64>)
  %1:2 = prim.top_k %y axis 1 {largest = true} : (tensor<4x50257xf64>) -> (tensor<4x50xf64>, tensor<4x50xi64>)
  %2:2 = prim.top_k %z axis 1 {largest = true} : (tensor<4x5000xf32>) -> (tensor<4x50xf32>, tensor<4x50xi64>)
  %3:2 = prim.top_k %x axis 1 {largest = true} : (tensor<4x50257xf32>) -> (tensor<4x10xf32>, tensor<4x10xi64>)
  return %0#0, %1#0, %2#0, %3#0 : tensor<4x50xf32>, tensor<4x50xf64>, tensor<4x50xf32>, tensor<4x10xf32>
}
