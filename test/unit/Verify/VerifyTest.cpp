// The verifier on a compiler that makes a mistake: `build` changes the model first.
#include "tcc/Verify/Verify.h"
#include "Driver/Artefact.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/Support/FileSystem.h"
#include <catch2/catch.hpp>

using namespace tcc;
using Mistake = std::function<void(mlir::ModuleOp)>;
/// A mistake that depends on how the model is compiled.
using MistakeOf = std::function<void(mlir::ModuleOp, VerifyBuild)>;

static constexpr const char *kModel = R"(
func.func @main(%x: tensor<?x8xf32> {graph.name = "x", graph.dims = ["N", 8]})
    -> (tensor<?x8xf32> {graph.name = "y"}) {
  %a = prim.sin %x : (tensor<?x8xf32>) -> tensor<?x8xf32> loc("first")
  %b = prim.exp %a : (tensor<?x8xf32>) -> tensor<?x8xf32> loc("second")
  %c = prim.add %b, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> loc("third")
  return %c : tensor<?x8xf32>
})";

static VerifyResult verifyWith(const MistakeOf &mistake, const char *source) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  DriverOptions driver;
  PipelineOptions pipeline;
  CpuTarget cpu = llvm::cantFail(CpuTarget::create("native"));
  pipeline.backend = llvm::cantFail(createBackend(kOwnBackend, {cpu, {}}));
  VerifyHooks hooks;
  hooks.load = [&]() -> llvm::Expected<Model> {
    Model model;
    model.module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    std::vector<char> first(4 * sizeof(float), 0);
    model.weights->addOwned("first", DType::F32, {4}, std::move(first));
    return std::move(model);
  };
  hooks.build = [&](Model &model, const std::string &path, VerifyBuild how) -> llvm::Error {
    mistake(*model.module, how);
    pipeline.fuse = how.fuse;
    pipeline.inPlace = how.inPlace;
    if (llvm::Error error = runPhases(model, Phase::Decompose, Phase::Plan, pipeline))
      return error;
    auto compiled = generateCode(model, pipeline);
    if (!compiled)
      return compiled.takeError();
    driver.input = driver.output = path;
    Artefact artefact;
    emit::OutputFiles files;
    auto noHash = [] { return ""; };
    if (llvm::Error error = artefact.write(model, *compiled, driver, pipeline.backend->target(),
                                           {"onnx", noHash}, files))
      return error;
    return files.commit();
  };
  llvm::SmallString<128> folder;
  REQUIRE(!llvm::sys::fs::createUniqueDirectory("verify-test", folder));
  std::string path = (folder + "/model.so").str();
  Model model = llvm::cantFail(hooks.load());
  llvm::cantFail(hooks.build(model, path, VerifyBuild()));
  VerifyResult result = llvm::cantFail(verify({path, ""}, hooks));
  llvm::sys::fs::remove_directories(folder);
  return result;
}

static VerifyResult verifyWith(const Mistake &mistake, const char *source = kModel) {
  return verifyWith([&](mlir::ModuleOp module, VerifyBuild) { mistake(module); }, source);
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

// Counts its runs in a state, changes its second input, and its third is complex.
static constexpr const char *kState = R"(
func.func @main(%x: tensor<4xf32> {graph.name = "x"},
                %m: tensor<4xf32> {graph.name = "m"},
                %z: tensor<4x2xf32> {graph.name = "z", graph.complex},
                %s: tensor<4xf32> {graph.name = "s", graph.state = "first"})
    -> (tensor<4xf32> {graph.name = "y"}, tensor<4xf32> {graph.mutates = "s"},
        tensor<4xf32> {graph.mutates = "m"}, tensor<4x2xf32> {graph.name = "w", graph.complex}) {
  %a = prim.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
  %b = prim.exp %a : (tensor<4xf32>) -> tensor<4xf32> loc("state")
  %c = prim.sin %m : (tensor<4xf32>) -> tensor<4xf32> loc("changed")
  %d = prim.neg %z : (tensor<4x2xf32>) -> tensor<4x2xf32> loc("complex")
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x2xf32>
})";

