//===- FourierButterflies.h - Short Fourier transforms in registers -*- C++ -*-===//
//
// What stages of a transform are made of, on every target: arithmetic on complex numbers, which may
// be vectors with a transform a lane, and butterflies of few of them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc::codegen {

/// A complex number, one a lane, or where such numbers lie.
struct Complex {
  mlir::Value re, im;
};

class FourierButterflies {
public:
  /// Parts of numbers are of `type`: f32, f64, or a vector of them. `fma`: the target has it.
  FourierButterflies(mlir::ImplicitLocOpBuilder &b, mlir::Type type, bool fma)
      : builder(b), partType(type), fma(fma) {}

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value times(mlir::Value x, mlir::Value y);
  mlir::Value times(mlir::Value x, double c);
  Complex add(Complex x, Complex y) { return {add(x.re, y.re), add(x.im, y.im)}; }
  Complex sub(Complex x, Complex y) { return {sub(x.re, y.re), sub(x.im, y.im)}; }
  Complex times(Complex x, Complex y);

  /// The transform of x: eight numbers, four, two, or an odd count.
  llvm::SmallVector<Complex> butterfly(llvm::ArrayRef<Complex> x);

  /// A constant array in the module of `function`, in elements of the parts' type.
  mlir::Value table(mlir::Operation *function, llvm::StringRef name, llvm::ArrayRef<double> values);

private:
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value sum);
  Complex turned(Complex x);
  llvm::SmallVector<Complex> oddButterfly(llvm::ArrayRef<Complex> x);

  mlir::ImplicitLocOpBuilder &builder;
  mlir::Type partType;
  bool fma;
};

} // namespace tcc::codegen
