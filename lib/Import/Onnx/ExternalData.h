//===- ExternalData.h - Tensor data beside the model ------------*- C++ -*-===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <memory>
#include <optional>

namespace tcc::onnximport {

/// The files that a model's tensors lie in, each mapped once. A location is
/// relative to the model's folder and must stay in it, links resolved: a model
/// from elsewhere must not be able to read the user's other files.
class ExternalData {
public:
  ExternalData(llvm::StringRef modelPath, std::function<void(llvm::StringRef)> fileRead);

  struct Slice {
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
  };
  /// The bytes [offset, offset + length) of `location`; up to its end without
  /// `length`. The errors name the location but not the tensor.
  llvm::Expected<Slice> map(llvm::StringRef location, uint64_t offset,
                            std::optional<uint64_t> length);

private:
  llvm::Expected<std::shared_ptr<const llvm::MemoryBuffer>> open(llvm::StringRef location);

  std::string folder;
  std::function<void(llvm::StringRef)> fileRead;
  llvm::StringMap<std::shared_ptr<const llvm::MemoryBuffer>> files;
};

} // namespace tcc::onnximport
