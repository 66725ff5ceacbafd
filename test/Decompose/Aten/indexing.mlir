// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// An index out of range stops the run, as in PyTorch.
// CHECK-LABEL: func @embedding
// CHECK: %[[V0:.*]] = prim.constant dense<0> : tensor<3xi64>
// CHECK: %[[V1:.*]] = prim.compare  lt %arg1, %[[V0]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK: %[[V2:.*]] = prim.constant dense<10> : tensor<3xi64>
// CHECK: %[[V3:.*]] = prim.compare  ge %arg1, %[[V2]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK: %[[V4:.*]] = prim.or %[[V1]], %[[V3]] : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
// CHECK: %[[V5:.*]] = prim.reduce  any %[[V4]] [0] : (tensor<3xi1>) -> tensor<i1>
// CHECK: %[[V6:.*]] = prim.extract %[[V5]][0] : (tensor<i1>) -> i1
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[V7:.*]] = arith.xori %[[V6]], %[[TRUE]] : i1
// CHECK: prim.assert %[[V7]], "an index is out of range"
// CHECK: %[[V8:.*]] = prim.take %arg0, %arg1 axis 0 : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
// CHECK: return %[[V8]] : tensor<3x4xf32>
func.func @embedding(%w: tensor<10x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %0 = graph.node "aten" "embedding.default"(%w, %i) {attrs = {indices = #graph.operand<1>, weight = #graph.operand<0>}} : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
