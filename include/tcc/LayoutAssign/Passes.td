//===- Passes.td - Passes of the layout phase -*- tablegen -*-===//
#ifndef TCC_LAYOUTASSIGN_PASSES_TD
#define TCC_LAYOUTASSIGN_PASSES_TD
include "tcc/Dialect/PassBase.td"

def NarrowPass : Tcc_Pass<"tcc-layout-narrow"> {
  let summary = "Multiply and store f32 values in 16 bits (--precision bf16 or f16)";
  let description = [{
    Products in 16 bits are faster and their operands half the size. Operands of products and values
    that may lie in memory between two kernels are rounded to the type; sums, reductions and the
    inside of norms and softmax stay in f32, as do inputs and outputs. Where a value is rounded is
    in the IR, so that results do not depend on how kernels are formed.

    ```mlir before precision=bf16 -tcc-test-fill-weights
    func.func @f(%x: tensor<8x12xf32>) -> tensor<8x40xf32> {
      %0 = prim.weight "w" : tensor<12x40xf32>
      %1 = prim.dot %x, %0 batch [] x [] contract [1] x [0] : (tensor<8x12xf32>, tensor<12x40xf32>) -> tensor<8x40xf32>
      return %1 : tensor<8x40xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<8x12xf32>) -> tensor<8x40xf32> {
      %0 = prim.cast %arg0 : (tensor<8x12xf32>) -> tensor<8x12xbf16>
      %1 = prim.weight "w" : tensor<12x40xf32>
      %2 = prim.cast %1 : (tensor<12x40xf32>) -> tensor<12x40xbf16>
      %3 = prim.dot %0, %2 batch [] x [] contract [1] x [0] : (tensor<8x12xbf16>, tensor<12x40xbf16>) -> tensor<8x40xf32>
      return %3 : tensor<8x40xf32>
    }
    ```

    Runs first in layout: scales are in the weights already, and layout sees casts as elementwise.
    Constants are folded after it.
  }];
  let options = [
    Option<"precision", "precision", "::tcc::Precision", "::tcc::Precision::F32",
           "element type of products",
           [{::llvm::cl::values(clEnumValN(::tcc::Precision::F32, "f32", "exact"),
                                clEnumValN(::tcc::Precision::TF32, "tf32", "f32 where no hardware has it"),
                                clEnumValN(::tcc::Precision::BF16, "bf16", "bfloat16"),
                                clEnumValN(::tcc::Precision::F16, "f16", "half"))}]>
  ];
}

def ChannelsLastPass : Tcc_Pass<"tcc-layout-channels-last"> {
  let summary = "Rewrite convolutions and what surrounds them to channels-last";
  let description = [{
    Models come with channels second; kernels want them last. From each convolution the layout
    spreads forward through operators that can follow, so that a transpose back is made only where
    one cannot. A convolution with a filter for each channel has lanes in its lines as well: where a
    target asks for it and all around are planes, it stays.

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

    Runs early in layout, after simplify, whose patterns know one layout, and before
    tcc-layout-pack-weights, which packs the weights of channels-last convolutions.
  }];
  let options = [
    Option<"shortestLine", "shortest-line", "int64_t", "0",
           "the fewest pixels in a line of convolutions with a filter for each channel that stay as they are, where "
           "nothing around them wants channels last; 0: none stays">,
    Option<"mostProducts", "most-products", "int64_t", "0",
           "the most multiplications of such convolutions that stay whatever their lines are; 0: none stays">
  ];
}

