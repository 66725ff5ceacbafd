// ONNX's backend cases launch by launch on the simulated device: every kernel that a case's
// launches become, on the case's own data, against the reference interpreter.
//
//   conformance-device [--only TEXT] [--arch NAME]
#include "LaunchCheck.h"
#include "conformance/Workers.h"
#include "mlir/Pass/PassManager.h"
#include "tcc/Decompose/Rules.h"
#include "tcc/Fusion/Fusion.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Support/Error.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::conformance;
using reference::Tensor;

namespace {

const GpuArch *arch = GpuArch::find("sm_80");

Result failureOf(llvm::Error error) {
  Outcome outcome = error.isA<UserError>() ? Outcome::Refused : Outcome::Broken;
  return {outcome, llvm::toString(std::move(error))};
}

/// Imported, simplified and fused; weights are not packed, because that is for CPUs.
llvm::Expected<Model> prepare(const Case &c, MLIRContext &context) {
  Model model;
  ImportOptions importing;
  importing.hasRule = [](llvm::StringRef domain, llvm::StringRef op, int64_t version) {
    return allRules().lookup(domain, op, version) != nullptr;
  };
  auto module = importOnnx(c.model, importing, *model.weights, context);
  if (!module)
    return module.takeError();
  model.module = std::move(*module);
  PipelineOptions options;
  CpuTarget cpu = llvm::cantFail(CpuTarget::create());
  options.backend = llvm::cantFail(createBackend(kOwnBackend, {cpu, {}}));
  if (llvm::Error error = runPhases(model, Phase::Import, Phase::Simplify, options))
    return std::move(error);
  PassManager passes(&context);
  passes.addPass(createFuseKernelsPass());
  passes.addPass(createShareKernelsPass());
  if (failed(passes.run(*model.module)))
    return llvm::createStringError("fusion failed");
  return std::move(model);
}

Result runCase(const Case &c) {
  DialectRegistry registry;
  registerDialects(registry);
  codegen::device::registerKernelDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    diagnostics += d.str() + " ";
    return success();
  });
  auto model = prepare(c, context);
  if (!model)
    return failureOf(model.takeError());
  auto sets = loadDataSets(c);
  if (!sets)
    return failureOf(sets.takeError());
  auto main = *model->module->getOps<func::FuncOp>().begin();
  for (const DataSet &set : llvm::ArrayRef(*sets).take_front(1)) {
    if (set.inputs.size() != main.getNumArguments())
      return {Outcome::Refused, "keeps state"};
    auto wrong = test::simulateLaunches(main, set.inputs, *model->weights, *arch);
    if (!wrong)
      return failureOf(wrong.takeError());
    if (!wrong->empty())
      return {diagnostics.empty() ? Outcome::Wrong : Outcome::Refused,
              wrong->front() + " " + diagnostics};
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (llvm::StringRef(argv[i]) == "--only")
      only = argv[i + 1];
    else
      arch = GpuArch::find(argv[i + 1]);
  }
  auto all = enumerateCases(TCC_ONNX_TEST_DATA);
  if (!all || !arch) {
    llvm::errs() << (all ? "unknown architecture" : llvm::toString(all.takeError())) << '\n';
    return 2;
  }
  std::vector<Case> cases;
  for (const Case &c : *all)
    if (llvm::StringRef(c.name).contains(only))
      cases.push_back(c);
  auto results = runInWorkers(cases, runCase, {});
  printReasons(llvm::outs(), cases, results);
  size_t counts[4] = {};
  for (const Result &result : results)
    ++counts[static_cast<int>(result.outcome)];
  llvm::outs() << counts[0] << " passed, " << counts[1] << " wrong, " << counts[2] << " refused, "
               << counts[3] << " broken\n";
  return counts[1] + counts[3] != 0;
}
