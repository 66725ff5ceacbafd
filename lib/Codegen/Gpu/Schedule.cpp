//===- Schedule.cpp - How a kernel is cut into blocks ---------------------===//
#include "KernelFrame.h"
#include "MatrixTile.h"
#include "TransposedOperand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "tcc/Codegen/Common/RowStages.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

/// What becomes a Schedule.
struct Choice {
  Form form = Form::Loop;
  unsigned threads = 256, lanes = 1, vectors = 1;
  unsigned rowThreads = 0, kept = 0;
  unsigned rows = 0, columns = 0, depth = 0;
  unsigned sharedBytes = 0, mostBlocks = 0, split = 1, scratchBytes = 0, indexBits = 64;

  Schedule attr(MLIRContext *context) const {
    return Schedule::get(context, form, threads, lanes, vectors, rowThreads, kept, rows, columns,
                         depth, sharedBytes, mostBlocks, split, scratchBytes, indexBits);
  }
};

} // namespace

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

static unsigned elementBytes(Type e) {
  return std::max(1u, storageType(e).getIntOrFloatBitWidth() / 8);
}

/// Elements, or -1 when they are not known.
static int64_t elements(RankedTensorType type) {
  return type.hasStaticShape() ? type.getNumElements() : -1;
}

/// 32 where every number of an element fits, with room for the threads past the end.
static unsigned indexBits(kernel::LaunchOp launch) {
  constexpr int64_t kMost = int64_t(1) << 30;
  bool small = true;
  auto look = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      small &= tensor.hasStaticShape() && tensor.getNumElements() < kMost;
    else
      small &= !type.isIndex() && !type.isInteger(64);
  };
  for (Type type : launch->getOperandTypes())
    look(type);
  for (Operation &op : launch.getBody().front())
    for (Type type : op.getResultTypes())
      look(type);
  for (Type type : launch.getResultTypes())
    look(type);
  return small ? 32 : 64;
}

/// Whether neighbours of a result come from neighbours of what is in memory, as far as can be
/// seen at a glance: vectors would otherwise be gathered one by one.
static bool keepsNeighbours(kernel::LaunchOp launch) {
  return llvm::none_of(launch.getBody().front(), [](Operation &op) {
    if (auto transpose = dyn_cast<prim::TransposeOp>(op)) {
      ArrayRef<int64_t> permutation = transpose.getPermutation();
      return !permutation.empty() && permutation.back() + 1 != int64_t(permutation.size());
    }
    return isa<prim::ReverseOp, prim::PadOp, prim::ConcatOp, prim::TakeAlongOp, prim::GatherNdOp,
               prim::DotOp, prim::ConvOp, prim::PoolOp>(op);
  });
}

/// Neighbouring points of a thread: 16 bytes of the narrowest large operand, if rows of
/// `extent` can be cut so.
static unsigned lanesFor(kernel::LaunchOp launch, RankedTensorType space) {
  constexpr unsigned kMost = 8;
  if (space.getRank() == 0 || space.isDynamicDim(space.getRank() - 1) || !keepsNeighbours(launch))
    return 1;
  unsigned narrowest = 8;
  auto look = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && (elements(tensor) < 0 || elements(tensor) * 2 >= elements(space)))
      narrowest = std::min(narrowest, elementBytes(tensor.getElementType()));
  };
  for (Type type : launch.getInputs().getTypes())
    look(type);
  for (Type type : launch.getResultTypes())
    look(type);
  unsigned lanes = std::min<unsigned>(kMost, GpuArch::accessBytes / narrowest);
  while (lanes > 1 && space.getShape().back() % lanes != 0)
    lanes /= 2;
  return lanes;
}

static void scheduleLoop(Choice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  s.lanes = lanesFor(launch, space);
  int64_t total = elements(space);
  if (total < 0)
    return;
  // Few points: rather one a thread than an idle multiprocessor.
  int64_t busy = int64_t(arch.multiprocessors) * s.threads;
  while (s.lanes > 1 && total / s.lanes < busy)
    s.lanes /= 2;
  if (s.lanes > 1)
    while (s.vectors * s.lanes < 16 && total / (s.lanes * s.vectors * 2) >= 8 * busy)
      s.vectors *= 2;
}

/// Whether threads have to share the points' reductions to fill the machine.
static bool sharesReduction(kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr int64_t kLong = 64; // elements of a reduction worth sharing
  prim::ReduceOp reduce = columnReduction(launch);
  if (!reduce)
    return false;
  int64_t points = elements(tensorType(reduce.getResult())),
          all = elements(tensorType(reduce.getX()));
  return points > 0 && all >= kLong * points && points < int64_t(arch.multiprocessors) * 1024;
}

