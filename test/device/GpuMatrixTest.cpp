// Products and convolutions as GPU kernels on the simulated device against the reference
// interpreter.
#include "KernelTexts.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Schedule;
using reference::Tensor;

TEST_CASE("products: matrices, batches, views, types, what follows") {
  check(function("%a: tensor<70x33xf32>, %b: tensor<33x130xf32>, %c: tensor<130xf32>",
                 "tensor<70x130xf32>", R"(
    %0 = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<70x33xf32>, tensor<33x130xf32>) -> tensor<70x130xf32>
    %1 = prim.broadcast %c axes [1] sizes() : (tensor<130xf32>) -> tensor<70x130xf32>
    %2 = prim.add %0, %1 : (tensor<70x130xf32>, tensor<70x130xf32>) -> tensor<70x130xf32>
    %y = prim.tanh %2 : (tensor<70x130xf32>) -> tensor<70x130xf32>)"),
        {random(DType::F32, {70, 33}), random(DType::F32, {33, 130}), random(DType::F32, {130})});
  // Large enough for large tiles, with tails.
  check(function("%a: tensor<1500x20xf32>, %b: tensor<1600x20xf32>", "tensor<1500x1600xf32>",
                 "%y = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<1500x20xf32>, "
                 "tensor<1600x20xf32>) -> tensor<1500x1600xf32>"),
        {random(DType::F32, {1500, 20}), random(DType::F32, {1600, 20})});
  check(function("%q: tensor<2x9x3x16xbf16>, %k: tensor<2x11x3x16xbf16>", "tensor<2x3x9x11xbf16>",
                 "%y = prim.dot %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : "
                 "(tensor<2x9x3x16xbf16>, tensor<2x11x3x16xbf16>) -> tensor<2x3x9x11xbf16>"),
        {random(DType::BF16, {2, 9, 3, 16}), random(DType::BF16, {2, 11, 3, 16})});
  check(function("%a: tensor<5x40xi8>, %b: tensor<40x6xi8>", "tensor<5x6xi32>",
                 "%y = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<5x40xi8>, "
                 "tensor<40x6xi8>) -> tensor<5x6xi32>"),
        {random(DType::I8, {5, 40}, -120, 120), random(DType::I8, {40, 6}, -120, 120)});
  check(function("%a: tensor<40xf64>, %b: tensor<40xf64>", "tensor<f64>",
                 "%y = prim.dot %a, %b batch [] x [] contract [0] x [0] : (tensor<40xf64>, "
                 "tensor<40xf64>) -> tensor<f64>"),
        {random(DType::F64, {40}), random(DType::F64, {40})});
}

TEST_CASE("products of f64 on matrix units: tails, layouts, batches, shared tiles, what follows") {
  struct Case {
    int m, n, k;
    bool byColumns;
  };
  for (auto [m, n, k, byColumns] :
       {Case{70, 130, 33, false}, {64, 64, 16, true}, {9, 200, 5, true}, {130, 70, 300, false}})
    check(product("f64", "f64", m, n, k, byColumns),
          {random(DType::F64, {m, k}),
           byColumns ? random(DType::F64, {n, k}) : random(DType::F64, {k, n}),
           random(DType::F64, {n})});
  std::string a = "tensor<3x40x65xf64>", w = "tensor<3x24x65xf32>", y = "tensor<3x40x24xf64>";
  std::string wide = "tensor<3x24x65xf64>",
              cast = "%0 = prim.cast %w : (" + w + ") -> " + wide + "\n",
              dot = "%y = prim.dot %a, %0 batch [0] x [0] contract [2] x [2] : (" + a + ", " +
                    wide + ") -> " + y;
  check(function("%a: " + a + ", %w: " + w, y, cast + dot),
        {random(DType::F64, {3, 40, 65}), random(DType::F32, {3, 24, 65})});
}

