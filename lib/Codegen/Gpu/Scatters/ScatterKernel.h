//===- ScatterKernel.h - What templates of scatters share --------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Order/GridSort.h"
#include "../ScheduleChoice.h"

namespace tcc::codegen::device {

/// Whether an index that was read lies in [0, extent), and the index, valid only then.
std::pair<mlir::Value, mlir::Value> checkedIndex(KernelFrame &f, mlir::Value read,
                                                 mlir::Value extent);
/// An element, or a vector of them, after an update of it.
mlir::Value updatedElement(KernelFrame &f, prim::ScatterKind kind, mlir::Value old,
                           mlir::Value update);
/// Whether the result lies elsewhere than `source` (Analysis/InPlace.h); null: it does.
mlir::Value liesElsewhere(KernelFrame &f, mlir::Value source);
/// Whether an index does not depend on the line.
bool sameForAllLines(prim::ScatterAlongOp op);

/// A scatter as a list of updates of rows: each goes to one of `slots`, and has `points` of its
/// own. Updates of rows share an index; of others each point is an update.
struct UpdateList {
  int64_t updates, slots, points;
  int64_t meeting; ///< the most updates that an element can have
  /// Lines of `meeting` updates, each of which a block brings in order by `places` along the line;
  /// 1: all updates are brought in order by their slots.
  int64_t lines = 1, places = 0;
  bool last = false;         ///< only the last update of a slot counts
  bool anyOrder = false;     ///< what becomes of an element does not depend on it
  bool inFixedPoint = false; ///< sums are those of integers, which do not either
  bool few = false;          ///< in order, and no more of them than slots
  bool open = false;         ///< in any order, and extents are not known: the numbers above neither
  unsigned windows = 2;      ///< in fixed point: sums of an element, one below the other

  /// Null where nothing is updated, or extents are not known and the order shows.
  static std::optional<UpdateList> of(mlir::Operation *op);
  GridSortSizes sort() const;
  /// In fixed point: of each sum, in scratch memory, so that few of them are not in everybody's
  /// way.
  int64_t copies() const;
};

/// Whether each update of rows has all of its row.
bool coversRows(prim::ScatterAlongOp op);
/// The way to run a scatter by the list of its updates, in the order of what they go to; false,
/// with nothing chosen, where it should rather go over all updates in each part of the result.
bool scheduleSortedScatter(ScheduleChoice &choice, kernel::LaunchOp launch, const GpuArch &arch);
/// Where all updates are gone over: parts of the axis of few lines, a warp each.
unsigned partsOfScatter(prim::ScatterAlongOp op, const GpuArch &arch);
void emitSortedScatter(KernelFrame &f);
/// The way to run a scatter along lines that have indices of their own, a block a line; false, with
/// nothing chosen, where another is better.
bool scheduleLineScatter(ScheduleChoice &choice, mlir::Operation *op, const GpuArch &arch);
void emitLineScatter(KernelFrame &f);
/// The way to run a scatter of what replaces what was there by tiles of the result; false, with
/// nothing chosen, where another is better.
bool scheduleNotedScatter(ScheduleChoice &choice, mlir::Operation *op, const GpuArch &arch);
int64_t notedScatterTiles(prim::ScatterAlongOp op, Schedule schedule);
void emitNotedScatter(KernelFrame &f);
/// Rows that are updated by runs.
void scheduleRunScatter(ScheduleChoice &choice, kernel::LaunchOp launch, const GpuArch &arch);
void emitRunScatter(KernelFrame &f);
/// Its items: rows and columns of the result that a block has at once.
int64_t sortedScatterItems(const UpdateList &list, Schedule schedule);

} // namespace tcc::codegen::device
