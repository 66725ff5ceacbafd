// Whole programs that torch.export wrote, as the graph dialect that they give: views become
// values, buffers are written back, subgraphs regions.
#include "tcc/Import/TorchExport/TorchExport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Import/ImportOptions.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/Support/raw_ostream.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;

namespace {

struct Imported {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  WeightTable weights;
  OwningOpRef<ModuleOp> module;
  std::string error;

  explicit Imported(llvm::StringRef file, const ImportOptions &options = {}) {
    auto result = importTorchExport((TCC_PT2_INPUTS + file).str(), options, weights, context);
    if (result)
      module = std::move(*result);
    else
      error = toString(result.takeError());
    INFO(error);
    if (module)
      REQUIRE(succeeded(verify(*module)));
  }

  func::FuncOp main() { return *module->getOps<func::FuncOp>().begin(); }
  std::string type() {
    std::string text;
    llvm::raw_string_ostream(text) << main().getFunctionType();
    return text;
  }
  std::vector<std::string> targets() {
    std::vector<std::string> list;
    main().walk<WalkOrder::PreOrder>(
        [&](graph::NodeOp node) { list.push_back(node.getTarget().str()); });
    return list;
  }
  graph::NodeOp node(llvm::StringRef target) {
    graph::NodeOp found;
    main().walk([&](graph::NodeOp node) { found = node.getTarget() == target ? node : found; });
    REQUIRE(found);
    return found;
  }
  template <typename T> static std::string str(T value) {
    std::string text;
    llvm::raw_string_ostream(text) << value;
    return text;
  }
};

using Targets = std::vector<std::string>;

} // namespace

TEST_CASE("a program without weights") {
  Imported m("sincos.pt2");
  CHECK(m.type() == "(tensor<4x3xf32>) -> tensor<4x3xf32>");
  CHECK(m.targets() == Targets{"cos.default", "sin.default"});
  auto name = dyn_cast<NameLoc>(m.node("cos.default").getLoc());
  REQUIRE(name);
  CHECK(name.getName() == "cos");
  auto line = dyn_cast<FileLineColLoc>(name.getChildLoc());
  REQUIRE(line);
  CHECK(line.getFilename().getValue().ends_with("export.py"));
}

TEST_CASE("arguments keep their names and kinds") {
  Imported m("convbn.pt2");
  CHECK(m.type() == "(tensor<1x3x5x5xf32>) -> tensor<1x4x5x5xf32>");
  graph::NodeOp conv = m.node("conv2d.default"), norm = m.node("batch_norm.default");
  CHECK(m.str(conv.attr("input")) == "#graph.operand<0>");
  CHECK(m.str(conv.attr("padding")) == "[1, 1]");
  CHECK(isa<UnitAttr>(conv.attr("bias")));
  CHECK(m.str(norm.attr("training")) == "false");
  CHECK(m.str(norm.attr("eps")) == "1.000000e-05 : f64");
  const Weight *weight = m.weights.lookup("conv.weight");
  REQUIRE(weight);
  CHECK(weight->bytes.size() == 4 * 3 * 3 * 3 * 4);
  CHECK(!m.weights.lookup("bn.num_batches_tracked"));
}

TEST_CASE("writes through views become values") {
  Imported m("inplace.pt2");
  CHECK(m.type() == "(tensor<4x3xf32>, tensor<3xf32>) -> "
                    "(tensor<12xf32>, tensor<3xf32>, tensor<3x4xf32>, tensor<3xf32>)");
  CHECK(m.targets() ==
        Targets{"mul.Tensor", "select.int", "add.Tensor", "select_scatter.default", "slice.Tensor",
                "mul.Tensor", "slice_scatter.default", "transpose.int", "select.int",
                "zero.default", "select_scatter.default", "transpose.int", "view.default",
                "select.int", "copy.default", "select.int", "add.Tensor", "t.default"});
  Signature signature(m.main());
  CHECK(signature.changedName(3) == "y");
  CHECK(signature.changedArgument(3) == 1u);
  CHECK(signature.isOutput(2));
}

TEST_CASE("both dialects write back the same inputs and buffers") {
  for (const char *file : {"kvcache.pt2", "kvcache_aten.pt2"}) {
    Imported m(file);
    CHECK(m.type() == "(tensor<2xi64>, tensor<2x2x3xf32>, tensor<2x8x3xf32>) -> "
                      "(tensor<2x3xf32>, tensor<2x8x3xf32>)");
    Signature signature(m.main());
    CHECK(signature.states() == llvm::SmallVector<unsigned>{2});
    CHECK(signature.firstValue(2) == "cache");
    CHECK(signature.changedArgument(1) == 2u);
    REQUIRE(m.weights.lookup("cache"));
    CHECK(m.weights.lookup("cache")->role == WeightRole::Buffer);
    CHECK(m.main().getOps<graph::WeightOp>().empty());
  }
  Imported aten("inplace_aten.pt2");
  CHECK(Signature(aten.main()).changedName(3) == "y");
}

