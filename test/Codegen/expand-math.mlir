// RUN: tcc-opt %s -tcc-codegen-expand-math | FileCheck %s
// RUN: tcc-opt %s -tcc-codegen-expand-math=loses-nan | FileCheck %s --check-prefix=NAN
// RUN: tcc-opt %s -tcc-codegen-expand-math=has-scalar-lanes | FileCheck %s --check-prefix=LANES
// RUN: tcc-opt %s -tcc-codegen-expand-math=bfloat-conversion=none | FileCheck %s --check-prefix=BF16
// RUN: tcc-opt %s -tcc-codegen-expand-math=has-avx2 | FileCheck %s --check-prefix=AVX2
// RUN: tcc-opt %s -tcc-codegen-expand-math=has-avx512 | FileCheck %s --check-prefix=AVX512

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

// Vectors of integers are divided as floats; by a known divisor LLVM multiplies.
// CHECK-LABEL: func.func @quotients
// CHECK-NOT: arith.divsi
// CHECK: arith.divf {{.*}} : vector<8xf64>
// CHECK: arith.divsi
// CHECK-NOT: arith.divsi
// CHECK: return
func.func @quotients(%x: vector<8xi32>, %y: vector<8xi32>) -> vector<8xi32> {
  %0 = arith.divsi %x, %y : vector<8xi32>
  %seven = arith.constant dense<7> : vector<8xi32>
  %1 = arith.divsi %0, %seven : vector<8xi32>
  return %1 : vector<8xi32>
}

// 64 bits hold more than a float: what is too large is divided in a branch.
// CHECK-LABEL: func.func @wide
// CHECK: arith.divf {{.*}} : vector<4xf64>
// CHECK: scf.if
// CHECK-NEXT: arith.remui
// CHECK: return
func.func @wide(%x: vector<4xi64>, %y: vector<4xi64>) -> vector<4xi64> {
  %0 = arith.remui %x, %y : vector<4xi64>
  return %0 : vector<4xi64>
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

// So is one of another, which is a function by then.
// CHECK-LABEL: func.func @sigmoid_of_sigmoid
// CHECK-NOT: math.exp
// CHECK: %[[ONCE:.+]] = arith.divf
// CHECK-NOT: math.exp
// CHECK: %[[ONCE]]
// CHECK-NOT: math.exp
// CHECK: arith.divf
// CHECK-NEXT: return
func.func @sigmoid_of_sigmoid(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %0 = arith.negf %x : vector<8xf32>
  %1 = math.exp %0 : vector<8xf32>
  %2 = arith.addf %one, %1 : vector<8xf32>
  %3 = arith.divf %one, %2 : vector<8xf32>
  %4 = arith.negf %3 : vector<8xf32>
  %5 = math.exp %4 : vector<8xf32>
  %6 = arith.addf %one, %5 : vector<8xf32>
  %7 = arith.divf %one, %6 : vector<8xf32>
  return %7 : vector<8xf32>
}

// So is one plus a tanh, whose factor of 2 and a half beside it are nothing.
// CHECK-LABEL: func.func @gelu_by_tanh
// CHECK-SAME: (%[[X:.+]]: vector<8xf32>, %[[U:.+]]: vector<8xf32>)
// CHECK: arith.addf %[[U]], %[[U]]
// CHECK: %[[SIGMOID:.+]] = arith.divf
// CHECK: %[[Y:.+]] = arith.mulf %[[X]], %[[SIGMOID]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_by_tanh(%x: vector<8xf32>, %u: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %half = arith.constant dense<0.5> : vector<8xf32>
  %0 = math.tanh %u : vector<8xf32>
  %1 = arith.addf %0, %one : vector<8xf32>
  %2 = arith.mulf %x, %half : vector<8xf32>
  %3 = arith.mulf %2, %1 : vector<8xf32>
  return %3 : vector<8xf32>
}

// Shares of a sum take its reciprocal, and what is left of the first quotient; other quotients are
// divided.
// CHECK-LABEL: func.func @shares
// CHECK-SAME: (%[[X:.+]]: vector<8xf32>, %[[SUM:.+]]: f32)
// CHECK: %[[SUMS:.+]] = vector.broadcast %[[SUM]]
// CHECK: %[[ONE:.+]] = arith.divf %{{.+}}, %[[SUM]] : f32
// CHECK: %[[R:.+]] = vector.broadcast %[[ONE]]
// CHECK: %[[Q:.+]] = arith.mulf %[[X]], %[[R]]
// CHECK: %[[NEGATED:.+]] = arith.negf %[[Q]]
// CHECK: %[[REST:.+]] = math.fma %[[NEGATED]], %[[SUMS]], %[[X]]
// CHECK: math.fma %[[REST]], %[[R]], %[[Q]]
// CHECK: arith.divf %[[X]], %[[SUMS]]
func.func @shares(%x: vector<8xf32>, %sum: f32) -> (vector<8xf32>, vector<8xf32>) {
  %0 = vector.broadcast %sum : f32 to vector<8xf32>
  %1 = arith.divf %x, %0 {shares} : vector<8xf32>
  %2 = arith.divf %x, %0 : vector<8xf32>
  return %1, %2 : vector<8xf32>, vector<8xf32>
}

