//===- Passes.td - The pass on kernels that are being compiled -*- tablegen -*-===//
#ifndef TCC_CODEGEN_COMMON_PASSES_TD
#define TCC_CODEGEN_COMMON_PASSES_TD
include "tcc/Dialect/PassBase.td"

def ExpandMathPass : Tcc_Pass<"tcc-codegen-expand-math"> {
  let summary = "Write elementary functions as plain arithmetic";
  let description = [{
    LLVM has no instruction for most of the math dialect and would call libm once an element, which
    is ten to fifty times slower than the arithmetic of a vector loop.

    ```mlir before
    func.func @f(%x: vector<8xf32>) -> vector<8xf32> {
      %0 = math.rsqrt %x : vector<8xf32>
      return %0 : vector<8xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: vector<8xf32>) -> vector<8xf32> {
      %0 = math.sqrt %arg0 : vector<8xf32>
      %cst = arith.constant dense<1.000000e+00> : vector<8xf32>
      %1 = arith.divf %cst, %0 : vector<8xf32>
      return %1 : vector<8xf32>
    }
    ```

    Runs on finished kernel bodies, which are written with the math dialect, and before scf is
    lowered, because rare large arguments are handled behind an scf.if.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
  let options = [
    Option<"hasFma", "has-fma", "bool", "true", "The target has fused multiply-add">,
    Option<"hasAvx512", "has-avx512", "bool", "false", "The target has AVX-512">,
    Option<"hasAvx2", "has-avx2", "bool", "false", "The target has AVX2 and fused multiply-add, and no AVX-512">,
    Option<"hasHalfConversion", "has-half-conversion", "bool", "true", "The target converts f16 vectors">,
    Option<"hasScalarLanes", "has-scalar-lanes", "bool", "false", "Lanes are registers of their own">,
    Option<"losesNan", "loses-nan", "bool", "false", "The target's instructions for extremes lose a NaN">,
    Option<"bfloatConversion", "bfloat-conversion", "::tcc::codegen::ExpandMathOptions::BfloatConversion",
           "::tcc::codegen::ExpandMathOptions::BfloatConversion::Exact", "How the target rounds f32 vectors to bf16",
           [{::llvm::cl::values(
               clEnumValN(::tcc::codegen::ExpandMathOptions::BfloatConversion::None, "none", "not at all"),
               clEnumValN(::tcc::codegen::ExpandMathOptions::BfloatConversion::Flushing, "flushing",
                          "to zero if subnormal"),
               clEnumValN(::tcc::codegen::ExpandMathOptions::BfloatConversion::Exact, "exact", "as IEEE asks"))}]>
  ];
}

def RecurrenceLaunchesPass : Tcc_Pass<"tcc-schedule-recurrences"> {
  let summary = "Make one launch for a GPU of the loop of a recurrent layer";
  let description = [{
    A turn of such a loop is a few small launches, and takes as long as they take to start. Where its
    matrices fit a multiprocessor, a block takes rows of the batch through all turns instead.

    ```mlir before
    func.func @f(%x: tensor<6x2x8xf32>, %r: tensor<8x8xf32>, %h: tensor<2x8xf32>) -> tensor<2x8xf32> {
      %c0 = arith.constant 0 : index
      %0:2 = prim.while(%c0, %h) {
      ^bb0(%i: index, %s: tensor<2x8xf32>):
        %c6 = arith.constant 6 : index
        %1 = arith.cmpi slt, %i, %c6 : index
        prim.yield %1 : i1
      } do {
      ^bb0(%i: index, %s: tensor<2x8xf32>):
        %c1 = arith.constant 1 : index
        %1 = kernel.launch contraction "turn" ins(%x, %i, %s, %r : tensor<6x2x8xf32>, index, tensor<2x8xf32>, tensor<8x8xf32>) sizes() {
        ^bb0(%a: tensor<6x2x8xf32>, %n: index, %b: tensor<2x8xf32>, %c: tensor<8x8xf32>):
          %3 = prim.slice %a starts [-9223372036854775808, 0, 0](%n) steps [1, 1, 1] sizes() : (tensor<6x2x8xf32>) -> tensor<1x2x8xf32>
          %4 = prim.reshape %3 sizes() : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
          %5 = prim.dot %b, %c batch [] x [] contract [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
          %6 = prim.add %4, %5 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
          %7 = prim.tanh %6 : (tensor<2x8xf32>) -> tensor<2x8xf32>
          kernel.yield %7 : tensor<2x8xf32>
        } -> tensor<2x8xf32>
        %2 = arith.addi %i, %c1 : index
        prim.yield %2, %1 : index, tensor<2x8xf32>
      } : (index, tensor<2x8xf32>) -> (index, tensor<2x8xf32>)
      return %0#1 : tensor<2x8xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<6x2x8xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<2x8xf32>) -> tensor<2x8xf32> {
      %c0 = arith.constant 0 : index
      %0 = kernel.launch special "recurrence" ins(%arg0, %arg1, %arg2 : tensor<6x2x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>) sizes() {
      ^bb0(%arg3: tensor<6x2x8xf32>, %arg4: tensor<8x8xf32>, %arg5: tensor<2x8xf32>):
        %c0_0 = arith.constant 0 : index
        %1:2 = prim.while(%c0_0, %arg5) {
        ^bb0(%arg6: index, %arg7: tensor<2x8xf32>):
          %c6 = arith.constant 6 : index
          %2 = arith.cmpi slt, %arg6, %c6 : index
          prim.yield %2 : i1
        } do {
        ^bb0(%arg6: index, %arg7: tensor<2x8xf32>):
          %c1 = arith.constant 1 : index
          %2 = prim.slice %arg3 starts [-9223372036854775808, 0, 0](%arg6) steps [1, 1, 1] sizes() : (tensor<6x2x8xf32>) -> tensor<1x2x8xf32>
          %3 = prim.reshape %2 sizes() : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
          %4 = prim.dot %arg7, %arg4 batch [] x [] contract [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
          %5 = prim.add %3, %4 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
          %6 = prim.tanh %5 : (tensor<2x8xf32>) -> tensor<2x8xf32>
          %7 = arith.addi %arg6, %c1 : index
          prim.yield %7, %6 : index, tensor<2x8xf32>
        } : (index, tensor<2x8xf32>) -> (index, tensor<2x8xf32>)
        kernel.yield %1#1 : tensor<2x8xf32>
      } {schedule = #gpu.schedules<sm_90a = <form = line, threads = 32, row_threads = 32, kept = 168, rows = 1, shared_bytes = 128, index_bits = 32>>} -> tensor<2x8xf32>
      return %0 : tensor<2x8xf32>
    }
    ```

    Runs after tcc-schedule-place-launches, since what runs on the host has no part in this, and before
    tcc-schedule-early-starts, which looks at what follows what.
  }];
}

def JoinChecksPass : Tcc_Pass<"tcc-schedule-join-checks"> {
  let summary = "Have kernels of a GPU that compute points check the indices that they read";
  let description = [{
    Whether an index is out of range is found by the threads of the kernel that reads by it: a
    launch is less, and the indices are read once.

    ```mlir before
    func.func @f(%x: tensor<300x64xf32>, %i: tensor<1000xi64>) -> (tensor<1000x64xf32>, tensor<i1>) {
      %0 = kernel.launch row[0] "check" ins(%i : tensor<1000xi64>) sizes() {
      ^bb0(%a: tensor<1000xi64>):
        %2 = prim.constant dense<300> : tensor<1000xi64>
        %3 = prim.compare ge %a, %2 : (tensor<1000xi64>, tensor<1000xi64>) -> tensor<1000xi1>
        %4 = prim.reduce any %3 [0] : (tensor<1000xi1>) -> tensor<i1>
        kernel.yield %4 : tensor<i1>
      } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 256, row_threads = 256, index_bits = 32>>} -> tensor<i1>
      %1 = kernel.launch loop "take" ins(%x, %i : tensor<300x64xf32>, tensor<1000xi64>) sizes() {
      ^bb0(%a: tensor<300x64xf32>, %b: tensor<1000xi64>):
        %2 = prim.take %a, %b axis 0 : (tensor<300x64xf32>, tensor<1000xi64>) -> tensor<1000x64xf32>
        kernel.yield %2 : tensor<1000x64xf32>
      } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256, lanes = 4, index_bits = 32>>} -> tensor<1000x64xf32>
      return %1, %0 : tensor<1000x64xf32>, tensor<i1>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<300x64xf32>, %arg1: tensor<1000xi64>) -> (tensor<1000x64xf32>, tensor<i1>) {
      %0:2 = kernel.launch loop "take" ins(%arg0, %arg1 : tensor<300x64xf32>, tensor<1000xi64>) sizes() {
      ^bb0(%arg2: tensor<300x64xf32>, %arg3: tensor<1000xi64>):
        %1 = prim.take %arg2, %arg3 axis 0 : (tensor<300x64xf32>, tensor<1000xi64>) -> tensor<1000x64xf32>
        %2 = prim.constant dense<300> : tensor<1000xi64>
        %3 = prim.compare  ge %arg3, %2 : (tensor<1000xi64>, tensor<1000xi64>) -> tensor<1000xi1>
        %4 = prim.reduce  any %3 [0] : (tensor<1000xi1>) -> tensor<i1>
        kernel.yield %1, %4 : tensor<1000x64xf32>, tensor<i1>
      } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256, lanes = 4, scratch_bytes = 4096, index_bits = 32>>} -> tensor<1000x64xf32>, tensor<i1>
      return %0#0, %0#1 : tensor<1000x64xf32>, tensor<i1>
    }
    ```

    Runs after tcc-schedule-place-launches and before tcc-schedule-early-starts, which has checks that are
    left run beside what follows.
  }];
}

def EarlyStartsPass : Tcc_Pass<"tcc-schedule-early-starts"> {
  let summary = "Record behind which kernels of a GPU the next one starts early";
  let description = [{
    A product of few rows may lie on the multiprocessors beside the kernel before it, and has its
    first weights when that one ends. Anything else begins when the blocks before it have ended: what
    waits on a multiprocessor keeps blocks from being spread evenly.

    ```mlir before
    func.func @f(%x: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<1x4096xbf16> {
      %0 = kernel.launch loop "neg" ins(%x : tensor<1x4096xbf16>) sizes() {
      ^bb0(%a: tensor<1x4096xbf16>):
        %2 = prim.neg %a : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
        kernel.yield %2 : tensor<1x4096xbf16>
      } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256, lanes = 8>>} -> tensor<1x4096xbf16>
      %1 = kernel.launch contraction "dot" ins(%0, %w : tensor<1x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
      ^bb0(%a: tensor<1x4096xbf16>, %b: tensor<4096x4096xbf16>):
        %2 = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
        kernel.yield %2 : tensor<1x4096xbf16>
      } {schedule = #gpu.schedules<sm_90a = <form = skinny, threads = 256, lanes = 8, columns = 1>>} -> tensor<1x4096xbf16>
      return %1 : tensor<1x4096xbf16>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<1x4096xbf16>, %arg1: tensor<4096x4096xbf16>) -> tensor<1x4096xbf16> {
      %0 = kernel.launch loop "neg" ins(%arg0 : tensor<1x4096xbf16>) sizes() {
      ^bb0(%arg2: tensor<1x4096xbf16>):
        %2 = prim.neg %arg2 : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
        kernel.yield %2 : tensor<1x4096xbf16>
      } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256, lanes = 8, next_early = true>>} -> tensor<1x4096xbf16>
      %1 = kernel.launch contraction "dot" ins(%0, %arg1 : tensor<1x4096xbf16>, tensor<4096x4096xbf16>) sizes() {
      ^bb0(%arg2: tensor<1x4096xbf16>, %arg3: tensor<4096x4096xbf16>):
        %2 = prim.dot %arg2, %arg3 batch [] x [] contract [1] x [1] : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
        kernel.yield %2 : tensor<1x4096xbf16>
      } {schedule = #gpu.schedules<sm_90a = <form = skinny, threads = 256, lanes = 8, columns = 1>>} -> tensor<1x4096xbf16>
      return %1 : tensor<1x4096xbf16>
    }
    ```

    Runs after tcc-schedule-place-launches, since what runs on the host has no part in this.
  }];
}

def WordIndicesPass : Tcc_Pass<"tcc-schedule-word-indices"> {
  let summary = "Have kernels of a GPU count in words of 32 bits in runs that are small enough";
  let description = [{
    With 64 bits an address takes twice as many registers and instructions, and a division by an extent that
    only a run knows is a branch or a call. A launch of open extents has the same schedules with words beside
    its last one, for runs whose largest tensor has few enough elements.

    ```mlir before
    func.func @f(%x: tensor<16x?xf32>, %y: tensor<16x1xf32>, %n: index) -> tensor<16x?xf32> {
      %0 = kernel.launch loop "add" ins(%x, %y, %n : tensor<16x?xf32>, tensor<16x1xf32>, index) sizes(%n) {
      ^bb0(%a: tensor<16x?xf32>, %b: tensor<16x1xf32>, %m: index):
        %1 = prim.broadcast %b axes [0, 1] sizes(%m) : (tensor<16x1xf32>) -> tensor<16x?xf32>
        %2 = prim.add %a, %1 : (tensor<16x?xf32>, tensor<16x?xf32>) -> tensor<16x?xf32>
        kernel.yield %2 : tensor<16x?xf32>
      } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256>>} -> tensor<16x?xf32>
      return %0 : tensor<16x?xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<16x?xf32>, %arg1: tensor<16x1xf32>, %arg2: index) -> tensor<16x?xf32> {
      %0 = kernel.launch loop "add" ins(%arg0, %arg1, %arg2 : tensor<16x?xf32>, tensor<16x1xf32>, index) sizes(%arg2) {
      ^bb0(%arg3: tensor<16x?xf32>, %arg4: tensor<16x1xf32>, %arg5: index):
        %1 = prim.broadcast %arg4 axes [0, 1] sizes(%arg5) : (tensor<16x1xf32>) -> tensor<16x?xf32>
        %2 = prim.add %arg3, %1 : (tensor<16x?xf32>, tensor<16x?xf32>) -> tensor<16x?xf32>
        kernel.yield %2 : tensor<16x?xf32>
      } {schedule = #kernel.by_size<small = #gpu.schedules<sm_90a = <form = loop, threads = 256, index_bits = 32>>, below = 1073741824, large = #gpu.schedules<sm_90a = <form = loop, threads = 256>>, largest = true>} -> tensor<16x?xf32>
      return %0 : tensor<16x?xf32>
    }
    ```

    Runs after tcc-schedule-early-starts: both kernels of a launch start alike, so that those around it need not know which
    of them a run takes.
  }];
}
#endif
