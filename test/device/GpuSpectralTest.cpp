// Eigenvalues and singular values by the threads of a block, on the simulated device: of matrices
// that are hard, with and without vectors, for numbers of columns that are odd.
#include "../SpectralCheck.h"
#include "KernelTexts.h"
#include "SimulatedDevice.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include <cstring>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

namespace {

std::string main(const SpectralText &text, bool vectors) {
  std::string names;
  for (unsigned i = 0; i < text.results(); ++i)
    names += (i ? ", %r" : "%r") + std::to_string(i);
  return "func.func @main(%x: " + text.in + ") -> (" + text.types + ") {\n  " + names + " = " +
         text.op(vectors) + "\n  return " + names + " : " + text.types + "\n}\n";
}

/// What the simulated device gives for the one launch of `text`, and what the interpreter does.
struct Run {
  Run(const std::string &text, const Tensor &x, unsigned seed) {
    auto module = fused(text);
    auto visit = [&](const LaunchRecord &record) {
      want = record.expected;
      auto math = codegen::ExpandMathOptions::forTarget(simulatingCpu());
      auto kernel =
          kernelModule(record.launch, record.symbol, record.schedule, *GpuArch::find("sim"), math);
      REQUIRE(kernel);
      for (const Tensor &one : record.expected) {
        found.push_back(llvm::cantFail(Tensor::allocate(one.dtype(), one.shape())));
        std::memset(found.back().mutableData(), 0xA5, found.back().bytes());
      }
      auto words = launchWords(record, [&](bool isResult, unsigned i) {
        return reinterpret_cast<int64_t>((isResult ? found[i] : record.inputs[i]).data());
      });
      SimulatedKernel(*kernel, record.symbol, record.schedule).launch(words, record.blocks, seed);
    };
    llvm::cantFail(forEachLaunch(module->lookupSymbol<func::FuncOp>("main"), x, WeightTable(),
                                 *GpuArch::find("sm_80"), visit));
  }
  std::vector<Tensor> found, want;
};

GpuTarget targetOf(const char *name) { return GpuTarget{{{GpuArch::find(name)}}, ""}; }

/// The operator of one matrix, and whether the GPU has a kernel for it.
bool hasKernel(int64_t n, int64_t m, bool symmetric, bool vectors, const char *arch) {
  auto module =
      parseSourceString<ModuleOp>(main(SpectralText(1, n, m, symmetric), vectors), &context());
  REQUIRE(module);
  bool has = false;
  module->walk([&](Operation *op) {
    if (isa<prim::SymmetricEigenOp, prim::SvdOp>(op))
      has = codegen::hasSpectralKernel(op, targetOf(arch));
  });
  return has;
}

} // namespace

TEST_CASE("eigenvalues and singular values of hard matrices by a block") {
  for (auto [n, m] : {std::pair(1, 1), {2, 2}, {3, 3}, {3, 2}, {9, 9}, {17, 5}, {40, 1}, {33, 33}})
    for (bool symmetric : {true, false})
      for (bool vectors : {true, false}) {
        if (symmetric && n != m)
          continue;
        INFO(n << " x " << m << " " << symmetric << " " << vectors);
        int64_t count = 0;
        std::vector<double> x = hardMatrices(n, m, symmetric, count);
        SpectralText text(count, n, m, symmetric);
        for (unsigned seed : {0, 7}) {
          Run run(main(text, vectors), Tensor::ofReals(DType::F64, {count, n, m}, x), seed);
          checkSpectral(run.found, run.want[symmetric ? 1 : 2].reals(), x, count, n, m, symmetric,
                        vectors);
        }
      }
}

TEST_CASE("a matrix that is not finite has NaN for values and vectors, its neighbours have not") {
  for (double wrong : {std::nan(""), HUGE_VAL})
    for (bool symmetric : {true, false}) {
      std::vector<double> x(50, 1);
      x[6] = wrong;
      Run run(main(SpectralText(2, 5, 5, symmetric), true),
              Tensor::ofReals(DType::F64, {2, 5, 5}, x), 0);
      for (unsigned result : symmetric ? std::vector{0, 1} : std::vector{1, 2, 3})
        for (auto [i, v] : llvm::enumerate(run.found[result].reals()))
          CHECK(std::isnan(v) == (2 * i < run.found[result].reals().size()));
    }
}

TEST_CASE("matrices that a block has no room for stay with loops") {
  CHECK(hasKernel(64, 64, true, true, "sm_80"));
  CHECK(hasKernel(100, 100, true, true, "sm_90a"));
  CHECK_FALSE(hasKernel(100, 100, true, true, "sm_86"));
  CHECK_FALSE(hasKernel(200, 200, true, false, "sm_90a"));
  CHECK(hasKernel(1000, 16, false, false, "sm_90a"));
  CHECK_FALSE(hasKernel(10000, 16, false, false, "sm_90a"));
}

TEST_CASE("ptxas takes kernels of eigenvalues, without spills", "[long]") {
  for (const char *name : {"sm_80", "sm_90a"})
    for (auto [n, m] : {std::pair(3, 3), {12, 12}, {16, 12}, {64, 64}})
      for (bool symmetric : {true, false})
        for (bool vectors : {true, false}) {
          if (symmetric && n != m)
            continue;
          INFO(name << " " << n << " x " << m << " " << symmetric << " " << vectors);
          const GpuArch &arch = *GpuArch::find(name);
          checkAssembles(ptxOf(main(SpectralText(1, n, m, symmetric), vectors), arch), arch);
        }
}
