// Operators that change a part of a tensor: the order of updates that meet, indices outside, parts
// of odd sizes, fewer indices than elements, and operators that join the kernel.
#include "PrimProgram.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

namespace {

/// Numbers whose sums are exact in all types; `high` bounds indices, of which some lie outside.
Tensor reals(DType type, llvm::ArrayRef<int64_t> shape) {
  std::vector<double> values;
  for (int64_t i = 0, n = *reference::elementCount(shape); i < n; ++i)
    values.push_back(static_cast<double>(i * 7 % 5 - 1));
  return Tensor::ofReals(type, shape, values);
}

Tensor positions(llvm::ArrayRef<int64_t> shape, int64_t high) {
  std::vector<int64_t> values;
  for (int64_t i = 0, n = *reference::elementCount(shape); i < n; ++i)
    values.push_back((i * 13 + i / 3) % (high + 2) - 1);
  return Tensor::ofIntegers(DType::I64, shape, values);
}

/// The body of @main, with its arguments and their results, on every CPU.
void check(const std::string &text, llvm::ArrayRef<Tensor> inputs) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &primContext());
  REQUIRE(module);
  Outputs want = interpreted(*module, inputs);
  for (const std::string &cpu : runnableCpus()) {
    INFO(cpu << ": " << text);
    llvm::Expected<Outputs> got = compiled(*module, inputs, cpu);
    if (!got)
      FAIL(llvm::toString(got.takeError()));
    for (auto [w, g] : llvm::zip_equal(want, *got)) {
      CHECK(w.shape() == g.shape());
      CHECK(w.reals() == g.reals());
    }
  }
}

} // namespace

TEST_CASE("slices along an axis are added in order") {
  for (std::string kind : {"assign", "add", "max"})
    for (DType type : {DType::F32, DType::BF16, DType::I8})
      for (int64_t width : {1, 3, 16, 61, 300}) {
        std::string e = type == DType::F32 ? "f32" : type == DType::BF16 ? "bf16" : "i8";
        std::string w = std::to_string(width), x = "tensor<23x" + w + "x" + e + ">";
        std::string u = "tensor<70x" + w + "x" + e + ">";
        check(
            "func.func @main(%x: " + x + ", %i: tensor<70x1xi64>, %u: " + u + ") -> (" + x + ", " +
                x + ") {\n" + "  %a = prim.scatter_nd " + kind + " %x, %i, %u : (" + x +
                ", tensor<70x1xi64>, " + u + ") -> " + x + "\n" +
                "  %b = prim.broadcast %i axes [0, 1] sizes() : (tensor<70x1xi64>) -> tensor<70x" +
                w + "xi64>\n" + "  %c = prim.scatter_along " + kind + " %x, %b, %u axis 0 : (" + x +
                ", tensor<70x" + w + "xi64>, " + u + ") -> " + x + "\n" + "  return %a, %c : " + x +
                ", " + x + "\n}\n",
            {reals(type, {23, width}), positions({70, 1}, 23), reals(type, {70, width})});
      }
}

TEST_CASE("rows are updated by runs") {
  for (std::string kind : {"assign", "add", "mul", "min"})
    for (auto [type, e] : {std::pair(DType::F32, "f32"), {DType::BF16, "bf16"}, {DType::I8, "i8"}})
      for (int64_t width : {1, 16, 61}) {
        auto tensor = [&](const std::string &rows) {
          return "tensor<" + rows + "x" + std::to_string(width) + "x" + e + ">";
        };
        // Begins in no order, before and past the ends, make runs that are empty.
        check("func.func @main(%x: " + tensor("23") + ", %i: tensor<23xi64>, %u: " + tensor("40") +
                  ") -> " + tensor("23") + " {\n  %a = prim.scatter_runs " + kind +
                  " %x, %i, %u : (" + tensor("23") + ", tensor<23xi64>, " + tensor("40") + ") -> " +
                  tensor("23") + "\n  return %a : " + tensor("23") + "\n}\n",
              {reals(type, {23, width}), positions({23}, 42), reals(type, {40, width})});
      }
  check(R"(
func.func @main(%x: tensor<?xf32>, %i: tensor<?xi32>, %t: tensor<90xf32>, %r: tensor<?xi64>) -> tensor<?xf32> {
  %u = prim.take %t, %r axis 0 : (tensor<90xf32>, tensor<?xi64>) -> tensor<?xf32>
  %a = prim.scatter_runs add %x, %i, %u : (tensor<?xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}
)",
        {reals(DType::F32, {6}), Tensor::ofIntegers(DType::I32, {6}, {1, 1, 4, 4, 9, 20}),
         reals(DType::F32, {90}), positions({21}, 88)});
}

