// Operators along an axis - reductions, scans, orders, scatters - on every element type over
// edge values, and on axes without elements.
#include "EdgeValues.h"
#include "PrimProgram.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/StringExtras.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

namespace {

constexpr int64_t kRows = 9, kColumns = 37;

std::string typeText(llvm::ArrayRef<int64_t> shape, llvm::StringRef element) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + element.str() + ">";
}

std::string elementText(DType type) {
  std::string text;
  llvm::raw_string_ostream(text) << prim::elementType(&primContext(), type);
  return text;
}

/// A line `%r... = op` on %x (and %i, indices, and %u, updates), with its result types.
struct Line {
  std::string op, results;
};

/// What there is along both axes of x.
std::vector<Line> linesFor(DType type, int64_t rows, int64_t columns) {
  std::string e = elementText(type), x = typeText({rows, columns}, e);
  std::vector<Line> lines;
  auto add = [&](const std::string &op, const std::string &operands, const std::string &results) {
    lines.push_back({op + " : (" + operands + ") -> " + results, results});
  };
  for (int64_t axis : {0, 1}) {
    std::string a = std::to_string(axis), index = "tensor<" + std::to_string(axis ? rows : columns);
    std::string reduced = index + "x" + e + ">";
    bool empty = (axis ? columns : rows) == 0;
    for (std::string kind : {"sum", "prod", "max", "min", "any", "all"}) {
      add("prim.reduce " + kind + " %x [" + a + "]", x, reduced);
      for (std::string flags : {"", " {exclusive = true}", " {reverse = true}"})
        add("prim.cumulative " + kind + " %x " + a + flags, x, x);
    }
    for (std::string kind : {"max", "min"})
      for (std::string flags : {"", " {last = true}"})
        if (!empty)
          add("prim.arg_reduce " + kind + " %x " + a + flags, x, index + "xi64>");
    for (std::string flag : {"true", "false"}) {
      std::string pair = "(" + x + ", " + typeText({rows, columns}, "i64") + ")";
      add("prim.sort %x axis " + a + " {descending = " + flag + "}", x, pair);
      int64_t k = empty ? 0 : 3;
      llvm::SmallVector<int64_t> few = {axis ? rows : k, axis ? k : columns};
      add("prim.top_k %x axis " + a + " {largest = " + flag + "}", x,
          "(" + typeText(few, e) + ", " + typeText(few, "i64") + ")");
    }
    if (axis && !empty)
      for (int64_t place : {int64_t(0), columns / 2, columns - 1})
        for (std::string flag : {"true", "false"})
          add("prim.kth %x k %c" + std::to_string(place) + " {descending = " + flag + "}",
              x + ", index",
              "(" + typeText({rows, 1}, e) + ", " + typeText({rows, 1}, "i64") + ")");
    if (!empty)
      for (std::string kind : {"assign", "add", "mul", "max", "min"})
        add("prim.scatter_along " + kind + " %x, %i, %u axis " + a,
            x + ", " + typeText({rows, columns}, "i64") + ", " + x, x);
  }
  std::string counted = typeText({700, 2}, e);
  lines.push_back({"prim.iota 0 sizes() : " + counted, counted});
  return lines;
}

mlir::OwningOpRef<mlir::ModuleOp> moduleOf(llvm::ArrayRef<Line> lines, DType type, int64_t rows,
                                           int64_t columns) {
  std::string x = typeText({rows, columns}, elementText(type)), body, returned, types;
  for (int64_t place : std::set<int64_t>{0, columns / 2, std::max<int64_t>(0, columns - 1)})
    body += "  %c" + std::to_string(place) + " = arith.constant " + std::to_string(place) +
            " : index\n";
  unsigned next = 0;
  for (const Line &line : lines) {
    unsigned count = llvm::StringRef(line.results).count("tensor<");
    std::string names;
    for (unsigned i = 0; i < count; ++i)
      names += (i ? ", %r" : "%r") + std::to_string(next++);
    body += "  " + names + " = " + line.op + "\n";
    returned += (returned.empty() ? "" : ", ") + names;
    types +=
        (types.empty() ? "" : ", ") + llvm::StringRef(line.results).ltrim('(').rtrim(')').str();
  }
  std::string text = "func.func @main(%x: " + x + ", %i: " + typeText({rows, columns}, "i64") +
                     ", %u: " + x + ") -> (" + types + ") {\n" + body + "  return " + returned +
                     " : " + types + "\n}\n";
  mlir::ScopedDiagnosticHandler silence(&primContext(),
                                        [](mlir::Diagnostic &) { return mlir::success(); });
  return mlir::parseSourceString<mlir::ModuleOp>(text, &primContext());
}

