// Rows that are put together from pieces: concatenations and pads along the last axis, read forward
// and backward, through operators, and in rows of more than a task.
#include "PrimProgram.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

static Tensor numbered(llvm::ArrayRef<int64_t> shape) {
  std::vector<double> values;
  for (int64_t i = 0, n = *reference::elementCount(shape); i < n; ++i)
    values.push_back(static_cast<double>(i % 8191 + 1));
  return Tensor::ofReals(DType::F32, shape, values);
}

TEST_CASE("rows of pieces agree with the interpreter") {
  for (int64_t n : {5, 16, 62, 300, 9001}) {
    std::string x = "tensor<3x" + std::to_string(n) + "xf32>";
    std::string y = "tensor<3x" + std::to_string(2 * n - 1) + "xf32>";
    std::string p = "tensor<3x" + std::to_string(2 * n + 6) + "xf32>";
    std::string cut = "tensor<3x" + std::to_string(n - 1) + "xf32>";
    std::string text = "func.func @main(%x: " + x + ", %z: tensor<f32>) -> (" + y + ", " + p +
                       ") {\n" + "  %s = prim.slice %x starts [0, 1]() steps [1, 1] sizes() : (" +
                       x + ") -> " + cut + "\n" + "  %r = prim.reverse %s [1] : (" + cut + ") -> " +
                       cut + "\n" + "  %c = prim.concat %r, %x axis 1 : (" + cut + ", " + x +
                       ") -> " + y + "\n" + "  %d = prim.mul %c, %c : (" + y + ", " + y + ") -> " +
                       y + "\n" + "  %b = prim.reverse %d [1] : (" + y + ") -> " + y + "\n" +
                       "  %p = prim.pad %b, %z low [0, 3]() interior [0, 0] sizes() : (" + y +
                       ", tensor<f32>) -> " + p + "\n" + "  return %b, %p : " + y + ", " + p +
                       "\n}\n";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &primContext());
    REQUIRE(module);
    std::vector<Tensor> inputs = {numbered({3, n}), Tensor::ofReals(DType::F32, {}, {-1})};
    Outputs want = interpreted(*module, inputs);
    for (const std::string &cpu : runnableCpus()) {
      INFO(cpu << " " << n);
      llvm::Expected<Outputs> got = compiled(*module, inputs, cpu);
      if (!got)
        FAIL(llvm::toString(got.takeError()));
      for (auto [w, g] : llvm::zip_equal(want, *got))
        CHECK(w.reals() == g.reals());
    }
  }
}
