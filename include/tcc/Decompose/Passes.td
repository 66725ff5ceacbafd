//===- Passes.td - The passes of the decompose phase -*- tablegen -*-===//
#ifndef TCC_DECOMPOSE_PASSES_TD
#define TCC_DECOMPOSE_PASSES_TD
include "tcc/Dialect/PassBase.td"

def DecomposeNodesPass : Tcc_Pass<"tcc-decompose-nodes"> {
  let summary = "Give every node its rule's primitives";
  let description = [{
    A file's operators are many, differ from format to format and version to version, and broadcast
    as they like; primitives are few and say everything. A node without a rule, or whose rule
    refuses it, is named in one error with all others. Small weights become constants, whose
    elements rules can look at.

    ```mlir before
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
      %0 = graph.node "onnx" "Relu"(%x) {version = 14 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = graph.node "onnx" "Add"(%0, %y) {version = 14 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }
    ```
    ```mlir after -cse
    func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) -> tensor<2x3xf32> {
      %0 = prim.constant dense<0.000000e+00> : tensor<2x3xf32>
      %1 = prim.maximum %arg0, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %2 = prim.broadcast %arg1 axes [1] sizes() : (tensor<3xf32>) -> tensor<2x3xf32>
      %3 = prim.add %1, %2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      return %3 : tensor<2x3xf32>
    }
    ```

    Runs first, on what import gives, and before everything else, which knows primitives only.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FourierLinesPass : Tcc_Pass<"tcc-decompose-fourier-lines"> {
  let summary = "Take Fourier transforms apart that there is no kernel for";
  let description = [{
    CPUs have a kernel for lines along the last axis, up to a length, and for many short ones
    along any. Longer lines are transformed as rows and columns, those of large prime factors as
    convolutions; short lengths of such factors, and most for a target without kernels, are products
    with matrices of roots.

    ```mlir before
    func.func @main(%x: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
      %0:2 = prim.fourier %x axis 1 {inverse = false} : (tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>)
      return %0#0, %0#1 : tensor<5x2xf32>, tensor<5x2xf32>
    }
    ```
    ```mlir after -cse
    func.func @main(%arg0: tensor<5x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
      %0 = prim.weight "dft2" : tensor<2x4xf32>
      %1 = prim.dot %arg0, %0 batch [] x [] contract [1] x [0] : (tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
      %2 = prim.slice %1 starts [0, 0]() steps [1, 1] sizes() : (tensor<5x4xf32>) -> tensor<5x2xf32>
      %3 = prim.slice %1 starts [0, 2]() steps [1, 1] sizes() : (tensor<5x4xf32>) -> tensor<5x2xf32>
      return %2, %3 : tensor<5x2xf32>, tensor<5x2xf32>
    }
    ```

    Runs after tcc-decompose-nodes; the back-end says for which lines it has kernels.
  }];
  let options = [
    Option<"longest", "longest", "int64_t", "0", "the longest line along the last axis that there is a kernel for; 0: none">,
    Option<"convolves", "convolves", "bool", "true", "whether these may have large prime factors, as convolutions that are no longer">,
    Option<"longestTogether", "longest-together", "int64_t", "0", "the longest of many lines along any axis">,
    Option<"fewestLines", "fewest-lines", "int64_t", "0", "how many lines these are at least">,
    Option<"mirrors", "mirrors", "bool", "false", "whether kernels compute what they read, as rows of real lines that follow from others">,
    Option<"longestOfMany", "longest-of-many", "int64_t", "0", "the longest along any axis of so many lines as manyLines says">,
    Option<"manyLines", "many-lines", "int64_t", "0", "how many lines these are at least">
  ];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def MatrixLoopsPass : Tcc_Pass<"tcc-decompose-matrix-loops"> {
  let summary = "Factor matrices by loops of primitives";
  let description = [{
    CPUs have kernels for LU, Cholesky, QR and what is solved with them, GPUs where a block can
    have a matrix. Others are loops, whose turns are kernels on the whole matrix with masks. Few
    known turns are written out.

    ```mlir before
    func.func @main(%t: tensor<1x1xf32>, %x: tensor<1x2xf32>) -> tensor<1x2xf32> {
      %0 = prim.triangular_solve %t, %x {unit = true, upper = false} : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
      return %0 : tensor<1x2xf32>
    }
    ```
    ```mlir after -tcc-simplify-expressions -cse
    func.func @main(%arg0: tensor<1x1xf32>, %arg1: tensor<1x2xf32>) -> tensor<1x2xf32> {
      %0 = prim.constant dense<0> : tensor<i64>
      %1 = prim.take %arg0, %0 axis 1 : (tensor<1x1xf32>, tensor<i64>) -> tensor<1xf32>
      %2 = prim.take %arg1, %0 axis 0 : (tensor<1x2xf32>, tensor<i64>) -> tensor<2xf32>
      %3 = prim.iota 0 sizes() : tensor<1x1xi64>
      %4 = prim.reshape %2 sizes() : (tensor<2xf32>) -> tensor<1x2xf32>
      %5 = prim.reshape %1 sizes() : (tensor<1xf32>) -> tensor<1x1xf32>
      %6 = prim.broadcast %5 axes [0, 1] sizes() : (tensor<1x1xf32>) -> tensor<1x2xf32>
      %7 = prim.mul %6, %4 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
      %8 = prim.sub %arg1, %7 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
      %9 = prim.constant dense<0> : tensor<1x1xi64>
      %10 = prim.compare  gt %3, %9 : (tensor<1x1xi64>, tensor<1x1xi64>) -> tensor<1x1xi1>
      %11 = prim.broadcast %10 axes [0, 1] sizes() : (tensor<1x1xi1>) -> tensor<1x2xi1>
      %12 = prim.select %11, %8, %arg1 : (tensor<1x2xi1>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
      %13 = prim.compare  eq %3, %9 : (tensor<1x1xi64>, tensor<1x1xi64>) -> tensor<1x1xi1>
      %14 = prim.broadcast %13 axes [0, 1] sizes() : (tensor<1x1xi1>) -> tensor<1x2xi1>
      %15 = prim.select %14, %4, %12 : (tensor<1x2xi1>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
      return %15 : tensor<1x2xf32>
    }
    ```

    Runs after tcc-decompose-nodes, where the back-end asks for it, and before everything that makes
    the loops' bodies simpler.
  }];
  let options = [
    Option<"mostRows", "most-rows", "int64_t", "0", "the rows of the largest matrix, of known extents, that there are kernels for, half as many of f64; 0: none">
  ];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def WideSumsPass : Tcc_Pass<"tcc-decompose-wide-sums"> {
  let summary = "Let scatters of narrow floats sum in f32";
  let description = [{
    A kernel that keeps sums in memory rounds each to its type: 20,000 updates of ten rows of bf16 end
    where the next one is less than half a unit. Sums and products of types narrower than f32 are those
    of f32, rounded at the end. Where few updates meet a large tensor, which would be read and written
    four times instead of once, they stay as they are.

    ```mlir before
    func.func @main(%x: tensor<2xbf16>, %i: tensor<9xi64>, %u: tensor<9xbf16>) -> tensor<2xbf16> {
      %0 = prim.scatter_along add %x, %i, %u axis 0 : (tensor<2xbf16>, tensor<9xi64>, tensor<9xbf16>) -> tensor<2xbf16>
      return %0 : tensor<2xbf16>
    }
    ```
    ```mlir after
    func.func @main(%arg0: tensor<2xbf16>, %arg1: tensor<9xi64>, %arg2: tensor<9xbf16>) -> tensor<2xbf16> {
      %0 = prim.cast %arg0 : (tensor<2xbf16>) -> tensor<2xf32>
      %1 = prim.cast %arg2 : (tensor<9xbf16>) -> tensor<9xf32>
      %2 = prim.scatter_along add %0, %arg1, %1 axis 0 : (tensor<2xf32>, tensor<9xi64>, tensor<9xf32>) -> tensor<2xf32>
      %3 = prim.cast %2 : (tensor<2xf32>) -> tensor<2xbf16>
      return %3 : tensor<2xbf16>
    }
    ```

    Runs after tcc-decompose-nodes, where the back-end asks for it: others sum in registers.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect"];
}
#endif
