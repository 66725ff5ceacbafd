// RUN: tcc-opt %s -split-input-file -tcc-fuse-kernels | FileCheck %s

// Rows that are taken of a transposed image, nobody knows how many, lie in memory as rows first: each would be gathered. Where rows
// of the result begin, and what is taken, may itself be taken: the kernel of the runs computes it.
// CHECK-LABEL: func @rows
// CHECK: %[[T:.*]] = kernel.launch loop "transpose" ins(%arg0
// CHECK: kernel.launch special {{.*}}ins({{.*}}%[[T]]
// CHECK: prim.scatter_runs
func.func @rows(%x: tensor<1x16x8x8xf32>, %b: tensor<20xi32>, %p: tensor<?xi32>, %i: tensor<?xi32>, %s: tensor<20x16xf32>) -> tensor<20x16xf32> {
  %0 = prim.transpose %x [0, 2, 3, 1] : (tensor<1x16x8x8xf32>) -> tensor<1x8x8x16xf32>
  %1 = prim.reshape %0 sizes() : (tensor<1x8x8x16xf32>) -> tensor<64x16xf32>
  %2 = prim.take %p, %i axis 0 : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  %3 = prim.take %1, %2 axis 0 : (tensor<64x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
  %4 = prim.scatter_runs max %s, %b, %3 : (tensor<20x16xf32>, tensor<20xi32>, tensor<?x16xf32>) -> tensor<20x16xf32>
  return %4 : tensor<20x16xf32>
}

// -----

// Fewer rows than the image has are gathered.
// CHECK-LABEL: func @few
// CHECK-NOT: "transpose"
// CHECK: kernel.launch loop {{.*}}ins(%arg0
func.func @few(%x: tensor<1x16x8x8xf32>, %i: tensor<20xi32>) -> tensor<20x16xf32> {
  %0 = prim.transpose %x [0, 2, 3, 1] : (tensor<1x16x8x8xf32>) -> tensor<1x8x8x16xf32>
  %1 = prim.reshape %0 sizes() : (tensor<1x8x8x16xf32>) -> tensor<64x16xf32>
  %2 = prim.take %1, %i axis 0 : (tensor<64x16xf32>, tensor<20xi32>) -> tensor<20x16xf32>
  return %2 : tensor<20x16xf32>
}

// -----

// So are rows of a few elements.
// CHECK-LABEL: func @short
// CHECK-NOT: "transpose"
// CHECK: kernel.launch loop {{.*}}ins(%arg0
func.func @short(%x: tensor<1x2x8x8xf32>, %i: tensor<100xi32>) -> tensor<100x2xf32> {
  %0 = prim.transpose %x [0, 2, 3, 1] : (tensor<1x2x8x8xf32>) -> tensor<1x8x8x2xf32>
  %1 = prim.reshape %0 sizes() : (tensor<1x8x8x2xf32>) -> tensor<64x2xf32>
  %2 = prim.take %1, %i axis 0 : (tensor<64x2xf32>, tensor<100xi32>) -> tensor<100x2xf32>
  return %2 : tensor<100x2xf32>
}
