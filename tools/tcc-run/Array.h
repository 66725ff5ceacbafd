//===- Array.h - A tensor on the host ---------------------------*- C++ -*-===//
//
// What tcc-run reads from files, gives to a model, and compares. Bytes are as
// DLPack has them: compact, types below 8 bits packed. A column-major .npy keeps
// its order and is described by strides.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Runtime/dlpack.h"
#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tcc::run {

/// Something that was given to tcc-run is wrong: exit code 2.
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Array {
  std::string name;
  DLDataType dtype{kDLFloat, 32, 1};
  std::vector<int64_t> shape, strides; ///< strides in elements; empty: row-major
  std::vector<char> bytes;

  size_t size() const; ///< elements
  DLTensor view() const;
};

bool operator==(DLDataType a, DLDataType b);
size_t packedBytes(DLDataType dtype, size_t elements);
/// Elements of a shape; throws where the product overflows or a dim is negative.
size_t elementCount(const std::vector<int64_t> &shape);

/// "float32", "bfloat16", "int4", "float8_e4m3fn", ...
std::string dtypeName(DLDataType dtype);
std::string shapeText(const std::vector<int64_t> &shape);
/// One line of clean text: bytes of what is not valid UTF-8, not seen or turns text around are
/// escaped.
std::string printable(const std::string &text);

/// The i-th element of compact bytes, exact for every real type.
long double realAt(DLDataType dtype, const char *bytes, size_t i);
std::complex<long double> complexAt(DLDataType dtype, const char *bytes, size_t i);
/// As text with enough digits to tell neighbours apart.
std::string elementText(DLDataType dtype, const char *bytes, size_t i);
/// Rounds to the nearest value of the type.
void storeReal(DLDataType dtype, char *bytes, size_t i, double value);

} // namespace tcc::run
