// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/m.s
// RUN: FileCheck %s < %t/6-schedule.mlir
// RUN: FileCheck %s --check-prefix=REST < %t/6-schedule.mlir

// What is reduced across rows and read again is one kernel, a block of columns at a time, whose last axes are one.
// CHECK: kernel.launch row[1] "reduce_sub_exp_div"
// CHECK: prim.reduce max %{{.+}} [1] : (tensor<16x64x3136xf32>) -> tensor<16x3136xf32>
// CHECK: prim.reduce sum %{{.+}} [1] : (tensor<16x64x3136xf32>) -> tensor<16x3136xf32>
// CHECK: {schedule = #cpu.row_schedule<lanes = 16, grain = 1, kept = 32768, columns = 256>} -> tensor<16x64x3136xf32>

// Neither a reduction alone, nor what is quickly reduced again (a deviation), nor lines of which L2 keeps short pieces.
// REST-COUNT-1: columns =
// REST-NOT: columns =
module {
  func.func @main(%x: tensor<16x64x56x56xf32> {graph.dims = [16, 64, 56, 56], graph.name = "x"}, %d: tensor<64x200x512xf32> {graph.dims = [64, 200, 512], graph.name = "d"},
                  %z: tensor<2000x512xf32> {graph.dims = [2000, 512], graph.name = "z"})
      -> (tensor<16x64x56x56xf32> {graph.dims = [16, 64, 56, 56], graph.name = "y"}, tensor<64x512xf32> {graph.dims = [64, 512], graph.name = "u"},
          tensor<64x512xf32> {graph.dims = [64, 512], graph.name = "v"}, tensor<2000x512xf32> {graph.dims = [2000, 512], graph.name = "w"}) {
    %0 = prim.reduce max %x [1] : (tensor<16x64x56x56xf32>) -> tensor<16x56x56xf32>
    %1 = prim.reshape %0 sizes() : (tensor<16x56x56xf32>) -> tensor<16x1x56x56xf32>
    %2 = prim.broadcast %1 axes [0, 1, 2, 3] sizes() : (tensor<16x1x56x56xf32>) -> tensor<16x64x56x56xf32>
    %3 = prim.sub %x, %2 : (tensor<16x64x56x56xf32>, tensor<16x64x56x56xf32>) -> tensor<16x64x56x56xf32>
    %4 = prim.exp %3 : (tensor<16x64x56x56xf32>) -> tensor<16x64x56x56xf32>
    %5 = prim.reduce sum %4 [1] : (tensor<16x64x56x56xf32>) -> tensor<16x56x56xf32>
    %6 = prim.reshape %5 sizes() : (tensor<16x56x56xf32>) -> tensor<16x1x56x56xf32>
    %7 = prim.broadcast %6 axes [0, 1, 2, 3] sizes() : (tensor<16x1x56x56xf32>) -> tensor<16x64x56x56xf32>
    %8 = prim.div %4, %7 : (tensor<16x64x56x56xf32>, tensor<16x64x56x56xf32>) -> tensor<16x64x56x56xf32>
    %9 = prim.reduce max %d [1] : (tensor<64x200x512xf32>) -> tensor<64x512xf32>
    %10 = prim.reduce sum %d [1] : (tensor<64x200x512xf32>) -> tensor<64x512xf32>
    %11 = prim.broadcast %10 axes [0, 2] sizes() : (tensor<64x512xf32>) -> tensor<64x200x512xf32>
    %12 = prim.sub %d, %11 : (tensor<64x200x512xf32>, tensor<64x200x512xf32>) -> tensor<64x200x512xf32>
    %13 = prim.mul %12, %12 : (tensor<64x200x512xf32>, tensor<64x200x512xf32>) -> tensor<64x200x512xf32>
    %14 = prim.reduce sum %13 [1] : (tensor<64x200x512xf32>) -> tensor<64x512xf32>
    %15 = prim.reduce max %z [0] : (tensor<2000x512xf32>) -> tensor<512xf32>
    %16 = prim.broadcast %15 axes [1] sizes() : (tensor<512xf32>) -> tensor<2000x512xf32>
    %17 = prim.sub %z, %16 : (tensor<2000x512xf32>, tensor<2000x512xf32>) -> tensor<2000x512xf32>
    return %8, %9, %14, %17 : tensor<16x64x56x56xf32>, tensor<64x512xf32>, tensor<64x512xf32>, tensor<2000x512xf32>
  }
}
