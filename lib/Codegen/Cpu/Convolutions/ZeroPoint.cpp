//===- ZeroPoint.cpp - What a convolution takes off its input -------------===//
#include "ZeroPoint.h"

using namespace mlir;
namespace tcc::codegen {

Value zeroOf(KernelBuilder &k, const ConvSpec &spec) {
  if (spec.zero == 0)
    return k.zero(spec.inputElement);
  return arith::ConstantOp::create(k.builder, k.loc,
                                   k.builder.getIntegerAttr(spec.inputElement, spec.zero));
}

Value widened(KernelBuilder &k, const ConvSpec &spec, Value x, Type element) {
  x = k.widen(x, element, spec.inputUnsigned);
  if (spec.zero == 0 || element != spec.acc)
    return x;
  TypedAttr zero = k.builder.getIntegerAttr(spec.acc, spec.zero);
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    zero = DenseElementsAttr::get(vector, Attribute(zero));
  return arith::SubIOp::create(k.builder, k.loc, x,
                               arith::ConstantOp::create(k.builder, k.loc, zero));
}

} // namespace tcc::codegen
