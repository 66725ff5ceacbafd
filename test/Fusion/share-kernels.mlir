// RUN: tcc-opt %s -tcc-fuse-kernels -tcc-fuse-share-kernels | FileCheck %s

// Many slices of one tensor are one kernel, which is told where to start. The start on
// the axis that does not vary stays known.
// CHECK-LABEL: func @many
// CHECK: %[[START:.*]] = arith.constant 0 : index
// CHECK: kernel.launch loop "neg" ins(%{{.*}}, %[[START]] : tensor<33x8xf32>, index)
// CHECK: prim.slice %{{.*}} starts [-9223372036854775808, 4](%{{.*}})
// CHECK: %[[START1:.*]] = arith.constant 1 : index
// CHECK: kernel.launch loop "neg" ins(%{{.*}}, %[[START1]] : tensor<33x8xf32>, index)
func.func @many(%x: tensor<33x8xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %s0 = prim.slice %x starts [0, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r0 = prim.neg %s0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s1 = prim.slice %x starts [1, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r1 = prim.neg %s1 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s2 = prim.slice %x starts [2, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r2 = prim.neg %s2 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s3 = prim.slice %x starts [3, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r3 = prim.neg %s3 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s4 = prim.slice %x starts [4, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r4 = prim.neg %s4 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s5 = prim.slice %x starts [5, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r5 = prim.neg %s5 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s6 = prim.slice %x starts [6, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r6 = prim.neg %s6 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s7 = prim.slice %x starts [7, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r7 = prim.neg %s7 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s8 = prim.slice %x starts [8, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r8 = prim.neg %s8 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s9 = prim.slice %x starts [9, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r9 = prim.neg %s9 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s10 = prim.slice %x starts [10, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r10 = prim.neg %s10 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s11 = prim.slice %x starts [11, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r11 = prim.neg %s11 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s12 = prim.slice %x starts [12, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r12 = prim.neg %s12 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s13 = prim.slice %x starts [13, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r13 = prim.neg %s13 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s14 = prim.slice %x starts [14, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r14 = prim.neg %s14 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s15 = prim.slice %x starts [15, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r15 = prim.neg %s15 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s16 = prim.slice %x starts [16, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r16 = prim.neg %s16 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s17 = prim.slice %x starts [17, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r17 = prim.neg %s17 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s18 = prim.slice %x starts [18, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r18 = prim.neg %s18 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s19 = prim.slice %x starts [19, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r19 = prim.neg %s19 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s20 = prim.slice %x starts [20, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r20 = prim.neg %s20 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s21 = prim.slice %x starts [21, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r21 = prim.neg %s21 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s22 = prim.slice %x starts [22, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r22 = prim.neg %s22 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s23 = prim.slice %x starts [23, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r23 = prim.neg %s23 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s24 = prim.slice %x starts [24, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r24 = prim.neg %s24 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s25 = prim.slice %x starts [25, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r25 = prim.neg %s25 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s26 = prim.slice %x starts [26, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r26 = prim.neg %s26 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s27 = prim.slice %x starts [27, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r27 = prim.neg %s27 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s28 = prim.slice %x starts [28, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r28 = prim.neg %s28 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s29 = prim.slice %x starts [29, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r29 = prim.neg %s29 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s30 = prim.slice %x starts [30, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r30 = prim.neg %s30 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s31 = prim.slice %x starts [31, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r31 = prim.neg %s31 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %s32 = prim.slice %x starts [32, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %r32 = prim.neg %s32 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19, %r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29, %r30, %r31, %r32 : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}

// A few kernels keep the starts that they know.
// CHECK-LABEL: func @few
// CHECK-COUNT-2: prim.slice %{{.*}} starts [{{[01]}}, 4]()
func.func @few(%x: tensor<33x8xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %a = prim.slice %x starts [0, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %b = prim.slice %x starts [1, 4]() steps [1, 1] sizes() : (tensor<33x8xf32>) -> tensor<1x4xf32>
  %c = prim.exp %a : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %d = prim.exp %b : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %c, %d : tensor<1x4xf32>, tensor<1x4xf32>
}
