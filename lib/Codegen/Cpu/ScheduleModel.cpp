//===- ScheduleModel.cpp - Ways to run a launch on a CPU ------------------===//
//
// A product is described to the time model (Schedule.h) by the same specification that its
// kernel is built from. Extents that the types do not tell are values that nobody computes:
// arithmetic on them goes to a block that is thrown away.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Cpu/ScheduleModel.h"
#include "Attention/AttentionSpec.h"
#include "Convolutions/PlaneConv.h"
#include "LaunchSchedules.h"
#include "Loops/Moves.h"
#include "Loops/PastCaches.h"
#include "Products/ProductSpec.h"
#include "Rows/CollapsedRows.h"
#include "Rows/ColumnBlocks.h"
#include "Rows/ShortRows.h"
#include "SpecialKernel.h"
#include "tcc/Dialect/Cpu/ColumnBlocks.h"
#include "tcc/Dialect/Cpu/NarrowLines.h"
#include "tcc/Dialect/Kernel/SpecialOperator.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// Extents of tensors in a kernel, and where arithmetic on them goes.
class OpenExtents {
public:
  explicit OpenExtents(kernel::LaunchOp launch) : b(launch.getContext()), k(b, launch.getLoc()) {
    b.setInsertionPointToStart(&block);
  }

  SmallVector<Index> of(Value memory) {
    SmallVector<Index> extents;
    for (int64_t d : tensorType(memory).getShape())
      extents.push_back(ShapedType::isDynamic(d) ? open() : k.constant(d));
    return extents;
  }
  /// Those of an operator's result, which the host may have found to be constant.
  SmallVector<Index> of(prim::ConvOp conv) {
    SmallVector<Index> extents = of(conv.getResult());
    auto size = conv.getSizes().begin();
    for (auto [axis, extent] : llvm::enumerate(extents))
      if (tensorType(conv.getResult()).isDynamicDim(axis))
        if (auto known = getConstantIntValue(*size++))
          extent = k.constant(*known);
    return extents;
  }

private:
  Index open() { return block.addArgument(b.getIndexType(), k.loc); }
  Block block;

public:
  OpBuilder b;
  KernelBuilder k;
};

} // namespace

/// Lanes of one vector of the widest elements that are computed.
static unsigned vectorLanes(Block &body, const CpuTarget &cpu) {
  unsigned bits = 32;
  for (Operation &op : body)
    for (Value v : op.getResults())
      if (auto type = dyn_cast<RankedTensorType>(v.getType()))
        if (Type e = computeType(type.getElementType()); e.isIntOrFloat())
          bits = std::max(bits, e.getIntOrFloatBitWidth());
  return cpu.lanes(bits);
}

static SmallVector<kernel::Schedule> rowSchedules(kernel::LaunchOp launch, const CpuTarget &cpu) {
  constexpr int64_t grain = 4, kept = 16384, turns = 4;
  Block &body = launch.getBody().front();
  auto first = *body.getOps<prim::ReduceOp>().begin();
  ArrayRef<int64_t> shape = tensorType(first.getX()).getShape();
  if (narrowLinesOf(first))
    return {cpu::RowScheduleAttr::get(launch.getContext(), vectorLanes(body, cpu), grain, kept,
                                      /*across=*/false, /*past_caches=*/false, /*columns=*/0)};
  if (cpu::RowScheduleAttr columns = columnSchedule(launch, vectorLanes(body, cpu), cpu))
    return {columns};
  if (unsigned lanes = lanesOfShortRows(launch, cpu); lanes > 1)
    return {cpu::RowScheduleAttr::get(launch.getContext(), lanes, lanes * grain, kept,
                                      /*across=*/true, /*past_caches=*/false, /*columns=*/0)};
  // Steps of a long reduction wait for the one before, unless there are several registers of
  // lanes; what takes many instructions has them in flight by itself.
  bool costly = llvm::any_of(body, [&](Operation &op) {
    return op.hasTrait<prim::Costly>() && op.getNumResults() == 1 &&
           tensorType(op.getResult(0)).getShape() == shape;
  });
  int64_t extent = collapsedLength(launch).value_or(shape.back()), most = cpu.lanes(32),
          registers = costly ? 2 : 4;
  if (ShapedType::isDynamic(extent) || extent >= turns * registers * most)
    most *= registers;
  return {cpu::RowScheduleAttr::get(launch.getContext(), lanesFor(most, extent), grain, kept,
                                    /*across=*/false, rowsOutgrowCaches(launch, kept, cpu),
                                    /*columns=*/0)};
}

