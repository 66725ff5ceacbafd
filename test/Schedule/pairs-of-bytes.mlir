// RUN: tcc %s --start-from layout --stop-after schedule --target x86_64-linux --cpu x86-64-v3 -o %t
// RUN: FileCheck %s < %t
// RUN: tcc %s --start-from layout --stop-after schedule --target x86_64-linux --cpu x86-64-v4 -o %t.wide
// RUN: FileCheck %s --check-prefix=WIDE < %t.wide
// Products of pairs of bytes wait in registers before they are added: of 16, tiles of a matrix that is copied have
// two vectors by six rows. Floats have three by four; columns that one vector holds have one.

// CHECK-LABEL: @main
// CHECK: schedule = #cpu.contraction_schedule<lanes = 8, vectors = 2, rows = 6, {{.*}} b = copied, step_bytes = 2
// CHECK: schedule = #cpu.contraction_schedule<lanes = 8, vectors = 1, {{.*}} b = copied, step_bytes = 2
// CHECK: schedule = #cpu.contraction_schedule<lanes = 8, vectors = 3, rows = 4,
// WIDE-LABEL: @main
// WIDE: schedule = #cpu.contraction_schedule<lanes = 16, vectors = {{[34]}},
func.func @main(%x: tensor<64x96xi8> {graph.name = "x"}, %y: tensor<96x192xi8> {graph.name = "y"}, %f: tensor<96x8xi8> {graph.name = "f"},
                %u: tensor<64x96xf32> {graph.name = "u"}, %v: tensor<96x192xf32> {graph.name = "v"})
    -> (tensor<64x192xi32> {graph.name = "a"}, tensor<64x8xi32> {graph.name = "b"}, tensor<64x192xf32> {graph.name = "c"}) {
  %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<64x96xi8>, tensor<96x192xi8>) -> tensor<64x192xi32>
  %1 = prim.dot %x, %f batch [] x [] contract [1] x [0] : (tensor<64x96xi8>, tensor<96x8xi8>) -> tensor<64x8xi32>
  %2 = prim.dot %u, %v batch [] x [] contract [1] x [0] : (tensor<64x96xf32>, tensor<96x192xf32>) -> tensor<64x192xf32>
  return %0, %1, %2 : tensor<64x192xi32>, tensor<64x8xi32>, tensor<64x192xf32>
}
