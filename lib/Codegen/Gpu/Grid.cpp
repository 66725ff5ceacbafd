//===- Grid.cpp - How many blocks a launch has ----------------------------===//
//
// Formulas over the extents of a run with the sizes of the schedule in them: the host
// computes them before a launch.
//
//===----------------------------------------------------------------------===//
#include "Attention/BoxedAttention.h"
#include "Loops/TransposedOperand.h"
#include "Products/MatrixTile.h"
#include "Products/Product.h"
#include "Recurrence/Recurrence.h"
#include "Scatters/ScatterKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

/// Host index arithmetic that folds.
struct HostIndex {
  OpBuilder &b;
  Location loc;

  template <typename Op>
  OpFoldResult apply(OpFoldResult x, OpFoldResult y, int64_t (*fold)(int64_t, int64_t)) {
    auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
    if (cx && cy)
      return b.getIndexAttr(fold(*cx, *cy));
    return Op::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, x),
                      getValueOrCreateConstantIndexOp(b, loc, y))
        .getResult();
  }
  OpFoldResult mul(OpFoldResult x, OpFoldResult y) {
    return apply<arith::MulIOp>(x, y, [](int64_t a, int64_t c) { return a * c; });
  }
  OpFoldResult volume(ArrayRef<OpFoldResult> extents) {
    OpFoldResult product = b.getIndexAttr(1);
    for (OpFoldResult d : extents)
      product = mul(product, d);
    return product;
  }
  OpFoldResult ceilDiv(OpFoldResult x, int64_t y) {
    return apply<arith::CeilDivSIOp>(x, b.getIndexAttr(y),
                                     [](int64_t a, int64_t c) { return (a + c - 1) / c; });
  }
};

} // namespace

/// An index of the region, whose arguments are the launch's inputs on the host.
static Value onHost(OpBuilder &b, kernel::LaunchOp launch, Value inside) {
  if (auto argument = dyn_cast<BlockArgument>(inside))
    return launch.getInputs()[argument.getArgNumber()];
  Operation *op = inside.getDefiningOp();
  if (auto dim = dyn_cast<prim::DimOp>(op)) {
    Value tensor = onHost(b, launch, dim.getX());
    return getValueOrCreateConstantIndexOp(b, launch.getLoc(),
                                           prim::dimOf(b, launch.getLoc(), tensor, dim.getAxis()));
  }
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, onHost(b, launch, operand));
  return b.clone(*op, operands)->getResult(0);
}

/// The extents of a tensor in the region, as host values.
static SmallVector<OpFoldResult> hostExtents(OpBuilder &b, kernel::LaunchOp launch, Value inside) {
  if (auto argument = dyn_cast<BlockArgument>(inside))
    return prim::dimsOf(b, launch.getLoc(), launch.getInputs()[argument.getArgNumber()]);
  if (tensorType(inside).hasStaticShape())
    return getAsIndexOpFoldResult(b.getContext(), tensorType(inside).getShape());
  // Worked out in a copy of the region, which this must leave as it is.
  IRMapping values;
  auto copy = cast<kernel::LaunchOp>(launch->clone(values));
  OpBuilder inner(copy.getBody().front().getTerminator());
  SmallVector<OpFoldResult> extents = prim::dimsOf(inner, launch.getLoc(), values.lookup(inside));
  for (OpFoldResult &extent : extents)
    if (auto value = dyn_cast<Value>(extent))
      extent = onHost(b, launch, value);
  copy->erase();
  return extents;
}

/// The extents of the product of `launch`, whose result may be a transpose of it.
static SmallVector<OpFoldResult> convExtents(OpBuilder &b, kernel::LaunchOp launch) {
  SmallVector<OpFoldResult> stored = prim::dimsOf(b, launch.getLoc(), launch.getResult(0));
  Value yielded = launch.getBody().front().getTerminator()->getOperand(0);
  auto transpose = yielded.getDefiningOp<prim::TransposeOp>();
  if (!transpose)
    return stored;
  SmallVector<OpFoldResult> extents(stored.size());
  for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
    extents[axis] = stored[i];
  return extents;
}

namespace {

/// Extents of the matrices that a product is, as numbers of the host.
struct HostProduct {
  OpFoldResult batch, rows, columns, inner;

  HostProduct(HostIndex h, kernel::LaunchOp launch, prim::DotOp dot);
  /// Of a convolution.
  HostProduct(HostIndex h, kernel::LaunchOp launch, int64_t groups, unsigned channelAxis,
              ArrayRef<OpFoldResult> filters);
  static HostProduct of(HostIndex h, kernel::LaunchOp launch);
};

} // namespace

