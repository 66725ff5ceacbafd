// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s

#panels = #cpu.panels<k = [0], columns = 1, width = 16>

// Heads are read where they lie, and the result is stored as the next product reads it.
// CHECK-LABEL: func @attention
// CHECK: kernel.launch contraction "dot" ins(%arg0, %arg1
// CHECK: prim.slice
// CHECK: prim.dot
// CHECK: kernel.launch contraction "dot_transpose" ins(%{{.*}}, %arg2
// CHECK-NOT: kernel.launch
func.func @attention(%q: tensor<1x8x3x2x16xf32>, %k: tensor<1x8x32xf32>, %v: tensor<1x8x32xf32>) -> tensor<1x8x2x16xf32> {
  %0 = prim.slice %q starts [0, 0, 1, 0, 0]() steps [1, 1, 1, 1, 1] sizes() : (tensor<1x8x3x2x16xf32>) -> tensor<1x8x1x2x16xf32>
  %1 = prim.reshape %0 sizes() : (tensor<1x8x1x2x16xf32>) -> tensor<1x8x2x16xf32>
  %2 = prim.reshape %k sizes() : (tensor<1x8x32xf32>) -> tensor<1x8x2x16xf32>
  %3 = prim.dot %1, %2 batch [0, 2] x [0, 2] contract [3] x [3] : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>) -> tensor<1x2x8x8xf32>
  %4 = prim.reshape %v sizes() : (tensor<1x8x32xf32>) -> tensor<1x8x2x16xf32>
  %5 = prim.dot %3, %4 batch [0, 1] x [0, 2] contract [3] x [1] : (tensor<1x2x8x8xf32>, tensor<1x8x2x16xf32>) -> tensor<1x2x8x16xf32>
  %6 = prim.transpose %5 [0, 2, 1, 3] : (tensor<1x2x8x16xf32>) -> tensor<1x8x2x16xf32>
  return %6 : tensor<1x8x2x16xf32>
}

