// Transposes of what lies backwards along some of its axes: blocks of rows that are read from their
// last element on, and lines of whole vectors that are turned around.
#include "PrimProgram.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

static Tensor numbered(DType type, llvm::ArrayRef<int64_t> shape) {
  std::vector<double> values;
  for (int64_t i = 0, n = *reference::elementCount(shape); i < n; ++i)
    values.push_back(static_cast<double>(i % 97 + 1));
  return Tensor::ofReals(type, shape, values);
}

/// %x, 2 x rows x columns, backwards along `axes`, transposed, and added to itself.
static std::string turned(const std::string &element, int64_t rows, int64_t columns,
                          const std::string &axes) {
  std::string r = std::to_string(rows), c = std::to_string(columns);
  std::string x = "tensor<2x" + r + "x" + c + "x" + element + ">";
  std::string y = "tensor<2x" + c + "x" + r + "x" + element + ">";
  return "func.func @main(%x: " + x + ", %y: " + y + ") -> (" + y + ", " + x + ") {\n" +
         "  %r = prim.reverse %x " + axes + " : (" + x + ") -> " + x + "\n" +
         "  %t = prim.transpose %r [0, 2, 1] : (" + x + ") -> " + y + "\n" +
         "  %u = prim.transpose %x [0, 2, 1] : (" + x + ") -> " + y + "\n" +
         "  %s = prim.add %t, %y : (" + y + ", " + y + ") -> " + y + "\n" +
         "  %v = prim.add %s, %u : (" + y + ", " + y + ") -> " + y + "\n" +
         "  return %v, %r : " + y + ", " + x + "\n}\n";
}

TEST_CASE("transposed tensors that lie backwards agree with the interpreter", "[long]") {
  struct {
    DType type;
    std::string name;
  } elements[] = {{DType::F32, "f32"}, {DType::I8, "i8"}, {DType::F64, "f64"}};
  std::pair<int64_t, int64_t> shapes[] = {{5, 7}, {37, 70}, {64, 16}};
  for (auto &[type, name] : elements)
    for (auto [rows, columns] : shapes)
      for (std::string axes : {"[1]", "[2]", "[0, 1]", "[1, 2]"}) {
        auto module = mlir::parseSourceString<mlir::ModuleOp>(turned(name, rows, columns, axes),
                                                              &primContext());
        REQUIRE(module);
        std::vector<Tensor> inputs = {numbered(type, {2, rows, columns}),
                                      numbered(type, {2, columns, rows})};
        Outputs want = interpreted(*module, inputs);
        for (const std::string &cpu : runnableCpus()) {
          INFO(cpu << " " << name << " " << rows << "x" << columns << " " << axes);
          llvm::Expected<Outputs> got = compiled(*module, inputs, cpu);
          if (!got)
            FAIL(llvm::toString(got.takeError()));
          for (auto [w, g] : llvm::zip_equal(want, *got))
            CHECK(w.reals() == g.reals());
        }
      }
}
