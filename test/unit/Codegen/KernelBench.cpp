// Micro benchmark of the CPU kernel builders.
//   kernel-bench gemm M N K [key=value...]
// keys: cpu=NAME rows= vectors= unroll= tiles= panels= inline=1 dynamic=mnk
//       layout=packed|row|transposed relu=1 cold=COPIES asm=1 threads=1
#include "GemmKernel.h"
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

  codegen::ContractionSchedule s = scheduleOf(cpu, g);
  s.rows = options.get("rows", s.rows);
  s.vectors = options.get("vectors", s.vectors);
  s.unroll = options.get("unroll", s.unroll);
  s.tilesPerTask = options.get("tiles", s.tilesPerTask);
  s.panelsPerTask = options.get("panels", s.panelsPerTask);
  s.kBlock = options.get("kblock", s.kBlock);
  s.packsA = options.get("packa", s.packsA);
  s.packsB = options.get("packb", s.packsB);
  s.inlineEpilogue = options.get("inline", s.inlineEpilogue);

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
  std::fprintf(stderr, "usage: kernel-bench gemm M N K [key=value...]\n");
  return 1;
}
