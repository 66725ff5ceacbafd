//===- SortedScatter.h - Updates in the order of their places ----*- C++ -*-===//
//
// Internal to SortedScatter.cpp, which brings the updates in order, SortedRows.cpp, which does
// them, and FixedPointScatter.cpp, TouchedRows.cpp, OwnedRows.cpp and CountedScatter.cpp, which
// need no such order.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "ScatterKernel.h"
#include "tcc/Codegen/Common/LineKernel.h"

namespace tcc::codegen::device {

/// What a scatter keeps in scratch memory: bytes before it, behind the counters.
struct ScatterScratch {
  int64_t firsts, ends, sums, largest, bytes;
  /// `parts` of the updates of a slot are summed apart, `bytes` for what a thread has of it.
  static ScatterScratch of(const UpdateList &list, int64_t parts, int64_t groups, int64_t bytes);
};

/// The way to do few updates of rows in one phase; false, with nothing chosen, where another is
/// better. `lanes`: neighbours of a row that one thread has.
bool scheduleTouchedRows(ScheduleChoice &choice, kernel::LaunchOp launch, const UpdateList &list,
                         unsigned lanes, const GpuArch &arch);

/// The way to do updates of rows of which each block finds its own; false, with nothing chosen,
/// where another is better.
bool scheduleOwnedRows(ScheduleChoice &choice, kernel::LaunchOp launch, const UpdateList &list,
                       unsigned lanes, const GpuArch &arch);

/// The way to add whole numbers to few elements in shared memory; false, with nothing chosen, where
/// another is better.
bool scheduleCountedScatter(ScheduleChoice &choice, kernel::LaunchOp launch, const UpdateList &list,
                            const GpuArch &arch);

class SortedScatter {
public:
  SortedScatter(KernelFrame &f, mlir::Operation *op);
  void run();

private:
  // The updates
  /// Where point `point` of an update, or of a slot, lies.
  Coords source(mlir::Value update, mlir::Value point);
  Coords target(mlir::Value slot, mlir::Value point);
  Coords others(mlir::Value point);
  Coords lineAt(mlir::Value line, mlir::Value place);
  mlir::Value slotOf(mlir::Value update);
  mlir::Value slotIndexOf(mlir::Value update);
  mlir::Value firstAt(mlir::Value slot);
  mlir::Value endAt(mlir::Value slot);
  /// body(i) for each of `count` things, of which the threads of a block have a part.
  void forParts(mlir::Value item, int64_t items, mlir::Value count,
                llvm::function_ref<void(mlir::Value)> body);
  void forParts(mlir::Value item, int64_t items, int64_t count,
                llvm::function_ref<void(mlir::Value)> body) {
    forParts(item, items, f.e.index(count), body);
  }
  /// Of the list, whatever is known of it.
  mlir::Value updateCount();
  mlir::Value slotCount();
  mlir::Value pointCount();
  /// Items of a phase that blocks share `count` threads' work in.
  int64_t sharedItems(int64_t count) const;
  void clearFirsts(mlir::Value item, int64_t items);
  void noteFirsts(mlir::Value chunk);
  void noteLast(mlir::Value update);
  void runLast();
  void copyElements(mlir::Value item, int64_t items);
  void updateElement(mlir::Value update, mlir::Value point);
  void runInAnyOrder();
  void runOpen();

  // Sums in fixed point
  struct Update {
    mlir::Value element, inside, v; ///< the number of what it goes to, valid where it is inside
  };
  mlir::Value largestAt(mlir::Value element);
  mlir::Value fixedSumAt(mlir::Value element, mlir::Value copy, unsigned window);
  llvm::SmallVector<Update> updatesFrom(mlir::Value first);
  void forUpdates(mlir::Value item, int64_t items, llvm::function_ref<void(const Update &)> body);
  void clearFixedSums(mlir::Value item, int64_t items);
  void survey(mlir::Value item, int64_t items);
  mlir::Value readSurvey();
  void noteLargest(const Update &update);
  llvm::SmallVector<mlir::Value> inFixedPoint(mlir::Value v, mlir::Value exponent,
                                              unsigned windows);
  mlir::Value countOfInfinity(mlir::Value v);
  unsigned windowsOf(bool allDigits) const;
  /// `allDigits`: sums hold those of all updates, of which the units are the same everywhere.
  void addInFixedPoint(const Update &update, bool allDigits);
  mlir::Value withFixedSums(mlir::Value old, llvm::SmallVector<mlir::Value> sums,
                            mlir::Value exponent);
  mlir::Value ofInfinities(mlir::Value counts, mlir::Value rank);
  void writeFixedSum(mlir::Value element, bool allDigits);
  void runInFixedPoint();

