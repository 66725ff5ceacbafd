//===- KernelCodegen.h - kernel.launch → a GPU kernel ------------*- C++ -*-===//
//
// A kernel is a function of words: for each launch input a pointer and the dims that
// are `?` (a tensor) or the value (a host scalar: floats as bits), then for each result
// a pointer and its dims that are `?`. Eight bytes each, so that the words that the host
// stores are the kernel's parameters as they stand. Pointers are to device memory and
// aligned to 16 bytes.
//
// A kernel that copies in bulk takes, after its words, the tensor maps that tensorMapsOf
// describes and the runtime encodes.
//
// How a kernel is started is data (Schedule, gridOf): chosen once from the launch and
// the architecture, then read by the kernel's code and by the host's.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Target/Gpu.h"

namespace tcc::codegen::device {

enum class Form : uint8_t {
  Loop,      ///< each thread computes vectors of points
  Transpose, ///< each block computes a tile of points, of operands that lie across
  Column,    ///< several threads share the reduction of each of few points
  Row,       ///< a warp or a block reduces a row
  Line,      ///< each thread walks along an axis
  Scatter,   ///< each block writes a range of what the indices do not choose
  Collect,   ///< one warp gathers what a condition selects, in order
  Product,   ///< each block computes a tile of a contraction or convolution
  Wgmma,     ///< the same, tile after tile, on the matrix units of sm_90a
};

struct Schedule {
  Form form = Form::Loop;
  unsigned threads = 256;           ///< of a block
  unsigned lanes = 1;               ///< neighbouring points that a thread computes at once
  unsigned vectors = 1;             ///< of a thread, all read before one is written
  unsigned rowThreads = 32;         ///< Row: threads that share a row
  bool keepsRow = false;            ///< Row: a thread's points stay in registers
  unsigned rows = 64, columns = 64; ///< Product, Wgmma: of a tile
  unsigned depth = 16;              ///< Product: of a slice in shared memory
  unsigned sharedBytes = 0;         ///< dynamic shared memory
  unsigned mostBlocks = 0;          ///< Wgmma: of the grid, one a multiprocessor
  unsigned indexBits = 64;
};

Schedule chooseSchedule(kernel::LaunchOp launch, const GpuArch &arch);

/// The number of blocks, built at `b` from the launch's operands, outside of its region. 0
/// where nothing is to do.
mlir::OpFoldResult gridOf(mlir::OpBuilder &b, kernel::LaunchOp launch, const Schedule &schedule);

/// A dense matrix of 16-bit elements that a kernel copies boxes of, swizzled by 128 bytes.
struct TensorMap {
  bool ofResult; ///< of the launch's result `index`, else of its input
  unsigned index;
  mlir::OpFoldResult rows;
  int64_t columns;
  unsigned boxRows, boxColumns;
};

/// What the kernel's tensor maps are, in order; built as gridOf is.
llvm::SmallVector<TensorMap> tensorMapsOf(mlir::OpBuilder &b, kernel::LaunchOp launch,
                                          const Schedule &schedule);

/// The kernel that does `launch`, added to `module` under `name`. Null after an error was
/// emitted at the operator that cannot be compiled.
mlir::LLVM::LLVMFuncOp emitKernel(kernel::LaunchOp launch, mlir::ModuleOp module,
                                  llvm::StringRef name, const Schedule &schedule);

/// Registers the dialects of GPU kernels and their translation to LLVM IR.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Lowers a module of kernels, with math expanded, to the LLVM and NVVM dialects. A math
/// function that has no code but a call of libm is an error.
mlir::LogicalResult lowerKernelModule(mlir::ModuleOp module, const Schedule &schedule);

} // namespace tcc::codegen::device
