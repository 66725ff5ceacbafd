//===- MatrixInstructions.h - What a warp multiplies with --------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. mma.sync, which multiplies a tile of 16 rows by one of
// eight columns held by the lanes of a warp, ldmatrix, which brings operands from shared
// memory to the lanes that need them, and the asynchronous copies that fill shared
// memory. Every architecture since sm_80 has them, and the simulated device.
//
// An operand is seen as rows of k of 16 bytes. Lane l holds, of a tile of eight such rows,
// word l % 4 of row l / 4, and of a tile of sums columns 2 * (l % 4) and the next in row
// l / 4.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>

namespace tcc::codegen::device {

/// An mma.sync of 16 rows by 8 columns over 32 bytes of k.
struct MatrixInstruction {
  mlir::NVVM::MMATypes left, right;
  mlir::Type sum; ///< f32 or i32

  static constexpr unsigned rows = 16, columns = 8, bytes = 32;

  /// For operands of two element types; null where no unit multiplies them. f32 is rounded to
  /// tf32, which only some may do.
  static std::optional<MatrixInstruction> of(mlir::Type left, mlir::Type right);
  unsigned elementBytes() const;
  bool rounds() const { return left == mlir::NVVM::MMATypes::tf32; }
  /// Words of an operand as multiply takes them.
  llvm::SmallVector<mlir::Value> rounded(mlir::ImplicitLocOpBuilder &b,
                                         mlir::ValueRange words) const;

  /// The four sums of a lane, rows l / 4 and l / 4 + 8, with products added. `left` is four
  /// words: rows 0 to 7 and 8 to 15 of the first 16 bytes of k, then of the others; `right`
  /// two: of the first 16 bytes of k and of the others.
  llvm::SmallVector<mlir::Value> multiply(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange left,
                                          mlir::ValueRange right, mlir::ValueRange sums) const;
};

/// Products of f64, of 16 rows by 8 columns over `inner` of k. Lane l holds rows l / 4 and l / 4 +
/// 8 at k = l % 4, column l / 4 at the same k, and so on, every four of k; of the sums columns 2 *
/// (l % 4) and the next of either row.
struct DoubleInstruction {
  unsigned inner;
  bool whole; ///< one instruction does all of it; otherwise eight rows and four of k each

  static constexpr unsigned rows = 16, columns = 8, step = 4;
  static DoubleInstruction of(bool hasLarge, unsigned depth);

  /// The four sums with products added. `left`: both rows at the first k, then at the others.
  llvm::SmallVector<mlir::Value> multiply(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange left,
                                          mlir::ValueRange right, mlir::ValueRange sums) const;
};

/// `count` (1, 2 or 4) tiles of eight rows of 16 bytes in shared memory, a word of each for
/// every lane. Lane l gives the address of row l % 8 of tile l / 8. `transposed`: of 16-bit
/// elements, as if columns were rows.
llvm::SmallVector<mlir::Value> loadMatrices(mlir::ImplicitLocOpBuilder &b, mlir::Value address,
                                            unsigned count, bool transposed = false);

/// Starts a copy of 4, 8 or 16 bytes from global to shared memory; of zeros where `inside`
/// does not hold (null: it always does).
void copyAsync(mlir::ImplicitLocOpBuilder &b, mlir::Value to, mlir::Value from, unsigned bytes,
               mlir::Value inside = {});
/// The thread's copies since the last commit become one group.
void commitCopies(mlir::ImplicitLocOpBuilder &b);
/// Waits for all but the thread's latest `groups` groups.
void awaitCopies(mlir::ImplicitLocOpBuilder &b, unsigned groups);

} // namespace tcc::codegen::device