def GroupedChannelsPass : Tcc_Pass<"tcc-layout-grouped-channels"> {
  let summary = "Group norms keep the axis of channels";
  let description = [{
    Behind a convolution, channels that are split in groups, for a reduction of each group and what is computed
    from it at each point, stay one axis: pixels are reduced first, then the channels of each group.

    ```mlir before
    func.func @f(%x: tensor<2x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<2x8x6x6xf32> {
      %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x6x6xf32>
      %1 = prim.reshape %0 sizes() : (tensor<2x8x6x6xf32>) -> tensor<2x4x2x6x6xf32>
      %2 = prim.reduce max %1 [2, 3, 4] : (tensor<2x4x2x6x6xf32>) -> tensor<2x4xf32>
      %3 = prim.broadcast %2 axes [0, 1] sizes() : (tensor<2x4xf32>) -> tensor<2x4x2x6x6xf32>
      %4 = prim.sub %1, %3 : (tensor<2x4x2x6x6xf32>, tensor<2x4x2x6x6xf32>) -> tensor<2x4x2x6x6xf32>
      %5 = prim.reshape %4 sizes() : (tensor<2x4x2x6x6xf32>) -> tensor<2x8x6x6xf32>
      return %5 : tensor<2x8x6x6xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<2x3x8x8xf32>, %arg1: tensor<8x3x3x3xf32>) -> tensor<2x8x6x6xf32> {
      %0 = prim.conv %arg0, %arg1 sizes() {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x6x6xf32>
      %1 = prim.reduce  max %0 [2, 3] : (tensor<2x8x6x6xf32>) -> tensor<2x8xf32>
      %2 = prim.reshape %1 sizes() : (tensor<2x8xf32>) -> tensor<2x4x2xf32>
      %3 = prim.reduce  max %2 [2] : (tensor<2x4x2xf32>) -> tensor<2x4xf32>
      %4 = prim.broadcast %3 axes [0, 1] sizes() : (tensor<2x4xf32>) -> tensor<2x4x2xf32>
      %5 = prim.reshape %4 sizes() : (tensor<2x4x2xf32>) -> tensor<2x8xf32>
      %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<2x8xf32>) -> tensor<2x8x6x6xf32>
      %7 = prim.sub %0, %6 : (tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>) -> tensor<2x8x6x6xf32>
      return %7 : tensor<2x8x6x6xf32>
    }
    ```

    Runs before tcc-layout-channels-last, which spreads over what it leaves, where the back-end's kernels of rows
    do not read rows that lie across.
  }];
  let options = [Option<"fewest", "fewest", "int64_t", "0", "the fewest elements of a group">];
  let dependentDialects = ["::tcc::prim::PrimDialect"];
}

def OrientProductsPass : Tcc_Pass<"tcc-layout-orient-products"> {
  let summary = "Products have their lanes where columns lie beside each other";
  let description = [{
    Filters of one point over planes are weights by pixels, unless convolutions or pools are met
    that want channels last: nothing is transposed. Filters of several taps that would leave lanes of a
    vector empty, up to 24, are filters of one point, one for each tap, whose planes are shifted and
    added up. A matrix across what is summed
    by one column is turned round, and columns that lie on both sides of what is summed become a
    batch. Other rows, columns or terms that do not lie one stride apart are copied to be a matrix.
    Convolutions of bf16 and f16 that the CPU has no products for are of f32, unless `--precision` asks for that type.

    ```mlir before
    func.func @f(%x: tensor<1x8x10x10xf32>, %w: tensor<2x8x1x1xf32>) -> tensor<1x2x10x10xf32> {
      %0 = prim.conv %x, %w sizes() {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x10x10xf32>, tensor<2x8x1x1xf32>) -> tensor<1x2x10x10xf32>
      return %0 : tensor<1x2x10x10xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<1x8x10x10xf32>, %arg1: tensor<2x8x1x1xf32>) -> tensor<1x2x10x10xf32> {
      %0 = prim.reshape %arg1 sizes() : (tensor<2x8x1x1xf32>) -> tensor<2x8xf32>
      %1 = prim.reshape %arg0 sizes() : (tensor<1x8x10x10xf32>) -> tensor<8x100xf32>
      %2 = prim.dot %0, %1 batch [] x [] contract [1] x [0] : (tensor<2x8xf32>, tensor<8x100xf32>) -> tensor<2x100xf32>
      %3 = prim.reshape %2 sizes() : (tensor<2x100xf32>) -> tensor<1x2x10x10xf32>
      return %3 : tensor<1x2x10x10xf32>
    }
    ```

    Runs in layout, of the CPU's back-end alone, before tcc-layout-channels-last, which gives all
    other convolutions their order, and before transposes are absorbed, some of which it makes.
  }];
}

