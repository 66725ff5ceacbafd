//===- NarrowMoves.h - Narrow floats that are moved, as integers -*- C++ -*-===//
//
// Internal to lib/Emit. An x86 that has no registers of bf16 or f16 keeps such a number as f32 from
// one block to the next, and where one of two is chosen: what a loop stores that was loaded before
// it is narrowed again for every store, of bf16 by a call. As integers of 16 bits they stay what
// they are, signalling NaNs too.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tcc::emit {

/// Makes integers of narrow floats that are chosen, or used in another block than they come from.
void moveNarrowFloats(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace tcc::emit
