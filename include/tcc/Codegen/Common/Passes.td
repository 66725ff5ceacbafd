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
    Option<"hasHalfConversion", "has-half-conversion", "bool", "true", "The target converts f16 vectors">,
    Option<"bfloatConversion", "bfloat-conversion", "::tcc::codegen::ExpandMathOptions::BfloatConversion",
           "::tcc::codegen::ExpandMathOptions::BfloatConversion::Exact", "How the target rounds f32 vectors to bf16",
           [{::llvm::cl::values(
               clEnumValN(::tcc::codegen::ExpandMathOptions::BfloatConversion::None, "none", "not at all"),
               clEnumValN(::tcc::codegen::ExpandMathOptions::BfloatConversion::Flushing, "flushing",
                          "to zero if subnormal"),
               clEnumValN(::tcc::codegen::ExpandMathOptions::BfloatConversion::Exact, "exact", "as IEEE asks"))}]>
  ];
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
#endif