HostProduct::HostProduct(HostIndex h, kernel::LaunchOp launch, prim::DotOp dot) {
  SmallVector<OpFoldResult> l = hostExtents(h.b, launch, dot.getLhs()),
                            r = hostExtents(h.b, launch, dot.getRhs());
  auto all = [&](ArrayRef<OpFoldResult> extents, auto of) {
    SmallVector<OpFoldResult> chosen;
    for (auto [axis, d] : llvm::enumerate(extents))
      if (of(int64_t(axis)))
        chosen.push_back(d);
    return h.volume(chosen);
  };
  batch = all(l, [&](int64_t axis) { return llvm::is_contained(dot.getLhsBatch(), axis); });
  rows = all(l, [&](int64_t axis) {
    return !llvm::is_contained(dot.getLhsBatch(), axis) &&
           !llvm::is_contained(dot.getLhsContract(), axis);
  });
  columns = all(r, [&](int64_t axis) {
    return !llvm::is_contained(dot.getRhsBatch(), axis) &&
           !llvm::is_contained(dot.getRhsContract(), axis);
  });
  inner = all(l, [&](int64_t axis) { return llvm::is_contained(dot.getLhsContract(), axis); });
}

HostProduct::HostProduct(HostIndex h, kernel::LaunchOp launch, int64_t groups, unsigned channelAxis,
                         ArrayRef<OpFoldResult> filters)
    : batch(h.b.getIndexAttr(groups)), columns(h.ceilDiv(filters[0], groups)),
      inner(h.volume(filters.drop_front())) {
  SmallVector<OpFoldResult> pixels = convExtents(h.b, launch);
  pixels.erase(pixels.begin() + channelAxis);
  rows = h.volume(pixels);
}

HostProduct HostProduct::of(HostIndex h, kernel::LaunchOp launch) {
  Operation *op = productOf(launch);
  if (auto dot = dyn_cast<prim::DotOp>(op))
    return {h, launch, dot};
  auto conv = cast<prim::ConvOp>(op);
  unsigned channelAxis = conv.getChannelsLast() ? conv.getStrides().size() + 1 : 1;
  return {h, launch, int64_t(conv.getGroups()), channelAxis, hostExtents(h.b, launch, conv.getW())};
}

/// Tiles of a product; `matrices`: of the batch in a block.
static OpFoldResult productTiles(HostIndex h, const HostProduct &product, Schedule s,
                                 int64_t matrices = 1) {
  return h.volume({h.ceilDiv(product.batch, matrices), h.ceilDiv(product.rows, s.getRows()),
                   h.ceilDiv(product.columns, s.getColumns())});
}

/// Tiles of which each has as many blocks as share its sums. `matrices`: of the batch in a block;
/// `slice`: elements of k that a block multiplies at once.
static OpFoldResult sharedProductGrid(HostIndex h, kernel::LaunchOp launch, Schedule s,
                                      int64_t matrices, int64_t slice) {
  HostProduct product = HostProduct::of(h, launch);
  OpFoldResult tiles = productTiles(h, product, s, matrices);
  if (!s.getMostBlocks())
    return h.mul(tiles, h.b.getIndexAttr(s.getSplit()));
  auto value = [&](OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(h.b, h.loc, number);
  };
  Value steps = value(h.ceilDiv(product.inner, slice));
  return h.mul(tiles, partsOfProduct(h.b, h.loc, value(tiles), steps, s));
}

static OpFoldResult loopGrid(HostIndex h, kernel::LaunchOp launch, Schedule s,
                             ArrayRef<OpFoldResult> dims) {
  OpFoldResult blocks =
      h.ceilDiv(h.volume(dims), int64_t(s.getLanes()) * s.getVectors() * s.getThreads());
  // One tells of a check where there are no points.
  auto most = [](int64_t x, int64_t y) { return std::max(x, y); };
  return joinedCheck(launch) ? h.apply<arith::MaxSIOp>(blocks, h.b.getIndexAttr(1), most) : blocks;
}

