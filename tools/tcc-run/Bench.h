//===- Bench.h - Time per run -----------------------------------*- C++ -*-===//
#pragma once
#include "Model.h"

namespace tcc::run {

struct Timing {
  double medianMs, minMs, maxMs;
  size_t runs;
  double deviceMs = 0; ///< the median, of what the model's device took
};

/// Runs the model for about `seconds` after a short warm-up, at least three
/// times. Outputs are made by the model and freed after each run; freeing is not
/// timed. On a device inputs and outputs stay in its memory.
Timing bench(Model &model, const std::vector<DLTensor> &inputs, double seconds);

std::string timingJson(const Timing &timing, const Model &model);
std::string timingText(const Timing &timing, const Model &model);

/// Time per kernel over all runs so far, slowest first (Options::profile).
std::string profileText(const Model &model);

} // namespace tcc::run
