#include "Reference/Evaluators.h"
#include "Reference/StridedCopy.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include "tcc/Reference/Interpreter.h"
#include <cstring>

using namespace mlir;

namespace tcc::reference {

/// The stored form of one float of any format: the bits of its APFloat.
static uint64_t bitsOf(const llvm::APFloat &value) { return value.bitcastToAPInt().getZExtValue(); }

static void storeBits(char *to, unsigned bytes, uint64_t bits) { std::memcpy(to, &bits, bytes); }

/// Calls `store(position, bits)`, for complex with two parts an element.
template <typename Store> static bool forEachBits(DenseElementsAttr dense, Store store) {
  Type element = dense.getElementType();
  int64_t i = 0;
  if (isa<IntegerType>(element)) {
    for (const llvm::APInt &value : dense.getValues<llvm::APInt>())
      store(i++, prim::isUnsigned(element) ? value.getZExtValue()
                                           : static_cast<uint64_t>(value.getSExtValue()));
  } else if (isa<FloatType>(element)) {
    for (const llvm::APFloat &value : dense.getValues<llvm::APFloat>())
      store(i++, bitsOf(value));
  } else if (isa<ComplexType>(element)) {
    for (const std::complex<llvm::APFloat> &value :
         dense.getValues<std::complex<llvm::APFloat>>()) {
      store(i++, bitsOf(value.real()));
      store(i++, bitsOf(value.imag()));
    }
  } else {
    return false;
  }
  return true;
}

llvm::Expected<Tensor> tensorOf(ElementsAttr attribute) {
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  std::optional<DType> dtype = prim::dtypeOf(attribute.getElementType());
  if (!dense || !dtype)
    return llvm::createStringError("a constant is not a dense attribute of a known element type");
  llvm::Expected<Tensor> tensor = Tensor::allocate(*dtype, dense.getType().getShape());
  if (!tensor)
    return tensor;
  unsigned bytes = elementBytes(*dtype), stored = isComplex(*dtype) ? bytes / 2 : bytes;
  char *to = tensor->mutableData();
  if (dense.isSplat() && tensor->elements() > 1) {
    auto one = dense.resizeSplat(RankedTensorType::get({}, dense.getElementType()));
    llvm::Expected<Tensor> element = tensorOf(one);
    if (element)
      fill(to, tensor->elements(), element->data(), bytes);
    return element ? std::move(tensor) : std::move(element);
  }
  bool raw = !dense.isSplat() && bitWidth(*dtype) >= 8 && *dtype != DType::Bool;
  if (raw && static_cast<int64_t>(dense.getRawData().size()) == tensor->bytes())
    std::memcpy(to, dense.getRawData().data(), tensor->bytes());
  else
    forEachBits(dense, [&](int64_t i, uint64_t bits) { storeBits(to + i * stored, stored, bits); });
  return tensor;
}

DenseElementsAttr attributeOf(const Tensor &tensor, RankedTensorType type) {
  bool splat = tensor.elements() > 1 && tensor.isSplat();
  int64_t count = splat ? 1 : tensor.elements();
  if (tensor.dtype() == DType::Bool) {
    SmallVector<bool> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(tensor.data()[i] != 0);
    return DenseElementsAttr::get(type, values);
  }
  // Sub-byte elements take a byte each in a Tensor and in the attribute alike.
  ArrayRef<char> bytes(tensor.data(), count * elementBytes(tensor.dtype()));
  return DenseElementsAttr::getFromRawBuffer(type, bytes);
}

} // namespace tcc::reference
