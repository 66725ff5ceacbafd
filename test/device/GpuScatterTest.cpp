// Scatters whose updates are sorted first, on the simulated device against the reference
// interpreter.
#include "KernelTexts.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

static bool sorts(const std::string &text) {
  codegen::device::Schedule s = scheduleOf(text);
  return s.getForm() == codegen::device::Form::Scatter && s.getRowThreads() && s.getScratchBytes();
}

TEST_CASE("sorted scatters: rows, of several types and kinds, some of which go nowhere") {
  for (const char *kind : {"assign", "add", "mul", "min"})
    for (const char *type : {"f32", "bf16"}) {
      std::string text = scatterRows(kind, type, "300", "5000", "24", "24");
      CHECK(sorts(text));
      DType d = std::string(type) == "f32" ? DType::F32 : DType::BF16;
      auto some = [&](ArrayRef<int64_t> shape) {
        return std::string(kind) == "add" ? wholes(d, shape) : random(d, shape);
      };
      check(text, {some({300, 24}), indices({5000, 1}, -9, 320), some({5000, 24})});
    }
  // All in one place; rows that the updates are narrower than; none in most places.
  check(scatterRows("add", "f32", "70", "3000", "5", "5"),
        {random(DType::F32, {70, 5}), indices({3000, 1}, 7, 7), random(DType::F32, {3000, 5})});
  check(scatterRows("add", "f32", "70", "2100", "50", "33"),
        {random(DType::F32, {70, 50}), indices({2100, 1}, 0, 69), random(DType::F32, {2100, 33})});
  check(scatterRows("assign", "i32", "40000", "2200", "8", "8"),
        {random(DType::I32, {40000, 8}, -9, 9), indices({2200, 1}, 0, 39999),
         random(DType::I32, {2200, 8}, -9, 9)});
}

static bool notesTouched(const std::string &text) {
  codegen::device::Schedule s = scheduleOf(text);
  return s.getForm() == codegen::device::Form::Scatter && s.getRowThreads() && s.getSharedBytes() &&
         !s.getRows();
}

TEST_CASE("few updates of rows, in one phase") {
  for (const char *kind : {"assign", "add", "mul", "min"})
    for (auto [type, d] : {std::pair("f32", DType::F32), {"bf16", DType::BF16}}) {
      // Few rows have several; then many; then one has all, which a sum is long for.
      for (auto [rows, updates, first, last] :
           {std::array{3000, 70, -9, 3020}, {700, 700, 3, 90}, {700, 100, 5, 5}}) {
        int64_t most = rows, count = updates;
        std::string text =
            scatterRows(kind, type, std::to_string(rows), std::to_string(updates), "24", "24");
        INFO(text);
        CHECK(notesTouched(text));
        check(text,
              {random(d, {most, 24}), indices({count, 1}, first, last), random(d, {count, 24})});
      }
    }
  // Rows that the updates are narrower than, that are longer than a warp's accesses, and of one
  // element; the last row of a word.
  check(scatterRows("add", "f32", "400", "90", "50", "33"),
        {random(DType::F32, {400, 50}), indices({90, 1}, 380, 402), random(DType::F32, {90, 33})});
  check(scatterRows("add", "bf16", "96", "80", "520", "520"),
        {random(DType::BF16, {96, 520}), indices({80, 1}, 60, 96), random(DType::BF16, {80, 520})});
  check(scatterRows("max", "f64", "20000", "90", "1", "1"),
        {random(DType::F64, {20000, 1}), indices({90, 1}, 31, 64), random(DType::F64, {90, 1})});
  // Along another axis, and tuples.
  std::string x = tensor("12x200x9", "f32"), u = tensor("12x150x9", "f32"), i = "tensor<150xi64>",
              all = tensor("12x150x9", "i64"), one = "tensor<1x150x1xi64>";
  std::string middle =
      function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
               "%0 = prim.reshape %i sizes() : (" + i + ") -> " + one +
                   "\n%1 = prim.broadcast %0 axes [0, 1, 2] sizes() : (" + one + ") -> " + all +
                   "\n%y = prim.scatter_along add %x, %1, %u axis 1 : (" + x + ", " + all + ", " +
                   u + ") -> " + x);
  CHECK(notesTouched(middle));
  check(middle, {random(DType::F32, {12, 200, 9}), indices({150}, -1, 202),
                 random(DType::F32, {12, 150, 9})});
  for (const char *kind : {"assign", "add"}) {
    std::string y = tensor("20x40x32", "bf16"), v = tensor("300x32", "bf16"),
                at = "tensor<300x2xi64>";
    std::string tuples = function("%x: " + y + ", %i: " + at + ", %u: " + v, y,
                                  std::string("%y = prim.scatter_nd ") + kind + " %x, %i, %u : (" +
                                      y + ", " + at + ", " + v + ") -> " + y);
    CHECK(notesTouched(tuples));
    check(tuples, {random(DType::BF16, {20, 40, 32}), indices({300, 2}, 0, 20),
                   random(DType::BF16, {300, 32})});
  }
  // More updates than rows, and more rows than bits, are another's.
  CHECK(!notesTouched(scatterRows("add", "f32", "1000", "1001", "24", "24")));
  CHECK(!notesTouched(scatterRows("add", "f32", "400000", "100", "24", "24")));
}

