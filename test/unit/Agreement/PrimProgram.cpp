#include "PrimProgram.h"
#include "Driver/Artefact.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Verify/LoadedModel.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <catch2/catch.hpp>

using namespace mlir;
namespace tcc::test {

using reference::Tensor;

MLIRContext &primContext() {
  static MLIRContext &context = [&]() -> MLIRContext & {
    DialectRegistry registry;
    registerDialects(registry);
    static MLIRContext made(registry, MLIRContext::Threading::DISABLED);
    made.loadAllAvailableDialects();
    return made;
  }();
  return context;
}

std::vector<std::string> runnableCpus() {
  std::vector<std::string> names;
#if defined(__x86_64__)
  names.push_back("x86-64-v2");
  if (__builtin_cpu_supports("x86-64-v3"))
    names.push_back("x86-64-v3");
  if (__builtin_cpu_supports("x86-64-v4"))
    names.push_back("x86-64-v4");
#else
  names.push_back("native");
#endif
  return names;
}

static func::FuncOp mainOf(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  REQUIRE(function);
  return function;
}

Outputs interpreted(ModuleOp module, llvm::ArrayRef<Tensor> inputs) {
  auto outputs = reference::evaluate(mainOf(module), inputs, WeightTable());
  if (!outputs)
    FAIL(llvm::toString(outputs.takeError()));
  return *outputs;
}

/// The interface of a model has names.
static void nameInterface(func::FuncOp function) {
  Signature signature(function);
  auto noDims = ArrayAttr::get(function.getContext(), {});
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    signature.setArgument(i, "x" + std::to_string(i), noDims);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    signature.setResult(i, "y" + std::to_string(i), noDims);
}

static llvm::Error build(Model &model, Phase from, const Target &target, const std::string &path) {
  PipelineOptions options;
  options.backend = llvm::cantFail(createBackend(kOwnBackend, target));
  options.jobs = 2;
  if (llvm::Error error = runPhases(model, from, Phase::Plan, options))
    return error;
  auto code = generateCode(model, options);
  if (!code)
    return code.takeError();
  DriverOptions driver;
  driver.input = driver.output = path;
  Artefact artefact;
  emit::OutputFiles files;
  auto noHash = [] { return std::string(); };
  if (llvm::Error error = artefact.write(model, *code, driver, target, {"mlir", noHash}, files))
    return error;
  return files.commit();
}

llvm::Expected<Outputs> compiled(ModuleOp module, llvm::ArrayRef<Tensor> inputs,
                                 const std::string &cpu, Phase from) {
  nameInterface(mainOf(module));
  Model model;
  model.module = module.clone();
  std::vector<DType> types;
  for (Type type : mainOf(module).getResultTypes())
    types.push_back(*prim::dtypeOf(cast<RankedTensorType>(type).getElementType()));
  Target target;
  if (llvm::Error error = CpuTarget::create(cpu).moveInto(target.host))
    return std::move(error);
  llvm::SmallString<128> folder;
  REQUIRE(!llvm::sys::fs::createUniqueDirectory("agreement", folder));
  auto remove = llvm::scope_exit([&] { llvm::sys::fs::remove_directories(folder); });
  std::string path = (folder + "/model.so").str();
  if (llvm::Error error = build(model, from, target, path))
    return error;
  auto loaded = LoadedModel::open(path);
  if (!loaded)
    return loaded.takeError();
  auto results = (*loaded)->run(inputs, types);
  if (!results)
    return results.takeError();
  return results->outputs;
}

} // namespace tcc::test
