//===- Passes.td - Passes of the simplify phase -*- tablegen -*-===//
//
// Passes that make the graph smaller without knowing a target. Each keeps values within what IEEE
// allows it to assume (lib/Simplify/Algebra.cpp says what that is), because a model's accuracy is
// its author's business.
//
//===----------------------------------------------------------------------===//
#ifndef TCC_SIMPLIFY_PASSES_TD
#define TCC_SIMPLIFY_PASSES_TD
include "tcc/Dialect/PassBase.td"
include "tcc/Simplify/ProductPasses.td"

def CommonSubexpressionsPass : Tcc_Pass<"tcc-simplify-common-subexpressions"> {
  let summary = "Compute equal operators, with equal regions, once";
  let description = [{
    Every rule of decompose makes its own constants, extents and casts, and exporters unroll loops.
    MLIR's own pass compares operators with regions one by one with every other; a thousand `if` on
    one condition are half a million comparisons. This one is linear.

    ```mlir before
    func.func @f(%x: tensor<4xf32>, %c: i1) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = prim.if %c {
        %2 = prim.exp %x : (tensor<4xf32>) -> tensor<4xf32>
        prim.yield %2 : tensor<4xf32>
      } else {
        prim.yield %x : tensor<4xf32>
      } : tensor<4xf32>
      %1 = prim.if %c {
        %2 = prim.exp %x : (tensor<4xf32>) -> tensor<4xf32>
        prim.yield %2 : tensor<4xf32>
      } else {
        prim.yield %x : tensor<4xf32>
      } : tensor<4xf32>
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<4xf32>, %arg1: i1) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = prim.if %arg1 {
        %1 = prim.exp %arg0 : (tensor<4xf32>) -> tensor<4xf32>
        prim.yield %1 : tensor<4xf32>
      } else {
        prim.yield %arg0 : tensor<4xf32>
      } : tensor<4xf32>
      return %0, %0 : tensor<4xf32>, tensor<4xf32>
    }
    ```

    Runs first in simplify, so that patterns see one operator where there is one value, after the
    weights are packed, and after fusion, when equal kernels have become comparable.
  }];
}

def AbsorbTransposesPass : Tcc_Pass<"tcc-simplify-absorb-transposes"> {
  let summary = "Number the axes of contractions so that transposes of operands vanish";
  let description = [{
    Exporters transpose what a matrix product reads (attention heads, `linear.weight.T`). A product
    names the axes that it pairs, so a transpose of an operand is only another numbering, as long as
    its free axes stay in order. What is computed for a product alone from transposes that put an
    axis of its batch last is computed with the batch first.

    ```mlir before
    func.func @f(%q: tensor<2x8x4xf32>, %k: tensor<2x16x4xf32>) -> tensor<2x8x16xf32> {
      %0 = prim.transpose %k [0, 2, 1] : (tensor<2x16x4xf32>) -> tensor<2x4x16xf32>
      %1 = prim.dot %q, %0 batch [0] x [0] contract [2] x [1] : (tensor<2x8x4xf32>, tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
      return %1 : tensor<2x8x16xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<2x8x4xf32>, %arg1: tensor<2x16x4xf32>) -> tensor<2x8x16xf32> {
      %0 = prim.dot %arg0, %arg1 batch [0] x [0] contract [2] x [2] : (tensor<2x8x4xf32>, tensor<2x16x4xf32>) -> tensor<2x8x16xf32>
      return %0 : tensor<2x8x16xf32>
    }
    ```

    Runs before tcc-simplify-fold-constants, which would transpose a large weight, and again after
    tcc-simplify-compose-views, which leaves one transpose where there were several.
  }];
}

