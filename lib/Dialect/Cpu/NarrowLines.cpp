//===- NarrowLines.cpp - Reductions of axes before a few points -----------===//
#include "tcc/Dialect/Cpu/NarrowLines.h"
#include <numeric>

using namespace mlir;
using namespace tcc;

std::optional<NarrowLines> tcc::narrowLinesOf(prim::ReduceOp op) {
  constexpr int64_t kRows = 8, kFewestLines = 32, kMostPoints = 32; // below which others do it
  constexpr int64_t kFewest = 1 << 13, kMostOfRow = 1 << 14;        // elements
  constexpr int64_t kVector = 8, kMostVectors = 16; // of a turn, whose sums are in registers
  constexpr int64_t kOpenRows = 64;
  auto type = tensorType(op.getX());
  Type element = type.getElementType();
  ArrayRef<int64_t> shape = type.getShape(), axes = op.getAxes();
  bool together = !axes.empty() && axes.back() - axes.front() + 1 == int64_t(axes.size());
  if (!together || axes.front() == 0 ||
      ShapedType::isDynamicShape(shape.drop_front(axes.front())) ||
      !(isa<FloatType>(element) || element.isSignlessInteger(32) || element.isSignlessInteger(64)))
    return std::nullopt;
  auto product = [](ArrayRef<int64_t> extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
  };
  NarrowLines narrow{product(shape.slice(axes.front(), axes.size())),
                     product(shape.drop_front(axes.back() + 1))};
  ArrayRef<int64_t> outer = shape.take_front(axes.front());
  int64_t rows = ShapedType::isDynamicShape(outer) ? kOpenRows : product(outer);
  bool fits = rows >= kRows && rows * narrow.lines * narrow.points >= kFewest &&
              narrow.lines >= kFewestLines && narrow.points > 1 && narrow.points < kMostPoints &&
              narrow.points / std::gcd(narrow.points, kVector) <= kMostVectors &&
              narrow.lines * narrow.points <= kMostOfRow;
  return fits ? std::optional(narrow) : std::nullopt;
}