/// Elements of a tensor, as far as they are known, and one at least.
static int64_t someElements(ArrayRef<int64_t> shape) {
  return std::max<int64_t>(1, static_cast<int64_t>(typicalElements(shape)));
}

/// Tasks of a scatter that are worth a thread.
static int64_t scatterGrain(Operation *op) {
  constexpr int64_t grainElements = 16384;
  int64_t elements = 1;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      elements = std::max(elements, someElements(tensorType(operand).getShape()));
  ScatterTasks tasks = scatterTasks(op);
  ArrayRef<int64_t> shape = tensorType(op->getResult(0)).getShape();
  int64_t count = someElements(shape.take_front(tasks.outer));
  if (tasks.axis)
    count *= llvm::divideCeil(someElements(shape[*tasks.axis]), tasks.part);
  return std::max<int64_t>(1, grainElements * count / elements);
}

/// Tasks of an operator on matrices that are worth a thread.
static int64_t matrixGrain(Operation *op, cpu::SpecialScheduleAttr schedule) {
  constexpr int64_t grainProducts = 65536;
  ArrayRef<int64_t> shape = tensorType(op->getResult(0)).getShape();
  int64_t rows = someElements(shape[shape.size() - 2]), columns = someElements(shape.back());
  if (int64_t part = matrixColumns(op, schedule))
    columns = std::min(columns, part);
  return std::max<int64_t>(1, grainProducts / (rows * rows * columns));
}

/// Whether the transform's kernel can compute its operands: neighbours, in a line or of lines, are
/// those along the last axis.
static bool computesLines(prim::FourierOp op) {
  RankedTensorType type = tensorType(op.getRe());
  return type.hasStaticShape() && int64_t(op.getAxis()) + 2 >= type.getRank();
}

static SmallVector<kernel::Schedule> specialSchedules(kernel::LaunchOp launch,
                                                      const CpuTarget &cpu) {
  // Several registers: steps that wait for the one before fill the time with other lanes, and
  // a walk across rows reads whole lines of the cache.
  constexpr int64_t registers = 4, grainOfLines = 4096;
  Operation *op = kernel::specialOf(launch);
  auto scheduleOf = [&](int64_t grain) {
    return cpu::SpecialScheduleAttr::get(launch.getContext(), registers * cpu.lanes(32), grain);
  };
  if (auto line = lineAxis(op)) {
    int64_t length = tensorType(line->first).getDimSize(line->second);
    return {scheduleOf(std::max<int64_t>(
        1, grainOfLines / (linesPerTask(op, scheduleOf(1)) * someElements({length}))))};
  }
  if (auto fourier = dyn_cast<prim::FourierOp>(op)) {
    // Another target's kernels store transposed pairs, or compute operands of all shapes.
    bool turns = llvm::any_of(launch.getBody().front(),
                              [](Operation &inside) { return isa<prim::TransposeOp>(inside); });
    bool computes = !llvm::all_of(fourier->getOperands(), llvm::IsaPred<BlockArgument>);
    if (turns || (computes && !computesLines(fourier)))
      return {};
    int64_t lines = fourierTasks(fourier, scheduleOf(1)).lines;
    return {scheduleOf(std::max<int64_t>(1, grainOfLines / (lines * fourier.getLength())))};
  }
  if (auto kth = dyn_cast<prim::KthOp>(op)) {
    int64_t length = someElements({tensorType(kth.getX()).getShape().back()});
    return {scheduleOf(std::max<int64_t>(1, grainOfLines / length))};
  }
  if (op->hasTrait<prim::MatrixFactor>())
    return {scheduleOf(matrixGrain(op, scheduleOf(1)))};
  return {scheduleOf(prim::has<prim::UpdatesFirst>(op) ? scatterGrain(op) : 1)};
}