TEST_CASE("batch normalisation in training changes its statistics") {
  Imported m("convbn_train.pt2");
  CHECK(m.main().getNumArguments() == 4);
  CHECK(m.main().getNumResults() == 4);
  CHECK(Signature(m.main()).changedName(2) == "bn.running_mean");
  CHECK(m.node("_native_batch_norm_legit_functional.default").getNumResults() == 5);
}

TEST_CASE("symbolic dims, computed numbers and constants among the outputs") {
  for (const char *file : {"dynamic.pt2", "dynamic_aten.pt2"}) {
    Imported m(file);
    CHECK(m.type() == "(tensor<?x?x4xf32>, tensor<?xf32>) -> "
                      "(tensor<?x?xf32>, tensor<?x?x4xf32>, tensor<f32>, tensor<i64>)");
    Signature signature(m.main());
    Port x = signature.argument(0), mask = signature.argument(1);
    CHECK(x.symbol(1) == mask.symbol(0));
    CHECK(x.symbol(0) != x.symbol(1));
    Symbol symbol = signature.symbol(x.symbol(1));
    CHECK(symbol.min == 1);
    CHECK(symbol.max == 8);
  }
}

TEST_CASE("dims that the user fixes") {
  ImportOptions options;
  options.shapes["x"] = {{std::nullopt, ""}, {7, ""}, {4, ""}};
  Imported m("dynamic.pt2", options);
  CHECK(m.type() == "(tensor<?x7x4xf32>, tensor<7xf32>) -> "
                    "(tensor<?x28xf32>, tensor<?x14x4xf32>, tensor<f32>, tensor<i64>)");
  options.shapes["x"][1].value = 9;
  CHECK_THAT(Imported("dynamic.pt2", options).error,
             Catch::Contains("is 9 by --shape x, but the model was exported for 1..8"));
  options.shapes["x"][1].value = 7;
  options.shapes["x"][2].value = 5;
  CHECK_THAT(Imported("dynamic.pt2", options).error, Catch::Contains("exported with 4"));
  options.shapes["x"].pop_back();
  CHECK_THAT(Imported("dynamic.pt2", options).error,
             Catch::Contains("gives 2 dims, the input has 3"));
  ImportOptions unknown;
  unknown.dims["N"] = {4, 4};
  CHECK_THAT(Imported("dynamic.pt2", unknown).error, Catch::Contains("--dim N: no input has"));
}

TEST_CASE("control flow becomes regions") {
  Imported cond("cond.pt2");
  graph::NodeOp branch = cond.node("cond");
  CHECK(branch.getDomain() == "higher_order");
  REQUIRE(branch.body("true_graph"));
  CHECK(branch.body("true_graph")->getNumArguments() == 0);
  Imported loop("loop.pt2");
  graph::NodeOp repeat = loop.node("while_loop");
  REQUIRE(repeat.body("body_fn"));
  CHECK(repeat.body("body_fn")->getNumArguments() == 2);
  CHECK(repeat.body("cond_fn")->front().getTerminator()->getNumOperands() == 1);
}

TEST_CASE("a wrapped subgraph is imported in place") {
  Imported m("nograd.pt2");
  CHECK(m.targets() == Targets{"add.Tensor", "sin.default", "mul.Tensor"});
}

TEST_CASE("tied, transposed and unsaved tensors") {
  Imported m("tied.pt2");
  CHECK(m.weights.names().size() == 4); // embedding and head are one
  const Weight *turned = m.weights.lookup("turned");
  REQUIRE(turned);
  CHECK(turned->shape == llvm::SmallVector<int64_t, 4>{3, 2});
  auto *values = reinterpret_cast<const float *>(turned->bytes.data());
  CHECK(std::vector<float>(values, values + 6) == std::vector<float>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("inputs in containers, constants left out") {
  Imported m("named.pt2");
  CHECK(m.main().getNumArguments() == 3);
  CHECK(m.main().getNumResults() == 2);
}

TEST_CASE("places and counts of unique floats are integers, though PyTorch 2.11 states floats") {
  Imported m("unique-2.11.pt2");
  std::vector<std::string> types;
  for (Type type : m.main().getFunctionType().getResults())
    types.push_back(Imported::str(cast<RankedTensorType>(type).getElementType()));
  INFO(m.type());
  CHECK(types.front() == "f32");
  for (size_t i = 1; i < types.size(); ++i)
    CHECK(types[i] == "i64");
  CHECK(types.size() > 1);
}