def SharedOperandsPass : Tcc_Pass<"tcc-simplify-shared-operands"> {
  let summary = "Let products read once what several heads share";
  let description = [{
    Heads of queries that share keys and values are rows of one product, instead of a batch for
    which keys and values are repeated. A batch axis along which both operands are repeated repeats
    the product, which is computed once; where the left one alone is, it is one of the columns.

    ```mlir before
    func.func @f(%q: tensor<8x5x4xf32>, %k: tensor<2x16x4xf32>) -> tensor<8x5x16xf32> {
      %0 = prim.broadcast %k axes [0, 2, 3] sizes() : (tensor<2x16x4xf32>) -> tensor<2x4x16x4xf32>
      %1 = prim.reshape %0 sizes() : (tensor<2x4x16x4xf32>) -> tensor<8x16x4xf32>
      %2 = prim.dot %q, %1 batch [0] x [0] contract [2] x [2] : (tensor<8x5x4xf32>, tensor<8x16x4xf32>) -> tensor<8x5x16xf32>
      return %2 : tensor<8x5x16xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<8x5x4xf32>, %arg1: tensor<2x16x4xf32>) -> tensor<8x5x16xf32> {
      %0 = prim.reshape %arg0 sizes() : (tensor<8x5x4xf32>) -> tensor<2x4x5x4xf32>
      %1 = prim.dot %0, %arg1 batch [0] x [0] contract [3] x [2] : (tensor<2x4x5x4xf32>, tensor<2x16x4xf32>) -> tensor<2x4x5x16xf32>
      %2 = prim.reshape %1 sizes() : (tensor<2x4x5x16xf32>) -> tensor<8x5x16xf32>
      return %2 : tensor<8x5x16xf32>
    }
    ```

    Runs after tcc-simplify-absorb-transposes, since keys are transposed after they were repeated.
  }];
}