// Columns that are neighbours in neither direction are copied.
// CHECK-LABEL: func @copied
// CHECK: kernel.launch loop "slice"
// CHECK: kernel.launch contraction "dot"
func.func @copied(%x: tensor<8x8xf32>, %y: tensor<8x16xf32>) -> tensor<8x8xf32> {
  %0 = prim.slice %y starts [0, 0]() steps [1, 2] sizes() : (tensor<8x16xf32>) -> tensor<8x8xf32>
  %1 = prim.dot %x, %0 batch [] x [] contract [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// The epilogue may see the product's rows under another shape.
// CHECK-LABEL: func @rows
// CHECK: kernel.launch contraction "dot_add"
// CHECK-NOT: kernel.launch
func.func @rows(%x: tensor<8x4xf32>, %p: tensor<4x16xf32, #panels>, %r: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %0 = prim.dot %x, %p batch [] x [] contract [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32, #panels>) -> tensor<8x16xf32>
  %1 = prim.reshape %0 sizes() : (tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %2 = prim.add %1, %r : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return %2 : tensor<2x4x16xf32>
}

// But not with other columns.
// CHECK-LABEL: func @columns
// CHECK: kernel.launch contraction "dot"
// CHECK: kernel.launch loop "add"
func.func @columns(%x: tensor<8x4xf32>, %p: tensor<4x16xf32, #panels>, %r: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = prim.dot %x, %p batch [] x [] contract [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32, #panels>) -> tensor<8x16xf32>
  %1 = prim.reshape %0 sizes() : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %2 = prim.add %1, %r : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %2 : tensor<16x8xf32>
}

// One image: the rows of a norm are counted past the unit axis.
// CHECK-LABEL: func @norm
// CHECK: kernel.launch row[{{[0-9]}}] "reduce_sub_mul_add"
// CHECK-NOT: kernel.launch
func.func @norm(%x: tensor<1x8x64xf32>) -> tensor<1x8x64xf32> {
  %0 = prim.reduce sum %x [2] : (tensor<1x8x64xf32>) -> tensor<1x8xf32>
  %1 = prim.reshape %0 sizes() : (tensor<1x8xf32>) -> tensor<1x8x1xf32>
  %2 = prim.broadcast %1 axes [0, 1, 2] sizes() : (tensor<1x8x1xf32>) -> tensor<1x8x64xf32>
  %3 = prim.sub %x, %2 : (tensor<1x8x64xf32>, tensor<1x8x64xf32>) -> tensor<1x8x64xf32>
  %4 = prim.mul %3, %3 : (tensor<1x8x64xf32>, tensor<1x8x64xf32>) -> tensor<1x8x64xf32>
  %5 = prim.reduce sum %4 [2] : (tensor<1x8x64xf32>) -> tensor<1x8xf32>
  %6 = prim.reshape %5 sizes() : (tensor<1x8xf32>) -> tensor<1x8x1xf32>
  %7 = prim.broadcast %6 axes [0, 1, 2] sizes() : (tensor<1x8x1xf32>) -> tensor<1x8x64xf32>
  %8 = prim.add %3, %7 : (tensor<1x8x64xf32>, tensor<1x8x64xf32>) -> tensor<1x8x64xf32>
  return %8 : tensor<1x8x64xf32>
}

// A mean over pixels ends where it was summed.
// CHECK-LABEL: func @pooled
// CHECK: kernel.launch loop "reduce_div"
// CHECK-NOT: kernel.launch
func.func @pooled(%x: tensor<1x7x7x32xf32>) -> tensor<1x32xf32> {
  %0 = prim.reduce sum %x [1, 2] : (tensor<1x7x7x32xf32>) -> tensor<1x32xf32>
  %c = prim.constant dense<49.0> : tensor<1x32xf32>
  %1 = prim.div %0, %c : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  return %1 : tensor<1x32xf32>
}

// What a quantiser finds the range of and then rounds is the product's epilogue: the
// range is found by one task.
// CHECK-LABEL: func @ranged
// CHECK: kernel.launch contraction "dot_maximum"
// CHECK: kernel.launch row[{{[0-9]}}] "reduce"
// CHECK: kernel.launch loop "div"
func.func @ranged(%x: tensor<8x4xf32>, %p: tensor<4x16xf32, #panels>) -> (tensor<8x16xf32>, tensor<f32>) {
  %0 = prim.dot %x, %p batch [] x [] contract [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32, #panels>) -> tensor<8x16xf32>
  %z = prim.constant dense<0.0> : tensor<8x16xf32>
  %1 = prim.maximum %0, %z : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = prim.reduce max %1 [0, 1] : (tensor<8x16xf32>) -> tensor<f32>
  %3 = prim.broadcast %2 axes [] sizes() : (tensor<f32>) -> tensor<8x16xf32>
  %4 = prim.div %1, %3 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %4, %2 : tensor<8x16xf32>, tensor<f32>
}

// Two products meet: what makes the sums of the one narrower is not left to the kernel of the other, nor to that of a
// reduction. Where nothing makes them narrower, or somebody else reads what comes between, they are stored as they are.
// CHECK-LABEL: func @narrowed
// CHECK: kernel.launch contraction "dot_add_cast"
// CHECK: -> tensor<8x16xbf16>
// CHECK: kernel.launch contraction "dot_cast_add"
// CHECK: kernel.launch contraction "dot"
// CHECK: -> tensor<8x12xf32>
// CHECK: kernel.launch row[1] "mul_neg_cast_add_reduce"
// CHECK: kernel.launch contraction "dot_abs_cast"
// CHECK: -> tensor<8x12xbf16>
// CHECK: kernel.launch row[1] "reduce"
func.func @narrowed(%x: tensor<8x4xbf16>, %w: tensor<16x4xbf16>, %v: tensor<12x16xbf16>, %b: tensor<8x16xf32>) -> (tensor<8x16xbf16>, tensor<8xf32>, tensor<8xf32>) {
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<8x4xbf16>, tensor<16x4xbf16>) -> tensor<8x16xf32>
  %1 = prim.add %0, %b : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = prim.cast %1 : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  %3 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<8x4xbf16>, tensor<16x4xbf16>) -> tensor<8x16xf32>
  %4 = prim.cast %3 : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  %5 = prim.add %4, %2 : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %6 = prim.dot %5, %v batch [] x [] contract [1] x [1] : (tensor<8x16xbf16>, tensor<12x16xbf16>) -> tensor<8x12xf32>
  %7 = prim.mul %6, %6 : (tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x12xf32>
  %8 = prim.neg %6 : (tensor<8x12xf32>) -> tensor<8x12xf32>
  %9 = prim.cast %8 : (tensor<8x12xf32>) -> tensor<8x12xbf16>
  %10 = prim.cast %9 : (tensor<8x12xbf16>) -> tensor<8x12xf32>
  %11 = prim.add %10, %7 : (tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x12xf32>
  %12 = prim.reduce sum %11 [1] : (tensor<8x12xf32>) -> tensor<8xf32>
  %13 = prim.dot %5, %v batch [] x [] contract [1] x [1] : (tensor<8x16xbf16>, tensor<12x16xbf16>) -> tensor<8x12xf32>
  %14 = prim.abs %13 : (tensor<8x12xf32>) -> tensor<8x12xf32>
  %15 = prim.cast %14 : (tensor<8x12xf32>) -> tensor<8x12xbf16>
  %16 = prim.cast %15 : (tensor<8x12xbf16>) -> tensor<8x12xf32>
  %17 = prim.reduce max %16 [1] : (tensor<8x12xf32>) -> tensor<8xf32>
  return %5, %12, %17 : tensor<8x16xbf16>, tensor<8xf32>, tensor<8xf32>
}

// What makes a product's sums narrower goes with it where its results then change places.
// CHECK-LABEL: func @rearranged
// CHECK: kernel.launch contraction "dot_cast"
// CHECK: -> tensor<6x8xbf16>
// CHECK: kernel.launch loop "maximum_cast"
func.func @rearranged(%x: tensor<6x4xbf16>, %w: tensor<8x4xbf16>) -> tensor<6x4x2xbf16> {
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<6x4xbf16>, tensor<8x4xbf16>) -> tensor<6x8xf32>
  %1 = prim.cast %0 : (tensor<6x8xf32>) -> tensor<6x8xbf16>
  %2 = prim.reshape %1 sizes() : (tensor<6x8xbf16>) -> tensor<6x2x4xbf16>
  %3 = prim.transpose %2 [0, 2, 1] : (tensor<6x2x4xbf16>) -> tensor<6x4x2xbf16>
  %4 = prim.cast %3 : (tensor<6x4x2xbf16>) -> tensor<6x4x2xf32>
  %z = prim.constant dense<0.0> : tensor<6x4x2xf32>
  %5 = prim.maximum %4, %z : (tensor<6x4x2xf32>, tensor<6x4x2xf32>) -> tensor<6x4x2xf32>
  %6 = prim.cast %5 : (tensor<6x4x2xf32>) -> tensor<6x4x2xbf16>
  return %6 : tensor<6x4x2xbf16>
}
