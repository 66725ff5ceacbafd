//===- Schedules.cpp - What holds of a CPU's schedules and their launches -===//
//
// A schedule is chosen once and believed by everything after, so what would make it wrong for its
// launch is refused when it is attached: extents that the cut cannot have, weights that lie in
// panels of another width, forms that the kernel's kind has not.
//
//===----------------------------------------------------------------------===//
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Cpu/PlaneTiles.h"
#include "tcc/Dialect/Kernel/ScheduleChecks.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::cpu;
using kernel::KernelKind;
using kernel::kMostWrittenOut;
using kernel::LaunchOp;
using kernel::verifyKind;
using kernel::verifySizes;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

LogicalResult LoopScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t axis,
                                       int64_t chunk, int64_t grain, int64_t blockAxis,
                                       int64_t blockRows, std::optional<int64_t> copiedPoints, bool,
                                       int64_t joinedAxes, bool joinedPieces, bool windowLines,
                                       bool shared) {
  if (failed(verifySizes(emitError, {{"lanes", lanes, 1, kMostWrittenOut},
                                     {"axis", axis, 0},
                                     {"chunk", chunk},
                                     {"grain", grain},
                                     {"block_axis", blockAxis, 0},
                                     {"block_rows", blockRows},
                                     {"copied_points", copiedPoints.value_or(1)},
                                     {"joined_axes", joinedAxes}})))
    return failure();
  if (joinedPieces && joinedAxes == 1)
    return emitError() << "no axes are one, so that no pieces are put together along them";
  if (blockRows > 1 && blockAxis >= axis)
    return emitError() << "block_axis is " << blockAxis << ", which is not before axis " << axis;
  if (blockRows > 1 && copiedPoints)
    return emitError() << "a block of rows is read across, so that no run of them is copied";
  if (blockRows > 1 && windowLines)
    return emitError() << "a block of rows has no line of its own for windows";
  if (shared && blockRows == 1)
    return emitError() << "one row shares nothing";
  return success();
}

LogicalResult RowScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t grain,
                                      int64_t kept, bool across, bool, int64_t columns) {
  if (across && columns)
    return emitError() << "lanes lie across rows, or along columns";
  return verifySizes(emitError, {{"lanes", lanes, 1, kMostWrittenOut},
                                 {"grain", grain},
                                 {"kept", kept, 0},
                                 {"columns", columns, 0}});
}

LogicalResult ContractionScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t vectors,
                                              int64_t rows, int64_t unroll, int64_t tilesPerTask,
                                              int64_t panelsPerTask, std::optional<int64_t> kBlock,
                                              OperandAccess a, OperandAccess b, int64_t stepBytes,
                                              bool matrixTiles, Epilogue,
                                              std::optional<int64_t> grainProducts,
                                              std::optional<int64_t> leastTiles, bool singleTile) {
  if (singleTile && leastTiles)
    return emitError() << "single_tile leaves no choice of tiles, of which least_tiles tells";
  if (b == OperandAccess::Pointers || b == OperandAccess::Gathered)
    return emitError() << "b is '" << stringifyOperandAccess(b) << "', which only a can be";
  if (matrixTiles && (a != OperandAccess::InPlace || rows > kMatrixTileRows || stepBytes == 1))
    return emitError() << "matrix_tiles take rows in place, at most " << kMatrixTileRows
                       << ", and several elements of k at a time";
  return verifySizes(emitError, {{"lanes", lanes, 1, kMostWrittenOut},
                                 {"vectors", vectors, 1, kMostWrittenOut},
                                 {"rows", rows, 1, kMostWrittenOut},
                                 {"unroll", unroll, 1, kMostWrittenOut},
                                 {"tiles_per_task", tilesPerTask},
                                 {"panels_per_task", panelsPerTask},
                                 {"k_block", kBlock.value_or(1)},
                                 {"step_bytes", stepBytes, 1, kMostWrittenOut},
                                 {"grain_products", grainProducts.value_or(1)},
                                 {"least_tiles", leastTiles.value_or(1)}});
}

LogicalResult WinogradScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t vectors,
                                           int64_t rows, int64_t tilesPerTask,
                                           int64_t panelsPerTask,
                                           std::optional<int64_t> leastTiles) {
  return verifySizes(emitError, {{"lanes", lanes, 1, kMostWrittenOut},
                                 {"vectors", vectors, 1, kMostWrittenOut},
                                 {"rows", rows, 1, kMostWrittenOut},
                                 {"tiles_per_task", tilesPerTask},
                                 {"panels_per_task", panelsPerTask},
                                 {"least_tiles", leastTiles.value_or(1)}});
}

LogicalResult LineScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t pixels,
                                       int64_t vectorsPerTask) {
  return verifySizes(emitError, {{"lanes", lanes, 1, kMostWrittenOut},
                                 {"pixels", pixels, 1, kMostWrittenOut},
                                 {"vectors_per_task", vectorsPerTask}});
}

