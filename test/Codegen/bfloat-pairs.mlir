// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu cooperlake --dump-ir %t/ir --emit asm -o %t/model.s
// RUN: FileCheck %s --check-prefix=SCHEDULE < %t/ir/6-schedule.mlir
// RUN: FileCheck %s < %t/ir/8-codegen/k0_dot.mlir
// RUN: FileCheck %s --check-prefix=FEW < %t/ir/8-codegen/k1_dot.mlir

// Enough rows of bf16 copy B, two of its rows interleaved, and multiply pairs; fewer widen B where it lies.
// SCHEDULE: rows = 6, {{.*}}, b = copied, step_bytes = 2, {{.*}} -> tensor<6x64xbf16>
// SCHEDULE: rows = 5, {{.*}}, b = in_place, epilogue = {{.*}} -> tensor<5x64xbf16>
// CHECK-LABEL: func.func @k0_dot
// CHECK: scf.for
// CHECK-COUNT-4: vector.interleave {{.*}} : vector<16xi16> -> vector<32xi16>
// CHECK: scf.for
// CHECK-COUNT-24: "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// FEW-LABEL: func.func @k1_dot
// FEW-NOT: interleave
// FEW: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// FEW: math.fma
// FEW-NOT: dpbf16ps
func.func @main(%x: tensor<6x96xbf16> {graph.name = "x"}, %y: tensor<96x64xbf16> {graph.name = "y"}, %z: tensor<5x96xbf16> {graph.name = "z"})
    -> (tensor<6x64xbf16> {graph.name = "u"}, tensor<5x64xbf16> {graph.name = "v"}) {
  %u = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<6x96xbf16>, tensor<96x64xbf16>) -> tensor<6x64xbf16>
  %v = prim.dot %z, %y batch [] x [] contract [1] x [0] : (tensor<5x96xbf16>, tensor<96x64xbf16>) -> tensor<5x64xbf16>
  return %u, %v : tensor<6x64xbf16>, tensor<5x64xbf16>
}
