//===- WeightTable.h - Constants that stay out of the IR ---------*- C++ -*-===//
//
// A model's weights are hundreds of megabytes and the IR names them only:
// `graph.weight "name"` and `prim.weight "name"` refer to an entry here. An
// entry points into a mapped model file, which it keeps alive, or owns bytes
// that the compiler computed (folded weights), or says how to make them (packed
// weights): those are made where they are written to, and never all held.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tcc {

/// How to make the bytes of a weight, any part of them, on any thread.
struct WeightMaker {
  uint64_t grain; ///< parts begin and end at multiples of this many bytes
  std::function<void(uint64_t begin, uint64_t end, char *to)> make;
};

/// What the model has a weight for. What is made of one has its role.
enum class WeightRole : uint8_t {
  Constant,  ///< a number of the model's arithmetic
  Parameter, ///< learned; all initializers of ONNX, which does not tell buffers from them
  Buffer,    ///< kept beside the parameters: running statistics, masks, tables
};
/// "constant", "parameter", "buffer".
llvm::StringRef roleName(WeightRole role);
std::optional<WeightRole> parseRole(llvm::StringRef name);

/// One constant tensor, dense, row-major, little-endian; sub-byte types packed.
struct Weight {
  DType dtype;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::ArrayRef<char> bytes;        ///< exactly size(); none while there is a maker
  std::shared_ptr<const void> owner; ///< keeps `bytes` alive: a mapped file or a buffer
  std::shared_ptr<const WeightMaker> maker = nullptr;
  WeightRole role = WeightRole::Constant;

  uint64_t elements() const;
  uint64_t size() const { return storageBytes(dtype, elements()); } ///< in bytes
};

/// Named weights of one model. Names are unique; the order is the order of
/// insertion, so that everything derived from it is repeatable. Thread-safe.
class WeightTable {
public:
  /// Adds `weight` under `hint`, or `hint` with a number when that is taken by
  /// different data; returns the name it got. References stay valid.
  std::string add(llvm::StringRef hint, Weight weight);
  /// The weight called `name` with its bytes, which are made now and stay, or null.
  const Weight *lookup(llvm::StringRef name) const;
  /// The same as it is: for its type and size, or to make its bytes elsewhere.
  const Weight *describe(llvm::StringRef name) const;
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
