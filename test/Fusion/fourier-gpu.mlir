// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s --arch sim -tcc-fuse-kernels | FileCheck %s
// RUN: tcc-opt %s -tcc-fuse-kernels | FileCheck %s --check-prefix=HOST
// A GPU's transform computes its operands where it reads them, and stores both parts of a number where one tensor
// has them; what lies across in memory it is given in order. Without a target whole tensors are read and written.

// Complex numbers as pairs, the second stage of a long line with its factors before it and its transpose behind it.
// CHECK-LABEL: func @long
// CHECK: kernel.launch special "fourier"
// CHECK: kernel.launch special "mul_fourier_concat"
// CHECK: prim.fourier
// CHECK: prim.transpose
// CHECK: prim.concat
// CHECK-NOT: kernel.launch
// CHECK: return
// HOST-LABEL: func @long
// HOST-COUNT-2: kernel.launch loop "slice"
// HOST: kernel.launch special "fourier"
// HOST: kernel.launch loop "mul"
// HOST: kernel.launch special "fourier"
// HOST: kernel.launch loop
func.func @long(%x: tensor<3x64x2xf32>, %w: tensor<8x8xf32>) -> tensor<3x64x2xf32> {
  %0 = prim.slice %x starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<3x64x2xf32>) -> tensor<3x64x1xf32>
  %1 = prim.reshape %0 sizes() : (tensor<3x64x1xf32>) -> tensor<3x8x8xf32>
  %2 = prim.slice %x starts [0, 0, 1]() steps [1, 1, 1] sizes() : (tensor<3x64x2xf32>) -> tensor<3x64x1xf32>
  %3 = prim.reshape %2 sizes() : (tensor<3x64x1xf32>) -> tensor<3x8x8xf32>
  %4:2 = prim.fourier %1, %3 axis 1 {inverse = false} : (tensor<3x8x8xf32>, tensor<3x8x8xf32>) -> (tensor<3x8x8xf32>, tensor<3x8x8xf32>)
  %5 = prim.broadcast %w axes [1, 2] sizes() : (tensor<8x8xf32>) -> tensor<3x8x8xf32>
  %6 = prim.mul %4#0, %5 : (tensor<3x8x8xf32>, tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
  %7 = prim.mul %4#1, %5 : (tensor<3x8x8xf32>, tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
  %8:2 = prim.fourier %6, %7 axis 2 {inverse = false} : (tensor<3x8x8xf32>, tensor<3x8x8xf32>) -> (tensor<3x8x8xf32>, tensor<3x8x8xf32>)
  %9 = prim.transpose %8#0 [0, 2, 1] : (tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
  %10 = prim.reshape %9 sizes() : (tensor<3x8x8xf32>) -> tensor<3x64x1xf32>
  %11 = prim.transpose %8#1 [0, 2, 1] : (tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
  %12 = prim.reshape %11 sizes() : (tensor<3x8x8xf32>) -> tensor<3x64x1xf32>
  %13 = prim.concat %10, %12 axis 2 : (tensor<3x64x1xf32>, tensor<3x64x1xf32>) -> tensor<3x64x2xf32>
  return %13 : tensor<3x64x2xf32>
}

// Neighbours of a line lie far apart: a transpose of its own brings them together. What few lines have in common and is
// long to compute is computed once.
// CHECK-LABEL: func @across
// CHECK: kernel.launch loop "transpose"
// CHECK: kernel.launch loop "sin"
// CHECK: kernel.launch special "pad_mul_fourier"
// CHECK-NOT: kernel.launch
// CHECK: return
func.func @across(%x: tensor<8x40xf32>, %w: tensor<8xf32>) -> (tensor<40x5xf32>, tensor<40x5xf32>) {
  %0 = prim.transpose %x [1, 0] : (tensor<8x40xf32>) -> tensor<40x8xf32>
  %1:2 = prim.fourier %0 axis 1 {inverse = false} : (tensor<40x8xf32>) -> (tensor<40x5xf32>, tensor<40x5xf32>)
  %2 = prim.sin %w : (tensor<8xf32>) -> tensor<8xf32>
  %3 = prim.broadcast %2 axes [1] sizes() : (tensor<8xf32>) -> tensor<40x8xf32>
  %4 = prim.constant dense<0.0> : tensor<f32>
  %5 = prim.pad %1#0, %4 low [0, 0]() interior [0, 0] sizes() : (tensor<40x5xf32>, tensor<f32>) -> tensor<40x8xf32>
  %6 = prim.mul %5, %3 : (tensor<40x8xf32>, tensor<40x8xf32>) -> tensor<40x8xf32>
  %7:2 = prim.fourier %6 axis 1 {inverse = false} : (tensor<40x8xf32>) -> (tensor<40x5xf32>, tensor<40x5xf32>)
  return %7#0, %7#1 : tensor<40x5xf32>, tensor<40x5xf32>
}

