// Micro benchmark of the CPU kernel builders.
//   kernel-bench gemm M N K [key=value...]
//   kernel-bench conv H W C F KERNEL STRIDE [groups= batch= pad= dynamic=1 winograd=1 ...]
// keys: cpu=NAME rows= vectors= unroll= tiles= panels= inline=1 dynamic=mnk
//       layout=packed|row|transposed relu=1 cold=COPIES asm=1 threads=1
#include "ConvKernel.h"
#include "GemmKernel.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace tcc;
using namespace tcc::test;

namespace {
struct Options {
  llvm::StringMap<std::string> values;
  int64_t get(llvm::StringRef key, int64_t fallback) const {
    auto it = values.find(key);
    return it == values.end() ? fallback : std::atoll(it->second.c_str());
  }
  std::string text(llvm::StringRef key) const {
    auto it = values.find(key);
    return it == values.end() ? "" : it->second;
  }
};

std::vector<float> randomFloats(size_t count) {
  static std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  std::vector<float> values(count);
  for (float &value : values)
    value = uniform(engine);
  return values;
}

double worstError(const GemmCase &g, const std::vector<float> &a, const std::vector<float> &b,
                  const std::vector<float> &c) {
  double worst = 0;
  std::mt19937 engine(3);
  for (int sample = 0; sample < 3000; ++sample) {
    int64_t m = sample ? engine() % g.m : g.m - 1, n = sample ? engine() % g.n : g.n - 1;
    double sum = 0;
    for (int64_t k = 0; k < g.k; ++k)
      sum += double(a[m * g.k + k]) * b[k * g.n + n];
    if (g.relu)
      sum = std::max(0.0, sum);
    double error = std::fabs(sum - c[m * g.n + n]);
    worst = error <= worst ? worst : error;
  }
  return worst;
}

codegen::ContractionSchedule override(codegen::ContractionSchedule s, const Options &options) {
  s.rows = options.get("rows", s.rows);
  s.vectors = options.get("vectors", s.vectors);
  s.unroll = options.get("unroll", s.unroll);
  s.tilesPerTask = options.get("tiles", s.tilesPerTask);
  s.panelsPerTask = options.get("panels", s.panelsPerTask);
  s.kBlock = options.get("kblock", s.kBlock);
  auto access = [&](const char *key, codegen::OperandAccess usual) {
    if (options.text(key).empty())
      return usual;
    return options.get(key, 0) ? codegen::OperandAccess::Copied : codegen::OperandAccess::InPlace;
  };
  s.a = access("packa", s.a);
  s.b = access("packb", s.b);
  s.inlineEpilogue = options.get("inline", s.inlineEpilogue);
  return s;
}

void benchGemm(const CpuTarget &cpu, GemmCase g, const Options &options) {
  std::string dynamic = options.text("dynamic");
  g.dynamicM = dynamic.find('m') != std::string::npos;
  g.dynamicN = dynamic.find('n') != std::string::npos;
  g.dynamicK = dynamic.find('k') != std::string::npos;
  g.relu = options.get("relu", 0);
  if (options.text("layout") == "row")
    g.layout = codegen::PanelLayout::RowMajor;
  if (options.text("layout") == "transposed")
    g.layout = codegen::PanelLayout::Transposed;

  codegen::ContractionSchedule s = override(scheduleOf(cpu, g), options);

  auto context = kernelContext();
  auto module = gemmModule(*context, cpu, g, s);
  if (options.get("asm", 0)) {
    std::fputs(assemblyOf(*module, cpu).c_str(), stdout);
    return;
  }
  CompiledKernels kernels(*module, cpu);
  int64_t copies = options.get("cold", 1);
  std::vector<float> a = randomFloats(g.m * g.k), b = randomFloats(g.k * g.n), bias(g.n),
                     c(g.m * g.n);
  std::vector<std::vector<float>> laid(copies, layOutB(b, g, s.panelWidth()));
  int64_t args[8] = {int64_t(a.data()), 0, int64_t(c.data()), int64_t(bias.data()), g.m, g.n, g.k};
  kernels.get("tasks")(args, 0, 0);
  int64_t turn = 0;
  KernelFn gemm = kernels.get("gemm");
  Seconds seconds = measure([&] {
    args[1] = int64_t(laid[turn++ % copies].data());
    gemm(args, 0, args[7]);
  });
  if (options.get("brief", 0)) {
    std::printf("%6.1f ", 2e-9 * g.m * g.n * g.k / seconds.best);
    return;
  }
  std::printf("gemm %5ldx%5ldx%5ld %ux%u u%u task %ldx%ld tasks %4ld  %6.1f (median %6.1f) GFLOP/s "
              "%8.3f ms  error %.1e  "
              "lower %.1f emit %.1f ms\n",
              g.m, g.n, g.k, s.rows, s.vectors, s.unroll, s.tilesPerTask, s.panelsPerTask, args[7],
              2e-9 * g.m * g.n * g.k / seconds.best, 2e-9 * g.m * g.n * g.k / seconds.median,
              seconds.best * 1e3, worstError(g, a, b, c), kernels.lowerMs, kernels.emitMs);
}

void benchConv(const CpuTarget &cpu, ConvCase g, const Options &options) {
  codegen::ConvShape shape;
  shape.pixels = g.dynamic ? -1 : g.pixels();
  shape.groups = g.groups;
  shape.channels = g.channels / g.groups;
  shape.filters = g.filters / g.groups;
  shape.taps = g.taps();
  shape.inputPixels = g.stride[1] * g.stride[2];
  if (g.groups == 1 && shape.channels < 16 && g.taps() > 1)
    shape.a = codegen::OperandAccess::Gathered;
  else if (g.taps() == 1 && shape.inputPixels == 1)
    shape.a = codegen::OperandAccess::InPlace;
  codegen::ContractionSchedule s = override(codegen::rankConv(cpu, shape).front(), options);
  auto context = kernelContext();
  auto module = convModule(*context, cpu, g, s);
  if (options.get("asm", 0)) {
    std::fputs(assemblyOf(*module, cpu).c_str(), stdout);
    return;
  }
  CompiledKernels kernels(*module, cpu);
  std::vector<float> input = randomFloats(g.batch * g.input[1] * g.input[2] * g.channels),
                     weights = randomFloats(g.filters * g.channels / g.groups * g.taps()),
                     bias(g.filters), output(g.pixels() * g.filters),
                     once = packConvWeights(cpu, weights.data(), g);
  std::vector<std::vector<float>> packed(options.get("cold", 1), once);
  int64_t args[12] = {int64_t(input.data()),
                      0,
                      int64_t(output.data()),
                      int64_t(bias.data()),
                      g.batch,
                      1,
                      g.input[1],
                      g.input[2],
                      1,
                      g.output(1),
                      g.output(2)};
  kernels.get("tasks")(args, 0, 0);
  KernelFn conv = kernels.get("conv");
  size_t turn = 0;
  Seconds seconds = measure([&] {
    args[1] = int64_t(packed[turn++ % packed.size()].data());
    conv(args, 0, args[11]);
  });
  double worst = 0;
  std::mt19937 engine(3);
  for (int sample = 0; sample < 2000; ++sample) {
    int64_t pixel = engine() % g.pixels(), filter = engine() % g.filters;
    double want = std::max(0.0, convReference(g, input.data(), weights.data(), pixel, filter));
    worst = std::max(worst, std::fabs(want - output[pixel * g.filters + filter]));
  }
  if (options.get("brief", 0)) {
    std::printf("%6.1f ", 1e-9 * g.flops() / seconds.best);
    return;
  }
  std::printf(
      "conv %ldx%ldx%ld -> %ld k%ldx%ld s%ld g%ld  %ux%u u%u task %ldx%ld kb %ld tasks %4ld "
      "%6.1f (median %6.1f) GFLOP/s %8.3f ms  error %.1e  lower %.1f emit %.1f ms\n",
      g.input[1], g.input[2], g.channels, g.filters, g.kernel[1], g.kernel[2], g.stride[1],
      g.groups, s.rows, s.vectors, s.unroll, s.tilesPerTask, s.panelsPerTask, s.kBlock, args[11],
      1e-9 * g.flops() / seconds.best, 1e-9 * g.flops() / seconds.median, seconds.best * 1e3, worst,
      kernels.lowerMs, kernels.emitMs);
}
} // namespace

