// RUN: tcc-opt %s -tcc-decompose-nodes -cse | FileCheck %s

// MatMul: leading axes are batch axes, broadcast where they differ.
// CHECK-LABEL: func @matmul
// CHECK: %[[V0:.*]] = prim.dot %arg0, %arg1 batch [] x [] contract [2] x [0] : (tensor<8x2x3xf32>, tensor<3x4xf32>) -> tensor<8x2x4xf32>
// CHECK: return %[[V0]] : tensor<8x2x4xf32>
func.func @matmul(%x: tensor<8x2x3xf32>, %y: tensor<3x4xf32>) -> tensor<8x2x4xf32> {
  %0 = graph.node "onnx" "MatMul"(%x, %y) {version = 13 : i64} : (tensor<8x2x3xf32>, tensor<3x4xf32>) -> tensor<8x2x4xf32>
  return %0 : tensor<8x2x4xf32>
}

// Gemm: transposes are a numbering of axes.
// CHECK-LABEL: func @gemm
// CHECK: %[[V0:.*]] = prim.dot %arg0, %arg1 batch [] x [] contract [1] x [1] : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK: %[[V1:.*]] = prim.constant dense<2.000000e+00> : tensor<2x4xf32>
// CHECK: %[[V2:.*]] = prim.mul %[[V0]], %[[V1]] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V3:.*]] = prim.broadcast %arg2 axes [1] sizes() : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK: %[[V4:.*]] = prim.add %[[V2]], %[[V3]] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK: return %[[V4]] : tensor<2x4xf32>
func.func @gemm(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = graph.node "onnx" "Gemm"(%x, %y, %c) {attrs = {alpha = 2.0 : f32, transB = 1 : i64}, version = 13 : i64} : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// SAME_UPPER puts the odd element of padding at the end.
// CHECK-LABEL: func @conv
// CHECK: %[[V0:.*]] = prim.conv %arg0, %arg1 sizes() {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x4x4xf32>
// CHECK: %[[V1:.*]] = prim.reshape %arg2 sizes() : (tensor<4xf32>) -> tensor<1x4x1x1xf32>
// CHECK: %[[V2:.*]] = prim.broadcast %[[V1]] axes [0, 1, 2, 3] sizes() : (tensor<1x4x1x1xf32>) -> tensor<1x4x4x4xf32>
// CHECK: %[[V3:.*]] = prim.add %[[V0]], %[[V2]] : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
// CHECK: return %[[V3]] : tensor<1x4x4x4xf32>
func.func @conv(%x: tensor<1x2x8x8xf32>, %w: tensor<4x2x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = graph.node "onnx" "Conv"(%x, %w, %b) {attrs = {auto_pad = "SAME_UPPER", strides = array<i64: 2, 2>}, version = 11 : i64} : (tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// A transposed convolution is one of its phases, of which each has some of the window's taps; where all have all, nothing is said.
// CHECK-LABEL: func @conv_transpose
// CHECK: prim.conv %arg0, {{.*}}prim.present_taps = array<i64: 1, 3, 5, 15>{{.*}} -> tensor<1x16x8x8xf32>
// CHECK-NOT: prim.present_taps
// CHECK: prim.conv %arg0, {{.*}} -> tensor<1x16x9x9xf32>
// CHECK-NOT: prim.present_taps
// CHECK: prim.conv {{.*}} -> tensor<1x16x8x8xi32>
func.func @conv_transpose(%x: tensor<1x2x8x8xf32>, %w: tensor<2x4x3x3xf32>, %v: tensor<2x4x4x4xf32>, %i: tensor<1x2x8x8xi32>, %u: tensor<2x4x3x3xi32>) -> (tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>, tensor<1x4x16x16xi32>) {
  %0 = graph.node "onnx" "ConvTranspose"(%x, %w) {attrs = {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, output_padding = array<i64: 1, 1>}, version = 11 : i64} : (tensor<1x2x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x16x16xf32>
  %1 = graph.node "onnx" "ConvTranspose"(%x, %v) {attrs = {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>}, version = 11 : i64} : (tensor<1x2x8x8xf32>, tensor<2x4x4x4xf32>) -> tensor<1x4x16x16xf32>
  %2 = graph.node "onnx" "ConvTranspose"(%i, %u) {attrs = {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, output_padding = array<i64: 1, 1>}, version = 11 : i64} : (tensor<1x2x8x8xi32>, tensor<2x4x3x3xi32>) -> tensor<1x4x16x16xi32>
  return %0, %1, %2 : tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>, tensor<1x4x16x16xi32>
}

// Of a dilated kernel the phases do not have what lies between its taps either; of an axis in steps of 1 it stays dilated.
// CHECK-LABEL: func @conv_transpose_dilated
// CHECK: prim.pad {{.*}} interior [0, 0, 2, 0]
// CHECK: prim.conv %arg0, {{.*}}dilations = array<i64: 1, 3>{{.*}}prim.present_taps = array<i64: {{.*}}>{{.*}}strides = array<i64: 1, 1>
func.func @conv_transpose_dilated(%x: tensor<1x2x8x8xf32>, %w: tensor<2x4x3x3xf32>) -> tensor<1x4x21x14xf32> {
  %0 = graph.node "onnx" "ConvTranspose"(%x, %w) {attrs = {strides = array<i64: 2, 1>, dilations = array<i64: 3, 3>}, version = 11 : i64} : (tensor<1x2x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x21x14xf32>
  return %0 : tensor<1x4x21x14xf32>
}

// Of a kernel of 1 with stride 2 one phase in four has a tap: the others are zeros, before the bias. Of a kernel of 3 with
// stride 4, 9 in 16 do.
// CHECK-LABEL: func @conv_transpose_absent
// CHECK: %[[Y:.*]] = prim.conv %arg0, {{.*}} -> tensor<1x4x8x8xf32>
// CHECK: prim.pad %{{.*}} low [0, 0, 0, 0, 0, 0, 0]() {{.*}} : (tensor<1x1x1x1x4x8x8xf32>, tensor<f32>) -> tensor<1x1x2x2x4x8x8xf32>
// CHECK: prim.add %{{.*}} : (tensor<1x4x15x15xf32>, tensor<1x4x15x15xf32>)
// CHECK: prim.conv %arg0, {{.*}} -> tensor<1x36x8x8xf32>
// CHECK: prim.pad %{{.*}} : (tensor<1x1x3x3x4x8x8xf32>, tensor<f32>) -> tensor<1x1x4x4x4x8x8xf32>
func.func @conv_transpose_absent(%x: tensor<1x2x8x8xf32>, %w: tensor<2x4x1x1xf32>, %b: tensor<4xf32>, %v: tensor<2x4x3x3xf32>) -> (tensor<1x4x15x15xf32>, tensor<1x4x31x31xf32>) {
  %0 = graph.node "onnx" "ConvTranspose"(%x, %w, %b) {attrs = {strides = array<i64: 2, 2>}, version = 11 : i64} : (tensor<1x2x8x8xf32>, tensor<2x4x1x1xf32>, tensor<4xf32>) -> tensor<1x4x15x15xf32>
  %1 = graph.node "onnx" "ConvTranspose"(%x, %v) {attrs = {strides = array<i64: 4, 4>}, version = 11 : i64} : (tensor<1x2x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x4x31x31xf32>
  return %0, %1 : tensor<1x4x15x15xf32>, tensor<1x4x31x31xf32>
}

// A fraction of integers is taken before they are cut.
// CHECK-LABEL: func @gemm_of_integers
// CHECK: %[[V0:.*]] = prim.dot %arg0, %arg1 {{.*}} -> tensor<2x4xi32>
// CHECK: %[[V1:.*]] = prim.cast %[[V0]] : (tensor<2x4xi32>) -> tensor<2x4xf64>
// CHECK: %[[V2:.*]] = prim.constant dense<5.000000e-01> : tensor<2x4xf64>
// CHECK: %[[V3:.*]] = prim.mul %[[V1]], %[[V2]]
// CHECK: prim.cast %[[V3]] : (tensor<2x4xf64>) -> tensor<2x4xi32>
func.func @gemm_of_integers(%x: tensor<2x3xi32>, %y: tensor<3x4xi32>) -> tensor<2x4xi32> {
  %0 = graph.node "onnx" "Gemm"(%x, %y) {attrs = {alpha = 0.5 : f32}, version = 13 : i64} : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  return %0 : tensor<2x4xi32>
}

// ConvTranspose of an open image: twice its extent is the same value, however the size is written, and nothing is cut
// off.
// CHECK-LABEL: func @transposed_open
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[H:.*]] = prim.dim %arg0, 2
// CHECK-DAG: %[[W:.*]] = prim.dim %arg0, 3
// CHECK-DAG: %[[HH:.*]] = arith.muli %[[H]], %[[TWO]] : index
// CHECK-DAG: %[[WW:.*]] = arith.muli %[[W]], %[[TWO]] : index
// CHECK: %[[R:.*]] = prim.reshape %{{.*}} sizes(%[[HH]], %[[WW]]) : {{.*}} -> tensor<1x4x?x?xf32>
// CHECK-NOT: prim.slice
// CHECK: return %[[R]]
func.func @transposed_open(%x: tensor<1x3x?x?xf32>, %w: tensor<3x4x2x2xf32>) -> tensor<1x4x?x?xf32> {
  %0 = graph.node "onnx" "ConvTranspose"(%x, %w) {attrs = {strides = array<i64: 2, 2>}, version = 11 : i64} : (tensor<1x3x?x?xf32>, tensor<3x4x2x2xf32>) -> tensor<1x4x?x?xf32>
  return %0 : tensor<1x4x?x?xf32>
}

// Einsum: what sums nothing is multiplied, along the axes of the left operand and those that only the right one has.
// CHECK-LABEL: @einsum_outer
// CHECK-NOT: prim.dot
// CHECK: prim.mul {{.*}} -> tensor<2x3x4x5xf32>
func.func @einsum_outer(%x: tensor<2x3x4xf32>, %y: tensor<2x5x3xf32>) -> tensor<2x3x4x5xf32> {
  %0 = graph.node "onnx" "Einsum"(%x, %y) {attrs = {equation = "bij,bki->bijk"}, version = 12 : i64} : (tensor<2x3x4xf32>, tensor<2x5x3xf32>) -> tensor<2x3x4x5xf32>
  return %0 : tensor<2x3x4x5xf32>
}

// What the result has not is summed by a product.
// CHECK-LABEL: @einsum_product
// CHECK: prim.dot
func.func @einsum_product(%x: tensor<2x3x4xf32>, %y: tensor<2x5x4xf32>) -> tensor<2x3x5xf32> {
  %0 = graph.node "onnx" "Einsum"(%x, %y) {attrs = {equation = "bij,bkj->bik"}, version = 12 : i64} : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// V may be of another type than Q and K, whose type the result has.
// CHECK-LABEL: func @values_of_another_type
// CHECK: prim.cast %arg1 : (tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf16>
// CHECK: return %{{.*}} : tensor<1x2x3x4xf16>
func.func @values_of_another_type(%q: tensor<1x2x3x4xf16>, %v: tensor<1x2x5x4xf32>, %k: tensor<1x2x5x4xf16>) -> tensor<1x2x3x4xf16> {
  %0 = graph.node "onnx" "Attention"(%q, %k, %v) {version = 23 : i64} : (tensor<1x2x3x4xf16>, tensor<1x2x5x4xf16>, tensor<1x2x5x4xf32>) -> tensor<1x2x3x4xf16>
  return %0 : tensor<1x2x3x4xf16>
}
