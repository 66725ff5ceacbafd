//===- Files.h - Tensors in files -------------------------------*- C++ -*-===//
//
// The two forms in which people keep test data: NumPy's .npy, and ONNX's
// TensorProto in a .pb. Both are read from the bytes alone; every malformed file
// is a DataError that names it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Array.h"
#include <filesystem>

namespace tcc::run {

/// Throws what is wrong unless there is a regular file: a pipe would be waited for.
void requireFile(const std::filesystem::path &path);
std::string readFile(const std::filesystem::path &path);

/// By the file's extension: .npy or .pb.
Array readArray(const std::filesystem::path &path);

Array parseNpy(const std::string &content);
Array parseTensorProto(const std::string &content);

/// Types that NumPy has no name for are written as raw bytes (V1, V2), those
/// below 8 bits one element a byte.
void writeNpy(const std::filesystem::path &path, const DLTensor &tensor);

} // namespace tcc::run