LogicalResult PlaneScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t rows,
                                        int64_t vectors, int64_t lines, int64_t columns,
                                        int64_t channels, int64_t grainProducts) {
  return verifySizes(emitError, {{"lanes", lanes, 1, kMostWrittenOut},
                                 {"rows", rows, 1, kMostWrittenOut},
                                 {"vectors", vectors, 1, kMostWrittenOut},
                                 {"lines", lines},
                                 {"columns", columns},
                                 {"channels", channels},
                                 {"grain_products", grainProducts}});
}

LogicalResult AttentionScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t vectors,
                                            int64_t rows, int64_t valueVectors, int64_t valueRows,
                                            int64_t taskRows, int64_t keys, int64_t split,
                                            bool matrixTiles, int64_t grainProducts) {
  if (failed(verifySizes(emitError, {{"lanes", lanes, 1, kMostWrittenOut},
                                     {"vectors", vectors, 1, kMostWrittenOut},
                                     {"rows", rows, 1, kMostWrittenOut},
                                     {"value_vectors", valueVectors, 1, kMostWrittenOut},
                                     {"value_rows", valueRows, 1, kMostWrittenOut},
                                     {"task_rows", taskRows},
                                     {"keys", keys},
                                     {"split", split},
                                     {"grain_products", grainProducts}})))
    return failure();
  if (keys % (lanes * vectors) != 0)
    return emitError() << "keys is " << keys << ", no multiple of panels of " << lanes * vectors;
  if (matrixTiles && (rows != kMatrixTileRows || valueRows != kMatrixTileRows ||
                      lanes != kMatrixTileLanes || vectors != 2 || valueVectors != 2))
    return emitError() << "matrix_tiles have " << kMatrixTileRows << " rows and two vectors of "
                       << kMatrixTileLanes << " lanes";
  return success();
}

