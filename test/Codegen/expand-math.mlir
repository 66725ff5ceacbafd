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

// A sigmoid is one function: halves, and the sum a multiply-add. In f64, or with
// AVX-512, which scales by 2^n, it stays an exponential, a sum and a quotient.
// CHECK-LABEL: func.func @sigmoid
// CHECK: %[[HALF:.+]] = arith.constant dense<5.000000e-01> : vector<8xf32>
// CHECK-NOT: math.exp
// CHECK: %[[SUM:.+]] = math.fma %{{.+}}, %{{.+}}, %[[HALF]] : vector<8xf32>
// CHECK: arith.divf %{{.+}}, %[[SUM]] : vector<8xf32>
// CHECK-LABEL: func.func @sigmoid_f64
// CHECK: arith.addf %{{.+}}, %[[EXP:.+]] : vector<4xf64>
// CHECK: arith.divf
func.func @sigmoid(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %0 = arith.negf %x : vector<8xf32>
  %1 = math.exp %0 : vector<8xf32>
  %2 = arith.addf %one, %1 : vector<8xf32>
  %3 = arith.divf %one, %2 : vector<8xf32>
  return %3 : vector<8xf32>
}
func.func @sigmoid_f64(%x: vector<4xf64>) -> vector<4xf64> {
  %one = arith.constant dense<1.0> : vector<4xf64>
  %0 = arith.negf %x : vector<4xf64>
  %1 = math.exp %0 : vector<4xf64>
  %2 = arith.addf %1, %one : vector<4xf64>
  %3 = arith.divf %one, %2 : vector<4xf64>
  return %3 : vector<4xf64>
}