/// Vectors of neighbouring results, if neighbours lie together; blocks share results until the
/// machine is full, as long as each has work to do.
static void scheduleColumn(Choice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr int64_t kBlocks = 2, kRounds = 8; // of a multiprocessor; of four elements a thread
  s.form = Form::Column;
  s.threads = kColumnSide * kColumnSide;
  prim::ReduceOp reduce = columnReduction(launch);
  auto x = tensorType(reduce.getX()), space = tensorType(reduce.getResult());
  if (!llvm::is_contained(reduce.getAxes(), x.getRank() - 1))
    s.lanes = lanesFor(launch, space);
  int64_t points = elements(space), length = elements(x) / points;
  int64_t blocks = llvm::divideCeil(points, int64_t(kColumnSide) * s.lanes);
  int64_t split = std::min<int64_t>(llvm::divideCeil(kBlocks * arch.multiprocessors, blocks),
                                    length / (4 * kRounds * kColumnSide));
  if (split < 2)
    return;
  s.split = split;
  s.scratchBytes = kCounterBytes + blocks * split * kColumnSide * s.lanes * 8;
}

/// Few rows, each reduced in one pass to one value: blocks share a row until the machine is
/// full, as long as each has work to do.
static void splitRow(Choice &s, kernel::LaunchOp launch, int64_t vectors, const GpuArch &arch) {
  constexpr int64_t kBlocks = 4; // of a multiprocessor, of kThreads
  constexpr unsigned kThreads = 512;
  auto space = tensorType(rowSpace(launch));
  int64_t rowAxes = *launch.getRows(), rows = 1;
  for (int64_t d : space.getShape().take_front(rowAxes))
    rows = ShapedType::isDynamic(d) || rows < 0 ? -1 : rows * d;
  bool values = llvm::all_of(launch.getResultTypes(), [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getRank() != space.getRank() || rowAxes == space.getRank();
  });
  std::vector<RowStage> stages = rowStages(launch);
  if (rows < 1 || rows >= arch.multiprocessors || !values || stages.size() != 1)
    return;
  int64_t wanted = llvm::divideCeil(kBlocks * arch.multiprocessors, rows);
  int64_t most = vectors < 0 ? wanted : vectors / (int64_t(kThreads) * s.vectors);
  int64_t split = std::min(wanted, most);
  if (split < 2)
    return;
  s.split = split;
  s.threads = s.rowThreads = kThreads;
  s.scratchBytes = kCounterBytes + stages[0].size() * rows * split * 8;
}

static void scheduleRow(Choice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  // Elements of a thread that fit its registers, and passes over them worth writing out.
  constexpr int64_t kKept = 64, kRounds = 16;
  constexpr int64_t kInWarp = 8, kInBlock = 4; // vectors of a thread
  constexpr unsigned kInFlight = 4;
  auto space = tensorType(rowSpace(launch));
  int64_t length = 1;
  for (int64_t d : space.getShape().drop_front(*launch.getRows()))
    length = ShapedType::isDynamic(d) || length < 0 ? -1 : length * d;
  if (length < 0) {
    s.rowThreads = s.threads;
    return splitRow(s, launch, -1, arch);
  }
  s.lanes = lanesFor(launch, space);
  int64_t vectors = std::max<int64_t>(1, length / s.lanes);
  s.rowThreads = GpuArch::warp;
  if (vectors > kInWarp * GpuArch::warp) {
    // A block a row: a few vectors a thread.
    s.threads = 128;
    while (s.threads < GpuArch::threads && vectors > kInBlock * int64_t(s.threads))
      s.threads *= 2;
    s.rowThreads = s.threads;
  }
  int64_t rounds = llvm::divideCeil(vectors, s.rowThreads);
  if (rounds <= kRounds && rounds * s.lanes <= kKept) {
    s.kept = rounds * s.lanes;
    return;
  }
  s.vectors = kInFlight;
  splitRow(s, launch, vectors, arch);
}

/// Large tiles read shared memory less often, if there are enough of them.
static void scheduleProduct(Choice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr int64_t kLarge = 128;
  Operation *op = productOf(launch);
  auto result = tensorType(op->getResult(0));
  s.form = Form::Product;
  s.rows = s.columns = 64;
  s.depth = 16;
  if (computeType(sumType(result.getElementType())).getIntOrFloatBitWidth() > 32) {
    s.depth = 8;
    return;
  }
  auto conv = dyn_cast<prim::ConvOp>(op);
  int64_t columns = conv ? tensorType(conv.getW()).getDimSize(0) / int64_t(conv.getGroups())
                    : result.getRank() ? result.getShape().back()
                                       : 1;
  if (!ShapedType::isDynamic(columns) && columns >= kLarge &&
      elements(result) >= kLarge * kLarge * arch.multiprocessors)
    s.rows = s.columns = kLarge;
}

