//===- Target.h - What a model is compiled for ------------------*- C++ -*-===//
//
// One description for all that a model runs on: the machine whose CPU runs the host program,
// and the GPUs beside it, if there are any. The driver makes it once from --target, --cpu and
// --arch; whoever asks about hardware is given it, or the half that it needs.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Target/Cpu.h"
#include "tcc/Target/Gpu.h"

namespace tcc {

struct Target {
  CpuTarget host;
  GpuTarget devices;
};

} // namespace tcc
