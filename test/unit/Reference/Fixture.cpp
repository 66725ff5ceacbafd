#include "Fixture.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

namespace tcc::reference::testing {

static mlir::MLIRContext &context() {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  static bool loaded = [] {
    context
        .loadDialect<prim::PrimDialect, cpu::CpuDialect, kernel::KernelDialect,
                     mlir::math::MathDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect>();
    return true;
  }();
  (void)loaded;
  return context;
}

std::vector<std::string> unknownOperators() {
  std::vector<std::string> unknown;
  for (mlir::RegisteredOperationName name : context().getRegisteredOperationsByDialect("prim")) {
    llvm::StringRef op = name.stripDialect();
    bool state = op == "random_seed" || op == "random_draw"; // of the interpreter itself
    if (op != "if" && op != "while" && op != "yield" && !state && !isEvaluable(name))
      unknown.push_back(op.str());
  }
  return unknown;
}

Tensor counting(DType type, const Shape &shape) {
  Integers values(*elementCount(shape));
  std::iota(values.begin(), values.end(), 0);
  return ints(type, shape, values);
}

std::string typeText(DType type, llvm::ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream(text) << mlir::RankedTensorType::get(
      shape, prim::elementType(&context(), type));
  return text;
}

llvm::Expected<std::vector<Tensor>> tryRun(llvm::StringRef module, llvm::ArrayRef<Tensor> inputs,
                                           const WeightTable &weights,
                                           const EvaluateOptions *options) {
  INFO(module.str());
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(module, &context());
  REQUIRE(parsed);
  return evaluate(parsed->lookupSymbol<mlir::func::FuncOp>("main"), inputs, weights,
                  options ? *options : EvaluateOptions());
}

std::vector<Tensor> run(llvm::StringRef module, llvm::ArrayRef<Tensor> inputs,
                        const WeightTable &weights, const EvaluateOptions *options) {
  auto outputs = tryRun(module, inputs, weights, options);
  if (!outputs)
    FAIL(llvm::toString(outputs.takeError()));
  return *outputs;
}

std::string errorOf(llvm::StringRef module, llvm::ArrayRef<Tensor> inputs,
                    const WeightTable &weights) {
  auto outputs = tryRun(module, inputs, weights);
  REQUIRE(!outputs);
  return llvm::toString(outputs.takeError());
}

static std::string moduleText(llvm::StringRef op, llvm::ArrayRef<Tensor> operands,
                              llvm::StringRef attributes, llvm::StringRef resultTypes) {
  std::string arguments, names, types;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    llvm::StringRef comma = i ? ", " : "";
    std::string type = typeText(operand.dtype(), operand.shape());
    std::string name = "%" + std::to_string(i);
    arguments += (comma + "%a" + llvm::Twine(i) + ": " + type).str();
    names += (comma + "%a" + llvm::Twine(i)).str();
    types += (comma + type).str();
  }
  unsigned count = resultTypes.count("tensor<"), scalar = count == 0 ? 1 : count;
  std::string defined = "%r:" + std::to_string(scalar), returned;
  for (unsigned i = 0; i < scalar; ++i)
    returned += (i ? ", %r#" : "%r#") + std::to_string(i);
  return ("func.func @main(" + llvm::Twine(arguments) + ") -> (" + resultTypes + ") {\n  " +
          defined + " = \"prim." + op + "\"(" + names + ") {" + attributes + "} : (" + types +
          ") -> (" + resultTypes + ")\n  return " + returned + " : " + resultTypes + "\n}\n")
      .str();
}

std::vector<Tensor> results(llvm::StringRef op, llvm::ArrayRef<Tensor> operands,
                            llvm::StringRef attributes, llvm::StringRef resultTypes) {
  return run(moduleText(op, operands, attributes, resultTypes), operands);
}

Tensor result(llvm::StringRef op, llvm::ArrayRef<Tensor> operands, llvm::StringRef attributes,
              std::string resultType) {
  if (resultType.empty())
    resultType = typeText(operands[0].dtype(), operands[0].shape());
  return results(op, operands, attributes, resultType).front();
}

std::string failure(llvm::StringRef op, llvm::ArrayRef<Tensor> operands, llvm::StringRef attributes,
                    std::string resultType) {
  return errorOf(moduleText(op, operands, attributes, resultType), operands);
}

void checkReals(const Tensor &have, const Reals &want, double tolerance) {
  Reals values = have.reals();
  REQUIRE(values.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    INFO("element " << i << ": have " << values[i] << ", want " << want[i]);
    bool same = std::isnan(want[i]) ? std::isnan(values[i])
                                    : values[i] == want[i] || std::fabs(values[i] - want[i]) <=
                                                                  tolerance * std::fabs(want[i]);
    CHECK(same);
  }
}

void checkIntegers(const Tensor &have, const Integers &want) { CHECK(have.integers() == want); }

void checkShape(const Tensor &have, const Shape &want) {
  CHECK(Shape(have.shape().begin(), have.shape().end()) == want);
}

} // namespace tcc::reference::testing
