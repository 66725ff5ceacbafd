// RUN: tcc-opt %s -tcc-fuse-operand-extents | FileCheck %s

// What a reshape keeps and doubles is written as extents of what the kernel reads; a size that is
// no such extent stays an argument.
// CHECK-LABEL: func @doubled
// CHECK: kernel.launch loop "neg" ins(%arg0, %{{.*}} : tensor<?x?x2xf32>, index)
// CHECK: ^bb0(%[[X:.*]]: tensor<?x?x2xf32>, %[[K:.*]]: index)
// CHECK-DAG: %[[N:.*]] = prim.dim %[[X]], 0
// CHECK-DAG: %[[M:.*]] = prim.dim %[[X]], 1
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[MM:.*]] = arith.muli %[[M]], %[[TWO]] : index
// CHECK: prim.reshape %[[X]] sizes(%[[N]], %[[MM]])
// CHECK: prim.broadcast %{{.*}} sizes(%[[N]], %[[MM]], %[[K]])
func.func @doubled(%x: tensor<?x?x2xf32>, %k: index) -> tensor<?x?x?xf32> {
  %c2 = arith.constant 2 : index
  %n = prim.dim %x, 0 : tensor<?x?x2xf32>
  %m = prim.dim %x, 1 : tensor<?x?x2xf32>
  %mm = arith.muli %m, %c2 : index
  %0 = kernel.launch loop "neg" ins(%x, %n, %mm, %k : tensor<?x?x2xf32>, index, index, index) sizes(%n, %mm, %k) {
  ^bb0(%a: tensor<?x?x2xf32>, %i: index, %j: index, %l: index):
    %1 = prim.reshape %a sizes(%i, %j) : (tensor<?x?x2xf32>) -> tensor<?x?xf32>
    %2 = prim.broadcast %1 axes [0, 1] sizes(%i, %j, %l) : (tensor<?x?xf32>) -> tensor<?x?x?xf32>
    %3 = prim.neg %2 : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    kernel.yield %3 : tensor<?x?x?xf32>
  } -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// With one open extent it is known without.
// CHECK-LABEL: func @one
// CHECK: kernel.launch loop "neg" ins(%arg0, %{{.*}} : tensor<?x4xf32>, index)
func.func @one(%x: tensor<?x4xf32>) -> tensor<?x2x2xf32> {
  %n = prim.dim %x, 0 : tensor<?x4xf32>
  %0 = kernel.launch loop "neg" ins(%x, %n : tensor<?x4xf32>, index) sizes(%n) {
  ^bb0(%a: tensor<?x4xf32>, %i: index):
    %1 = prim.reshape %a sizes(%i) : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
    %2 = prim.neg %1 : (tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
    kernel.yield %2 : tensor<?x2x2xf32>
  } -> tensor<?x2x2xf32>
  return %0 : tensor<?x2x2xf32>
}

// A quotient says nothing of what is kept.
// CHECK-LABEL: func @halved
// CHECK: kernel.launch loop "neg" ins(%arg0, %{{.*}} : tensor<?x?xf32>, index)
// CHECK: ^bb0(%{{.*}}: tensor<?x?xf32>, %[[M:.*]]: index)
// CHECK: prim.reshape %{{.*}} sizes(%{{.*}}, %[[M]])
func.func @halved(%x: tensor<?x?xf32>) -> tensor<?x?x2xf32> {
  %c2 = arith.constant 2 : index
  %n = prim.dim %x, 0 : tensor<?x?xf32>
  %m = prim.dim %x, 1 : tensor<?x?xf32>
  %mm = arith.floordivsi %m, %c2 : index
  %0 = kernel.launch loop "neg" ins(%x, %n, %mm : tensor<?x?xf32>, index, index) sizes(%n, %mm) {
  ^bb0(%a: tensor<?x?xf32>, %i: index, %j: index):
    %1 = prim.reshape %a sizes(%i, %j) : (tensor<?x?xf32>) -> tensor<?x?x2xf32>
    %2 = prim.neg %1 : (tensor<?x?x2xf32>) -> tensor<?x?x2xf32>
    kernel.yield %2 : tensor<?x?x2xf32>
  } -> tensor<?x?x2xf32>
  return %0 : tensor<?x?x2xf32>
}

// A broadcast that keeps open axes is given those of what it repeats.
// CHECK-LABEL: func @repeated
// CHECK: kernel.launch loop "mul" ins(%arg0, %arg1 : tensor<?x4x?xf32>, tensor<?x?xf32>)
// CHECK: ^bb0(%{{.*}}: tensor<?x4x?xf32>, %[[S:.*]]: tensor<?x?xf32>)
// CHECK-DAG: %[[N:.*]] = prim.dim %[[S]], 0
// CHECK-DAG: %[[M:.*]] = prim.dim %[[S]], 1
// CHECK: prim.broadcast %[[S]] axes [0, 2] sizes(%[[N]], %[[M]])
func.func @repeated(%x: tensor<?x4x?xf32>, %s: tensor<?x?xf32>) -> tensor<?x4x?xf32> {
  %n = prim.dim %s, 0 : tensor<?x?xf32>
  %m = prim.dim %s, 1 : tensor<?x?xf32>
  %0 = kernel.launch loop "mul" ins(%x, %s, %n, %m : tensor<?x4x?xf32>, tensor<?x?xf32>, index, index) sizes(%n, %m) {
  ^bb0(%a: tensor<?x4x?xf32>, %b: tensor<?x?xf32>, %i: index, %j: index):
    %c = prim.broadcast %b axes [0, 2] sizes(%i, %j) : (tensor<?x?xf32>) -> tensor<?x4x?xf32>
    %d = prim.mul %a, %c : (tensor<?x4x?xf32>, tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
    kernel.yield %d : tensor<?x4x?xf32>
  } -> tensor<?x4x?xf32>
  return %0 : tensor<?x4x?xf32>
}

// Of an extent that comes from elsewhere it may repeat one element.
// CHECK-LABEL: func @repeated_or_not
// CHECK: ^bb0(%{{.*}}: tensor<?x4x?xf32>, %[[S:.*]]: tensor<?x?xf32>, %[[K:.*]]: index)
// CHECK: %[[N:.*]] = prim.dim %[[S]], 0
// CHECK-NOT: prim.dim
// CHECK: prim.broadcast %[[S]] axes [0, 2] sizes(%[[N]], %[[K]])
func.func @repeated_or_not(%x: tensor<?x4x?xf32>, %s: tensor<?x?xf32>, %k: index) -> tensor<?x4x?xf32> {
  %n = prim.dim %s, 0 : tensor<?x?xf32>
  %0 = kernel.launch loop "mul" ins(%x, %s, %n, %k : tensor<?x4x?xf32>, tensor<?x?xf32>, index, index) sizes(%n, %k) {
  ^bb0(%a: tensor<?x4x?xf32>, %b: tensor<?x?xf32>, %i: index, %j: index):
    %c = prim.broadcast %b axes [0, 2] sizes(%i, %j) : (tensor<?x?xf32>) -> tensor<?x4x?xf32>
    %d = prim.mul %a, %c : (tensor<?x4x?xf32>, tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
    kernel.yield %d : tensor<?x4x?xf32>
  } -> tensor<?x4x?xf32>
  return %0 : tensor<?x4x?xf32>
}