static OpFoldResult scatterGrid(HostIndex h, kernel::LaunchOp launch, Schedule s) {
  Operation *op = specialOf(launch);
  if (isa<prim::ScatterRunsOp>(op)) {
    SmallVector<OpFoldResult> extents = prim::dimsOf(h.b, launch.getLoc(), launch.getResult(0));
    OpFoldResult points = h.volume(ArrayRef(extents).drop_front());
    return h.mul(h.ceilDiv(extents[0], s.getThreads() / s.getRowThreads()),
                 h.ceilDiv(points, int64_t(s.getRowThreads()) * s.getLanes()));
  }
  if (s.getRowThreads())
    return h.b.getIndexAttr(s.getScratchBytes() || s.getSharedBytes()
                                ? s.getSplit()
                                : sortedScatterItems(*UpdateList::of(op), s));
  SmallVector<OpFoldResult> extents = prim::dimsOf(h.b, launch.getLoc(), launch.getResult(0));
  if (auto along = dyn_cast<prim::ScatterAlongOp>(op)) {
    if (s.getRows())
      return h.b.getIndexAttr(notedScatterTiles(along, s));
    extents.erase(extents.begin() + along.getAxis());
    if (s.getDepth())
      return h.volume(extents);
    OpFoldResult warps = h.ceilDiv(h.volume(extents), GpuArch::warp);
    return h.ceilDiv(h.mul(warps, h.b.getIndexAttr(int64_t(GpuArch::warp) * s.getSplit())),
                     s.getThreads());
  }
  if (auto nd = dyn_cast<prim::ScatterNdOp>(op))
    extents.erase(extents.begin(), extents.begin() + tensorType(nd.getIndices()).getShape().back());
  else if (s.getLanes() > 1)
    extents.back() = h.ceilDiv(extents.back(), s.getLanes());
  return h.ceilDiv(h.volume(extents), s.getThreads());
}

static OpFoldResult columnGrid(HostIndex h, kernel::LaunchOp launch, Schedule s,
                               ArrayRef<OpFoldResult> dims) {
  OpFoldResult groups =
      h.ceilDiv(h.volume(dims), int64_t(s.getThreads() / s.getRowThreads()) * s.getLanes());
  if (!s.getMostBlocks())
    return h.mul(groups, h.b.getIndexAttr(s.getSplit()));
  prim::ReduceOp reduce = columnReduction(launch);
  SmallVector<OpFoldResult> extents = hostExtents(h.b, launch, reduce.getX());
  SmallVector<OpFoldResult> reduced =
      llvm::map_to_vector(reduce.getAxes(), [&](int64_t axis) { return extents[size_t(axis)]; });
  auto value = [&](OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(h.b, h.loc, number);
  };
  return h.mul(groups, partsOfOpenColumns(h.b, h.loc, value(groups), value(h.volume(reduced)), s));
}

