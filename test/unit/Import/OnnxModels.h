//===- OnnxModels.h - Models for the import tests ---------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "onnx/onnx_pb.h"
#include "tcc/Import/ImportOptions.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tcc::test {

/// A model in ONNX's text form; fails the test if that does not parse.
onnx::ModelProto parseModel(llvm::StringRef text);
/// `body` as the graph "g" of a model of opset 20.
onnx::ModelProto graphModel(llvm::StringRef body);

struct Imported {
  std::string ir;    ///< printed and verified; empty after an error
  std::string error; ///< the UserError's text
  WeightTable weights;
  std::vector<std::string> files; ///< told to fileRead
};

/// Imports the bytes as `folder`/m.onnx, without a file.
std::unique_ptr<Imported> importBytes(llvm::StringRef bytes, ImportOptions options = {},
                                      llvm::StringRef path = "m.onnx");
std::unique_ptr<Imported> importModel(const onnx::ModelProto &model, ImportOptions options = {},
                                      llvm::StringRef path = "m.onnx");
/// The IR of a graph in text form.
std::string irOf(llvm::StringRef body, ImportOptions options = {});
/// The error of a graph in text form.
std::string errorOf(llvm::StringRef body, ImportOptions options = {});

/// A few models with everything that the file format has.
std::vector<onnx::ModelProto> sampleModels();

} // namespace tcc::test
