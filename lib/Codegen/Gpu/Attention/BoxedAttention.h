//===- BoxedAttention.h - Attention for wgmma -------------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. Which launches the template of WgmmaAttention.cpp takes, how their
// operands lie and how a block's shared memory is cut: decided once here, read by the schedule,
// the tensor maps and the code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Products/BoxOperand.h"
#include "tcc/Analysis/AttentionForm.h"
#include "tcc/Codegen/Common/KeyRange.h"

namespace tcc::codegen::device {

/// Attention whose operands come in boxes. Of several axes of rows (heads that share keys), tiles
/// lie along the longest, or the open one.
struct BoxedAttention {
  AttentionForm form;
  KeyMask mask;
  /// Hide keys beside the bounds, from all rows of a batch alike.
  llvm::SmallVector<KeyCondition> conditions;
  mlir::Value core; ///< where keys are seen, the score is `scale` > 0 times it
  double scale;
  BoxOperand queries, keys, values;
  unsigned batchAxes, rowAxes, tiledAxis;                   ///< tiledAxis: of the axes of rows
  int64_t batches, otherRows, rows, keyCount, depth, width; ///< rows: along the tiled axis
  bool keysByInner, valuesByInner; ///< what is summed over lies side by side

  static constexpr unsigned tensorMaps = 3;
  /// Lengths that only a run knows; batches may be so as well, and are -1 as these then.
  bool isOpen() const { return rows < 0 || keyCount < 0; }
  /// Whether more is done to the products than the factor says.
  bool isEvaluated() const { return core != prim::DotOp(form.scores).getResult(); }
};

/// Null unless the template takes the launch: operands of one 16-bit float type, which the weights
/// are rounded to; head sizes known, multiples of 8; of several axes of rows one open at most.
std::optional<BoxedAttention> boxedAttention(kernel::LaunchOp launch);

/// A block's queries, the keys that it looks at together, and where they lie in shared memory.
struct BoxedAttentionTile {
  static constexpr unsigned groupRows = 64; ///< of a warp group that multiplies
  static constexpr unsigned stages = 2;     ///< of keys and of values
  static constexpr unsigned barriers = 6 * stages;

  unsigned rows, keys;
  unsigned queryStages;                      ///< tiles of queries on their way: 1 or 2
  unsigned consumers;                        ///< warp groups that multiply
  unsigned queryBytes, keyBytes, valueBytes; ///< of a stage

  BoxedAttentionTile(const BoxedAttention &a, unsigned rows, unsigned keys, unsigned queryStages,
                     unsigned consumers);
  /// The one that a schedule names.
  static BoxedAttentionTile of(Schedule schedule, const BoxedAttention &a);

  /// Parts of a tile, one for each warp group, or in turns.
  unsigned parts() const { return rows / groupRows; }
  /// Whether warp groups take the parts of all tiles one after the other. Keys are one turn then.
  bool inTurns() const { return parts() > consumers; }
  unsigned threads() const { return 128 * (consumers + 1); }
  unsigned keyOffset() const { return queryStages * queryBytes; }
  unsigned valueOffset() const { return keyOffset() + stages * keyBytes; }
  unsigned barrierOffset() const { return valueOffset() + stages * valueBytes; }
  /// With room to begin at a multiple of 1024.
  unsigned sharedBytes() const { return barrierOffset() + 8 * barriers + 1024; }
  /// Values of 32 bits that a thread holds at once: scores, weights and results, and what scores
  /// are evaluated from. Of one turn, weights are made of the scores before there are results.
  unsigned held(const BoxedAttention &a) const {
    if (inTurns())
      return std::max<unsigned>(keys / 2, keys / 4 + a.width / 2) + (a.isEvaluated() ? keys : 0);
    return keys / 2 + keys / 4 + a.width / 2 + (a.isEvaluated() ? keys : 0);
  }
  /// Blocks that share a multiprocessor: while one begins or ends, others multiply.
  unsigned resident(const BoxedAttention &a) const;
  /// Registers of a thread that multiplies, if so many do: those that fetch give theirs away.
  unsigned registers(unsigned resident) const;
  static constexpr unsigned fetchRegisters = 24, otherRegisters = 32; ///< other: than what is held
};

} // namespace tcc::codegen::device
