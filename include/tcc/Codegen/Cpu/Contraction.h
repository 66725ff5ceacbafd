//===- Contraction.h - Matrix products on the CPU ---------------*- C++ -*-===//
//
// Emits C[m, n] = sum over k of A[m, k] * B[k, n] as tasks that the runtime may run
// in any order and in parallel: GEMM, GEMV, batched products (the caller gives the
// base pointers of a batch entry) and 1x1 convolutions. The result never exists in
// memory as such: every vector of it is handed to an epilogue, which applies bias,
// activation, residual and whatever else was fused, and stores.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Cpu/RegisterTile.h"
#include "tcc/Codegen/Cpu/Schedule.h"

namespace tcc::codegen {

struct ContractionSpec {
  CpuTarget cpu;
  ContractionSchedule schedule;
  Index m, n, k;
  mlir::Type acc;

  mlir::Type aElement;
  bool aUnsigned = false;
  mlir::Value a;
  Index aRowStride, aKStride; ///< elements; a transposed A has aRowStride 1

  mlir::Type bElement;
  bool bUnsigned = false;
  mlir::Value b;
  PanelLayout bLayout = PanelLayout::Packed;
  std::optional<int64_t> panelWidth = {}; ///< of a packed B, if known
  Index bStride;                          ///< elements between rows of RowMajor or Transposed
  /// Of a packed B of integers that have a scale a group: `b` points to words, which are widened to
  /// `bElement`. Blocks of k are whole groups.
  std::optional<GroupedShape> integers = {};

  /// With steps of several elements, `k` counts steps: A's elements are
  /// neighbours along k, of which there are kElements; B is packed, here or before.
  DotSteps steps = {};
  Index kElements;

  /// Independent products with packed B of n columns each, columns side by side in C:
  /// grouped convolutions. Group g reads A from column g * k on. Known n only, and A in
  /// place.
  int64_t groups = 1;

  /// What the epilogue counts rows from, where a product is a part of something; null: 0.
  Index firstRow = {};
};

/// Register tiles along m in a task: `most`, or, where a run alone knows how many there are
/// (`least` is given), as many as give threads a few tasks; `taskColumns` lie beside each other.
Index taskTiles(KernelBuilder &k, int64_t most, std::optional<int64_t> least, Index tiles,
                Index taskColumns);

/// A result of which neighbouring rows are neighbours in memory and columns are not: a
/// convolution that is stored channels first. Writing it a vector of columns at a time would
/// touch as many lines of the cache as that has lanes.
struct TurnedResult {
  mlir::Type element; ///< as stored
  /// What is to be stored for row `m` and the columns from `n` on, `acc`'s lanes of them.
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value m, mlir::Value n,
                                 mlir::Value acc, Index valid)>
      value;
  /// Where row `m` of column `n` lies.
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value m, mlir::Value n)>
      address;
  Index columnStride; ///< elements from column to column
  Index run;          ///< rows [i * run, (i + 1) * run) lie one after the other
};

/// A result whose lines come from beyond L2: tiles fetch those that their sums go to.
struct FarResult {
  int64_t bytes = 0; ///< of an element
  /// Where row `m` of column `n` lies.
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value m, mlir::Value n)>
      address;
};

/// Called for row `m`, columns `n .. n + lanes`, of which the first `valid` exist
/// (all of them except at the right edge). It must not touch the others.
struct EpilogueFn {
  using Store = llvm::function_ref<void(mlir::OpBuilder &, mlir::Location, mlir::Value m,
                                        mlir::Value n, mlir::Value acc, Index valid)>;
  EpilogueFn() = default;
  template <typename F, std::enable_if_t<!std::is_same_v<std::decay_t<F>, EpilogueFn>, int> = 0>
  EpilogueFn(F &&store, const TurnedResult *turned = nullptr, const FarResult *far = nullptr)
      : store(store), turned(turned), far(far) {}
  void operator()(mlir::OpBuilder &b, mlir::Location loc, mlir::Value m, mlir::Value n,
                  mlir::Value acc, Index valid) const {
    store(b, loc, m, n, acc, valid);
  }

  Store store;
  const TurnedResult *turned = nullptr; ///< the same in two steps, where that is faster
  const FarResult *far = nullptr;       ///< if the result is one
};

/// Tasks of one product: its schedule's sizes, and the extents of the run.
Index emitContractionTaskCount(mlir::OpBuilder &builder, mlir::Location loc,
                               const ContractionSpec &spec);

/// One task; `task` is in [0, task count).
void emitContractionTask(mlir::OpBuilder &builder, mlir::Location loc, const ContractionSpec &spec,
                         mlir::Value task, EpilogueFn epilogue);

/// Tasks [begin, end) of one product.
void emitContractionTasks(mlir::OpBuilder &builder, mlir::Location loc, const ContractionSpec &spec,
                          mlir::Value begin, mlir::Value end, EpilogueFn epilogue);

} // namespace tcc::codegen
