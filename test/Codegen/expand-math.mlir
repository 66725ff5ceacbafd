// RUN: tcc-opt %s -tcc-codegen-expand-math | FileCheck %s

// An elementary function is arithmetic on the same vector; nothing is called.
// CHECK-LABEL: func.func @exponential
// CHECK-NOT: math.exp
// CHECK-NOT: call
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK: return
func.func @exponential(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// A scalar takes the same steps, so that remainders agree with vectors.
// CHECK-LABEL: func.func @scalar
// CHECK-NOT: math.exp
// CHECK: math.fma {{.*}} : f32
// CHECK: return
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// What targets have instructions for stays.
// CHECK-LABEL: func.func @stays
// CHECK: math.fma
// CHECK: math.sqrt
// CHECK: math.absf
func.func @stays(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.fma %x, %x, %x : vector<8xf32>
  %1 = math.sqrt %0 : vector<8xf32>
  %2 = math.absf %1 : vector<8xf32>
  return %2 : vector<8xf32>
}
