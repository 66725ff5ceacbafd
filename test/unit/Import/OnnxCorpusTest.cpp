// Damaged models give an error or a module, and ONNX's own models import.
#include "../../fuzz/OnnxMutator.h"
#include "OnnxModels.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <catch2/catch.hpp>
#include <cstdlib>

using namespace tcc;
using namespace tcc::test;

TEST_CASE("truncated models") {
  for (const onnx::ModelProto &model : sampleModels()) {
    std::string bytes = model.SerializeAsString();
    CHECK(importBytes(bytes)->error == "");
    for (size_t size = 0; size < bytes.size(); size += 7)
      importBytes(llvm::StringRef(bytes).take_front(size));
  }
}

TEST_CASE("models with flipped bits") {
  std::minstd_rand random(1);
  for (const onnx::ModelProto &model : sampleModels()) {
    const std::string bytes = model.SerializeAsString();
    for (int i = 0; i < 1000; ++i) {
      std::string damaged = bytes;
      for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
        damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      importBytes(damaged);
    }
  }
}

TEST_CASE("models that say something else") {
  std::minstd_rand random(2);
  for (const onnx::ModelProto &model : sampleModels())
    for (int i = 0; i < 1000; ++i) {
      onnx::ModelProto changed = model;
      mutate(changed, random);
      importModel(changed);
    }
}

/// Every `.onnx` file below `folder`, sorted.
static std::vector<std::string> modelsBelow(llvm::StringRef folder) {
  std::vector<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, code), end; it != end && !code;
       it.increment(code))
    if (llvm::sys::path::extension(it->path()) == ".onnx")
      paths.push_back(it->path());
  llvm::sort(paths);
  return paths;
}

TEST_CASE("ONNX's test models import", "[data]") {
  const char *folder = std::getenv("TCC_ONNX_TESTDATA_DIR");
  if (!folder) {
    WARN("TCC_ONNX_TESTDATA_DIR is not set: ONNX's test models were not tried");
    return;
  }
  std::vector<std::string> paths = modelsBelow(folder);
  CHECK(paths.size() == 1914);
  for (bool expand : {false, true}) {
    ImportOptions options;
    if (expand)
      options.hasRule = [](llvm::StringRef, llvm::StringRef, int64_t) { return false; };
    mlir::MLIRContext context;
    for (const std::string &path : paths) {
      INFO(path << (expand ? " with functions expanded" : ""));
      WeightTable weights;
      auto module = importOnnx(path, options, weights, context);
      if (!module)
        FAIL_CHECK(llvm::toString(module.takeError()));
      else
        CHECK(succeeded(mlir::verify(**module)));
    }
  }
}
