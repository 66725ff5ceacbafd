//===- WgmmaInstructions.h - What a warp group multiplies with ---*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. wgmma, by which four warps multiply 64 rows by up to 256 columns out
// of shared memory without waiting for it, bulk tensor copies (TMA), which fill shared memory as
// wgmma reads it, and the barriers in shared memory that both report to. sm_90a alone has all.
//
// Operands lie in slices of 64 columns, rows of 128 bytes swizzled. A slice begins at a multiple of
// 1024 bytes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tcc::codegen::device {

/// An operand in shared memory. `byInner`: its rows of memory are rows (columns of the right
/// operand), along which is summed; else they are what is summed over.
struct WgmmaOperand {
  mlir::Value descriptor; ///< of the first slice, i64
  int64_t sliceBytes;     ///< from one slice of 64 columns to the next
  bool byInner;

  /// At `address`, an i32 in bytes.
  static WgmmaOperand at(mlir::ImplicitLocOpBuilder &b, mlir::Value address, int64_t sliceBytes,
                         bool byInner);
  /// The descriptor of 32 bytes of what is summed over, from `inner` on, counted in 16 bits.
  mlir::Value step(mlir::ImplicitLocOpBuilder &b, int64_t inner) const;
};

/// Sums of a warp group, of 64 rows by `columns`: a struct of columns / 2 numbers, f32 or i32.
/// Thread t holds, of each eight columns j, two neighbours 8 j + 2 (t % 4) of row t / 32 * 16 + t %
/// 32 / 4 as numbers 4 j and 4 j + 1, and of eight rows further as 4 j + 2 and 4 j + 3.
mlir::Type wgmmaSums(mlir::ImplicitLocOpBuilder &b, unsigned columns, mlir::Type sum);

/// `element`, bf16, f16, f32 (of which the first eleven significant bits count) or 8-bit integers:
/// of the left operand, and of the right one unless `right` says another.
struct WgmmaInstruction {
  static constexpr unsigned bytes = 32; ///< of what is summed over

  mlir::Type element;
  unsigned columns;
  mlir::Type right = {};

  /// Whether operands of these types can be multiplied.
  static bool takes(mlir::Type left, mlir::Type right);
  mlir::Type sum() const; ///< f32 or i32

  /// sums + left * right over 32 bytes of what is summed over; `isFirst`: without the sums. Only
  /// operands of 16 bits may be other than by inner.
  mlir::Value multiply(mlir::ImplicitLocOpBuilder &b, mlir::Value sums, mlir::Value left,
                       mlir::Value right, bool rightByInner, bool isFirst,
                       bool leftByInner = true) const;
  /// The same with the left operand in registers: four words, of 16 bits of two neighbours, as two
  /// blocks of eight columns of sums lie, of 32 bits of lane 4 r + c rows r and r + 8 at k = c,
  /// then at c + 4. They must not change before the sums have been awaited.
  mlir::Value multiply(mlir::ImplicitLocOpBuilder &b, mlir::Value sums, mlir::ValueRange left,
                       mlir::Value right, bool rightByInner) const;
};

/// Registers that wgmma shall read have been written; before a chain of multiplications.
void beginChain(mlir::ImplicitLocOpBuilder &b);
void endChain(mlir::ImplicitLocOpBuilder &b);
/// Waits for all but the latest `pending` chains, and gives `sums` as they are then. `read`: words
/// that those chains read.
mlir::Value awaitChains(mlir::ImplicitLocOpBuilder &b, mlir::Value sums, unsigned pending,
                        mlir::ValueRange read = {});
/// The same where it is `read` alone that matters: the sums are not looked at yet.
void awaitReads(mlir::ImplicitLocOpBuilder &b, unsigned pending, mlir::ValueRange read);

/// Waits for the phase of a barrier that has `parity` to end.
void awaitBarrier(mlir::ImplicitLocOpBuilder &b, mlir::Value barrier, mlir::Value parity);
void arriveAtBarrier(mlir::ImplicitLocOpBuilder &b, mlir::Value barrier);
/// Arrives; the phase does not end before copies have brought `bytes` more.
void expectBytes(mlir::ImplicitLocOpBuilder &b, mlir::Value barrier, int64_t bytes);
void expectBytes(mlir::ImplicitLocOpBuilder &b, mlir::Value barrier, mlir::Value bytes);
/// Starts the copy of a box to shared memory. `place`: innermost axis first.
void copyBox(mlir::ImplicitLocOpBuilder &b, mlir::Value to, mlir::Value map, mlir::ValueRange place,
             mlir::Value barrier);
/// The thread's copies need a tensor map soon.
void prefetchMap(mlir::ImplicitLocOpBuilder &b, mlir::Value map);
/// copyBox of one tap of neighbouring windows: `taps` is how far it lies from their corners.
void copyWindow(mlir::ImplicitLocOpBuilder &b, mlir::Value to, mlir::Value map,
                mlir::ValueRange place, mlir::ValueRange taps, mlir::Value barrier);

/// `raw`, dynamic shared memory, from its first multiple of 1024 bytes on, where slices may begin.
struct SharedSlices {
  mlir::Value memory, address; ///< address: an i32

  static SharedSlices in(mlir::ImplicitLocOpBuilder &b, mlir::Value raw);
};
/// The thread's warp, an i32: the same number in all lanes, in a form that shows it.
mlir::Value uniformWarp(mlir::ImplicitLocOpBuilder &b, mlir::Value thread);

} // namespace tcc::codegen::device
