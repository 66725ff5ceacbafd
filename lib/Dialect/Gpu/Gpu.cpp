//===- Gpu.cpp - Schedules of GPUs, and what holds of their launches ------===//
//
// A launch has one schedule for each architecture: `<sm_80 = <...>, sm_90a = <...>>`. What would
// make one wrong for its launch is refused when it is attached.
//
//===----------------------------------------------------------------------===//
#include "tcc/Dialect/Gpu/Gpu.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "tcc/Dialect/Kernel/ScheduleChecks.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::gpu;
using kernel::KernelKind;
using kernel::kMostWrittenOut;
using kernel::LaunchOp;
using kernel::verifyKind;
using kernel::verifySizes;

#include "tcc/Dialect/Gpu/GpuDialect.cpp.inc"
#include "tcc/Dialect/Gpu/GpuEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Gpu/GpuAttrs.cpp.inc"

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

void GpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tcc/Dialect/Gpu/GpuAttrs.cpp.inc"
      >();
}

LogicalResult ScheduleAttr::verify(EmitError emitError, Form form, unsigned threads, unsigned lanes,
                                   unsigned vectors, unsigned rowThreads, unsigned /*kept*/,
                                   unsigned rows, unsigned columns, unsigned depth,
                                   unsigned /*sharedBytes*/, unsigned mostBlocks, unsigned split,
                                   unsigned /*scratchBytes*/, unsigned indexBits, unsigned resident,
                                   bool /*nextEarly*/, bool nextBeside, bool beside,
                                   ScheduleAttr narrow) {
  constexpr unsigned kMostThreads = 2048; // of a multiprocessor
  if (resident * threads > kMostThreads)
    return emitError() << resident << " blocks of " << threads
                       << " threads do not fit a multiprocessor";
  bool tiles = form == Form::Product || form == Form::Wgmma || form == Form::Attention ||
               form == Form::MmaAttention;
  if (indexBits != 32 && indexBits != 64)
    return emitError() << "index_bits is " << indexBits << ", neither 32 nor 64";
  bool waitsWithin = form == Form::Wgmma || form == Form::SkinnyMma || form == Form::WgmmaAttention;
  if (waitsWithin && (beside || nextBeside))
    return emitError() << "a kernel that waits within its template has none beside it";
  if (narrow && (narrow.getForm() != form || narrow.getSplit() >= split || narrow.getNarrow()))
    return emitError() << "the narrow kernel has another form, or not fewer blocks";
  bool shares = form == Form::Row || form == Form::Column || form == Form::MmaAttention;
  if (shares && (rowThreads == 0 || threads % rowThreads != 0))
    return emitError() << "row_threads is " << rowThreads << ", which is no part of " << threads
                       << " threads";
  return verifySizes(emitError, {{"threads", threads, 1, kMostWrittenOut},
                                 {"lanes", lanes, 1, kMostWrittenOut},
                                 {"vectors", vectors},
                                 {"rows", rows, tiles ? 1 : 0},
                                 {"columns", columns, tiles ? 1 : 0},
                                 {"depth", depth, form == Form::Product ? 1 : 0},
                                 {"split", split},
                                 {"most_blocks", mostBlocks, 0}});
}

LogicalResult SchedulesAttr::verify(EmitError emitError, ArrayRef<StringAttr> archs,
                                    ArrayRef<ScheduleAttr> schedules) {
  if (archs.empty())
    return emitError() << "no architecture";
  if (archs.size() != schedules.size())
    return emitError() << archs.size() << " architectures and " << schedules.size() << " schedules";
  for (unsigned i = 0; i < archs.size(); ++i)
    if (llvm::is_contained(archs.take_front(i), archs[i]))
      return emitError() << archs[i].getValue() << " is given twice";
  return success();
}

ScheduleAttr SchedulesAttr::find(StringRef arch) const {
  for (auto [name, schedule] : llvm::zip(getArchs(), getSchedules()))
    if (name.getValue() == arch)
      return schedule;
  return {};
}

Attribute SchedulesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> archs;
  SmallVector<ScheduleAttr> schedules;
  llvm::SMLoc at = parser.getCurrentLocation();
  auto one = [&]() -> ParseResult {
    std::string arch;
    if (parser.parseKeywordOrString(&arch) || parser.parseEqual())
      return failure();
    auto schedule = dyn_cast_if_present<ScheduleAttr>(ScheduleAttr::parse(parser, {}));
    if (!schedule)
      return failure();
    archs.push_back(StringAttr::get(parser.getContext(), arch));
    schedules.push_back(schedule);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, one))
    return {};
  return getChecked([&] { return parser.emitError(at); }, parser.getContext(),
                    ArrayRef<StringAttr>(archs), ArrayRef<ScheduleAttr>(schedules));
}

void SchedulesAttr::print(AsmPrinter &printer) const {
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

LogicalResult ScheduleAttr::verifyLaunch(Operation *op) const {
  using enum KernelKind;
  auto launch = cast<LaunchOp>(op);
  switch (getForm()) {
  case Form::Row:
    return verifyKind(launch, getMnemonic(), {Row});
  case Form::Line:
  case Form::Scatter:
  case Form::Collect:
    return verifyKind(launch, getMnemonic(), {Special});
  case Form::Attention:
  case Form::WgmmaAttention:
  case Form::MmaAttention:
    return verifyKind(launch, getMnemonic(), {Attention});
  default:
    return verifyKind(launch, getMnemonic(), {Loop, Contraction, Convolution});
  }
}

LogicalResult SchedulesAttr::verifyLaunch(Operation *op) const {
  for (ScheduleAttr schedule : getSchedules())
    if (failed(schedule.verifyLaunch(op)))
      return failure();
  return success();
}