TEST_CASE("scratch memory of a scatter that runs beside a check lies behind that one's") {
  std::string text = scatterRows("mul", "f32", "300", "5000", "4", "4");
  CHECK(sorts(text));
  checkAs(text,
          {random(DType::F32, {300, 4}, 1, 1), indices({5000, 1}, -9, 320),
           random(DType::F32, {5000, 4}, 1, 1)},
          codegen::device::Form::Scatter, [](MLIRContext *context, codegen::device::Schedule s) {
            return codegen::device::Schedule::get(
                context, s.getForm(), s.getThreads(), s.getLanes(), s.getVectors(),
                s.getRowThreads(), s.getKept(), s.getRows(), s.getColumns(), s.getDepth(),
                s.getSharedBytes(), s.getMostBlocks(), s.getSplit(),
                s.getScratchBytes() + codegen::device::kBesideBytes, s.getIndexBits(),
                s.getResident(), /*next_early=*/false, /*next_beside=*/true, /*beside=*/true,
                s.getNarrow());
          });
}

TEST_CASE("sorted scatters: parts of the updates of few rows") {
  struct Case {
    const char *kind, *type;
    DType d;
  };
  for (auto [kind, type, d] : {Case{"max", "f32", DType::F32}, {"max", "f64", DType::F64}}) {
    std::string text = scatterRows(kind, type, "3", "3000", "24", "24");
    CHECK(scheduleOf(text).getVectors() > 1);
    check(text, {random(d, {3, 24}), indices({3000, 1}, -1, 3), random(d, {3000, 24})});
  }
  std::string narrower = scatterRows("add", "f64", "3", "3000", "24", "20");
  CHECK(scheduleOf(narrower).getVectors() > 1);
  check(narrower,
        {random(DType::F64, {3, 24}), indices({3000, 1}, -1, 3), random(DType::F64, {3000, 20})});
  CHECK(scheduleOf(scatterRows("add", "f16", "3", "3000", "24", "24")).getVectors() == 1);
  // So many columns are no elements.
  CHECK(scheduleOf(scatterRows("add", "f32", "16", "20000", "128", "128")).getVectors() > 1);
  // One row has all of them; updates that are narrower than it.
  check(scatterRows("add", "f32", "9", "2100", "7", "5"),
        {random(DType::F32, {9, 7}), indices({2100, 1}, 4, 4), random(DType::F32, {2100, 5})});
}

