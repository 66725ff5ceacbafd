//===- ElementalReshape.cpp - Points of what is seen in another shape -----===//
//
// A place in the new shape is one in the old: axes correspond in groups, and within a group it is a
// number that is taken apart. What lies in memory is not taken apart at all, nor is a slice of it
// whose elements are evenly apart.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Codegen/Common/ReshapeGroups.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {
/// Elements of a slice of memory, one after the other: from `first` on, so many apart.
struct EvenPlaces {
  int64_t first, apart;
};
} // namespace

/// Where the elements of a slice lie in what it is cut from, if each is as far from the next: a run
/// of rows, or one part of all complex numbers.
static std::optional<EvenPlaces> evenPlaces(prim::SliceOp op) {
  ArrayRef<int64_t> whole = tensorType(op.getX()).getShape(),
                    given = tensorType(op.getResult()).getShape();
  if (ShapedType::isDynamicShape(whole) || ShapedType::isDynamicShape(given))
    return std::nullopt;
  SmallVector<OpFoldResult> starts = op.getMixedStarts();
  EvenPlaces places{0, 0};
  for (int64_t i = whole.size(), there = 1, here = 1; i-- > 0;) {
    auto start = getConstantIntValue(starts[i]);
    int64_t step = op.getSteps()[i] * there;
    if (!start || given[i] == 0)
      return std::nullopt;
    places.first += *start * there;
    if (given[i] > 1 && places.apart == 0 && step % here == 0)
      places.apart = step / here;
    if (given[i] > 1 && places.apart * here != step)
      return std::nullopt;
    there *= whole[i];
    here *= given[i];
  }
  return places;
}

/// The elements of a row, if a slice takes a run of rows of its operand, maybe an open one.
static std::optional<int64_t> rowLength(prim::SliceOp op) {
  ArrayRef<int64_t> row = tensorType(op.getX()).getShape().drop_front();
  bool isWhole =
      !ShapedType::isDynamicShape(row) && op.getSteps().front() == 1 &&
      row == tensorType(op.getResult()).getShape().drop_front() &&
      llvm::all_of(op.getStaticStarts().drop_front(), [](int64_t start) { return start == 0; }) &&
      llvm::all_of(op.getSteps().drop_front(), [](int64_t step) { return step == 1; });
  return isWhole ? std::optional(ShapedType::getNumElements(row)) : std::nullopt;
}

Value Elemental::evalReshape(prim::ReshapeOp op, ArrayRef<Coord> at) {
  auto xt = tensorType(op.getX()), rt = tensorType(op.getResult());
  SmallVector<Value> rExtents, xExtents;
  for (unsigned i = 0; i < rt.getRank(); ++i)
    rExtents.push_back(extent(op.getResult(), i));
  if (const Memory *memory = memoryOf(op.getX()))
    return load({memory->pointer, rExtents, memory->elementType, memory->alignment}, at);
  if (auto slice = op.getX().getDefiningOp<prim::SliceOp>()) {
    Value whole = slice.getX();
    while (auto reshape = whole.getDefiningOp<prim::ReshapeOp>())
      whole = reshape.getX();
    const Memory *memory = memoryOf(whole);
    Coord linear = linearIndex(rExtents, at);
    bool together = !linear.vector && (linear.step == 0 || linear.step == 1);
    if (auto length = memory && together ? rowLength(slice) : std::nullopt) {
      OpFoldResult start = slice.getMixedStarts().front();
      Value first =
          isa<Value>(start) ? scalar(cast<Value>(start)) : index(*getConstantIntValue(start));
      Value elements = mulIndex(extent(slice.getX(), 0), index(*length));
      return load({memory->pointer, {elements}, memory->elementType, memory->alignment},
                  addCoord(linear, mulIndex(first, index(*length))));
    }
    if (auto places = memory && together ? evenPlaces(slice) : std::nullopt) {
      Value elements = index(tensorType(slice.getX()).getNumElements());
      return load({memory->pointer, {elements}, memory->elementType, memory->alignment},
                  addCoord(scaleCoord(linear, places->apart), index(places->first)));
    }
  }
  for (unsigned i = 0; i < xt.getRank(); ++i)
    xExtents.push_back(extent(op.getX(), i));

  Coords source(xt.getRank());
  // A linear position becomes an index: the last axis stays affine when a group
  // of lanes can never cross its end.
  auto split = [&](Coord linear, unsigned begin, unsigned end) {
    for (unsigned i = end; i-- > begin;) {
      if (i == begin) {
        source[i] = linear;
        break;
      }
      auto d = getConstantIntValue(xExtents[i]);
      bool whole = !linear.vector &&
                   (linear.step == 0 ||
                    (linear.step == 1 && d && *d % numLanes == 0 && alignedToLanes(linear.base)));
      if (whole) {
        source[i] = {remIndex(linear.base, xExtents[i]), linear.step, {}};
        linear = Coord::uniform(divIndex(linear.base, xExtents[i]));
        continue;
      }
      // Lanes as far apart as the axis is long have one place on it.
      if (auto whole =
              d && !linear.vector && linear.step == *d ? quotient(linear.base, *d) : std::nullopt) {
        source[i] = Coord::uniform(index(whole->second));
        linear = Coord::affine(whole->first, 1);
        continue;
      }
      Value v = coordValue(linear), n = splat(xExtents[i], numLanes);
      source[i] = Coord::any(arith::RemUIOp::create(b, v, n));
      linear = Coord::any(arith::DivUIOp::create(b, v, n));
    }
  };
  for (const AxisGroup &g : axisGroups(xExtents, rExtents)) {
    if (g.xEnd == g.xBegin)
      continue;
    auto part = ArrayRef(rExtents).slice(g.rBegin, g.rEnd - g.rBegin);
    ArrayRef<Coord> places = at.slice(g.rBegin, part.size());
    // Where the last axis is several lines of the result's, what lies along a line stays so.
    auto line = part.empty() ? std::nullopt : getConstantIntValue(part.back());
    auto last = getConstantIntValue(xExtents[g.xEnd - 1]);
    bool severalLines =
        part.size() > 1 && g.xEnd - g.xBegin > 1 && line && last && *line > 1 && *last % *line == 0;
    if (!severalLines) {
      split(linearIndex(part, places), g.xBegin, g.xEnd);
      continue;
    }
    Coord lines = linearIndex(part.drop_back(), places.drop_back()), number;
    Value count = index(*last / *line);
    if (lines.isUniform()) {
      number = Coord::uniform(remIndex(lines.base, count));
      lines = Coord::uniform(divIndex(lines.base, count));
    } else {
      Value v = coordValue(lines), n = splat(count, numLanes);
      number = Coord::any(arith::RemUIOp::create(b, v, n));
      lines = Coord::any(arith::DivUIOp::create(b, v, n));
    }
    Value extents[] = {count, part.back()};
    Coord both[] = {number, places.back()};
    source[g.xEnd - 1] = linearIndex(extents, both);
    split(lines, g.xBegin, g.xEnd - 1);
  }
  return eval(op.getX(), source);
}
