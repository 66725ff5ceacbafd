// Runs ONNX's backend cases by import, decompose and the reference interpreter:
// tests the rules by themselves.
//
//   conformance-reference [DATA] [--models DIR] [--only TEXT] [--ir] [--no-run]
//
// --models DIR: the folders with a model.onnx and data sets right below DIR instead.
// --ir: prints the primitives. --no-run: decomposes only.
#include "Agreement.h"
#include "Chance.h"
#include "Report.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Decompose/Rules.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/WeightTable.h"

using namespace tcc;
using namespace tcc::conformance;
using reference::Tensor;

namespace {

bool printIr = false, noRun = false;

/// A UserError refuses the case, any other error is our fault.
Result failureOf(llvm::Error error) {
  Outcome outcome = error.isA<UserError>() ? Outcome::Refused : Outcome::Broken;
  return {outcome, llvm::toString(std::move(error))};
}

Result runCase(const Case &c) {
  mlir::MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<prim::PrimDialect, graph::GraphDialect, mlir::func::FuncDialect,
                      mlir::arith::ArithDialect, mlir::math::MathDialect>();
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    diagnostics += d.str() + " ";
    return mlir::success();
  });
  WeightTable weights;
  ImportOptions options;
  options.hasRule = [](llvm::StringRef domain, llvm::StringRef op, int64_t version) {
    return allRules().lookup(domain, op, version) != nullptr;
  };
  auto module = importOnnx(c.model, options, weights, context);
  if (!module)
    return failureOf(module.takeError());
  if (llvm::Error error = decompose(**module, weights))
    return failureOf(std::move(error));
  if (printIr)
    (*module)->print(llvm::errs());
  if (mlir::failed(mlir::verify(**module)))
    return {Outcome::Broken, "invalid IR: " + diagnostics};
  if (noRun)
    return {};
  auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
  auto sets = loadDataSets(c);
  if (!sets)
    return failureOf(sets.takeError());
  reference::RandomState random;
  reference::EvaluateOptions evaluation;
  evaluation.random = &random;
  auto run = [&](llvm::ArrayRef<Tensor> inputs) {
    return reference::evaluate(main, inputs, weights, evaluation);
  };
  for (const DataSet &set : *sets) {
    if (isRandom(c)) {
      if (auto what = unlikelihood(c, set, run))
        return {Outcome::Wrong, *what};
      continue;
    }
    auto outputs = run(set.inputs);
    if (!outputs)
      return {Outcome::Wrong, "at run time: " + llvm::toString(outputs.takeError())};
    if (auto what = disagreement(*outputs, set.outputs, c.rtol, c.atol))
      return {Outcome::Wrong, *what};
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  std::string data = TCC_ONNX_TEST_DATA, models, only;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--only" && i + 1 < argc)
      only = argv[++i];
    else if (argument == "--models" && i + 1 < argc)
      models = argv[++i];
    else if (argument == "--ir")
      printIr = true;
    else if (argument == "--no-run")
      noRun = true;
    else
      data = argument.str();
  }
  auto all = models.empty() ? enumerateCases(data) : enumerateModels(models);
  if (!all) {
    llvm::errs() << llvm::toString(all.takeError()) << '\n';
    return 1;
  }
  std::vector<Case> cases;
  for (const Case &c : *all)
    if (llvm::StringRef(c.name).contains(only))
      cases.push_back(c);
  auto results = runCases(cases, runCase);
  printReasons(llvm::outs(), cases, results);
  printByOperator(llvm::outs(), cases, results);
  return 0;
}
