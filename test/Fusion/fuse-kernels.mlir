// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s

#panels = #cpu.panels<k = [0], columns = 1, width = 16>

// CHECK-LABEL: func @softmax
// CHECK-COUNT-1: kernel.launch row[{{[0-9]}}] "reduce_sub_exp_div"
// CHECK-NOT: kernel.launch
func.func @softmax(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = prim.dim %x, 0 : tensor<?x64xf32>
  %0 = prim.reduce max %x [1] : (tensor<?x64xf32>) -> tensor<?xf32>
  %1 = prim.broadcast %0 axes [0] sizes(%n) : (tensor<?xf32>) -> tensor<?x64xf32>
  %2 = prim.sub %x, %1 : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %3 = prim.exp %2 : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %4 = prim.reduce sum %3 [1] : (tensor<?x64xf32>) -> tensor<?xf32>
  %5 = prim.broadcast %4 axes [0] sizes(%n) : (tensor<?xf32>) -> tensor<?x64xf32>
  %6 = prim.div %3, %5 : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return %6 : tensor<?x64xf32>
}

// Bias, activation and residual are the epilogue of the product.
// CHECK-LABEL: func @linear
// CHECK: kernel.launch contraction "dot_add_maximum"
// CHECK-NOT: kernel.launch
func.func @linear(%x: tensor<4x8xf32>, %p: tensor<8x16xf32, #panels>, %b: tensor<16xf32>, %r: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = prim.dot %x, %p batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
  %1 = prim.broadcast %b axes [1] sizes() : (tensor<16xf32>) -> tensor<4x16xf32>
  %2 = prim.add %0, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %zero = prim.constant dense<0.0> : tensor<4x16xf32>
  %3 = prim.maximum %2, %zero : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %4 = prim.add %3, %r : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
}

