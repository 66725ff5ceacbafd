// RUN: tcc-opt %s -tcc-simplify-fold-constants | FileCheck %s

// CHECK-LABEL: func @chain
// CHECK-NEXT: %[[C:.*]] = prim.constant dense<{{\[}}[-1.000000e+00, -3.000000e+00], [-2.000000e+00, -4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: return %[[C]]
func.func @chain() -> tensor<2x2xf32> {
  %0 = prim.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = prim.neg %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = prim.transpose %1 [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// A mask is cheaper to compute where it is used than to store.
// CHECK-LABEL: func @mask
// CHECK: prim.iota 0
// CHECK: prim.iota 1
// CHECK: prim.compare
func.func @mask() -> tensor<128x128xi1> {
  %0 = prim.iota 0 sizes() : tensor<128x128xi32>
  %1 = prim.iota 1 sizes() : tensor<128x128xi32>
  %2 = prim.compare ge %0, %1 : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi1>
  return %2 : tensor<128x128xi1>
}

// A table that takes several steps a point, or one that is costly, is cheaper to read.
// CHECK-LABEL: func @tables
// CHECK-NEXT: %[[P:.*]] = prim.weight "constant.minimum" : tensor<64x16xi64>
// CHECK-NEXT: %[[W:.*]] = prim.weight "constant.sin" : tensor<64x16xf32>
// CHECK-NEXT: return %[[P]], %[[W]]
func.func @tables() -> (tensor<64x16xi64>, tensor<64x16xf32>) {
  %0 = prim.iota 0 sizes() : tensor<64x16xi64>
  %1 = prim.iota 1 sizes() : tensor<64x16xi64>
  %2 = prim.add %0, %1 : (tensor<64x16xi64>, tensor<64x16xi64>) -> tensor<64x16xi64>
  %3 = prim.constant dense<4> : tensor<64x16xi64>
  %4 = prim.maximum %2, %3 : (tensor<64x16xi64>, tensor<64x16xi64>) -> tensor<64x16xi64>
  %5 = prim.constant dense<60> : tensor<64x16xi64>
  %6 = prim.minimum %4, %5 : (tensor<64x16xi64>, tensor<64x16xi64>) -> tensor<64x16xi64>
  %7 = prim.iota 1 sizes() : tensor<64x16xf32>
  %8 = prim.sin %7 : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return %6, %8 : tensor<64x16xi64>, tensor<64x16xf32>
}

// CHECK-LABEL: func @splat
// CHECK-NEXT: prim.constant dense<6.000000e+00> : tensor<1024x1024xf32>
func.func @splat() -> tensor<1024x1024xf32> {
  %0 = prim.constant dense<2.0> : tensor<f32>
  %1 = prim.broadcast %0 axes [] sizes() : (tensor<f32>) -> tensor<1024x1024xf32>
  %2 = prim.constant dense<3.0> : tensor<1024x1024xf32>
  %3 = prim.mul %1, %2 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %3 : tensor<1024x1024xf32>
}

// What depends on an input, fails, or has an effect stays.
// CHECK-LABEL: func @stays
// CHECK: prim.add
// CHECK: arith.divsi
// CHECK: prim.assert
// CHECK: prim.slice
func.func @stays(%x: tensor<2xf32>) -> (tensor<2xf32>, i64, tensor<?xf32>) {
  %0 = prim.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = prim.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %zero = arith.constant 0 : i64
  %2 = arith.divsi %zero, %zero : i64
  %false = arith.constant false
  prim.assert %false, "never"
  %n = arith.constant 9 : index
  %3 = prim.slice %0 starts [0]() steps [1] sizes(%n) : (tensor<2xf32>) -> tensor<?xf32>
  return %1, %2, %3 : tensor<2xf32>, i64, tensor<?xf32>
}

// A loop whose results nobody wants goes with all that is in it.
// CHECK-LABEL: func @dead_loop
// CHECK-NEXT: return %arg0
func.func @dead_loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %r:2 = prim.while(%zero, %x) {
  ^bb0(%k: index, %v: tensor<4xf32>):
    %limit = arith.constant 8 : index
    %go = arith.cmpi slt, %k, %limit : index
    prim.yield %go : i1
  } do {
  ^bb0(%k: index, %v: tensor<4xf32>):
    %one = arith.constant 1 : index
    %next = arith.addi %k, %one : index
    %w = prim.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    prim.yield %next, %w : index, tensor<4xf32>
  } : (index, tensor<4xf32>) -> (index, tensor<4xf32>)
  return %x : tensor<4xf32>
}

// Results without elements are known, whatever they are made of.
// CHECK-LABEL: func @empty
// CHECK-DAG: %[[EMPTY:.*]] = prim.constant dense<> : tensor<0x10xf32>
// CHECK-DAG: %[[OPEN:.*]] = prim.dot
// CHECK: return %[[EMPTY]], %[[OPEN]]
func.func @empty(%x: tensor<0x5xf32>, %w: tensor<5x10xf32>, %v: tensor<5x?xf32>) -> (tensor<0x10xf32>, tensor<0x?xf32>) {
  %0 = prim.dot %x, %w batch [] x [] contract [1] x [0] : (tensor<0x5xf32>, tensor<5x10xf32>) -> tensor<0x10xf32>
  %1 = prim.dot %x, %v batch [] x [] contract [1] x [0] : (tensor<0x5xf32>, tensor<5x?xf32>) -> tensor<0x?xf32>
  return %0, %1 : tensor<0x10xf32>, tensor<0x?xf32>
}

// Places of windows stay what they are made of; positions that are looked up one by one do not.
// CHECK-LABEL: func @windows
// CHECK: %[[P:.*]] = prim.iota 0 sizes() : tensor<4xi64>
// CHECK: %[[AT:.*]] = prim.add
// CHECK: prim.take %{{.*}}, %[[AT]] axis 0
// CHECK: prim.constant dense<[0, 2, 4, 6]> : tensor<4xi64>
func.func @windows(%x: tensor<9x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x5xf32>) {
  %i = prim.iota 0 sizes() : tensor<4xi64>
  %j = prim.iota 0 sizes() : tensor<3xi64>
  %two = prim.constant dense<2> : tensor<4xi64>
  %first = prim.mul %i, %two : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %a = prim.broadcast %first axes [0] sizes() : (tensor<4xi64>) -> tensor<4x3xi64>
  %b = prim.broadcast %j axes [1] sizes() : (tensor<3xi64>) -> tensor<4x3xi64>
  %at = prim.add %a, %b : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  %taken = prim.take %x, %at axis 0 : (tensor<9x5xf32>, tensor<4x3xi64>) -> tensor<4x3x5xf32>
  %k = prim.iota 0 sizes() : tensor<4xi64>
  %alone = prim.mul %k, %two : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %rows = prim.take %x, %alone axis 0 : (tensor<9x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  return %taken, %rows : tensor<4x3x5xf32>, tensor<4x5xf32>
}
