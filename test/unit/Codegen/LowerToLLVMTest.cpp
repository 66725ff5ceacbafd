// One kernel that uses every dialect that templates emit, down to machine code: a dialect without
// a lowering shows here and not in a model.
#include "KernelRunner.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tcc;

// One op of every dialect that kernels are written in, run on the host.
static const char *source = R"(
func.func @k(%args: !llvm.ptr, %begin: i64, %end: i64) {
  %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %lo = arith.index_cast %begin : i64 to index
  %hi = arith.index_cast %end : i64 to index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0.0 : f32
  %sum = scf.for %i = %lo to %hi step %c1 iter_args(%s = %c0) -> f32 {
    %q = arith.ceildivsi %i, %c4 : index
    %o = arith.muli %i, %c4 : index
    %oi = arith.index_cast %o : index to i64
    %p = llvm.getelementptr %x[%oi] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    %b = vector.broadcast %v : vector<4xf32> to vector<2x4xf32>
    %m = math.fma %b, %b, %b : vector<2x4xf32>
    %z = arith.constant dense<0.0> : vector<4xf32>
    %r = vector.multi_reduction <add>, %m, %z [0] : vector<2x4xf32> to vector<4xf32>
    %e = math.erf %r : vector<4xf32>
    llvm.store %e, %p {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
    %t = vector.reduction <add>, %e, %s : vector<4xf32> into f32
    %qi = arith.index_cast %q : index to i64
    %qf = arith.sitofp %qi : i64 to f32
    %u = arith.addf %t, %qf : f32
    scf.yield %u : f32
  }
  llvm.store %sum, %x {alignment = 4 : i64} : f32, !llvm.ptr
  return
})";

TEST_CASE("a kernel in every dialect lowers, loads and computes") {
  auto context = test::kernelContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, context.get());
  REQUIRE(module);
  test::CompiledKernels kernels(*module, llvm::cantFail(CpuTarget::create()));
  INFO("lower " << kernels.lowerMs << " ms, emit " << kernels.emitMs << " ms");
  CHECK(kernels.lowerMs < 100);
  float x[12], want[12], sum = 0;
  for (int i = 0; i < 12; ++i) {
    x[i] = 0.1f * i;
    want[i] = std::erf(2 * (x[i] * x[i] + x[i]));
    sum += want[i];
  }
  sum += 0 + 1 + 1;
  int64_t args[] = {reinterpret_cast<int64_t>(x)};
  kernels.get("k")(args, 0, 3);
  CHECK(x[0] == Approx(sum));
  for (int i = 1; i < 12; ++i)
    CHECK(x[i] == Approx(want[i]));
}

TEST_CASE("the same module gives the same bytes, for a foreign target too") {
  auto emitOnce = [](llvm::StringRef triple) {
    auto context = test::kernelContext();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, context.get());
    return test::assemblyOf(*module, llvm::cantFail(CpuTarget::create("", triple)));
  };
  std::string arm = emitOnce("aarch64-linux");
  CHECK(arm == emitOnce("aarch64-linux"));
  CHECK_THAT(arm, Catch::Contains("fmla"));
  CHECK(emitOnce("x86_64-linux") == emitOnce("x86_64-linux"));
}