TEST_CASE("state, changed inputs and complex numbers are verified, over several runs") {
  VerifyResult result = verifyWith([](mlir::ModuleOp) {}, kState);
  CHECK(result.agrees);
  CHECK(result.text.find("agrees with the reference interpreter in 3 runs") == 0);
}

TEST_CASE("a wrong state is found in the run after it, and its node named") {
  auto mistake = [](mlir::ModuleOp module) {
    module.walk([](prim::ExpOp op) {
      mlir::OpBuilder b(op);
      op.replaceAllUsesWith(
          prim::Exp2Op::create(b, op.getLoc(), op.getType(), op.getX()).getResult());
      op.erase();
    });
  };
  VerifyResult result = verifyWith(mistake, kState);
  CHECK_FALSE(result.agrees);
  CHECK(result.text.find("node 'state'") != std::string::npos);
  CHECK(result.text.find("run 2, output 'y'") != std::string::npos);
}

TEST_CASE("a changed input that is wrong is found") {
  auto mistake = [](mlir::ModuleOp module) {
    module.walk([](prim::SinOp op) {
      mlir::OpBuilder b(op);
      op.replaceAllUsesWith(
          prim::CosOp::create(b, op.getLoc(), op.getType(), op.getX()).getResult());
      op.erase();
    });
  };
  VerifyResult result = verifyWith(mistake, kState);
  CHECK_FALSE(result.agrees);
  CHECK(result.text.find("node 'changed'") != std::string::npos);
  CHECK(result.text.find("changed input 'm'") != std::string::npos);
}

// Takes 16000 and 8000 only, and does something else for each.
static constexpr const char *kRate = R"(
func.func @main(%x: tensor<?x?xf32> {graph.name = "x", graph.dims = ["N", "T"]},
                %r: tensor<i64> {graph.name = "rate"}) -> (tensor<?x?xf32> {graph.name = "y"}) {
  %wide = prim.constant dense<16000> : tensor<i64>
  %narrow = prim.constant dense<8000> : tensor<i64>
  %w = prim.compare eq %r, %wide : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %n = prim.compare eq %r, %narrow : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %either = prim.or %w, %n : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %ok = prim.extract %either[0] : (tensor<i1>) -> i1
  prim.assert %ok, "what a rate"
  %is = prim.extract %w[0] : (tensor<i1>) -> i1
  %y = prim.if %is {
    %a = prim.sin %x : (tensor<?x?xf32>) -> tensor<?x?xf32>
    prim.yield %a : tensor<?x?xf32>
  } else {
    %b = prim.exp %x : (tensor<?x?xf32>) -> tensor<?x?xf32>
    prim.yield %b : tensor<?x?xf32>
  } : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
})";

TEST_CASE("integers that the model asks for are tried, and other sizes") {
  VerifyResult result = verifyWith([](mlir::ModuleOp) {}, kRate);
  CHECK(result.agrees);
  CHECK(result.text.find("in 5 runs") != std::string::npos);
  result = verifyWith(
      [](mlir::ModuleOp module) {
        module.walk([](prim::ExpOp op) {
          mlir::OpBuilder b(op);
          op.replaceAllUsesWith(
              prim::Exp2Op::create(b, op.getLoc(), op.getType(), op.getX()).getResult());
          op.erase();
        });
      },
      kRate);
  CHECK_FALSE(result.agrees);
}

/// Whether the nodes' values are no outputs: the model is compiled as the user gets it.
static bool isWhole(mlir::ModuleOp module) {
  return (*module.getOps<mlir::func::FuncOp>().begin()).getNumResults() == 1;
}

static void squareTheExponential(mlir::ModuleOp module) {
  module.walk([](prim::ExpOp op) {
    mlir::OpBuilder b(op->getBlock(), std::next(op->getIterator()));
    auto square = prim::MulOp::create(b, op.getLoc(), op.getType(), op.getResult(), op.getResult());
    op.getResult().replaceAllUsesExcept(square.getResult(), square);
  });
}