TEST_CASE("products: blocks share what a tile sums") {
  struct Shared {
    const char *type;
    int64_t batch, m, n, k;
  };
  for (const Shared &p : {Shared{"f32", 1, 70, 33, 2000},
                          {"f32", 3, 5, 64, 401},
                          {"f64", 1, 20, 70, 300},
                          {"i64", 1, 9, 9, 1000}}) {
    std::string t = p.type, b = std::to_string(p.batch) + "x", k = std::to_string(p.k) + "x";
    std::string l = "tensor<" + b + k + std::to_string(p.m) + "x" + t + ">",
                r = "tensor<" + b + k + std::to_string(p.n) + "x" + t + ">",
                y = "tensor<" + b + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + t + ">";
    std::string text =
        function("%a: " + l + ", %b: " + r, y,
                 "%0 = prim.dot %a, %b batch [0] x [0] contract [1] x [1] : (" + l + ", " + r +
                     ") -> " + y + "\n%y = prim.neg %0 : (" + y + ") -> " + y);
    INFO(text);
    DType d = *prim::dtypeOf(cast<RankedTensorType>(parseType(l, &context())).getElementType());
    std::vector<Tensor> inputs = {random(d, {p.batch, p.k, p.m}), random(d, {p.batch, p.k, p.n})};
    Schedule chosen = scheduleOf(text, *GpuArch::find("sm_80"), codegen::device::Form::Product);
    if (chosen.getSplit() == 1) { // threads share it, by the schedule
      CHECK((chosen.getVectors() > 1 || chosen.getSharedBytes() > 0));
      checkAs(text, inputs, codegen::device::Form::Product, [](MLIRContext *context, Schedule s) {
        constexpr unsigned kSplit = 3, kTiles = 6, kSums = 64 * 64 * 4;
        return Schedule::get(context, s.getForm(), 256, 1, 1, 0, 0, 64, 64, 16, 0, 0, kSplit,
                             codegen::device::kCounterBytes + kTiles * kSplit * kSums,
                             s.getIndexBits(), s.getNextEarly());
      });
    }
    check(text, inputs);
  }
}

TEST_CASE("mma.sync: tails, layouts, types, shared tiles, what follows") {
  using codegen::device::Form;
  auto checkProduct = [](DType d, DType r, int m, int n, int k, bool byColumns,
                         bool transposed = false) {
    std::string e = dtypeName(d).str(), to = dtypeName(r).str();
    std::string text = product(e, to, m, n, k, byColumns, transposed);
    INFO(text);
    CHECK(scheduleOf(text).getForm() == Form::Mma);
    double most = d == DType::I8 ? 120 : 2;
    llvm::SmallVector<int64_t> w{byColumns ? n : k, byColumns ? k : n};
    check(text, {random(d, {m, k}, -most, most), random(d, w, -most, most), random(r, {n})});
  };
  for (bool byColumns : {true, false}) {
    checkProduct(DType::BF16, DType::BF16, 70, 72, 136, byColumns);
    checkProduct(DType::BF16, DType::F32, 33, 100, 65, byColumns);
    checkProduct(DType::F16, DType::F16, 200, 160, 64, byColumns);
    checkProduct(DType::F16, DType::F16, 5, 7, 9, byColumns, true);
    checkProduct(DType::I8, DType::I32, 40, 50, 200, byColumns);
  }
  // Blocks that share tiles.
  std::string deep = product("bf16", "bf16", 20, 64, 2000, true);
  CHECK(scheduleOf(deep).getSplit() > 1);
  checkProduct(DType::BF16, DType::BF16, 20, 64, 2000, true);
  checkProduct(DType::I8, DType::I32, 5, 40, 2100, false);
  // Open rows and columns, batches, operands that lie along rows.
  check(function("%q: tensor<2x?x3x16xbf16>, %k: tensor<2x?x3x16xbf16>", "tensor<2x3x?x?xbf16>",
                 "%y = prim.dot %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : "
                 "(tensor<2x?x3x16xbf16>, tensor<2x?x3x16xbf16>) -> tensor<2x3x?x?xbf16>"),
        {random(DType::BF16, {2, 9, 3, 16}), random(DType::BF16, {2, 77, 3, 16})});
  check(function("%a: tensor<3x48x40xf16>, %b: tensor<3x48x64xf16>", "tensor<3x40x64xf32>",
                 "%y = prim.dot %a, %b batch [0] x [0] contract [1] x [1] : (tensor<3x48x40xf16>, "
                 "tensor<3x48x64xf16>) -> tensor<3x40x64xf32>"),
        {random(DType::F16, {3, 48, 40}), random(DType::F16, {3, 48, 64})});
  check(function("%a: tensor<20x40xui8>, %b: tensor<30x40xi8>", "tensor<20x30xi32>",
                 "%y = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<20x40xui8>, "
                 "tensor<30x40xi8>) -> tensor<20x30xi32>"),
        {random(DType::U8, {20, 40}, 0, 250), random(DType::I8, {30, 40}, -120, 120)});
}

