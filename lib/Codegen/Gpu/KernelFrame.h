//===- KernelFrame.h - What GPU kernel templates start from ------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/LaunchFrame.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"
#include "tcc/Dialect/Kernel/SpecialOperator.h"

namespace tcc::codegen::device {

struct KernelFrame : LaunchFrame {
  KernelFrame(kernel::LaunchOp launch, mlir::LLVM::LLVMFuncOp function, Schedule schedule,
              const GpuArch &arch);

  mlir::LLVM::LLVMFuncOp function;
  Schedule schedule;
  const GpuArch &arch;
  mlir::Value thread, block; ///< in the block, in the grid; index
  mlir::Value scratch;       ///< null where the schedule has none

  /// Where thread `first` + its own number of all threads stands: the first task of a thread.
  mlir::Value globalThread();
  /// x < y, both not negative.
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value notBelow(mlir::Value x, mlir::Value y); ///< x >= y
  mlir::Value i32(int64_t v);
  /// The product of extents.
  mlir::Value volume(mlir::ValueRange extents);
  /// All threads of the block have come here, and see each other's shared memory.
  void barrier();
  /// Where kernels start early (GpuArch::pdl), the work before this one in its stream has ended
  /// from here on. Before it, a thread touches nothing that such work writes, and writes nothing. A
  /// kernel that has no such place waits before anything else, or at its end where its schedule
  /// says that it runs beside the one before.
  void awaitEarlierWork();
  /// Shared memory of the block: an array of `count` elements.
  mlir::Value shared(mlir::Type element, int64_t count, llvm::StringRef what);
  /// The block's dynamic shared memory, aligned to 16 bytes at least.
  mlir::Value dynamicShared();
  /// Runs `body` in the last of `blocks` blocks to come here with the same `counter`; it sees
  /// what the others wrote to scratch memory before.
  void inLastBlock(mlir::Value counter, mlir::Value blocks, llvm::function_ref<void()> body);
  void inLastBlock(mlir::Value counter, unsigned blocks, llvm::function_ref<void()> body);
  /// Element `index` of an array in scratch memory, `offset` bytes after the counters.
  mlir::Value scratchAt(int64_t offset, mlir::Type element, mlir::Value index);
  /// How a value of compute type lies in shared memory, and back: a bool is a byte.
  mlir::Type asStored(mlir::Type computed);
  mlir::Value asStored(mlir::Value computed);
  mlir::Value asComputed(mlir::Value stored, mlir::Type computed);
  /// `v`, an f32 or f64, of which LLVM does not know that it was read where it was: what a loop
  /// reads for its next turn it would read when that begins.
  mlir::Value readHere(mlir::Value v);
  /// The address of element `index` of an array.
  mlir::Value at(mlir::Value base, mlir::Type element, mlir::Value index);
  /// After the template: lets the kernel start before the work before it ends and, where the
  /// schedule says so, the work after it before this ends, where the architecture can.
  void startEarly();

private:
  void prefetchVectors();
  bool awaits = false;
};

/// The value of lane `lane ^ distance` of the warp; `v` has at most 64 bits.
mlir::Value exchangeLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value v, unsigned distance);
/// Every lane gets the combination of all, or of its group of `lanes` (a power of two), in one
/// fixed order.
mlir::Value reduceWarp(mlir::ImplicitLocOpBuilder &b, mlir::Value v, prim::ReduceKind kind,
                       mlir::Type elementType, unsigned lanes = GpuArch::warp);