TEST_CASE("updates are fewer than the tensor's elements along other axes") {
  check(
      R"(
func.func @main(%x: tensor<5x9x331xf32>, %i: tensor<3x9x170xi64>, %u: tensor<3x9x170xf32>)
    -> (tensor<5x9x331xf32>, tensor<5x9x331xf32>) {
  %a = prim.scatter_along add %x, %i, %u axis 1
    : (tensor<5x9x331xf32>, tensor<3x9x170xi64>, tensor<3x9x170xf32>) -> tensor<5x9x331xf32>
  %b = prim.scatter_along assign %x, %i, %u axis 2
    : (tensor<5x9x331xf32>, tensor<3x9x170xi64>, tensor<3x9x170xf32>) -> tensor<5x9x331xf32>
  return %a, %b : tensor<5x9x331xf32>, tensor<5x9x331xf32>
}
)",
      {reals(DType::F32, {5, 9, 331}), positions({3, 9, 170}, 9), reals(DType::F32, {3, 9, 170})});
}

TEST_CASE("what is before a scatter joins it, extents known or not") {
  std::string text = R"(
func.func @main(%x: tensor<40x?xf32>, %t: tensor<11x?xf32>, %i: tensor<30xi32>, %r: tensor<30xi32>)
    -> tensor<40x?xf32> {
  %n = prim.dim %x, 1 : tensor<40x?xf32>
  %rows = prim.take %t, %r axis 0 : (tensor<11x?xf32>, tensor<30xi32>) -> tensor<30x?xf32>
  %more = prim.mul %rows, %rows : (tensor<30x?xf32>, tensor<30x?xf32>) -> tensor<30x?xf32>
  %w = prim.cast %i : (tensor<30xi32>) -> tensor<30xi64>
  %c = prim.reshape %w sizes() : (tensor<30xi64>) -> tensor<30x1xi64>
  %b = prim.broadcast %c axes [0, 1] sizes(%n) : (tensor<30x1xi64>) -> tensor<30x?xi64>
  %y = prim.scatter_along add %x, %b, %more axis 0
    : (tensor<40x?xf32>, tensor<30x?xi64>, tensor<30x?xf32>) -> tensor<40x?xf32>
  return %y : tensor<40x?xf32>
}
)";
  for (int64_t width : {1, 5, 100}) {
    std::vector<int64_t> rows, into;
    for (int64_t i = 0; i < 30; ++i) {
      rows.push_back(i * 7 % 11);
      into.push_back(i * i % 40);
    }
    check(text,
          {reals(DType::F32, {40, width}), reals(DType::F32, {11, width}),
           Tensor::ofIntegers(DType::I32, {30}, into), Tensor::ofIntegers(DType::I32, {30}, rows)});
  }
}

TEST_CASE("slices are written in every direction") {
  check(R"(
func.func @main(%x: tensor<33x70xf32>, %u: tensor<7x20xf32>, %v: tensor<33x60xf32>)
    -> (tensor<33x70xf32>, tensor<33x70xf32>, tensor<33x70xf32>) {
  %a = prim.insert_slice %x, %u starts [20, 1]() steps [-3, 3]
    : (tensor<33x70xf32>, tensor<7x20xf32>) -> tensor<33x70xf32>
  %b = prim.insert_slice %x, %u starts [11, 50]() steps [2, 1]
    : (tensor<33x70xf32>, tensor<7x20xf32>) -> tensor<33x70xf32>
  %c = prim.insert_slice %x, %v starts [0, 5]() steps [1, 1]
    : (tensor<33x70xf32>, tensor<33x60xf32>) -> tensor<33x70xf32>
  return %a, %b, %c : tensor<33x70xf32>, tensor<33x70xf32>, tensor<33x70xf32>
}
)",
        {reals(DType::F32, {33, 70}), reals(DType::F32, {7, 20}), reals(DType::F32, {33, 60})});
}