TEST_CASE("few rows of exact products: warps over columns") {
  for (const char *type : {"f32", "f64"})
    for (int rows : {1, 3, 8})
      for (int k : {200, 333}) {
        std::string text = product(type, type, rows, 77, k, true);
        CHECK(scheduleOf(text).getForm() == codegen::device::Form::Skinny);
        DType d = *parseDType(type);
        check(text, {random(d, {rows, k}), random(d, {77, k}), random(d, {77})});
      }
  check(function("%a: tensor<3x2x256xf32>, %w: tensor<3x?x256xf32>", "tensor<3x2x?xf32>",
                 "%y = prim.dot %a, %w batch [0] x [0] contract [2] x [2] : "
                 "(tensor<3x2x256xf32>, tensor<3x?x256xf32>) -> tensor<3x2x?xf32>"),
        {random(DType::F32, {3, 2, 256}), random(DType::F32, {3, 41, 256})});
}

TEST_CASE("few rows by a matrix in rows: sums over them") {
  using codegen::device::Form;
  for (const char *type : {"f32", "f64", "i32", "bf16", "f16"})
    for (int rows : {1, 3})
      for (auto [k, columns] : {std::pair(200, 77), {3000, 36}, {333, 1024}, {5000, 3}}) {
        std::string l = "tensor<" + std::to_string(rows) + "x" + std::to_string(k) + "x" + type +
                        ">",
                    r = "tensor<" + std::to_string(k) + "x" + std::to_string(columns) + "x" + type +
                        ">",
                    y = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" +
                        type + ">",
                    v = "tensor<" + std::to_string(columns) + "x" + type + ">";
        std::string text =
            function("%a: " + l + ", %w: " + r + ", %v: " + v, y,
                     "%0 = prim.dot %a, %w batch [] x [] contract [1] x [0] : (" + l + ", " + r +
                         ") -> " + y + "\n%1 = prim.broadcast %v axes [1] sizes() : (" + v +
                         ") -> " + y + "\n%y = prim.add %0, %1 : (" + y + ", " + y + ") -> " + y);
        INFO(text);
        DType d = *parseDType(type);
        bool sums = bitWidth(d) > 16 || rows == 1 || columns < 32; // else matrix units multiply
        CHECK((scheduleOf(text).getForm() == Form::Column) == sums);
        check(text, {random(d, {rows, k}, -4, 4), random(d, {k, columns}, -4, 4),
                     random(d, {columns}, -4, 4)});
      }
  // Batches, a vector, two axes of k, and what is no sum over rows.
  std::string batches =
      function("%a: tensor<3x2x256xf32>, %w: tensor<3x256x40xf32>", "tensor<3x2x40xf32>",
               "%y = prim.dot %a, %w batch [0] x [0] contract [2] x [1] : "
               "(tensor<3x2x256xf32>, tensor<3x256x40xf32>) -> tensor<3x2x40xf32>");
  CHECK(scheduleOf(batches).getForm() == Form::Column);
  check(batches, {random(DType::F32, {3, 2, 256}), random(DType::F32, {3, 256, 40})});
  std::string vector = function("%a: tensor<20x30xf32>, %w: tensor<20x30x40xf32>", "tensor<40xf32>",
                                "%y = prim.dot %a, %w batch [] x [] contract [0, 1] x [0, 1] : "
                                "(tensor<20x30xf32>, tensor<20x30x40xf32>) -> tensor<40xf32>");
  CHECK(scheduleOf(vector).getForm() == Form::Column);
  check(vector, {random(DType::F32, {20, 30}), random(DType::F32, {20, 30, 40})});
  CHECK(scheduleOf(product("f32", "f32", 9, 77, 256, false)).getForm() != Form::Column);
}

