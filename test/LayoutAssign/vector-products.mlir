// RUN: tcc-opt %s -tcc-layout-vector-products | FileCheck %s
// RUN: tcc-opt %s '-tcc-layout-vector-products=most-rows=2 shortest=100' | FileCheck %s --check-prefix=LONG

// The vector on either side; sums of 16-bit floats in f32.
// CHECK-LABEL: func @vectors
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<64x128xf32>) -> tensor<64xf32>
// CHECK: prim.cast %{{.*}} : (tensor<64xf32>) -> tensor<64xbf16>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<64x128xf64>) -> tensor<64xf64>
// CHECK-NOT: prim.dot
func.func @vectors(%x: tensor<64x128xbf16>, %y: tensor<128x1xbf16>, %z: tensor<64x128xf64>, %v: tensor<1x128xf64>)
    -> (tensor<64x1xbf16>, tensor<1x64xf64>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<64x128xbf16>, tensor<128x1xbf16>) -> tensor<64x1xbf16>
  %1 = prim.dot %v, %z batch [] x [] contract [1] x [1] : (tensor<1x128xf64>, tensor<64x128xf64>) -> tensor<1x64xf64>
  return %0, %1 : tensor<64x1xbf16>, tensor<1x64xf64>
}

// Weights in panels are read as panels, those of f32 that stay in L2 too where code has 16 registers.
// CHECK-LABEL: func @packed
// CHECK-COUNT-3: prim.dot
// CHECK-NOT: prim.reduce
// CHECK: return
func.func @packed(%v: tensor<1x1024xf32>, %n: tensor<1x128xbf16>, %s: tensor<1x128xf32>)
    -> (tensor<1x1024xf32>, tensor<1x64xbf16>, tensor<1x64xf32>) {
  %w = prim.weight "w" : tensor<1024x1024xf32, #cpu.panels<k = [1], columns = 0, width = 16>>
  %0 = prim.dot %v, %w batch [] x [] contract [1] x [1] : (tensor<1x1024xf32>, tensor<1024x1024xf32, #cpu.panels<k = [1], columns = 0, width = 16>>) -> tensor<1x1024xf32>
  %x = prim.weight "x" : tensor<64x128xbf16, #cpu.panels<k = [1], columns = 0, width = 16>>
  %1 = prim.dot %n, %x batch [] x [] contract [1] x [1] : (tensor<1x128xbf16>, tensor<64x128xbf16, #cpu.panels<k = [1], columns = 0, width = 16>>) -> tensor<1x64xbf16>
  %y = prim.weight "y" : tensor<64x128xf32, #cpu.panels<k = [1], columns = 0, width = 16>>
  %2 = prim.dot %s, %y batch [] x [] contract [1] x [1] : (tensor<1x128xf32>, tensor<64x128xf32, #cpu.panels<k = [1], columns = 0, width = 16>>) -> tensor<1x64xf32>
  return %0, %1, %2 : tensor<1x1024xf32>, tensor<1x64xbf16>, tensor<1x64xf32>
}

// A matrix and a vector for each of a batch, but not those of attention.
// CHECK-LABEL: func @batch
// CHECK: prim.broadcast %{{.*}} axes [0, 2] {{.*}} : (tensor<3x128xf32>) -> tensor<3x64x128xf32>
// CHECK: prim.reduce sum %{{.*}} [2] : (tensor<3x64x128xf32>) -> tensor<3x64xf32>
// CHECK-NOT: prim.dot
// CHECK-LABEL: func @attention
// CHECK-COUNT-2: prim.dot
// CHECK: return
func.func @batch(%b: tensor<3x64x128xf32>, %w: tensor<3x128xf32>) -> tensor<3x64xf32> {
  %0 = prim.dot %b, %w batch [0] x [0] contract [2] x [1] : (tensor<3x64x128xf32>, tensor<3x128xf32>) -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}
func.func @attention(%q: tensor<4x1x64xf32>, %k: tensor<4x64x100xf32>, %v: tensor<4x64x100xf32>) -> tensor<4x1x64xf32> {
  %s = prim.dot %q, %k batch [0] x [0] contract [2] x [1] : (tensor<4x1x64xf32>, tensor<4x64x100xf32>) -> tensor<4x1x100xf32>
  %0 = prim.reduce max %s [2] : (tensor<4x1x100xf32>) -> tensor<4x1xf32>
  %1 = prim.broadcast %0 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x1x100xf32>
  %2 = prim.sub %s, %1 : (tensor<4x1x100xf32>, tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %3 = prim.exp %2 : (tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %4 = prim.reduce sum %3 [2] : (tensor<4x1x100xf32>) -> tensor<4x1xf32>
  %5 = prim.broadcast %4 axes [0, 1] sizes() : (tensor<4x1xf32>) -> tensor<4x1x100xf32>
  %6 = prim.div %3, %5 : (tensor<4x1x100xf32>, tensor<4x1x100xf32>) -> tensor<4x1x100xf32>
  %7 = prim.dot %6, %v batch [0] x [0] contract [2] x [2] : (tensor<4x1x100xf32>, tensor<4x64x100xf32>) -> tensor<4x1x64xf32>
  return %7 : tensor<4x1x64xf32>
}

// Open rows, an open batch of them, and rows of an open length.
// CHECK-LABEL: func @open
// CHECK: prim.broadcast %{{.*}} axes [1] sizes(%{{.*}}) : (tensor<128xf32>) -> tensor<?x128xf32>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<?x128xf32>) -> tensor<?xf32>
// CHECK: prim.reshape %{{.*}} sizes(%{{.*}}) : (tensor<?xf32>) -> tensor<?x1xf32>
// CHECK: prim.broadcast %{{.*}} axes [0, 2] sizes(%{{.*}}) : (tensor<?x128xf32>) -> tensor<?x64x128xf32>
// CHECK: prim.reduce sum %{{.*}} [2] : (tensor<?x64x128xf32>) -> tensor<?x64xf32>
// CHECK: prim.reshape %{{.*}} sizes(%{{.*}}) : (tensor<?x1xf32>) -> tensor<?xf32>
// CHECK: prim.reduce sum %{{.*}} [1] : (tensor<64x?xf32>) -> tensor<64xf32>
// CHECK-NOT: prim.dot
// GPUs ask how many and how long.
// LONG-LABEL: func @open
// LONG-COUNT-3: prim.dot
// LONG: return
func.func @open(%x: tensor<?x128xf32>, %y: tensor<128x1xf32>, %b: tensor<?x64x128xf32>, %w: tensor<?x128xf32>, %l: tensor<64x?xf32>, %v: tensor<?x1xf32>)
    -> (tensor<?x1xf32>, tensor<?x64xf32>, tensor<64x1xf32>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<?x128xf32>, tensor<128x1xf32>) -> tensor<?x1xf32>
  %1 = prim.dot %b, %w batch [0] x [0] contract [2] x [1] : (tensor<?x64x128xf32>, tensor<?x128xf32>) -> tensor<?x64xf32>
  %2 = prim.dot %l, %v batch [] x [] contract [1] x [0] : (tensor<64x?xf32>, tensor<?x1xf32>) -> tensor<64x1xf32>
  return %0, %1, %2 : tensor<?x1xf32>, tensor<?x64xf32>, tensor<64x1xf32>
}

// Columns whose number is not known are no vector.
// CHECK-LABEL: func @columns
// CHECK: prim.dot
// CHECK-NOT: prim.reduce
func.func @columns(%x: tensor<?x128xf32>, %y: tensor<?x128xf32>) -> tensor<?x?xf32> {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [1] : (tensor<?x128xf32>, tensor<?x128xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// A matrix that lies across, two columns, integers, sums of nothing.
// CHECK-LABEL: func @kept
// CHECK-COUNT-4: prim.dot
// CHECK-NOT: prim.reduce
func.func @kept(%x: tensor<64x128xf32>, %v: tensor<64xf32>, %t: tensor<128x2xf32>, %i: tensor<64x128xi32>, %j: tensor<128xi32>,
                %n: tensor<6x10x0xf32>, %e: tensor<0x0xf32>)
    -> (tensor<128xf32>, tensor<64x2xf32>, tensor<64xi32>, tensor<6x10x0xf32>) {
  %0 = prim.dot %v, %x batch [] x [] contract [0] x [0] : (tensor<64xf32>, tensor<64x128xf32>) -> tensor<128xf32>
  %1 = prim.dot %x, %t batch [] x [] contract [1] x [0] : (tensor<64x128xf32>, tensor<128x2xf32>) -> tensor<64x2xf32>
  %2 = prim.dot %i, %j batch [] x [] contract [1] x [0] : (tensor<64x128xi32>, tensor<128xi32>) -> tensor<64xi32>
  %3 = prim.dot %n, %e batch [] x [] contract [2] x [0] : (tensor<6x10x0xf32>, tensor<0x0xf32>) -> tensor<6x10x0xf32>
  return %0, %1, %2, %3 : tensor<128xf32>, tensor<64x2xf32>, tensor<64xi32>, tensor<6x10x0xf32>
}

// Few and long rows alone.
// CHECK-LABEL: func @few
// LONG-LABEL: func @few
// LONG-COUNT-2: prim.dot
// LONG: prim.reduce sum %{{.*}} [1] : (tensor<2x128xf32>) -> tensor<2xf32>
// LONG-NOT: prim.dot
// LONG: return
func.func @few(%x: tensor<3x128xf32>, %y: tensor<128xf32>, %z: tensor<2x64xf32>, %v: tensor<64xf32>, %w: tensor<2x128xf32>)
    -> (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<3x128xf32>, tensor<128xf32>) -> tensor<3xf32>
  %1 = prim.dot %z, %v batch [] x [] contract [1] x [0] : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2xf32>
  %2 = prim.dot %w, %y batch [] x [] contract [1] x [0] : (tensor<2x128xf32>, tensor<128xf32>) -> tensor<2xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<2xf32>, tensor<2xf32>
}
