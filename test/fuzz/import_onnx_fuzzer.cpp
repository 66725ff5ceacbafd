// libFuzzer target: any bytes give a module or one error. Runs with a corpus of
// small models, half of the mutations at the level of protobuf.
#include "OnnxMutator.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/WeightTable.h"
#include <memory>

using namespace tcc;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// A context keeps every type and attribute: a new one now and then.
static mlir::MLIRContext &freshContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 500 == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  return *context;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  mlir::MLIRContext &context = freshContext();
  WeightTable weights;
  ImportOptions options;
  if (size % 2) // expand every function
    options.hasRule = [](llvm::StringRef, llvm::StringRef, int64_t) { return false; };
  auto module = importOnnx(llvm::MemoryBuffer::getMemBufferCopy(bytes), "fuzz/model.onnx", options,
                           weights, context);
  if (module) {
    if (failed(mlir::verify(**module)))
      abort();
    return 0;
  }
  llvm::handleAllErrors(
      module.takeError(),
      [](const UserError &error) {
        std::string text;
        llvm::raw_string_ostream stream(text);
        error.log(stream);
        if (text.empty() || text.size() > 4000)
          abort();
      },
      [](const llvm::ErrorInfoBase &) { abort(); });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  onnx::ModelProto model;
  if (random() % 2 && model.ParsePartialFromArray(data, static_cast<int>(size))) {
    test::mutate(model, random);
    std::string text;
    if (model.SerializePartialToString(&text) && text.size() <= maxSize) {
      std::copy(text.begin(), text.end(), data);
      return text.size();
    }
  }
  return LLVMFuzzerMutate(data, size, maxSize);
}
