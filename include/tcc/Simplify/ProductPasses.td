//===- ProductPasses.td - Passes over products and convolutions -*- tablegen -*-===//
//
// The passes of the simplify phase that change what a product or a convolution multiplies: factors
// of its weights and of its operands, integer weights, and the order of its rows.
//
//===----------------------------------------------------------------------===//
#ifndef TCC_SIMPLIFY_PRODUCT_PASSES_TD
#define TCC_SIMPLIFY_PRODUCT_PASSES_TD
include "tcc/Dialect/PassBase.td"

def FoldScalesPass : Tcc_Pass<"tcc-simplify-fold-scales"> {
  let summary = "Multiply batch norms and scales into the weights before them";
  let description = [{
    What is multiplied by a constant a channel right after a convolution or a matrix product can be
    multiplied into its weights: bias and batch norm leave one addition.

    ```mlir before
    func.func @f(%x: tensor<1x1x8xf32>) -> tensor<1x2x7xf32> {
      %0 = prim.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
      %1 = prim.conv %x, %0 sizes() {strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x2xf32>) -> tensor<1x2x7xf32>
      %2 = prim.constant dense<[2.0, 3.0]> : tensor<2xf32>
      %3 = prim.broadcast %2 axes [1] sizes() : (tensor<2xf32>) -> tensor<1x2x7xf32>
      %4 = prim.add %1, %3 : (tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> tensor<1x2x7xf32>
      %5 = prim.mul %4, %3 : (tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> tensor<1x2x7xf32>
      return %5 : tensor<1x2x7xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<1x1x8xf32>) -> tensor<1x2x7xf32> {
      %0 = prim.constant dense<[[[2.000000e+00, 4.000000e+00]], [[9.000000e+00, 1.200000e+01]]]> : tensor<2x1x2xf32>
      %1 = prim.conv %arg0, %0 sizes() {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 0>, input_dilation = array<i64: 1>, low = array<i64: 0>, strides = array<i64: 1>} : (tensor<1x1x8xf32>, tensor<2x1x2xf32>) -> tensor<1x2x7xf32>
      %2 = prim.constant dense<[2.000000e+00, 3.000000e+00]> : tensor<2xf32>
      %3 = prim.constant dense<[4.000000e+00, 9.000000e+00]> : tensor<2xf32>
      %4 = prim.broadcast %3 axes [1] sizes() : (tensor<2xf32>) -> tensor<1x2x7xf32>
      %5 = prim.add %1, %4 : (tensor<1x2x7xf32>, tensor<1x2x7xf32>) -> tensor<1x2x7xf32>
      return %5 : tensor<1x2x7xf32>
    }
    ```

    Runs after tcc-simplify-fold-constants, which makes one constant of what a model computes from
    its constants, and before layout, which packs the weights.
  }];
}