TEST_CASE("few columns: warps over rows") {
  using codegen::device::Form;
  auto vectors = [](const std::string &l, const std::string &r, const std::string &axes,
                    const std::string &y) {
    return function("%a: " + l + ", %b: " + r, y,
                    "%y = prim.dot %a, %b " + axes + " : (" + l + ", " + r + ") -> " + y);
  };
  for (const char *type : {"f32", "f64", "bf16"}) {
    std::string t = std::string("x") + type + ">";
    DType d = *parseDType(type);
    for (int64_t k : {128, 131}) {
      std::string depth = "x" + std::to_string(k);
      for (int64_t n : {1, 3}) {
        std::string wide = std::to_string(n);
        std::string text = vectors(
            "tensor<77" + depth + t, "tensor<" + std::to_string(k) + (n > 1 ? "" : "x1") + t,
            "batch [] x [] contract [1] x [0]", n > 1 ? "tensor<77" + t : "tensor<77x1" + t);
        if (n > 1)
          text = vectors("tensor<77" + depth + t, "tensor<" + wide + depth + t,
                         "batch [] x [] contract [1] x [1]", "tensor<77x" + wide + t);
        INFO(text);
        CHECK(scheduleOf(text).getForm() == Form::Skinny);
        CHECK(scheduleOf(text).getRows() > 0);
        check(text, {random(d, {77, k}), n > 1 ? random(d, {n, k}) : random(d, {k, 1})});
      }
      std::string text = vectors("tensor<5x21" + depth + t, "tensor<5" + depth + t,
                                 "batch [0] x [0] contract [2] x [1]", "tensor<5x21" + t);
      CHECK(scheduleOf(text).getForm() == Form::Skinny);
      check(text, {random(d, {5, 21, k}), random(d, {5, k})});
    }
  }
}

/// The launch with columns read ahead, as those of weights are.
static void checkAhead(const std::string &text, llvm::ArrayRef<Tensor> inputs) {
  checkAs(text, inputs, codegen::device::Form::SkinnyMma, [](MLIRContext *context, Schedule s) {
    return Schedule::get(context, s.getForm(), s.getThreads(), s.getLanes(), s.getVectors(),
                         s.getRowThreads(), s.getDepth(), s.getRows(), s.getColumns(), s.getDepth(),
                         s.getSharedBytes(), s.getMostBlocks(), s.getSplit(), s.getScratchBytes(),
                         s.getIndexBits(), s.getNextEarly());
  });
}

TEST_CASE("products: groups of threads have matrices of their own, or parts of k") {
  struct Groups {
    unsigned threads, matrices, parts, rows, columns, depth;
  };
  auto checkGroups = [](const std::string &text, llvm::ArrayRef<Tensor> inputs,
                        llvm::ArrayRef<Groups> ways) {
    for (const Groups &g : ways) {
      CAPTURE(text, g.threads, g.matrices, g.parts, g.rows, g.columns, g.depth);
      checkAs(text, inputs, codegen::device::Form::Product, [&](MLIRContext *context, Schedule s) {
        return Schedule::get(context, s.getForm(), g.threads, g.matrices, g.parts, 0, 0, g.rows,
                             g.columns, g.depth, 0, 0, 1, 0, s.getIndexBits(), s.getNextEarly());
      });
    }
  };
  for (const char *type : {"f32", "f64", "bf16"})
    for (auto [m, n, k] : {std::array{16, 16, 16}, {13, 20, 40}, {33, 7, 130}}) {
      std::string t = type;
      auto matrix = [&](int rows, int columns) {
        return "tensor<5x" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + t + ">";
      };
      std::string l = matrix(m, k), r = matrix(k, n), y = matrix(m, n);
      DType d = *parseDType(t);
      checkGroups(function("%a: " + l + ", %b: " + r, y,
                           "%0 = prim.dot %a, %b batch [0] x [0] contract [2] x [1] : (" + l +
                               ", " + r + ") -> " + y + "\n%y = prim.neg %0 : (" + y + ") -> " + y),
                  {random(d, {5, m, k}), random(d, {5, k, n})},
                  {{64, 4, 1, 16, 16, 16},
                   {128, 2, 1, 32, 32, 8},
                   {256, 1, 4, 32, 32, 16},
                   {64, 1, 2, 32, 16, 16},
                   {128, 1, 8, 16, 16, 8},
                   {256, 1, 2, 64, 32, 16}});
    }
  // Groups of a convolution.
  std::string x = "tensor<2x9x7x24xf32>", w = "tensor<48x8x3x3xf32>", y = "tensor<2x9x7x48xf32>";
  checkGroups(function("%x: " + x + ", %w: " + w, y,
                       "%y = " + convolution(Windows::square(1, 1, 1, 3), x, w, y)),
              {random(DType::F32, {2, 9, 7, 24}), random(DType::F32, {48, 8, 3, 3})},
              {{64, 2, 1, 32, 16, 16}, {64, 1, 2, 32, 16, 8}});
}