/// Sums and products are exact, whatever their order: small whole numbers, and in one row in
/// three infinities and NaN. Everything else gets edge values.
Tensor smallNumbers(DType type, int64_t rows, int64_t columns) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows * columns; ++i) {
    double v = std::vector<double>{1, 1, -1, 1, 0, 1, 1}[i % 7];
    bool odd = columns && i / columns % 3 == 2 && i % 11 == 5;
    values.push_back(odd ? (i % 2 ? HUGE_VAL : std::nan("")) : v);
  }
  return Tensor::ofReals(type, {rows, columns}, values);
}

Tensor edges(DType type, int64_t rows, int64_t columns, int64_t start) {
  Tensor all = edgeValues(type, 16);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < rows * columns; ++i)
    positions.push_back((start + i * 7) % all.elements());
  return pick(all, positions).reshaped({rows, columns});
}

bool isSum(const Line &line) {
  llvm::StringRef op = line.op;
  return op.contains(" sum ") || op.contains(" prod ") || op.contains(" add ") ||
         op.contains(" mul ");
}

/// Narrow floats round where they are stored, and the sign of a zero is open.
bool agree(const Tensor &want, const Tensor &got) {
  for (int64_t i = 0; i < want.elements(); ++i)
    if (stepsBetween(want, got, i, false) > 0)
      return false;
  return want.shape() == got.shape();
}

/// Lines of either kind that begin with `which`, each with its own x.
void check(DType type, int64_t rows, int64_t columns, const std::string &cpu,
           llvm::StringRef which = "") {
  std::vector<Line> lines[2];
  for (const Line &line : linesFor(type, rows, columns))
    if (llvm::StringRef(line.op).starts_with(which) &&
        moduleOf(line, type, rows, columns)) // else the verifier does not accept it
      lines[isFloat(type) && isSum(line)].push_back(line);
  std::vector<int64_t> indices;
  int64_t least = std::min(rows, columns);
  for (int64_t i = 0; i < rows * columns; ++i)
    indices.push_back(least ? (i * 5 + i / 3) % least : 0);
  for (bool sums : {false, true}) {
    if (lines[sums].empty())
      continue;
    Tensor x = sums ? smallNumbers(type, rows, columns) : edges(type, rows, columns, 0);
    Tensor u = sums ? smallNumbers(type, rows, columns) : edges(type, rows, columns, 3);
    std::vector<Tensor> inputs = {x, Tensor::ofIntegers(DType::I64, {rows, columns}, indices), u};
    auto module = moduleOf(lines[sums], type, rows, columns);
    REQUIRE(module);
    Outputs want = interpreted(*module, inputs);
    llvm::Expected<Outputs> got = compiled(*module, inputs, cpu);
    if (!got)
      FAIL(llvm::toString(got.takeError()));
    size_t next = 0;
    for (const Line &line : lines[sums])
      for (unsigned i = 0, n = llvm::StringRef(line.results).count("tensor<"); i < n; ++i, ++next)
        if (!agree(want[next], (*got)[next]))
          FAIL_CHECK(line.op << " differs in result " << i);
  }
}

void checkAgreement(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs, const std::string &cpu) {
  Outputs want = interpreted(module, inputs);
  llvm::Expected<Outputs> got = compiled(module, inputs, cpu);
  if (!got)
    FAIL(llvm::toString(got.takeError()));
  for (auto [w, g] : llvm::zip_equal(want, *got))
    CHECK(agree(w, g));
}

} // namespace

