// RUN: tcc-opt %s -split-input-file -tcc-plan-memory | FileCheck %s

// Results of the same unknown extents, in any order, share an arena: of a and c live
// one at a time, beside b.
// CHECK: %[[ARENA:.*]] = host.alloc_arena 192 times(%{{.*}}, %{{.*}}) : !host.arena
// CHECK: host.slice %[[ARENA]]{{\[}}[[A:[0-9]+]]{{\]}} sizes(
// CHECK: host.launch @k0_a
// CHECK: host.slice %[[ARENA]]
// CHECK: host.launch @k1_b
// CHECK: host.slice %[[ARENA]]{{\[}}[[A]]{{\]}} sizes(
// CHECK: host.launch @k2_c
// CHECK: host.output 0 sizes(
// CHECK: host.launch @k0_a
// CHECK: host.free %[[ARENA]] : !host.arena
module {
  func.func @main(%x: tensor<?x?x16xf32>) -> tensor<?x?x16xf32> {
    %n = prim.dim %x, 0 : tensor<?x?x16xf32>
    %m = prim.dim %x, 1 : tensor<?x?x16xf32>
    %0 = kernel.launch loop "a" ins(%x : tensor<?x?x16xf32>) sizes(%n, %m) {
    ^bb0(%a: tensor<?x?x16xf32>):
      %1 = prim.exp %a : (tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
      kernel.yield %1 : tensor<?x?x16xf32>
    } -> tensor<?x?x16xf32>
    %2 = kernel.launch loop "b" ins(%0 : tensor<?x?x16xf32>) sizes(%m, %n) {
    ^bb0(%a: tensor<?x?x16xf32>):
      %1 = prim.transpose %a [1, 0, 2] : (tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
      %3 = prim.concat %1, %1 axis 2 : (tensor<?x?x16xf32>, tensor<?x?x16xf32>) -> tensor<?x?x32xf32>
      kernel.yield %3 : tensor<?x?x32xf32>
    } -> tensor<?x?x32xf32>
    %4 = kernel.launch loop "c" ins(%2, %n, %m : tensor<?x?x32xf32>, index, index) sizes(%n, %m) {
    ^bb0(%a: tensor<?x?x32xf32>, %n0: index, %m0: index):
      %1 = prim.transpose %a [1, 0, 2] : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
      %3 = prim.slice %1 starts [0, 0, 8]() steps [1, 1, 1] sizes(%n0, %m0) : (tensor<?x?x32xf32>) -> tensor<?x?x16xf32>
      kernel.yield %3 : tensor<?x?x16xf32>
    } -> tensor<?x?x16xf32>
    %5 = kernel.launch loop "d" ins(%4 : tensor<?x?x16xf32>) sizes(%n, %m) {
    ^bb0(%a: tensor<?x?x16xf32>):
      %1 = prim.exp %a : (tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
      kernel.yield %1 : tensor<?x?x16xf32>
    } -> tensor<?x?x16xf32>
    return %5 : tensor<?x?x16xf32>
  }
}

// -----

// Other extents are another arena; what is no multiple of 64 bytes has none.
// CHECK: %[[N:.*]] = host.alloc_arena 64 times(%{{[^,]*}}) : !host.arena
// CHECK: host.slice %[[N]][0]
// CHECK: host.launch @k0_a
// CHECK: %[[M:.*]] = host.alloc_arena 64 times(%{{[^,]*}}) : !host.arena
// CHECK: host.slice %[[M]][0]
// CHECK: host.launch @k0_a
// CHECK: %[[C:.*]] = host.alloc sizes(
// CHECK: host.launch @k1_c ins({{.*}}) outs(%[[C]] :
// CHECK: host.read %[[C]][0] : (memref<?xf32>) -> f32
// CHECK: host.free %[[C]]
// CHECK: host.free %[[N]]
// CHECK: host.free %[[M]]
module {
  func.func @main(%x: tensor<?x16xf32>, %y: tensor<?x16xf32>) -> index {
    %n = prim.dim %x, 0 : tensor<?x16xf32>
    %m = prim.dim %y, 0 : tensor<?x16xf32>
    %0 = kernel.launch loop "a" ins(%x : tensor<?x16xf32>) sizes(%n) {
    ^bb0(%a: tensor<?x16xf32>):
      %1 = prim.exp %a : (tensor<?x16xf32>) -> tensor<?x16xf32>
      kernel.yield %1 : tensor<?x16xf32>
    } -> tensor<?x16xf32>
    %2 = kernel.launch loop "b" ins(%y : tensor<?x16xf32>) sizes(%m) {
    ^bb0(%a: tensor<?x16xf32>):
      %1 = prim.exp %a : (tensor<?x16xf32>) -> tensor<?x16xf32>
      kernel.yield %1 : tensor<?x16xf32>
    } -> tensor<?x16xf32>
    %3 = kernel.launch row[1] "c" ins(%0 : tensor<?x16xf32>) sizes(%n) {
    ^bb0(%a: tensor<?x16xf32>):
      %1 = prim.reduce sum %a [1] : (tensor<?x16xf32>) -> tensor<?xf32>
      kernel.yield %1 : tensor<?xf32>
    } -> tensor<?xf32>
    %4 = prim.extract %3[0] : (tensor<?xf32>) -> f32
    return %n : index
  }
}
