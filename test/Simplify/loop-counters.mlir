// RUN: tcc-opt %s -split-input-file -tcc-simplify-loop-counters | FileCheck %s

// Kernels get the number as a tensor of one element, as before, in the loop and after it.
// CHECK-LABEL: func @counts
// CHECK: %[[R:.*]]:2 = prim.while(%arg0, %{{.*}}) {
// CHECK: ^bb0(%{{.*}}: tensor<8xf32>, %[[I:.*]]: index):
// CHECK-NOT: prim.extract
// CHECK: arith.cmpi slt, %[[I]], %arg1
// CHECK: ^bb0(%[[A:.*]]: tensor<8xf32>, %[[K:.*]]: index):
// CHECK: %[[T:.*]] = prim.from_elements %[[K]] : (index) -> tensor<i64>
// CHECK: prim.take %[[A]], %[[T]]
// CHECK: %[[N:.*]] = arith.addi %[[K]], %{{.*}} : index
// CHECK: prim.yield %{{.*}}, %[[N]] : tensor<8xf32>, index
// CHECK: %[[LAST:.*]] = prim.from_elements %[[R]]#1 : (index) -> tensor<i64>
// CHECK: return %[[R]]#0, %[[LAST]]
func.func @counts(%x: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<i64>) {
  %0 = prim.constant dense<3> : tensor<i64>
  %r:2 = prim.while(%x, %0) {
  ^bb0(%a: tensor<8xf32>, %k: tensor<i64>):
    %i = prim.extract %k[0] : (tensor<i64>) -> index
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%a: tensor<8xf32>, %k: tensor<i64>):
    %1 = prim.take %a, %k axis 0 : (tensor<8xf32>, tensor<i64>) -> tensor<f32>
    %2 = prim.broadcast %1 axes [] sizes() : (tensor<f32>) -> tensor<8xf32>
    %3 = prim.add %a, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %two = prim.constant dense<2> : tensor<i64>
    %4 = prim.add %two, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
    prim.yield %3, %4 : tensor<8xf32>, tensor<i64>
  } : (tensor<8xf32>, tensor<i64>) -> (tensor<8xf32>, tensor<i64>)
  return %r#0, %r#1 : tensor<8xf32>, tensor<i64>
}

// -----

// What is computed of a counter is known too.
// CHECK-LABEL: func @backwards
// CHECK: ^bb0(%{{.*}}: tensor<8xf32>, %[[K:.*]]: index):
// CHECK: %[[AT:.*]] = arith.subi %{{.*}}, %[[K]] : index
// CHECK: prim.from_elements %[[AT]] : (index) -> tensor<i64>
// CHECK-NOT: prim.sub
// CHECK: prim.yield
func.func @backwards(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = prim.constant dense<0> : tensor<i64>
  %1 = prim.constant dense<1> : tensor<i64>
  %7 = prim.constant dense<7> : tensor<i64>
  %r:2 = prim.while(%x, %0) {
  ^bb0(%a: tensor<8xf32>, %k: tensor<i64>):
    %n = arith.constant 8 : index
    %i = prim.extract %k[0] : (tensor<i64>) -> index
    %more = arith.cmpi slt, %i, %n : index
    prim.yield %more : i1
  } do {
  ^bb0(%a: tensor<8xf32>, %k: tensor<i64>):
    %at = prim.sub %7, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = prim.take %a, %at axis 0 : (tensor<8xf32>, tensor<i64>) -> tensor<f32>
    %3 = prim.broadcast %2 axes [] sizes() : (tensor<f32>) -> tensor<8xf32>
    %4 = prim.add %k, %1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    prim.yield %3, %4 : tensor<8xf32>, tensor<i64>
  } : (tensor<8xf32>, tensor<i64>) -> (tensor<8xf32>, tensor<i64>)
  return %r#0 : tensor<8xf32>
}

// -----

// Not what begins with a number that a kernel makes, grows by one, or is not read by the condition.
// CHECK-LABEL: func @others
// CHECK: prim.while({{.*}}) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i64>, %{{.*}}: tensor<i64>):
func.func @others(%x: tensor<i64>, %n: index) -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %0 = prim.constant dense<0> : tensor<i64>
  %1 = prim.constant dense<1> : tensor<i64>
  %r:3 = prim.while(%x, %0, %0) {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>):
    %i = prim.extract %a[0] : (tensor<i64>) -> index
    %j = prim.extract %b[0] : (tensor<i64>) -> index
    %more = arith.cmpi slt, %i, %j : index
    prim.yield %more : i1
  } do {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>):
    %2 = prim.add %a, %1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %3 = prim.add %b, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %4 = prim.add %c, %1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    prim.yield %2, %3, %4 : tensor<i64>, tensor<i64>, tensor<i64>
  } : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>)
  return %r#0, %r#1, %r#2 : tensor<i64>, tensor<i64>, tensor<i64>
}