LogicalResult SpecialScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t grain) {
  return verifySizes(emitError, {{"lanes", lanes, 1, kMostWrittenOut}, {"grain", grain}});
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The product of a launch whose weights lie in an order of their own, if it has such.
static Operation *packedProduct(LaunchOp launch) {
  for (Operation &op : launch.getBody().front())
    if (op.hasTrait<prim::Contraction>() && prim::layoutOf(op.getOperand(1)))
      return &op;
  return nullptr;
}

static bool readsTiles(LaunchOp launch) {
  Operation *product = packedProduct(launch);
  return product && cpu::tilesOf(product->getOperand(1));
}

static bool areOnes(ArrayRef<int64_t> list) {
  return llvm::all_of(list, [](int64_t v) { return v == 1; });
}

/// Rows of the left operand are multiplied with columns of the weights.
static LogicalResult verifyPacked(LaunchOp launch, prim::DotOp dot) {
  int64_t last = cast<RankedTensorType>(dot.getLhs().getType()).getRank() - 1;
  cpu::PanelsAttr panels = cpu::panelsOf(dot.getRhs());
  cpu::GroupedAttr grouped = cpu::groupedOf(dot.getRhs());
  bool inRows = panels    ? panels.getGroups() == 1 && panels.getK() == dot.getRhsContract()
                : grouped ? dot.getRhsContract() == ArrayRef(1 - grouped.getColumns())
                          : false;
  if (inRows && dot.getLhsContract() == ArrayRef(last))
    return success();
  return launch.emitOpError("has packed weights, which are not those of rows times columns");
}

/// Channels are neighbours, and multiplied a tap at a time.
static LogicalResult verifyPacked(LaunchOp launch, prim::ConvOp conv) {
  if (!conv.getChannelsLast() || !areOnes(conv.getInputDilation()))
    return launch.emitOpError("has packed weights, which need channels last and no dilated input");
  auto groups = static_cast<int64_t>(conv.getGroups());
  cpu::PanelsAttr panels = cpu::panelsOf(conv.getW());
  if (panels && panels.getGroups() != groups && panels.getGroups() != 1)
    return launch.emitOpError("has ")
           << groups << " groups, its panels " << panels.getGroups() << " groups";
  SmallVector<int64_t> taps = llvm::to_vector(llvm::seq<int64_t>(2, conv.getStrides().size() + 2));
  taps.push_back(1);
  if (panels && (panels.getColumns() != 0 || panels.getK() != ArrayRef(taps)))
    return launch.emitOpError("has packed weights, in which taps do not come before channels");
  if (panels)
    return success();
  if (!areOnes(conv.getStrides()) || !areOnes(conv.getDilations()))
    return launch.emitOpError("is in tiles, which need stride and dilation 1");
  int64_t filters = cast<RankedTensorType>(conv.getW().getType()).getDimSize(0) / groups;
  if (groups > 1 && filters % cpu::panelWidth(conv.getW()) != 0)
    return launch.emitOpError("is in tiles, with panels of several groups");
  return success();
}

/// Weights that were packed before are read as they lie: in panels as wide as the schedule says.
static LogicalResult verifyWeights(LaunchOp launch, int64_t width) {
  Operation *product = packedProduct(launch);
  if (!product)
    return success();
  if (int64_t packed = cpu::panelWidth(product->getOperand(1)); packed != width)
    return launch.emitOpError("has panels of ")
           << packed << " columns, but its schedule reads " << width;
  auto dot = dyn_cast<prim::DotOp>(product);
  return dot ? verifyPacked(launch, dot) : verifyPacked(launch, cast<prim::ConvOp>(product));
}

LogicalResult LoopScheduleAttr::verifyLaunch(Operation *op) const {
  auto launch = cast<LaunchOp>(op);
  // A product that no template fits is computed point by point.
  if (failed(verifyKind(launch, getMnemonic(),
                        {KernelKind::Loop, KernelKind::Contraction, KernelKind::Convolution})))
    return failure();
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  if (type.getRank() == 0)
    return success();
  if (getJoinedAxes() > type.getRank())
    return launch.emitOpError("of rank ")
           << type.getRank() << " has no " << getJoinedAxes() << " axes that are one";
  int64_t rank = type.getRank() - (getJoinedAxes() - 1);
  if (getAxis() >= rank)
    return launch.emitOpError("of rank ") << rank << " has no axis " << getAxis();
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  auto concat = yield.getValues().front().getDefiningOp<prim::ConcatOp>();
  if (getJoinedPieces() && (!concat || static_cast<int64_t>(concat.getAxis()) + 1 != rank))
    return launch.emitOpError("puts no pieces together along the first of the axes that are one");
  if (getJoinedAxes() > 1 && getAxis() + 1 != rank)
    return launch.emitOpError("joins axes, but does not end with axis ") << getAxis();
  if (getJoinedAxes() > 1)
    return success();
  if (llvm::is_contained(type.getShape().drop_front(getAxis() + 1), ShapedType::kDynamic))
    return launch.emitOpError("has an open extent after axis ") << getAxis();
  return success();
}

LogicalResult RowScheduleAttr::verifyLaunch(Operation *op) const {
  auto launch = cast<LaunchOp>(op);
  if (failed(verifyKind(launch, getMnemonic(), {KernelKind::Row})))
    return failure();
  for (auto reduce : launch.getBody().front().getOps<prim::ReduceOp>())
    if (RankedTensorType type = tensorType(reduce.getX());
        getColumns() && (reduce.getAxes().back() + 1 == type.getRank() || !type.hasStaticShape()))
      return launch.emitOpError("has no columns of known extents beside what it reduces");
  if (!getAcross())
    return success();
  for (auto reduce : launch.getBody().front().getOps<prim::ReduceOp>())
    if (ShapedType::isDynamic(tensorType(reduce.getX()).getShape().back()))
      return launch.emitOpError("has rows of an open length, which cannot lie across lanes");
  for (Type type : launch.getResultTypes())
    if (cast<RankedTensorType>(type).getRank() != 1)
      return launch.emitOpError("stores more than an element a row, so that rows cannot lie across "
                                "lanes");
  return success();
}

LogicalResult ContractionScheduleAttr::verifyLaunch(Operation *op) const {
  auto launch = cast<LaunchOp>(op);
  if (launch.getKind() == KernelKind::Contraction &&
      (getA() == OperandAccess::Pointers || getA() == OperandAccess::Gathered))
    return launch.emitOpError("of kind 'contraction' has no taps, so a cannot be '")
           << stringifyOperandAccess(getA()) << "'";
  if (getSingleTile() && cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape())
    return launch.emitOpError("has rows that are known, so that single_tile says nothing");
  if (readsTiles(launch))
    return launch.emitOpError("has transformed weights, which only a winograd_schedule reads");
  if (failed(verifyKind(launch, getMnemonic(), {KernelKind::Contraction, KernelKind::Convolution})))
    return failure();
  return verifyWeights(launch, getLanes() * getVectors());
}

LogicalResult WinogradScheduleAttr::verifyLaunch(Operation *op) const {
  auto launch = cast<LaunchOp>(op);
  if (!readsTiles(launch))
    return launch.emitOpError("has no transformed weights for a winograd_schedule");
  return verifyWeights(launch, getLanes() * getVectors());
}

LogicalResult LineScheduleAttr::verifyLaunch(Operation *op) const {
  auto launch = cast<LaunchOp>(op);
  if (failed(verifyKind(launch, getMnemonic(), {KernelKind::Convolution})))
    return failure();
  return verifyWeights(launch, getLanes());
}

LogicalResult PlaneScheduleAttr::verifyLaunch(Operation *op) const {
  auto launch = cast<LaunchOp>(op);
  if (failed(verifyKind(launch, getMnemonic(), {KernelKind::Convolution})))
    return failure();
  for (Operation &inside : launch.getBody().front())
    if (auto conv = dyn_cast<prim::ConvOp>(inside); conv && !planeConv(conv))
      return launch.emitError() << getMnemonic()
                                << " is for f32 with channels first, of a known number, "
                                   "and plain weights";
  return success();
}

LogicalResult AttentionScheduleAttr::verifyLaunch(Operation *op) const {
  return verifyKind(cast<LaunchOp>(op), getMnemonic(), {KernelKind::Attention});
}

LogicalResult SpecialScheduleAttr::verifyLaunch(Operation *op) const {
  return verifyKind(cast<LaunchOp>(op), getMnemonic(), {KernelKind::Special});
}