TEST_CASE("scatters of integers, in any order") {
  for (const char *kind : {"add", "max", "min"})
    for (auto [type, d] : {std::pair("i32", DType::I32), {"i64", DType::I64}}) {
      check(scatterRows(kind, type, "40", "2100", "9", "7"),
            {random(d, {40, 9}, -9, 9), indices({2100, 1}, -3, 44), random(d, {2100, 7}, -9, 9)});
      std::string x = tensor("6x50x3", type), u = tensor("300x3", type), i = "tensor<300x2xi64>";
      std::string tuples = function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
                                    std::string("%y = prim.scatter_nd ") + kind +
                                        " %x, %i, %u : (" + x + ", " + i + ", " + u + ") -> " + x);
      check(tuples,
            {random(d, {6, 50, 3}, -9, 9), indices({300, 2}, 0, 6), random(d, {300, 3}, -9, 9)});
    }
  std::string x = "tensor<5x90xui32>", u = "tensor<4x300xui32>", i = "tensor<4x300xi64>";
  check(function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
                 "%y = prim.scatter_along max %x, %i, %u axis 1 : (" + x + ", " + i + ", " + u +
                     ") -> " + x),
        {random(DType::U32, {5, 90}, 0, 9), indices({4, 300}, -2, 91),
         random(DType::U32, {4, 300}, 0, 9)});
}

/// Lines along `axis` of a cube of `side` go to those of one that has more of them, but for the
/// axis.
static void checkLines(const char *kind, const char *type, DType d, int64_t side, int64_t axis,
                       std::pair<int64_t, int64_t> lengths, bool inBlocks) {
  int64_t shape[] = {side, side, side}, updates[] = {side - 2, side - 1, side - 3};
  std::tie(shape[axis], updates[axis]) = lengths;
  auto text = [](ArrayRef<int64_t> extents) {
    return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" +
           std::to_string(extents[2]);
  };
  std::string x = tensor(text(shape), type), u = tensor(text(updates), type),
              i = tensor(text(updates), "i64");
  std::string body =
      function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
               std::string("%y = prim.scatter_along ") + kind + " %x, %i, %u axis " +
                   std::to_string(axis) + " : (" + x + ", " + i + ", " + u + ") -> " + x);
  INFO(body);
  CHECK(sorts(body) == !inBlocks);
  CHECK((scheduleOf(body).getDepth() > 0) == inBlocks);
  check(body, {random(d, shape), indices(updates, -2, lengths.first + 1), random(d, updates)});
}

TEST_CASE("sorted scatters: elements with indices of their own, along any axis") {
  for (const char *kind : {"assign", "add"})
    for (int64_t axis : {0, 1, 2})
      checkLines(kind, "f32", DType::F32, 5, axis, {90, 300}, false);
}

TEST_CASE("scatters of lines that have a block each") {
  for (const char *kind : {"assign", "add", "max"})
    for (int64_t axis : {0, 1, 2}) {
      checkLines(kind, "f32", DType::F32, 8, axis, {90, 300}, true);
      if (std::string(kind) != "add") // sums are those of integers
        checkLines(kind, "bf16", DType::BF16, 7, axis, {3, 900}, true); // many meet
    }
  checkLines("mul", "f64", DType::F64, 6, 1, {2000, 1300}, true);
}

TEST_CASE("scatters of integers of open extents, in any order") {
  auto along = [](const char *kind, const std::string &shape, int axis, Tensor x, Tensor i,
                  Tensor u) {
    std::string all = tensor(shape, "i64");
    std::string text =
        function("%x: " + all + ", %i: " + all + ", %u: " + all, all,
                 std::string("%y = prim.scatter_along ") + kind + " %x, %i, %u axis " +
                     std::to_string(axis) + " : (" + all + ", " + all + ", " + all + ") -> " + all);
    CHECK(sorts(text));
    check(text, {x, i, u});
  };
  along("add", "?", 0, random(DType::I64, {70}, -9, 9), indices({3000}, -3, 72),
        random(DType::I64, {3000}, -99, 99));
  along("max", "?", 0, random(DType::I64, {5}, -9, 9), indices({0}, 0, 4),
        random(DType::I64, {0}, -99, 99));
  along("min", "?x?", 0, random(DType::I64, {30, 40}, -9, 9), indices({200, 33}, -1, 30),
        random(DType::I64, {200, 33}, -99, 99));
  std::string x = tensor("?x?x?", "i32"), i = tensor("?x2", "i64"), u = tensor("?x?", "i32");
  std::string tuples =
      function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
               "%y = prim.scatter_nd add %x, %i, %u : (" + x + ", " + i + ", " + u + ") -> " + x);
  CHECK(sorts(tuples));
  check(tuples, {random(DType::I32, {4, 5, 6}, -9, 9), indices({90, 2}, -1, 5),
                 random(DType::I32, {90, 6}, -9, 9)});
}

