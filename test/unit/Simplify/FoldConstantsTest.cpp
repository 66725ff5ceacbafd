//===- FoldConstantsTest.cpp - What folding computes, keeps and drops ----===//
//
// Folding may not grow a model, keep weights that nobody uses, or compute for minutes. Each test
// holds one of these bounds and the values.
//
//===----------------------------------------------------------------------===//
#include "tcc/Simplify/FoldConstants.h"
#include "catch2/catch.hpp"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"
#include <cstring>
#include <numeric>

using namespace tcc;
using reference::Tensor;

namespace {

struct Folded {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WeightTable weights;
  FoldStatistics statistics;
  std::string text;

  void addWeight(const char *name, DType type, llvm::ArrayRef<int64_t> shape) {
    std::vector<int64_t> values(*reference::elementCount(shape));
    std::iota(values.begin(), values.end(), 0);
    weights.add(name, Tensor::ofIntegers(type, shape, values).toWeight());
  }
  /// Folds `body` as @main's, which must keep its meaning.
  void fold(const std::string &function, llvm::ArrayRef<Tensor> inputs = {},
            const FoldOptions &options = {}) {
    context.loadDialect<prim::PrimDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(function, &context);
    REQUIRE(module);
    std::vector<Tensor> before = run(inputs);
    statistics = foldConstants(*module, weights, options);
    REQUIRE(mlir::succeeded(mlir::verify(*module)));
    llvm::raw_string_ostream(text) << *module;
    INFO(text);
    std::vector<Tensor> after = run(inputs);
    REQUIRE(before.size() == after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      CHECK(before[i].shape() == after[i].shape());
      CHECK(before[i].packed() == after[i].packed());
    }
  }
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> inputs) {
    auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
    auto outputs = reference::evaluate(main, inputs, weights);
    if (!outputs)
      FAIL(llvm::toString(outputs.takeError()));
    return *outputs;
  }
  unsigned count(llvm::StringRef op) { return llvm::StringRef(text).count(op); }
};

} // namespace

TEST_CASE("a chain on a weight becomes one weight, the old one goes") {
  Folded f;
  f.addWeight("w", DType::F16, {32, 16});
  f.fold(R"(func.func @main() -> tensor<16x32xf32> {
    %w = prim.weight "w" : tensor<32x16xf16>
    %f = prim.cast %w : (tensor<32x16xf16>) -> tensor<32x16xf32>
    %t = prim.transpose %f [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    return %t : tensor<16x32xf32>
  })");
  CHECK(f.weights.names() == std::vector<std::string>{"w.transpose"});
  CHECK(f.count("prim.weight \"w.transpose\"") == 1);
  CHECK(f.count("prim.") == 1);
  CHECK(f.statistics.folded == 2);
}

TEST_CASE("what nobody uses goes without being computed, its weight with it") {
  Folded f;
  f.addWeight("w", DType::F32, {32, 16});
  f.fold(R"(func.func @main() {
    %w = prim.weight "w" : tensor<32x16xf32>
    %t = prim.transpose %w [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    return
  })");
  CHECK(f.count("prim.") == 0);
  CHECK(f.weights.names().empty());
  CHECK(f.statistics.folded == 0);
}

TEST_CASE("a batch-norm scale folds into the weight through its broadcast") {
  Folded f;
  f.addWeight("w", DType::F32, {8, 4, 3, 3});
  f.addWeight("scale", DType::F32, {8});
  f.fold(R"(func.func @main() -> tensor<8x4x3x3xf32> {
    %w = prim.weight "w" : tensor<8x4x3x3xf32>
    %s = prim.weight "scale" : tensor<8xf32>
    %b = prim.broadcast %s axes [0] sizes() : (tensor<8xf32>) -> tensor<8x4x3x3xf32>
    %m = prim.mul %w, %b : (tensor<8x4x3x3xf32>, tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xf32>
    return %m : tensor<8x4x3x3xf32>
  })");
  CHECK(f.weights.names() == std::vector<std::string>{"w.mul"});
  CHECK(f.count("prim.") == 1);
}

