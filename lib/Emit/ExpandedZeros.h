//===- ExpandedZeros.h - Shuffles that LLVM would expand ---------*- C++ -*-===//
//
// Internal to lib/Emit. What moves the lanes of a vector up and has zeros before or between them is
// an instruction of AVX-512's to LLVM, vexpand, which a Zen 5 starts every ten cycles and an Intel
// every two. With a zero whose value is not known it is a valign or a permutation.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tcc::emit {

/// Hides the zeros of such shuffles, where the target has the instruction.
void hideExpandedZeros(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace tcc::emit
