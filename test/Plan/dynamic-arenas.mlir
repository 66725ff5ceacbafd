// RUN: tcc-opt %s -split-input-file -tcc-plan-memory | FileCheck %s

// Results of the same unknown extents, in any order, share an arena: of a and c live
// one at a time, beside b.
// CHECK: module attributes {tcc.arena_size = 0 : i64, tcc.dynamic_arenas = array<i64: 192>}
// CHECK: kernel.launch loop "a"
// CHECK: arenas = array<i64: 1>
// CHECK-SAME: places = array<i64: [[A:[0-9]+]]>
// CHECK: kernel.launch loop "b"
// CHECK: arenas = array<i64: 1>
// CHECK-SAME: places = array<i64: {{[0-9]+}}>
// CHECK: kernel.launch loop "c"
// CHECK: arenas = array<i64: 1>
// CHECK-SAME: places = array<i64: [[A]]>
// CHECK: kernel.launch loop "d"
// CHECK: places = array<i64: -2>
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
// CHECK: tcc.dynamic_arenas = array<i64: 64, 64>
// CHECK: kernel.launch loop "a"
// CHECK: arenas = array<i64: 1>
// CHECK: kernel.launch loop "b"
// CHECK: arenas = array<i64: 2>
// CHECK: kernel.launch row[1] "c"
// CHECK-NOT: arenas
// CHECK: places = array<i64: -1>
// CHECK: return
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