TEST_CASE("what only grows is left to the kernels") {
  Folded f;
  f.addWeight("bias", DType::F32, {128});
  f.fold(R"(func.func @main() -> (tensor<64x128xf32>, tensor<64x64xi1>) {
    %b = prim.weight "bias" : tensor<128xf32>
    %0 = prim.broadcast %b axes [1] sizes() : (tensor<128xf32>) -> tensor<64x128xf32>
    %r = prim.iota 0 sizes() : tensor<64x64xi32>
    %c = prim.iota 1 sizes() : tensor<64x64xi32>
    %m = prim.compare ge %r, %c : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
    return %0, %m : tensor<64x128xf32>, tensor<64x64xi1>
  })");
  CHECK(f.statistics.folded == 0);
  CHECK(f.count("prim.broadcast") == 1);
  CHECK(f.count("prim.iota") == 2);
  CHECK(f.weights.names() == std::vector<std::string>{"bias"});
}

TEST_CASE("but what they come down to is computed") {
  Folded f;
  f.fold(R"(func.func @main() -> tensor<i64> {
    %r = prim.iota 0 sizes() : tensor<1000xi64>
    %s = prim.reduce sum %r [0] : (tensor<1000xi64>) -> tensor<i64>
    return %s : tensor<i64>
  })");
  CHECK(f.count("prim.constant dense<499500>") == 1);
  CHECK(f.count("prim.iota") == 0);
}

TEST_CASE("splats stay splat, whatever their size") {
  Folded f;
  // Only one element is returned: the whole would not fit in memory.
  f.fold(R"(func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %a = prim.constant dense<2.0> : tensor<f32>
    %b = prim.broadcast %a axes [] sizes() : (tensor<f32>) -> tensor<2x50xf32>
    %n = prim.neg %b : (tensor<2x50xf32>) -> tensor<2x50xf32>
    %m = prim.mul %n, %b : (tensor<2x50xf32>, tensor<2x50xf32>) -> tensor<2x50xf32>
    %t = prim.transpose %m [1, 0] : (tensor<2x50xf32>) -> tensor<50x2xf32>
    %c = prim.concat %t, %t axis 0 : (tensor<50x2xf32>, tensor<50x2xf32>) -> tensor<100x2xf32>
    %i = prim.cast %c : (tensor<100x2xf32>) -> tensor<100x2xi32>
    %k = prim.compare lt %i, %i : (tensor<100x2xi32>, tensor<100x2xi32>) -> tensor<100x2xi1>
    %s = prim.slice %c starts [0, 0] () steps [1, 1] sizes() : (tensor<100x2xf32>) -> tensor<1x2xf32>
    %r = prim.reshape %s sizes() : (tensor<1x2xf32>) -> tensor<2xf32>
    %y = prim.add %x, %r : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  })",
         {Tensor::ofReals(DType::F32, {2}, {1, 2})});
  CHECK(f.count("prim.constant dense<-4.000000e+00> : tensor<2xf32>") == 1);
  CHECK(f.count("prim.") == 2);
  Folded huge;
  huge.context.loadDialect<prim::PrimDialect, mlir::func::FuncDialect>();
  huge.module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(func.func @main() -> tensor<1000000x1000000xf32> {
    %a = prim.constant dense<2.0> : tensor<1000000x1000000xf32>
    %n = prim.neg %a : (tensor<1000000x1000000xf32>) -> tensor<1000000x1000000xf32>
    return %n : tensor<1000000x1000000xf32>
  })",
      &huge.context);
  CHECK(foldConstants(*huge.module, huge.weights).folded == 1);
}

TEST_CASE("small weights and splat weights become constants") {
  Folded f;
  f.addWeight("shape", DType::I64, {3});
  f.weights.add("ones", Tensor::ofReals(DType::F32, {100}, std::vector<double>(100, 1)).toWeight());
  f.addWeight("unused", DType::F32, {100});
  f.fold(R"(func.func @main() -> (tensor<3xi64>, tensor<100xf32>) {
    %a = prim.weight "shape" : tensor<3xi64>
    %b = prim.weight "ones" : tensor<100xf32>
    return %a, %b : tensor<3xi64>, tensor<100xf32>
  })");
  CHECK(f.count("prim.constant dense<[0, 1, 2]>") == 1);
  CHECK(f.count("prim.constant dense<1.000000e+00>") == 1);
  CHECK(f.weights.names().empty());
  CHECK(f.statistics.droppedWeights == 3);
}

