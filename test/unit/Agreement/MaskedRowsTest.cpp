// Rows of which a part is chosen by where along them a point is: triangles above and below a
// diagonal, inside and outside of a band, through operators.
#include "PrimProgram.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

static Tensor numbered(DType type, llvm::ArrayRef<int64_t> shape, int64_t from) {
  std::vector<double> values;
  for (int64_t i = 0, n = *reference::elementCount(shape); i < n; ++i)
    values.push_back(
        static_cast<double>(type == DType::Bool ? (i + from) % 3 > 0 : (i + from) % 11 + 1));
  return Tensor::ofReals(type, shape, values);
}

/// %x and %y, chosen by whether column - row `compare` a number, and inside of a band.
static std::string chosen(const std::string &element, int64_t rows, int64_t columns,
                          const std::string &compare, int64_t offset) {
  std::string shape = "2x" + std::to_string(rows) + "x" + std::to_string(columns) + "x";
  std::string x = "tensor<" + shape + element + ">", i = "tensor<" + shape + "i32>";
  std::string b = "tensor<" + shape + "i1>";
  auto binary = [&](const std::string &op, const std::string &type, const std::string &to) {
    return op + " : (" + type + ", " + type + ") -> " + to + "\n";
  };
  std::string ternary = " : (" + b + ", " + x + ", " + x + ") -> " + x + "\n";
  std::string low = "dense<" + std::to_string(offset) + "> : " + i + "\n";
  std::string high = "dense<" + std::to_string(offset + 19) + "> : " + i + "\n";
  return "func.func @main(%x: " + x + ", %y: " + x + ") -> (" + x + ", " + x + ", " + x + ") {\n" +
         "  %c = prim.iota 2 sizes() : " + i + "\n" + "  %r = prim.iota 1 sizes() : " + i + "\n" +
         "  %d = " + binary("prim.sub %c, %r", i, i) + "  %l = prim.constant " + low +
         "  %h = prim.constant " + high +
         "  %m = " + binary("prim.compare " + compare + " %d, %l", i, b) +
         "  %n = " + binary("prim.compare le %d, %h", i, b) +
         "  %p = " + binary("prim.compare ge %d, %l", i, b) +
         "  %o = " + binary("prim.and %p, %n", b, b) + "  %s = prim.select %m, %x, %y" + ternary +
         "  %t = " + binary("prim.mul %s, %s", x, x) + "  %u = prim.select %o, %y, %x" + ternary +
         "  return %t, %u, %s : " + x + ", " + x + ", " + x + "\n}\n";
}

TEST_CASE("rows that are chosen by position agree with the interpreter", "[long]") {
  struct {
    DType type;
    std::string name;
  } elements[] = {{DType::F32, "f32"}, {DType::Bool, "i1"}, {DType::F64, "f64"}, {DType::I8, "i8"}};
  std::pair<int64_t, int64_t> shapes[] = {{9, 37}, {70, 64}, {40, 301}, {3, 1000}};
  for (auto &[type, name] : elements)
    for (auto [rows, columns] : shapes)
      for (std::string compare : {"ge", "gt", "le", "lt"})
        for (int64_t offset : {-50, 0, 17, 2000}) {
          auto module = mlir::parseSourceString<mlir::ModuleOp>(
              chosen(name, rows, columns, compare, offset), &primContext());
          REQUIRE(module);
          std::vector<Tensor> inputs = {numbered(type, {2, rows, columns}, 0),
                                        numbered(type, {2, rows, columns}, 4)};
          Outputs want = interpreted(*module, inputs);
          for (const std::string &cpu : runnableCpus()) {
            INFO(cpu << " " << name << " " << rows << "x" << columns << " " << compare << " "
                     << offset);
            llvm::Expected<Outputs> got = compiled(*module, inputs, cpu);
            if (!got)
              FAIL(llvm::toString(got.takeError()));
            for (auto [w, g] : llvm::zip_equal(want, *got))
              CHECK(w.reals() == g.reals());
          }
        }
}