/// The best schedule of a product of open rows where a run has `rows` of them.
static std::optional<ContractionSchedule> scheduleOfRows(KernelBuilder &k,
                                                         const ProductSpec &product, int64_t rows) {
  ContractionSpec spec = product.spec;
  spec.m = k.constant(rows);
  SmallVector<ContractionSchedule> ranked =
      rankSchedules(k, spec, product.batch, /*variations=*/false);
  if (ranked.empty())
    return std::nullopt;
  return ranked.front();
}

/// `many`, but for runs of few rows of a product of open rows, as a language model's are most of
/// the time. A single row waits for memory, which what is fast for many rows reads panel by panel,
/// and so do a few rows of a tile by numbers that are widened. A B that comes at run time is
/// multiplied where it lies by the rows of a tile, and may be copied for more.
static kernel::Schedule withFewRows(KernelBuilder &k, const ProductSpec &product,
                                    const ContractionSchedule &many, MLIRContext *context) {
  const ContractionSpec &spec = product.spec;
  kernel::Schedule all = scheduleAttr(context, many);
  std::optional<int64_t> columns = k.known(spec.n);
  if (k.known(spec.m) || !columns || !k.known(spec.k) || !product.batchExtents.empty())
    return all;
  auto below = [&](ContractionSchedule few) {
    few.singleTile = true;
    int64_t elements = *columns * few.rows;
    all = kernel::BySizeAttr::get(context, scheduleAttr(context, few), elements + 1, all,
                                  /*largest=*/false);
  };
  bool isPacked = spec.bLayout == PanelLayout::Packed;
  bool widens = isPacked && !spec.integers && spec.bElement != spec.acc && spec.steps.size <= 1;
  auto isFaster = [&](const ContractionSchedule &few) {
    return isPacked ? panelsBeside(spec.cpu, few) > 1 : !few.packsB();
  };
  for (int64_t rows = many.rows; rows > 1 && !many.matrixTiles; --rows) {
    if (!(isPacked ? widens : many.packsB() || spec.bLayout == PanelLayout::RowMajor))
      break;
    auto few = scheduleOfRows(k, product, rows);
    if (!few || few->rows != rows || !isFaster(*few))
      continue;
    below(*few);
    break;
  }
  if (auto one = scheduleOfRows(k, product, 1))
    below(*one);
  return all;
}

/// Null where the product's template cannot do it.
static SmallVector<kernel::Schedule> productSchedules(kernel::LaunchOp launch, const CpuTarget &cpu,
                                                      bool variations) {
  Operation *op = contractionOf(launch);
  Value lhs = memoryBehind(op->getOperand(0)), rhs = memoryBehind(op->getOperand(1));
  if (!isa<BlockArgument>(lhs) || !isa<BlockArgument>(rhs) || productColumns(op) > 1)
    return {};
  OpenExtents extents(launch);
  auto product = productSpec(extents.b, launch.getLoc(), op, extents.of(lhs), extents.of(rhs), cpu);
  if (!product)
    return {};
  SmallVector<kernel::Schedule> all;
  for (const ContractionSchedule &many :
       rankSchedules(extents.k, product->spec, product->batch, variations))
    if (auto attr = withFewRows(extents.k, *product, many, launch.getContext());
        !llvm::is_contained(all, attr))
      all.push_back(attr);
  return all;
}

static SmallVector<kernel::Schedule> convolutionSchedules(kernel::LaunchOp launch,
                                                          const CpuTarget &cpu, bool variations) {
  auto op = dyn_cast<prim::ConvOp>(contractionOf(launch));
  if (!op)
    return {};
  if (kernel::Schedule schedule = planeSchedule(op, cpu))
    return {schedule};
  OpenExtents extents(launch);
  auto spec = convSpec(extents.b, launch.getLoc(), op, extents.of(op.getX()), extents.of(op), cpu);
  if (!spec)
    return {};
  SmallVector<kernel::Schedule> all;
  for (const ConvSchedule &schedule : rankConvSchedules(extents.k, *spec, variations))
    all.push_back(
        std::visit([&](const auto &s) { return scheduleAttr(launch.getContext(), s); }, schedule));
  return all;
}