TEST_CASE("operators along an axis agree with the interpreter") {
  std::string cpu = runnableCpus().back();
  for (int i = 0; i < static_cast<int>(DType::C64); ++i) {
    auto type = static_cast<DType>(i);
    DYNAMIC_SECTION(dtypeName(type).str()) { check(type, kRows, kColumns, cpu); }
  }
}

// Several vectors a line, and lines that fill them, with what is left at the end.
TEST_CASE("operators along long axes agree with the interpreter", "[long]") {
  for (const std::string &cpu : runnableCpus())
    for (DType type : {DType::F32, DType::F64, DType::BF16, DType::I64, DType::U8, DType::Bool})
      DYNAMIC_SECTION(cpu << " " << dtypeName(type).str()) {
        check(type, 5, 331, cpu);
        check(type, 300, 7, cpu);
      }
}

// A task scans a run of each row, of which there are some, and the last is shorter than a vector.
TEST_CASE("scans across long rows agree with the interpreter", "[long]") {
  for (const std::string &cpu : runnableCpus())
    for (DType type : {DType::F32, DType::F64, DType::BF16, DType::I64, DType::I32, DType::U8})
      DYNAMIC_SECTION(cpu << " " << dtypeName(type).str()) {
        check(type, 4, 2051, cpu, "prim.cumulative");
        check(type, 1, 1024, cpu, "prim.cumulative");
      }
}

// Lines of few neighbours, some of which are scanned beside each other and some are left.
TEST_CASE("scans of few lines agree with the interpreter", "[long]") {
  for (const std::string &cpu : runnableCpus())
    for (DType type : {DType::F32, DType::F64, DType::BF16, DType::I64, DType::U8, DType::Bool})
      for (int64_t beside : {1, 2, 3, 7})
        DYNAMIC_SECTION(cpu << " " << dtypeName(type).str() << " " << beside) {
          std::string x = typeText({11, 37, beside}, elementText(type)), body, names, types;
          unsigned next = 0;
          for (std::string kind : {"sum", "max", "any"})
            for (std::string flags : {"", " {exclusive = true}", " {reverse = true}"}) {
              if ((kind == "any") != (type == DType::Bool))
                continue;
              std::string name = "%r" + std::to_string(next++);
              body += "  " + name + " = prim.cumulative " + kind + " %x 1" + flags + " : (" + x +
                      ") -> " + x + "\n";
              names += (names.empty() ? "" : ", ") + name;
              types += (types.empty() ? "" : ", ") + x;
            }
          auto module = mlir::parseSourceString<mlir::ModuleOp>(
              "func.func @main(%x: " + x + ") -> (" + types + ") {\n" + body + "  return " + names +
                  " : " + types + "\n}\n",
              &primContext());
          REQUIRE(module);
          Tensor numbers = smallNumbers(type, 11 * 37, beside).reshaped({11, 37, beside});
          checkAgreement(*module, numbers, cpu);
        }
}

// More than lanes keep, of lines that do not lie side by side.
TEST_CASE("first elements of columns are those of the interpreter", "[long]") {
  for (const std::string &cpu : runnableCpus())
    for (DType type : {DType::F32, DType::BF16, DType::U8, DType::I64, DType::F64, DType::Bool})
      for (int64_t kept : {17, 40, 331})
        DYNAMIC_SECTION(cpu << " " << dtypeName(type).str() << " " << kept) {
          std::string few = "(" + typeText({kept, 5}, elementText(type)) + ", " +
                            typeText({kept, 5}, "i64") + ")";
          std::vector<Line> lines;
          for (std::string flag : {"true", "false"})
            lines.push_back({"prim.top_k %x axis 0 {largest = " + flag + "} : (" +
                                 typeText({331, 5}, elementText(type)) + ") -> " + few,
                             few});
          auto module = moduleOf(lines, type, 331, 5);
          REQUIRE(module);
          std::vector<Tensor> inputs = {
              edges(type, 331, 5, 5),
              Tensor::ofIntegers(DType::I64, {331, 5}, std::vector<int64_t>(331 * 5)),
              edges(type, 331, 5, 5)};
          checkAgreement(*module, inputs, cpu);
        }
}

