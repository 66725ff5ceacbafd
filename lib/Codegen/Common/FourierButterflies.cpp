//===- FourierButterflies.cpp - Short Fourier transforms in registers -----===//
#include "tcc/Codegen/Common/FourierButterflies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Value FourierButterflies::add(Value x, Value y) { return arith::AddFOp::create(builder, x, y); }
Value FourierButterflies::sub(Value x, Value y) { return arith::SubFOp::create(builder, x, y); }
Value FourierButterflies::times(Value x, Value y) { return arith::MulFOp::create(builder, x, y); }
Value FourierButterflies::times(Value x, double c) {
  TypedAttr constant = builder.getFloatAttr(getElementTypeOrSelf(partType), c);
  if (auto vector = dyn_cast<VectorType>(partType))
    constant = DenseElementsAttr::get(vector, constant);
  return times(x, arith::ConstantOp::create(builder, partType, constant));
}
Value FourierButterflies::multiplyAdd(Value x, Value y, Value sum) {
  return fma ? Value(math::FmaOp::create(builder, x, y, sum)) : add(times(x, y), sum);
}
Complex FourierButterflies::times(Complex x, Complex y) {
  Value less = arith::NegFOp::create(builder, times(x.im, y.im));
  return {multiplyAdd(x.re, y.re, less), multiplyAdd(x.re, y.im, times(x.im, y.re))};
}
/// -i x.
Complex FourierButterflies::turned(Complex x) {
  return {x.im, arith::NegFOp::create(builder, x.re)};
}

Value FourierButterflies::table(Operation *function, StringRef name, ArrayRef<double> values) {
  auto type = cast<FloatType>(getElementTypeOrSelf(partType));
  SmallVector<APFloat> elements;
  for (double v : values) {
    APFloat element(v);
    bool inexact = false;
    element.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    elements.push_back(element);
  }
  auto module = function->getParentOfType<ModuleOp>();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto count = static_cast<int64_t>(values.size());
  std::string symbol = (SymbolTable::getSymbolName(function).getValue() + "_" + name).str();
  LLVM::GlobalOp::create(top, builder.getLoc(), LLVM::LLVMArrayType::get(type, count),
                         /*isConstant=*/true, LLVM::Linkage::Private, symbol,
                         DenseElementsAttr::get(RankedTensorType::get({count}, type), elements),
                         /*alignment=*/64);
  return LLVM::AddressOfOp::create(builder, LLVM::LLVMPointerType::get(builder.getContext()),
                                   symbol);
}

//===----------------------------------------------------------------------===//
// Butterflies
//===----------------------------------------------------------------------===//

SmallVector<Complex> FourierButterflies::butterfly(ArrayRef<Complex> x) {
  if (x.size() % 2)
    return oddButterfly(x);
  if (x.size() == 2)
    return {add(x[0], x[1]), sub(x[0], x[1])};
  // Even and odd numbers; roots of one are turns by an eighth.
  SmallVector<Complex> evens, odds;
  for (auto [i, v] : llvm::enumerate(x))
    (i % 2 ? odds : evens).push_back(v);
  evens = butterfly(evens);
  odds = butterfly(odds);
  constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
  if (x.size() == 8) {
    Complex a = odds[1], c = odds[3];
    odds[1] = {times(add(a.re, a.im), kHalfRoot), times(sub(a.im, a.re), kHalfRoot)};
    odds[3] = {times(sub(c.im, c.re), kHalfRoot), times(add(c.re, c.im), -kHalfRoot)};
    odds[2] = turned(odds[2]);
  } else {
    odds[1] = turned(odds[1]);
  }
  SmallVector<Complex> result(x.size());
  for (size_t i = 0; i < odds.size(); ++i) {
    result[i] = add(evens[i], odds[i]);
    result[i + odds.size()] = sub(evens[i], odds[i]);
  }
  return result;
}

/// Of sums and differences of x[j] and x[p - j], whose roots are conjugate.
SmallVector<Complex> FourierButterflies::oddButterfly(ArrayRef<Complex> x) {
  auto p = static_cast<int64_t>(x.size());
  if (p == 1)
    return {x[0]};
  SmallVector<Complex> sums, differences, result(p);
  result[0] = x[0];
  for (int64_t j = 1; j <= p / 2; ++j) {
    sums.push_back(add(x[j], x[p - j]));
    differences.push_back(sub(x[j], x[p - j]));
    result[0] = add(result[0], sums.back());
  }
  for (int64_t i = 1; i <= p / 2; ++i) {
    Complex even = x[0], odd;
    for (int64_t j = 1; j <= p / 2; ++j) {
      double angle = 2 * std::numbers::pi * static_cast<double>(i * j % p) / static_cast<double>(p);
      Complex s = sums[j - 1], d = differences[j - 1];
      even = add(even, {times(s.re, std::cos(angle)), times(s.im, std::cos(angle))});
      Complex turn{times(d.re, std::sin(angle)), times(d.im, std::sin(angle))};
      odd = j == 1 ? turn : add(odd, turn);
    }
    odd = turned(odd);
    result[i] = add(even, odd);
    result[p - i] = sub(even, odd);
  }
  return result;
}