// Parts that somebody else reads too, in another order, or with something between are tensors of their own.
// CHECK-LABEL: func @parts
// CHECK-COUNT-3: kernel.launch special "fourier"
// CHECK: kernel.launch loop
func.func @parts(%x: tensor<6x8xf32>) -> (tensor<6x5x2xf32>, tensor<6x5xf32>, tensor<6x5x2xf32>, tensor<6x5x2xf32>) {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<6x8xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>)
  %1 = prim.reshape %0#0 sizes() : (tensor<6x5xf32>) -> tensor<6x5x1xf32>
  %2 = prim.reshape %0#1 sizes() : (tensor<6x5xf32>) -> tensor<6x5x1xf32>
  %3 = prim.concat %1, %2 axis 2 : (tensor<6x5x1xf32>, tensor<6x5x1xf32>) -> tensor<6x5x2xf32>
  %4:2 = prim.fourier %x axis 1 {inverse = true} : (tensor<6x8xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>)
  %5 = prim.reshape %4#0 sizes() : (tensor<6x5xf32>) -> tensor<6x5x1xf32>
  %6 = prim.reshape %4#1 sizes() : (tensor<6x5xf32>) -> tensor<6x5x1xf32>
  %7 = prim.concat %6, %5 axis 2 : (tensor<6x5x1xf32>, tensor<6x5x1xf32>) -> tensor<6x5x2xf32>
  %8:2 = prim.fourier %x axis 1 {inverse = false, scale = 0.5 : f64} : (tensor<6x8xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>)
  %9 = prim.neg %8#1 : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %10 = prim.reshape %8#0 sizes() : (tensor<6x5xf32>) -> tensor<6x5x1xf32>
  %11 = prim.reshape %9 sizes() : (tensor<6x5xf32>) -> tensor<6x5x1xf32>
  %12 = prim.concat %10, %11 axis 2 : (tensor<6x5x1xf32>, tensor<6x5x1xf32>) -> tensor<6x5x2xf32>
  return %3, %0#1, %7, %12 : tensor<6x5x2xf32>, tensor<6x5xf32>, tensor<6x5x2xf32>, tensor<6x5x2xf32>
}

// The first numbers of each line are stored, not others.
// CHECK-LABEL: func @first
// CHECK: kernel.launch special "fourier_concat"
// CHECK: kernel.launch special "fourier"
// CHECK: kernel.launch loop "concat"
func.func @first(%x: tensor<3x4x6xf32>) -> (tensor<3x13x2xf32>, tensor<3x13x2xf32>) {
  %0:2 = prim.fourier %x axis 2 {inverse = false} : (tensor<3x4x6xf32>) -> (tensor<3x4x6xf32>, tensor<3x4x6xf32>)
  %1 = prim.transpose %0#0 [0, 2, 1] : (tensor<3x4x6xf32>) -> tensor<3x6x4xf32>
  %2 = prim.reshape %1 sizes() : (tensor<3x6x4xf32>) -> tensor<3x24xf32>
  %3 = prim.slice %2 starts [0, 0]() steps [1, 1] sizes() : (tensor<3x24xf32>) -> tensor<3x13xf32>
  %4 = prim.reshape %3 sizes() : (tensor<3x13xf32>) -> tensor<3x13x1xf32>
  %5 = prim.transpose %0#1 [0, 2, 1] : (tensor<3x4x6xf32>) -> tensor<3x6x4xf32>
  %6 = prim.reshape %5 sizes() : (tensor<3x6x4xf32>) -> tensor<3x24xf32>
  %7 = prim.slice %6 starts [0, 0]() steps [1, 1] sizes() : (tensor<3x24xf32>) -> tensor<3x13xf32>
  %8 = prim.reshape %7 sizes() : (tensor<3x13xf32>) -> tensor<3x13x1xf32>
  %9 = prim.concat %4, %8 axis 2 : (tensor<3x13x1xf32>, tensor<3x13x1xf32>) -> tensor<3x13x2xf32>
  %10:2 = prim.fourier %x axis 2 {inverse = true} : (tensor<3x4x6xf32>) -> (tensor<3x4x6xf32>, tensor<3x4x6xf32>)
  %11 = prim.reshape %10#0 sizes() : (tensor<3x4x6xf32>) -> tensor<3x24xf32>
  %12 = prim.slice %11 starts [0, 1]() steps [1, 1] sizes() : (tensor<3x24xf32>) -> tensor<3x13xf32>
  %13 = prim.reshape %12 sizes() : (tensor<3x13xf32>) -> tensor<3x13x1xf32>
  %14 = prim.reshape %10#1 sizes() : (tensor<3x4x6xf32>) -> tensor<3x24xf32>
  %15 = prim.slice %14 starts [0, 1]() steps [1, 1] sizes() : (tensor<3x24xf32>) -> tensor<3x13xf32>
  %16 = prim.reshape %15 sizes() : (tensor<3x13xf32>) -> tensor<3x13x1xf32>
  %17 = prim.concat %13, %16 axis 2 : (tensor<3x13x1xf32>, tensor<3x13x1xf32>) -> tensor<3x13x2xf32>
  return %9, %17 : tensor<3x13x2xf32>, tensor<3x13x2xf32>
}

// Numbers that are wanted in another type than they are computed in are stored in that.
// CHECK-LABEL: func @narrowed
// CHECK: kernel.launch special "cast_fourier_concat"
// CHECK: prim.fourier
// CHECK-COUNT-2: prim.cast
// CHECK: prim.concat
// CHECK-NOT: kernel.launch
// CHECK: return
func.func @narrowed(%x: tensor<37x7xf32>) -> tensor<37x4x2xf32> {
  %0 = prim.cast %x : (tensor<37x7xf32>) -> tensor<37x7xf64>
  %1:2 = prim.fourier %0 axis 1 {inverse = false} : (tensor<37x7xf64>) -> (tensor<37x4xf64>, tensor<37x4xf64>)
  %2 = prim.cast %1#0 : (tensor<37x4xf64>) -> tensor<37x4xf32>
  %3 = prim.reshape %2 sizes() : (tensor<37x4xf32>) -> tensor<37x4x1xf32>
  %4 = prim.cast %1#1 : (tensor<37x4xf64>) -> tensor<37x4xf32>
  %5 = prim.reshape %4 sizes() : (tensor<37x4xf32>) -> tensor<37x4x1xf32>
  %6 = prim.concat %3, %5 axis 2 : (tensor<37x4x1xf32>, tensor<37x4x1xf32>) -> tensor<37x4x2xf32>
  return %6 : tensor<37x4x2xf32>
}
