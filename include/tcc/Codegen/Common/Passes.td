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
#endif