def SeparatePoolsPass : Tcc_Pass<"tcc-layout-separate-pools"> {
  let summary = "Pool large windows one axis after the other";
  let description = [{
    Windows that lie beside each other have most of their elements in common. Where reducing one
    axis first reads fewer elements in all, a pool becomes one for each axis. Long windows that lie
    end to end are reduced as parts of their lines. Pools of short lines whose windows lie some elements
    apart read across two transposes, with their channels last. Pools of planes, channels first, stay:
    their kernel reduces all axes but the last first, a line at a time.

    ```mlir before
    func.func @f(%x: tensor<1x20x20x8xf32>) -> tensor<1x20x20x8xf32> {
      %0 = prim.pool max %x sizes() {channels_last = true, window = array<i64: 5, 5>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>} : (tensor<1x20x20x8xf32>) -> tensor<1x20x20x8xf32>
      return %0 : tensor<1x20x20x8xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<1x20x20x8xf32>) -> tensor<1x20x20x8xf32> {
      %0 = prim.pool max %arg0 sizes() {channels_last = true, dilations = array<i64: 1, 1>, high = array<i64: 2, 0>, low = array<i64: 2, 0>, strides = array<i64: 1, 1>, window = array<i64: 5, 1>} : (tensor<1x20x20x8xf32>) -> tensor<1x20x20x8xf32>
      %1 = prim.pool max %0 sizes() {channels_last = true, dilations = array<i64: 1, 1>, high = array<i64: 0, 2>, low = array<i64: 0, 2>, strides = array<i64: 1, 1>, window = array<i64: 1, 5>} : (tensor<1x20x20x8xf32>) -> tensor<1x20x20x8xf32>
      return %1 : tensor<1x20x20x8xf32>
    }
    ```

    Runs in layout, of the CPU's back-end alone (a GPU's block reads what its windows share from
    L1), after tcc-layout-channels-last and before fusion, which makes a kernel of each.
  }];
}

def OrderStatisticsPass : Tcc_Pass<"tcc-layout-order-statistics"> {
  let summary = "Select elements of an order instead of sorting";
  let description = [{
    Where all that is taken of lines in order is the element at one place, or at a few, it is found
    without the order. Short lines are sorted as fast. Lines along another axis than the last are turned
    first, unless lanes keep the few elements that are taken of each.

    ```mlir before
    func.func @f(%x: tensor<10x1001xf32>) -> tensor<10x1xf32> {
      %0:2 = prim.sort %x axis 1 {descending = false} : (tensor<10x1001xf32>) -> (tensor<10x1001xf32>, tensor<10x1001xi64>)
      %1 = prim.slice %0#0 starts [0, 500] () steps [1, 1] sizes() : (tensor<10x1001xf32>) -> tensor<10x1xf32>
      return %1 : tensor<10x1xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<10x1001xf32>) -> tensor<10x1xf32> {
      %c500 = arith.constant 500 : index
      %values, %indices = prim.kth %arg0 k %c500 {descending = false} : (tensor<10x1001xf32>, index) -> (tensor<10x1xf32>, tensor<10x1xi64>)
      return %values : tensor<10x1xf32>
    }
    ```

    Runs in layout, of the CPU's back-end alone (a GPU's block sorts a line as it lies in shared
    memory), before fusion, which makes a kernel of each operator that orders elements.
  }];
}

def SplitReductionsPass : Tcc_Pass<"tcc-layout-split-reductions"> {
  let summary = "Reduce much to little in two steps";
  let description = [{
    On a CPU each task of a reduction makes results of its own. Where these are few and what they
    are made of is much, parts are reduced first, in parallel.

    ```mlir before
    func.func @f(%x: tensor<4096x1024xf32>) -> tensor<f32> {
      %0 = prim.reduce sum %x [0, 1] : (tensor<4096x1024xf32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<4096x1024xf32>) -> tensor<f32> {
      %0 = prim.reshape %arg0 sizes() : (tensor<4096x1024xf32>) -> tensor<256x16x1024xf32>
      %1 = prim.reduce sum %0 [1, 2] : (tensor<256x16x1024xf32>) -> tensor<256xf32>
      %2 = prim.reduce sum %1 [0] : (tensor<256xf32>) -> tensor<f32>
      return %2 : tensor<f32>
    }
    ```

    Runs in layout, of the CPU's back-end alone (GPUs share a reduction among blocks), after all
    that recognises reductions and tcc-layout-vector-products, which makes some, and before
    fusion, which makes a kernel of each.
  }];
}