OpFoldResult device::gridOf(OpBuilder &b, kernel::LaunchOp launch, Schedule s) {
  HostIndex h{b, launch.getLoc()};
  SmallVector<OpFoldResult> dims = prim::dimsOf(b, launch.getLoc(), launch.getResult(0));
  switch (s.getForm()) {
  case Form::Loop:
    if (s.getRows()) {
      bool last = cast<prim::ConvOp>(productOf(launch)).getChannelsLast();
      OpFoldResult &places = last ? dims[dims.size() - 2] : dims.back();
      places = h.ceilDiv(places, s.getRows());
      if (last)
        dims.back() = h.ceilDiv(dims.back(), s.getLanes());
      return h.ceilDiv(h.volume(dims), s.getThreads());
    }
    return loopGrid(h, launch, s, dims);
  case Form::Transpose: {
    std::optional<TransposedOperand> operands = transposedOperand(launch);
    SmallVector<OpFoldResult> blocks;
    for (const JoinedAxes &group : operands->groups()) {
      auto axes = llvm::map_to_vector(group, [&](unsigned axis) { return dims[axis]; });
      OpFoldResult all = h.volume(axes);
      blocks.push_back(operands->isCut(group) ? h.ceilDiv(all, s.getRows()) : all);
    }
    return h.volume(blocks);
  }
  case Form::Column:
    return columnGrid(h, launch, s, dims);
  case Form::Row: {
    OpFoldResult rows = h.volume(ArrayRef(dims).take_front(*launch.getRows()));
    if (unsigned lineAxes = lineAxesOf(launch)) {
      SmallVector<OpFoldResult> space = hostExtents(b, launch, rowSpace(launch));
      space.back() = h.ceilDiv(space.back(), s.getLanes());
      rows = h.mul(h.volume(ArrayRef(space).take_front(*launch.getRows())),
                   h.volume(ArrayRef(space).take_back(lineAxes)));
    }
    OpFoldResult parts = b.getIndexAttr(s.getSplit());
    ArrayRef<int64_t> shape = tensorType(rowSpace(launch)).getShape();
    auto length = [&] {
      SmallVector<OpFoldResult> space = hostExtents(b, launch, rowSpace(launch));
      return getValueOrCreateConstantIndexOp(
          b, launch.getLoc(), h.volume(ArrayRef(space).drop_front(*launch.getRows())));
    };
    if (s.getSplit() > 1 && volumeOf(shape) < 0)
      parts = partsOfOpenRow(b, launch.getLoc(), length(), s);
    if (s.getRows()) {
      Value count = getValueOrCreateConstantIndexOp(b, launch.getLoc(), rows);
      Value ofBlock = rowsOfOpenBlock(b, launch.getLoc(), length(), s);
      return OpFoldResult(
          arith::CeilDivSIOp::create(b, launch.getLoc(), count, ofBlock).getResult());
    }
    return h.mul(h.ceilDiv(rows, s.getThreads() / s.getRowThreads()), parts);
  }
  case Form::Line: {
    if (s.getScratchBytes())
      return b.getIndexAttr(s.getSplit());
    if (prim::WhileOp loop = loopOf(launch))
      return b.getIndexAttr(llvm::divideCeil(Recurrence::of(loop)->batch, s.getRows()) *
                            s.getSplit());
    unsigned ofBlock = s.getThreads() / std::max(1u, s.getRowThreads());
    auto blocks = [&](Value x, uint64_t axis, int64_t lines) {
      SmallVector<OpFoldResult> extents = hostExtents(b, launch, x);
      extents.erase(extents.begin() + axis);
      return h.ceilDiv(h.volume(extents), lines);
    };
    if (auto fourier = dyn_cast<prim::FourierOp>(specialOf(launch)))
      return blocks(fourier.getRe(), fourier.getAxis(), int64_t(ofBlock) * s.getVectors());
    if (specialOf(launch)->hasTrait<prim::MatrixFactor>()) {
      OpFoldResult matrices = h.volume(ArrayRef(dims).drop_back(2));
      return h.mul(matrices, s.getColumns() ? h.ceilDiv(dims.back(), s.getColumns())
                                            : OpFoldResult(b.getIndexAttr(s.getSplit())));
    }
    auto [x, axis] = *lineAxis(specialOf(launch));
    return blocks(x, axis, ofBlock);
  }
  case Form::Scatter:
    return scatterGrid(h, launch, s);
  case Form::Collect:
    return b.getIndexAttr(s.getSplit());
  case Form::Product:
    return sharedProductGrid(h, launch, s, s.getLanes(), int64_t(s.getDepth()) * s.getVectors());
  case Form::Attention:
  case Form::MmaAttention: {
    HostProduct product(h, launch, attentionOf(launch).scores);
    return h.volume(
        {product.batch, h.ceilDiv(product.rows, s.getRows()), b.getIndexAttr(s.getSplit())});
  }
  case Form::WgmmaAttention: {
    BoxedAttention attention = *boxedAttention(launch);
    OpFoldResult rows =
        hostExtents(b, launch, attention.form.scores.getLhs())[attention.queries.rowAxis];
    OpFoldResult tiles =
        h.volume({HostProduct(h, launch, attention.form.scores).batch,
                  b.getIndexAttr(attention.otherRows), h.ceilDiv(rows, s.getRows())});
    return h.apply<arith::MinSIOp>(tiles, b.getIndexAttr(s.getMostBlocks()),
                                   [](int64_t x, int64_t y) { return std::min(x, y); });
  }
  case Form::Skinny: {
    HostProduct product = HostProduct::of(h, launch);
    unsigned warps = s.getThreads() / GpuArch::warp;
    OpFoldResult blocks = s.getRows() ? h.ceilDiv(product.rows, warps * s.getRows())
                                      : h.ceilDiv(product.columns, warps * s.getColumns());
    // Of open rows a block has so many.
    if (s.getDepth())
      blocks = h.mul(blocks, h.ceilDiv(product.rows, s.getDepth()));
    return h.mul(h.mul(product.batch, blocks), b.getIndexAttr(s.getSplit()));
  }
  case Form::SkinnyMma: {
    HostProduct product = HostProduct::of(h, launch);
    return h.mul(product.batch, h.ceilDiv(product.columns, s.getColumns()));
  }
  case Form::Mma:
    return sharedProductGrid(h, launch, s, 1, s.getDepth());
  case Form::Wgmma: {
    OpFoldResult tiles = productTiles(h, HostProduct::of(h, launch), s);
    if (!s.getMostBlocks())
      return h.mul(tiles, b.getIndexAttr(s.getSplit()));
    return h.apply<arith::MinSIOp>(tiles, b.getIndexAttr(s.getMostBlocks()),
                                   [](int64_t x, int64_t y) { return std::min(x, y); });
  }
  }
  llvm_unreachable("all forms are handled above");
}

