//===- SpecialKernel.h - Loops that special kernels share --------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "KernelFrame.h"
#include "tcc/Analysis/FourierLength.h"
#include "tcc/Codegen/Common/LineKernel.h"

namespace tcc::codegen {

/// body(at) for every point of `extents`, row-major.
void forEachPoint(KernelFrame &f, llvm::ArrayRef<mlir::Value> extents,
                  llvm::function_ref<void(Coords &)> body, Coords prefix = {});

/// Neighbouring lines that a task of an operator along an axis does in lanes; 1: a line alone.
int64_t linesPerTask(mlir::Operation *op, cpu::SpecialScheduleAttr schedule);
/// An operator of which `lineAxis` knows the lines.
void emitLines(KernelFrame &f, mlir::Operation *op);

/// Whether `op` gives more first elements of lines than are kept in order, so that they are
/// selected before they are sorted.
bool selectsFirst(mlir::Operation *op, const CpuTarget &cpu);
/// Whether `op` gives a part of lines that is kept in order on the stack while a line is looked
/// through.
bool boundsFirst(mlir::Operation *op, const CpuTarget &cpu);
/// Whether `op` can sort lines as words of keys and places.
bool sortsWords(mlir::Operation *op, const CpuTarget &cpu);
/// The line at `at` so.
void emitSortedLine(KernelFrame &f, mlir::Operation *op, Coords at, mlir::Value length);

/// Whether `op` sorts lines of a few vectors, by counting what comes before each element.
bool ranksLine(mlir::Operation *op, const CpuTarget &cpu);
void emitRankedLine(KernelFrame &f, mlir::Operation *op, Coords at);

/// One element of the order of each line, a line a task.
void emitSelectedElements(KernelFrame &f, prim::KthOp op);
/// body(number, key, place) for the first elements of the order of the line at `at`, in the order
/// of their places. Keys compare as signed integers.
void forFirstOfOrder(KernelFrame &f, prim::TopKOp op, Coords at,
                     llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> body);

/// Columns that a task of an operator on matrices takes; 0: a task takes a matrix.
int64_t matrixColumns(mlir::Operation *op, cpu::SpecialScheduleAttr schedule);
/// An operator on matrices.
void emitMatrices(KernelFrame &f, mlir::Operation *op);

/// How the lines of a Fourier transform become tasks.
struct FourierTasks {
  int64_t lanes;
  bool pairs;    ///< two real lines are done as a complex one
  int64_t lines; ///< in a task: one a lane, or one of them; two where they are paired
  bool across;   ///< neighbouring lines lie next to each other: they are read as they lie
  std::optional<FourierMatrix> matrix; ///< what a line is, where it is done alone
};
FourierTasks fourierTasks(prim::FourierOp op, cpu::SpecialScheduleAttr schedule);
void emitFourier(KernelFrame &f, prim::FourierOp op);
void emitFourierMatrix(KernelFrame &f, prim::FourierOp op, const FourierTasks &tasks);

/// How an operator that changes a part of a tensor is cut into tasks.
struct ScatterTasks {
  unsigned outer = 0;           ///< leading axes of the result, an index of each a task
  std::optional<unsigned> axis; ///< the one after them that is cut, if one is
  int64_t part = 1;             ///< indices of it in a task
};
ScatterTasks scatterTasks(mlir::Operation *op);
void emitScatter(KernelFrame &f, mlir::Operation *op);

} // namespace tcc::codegen