def VectorProductsPass : Tcc_Pass<"tcc-layout-vector-products"> {
  let summary = "A matrix by a vector is rows summed up";
  let description = [{
    Register tiles have rows and columns. With one column, and rows that lie along what is summed,
    a product is reductions of rows, which read the matrix in the order in which it lies.

    ```mlir before
    func.func @f(%x: tensor<64x128xf32>, %y: tensor<128xf32>) -> tensor<64xf32> {
      %0 = prim.dot %x, %y batch [] x [] contract [1] x [0] : (tensor<64x128xf32>, tensor<128xf32>) -> tensor<64xf32>
      return %0 : tensor<64xf32>
    }
    ```
    ```mlir after -tcc-simplify-views
    func.func @f(%arg0: tensor<64x128xf32>, %arg1: tensor<128xf32>) -> tensor<64xf32> {
      %0 = prim.broadcast %arg1 axes [1] sizes() : (tensor<128xf32>) -> tensor<64x128xf32>
      %1 = prim.mul %arg0, %0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
      %2 = prim.reduce sum %1 [1] : (tensor<64x128xf32>) -> tensor<64xf32>
      return %2 : tensor<64xf32>
    }
    ```

    Runs in layout. On CPUs after tcc-layout-pack-weights: panels of weights that do not stay in L2, or are narrower
    than f32, are read in order as they are. On GPUs for few and long rows, whose sums blocks share.
  }];
  let options = [
    Option<"mostRows", "most-rows", "int64_t", "0", "the most rows that the matrix may have; 0: any number">,
    Option<"shortest", "shortest", "int64_t", "1", "the fewest elements that its rows may have">
  ];
}

def WidenBytesPass : Tcc_Pass<"tcc-layout-widen-bytes"> {
  let summary = "Bytes that are multiplied in pairs come as 16-bit numbers";
  let description = [{
    Instructions that multiply pairs of 16-bit numbers want bytes widened. What a product reads again
    and again, its rows, is widened once, by what makes the bytes; what widens them further reads it too.

    ```mlir before
    func.func @f(%x: tensor<8x64xf32>, %w: tensor<64x32xi8>) -> (tensor<8x32xi32>, tensor<8x64xf32>) {
      %0 = prim.cast %x : (tensor<8x64xf32>) -> tensor<8x64xui8>
      %1 = prim.dot %0, %w batch [] x [] contract [1] x [0] : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
      %2 = prim.cast %0 : (tensor<8x64xui8>) -> tensor<8x64xf32>
      return %1, %2 : tensor<8x32xi32>, tensor<8x64xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<8x64xf32>, %arg1: tensor<64x32xi8>) -> (tensor<8x32xi32>, tensor<8x64xf32>) {
      %0 = prim.cast %arg0 : (tensor<8x64xf32>) -> tensor<8x64xui8>
      %1 = prim.cast %0 : (tensor<8x64xui8>) -> tensor<8x64xi16>
      %2 = prim.dot %1, %arg1 batch [] x [] contract [1] x [0] : (tensor<8x64xi16>, tensor<64x32xi8>) -> tensor<8x32xi32>
      %3 = prim.cast %1 : (tensor<8x64xi16>) -> tensor<8x64xf32>
      return %2, %3 : tensor<8x32xi32>, tensor<8x64xf32>
    }
    ```

    Runs in layout, of the CPU's back-end alone, for CPUs that multiply bytes in pairs: after
    tcc-layout-pack-weights, whose panels say how they are multiplied.
  }];
}

def PackWeightsPass : Tcc_Pass<"tcc-layout-pack-weights"> {
  let summary = "Put the weights of contractions in the order that a CPU's kernels read";
  let dependentDialects = ["::tcc::cpu::CpuDialect"];
  let description = [{
    A register tile reads a row of a panel as whole vectors. Weights are constants, so they are put
    in that order when the artefact is written and not in every run. The target says how wide panels
    are; the weights of 3x3 convolutions that are sooner done in tiles (Winograd) are transformed on
    the way. The contractions stay as they are: the order is the encoding of the weight's type.

    Filters of a convolution that come at run time are turned by every run: what a transpose of them gives is the
    panels, as they lie. Filters that leave lanes of a vector empty are filled up with zeros, where there is one group.

    ```mlir before -tcc-test-fill-weights
    func.func @f(%x: tensor<8x128xf32>) -> tensor<8x64xf32> {
      %0 = prim.weight "w" : tensor<128x64xf32>
      %1 = prim.dot %x, %0 batch [] x [] contract [1] x [0] : (tensor<8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<8x128xf32>) -> tensor<8x64xf32> {
      %0 = prim.weight "w.panels" : tensor<128x64xf32, #cpu.panels<k = [0], columns = 1, width = 24>>
      %1 = prim.dot %arg0, %0 batch [] x [] contract [1] x [0] : (tensor<8x128xf32>, tensor<128x64xf32, #cpu.panels<k = [0], columns = 1, width = 24>>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```

    Runs after tcc-layout-channels-last and tcc-simplify-fold-constants, so that weights are entries
    of the table, and before fusion, which leaves what such a contraction reads in memory as it is.
  }];
}

