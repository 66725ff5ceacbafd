//===- Tensor.h - A dense tensor in memory ---------------------*- C++ -*-===//
//
// The value that the reference interpreter computes with, and the form in which
// tests, constant folding and `--verify` hand tensors around. It knows nothing
// of MLIR. Copies share their bytes; an evaluator writes only to a tensor that
// it has just allocated.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <complex>
#include <memory>
#include <string>
#include <vector>

namespace tcc {
struct Weight;
} // namespace tcc

namespace tcc::reference {

/// Bytes that one element takes in a Tensor: a whole number, so that views are
/// plain copies. Sub-byte types take a byte each (i4 sign-extended, u4 and f4
/// zero-extended); `Tensor::packed` gives the dense form.
unsigned elementBytes(DType type);

/// The number of elements of `shape`; nullopt where an extent is negative or
/// the bytes of the widest type would not fit in an int64_t.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

/// "[2, 3]", for messages.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

class Tensor {
public:
  Tensor() = default;

  /// Uninitialised storage; an error where the shape is impossible or the
  /// memory is not to be had.
  static llvm::Expected<Tensor> allocate(DType type, llvm::ArrayRef<int64_t> shape);
  /// Over the dense bytes of `weight`: shared and kept alive, or unpacked.
  static llvm::Expected<Tensor> fromWeight(const Weight &weight);
  /// Over dense bytes (as in a Weight), which are copied.
  static llvm::Expected<Tensor> fromPacked(DType type, llvm::ArrayRef<int64_t> shape,
                                           llvm::ArrayRef<char> bytes);
  /// Over elements in memory, one a byte where they are smaller, that outlive the tensor.
  static llvm::Expected<Tensor> over(DType type, llvm::ArrayRef<int64_t> shape, const char *data);
  /// Of values converted to `type` as prim.cast does, without saturation.
  static Tensor ofReals(DType type, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values);
  static Tensor ofIntegers(DType type, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> values);
  static Tensor ofComplex(DType type, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<std::complex<double>> values);
  /// A host scalar is a rank-0 tensor; `index` is i64.
  static Tensor ofIndex(int64_t value) { return ofIntegers(DType::I64, {}, value); }

  DType dtype() const { return type; }
  llvm::ArrayRef<int64_t> shape() const { return dims; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t dim(unsigned axis) const { return dims[axis]; }
  int64_t elements() const { return count; }
  int64_t bytes() const { return count * elementBytes(type); }
  explicit operator bool() const { return storage != nullptr; }

  const char *data() const { return storage.get(); }
  /// For whoever has just allocated the tensor.
  char *mutableData() { return const_cast<char *>(storage.get()); }
  template <typename T> const T *as() const { return reinterpret_cast<const T *>(data()); }
  template <typename T> T *mutableAs() { return reinterpret_cast<T *>(mutableData()); }

  /// One element at row-major `position`, converted as prim.cast does.
  double real(int64_t position) const;
  int64_t integer(int64_t position) const;
  std::complex<double> complex(int64_t position) const;
  /// All elements, likewise.
  std::vector<double> reals() const;
  std::vector<int64_t> integers() const;

  /// The same elements, and bytes, under another shape of as many elements.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// Dense bytes as in a Weight: sub-byte types packed, low bits first.
  std::vector<char> packed() const;
  /// The same as a Weight, which shares the bytes where they are dense already.
  Weight toWeight() const;
  /// Whether all elements have the same bits (of a tensor with at least one).
  bool isSplat() const;

private:
  DType type = DType::F32;
  llvm::SmallVector<int64_t, 4> dims;
  int64_t count = 0;
  std::shared_ptr<const char> storage;
};

} // namespace tcc::reference
