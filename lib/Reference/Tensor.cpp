//===- Tensor.cpp - Values of the interpreter ----------------------------===//
//
// Tensors share their storage until one is written to. Large ones come straight from the system,
// because half the time of a first touch would go to clearing what is overwritten at once.
//
//===----------------------------------------------------------------------===//
#include "tcc/Reference/Tensor.h"
#include "Reference/Wide.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include <cstdlib>
#include <cstring>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tcc::reference {

unsigned elementBytes(DType type) { return (bitWidth(type) + 7) / 8; }

std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape) {
  constexpr int64_t limit = INT64_MAX / 16;
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    if (dim != 0 && count > limit / dim)
      return std::nullopt;
    count *= dim;
  }
  return count;
}

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  return "[" +
         llvm::join(llvm::map_range(shape, [](int64_t d) { return std::to_string(d); }), ", ") +
         "]";
}

/// Storage that large tensors do not spend half their time faulting in.
static char *allocateBytes(size_t size) {
#if defined(__linux__)
  constexpr size_t hugePage = size_t(2) << 20;
  if (size >= 2 * hugePage) {
    size = (size + hugePage - 1) / hugePage * hugePage;
    void *bytes = std::aligned_alloc(hugePage, size);
    if (bytes)
      madvise(bytes, size, MADV_HUGEPAGE);
    return static_cast<char *>(bytes);
  }
#endif
  return static_cast<char *>(std::aligned_alloc(64, size));
}

llvm::Expected<Tensor> Tensor::allocate(DType type, llvm::ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = elementCount(shape);
  if (!count)
    return userError("a tensor cannot have shape " + shapeText(shape));
  Tensor tensor;
  tensor.type = type;
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.count = *count;
  size_t size = (static_cast<size_t>(tensor.bytes()) + 64) / 64 * 64;
  char *bytes = allocateBytes(size);
  if (!bytes)
    return userError("no memory for a tensor of shape " + shapeText(shape));
  tensor.storage =
      std::shared_ptr<const char>(bytes, [](const char *p) { std::free(const_cast<char *>(p)); });
  return tensor;
}

/// Spreads packed elements of `bits` bits, low bits first, to one a byte.
static void unpack(unsigned bits, bool isSigned, const char *from, int64_t count, char *to) {
  unsigned perByte = 8 / bits, shift = 8 - bits;
  for (int64_t i = 0; i < count; ++i) {
    auto byte = static_cast<uint8_t>(from[i / perByte]);
    auto high = static_cast<uint8_t>(byte << (shift - i % perByte * bits));
    to[i] = isSigned ? static_cast<char>(static_cast<int8_t>(high) >> shift)
                     : static_cast<char>(high >> shift);
  }
}

llvm::Expected<Tensor> Tensor::fromPacked(DType type, llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<char> bytes) {
  llvm::Expected<Tensor> tensor = allocate(type, shape);
  if (!tensor)
    return tensor;
  if (storageBytes(type, tensor->count) != bytes.size())
    return userError("a tensor of " + dtypeName(type) + " and shape " + shapeText(shape) + " has " +
                     llvm::Twine(storageBytes(type, tensor->count)) + " bytes, not " +
                     llvm::Twine(bytes.size()));
  if (bitWidth(type) < 8)
    unpack(bitWidth(type), isSignedInt(type), bytes.data(), tensor->count, tensor->mutableData());
  else if (!bytes.empty())
    std::memcpy(tensor->mutableData(), bytes.data(), bytes.size());
  return tensor;
}

llvm::Expected<Tensor> Tensor::fromWeight(const Weight &weight) {
  std::optional<int64_t> count = elementCount(weight.shape);
  bool aligned = reinterpret_cast<uintptr_t>(weight.bytes.data()) % elementBytes(weight.dtype) == 0;
  if (!count || *count == 0 || bitWidth(weight.dtype) < 8 || !aligned ||
      storageBytes(weight.dtype, *count) != weight.bytes.size())
    return fromPacked(weight.dtype, weight.shape, weight.bytes);
  Tensor tensor;
  tensor.type = weight.dtype;
  tensor.dims.assign(weight.shape.begin(), weight.shape.end());
  tensor.count = *count;
  tensor.storage = std::shared_ptr<const char>(weight.owner, weight.bytes.data());
  return tensor;
}

