// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu sapphirerapids --dump-ir %t/unit --emit asm -o %t/unit.s
// RUN: FileCheck %s --check-prefix=SCHEDULE < %t/unit/6-schedule.mlir
// RUN: FileCheck %s < %t/unit/8-codegen/k0_dot_mul_select_reduce_sub.mlir
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu cooperlake --dump-ir %t/none --emit asm -o %t/none.s
// RUN: FileCheck %s --check-prefix=NONE < %t/none/6-schedule.mlir

// A matrix unit multiplies queries and keys, then rounded weights and values, of bf16: the depth of 40 is filled up to 64, and
// 80 keys to 96. What it is told of its tiles is told once. Too few queries do not fill its tiles, and a CPU without one
// widens the operands.
// SCHEDULE: task_rows = 32, keys = 96, matrix_tiles = true, {{.*}} -> tensor<2x80x40xbf16>
// SCHEDULE-NOT: matrix_tiles
// NONE-NOT: matrix_tiles
// CHECK-LABEL: func.func @k0_dot_mul_select_reduce_sub
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: math.exp
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%{{.*}}) : (vector<16xf32>)
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
func.func @main(%arg0: tensor<2x80x40xbf16> {graph.name = "q"}, %arg1: tensor<2x80x40xbf16> {graph.name = "k"}, %arg2: tensor<2x80x40xbf16> {graph.name = "v"}, %few: tensor<2x8x40xbf16> {graph.name = "few"})
    -> (tensor<2x80x40xbf16> {graph.name = "all"}, tensor<2x8x40xbf16> {graph.name = "some"}) {
  %0 = prim.dot %arg0, %arg1 batch [0] x [0] contract [2] x [2] : (tensor<2x80x40xbf16>, tensor<2x80x40xbf16>) -> tensor<2x80x80xf32>
  %1 = prim.constant dense<0.158113882> : tensor<2x80x80xf32>
  %2 = prim.mul %0, %1 : (tensor<2x80x80xf32>, tensor<2x80x80xf32>) -> tensor<2x80x80xf32>
  %3 = prim.iota 0 sizes() : tensor<80x80xi64>
  %4 = prim.iota 1 sizes() : tensor<80x80xi64>
  %5 = prim.compare ge %3, %4 : (tensor<80x80xi64>, tensor<80x80xi64>) -> tensor<80x80xi1>
  %6 = prim.constant dense<0xFF800000> : tensor<2x80x80xf32>
  %7 = prim.broadcast %5 axes [1, 2] sizes() : (tensor<80x80xi1>) -> tensor<2x80x80xi1>
  %8 = prim.select %7, %2, %6 : (tensor<2x80x80xi1>, tensor<2x80x80xf32>, tensor<2x80x80xf32>) -> tensor<2x80x80xf32>
  %9 = prim.reduce max %8 [2] : (tensor<2x80x80xf32>) -> tensor<2x80xf32>
  %10 = prim.reshape %9 sizes() : (tensor<2x80xf32>) -> tensor<2x80x1xf32>
  %11 = prim.broadcast %10 axes [0, 1, 2] sizes() : (tensor<2x80x1xf32>) -> tensor<2x80x80xf32>
  %12 = prim.sub %8, %11 : (tensor<2x80x80xf32>, tensor<2x80x80xf32>) -> tensor<2x80x80xf32>
  %13 = prim.exp %12 {prim.not_positive} : (tensor<2x80x80xf32>) -> tensor<2x80x80xf32>
  %14 = prim.reduce sum %13 [2] : (tensor<2x80x80xf32>) -> tensor<2x80xf32>
  %15 = prim.reshape %14 sizes() : (tensor<2x80xf32>) -> tensor<2x80x1xf32>
  %16 = prim.broadcast %15 axes [0, 1, 2] sizes() : (tensor<2x80x1xf32>) -> tensor<2x80x80xf32>
  %17 = prim.div %13, %16 {prim.shares} : (tensor<2x80x80xf32>, tensor<2x80x80xf32>) -> tensor<2x80x80xf32>
  %18 = prim.cast %17 : (tensor<2x80x80xf32>) -> tensor<2x80x80xbf16>
  %19 = prim.dot %18, %arg2 batch [0] x [0] contract [2] x [1] : (tensor<2x80x80xbf16>, tensor<2x80x40xbf16>) -> tensor<2x80x40xf32>
  %20 = prim.cast %19 : (tensor<2x80x40xf32>) -> tensor<2x80x40xbf16>
  %f0 = prim.dot %few, %arg1 batch [0] x [0] contract [2] x [2] : (tensor<2x8x40xbf16>, tensor<2x80x40xbf16>) -> tensor<2x8x80xf32>
  %f1 = prim.constant dense<0.158113882> : tensor<2x8x80xf32>
  %f2 = prim.mul %f0, %f1 : (tensor<2x8x80xf32>, tensor<2x8x80xf32>) -> tensor<2x8x80xf32>
  %f3 = prim.iota 0 sizes() : tensor<8x80xi64>
  %f4 = prim.iota 1 sizes() : tensor<8x80xi64>
  %f5 = prim.compare ge %f3, %f4 : (tensor<8x80xi64>, tensor<8x80xi64>) -> tensor<8x80xi1>
  %f6 = prim.constant dense<0xFF800000> : tensor<2x8x80xf32>
  %f7 = prim.broadcast %f5 axes [1, 2] sizes() : (tensor<8x80xi1>) -> tensor<2x8x80xi1>
  %f8 = prim.select %f7, %f2, %f6 : (tensor<2x8x80xi1>, tensor<2x8x80xf32>, tensor<2x8x80xf32>) -> tensor<2x8x80xf32>
  %f9 = prim.reduce max %f8 [2] : (tensor<2x8x80xf32>) -> tensor<2x8xf32>
  %f10 = prim.reshape %f9 sizes() : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
  %f11 = prim.broadcast %f10 axes [0, 1, 2] sizes() : (tensor<2x8x1xf32>) -> tensor<2x8x80xf32>
  %f12 = prim.sub %f8, %f11 : (tensor<2x8x80xf32>, tensor<2x8x80xf32>) -> tensor<2x8x80xf32>
  %f13 = prim.exp %f12 {prim.not_positive} : (tensor<2x8x80xf32>) -> tensor<2x8x80xf32>
  %f14 = prim.reduce sum %f13 [2] : (tensor<2x8x80xf32>) -> tensor<2x8xf32>
  %f15 = prim.reshape %f14 sizes() : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
  %f16 = prim.broadcast %f15 axes [0, 1, 2] sizes() : (tensor<2x8x1xf32>) -> tensor<2x8x80xf32>
  %f17 = prim.div %f13, %f16 {prim.shares} : (tensor<2x8x80xf32>, tensor<2x8x80xf32>) -> tensor<2x8x80xf32>
  %f18 = prim.cast %f17 : (tensor<2x8x80xf32>) -> tensor<2x8x80xbf16>
  %f19 = prim.dot %f18, %arg2 batch [0] x [0] contract [2] x [1] : (tensor<2x8x80xbf16>, tensor<2x80x40xbf16>) -> tensor<2x8x40xf32>
  %f20 = prim.cast %f19 : (tensor<2x8x40xf32>) -> tensor<2x8x40xbf16>
  return %20, %f20 : tensor<2x80x40xbf16>, tensor<2x8x40xbf16>
}