  // Whole numbers (CountedScatter.cpp)
  mlir::Value countAt(mlir::Value element, bool upper);
  void count(const Update &update);
  mlir::Value counted(mlir::Value element, mlir::Type type);
  void runCounted();

  // Rows
  /// Whether there are updates at `to`, of rows: the indices may be fewer along the other axes.
  mlir::Value hasUpdates(llvm::ArrayRef<Coord> to);
  /// Plus one, the first update of a slot; 0 where it has none, or none at `to`.
  mlir::Value firstOf(mlir::Value slot, llvm::ArrayRef<Coord> to);
  /// `at`, or where neighbours of it along the last axis lie.
  Coords neighbours(Coords at);
  /// body(row, point) for a thread's part of an item of `count` rows, which begins at `point` of
  /// one.
  void forRow(mlir::Value item, int64_t count,
              llvm::function_ref<void(mlir::Value, mlir::Value)> body);
  void updateRow(mlir::Value slot, mlir::Value point);
  // Of few updates
  void copyAll(mlir::Value item);
  void updateTouched(mlir::Value number, mlir::Value point);
  static constexpr int64_t kElements = 4; ///< of a thread, at a time
  void updateElements(mlir::Value item);
  void writeRow(const Coords &to, mlir::Value slot, mlir::Value point, mlir::Value first);
  void writeLast(const Coords &to, mlir::Value point, mlir::Value first);
  mlir::Value withUpdates(mlir::Value slot, mlir::Value point, mlir::Value first, mlir::Value end,
                          mlir::Value old);
  mlir::Value placeOf(mlir::Value number);
  mlir::Value read(mlir::Value from, Coords at);

  // The same without an order (TouchedRows.cpp)
  std::pair<mlir::Value, mlir::Value> bitOf(mlir::Value slot, bool again);
  mlir::Value notedSlot(mlir::Value update);
  mlir::Value hasBit(mlir::Value slot, bool again);
  mlir::Value slotAt(llvm::ArrayRef<Coord> at);
  mlir::Value oldAt(const Coords &to);
  void noteTouched();
  void updateAlone();
  mlir::Value votes(mlir::Value begin, mlir::Value first, mlir::Value end, mlir::Value slot);
  mlir::Value anyIn(mlir::Value first, mlir::Value end, mlir::Value slot);
  mlir::Value withAll(mlir::Value slot, mlir::Value point, mlir::Value first, mlir::Value old);
  void updateTogether();
  void copyUntouched();
  void runTouched();

  // Each block finds its own (OwnedRows.cpp)
  mlir::Value ownedAt(int64_t before, mlir::Value number);
  mlir::Value noteOwn(mlir::Value warp, mlir::Value lane);
  mlir::Value gatherOwn(mlir::Value warp, mlir::Value lane, mlir::Value count);
  mlir::Value placeOwn(mlir::Value row, mlir::Value lane, mlir::Value count, mlir::Value all);
  mlir::Value withOwn(mlir::Value start, mlir::Value count, mlir::Value point, mlir::Value old);
  void runOwned();

  // Parts of a row's updates
  unsigned parts() const { return f.schedule.getVectors(); }
  /// Where part `part` of the updates from number `first` - 1 on begins and ends.
  std::pair<mlir::Value, mlir::Value> partOf(mlir::Value slot, mlir::Value first, mlir::Value part);
  mlir::Value sumAt(mlir::Value slot, mlir::Value point, mlir::Value part, mlir::Type type);
  /// Of sums: scratch memory is aligned to what a thread accesses at once.
  unsigned sumAlignment() const { return std::min<int64_t>(groupBytes, GpuArch::accessBytes); }
  void sumPart(mlir::Value item);
  mlir::Value withSums(mlir::Value slot, mlir::Value point, mlir::Value first, mlir::Value old);

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  prim::ScatterAlongOp along;
  prim::ScatterNdOp tuples;
  prim::ScatterKind kind;
  UpdateList list;
  mlir::Value x, indices, updates;
  llvm::SmallVector<mlir::Value> extents; ///< of the result
  unsigned depth = 0;                     ///< tuples: axes that are indexed
  bool rows = false;                      ///< along: updates are rows
  int64_t items = 0;                      ///< of all rows
  int64_t groupBytes = 0;                 ///< of what a thread has of a row, as it is computed with
  ScatterScratch scratch;
  std::optional<GridSort> sort;
  llvm::SmallVector<mlir::Value, 2>
      surveyed;        ///< in fixed point: the largest exponent, and the least
  mlir::Value top;     ///< the exponent of the largest
  mlir::Value touched; ///< shared memory: which rows have updates, then which have several; or a
                       ///< block's own; or its sums
};

} // namespace tcc::codegen::device
