//===- Passes.td - Passes of the fuse phase -*- tablegen -*-===//
#ifndef TCC_FUSION_PASSES_TD
#define TCC_FUSION_PASSES_TD
include "tcc/Dialect/PassBase.td"

def FuseKernelsPass : Tcc_Pass<"tcc-fuse-kernels"> {
  let summary = "Group the primitives of every block into kernel.launch ops";
  let description = [{
    A launch reads and writes memory once, whatever it computes in between. lib/Fusion/Clusters.cpp
    says what may share a kernel and what is worth it.

    ```mlir before
    func.func @f(%x: tensor<8x64xf32>) -> tensor<8xf32> {
      %0 = prim.exp %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %1 = prim.reduce sum %0 [1] : (tensor<8x64xf32>) -> tensor<8xf32>
      %2 = prim.log %1 : (tensor<8xf32>) -> tensor<8xf32>
      return %2 : tensor<8xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<8x64xf32>) -> tensor<8xf32> {
      %0 = kernel.launch row[1] "exp_reduce_log" ins(%arg0 : tensor<8x64xf32>) sizes() {
      ^bb0(%arg1: tensor<8x64xf32>):
        %1 = prim.exp %arg1 : (tensor<8x64xf32>) -> tensor<8x64xf32>
        %2 = prim.reduce  sum %1 [1] : (tensor<8x64xf32>) -> tensor<8xf32>
        %3 = prim.log %2 : (tensor<8xf32>) -> tensor<8xf32>
        kernel.yield %3 : tensor<8xf32>
      } -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```

    Runs after layout, since a transpose that layout adds is fused like any other, and before
    anything that speaks of kernels.
  }];
  let dependentDialects = ["::tcc::kernel::KernelDialect", "::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect"];
  let options = [
    Option<"fuse", "fuse", "bool", "true", "several primitives in a kernel; without, each has its own">,
    Option<"attention", "attention", "bool", "true", "attention as one kernel">
  ];
}

