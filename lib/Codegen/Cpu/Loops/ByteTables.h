//===- ByteTables.h - Functions of a byte are read from tables ---*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

/// What the kernel computes of one byte by operators that take long becomes an element of a table,
/// where a vector's lanes are few.
void readBytesFromTables(KernelFrame &frame);

} // namespace tcc::codegen