/// The tile whose waves over the machine take least: a wide one does more with what it
/// fetches, a narrow one leaves fewer multiprocessors idle in the last wave.
static void scheduleWgmma(Choice &s, MatrixProduct product, const GpuArch &arch) {
  s.form = Form::Wgmma;
  s.threads = MatrixTile::threads();
  s.mostBlocks = arch.multiprocessors;
  s.rows = 128;
  int64_t rows = 1;
  for (int64_t d : tensorType(product.left).getShape().take_front(product.rowAxes))
    rows = ShapedType::isDynamic(d) || rows < 0 ? -1 : rows * d;
  int64_t down = rows < 0 ? arch.multiprocessors / 8 : llvm::divideCeil(rows, s.rows);
  constexpr int64_t kFixed = 64; // what a step costs beside its columns, in columns
  int64_t least = 0;
  for (int64_t columns : {256, 128, 64}) {
    int64_t tiles = down * llvm::divideCeil(product.columns, columns);
    int64_t cost = llvm::divideCeil(tiles, arch.multiprocessors) * (columns + kFixed);
    if (least == 0 || cost < least) {
      least = cost;
      s.columns = columns;
    }
  }
  s.sharedBytes = MatrixTile::fit(s.rows, s.columns, arch.sharedBytes).sharedBytes();
}

