// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v3 --dump-ir %t/v3 --emit asm -o %t/v3.s
// RUN: cat %t/v3/8-codegen/k*.mlir | FileCheck %s
// RUN: tcc %s --start-from fuse --target x86_64-linux --cpu x86-64-v4 --dump-ir %t/v4 --emit asm -o %t/v4.s
// RUN: cat %t/v4/8-codegen/k*.mlir | FileCheck %s --check-prefix=WIDE

// What goes into an activation was rounded to a byte: that says what comes out. Not of sixteen lanes.
// WIDE-NOT: llvm.mlir.global
// CHECK: llvm.mlir.global private constant @[[TABLE:k0.*_bytes0]](dense<{{.*}}> : tensor<256xi8>)
// CHECK-LABEL: func.func @k0
// CHECK: arith.cmpf ord, {{.*}} : vector<8xf32>
// CHECK-NOT: arith.cmpf ord, {{.*}} : vector<8xf32>
// CHECK: llvm.getelementptr {{.*}} vector<8xi64>) -> vector<8x!llvm.ptr>, i8
// CHECK-NEXT: llvm.intr.masked.gather {{.*}} -> vector<8xi8>
// CHECK-NOT: arith.divf
// A float that was not rounded decides about more, and a few additions take no longer than a table.
// CHECK-LABEL: func.func @k1
// CHECK-NOT: masked.gather
// CHECK: arith.divf
// CHECK-LABEL: func.func @k2
// CHECK-NOT: masked.gather
// What takes long and is stored for itself is read from a table of its own; what is left is computed from that.
// CHECK: llvm.mlir.global private constant @k3{{.*}} : tensor<256xf32>)
// CHECK-NOT: llvm.mlir.global
// CHECK-LABEL: func.func @k3
// CHECK: masked.gather {{.*}} -> vector<16xf32>
// CHECK: arith.mulf
func.func @main(%x: tensor<4099xf32>, %s: tensor<4099xf32>, %u: tensor<4097xui8>, %v: tensor<4095xui8>)
    -> (tensor<4099xui8>, tensor<4099xf32>, tensor<4097xf32>, tensor<4095xf32>, tensor<4095xf32>) {
  %zero = prim.constant dense<1.27e+02> : tensor<4099xf32>
  %scale = prim.constant dense<5.0e-02> : tensor<4099xf32>
  %last = prim.constant dense<2.8e-02> : tensor<4099xf32>
  %r = prim.round %x : (tensor<4099xf32>) -> tensor<4099xf32>
  %q = prim.cast %r {saturate = true} : (tensor<4099xf32>) -> tensor<4099xui8>
  %f = prim.cast %q : (tensor<4099xui8>) -> tensor<4099xf32>
  %d = prim.sub %f, %zero : (tensor<4099xf32>, tensor<4099xf32>) -> tensor<4099xf32>
  %m = prim.mul %d, %scale : (tensor<4099xf32>, tensor<4099xf32>) -> tensor<4099xf32>
  %g = prim.logistic %m : (tensor<4099xf32>) -> tensor<4099xf32>
  %p = prim.mul %m, %g : (tensor<4099xf32>, tensor<4099xf32>) -> tensor<4099xf32>
  %n = prim.div %p, %last : (tensor<4099xf32>, tensor<4099xf32>) -> tensor<4099xf32>
  %o = prim.round %n : (tensor<4099xf32>) -> tensor<4099xf32>
  %y = prim.cast %o {saturate = true} : (tensor<4099xf32>) -> tensor<4099xui8>

  %t = prim.mul %s, %scale : (tensor<4099xf32>, tensor<4099xf32>) -> tensor<4099xf32>
  %a = prim.logistic %t : (tensor<4099xf32>) -> tensor<4099xf32>

  %one = prim.constant dense<1.0> : tensor<4097xf32>
  %uf = prim.cast %u : (tensor<4097xui8>) -> tensor<4097xf32>
  %ua = prim.add %uf, %one : (tensor<4097xf32>, tensor<4097xf32>) -> tensor<4097xf32>
  %um = prim.mul %ua, %ua : (tensor<4097xf32>, tensor<4097xf32>) -> tensor<4097xf32>

  %vf = prim.cast %v : (tensor<4095xui8>) -> tensor<4095xf32>
  %vg = prim.logistic %vf : (tensor<4095xf32>) -> tensor<4095xf32>
  %vh = prim.mul %vg, %vf : (tensor<4095xf32>, tensor<4095xf32>) -> tensor<4095xf32>
  return %y, %a, %um, %vg, %vh : tensor<4099xui8>, tensor<4099xf32>, tensor<4097xf32>, tensor<4095xf32>, tensor<4095xf32>
}
