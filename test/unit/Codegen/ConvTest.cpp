//===- ConvTest.cpp - Convolution templates against plain loops ----------===//
//
// Each shape runs with static and with open extents and for every vector length of the host,
// because masks, tails and loops differ between them, and memory behind the operands is guarded.
//
//===----------------------------------------------------------------------===//
#include "ConvKernel.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tcc;
using namespace tcc::test;

namespace {

void check(const ConvCase &g, const CpuTarget &cpu,
           std::optional<codegen::ContractionSchedule> schedule = {}) {
  CAPTURE(g.batch, g.input[0], g.input[1], g.input[2], g.channels, g.filters, g.groups, g.kernel[1],
          g.kernel[2], g.stride[1], g.pad[1], g.dynamic, g.winograd, cpu.name);
  auto context = kernelContext();
  auto module = convModule(*context, cpu, g, schedule);
  CompiledKernels kernels(*module, cpu);

  int64_t pixels = g.pixels();
  GuardedFloats input(g.batch * g.input[0] * g.input[1] * g.input[2] * g.channels);
  GuardedFloats weights(g.filters * g.channels / g.groups * g.taps());
  GuardedFloats bias(g.filters), output(pixels * g.filters);
  input.fill(1), weights.fill(2), bias.fill(3);
  std::vector<float> laid = packConvWeights(cpu, weights.data(), g);
  GuardedFloats packed(laid.size());
  std::copy(laid.begin(), laid.end(), packed.data());
  std::fill_n(output.data(), output.size(), NAN);
  int64_t args[12] = {int64_t(input.data()),
                      int64_t(packed.data()),
                      int64_t(output.data()),
                      int64_t(bias.data()),
                      g.batch,
                      g.input[0],
                      g.input[1],
                      g.input[2],
                      g.output(0),
                      g.output(1),
                      g.output(2)};
  kernels.get("tasks")(args, 0, 0);
  int64_t tasks = args[11], half = tasks / 2;
  kernels.get("conv")(args, half, tasks);
  kernels.get("conv")(args, 0, half);

  double worst = 0;
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    for (int64_t filter = 0; filter < g.filters; ++filter) {
      double want = convReference(g, input.data(), weights.data(), pixel, filter) + bias[filter];
      double error = std::fabs(std::max(0.0, want) - output[pixel * g.filters + filter]);
      worst = error <= worst ? worst : error;
    }
  CHECK(worst <= 1e-6 * (1 + g.taps() * g.channels / g.groups / 16.0));
}

/// In every form: static, dynamic, and on every vector length of the host.
void checkAll(ConvCase g) {
  for (const std::string &level : test::hostLevels()) {
    CpuTarget cpu = llvm::cantFail(CpuTarget::create(level));
    for (bool dynamic : {false, true}) {
      g.dynamic = dynamic;
      check(g, cpu);
    }
  }
}

} // namespace

TEST_CASE("3x3") {
  checkAll(
      {.input = {1, 9, 11}, .channels = 32, .filters = 40, .kernel = {1, 3, 3}, .pad = {0, 1, 1}});
  checkAll({.batch = 2,
            .input = {1, 7, 7},
            .channels = 24,
            .filters = 16,
            .kernel = {1, 3, 3},
            .stride = {1, 2, 2},
            .pad = {0, 1, 1}});
  checkAll({.input = {1, 13, 10},
            .channels = 17,
            .filters = 33,
            .kernel = {1, 3, 3},
            .dilation = {1, 2, 3}});
}

TEST_CASE("1x1") {
  checkAll({.batch = 2, .input = {1, 5, 6}, .channels = 20, .filters = 50});
  checkAll({.input = {1, 9, 9}, .channels = 20, .filters = 50, .stride = {1, 2, 2}});
  checkAll({.input = {1, 4, 4}, .channels = 20, .filters = 10, .pad = {0, 1, 1}});
}

TEST_CASE("lines of few channels are copied") {
  checkAll({.input = {1, 19, 21},
            .channels = 3,
            .filters = 24,
            .kernel = {1, 7, 7},
            .stride = {1, 2, 2},
            .pad = {0, 3, 3}});
  checkAll({.batch = 2,
            .input = {1, 8, 8},
            .channels = 1,
            .filters = 5,
            .kernel = {1, 3, 3},
            .dilation = {1, 1, 2}});
  checkAll(
      {.input = {1, 3, 3}, .channels = 4, .filters = 8, .kernel = {1, 5, 5}, .pad = {0, 2, 2}});
  // A line is several tasks; sums of more than two hundred products are cut.
  checkAll({.input = {1, 1, 2000},
            .channels = 15,
            .filters = 33,
            .kernel = {1, 1, 25},
            .stride = {1, 1, 3},
            .pad = {0, 0, 24},
            .dilation = {1, 1, 2}});
  checkAll({.batch = 2,
            .input = {3, 5, 31},
            .channels = 5,
            .filters = 20,
            .kernel = {3, 3, 7},
            .pad = {1, 1, 3}});
}