int main(int argc, char **argv) {
  Options options;
  std::vector<int64_t> numbers;
  for (int i = 2; i < argc; ++i) {
    auto [key, value] = llvm::StringRef(argv[i]).split('=');
    if (value.empty())
      numbers.push_back(std::atoll(argv[i]));
    else
      options.values[key] = value.str();
  }
  CpuTarget cpu = llvm::cantFail(CpuTarget::create(options.text("cpu"), options.text("triple")));
  if (argc > 1 && llvm::StringRef(argv[1]) == "gemm" && numbers.size() == 3) {
    GemmCase g;
    g.m = numbers[0], g.n = numbers[1], g.k = numbers[2];
    benchGemm(cpu, g, options);
    return 0;
  }
  if (argc > 1 && llvm::StringRef(argv[1]) == "conv" && numbers.size() == 6) {
    ConvCase g;
    g.input[1] = numbers[0], g.input[2] = numbers[1];
    g.channels = numbers[2], g.filters = numbers[3];
    for (int d : {1, 2}) {
      g.kernel[d] = numbers[4];
      g.stride[d] = numbers[5];
      g.pad[d] = options.get("pad", numbers[4] / 2);
    }
    g.batch = options.get("batch", 1);
    g.groups = options.get("groups", 1);
    g.dynamic = options.get("dynamic", 0);
    g.winograd = options.get("winograd", 0);
    benchConv(cpu, g, options);
    return 0;
  }
  std::fprintf(stderr,
               "usage: kernel-bench gemm M N K | conv H W C F KERNEL STRIDE [key=value...]\n");
  return 1;
}
