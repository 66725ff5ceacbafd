//===- BackendCases.h - ONNX's backend tests as data -------------*- C++ -*-===//
//
// The folders that ONNX's wheel carries under onnx/backend/test/data: a model,
// sets of inputs with the outputs that its reference implementation gave, and
// the tolerances at which its own runner compares. Programs that run a model in
// some way (by the interpreter, compiled) share this.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Reference/Tensor.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tcc::conformance {

struct Case {
  std::string name;   ///< "test_add_bcast"
  std::string kind;   ///< "node", "simple", "pytorch-converted", ...
  std::string model;  ///< path of the model
  std::string folder; ///< where the data sets lie; empty for a light model
  std::string op;     ///< the operator that the case is about, else `kind`
  double rtol = 1e-3, atol = 1e-7;
};

/// All cases under `data` in order of name.
llvm::Expected<std::vector<Case>> enumerateCases(llvm::StringRef data);

/// Folders of the same form (model.onnx, test_data_set_*) right below `folder`.
llvm::Expected<std::vector<Case>> enumerateModels(llvm::StringRef folder);

struct DataSet {
  std::vector<reference::Tensor> inputs, outputs;
};

/// For every input of the case's model that is a tensor, lists of i64 aside, a
/// `--shape` that names each dim instead of giving it: the same case with shapes known only when it
/// runs.
llvm::Expected<std::vector<std::string>> dynamicShapes(const Case &testCase);

/// The data sets of a case; an error when one holds something else than tensors
/// of numbers. A light model has none: its inputs are made as ONNX's runner
/// makes them, from the shapes of the model's inputs.
llvm::Expected<std::vector<DataSet>> loadDataSets(const Case &testCase);

} // namespace tcc::conformance
