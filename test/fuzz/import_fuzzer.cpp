// libFuzzer target over the first two phases: any bytes give a module of
// primitives or one error. What starts like a zip archive is read as a .pt2 file,
// all else as ONNX. Half of the mutations keep the file readable and change what
// its model says.
#include "OnnxMutator.h"
#include "TorchExportMutator.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Decompose/Rules.h"
#include "tcc/Import/ImportOptions.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "tcc/Import/TorchExport/TorchExport.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Support/Error.h"
#include <memory>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace tcc;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// Starts the program again with everything at the same addresses in each run: libFuzzer's
/// mutations draw on the numbers that were compared, addresses and what is hashed of them too.
/// Where the system refuses that, the course depends on chance.
extern "C" int LLVMFuzzerInitialize(int *count, char ***arguments) {
  static char started[] = "TCC_FUZZER_STARTED=1", filler[] = "_=";
  static constexpr size_t kStrings = 1 << 16, kPointers = 512;
  int now = personality(0xffffffff);
  if (getenv("TCC_FUZZER_STARTED") || now < 0 ||
      personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) < 0)
    return 0;
  // Mapped memory begins where the stack may end, and the stack below the arguments and the
  // environment.
  rlimit stack;
  if (!getrlimit(RLIMIT_STACK, &stack)) {
    stack.rlim_cur = std::min<rlim_t>(8 << 20, stack.rlim_max);
    setrlimit(RLIMIT_STACK, &stack);
  }
  std::vector<char *> variables = {started};
  for (char **variable = environ; *variable; ++variable)
    variables.push_back(*variable);
  while (*count + variables.size() + 1 < kPointers)
    variables.push_back(filler);
  size_t used = 0;
  for (char *text : variables)
    used += strlen(text) + 1;
  for (int i = 0; i < *count; ++i)
    used += strlen((*arguments)[i]) + 1;
  std::string rest = "_=";
  rest.resize(std::max(rest.size(), kStrings - std::min(kStrings, used)), ' ');
  variables.push_back(rest.data());
  variables.push_back(nullptr);
  execve("/proc/self/exe", *arguments, variables.data());
  return 0;
}

/// A context keeps every type and attribute: a new one now and then.
static mlir::MLIRContext &freshContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 500 == 0) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
  }
  return *context;
}

/// The importer of .pt2 maps its file: one in memory that has a name.
static llvm::StringRef fileOf(llvm::StringRef bytes) {
  static const int file = memfd_create("model.pt2", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (file < 0 || ftruncate(file, 0) ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    abort();
  return path;
}

static bool isArchive(llvm::StringRef bytes) { return bytes.starts_with("PK\x03\x04"); }

/// What the decomposition asks which primitives there is code for.
static std::shared_ptr<const Backend> ownBackend() {
  static std::shared_ptr<const Backend> backend = llvm::cantFail(createBackend(kOwnBackend, {}));
  return backend;
}

static llvm::Error importAndDecompose(llvm::StringRef bytes, mlir::MLIRContext &context) {
  Model model;
  ImportOptions options;
  if (bytes.size() % 2) // else every function is expanded
    options.hasRule = [](llvm::StringRef domain, llvm::StringRef op, int64_t version) {
      return allRules().lookup(domain, op, version) != nullptr;
    };
  else
    options.hasRule = [](llvm::StringRef, llvm::StringRef, int64_t) { return false; };
  auto module = isArchive(bytes)
                    ? importTorchExport(fileOf(bytes), options, *model.weights, context)
                    : importOnnx(llvm::MemoryBuffer::getMemBufferCopy(bytes), "fuzz/model.onnx",
                                 options, *model.weights, context);
  if (!module)
    return module.takeError();
  if (failed(mlir::verify(**module)))
    abort();
  model.module = std::move(*module);
  PipelineOptions pipeline;
  pipeline.backend = ownBackend();
  return runPhases(model, Phase::Import, Phase::Decompose, pipeline);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext &context = freshContext();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::handleAllErrors(
      importAndDecompose(bytes, context),
      [](const UserError &error) {
        std::string text;
        llvm::raw_string_ostream stream(text);
        error.log(stream);
        if (text.empty())
          abort();
      },
      [](const llvm::ErrorInfoBase &) { abort(); });
  return 0;
}

static std::optional<std::string> mutated(llvm::StringRef bytes, std::minstd_rand &random) {
  if (isArchive(bytes))
    return test::mutateTorchExport(bytes, random);
  onnx::ModelProto model;
  std::string text;
  if (!model.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return std::nullopt;
  test::mutate(model, random);
  if (!model.SerializePartialToString(&text))
    return std::nullopt;
  return text;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 2)
    if (auto text = mutated({reinterpret_cast<const char *>(data), size}, random);
        text && text->size() <= maxSize) {
      std::copy(text->begin(), text->end(), data);
      return text->size();
    }
  return LLVMFuzzerMutate(data, size, maxSize);
}
