// RUN: rm -rf %t && mkdir %t
// RUN: tcc %s --start-from layout --target x86_64-linux --cpu x86-64-v3 --dump-ir %t --emit asm -o %t/x.s
// RUN: FileCheck %s < %t/8-codegen/k0_dot.mlir

// A batch of sums, with neither rows nor columns: of the lanes of a product's vector one is a result. The others lie where those
// of other tasks are stored.
// CHECK-LABEL: func.func @k0_dot(
// CHECK: math.fma
// CHECK: %[[SUM:.*]] = vector.extract %{{.*}}[0] : f32 from vector<{{[0-9]+}}xf32>
// CHECK-NOT: llvm.store {{.*}} vector<
// CHECK: llvm.store %[[SUM]], %{{.*}} : f32
// CHECK-NOT: llvm.store
// CHECK: return
func.func @main(%x: tensor<24x17x9xf32> {graph.name = "x"}, %y: tensor<17x24x9xf32> {graph.name = "y"})
    -> (tensor<24x9xf32> {graph.name = "z"}) {
  %z = prim.dot %x, %y batch [0, 2] x [1, 2] contract [1] x [0] : (tensor<24x17x9xf32>, tensor<17x24x9xf32>) -> tensor<24x9xf32>
  return %z : tensor<24x9xf32>
}
