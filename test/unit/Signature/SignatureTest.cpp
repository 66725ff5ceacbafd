// What an importer states of a model is read by everybody after it through one class: written and
// read back, it is the same.
#include "tcc/Signature/Signature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;

namespace {

struct Model {
  explicit Model(llvm::StringRef text) : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    REQUIRE(module);
    main = module->lookupSymbol<func::FuncOp>("main");
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
};

constexpr llvm::StringLiteral kBare =
    "func.func private @main(tensor<?x4xf32>, tensor<8x4xf32>) -> (tensor<?xf32>, tensor<8x4xf32>)";

} // namespace

TEST_CASE("what an importer states is read back") {
  Model model(kBare);
  Builder b(&model.context);
  Signature signature(model.main);
  signature.setArgument(0, "x", b.getArrayAttr({b.getStringAttr("N"), b.getI64IntegerAttr(4)}));
  signature.setArgument(1, "cache", b.getArrayAttr({}));
  signature.setState(1, "cache.first");
  signature.setResult(0, "y", b.getArrayAttr({b.getStringAttr("?")}));
  signature.setResult(1, "cache.1", b.getArrayAttr({}));
  signature.setChange(1, "cache");
  signature.setRanges({{"N", 2, 7}});
  signature.setComplexResult(0);

  CHECK(signature.argument(0).name == "x");
  CHECK(signature.argument(0).symbol(0) == "N");
  CHECK(signature.argument(0).symbol(1).empty());
  CHECK(signature.argument(0).symbol(2).empty());
  CHECK_FALSE(signature.isState(0));
  CHECK(signature.firstValue(1) == "cache.first");
  CHECK(signature.states() == SmallVector<unsigned>{1});
  CHECK(signature.result(0).symbol(0).empty()); // "?" is no name
  CHECK(signature.result(0).isComplex);
  CHECK_FALSE(signature.argument(0).isComplex);
  CHECK(signature.isOutput(0));
  CHECK_FALSE(signature.changedArgument(0));
  CHECK(signature.changedArgument(1) == 1u);
  CHECK(signature.symbol("N").min == 2);
  CHECK(signature.symbol("N").max == 7);
  CHECK(signature.symbol("M").max == INT64_MAX);
  REQUIRE(signature.rangedSymbols().size() == 1);
  CHECK(signature.rangedSymbols()[0].name == "N");
}

TEST_CASE("a model that says nothing has no names") {
  Model model(kBare);
  Signature signature(model.main);
  CHECK(signature.argument(0).name.empty());
  CHECK(signature.argument(0).symbol(0).empty());
  CHECK(signature.states().empty());
  CHECK(signature.isOutput(1));
  CHECK(signature.rangedSymbols().empty());
}

TEST_CASE("a change of what is no argument is one nevertheless") {
  Model model(kBare);
  Signature signature(model.main);
  signature.setChange(1, "lost");
  CHECK_FALSE(signature.isOutput(1));
  CHECK(signature.changedName(1) == "lost");
  CHECK_FALSE(signature.changedArgument(1));
}
