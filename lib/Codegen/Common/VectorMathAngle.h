//===- VectorMathAngle.h - An argument of sin, cos and tan -------*- C++ -*-===//
//
// What f32 and f64 share: ordinary arguments are reduced in place, large ones by a function of
// their own behind a branch, so that ordinary ones do not pay for it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "VectorMathEmitter.h"

namespace tcc::codegen::vmath {

/// `r` in [-pi/4, pi/4], its rounding error if asked for (else 0, not used), and the quadrant, of
/// which two bits count.
struct Reduced {
  Fp r, low;
  Int quadrant;
};

/// `common`, with the lanes where x is `large` or more by `reduceLarge`, which becomes the function
/// `helper`.
inline Reduced reduceAnySize(Fp x, const Reduced &common, double large, llvm::StringRef helper,
                             llvm::function_ref<Reduced(Fp)> reduceLarge) {
  Emitter *e = x.e;
  Mask isLarge = x >= large;
  mlir::Value usual[] = {common.r.v, common.low.v, common.quadrant.v};
  auto emitHelper = [&](Emitter &inner, mlir::ValueRange args) {
    Reduced a = reduceLarge({&inner, args.front()});
    return llvm::SmallVector<mlir::Value>{a.r.v, a.low.v, a.quadrant.v};
  };
  llvm::SmallVector<mlir::Value> results = ifAnyLane(isLarge, usual, [&] {
    llvm::SmallVector<mlir::Value> far =
        callHelper(*e, helperName(helper, x.type()), x.v, mlir::TypeRange(mlir::ValueRange(usual)),
                   emitHelper);
    return llvm::SmallVector<mlir::Value>{select(isLarge, Fp{e, far[0]}, common.r).v,
                                          select(isLarge, Fp{e, far[1]}, common.low).v,
                                          select(isLarge, Int{e, far[2]}, common.quadrant).v};
  });
  return {{e, results[0]}, {e, results[1]}, {e, results[2]}};
}

} // namespace tcc::codegen::vmath