/// Queries, keys, values.
static SmallVector<TensorMap> attentionMaps(OpBuilder &b, kernel::LaunchOp launch, Schedule s) {
  BoxedAttention attention = *boxedAttention(launch);
  auto boxRows = [&](const BoxOperand &box, bool inRows) {
    return inRows ? s.getColumns() : static_cast<unsigned>(box.rows);
  };
  HostIndex h{b, launch.getLoc()};
  auto map = [&](const BoxOperand &box, unsigned rows) {
    SmallVector<OpFoldResult> extents = hostExtents(b, launch, box.memory);
    // Where there are no keys none are copied, but a map needs something to describe.
    for (OpFoldResult &extent : extents)
      extent = h.apply<arith::MaxSIOp>(extent, b.getIndexAttr(1),
                                       [](int64_t x, int64_t y) { return std::max(x, y); });
    return box.map(b, rows, extents);
  };
  return {map(attention.queries, s.getRows()),
          map(attention.keys, boxRows(attention.keys, attention.keysByInner)),
          map(attention.values, boxRows(attention.values, !attention.valuesByInner))};
}

SmallVector<TensorMap> device::tensorMapsOf(OpBuilder &b, kernel::LaunchOp launch, Schedule s) {
  if (s.getForm() == Form::WgmmaAttention)
    return attentionMaps(b, launch, s);
  if (s.getForm() != Form::Wgmma)
    return {};
  MatrixProduct product = scheduledMatrices(launch, s);
  HostIndex h{b, launch.getLoc()};
  HostProduct extents = HostProduct::of(h, launch);
  OpFoldResult rows = product.batchAxes ? h.mul(extents.batch, extents.rows) : extents.rows;
  SmallVector<TensorMap> maps;
  if (product.window) {
    maps = product.window->tensorMaps(b, launch, s.getRows(), s.getColumns());
  } else {
    OpFoldResult inner = b.getIndexAttr(product.inner), columns = b.getIndexAttr(product.columns);
    maps.push_back(
        {false, product.leftRows.getArgNumber(), {rows, inner}, {s.getRows(), MatrixTile::depth}});
    if (product.leftAcross) {
      maps.back().extents = {inner, extents.rows};
      maps.back().box = {MatrixTile::depth, MatrixTile::sliceColumns};
      if (product.batchAxes) {
        maps.back().extents.insert(maps.back().extents.begin(), extents.batch);
        maps.back().box.insert(maps.back().box.begin(), 1);
      }
    }
    unsigned right = product.right.getArgNumber();
    int64_t units = product.elementUnits();
    if (product.rightByColumns)
      maps.push_back({false, right, {columns, inner}, {s.getColumns(), MatrixTile::depth}});
    else
      maps.push_back(
          {false,
           right,
           {b.getIndexAttr(product.inner / units), b.getIndexAttr(product.columns * units)},
           {MatrixTile::depth / unsigned(units), MatrixTile::sliceColumns}});
    if (product.batchAxes) {
      maps.back().extents.insert(maps.back().extents.begin(), extents.batch);
      maps.back().box.insert(maps.back().box.begin(), 1);
    }
  }
  // The result goes in slabs, in units of 16 bits as well, and so does what is added to it.
  if (product.resultBytes) {
    OpFoldResult columns = b.getIndexAttr(product.columns * product.resultBytes / 2);
    unsigned across = MatrixTile::of(s, product).slabRowBytes / 2;
    TensorMap dense{true, 0, {rows, columns}, {MatrixTile::slabRows, across}};
    maps.push_back(dense);
    if (product.endsWithinTiles(s.getRows())) {
      maps.back().extents = {extents.batch, extents.rows, columns};
      maps.back().box = {1, MatrixTile::slabRows, across};
    }
    if (product.residual) {
      maps.push_back(dense);
      maps.back().ofResult = false;
      maps.back().index = product.residual.getArgNumber();
    }
  }
  if (product.hasPartTile(s.getRows()))
    maps.push_back({false,
                    product.leftRows.getArgNumber(),
                    {rows, b.getIndexAttr(product.inner)},
                    {MatrixProduct::partBox, MatrixTile::depth}});
  return maps;
}
