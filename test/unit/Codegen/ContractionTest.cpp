//===- ContractionTest.cpp - The product template against plain loops ----===//
//
// Extents around the tile's size are the ones that break: each remainder of rows, columns and k
// runs, in every form of B, and memory behind the operands is guarded.
//
//===----------------------------------------------------------------------===//
#include "GemmKernel.h"
#include "llvm/Support/Regex.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tcc;
using namespace tcc::test;
using codegen::PanelLayout;

namespace {

/// Runs the case, its tasks in a mixed order, and compares every element.
void check(const GemmCase &g, const CpuTarget &cpu,
           std::optional<codegen::ContractionSchedule> given = {},
           std::optional<double> bound = {}) {
  CAPTURE(g.m, g.n, g.k, g.dynamicM, g.dynamicN, g.dynamicK, int(g.layout), cpu.name);
  codegen::ContractionSchedule schedule = given ? *given : scheduleOf(cpu, g);
  auto context = kernelContext();
  auto module = gemmModule(*context, cpu, g, schedule);
  CompiledKernels kernels(*module, cpu);

  GuardedFloats a(g.m * g.k), c(g.m * g.n), bias(g.n);
  std::vector<float> b(g.k * g.n);
  a.fill(1), bias.fill(2);
  GuardedFloats random(b.size());
  random.fill(3);
  std::copy_n(random.data(), b.size(), b.begin());
  std::vector<float> laid = layOutB(b, g, schedule.panelWidth());
  GuardedFloats guardedB(laid.size());
  std::copy(laid.begin(), laid.end(), guardedB.data());
  std::fill_n(c.data(), c.size(), NAN);

  int64_t args[8] = {int64_t(a.data()),
                     int64_t(guardedB.data()),
                     int64_t(c.data()),
                     int64_t(bias.data()),
                     g.m,
                     g.n,
                     g.k};
  kernels.get("tasks")(args, 0, 0);
  int64_t tasks = args[7], half = tasks / 2;
  kernels.get("gemm")(args, half, tasks);
  kernels.get("gemm")(args, 0, half);

  double worst = 0;
  for (int64_t m = 0; m < g.m; ++m)
    for (int64_t n = 0; n < g.n; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < g.k; ++k)
        sum += double(g.transposedA ? a[k * g.m + m] : a[m * g.k + k]) * b[k * g.n + n];
      if (g.relu)
        sum = std::max(0.0, sum + bias[n]);
      double error = std::fabs(sum - c[m * g.n + n]);
      worst = error <= worst ? worst : error;
    }
  CHECK(worst <= bound.value_or(1e-6 * (1 + g.k / 16.0)));
}

CpuTarget target(llvm::StringRef cpu) { return llvm::cantFail(CpuTarget::create(cpu)); }

} // namespace

TEST_CASE("static shapes, also odd ones") {
  const int64_t shapes[][3] = {{1, 1, 1},    {1, 17, 5},   {3, 1, 9},     {5, 3, 2},
                               {8, 48, 16},  {13, 31, 33}, {14, 64, 64},  {37, 100, 50},
                               {49, 40, 7},  {50, 24, 19}, {67, 129, 65}, {100, 72, 1},
                               {1, 300, 257}};
  for (const std::string &level : test::hostLevels()) {
    CpuTarget cpu = target(level);
    for (const auto &[m, n, k] : shapes)
      check({.m = m, .n = n, .k = k, .relu = (m + n) % 2 == 0}, cpu);
  }
}

TEST_CASE("unknown extents") {
  for (const std::string &level : test::hostLevels()) {
    CpuTarget cpu = target(level);
    for (int64_t m : {1, 2, 7, 8, 15, 40})
      check({.m = m, .n = 48, .k = 33, .dynamicM = true, .relu = true}, cpu);
    check({.m = 10, .n = 20, .k = 600, .dynamicM = true, .dynamicK = true}, cpu);
    for (int64_t n : {1, 16, 47, 130})
      check({.m = 21,
             .n = n,
             .k = 40,
             .dynamicM = true,
             .dynamicN = true,
             .dynamicK = true,
             .layout = PanelLayout::RowMajor},
            cpu);
  }
}

