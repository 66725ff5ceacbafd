// RUN: tcc-opt %s -tcc-decompose-fourier-lines | FileCheck %s --check-prefix=NONE
// RUN: tcc-opt %s -tcc-decompose-fourier-lines='longest=1024 longest-together=512 fewest-lines=16' | FileCheck %s
// RUN: tcc-opt %s -tcc-decompose-fourier-lines='longest=1024 convolves=false longest-together=512 fewest-lines=1' | FileCheck %s --check-prefix=STAGES
// RUN: tcc-opt %s -tcc-decompose-fourier-lines='longest=64 convolves=false longest-together=64 fewest-lines=1 mirrors=true' | FileCheck %s --check-prefix=MIRRORS
// RUN: tcc-opt %s -tcc-decompose-fourier-lines='longest=1024 longest-together=512 fewest-lines=1 longest-of-many=1024 many-lines=40' | FileCheck %s --check-prefix=OFMANY

// Many lines of a length with small factors have a kernel; without kernels they are a product,
// real ones with half of the columns.
// CHECK-LABEL: func @many
// CHECK-NEXT: prim.fourier
// CHECK-NEXT: return
// NONE-LABEL: func @many
// NONE: prim.weight {{.*}} : tensor<60x62xf32>
// NONE: prim.dot
func.func @many(%x: tensor<32x60xf32>) -> tensor<32x31xf32> {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<32x60xf32>) -> (tensor<32x31xf32>, tensor<32x31xf32>)
  return %0#0 : tensor<32x31xf32>
}

// So has a line of some length along the last axis, and one of large prime factors whose convolution
// is not too long.
// CHECK-LABEL: func @line
// CHECK-NEXT: prim.fourier
// CHECK-NEXT: prim.fourier
// CHECK-NEXT: return
// Where lines are not convolved in the kernel, they are several launches.
// STAGES-LABEL: func @line
// STAGES-NEXT: prim.fourier %{{.*}} : (tensor<1x1000xf32>)
// STAGES-NOT: tensor<2x509xf32>) -> (tensor<2x255xf32>
// STAGES: return
func.func @line(%x: tensor<1x1000xf32>, %y: tensor<2x509xf32>) -> (tensor<1x501xf32>, tensor<2x255xf32>) {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<1x1000xf32>) -> (tensor<1x501xf32>, tensor<1x501xf32>)
  %1:2 = prim.fourier %y axis 1 {inverse = false} : (tensor<2x509xf32>) -> (tensor<2x255xf32>, tensor<2x255xf32>)
  return %0#0, %1#0 : tensor<1x501xf32>, tensor<2x255xf32>
}

// Along another axis they are turned, unless there are as many as a kernel wants of so long ones.
// OFMANY-LABEL: func @turned
// OFMANY-NEXT: prim.fourier %{{.*}} axis 0 {inverse = true}
// OFMANY-NEXT: return
// OFMANY-LABEL: func @turned_few
// OFMANY: prim.transpose
// OFMANY: prim.fourier %{{.*}} axis 1
// OFMANY-LABEL: func @turned_open
// OFMANY: prim.transpose
// CHECK-LABEL: func @turned
// CHECK: prim.transpose %{{.*}} [1, 0] : (tensor<1000x40xf32>) -> tensor<40x1000xf32>
// CHECK: prim.fourier %{{.*}} axis 1 {inverse = true} : (tensor<40x1000xf32>, tensor<40x1000xf32>) -> (tensor<40x1000xf32>, tensor<40x1000xf32>)
// CHECK: prim.transpose %{{.*}} [1, 0] : (tensor<40x1000xf32>) -> tensor<1000x40xf32>
func.func @turned(%re: tensor<1000x40xf32>, %im: tensor<1000x40xf32>) -> tensor<1000x40xf32> {
  %0:2 = prim.fourier %re, %im axis 0 {inverse = true} : (tensor<1000x40xf32>, tensor<1000x40xf32>) -> (tensor<1000x40xf32>, tensor<1000x40xf32>)
  return %0#0 : tensor<1000x40xf32>
}
func.func @turned_few(%re: tensor<1000x39xf32>, %im: tensor<1000x39xf32>) -> tensor<1000x39xf32> {
  %0:2 = prim.fourier %re, %im axis 0 {inverse = true} : (tensor<1000x39xf32>, tensor<1000x39xf32>) -> (tensor<1000x39xf32>, tensor<1000x39xf32>)
  return %0#0 : tensor<1000x39xf32>
}
func.func @turned_open(%re: tensor<1000x?xf32>, %im: tensor<1000x?xf32>) -> tensor<1000x?xf32> {
  %0:2 = prim.fourier %re, %im axis 0 {inverse = true} : (tensor<1000x?xf32>, tensor<1000x?xf32>) -> (tensor<1000x?xf32>, tensor<1000x?xf32>)
  return %0#0 : tensor<1000x?xf32>
}