TEST_CASE("sorted scatters: tuples of indices") {
  for (int64_t count : {30, 4100}) { // one chunk, several
    std::string n = std::to_string(count), x = "tensor<6x50x12xf32>", i = tensor(n + "x2", "i64"),
                u = tensor(n + "x12", "f32");
    std::string rows =
        function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
                 "%y = prim.scatter_nd add %x, %i, %u : (" + x + ", " + i + ", " + u + ") -> " + x);
    CHECK(sorts(rows));
    check(rows, {random(DType::F32, {6, 50, 12}), indices({count, 2}, 0, 6),
                 random(DType::F32, {count, 12})});
    std::string all = tensor(n + "x3", "i64"), one = tensor(n, "f32");
    check(
        function("%x: " + x + ", %i: " + all + ", %u: " + one, x,
                 "%y = prim.scatter_nd assign %x, %i, %u : (" + x + ", " + all + ", " + one +
                     ") -> " + x),
        {random(DType::F32, {6, 50, 12}), indices({count, 3}, 0, 5), random(DType::F32, {count})});
  }
}

TEST_CASE("sorted scatters: few updates of many places, the rest of which are copied") {
  for (const char *type : {"f32", "bf16", "f64"}) {
    DType d = *prim::dtypeOf(
        cast<RankedTensorType>(parseType(tensor("1", type), &context())).getElementType());
    // Rows, which meet; narrower ones than there are; and in a row that ends within a vector.
    for (const char *columns : {"24", "5"}) {
      std::string text = scatterRows("add", type, "9000", "8200", columns, columns);
      CHECK(sorts(text));
      int64_t n = std::stoi(columns);
      check(text, {random(d, {9000, n}), indices({8200, 1}, -2, 900), random(d, {8200, n})});
    }
    check(scatterRows("mul", type, "9000", "8200", "16", "9"),
          {random(d, {9000, 16}), indices({8200, 1}, 0, 9001), random(d, {8200, 9})});
    // Elements that have indices of their own.
    std::string x = tensor("4000x8", type), u = tensor("300x8", type), i = tensor("300x8", "i64");
    std::string text = function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
                                "%y = prim.scatter_along min %x, %i, %u axis 0 : (" + x + ", " + i +
                                    ", " + u + ") -> " + x);
    CHECK(sorts(text));
    check(text, {random(d, {4000, 8}), indices({300, 8}, -1, 60), random(d, {300, 8})});
    // Of fewer lines than there are, along an axis between others; sums of several chunks' digits.
    x = tensor("2x3000x9", type), u = tensor("1x700x8", type), i = tensor("1x700x8", "i64");
    text = function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
                    "%y = prim.scatter_along mul %x, %i, %u axis 1 : (" + x + ", " + i + ", " + u +
                        ") -> " + x);
    CHECK(sorts(text));
    check(text, {random(d, {2, 3000, 9}), indices({1, 700, 8}, -1, 3001), random(d, {1, 700, 8})});
  }
}

TEST_CASE("few updates of lines along memory, which are copied together") {
  for (const char *kind : {"assign", "add"})
    for (int updates : {1, 9}) {
      std::string x = "tensor<3x45x130xf32>", n = "3x40x" + std::to_string(updates),
                  i = "tensor<" + n + "xi64>", u = "tensor<" + n + "xf32>";
      check(function("%x: " + x + ", %i: " + i + ", %u: " + u, x,
                     std::string("%y = prim.scatter_along ") + kind + " %x, %i, %u axis 2 : (" + x +
                         ", " + i + ", " + u + ") -> " + x),
            {random(DType::F32, {3, 45, 130}), indices({3, 40, updates}, -2, 131),
             random(DType::F32, {3, 40, updates})});
    }
}

/// Slices of %u go to the rows of %x whose runs have them.
static std::string runsOf(const std::string &kind, const std::string &x, const std::string &begins,
                          const std::string &updates) {
  return function("%x: " + x + ", %i: " + begins + ", %u: " + updates, x,
                  "%y = prim.scatter_runs " + kind + " %x, %i, %u : (" + x + ", " + begins + ", " +
                      updates + ") -> " + x);
}