TEST_CASE("taps outside of the image are passed over") {
  checkAll({.input = {1, 11, 13},
            .channels = 32,
            .filters = 20,
            .kernel = {1, 3, 3},
            .pad = {0, 5, 5},
            .dilation = {1, 5, 5}});
  // Every tap but the one in the middle, for every row.
  checkAll({.batch = 3,
            .input = {1, 4, 4},
            .channels = 64,
            .filters = 40,
            .kernel = {1, 3, 3},
            .pad = {0, 6, 6},
            .dilation = {1, 6, 6},
            .groups = 2});
  // Sums are cut, and k into blocks of taps.
  checkAll({.input = {1, 3, 40},
            .channels = 300,
            .filters = 48,
            .kernel = {1, 3, 3},
            .pad = {0, 2, 16},
            .dilation = {1, 2, 16}});
  checkAll({.batch = 2,
            .input = {2, 3, 9},
            .channels = 3,
            .filters = 20,
            .kernel = {3, 5, 3},
            .pad = {1, 2, 1}});
}

TEST_CASE("few filters read copied lines") {
  checkAll({.batch = 2,
            .input = {1, 9, 61},
            .channels = 20,
            .filters = 16,
            .kernel = {1, 5, 5},
            .pad = {0, 2, 2}});
  checkAll({.input = {1, 12, 30},
            .channels = 33,
            .filters = 7,
            .kernel = {1, 3, 4},
            .stride = {1, 2, 2},
            .pad = {0, 1, 3},
            .dilation = {1, 1, 2}});
  checkAll({.input = {4, 5, 57}, .channels = 16, .filters = 12, .kernel = {3, 3, 1}});
}

TEST_CASE("few channels are gathered") {
  // The weights are too large to be read again for every line.
  checkAll({.input = {1, 9, 9}, .channels = 15, .filters = 512, .kernel = {1, 7, 7}});
}

TEST_CASE("one and three dimensions") {
  checkAll({.input = {1, 1, 50},
            .channels = 16,
            .filters = 20,
            .kernel = {1, 1, 5},
            .stride = {1, 1, 2},
            .pad = {0, 0, 2}});
  checkAll(
      {.input = {5, 6, 7}, .channels = 16, .filters = 20, .kernel = {3, 3, 3}, .pad = {1, 1, 1}});
  checkAll(
      {.input = {5, 6, 7}, .channels = 3, .filters = 20, .kernel = {3, 3, 3}, .pad = {1, 1, 1}});
}

TEST_CASE("groups") {
  checkAll({.input = {1, 6, 7},
            .channels = 32,
            .filters = 32,
            .kernel = {1, 3, 3},
            .pad = {0, 1, 1},
            .groups = 4});
  checkAll({.input = {1, 6, 7},
            .channels = 12,
            .filters = 36,
            .kernel = {1, 3, 3},
            .pad = {0, 1, 1},
            .groups = 3});
  checkAll({.input = {1, 5, 5}, .channels = 48, .filters = 144, .groups = 2});
  checkAll({.input = {1, 6, 7},
            .channels = 6,
            .filters = 6,
            .kernel = {1, 3, 3},
            .pad = {0, 1, 1},
            .groups = 6});
}

TEST_CASE("depthwise") {
  for (int64_t stride : {1, 2})
    for (int64_t size : {3, 5})
      checkAll({.batch = 2,
                .input = {1, 10, 19},
                .channels = 40,
                .filters = 40,
                .kernel = {1, size, size},
                .stride = {1, stride, stride},
                .pad = {0, size / 2, size / 2},
                .groups = 40});
  checkAll({.input = {1, 7, 7},
            .channels = 23,
            .filters = 23,
            .kernel = {1, 5, 5},
            .pad = {0, 2, 2},
            .groups = 23});
  checkAll({.input = {1, 4, 3},
            .channels = 16,
            .filters = 16,
            .kernel = {1, 7, 7},
            .pad = {0, 3, 6},
            .dilation = {1, 1, 2},
            .groups = 16});
  checkAll({.input = {1, 20, 20},
            .channels = 16,
            .filters = 16,
            .kernel = {1, 3, 3},
            .dilation = {1, 3, 3},
            .groups = 16});
  checkAll({.input = {1, 1, 40},
            .channels = 6,
            .filters = 6,
            .kernel = {1, 1, 31},
            .pad = {0, 0, 15},
            .groups = 6});
  checkAll({.input = {4, 5, 6},
            .channels = 20,
            .filters = 20,
            .kernel = {3, 3, 3},
            .pad = {1, 1, 1},
            .groups = 20});
  checkAll({.input = {1, 9, 30},
            .channels = 12,
            .filters = 24,
            .kernel = {1, 3, 3},
            .pad = {0, 1, 1},
            .groups = 12});
}