def GroupedWeightsPass : Tcc_Pass<"tcc-layout-grouped-weights"> {
  let summary = "Let products read small integers that have a scale a group";
  let dependentDialects = ["::tcc::cpu::CpuDialect"];
  let description = [{
    Weights of up to 8 bits with a scale, and a zero point or a shift, for each group along the sum stay
    integers in the artefact and in memory; products of any number of rows widen them where they
    multiply them.

    ```mlir before
    func.func @f(%x: tensor<?x64xf32>, %m: index) -> tensor<?x4xf32> {
      %w = prim.constant dense<11> : tensor<4x2x32xui8>
      %scale = prim.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]], [[7.0], [8.0]]]> : tensor<4x2x1xf32>
      %0 = prim.cast %w : (tensor<4x2x32xui8>) -> tensor<4x2x32xf32>
      %1 = prim.broadcast %scale axes [0, 1, 2] sizes() : (tensor<4x2x1xf32>) -> tensor<4x2x32xf32>
      %2 = prim.mul %0, %1 : (tensor<4x2x32xf32>, tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
      %3 = prim.reshape %2 sizes() : (tensor<4x2x32xf32>) -> tensor<4x64xf32>
      %4 = prim.dot %x, %3 batch [] x [] contract [1] x [1] : (tensor<?x64xf32>, tensor<4x64xf32>) -> tensor<?x4xf32>
      return %4 : tensor<?x4xf32>
    }
    ```
    ```mlir after -canonicalize
    func.func @f(%arg0: tensor<?x64xf32>, %arg1: index) -> tensor<?x4xf32> {
      %0 = prim.weight "integers.grouped" : tensor<4x64xf32, #cpu.grouped<columns = 0, width = 8, group = 32, bits = 4, zero = 0>>
      %1 = prim.dot %arg0, %0 batch [] x [] contract [1] x [1] : (tensor<?x64xf32>, tensor<4x64xf32, #cpu.grouped<columns = 0, width = 8, group = 32, bits = 4, zero = 0>>) -> tensor<?x4xf32>
      return %1 : tensor<?x4xf32>
    }
    ```

    Runs in simplify, of the CPU's back-end alone, before tcc-simplify-fold-constants, which would make floats
    of the integers: what they are must be known, and how they lie is the target's.
  }];
}

