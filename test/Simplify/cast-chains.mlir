// RUN: tcc-opt %s -tcc-simplify-cast-chains | FileCheck %s

// CHECK-LABEL: func @there_and_back
// CHECK-NEXT: return %arg0
func.func @there_and_back(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = prim.cast %x : (tensor<4xf16>) -> tensor<4xf32>
  %1 = prim.cast %0 : (tensor<4xf32>) -> tensor<4xf64>
  %2 = prim.cast %1 : (tensor<4xf64>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// CHECK-LABEL: func @integers
// CHECK-NEXT: %[[Y:.*]] = prim.cast %arg0 : (tensor<4xi64>) -> tensor<4xi8>
// CHECK-NEXT: %[[Z:.*]] = prim.cast %arg1 : (tensor<4xui8>) -> tensor<4xf32>
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @integers(%x: tensor<4xi64>, %u: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xf32>) {
  %0 = prim.cast %x : (tensor<4xi64>) -> tensor<4xi32>
  %1 = prim.cast %0 : (tensor<4xi32>) -> tensor<4xi8>
  %2 = prim.cast %u : (tensor<4xui8>) -> tensor<4xi32>
  %3 = prim.cast %2 : (tensor<4xi32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xi8>, tensor<4xf32>
}

// What rounds, wraps or loses a sign on the way stays.
// CHECK-LABEL: func @stays
// CHECK-COUNT-8: prim.cast
func.func @stays(%x: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<4xi8>)
    -> (tensor<4xf32>, tensor<4xf64>, tensor<4xi64>, tensor<4xf32>) {
  %0 = prim.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %1 = prim.cast %0 : (tensor<4xf16>) -> tensor<4xf32>
  %2 = prim.cast %i : (tensor<4xi32>) -> tensor<4xf32>
  %3 = prim.cast %2 : (tensor<4xf32>) -> tensor<4xf64>
  %4 = prim.cast %s : (tensor<4xi8>) -> tensor<4xui32>
  %5 = prim.cast %4 : (tensor<4xui32>) -> tensor<4xi64>
  %6 = prim.cast %x : (tensor<4xf32>) -> tensor<4xi1>
  %7 = prim.cast %6 : (tensor<4xi1>) -> tensor<4xf32>
  return %1, %3, %5, %7 : tensor<4xf32>, tensor<4xf64>, tensor<4xi64>, tensor<4xf32>
}

// -1 becomes 0 by way of a float, and 255 as an integer.
// CHECK-LABEL: func @by_way_of_floats
// CHECK: %[[F:.*]] = prim.cast %arg0 : (tensor<4xi8>) -> tensor<4xf32>
// CHECK: prim.cast %[[F]] : (tensor<4xf32>) -> tensor<4xui8>
// CHECK: prim.cast %arg0 : (tensor<4xi8>) -> tensor<4xi16>
func.func @by_way_of_floats(%x: tensor<4xi8>) -> (tensor<4xui8>, tensor<4xi16>) {
  %0 = prim.cast %x : (tensor<4xi8>) -> tensor<4xf32>
  %1 = prim.cast %0 : (tensor<4xf32>) -> tensor<4xui8>
  %2 = prim.cast %0 : (tensor<4xf32>) -> tensor<4xi16>
  return %1, %2 : tensor<4xui8>, tensor<4xi16>
}