TEST_CASE("B of activations") {
  for (const std::string &level : test::hostLevels()) {
    CpuTarget cpu = target(level);
    for (PanelLayout layout : {PanelLayout::RowMajor, PanelLayout::Transposed}) {
      check({.m = 40, .n = 100, .k = 64, .layout = layout}, cpu);
      check({.m = 2, .n = 33, .k = 20, .layout = layout}, cpu);
      check({.m = 50, .n = 70, .k = 700, .layout = layout}, cpu);
      check({.m = 33,
             .n = 45,
             .k = 300,
             .dynamicM = true,
             .dynamicN = true,
             .dynamicK = true,
             .layout = layout},
            cpu);
    }
  }
}

TEST_CASE("columns along k, multiplied where they lie") {
  for (const std::string &level : test::hostLevels()) {
    CpuTarget cpu = target(level);
    for (int64_t m : {1, 2, 3, 5, 8, 13})
      for (int64_t n : {1, 5, 16, 97})
        for (int64_t k : {1, 15, 64, 1023, 1600}) {
          GemmCase g{.m = m, .n = n, .k = k, .layout = PanelLayout::Transposed, .relu = n == 5};
          codegen::ContractionSchedule schedule = scheduleOf(cpu, g);
          schedule.b = codegen::OperandAccess::InPlace;
          schedule.inlineEpilogue = false;
          check(g, cpu, schedule);
        }
    GemmCase open{.m = 11,
                  .n = 45,
                  .k = 300,
                  .dynamicM = true,
                  .dynamicN = true,
                  .dynamicK = true,
                  .layout = PanelLayout::Transposed};
    codegen::ContractionSchedule schedule = scheduleOf(cpu, open);
    CHECK(schedule.packsB());
    schedule.b = codegen::OperandAccess::InPlace;
    check(open, cpu, schedule);
  }
  CpuTarget cpu = llvm::cantFail(CpuTarget::create("x86-64-v4", "x86_64-linux"));
  auto copies = [&](int64_t m, int64_t k) {
    return scheduleOf(cpu, {.m = m, .n = 256, .k = k, .layout = PanelLayout::Transposed}).packsB();
  };
  CHECK(!copies(8, 768));
  CHECK(copies(512, 768));
  CHECK(copies(64, 64));
}

TEST_CASE("A transposed, in place and copied") {
  CpuTarget cpu = target("native");
  check({.m = 50, .n = 70, .k = 33, .transposedA = true}, cpu);
  check({.m = 50, .n = 70, .k = 33, .dynamicM = true, .transposedA = true}, cpu);
  check({.m = 50, .n = 70, .k = 33, .transposedA = true, .copiedA = true}, cpu);
  check({.m = 50,
         .n = 70,
         .k = 600,
         .dynamicM = true,
         .dynamicK = true,
         .transposedA = true,
         .copiedA = true},
        cpu);
}

// One running sum of 4096 such terms is off by 2e-5 somewhere.
TEST_CASE("long sums lose few bits") {
  constexpr double bound = 1e-5;
  CpuTarget cpu = target("native");
  for (int64_t m : {1, 30}) {
    check({.m = m, .n = 80, .k = 4096}, cpu, {}, bound);
    check({.m = m, .n = 80, .k = 4096, .dynamicM = true, .dynamicK = true}, cpu, {}, bound);
    for (PanelLayout layout : {PanelLayout::RowMajor, PanelLayout::Transposed})
      check({.m = m, .n = 80, .k = 4096, .layout = layout}, cpu, {}, bound);
  }
}

TEST_CASE("every choice of a schedule is correct") {
  CpuTarget cpu = target("native");
  GemmCase g{.m = 45, .n = 90, .k = 70};
  for (bool inlined : {false, true})
    for (int64_t kBlock : {0, 16, 32}) {
      codegen::ContractionSchedule schedule = scheduleOf(cpu, g);
      schedule.inlineEpilogue = inlined;
      schedule.kBlock = kBlock;
      schedule.tilesPerTask = 2;
      schedule.panelsPerTask = 1 + inlined;
      check(g, cpu, schedule);
      g.dynamicM = !g.dynamicM;
    }
}

TEST_CASE("a low tile across several panels") {
  for (const std::string &level : test::hostLevels()) {
    CpuTarget cpu = target(level);
    // Sets of panels, some that are left over, one with a part of its columns; sums in blocks.
    for (int64_t n : {96, 192, 216, 1000, 1001})
      for (int64_t m : {1, 2, 3, 5})
        for (int64_t panels : {2, 3, 4, 5, 8}) {
          GemmCase g{.m = m, .n = n, .k = 300, .relu = n % 2 == 0};
          codegen::ContractionSchedule schedule = scheduleOf(cpu, g);
          schedule.panelsPerTask = panels;
          check(g, cpu, schedule);
        }
  }
}

