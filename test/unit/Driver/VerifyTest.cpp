// The verifier on a compiler that makes a mistake: `build` changes the model first.
#include "Driver/Verify.h"
#include "Driver/Artefact.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/Support/FileSystem.h"
#include <catch2/catch.hpp>

using namespace tcc;
using Mistake = std::function<void(mlir::ModuleOp)>;

static constexpr const char *kModel = R"(
func.func @main(%x: tensor<?x8xf32> {graph.name = "x", graph.dims = ["N", 8]})
    -> (tensor<?x8xf32> {graph.name = "y"}) {
  %a = prim.sin %x : (tensor<?x8xf32>) -> tensor<?x8xf32> loc("first")
  %b = prim.exp %a : (tensor<?x8xf32>) -> tensor<?x8xf32> loc("second")
  %c = prim.add %b, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> loc("third")
  return %c : tensor<?x8xf32>
})";

static VerifyResult verifyWith(const Mistake &mistake) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  DriverOptions driver;
  PipelineOptions pipeline;
  pipeline.cpu = llvm::cantFail(CpuTarget::create("native"));
  VerifyHooks hooks;
  hooks.load = [&]() -> llvm::Expected<Model> {
    Model model;
    model.module = mlir::parseSourceString<mlir::ModuleOp>(kModel, &context);
    return std::move(model);
  };
  hooks.build = [&](Model &model, const std::string &path) -> llvm::Error {
    mistake(*model.module);
    if (llvm::Error error = runPhases(model, Phase::Decompose, Phase::Plan, pipeline))
      return error;
    auto compiled = generateCode(model, pipeline);
    if (!compiled)
      return compiled.takeError();
    driver.input = driver.output = path;
    return writeArtefact(model, *compiled, driver, pipeline.cpu, [] { return ""; }).takeError();
  };
  llvm::SmallString<128> folder;
  REQUIRE(!llvm::sys::fs::createUniqueDirectory("verify-test", folder));
  std::string path = (folder + "/model.so").str();
  Model model = llvm::cantFail(hooks.load());
  llvm::cantFail(hooks.build(model, path));
  VerifyResult result = llvm::cantFail(verify(path, hooks));
  llvm::sys::fs::remove_directories(folder);
  return result;
}

TEST_CASE("a model that is right agrees") {
  VerifyResult result = verifyWith([](mlir::ModuleOp) {});
  CHECK(result.agrees);
  CHECK(result.text.find("agrees with the reference interpreter") == 0);
}

TEST_CASE("the node that is wrong is named, not those after it") {
  VerifyResult result = verifyWith([](mlir::ModuleOp module) {
    module.walk([](prim::ExpOp op) {
      mlir::OpBuilder b(op);
      op.replaceAllUsesWith(
          prim::Exp2Op::create(b, op.getLoc(), op.getType(), op.getX()).getResult());
      op.erase();
    });
  });
  CHECK_FALSE(result.agrees);
  CHECK(result.text.find("node 'second'") != std::string::npos);
}

TEST_CASE("a mistake of fusion is narrowed to the nodes compiled together") {
  // Wrong only while the sine has no use besides the exponential.
  VerifyResult result = verifyWith([](mlir::ModuleOp module) {
    module.walk([](prim::ExpOp op) {
      if (op.getX().hasOneUse())
        op->setOperand(0, op.getX().getDefiningOp()->getOperand(0));
    });
  });
  CHECK_FALSE(result.agrees);
  CHECK(result.text.find("nodes 'first' to 'second' compiled together") != std::string::npos);
}