TEST_CASE("a fault where nothing else is an output is no rounding, and its part is named") {
  for (auto [plan, fuse, text] :
       {std::tuple(true, false, "without planning in place it agrees: a fault of plan"),
        std::tuple(false, true, "without fusion it agrees: a fault of fuse"),
        std::tuple(false, false, "without fusion and planning in place it differs as well")}) {
    VerifyResult result = verifyWith(
        [&](mlir::ModuleOp module, VerifyBuild how) {
          bool right = (plan && !how.inPlace) || (fuse && !how.fuse);
          if (isWhole(module) && !right)
            squareTheExponential(module);
        },
        kModel);
    INFO(result.text);
    CHECK_FALSE(result.agrees);
    CHECK(result.text.find("roundings do not explain it") != std::string::npos);
    CHECK(result.text.find(text) != std::string::npos);
  }
}

TEST_CASE("more nodes than are ever compiled together do not hide such a fault") {
  constexpr int count = 140;
  std::string source = "func.func @main(%v0: tensor<8xf32> {graph.name = \"x\"}) -> "
                       "(tensor<8xf32> {graph.name = \"y\"}) {\n";
  for (int i = 0; i < count; ++i) {
    std::string from = "%v" + std::to_string(i), to = "%v" + std::to_string(i + 1);
    source += to + (i % 2 ? " = prim.cos " : " = prim.sin ") + from +
              " : (tensor<8xf32>) -> tensor<8xf32> loc(\"node " + std::to_string(i) + "\")\n";
  }
  source += "%e = prim.exp %v" + std::to_string(count) +
            " : (tensor<8xf32>) -> tensor<8xf32> loc(\"last\")\n"
            "return %e : tensor<8xf32>\n}";
  VerifyResult result = verifyWith(
      [&](mlir::ModuleOp module, VerifyBuild) {
        if (isWhole(module))
          squareTheExponential(module);
      },
      source.c_str());
  INFO(result.text);
  CHECK_FALSE(result.agrees);
  CHECK(result.text.find("roundings do not explain it") != std::string::npos);
}

// The sine of numbers so large that their roundings are a part of a turn.
static constexpr const char *kAmplifies = R"(
func.func @main(%x: tensor<64xf32> {graph.name = "x"}) -> (tensor<64xf32> {graph.name = "y"}) {
  %c = prim.constant dense<3.0e5> : tensor<64xf32>
  %a = prim.mul %x, %c : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> loc("large")
  %b = prim.mul %a, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> loc("square")
  %y = prim.sin %b : (tensor<64xf32>) -> tensor<64xf32> loc("turned")
  return %y : tensor<64xf32>
})";

/// (x c) x as (x x) c: another rounding, and as good.
static void associate(mlir::ModuleOp module) {
  module.walk([](prim::SinOp op) {
    auto square = op.getX().getDefiningOp<prim::MulOp>();
    auto large = square.getLhs().getDefiningOp<prim::MulOp>();
    mlir::OpBuilder b(square);
    mlir::Value x = large.getLhs(), c = large.getRhs();
    mlir::Value xx = prim::MulOp::create(b, square.getLoc(), square.getType(), x, x);
    square->setOperands({xx, c});
  });
}

TEST_CASE("a model that amplifies roundings is not at fault") {
  VerifyResult result = verifyWith(associate, kAmplifies);
  INFO(result.text);
  CHECK(result.agrees);
  CHECK(result.text.find("the model amplifies roundings") != std::string::npos);
}

TEST_CASE("such a model does not hide what is not finite, or too far off") {
  for (double factor : {std::numeric_limits<double>::quiet_NaN(), 1000.0}) {
    VerifyResult result = verifyWith(
        [&](mlir::ModuleOp module, VerifyBuild) {
          associate(module);
          if (!isWhole(module))
            return;
          auto end =
              (*module.getOps<mlir::func::FuncOp>().begin()).getBody().front().getTerminator();
          mlir::OpBuilder b(end);
          mlir::Value y = end->getOperand(0);
          auto type = mlir::cast<mlir::RankedTensorType>(y.getType());
          auto value = mlir::DenseElementsAttr::get(type, static_cast<float>(factor));
          mlir::Value c = prim::ConstantOp::create(b, end->getLoc(), type, value);
          end->setOperand(0, prim::MulOp::create(b, end->getLoc(), type, y, c));
        },
        kAmplifies);
    INFO(result.text);
    CHECK_FALSE(result.agrees);
    CHECK(result.text.find("roundings do not explain it") != std::string::npos);
  }
}
