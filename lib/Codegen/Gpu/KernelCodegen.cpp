//===- KernelCodegen.cpp - kernel.launch → a GPU kernel -------------------===//
//
// The schedule of a launch names its form, and with it the template that writes the kernel; here is
// what all have in common: the parameters, which the launch emitter passes in the same order, the
// bounds on threads and blocks that ptxas allots registers by, and the way from MLIR to LLVM's
// dialect. Operations of NVVM without an intrinsic of LLVM's become inline PTX. Functions that no
// kernel may call are an error here rather than of ptxas.
//
//===----------------------------------------------------------------------===//
#include "Attention/BoxedAttention.h"
#include "Products/AheadProductSchedule.h"
#include "Products/MatrixTile.h"
#include "ScheduleChoice.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/BasicPtxBuilderInterface.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/DialectConversion.h"
#include "tcc/Codegen/Common/LowerToLLVM.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// A word for each pointer, dim that is `?` and host scalar, in the order in which
/// LaunchFrame::bindArguments reads them.
static LLVM::LLVMFunctionType kernelType(kernel::LaunchOp launch, bool scratch,
                                         unsigned tensorMaps) {
  Builder b(launch.getContext());
  SmallVector<Type> words;
  auto add = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor) {
      words.push_back(b.getI64Type());
      return;
    }
    words.push_back(LLVM::LLVMPointerType::get(b.getContext(), 1));
    words.append(tensor.getNumDynamicDims(), b.getI64Type());
  };
  for (Type type : launch.getBody().getArgumentTypes())
    add(type);
  for (Type type : launch.getResultTypes())
    add(type);
  if (scratch)
    words.push_back(LLVM::LLVMPointerType::get(b.getContext(), 1));
  words.append(tensorMaps, LLVM::LLVMPointerType::get(b.getContext()));
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), words);
}

static unsigned countTensorMaps(kernel::LaunchOp launch, Schedule schedule) {
  if (schedule.getForm() == Form::WgmmaAttention)
    return BoxedAttention::tensorMaps;
  return schedule.getForm() == Form::Wgmma
             ? scheduledMatrices(launch, schedule).tensorMaps(schedule.getRows())
             : 0;
}

/// Tensor maps are read where they lie among the parameters.
static void describeTensorMaps(LLVM::LLVMFuncOp function, unsigned count) {
  Builder b(function.getContext());
  for (unsigned i = function.getNumArguments() - count; i < function.getNumArguments(); ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), 128)));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }
}

LLVM::LLVMFuncOp device::emitKernel(kernel::LaunchOp launch, ModuleOp module, StringRef name,
                                    Schedule schedule, const GpuArch &arch) {
  MLIRContext *context = module.getContext();
  context->loadDialect<NVVM::NVVMDialect>();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  unsigned tensorMaps = countTensorMaps(launch, schedule);
  auto function = LLVM::LLVMFuncOp::create(
      b, launch.getLoc(), name, kernelType(launch, schedule.getScratchBytes() != 0, tensorMaps));
  describeTensorMaps(function, tensorMaps);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(schedule.getThreads())}));
  if (unsigned resident = schedule.getResident())
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(resident));
  KernelFrame frame(launch, function, schedule, arch);
  switch (schedule.getForm()) {
  case Form::Loop:
    schedule.getRows() ? emitDepthwiseKernel(frame) : emitLoopKernel(frame);
    break;
  case Form::Transpose:
    emitTransposeKernel(frame);
    break;
  case Form::Column:
    emitColumnKernel(frame);
    break;
  case Form::Row:
    emitRowKernel(frame);
    break;
  case Form::Line:
    schedule.getRowThreads() ? emitSharedLineKernel(frame) : emitLineKernel(frame);
    break;
  case Form::Scatter:
    emitScatterKernel(frame);
    break;
  case Form::Collect:
    emitCollectKernel(frame);
    break;
  case Form::Product:
    // What a block needs of a multiprocessor: ptxas allots registers by how many there are of it.
    if (schedule.getRowThreads())
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        b.getI32IntegerAttr(int32_t(residentProducts(launch, schedule, arch))));
    emitProductKernel(frame);
    break;
  case Form::Attention:
    emitAttentionKernel(frame);
    break;
  case Form::WgmmaAttention:
    emitWgmmaAttentionKernel(frame);
    break;
  case Form::MmaAttention:
    emitMmaAttentionKernel(frame);
    break;
  case Form::Wgmma:
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
    if (schedule.getSplit() > 1)
      function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                        b.getDenseI32ArrayAttr({static_cast<int32_t>(schedule.getSplit())}));
    schedule.getMostBlocks() ? emitWgmmaKernel(frame) : emitWgmmaTileKernel(frame);
    break;
  case Form::Mma:
    // ptxas would rather spill than have fewer blocks of few threads on a multiprocessor.
    if (schedule.getThreads() < 128)
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
    emitMmaKernel(frame);
    break;
  case Form::Skinny:
    emitSkinnyKernel(frame);
    break;
  case Form::SkinnyMma:
    emitSkinnyMmaKernel(frame);
    break;
  }
  LLVM::ReturnOp::create(frame.b, ValueRange());
  frame.startEarly();
  return frame.failed ? LLVM::LLVMFuncOp() : function;
}

void device::registerKernelDialects(DialectRegistry &registry) {
  codegen::registerKernelDialects(registry);
  registry.insert<NVVM::NVVMDialect>();
  registerNVVMDialectTranslation(registry);
}

LogicalResult device::lowerKernelModule(ModuleOp module, Schedule schedule) {
  LowerOptions options;
  options.indexBits = schedule.getIndexBits();
  options.libm = false;
  auto extend = [](RewritePatternSet &patterns, ConversionTarget &target) {
    populateNVVMToLLVMConversionPatterns(patterns);
    // Operations that LLVM has no intrinsic for become inline PTX here.
    target.addDynamicallyLegalDialect<NVVM::NVVMDialect>([](Operation *op) {
      auto inlined = dyn_cast<NVVM::BasicPtxBuilderInterface>(op);
      return !inlined || inlined.hasIntrinsic();
    });
  };
  options.extend = extend;
  if (failed(codegen::lowerKernelModule(module, options)))
    return failure();
  // What expandMath left to libm.
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function.isExternal())
      return function.emitError("a GPU has no function '") << function.getName() << "'";
  return success();
}