// So many that they are cut before they are sorted, most of them more than once, and some hardly
// different.
TEST_CASE("long lines are sorted as the interpreter does", "[long]") {
  std::string cpu = runnableCpus().back();
  for (DType type : {DType::F32, DType::F16, DType::F8E4M3FN, DType::I32, DType::U32, DType::I4,
                     DType::Bool, DType::I64, DType::U64, DType::F64})
    for (int64_t columns : {24, 25, 200, 8192, 8193, 40009})
      DYNAMIC_SECTION(dtypeName(type).str() << " " << columns) {
        std::vector<Line> lines;
        for (const Line &line : linesFor(type, 2, columns))
          if (llvm::StringRef(line.op).starts_with("prim.sort %x axis 1"))
            lines.push_back(line);
        for (int64_t kept : {9, 19}) {
          std::string few = "(" + typeText({2, kept}, elementText(type)) + ", " +
                            typeText({2, kept}, "i64") + ")";
          for (std::string flag : {"true", "false"})
            lines.push_back({"prim.top_k %x axis 1 {largest = " + flag + "} : (" +
                                 typeText({2, columns}, elementText(type)) + ") -> " + few,
                             few});
        }
        std::vector<Tensor> inputs = {
            edges(type, 2, columns, 5),
            Tensor::ofIntegers(DType::I64, {2, columns}, std::vector<int64_t>(2 * columns)),
            edges(type, 2, columns, 5)};
        auto module = moduleOf(lines, type, 2, columns);
        REQUIRE(module);
        checkAgreement(*module, inputs, cpu);
      }
}

// Lines that the stack holds and others, of edge values, most of them more than once, and of
// numbers in no order.
TEST_CASE("elements of an order are those of the interpreter", "[long]") {
  for (const std::string &cpu : runnableCpus())
    for (DType type : {DType::F32, DType::BF16, DType::I32, DType::U8, DType::I64, DType::F64})
      for (int64_t columns : {33, 331, 4001, 8193, 40009})
        DYNAMIC_SECTION(cpu << " " << dtypeName(type).str() << " " << columns) {
          std::vector<Line> lines;
          for (const Line &line : linesFor(type, 2, columns))
            if (llvm::StringRef(line.op).starts_with("prim.kth"))
              lines.push_back(line);
          for (int64_t kept : {columns / 3, columns}) {
            std::string few = "(" + typeText({2, kept}, elementText(type)) + ", " +
                              typeText({2, kept}, "i64") + ")";
            lines.push_back({"prim.top_k %x axis 1 {largest = true} : (" +
                                 typeText({2, columns}, elementText(type)) + ") -> " + few,
                             few});
          }
          auto module = moduleOf(lines, type, 2, columns);
          REQUIRE(module);
          std::vector<double> numbers;
          uint32_t state = 1;
          for (int64_t i = 0; i < 2 * columns; ++i) {
            state = state * 1664525 + 1013904223;
            numbers.push_back(state / 65536 % 16384 / 64.0);
          }
          for (const Tensor &x :
               {edges(type, 2, columns, 5), Tensor::ofReals(type, {2, columns}, numbers)}) {
            std::vector<Tensor> inputs = {
                x, Tensor::ofIntegers(DType::I64, {2, columns}, std::vector<int64_t>(2 * columns)),
                x};
            checkAgreement(*module, inputs, cpu);
          }
        }
}

TEST_CASE("operators along an axis agree where there are no elements", "[long]") {
  std::string cpu = runnableCpus().back();
  for (DType type :
       {DType::F32, DType::BF16, DType::F8E4M3FN, DType::I4, DType::U8, DType::I64, DType::Bool})
    for (auto [rows, columns] : {std::pair(0, 5), {5, 0}, {0, 0}})
      DYNAMIC_SECTION(dtypeName(type).str() << " " << rows << " x " << columns) {
        check(type, rows, columns, cpu);
      }
}
