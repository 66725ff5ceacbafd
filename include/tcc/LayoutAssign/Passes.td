//===- Passes.td - Passes of the layout phase -*- tablegen -*-===//
#ifndef TCC_LAYOUTASSIGN_PASSES_TD
#define TCC_LAYOUTASSIGN_PASSES_TD
include "tcc/Dialect/PassBase.td"

def ChannelsLastPass : Tcc_Pass<"tcc-layout-channels-last"> {
  let summary = "Rewrite convolutions and what surrounds them to channels-last";
  let description = [{
    Models come with channels second; kernels want them last. From each convolution the layout
    spreads forward through operators that can follow, so that a transpose back is made only where
    one cannot.

    ```mlir before
    func.func @f(%x: tensor<1x8x10x10xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32> {
      %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x10x10xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32>
      %1 = prim.logistic %0 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
      return %1 : tensor<1x16x8x8xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<1x8x10x10xf32>, %arg1: tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32> {
      %0 = prim.transpose %arg0 [0, 2, 3, 1] : (tensor<1x8x10x10xf32>) -> tensor<1x10x10x8xf32>
      %1 = prim.conv %0, %arg1 sizes() {channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x10x10x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x8x8x16xf32>
      %2 = prim.logistic %1 : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
      %3 = prim.transpose %2 [0, 3, 1, 2] : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
      return %3 : tensor<1x16x8x8xf32>
    }
    ```

    Runs first in layout, after simplify, whose patterns know one layout, and before
    tcc-layout-pack-weights, which packs the weights of channels-last convolutions.
  }];
}

def PackWeightsPass : Tcc_Pass<"tcc-layout-pack-weights"> {
  let summary = "Put the weights of contractions in the order that kernels read";
  let description = [{
    A register tile reads a row of a panel as whole vectors. Weights are constants, so they are put
    in that order when the artefact is written and not in every run. The target says how wide panels
    are; the weights of 3x3 convolutions that are sooner done in tiles (Winograd) are transformed on
    the way.

    ```mlir before -tcc-test-fill-weights
    func.func @f(%x: tensor<8x128xf32>) -> tensor<8x64xf32> {
      %0 = prim.weight "w" : tensor<128x64xf32>
      %1 = prim.dot %x, %0 batch [] x [] contract [1] x [0] : (tensor<8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<8x128xf32>) -> tensor<8x64xf32> {
      %0 = prim.weight "w.panels" : tensor<1x3x128x24xf32>
      %1 = prim.packed_dot %arg0, %0 columns 64 : (tensor<8x128xf32>, tensor<1x3x128x24xf32>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```

    Runs after tcc-layout-channels-last and tcc-simplify-fold-constants, so that weights are entries
    of the table, and before fusion, which groups around packed contractions.
  }];
}
#endif
