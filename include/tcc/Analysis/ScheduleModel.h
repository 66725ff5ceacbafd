//===- ScheduleModel.h - What a target proposes for a launch ----*- C++ -*-===//
//
// The seam between the schedule phase and targets. The phase asks the model of the target
// for ways to run each launch and records one of them on the launch; whatever follows
// reads it there. A target's model lies beside its code generation, since both know the
// same templates.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"

namespace tcc {
struct AttentionForm;

class ScheduleModel {
public:
  virtual ~ScheduleModel() = default;

  /// Adds the dialects whose attributes `candidates` are.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;

  /// How many of the candidates somebody looks at.
  enum class Asked { Best, All };

  /// Ways to run `launch`, the one that should be fastest first; with Best maybe that alone,
  /// with All those too that only measuring can weigh. They depend on the launch and the
  /// target alone. None where the target has no template for it.
  virtual llvm::SmallVector<kernel::Schedule> candidates(kernel::LaunchOp launch,
                                                         Asked asked) const = 0;

  /// Gives a launch that has no schedule yet the shape in which the target's kernels take it: what
  /// it reads and gives is reshaped around it.
  virtual void reshape(kernel::LaunchOp) const {}

  /// Whether the target has a kernel for this attention that is faster than one for each of its
  /// products and one for the softmax. Fusion asks before there is a launch.
  virtual bool prefersAttention(const AttentionForm &) const { return false; }

  /// Whether such a kernel should compute its queries from what they are made of, point by point,
  /// where that is cheap, instead of reading them from memory.
  virtual bool computesQueries(const AttentionForm &) const { return false; }

  /// Whether such a kernel reads so many parts of keys and values where they lie, instead of what
  /// they are joined to.
  virtual bool readsParts(const AttentionForm &, unsigned) const { return false; }

  /// Whether the target has a kernel for two contractions that one result is computed from, faster
  /// than one for each. Fusion asks before there is a launch.
  virtual bool prefersTogether(mlir::Operation *, mlir::Operation *) const { return false; }

  /// What a run of a scheduled launch does, and how many nanoseconds one core, or a device, takes
  /// for that in all: "far_byte", 4096, 150. Empty where the target has no such model.
  struct TimePart {
    llvm::StringRef what;
    double count, nanoseconds;
  };
  virtual llvm::SmallVector<TimePart> timeParts(kernel::LaunchOp) const { return {}; }

  /// What it takes, of a target whose memory is not the host's, until the host has what was
  /// computed there, to send it something, and for each byte of either; in nanoseconds.
  struct CrossingTimes {
    double wait, send, byte;
  };
  virtual std::optional<CrossingTimes> crossingTimes() const { return std::nullopt; }

  /// Whether a loop over `rows` rows of `length` points should compute `op`, which has one value
  /// all along a row, for each row, instead of reading what a kernel before it computes. Fusion
  /// asks before there is a launch.
  virtual bool computesForRows(mlir::Operation *, int64_t rows, int64_t length) const {
    return true;
  }

  /// Points of a loop up to which computing again at each what many have in common takes less than
  /// another launch. Fusion asks before there is a launch.
  virtual int64_t fewPoints() const { return 0; }

  /// Whether the target's kernel of rows does this reduction, of axes before a few last ones that
  /// stay. Fusion asks before there is a launch.
  virtual bool reducesAboveLines(mlir::Operation *) const { return false; }

  /// Whether the target's kernel of a product should add to it what is added, where a reduction of
  /// the sum's rows could as well and others read the sum too. Fusion asks before there is a
  /// launch.
  virtual bool addsToProduct(mlir::Operation *) const { return false; }

  /// Whether the target's kernel of a product or convolution may store what it computes transposed,
  /// as elements of this type, or else something other than that kernel transposes it. Fusion asks
  /// before there is a launch.
  virtual bool storesTransposed(mlir::Operation *, mlir::Type) const { return true; }
  /// Whether rows of what is transposed are read from a copy, because lanes would gather them.
  virtual bool copiesTurnedRows() const { return false; }

  /// Whether the target's kernel of an operator that changes some elements of its first operand
  /// makes that itself where it is one number everywhere. Fusion asks before there is a launch.
  virtual bool fillsFirst(mlir::Operation *) const { return false; }

  /// Whether the target's kernel of an operator with an algorithm of its own asks for its operands
  /// point by point, so that they need not lie in memory, and stores two results as the parts of
  /// one that a concatenation makes of them. Fusion asks before there is a launch.
  virtual bool asksForPoints(mlir::Operation *) const { return false; }

  /// Of such an operator: whether its kernel should compute what `operand` gives, which it asks for
  /// or which that is computed from.
  virtual bool computesForPoints(mlir::Operation *, mlir::Operation *operand) const { return true; }

  /// Whether such a kernel also stores the parts of one result transposed, or the first of each
  /// line alone.
  virtual bool turnsParts() const { return true; }

  /// Whether the kernel of a scheduled launch may store its result twice, where another launch
  /// would copy it.
  virtual bool storesTwice(kernel::LaunchOp) const { return false; }

  /// Changes with what the candidates are and mean: tuning records of another version do
  /// not count.
  virtual int64_t version() const = 0;
};

} // namespace tcc
