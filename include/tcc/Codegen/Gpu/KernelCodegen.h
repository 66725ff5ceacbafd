//===- KernelCodegen.h - kernel.launch → a GPU kernel ------------*- C++ -*-===//
//
// A kernel is a function of words: for each launch input a pointer and the dims that
// are `?` (a tensor) or the value (a host scalar: floats as bits), then for each result
// a pointer and its dims that are `?`. Eight bytes each, so that the words that the host
// stores are the kernel's parameters as they stand. Pointers are to device memory and
// aligned to 16 bytes.
//
// A kernel whose blocks work together takes one more word: the address of scratch memory
// (scratch_bytes of its schedule) that no other launch uses at the same time. Its first
// kCounterBytes are zero before the launch and zero again after it.
//
// A kernel that copies in bulk takes, after its words, the tensor maps that tensorMapsOf
// describes and the runtime encodes.
//
// How a kernel is started is data (its schedule, gridOf): chosen in the schedule phase,
// then read by the kernel's code and by the host's.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "tcc/Dialect/Gpu/Gpu.h"
#include "tcc/Target/Gpu.h"
#include <optional>

namespace tcc::codegen::device {

using Form = tcc::gpu::Form;
using Schedule = tcc::gpu::ScheduleAttr;

/// Of scratch memory: counters of blocks that are done.
inline constexpr unsigned kCounterBytes = 4096;
/// Of that memory before what a kernel has that runs beside another one, counters included.
inline constexpr unsigned kBesideBytes = 2048;

/// What should be fastest on `arch`. `tf32`: operands of products in f32 may be rounded.
Schedule chooseSchedule(kernel::LaunchOp launch, const GpuArch &arch, bool tf32 = false);

/// The same of each template that takes the launch, best first.
llvm::SmallVector<Schedule> schedulesFor(kernel::LaunchOp launch, const GpuArch &arch,
                                         bool tf32 = false);

/// More ways of the templates for wgmma, where one of these takes the launch, which measuring may
/// find to be better than `own`: what schedulesFor gives.
llvm::SmallVector<Schedule> otherSchedulesFor(kernel::LaunchOp launch, const GpuArch &arch,
                                              llvm::ArrayRef<Schedule> own);

/// A schedule for runs of a product of open rows that have few of them.
struct FewRows {
  Schedule schedule;
  int64_t below = 0; ///< elements of the result
};

/// Those that are faster there than `many`, of the fewest rows first; none where that is best for
/// any number of rows.
llvm::SmallVector<FewRows> scheduleFewRows(kernel::LaunchOp launch, Schedule many,
                                           const GpuArch &arch);

/// The number of blocks, built at `b` from the launch's operands, outside of its region. 0
/// where nothing is to do.
mlir::OpFoldResult gridOf(mlir::OpBuilder &b, kernel::LaunchOp launch, Schedule schedule);

/// A dense tensor of 16-bit elements, of two to five axes, that a kernel copies boxes of, swizzled
/// by as many bytes as the last axis of a box has: 64 or 128.
struct TensorMap {
  bool ofResult; ///< of the launch's result `index`, else of its input
  unsigned index;
  llvm::SmallVector<mlir::OpFoldResult, 5> extents; ///< outermost first
  llvm::SmallVector<unsigned, 5> box;

  /// What is copied of images [images, spatial axes..., channels] instead of boxes: the channels
  /// of box's last one of `pixels` pixels, see tcc_tensor_window.
  struct Window {
    unsigned pixels;
    llvm::SmallVector<int64_t, 3> strides, low, high;
  };
  std::optional<Window> window = std::nullopt;
};

/// What the kernel's tensor maps are, in order; built as gridOf is.
llvm::SmallVector<TensorMap> tensorMapsOf(mlir::OpBuilder &b, kernel::LaunchOp launch,
                                          Schedule schedule);

/// The kernel that does `launch` on `arch`, added to `module` under `name`. Null after an error was
/// emitted at the operator that cannot be compiled. Where kernels may start early (GpuArch::pdl),
/// it lets the work after it start, and waits for the work before it: where its template says, when
/// all is ready for it, or before anything else.
mlir::LLVM::LLVMFuncOp emitKernel(kernel::LaunchOp launch, mlir::ModuleOp module,
                                  llvm::StringRef name, Schedule schedule, const GpuArch &arch);

/// Registers the dialects of GPU kernels and their translation to LLVM IR.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Lowers a module of kernels, with math expanded, to the LLVM and NVVM dialects. A math
/// function that has no code but a call of libm is an error.
mlir::LogicalResult lowerKernelModule(mlir::ModuleOp module, Schedule schedule);

} // namespace tcc::codegen::device