TEST_CASE("a large B that is read row by row is cut for a few threads") {
  CpuTarget cpu = llvm::cantFail(CpuTarget::create("x86-64-v3", "x86_64-linux"));
  for (int64_t n : {1024, 2048, 4096}) {
    codegen::ContractionSchedule s =
        scheduleOf(cpu, {.m = 1, .n = n, .k = 8192, .layout = PanelLayout::RowMajor});
    CAPTURE(n, s.panelsPerTask);
    CHECK(s.kBlock == 8);
    CHECK(s.panelsPerTask * s.panelWidth() * 3 < n);
  }
  // Several tiles are a task's, and read more rows at a time; a copy has parts of rows as long.
  auto in = [&](int64_t m) {
    return scheduleOf(cpu, {.m = m, .n = 4096, .k = 4096, .layout = PanelLayout::RowMajor});
  };
  codegen::ContractionSchedule two = in(8), copied = in(33);
  CHECK(two.tilesPerTask == 2);
  CHECK(two.kBlock == 16);
  CHECK(!two.packsB());
  CHECK(copied.packsB());
  CHECK(copied.kBlock == 64);
  CHECK(copied.panelsPerTask * copied.panelWidth() >= 256);
}

TEST_CASE("a large B that is read row by row, by rows of one tile and of several") {
  CpuTarget cpu = target("native");
  cpu.l2Bytes = 4 << 10; // 100 columns of 50 are far
  for (int64_t m : {1, 3, 8, 9, 20, 50})
    for (int64_t n : {100, 515, 700, 2050})
      for (bool transposed : {false, true})
        check({.m = m,
               .n = n,
               .k = 133,
               .layout = PanelLayout::RowMajor,
               .transposedA = transposed,
               .copiedA = transposed && m % 2 == 0},
              cpu);
}

TEST_CASE("tasks below each other, which copy the same panels, as one") {
  CpuTarget cpu = target("native");
  for (PanelLayout layout : {PanelLayout::RowMajor, PanelLayout::Transposed})
    for (int64_t k : {60, 600})
      for (int64_t tiles : {1, 3, 40})
        for (bool dynamic : {false, true}) {
          GemmCase g{.m = 205, .n = 70, .k = k, .dynamicM = dynamic, .layout = layout};
          codegen::ContractionSchedule schedule = scheduleOf(cpu, g);
          schedule.tilesPerTask = tiles;
          schedule.panelsPerTask = tiles == 3 ? 2 : 1;
          check(g, cpu, schedule);
        }
}

TEST_CASE("one row by many columns reads panels beside each other") {
  for (llvm::StringRef name : {"x86-64-v3", "x86-64-v4"}) {
    CpuTarget cpu = llvm::cantFail(CpuTarget::create(name, "x86_64-linux"));
    codegen::ContractionSchedule few = scheduleOf(cpu, {.m = 1, .n = 32000, .k = 1024}),
                                 many = scheduleOf(cpu, {.m = 64, .n = 32000, .k = 1024});
    CHECK(panelsBeside(cpu, few) >= 3);
    CHECK(panelsBeside(cpu, many) == 1);
    codegen::ContractionSchedule words = few;
    words.vectors = cpu.vectorRegisters == 32 ? 3 : 2, words.panelsPerTask = 6;
    CHECK(panelsBeside(cpu, words, /*grouped=*/true) == (cpu.vectorRegisters == 32 ? 3 : 2));
  }
}

TEST_CASE("every candidate is correct") {
  CpuTarget cpu = target("native");
  for (PanelLayout layout : {PanelLayout::Packed, PanelLayout::RowMajor, PanelLayout::Transposed})
    for (bool dynamic : {false, true}) {
      GemmCase g{.m = 35, .n = 70, .k = 1030, .dynamicM = dynamic, .layout = layout};
      for (const codegen::ContractionSchedule &schedule : candidatesOf(cpu, g))
        check(g, cpu, schedule);
    }
}