TEST_CASE("narrow groups") {
  for (int64_t size : {2, 4, 8})
    checkAll({.input = {1, 9, 20},
              .channels = 7 * size,
              .filters = 7 * size,
              .kernel = {1, 3, 3},
              .pad = {0, 1, 1},
              .groups = 7});
  checkAll({.input = {1, 9, 20},
            .channels = 10,
            .filters = 40,
            .kernel = {1, 3, 3},
            .stride = {1, 2, 2},
            .pad = {0, 1, 1},
            .groups = 5});
}

TEST_CASE("k in blocks of taps") {
  CpuTarget cpu = llvm::cantFail(CpuTarget::create("native"));
  ConvCase g{
      .input = {1, 9, 11}, .channels = 20, .filters = 40, .kernel = {1, 3, 3}, .pad = {0, 1, 1}};
  codegen::ConvShape shape{.pixels = 99, .channels = 20, .filters = 40, .taps = 9};
  for (auto a : {codegen::OperandAccess::Pointers, codegen::OperandAccess::Gathered}) {
    shape.a = a;
    codegen::ContractionSchedule schedule = codegen::rankConv(cpu, shape).front();
    schedule.kBlock = 2 * 20;
    schedule.tilesPerTask = 3;
    schedule.panelsPerTask = 1;
    check(g, cpu, schedule);
  }
}

TEST_CASE("an unknown number of images is cut into tasks as one image") {
  CpuTarget cpu = llvm::cantFail(CpuTarget::create("x86-64-v4", "x86_64-linux"));
  codegen::ConvShape known{.pixels = 49, .channels = 576, .filters = 96};
  codegen::ConvShape open = known;
  open.pixels = -1;
  auto tasks = [&](const codegen::ConvShape &shape) {
    codegen::ContractionSchedule s = codegen::rankConv(cpu, shape).front();
    return llvm::divideCeil(49, s.rows * s.tilesPerTask) *
           llvm::divideCeil(96, s.panelWidth() * s.panelsPerTask);
  };
  CHECK(tasks(open) < tasks(known)); // as for the many pixels that are assumed
  open.imagePixels = 49;
  CHECK(tasks(open) == tasks(known));
  auto tiles = [&](int64_t all, int64_t image) {
    return codegen::rankWinograd(cpu, {all, 64, 64, image}).front().tilesPerTask;
  };
  CHECK(tiles(-1, 16) == tiles(16, 16));
}

TEST_CASE("3x3 in tiles") {
  // Extents that tiles divide or not, padding or none, channels and filters that vectors do not
  // divide, several images, one and several register tiles, panels and sums.
  for (int64_t pad : {0, 1, 2})
    checkAll({.batch = 2,
              .input = {1, 9, 12},
              .channels = 36,
              .filters = 40,
              .kernel = {1, 3, 3},
              .pad = {0, pad, 1},
              .winograd = true});
  checkAll(
      {.input = {1, 3, 3}, .channels = 16, .filters = 5, .kernel = {1, 3, 3}, .winograd = true});
  checkAll({.input = {1, 14, 14},
            .channels = 201,
            .filters = 100,
            .kernel = {1, 3, 3},
            .pad = {0, 1, 1},
            .winograd = true});
  checkAll({.input = {1, 1, 50},
            .channels = 32,
            .filters = 64,
            .kernel = {1, 3, 3},
            .pad = {0, 1, 1},
            .winograd = true});
  // Groups of whole panels, of channels that vectors do not divide.
  checkAll({.batch = 2,
            .input = {1, 9, 12},
            .channels = 3 * 20,
            .filters = 3 * 48,
            .kernel = {1, 3, 3},
            .pad = {0, 1, 1},
            .groups = 3,
            .winograd = true});
}
