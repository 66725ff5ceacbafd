//===- GridSample.cpp - GridSample and AffineGrid ------------------------------===//
#include "Decompose/Idioms/GridSample.h"
#include "Decompose/AllRules.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;

namespace {

LogicalResult gridSampleRule(NodeContext &c) {
  std::string mode = c.stringAttr("mode", "linear"),
              padding = c.stringAttr("padding_mode", "zeros");
  GridOptions o;
  o.mode = mode == "nearest"                      ? GridOptions::Nearest
           : mode == "cubic" || mode == "bicubic" ? GridOptions::Cubic
                                                  : GridOptions::Linear;
  o.padding = padding == "border"       ? GridOptions::Border
              : padding == "reflection" ? GridOptions::Reflection
                                        : GridOptions::Zeros;
  o.alignCorners = c.intAttr("align_corners", 0) != 0;
  Value result = gridSample(c.b, c.in(0), c.in(1), o);
  return result ? c.give(result) : failure();
}

/// The positions of `extent` samples in [-1, 1]: at its ends, or at the centres of
/// as many equal parts.
Value positions(PrimBuilder &b, Dim extent, bool atEnds, Type element) {
  Value i = b.iota({extent}, 0, element);
  Value n = scalarOf(b, extent, element);
  if (!atEnds) // (2 i + 1) / n - 1
    return b.sub(b.div(b.add(b.mul(i, 2.0), 1.0), n), 1.0);
  Value gaps = b.maximum(b.sub(n, 1.0), 1.0);
  return b.sub(b.div(b.mul(i, 2.0), gaps), 1.0);
}

/// theta [N, k, k + 1] applied to (x, y[, z], 1) of each point of a grid.
LogicalResult affineGrid(NodeContext &c) {
  PrimBuilder &b = c.b;
  Value theta = widen(b, c.in(0));
  std::optional<int64_t> sizes = resultRank(c, 0);
  if (auto axes = b.rank(theta) == 3 ? b.known(b.dim(theta, 2)) : std::nullopt)
    sizes = *axes + 1;
  auto size = hostInts(c, 1, sizes);
  if (failed(size))
    return failure();
  int64_t k = static_cast<int64_t>(size->size()) - 2;
  if ((k != 2 && k != 3) || b.rank(theta) != 3 || b.known(b.dim(theta, 1)).value_or(k) != k ||
      b.known(b.dim(theta, 2)).value_or(k + 1) != k + 1)
    return c.fail("needs theta [N, 2, 3] and 4 sizes, or [N, 3, 4] and 5");
  requireSame(b, b.dim(theta, 0), (*size)[0], "theta and size");
  requireSame(b, b.dim(theta, 1), b.dim(k), "theta's rows");
  requireSame(b, b.dim(theta, 2), b.dim(k + 1), "theta's columns");
  Type e = b.elem(theta);
  bool atEnds = c.intAttr("align_corners", 0);
  // Column j of theta: [N, 1, .., 1, k].
  auto column = [&](int64_t j) {
    Value v = b.squeeze(b.sliceAxis(theta, 2, b.dim(j), b.dim(1)), {2});
    return b.unsqueeze(v, axesFrom(1, k + 1));
  };
  Dims full = {b.dim(theta, 0)};
  full.append(size->begin() + 2, size->end());
  full.push_back(b.dim(k));
  Value sum = b.broadcastTo(column(k), full);
  for (int64_t j = 0; j < k; ++j) {
    Value x = positions(b, (*size)[1 + k - j], atEnds, e); // x runs along the last axis
    sum = b.add(sum, b.mul(column(j), alongAxis(b, x, k - j, k + 2)));
  }
  return c.give(b.cast(sum, b.elem(c.in(0))));
}

} // namespace

void tcc::populateOnnxGridSampleRules(RuleSet &rules) {
  rules.add("onnx", "AffineGrid", affineGrid);
  rules.add("onnx", "GridSample", gridSampleRule);
  rules.add("com.microsoft", "GridSample", gridSampleRule);
}
