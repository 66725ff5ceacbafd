//===- KernelTexts.cpp - Kernels as text, and what becomes of them ---------===//
//
// Tests of GPU kernels give functions of primitives as text: those that several tests need are
// written here. A text is fused, a launch of it scheduled for an architecture, in a form of the
// test's choice if it wants one, and made PTX, which ptxas assembles where there is one.
//
//===----------------------------------------------------------------------===//
#include "KernelTexts.h"
#include "../CaseEngine.h"
#include "../RandomTensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "tcc/Emit/Ptx.h"
#include "tcc/Fusion/Fusion.h"

using namespace mlir;
using namespace tcc;
using reference::Tensor;

MLIRContext &tcc::test::context() {
  static std::unique_ptr<MLIRContext> context = [] {
    DialectRegistry registry;
    codegen::device::registerKernelDialects(registry);
    registry.insert<prim::PrimDialect, kernel::KernelDialect, tcc::gpu::GpuDialect>();
    auto made = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

namespace {

/// What a GPU prefers, but attention as one kernel whatever its type.
class FusionModel final : public ScheduleModel {
public:
  void registerDialects(DialectRegistry &registry) const override {
    gpu.registerDialects(registry);
  }
  llvm::SmallVector<kernel::Schedule> candidates(kernel::LaunchOp, Asked) const override {
    return {};
  }
  bool prefersAttention(const AttentionForm &) const override { return true; }
  bool computesQueries(const AttentionForm &form) const override {
    return gpu.computesQueries(form);
  }
  bool prefersTogether(Operation *first, Operation *second) const override {
    return gpu.prefersTogether(first, second);
  }
  bool reducesAboveLines(Operation *op) const override { return gpu.reducesAboveLines(op); }
  bool asksForPoints(Operation *op) const override { return gpu.asksForPoints(op); }
  bool fillsFirst(Operation *op) const override { return gpu.fillsFirst(op); }
  int64_t version() const override { return 0; }

private:
  codegen::GpuScheduleModel gpu{GpuTarget{{{GpuArch::find("sm_80")}}, ""}};
};

} // namespace

OwningOpRef<ModuleOp> tcc::test::fused(const std::string &text) {
  static const FusionModel model;
  auto module = parseSourceString<ModuleOp>(text, &context());
  REQUIRE(module);
  PassManager passes(&context());
  passes.addPass(createFuseKernelsPass({/*fuse=*/true, /*attention=*/true, &model}));
  passes.addPass(createShareKernelsPass());
  REQUIRE(succeeded(passes.run(*module)));
  return module;
}

Tensor tcc::test::random(DType type, llvm::ArrayRef<int64_t> shape, double low, double high) {
  return randomTensor(caseEngine(1), type, shape, low, high);
}

Tensor tcc::test::indices(llvm::ArrayRef<int64_t> shape, int64_t low, int64_t high) {
  std::mt19937 &engine = caseEngine(2);
  std::uniform_int_distribution<int64_t> uniform(low, high);
  std::vector<int64_t> values(*reference::elementCount(shape));
  for (int64_t &v : values)
    v = uniform(engine);
  return Tensor::ofIntegers(DType::I64, shape, values);
}

Tensor tcc::test::wholes(DType type, llvm::ArrayRef<int64_t> shape, double unit) {
  Tensor some = random(type, shape);
  std::vector<double> values(*reference::elementCount(shape));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::round(some.real(int64_t(i))) * unit;
  return Tensor::ofReals(type, shape, values);
}

void tcc::test::check(const std::string &text, llvm::ArrayRef<Tensor> inputs, bool tf32) {
  auto module = fused(text);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  auto wrong = simulateLaunches(main, inputs, WeightTable(), *GpuArch::find("sm_80"), {0, 7}, tf32);
  if (!wrong)
    FAIL(llvm::toString(wrong.takeError()));
  for (const std::string &line : *wrong)
    FAIL_CHECK(line);
}

codegen::device::Schedule tcc::test::scheduleOf(kernel::LaunchOp launch, const GpuArch &arch,
                                                std::optional<codegen::device::Form> form) {
  bool tf32 = form == codegen::device::Form::Mma; // f32 has that form only where it is rounded
  for (codegen::device::Schedule schedule : codegen::device::schedulesFor(launch, arch, tf32))
    if (schedule.getForm() == form.value_or(schedule.getForm()))
      return schedule;
  FAIL("no template of this form takes the launch");
  return {};
}

codegen::device::Schedule tcc::test::scheduleOf(const std::string &text, const GpuArch &arch,
                                                std::optional<codegen::device::Form> form) {
  auto module = fused(text);
  kernel::LaunchOp launch;
  module->walk([&](kernel::LaunchOp op) { launch = op; });
  return scheduleOf(launch, arch, form);
}

std::string tcc::test::ptxOf(kernel::LaunchOp launch, const GpuArch &arch,
                             std::optional<codegen::device::Form> form) {
  auto schedule = scheduleOf(launch, arch, form);
  auto kernel = kernelModule(launch, "k", schedule, arch);
  REQUIRE(kernel);
  REQUIRE(succeeded(codegen::device::lowerKernelModule(*kernel, schedule)));
  return llvm::cantFail(emit::emitPtx(*kernel, arch));
}

std::string tcc::test::ptxOf(const std::string &text, const GpuArch &arch,
                             std::optional<codegen::device::Form> form) {
  auto module = fused(text);
  kernel::LaunchOp launch;
  module->walk([&](kernel::LaunchOp op) { launch = op; });
  return ptxOf(launch, arch, form);
}

void tcc::test::checkAssembles(const std::string &ptx, const GpuArch &arch) {
  static const auto ptxas = llvm::cantFail(emit::Ptxas::find());
  if (!ptxas) {
    WARN("no ptxas on this machine: PTX is not assembled");
    return;
  }
  auto cubin = ptxas->assemble(ptx, arch);
  if (!cubin)
    FAIL(llvm::toString(cubin.takeError()));
  const emit::KernelResources &used = cubin->kernels["k"];
  UNSCOPED_INFO("registers " << used.registers);
  CHECK(!used.spills());
  CHECK(cubin->warnings.empty());
}

std::string tcc::test::function(const std::string &arguments, const std::string &type,
                                const std::string &body) {
  return "func.func @main(" + arguments + ") -> " + type + " {\n" + body +
         "\n  return %y : " + type + "\n}";
}

std::string test::tensor(const std::string &shape, const char *type) {
  return "tensor<" + shape + "x" + type + ">";
}

std::string test::scatterRows(const char *kind, const char *type, const std::string &rows,
                              const std::string &updates, const std::string &columns,
                              const std::string &updated) {
  std::string x = tensor(rows + "x" + columns, type), u = tensor(updates + "x" + updated, type),
              one = tensor(updates + "x1", "i64"), i = tensor(updates + "x" + updated, "i64");
  return function("%x: " + x + ", %i: " + one + ", %u: " + u, x,
                  "%0 = prim.broadcast %i axes [0, 1] sizes() : (" + one + ") -> " + i +
                      "\n%y = prim.scatter_along " + kind + " %x, %0, %u axis 0 : (" + x + ", " +
                      i + ", " + u + ") -> " + x);
}

std::string tcc::test::softmax(const std::string &rows, const std::string &row) {
  std::string full = "tensor<" + rows + "x" + row + "xf32>", per = "tensor<" + rows + "xf32>";
  return function("%x: " + full, full,
                  "%0 = prim.reduce max %x [1] : (" + full + ") -> " + per +
                      "\n%1 = prim.broadcast %0 axes [0] sizes() : (" + per + ") -> " + full +
                      "\n%2 = prim.sub %x, %1 : (" + full + ", " + full + ") -> " + full +
                      "\n%3 = prim.exp %2 : (" + full + ") -> " + full +
                      "\n%4 = prim.reduce sum %3 [1] : (" + full + ") -> " + per +
                      "\n%5 = prim.broadcast %4 axes [0] sizes() : (" + per + ") -> " + full +
                      "\n%y = prim.div %3, %5 : (" + full + ", " + full + ") -> " + full);
}

std::string tcc::test::product(const std::string &type, const std::string &result, int m, int n,
                               int k, bool byColumns, bool transposed) {
  auto t = [](int x, int y, const std::string &e) {
    return "tensor<" + std::to_string(x) + "x" + std::to_string(y) + "x" + e + ">";
  };
  std::string a = t(m, k, type), w = byColumns ? t(n, k, type) : t(k, n, type), y = t(m, n, result),
              bias = "tensor<" + std::to_string(n) + "x" + result + ">";
  std::string body = "%0 = prim.dot %a, %w batch [] x [] contract [1] x [" +
                     std::string(byColumns ? "1" : "0") + "] : (" + a + ", " + w + ") -> " + y +
                     "\n%1 = prim.broadcast %c axes [1] sizes() : (" + bias + ") -> " + y +
                     "\n%2 = prim.add %0, %1 : (" + y + ", " + y + ") -> " + y;
  std::string arguments = "%a: " + a + ", %w: " + w + ", %c: " + bias;
  if (!transposed)
    return function(arguments, y,
                    body + "\n%y = prim.maximum %2, %1 : (" + y + ", " + y + ") -> " + y);
  std::string z = t(n, m, result);
  return function(arguments, z, body + "\n%y = prim.transpose %2 [1, 0] : (" + y + ") -> " + z);
}

test::Windows test::Windows::square(int64_t stride, int64_t dilation, int64_t padding,
                                    int64_t groups) {
  return {
      {stride, stride}, {dilation, dilation}, {padding, padding}, {padding, padding}, groups, true};
}

std::string tcc::test::convolution(const Windows &windows, const std::string &x,
                                   const std::string &w, const std::string &y) {
  auto list = [](const char *name, llvm::ArrayRef<int64_t> numbers) {
    std::string text = std::string(name) + " = array<i64";
    for (auto [i, n] : llvm::enumerate(numbers))
      text += (i == 0 ? ": " : ", ") + std::to_string(n);
    return text + ">, ";
  };
  return "prim.conv %x, %w sizes() {" + list("strides", windows.strides) +
         list("dilations", windows.dilations) + list("input_dilation", windows.inputDilation) +
         list("low", windows.low) + list("high", windows.high) +
         "groups = " + std::to_string(windows.groups) + " : i64" +
         (windows.channelsLast ? ", channels_last = true" : "") + "} : (" + x + ", " + w + ") -> " +
         y;
}

std::string tcc::test::attention(const std::string &head, int64_t queries, int64_t keys,
                                 int64_t depth, int64_t width, const std::string &type,
                                 const std::string &score, bool zeroed) {
  auto tensor = [&](const std::string &extents, const std::string &element) {
    return "tensor<" + head + "x" + extents + "x" + element + ">";
  };
  std::string m = std::to_string(queries), n = std::to_string(keys), d = std::to_string(depth),
              w = std::to_string(width);
  std::string qt = tensor(m + "x" + d, type), kt = tensor(n + "x" + d, type),
              vt = tensor(n + "x" + w, type), st = tensor(m + "x" + n, "f32"),
              rt = tensor(m, "f32"), bt = tensor(m + "x" + n, "i1"),
              yt = tensor(m + "x" + w, "f32");
  std::string text = "%dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (" + qt + ", " +
                     kt + ") -> " + st + "\n" + score + "\n%top = prim.reduce max %score [2] : (" +
                     st + ") -> " + rt + "\n%tops = prim.broadcast %top axes [0, 1] sizes() : (" +
                     rt + ") -> " + st + "\n%less = prim.sub %score, %tops : (" + st + ", " + st +
                     ") -> " + st + "\n%e = prim.exp %less : (" + st + ") -> " + st +
                     "\n%sum = prim.reduce sum %e [2] : (" + st + ") -> " + rt +
                     "\n%sums = prim.broadcast %sum axes [0, 1] sizes() : (" + rt + ") -> " + st +
                     "\n%weights = prim.div %e, %sums : (" + st + ", " + st + ") -> " + st + "\n";
  if (zeroed)
    text += "%nan = prim.is_nan %weights : (" + st + ") -> " + bt +
            "\n%zero = prim.constant dense<0.0> : " + st +
            "\n%w = prim.select %nan, %zero, %weights : (" + bt + ", " + st + ", " + st + ") -> " +
            st + "\n";
  text += "%y = prim.dot " + std::string(zeroed ? "%w" : "%weights") +
          ", %v batch [0] x [0] contract [2] x [1] : (" + st + ", " + vt + ") -> " + yt;
  return function("%q: " + qt + ", %k: " + kt + ", %v: " + vt, yt, text);
}

std::string tcc::test::scaled(const std::string &st) {
  return "%scale = prim.constant dense<0.25> : " + st + "\n%score = prim.mul %dot, %scale : (" +
         st + ", " + st + ") -> " + st;
}

void tcc::test::checkAs(
    const std::string &text, llvm::ArrayRef<reference::Tensor> inputs, codegen::device::Form form,
    llvm::function_ref<codegen::device::Schedule(MLIRContext *, codegen::device::Schedule)>
        change) {
  const GpuArch &arch = *GpuArch::find("sm_80");
  auto module = fused(text);
  module->walk([&](kernel::LaunchOp launch) {
    MLIRContext *context = launch.getContext();
    launch.setScheduleAttr(
        tcc::gpu::SchedulesAttr::get(context, StringAttr::get(context, arch.name),
                                     change(context, scheduleOf(launch, arch, form))));
  });
  auto wrong = simulateLaunches(module->lookupSymbol<func::FuncOp>("main"), inputs, WeightTable(),
                                arch, /*seeds=*/{3});
  if (!wrong)
    FAIL(llvm::toString(wrong.takeError()));
  for (const std::string &line : *wrong)
    FAIL_CHECK(line);
}