TEST_CASE("the panels of a task or its rows stay in L2, however many columns there are") {
  for (llvm::StringRef name : {"x86-64-v3", "x86-64-v4"}) {
    CpuTarget cpu = llvm::cantFail(CpuTarget::create(name, "x86_64-linux"));
    for (int64_t n : {768, 4096, 9000, 32000, 50257, 200000})
      for (int64_t k : {256, 768, 1024}) {
        codegen::ContractionSchedule s = scheduleOf(cpu, {.m = 128, .n = n, .k = k});
        CAPTURE(name.str(), n, k, s.tilesPerTask, s.panelsPerTask);
        bool oneTile = s.tilesPerTask == 1;
        bool byPanel = codegen::goesPanelByPanel(cpu, PanelLayout::Packed, s, k, /*accBits=*/32);
        CHECK((oneTile || byPanel || s.panelsPerTask * s.panelWidth() * k * 4 <= cpu.l2Bytes / 2));
      }
  }
}

TEST_CASE("tiles of all heights share one epilogue") {
  CpuTarget cpu = llvm::cantFail(CpuTarget::create("x86-64-v4", "x86_64-linux"));
  auto epilogues = [&](bool dynamicM) {
    GemmCase g{.m = 64, .n = 96, .k = 256, .dynamicM = dynamicM, .relu = true};
    auto context = kernelContext();
    std::string text;
    llvm::raw_string_ostream(text) << *gemmModule(*context, cpu, g, scheduleOf(cpu, g));
    return llvm::StringRef(text).count("arith.maximumf");
  };
  CHECK(epilogues(false) > 0);
  CHECK(epilogues(true) == epilogues(false));
}

TEST_CASE("what comes soon is fetched into the nearest cache") {
  CpuTarget cpu = llvm::cantFail(CpuTarget::create("x86-64-v4", "x86_64-linux"));
  auto fetches = [&](const GemmCase &g) {
    auto context = kernelContext();
    std::string text;
    llvm::raw_string_ostream(text) << *gemmModule(*context, cpu, g, scheduleOf(cpu, g));
    llvm::StringRef all = text;
    return std::pair(all.count("cache = 1 : i32, hint = 3"),
                     all.count("cache = 1 : i32, hint = 2"));
  };
  // Two steps of a panel of three lines: a panel that is left over beside those that are streams
  // enough together, and each one of eight rows.
  CHECK(fetches({.m = 4, .n = 3072, .k = 96}) == std::pair<size_t, size_t>(6, 0));
  CHECK(fetches({.m = 8, .n = 3072, .k = 96}) == std::pair<size_t, size_t>(6, 0));
  // Tiles that share a panel fetch the next one into the second, a part each.
  CHECK(fetches({.m = 64, .n = 3072, .k = 96}).first == 0);
  CHECK(fetches({.m = 64, .n = 3072, .k = 96}).second > 0);
  // Of open rows a run tells which it is.
  auto [near, next] = fetches({.m = 64, .n = 3072, .k = 96, .dynamicM = true});
  CHECK(near > 0);
  CHECK(next > 0);
  // Blocks of four columns of a far matrix that lie along k, two vectors of each a turn.
  constexpr auto alongK = codegen::PanelLayout::Transposed;
  CHECK(fetches({.m = 4, .n = 8192, .k = 4096, .layout = alongK}).first >= 8);
  CHECK(fetches({.m = 4, .n = 512, .k = 512, .layout = alongK}).first == 0);
}

TEST_CASE("accumulators stay in registers") {
  const int64_t shapes[][3] = {{128, 768, 768}, {784, 128, 512}, {784, 40, 120},
                               {3136, 24, 64},  {49, 112, 480},  {1, 1000, 2048},
                               {2, 3072, 768},  {3, 3072, 768},  {4, 3072, 768}};
  const llvm::StringRef targets[][2] = {{"v3", "x86_64-linux"},
                                        {"znver4", "x86_64-linux"},
                                        {"v4", "x86_64-linux"},
                                        {"generic", "aarch64-linux"},
                                        {"neoverse-n1", "aarch64-linux"}};
  llvm::Regex spill("([xyz]mm[0-9]+.*(Spill|Reload))|(\t[ls][dt][rpu]+\tq[0-9]+.*Folded)",
                    llvm::Regex::Newline);
  for (const auto &[cpuName, triple] : targets) {
    CpuTarget cpu = llvm::cantFail(CpuTarget::create(cpuName, triple));
    for (const auto &[m, n, k] : shapes) {
      GemmCase g{.m = m, .n = n, .k = k};
      auto context = kernelContext();
      std::string text = assemblyOf(*gemmModule(*context, cpu, g, scheduleOf(cpu, g)), cpu);
      llvm::SmallVector<llvm::StringRef> found;
      CAPTURE(m, n, k, cpu.name);
      CHECK_FALSE(spill.match(text, &found));
    }
  }
}