def FoldConstantsPass : Tcc_Pass<"tcc-simplify-fold-constants"> {
  let summary = "Compute what does not depend on inputs";
  let description = [{
    Batch-norm scales, transposed and cast weights and shape arithmetic that became tensors are
    computed once, by the reference interpreter. What would only make the artefact bigger stays: an
    iota or a causal mask is cheaper to compute in the kernel that reads it.

    ```mlir before -tcc-test-fill-weights
    func.func @f(%x: tensor<8x128xf32>) -> tensor<8x64xf32> {
      %0 = prim.weight "w" : tensor<64x128xf32>
      %1 = prim.transpose %0 [1, 0] : (tensor<64x128xf32>) -> tensor<128x64xf32>
      %2 = prim.neg %1 : (tensor<128x64xf32>) -> tensor<128x64xf32>
      %3 = prim.dot %x, %2 batch [] x [] contract [1] x [0] : (tensor<8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32>
      return %3 : tensor<8x64xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<8x128xf32>) -> tensor<8x64xf32> {
      %0 = prim.weight "w.neg" : tensor<128x64xf32>
      %1 = prim.dot %arg0, %0 batch [] x [] contract [1] x [0] : (tensor<8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```

    Runs after tcc-simplify-common-subexpressions, so that nothing is evaluated twice, and after
    every pass that leaves operators on constants. tcc-opt has no weights: -tcc-test-fill-weights
    makes some.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tcc::prim::PrimDialect"];
}

def ReachedTapsPass : Tcc_Pass<"tcc-simplify-reached-taps"> {
  let summary = "Leave taps out that meet padding alone";
  let description = [{
    The first and the last taps of a filter that lie outside of the image at every place are not
    multiplied.

    ```mlir before
    func.func @f(%x: tensor<1x8x4xf32>, %w: tensor<16x8x9xf32>) -> tensor<1x16x2xf32> {
      %0 = prim.conv %x, %w sizes() {strides = array<i64: 3>, dilations = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 4>, high = array<i64: 4>, groups = 1 : i64} : (tensor<1x8x4xf32>, tensor<16x8x9xf32>) -> tensor<1x16x2xf32>
      return %0 : tensor<1x16x2xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<1x8x4xf32>, %arg1: tensor<16x8x9xf32>) -> tensor<1x16x2xf32> {
      %0 = prim.slice %arg1 starts [0, 0, 1]() steps [1, 1, 1] sizes() : (tensor<16x8x9xf32>) -> tensor<16x8x7xf32>
      %1 = prim.conv %arg0, %0 sizes() {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 3>, input_dilation = array<i64: 1>, low = array<i64: 3>, strides = array<i64: 3>} : (tensor<1x8x4xf32>, tensor<16x8x7xf32>) -> tensor<1x16x2xf32>
      return %1 : tensor<1x16x2xf32>
    }
    ```

    Runs after the passes that look for quantised weights, which a slice would hide, and before
    constants are folded for the last time, which slices weights.
  }];
}

def ExpressionsPass : Tcc_Pass<"tcc-simplify-expressions"> {
  let summary = "Rewrite expressions to simpler ones";
  let description = [{
    The patterns of tcc-simplify-algebra, -cast-chains, -selects, -views, -broadcasts and -gathers
    together, until none matches: a vanished cast brings two additions together, a composed slice two
    transposes.

    ```mlir before
    func.func @f(%x: tensor<4xi32>) -> tensor<4xi32> {
      %0 = prim.constant dense<3> : tensor<4xi32>
      %1 = prim.add %x, %0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
      %2 = prim.cast %1 : (tensor<4xi32>) -> tensor<4xi64>
      %3 = prim.cast %2 : (tensor<4xi64>) -> tensor<4xi32>
      %4 = prim.add %3, %0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
      return %4 : tensor<4xi32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<4xi32>) -> tensor<4xi32> {
      %0 = prim.constant dense<6> : tensor<4xi32>
      %1 = prim.add %arg0, %0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
      return %1 : tensor<4xi32>
    }
    ```

    Runs after tcc-simplify-fold-constants, which shows what is constant, and before
    tcc-simplify-fold-scales, which looks for chains of arithmetic without casts in between.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect"];
}

def AlgebraPass : Tcc_Pass<"tcc-simplify-algebra"> {
  let summary = "Do arithmetic that is known beforehand";
  let description = [{
    Integers wrap, so every identity of a ring holds. Floats are rewritten where the result is the
    same for every x, NaN and the sign of zero included, and where one rounding falls away; a pair
    that a model rounds by, `(x + 12582912) - 12582912`, stays.

    ```mlir before
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = prim.constant dense<8.0> : tensor<4xf32>
      %1 = prim.neg %x : (tensor<4xf32>) -> tensor<4xf32>
      %2 = prim.sub %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = prim.div %2, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
      %0 = prim.constant dense<8.000000e+00> : tensor<4xf32>
      %1 = prim.add %arg0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %2 = prim.constant dense<1.250000e-01> : tensor<4xf32>
      %3 = prim.mul %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }
    ```

    Runs within a fixed point, because each rewrite may make the next. The pipeline runs it as a
    part of tcc-simplify-expressions; alone, it is for tests.
  }];
}

def CastChainsPass : Tcc_Pass<"tcc-simplify-cast-chains"> {
  let summary = "Make one cast of several";
  let description = [{
    Exporters cast to compute in f32 and cast back, and cast again. A chain through a type that
    rounds changes values and stays.

    ```mlir before
    func.func @f(%x: tensor<4xf16>) -> tensor<4xbf16> {
      %0 = prim.cast %x : (tensor<4xf16>) -> tensor<4xf32>
      %1 = prim.cast %0 : (tensor<4xf32>) -> tensor<4xf64>
      %2 = prim.cast %1 : (tensor<4xf64>) -> tensor<4xbf16>
      return %2 : tensor<4xbf16>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<4xf16>) -> tensor<4xbf16> {
      %0 = prim.cast %arg0 : (tensor<4xf16>) -> tensor<4xbf16>
      return %0 : tensor<4xbf16>
    }
    ```

    Runs within a fixed point, because a chain ends where arithmetic stands between. The pipeline
    runs it as a part of tcc-simplify-expressions; alone, it is for tests.
  }];
}

def SelectsPass : Tcc_Pass<"tcc-simplify-selects"> {
  let summary = "Make choices whose outcome is known";
  let description = [{
    Masks come as `where(not(mask), x, y)`, and comparisons of a value with itself ask for NaN. `!(x
    < y)` of floats is not `x >= y`, and stays.

    ```mlir before
    func.func @f(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = prim.not %c : (tensor<4xi1>) -> tensor<4xi1>
      %1 = prim.select %0, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<4xi1>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> tensor<4xf32> {
      %0 = prim.select %arg0, %arg2, %arg1 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```

    Runs within a fixed point, because conditions become known by other rewrites. The pipeline runs
    it as a part of tcc-simplify-expressions; alone, it is for tests.
  }];
}

def ViewsPass : Tcc_Pass<"tcc-simplify-views"> {
  let summary = "Compose views of views";
  let description = [{
    Transposes, reshapes, broadcasts, slices, reverses and concatenations that undo each other
    vanish; others are composed, so that a kernel computes one index and not several.

    ```mlir before
    func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x2xf32>) -> tensor<4x3xf32> {
      %0 = prim.concat %x, %y axis 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
      %1 = prim.slice %0 starts [0, 2]() steps [1, 1] sizes() : (tensor<4x8xf32>) -> tensor<4x4xf32>
      %2 = prim.slice %1 starts [0, 1]() steps [1, 1] sizes() : (tensor<4x4xf32>) -> tensor<4x3xf32>
      return %2 : tensor<4x3xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<4x6xf32>, %arg1: tensor<4x2xf32>) -> tensor<4x3xf32> {
      %0 = prim.slice %arg0 starts [0, 3]() steps [1, 1] sizes() : (tensor<4x6xf32>) -> tensor<4x3xf32>
      return %0 : tensor<4x3xf32>
    }
    ```

    Runs within a fixed point, because arithmetic between views may vanish. The pipeline runs it as
    a part of tcc-simplify-expressions; alone, it is for tests.
  }];
}

def BroadcastsPass : Tcc_Pass<"tcc-simplify-broadcasts"> {
  let summary = "Compute before repeating";
  let description = [{
    What is the same at every repeated point is computed once. A sum of n equal floats rounds up to
    n - 1 times, x * n once. Axes of unknown extent may be empty, and stay.

    ```mlir before
    func.func @f(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<8x64xf32> {
      %0 = prim.broadcast %x axes [1] sizes() : (tensor<64xf32>) -> tensor<8x64xf32>
      %1 = prim.broadcast %y axes [1] sizes() : (tensor<64xf32>) -> tensor<8x64xf32>
      %2 = prim.mul %0, %1 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
      return %2 : tensor<8x64xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<8x64xf32> {
      %0 = prim.mul %arg0, %arg1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %1 = prim.broadcast %0 axes [1] sizes() : (tensor<64xf32>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```

    Runs within a fixed point, because the result is a broadcast again. The pipeline runs it as a
    part of tcc-simplify-expressions; alone, it is for tests.
  }];
}

def GathersPass : Tcc_Pass<"tcc-simplify-gathers"> {
  let summary = "Gather before computing";
  let description = [{
    A loss takes one element a row of a log-softmax. Where it is gathered from the argument, what a
    row is reduced to is enough, and no row is computed as a whole or written.

    ```mlir before
    func.func @f(%x: tensor<8x100xf32>, %s: tensor<8x1xf32>, %i: tensor<8x1xi64>) -> tensor<8x1xf32> {
      %0 = prim.broadcast %s axes [0, 1] sizes() : (tensor<8x1xf32>) -> tensor<8x100xf32>
      %1 = prim.sub %x, %0 : (tensor<8x100xf32>, tensor<8x100xf32>) -> tensor<8x100xf32>
      %2 = prim.take_along %1, %i axis 1 : (tensor<8x100xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
      return %2 : tensor<8x1xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<8x100xf32>, %arg1: tensor<8x1xf32>, %arg2: tensor<8x1xi64>) -> tensor<8x1xf32> {
      %0 = prim.take_along %arg0, %arg2 axis 1 : (tensor<8x100xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
      %1 = prim.broadcast %arg1 axes [0, 1] sizes() : (tensor<8x1xf32>) -> tensor<8x1xf32>
      %2 = prim.sub %0, %1 : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
      return %2 : tensor<8x1xf32>
    }
    ```

    Runs within a fixed point, since each operator moved behind a gather shows the next. The pipeline
    runs it as a part of tcc-simplify-expressions; alone, it is for tests.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect"];
}

def LoopCountersPass : Tcc_Pass<"tcc-simplify-loop-counters"> {
  let summary = "Let loops count on the host";
  let description = [{
    The condition of a loop that counts in a tensor waits for a kernel in every turn. A counter that
    begins with a number and grows by one that is known is carried as a host scalar instead, which
    kernels get as their argument.

    ```mlir before
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = prim.constant dense<0> : tensor<i64>
      %1 = prim.constant dense<1> : tensor<i64>
      %2:2 = prim.while(%x, %0) {
      ^bb0(%a: tensor<4xf32>, %k: tensor<i64>):
        %c8 = arith.constant 8 : index
        %3 = prim.extract %k[0] : (tensor<i64>) -> index
        %4 = arith.cmpi slt, %3, %c8 : index
        prim.yield %4 : i1
      } do {
      ^bb0(%a: tensor<4xf32>, %k: tensor<i64>):
        %3 = prim.exp %a : (tensor<4xf32>) -> tensor<4xf32>
        %4 = prim.add %k, %1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
        prim.yield %3, %4 : tensor<4xf32>, tensor<i64>
      } : (tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i64>)
      return %2#0 : tensor<4xf32>
    }
    ```
    ```mlir after -cse
    func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %0:2 = prim.while(%arg0, %c0) {
      ^bb0(%arg1: tensor<4xf32>, %arg2: index):
        %c8 = arith.constant 8 : index
        %1 = arith.cmpi slt, %arg2, %c8 : index
        prim.yield %1 : i1
      } do {
      ^bb0(%arg1: tensor<4xf32>, %arg2: index):
        %1 = prim.exp %arg1 : (tensor<4xf32>) -> tensor<4xf32>
        %2 = arith.addi %arg2, %c1 : index
        prim.yield %1, %2 : tensor<4xf32>, index
      } : (tensor<4xf32>, index) -> (tensor<4xf32>, index)
      return %0#0 : tensor<4xf32>
    }
    ```

    Runs after tcc-simplify-fold-constants and tcc-simplify-expressions, which show what is added.
  }];
}

def ComposeViewsPass : Tcc_Pass<"tcc-simplify-compose-views"> {
  let summary = "Make one reshape and one transpose of chains of them";
  let description = [{
    Exporters split heads off, swap axes, merge batch and heads, transpose and split again. Together
    such a chain only puts the factors of its source's axes in another order.

    ```mlir before
    func.func @f(%x: tensor<1x128x768xf32>) -> tensor<1x12x64x128xf32> {
      %0 = prim.reshape %x sizes() : (tensor<1x128x768xf32>) -> tensor<1x128x12x64xf32>
      %1 = prim.transpose %0 [0, 2, 1, 3] : (tensor<1x128x12x64xf32>) -> tensor<1x12x128x64xf32>
      %2 = prim.reshape %1 sizes() : (tensor<1x12x128x64xf32>) -> tensor<12x128x64xf32>
      %3 = prim.transpose %2 [0, 2, 1] : (tensor<12x128x64xf32>) -> tensor<12x64x128xf32>
      %4 = prim.reshape %3 sizes() : (tensor<12x64x128xf32>) -> tensor<1x12x64x128xf32>
      return %4 : tensor<1x12x64x128xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<1x128x768xf32>) -> tensor<1x12x64x128xf32> {
      %0 = prim.reshape %arg0 sizes() : (tensor<1x128x768xf32>) -> tensor<1x128x12x64xf32>
      %1 = prim.transpose %0 [0, 2, 3, 1] : (tensor<1x128x12x64xf32>) -> tensor<1x12x64x128xf32>
      return %1 : tensor<1x12x64x128xf32>
    }
    ```

    Runs after tcc-simplify-defer-scales, which takes arithmetic out of chains, and before
    tcc-simplify-absorb-transposes, which sees one transpose then; again after
    tcc-layout-channels-last, which adds transposes.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect"];
}
#endif
