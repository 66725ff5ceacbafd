// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu cooperlake --dump-ir %t/wide --emit asm -o %t/wide.s
// RUN: FileCheck %s --check-prefix=SCHEDULE < %t/wide/6-schedule.mlir
// RUN: FileCheck %s < %t/wide/8-codegen/k0_dot.mlir
// RUN: FileCheck %s --check-prefix=PAIRS < %t/wide/8-codegen/k1_dot.mlir
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t/narrow --emit asm -o %t/narrow.s
// RUN: FileCheck %s --check-prefix=NARROW < %t/narrow/8-codegen/k0_dot.mlir

// A few rows by columns that lie along k: none is copied. Of many rows panels are.
// SCHEDULE: rows = 8, {{.*}}, a = in_place, b = in_place, epilogue = rolled, {{.*}} -> tensor<8x100xf32>
// SCHEDULE: rows = 8, {{.*}}, a = in_place, b = in_place, step_bytes = 2, epilogue = rolled, {{.*}} -> tensor<8x100xbf16>
// SCHEDULE: k_block = 512, a = in_place, b = in_place, {{.*}} -> tensor<2x100xf32>
// SCHEDULE: b = copied, {{.*}} -> tensor<100x100xf32>

// Two blocks of four rows by four columns at a time: eight vectors are loaded for 16 products, the last ones of four elements.
// CHECK-LABEL: func.func @k0_dot
// CHECK: scf.for {{.*}} step %c4
// CHECK: %[[STEPS:.*]]:16 = scf.for {{.*}} step %c32 iter_args
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-4: math.fma
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-4: math.fma
// CHECK-COUNT-5: llvm.intr.masked.load
// CHECK-COUNT-4: math.fma
// CHECK: vector.shuffle {{.*}} [0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30] : vector<16xf32>, vector<16xf32>
// CHECK: vector.shuffle {{.*}} [1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31] : vector<16xf32>, vector<16xf32>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xf32>, vector<16xf32>
// CHECK: vector.shuffle {{.*}} [4, 5, 6, 7] : vector<8xf32>, vector<8xf32>
// CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr

// bf16 has its pairs where it lies.
// PAIRS-LABEL: func.func @k1_dot
// PAIRS-NOT: interleave
// PAIRS-COUNT-16: "llvm.x86.avx512bf16.dpbf16ps.512"

// At most three rows by four columns with 16 registers, here two.
// NARROW-LABEL: func.func @k0_dot
// NARROW: :8 = scf.for {{.*}} step %c16 iter_args
// NARROW-COUNT-2: llvm.load {{.*}} -> vector<8xf32>
// NARROW-COUNT-2: math.fma
func.func @main(%x: tensor<8x100xf32> {graph.name = "x"}, %y: tensor<100x100xf32> {graph.name = "y"},
                %p: tensor<8x96xbf16> {graph.name = "p"}, %q: tensor<100x96xbf16> {graph.name = "q"},
                %l: tensor<2x1024xf32> {graph.name = "l"}, %m: tensor<100x1024xf32> {graph.name = "m"})
    -> (tensor<8x100xf32> {graph.name = "a"}, tensor<8x100xbf16> {graph.name = "b"}, tensor<2x100xf32> {graph.name = "c"}, tensor<100x100xf32> {graph.name = "d"}) {
  %a = prim.dot %x, %y batch [] x [] contract [1] x [1] : (tensor<8x100xf32>, tensor<100x100xf32>) -> tensor<8x100xf32>
  %b = prim.dot %p, %q batch [] x [] contract [1] x [1] : (tensor<8x96xbf16>, tensor<100x96xbf16>) -> tensor<8x100xbf16>
  %c = prim.dot %l, %m batch [] x [] contract [1] x [1] : (tensor<2x1024xf32>, tensor<100x1024xf32>) -> tensor<2x100xf32>
  %d = prim.dot %y, %y batch [] x [] contract [1] x [1] : (tensor<100x100xf32>, tensor<100x100xf32>) -> tensor<100x100xf32>
  return %a, %b, %c, %d : tensor<8x100xf32>, tensor<8x100xbf16>, tensor<2x100xf32>, tensor<100x100xf32>
}
