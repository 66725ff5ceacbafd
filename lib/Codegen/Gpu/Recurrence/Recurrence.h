//===- Recurrence.h - A loop of a recurrent layer in one kernel --*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Which loops a kernel takes as a whole, and how a block does so:
// decided once here, read by the pass that makes launches of them, the schedule and the code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include "../ScheduleChoice.h"

namespace tcc::codegen::device {

/// A loop over turns whose carried values are a counter, states of [batch, units], and tensors of
/// which each turn writes one place along an axis. What becomes of a state in a turn is computed
/// for each row of the batch alone: products of it by matrices that stay the same, and what is
/// computed element by element.
struct Recurrence {
  /// Products of one left operand, side by side.
  struct Phase {
    mlir::Value left;
    llvm::SmallVector<prim::DotOp, 2> products;
    int64_t columns = 0, inner = 0; ///< of all products; what is summed

    /// Where the columns of a product begin.
    int64_t offsetOf(prim::DotOp product) const;
    mlir::Type element() const; ///< of the matrices
  };
  /// A tensor that is written turn by turn.
  struct Sequence {
    unsigned number; ///< of the carried value
    prim::InsertSliceOp part;
    unsigned axis;   ///< of the turns
    mlir::Value row; ///< [batch, units]: what a turn writes
  };

  prim::WhileOp loop;
  unsigned counter = 0;
  int64_t turns = 0, batch = 0;
  llvm::SmallVector<unsigned> states; ///< numbers of carried values
  llvm::SmallVector<Sequence> sequences;
  llvm::SmallVector<Phase> phases; ///< in the order in which they can be computed
  /// The units of all states, outputs and gates, where an element of a turn is computed from those
  /// of its own unit and from products of all; else 0.
  int64_t commonUnits = 0;

  /// Null unless `loop` is one, of primitives alone.
  static std::optional<Recurrence> of(prim::WhileOp loop);

  mlir::Block &body() const { return prim::WhileOp(loop).getBody().front(); }
  mlir::Value stateIn(unsigned number) const { return body().getArgument(number); }
  mlir::Value stateOut(unsigned number) const { return body().getTerminator()->getOperand(number); }
  int64_t units(unsigned number) const;
};

/// How `split` blocks take `rows` rows of the batch through all turns, each some of the units:
/// each column of a phase is `lanes` threads', whose weights are `kept` chunks of four in
/// registers, then `near` ones in shared memory, and the rest, if there is no room for it, read in
/// every turn.
struct RecurrencePlan {
  static constexpr unsigned chunk = 4; ///< elements of k that a lane reads at once

  unsigned threads = 0, rows = 1, split = 1;
  int64_t allUnits = 0, units = 0; ///< of all blocks and of one, where several share them
  unsigned keptWords = 0;          ///< of weights that a thread may have in registers
  int64_t sharedBytes = 0;
  struct Part {
    unsigned lanes, chunks, kept, near; ///< of a thread
    unsigned width;                     ///< elements of the left operand, with zeros behind
  };
  llvm::SmallVector<Part> parts; ///< of each phase

  /// How many of `columns` are a block's.
  int64_t own(int64_t columns) const { return split == 1 ? columns : columns / allUnits * units; }
  /// With so many bytes of shared memory at most. Null where a block has too few threads.
  static std::optional<RecurrencePlan> of(const Recurrence &r, unsigned rows, unsigned keptWords,
                                          unsigned split, int64_t room);
  /// With as few rows as there are multiprocessors for, and as many blocks as take least time; null
  /// where the matrices do not fit so many as a cluster may have.
  static std::optional<RecurrencePlan> of(const Recurrence &r, const GpuArch &arch);
  /// For GPUs that have no room for clusters of so many blocks as `this` takes; null where all
  /// have. It takes no more blocks, and may be slow.
  std::optional<RecurrencePlan> narrow(const Recurrence &r, const GpuArch &arch) const;

private:
  /// `far`: weights may be read in every turn.
  static std::optional<RecurrencePlan> of(const Recurrence &r, unsigned rows, unsigned split,
                                          const GpuArch &arch, bool far);
  int64_t farChunks() const;
  double turnCycles(const Recurrence &r) const;
};

/// The loop of a launch that is one; null: it is none.
prim::WhileOp loopOf(kernel::LaunchOp launch);
void scheduleRecurrence(ScheduleChoice &choice, kernel::LaunchOp launch, const GpuArch &arch);
/// Line: the kernel of such a launch.
void emitRecurrenceKernel(KernelFrame &f);

} // namespace tcc::codegen::device
