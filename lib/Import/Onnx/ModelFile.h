//===- ModelFile.h - A mapped ONNX file and its structure -------*- C++ -*-===//
#pragma once
#include "onnx/onnx_pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace tcc::onnximport {

/// Subgraphs within subgraphs; real models have three or four.
inline constexpr unsigned kMaxGraphDepth = 100;
/// Nodes after functions are inlined.
inline constexpr uint64_t kMaxNodes = 500'000;

/// A model whose large tensors are still in the file: such a TensorProto has no
/// data but a `segment` with the place of the whole message in the file.
class ModelFile {
public:
  /// `path` is what the user gave; it begins every message.
  static llvm::Expected<std::unique_ptr<ModelFile>>
  parse(std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef path);

  const onnx::ModelProto &model() const { return proto; }
  llvm::StringRef path() const { return filePath; }
  /// Keeps the mapping alive.
  const std::shared_ptr<const llvm::MemoryBuffer> &mapping() const { return buffer; }
  /// The wire form of `tensor`: in the mapped file, or made in `scratch`.
  llvm::ArrayRef<char> tensorBytes(const onnx::TensorProto &tensor, std::string &scratch) const;

  /// A UserError that begins with the file's name.
  llvm::Error error(const llvm::Twine &message) const;
  /// One that names the node too.
  llvm::Error error(const onnx::NodeProto &node, const llvm::Twine &message) const;

private:
  std::string filePath;
  std::shared_ptr<const llvm::MemoryBuffer> buffer;
  onnx::ModelProto proto;
};

/// "node 'name' (Op)", the name being that of the first output if it has none.
std::string describe(const onnx::NodeProto &node);

} // namespace tcc::onnximport
