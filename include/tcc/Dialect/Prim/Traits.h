//===- Traits.h - What passes ask of a primitive -----------------*- C++ -*-===//
//
// Traits.td says what each means, and the families' .td files which operators have it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/OpDefinition.h"

namespace tcc::prim {

#define TCC_PRIM_TRAIT(Name)                                                                       \
  template <typename ConcreteType>                                                                 \
  class Name : public mlir::OpTrait::TraitBase<ConcreteType, Name> {}

TCC_PRIM_TRAIT(HostOperator);
TCC_PRIM_TRAIT(ModelConstant);
TCC_PRIM_TRAIT(Generated);
TCC_PRIM_TRAIT(View);
TCC_PRIM_TRAIT(StridedView);
TCC_PRIM_TRAIT(Rearrangement);
TCC_PRIM_TRAIT(PointAccess);
TCC_PRIM_TRAIT(UpdatesFirst);
TCC_PRIM_TRAIT(Contraction);
TCC_PRIM_TRAIT(MatrixProduct);
TCC_PRIM_TRAIT(Convolution);
TCC_PRIM_TRAIT(MatrixFactor);
TCC_PRIM_TRAIT(Reduction);
TCC_PRIM_TRAIT(Costly);
TCC_PRIM_TRAIT(VeryCostly);
TCC_PRIM_TRAIT(Exact);
TCC_PRIM_TRAIT(RoundedOnce);

#undef TCC_PRIM_TRAIT

/// Whether there is an operator and it has the trait.
template <template <typename> class Trait> bool has(mlir::Operation *op) {
  return op && op->hasTrait<Trait>();
}

} // namespace tcc::prim