static SmallVector<kernel::Schedule> attentionSchedules(kernel::LaunchOp launch,
                                                        const CpuTarget &cpu, bool variations) {
  AttentionForm form = attentionOf(launch);
  OpenExtents extents(launch);
  auto spec = attentionSpec(
      extents.b, launch.getLoc(), form, [&](Value memory) { return extents.of(memory); }, cpu);
  if (!spec)
    return {};
  return rankAttention(launch.getContext(), extents.k, *spec, variations);
}

void codegen::CpuScheduleModel::registerDialects(DialectRegistry &registry) const {
  registry.insert<cpu::CpuDialect>();
}

void codegen::CpuScheduleModel::reshape(kernel::LaunchOp launch) const {
  if (launch.getKind() == kernel::KernelKind::Special)
    joinLines(launch);
  if (launch.getKind() == kernel::KernelKind::Row)
    joinRows(launch);
  if (launch.getKind() != kernel::KernelKind::Loop)
    return;
  reshapeLate(launch);
  joinPieces(launch);
  joinTurns(launch);
  joinShortLines(launch);
}

/// Once a row is one lane of a vector, and takes as long as many points that nothing is computed
/// for; where several rows have one value, that is computed for each again.
bool codegen::CpuScheduleModel::computesForRows(Operation *op, int64_t rows, int64_t length) const {
  constexpr int64_t kFewRows = 256, kFunctionPoints = 1024, kCostlyPoints = 256, kOften = 4;
  bool isFunction = op->hasTrait<prim::VeryCostly>();
  if (rows < kFewRows || !(isFunction || op->hasTrait<prim::Costly>()))
    return true;
  auto type = tensorType(op->getResult(0));
  bool again = type.hasStaticShape() && rows >= kOften * type.getNumElements();
  return !again && length >= (isFunction ? kFunctionPoints : kCostlyPoints);
}

/// A scan reads each point once, where it stores it, and so does a transform of lines.
bool CpuScheduleModel::asksForPoints(Operation *op) const {
  if (auto fourier = dyn_cast<prim::FourierOp>(op))
    return computesLines(fourier);
  return isa<prim::CumulativeOp>(op) && tensorType(op->getResult(0)).hasStaticShape();
}

/// Each of the lines that lie beside each other in lanes has code of its own that reads it.
bool CpuScheduleModel::computesForPoints(Operation *op, Operation *operand) const {
  return !isa<prim::FourierOp>(op) || prim::isElementwise(operand) ||
         moves(operand, Move::Repeat, Move::Reshape, Move::Cut, Move::Step);
}

/// Tiles are turned as they were summed. Bytes of such sums would be stored one by one, where a
/// kernel that turns bytes has squares of them.
bool CpuScheduleModel::storesTransposed(Operation *product, Type stored) const {
  Type sums = tensorType(product->getResult(0)).getElementType();
  return !stored.isInteger(8) || sums == stored;
}

bool codegen::CpuScheduleModel::reducesAboveLines(Operation *op) const {
  auto reduce = dyn_cast<prim::ReduceOp>(op);
  return reduce && (narrowLinesOf(reduce) || rereadsColumns(reduce));
}

SmallVector<kernel::Schedule> codegen::CpuScheduleModel::candidates(kernel::LaunchOp launch,
                                                                    Asked asked) const {
  bool variations = asked == Asked::All;
  SmallVector<kernel::Schedule> all;
  switch (launch.getKind()) {
  case kernel::KernelKind::Row:
    return rowSchedules(launch, cpu);
  case kernel::KernelKind::Special:
    return specialSchedules(launch, cpu);
  case kernel::KernelKind::Contraction:
    all = productSchedules(launch, cpu, variations);
    break;
  case kernel::KernelKind::Convolution:
    all = convolutionSchedules(launch, cpu, variations);
    break;
  case kernel::KernelKind::Attention:
    return attentionSchedules(launch, cpu, variations);
  case kernel::KernelKind::Loop:
    break;
  }
  // Packed weights are read by the templates alone.
  Operation *product = contractionOf(launch);
  if (all.empty() && !(product && prim::layoutOf(product->getOperand(1))))
    all.push_back(loopSchedule(launch, cpu));
  return all;
}
