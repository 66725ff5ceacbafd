//===- Images.h - Device code as data of an object --------------*- C++ -*-===//
#pragma once
#include "tcc/Target/Cpu.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tcc::emit {

/// What a GPU's driver loads.
struct Image {
  std::string symbol;
  llvm::ArrayRef<char> bytes;
  bool isText = false; ///< the driver wants a zero after it
};

/// A relocatable object for the host with each image under its symbol.
llvm::Expected<llvm::SmallVector<char, 0>> emitImages(const std::vector<Image> &images,
                                                      const CpuTarget &cpu);

} // namespace tcc::emit