// A longer line is a matrix of 64 columns, half of whose rows are transformed.
// CHECK-LABEL: func @long
// CHECK: prim.fourier %{{.*}} axis 1 {inverse = false} : (tensor<1x64x64xf32>) -> (tensor<1x33x64xf32>, tensor<1x33x64xf32>)
// CHECK: prim.mul
// CHECK: prim.fourier %{{.*}} axis 2 {inverse = false} : (tensor<1x33x64xf32>, tensor<1x33x64xf32>) -> (tensor<1x33x64xf32>, tensor<1x33x64xf32>)
// CHECK: prim.concat
func.func @long(%x: tensor<1x4096xf32>) -> tensor<1x2049xf32> {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<1x4096xf32>) -> (tensor<1x2049xf32>, tensor<1x2049xf32>)
  return %0#0 : tensor<1x2049xf32>
}

// Rather fewer rows than columns where columns of as many would be turned; back to real numbers, rows come first.
// CHECK-LABEL: func @sides
// CHECK-NOT: prim.transpose
// CHECK: prim.fourier %{{.*}} axis 1 {inverse = false} : (tensor<1x500x1000xf32>) -> (tensor<1x251x1000xf32>, tensor<1x251x1000xf32>)
// CHECK-NOT: prim.transpose
// CHECK: prim.fourier %{{.*}} axis 2 {inverse = false} : (tensor<1x251x1000xf32>,
// CHECK: prim.fourier %{{.*}} axis 1 {inverse = true} : (tensor<1x500x501xf32>, tensor<1x500x501xf32>)
// CHECK: prim.fourier %{{.*}} axis 2 {inverse = true{{.*}} : (tensor<1x500x501xf32>, tensor<1x500x501xf32>) -> tensor<1x500x1000xf32>
func.func @sides(%x: tensor<1x500000xf32>, %re: tensor<1x250001xf32>, %im: tensor<1x250001xf32>) -> (tensor<1x250001xf32>, tensor<1x500000xf32>) {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<1x500000xf32>) -> (tensor<1x250001xf32>, tensor<1x250001xf32>)
  %1 = prim.fourier %re, %im axis 1 {inverse = true} : (tensor<1x250001xf32>, tensor<1x250001xf32>) -> tensor<1x500000xf32>
  return %0#0, %1 : tensor<1x250001xf32>, tensor<1x500000xf32>
}

// One of large prime factors is a convolution: by roots, there, by the transform of others, back.
// CHECK-LABEL: func @convolution
// CHECK: prim.weight "chirp_re{{.*}} : tensor<1021xf32>
// CHECK: prim.pad
// CHECK: prim.fourier %{{.*}} -> (tensor<1x32x64xf32>, tensor<1x32x64xf32>)
// CHECK: prim.weight "response_re{{.*}} : tensor<2048xf32>
// CHECK: prim.fourier %{{.*}} {inverse = true}
// CHECK: prim.slice {{.*}} -> tensor<1x511xf32>
// NONE-LABEL: func @convolution
// NONE: prim.weight "response_re{{.*}} : tensor<2048xf32>
// NONE: prim.dot
func.func @convolution(%x: tensor<1x1021xf32>) -> tensor<1x511xf32> {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<1x1021xf32>) -> (tensor<1x511xf32>, tensor<1x511xf32>)
  return %0#0 : tensor<1x511xf32>
}

// There is no stage for a large prime, whose matrix is small.
// CHECK-LABEL: func @prime
// CHECK-NOT: prim.fourier
// CHECK: prim.dot
func.func @prime(%re: tensor<64x12xf32>, %im: tensor<64x12xf32>) -> tensor<64x23xf32> {
  %0 = prim.fourier %re, %im axis 1 {inverse = true, scale = 0.5 : f64} : (tensor<64x12xf32>, tensor<64x12xf32>) -> tensor<64x23xf32>
  return %0 : tensor<64x23xf32>
}

// Where kernels compute what they read, the rows of a long real line that follow from others are read so, and all rows
// are transformed.
// MIRRORS-LABEL: @mirrored
// MIRRORS: prim.fourier %{{.*}} axis 1 {inverse = false} : (tensor<2x12x12xf64>) -> (tensor<2x7x12xf64>, tensor<2x7x12xf64>)
// MIRRORS: prim.slice {{.*}} starts [0, 1, 0]() {{.*}} -> tensor<2x5x12xf32>
// MIRRORS: prim.reverse %{{.*}} [1]
// MIRRORS: prim.concat {{.*}} -> tensor<2x12x12xf32>
// MIRRORS: prim.neg
// MIRRORS: prim.fourier %{{.*}} axis 2 {inverse = false} : (tensor<2x12x12xf64>, tensor<2x12x12xf64>)
// MIRRORS: prim.slice {{.*}} (tensor<2x144xf32>) -> tensor<2x73xf32>
func.func @mirrored(%x: tensor<2x144xf32>) -> (tensor<2x73xf32>, tensor<2x73xf32>) {
  %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<2x144xf32>) -> (tensor<2x73xf32>, tensor<2x73xf32>)
  return %0#0, %0#1 : tensor<2x73xf32>, tensor<2x73xf32>
}