/// 2 to the power of an f32, as the hardware has it: 2 units off at most, and 0 below the least
/// normal number.
mlir::Value exp2Approximately(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// Loop: whether all is at the result's own point, so that its points can be numbered through.
bool isFlat(kernel::LaunchOp launch);
/// Loop: the check that its threads do beside computing points (JoinedChecks.cpp), which is its
/// last result; null if there is none.
prim::ReduceOp joinedCheck(kernel::LaunchOp launch);
/// The tensor that the rows of a row kernel are made of.
mlir::Value rowSpace(kernel::LaunchOp launch);
/// Of a row kernel: the axes behind those that it reduces.
unsigned lineAxesOf(kernel::LaunchOp launch);
/// What only a run knows, worked out alike by the host and the kernel: how many blocks share the
/// points of each of so many groups, of which each sums `length` elements; and how many of the
/// `split` blocks of a row have a part of one of so many elements.
mlir::Value partsOfOpenColumns(mlir::OpBuilder &b, mlir::Location loc, mlir::Value groups,
                               mlir::Value length, Schedule schedule);
mlir::Value partsOfOpenRow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value length,
                           Schedule schedule);
/// How rows are reduced of up to so many elements, which only a run knows: the threads that have a
/// row, and the points of each that stay in registers; 0: none do.
struct OpenRowForm {
  unsigned threads, kept;
  int64_t most; ///< kDynamic: any number
};
/// Of the shortest rows first.
llvm::SmallVector<OpenRowForm> openRowForms(Schedule schedule);
/// How many rows of so many elements a block has.
mlir::Value rowsOfOpenBlock(mlir::OpBuilder &b, mlir::Location loc, mlir::Value length,
                            Schedule schedule);
/// Product: the contraction or convolution; the first of several.
mlir::Operation *productOf(kernel::LaunchOp launch);
llvm::SmallVector<mlir::Operation *, 2> productsOf(kernel::LaunchOp launch);
/// Column: the one reduction of a loop kernel that its threads can share; null if there is none.
prim::ReduceOp columnReduction(kernel::LaunchOp launch);
/// The same of a product of few rows by a matrix whose columns are neighbours in memory, in a type
/// that no matrix unit takes.
prim::DotOp columnProduct(kernel::LaunchOp launch);
inline constexpr unsigned kColumnLoads = 4; ///< that a thread of it has in flight
/// Places and channels of a thread of a depthwise convolution, at most `lanes` channels: the more
/// of both, the less is read and computed beside the products, as long as there is work for all
/// multiprocessors.
std::pair<unsigned, unsigned> depthwiseStrip(prim::ConvOp conv, unsigned lanes,
                                             const GpuArch &arch);
/// Line: whether neighbouring lines along `axis` lie together, as many as a warp has lanes.
bool linesAcross(mlir::RankedTensorType x, unsigned axis);

// Kernel templates; each sets `failed` after an error was emitted.
void emitLoopKernel(KernelFrame &f);
void emitTransposeKernel(KernelFrame &f);
void emitColumnKernel(KernelFrame &f);
void emitRowKernel(KernelFrame &f);
void emitLineKernel(KernelFrame &f);
/// A line that `row_threads` threads share.
void emitSharedLineKernel(KernelFrame &f);
/// The same for sort and top-k.
void emitOrderedBlockKernel(KernelFrame &f);

/// The same digit by digit, by a block, or with `scratch_bytes` by all blocks of the launch.
void emitDigitOrderKernel(KernelFrame &f);

/// Shared memory in which a block orders elements: their places, then, `values` bytes on, what they
/// are; all `bytes`.
struct OrderedRoom {
  unsigned values, bytes;
  static OrderedRoom of(int64_t slots, mlir::Type element);
};
void emitScatterKernel(KernelFrame &f);
void emitCollectKernel(KernelFrame &f);
void emitProductKernel(KernelFrame &f);
void emitAttentionKernel(KernelFrame &f);
void emitWgmmaAttentionKernel(KernelFrame &f);
void emitMmaAttentionKernel(KernelFrame &f);
void emitWgmmaKernel(KernelFrame &f);
void emitWgmmaTileKernel(KernelFrame &f);
void emitMmaKernel(KernelFrame &f);
void emitSkinnyKernel(KernelFrame &f);
void emitSkinnyMmaKernel(KernelFrame &f);
/// A loop over strips of `rows` places.
void emitDepthwiseKernel(KernelFrame &f);

} // namespace tcc::codegen::device
