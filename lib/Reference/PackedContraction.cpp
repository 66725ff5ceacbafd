//===- PackedContraction.cpp - Products with weights in panels -----------===//
//
// The layout phase's forms of dot and conv: the weights are put back into the
// order of the plain operator, which is then evaluated.
//
//===----------------------------------------------------------------------===//
#include "Reference/Contraction.h"
#include "Reference/Evaluators.h"
#include "Reference/StridedCopy.h"
#include "tcc/Target/WeightPanels.h"

namespace tcc::reference {

namespace {

/// Panels of bytes [groups, panels, steps, width, size] as [groups, k, columns], where
/// each `run` of k fills whole steps.
llvm::Expected<Tensor> unpackedBytes(const Tensor &panels, int64_t columns, int64_t k,
                                     int64_t run) {
  int64_t groups = panels.dim(0), count = panels.dim(1), rows = panels.dim(2),
          width = panels.dim(3), size = panels.dim(4);
  int64_t steps = run > 0 && size > 0 ? (run + size - 1) / size * (k / run) : 0;
  if (columns > count * width || columns < 0 || steps > rows)
    return userError("panels of shape " + shapeText(panels.shape()) + " do not hold " +
                     llvm::Twine(k) + " x " + llvm::Twine(columns));
  llvm::Expected<Tensor> matrix = Tensor::allocate(panels.dtype(), {groups, k, columns});
  if (!matrix)
    return matrix;
  const char *from = panels.data();
  char *to = matrix->mutableData();
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t i = 0; i < k; ++i)
      for (int64_t n = 0; n < columns; ++n) {
        int64_t step = i / run * ((run + size - 1) / size) + i % run / size;
        int64_t row = (g * count + n / width) * rows + step;
        to[(g * k + i) * columns + n] = from[(row * width + n % width) * size + i % run % size];
      }
  return matrix;
}

/// Panels [groups, panels, k, width] as [groups, k, columns].
llvm::Expected<Tensor> unpacked(const Tensor &panels, int64_t columns, int64_t bytesK,
                                int64_t bytesRun) {
  if (panels.shape().size() == 5)
    return unpackedBytes(panels, columns, bytesK, bytesRun);
  int64_t groups = panels.dim(0), count = panels.dim(1), k = panels.dim(2), width = panels.dim(3);
  if (columns > count * width || columns < 0)
    return userError("panels of shape " + shapeText(panels.shape()) + " do not hold " +
                     llvm::Twine(columns) + " columns");
  llvm::Expected<Tensor> matrix = Tensor::allocate(panels.dtype(), {groups, k, columns});
  if (!matrix)
    return matrix;
  for (int64_t first = 0; first < columns; first += width) {
    int64_t panel = first / width;
    copyStrided({groups, k, std::min(width, columns - first)}, elementBytes(panels.dtype()),
                {at(panels, panel * k * width), {count * k * width, width, 1}},
                {at(*matrix, first), {k * columns, columns, 1}});
  }
  return matrix;
}

llvm::Expected<Tensor> packedDot(prim::PackedDotOp op, Operands operands) {
  const Tensor &lhs = operands[0], &panels = operands[1];
  auto columns = static_cast<int64_t>(op.getColumns());
  int64_t k = lhs.shape().back();
  if (panels.dim(0) != 1 || (panels.shape().size() == 4 && k != panels.dim(2)))
    return userError("shapes " + shapeText(lhs.shape()) + " and " + shapeText(panels.shape()) +
                     " do not match");
  llvm::Expected<Tensor> matrix = unpacked(panels, columns, k, k);
  if (!matrix)
    return matrix;
  llvm::SmallVector<int64_t> shape(lhs.shape().drop_back());
  shape.push_back(columns);
  return matrixProduct(lhs, matrix->reshaped({k, columns}), resultDType(op), shape);
}

/// The weights [filters, channels, 3, 3] that panels [panels, 16, channels, width] were made
/// of: u = G w G^T, and G has a left inverse that takes rows 0, 1 minus 2, and 3.
llvm::Expected<Tensor> untransformed(const Tensor &panels, int64_t filters) {
  int64_t channels = panels.dim(2), width = panels.dim(3);
  if (panels.dtype() != DType::F32 || panels.dim(1) != 16 || panels.dim(0) * width < filters)
    return userError("panels of shape " + shapeText(panels.shape()) + " are not those of " +
                     llvm::Twine(filters) + " transformed filters");
  llvm::Expected<Tensor> w = Tensor::allocate(panels.dtype(), {filters, channels, 3, 3});
  if (!w)
    return w;
  const auto *from = reinterpret_cast<const float *>(panels.data());
  auto *to = reinterpret_cast<float *>(w->mutableData());
  for (int64_t filter = 0; filter < filters; ++filter)
    for (int64_t c = 0; c < channels; ++c) {
      auto point = [&](int64_t i, int64_t j) -> double {
        int64_t slice = filter / width * 16 + i * 4 + j;
        return from[(slice * channels + c) * width + filter % width];
      };
      auto column = [&](int64_t i, int64_t j) {
        return i == 1 ? point(1, j) - point(2, j) : point(i == 0 ? 0 : 3, j);
      };
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 3; ++j) {
          double v = j == 1 ? column(i, 1) - column(i, 2) : column(i, j == 0 ? 0 : 3);
          to[(filter * channels + c) * 9 + i * 3 + j] = static_cast<float>(v);
        }
    }
  return w;
}