llvm::Expected<Tensor> Tensor::over(DType type, llvm::ArrayRef<int64_t> shape, const char *data) {
  std::optional<int64_t> count = elementCount(shape);
  if (!count || *count == 0) // no elements may be at no address
    return allocate(type, shape);
  Tensor tensor;
  tensor.type = type;
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.count = *count;
  tensor.storage = std::shared_ptr<const char>(std::shared_ptr<void>(), data);
  return tensor;
}

template <typename W>
static Tensor make(DType type, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<W> values) {
  Tensor tensor = llvm::cantFail(Tensor::allocate(type, shape));
  assert(tensor.elements() == static_cast<int64_t>(values.size()) && "one value for each element");
  narrow(type, values.data(), tensor.elements(), tensor.mutableData());
  return tensor;
}

Tensor Tensor::ofReals(DType type, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values) {
  return make(type, shape, values);
}
Tensor Tensor::ofIntegers(DType type, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<int64_t> values) {
  return make(type, shape, values);
}
Tensor Tensor::ofComplex(DType type, llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<Complex> values) {
  return make(type, shape, values);
}

/// `count` elements from `position` on, converted to the type stored as T.
template <typename T>
static void convert(const Tensor &from, int64_t position, int64_t count, DType type, T *to) {
  withWide(from.dtype(), [&]<typename W>() {
    W run[kRun];
    for (int64_t done = 0; done < count; done += kRun) {
      int64_t length = std::min(kRun, count - done);
      widen(from.dtype(), from.data() + (position + done) * elementBytes(from.dtype()), length,
            run);
      narrow(type, run, length, reinterpret_cast<char *>(to + done));
    }
  });
}

double Tensor::real(int64_t position) const {
  double value = 0;
  convert(*this, position, 1, DType::F64, &value);
  return value;
}
int64_t Tensor::integer(int64_t position) const {
  int64_t value = 0;
  convert(*this, position, 1, DType::I64, &value);
  return value;
}
Complex Tensor::complex(int64_t position) const {
  Complex value = 0;
  convert(*this, position, 1, DType::C128, &value);
  return value;
}
std::vector<double> Tensor::reals() const {
  std::vector<double> values(count);
  convert(*this, 0, count, DType::F64, values.data());
  return values;
}
std::vector<int64_t> Tensor::integers() const {
  std::vector<int64_t> values(count);
  convert(*this, 0, count, DType::I64, values.data());
  return values;
}

Tensor Tensor::reshaped(llvm::ArrayRef<int64_t> shape) const {
  assert(elementCount(shape) == count && "another number of elements");
  Tensor tensor = *this;
  tensor.dims.assign(shape.begin(), shape.end());
  return tensor;
}

std::vector<char> Tensor::packed() const {
  unsigned bits = bitWidth(type);
  if (bits >= 8)
    return std::vector<char>(data(), data() + bytes());
  std::vector<char> out(storageBytes(type, count), 0);
  unsigned perByte = 8 / bits, mask = (1u << bits) - 1;
  for (int64_t i = 0; i < count; ++i)
    out[i / perByte] |=
        static_cast<char>((static_cast<uint8_t>(data()[i]) & mask) << (i % perByte * bits));
  return out;
}

Weight Tensor::toWeight() const {
  Weight weight{type, dims, {data(), static_cast<size_t>(bytes())}, storage};
  if (bitWidth(type) < 8) {
    auto dense = std::make_shared<std::vector<char>>(packed());
    weight.bytes = *dense;
    weight.owner = dense;
  }
  return weight;
}

bool Tensor::isSplat() const {
  // Every element equals its successor: one overlapping comparison.
  size_t width = elementBytes(type);
  return count > 0 && std::memcmp(data(), data() + width, (count - 1) * width) == 0;
}

} // namespace tcc::reference
