// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// Negative indices count from the end; one out of range stops the run.
// CHECK-LABEL: func @gather
// CHECK: %[[V0:.*]] = prim.constant dense<-5> : tensor<3xi64>
// CHECK: %[[V1:.*]] = prim.compare  lt %arg1, %[[V0]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK: %[[V2:.*]] = prim.constant dense<5> : tensor<3xi64>
// CHECK: %[[V3:.*]] = prim.compare  ge %arg1, %[[V2]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK: %[[V4:.*]] = prim.or %[[V1]], %[[V3]] : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
// CHECK: %[[V5:.*]] = prim.reduce  any %[[V4]] [0] : (tensor<3xi1>) -> tensor<i1>
// CHECK: %[[V6:.*]] = prim.extract %[[V5]][0] : (tensor<i1>) -> i1
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[V7:.*]] = arith.xori %[[V6]], %[[TRUE]] : i1
// CHECK: prim.assert %[[V7]], "an index is out of range"
// CHECK: %[[V8:.*]] = prim.constant dense<0> : tensor<3xi64>
// CHECK: %[[V9:.*]] = prim.compare  lt %arg1, %[[V8]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK: %[[V10:.*]] = prim.add %arg1, %[[V2]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
// CHECK: %[[V11:.*]] = prim.select %[[V9]], %[[V10]], %arg1 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
// CHECK: %[[V12:.*]] = prim.take %arg0, %[[V11]] axis 0 : (tensor<5x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
// CHECK: return %[[V12]] : tensor<3x4xf32>
func.func @gather(%x: tensor<5x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %0 = graph.node "onnx" "Gather"(%x, %i) {attrs = {axis = 0 : i64}, version = 13 : i64} : (tensor<5x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func @scatter
// CHECK: %[[V0:.*]] = prim.reshape %arg1 sizes() : (tensor<2x1xi64>) -> tensor<2xi64>
// CHECK: %[[V1:.*]] = prim.constant dense<-5> : tensor<2xi64>
// CHECK: %[[V2:.*]] = prim.compare  lt %[[V0]], %[[V1]] : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
// CHECK: %[[V3:.*]] = prim.constant dense<5> : tensor<2xi64>
// CHECK: %[[V4:.*]] = prim.compare  ge %[[V0]], %[[V3]] : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
// CHECK: %[[V5:.*]] = prim.or %[[V2]], %[[V4]] : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
// CHECK: %[[V6:.*]] = prim.reduce  any %[[V5]] [0] : (tensor<2xi1>) -> tensor<i1>
// CHECK: %[[V7:.*]] = prim.extract %[[V6]][0] : (tensor<i1>) -> i1
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[V8:.*]] = arith.xori %[[V7]], %[[TRUE]] : i1
// CHECK: prim.assert %[[V8]], "an index is out of range"
// CHECK: %[[V9:.*]] = prim.constant dense<0> : tensor<2x1xi64>
// CHECK: %[[V10:.*]] = prim.compare  lt %arg1, %[[V9]] : (tensor<2x1xi64>, tensor<2x1xi64>) -> tensor<2x1xi1>
// CHECK: %[[V11:.*]] = prim.constant dense<5> : tensor<2x1xi64>
// CHECK: %[[V12:.*]] = prim.add %arg1, %[[V11]] : (tensor<2x1xi64>, tensor<2x1xi64>) -> tensor<2x1xi64>
// CHECK: %[[V13:.*]] = prim.select %[[V10]], %[[V12]], %arg1 : (tensor<2x1xi1>, tensor<2x1xi64>, tensor<2x1xi64>) -> tensor<2x1xi64>
// CHECK: %[[V14:.*]] = prim.scatter_nd  add %arg0, %[[V13]], %arg2 : (tensor<5x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<5x4xf32>
// CHECK: return %[[V14]] : tensor<5x4xf32>
func.func @scatter(%x: tensor<5x4xf32>, %i: tensor<2x1xi64>, %u: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %0 = graph.node "onnx" "ScatterND"(%x, %i, %u) {attrs = {reduction = "add"}, version = 18 : i64} : (tensor<5x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// How many axes tuples of open length index, the ranks of the updates and of the result say; a run must have as many.
// CHECK-LABEL: func @open_tuples
// CHECK: %[[L:.*]] = prim.dim %arg1, 1
// CHECK: %[[OK:.*]] = arith.cmpi eq, %[[L]], %{{.*}} : index
// CHECK: prim.assert %[[OK]], "index tuples and the axes they index: extents of the operands differ"
// CHECK: prim.reshape %arg1 {{.*}} -> tensor<4x2xi64>
// CHECK: prim.scatter_nd
// CHECK: prim.reshape %arg1 {{.*}} -> tensor<4x1xi64>
// CHECK: prim.gather_nd {{.*}} -> tensor<4x6xf32>
func.func @open_tuples(%x: tensor<5x6xf32>, %i: tensor<4x?xi64>, %u: tensor<4xf32>) -> (tensor<5x6xf32>, tensor<?x?xf32>) {
  %0 = graph.node "onnx" "ScatterND"(%x, %i, %u) {version = 18 : i64} : (tensor<5x6xf32>, tensor<4x?xi64>, tensor<4xf32>) -> tensor<5x6xf32>
  %1 = graph.node "onnx" "GatherND"(%x, %i) {version = 13 : i64} : (tensor<5x6xf32>, tensor<4x?xi64>) -> tensor<?x?xf32>
  return %0, %1 : tensor<5x6xf32>, tensor<?x?xf32>
}

// Blocks that a run puts on an image must be those that it has.
// CHECK-LABEL: func @columns_to_image
// CHECK: prim.assert %{{.*}}, "positions of blocks in the image: extents of the operands differ"
func.func @columns_to_image(%x: tensor<1x5x25xf32>, %image: tensor<2xi64>) -> tensor<1x1x?x?xf32> {
  %block = graph.node "onnx" "Constant"() {attrs = {value_ints = array<i64: 1, 5>}, version = 13 : i64} : () -> tensor<2xi64>
  %0 = graph.node "onnx" "Col2Im"(%x, %image, %block) {version = 18 : i64} : (tensor<1x5x25xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x1x?x?xf32>
  return %0 : tensor<1x1x?x?xf32>
}

// CHECK-LABEL: func @unpool_positions
// CHECK: prim.assert %{{.*}}, "MaxUnpool's indices: extents of the operands differ"
func.func @unpool_positions(%x: tensor<1x1x2x2xf32>, %i: tensor<1x1x2x?xi64>) -> tensor<1x1x4x4xf32> {
  %0 = graph.node "onnx" "MaxUnpool"(%x, %i) {attrs = {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>}, version = 11 : i64} : (tensor<1x1x2x2xf32>, tensor<1x1x2x?xi64>) -> tensor<1x1x4x4xf32>
  return %0 : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: func @cache_of_other_heads
// CHECK: prim.assert %{{.*}}, "TensorScatter's update: extents of the operands differ"
func.func @cache_of_other_heads(%cache: tensor<2x3x8x4xf32>, %update: tensor<2x?x1x4xf32>) -> tensor<2x3x8x4xf32> {
  %0 = graph.node "onnx" "TensorScatter"(%cache, %update) {version = 24 : i64} : (tensor<2x3x8x4xf32>, tensor<2x?x1x4xf32>) -> tensor<2x3x8x4xf32>
  return %0 : tensor<2x3x8x4xf32>
}

// The channels of a pixel are a row, and rows are taken from all images at once.
// CHECK-LABEL: func @regions
// CHECK-NOT: prim.take %arg0
// CHECK: %[[X:.*]] = prim.transpose %arg0 [0, 2, 3, 1]
// CHECK: %[[ROWS:.*]] = prim.reshape %[[X]] {{.*}} : (tensor<2x8x8x3xf32>) -> tensor<128x3xf32>
// CHECK-COUNT-4: prim.take %[[ROWS]], {{.*}} (tensor<128x3xf32>, tensor<80xi32>) -> tensor<80x3xf32>
// CHECK: prim.reduce sum {{.*}} [1] : (tensor<20x4x3xf32>) -> tensor<20x3xf32>
func.func @regions(%x: tensor<2x3x8x8xf32>, %r: tensor<5x4xf32>, %i: tensor<5xi64>) -> tensor<5x3x2x2xf32> {
  %0 = graph.node "onnx" "RoiAlign"(%x, %r, %i) {attrs = {sampling_ratio = 2 : i64, output_height = 2 : i64, output_width = 2 : i64}, version = 22 : i64} : (tensor<2x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  return %0 : tensor<5x3x2x2xf32>
}

// Where the extent of a region says how many samples it has, bins are runs of the pixels that these see.
// CHECK-LABEL: func @regions_of_their_own_samples
// CHECK: prim.assert %{{.*}}, "regions of images cover more pixels than 32 bits count"
// CHECK: prim.take %{{.*}}, %{{.*}} axis 0 : (tensor<128x3xf32>, tensor<?xi32>) -> tensor<?x3xf32>
// CHECK: prim.scatter_runs add %{{.*}} : (tensor<20x3xf32>, tensor<20xi32>, tensor<?x3xf32>) -> tensor<20x3xf32>
func.func @regions_of_their_own_samples(%x: tensor<2x3x8x8xf32>, %r: tensor<5x4xf32>, %i: tensor<5xi64>) -> tensor<5x3x2x2xf32> {
  %0 = graph.node "onnx" "RoiAlign"(%x, %r, %i) {attrs = {output_height = 2 : i64, output_width = 2 : i64}, version = 22 : i64} : (tensor<2x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  return %0 : tensor<5x3x2x2xf32>
}

// The largest samples are no sum of pixels.
// CHECK-LABEL: func @largest_of_their_own_samples
// CHECK-NOT: prim.scatter_runs
// CHECK: prim.reduce max {{.*}} [1] : (tensor<20x?x3xf32>) -> tensor<20x3xf32>
func.func @largest_of_their_own_samples(%x: tensor<2x3x8x8xf32>, %r: tensor<5x4xf32>, %i: tensor<5xi64>) -> tensor<5x3x2x2xf32> {
  %0 = graph.node "onnx" "RoiAlign"(%x, %r, %i) {attrs = {mode = "max", output_height = 2 : i64, output_width = 2 : i64}, version = 22 : i64} : (tensor<2x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  return %0 : tensor<5x3x2x2xf32>
}

// An image whose pixels nobody can count has 64 bits for each.
// CHECK-LABEL: func @maxima_of_regions
// CHECK-NOT: prim.assert {{.*}} 32 bits count
// CHECK: prim.scatter_runs max %{{.*}} : (tensor<20x3xf32>, tensor<20xi64>, tensor<?x3xf32>) -> tensor<20x3xf32>
func.func @maxima_of_regions(%x: tensor<2x3x?x8xf32>, %r: tensor<5x5xf32>) -> tensor<5x3x2x2xf32> {
  %0 = graph.node "onnx" "MaxRoiPool"(%x, %r) {attrs = {pooled_shape = array<i64: 2, 2>}, version = 22 : i64} : (tensor<2x3x?x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  return %0 : tensor<5x3x2x2xf32>
}

// Rows are sorted by one column after the other, in a loop where a run alone knows how many there are.
// CHECK-LABEL: func @distinct_rows
// CHECK: %[[C1:.*]] = prim.dim %arg0, 1 : tensor<?x?xf32>
// CHECK: prim.while(
// CHECK: prim.extract %{{.*}}[0]
// CHECK: arith.cmpi slt, %{{.*}}, %[[C1]]
// CHECK: ^bb0(%[[BEFORE:.*]]: tensor<?xi64>, %{{.*}}: tensor<i64>):
// CHECK: %[[COLUMN:.*]] = prim.take %arg0, %{{.*}} axis 1
// CHECK: %[[KEYS:.*]] = prim.reshape %[[COLUMN]]
// CHECK: %[[TAKEN:.*]] = prim.take %[[KEYS]], %[[BEFORE]] axis 0
// CHECK: %{{.*}}, %[[ORDER:.*]] = prim.sort %[[TAKEN]]
// CHECK: prim.take %[[BEFORE]], %[[ORDER]] axis 0
func.func @distinct_rows(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = graph.node "onnx" "Unique"(%x) {attrs = {axis = 0 : i64}, version = 11 : i64} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
