// The simplify phase keeps what the interpreter gives, to the last bit: for one exact
// primitive after another, and for primitives of edge values that are constants.
#include "EdgeValues.h"
#include "ElementwiseCases.h"
#include "PrimProgram.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

namespace {

/// A function of x with many results, each with a name for messages.
class Program {
public:
  explicit Program(const Tensor &x) : x(x), b(&primContext()) {
    module = mlir::ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToEnd(module->getBody());
    function =
        mlir::func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType(typeOf(x), {}));
    b.setInsertionPointToStart(function.addEntryBlock());
  }
  mlir::Value argument() { return function.getArgument(0); }
  /// An edge value at every point.
  mlir::Value constant(const Tensor &values, int64_t position) {
    Tensor element = pick(values, position);
    auto type = mlir::cast<mlir::RankedTensorType>(typeOf(element));
    auto splat = reference::attributeOf(element, type)
                     .resizeSplat(type.clone(llvm::ArrayRef<int64_t>(x.shape())));
    return prim::ConstantOp::create(b, b.getUnknownLoc(), splat.getType(), splat);
  }
  mlir::Value apply(const ElementwiseCase &c, mlir::ValueRange operands) {
    return c.build(b, operands);
  }
  void give(mlir::Value value, const std::string &name) {
    results.push_back(value);
    names.push_back(name);
  }
  void check();

private:
  static mlir::Type typeOf(const Tensor &x) {
    return mlir::RankedTensorType::get(x.shape(), prim::elementType(&primContext(), x.dtype()));
  }
  Tensor x;
  mlir::OpBuilder b;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> results;
  std::vector<std::string> names;
};

void Program::check() {
  mlir::func::ReturnOp::create(b, b.getUnknownLoc(), results);
  function.setType(
      b.getFunctionType(function.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  Outputs want = interpreted(*module, x);
  Model model;
  model.module = module->clone();
  PipelineOptions options;
  options.backend = llvm::cantFail(createBackend(kOwnBackend, {}));
  if (llvm::Error error = runPhases(model, Phase::Decompose, Phase::Simplify, options))
    FAIL(llvm::toString(std::move(error)));
  auto got = reference::evaluate(model.module->lookupSymbol<mlir::func::FuncOp>("main"), x,
                                 *model.weights);
  if (!got)
    FAIL(llvm::toString(got.takeError()));
  for (auto [name, w, g] : llvm::zip_equal(names, want, *got))
    for (int64_t i = 0; i < w.elements(); ++i)
      if (stepsBetween(w, g, i, true) > 0) {
        FAIL_CHECK(name << " of " << x.real(i) << ": " << w.real(i) << " becomes " << g.real(i));
        break;
      }
}

/// The cases whose operands are all of one type, which agree to the last bit.
std::vector<ElementwiseCase> exactCases(DType type, size_t operands) {
  std::vector<ElementwiseCase> cases;
  for (const ElementwiseCase &c : elementwiseCases())
    if (c.operands == std::vector<DType>(operands, type) && allowedSteps(c) == 0 && settlesZeros(c))
      cases.push_back(c);
  return cases;
}

} // namespace

TEST_CASE("one primitive after another means the same when simplified") {
  for (DType type : {DType::F32, DType::F16, DType::F8E5M2, DType::I4, DType::I8, DType::U8,
                     DType::U16, DType::I32, DType::U32, DType::I64, DType::Bool})
    DYNAMIC_SECTION(dtypeName(type).str()) {
      Program program(edgeValues(type));
      for (const ElementwiseCase &first : exactCases(type, 1)) {
        mlir::Value y = program.apply(first, program.argument());
        for (const ElementwiseCase &second : exactCases(first.result, 1))
          program.give(program.apply(second, y), second.text() + " of " + first.text());
      }
      program.check();
    }
}

TEST_CASE("primitives of constants mean the same when simplified") {
  for (DType type : {DType::F32, DType::F16, DType::I4, DType::U8, DType::I32, DType::U32,
                     DType::I64, DType::Bool})
    DYNAMIC_SECTION(dtypeName(type).str()) {
      Tensor values = edgeValues(type);
      Program program(values);
      int64_t step = std::max<int64_t>(1, values.elements() / 24);
      for (const ElementwiseCase &c : exactCases(type, 2))
        for (int64_t i = 0; i < values.elements(); i += step) {
          mlir::Value constant = program.constant(values, i), x = program.argument();
          std::string number = std::to_string(values.real(i));
          program.give(program.apply(c, {x, constant}), c.text() + " with " + number);
          program.give(program.apply(c, {constant, x}), c.text() + " on " + number);
          program.give(program.apply(c, {constant, program.constant(values, i / 2)}),
                       c.text() + " of constants, " + number);
        }
      program.check();
    }
}