TEST_CASE("products: large squares of threads; groups and blocks share what a tile sums") {
  struct Way {
    unsigned threads, parts, split, rows, columns, depth;
  };
  for (auto [m, n, k] : {std::array{70, 150, 130}, {13, 140, 300}}) {
    std::string l = "tensor<2x" + std::to_string(m) + "x" + std::to_string(k) + "xf32>",
                r = "tensor<2x" + std::to_string(n) + "x" + std::to_string(k) + "xf32>",
                y = "tensor<2x" + std::to_string(m) + "x" + std::to_string(n) + "xf32>";
    std::string text = function("%a: " + l + ", %b: " + r, y,
                                "%y = prim.dot %a, %b batch [0] x [0] contract [2] x [2] : (" + l +
                                    ", " + r + ") -> " + y);
    for (const Way &w : {Way{256, 1, 1, 128, 128, 16},
                         {128, 1, 2, 128, 64, 8},
                         {128, 2, 3, 64, 64, 8},
                         {128, 4, 2, 32, 64, 8},
                         {64, 2, 4, 16, 128, 16},
                         {128, 2, 3, 32, 32, 16}}) {
      checkAs(text, {random(DType::F32, {2, m, k}), random(DType::F32, {2, n, k})},
              codegen::device::Form::Product, [&](MLIRContext *context, Schedule s) {
                unsigned tiles = 2 * llvm::divideCeil(m, w.rows) * llvm::divideCeil(n, w.columns);
                unsigned scratch = codegen::device::kCounterBytes +
                                   tiles * w.split * w.rows * w.columns * sizeof(float);
                return Schedule::get(context, s.getForm(), w.threads, 1, w.parts, 0, 0, w.rows,
                                     w.columns, w.depth, 0, 0, w.split, w.split > 1 ? scratch : 0,
                                     s.getIndexBits(), s.getNextEarly());
              });
    }
  }
}

