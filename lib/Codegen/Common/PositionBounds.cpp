//===- PositionBounds.cpp - How large computed positions are --------------===//
#include "PositionBounds.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <optional>

using namespace mlir;
using namespace tcc;

/// A bound of the magnitude of all elements of `v`; null: none is known.
static std::optional<int64_t> magnitude(Value v, unsigned depth = 8) {
  Operation *op = v.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  auto of = [&](Value x) { return magnitude(x, depth - 1); };
  auto both = [&](auto combine) -> std::optional<int64_t> {
    auto x = of(op->getOperand(0)), y = of(op->getOperand(1));
    int64_t result = 0;
    if (!x || !y || combine(*x, *y, result))
      return std::nullopt;
    return result;
  };
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([](prim::IotaOp iota) -> std::optional<int64_t> {
        auto type = tensorType(iota.getResult());
        if (type.isDynamicDim(iota.getAxis()))
          return std::nullopt;
        return type.getDimSize(iota.getAxis());
      })
      .Case([](prim::ConstantOp constant) -> std::optional<int64_t> {
        auto dense = dyn_cast<DenseElementsAttr>(constant.getElements());
        if (!dense || !dense.isSplat() || !isa<IntegerType>(dense.getElementType()))
          return std::nullopt;
        APInt number = dense.getSplatValue<APInt>();
        if (!number.isSignedIntN(32))
          return std::nullopt;
        return std::abs(number.getSExtValue());
      })
      .Case<prim::BroadcastOp, prim::ReshapeOp, prim::TransposeOp, prim::SliceOp, prim::ReverseOp>(
          [&](auto view) { return of(view.getX()); })
      .Case<prim::AddOp, prim::SubOp>([&](Operation *) {
        return both([](int64_t x, int64_t y, int64_t &r) { return llvm::AddOverflow(x, y, r); });
      })
      .Case([&](prim::MulOp) {
        return both([](int64_t x, int64_t y, int64_t &r) { return llvm::MulOverflow(x, y, r); });
      })
      .Default(std::nullopt);
}

bool tcc::codegen::fitsWord(Value v) {
  std::optional<int64_t> bound = magnitude(v);
  return bound && *bound <= std::numeric_limits<int32_t>::max();
}