def FilterGradientsPass : Tcc_Pass<"tcc-layout-filter-gradients"> {
  let summary = "Make one product of rows of a filter's gradient";
  let description = [{
    A filter's gradient is a product for each tap of its window, each over batch and positions, of operands whose
    channels lie far apart. With channels last it is one product of two matrices, whose columns are the channels that
    all taps see; where each channel is a group of its own, sums of columns.

    ```mlir before
    func.func @f(%g: tensor<4x1x8x6xf32>, %x: tensor<4x8x7xf32>) -> tensor<1x8x8x2xf32> {
      %0 = prim.slice %x starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<4x8x7xf32>) -> tensor<4x8x6xf32>
      %1 = prim.reshape %0 sizes() : (tensor<4x8x6xf32>) -> tensor<4x1x8x6xf32>
      %2 = prim.dot %g, %1 batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x1x8x6xf32>, tensor<4x1x8x6xf32>) -> tensor<1x8x8xf32>
      %3 = prim.reshape %2 sizes() : (tensor<1x8x8xf32>) -> tensor<1x8x8x1xf32>
      %4 = prim.slice %x starts [0, 0, 1]() steps [1, 1, 1] sizes() : (tensor<4x8x7xf32>) -> tensor<4x8x6xf32>
      %5 = prim.reshape %4 sizes() : (tensor<4x8x6xf32>) -> tensor<4x1x8x6xf32>
      %6 = prim.dot %g, %5 batch [1] x [1] contract [0, 3] x [0, 3] : (tensor<4x1x8x6xf32>, tensor<4x1x8x6xf32>) -> tensor<1x8x8xf32>
      %7 = prim.reshape %6 sizes() : (tensor<1x8x8xf32>) -> tensor<1x8x8x1xf32>
      %8 = prim.concat %3, %7 axis 3 : (tensor<1x8x8x1xf32>, tensor<1x8x8x1xf32>) -> tensor<1x8x8x2xf32>
      return %8 : tensor<1x8x8x2xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<4x1x8x6xf32>, %arg1: tensor<4x8x7xf32>) -> tensor<1x8x8x2xf32> {
      %0 = prim.reshape %arg0 sizes() : (tensor<4x1x8x6xf32>) -> tensor<4x8x6xf32>
      %1 = prim.transpose %0 [0, 2, 1] : (tensor<4x8x6xf32>) -> tensor<4x6x8xf32>
      %2 = prim.reshape %1 sizes() : (tensor<4x6x8xf32>) -> tensor<24x8xf32>
      %3 = prim.transpose %arg1 [0, 2, 1] : (tensor<4x8x7xf32>) -> tensor<4x7x8xf32>
      %4 = prim.slice %3 starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<4x7x8xf32>) -> tensor<4x6x8xf32>
      %5 = prim.reshape %4 sizes() : (tensor<4x6x8xf32>) -> tensor<4x6x1x8xf32>
      %6 = prim.slice %3 starts [0, 1, 0]() steps [1, 1, 1] sizes() : (tensor<4x7x8xf32>) -> tensor<4x6x8xf32>
      %7 = prim.reshape %6 sizes() : (tensor<4x6x8xf32>) -> tensor<4x6x1x8xf32>
      %8 = prim.concat %5, %7 axis 2 : (tensor<4x6x1x8xf32>, tensor<4x6x1x8xf32>) -> tensor<4x6x2x8xf32>
      %9 = prim.reshape %8 sizes() : (tensor<4x6x2x8xf32>) -> tensor<24x16xf32>
      %10 = prim.dot %2, %9 batch [] x [] contract [0] x [0] : (tensor<24x8xf32>, tensor<24x16xf32>) -> tensor<8x16xf32>
      %11 = prim.reshape %10 sizes() : (tensor<8x16xf32>) -> tensor<8x2x8xf32>
      %12 = prim.transpose %11 [0, 2, 1] : (tensor<8x2x8xf32>) -> tensor<8x8x2xf32>
      %13 = prim.reshape %12 sizes() : (tensor<8x8x2xf32>) -> tensor<1x8x8x2xf32>
      return %13 : tensor<1x8x8x2xf32>
    }
    ```

    Runs behind tcc-layout-channels-last and tcc-simplify-absorb-transposes, which would read the operands as they
    lie again, for targets that copy what each tap sees.
  }];
}

def KMajorWeightsPass : Tcc_Pass<"tcc-layout-k-major-weights"> {
  let summary = "Put the weights of products in rows of what each result sums";
  let description = [{
    Matrix units and 16-byte copies take both operands along k. Weights are constants, so those of
    products in 8 or 16 bits, or of few rows, are put in that order when the artefact is written and not in every
    run. A convolution of single points is a product of its pixels, and becomes one, as one of few
    channels whose windows do not overlap becomes a product of patches; the filters of other channels-last convolutions lie window first, then channels, in any type. Fewer than four
    channels are filled up with zeros where matrix units multiply them, and others to whole accesses
    where a transpose puts them last. Neighbouring groups of few channels become one of 64 whose
    filters are zero at each other's channels. Columns along several axes become one.

    ```mlir before -tcc-test-fill-weights
    func.func @f(%x: tensor<8x24xbf16>) -> tensor<8x64xf32> {
      %0 = prim.weight "w" : tensor<24x64xbf16>
      %1 = prim.dot %x, %0 batch [] x [] contract [1] x [0] : (tensor<8x24xbf16>, tensor<24x64xbf16>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<8x24xbf16>) -> tensor<8x64xf32> {
      %0 = prim.weight "w.rows" : tensor<64x24xbf16>
      %1 = prim.dot %arg0, %0 batch [] x [] contract [1] x [1] : (tensor<8x24xbf16>, tensor<64x24xbf16>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```

    Runs where tcc-layout-pack-weights does, for targets whose kernels read weights so: after
    tcc-layout-channels-last and tcc-simplify-fold-constants, and before fusion.
  }];
}

