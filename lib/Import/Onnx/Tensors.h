//===- Tensors.h - TensorProto → Weight -------------------------*- C++ -*-===//
#pragma once
#include "ExternalData.h"
#include "ModelFile.h"
#include "tcc/Support/WeightTable.h"
#include <memory>
#include <string>
#include <vector>

namespace tcc::onnximport {

/// A constant of the model: numbers as a Weight, or text.
struct Tensor {
  int32_t dataType = 0;
  llvm::SmallVector<int64_t, 4> shape;
  Weight weight;                    ///< unless text
  std::vector<std::string> strings; ///< text: one an element

  bool isText() const { return dataType == onnx::TensorProto::STRING; }
  uint64_t elements() const;
};

/// Gives tensors their data: in the mapped model or data file where the bytes
/// lie as a Weight wants them, converted to owned bytes otherwise.
class TensorReader {
public:
  TensorReader(const ModelFile &file, ExternalData &external) : file(file), external(external) {}

  /// `subject` names the tensor in messages: "initializer 'w'".
  llvm::Expected<Tensor> read(const onnx::TensorProto &proto, const llvm::Twine &subject);
  /// Written out densely.
  llvm::Expected<Tensor> read(const onnx::SparseTensorProto &proto, const llvm::Twine &subject);

private:
  const ModelFile &file;
  ExternalData &external;
};

/// The tensor for ONNX's inference functions, which look at small constants
/// (shapes, axes); null when it is large or text.
std::shared_ptr<const onnx::TensorProto> inferenceData(const Tensor &tensor);

Tensor makeTensor(int32_t dataType, llvm::ArrayRef<int64_t> shape, std::vector<char> bytes);

} // namespace tcc::onnximport
