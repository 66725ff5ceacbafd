//===- Schedule.cpp - What holds of schedules and the launches they are for -===//
//
// A schedule is chosen once and believed by everything after, so what would make it wrong for its
// launch is refused when it is attached: extents that the cut cannot have, weights that lie in
// panels of another width, forms that the kernel's kind has not.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Diagnostics.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::kernel;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

namespace {
struct Size {
  StringRef name;
  int64_t value, least = 1;
};
} // namespace

static LogicalResult verifySizes(EmitError emitError, std::initializer_list<Size> sizes) {
  for (const Size &size : sizes)
    if (size.value < size.least)
      return emitError() << size.name << " is " << size.value << ", at least " << size.least;
  return success();
}

LogicalResult LoopScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t axis,
                                       int64_t chunk, int64_t grain, int64_t blockAxis,
                                       int64_t blockRows) {
  if (failed(verifySizes(emitError, {{"lanes", lanes},
                                     {"axis", axis, 0},
                                     {"chunk", chunk},
                                     {"grain", grain},
                                     {"block_axis", blockAxis, 0},
                                     {"block_rows", blockRows}})))
    return failure();
  if (blockRows > 1 && blockAxis >= axis)
    return emitError() << "block_axis is " << blockAxis << ", which is not before axis " << axis;
  return success();
}

LogicalResult RowScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t grain,
                                      int64_t kept) {
  return verifySizes(emitError, {{"lanes", lanes}, {"grain", grain}, {"kept", kept, 0}});
}

LogicalResult ContractionScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t vectors,
                                              int64_t rows, int64_t unroll, int64_t tilesPerTask,
                                              int64_t panelsPerTask, std::optional<int64_t> kBlock,
                                              OperandAccess, OperandAccess b, int64_t stepBytes,
                                              Epilogue, std::optional<int64_t> grainProducts) {
  if (b == OperandAccess::Pointers || b == OperandAccess::Gathered)
    return emitError() << "b is '" << stringifyOperandAccess(b) << "', which only a can be";
  return verifySizes(emitError, {{"lanes", lanes},
                                 {"vectors", vectors},
                                 {"rows", rows},
                                 {"unroll", unroll},
                                 {"tiles_per_task", tilesPerTask},
                                 {"panels_per_task", panelsPerTask},
                                 {"k_block", kBlock.value_or(1)},
                                 {"step_bytes", stepBytes},
                                 {"grain_products", grainProducts.value_or(1)}});
}

LogicalResult WinogradScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t vectors,
                                           int64_t rows, int64_t tilesPerTask,
                                           int64_t panelsPerTask) {
  return verifySizes(emitError, {{"lanes", lanes},
                                 {"vectors", vectors},
                                 {"rows", rows},
                                 {"tiles_per_task", tilesPerTask},
                                 {"panels_per_task", panelsPerTask}});
}

LogicalResult LineScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t pixels,
                                       int64_t vectorsPerTask) {
  return verifySizes(emitError,
                     {{"lanes", lanes}, {"pixels", pixels}, {"vectors_per_task", vectorsPerTask}});
}

LogicalResult AttentionScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t vectors,
                                            int64_t rows, int64_t valueVectors, int64_t valueRows,
                                            int64_t taskRows, int64_t keys, int64_t split,
                                            int64_t grainProducts) {
  if (failed(verifySizes(emitError, {{"lanes", lanes},
                                     {"vectors", vectors},
                                     {"rows", rows},
                                     {"value_vectors", valueVectors},
                                     {"value_rows", valueRows},
                                     {"task_rows", taskRows},
                                     {"keys", keys},
                                     {"split", split},
                                     {"grain_products", grainProducts}})))
    return failure();
  if (keys % (lanes * vectors) != 0)
    return emitError() << "keys is " << keys << ", no multiple of panels of " << lanes * vectors;
  return success();
}

LogicalResult SpecialScheduleAttr::verify(EmitError emitError, int64_t lanes, int64_t grain) {
  return verifySizes(emitError, {{"lanes", lanes}, {"grain", grain}});
}

LogicalResult GpuScheduleAttr::verify(EmitError emitError, GpuForm form, unsigned threads,
                                      unsigned lanes, unsigned vectors, unsigned rowThreads,
                                      unsigned /*kept*/, unsigned rows, unsigned columns,
                                      unsigned depth, unsigned /*sharedBytes*/, unsigned mostBlocks,
                                      unsigned split, unsigned /*scratchBytes*/,
                                      unsigned indexBits) {
  bool tiles = form == GpuForm::Product || form == GpuForm::Wgmma || form == GpuForm::Attention ||
               form == GpuForm::MmaAttention;
  if (indexBits != 32 && indexBits != 64)
    return emitError() << "index_bits is " << indexBits << ", neither 32 nor 64";
  bool shares = form == GpuForm::Row || form == GpuForm::Column || form == GpuForm::MmaAttention;
  if (shares && (rowThreads == 0 || threads % rowThreads != 0))
    return emitError() << "row_threads is " << rowThreads << ", which is no part of " << threads
                       << " threads";
  return verifySizes(emitError, {{"threads", threads},
                                 {"lanes", lanes},
                                 {"vectors", vectors},
                                 {"rows", rows, tiles ? 1 : 0},
                                 {"columns", columns, tiles ? 1 : 0},
                                 {"depth", depth, form == GpuForm::Product ? 1 : 0},
                                 {"split", split},
                                 {"most_blocks", mostBlocks, 0}});
}