def ProductColumnsPass : Tcc_Pass<"tcc-layout-product-columns"> {
  let summary = "Let what follows a product be computed in its columns";
  let description = [{
    Columns that are heads by features, or experts by hidden units, are split behind a product; biases have those
    axes. Where all that follows, up to views, other products and the end of the block, is elementwise and reads the
    same for all rows, it is computed in the product's own columns: it is the product's epilogue then.

    ```mlir before
    func.func @f(%x: tensor<16x32xf32>, %w: tensor<64x32xf32>, %b: tensor<8x8xf32>) -> tensor<16x8x8xf32> {
      %0 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<16x64xf32>
      %1 = prim.reshape %0 sizes() : (tensor<16x64xf32>) -> tensor<16x8x8xf32>
      %2 = prim.broadcast %b axes [1, 2] sizes() : (tensor<8x8xf32>) -> tensor<16x8x8xf32>
      %3 = prim.add %1, %2 : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
      return %3 : tensor<16x8x8xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<16x32xf32>, %arg1: tensor<64x32xf32>, %arg2: tensor<8x8xf32>) -> tensor<16x8x8xf32> {
      %0 = prim.dot %arg0, %arg1 batch [] x [] contract [1] x [1] : (tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<16x64xf32>
      %1 = prim.reshape %arg2 sizes() : (tensor<8x8xf32>) -> tensor<64xf32>
      %2 = prim.broadcast %1 axes [1] sizes() : (tensor<64xf32>) -> tensor<16x64xf32>
      %3 = prim.add %0, %2 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
      %4 = prim.reshape %3 sizes() : (tensor<16x64xf32>) -> tensor<16x8x8xf32>
      return %4 : tensor<16x8x8xf32>
    }
    ```

    Runs in layout of targets whose templates' epilogues have the product's columns, after
    tcc-layout-k-major-weights, which joins columns, and before tcc-layout-join-products, which joins biases as well.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect"];
}

def JoinProductsPass : Tcc_Pass<"tcc-layout-join-products"> {
  let summary = "Make one product of several that read the same rows";
  let description = [{
    Queries, keys and values are products of the same rows by several weights. Those are put below
    one another, with what follows all products in the same way, and slices of the result are read
    instead. Products stay apart where something elementwise follows only some of them: it is
    their epilogue.

    ```mlir before -tcc-test-fill-weights
    func.func @f(%x: tensor<8x32xbf16>) -> tensor<8x8xf32> {
      %0 = prim.weight "q" : tensor<16x32xbf16>
      %1 = prim.dot %x, %0 batch [] x [] contract [1] x [1] : (tensor<8x32xbf16>, tensor<16x32xbf16>) -> tensor<8x16xf32>
      %2 = prim.weight "k" : tensor<16x32xbf16>
      %3 = prim.dot %x, %2 batch [] x [] contract [1] x [1] : (tensor<8x32xbf16>, tensor<16x32xbf16>) -> tensor<8x16xf32>
      %4 = prim.dot %1, %3 batch [] x [] contract [1] x [1] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
      return %4 : tensor<8x8xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<8x32xbf16>) -> tensor<8x8xf32> {
      %0 = prim.weight "q+k" : tensor<32x32xbf16>
      %1 = prim.dot %arg0, %0 batch [] x [] contract [1] x [1] : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xf32>
      %2 = prim.slice %1 starts [0, 0]() steps [1, 1] sizes() : (tensor<8x32xf32>) -> tensor<8x16xf32>
      %3 = prim.slice %1 starts [0, 16]() steps [1, 1] sizes() : (tensor<8x32xf32>) -> tensor<8x16xf32>
      %4 = prim.dot %2, %3 batch [] x [] contract [1] x [1] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
      return %4 : tensor<8x8xf32>
    }
    ```

    Runs after tcc-layout-k-major-weights, since rows of k are what is put below one another, and
    before fusion.
  }];
}
#endif