// Without an instruction bf16 is what rounding leaves of the bits. An integer is a number: nothing
// asks whether it is.
// BF16-LABEL: func.func @integer_as_bf16
// BF16: arith.sitofp
// BF16-NOT: arith.cmpi
// BF16-NOT: arith.select
// BF16: return
// BF16-LABEL: func.func @float_as_bf16
// BF16: arith.cmpi
// BF16: arith.select
func.func @integer_as_bf16(%x: vector<8xi32>) -> vector<8xbf16> {
  %0 = arith.sitofp %x : vector<8xi32> to vector<8xf32>
  %1 = arith.truncf %0 : vector<8xf32> to vector<8xbf16>
  return %1 : vector<8xbf16>
}
func.func @float_as_bf16(%x: vector<8xf32>) -> vector<8xbf16> {
  %0 = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  return %0 : vector<8xbf16>
}

// Where an instruction for extremes loses a NaN, a chain of them is asked for one at its end, two numbers at a time; what is no
// number's and constants are not. One alone stays, and so does what orders zeros.
// CHECK-LABEL: func.func @extremes
// CHECK: arith.maximumf
// CHECK: arith.maximumf
// NAN-LABEL: func.func @extremes
// NAN-SAME: %[[X:.+]]: vector<8xf32>, %[[Y:.+]]: vector<8xf32>, %[[Z:.+]]: vector<8xf32>
// NAN: %[[C:.+]] = arith.cmpf ogt, %[[X]], %[[Y]]
// NAN: %[[M:.+]] = arith.select %[[C]], %[[X]], %[[Y]]
// NAN: %[[D:.+]] = arith.cmpf ogt, %[[M]], %[[Z]]
// NAN: %[[N:.+]] = arith.select %[[D]], %[[M]], %[[Z]]
// NAN: %[[P:.+]] = arith.cmpf uno, %[[X]], %[[Y]]
// NAN: %[[Q:.+]] = arith.cmpf uno, %[[Z]], %[[Z]]
// NAN: %[[R:.+]] = arith.ori %[[P]], %[[Q]]
// NAN: arith.select %[[R]], %{{.+}}, %[[N]]
// NAN: arith.minimumf
// NAN: arith.maximumf
// NAN: arith.maximumf
func.func @extremes(%x: vector<8xf32>, %y: vector<8xf32>, %z: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  %0 = arith.maximumf %x, %y fastmath<nsz> : vector<8xf32>
  %1 = arith.maximumf %0, %z fastmath<nsz> : vector<8xf32>
  %2 = arith.minimumf %x, %y fastmath<nsz> : vector<8xf32>
  %3 = arith.maximumf %x, %y : vector<8xf32>
  %4 = arith.maximumf %3, %z : vector<8xf32>
  return %1, %2, %4 : vector<8xf32>, vector<8xf32>, vector<8xf32>
}

// The lanes of a vector, halved until one is left, are asked together.
// NAN-LABEL: func.func @halved
// NAN-NOT: arith.maximumf
// NAN: arith.cmpf uno, {{.+}} : vector<4xf32>
// NAN-NEXT: vector.bitcast {{.+}} : vector<4xi1> to vector<1xi4>
// NAN: arith.select {{.+}} : vector<1xi1>, vector<1xf32>
// NAN-NEXT: return
func.func @halved(%x: vector<4xf32>) -> vector<1xf32> {
  %0 = vector.shuffle %x, %x [0, 1] : vector<4xf32>, vector<4xf32>
  %1 = vector.shuffle %x, %x [2, 3] : vector<4xf32>, vector<4xf32>
  %2 = arith.maximumf %0, %1 fastmath<nsz> : vector<2xf32>
  %3 = vector.shuffle %2, %2 [0] : vector<2xf32>, vector<2xf32>
  %4 = vector.shuffle %2, %2 [1] : vector<2xf32>, vector<2xf32>
  %5 = arith.maximumf %3, %4 fastmath<nsz> : vector<1xf32>
  return %5 : vector<1xf32>
}

