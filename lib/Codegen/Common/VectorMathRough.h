//===- VectorMathRough.h - Functions that are nearly right -------*- C++ -*-===//
//
// What is rounded to 16 bits afterwards, to 17 bits in f32, and a GPU's instructions for it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {

/// Whether `v` is an operand of nothing but arithmetic that ends in roundings to 16 bits.
bool isOnlyNarrowed(mlir::Value v);
/// Whether `v` is widened from 16 bits.
bool isWidened(mlir::Value v);
/// 2^x of an f32 by the target's instruction.
Fp hardwareExp2(Fp x);
/// The same by one of NVIDIA's that takes subnormals for zero.
Fp flushingExp2(Fp x);
/// log x of an f32 that is not negative, off by 2^-22 of one near one.
Fp hardwareLog(Fp x);
/// log2 x of an f32 that is normal, by the same instruction.
Fp hardwareLog2(Fp x);
/// The square root of an f32, and its reciprocal, by NVIDIA's instructions.
Fp hardwareSqrt(Fp x);
Fp hardwareRsqrt(Fp x);
/// x / y of an f32 that is not huge, to 22 bits.
Fp roughDivide(Fp x, Fp y);
/// The same where 1 / y is normal, or y infinite.
Fp roughQuotient(double x, Fp y);
/// sin (or cos) of an f32 to 17 bits, small results included.
Fp roughSin(Fp x, bool cosine);
/// tan of an f32 to 17 bits.
Fp roughTan(Fp x);
// Of an f32 to 17 bits.
Fp roughAsinh(Fp x);
Fp roughAcosh(Fp x);
Fp roughAtanh(Fp x);
Fp roughAtan(Fp x);
Fp roughSinh(Fp x);
Fp roughCosh(Fp x);
Fp roughErfc(Fp x);
Fp roughErfinv(Fp x);
/// Between the poles off by 2^-20 of one.
Fp roughDigamma(Fp x);
/// log |Gamma(x)| of an f32 to 17 bits; between the poles off by 2^-20 of one.
Fp roughLgamma(Fp x);
/// sin or cos of an f32 whose size is at most 1, as accurate as those of any; `rough`: 17 bits do.
Fp sinOfUnit(Fp x, bool cosine, bool rough);
/// 1 + tanh u as a sigmoid of 2u, where `needsFactors`.
void expandOnePlusTanh(mlir::Operation *root, const ExpandMathOptions &options);
/// Expands the functions in `root` whose result is only narrowed, roughly.
void expandRough(mlir::Operation *root, const ExpandMathOptions &options);
/// Operands of selections that take long are computed where any lane selects them.
void branchSelects(mlir::Operation *root, const ExpandMathOptions &options);

} // namespace tcc::codegen::vmath