TEST_CASE("a reshaped weight shares its bytes") {
  Folded f;
  f.addWeight("w", DType::F32, {10, 20});
  const char *bytes = f.weights.lookup("w")->bytes.data();
  f.fold(R"(func.func @main() -> tensor<200xf32> {
    %w = prim.weight "w" : tensor<10x20xf32>
    %r = prim.reshape %w sizes() : (tensor<10x20xf32>) -> tensor<200xf32>
    return %r : tensor<200xf32>
  })");
  CHECK(f.weights.lookup("w.reshape")->bytes.data() == bytes);
}

TEST_CASE("a weight that is still used stays") {
  Folded f;
  f.addWeight("w", DType::I4, {100});
  f.fold(R"(func.func @main(%x: tensor<100xi4>) -> (tensor<100xi4>, tensor<100xi4>) {
    %w = prim.weight "w" : tensor<100xi4>
    %r = prim.reverse %w [0] : (tensor<100xi4>) -> tensor<100xi4>
    %s = prim.add %x, %w : (tensor<100xi4>, tensor<100xi4>) -> tensor<100xi4>
    return %r, %s : tensor<100xi4>, tensor<100xi4>
  })",
         {Tensor::ofIntegers(DType::I4, {100}, std::vector<int64_t>(100, 3))});
  CHECK(f.weights.names() == std::vector<std::string>{"w", "w.reverse"});
  CHECK(f.weights.lookup("w.reverse")->bytes.size() == 50);
}

TEST_CASE("extents that become known: users keep their types") {
  Folded f;
  f.fold(R"(func.func @main() -> (tensor<?xi64>, tensor<?xi64>, index) {
    %x = prim.constant dense<[0, 3, 0, 4]> : tensor<4xi64>
    %n = prim.nonzero %x : (tensor<4xi64>) -> tensor<1x?xi64>
    %d = prim.dim %n, 1 : tensor<1x?xi64>
    %r = prim.reshape %n sizes(%d) : (tensor<1x?xi64>) -> tensor<?xi64>
    %y = prim.neg %r : (tensor<?xi64>) -> tensor<?xi64>
    return %r, %y, %d : tensor<?xi64>, tensor<?xi64>, index
  })");
  CHECK(f.count("prim.nonzero") == 0);
  CHECK(f.count("arith.constant 2 : index") >= 1);
}

TEST_CASE("regions, host scalars and what must not be folded") {
  Folded f;
  f.fold(R"(func.func @main(%c: i1) -> (tensor<2xf32>, i64, f32) {
    %a = prim.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %zero = arith.constant 0 : i64
    %seven = arith.constant 7 : i64
    %0 = prim.if %c {
      %1 = prim.add %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      prim.yield %1 : tensor<2xf32>
    } else {
      %2 = arith.divsi %seven, %zero : i64
      %t = prim.from_elements %2, %2 : (i64, i64) -> tensor<2xf32>
      prim.yield %t : tensor<2xf32>
    } : tensor<2xf32>
    %m = arith.muli %seven, %seven : i64
    %e = prim.extract %a[1] : (tensor<2xf32>) -> f32
    return %0, %m, %e : tensor<2xf32>, i64, f32
  })",
         {Tensor::ofIntegers(DType::Bool, {}, 1)});
  CHECK(f.count("dense<[2.000000e+00, 4.000000e+00]>") == 1);
  CHECK(f.count("arith.divsi") == 1); // fails only if it runs
  CHECK(f.count("arith.constant 49 : i64") == 1);
  CHECK(f.count("prim.extract") == 0);
}

TEST_CASE("large products are left to the machine") {
  Folded f;
  f.addWeight("a", DType::F32, {64, 64});
  FoldOptions options;
  options.work = 1000;
  f.fold(R"(func.func @main() -> tensor<64x64xf32> {
    %a = prim.weight "a" : tensor<64x64xf32>
    %p = prim.dot %a, %a batch [] x [] contract [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %n = prim.neg %p : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %n : tensor<64x64xf32>
  })",
         {}, options);
  CHECK(f.statistics.folded == 0);
}
