//===- Constants.h - Tensors and attributes as IR ---------------*- C++ -*-===//
#pragma once
#include "GraphValue.h"
#include "Tensors.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/Error.h"

namespace tcc::onnximport {

/// Turns constants into IR: numbers go to the weight table, a few elements of an
/// attribute stand in the IR.
class ConstantBuilder {
public:
  ConstantBuilder(const ModelFile &file, TensorReader &reader, WeightTable &weights,
                  mlir::OpBuilder &builder)
      : file(file), reader(reader), weights(weights), builder(builder) {}

  /// A `graph.weight`, or a "Constant" node for text.
  llvm::Expected<GraphValue> value(Tensor tensor, llvm::StringRef name, mlir::Location loc);
  /// The value of a Constant node, whichever attribute holds it.
  llvm::Expected<Tensor> constantNode(const NodeView &node);
  /// Any attribute but graphs.
  llvm::Expected<mlir::Attribute> attribute(const NodeView &node, llvm::StringRef name,
                                            const onnx::AttributeProto &proto);

private:
  llvm::Expected<mlir::Attribute> tensorAttribute(Tensor tensor, llvm::StringRef name);
  mlir::DenseElementsAttr elements(const Tensor &tensor);
  std::string addWeight(llvm::StringRef hint, Weight weight);

  const ModelFile &file;
  TensorReader &reader;
  WeightTable &weights;
  mlir::OpBuilder &builder;
  llvm::StringMap<unsigned> uses; ///< of each weight name: calls repeat them
};

/// `text` as a name for IR and messages: unchanged if it is clean UTF-8.
std::string cleanName(llvm::StringRef text);
/// Whether `text` is UTF-8 without control characters.
bool isCleanText(llvm::StringRef text);
/// Whether `text` can name an input or output: UTF-8, and a string of C.
bool isInterfaceName(llvm::StringRef text);

} // namespace tcc::onnximport
