// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from simplify --target x86_64-linux --cpu x86-64-v4 --dump-ir %t/wide --emit asm -o %t/wide.s
// RUN: FileCheck %s --check-prefix=SCHEDULE < %t/wide/6-schedule.mlir
// RUN: FileCheck %s < %t/wide/8-codegen/k0_dot.mlir
// RUN: tcc %s --start-from simplify --target x86_64-linux --cpu x86-64-v3 --dump-ir %t/narrow --emit asm -o %t/narrow.s
// RUN: FileCheck %s --check-prefix=NARROW < %t/narrow/8-codegen/k0_dot.mlir

// One row by integers of 4 bits: three panels of three vectors beside each other, whose sums are kept for each. What comes 8 kB
// later is fetched for all three, integers are looked up, and then come the scales.
// SCHEDULE: #cpu.contraction_schedule<lanes = 16, vectors = 3, rows = 1, unroll = 2, tiles_per_task = 1, panels_per_task = 3,
// CHECK-LABEL: func.func @k0_dot
// CHECK: arith.constant dense<[0.000000e+00, 1.000000e+00, {{.*}}, 1.500000e+01]> : vector<16xf32>
// CHECK: scf.for %{{.*}} step %c3
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK: arith.cmpi slt
// CHECK: arith.select {{.*}} : !llvm.ptr
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-9: llvm.load {{.*}} -> vector<16xi32>
// CHECK-COUNT-9: "llvm.intr.prefetch"
// CHECK-COUNT-72: "llvm.x86.avx512.permvar.sf.512"
// CHECK: scf.yield
// CHECK-COUNT-9: "llvm.intr.prefetch"
// CHECK-COUNT-9: llvm.load {{.*}} -> vector<16xf32>
// Panels that are left over are read alone.
// CHECK: scf.for %{{.*}} step %c1
// CHECK-COUNT-24: "llvm.x86.avx512.permvar.sf.512"
// CHECK: return

// Two panels of two vectors with 16 registers.
// NARROW-LABEL: func.func @k0_dot
// NARROW: scf.for %{{.*}} step %c2
// NARROW: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// NARROW: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// NARROW-COUNT-4: llvm.load {{.*}} -> vector<8xi32>
// NARROW-COUNT-2: "llvm.intr.prefetch"
func.func @main(%x: tensor<1x64xf32> {graph.name = "x"}) -> (tensor<1x6000xf32> {graph.name = "y"}) {
  %numbers = prim.iota 0 sizes() : tensor<6000x2x32xui8>
  %scales = prim.iota 0 sizes() : tensor<6000x2x1xf32>
  %low = prim.constant dense<15> : tensor<6000x2x32xui8>
  %integers = prim.and %numbers, %low : (tensor<6000x2x32xui8>, tensor<6000x2x32xui8>) -> tensor<6000x2x32xui8>
  %0 = prim.cast %integers : (tensor<6000x2x32xui8>) -> tensor<6000x2x32xf32>
  %1 = prim.broadcast %scales axes [0, 1, 2] sizes() : (tensor<6000x2x1xf32>) -> tensor<6000x2x32xf32>
  %2 = prim.mul %0, %1 : (tensor<6000x2x32xf32>, tensor<6000x2x32xf32>) -> tensor<6000x2x32xf32>
  %3 = prim.reshape %2 sizes() : (tensor<6000x2x32xf32>) -> tensor<6000x64xf32>
  %4 = prim.dot %x, %3 batch [] x [] contract [1] x [1] : (tensor<1x64xf32>, tensor<6000x64xf32>) -> tensor<1x6000xf32>
  return %4 : tensor<1x6000xf32>
}
