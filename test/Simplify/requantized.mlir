// RUN: tcc-opt %s -tcc-simplify-requantized -canonicalize | FileCheck %s

// Views of bytes.
// CHECK-LABEL: func @moved
// CHECK-NEXT: %[[S:.*]] = prim.slice %arg0 starts [2, 0]() steps [1, 1] sizes() : (tensor<8x4xui8>) -> tensor<6x4xui8>
// CHECK-NEXT: %[[T:.*]] = prim.transpose %[[S]] [1, 0]
// CHECK-NEXT: return %[[T]]
func.func @moved(%x: tensor<8x4xui8>) -> tensor<4x6xui8> {
  %fs = prim.constant dense<5.0e-01> : tensor<8x4xf32>
  %fz = prim.constant dense<7.0> : tensor<8x4xf32>
  %fa = prim.cast %x : (tensor<8x4xui8>) -> tensor<8x4xf32>
  %fb = prim.sub %fa, %fz : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %f = prim.mul %fb, %fs : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %v = prim.slice %f starts [2, 0]() steps [1, 1] sizes() : (tensor<8x4xf32>) -> tensor<6x4xf32>
  %t = prim.transpose %v [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %ys = prim.constant dense<5.0e-01> : tensor<4x6xf32>
  %yz = prim.constant dense<7.0> : tensor<4x6xf32>
  %ya = prim.div %t, %ys : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %yb = prim.round %ya : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %yc = prim.add %yb, %yz : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = prim.cast %yc : (tensor<4x6xf32>) -> tensor<4x6xui8>
  return %y : tensor<4x6xui8>
}

// Rounded as torch does: by the inverse of a scale, cut off where the type ends.
// CHECK-LABEL: func @inverse
// CHECK-NEXT: %[[J:.*]] = prim.concat %arg0, %arg1
// CHECK-NEXT: return %[[J]]
func.func @inverse(%x: tensor<8xi8>, %y: tensor<4xi8>) -> tensor<12xi8> {
  %fs = prim.constant dense<3.0e-01> : tensor<8xf32>
  %fz = prim.constant dense<-7.0> : tensor<8xf32>
  %fa = prim.cast %x : (tensor<8xi8>) -> tensor<8xf32>
  %fb = prim.sub %fa, %fz : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f = prim.mul %fb, %fs : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %gs = prim.constant dense<3.0e-01> : tensor<4xf32>
  %gz = prim.constant dense<-7.0> : tensor<4xf32>
  %ga = prim.cast %y : (tensor<4xi8>) -> tensor<4xf32>
  %gb = prim.sub %ga, %gz : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = prim.mul %gb, %gs : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %j = prim.concat %f, %g axis 0 : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>
  %rs = prim.constant dense<3.33333325> : tensor<12xf32>
  %rz = prim.constant dense<-7.0> : tensor<12xf32>
  %ra = prim.mul %j, %rs : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
  %rb = prim.round %ra : (tensor<12xf32>) -> tensor<12xf32>
  %rc = prim.add %rb, %rz : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
  %rl = prim.constant dense<-128.0> : tensor<12xf32>
  %rh = prim.constant dense<127.0> : tensor<12xf32>
  %rd = prim.maximum %rc, %rl : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
  %re = prim.minimum %rd, %rh : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
  %r = prim.cast %re : (tensor<12xf32>) -> tensor<12xi8>
  return %r : tensor<12xi8>
}

// What keeps order: 0 and 6 are 7 and 19.
// CHECK-LABEL: func @ordered
// CHECK-DAG: %[[SEVEN:.*]] = prim.constant dense<7> : tensor<ui8>
// CHECK-DAG: %[[NINETEEN:.*]] = prim.constant dense<19> : tensor<ui8>
// CHECK: %[[LOW:.*]] = prim.broadcast %[[SEVEN]]
// CHECK: %[[M:.*]] = prim.maximum %arg0, %[[LOW]]
// CHECK: %[[HIGH:.*]] = prim.broadcast %[[NINETEEN]]
// CHECK: %[[L:.*]] = prim.minimum %[[M]], %[[HIGH]]
// CHECK: %[[P:.*]] = prim.pool max %[[L]] {{.*}} : (tensor<1x2x8xui8>) -> tensor<1x2x4xui8>
// CHECK: return %[[P]]
func.func @ordered(%x: tensor<1x2x8xui8>) -> tensor<1x2x4xui8> {
  %fs = prim.constant dense<5.0e-01> : tensor<1x2x8xf32>
  %fz = prim.constant dense<7.0> : tensor<1x2x8xf32>
  %fa = prim.cast %x : (tensor<1x2x8xui8>) -> tensor<1x2x8xf32>
  %fb = prim.sub %fa, %fz : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %f = prim.mul %fb, %fs : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %c = prim.constant dense<0.0> : tensor<1x2x8xf32>
  %six = prim.constant dense<6.0> : tensor<1x2x8xf32>
  %m = prim.maximum %f, %c : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %l = prim.minimum %m, %six : (tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %p = prim.pool max %l sizes() {window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>} : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
  %ys = prim.constant dense<5.0e-01> : tensor<1x2x4xf32>
  %yz = prim.constant dense<7.0> : tensor<1x2x4xf32>
  %ya = prim.div %p, %ys : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %yb = prim.round %ya : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %yc = prim.add %yb, %yz : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %y = prim.cast %yc : (tensor<1x2x4xf32>) -> tensor<1x2x4xui8>
  return %y : tensor<1x2x4xui8>
}

// Another scale, zero point or type, and what is cut off before the type ends, are rounded.
// CHECK-LABEL: func @others
// CHECK-COUNT-4: prim.round
func.func @others(%x: tensor<8xui8>) -> (tensor<8xui8>, tensor<8xui8>, tensor<8xi8>, tensor<8xui8>) {
  %fs = prim.constant dense<5.0e-01> : tensor<8xf32>
  %fz = prim.constant dense<7.0> : tensor<8xf32>
  %fa = prim.cast %x : (tensor<8xui8>) -> tensor<8xf32>
  %fb = prim.sub %fa, %fz : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f = prim.mul %fb, %fs : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %as = prim.constant dense<2.5e-01> : tensor<8xf32>
  %az = prim.constant dense<7.0> : tensor<8xf32>
  %aa = prim.div %f, %as : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %ab = prim.round %aa : (tensor<8xf32>) -> tensor<8xf32>
  %ac = prim.add %ab, %az : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a = prim.cast %ac : (tensor<8xf32>) -> tensor<8xui8>
  %bs = prim.constant dense<5.0e-01> : tensor<8xf32>
  %bz = prim.constant dense<8.0> : tensor<8xf32>
  %ba = prim.div %f, %bs : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %bb = prim.round %ba : (tensor<8xf32>) -> tensor<8xf32>
  %bc = prim.add %bb, %bz : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = prim.cast %bc : (tensor<8xf32>) -> tensor<8xui8>
  %cs = prim.constant dense<5.0e-01> : tensor<8xf32>
  %cz = prim.constant dense<7.0> : tensor<8xf32>
  %ca = prim.div %f, %cs : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %cb = prim.round %ca : (tensor<8xf32>) -> tensor<8xf32>
  %cc = prim.add %cb, %cz : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = prim.cast %cc : (tensor<8xf32>) -> tensor<8xi8>
  %ds = prim.constant dense<5.0e-01> : tensor<8xf32>
  %dz = prim.constant dense<7.0> : tensor<8xf32>
  %da = prim.div %f, %ds : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %db = prim.round %da : (tensor<8xf32>) -> tensor<8xf32>
  %dc = prim.add %db, %dz : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %dl = prim.constant dense<0.0> : tensor<8xf32>
  %dh = prim.constant dense<100.0> : tensor<8xf32>
  %dd = prim.maximum %dc, %dl : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %de = prim.minimum %dd, %dh : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = prim.cast %de : (tensor<8xf32>) -> tensor<8xui8>
  return %a, %b, %c, %d : tensor<8xui8>, tensor<8xui8>, tensor<8xi8>, tensor<8xui8>
}