def DeferScalesPass : Tcc_Pass<"tcc-simplify-defer-scales"> {
  let summary = "Scale the results of products instead of their operands";
  let description = [{
    Attention scales q, or q and k, before their product. Scaled operands would have to be written
    to memory once more; the product is scaled in registers. Not where the sum is a float narrower
    than f32: there the operands may have been scaled so that the result does not overflow.

    ```mlir before
    func.func @f(%q: tensor<8x4xf32>, %k: tensor<8x4xf32>) -> tensor<8x8xf32> {
      %0 = prim.constant dense<5.0e-01> : tensor<8x4xf32>
      %1 = prim.mul %q, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %2 = prim.dot %1, %k batch [] x [] contract [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
      return %2 : tensor<8x8xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<8x8xf32> {
      %0 = prim.dot %arg0, %arg1 batch [] x [] contract [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
      %1 = prim.constant dense<5.000000e-01> : tensor<8x8xf32>
      %2 = prim.mul %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      return %2 : tensor<8x8xf32>
    }
    ```

    Runs after tcc-simplify-fold-scales, which has no scale left to find where the weights took it,
    and before tcc-simplify-compose-views, whose chains a scale would cut.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect"];
}

def RequantizedPass : Tcc_Pass<"tcc-simplify-requantized"> {
  let summary = "Move bytes as bytes between operators that dequantise and quantise them";
  let description = [{
    Quantisers put a rounding around every operator of a model, also around those that move
    elements, compare them or cut them off. With one scale and one zero point before and after,
    each byte becomes what it was: transposes, slices, concatenations, maxima and pools of maxima
    are of bytes, which are a quarter of what floats are.

    ```mlir before
    func.func @f(%x: tensor<8x4xui8>) -> tensor<4x8xui8> {
      %s = prim.constant dense<5.0e-01> : tensor<8x4xf32>
      %z = prim.constant dense<7.0> : tensor<8x4xf32>
      %0 = prim.cast %x : (tensor<8x4xui8>) -> tensor<8x4xf32>
      %1 = prim.sub %0, %z : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %2 = prim.mul %1, %s : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %3 = prim.transpose %2 [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
      %s2 = prim.constant dense<5.0e-01> : tensor<4x8xf32>
      %z2 = prim.constant dense<7.0> : tensor<4x8xf32>
      %4 = prim.div %3, %s2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %5 = prim.round %4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %6 = prim.add %5, %z2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %7 = prim.cast %6 : (tensor<4x8xf32>) -> tensor<4x8xui8>
      return %7 : tensor<4x8xui8>
    }
    ```
    ```mlir after -canonicalize
    func.func @f(%arg0: tensor<8x4xui8>) -> tensor<4x8xui8> {
      %0 = prim.transpose %arg0 [1, 0] : (tensor<8x4xui8>) -> tensor<4x8xui8>
      return %0 : tensor<4x8xui8>
    }
    ```

    Runs before tcc-simplify-integer-products, which finds the bytes behind what moves them.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect"];
}

def IntegerProductsPass : Tcc_Pass<"tcc-simplify-integer-products"> {
  let summary = "Let products of dequantised bytes multiply integers";
  let description = [{
    Quantised models (ONNX QDQ, torch's pt2e) dequantise what a product or a convolution multiplies.
    Bytes are multiplied instead, exactly, and their sums are scaled: a target's instructions for
    bytes do four times as many numbers. A zero point of the input is a number that each column has
    too much; a convolution takes it off itself, and so does an integer one that has been padded with it.
    One of the weights is as often too much as what a row, or a window, sums up to. Both operands of
    a matrix product may be activations, and a run may know their scales and zero points.

    ```mlir before
    func.func @f(%x: tensor<8x4xui8>) -> tensor<8x2xf32> {
      %w = prim.weight "w" : tensor<2x4xi8>
      %s = prim.constant dense<5.0e-01> : tensor<f32>
      %t = prim.constant dense<[2.0, 4.0]> : tensor<2xf32>
      %z = prim.constant dense<7.0> : tensor<8x4xf32>
      %0 = prim.cast %x : (tensor<8x4xui8>) -> tensor<8x4xf32>
      %1 = prim.sub %0, %z : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %2 = prim.broadcast %s axes [] sizes() : (tensor<f32>) -> tensor<8x4xf32>
      %3 = prim.mul %1, %2 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %4 = prim.cast %w : (tensor<2x4xi8>) -> tensor<2x4xf32>
      %5 = prim.broadcast %t axes [0] sizes() : (tensor<2xf32>) -> tensor<2x4xf32>
      %6 = prim.mul %4, %5 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
      %7 = prim.dot %3, %6 batch [] x [] contract [1] x [1] : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32>
      return %7 : tensor<8x2xf32>
    }
    ```
    ```mlir after -canonicalize
    func.func @f(%arg0: tensor<8x4xui8>) -> tensor<8x2xf32> {
      %0 = prim.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
      %1 = prim.constant dense<7> : tensor<2xi32>
      %2 = prim.weight "w" : tensor<2x4xi8>
      %3 = prim.dot %arg0, %2 batch [] x [] contract [1] x [1] : (tensor<8x4xui8>, tensor<2x4xi8>) -> tensor<8x2xi32>
      %4 = prim.cast %2 : (tensor<2x4xi8>) -> tensor<2x4xi32>
      %5 = prim.reduce  sum %4 [1] : (tensor<2x4xi32>) -> tensor<2xi32>
      %6 = prim.mul %5, %1 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
      %7 = prim.broadcast %6 axes [1] sizes() : (tensor<2xi32>) -> tensor<8x2xi32>
      %8 = prim.sub %3, %7 : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
      %9 = prim.cast %8 : (tensor<8x2xi32>) -> tensor<8x2xf32>
      %10 = prim.broadcast %0 axes [1] sizes() : (tensor<2xf32>) -> tensor<8x2xf32>
      %11 = prim.mul %9, %10 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
      return %11 : tensor<8x2xf32>
    }
    ```

    Runs before tcc-simplify-fold-constants, which would make floats of the weights, and only for
    targets that have instructions for such products.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect"];
}

def IntegerWeightsPass : Tcc_Pass<"tcc-simplify-integer-weights"> {
  let summary = "Let products of few rows read weights of 8 bits as they are";
  let description = [{
    Weights of 8 bits with a scale a column are made floats before the product. Folded, they take
    four times the room, and a product of few rows takes as long as its weights take to come from
    memory: the product reads the integers, and its results are scaled.

    ```mlir before
    func.func @f(%x: tensor<1x4xf32>, %scale: tensor<8x1xf32>) -> tensor<1x8xf32> {
      %w = prim.weight "w" : tensor<8x4xi8>
      %0 = prim.cast %w : (tensor<8x4xi8>) -> tensor<8x4xf32>
      %1 = prim.broadcast %scale axes [0, 1] sizes() : (tensor<8x1xf32>) -> tensor<8x4xf32>
      %2 = prim.mul %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %3 = prim.dot %x, %2 batch [] x [] contract [1] x [1] : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<1x8xf32>
      return %3 : tensor<1x8xf32>
    }
    ```
    ```mlir after -canonicalize
    func.func @f(%x: tensor<1x4xf32>, %scale: tensor<8x1xf32>) -> tensor<1x8xf32> {
      %w = prim.weight "w" : tensor<8x4xi8>
      %0 = prim.reshape %scale sizes() : (tensor<8x1xf32>) -> tensor<8xf32>
      %1 = prim.dot %x, %w batch [] x [] contract [1] x [1] : (tensor<1x4xf32>, tensor<8x4xi8>) -> tensor<1x8xf32>
      %2 = prim.broadcast %0 axes [1] sizes() : (tensor<8xf32>) -> tensor<1x8xf32>
      %3 = prim.mul %1, %2 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
      return %3 : tensor<1x8xf32>
    }
    ```

    Runs before tcc-simplify-fold-constants, which would make floats of the weights, and only for
    targets that have kernels for such products.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect"];
}

def ProductRowsPass : Tcc_Pass<"tcc-simplify-product-rows"> {
  let summary = "Let products keep the axes of their rows";
  let description = [{
    Exporters flatten rows before a linear layer and give them their axes back after its bias. Where
    all that lies between is products and elementwise operators, it is computed in the rows' own
    axes: what follows a product is then its epilogue.

    ```mlir before
    func.func @f(%x: tensor<8x16x32xf32>, %w: tensor<64x32xf32>, %b: tensor<64xf32>) -> tensor<8x16x64xf32> {
      %0 = prim.reshape %x sizes() : (tensor<8x16x32xf32>) -> tensor<128x32xf32>
      %1 = prim.dot %0, %w batch [] x [] contract [1] x [1] : (tensor<128x32xf32>, tensor<64x32xf32>) -> tensor<128x64xf32>
      %2 = prim.broadcast %b axes [1] sizes() : (tensor<64xf32>) -> tensor<128x64xf32>
      %3 = prim.add %1, %2 : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
      %4 = prim.reshape %3 sizes() : (tensor<128x64xf32>) -> tensor<8x16x64xf32>
      return %4 : tensor<8x16x64xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<8x16x32xf32>, %arg1: tensor<64x32xf32>, %arg2: tensor<64xf32>) -> tensor<8x16x64xf32> {
      %0 = prim.dot %arg0, %arg1 batch [] x [] contract [2] x [1] : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
      %1 = prim.broadcast %arg2 axes [2] sizes() : (tensor<64xf32>) -> tensor<8x16x64xf32>
      %2 = prim.add %0, %1 : (tensor<8x16x64xf32>, tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
      return %2 : tensor<8x16x64xf32>
    }
    ```

    Runs after tcc-simplify-fold-scales and tcc-simplify-defer-scales, which look at products and
    what is next to them, and before tcc-simplify-compose-views, for what views are left.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect"];
}

def RowOrderPass : Tcc_Pass<"tcc-simplify-row-order"> {
  let summary = "Let products take rows in the order in which they lie";
  let description = [{
    Modules that want the sequence first transpose rows before a product and heads, or the result,
    after it. Where all of the result goes to products over batches or to a transpose back, the
    product takes the rows as they lie: a norm before it is not in the way of a transpose then.

    ```mlir before
    func.func @f(%x: tensor<8x16x32xf32>, %w: tensor<64x32xf32>, %b: tensor<64xf32>) -> tensor<8x16x64xf32> {
      %0 = prim.transpose %x [1, 0, 2] : (tensor<8x16x32xf32>) -> tensor<16x8x32xf32>
      %1 = prim.dot %0, %w batch [] x [] contract [2] x [1] : (tensor<16x8x32xf32>, tensor<64x32xf32>) -> tensor<16x8x64xf32>
      %2 = prim.broadcast %b axes [2] sizes() : (tensor<64xf32>) -> tensor<16x8x64xf32>
      %3 = prim.add %1, %2 : (tensor<16x8x64xf32>, tensor<16x8x64xf32>) -> tensor<16x8x64xf32>
      %4 = prim.transpose %3 [1, 0, 2] : (tensor<16x8x64xf32>) -> tensor<8x16x64xf32>
      return %4 : tensor<8x16x64xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<8x16x32xf32>, %arg1: tensor<64x32xf32>, %arg2: tensor<64xf32>) -> tensor<8x16x64xf32> {
      %0 = prim.dot %arg0, %arg1 batch [] x [] contract [2] x [1] : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
      %1 = prim.broadcast %arg2 axes [2] sizes() : (tensor<64xf32>) -> tensor<8x16x64xf32>
      %2 = prim.add %0, %1 : (tensor<8x16x64xf32>, tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
      return %2 : tensor<8x16x64xf32>
    }
    ```

    Runs after tcc-simplify-product-rows, which gives rows their axes back, and before
    tcc-simplify-compose-views, which joins the transposes that it leaves with those of heads.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect"];
}

def NormOrderPass : Tcc_Pass<"tcc-simplify-norm-order"> {
  let summary = "Let norms take rows in the order in which they are read";
  let description = [{
    A reduction over the last axes, and what is computed from it for each row, are the same wherever the row
    is. If nothing else reads the result than a chain of reshapes, transposes and rolls of the axes
    before those, it moves behind the chain.

    ```mlir before
    func.func @f(%x: tensor<4x6x8xf32>) -> tensor<6x4x8xf32> {
      %0 = prim.reduce max %x [2] : (tensor<4x6x8xf32>) -> tensor<4x6xf32>
      %1 = prim.reshape %0 sizes() : (tensor<4x6xf32>) -> tensor<4x6x1xf32>
      %2 = prim.broadcast %1 axes [0, 1, 2] sizes() : (tensor<4x6x1xf32>) -> tensor<4x6x8xf32>
      %3 = prim.sub %x, %2 : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
      %4 = prim.transpose %3 [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
      return %4 : tensor<6x4x8xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<4x6x8xf32>) -> tensor<6x4x8xf32> {
      %0 = prim.transpose %arg0 [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
      %1 = prim.reduce  max %0 [2] : (tensor<6x4x8xf32>) -> tensor<6x4xf32>
      %2 = prim.reshape %1 sizes() : (tensor<6x4xf32>) -> tensor<6x4x1xf32>
      %3 = prim.broadcast %2 axes [0, 1, 2] sizes() : (tensor<6x4x1xf32>) -> tensor<6x4x8xf32>
      %4 = prim.sub %0, %3 : (tensor<6x4x8xf32>, tensor<6x4x8xf32>) -> tensor<6x4x8xf32>
      return %4 : tensor<6x4x8xf32>
    }
    ```

    Runs after tcc-simplify-row-order, which leaves no transpose to rows that a product takes in any order, and
    before tcc-simplify-compose-views.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect"];
}

#endif // TCC_SIMPLIFY_PRODUCT_PASSES_TD
