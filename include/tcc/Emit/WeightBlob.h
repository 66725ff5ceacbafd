//===- WeightBlob.h - Where a model's weights lie ---------------*- C++ -*-===//
//
// All weights of a model form one blob: every tensor at a multiple of 64 bytes,
// in the order they were added. Generated code addresses them as base + offset
// and does not know whether the blob is a section of model.so or a part of the
// mapped safetensors file beside it; both hold the same bytes. The bytes go
// from their owner to the file in parts, and are never gathered in memory.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Support/WeightTable.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/TargetParser/Triple.h"
#include <functional>
#include <string>
#include <vector>

namespace tcc::emit {

struct WeightEntry {
  std::string name;
  DType dtype;
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t offset, size; ///< in bytes, in the blob
  uint64_t grain = 1;    ///< parts that are read begin and end at multiples of it
  WeightRole role = WeightRole::Constant;
};

/// Names, places and sizes. Names are unique (as in a WeightTable).
class WeightLayout {
public:
  static constexpr uint64_t alignment = 64;

  /// Returns the offset in the blob. `size` is storageBytes of the shape, or
  /// another number for packed data.
  uint64_t add(llvm::StringRef name, DType dtype, llvm::ArrayRef<int64_t> shape, uint64_t size,
               uint64_t grain = 1, WeightRole role = WeightRole::Constant);
  llvm::ArrayRef<WeightEntry> entries() const { return all; }
  uint64_t size() const { return end; }

private:
  std::vector<WeightEntry> all;
  uint64_t end = 0;
};

struct WeightBlob {
  WeightLayout layout;
  /// Gives bytes [begin, end) of `entry`: where they lie, or made in `room`, which has place
  /// for them. Called from several threads.
  std::function<llvm::StringRef(const WeightEntry &entry, uint64_t begin, uint64_t end, char *room)>
      read;
};

/// The symbol of an embedded blob, `extern const char tcc_weights[]`, hidden, and its section.
inline constexpr const char *weightSymbol = "tcc_weights";
inline constexpr const char *weightSection = ".tcc.weights";

/// A relocatable ELF object of `triple`'s machine (x86_64 or aarch64) that has the section, with
/// its size and no bytes. insertWeights gives them to the library that was linked with it.
llvm::Expected<std::string> weightObject(const WeightLayout &layout, const llvm::Triple &triple);
/// `file` is a shared library of 64 bits, open for reading and writing. The weights' place in it.
llvm::Expected<uint64_t> insertWeights(const WeightBlob &blob, int file, unsigned threads = 1);

/// The head of the safetensors file, its length field included; a multiple of 64
/// bytes long. Its length is tcc_program's weights_offset, its hash (below)
/// weights_layout_hash; that of the file that was written is weights_sample_hash. A sealed one has
/// its hash in itself.
std::string safetensorsHead(const WeightLayout &layout, bool sealed = false);
uint64_t safetensorsLayoutHash(llvm::StringRef head);
/// Whether the JSON `text` of a head is as it was written; one that is not sealed is.
bool safetensorsSealHolds(llvm::StringRef text);
llvm::Expected<uint64_t> safetensorsSampleHash(llvm::StringRef path, const WeightLayout &layout);
/// The whole file; `file` is open and empty.
llvm::Error writeSafetensors(const WeightBlob &blob, int file, unsigned threads = 1,
                             bool sealed = false);

} // namespace tcc::emit
