// Every elementwise primitive on every element type, over edge values: compiled code for
// each baseline of x86-64 against the reference interpreter.
#include "EdgeValues.h"
#include "ElementwiseCases.h"
#include "PrimProgram.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;
using Cases = std::vector<ElementwiseCase>;

namespace {

/// The cases that take the same operands.
std::map<std::vector<DType>, Cases> casesByOperands() {
  std::map<std::vector<DType>, Cases> groups;
  for (const ElementwiseCase &c : elementwiseCases())
    groups[c.operands].push_back(c);
  return groups;
}

/// Arguments of these types; of the two that are compared or chosen from, pairs.
std::vector<Tensor> argumentsOf(const std::vector<DType> &types) {
  if (types.size() == 1)
    return {edgeValues(types[0], 2000)};
  auto [x, y] = edgePairs(types.back());
  if (types.size() == 2)
    return {x, y};
  std::vector<int64_t> truth;
  for (int64_t i = 0; i < x.elements(); ++i)
    truth.push_back(i % 3 == 0);
  Tensor first = Tensor::ofIntegers(types[0], x.shape(), truth);
  return {first, x, y};
}

mlir::OwningOpRef<mlir::ModuleOp> moduleOf(llvm::ArrayRef<ElementwiseCase> cases,
                                           llvm::ArrayRef<Tensor> arguments) {
  mlir::OpBuilder b(&primContext());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(b.getUnknownLoc());
  llvm::SmallVector<mlir::Type> types;
  for (const Tensor &x : arguments)
    types.push_back(
        mlir::RankedTensorType::get(x.shape(), prim::elementType(&primContext(), x.dtype())));
  b.setInsertionPointToEnd(module->getBody());
  auto function =
      mlir::func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType(types, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  llvm::SmallVector<mlir::Value> results;
  for (const ElementwiseCase &c : cases)
    results.push_back(c.build(b, function.getArguments()));
  mlir::func::ReturnOp::create(b, b.getUnknownLoc(), results);
  function.setType(b.getFunctionType(types, mlir::ValueRange(results).getTypes()));
  return module;
}

std::string argumentText(llvm::ArrayRef<Tensor> arguments, int64_t position) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Tensor &x : arguments) {
    os << (text.empty() ? "" : ", ");
    if (isFloat(x.dtype()))
      os << llvm::format("%a", x.real(position));
    else
      os << x.integer(position);
  }
  return text;
}

/// Registers hold narrow floats as f32: which of the NaNs one is gets lost on the way.
bool showsBitsOfNan(const ElementwiseCase &c, const Tensor &x, int64_t position) {
  return c.op.getStringRef() == prim::BitcastOp::getOperationName() && isFloat(x.dtype()) &&
         bitWidth(x.dtype()) < 32 && std::isnan(x.real(position));
}

/// e^-x has no f32 where logistic(x) is below the smallest normal number.
bool losesSubnormals(const ElementwiseCase &c, const Tensor &want, const Tensor &got,
                     int64_t position) {
  return c.op.getStringRef() == prim::LogisticOp::getOperationName() && c.result != DType::F64 &&
         std::fabs(want.real(position)) < 0x1p-126 && got.real(position) == 0;
}

void compare(const ElementwiseCase &c, llvm::ArrayRef<Tensor> arguments, const Tensor &want,
             const Tensor &got) {
  int64_t wrong = 0, worstAt = 0;
  uint64_t worst = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    uint64_t steps = stepsBetween(want, got, i, settlesZeros(c));
    if (showsBitsOfNan(c, arguments[0], i) || losesSubnormals(c, want, got, i))
      continue;
    wrong += steps > allowedSteps(c);
    if (steps > worst) {
      worst = steps;
      worstAt = i;
    }
  }
  if (wrong == 0)
    return;
  FAIL_CHECK(c.text() << " differs at " << wrong << " of " << want.elements() << " points, most, "
                      << "by " << worst << " steps, at (" << argumentText(arguments, worstAt)
                      << "): code gives " << argumentText(got, worstAt) << ", the interpreter "
                      << argumentText(want, worstAt));
}

/// One model of all cases, or halves of it until what does not compile is alone.
void check(llvm::ArrayRef<ElementwiseCase> cases, llvm::ArrayRef<Tensor> arguments,
           const std::string &cpu) {
  auto module = moduleOf(cases, arguments);
  llvm::Expected<Outputs> got = compiled(*module, arguments, cpu);
  if (!got) {
    std::string error = llvm::toString(got.takeError());
    if (cases.size() == 1)
      FAIL_CHECK(cases[0].text() << ": " << error);
    if (cases.size() == 1)
      return;
    check(cases.take_front(cases.size() / 2), arguments, cpu);
    return check(cases.drop_front(cases.size() / 2), arguments, cpu);
  }
  Outputs want = interpreted(*module, arguments);
  REQUIRE(want.size() == got->size());
  for (auto [c, w, g] : llvm::zip_equal(cases, want, *got))
    compare(c, arguments, w, g);
}

std::string text(const std::vector<DType> &types) {
  std::string text;
  for (DType type : types)
    text += (text.empty() ? "" : " ") + dtypeName(type).str();
  return text;
}

} // namespace

TEST_CASE("every elementwise primitive has a case") {
  CHECK(primitivesWithoutCase() == std::vector<std::string>());
  CHECK(elementwiseCases().size() > 500);
}

TEST_CASE("compiled elementwise primitives agree with the interpreter") {
  constexpr size_t kAtOnce = 24;
  for (const std::string &cpu : runnableCpus())
    for (const auto &[types, all] : casesByOperands())
      DYNAMIC_SECTION(cpu << " " << text(types)) {
        std::vector<Tensor> arguments = argumentsOf(types);
        for (llvm::ArrayRef<ElementwiseCase> rest = all; !rest.empty();) {
          auto cases = rest.take_front(kAtOnce);
          rest = rest.drop_front(cases.size());
          check(cases, arguments, cpu);
        }
      }
}

// A NaN is the lowest integer on the way, whose lower bits are those of 0.
TEST_CASE("floats that become narrow integers by way of wide ones agree with the interpreter") {
  for (DType type : {DType::F32, DType::F64}) {
    std::vector<Tensor> arguments = {edgeValues(type, 100)};
    std::string size = "tensor<" + std::to_string(arguments[0].elements()) + "x";
    std::string x = size + (type == DType::F32 ? "f32>" : "f64>"), body, results, types;
    for (std::string wide : {"i32", "i64"})
      for (std::string narrow : {"i8", "i16"}) {
        std::string name = "%" + wide + narrow, between = size + wide + ">",
                    y = size + narrow + ">";
        body += name + "w = prim.cast %x : (" + x + ") -> " + between + "\n" + name +
                " = prim.cast " + name + "w : (" + between + ") -> " + y + "\n";
        results += (results.empty() ? "" : ", ") + name;
        types += (types.empty() ? "" : ", ") + y;
      }
    auto module = mlir::parseSourceString<mlir::ModuleOp>("func.func @main(%x: " + x + ") -> (" +
                                                              types + ") {\n" + body + "return " +
                                                              results + " : " + types + "\n}\n",
                                                          &primContext());
    REQUIRE(module);
    Outputs want = interpreted(*module, arguments);
    for (const std::string &cpu : runnableCpus()) {
      INFO(cpu << " " << dtypeName(type).str());
      llvm::Expected<Outputs> got = compiled(*module, arguments, cpu);
      if (!got)
        FAIL(llvm::toString(got.takeError()));
      for (auto [w, g] : llvm::zip_equal(want, *got))
        CHECK(w.reals() == g.reals());
    }
  }
}
