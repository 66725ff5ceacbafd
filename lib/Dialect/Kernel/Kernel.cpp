//===- Kernel.cpp - The kernel dialect ------------------------------------===//
//
// How launches and what is written on them are read, printed and checked: that a region is what its
// kind says, and that a schedule fits it.
//
//===----------------------------------------------------------------------===//
#include "tcc/Dialect/Kernel/Kernel.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "tcc/Dialect/Kernel/SpecialOperator.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::kernel;

#include "tcc/Dialect/Kernel/KernelDialect.cpp.inc"
#include "tcc/Dialect/Kernel/KernelEnums.cpp.inc"
#include "tcc/Dialect/Kernel/KernelInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Kernel/KernelAttrs.cpp.inc"

LogicalResult BySizeAttr::verify(function_ref<InFlightDiagnostic()> emitError, Schedule small,
                                 int64_t below, Schedule large, bool largest) {
  if (below < 1)
    return emitError() << "no run has fewer than " << below << " elements";
  if (auto inner = dyn_cast<BySizeAttr>(small); inner && (!largest || inner.getLargest()))
    return emitError() << "the schedule for small sizes depends on a size itself";
  auto rest = dyn_cast<BySizeAttr>(large);
  if (rest && (largest || rest.getLargest()))
    return emitError() << "the schedule for large sizes depends on another size";
  if (rest && rest.getBelow() <= below)
    return emitError() << "no run of " << below << " elements or more has fewer than "
                       << rest.getBelow();
  return success();
}

LogicalResult BySizeAttr::verifyLaunch(Operation *op) const {
  auto isKnown = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.hasStaticShape();
  };
  if (isKnown(op->getResult(0).getType()) &&
      !(getLargest() && !(llvm::all_of(op->getOperandTypes(), isKnown) &&
                          llvm::all_of(op->getResultTypes(), isKnown))))
    return op->emitError("the size that its schedule depends on is the same in all runs");
  return success(succeeded(getSmall().verifyLaunch(op)) && succeeded(getLarge().verifyLaunch(op)));
}

static ParseResult parseKind(OpAsmParser &parser, KernelKindAttr &kind) {
  llvm::SMLoc start = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<KernelKind> known = symbolizeKernelKind(word);
  if (!known)
    return parser.emitError(start, "no kind of kernel is called '") << word << "'";
  kind = KernelKindAttr::get(parser.getContext(), *known);
  return success();
}

static void printKind(OpAsmPrinter &printer, LaunchOp, KernelKindAttr kind) {
  printer << stringifyKernelKind(kind.getValue());
}

#define GET_OP_CLASSES
#include "tcc/Dialect/Kernel/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tcc/Dialect/Kernel/KernelAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tcc/Dialect/Kernel/KernelOps.cpp.inc"
      >();
}

Operation *kernel::specialOf(LaunchOp launch) {
  Operation *op = launch.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
  while (isa_and_nonnull<prim::CastOp, prim::ConcatOp, prim::ReshapeOp, prim::SliceOp,
                         prim::TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// Whether `op` has an algorithm of its own: what no other kind of kernel computes.
static bool isSpecial(Operation *op) {
  if (isa_and_nonnull<prim::WhileOp>(op))
    return true; // all turns are one kernel
  return op && isa<prim::PrimDialect>(op->getDialect()) && !prim::isElementwise(op) &&
         !op->hasTrait<prim::PointAccess>() && !op->hasTrait<prim::View>() &&
         !op->hasTrait<prim::Generated>() && !op->hasTrait<prim::Reduction>() &&
         !op->hasTrait<prim::Contraction>() && !op->hasTrait<prim::HostOperator>() &&
         !op->hasTrait<prim::ModelConstant>();
}

/// Whether the region has what a kernel of its kind is about.
static LogicalResult verifyKind(LaunchOp launch) {
  KernelKind kind = launch.getKind();
  if (launch.getRows().has_value() != (kind == KernelKind::Row))
    return launch.emitOpError("of kind '")
           << stringifyKernelKind(kind) << "' "
           << (kind == KernelKind::Row ? "must say how many axes are rows" : "has no rows");
  auto has = [&](auto isIt) { return llvm::any_of(launch.getBody().front(), isIt); };
  bool fits = true;
  if (kind == KernelKind::Row)
    fits = has([](Operation &op) { return isa<prim::ReduceOp>(op); });
  else if (kind == KernelKind::Contraction)
    fits = has([](Operation &op) { return op.hasTrait<prim::MatrixProduct>(); });
  else if (kind == KernelKind::Convolution)
    fits = has([](Operation &op) { return op.hasTrait<prim::Convolution>(); });
  else if (kind == KernelKind::Attention)
    fits = has([](Operation &op) { return isa<prim::DotOp>(op); }) &&
           has([](Operation &op) { return isa<prim::ExpOp>(op); });
  else if (kind == KernelKind::Special)
    fits = isSpecial(specialOf(launch));
  if (!fits)
    return launch.emitOpError("of kind '")
           << stringifyKernelKind(kind) << "' computes none of what the kind is about";
  return success();
}

/// The first axes of every result are the rows.
static LogicalResult verifyRows(LaunchOp launch) {
  std::optional<int64_t> rows = launch.getRows();
  for (Type type : launch.getResultTypes())
    if (rows && (*rows < 0 || *rows > cast<RankedTensorType>(type).getRank()))
      return launch.emitOpError("has ") << *rows << " axes of rows, and a result of type " << type;
  return success();
}

LogicalResult LaunchOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("has ") << block.getNumArguments() << " region arguments for "
                               << getInputs().size() << " inputs";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError("must yield values of its result types");
  if (yield.getValues().empty())
    return emitOpError("computes nothing");
  int64_t dynamic = 0;
  for (Type type : getResultTypes())
    dynamic += cast<RankedTensorType>(type).getNumDynamicDims();
  if (static_cast<int64_t>(getSizes().size()) != dynamic)
    return emitOpError("has ") << dynamic << " dynamic result dims but " << getSizes().size()
                               << " sizes";
  if (failed(verifyKind(*this)))
    return failure();
  if (failed(verifyRows(*this)))
    return failure();
  return getScheduleAttr() ? getScheduleAttr().verifyLaunch(*this) : success();
}

LogicalResult LaunchOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  size_t next = 0;
  for (Type type : getResultTypes()) {
    SmallVector<OpFoldResult> &dims = shapes.emplace_back();
    for (int64_t extent : cast<RankedTensorType>(type).getShape()) {
      if (ShapedType::isDynamic(extent))
        dims.push_back(getSizes()[next++]);
      else
        dims.push_back(builder.getIndexAttr(extent));
    }
  }
  return success();
}
