//===- Cpu.h - What code generation knows of a CPU --------------*- C++ -*-===//
//
// One record describes the CPU that code is generated for. Schedules, layouts
// and builders read its fields and never ask which architecture it is, so a new
// instruction set is a new row of a table in lib/Target/Cpu.cpp, not a switch.
// Made once by the driver from --cpu and --target; part of every cache key.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace tcc {

/// How the target multiplies bytes into 32-bit sums, if it can.
enum class ByteDot : uint8_t {
  None,           ///< widen to 32 bits and multiply
  Pairs,          ///< widen to 16 bits; two products at a time (x86)
  UnsignedSigned, ///< u8 x s8, four at a time (AVX-512 VNNI, AVX-VNNI)
  Same,           ///< s8 x s8 or u8 x u8, four at a time (Arm dotprod)
};

struct CpuTarget {
  std::string triple;   ///< normalised LLVM triple
  std::string name;     ///< LLVM's name of the CPU ("znver4", "x86-64-v3", "generic")
  std::string features; ///< LLVM feature string on top of `name`, sorted

  /// The instruction sets that code for this CPU may use, "avx2,fma": what a model
  /// asks of the machine that opens it.
  std::string required;

  unsigned vectorBits = 128;     ///< widest vector register worth using
  unsigned vectorRegisters = 16; ///< architectural vector registers
  bool fma = false;              ///< a multiply-add is one instruction, f32 and f64
  bool maskedMemory = false;     ///< masked vector loads and stores cost as much as plain ones
  bool halfArithmetic = false;   ///< f16 vectors are computed with, not only converted
  bool halfConversion = false;   ///< f16 vectors convert to f32 in hardware
  bool bfloatDot = false;        ///< bf16 pairs multiply into f32 sums in hardware
  bool bfloatTiles = false;      ///< a matrix unit multiplies tiles of bf16 into f32 sums
  bool byteTiles = false;        ///< and of bytes, of either signedness, into i32 sums
  ByteDot byteDot = ByteDot::None;

  int64_t l1Bytes = 32 << 10; ///< data cache of a core
  int64_t l2Bytes = 512 << 10;
  int64_t l3Bytes = 2 << 20;    ///< one core's share of the last level
  int64_t lastBytes = 32 << 20; ///< all of the last level that cores share
  int64_t lineBytes = 64;

  /// Elements of `bits` bits in one vector register.
  unsigned lanes(unsigned bits) const { return vectorBits / bits; }

  /// The fields that generated code depends on, as one line, for cache keys.
  std::string key() const;

  /// `cpu` is "" (the triple's default), "native", "v2".."v4", "x86-64-v2".. or
  /// any name LLVM knows for the triple; `triple` "" is the host's, and a short
  /// form such as "aarch64-linux" is completed. A name that LLVM does not know is
  /// the user's error and the message lists some that it knows.
  static llvm::Expected<CpuTarget> create(llvm::StringRef cpu = "", llvm::StringRef triple = "");
};

} // namespace tcc