TEST_CASE("few rows on matrix units: warps share k, with and without tails") {
  using codegen::device::Form;
  struct Case {
    const char *type, *result;
    int m, n, k;
  };
  for (const Case &c : {Case{"bf16", "bf16", 1, 77, 200},
                        {"bf16", "f32", 1, 3000, 2048},
                        {"f16", "f16", 3, 40, 1000},
                        {"bf16", "bf16", 8, 64, 64},
                        {"f16", "f32", 13, 20, 4104},
                        {"bf16", "bf16", 16, 24, 512},
                        {"i8", "i32", 2, 50, 208},
                        {"i8", "i32", 11, 9, 4096}}) {
    std::string text = product(c.type, c.result, c.m, c.n, c.k, true);
    INFO(text);
    CHECK(scheduleOf(text).getForm() == Form::SkinnyMma);
    DType d = *parseDType(c.type), r = *parseDType(c.result);
    double most = d == DType::I8 ? 120 : 2;
    const Tensor inputs[] = {random(d, {c.m, c.k}, -most, most), random(d, {c.n, c.k}, -most, most),
                             random(r, {c.n})};
    check(text, inputs);
    checkAhead(text, inputs);
  }
  // Batches, open columns; a left operand whose neighbours lie together, but not 16 bytes of them.
  check(function("%a: tensor<3x2x256xbf16>, %w: tensor<3x?x256xbf16>", "tensor<3x2x?xf32>",
                 "%y = prim.dot %a, %w batch [0] x [0] contract [2] x [2] : "
                 "(tensor<3x2x256xbf16>, tensor<3x?x256xbf16>) -> tensor<3x2x?xf32>"),
        {random(DType::BF16, {3, 2, 256}), random(DType::BF16, {3, 41, 256})});
  check(function("%x: tensor<2x132xbf16>, %w: tensor<30x128xbf16>", "tensor<2x30xf32>", R"(
    %a = prim.slice %x starts [0, 2]() steps [1, 1] sizes() : (tensor<2x132xbf16>) -> tensor<2x128xbf16>
    %y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<2x128xbf16>, tensor<30x128xbf16>) -> tensor<2x30xf32>)"),
        {random(DType::BF16, {2, 132}), random(DType::BF16, {30, 128})});
  // Odd rows of k, rows across, more rows: other forms.
  CHECK(scheduleOf(product("bf16", "bf16", 4, 64, 133, true)).getForm() == Form::Mma);
  CHECK(scheduleOf(product("bf16", "bf16", 4, 64, 128, false)).getForm() == Form::Mma);
  CHECK(scheduleOf(product("bf16", "bf16", 17, 64, 128, true)).getForm() == Form::Mma);
}

TEST_CASE("few rows: a gate and what it opens are one kernel") {
  auto gated = [](int rows, int columns, int inner) {
    std::string m = std::to_string(rows), n = std::to_string(columns), k = std::to_string(inner);
    std::string x = "tensor<" + m + "x" + k + "xbf16>", w = "tensor<" + n + "x" + k + "xbf16>",
                wide = "tensor<" + m + "x" + n + "xf32>",
                narrow = "tensor<" + m + "x" + n + "xbf16>";
    auto dot = [&](const std::string &name, const std::string &weights) {
      return "%" + name + " = prim.dot %x, %" + weights + " batch [] x [] contract [1] x [1] : (" +
             x + ", " + w + ") -> " + wide + "\n";
    };
    auto unary = [](const std::string &name, const std::string &op, const std::string &of,
                    const std::string &from, const std::string &to) {
      return "%" + name + " = prim." + op + " %" + of + " : (" + from + ") -> " + to + "\n";
    };
    auto mul = [&](const std::string &name, const std::string &a, const std::string &b) {
      return "%" + name + " = prim.mul %" + a + ", %" + b + " : (" + wide + ", " + wide + ") -> " +
             wide + "\n";
    };
    return function("%x: " + x + ", %g: " + w + ", %u: " + w, narrow,
                    dot("gate", "g") + unary("narrow", "cast", "gate", wide, narrow) +
                        unary("again", "cast", "narrow", narrow, wide) +
                        unary("open", "logistic", "again", wide, wide) +
                        mul("silu", "again", "open") + dot("up", "u") + mul("all", "silu", "up") +
                        unary("y", "cast", "all", wide, narrow));
  };
  auto launches = [](const std::string &text) {
    auto module = fused(text);
    unsigned count = 0;
    module->walk([&](kernel::LaunchOp) { ++count; });
    return count;
  };
  for (auto [m, n, k] : {std::tuple(1, 77, 200), {1, 2000, 2048}, {5, 64, 1024}, {16, 40, 512}}) {
    std::string text = gated(m, n, k);
    INFO(text);
    CHECK(launches(text) == 1);
    CHECK(scheduleOf(text).getForm() == codegen::device::Form::SkinnyMma);
    const Tensor inputs[] = {random(DType::BF16, {m, k}), random(DType::BF16, {n, k}, -0.1, 0.1),
                             random(DType::BF16, {n, k})};
    check(text, inputs);
    checkAhead(text, inputs);
  }
  CHECK(launches(gated(17, 40, 512)) == 2);
  std::string ptx = ptxOf(gated(1, 8192, 2048), *GpuArch::find("sm_90a"));
  CHECK(ptx.find("griddepcontrol.wait") < ptx.find("ld.global"));
  checkAssembles(ptx, *GpuArch::find("sm_90a"));
}

