//===- LayoutAssign.h - Channels last and packed weights ---------*- C++ -*-===//
//
// The layout phase. After it convolutions are channels-last, the transposes that
// this needs have met and vanished wherever they could, and the weights of
// contractions lie in the order that kernels read.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tcc/Target/Cpu.h"

namespace tcc {
class WeightTable;

/// tcc-layout-channels-last: see lib/LayoutAssign/ChannelsLast.cpp.
std::unique_ptr<mlir::Pass> createChannelsLastPass();

/// tcc-layout-pack-weights: see lib/LayoutAssign/PackWeights.cpp. `weights` and
/// `cpu` outlive the pass.
std::unique_ptr<mlir::Pass> createPackWeightsPass(WeightTable *weights, const CpuTarget *cpu);

} // namespace tcc