// Where lanes are registers, a word of two bf16 gives each by one instruction, and signs are bits of
// an f32: LLVM would take them of what is rounded, element by element.
// LANES-LABEL: func.func @pairs
// LANES: %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<8xbf16> to vector<4xi32>
// LANES: %[[LOW:.*]] = arith.shli %[[WORDS]], %{{.*}} : vector<4xi32>
// LANES: %[[HIGH:.*]] = arith.andi %[[WORDS]], %{{.*}} : vector<4xi32>
// LANES: vector.interleave %[[LOW]], %[[HIGH]] : vector<4xi32>
// LANES-NOT: math.copysign
// LANES: arith.ori
// LANES: arith.truncf
func.func @pairs(%x: vector<8xbf16>, %y: vector<8xf32>) -> vector<8xbf16> {
  %0 = arith.extf %x : vector<8xbf16> to vector<8xf32>
  %1 = math.copysign %y, %0 : vector<8xf32>
  %2 = arith.truncf %1 : vector<8xf32> to vector<8xbf16>
  return %2 : vector<8xbf16>
}

// What was f16 before is rounded in f32, also if LLVM would rather round f16 element by element: the
// sign is taken from what is rounded.
// CHECK-LABEL: func @rounded_halves
// CHECK: %[[WIDE:.*]] = arith.extf
// CHECK: math.floor %[[WIDE]]
// CHECK: arith.ori
// CHECK: arith.truncf
// LANES-LABEL: func @rounded_halves
// LANES: math.floor
// LANES-NOT: arith.ori
// LANES: return
func.func @rounded_halves(%x: vector<8xf16>) -> vector<8xf16> {
  %wide = arith.extf %x : vector<8xf16> to vector<8xf32>
  %0 = math.floor %wide : vector<8xf32>
  %1 = arith.truncf %0 : vector<8xf32> to vector<8xf16>
  return %1 : vector<8xf16>
}

// erf picks the coefficients of its interval where the target has an instruction for that, and adds x last around 0.
// AVX2-LABEL: func.func @error_function
// AVX2-COUNT-16: llvm.call_intrinsic "llvm.x86.avx2.permps"
// AVX2-NOT: permps
// AVX2: arith.select
// AVX2: return
// AVX512-LABEL: func.func @error_function
// AVX512-COUNT-6: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.ps.512"
// AVX512-NOT: vpermi2var
// AVX512: return
func.func @error_function(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.erf %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// Where pieces are selected that both take long, a vector computes those that a lane takes. What any number takes that is
// no exception is always computed.
// CHECK-LABEL: func.func @pieces
// CHECK: %[[FAR:.+]] = arith.cmpf ogt
// CHECK: %[[ANY:.+]] = vector.reduction <or>, %[[FAR]]
// CHECK: scf.if %[[ANY]] -> (vector<8xf64>)
// CHECK: scf.yield
// CHECK: arith.select %[[FAR]]
// CHECK-LABEL: func.func @exception
// CHECK-NOT: vector.reduction
// CHECK: return
// LANES-LABEL: func.func @pieces
// LANES-NOT: scf.if
// LANES: return
func.func @pieces(%x: vector<8xf64>, %limit: vector<8xf64>) -> vector<8xf64> {
  %far = arith.cmpf ogt, %x, %limit : vector<8xf64>
  %0 = math.log %x : vector<8xf64>
  %1 = math.exp %0 : vector<8xf64>
  %2 = math.erf %x : vector<8xf64>
  %3 = arith.select %far, %1, %2 : vector<8xi1>, vector<8xf64>
  return %3 : vector<8xf64>
}
func.func @exception(%x: vector<8xf64>, %limit: vector<8xf64>, %value: vector<8xf64>) -> vector<8xf64> {
  %far = arith.cmpf ogt, %x, %limit : vector<8xf64>
  %0 = math.erf %x : vector<8xf64>
  %1 = arith.select %far, %value, %0 : vector<8xi1>, vector<8xf64>
  return %1 : vector<8xf64>
}

// Integers of 64 bits are in the last bits of a sum where AVX2 converts one number at a time; large ones are rare.
// AVX2-LABEL: func.func @wide_integers
// AVX2: %[[T:.+]] = math.trunc
// AVX2: arith.addf %[[T]]
// AVX2: arith.subi
// AVX2: scf.if
// AVX2: arith.fptosi
// AVX512-LABEL: func.func @wide_integers
// AVX512-NEXT: arith.fptosi
func.func @wide_integers(%x: vector<8xf64>) -> vector<8xi64> {
  %0 = arith.fptosi %x : vector<8xf64> to vector<8xi64>
  return %0 : vector<8xi64>
}
