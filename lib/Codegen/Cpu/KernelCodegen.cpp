//===- KernelCodegen.cpp - A launch becomes the function that its schedule says -===//
#include "tcc/Codegen/Cpu/KernelCodegen.h"
#include "Attention/AttentionSpec.h"
#include "Convolutions/PlaneConv.h"
#include "Loops/ByteTables.h"
#include "Loops/CarriedTruths.h"
#include "Loops/NarrowedFloats.h"
#include "Rows/CollapsedRows.h"
#include "SpecialKernel.h"
#include "tcc/Analysis/InPlace.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using kernel::KernelKind;

static bool emitTemplate(KernelFrame &frame) {
  bool isProduct = frame.launch.getKind() == KernelKind::Contraction;
  return llvm::TypeSwitch<Attribute, bool>(frame.launch.getScheduleAttr())
      .Case([&](cpu::LoopScheduleAttr s) { return emitLoopKernel(frame, s); })
      .Case([&](cpu::RowScheduleAttr s) { return emitRowKernel(frame, s); })
      .Case([&](cpu::AttentionScheduleAttr s) { return emitAttentionKernel(frame, s); })
      .Case([&](cpu::PlaneScheduleAttr s) { return emitPlaneConvolution(frame, s); })
      .Case([&](cpu::SpecialScheduleAttr) { return emitSpecialKernel(frame); })
      .Case([&](cpu::ContractionScheduleAttr s) {
        return isProduct ? emitContractionKernel(frame, numbersOf(s))
                         : emitConvolutionKernel(frame, numbersOf(s));
      })
      .Case<cpu::WinogradScheduleAttr, cpu::LineScheduleAttr>(
          [&](auto s) { return emitConvolutionKernel(frame, numbersOf(s)); })
      .Default([&](Attribute) {
        frame.launch.emitError("has no schedule for a CPU");
        return false;
      });
}

/// Loads of single elements out of inputs that the kernel does not change are the same all along:
/// an index that says which row is taken, or the scale of a channel with the root and the quotient
/// that it is made by, leaves the loop over the row's vectors, which LLVM cannot know while it
/// stores.
static void markElements(KernelFrame &frame) {
  SmallVector<unsigned> changed = overwritableInputs(frame.launch);
  for (BlockArgument argument : frame.launch.getBody().getArguments()) {
    const Memory *memory = frame.e.memoryOf(argument);
    if (!memory || llvm::is_contained(changed, argument.getArgNumber()))
      continue;
    for (Operation *address : memory->pointer.getUsers())
      if (isa<LLVM::GEPOp>(address))
        for (Operation *user : address->getUsers())
          if (auto load = dyn_cast<LLVM::LoadOp>(user); load && load.getType().isIntOrFloat())
            load.setInvariant(true);
  }
}

func::FuncOp tcc::codegen::emitKernel(kernel::LaunchOp launch, ModuleOp module, StringRef name,
                                      const CpuTarget &cpu) {
  MLIRContext *context = module.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Type index = b.getIndexType(), pointer = LLVM::LLVMPointerType::get(context);
  auto function = func::FuncOp::create(b, launch.getLoc(), name,
                                       b.getFunctionType({pointer, index, index}, {}));
  OwningOpRef<kernel::LaunchOp> copy;
  if (launch.getKind() == KernelKind::Row) {
    copy = launch.clone();
    launch = *copy;
    collapseRows(launch);
  }
  auto loop = dyn_cast<cpu::LoopScheduleAttr>(launch.getScheduleAttr());
  bool joins = loop && loop.getJoinedAxes() > 1;
  if (joins) {
    copy = launch.clone();
    launch = *copy;
  }
  KernelFrame frame(launch, function, cpu);
  if (joins)
    joinAxesInside(frame, {static_cast<unsigned>(loop.getJoinedAxes()), loop.getJoinedPieces()});
  readBytesFromTables(frame);
  bool ok = emitTemplate(frame);
  markElements(frame);
  carryTruthsAsBytes(function, cpu);
  narrowFloats(function, cpu);
  func::ReturnOp::create(frame.b);
  return ok ? function : func::FuncOp();
}