TEST_CASE("f32 is rounded for matrix units where that is allowed") {
  std::string text = product("f32", "f32", 40, 50, 100, true);
  auto module = fused(text);
  kernel::LaunchOp launch;
  module->walk([&](kernel::LaunchOp op) { launch = op; });
  for (const char *name : {"sm_80", "sm_90a"}) {
    const GpuArch &arch = *GpuArch::find(name);
    CHECK(codegen::device::chooseSchedule(launch, arch).getForm() ==
          codegen::device::Form::Product);
    CHECK(codegen::device::chooseSchedule(launch, arch, true).getForm() ==
          (arch.matrixUnit == MatrixUnit::Wgmma ? codegen::device::Form::Wgmma
                                                : codegen::device::Form::Mma));
  }
  // Of numbers that tf32 has, the products are exact.
  auto few = [](llvm::ArrayRef<int64_t> shape) {
    Tensor narrow = random(DType::BF16, shape);
    std::vector<double> values;
    for (int64_t i = 0; i < narrow.elements(); ++i)
      values.push_back(narrow.real(i));
    return Tensor::ofReals(DType::F32, shape, values);
  };
  for (bool byColumns : {true, false})
    check(product("f32", "f32", 40, 50, 100, byColumns),
          {few({40, 100}), byColumns ? few({50, 100}) : few({100, 50}), few({50})}, true);
  check(product("f32", "f32", 6, 50, 400, true), {few({6, 400}), few({50, 400}), few({50})}, true);
  // Operands along the rows and columns: copies of 16, 8 and 4 bytes, narrow and wide tiles.
  for (auto [m, n, k] : {std::tuple(16, 64, 96), {40, 130, 100}, {33, 51, 68}, {300, 520, 40}}) {
    std::string left = std::to_string(k) + "x" + std::to_string(m),
                right = std::to_string(k) + "x" + std::to_string(n),
                rows = std::to_string(m) + "x" + std::to_string(k),
                y = "tensor<" + std::to_string(m) + "x" + std::to_string(n) + "xf32>";
    for (bool across : {true, false}) {
      std::string a = "tensor<" + (across ? left : rows) + "xf32>", w = "tensor<" + right + "xf32>";
      std::string text = function("%a: " + a + ", %w: " + w, y,
                                  "%y = prim.dot %a, %w batch [] x [] contract [" +
                                      std::string(across ? "0" : "1") + "] x [0] : (" + a + ", " +
                                      w + ") -> " + y);
      INFO(text);
      check(text, {across ? few({k, m}) : few({m, k}), few({k, n})}, true);
    }
  }
}

/// "2x3x", of a type's extents.
static std::string extents(llvm::ArrayRef<int64_t> shape) {
  std::string dims;
  for (int64_t d : shape)
    dims += std::to_string(d) + "x";
  return dims;
}

TEST_CASE("convolutions: padded, strided, grouped, channels last, transposed") {
  struct Case {
    std::vector<int64_t> x, w, y;
    Windows windows;
  };
  Windows transposed{{1}, {1}, {1}, {1}};
  transposed.inputDilation = {2};
  for (const Case &c :
       {Case{{2, 6, 9, 10}, {8, 6, 3, 3}, {2, 8, 9, 10}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}}},
        Case{{1, 8, 11, 7}, {12, 4, 3, 2}, {1, 12, 5, 4}, {{2, 2}, {1, 2}, {0, 1}, {0, 1}, 2}},
        Case{{2, 9, 10, 6}, {8, 6, 3, 3}, {2, 9, 10, 8}, Windows::square(1, 1, 1, 1)},
        Case{{1, 6, 7, 8}, {8, 1, 3, 3}, {1, 6, 7, 8}, Windows::square(1, 1, 1, 8)},
        Case{{1, 3, 5}, {4, 3, 3}, {1, 4, 9}, transposed}}) {
    auto type = [](llvm::ArrayRef<int64_t> shape) { return "tensor<" + extents(shape) + "f32>"; };
    std::string x = type(c.x), w = type(c.w), y = type(c.y);
    check(function("%x: " + x + ", %w: " + w, y, "%y = " + convolution(c.windows, x, w, y)),
          {random(DType::F32, c.x), random(DType::F32, c.w)});
  }
}

