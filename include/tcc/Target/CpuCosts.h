//===- CpuCosts.h - How long a core takes for what --------------*- C++ -*-===//
//
// The constants of the time models of CPUs: which way to run a kernel is faster, and how long
// a kernel takes. They are measured, by scripts/fit-costs, which writes them to
// lib/Target/CpuCosts.inc, and not guessed.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>

namespace tcc {

/// What kernels do, in units of which a core does one after the other.
enum class CpuCost : uint8_t {
  Launch,       ///< of a kernel
  Task,         ///< start of a task
  NearByte,     ///< read or written, where all of a launch's bytes fit into L2
  SharedByte,   ///< where they fit into the cache that cores share
  FarByte,      ///< where they do not
  Simple,       ///< a vector of sums, products, comparisons and conversions
  Divide,       ///< of quotients and roots
  Function,     ///< of exp, tanh, erf and their like
  LongFunction, ///< of pow, lgamma and their like
  Element,      ///< an element that is taken, put or divided alone
  Product,      ///< a vector of multiply-adds in a register tile
  Packed,       ///< an operand's vector, copied for a register tile
  Ordered,      ///< an element at a step of sorting
  Factor,       ///< a vector of multiply-adds of matrix factors
  Fourier,      ///< a vector of complex numbers at a step of a Fourier transform
  Count
};

/// Nanoseconds of each, of one core.
struct CpuCosts {
  std::array<double, size_t(CpuCost::Count)> nanoseconds;
  double operator[](CpuCost cost) const { return nanoseconds[size_t(cost)]; }
};

/// "far_byte".
llvm::StringRef nameOf(CpuCost cost);

/// Those of the CPU that LLVM calls `name`, or of the one that was measured last.
const CpuCosts &costsOf(llvm::StringRef name);

} // namespace tcc