def ShareKernelsPass : Tcc_Pass<"tcc-fuse-share-kernels"> {
  let summary = "Pass the starts of slices to kernels that differ in nothing else";
  let description = [{
    A tensor that is cut into a thousand pieces gives a thousand launches that differ only in where
    their slice starts, and each would be compiled by itself. A few are left as they are: a known
    start may be folded into an address, or tell that rows are aligned.

    ```mlir before many=2
    func.func @f(%x: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
      %0 = kernel.launch loop "neg" ins(%x : tensor<8x4xf32>) sizes() {
      ^bb0(%a: tensor<8x4xf32>):
        %2 = prim.slice %a starts [0, 0]() steps [1, 1] sizes() : (tensor<8x4xf32>) -> tensor<2x4xf32>
        %3 = prim.neg %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
        kernel.yield %3 : tensor<2x4xf32>
      } -> tensor<2x4xf32>
      %1 = kernel.launch loop "neg" ins(%x : tensor<8x4xf32>) sizes() {
      ^bb0(%a: tensor<8x4xf32>):
        %2 = prim.slice %a starts [6, 0]() steps [1, 1] sizes() : (tensor<8x4xf32>) -> tensor<2x4xf32>
        %3 = prim.neg %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
        kernel.yield %3 : tensor<2x4xf32>
      } -> tensor<2x4xf32>
      return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
      %c0 = arith.constant 0 : index
      %0 = kernel.launch loop "neg" ins(%arg0, %c0 : tensor<8x4xf32>, index) sizes() {
      ^bb0(%arg1: tensor<8x4xf32>, %arg2: index):
        %2 = prim.slice %arg1 starts [-9223372036854775808, 0](%arg2) steps [1, 1] sizes() : (tensor<8x4xf32>) -> tensor<2x4xf32>
        %3 = prim.neg %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
        kernel.yield %3 : tensor<2x4xf32>
      } -> tensor<2x4xf32>
      %c6 = arith.constant 6 : index
      %1 = kernel.launch loop "neg" ins(%arg0, %c6 : tensor<8x4xf32>, index) sizes() {
      ^bb0(%arg1: tensor<8x4xf32>, %arg2: index):
        %2 = prim.slice %arg1 starts [-9223372036854775808, 0](%arg2) steps [1, 1] sizes() : (tensor<8x4xf32>) -> tensor<2x4xf32>
        %3 = prim.neg %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
        kernel.yield %3 : tensor<2x4xf32>
      } -> tensor<2x4xf32>
      return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
    }
    ```

    Runs after tcc-fuse-kernels, which makes the launches, and before schedules are chosen, which
    equal kernels share.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    Option<"many", "many", "unsigned", "32", "from how many kernels that differ in starts alone on">
  ];
}

def CutKernelsPass : Tcc_Pass<"tcc-fuse-cut-kernels"> {
  let summary = "Cut kernels that measuring found to be faster in parts";
  let description = [{
    Fusion decides by rules, and now and then two loops are faster than one: a tuning record or a
    tuner says which kernels are cut, and where. What is cut is fused again, but for the operators
    whose results go to memory.

    ```mlir before cut=1
    func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = kernel.launch loop "sin_cos" ins(%x : tensor<8x64xf32>) sizes() {
      ^bb0(%a: tensor<8x64xf32>):
        %1 = prim.sin %a : (tensor<8x64xf32>) -> tensor<8x64xf32>
        %2 = prim.cos %1 : (tensor<8x64xf32>) -> tensor<8x64xf32>
        kernel.yield %2 : tensor<8x64xf32>
      } -> tensor<8x64xf32>
      return %0 : tensor<8x64xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = kernel.launch loop "sin" ins(%arg0 : tensor<8x64xf32>) sizes() {
      ^bb0(%arg1: tensor<8x64xf32>):
        %2 = prim.sin %arg1 : (tensor<8x64xf32>) -> tensor<8x64xf32>
        kernel.yield %2 : tensor<8x64xf32>
      } -> tensor<8x64xf32>
      %1 = kernel.launch loop "cos" ins(%0 : tensor<8x64xf32>) sizes() {
      ^bb0(%arg1: tensor<8x64xf32>):
        %2 = prim.cos %arg1 : (tensor<8x64xf32>) -> tensor<8x64xf32>
        kernel.yield %2 : tensor<8x64xf32>
      } -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```

    Runs after tcc-fuse-share-kernels, since a record names a kernel by all that it computes, and
    before schedules are chosen.
  }];
  let dependentDialects = ["::tcc::kernel::KernelDialect", "::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect"];
  let options = [
    Option<"cut", "cut", "unsigned", "0", "without a chooser: which of its ways each kernel is cut, if it has so many">
  ];
}
def OperandExtentsPass : Tcc_Pass<"tcc-fuse-operand-extents"> {
  let summary = "Write the sizes of reshapes as extents of what a kernel reads";
  let description = [{
    Which axes a reshape keeps is what one value for both extents says, and the scalars of a launch
    are other values than the extents of its tensors. What the host computed from those is computed
    in the region again, so that kernels take the index of a kept axis as it is.

    ```mlir before
    func.func @f(%x: tensor<?x?x4xf32>) -> tensor<?x?x2x2xf32> {
      %0 = prim.dim %x, 0 : tensor<?x?x4xf32>
      %1 = prim.dim %x, 1 : tensor<?x?x4xf32>
      %2 = kernel.launch loop "neg" ins(%x, %0, %1 : tensor<?x?x4xf32>, index, index) sizes(%0, %1) {
      ^bb0(%a: tensor<?x?x4xf32>, %n: index, %m: index):
        %3 = prim.reshape %a sizes(%n, %m) : (tensor<?x?x4xf32>) -> tensor<?x?x2x2xf32>
        %4 = prim.neg %3 : (tensor<?x?x2x2xf32>) -> tensor<?x?x2x2xf32>
        kernel.yield %4 : tensor<?x?x2x2xf32>
      } -> tensor<?x?x2x2xf32>
      return %2 : tensor<?x?x2x2xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<?x?x4xf32>) -> tensor<?x?x2x2xf32> {
      %0 = prim.dim %arg0, 0 : tensor<?x?x4xf32>
      %1 = prim.dim %arg0, 1 : tensor<?x?x4xf32>
      %2 = kernel.launch loop "neg" ins(%arg0 : tensor<?x?x4xf32>) sizes(%0, %1) {
      ^bb0(%arg1: tensor<?x?x4xf32>):
        %3 = prim.dim %arg1, 0 : tensor<?x?x4xf32>
        %4 = prim.dim %arg1, 1 : tensor<?x?x4xf32>
        %5 = prim.reshape %arg1 sizes(%3, %4) : (tensor<?x?x4xf32>) -> tensor<?x?x2x2xf32>
        %6 = prim.neg %5 : (tensor<?x?x2x2xf32>) -> tensor<?x?x2x2xf32>
        kernel.yield %6 : tensor<?x?x2x2xf32>
      } -> tensor<?x?x2x2xf32>
      return %2 : tensor<?x?x2x2xf32>
    }
    ```

    Runs last: launches are what they stay, and their host scalars are one value each.
  }];
  let dependentDialects = ["::tcc::prim::PrimDialect", "::mlir::arith::ArithDialect"];
}
#endif