TEST_CASE("convolutions on matrix units: windows, strides, groups, few channels, depthwise") {
  using codegen::device::Form;
  struct Case {
    const char *type, *result;
    std::vector<int64_t> x, w, y; ///< channels last, filters as ONNX has them
    int stride, dilation, low;
    Form form;
  };
  for (const Case &c :
       {Case{"bf16", "bf16", {2, 9, 10, 16}, {24, 16, 3, 3}, {2, 9, 10, 24}, 1, 1, 1, Form::Mma},
        {"bf16", "f32", {2, 13, 11, 24}, {40, 24, 3, 3}, {2, 7, 6, 40}, 2, 1, 1, Form::Mma},
        {"f16", "f16", {1, 12, 12, 32}, {48, 16, 3, 3}, {1, 8, 8, 48}, 1, 2, 0, Form::Mma},
        {"bf16", "bf16", {1, 14, 14, 3}, {16, 3, 5, 5}, {1, 7, 7, 16}, 2, 1, 2, Form::Mma},
        {"bf16", "bf16", {1, 14, 14, 4}, {16, 4, 5, 5}, {1, 7, 7, 16}, 2, 1, 2, Form::Mma},
        {"f16", "f16", {1, 7, 7, 36}, {20, 36, 1, 1}, {1, 4, 4, 20}, 2, 1, 0, Form::Mma},
        {"i8", "i32", {1, 6, 6, 32}, {16, 32, 3, 3}, {1, 6, 6, 16}, 1, 1, 1, Form::Mma},
        {"f32", "f32", {1, 9, 9, 8}, {12, 8, 3, 3}, {1, 9, 9, 12}, 1, 1, 1, Form::Product},
        {"bf16", "bf16", {1, 9, 9, 48}, {48, 1, 3, 3}, {1, 9, 9, 48}, 1, 1, 1, Form::Loop},
        {"f32", "f32", {2, 9, 8, 12}, {12, 1, 5, 5}, {2, 5, 4, 12}, 2, 1, 2, Form::Loop},
        // Strips of two and of eight places, whose last one is cut, and rows with gaps.
        {"bf16", "f32", {1, 99, 97, 40}, {40, 1, 5, 5}, {1, 50, 49, 40}, 2, 1, 2, Form::Loop},
        {"f16", "f16", {1, 60, 61, 64}, {64, 1, 3, 3}, {1, 60, 61, 64}, 1, 2, 2, Form::Loop},
        {"bf16", "bf16", {2, 98, 92, 64}, {64, 1, 3, 3}, {2, 98, 92, 64}, 1, 1, 1, Form::Loop}}) {
    int64_t groups = c.x.back() / c.w[1];
    std::string x = "tensor<" + extents(c.x) + c.type + ">",
                y = "tensor<" + extents(c.y) + c.result + ">";
    std::string order = c.w[1] == 1 && groups > 1 ? "[2, 3, 1, 0]" : "[0, 2, 3, 1]";
    std::string w = "tensor<" + extents(c.w) + c.type + ", #prim.axis_order<" + order + ">>";
    auto windows = Windows::square(c.stride, c.dilation, c.low, groups);
    std::string module = function("%x: " + x + ", %w: " + w + ", %z: " + y, y,
                                  "%0 = " + convolution(windows, x, w, y) +
                                      "\n%y = prim.add %0, %z : (" + y + ", " + y + ") -> " + y);
    INFO(module);
    CHECK(scheduleOf(module).getForm() == c.form);
    DType d = *parseDType(c.type), r = *parseDType(c.result);
    double most = d == DType::I8 ? 120 : 2;
    check(module, {random(d, c.x, -most, most), random(d, c.w, -most, most), random(r, c.y)});
  }
}
