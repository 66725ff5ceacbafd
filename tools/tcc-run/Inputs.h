//===- Inputs.h - Where a run's inputs come from ----------------*- C++ -*-===//
#pragma once
#include "Files.h"
#include "Model.h"
#include <map>

namespace tcc::run {

/// What the command line says about inputs.
struct InputOptions {
  std::vector<std::string> files;  ///< "x=a.npy"
  std::vector<std::string> shapes; ///< "x=1x3x224x224"
  std::vector<std::string> dims;   ///< "N=4"
  uint64_t seed = 0;
};

/// Files where they are given, seeded random values elsewhere: floats uniform in
/// [0, 1), integers and booleans 0 or 1 (valid as mask, token and index alike).
/// An input's values depend on the seed and its position, not on the others.
std::vector<Array> makeInputs(const Model &model, const InputOptions &options);

/// A folder in ONNX's test form.
struct TestData {
  std::filesystem::path folder;
  std::vector<Array> inputs;  ///< in the model's order
  std::vector<Array> outputs; ///< likewise; without a name where there is no file
  std::vector<bool> hasOutput;
};

/// Reads input_N.pb and output_N.pb of `folder`, or of each test_data_set_N below
/// it. A file belongs to the value of its tensor's name, or to value N.
std::vector<TestData> readTestData(const Model &model, const std::filesystem::path &folder);

/// Brings an .npy array into a type that NumPy lacks: raw bytes into bfloat16 or
/// float8, bytes into int4.
void adaptDtype(Array &array, DLDataType wanted);

std::vector<DLTensor> views(const std::vector<Array> &arrays);

} // namespace tcc::run