// A value that memory and a later kernel need is written by the first kernel that has it.
// CHECK-LABEL: func @two_results
// CHECK: %{{.*}}:2 = kernel.launch loop "neg_exp"
// CHECK-NOT: kernel.launch
func.func @two_results(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = prim.neg %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = prim.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// A product does not join a pointwise kernel that reads it in another order.
// CHECK-LABEL: func @transposed_reader
// CHECK: kernel.launch contraction "dot"
// CHECK: kernel.launch loop "{{.*}}exp
func.func @transposed_reader(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = prim.transpose %0 [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = prim.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// Two reductions over different rows are two kernels.
// CHECK-LABEL: func @other_rows
// CHECK-COUNT-2: kernel.launch row[{{[0-9]}}] "reduce"
func.func @other_rows(%x: tensor<4x8x16xf32>) -> tensor<4xf32> {
  %0 = prim.reduce max %x [2] : (tensor<4x8x16xf32>) -> tensor<4x8xf32>
  %1 = prim.reduce sum %0 [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A reshape renames memory: it is no kernel.
// CHECK-LABEL: func @reshaped
// CHECK-NOT: kernel.launch
// CHECK: prim.reshape
func.func @reshaped(%x: tensor<4x4xf32>) -> tensor<16xf32> {
  %0 = prim.reshape %x sizes() : (tensor<4x4xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// A reshape of a kernel's inner result comes after the kernel, wherever it stood.
// CHECK-LABEL: func @reshape_of_inner_result
// CHECK: %[[K:.*]]:2 = kernel.launch row[{{[0-9]}}] "neg_reduce"
// CHECK: prim.reshape %[[K]]#
func.func @reshape_of_inner_result(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<4xf32>) {
  %0 = prim.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = prim.reshape %0 sizes() : (tensor<4x8xf32>) -> tensor<32xf32>
  %2 = prim.reduce sum %0 [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<32xf32>, tensor<4xf32>
}

// Two reductions of what a loop carries have the same rows, wherever its extent is asked.
// CHECK-LABEL: func @range
// CHECK: do {
// CHECK: kernel.launch row[{{[0-9]}}] "reduce_sub"
// CHECK-NOT: kernel.launch
func.func @range(%x: tensor<?x8xf32>, %n: index) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = prim.constant dense<0.0> : tensor<f32>
  %r:3 = prim.while(%c0, %x, %z) {
  ^bb0(%i: index, %a: tensor<?x8xf32>, %s: tensor<f32>):
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<?x8xf32>, %s: tensor<f32>):
    %0 = prim.reduce min %a [0, 1] : (tensor<?x8xf32>) -> tensor<f32>
    %1 = prim.reduce max %a [0, 1] : (tensor<?x8xf32>) -> tensor<f32>
    %2 = prim.sub %1, %0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %next = arith.addi %i, %c1 : index
    prim.yield %next, %a, %2 : index, tensor<?x8xf32>, tensor<f32>
  } : (index, tensor<?x8xf32>, tensor<f32>) -> (index, tensor<?x8xf32>, tensor<f32>)
  return %r#2 : tensor<f32>
}

// What a scatter writes and where is asked for a point at a time, so it is computed there.
// CHECK-LABEL: func @scatter
// CHECK: kernel.launch special "{{.*}}scatter_along
// CHECK-DAG: prim.take
// CHECK-DAG: prim.broadcast
// CHECK-NOT: kernel.launch
func.func @scatter(%x: tensor<9x64xf32>, %t: tensor<11x64xf32>, %r: tensor<30xi64>, %i: tensor<30x1xi64>) -> tensor<9x64xf32> {
  %0 = prim.take %t, %r axis 0 : (tensor<11x64xf32>, tensor<30xi64>) -> tensor<30x64xf32>
  %1 = prim.broadcast %i axes [0, 1] sizes() : (tensor<30x1xi64>) -> tensor<30x64xi64>
  %2 = prim.scatter_along add %x, %1, %0 axis 0 : (tensor<9x64xf32>, tensor<30x64xi64>, tensor<30x64xf32>) -> tensor<9x64xf32>
  return %2 : tensor<9x64xf32>
}

// Not what it changes, nor what another kernel reads as well.
// CHECK-LABEL: func @scatter_of_values
// CHECK: %{{.*}}:2 = kernel.launch loop "neg_exp"
// CHECK: kernel.launch special "scatter_along"
func.func @scatter_of_values(%x: tensor<9x64xf32>, %u: tensor<9x64xf32>, %i: tensor<9x64xi64>) -> (tensor<9x64xf32>, tensor<9x64xf32>) {
  %0 = prim.neg %u : (tensor<9x64xf32>) -> tensor<9x64xf32>
  %1 = prim.exp %0 : (tensor<9x64xf32>) -> tensor<9x64xf32>
  %2 = prim.scatter_along add %1, %i, %0 axis 0 : (tensor<9x64xf32>, tensor<9x64xi64>, tensor<9x64xf32>) -> tensor<9x64xf32>
  return %2, %0 : tensor<9x64xf32>, tensor<9x64xf32>
}

// Rows that an index chooses are read wherever they are wanted: here three times.
// CHECK-LABEL: func @reflected
// CHECK-COUNT-1: kernel.launch loop "take_concat"
// CHECK-NOT: kernel.launch
func.func @reflected(%x: tensor<8x16xf32>, %rows: tensor<12xi64>) -> tensor<12x20xf32> {
  %0 = prim.take %x, %rows axis 0 : (tensor<8x16xf32>, tensor<12xi64>) -> tensor<12x16xf32>
  %1 = prim.slice %0 starts [0, 1]() steps [1, 1] sizes() : (tensor<12x16xf32>) -> tensor<12x2xf32>
  %2 = prim.slice %0 starts [0, 13]() steps [1, 1] sizes() : (tensor<12x16xf32>) -> tensor<12x2xf32>
  %3 = prim.concat %1, %0, %2 axis 1 : (tensor<12x2xf32>, tensor<12x16xf32>, tensor<12x2xf32>) -> tensor<12x20xf32>
  return %3 : tensor<12x20xf32>
}

// Eight operators on what is the same for sixteen channels have a kernel of their own.
// CHECK-LABEL: func @weights
// CHECK: kernel.launch loop "neg_abs"
// CHECK: kernel.launch loop "mul"
func.func @weights(%x: tensor<16x64xf32>, %w: tensor<64xf32>) -> tensor<16x64xf32> {
  %0 = prim.neg %w : (tensor<64xf32>) -> tensor<64xf32>
  %1 = prim.abs %0 : (tensor<64xf32>) -> tensor<64xf32>
  %2 = prim.neg %1 : (tensor<64xf32>) -> tensor<64xf32>
  %3 = prim.abs %2 : (tensor<64xf32>) -> tensor<64xf32>
  %4 = prim.neg %3 : (tensor<64xf32>) -> tensor<64xf32>
  %5 = prim.abs %4 : (tensor<64xf32>) -> tensor<64xf32>
  %6 = prim.neg %5 : (tensor<64xf32>) -> tensor<64xf32>
  %7 = prim.abs %6 : (tensor<64xf32>) -> tensor<64xf32>
  %8 = prim.broadcast %7 axes [1] sizes() : (tensor<64xf32>) -> tensor<16x64xf32>
  %9 = prim.mul %x, %8 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %9 : tensor<16x64xf32>
}

// An open extent that both have is no reason to compute it for each channel, and operators of 64
// bits count twice: where a row that is resized is read.
// CHECK-LABEL: func @places
// CHECK: kernel.launch loop "neg_cast
// CHECK: kernel.launch loop {{.*}} : tensor<16x?xf32>, tensor<?xi64>
func.func @places(%x: tensor<16x?xf32>, %w: tensor<?xf32>) -> tensor<16x?xf32> {
  %c0 = arith.constant 0 : index
  %n = prim.dim %w, 0 : tensor<?xf32>
  %0 = prim.neg %w : (tensor<?xf32>) -> tensor<?xf32>
  %1 = prim.cast %0 : (tensor<?xf32>) -> tensor<?xi64>
  %2 = prim.neg %1 : (tensor<?xi64>) -> tensor<?xi64>
  %3 = prim.abs %2 : (tensor<?xi64>) -> tensor<?xi64>
  %4 = prim.neg %3 : (tensor<?xi64>) -> tensor<?xi64>
  %5 = prim.take %x, %4 axis 1 : (tensor<16x?xf32>, tensor<?xi64>) -> tensor<16x?xf32>
  return %5 : tensor<16x?xf32>
}

// What eight operators compute is stored where it is read at more than two places.
// CHECK-LABEL: func @three_places
// CHECK-COUNT-2: kernel.launch loop
// CHECK-NOT: kernel.launch
func.func @three_places(%x: tensor<12x16xf32>) -> tensor<10x16xf32> {
  %0 = prim.neg %x : (tensor<12x16xf32>) -> tensor<12x16xf32>
  %1 = prim.abs %0 : (tensor<12x16xf32>) -> tensor<12x16xf32>
  %2 = prim.neg %1 : (tensor<12x16xf32>) -> tensor<12x16xf32>
  %3 = prim.abs %2 : (tensor<12x16xf32>) -> tensor<12x16xf32>
  %4 = prim.neg %3 : (tensor<12x16xf32>) -> tensor<12x16xf32>
  %5 = prim.abs %4 : (tensor<12x16xf32>) -> tensor<12x16xf32>
  %6 = prim.neg %5 : (tensor<12x16xf32>) -> tensor<12x16xf32>
  %7 = prim.abs %6 : (tensor<12x16xf32>) -> tensor<12x16xf32>
  %8 = prim.slice %7 starts [0, 0]() steps [1, 1] sizes() : (tensor<12x16xf32>) -> tensor<10x16xf32>
  %9 = prim.slice %7 starts [1, 0]() steps [1, 1] sizes() : (tensor<12x16xf32>) -> tensor<10x16xf32>
  %10 = prim.slice %7 starts [2, 0]() steps [1, 1] sizes() : (tensor<12x16xf32>) -> tensor<10x16xf32>
  %11 = prim.maximum %8, %9 : (tensor<10x16xf32>, tensor<10x16xf32>) -> tensor<10x16xf32>
  %12 = prim.maximum %11, %10 : (tensor<10x16xf32>, tensor<10x16xf32>) -> tensor<10x16xf32>
  return %12 : tensor<10x16xf32>
}

// Each step of a sum by doubling asks the one before at two places: not all of them in one kernel.
// CHECK-LABEL: func @doubling
// CHECK-COUNT-2: kernel.launch loop
// CHECK-NOT: kernel.launch
func.func @doubling(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = prim.constant dense<0.0> : tensor<f32>
  %p1 = prim.pad %x, %zero low [0, 1] () interior [0, 0] sizes () : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %1 = prim.add %x, %p1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p2 = prim.pad %1, %zero low [0, 2] () interior [0, 0] sizes () : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %2 = prim.add %1, %p2 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p3 = prim.pad %2, %zero low [0, 4] () interior [0, 0] sizes () : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %3 = prim.add %2, %p3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p4 = prim.pad %3, %zero low [0, 8] () interior [0, 0] sizes () : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %4 = prim.add %3, %p4 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p5 = prim.pad %4, %zero low [0, 16] () interior [0, 0] sizes () : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %5 = prim.add %4, %p5 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p6 = prim.pad %5, %zero low [0, 32] () interior [0, 0] sizes () : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %6 = prim.add %5, %p6 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %6 : tensor<64x64xf32>
}

// What is done for each row stays with the reduction where its axes are the rows', and not where a
// unit axis is moved between them: a row's place would be taken for that of another point.
// CHECK-LABEL: func @same_unit_axis
// CHECK: kernel.launch row[3] "reduce_exp"
// CHECK-NOT: kernel.launch
func.func @same_unit_axis(%x: tensor<5x1x4x16xf32>) -> tensor<5x1x4xf32> {
  %0 = prim.reduce sum %x [3] : (tensor<5x1x4x16xf32>) -> tensor<5x1x4xf32>
  %1 = prim.exp %0 : (tensor<5x1x4xf32>) -> tensor<5x1x4xf32>
  return %1 : tensor<5x1x4xf32>
}

// CHECK-LABEL: func @moved_unit_axis
// CHECK: kernel.launch row[3] "reduce"
// CHECK: kernel.launch loop "exp"
func.func @moved_unit_axis(%x: tensor<5x1x4x16xf32>) -> tensor<1x5x4xf32> {
  %0 = prim.reduce sum %x [3] : (tensor<5x1x4x16xf32>) -> tensor<5x1x4xf32>
  %1 = prim.reshape %0 sizes() : (tensor<5x1x4xf32>) -> tensor<1x5x4xf32>
  %2 = prim.exp %1 : (tensor<1x5x4xf32>) -> tensor<1x5x4xf32>
  return %2 : tensor<1x5x4xf32>
}
