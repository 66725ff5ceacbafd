// RUN: tcc-opt %s --arch sm_80,sm_90a -tcc-schedule-kernels | FileCheck %s

// Matrices of a batch are one with more rows for wgmma, by rows and by columns of the right operand.
// CHECK-LABEL: @whole
// CHECK: sm_80 = <form = mma, {{.*}}>, sm_90a = <form = wgmma, {{.*}} rows = 128, {{.*}} most_blocks = 132
// CHECK: sm_80 = <form = mma, {{.*}}>, sm_90a = <form = wgmma, {{.*}} rows = 128, {{.*}} most_blocks = 132
func.func @whole(%x: tensor<16x1024x512xbf16>, %w: tensor<16x512x1024xbf16>, %v: tensor<16x1024x1024xbf16>) -> tensor<16x1024x1024xbf16> {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<16x1024x512xbf16>, tensor<16x512x1024xbf16>) sizes() {
  ^bb0(%a: tensor<16x1024x512xbf16>, %b: tensor<16x512x1024xbf16>):
    %d = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<16x1024x512xbf16>, tensor<16x512x1024xbf16>) -> tensor<16x1024x1024xbf16>
    kernel.yield %d : tensor<16x1024x1024xbf16>
  } -> tensor<16x1024x1024xbf16>
  %1 = kernel.launch contraction "dot" ins(%0, %v : tensor<16x1024x1024xbf16>, tensor<16x1024x1024xbf16>) sizes() {
  ^bb0(%a: tensor<16x1024x1024xbf16>, %b: tensor<16x1024x1024xbf16>):
    %d = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (tensor<16x1024x1024xbf16>, tensor<16x1024x1024xbf16>) -> tensor<16x1024x1024xbf16>
    kernel.yield %d : tensor<16x1024x1024xbf16>
  } -> tensor<16x1024x1024xbf16>
  return %1 : tensor<16x1024x1024xbf16>
}

// Matrices that end within tiles, and a batch that does not come first.
// CHECK-LABEL: @others
// CHECK: sm_90a = <form = wgmma,
// CHECK: sm_90a = <form = mma,
func.func @others(%x: tensor<16x1000x512xbf16>, %w: tensor<16x512x1024xbf16>, %z: tensor<1024x16x512xbf16>) -> (tensor<16x1000x1024xbf16>, tensor<16x1024x1024xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<16x1000x512xbf16>, tensor<16x512x1024xbf16>) sizes() {
  ^bb0(%a: tensor<16x1000x512xbf16>, %b: tensor<16x512x1024xbf16>):
    %d = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<16x1000x512xbf16>, tensor<16x512x1024xbf16>) -> tensor<16x1000x1024xbf16>
    kernel.yield %d : tensor<16x1000x1024xbf16>
  } -> tensor<16x1000x1024xbf16>
  %1 = kernel.launch contraction "dot" ins(%z, %w : tensor<1024x16x512xbf16>, tensor<16x512x1024xbf16>) sizes() {
  ^bb0(%a: tensor<1024x16x512xbf16>, %b: tensor<16x512x1024xbf16>):
    %d = prim.dot %a, %b batch [1] x [0] contract [2] x [1] : (tensor<1024x16x512xbf16>, tensor<16x512x1024xbf16>) -> tensor<16x1024x1024xbf16>
    kernel.yield %d : tensor<16x1024x1024xbf16>
  } -> tensor<16x1024x1024xbf16>
  return %0, %1 : tensor<16x1000x1024xbf16>, tensor<16x1024x1024xbf16>
}

// As many matrices as a run has.
// CHECK-LABEL: @open
// CHECK: sm_90a = <form = wgmma, {{.*}} rows = 128, {{.*}} most_blocks = 132
func.func @open(%x: tensor<?x1000x512xbf16>, %w: tensor<?x512x1024xbf16>) -> tensor<?x1000x1024xbf16> {
  %n = prim.dim %x, 0 : tensor<?x1000x512xbf16>
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<?x1000x512xbf16>, tensor<?x512x1024xbf16>) sizes(%n) {
  ^bb0(%a: tensor<?x1000x512xbf16>, %b: tensor<?x512x1024xbf16>):
    %d = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (tensor<?x1000x512xbf16>, tensor<?x512x1024xbf16>) -> tensor<?x1000x1024xbf16>
    kernel.yield %d : tensor<?x1000x1024xbf16>
  } -> tensor<?x1000x1024xbf16>
  return %0 : tensor<?x1000x1024xbf16>
}

// Left operands that lie across, of 16 bits and of whole accesses.
// CHECK-LABEL: @across
// CHECK: sm_80 = <form = mma, {{.*}}>, sm_90a = <form = wgmma,
// CHECK: sm_90a = <form = mma,
func.func @across(%x: tensor<512x1024xbf16>, %w: tensor<512x768xbf16>, %z: tensor<512x1020xbf16>) -> (tensor<1024x768xbf16>, tensor<1020x768xbf16>) {
  %0 = kernel.launch contraction "dot" ins(%x, %w : tensor<512x1024xbf16>, tensor<512x768xbf16>) sizes() {
  ^bb0(%a: tensor<512x1024xbf16>, %b: tensor<512x768xbf16>):
    %d = prim.dot %a, %b batch [] x [] contract [0] x [0] : (tensor<512x1024xbf16>, tensor<512x768xbf16>) -> tensor<1024x768xbf16>
    kernel.yield %d : tensor<1024x768xbf16>
  } -> tensor<1024x768xbf16>
  %1 = kernel.launch contraction "dot" ins(%z, %w : tensor<512x1020xbf16>, tensor<512x768xbf16>) sizes() {
  ^bb0(%a: tensor<512x1020xbf16>, %b: tensor<512x768xbf16>):
    %d = prim.dot %a, %b batch [] x [] contract [0] x [0] : (tensor<512x1020xbf16>, tensor<512x768xbf16>) -> tensor<1020x768xbf16>
    kernel.yield %d : tensor<1020x768xbf16>
  } -> tensor<1020x768xbf16>
  return %0, %1 : tensor<1024x768xbf16>, tensor<1020x768xbf16>
}
