// RUN: rm -rf %t && mkdir -p %t/v3 %t/v4
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t/v3 --emit asm -o %t/v3.s
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v4 --dump-ir %t/v4 --emit asm -o %t/v4.s
// RUN: FileCheck %s < %t/v3/8-codegen/k0_concat_reduce.mlir
// RUN: FileCheck %s --check-prefix=PAD < %t/v3/8-codegen/k1_pad_reduce.mlir
// RUN: FileCheck %s --check-prefix=ALIGNED < %t/v3/8-codegen/k2_concat_reduce.mlir
// RUN: FileCheck %s --check-prefix=MASKS < %t/v4/8-codegen/k0_concat_reduce.mlir

// AVX2 loads a part of a vector of halves lane by lane: a vector asks whether all lanes lie in the first operand, or in the second,
// and only one that has a part of both masks its loads, as integers.
// CHECK-LABEL: func.func @k0_concat_reduce
// CHECK: scf.for {{.*}} iter_args
// CHECK: %[[IN:.*]] = arith.andi {{.*}} : i1
// CHECK-NEXT: scf.if %[[IN]]
// CHECK: llvm.load {{.*}} -> vector<16xf16>
// CHECK: } else {
// CHECK: scf.if
// CHECK: llvm.load {{.*}} -> vector<16xf16>
// CHECK: } else {
// CHECK-COUNT-2: llvm.intr.masked.load {{.*}} -> vector<16xi16>

// PAD-LABEL: func.func @k1_pad_reduce
// PAD: scf.for {{.*}} iter_args
// PAD: scf.if
// PAD: llvm.load {{.*}} -> vector<32xi8>
// PAD: } else {
// PAD: llvm.intr.masked.load {{.*}} -> vector<32xi8>

// Not where each operand fills whole vectors, for whose lanes there is one answer.
// ALIGNED-LABEL: func.func @k2_concat_reduce
// ALIGNED-NOT: arith.andi {{.*}} : i1
// ALIGNED-NOT: masked.load
// ALIGNED: return

// Nor where masks cost nothing.
// MASKS-LABEL: func.func @k0_concat_reduce
// MASKS-NOT: scf.if
// MASKS: llvm.intr.masked.load
// MASKS-NOT: scf.if
// MASKS: return
func.func @main(%x: tensor<64x300xf16> {graph.name = "x"}, %y: tensor<64x401xf16> {graph.name = "y"}, %u: tensor<64x300xui8> {graph.name = "u"},
                %v: tensor<64x256xf16> {graph.name = "v"})
    -> (tensor<64xf16> {graph.name = "a"}, tensor<64xui8> {graph.name = "b"}, tensor<64xf16> {graph.name = "c"}) {
  %0 = prim.concat %x, %y axis 1 : (tensor<64x300xf16>, tensor<64x401xf16>) -> tensor<64x701xf16>
  %a = prim.reduce max %0 [1] : (tensor<64x701xf16>) -> tensor<64xf16>
  %zero = prim.constant dense<0> : tensor<ui8>
  %1 = prim.pad %u, %zero low [0, 1]() interior [0, 0] sizes() : (tensor<64x300xui8>, tensor<ui8>) -> tensor<64x302xui8>
  %b = prim.reduce max %1 [1] : (tensor<64x302xui8>) -> tensor<64xui8>
  %2 = prim.concat %v, %v axis 1 : (tensor<64x256xf16>, tensor<64x256xf16>) -> tensor<64x512xf16>
  %c = prim.reduce max %2 [1] : (tensor<64x512xf16>) -> tensor<64xf16>
  return %a, %b, %c : tensor<64xf16>, tensor<64xui8>, tensor<64xf16>
}