llvm::Expected<Tensor> packedConv(prim::PackedConvOp op, Operands operands) {
  const Tensor &x = operands[0], &panels = operands[1];
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  auto groups = static_cast<int64_t>(op.getGroups()),
       filters = static_cast<int64_t>(op.getFilters());
  llvm::SmallVector<int64_t> ones(op.getWindow().size(), 1);
  Convolution attributes{op.getStrides(),      op.getDilations(), ones, op.getLow(), groups,
                         /*channelsLast=*/true};
  if (op.getWinograd()) {
    llvm::Expected<Tensor> w = untransformed(panels, filters);
    return w ? convolution(x, *w, attributes, resultDType(op), *shape) : std::move(w);
  }
  // Panels of narrow groups hold the filters of all groups side by side.
  int64_t packed = panels.dim(0), each = filters / std::max<int64_t>(packed, 1);
  int64_t taps = *elementCount(op.getWindow()), depth = panels.dim(2), run = depth;
  if (panels.shape().size() == 5 && groups > 0) {
    ConvExtents extents{groups, each, x.shape().back() / groups, taps};
    depth = taps * extents.channels;
    run = gathersTaps(extents) ? depth : extents.channels;
  }
  if ((packed != groups && packed != 1) || taps == 0 || depth % taps != 0)
    return userError("panels of shape " + shapeText(panels.shape()) + " do not fit the window " +
                     shapeText(op.getWindow()));
  llvm::Expected<Tensor> matrix = unpacked(panels, each, depth, run);
  if (!matrix)
    return matrix;
  // [packed, taps, channels, each] → [packed, each, channels, taps]
  int64_t channels = depth / taps;
  llvm::SmallVector<int64_t> weightShape{filters, channels};
  llvm::append_range(weightShape, op.getWindow());
  llvm::Expected<Tensor> w = Tensor::allocate(panels.dtype(), weightShape);
  if (!w)
    return w;
  llvm::SmallVector<int64_t> order{packed, each, channels, taps};
  copyStrided(order, elementBytes(panels.dtype()),
              {matrix->data(), {depth * each, 1, each, channels * each}},
              {w->mutableData(), stridesOf(order)});
  return convolution(x, *w, attributes, resultDType(op), *shape);
}

} // namespace

void addPackedContractions(Evaluators &all) {
  all.add<prim::PackedDotOp, packedDot>();
  all.add<prim::PackedConvOp, packedConv>();
}

} // namespace tcc::reference