TEST_CASE("rows that are updated by runs") {
  for (const char *kind : {"assign", "add", "mul", "max"})
    for (auto [type, d] :
         {std::pair("f32", DType::F32), {"bf16", DType::BF16}, {"i64", DType::I64}})
      // Begins in no order, before and past the ends, make runs that are empty.
      for (int64_t columns : {3, 24, 200}) {
        std::string n = std::to_string(columns);
        std::string text =
            runsOf(kind, tensor("40x" + n, type), "tensor<40xi64>", tensor("70x" + n, type));
        CHECK(!scheduleOf(text).getScratchBytes());
        check(text, {random(d, {40, columns}, -2, 2), indices({40}, -3, 75),
                     random(d, {70, columns}, -2, 2)});
      }
  check(runsOf("add", tensor("9", "f64"), "tensor<9xi32>", tensor("50", "f64")),
        {random(DType::F64, {9}),
         Tensor::ofIntegers(DType::I32, {9}, {0, 0, 7, 8, 9, 9, 30, 50, 50}),
         random(DType::F64, {50})});
  // Open extents; no updates at all.
  for (int64_t updates : {60, 0})
    check(runsOf("add", tensor("?x5x?", "f32"), "tensor<?xi64>", tensor("?x5x?", "f32")),
          {random(DType::F32, {12, 5, 17}), indices({12}, 0, updates),
           random(DType::F32, {updates, 5, 17})});
  // Bags of rows that are taken from a table.
  std::string bags = function("%t: tensor<90x48xf32>, %r: tensor<700xi64>, %i: tensor<150xi64>",
                              "tensor<150x48xf32>", R"(
    %c = prim.constant dense<0.0> : tensor<f32>
    %x = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<150x48xf32>
    %u = prim.take %t, %r axis 0 : (tensor<90x48xf32>, tensor<700xi64>) -> tensor<700x48xf32>
    %y = prim.scatter_runs add %x, %i, %u : (tensor<150x48xf32>, tensor<150xi64>, tensor<700x48xf32>) -> tensor<150x48xf32>)");
  std::vector<int64_t> begins;
  for (int64_t i = 0; i < 150; ++i)
    begins.push_back(i < 40 ? 2 : i < 90 ? i * 3 : 650 + i / 3);
  check(bags, {random(DType::F32, {90, 48}), indices({700}, 0, 89),
               Tensor::ofIntegers(DType::I64, {150}, begins)});
}

TEST_CASE("updates that replace: a block notes the last one of each place of its tile") {
  auto replaced = [](const std::string &x, const std::string &i, unsigned axis, const char *type) {
    std::string one = tensor(x, type), u = tensor(i, type), places = tensor(i, "i64");
    return function("%x: " + one + ", %i: " + places + ", %u: " + u, one,
                    "%y = prim.scatter_along assign %x, %i, %u axis " + std::to_string(axis) +
                        " : (" + one + ", " + places + ", " + u + ") -> " + one);
  };
  auto notes = [](const std::string &text) { return scheduleOf(text).getRows() > 0; };
  for (auto [type, d] : {std::pair("f32", DType::F32), {"bf16", DType::BF16}, {"i8", DType::I8}}) {
    // Lines along memory, some of whose updates go nowhere; lines across, the last of a tile fewer.
    std::string text = replaced("41x300", "41x99", 1, type);
    CHECK(notes(text));
    check(text, {random(d, {41, 300}), indices({41, 99}, -9, 320), random(d, {41, 99})});
    text = replaced("3x50x33", "3x40x33", 1, type);
    CHECK(notes(text));
    check(text, {random(d, {3, 50, 33}), indices({3, 40, 33}, 0, 49), random(d, {3, 40, 33})});
  }
  // One line, whose places several blocks have.
  std::string text = replaced("30001", "700", 0, "i64");
  CHECK(notes(text));
  check(text, {random(DType::I64, {30001}), indices({700}, 0, 30000), random(DType::I64, {700})});
  for (const GpuArch &arch : GpuArch::all())
    if (!arch.simulated)
      checkAssembles(ptxOf(replaced("64x100x65", "64x50x65", 1, "bf16"), arch), arch);
}