LogicalResult GpuSchedulesAttr::verify(EmitError emitError, ArrayRef<StringAttr> archs,
                                       ArrayRef<GpuScheduleAttr> schedules) {
  if (archs.empty())
    return emitError() << "no architecture";
  if (archs.size() != schedules.size())
    return emitError() << archs.size() << " architectures and " << schedules.size() << " schedules";
  for (unsigned i = 0; i < archs.size(); ++i)
    if (llvm::is_contained(archs.take_front(i), archs[i]))
      return emitError() << archs[i].getValue() << " is given twice";
  return success();
}

GpuScheduleAttr GpuSchedulesAttr::find(StringRef arch) const {
  for (auto [name, schedule] : llvm::zip(getArchs(), getSchedules()))
    if (name.getValue() == arch)
      return schedule;
  return {};
}

Attribute GpuSchedulesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> archs;
  SmallVector<GpuScheduleAttr> schedules;
  llvm::SMLoc at = parser.getCurrentLocation();
  auto one = [&]() -> ParseResult {
    std::string arch;
    if (parser.parseKeywordOrString(&arch) || parser.parseEqual())
      return failure();
    auto schedule = dyn_cast_if_present<GpuScheduleAttr>(GpuScheduleAttr::parse(parser, {}));
    if (!schedule)
      return failure();
    archs.push_back(StringAttr::get(parser.getContext(), arch));
    schedules.push_back(schedule);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, one))
    return {};
  return getChecked([&] { return parser.emitError(at); }, parser.getContext(),
                    ArrayRef<StringAttr>(archs), ArrayRef<GpuScheduleAttr>(schedules));
}

void GpuSchedulesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(llvm::zip(getArchs(), getSchedules()), printer, [&](auto entry) {
    printer.printKeywordOrString(std::get<0>(entry).getValue());
    printer << " = ";
    printer.printStrippedAttrOrType(std::get<1>(entry));
  });
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static LogicalResult verifyKind(LaunchOp launch, StringRef schedule,
                                llvm::ArrayRef<KernelKind> kinds) {
  if (llvm::is_contained(kinds, launch.getKind()))
    return success();
  return launch.emitOpError("of kind '")
         << stringifyKernelKind(launch.getKind()) << "' cannot run by "
         << (schedule.starts_with("a") ? "an " : "a ") << schedule;
}

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
  if (panels && panels.getGroups() == 1 && panels.getK() == dot.getRhsContract() &&
      dot.getLhsContract() == ArrayRef(last))
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
  if (!panels && !(areOnes(conv.getStrides()) && areOnes(conv.getDilations()) && groups == 1))
    return launch.emitOpError("is in tiles, which need stride, dilation and groups 1");
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
  if (getAxis() >= type.getRank())
    return launch.emitOpError("of rank ") << type.getRank() << " has no axis " << getAxis();
  if (llvm::is_contained(type.getShape().drop_front(getAxis() + 1), ShapedType::kDynamic))
    return launch.emitOpError("has an open extent after axis ") << getAxis();
  return success();
}

LogicalResult RowScheduleAttr::verifyLaunch(Operation *op) const {
  return verifyKind(cast<LaunchOp>(op), getMnemonic(), {KernelKind::Row});
}

LogicalResult ContractionScheduleAttr::verifyLaunch(Operation *op) const {
  auto launch = cast<LaunchOp>(op);
  if (launch.getKind() == KernelKind::Contraction &&
      (getA() == OperandAccess::Pointers || getA() == OperandAccess::Gathered))
    return launch.emitOpError("of kind 'contraction' has no taps, so a cannot be '")
           << stringifyOperandAccess(getA()) << "'";
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

LogicalResult AttentionScheduleAttr::verifyLaunch(Operation *op) const {
  return verifyKind(cast<LaunchOp>(op), getMnemonic(), {KernelKind::Attention});
}

LogicalResult SpecialScheduleAttr::verifyLaunch(Operation *op) const {
  return verifyKind(cast<LaunchOp>(op), getMnemonic(), {KernelKind::Special});
}

LogicalResult GpuScheduleAttr::verifyLaunch(Operation *op) const {
  using enum KernelKind;
  auto launch = cast<LaunchOp>(op);
  switch (getForm()) {
  case GpuForm::Row:
    return verifyKind(launch, getMnemonic(), {Row});
  case GpuForm::Line:
  case GpuForm::Scatter:
  case GpuForm::Collect:
    return verifyKind(launch, getMnemonic(), {Special});
  case GpuForm::Attention:
  case GpuForm::WgmmaAttention:
  case GpuForm::MmaAttention:
    return verifyKind(launch, getMnemonic(), {Attention});
  default:
    return verifyKind(launch, getMnemonic(), {Loop, Contraction, Convolution});
  }
}

LogicalResult GpuSchedulesAttr::verifyLaunch(Operation *op) const {
  for (GpuScheduleAttr schedule : getSchedules())
    if (failed(schedule.verifyLaunch(op)))
      return failure();
  return success();
}
