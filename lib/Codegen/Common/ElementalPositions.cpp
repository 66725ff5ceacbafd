//===- ElementalPositions.cpp - Indices that are positions ----------------===//
//
// Windows along an axis are taken at places that are sums of positions: of the window, times a
// step, and in it. As elements such indices are vectors, which are gathered by; as what they are
// made of they move with the lanes by a known step.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Common/Elemental.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static std::optional<int64_t> splatInteger(Value v) {
  auto constant = v.getDefiningOp<prim::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getElements()) : nullptr;
  if (!dense || !dense.isSplat() || !isa<IntegerType>(dense.getElementType()))
    return std::nullopt;
  APInt number = dense.getSplatValue<APInt>();
  return number.isSignedIntN(32) ? std::optional(number.getSExtValue()) : std::nullopt;
}

/// The axes of x at what a reshape is at, if it adds or takes axes of one element alone.
static std::optional<Coords> withoutUnits(prim::ReshapeOp op, ArrayRef<Coord> at, Value zero) {
  ArrayRef<int64_t> x = tensorType(op.getX()).getShape(), r = tensorType(op.getResult()).getShape();
  Coords source;
  size_t j = 0;
  for (int64_t extent : x) {
    if (extent == 1) {
      source.push_back(Coord::uniform(zero));
      continue;
    }
    while (j < r.size() && r[j] == 1)
      ++j;
    if (j == r.size() || r[j] != extent || ShapedType::isDynamic(extent))
      return std::nullopt;
    source.push_back(at[j++]);
  }
  return source;
}

std::optional<Elemental::Position> Elemental::positionOf(Value v, ArrayRef<Coord> at) {
  if (auto number = splatInteger(v))
    return Position{Coord::uniform(index(*number)), *number, *number};
  Operation *op = v.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto both = [&](auto combine) -> std::optional<Position> {
    auto x = positionOf(op->getOperand(0), at), y = positionOf(op->getOperand(1), at);
    return x && y ? combine(*x, *y) : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, std::optional<Position>>(op)
      .Case([&](prim::IotaOp iota) -> std::optional<Position> {
        const Coord &c = at[iota.getAxis()];
        auto type = tensorType(iota.getResult());
        if (c.vector || type.isDynamicDim(iota.getAxis()))
          return std::nullopt;
        return Position{c, 0, type.getDimSize(iota.getAxis()) - 1};
      })
      .Case([&](prim::BroadcastOp broadcast) {
        Coords source;
        for (auto [extent, axis] :
             llvm::zip(tensorType(broadcast.getX()).getShape(), broadcast.getAxes()))
          source.push_back(extent == 1 ? Coord::uniform(index(0)) : at[axis]);
        return positionOf(broadcast.getX(), source);
      })
      .Case([&](prim::ReshapeOp reshape) -> std::optional<Position> {
        auto source = withoutUnits(reshape, at, index(0));
        return source ? positionOf(reshape.getX(), *source) : std::nullopt;
      })
      .Case([&](prim::AddOp) {
        return both([&](Position x, Position y) -> std::optional<Position> {
          return Position{Coord::affine(addIndex(x.at.base, y.at.base), x.at.step + y.at.step),
                          x.least + y.least, x.most + y.most};
        });
      })
      .Case([&](prim::MulOp) {
        return both([&](Position x, Position y) -> std::optional<Position> {
          if (x.least == x.most)
            std::swap(x, y);
          int64_t factor = y.least;
          if (factor != y.most || factor < 0 || llvm::MulOverflow(x.most, factor, factor))
            return std::nullopt;
          return Position{scaleCoord(x.at, y.least), x.least * y.least, x.most * y.least};
        });
      })
      .Default(std::nullopt);
}