Schedule device::chooseSchedule(kernel::LaunchOp launch, const GpuArch &arch) {
  Choice s;
  s.indexBits = indexBits(launch);
  if (launch.getKind() == kernel::KernelKind::Row) {
    s.form = Form::Row;
    scheduleRow(s, launch, arch);
  } else if (launch.getKind() == kernel::KernelKind::Special) {
    Operation *op = specialOf(launch);
    s.form = isa<prim::NonzeroOp>(op) ? Form::Collect : lineAxis(op) ? Form::Line : Form::Scatter;
    s.threads = s.form == Form::Collect ? GpuArch::warp : 128;
  } else if (auto matrix =
                 arch.matrixUnit == MatrixUnit::Wgmma ? matrixProduct(launch) : std::nullopt) {
    scheduleWgmma(s, *matrix, arch);
  } else if (productOf(launch)) {
    scheduleProduct(s, launch, arch);
  } else if (transposedOperand(launch)) {
    s.form = Form::Transpose;
  } else if (sharesReduction(launch, arch)) {
    scheduleColumn(s, launch, arch);
  } else {
    scheduleLoop(s, launch, arch);
  }
  return s.attr(launch.getContext());
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

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

/// The extents of an operand of an op in the region, as host values.
static SmallVector<OpFoldResult> hostExtents(OpBuilder &b, kernel::LaunchOp launch, Value inside) {
  if (auto argument = dyn_cast<BlockArgument>(inside))
    return prim::dimsOf(b, launch.getLoc(), launch.getInputs()[argument.getArgNumber()]);
  return getAsIndexOpFoldResult(b.getContext(), tensorType(inside).getShape());
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

static OpFoldResult productGrid(HostIndex h, kernel::LaunchOp launch, Schedule s) {
  Operation *op = productOf(launch);
  auto all = [&](ArrayRef<OpFoldResult> extents, auto of) {
    SmallVector<OpFoldResult> chosen;
    for (auto [axis, d] : llvm::enumerate(extents))
      if (of(int64_t(axis)))
        chosen.push_back(d);
    return h.volume(chosen);
  };
  auto tiles = [&](OpFoldResult batch, OpFoldResult rows, OpFoldResult columns) {
    return h.volume({batch, h.ceilDiv(rows, s.getRows()), h.ceilDiv(columns, s.getColumns())});
  };
  if (auto conv = dyn_cast<prim::ConvOp>(op)) {
    int64_t channelAxis = conv.getChannelsLast() ? conv.getStrides().size() + 1 : 1;
    SmallVector<OpFoldResult> out = convExtents(h.b, launch);
    OpFoldResult filters = h.ceilDiv(hostExtents(h.b, launch, conv.getW())[0], conv.getGroups());
    return tiles(h.b.getIndexAttr(conv.getGroups()),
                 all(out, [&](int64_t axis) { return axis != channelAxis; }), filters);
  }
  auto dot = cast<prim::DotOp>(op);
  SmallVector<OpFoldResult> l = hostExtents(h.b, launch, dot.getLhs()),
                            r = hostExtents(h.b, launch, dot.getRhs());
  return tiles(all(l, [&](int64_t axis) { return llvm::is_contained(dot.getLhsBatch(), axis); }),
               all(l,
                   [&](int64_t axis) {
                     return !llvm::is_contained(dot.getLhsBatch(), axis) &&
                            !llvm::is_contained(dot.getLhsContract(), axis);
                   }),
               all(r, [&](int64_t axis) {
                 return !llvm::is_contained(dot.getRhsBatch(), axis) &&
                        !llvm::is_contained(dot.getRhsContract(), axis);
               }));
}

static OpFoldResult scatterGrid(HostIndex h, kernel::LaunchOp launch, Schedule s) {
  Operation *op = specialOf(launch);
  SmallVector<OpFoldResult> extents = prim::dimsOf(h.b, launch.getLoc(), launch.getResult(0));
  if (auto along = dyn_cast<prim::ScatterAlongOp>(op))
    extents.erase(extents.begin() + along.getAxis());
  else if (auto nd = dyn_cast<prim::ScatterNdOp>(op))
    extents.erase(extents.begin(), extents.begin() + tensorType(nd.getIndices()).getShape().back());
  return h.ceilDiv(h.volume(extents), s.getThreads());
}

OpFoldResult device::gridOf(OpBuilder &b, kernel::LaunchOp launch, Schedule s) {
  HostIndex h{b, launch.getLoc()};
  SmallVector<OpFoldResult> dims = prim::dimsOf(b, launch.getLoc(), launch.getResult(0));
  switch (s.getForm()) {
  case Form::Loop:
    return h.ceilDiv(h.volume(dims), int64_t(s.getLanes()) * s.getVectors() * s.getThreads());
  case Form::Transpose:
    for (unsigned axis : {transposedOperand(launch)->axis, unsigned(dims.size()) - 1})
      dims[axis] = h.ceilDiv(dims[axis], TransposedOperand::tile);
    return h.volume(dims);
  case Form::Column:
    return h.mul(h.ceilDiv(h.volume(dims), int64_t(kColumnSide) * s.getLanes()),
                 b.getIndexAttr(s.getSplit()));
  case Form::Row: {
    OpFoldResult rows = h.volume(ArrayRef(dims).take_front(*launch.getRows()));
    return h.mul(h.ceilDiv(rows, s.getThreads() / s.getRowThreads()), b.getIndexAttr(s.getSplit()));
  }
  case Form::Line: {
    auto [x, axis] = *lineAxis(specialOf(launch));
    SmallVector<OpFoldResult> extents = hostExtents(b, launch, x);
    extents.erase(extents.begin() + axis);
    return h.ceilDiv(h.volume(extents), s.getThreads());
  }
  case Form::Scatter:
    return scatterGrid(h, launch, s);
  case Form::Collect:
    return b.getIndexAttr(1);
  case Form::Product:
    return productGrid(h, launch, s);
  case Form::Wgmma:
    return h.apply<arith::MinSIOp>(productGrid(h, launch, s), b.getIndexAttr(s.getMostBlocks()),
                                   [](int64_t x, int64_t y) { return std::min(x, y); });
  }
  llvm_unreachable("all forms are handled above");
}

SmallVector<TensorMap> device::tensorMapsOf(OpBuilder &b, kernel::LaunchOp launch, Schedule s) {
  if (s.getForm() != Form::Wgmma)
    return {};
  MatrixProduct product = *matrixProduct(launch);
  HostIndex h{b, launch.getLoc()};
  OpFoldResult rows =
      h.volume(ArrayRef(hostExtents(b, launch, product.left)).take_front(product.rowAxes));
  // Operands that lie by columns come in slices of 64 columns, the result in slabs of 64 x 64.
  TensorMap right = product.rightByColumns ? TensorMap{false,
                                                       product.right.getArgNumber(),
                                                       b.getIndexAttr(product.columns),
                                                       product.inner,
                                                       s.getColumns(),
                                                       MatrixTile::depth}
                                           : TensorMap{false,
                                                       product.right.getArgNumber(),
                                                       b.getIndexAttr(product.inner),
                                                       product.columns,
                                                       MatrixTile::depth,
                                                       64};
  return {TensorMap{false, product.left.getArgNumber(), rows, product.inner, s.getRows(),
                    MatrixTile::depth},
          right, TensorMap{true, 0, rows, product.columns, 64, 64}};
}
