//===- VectorMath.h - Elementary functions as plain arithmetic --*- C++ -*-===//
//
// Kernels are written with the math dialect. LLVM has no instruction for most of
// it and would call libm once per element, which is ten to fifty times slower than
// the arithmetic of a vector loop. This expands every such operation, on scalars
// and on vectors of any shape, into arith operations, bit casts, square roots,
// roundings and fused multiply-adds, all of which have vector instructions.
//
// Runs on finished kernel bodies, before scf is lowered: the rare large arguments
// of sin, cos and tan are handled behind an scf.if. What is left of the math
// dialect afterwards has an LLVM intrinsic with a native instruction: absf,
// copysign, fma, sqrt, floor, ceil, trunc, roundeven, absi, ctpop, ctlz,
// cttz and the classifications (isnan, ...).
//
// f32 is accurate to about 1 ulp over the whole range, with IEEE's infinities,
// NaNs, subnormals and zeros; narrower types are computed in f32; the limits of
// each function are in test/unit/Codegen/VectorMathCases.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tcc {
struct CpuTarget;
}

namespace tcc::codegen {

struct ExpandMathOptions {
  /// The target has a fused multiply-add instruction for f32 and f64. Without
  /// one (x86-64-v2), math.fma is emulated exactly and vector.fma becomes a
  /// multiplication and an addition.
  bool hasFma = true;
  /// The target has AVX-512 for 512, 256 and 128-bit vectors, whose scalef makes exp
  /// a quarter faster.
  bool hasAvx512 = false;
  /// The target converts vectors between f32 and f16. Without, LLVM would call a function an
  /// element.
  bool hasHalfConversion = true;
  /// How the target rounds vectors of f32 to bf16: not at all, like f16; with an instruction that
  /// takes subnormals for zero (x86), which are then looked for; or as IEEE asks.
  enum class BfloatConversion { None, Flushing, Exact } bfloatConversion = BfloatConversion::Exact;
  /// The target has AVX2, fused multiply-adds and no more: registers of 256 bits.
  bool hasAvx2 = false;
  /// What is only rounded to 16 bits afterwards is computed to 17 (VectorMathRough.cpp).
  bool roughWhereNarrowed = false;
  /// The target has an instruction for 2^x in f32, with a relative error of 2^-22.
  bool hasExp2 = false;
  /// Lanes are registers of their own, and masks bits of their own.
  bool hasScalarLanes = false;
  /// The target's instructions for extremes give the other number beside a NaN, or it depends on
  /// the order: each maximum is one and a choice.
  bool losesNan = false;
  /// Whether the target has a fused multiply-add is not known yet: a multiplication and an
  /// addition, which may be fused.
  bool mayFuse = false;

  static ExpandMathOptions forTarget(const CpuTarget &cpu);
  static ExpandMathOptions forGpu();
};

/// Expands every operation of the math dialect, arith.remf and the conversions of 16-bit floats
/// that the target lacks, inside `root`: a module, a function of one or any operation inside.
/// Helper functions are added, private, to the module around it, so two functions of one module
/// must not be expanded concurrently.
void expandMath(mlir::Operation *root, const ExpandMathOptions &options = {});

/// A math.exp with this attribute has an argument of at most 0, or NaN.
inline constexpr llvm::StringLiteral kNotPositive("not_positive");
/// An arith.divf with this attribute divides what is from 0 to 1, or NaN, by what is at least 1 and
/// finite, or NaN, and is the same for many.
inline constexpr llvm::StringLiteral kShares("shares");

/// `expandMath` as a pass on a module: tcc-codegen-expand-math{has-fma=true}.
std::unique_ptr<mlir::Pass> createExpandMathPass(const ExpandMathOptions &options = {});

// Functions that the math dialect lacks, on a scalar or a vector of any float type.
// The builder inserts into a function of a module. No pass is needed after them.
/// `narrow`: the result is rounded to 16 bits, and `x` an f32.
mlir::Value emitLgamma(mlir::ImplicitLocOpBuilder &b, mlir::Value x, bool narrow = false);
mlir::Value emitDigamma(mlir::ImplicitLocOpBuilder &b, mlir::Value x, bool narrow = false);
mlir::Value emitErfinv(mlir::ImplicitLocOpBuilder &b, mlir::Value x, bool narrow = false);
/// The modified Bessel functions of the first kind; of f32, for a result that is rounded to 16
/// bits, that of order 0 or the first.
mlir::Value emitRoughBessel(mlir::ImplicitLocOpBuilder &b, mlir::Value x, bool first);
mlir::Value emitBesselI0(mlir::ImplicitLocOpBuilder &b, mlir::Value x);
mlir::Value emitBesselI1(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

} // namespace tcc::codegen
