//===- AtenTest.cpp - ATen rules against PyTorch --------------------------===//
//
// Every program of test/Decompose/Aten/Inputs is imported, decomposed and run by
// the reference interpreter; PyTorch's outputs stand beside it (export.py there).
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Import/ImportOptions.h"
#include "tcc/Import/TorchExport/TorchExport.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace mlir;
using namespace tcc;
using reference::Tensor;

namespace {

struct Data {
  std::vector<Tensor> inputs, outputs;
};

Data readData(const std::string &path) {
  Data data;
  auto buffer = llvm::MemoryBuffer::getFile(path, false, false);
  REQUIRE(buffer);
  llvm::StringRef text = (*buffer)->getBuffer(), line;
  std::vector<Tensor> *list = &data.inputs;
  while (!text.empty()) {
    std::tie(line, text) = text.split('\n');
    if (line == "=") {
      list = &data.outputs;
      continue;
    }
    llvm::SmallVector<llvm::StringRef> fields;
    line.split(fields, ' ');
    DType type = *parseDType(fields[0]);
    llvm::SmallVector<int64_t> shape;
    uint64_t count = 1;
    for (llvm::StringRef field : llvm::drop_begin(fields)) {
      shape.push_back(std::stoll(field.str()));
      count *= shape.back();
    }
    if (type == DType::C64) { // decomposed, a complex tensor is one of pairs
      type = DType::F32;
      shape.push_back(2);
      count *= 2;
    }
    uint64_t bytes = storageBytes(type, count);
    list->push_back(
        llvm::cantFail(Tensor::fromPacked(type, shape, llvm::ArrayRef<char>(text.data(), bytes))));
    text = text.drop_front(bytes);
  }
  return data;
}

bool close(double got, double want, double tolerance) {
  if (std::isnan(want))
    return std::isnan(got);
  return got == want || std::abs(got - want) <= tolerance * (1 + std::abs(want));
}

/// "" or the first difference.
std::string difference(const Tensor &got, const Tensor &want) {
  if (got.dtype() != want.dtype())
    return ("type " + dtypeName(got.dtype()) + " instead of " + dtypeName(want.dtype())).str();
  if (got.shape() != want.shape())
    return reference::shapeText(got.shape()) + " instead of " + reference::shapeText(want.shape());
  double tolerance = want.dtype() == DType::F16    ? 2e-3
                     : want.dtype() == DType::BF16 ? 1.6e-2
                                                   : 2e-5;
  for (int64_t i = 0; i < want.elements(); ++i) {
    auto g = got.complex(i), w = want.complex(i);
    if (!close(g.real(), w.real(), tolerance) || !close(g.imag(), w.imag(), tolerance))
      return "element " + std::to_string(i) + ": " + std::to_string(g.real()) + " instead of " +
             std::to_string(w.real());
  }
  return "";
}

/// What is wrong with a case, or "".
std::string check(const std::string &path) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  WeightTable weights;
  auto module = importTorchExport(path + ".pt2", {}, weights, context);
  if (!module)
    return toString(module.takeError());
  if (llvm::Error error = decompose(**module, weights))
    return toString(std::move(error));
  if (failed(verify(**module)))
    return "the module does not verify";
  Data data = readData(path + ".data");
  auto function = *(*module)->getOps<func::FuncOp>().begin();
  auto outputs = reference::evaluate(function, data.inputs, weights);
  if (!outputs)
    return toString(outputs.takeError());
  if (outputs->size() < data.outputs.size())
    return "only " + std::to_string(outputs->size()) + " outputs";
  for (size_t i = 0; i < data.outputs.size(); ++i)
    if (std::string text = difference((*outputs)[i], data.outputs[i]); !text.empty())
      return "output " + std::to_string(i) + ": " + text;
  return "";
}

} // namespace

TEST_CASE("programs give what PyTorch gives") {
  // Another folder, as export.py --all writes one, may be named.
  const char *folder = std::getenv("TCC_ATEN_CASES");
  std::error_code code;
  std::set<std::string> paths;
  for (llvm::sys::fs::directory_iterator it(folder ? folder : TCC_ATEN_INPUTS, code), end;
       it != end && !code; it.increment(code))
    if (llvm::StringRef(it->path()).ends_with(".pt2"))
      paths.insert(llvm::StringRef(it->path()).drop_back(4).str());
  REQUIRE(!paths.empty());
  for (const std::string &path : paths) {
    INFO(llvm::sys::path::filename(path).str());
    CHECK(check(path) == "");
  }
}
