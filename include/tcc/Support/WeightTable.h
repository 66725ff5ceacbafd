//===- WeightTable.h - Constants that stay out of the IR ---------*- C++ -*-===//
//
// A model's weights are hundreds of megabytes and the IR names them only:
// `graph.weight "name"` and `prim.weight "name"` refer to an entry here. An
// entry either points into a mapped model file, which it keeps alive, or owns
// bytes that the compiler computed (folded and packed weights).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tcc {

/// One constant tensor, dense, row-major, little-endian; sub-byte types packed.
struct Weight {
  DType dtype;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::ArrayRef<char> bytes;        ///< exactly storageBytes(dtype, elements)
  std::shared_ptr<const void> owner; ///< keeps `bytes` alive: a mapped file or a buffer

  uint64_t elements() const;
};

/// Named weights of one model. Names are unique; the order is the order of
/// insertion, so that everything derived from it is repeatable. Thread-safe.
class WeightTable {
public:
  /// Adds `weight` under `hint`, or `hint` with a number when that is taken by
  /// different data; returns the name it got. References stay valid.
  std::string add(llvm::StringRef hint, Weight weight);
  /// The weight called `name`, or null.
  const Weight *lookup(llvm::StringRef name) const;
  /// Adds owned bytes.
  std::string addOwned(llvm::StringRef hint, DType dtype, llvm::ArrayRef<int64_t> shape,
                       std::vector<char> bytes);
  /// Drops the data of a weight that no op refers to any more.
  void erase(llvm::StringRef name);
  std::vector<std::string> names() const;

private:
  mutable std::mutex mutex;
  llvm::StringMap<std::unique_ptr<Weight>> entries;
  std::vector<std::string> order;
};

} // namespace tcc
