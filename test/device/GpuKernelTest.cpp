// Every form of GPU kernel on the simulated device against the reference interpreter, and its
// PTX through ptxas for every architecture where there is a ptxas.
#include "LaunchCheck.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Emit/Ptx.h"
#include "tcc/Fusion/Fusion.h"
#include <catch2/catch.hpp>
#include <random>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

static MLIRContext &context() {
  static std::unique_ptr<MLIRContext> context = [] {
    DialectRegistry registry;
    codegen::device::registerKernelDialects(registry);
    registry.insert<prim::PrimDialect, kernel::KernelDialect>();
    auto made = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

/// The function @main of `text`, fused.
static OwningOpRef<ModuleOp> fused(const std::string &text) {
  auto module = parseSourceString<ModuleOp>(text, &context());
  REQUIRE(module);
  PassManager passes(&context());
  passes.addPass(createFuseKernelsPass());
  passes.addPass(createShareKernelsPass());
  REQUIRE(succeeded(passes.run(*module)));
  return module;
}

static Tensor random(DType type, llvm::ArrayRef<int64_t> shape, double low = -2, double high = 2) {
  static std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(*reference::elementCount(shape));
  for (double &v : values)
    v = uniform(engine);
  return Tensor::ofReals(type, shape, values);
}

static Tensor indices(llvm::ArrayRef<int64_t> shape, int64_t low, int64_t high) {
  static std::mt19937 engine(2);
  std::uniform_int_distribution<int64_t> uniform(low, high);
  std::vector<int64_t> values(*reference::elementCount(shape));
  for (int64_t &v : values)
    v = uniform(engine);
  return Tensor::ofIntegers(DType::I64, shape, values);
}

static void check(const std::string &text, llvm::ArrayRef<Tensor> inputs, bool tf32 = false) {
  auto module = fused(text);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  for (unsigned seed : {0, 7}) {
    auto wrong = simulateLaunches(main, inputs, WeightTable(), *GpuArch::find("sm_80"), seed, tf32);
    if (!wrong)
      FAIL(llvm::toString(wrong.takeError()));
    for (const std::string &line : *wrong)
      FAIL_CHECK(line);
  }
}

/// The schedule of `launch`: of the best template, or of `form`.
static codegen::device::Schedule scheduleOf(kernel::LaunchOp launch, const GpuArch &arch,
                                            std::optional<codegen::device::Form> form) {
  for (codegen::device::Schedule schedule : codegen::device::schedulesFor(launch, arch))
    if (schedule.getForm() == form.value_or(schedule.getForm()))
      return schedule;
  FAIL("no template of this form takes the launch");
  return {};
}

/// The same of the one launch of `text`.
static codegen::device::Schedule
scheduleOf(const std::string &text, const GpuArch &arch = *GpuArch::find("sm_80"),
           std::optional<codegen::device::Form> form = std::nullopt) {
  auto module = fused(text);
  kernel::LaunchOp launch;
  module->walk([&](kernel::LaunchOp op) { launch = op; });
  return scheduleOf(launch, arch, form);
}

/// A function of `arguments` ("%x: tensor<2xf32>, ...") that gives %y.
static std::string function(const std::string &arguments, const std::string &type,
                            const std::string &body) {
  return "func.func @main(" + arguments + ") -> " + type + " {\n" + body +
         "\n  return %y : " + type + "\n}";
}

TEST_CASE("loops: vectors, tails, broadcasts, several types") {
  check(function("%x: tensor<64x128xf32>", "tensor<64x128xf32>",
                 "%y = prim.exp %x : (tensor<64x128xf32>) -> tensor<64x128xf32>"),
        {random(DType::F32, {64, 128})});
  check(function("%x: tensor<3x5x7xf32>", "tensor<3x5x7xf32>",
                 "%y = prim.tanh %x : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>"),
        {random(DType::F32, {3, 5, 7})});
  for (const char *type : {"f64", "f16", "bf16", "i8", "ui8", "i64", "f8E4M3FN"}) {
    std::string t = std::string("tensor<40x24x") + type + ">",
                b = std::string("tensor<24x") + type + ">";
    DType d = *prim::dtypeOf(cast<RankedTensorType>(parseType(t, &context())).getElementType());
    check(function("%x: " + t + ", %b: " + b, t,
                   "%0 = prim.broadcast %b axes [1] sizes() : (" + b + ") -> " + t +
                       "\n%1 = prim.mul %x, %0 : (" + t + ", " + t + ") -> " + t +
                       "\n%y = prim.maximum %1, %0 : (" + t + ", " + t + ") -> " + t),
          {random(d, {40, 24}), random(d, {24})});
  }
  check(function("%x: tensor<200x16xf32>", "tensor<200x16xi1>", R"(
    %c = prim.constant dense<0.5> : tensor<f32>
    %0 = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<200x16xf32>
    %y = prim.compare lt %x, %0 : (tensor<200x16xf32>, tensor<200x16xf32>) -> tensor<200x16xi1>)"),
        {random(DType::F32, {200, 16})});
}

TEST_CASE("loops: open extents, empty tensors, in place of views") {
  std::string open = function("%x: tensor<?x?xf32>", "tensor<?x?xf32>", R"(
    %n = prim.dim %x, 0 : tensor<?x?xf32>
    %m = prim.dim %x, 1 : tensor<?x?xf32>
    %0 = prim.transpose %x [1, 0] : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %y = prim.exp %0 : (tensor<?x?xf32>) -> tensor<?x?xf32>)");
  check(open, {random(DType::F32, {33, 5})});
  check(open, {random(DType::F32, {0, 5})});
  check(function("%x: tensor<6x10x4xf32>", "tensor<4x60xf32>", R"(
    %0 = prim.reverse %x [1] : (tensor<6x10x4xf32>) -> tensor<6x10x4xf32>
    %1 = prim.reshape %0 sizes() : (tensor<6x10x4xf32>) -> tensor<60x4xf32>
    %2 = prim.transpose %1 [1, 0] : (tensor<60x4xf32>) -> tensor<4x60xf32>
    %y = prim.neg %2 : (tensor<4x60xf32>) -> tensor<4x60xf32>)"),
        {random(DType::F32, {6, 10, 4})});
  check(
      function("%x: tensor<5x6xf32>, %z: tensor<5x3xf32>, %v: tensor<f32>", "tensor<8x11xf32>", R"(
    %0 = prim.concat %x, %z axis 1 : (tensor<5x6xf32>, tensor<5x3xf32>) -> tensor<5x9xf32>
    %y = prim.pad %0, %v low [1, 2] () interior [0, 0] sizes() : (tensor<5x9xf32>, tensor<f32>) -> tensor<8x11xf32>)"),
      {random(DType::F32, {5, 6}), random(DType::F32, {5, 3}), random(DType::F32, {})});
}

TEST_CASE("transposes through shared memory: tails, types, open extents, beside other operands") {
  for (const char *type : {"f32", "bf16", "i1", "i64"}) {
    std::string x = std::string("tensor<3x70x45x") + type + ">",
                y = std::string("tensor<45x3x70x") + type + ">";
    DType d = *prim::dtypeOf(cast<RankedTensorType>(parseType(x, &context())).getElementType());
    check(function("%x: " + x, y, "%y = prim.transpose %x [2, 0, 1] : (" + x + ") -> " + y),
          {random(d, {3, 70, 45})});
  }
  check(function("%x: tensor<?x45xf32>, %z: tensor<45x?xf32>, %c: tensor<45xf32>",
                 "tensor<45x?xf32>", R"(
    %n = prim.dim %x, 0 : tensor<?x45xf32>
    %0 = prim.transpose %x [1, 0] : (tensor<?x45xf32>) -> tensor<45x?xf32>
    %1 = prim.mul %0, %z : (tensor<45x?xf32>, tensor<45x?xf32>) -> tensor<45x?xf32>
    %2 = prim.broadcast %c axes [0] sizes(%n) : (tensor<45xf32>) -> tensor<45x?xf32>
    %y = prim.add %1, %2 : (tensor<45x?xf32>, tensor<45x?xf32>) -> tensor<45x?xf32>)"),
        {random(DType::F32, {77, 45}), random(DType::F32, {45, 77}), random(DType::F32, {45})});
}

TEST_CASE("loops: gathers clamp what they read, of any width") {
  std::string take = function("%x: tensor<9x16xf32>, %i: tensor<7xi64>", "tensor<7x16xf32>",
                              "%y = prim.take %x, %i axis 0 : (tensor<9x16xf32>, tensor<7xi64>) -> "
                              "tensor<7x16xf32>");
  check(take, {random(DType::F32, {9, 16}), indices({7}, 0, 8)});
  // 2^32 is past the end, not at the start.
  Tensor far = Tensor::ofIntegers(DType::I64, {7}, {0, 8, int64_t(1) << 32, 3, 2, 1, 100});
  auto module = fused(take);
  Tensor x = random(DType::F32, {9, 16});
  auto wrong = simulateLaunches(module->lookupSymbol<func::FuncOp>("main"), {x, far}, WeightTable(),
                                *GpuArch::find("sm_80"));
  // The interpreter refuses such an index or clamps it as well.
  if (wrong)
    CHECK(wrong->empty());
  else
    llvm::consumeError(wrong.takeError());
  check(function("%x: tensor<9x16xf32>, %i: tensor<9x4xi64>", "tensor<9x4xf32>",
                 "%y = prim.take_along %x, %i axis 1 : (tensor<9x16xf32>, tensor<9x4xi64>) -> "
                 "tensor<9x4xf32>"),
        {random(DType::F32, {9, 16}), indices({9, 4}, 0, 15)});
}

/// softmax of the last axis.
static std::string softmax(const std::string &rows, const std::string &row) {
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

TEST_CASE("rows: a warp, a block, in registers and in loops") {
  for (int row : {1, 3, 31, 64, 100, 512, 1000, 2048, 4097, 12288})
    check(softmax("5", std::to_string(row)), {random(DType::F32, {5, row})});
  check(softmax("3", "70000"), {random(DType::F32, {3, 70000})});
}

TEST_CASE("rows: whole tensors, other kinds and types, one value a row beside points") {
  for (const char *kind : {"sum", "max", "min", "prod"})
    check(function("%x: tensor<4x9xf32>", "tensor<f32>",
                   std::string("%y = prim.reduce ") + kind +
                       " %x [0, 1] : (tensor<4x9xf32>) -> tensor<f32>"),
          {random(DType::F32, {4, 9})});
  for (const char *type : {"f64", "i64", "i8", "bf16"}) {
    std::string t = std::string("tensor<6x300x") + type + ">",
                r = std::string("tensor<6x") + type + ">";
    DType d = *prim::dtypeOf(cast<RankedTensorType>(parseType(t, &context())).getElementType());
    check(function("%x: " + t, r, "%y = prim.reduce max %x [1] : (" + t + ") -> " + r),
          {random(d, {6, 300})});
  }
  check(function("%x: tensor<7x2000xi1>", "tensor<7xi1>",
                 "%y = prim.reduce any %x [1] : (tensor<7x2000xi1>) -> tensor<7xi1>"),
        {random(DType::Bool, {7, 2000}, 0, 0.001)});
  check(function("%x: tensor<2x8x12x32xf32>", "tensor<2x8xf32>",
                 "%y = prim.reduce sum %x [2, 3] : (tensor<2x8x12x32xf32>) -> tensor<2x8xf32>"),
        {random(DType::F32, {2, 8, 12, 32})});
  // Leading axes: shared by the threads of a block where they are long, else a loop.
  check(function("%x: tensor<3x700x50xf32>, %z: tensor<3x50xf32>", "tensor<3x50xf32>", R"(
    %0 = prim.reduce sum %x [1] : (tensor<3x700x50xf32>) -> tensor<3x50xf32>
    %y = prim.mul %0, %z : (tensor<3x50xf32>, tensor<3x50xf32>) -> tensor<3x50xf32>)"),
        {random(DType::F32, {3, 700, 50}), random(DType::F32, {3, 50})});
  check(function("%x: tensor<50x12x32xf32>", "tensor<12x32xf32>",
                 "%y = prim.reduce sum %x [0] : (tensor<50x12x32xf32>) -> tensor<12x32xf32>"),
        {random(DType::F32, {50, 12, 32})});
}

TEST_CASE("long reductions are shared by blocks that meet in scratch memory") {
  auto reduced = [](const std::string &from, const std::string &to, const std::string &axes,
                    const std::string &kind = "sum") {
    return function("%x: tensor<" + from + ">", "tensor<" + to + ">",
                    "%y = prim.reduce " + kind + " %x [" + axes + "] : (tensor<" + from +
                        ">) -> tensor<" + to + ">");
  };
  std::string whole = reduced("300x1001xf32", "f32", "0, 1");
  CHECK(scheduleOf(whole).getSplit() > 8);
  CHECK(scheduleOf(whole).getScratchBytes() > codegen::device::kCounterBytes);
  check(whole, {random(DType::F32, {300, 1001})});
  check(reduced("3x160000xf64", "3xf64", "1", "max"), {random(DType::F64, {3, 160000})});
  check(reduced("2x400000xi1", "2xi1", "1", "any"), {random(DType::Bool, {2, 400000}, 0, 1e-5)});
  // Open extents: blocks may have nothing to do.
  check(reduced("?x8xf32", "f32", "0, 1"), {random(DType::F32, {37, 8})});
  check(reduced("?x8xf32", "f32", "0, 1"), {random(DType::F32, {37000, 8})});
  // Leading axes: of few columns, of vectors with a tail, with what follows.
  CHECK(scheduleOf(reduced("20000x10xf32", "10xf32", "0")).getSplit() > 8);
  check(reduced("20000x10xf32", "10xf32", "0"), {random(DType::F32, {20000, 10})});
  check(reduced("5000x200xbf16", "200xbf16", "0"), {random(DType::BF16, {5000, 200}, 0, 1)});
  check(reduced("9000x12xi64", "12xi64", "0", "min"), {random(DType::I64, {9000, 12}, -900, 900)});
  check(function("%x: tensor<2x40000xf32>", "tensor<2xf32>", R"(
    %0 = prim.mul %x, %x : (tensor<2x40000xf32>, tensor<2x40000xf32>) -> tensor<2x40000xf32>
    %1 = prim.reduce sum %0 [1] : (tensor<2x40000xf32>) -> tensor<2xf32>
    %y = prim.sqrt %1 : (tensor<2xf32>) -> tensor<2xf32>)"),
        {random(DType::F32, {2, 40000})});
}

TEST_CASE("averages of images: few columns, axes of one element, what follows") {
  auto average = [](const std::string &n, const std::string &size, const std::string &c,
                    const std::string &to) {
    std::string x = "tensor<" + n + "x" + size + "x" + c + "x",
                s = "tensor<" + n + "x" + c + "xf32>", y = "tensor<" + to + "x";
    return function("%x: " + x + "bf16>", y + "bf16>",
                    "%c = prim.constant dense<49.0> : " + y + "f32>\n%0 = prim.cast %x : (" + x +
                        "bf16>) -> " + x + "f32>\n%1 = prim.reduce sum %0 [1, 2] : (" + x +
                        "f32>) -> " + s + "\n%2 = prim.reshape %1 sizes() : (" + s + ") -> " + y +
                        "f32>\n%3 = prim.div %2, %c : (" + y + "f32>, " + y + "f32>) -> " + y +
                        "f32>\n%y = prim.cast %3 : (" + y + "f32>) -> " + y + "bf16>");
  };
  using codegen::device::Form;
  auto few = scheduleOf(average("1", "112x112", "32", "1x32x1x1"));
  CHECK(few.getForm() == Form::Column);
  CHECK(few.getLanes() == 8);
  CHECK(few.getRowThreads() == 256);
  CHECK(few.getSplit() > 1);
  check(average("1", "112x112", "32", "1x32x1x1"), {random(DType::BF16, {1, 112, 112, 32}, 0, 1)});
  check(average("1", "28x29", "72", "1x72x1x1"), {random(DType::BF16, {1, 28, 29, 72})});
  check(average("3", "17x31", "7", "3x7x1x1"), {random(DType::BF16, {3, 17, 31, 7})});
  check(average("2", "9x11", "1", "2x1x1x1"), {random(DType::BF16, {2, 9, 11, 1})});
  // Other axes, and several for one.
  check(average("4", "64x70", "12", "48"), {random(DType::BF16, {4, 64, 70, 12})});
  check(average("1", "40x40", "24", "3x1x8x1"), {random(DType::BF16, {1, 40, 40, 24})});
  // Who reads it elsewhere does not share the thread's point.
  std::string turned = function("%x: tensor<100x6x6xf32>", "tensor<6x6xf32>", R"(
    %0 = prim.reduce sum %x [0] : (tensor<100x6x6xf32>) -> tensor<6x6xf32>
    %1 = prim.exp %0 : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %y = prim.transpose %1 [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>)");
  check(turned, {random(DType::F32, {100, 6, 6}, 0, 0.02)});
  for (const char *kind : {"any", "all"}) {
    std::string k = kind;
    check(function("%x: tensor<900x3xi1>", "tensor<3x1xi1>",
                   "%0 = prim.reduce " + k +
                       " %x [0] : (tensor<900x3xi1>) -> tensor<3xi1>\n"
                       "%y = prim.reshape %0 sizes() : (tensor<3xi1>) -> tensor<3x1xi1>"),
          {random(DType::Bool, {900, 3}, 0, 1e-5)});
  }
}

TEST_CASE("lines: scans, places of extrema, sorting") {
  check(function("%x: tensor<5x20x3xf32>", "tensor<5x20x3xf32>",
                 "%y = prim.cumulative sum %x 1 {exclusive = false, reverse = true} : "
                 "(tensor<5x20x3xf32>) -> tensor<5x20x3xf32>"),
        {random(DType::F32, {5, 20, 3})});
  check(function("%x: tensor<50x20xf32>", "tensor<50xi64>",
                 "%y = prim.arg_reduce max %x 1 {last = false} : (tensor<50x20xf32>) -> "
                 "tensor<50xi64>"),
        {random(DType::F32, {50, 20})});
  check(function("%x: tensor<9x17xf32>", "tensor<9x17xf32>",
                 "%y, %i = prim.sort %x axis 1 {descending = true} : (tensor<9x17xf32>) -> "
                 "(tensor<9x17xf32>, tensor<9x17xi64>)"),
        {random(DType::F32, {9, 17})});
  check(function("%x: tensor<9x17xf32>", "tensor<9x4xf32>",
                 "%y, %i = prim.top_k %x axis 1 {largest = true} : (tensor<9x17xf32>) -> "
                 "(tensor<9x4xf32>, tensor<9x4xi64>)"),
        {random(DType::F32, {9, 17})});
}

TEST_CASE("scatters keep the order of their updates") {
  for (const char *kind : {"assign", "add", "max"}) {
    check(function("%x: tensor<4x10x3xf32>, %i: tensor<4x25x2xi64>, %u: tensor<4x25x2xf32>",
                   "tensor<4x10x3xf32>",
                   std::string("%y = prim.scatter_along ") + kind +
                       " %x, %i, %u axis 1 : (tensor<4x10x3xf32>, tensor<4x25x2xi64>, "
                       "tensor<4x25x2xf32>) -> tensor<4x10x3xf32>"),
          {random(DType::F32, {4, 10, 3}), indices({4, 25, 2}, 0, 9),
           random(DType::F32, {4, 25, 2})});
    check(function("%x: tensor<6x5x40xf32>, %i: tensor<30x2xi64>, %u: tensor<30x40xf32>",
                   "tensor<6x5x40xf32>",
                   std::string("%y = prim.scatter_nd ") + kind +
                       " %x, %i, %u : (tensor<6x5x40xf32>, tensor<30x2xi64>, tensor<30x40xf32>) -> "
                       "tensor<6x5x40xf32>"),
          {random(DType::F32, {6, 5, 40}), indices({30, 2}, 0, 4), random(DType::F32, {30, 40})});
  }
  check(function("%x: tensor<8x9xf32>, %u: tensor<3x4xf32>", "tensor<8x9xf32>",
                 "%y = prim.insert_slice %x, %u starts [6, 1] () steps [-2, 2] : "
                 "(tensor<8x9xf32>, tensor<3x4xf32>) -> tensor<8x9xf32>"),
        {random(DType::F32, {8, 9}), random(DType::F32, {3, 4})});
}

TEST_CASE("what a condition selects is collected in order") {
  Tensor x = random(DType::F32, {7, 13}, -1, 1);
  std::vector<double> values = x.reals();
  int64_t count = 0;
  for (double &v : values) {
    v = v > 0.3 ? v : 0;
    count += v != 0;
  }
  std::string n = std::to_string(count);
  check(function("%x: tensor<7x13xf32>", "tensor<2x" + n + "xi64>",
                 "%y = prim.nonzero %x : (tensor<7x13xf32>) -> tensor<2x" + n + "xi64>"),
        {Tensor::ofReals(DType::F32, {7, 13}, values)});
}

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

/// A product of operands of `type` into `result`, with the right one [n, k] or [k, n], a bias and
/// an activation.
static std::string product(const std::string &type, const std::string &result, int m, int n, int k,
                           bool byColumns, bool transposed = false) {
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
  std::string deep = product("bf16", "bf16", 16, 64, 2000, true);
  CHECK(scheduleOf(deep).getSplit() > 1);
  checkProduct(DType::BF16, DType::BF16, 16, 64, 2000, true);
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
          codegen::device::Form::Mma);
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
}

TEST_CASE("convolutions: padded, strided, grouped, channels last, transposed") {
  struct Case {
    std::string x, w, y, attributes;
    std::vector<int64_t> xs, ws;
  };
  for (
      const Case &c : {
          Case{
              "2x6x9x10",
              "8x6x3x3",
              "2x8x9x10",
              "strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = "
              "array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : i64",
              {2, 6, 9, 10},
              {8, 6, 3, 3}},
          Case{
              "1x8x11x7",
              "12x4x3x2",
              "1x12x5x4",
              "strides = array<i64: 2, 2>, dilations = array<i64: 1, 2>, input_dilation = "
              "array<i64: 1, 1>, low = array<i64: 0, 1>, high = array<i64: 0, 1>, groups = 2 : i64",
              {1, 8, 11, 7},
              {12, 4, 3, 2}},
          Case{"2x9x10x6",
               "8x6x3x3",
               "2x9x10x8",
               "strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = "
               "array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 1 : "
               "i64, channels_last = true",
               {2, 9, 10, 6},
               {8, 6, 3, 3}},
          Case{"1x6x7x8",
               "8x1x3x3",
               "1x6x7x8",
               "strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilation = "
               "array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, groups = 8 : "
               "i64, channels_last = true",
               {1, 6, 7, 8},
               {8, 1, 3, 3}},
          Case{"1x3x5",
               "4x3x3",
               "1x4x9",
               "strides = array<i64: 1>, dilations = array<i64: 1>, input_dilation = array<i64: "
               "2>, low = array<i64: 1>, high = array<i64: 1>, groups = 1 : i64",
               {1, 3, 5},
               {4, 3, 3}},
      })
    check(function("%x: tensor<" + c.x + "xf32>, %w: tensor<" + c.w + "xf32>",
                   "tensor<" + c.y + "xf32>",
                   "%y = prim.conv %x, %w sizes() {" + c.attributes + "} : (tensor<" + c.x +
                       "xf32>, tensor<" + c.w + "xf32>) -> tensor<" + c.y + "xf32>"),
          {random(DType::F32, c.xs), random(DType::F32, c.ws)});
}

TEST_CASE("convolutions on matrix units: windows, strides, groups, few channels, depthwise") {
  using codegen::device::Form;
  struct Case {
    const char *type, *result;
    std::vector<int64_t> x, w, y; ///< channels last, filters as ONNX has them
    int stride, dilation, low;
    Form form;
  };
  auto text = [](llvm::ArrayRef<int64_t> shape) {
    std::string dims;
    for (int64_t d : shape)
      dims += std::to_string(d) + "x";
    return dims;
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
        {"f32", "f32", {2, 9, 8, 12}, {12, 1, 5, 5}, {2, 5, 4, 12}, 2, 1, 2, Form::Loop}}) {
    auto two = [](int n) {
      return "array<i64: " + std::to_string(n) + ", " + std::to_string(n) + ">";
    };
    int64_t groups = c.x.back() / c.w[1];
    std::string x = "tensor<" + text(c.x) + c.type + ">",
                y = "tensor<" + text(c.y) + c.result + ">";
    std::string order = c.w[1] == 1 && groups > 1 ? "[2, 3, 1, 0]" : "[0, 2, 3, 1]";
    std::string w = "tensor<" + text(c.w) + c.type + ", #prim.axis_order<" + order + ">>";
    int high = c.low;
    std::string module =
        function("%x: " + x + ", %w: " + w + ", %z: " + y, y,
                 "%0 = prim.conv %x, %w sizes() {strides = " + two(c.stride) + ", dilations = " +
                     two(c.dilation) + ", input_dilation = " + two(1) + ", low = " + two(c.low) +
                     ", high = " + two(high) + ", groups = " + std::to_string(groups) +
                     " : i64, channels_last = true} : (" + x + ", " + w + ") -> " + y +
                     "\n%y = prim.add %0, %z : (" + y + ", " + y + ") -> " + y);
    INFO(module);
    CHECK(scheduleOf(module).getForm() == c.form);
    DType d = *parseDType(c.type), r = *parseDType(c.result);
    double most = d == DType::I8 ? 120 : 2;
    check(module, {random(d, c.x, -most, most), random(d, c.w, -most, most), random(r, c.y)});
  }
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// PTX of the one launch of `text`.
static std::string ptxOf(const std::string &text, const GpuArch &arch,
                         std::optional<codegen::device::Form> form = std::nullopt) {
  auto module = fused(text);
  kernel::LaunchOp launch;
  module->walk([&](kernel::LaunchOp op) { launch = op; });
  auto schedule = scheduleOf(launch, arch, form);
  auto kernel = kernelModule(launch, "k", schedule);
  REQUIRE(kernel);
  REQUIRE(succeeded(codegen::device::lowerKernelModule(*kernel, schedule)));
  return llvm::cantFail(emit::emitPtx(*kernel, arch));
}

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// Attention of heads of `queries` by `keys`: scores from %q and %k, the rest as given.
static std::string attention(const std::string &head, int64_t queries, int64_t keys, int64_t depth,
                             int64_t width, const std::string &type, const std::string &score,
                             bool zeroed = false) {
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

static std::string scaled(const std::string &st) {
  return "%scale = prim.constant dense<0.25> : " + st + "\n%score = prim.mul %dot, %scale : (" +
         st + ", " + st + ") -> " + st;
}

TEST_CASE("attention: tiles of queries and keys, masks, types") {
  auto inputs = [](DType type, int64_t heads, int64_t m, int64_t n, int64_t d, int64_t w) {
    return std::vector<Tensor>{random(type, {heads, m, d}, -1, 1),
                               random(type, {heads, n, d}, -1, 1),
                               random(type, {heads, n, w}, -1, 1)};
  };
  // Hidden where the key comes after the query.
  auto causal = [](const std::string &heads, const std::string &plane) {
    std::string st = "tensor<" + heads + "x" + plane + "xf32>",
                bt = "tensor<" + heads + "x" + plane + "xi1>";
    std::string it = "tensor<" + plane + "xi64>", pt = "tensor<" + plane + "xi1>";
    return "%row = prim.iota 0 sizes() : " + it + "\n%key = prim.iota 1 sizes() : " + it +
           "\n%before = prim.compare ge %row, %key : (" + it + ", " + it + ") -> " + pt +
           "\n%seen = prim.broadcast %before axes [1, 2] sizes() : (" + pt + ") -> " + bt +
           "\n%none = prim.constant dense<0xFF800000> : " + st +
           "\n%score = prim.select %seen, %dot, %none : (" + bt + ", " + st + ", " + st + ") -> " +
           st;
  };
  CHECK(scheduleOf(attention("2", 70, 130, 24, 20, "f32", scaled("tensor<2x70x130xf32>")))
            .getForm() == kernel::GpuForm::Attention);
  check(attention("2", 70, 130, 24, 20, "f32", scaled("tensor<2x70x130xf32>")),
        inputs(DType::F32, 2, 70, 130, 24, 20));
  check(attention("3", 5, 3, 7, 70, "f32", scaled("tensor<3x5x3xf32>")),
        inputs(DType::F32, 3, 5, 3, 7, 70));
  check(attention("1", 150, 150, 16, 16, "bf16", causal("1", "150x150")),
        inputs(DType::BF16, 1, 150, 150, 16, 16));
  check(attention("2", 66, 20, 16, 16, "f16", causal("2", "66x20"), true),
        inputs(DType::F16, 2, 66, 20, 16, 16));
}

TEST_CASE("PTX: 16-byte accesses, 32-bit indices, the lowest version") {
  std::string text =
      function("%x: tensor<512x4096xbf16>", "tensor<512x4096xbf16>",
               "%y = prim.exp %x : (tensor<512x4096xbf16>) -> tensor<512x4096xbf16>");
  std::string ptx = ptxOf(text, *GpuArch::find("sm_90a"));
  INFO(ptx);
  CHECK(contains(ptx, ".version 8.0"));
  CHECK(contains(ptx, ".target sm_90a"));
  CHECK(contains(ptx, ".maxntid 256"));
  CHECK(contains(ptx, "ld.global.v4.b32"));
  CHECK(contains(ptx, "st.global.v4.b32"));
  CHECK(!contains(ptx, "call"));
  CHECK(!contains(ptx, "div.u64"));
  CHECK(contains(ptxOf(text, *GpuArch::find("sm_80")), ".version 7.0"));
}

TEST_CASE("a function that has no code is an error of the kernel, not of ptxas") {
  auto module = fused(function("%x: tensor<64xf32>", "tensor<64xf32>",
                               "%y = prim.exp %x : (tensor<64xf32>) -> tensor<64xf32>"));
  kernel::LaunchOp launch;
  module->walk([&](kernel::LaunchOp op) { launch = op; });
  auto schedule = codegen::device::chooseSchedule(launch, *GpuArch::find("sm_80"));
  auto kernel = kernelModule(launch, "k", schedule);
  REQUIRE(kernel);
  OpBuilder b = OpBuilder::atBlockBegin(kernel->getBody());
  auto type = b.getFunctionType({b.getF64Type()}, {b.getF64Type()});
  func::FuncOp::create(b, launch.getLoc(), "cbrt", type).setPrivate();
  std::string message;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &d) {
    message = d.str();
    return success();
  });
  CHECK(failed(codegen::device::lowerKernelModule(*kernel, schedule)));
  CHECK(contains(message, "a GPU has no function 'cbrt'"));
}

TEST_CASE("functions of f64 need no libm") {
  const std::string t = "tensor<96xf64>";
  Tensor positive = random(DType::F64, {96}, 1, 3), small = random(DType::F64, {96}, -0.9, 0.9),
         large = random(DType::F64, {96}, 1e6, 1e18);
  auto unary = [&](const std::string &op, const Tensor &x) {
    check(function("%x: " + t, t, "%y = prim." + op + " %x : (" + t + ") -> " + t), {x});
  };
  for (const char *op : {"lgamma", "digamma", "sinh", "cosh", "asinh", "acosh", "erf", "erfc"})
    unary(op, positive);
  for (const char *op : {"asin", "acos", "atan", "atanh", "erfinv", "tan"})
    unary(op, small);
  for (const char *op : {"sin", "cos", "tan"})
    unary(op, large);
  for (const char *op : {"pow", "atan2", "rem"})
    check(function("%x: " + t + ", %z: " + t, t,
                   std::string("%y = prim.") + op + " %x, %z : (" + t + ", " + t + ") -> " + t),
          {positive, small});
}

TEST_CASE("ptxas takes every form for every architecture, without spills") {
  auto ptxas = llvm::cantFail(emit::Ptxas::find());
  if (!ptxas) {
    WARN("no ptxas on this machine: PTX is not assembled");
    return;
  }
  const std::string texts[] = {
      softmax("64", "512"),
      softmax("64", "8192"),
      softmax("2", "100000"),
      attention("8", 512, 512, 128, 128, "bf16", scaled("tensor<8x512x512xf32>")),
      attention("8", 512, 512, 256, 256, "f32", scaled("tensor<8x512x512xf32>")),
      function("%x: tensor<4000x4000xf32>", "tensor<f32>",
               "%y = prim.reduce sum %x [0, 1] : (tensor<4000x4000xf32>) -> tensor<f32>"),
      function("%x: tensor<40000x64xbf16>", "tensor<64xbf16>",
               "%y = prim.reduce sum %x [0] : (tensor<40000x64xbf16>) -> tensor<64xbf16>"),
      function("%a: tensor<2048x40xf32>, %b: tensor<2048x40xf32>", "tensor<2048x2048xf32>",
               "%y = prim.dot %a, %b batch [] x [] contract [1] x [1] : (tensor<2048x40xf32>, "
               "tensor<2048x40xf32>) -> tensor<2048x2048xf32>"),
      function("%a: tensor<256x128xf32>, %b: tensor<128x256xf32>", "tensor<256x256xf32>",
               "%y = prim.dot %a, %b batch [] x [] contract [1] x [0] : (tensor<256x128xf32>, "
               "tensor<128x256xf32>) -> tensor<256x256xf32>"),
      product("f32", "f32", 8, 4096, 512, true),
      product("f64", "f64", 3, 4096, 512, true),
      function("%x: tensor<9x17xf32>", "tensor<9x4xf32>",
               "%y, %i = prim.top_k %x axis 1 {largest = true} : (tensor<9x17xf32>) -> "
               "(tensor<9x4xf32>, tensor<9x4xi64>)"),
      function("%x: tensor<64x128xf16>", "tensor<64x128xf16>",
               "%y = prim.erf %x : (tensor<64x128xf16>) -> tensor<64x128xf16>")};
  for (const GpuArch &arch : GpuArch::all())
    for (const std::string &text : texts) {
      auto cubin = ptxas->assemble(ptxOf(text, arch), arch);
      if (!cubin)
        FAIL(llvm::toString(cubin.takeError()));
      INFO(arch.name << ' ' << text);
      CHECK(!cubin->bytes.empty());
      CHECK(cubin->kernels.lookup("k").registers > 0);
      CHECK(!cubin->kernels.lookup("k").spills());
    }
}

TEST_CASE("the template for wgmma neither spills nor serialises") {
  auto ptxas = llvm::cantFail(emit::Ptxas::find());
  if (!ptxas) {
    WARN("no ptxas on this machine: PTX is not assembled");
    return;
  }
  const GpuArch &arch = *GpuArch::find("sm_90a");
  for (const char *type : {"bf16", "f16"})
    for (int columns : {64, 200, 512, 4096, 8192})
      for (bool byColumns : {true, false}) {
        std::string n = std::to_string(columns), t = type;
        std::string a = "tensor<4096x136x" + t + ">", y = "tensor<4096x" + n + "x" + t + ">";
        std::string w =
            byColumns ? "tensor<" + n + "x136x" + t + ">" : "tensor<136x" + n + "x" + t + ">";
        std::string text =
            function("%a: " + a + ", %w: " + w + ", %c: tensor<" + n + "x" + t + ">", y,
                     "%0 = prim.dot %a, %w batch [] x [] contract [1] x [" +
                         std::string(byColumns ? "1" : "0") + "] : (" + a + ", " + w + ") -> " + y +
                         "\n%1 = prim.broadcast %c axes [1] sizes() : (tensor<" + n + "x" + t +
                         ">) -> " + y + "\n%2 = prim.add %0, %1 : (" + y + ", " + y + ") -> " + y +
                         "\n%y = prim.logistic %2 : (" + y + ") -> " + y);
        INFO(text);
        std::string ptx = ptxOf(text, arch, codegen::device::Form::Wgmma);
        CHECK(contains(ptx, "wgmma.mma_async"));
        CHECK(contains(ptx, "cp.async.bulk.tensor.2d"));
        auto cubin = ptxas->assemble(ptx, arch);
        if (!cubin)
          FAIL(llvm::toString(cubin.takeError()));
        CHECK(!cubin->kernels.lookup("k").spills());
        CHECK(cubin->warnings.empty());
      }
}

TEST_CASE("wgmma: several axes of rows, a result in f32") {
  auto ptxas = llvm::cantFail(emit::Ptxas::find());
  for (const char *columns : {"64", "200", "4096"}) {
    std::string n = columns, y = "tensor<4x1000x" + n + "xf32>";
    std::string text = function(
        "%x: tensor<4x1000x136xbf16>, %p: tensor<" + n + "x136xbf16>, %z: " + y, y,
        "%0 = prim.dot %x, %p batch [] x [] contract [2] x [1] : (tensor<4x1000x136xbf16>, "
        "tensor<" +
            n + "x136xbf16>) -> " + y + "\n%y = prim.add %0, %z : (" + y + ", " + y + ") -> " + y);
    const GpuArch &arch = *GpuArch::find("sm_90a");
    std::string ptx = ptxOf(text, arch, codegen::device::Form::Wgmma);
    CHECK(contains(ptx, "st.global.v2.b32"));
    if (!ptxas)
      continue;
    auto cubin = ptxas->assemble(ptx, arch);
    if (!cubin)
      FAIL(llvm::toString(cubin.takeError()));
    CHECK(!cubin->kernels.lookup("k").spills());
    CHECK(cubin->warnings.empty());
  }
}

TEST_CASE("wgmma: rows of a reshape are copied from where they lie") {
  std::string w = "tensor<768x768xbf16>", rows = "tensor<4096x768x";
  for (const std::string x : {"tensor<8x512x768xbf16>", "tensor<8x512x12x64xbf16>"}) {
    std::string text =
        function("%x: " + x + ", %w: " + w, rows + "f32>",
                 "%0 = prim.reshape %x sizes() : (" + x + ") -> " + rows + "bf16>\n" +
                     "%y = prim.dot %0, %w batch [] x [] contract [1] x [1] : (" + rows +
                     "bf16>, " + w + ") -> " + rows + "f32>");
    const GpuArch &arch = *GpuArch::find("sm_90a");
    std::string ptx = ptxOf(text, arch, codegen::device::Form::Wgmma);
    CHECK(contains(ptx, "cp.async.bulk.tensor.2d"));
    CHECK(!contains(ptx, "ld.global"));
  }
}

TEST_CASE("the template for mma.sync does not spill on any architecture") {
  auto ptxas = llvm::cantFail(emit::Ptxas::find());
  if (!ptxas) {
    WARN("no ptxas on this machine: PTX is not assembled");
    return;
  }
  struct Case {
    const char *type, *result;
    int m, n, k;
    bool byColumns;
  };
  for (const GpuArch &arch : GpuArch::all())
    for (const Case &c : {Case{"bf16", "bf16", 8192, 8192, 512, true},
                          {"f16", "f16", 4096, 1024, 1024, false},
                          {"bf16", "f32", 1000, 100, 200, true},
                          {"bf16", "bf16", 16, 4096, 4096, true},
                          {"i8", "i32", 2048, 2048, 512, true},
                          {"i8", "i32", 100, 300, 500, false}}) {
      std::string text = product(c.type, c.result, c.m, c.n, c.k, c.byColumns);
      INFO(arch.name << ' ' << text);
      std::string ptx = ptxOf(text, arch, codegen::device::Form::Mma);
      CHECK(contains(ptx, "mma.sync.aligned"));
      CHECK(contains(ptx, "ldmatrix.sync.aligned"));
      CHECK(contains(ptx, "cp.async"));
      auto cubin = ptxas->assemble(ptx, arch);
      if (!cubin)
        FAIL(llvm::toString(cubin.takeError()));
      const emit::KernelResources &used = cubin->kernels["k"];
      UNSCOPED_INFO("registers " << used.registers);
      CHECK(!used.spills());
      CHECK(cubin->warnings.empty());
    }
}

TEST_CASE("mma: heads of a joined projection are copied 16 bytes at a time") {
  // Queries and keys of one product's columns, as views; 197 rows, so results one by one.
  std::string text = function("%x: tensor<197x4x384xbf16>", "tensor<4x2x197x197xf32>", R"(
    %0 = prim.reshape %x sizes() : (tensor<197x4x384xbf16>) -> tensor<197x4x3x128xbf16>
    %1 = prim.transpose %0 [2, 1, 0, 3] : (tensor<197x4x3x128xbf16>) -> tensor<3x4x197x128xbf16>
    %2 = prim.slice %1 starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<3x4x197x128xbf16>) -> tensor<1x4x197x128xbf16>
    %q = prim.reshape %2 sizes() : (tensor<1x4x197x128xbf16>) -> tensor<4x197x2x64xbf16>
    %3 = prim.slice %1 starts [1, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<3x4x197x128xbf16>) -> tensor<1x4x197x128xbf16>
    %k = prim.reshape %3 sizes() : (tensor<1x4x197x128xbf16>) -> tensor<4x197x2x64xbf16>
    %y = prim.dot %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : (tensor<4x197x2x64xbf16>, tensor<4x197x2x64xbf16>) -> tensor<4x2x197x197xf32>)");
  for (const char *name : {"sm_80", "sm_90a"}) {
    std::string ptx = ptxOf(text, *GpuArch::find(name), codegen::device::Form::Mma);
    CHECK(contains(ptx, "cp.async.cg.shared.global"));
    CHECK(!contains(ptx, "ld.global"));
  }
}

TEST_CASE("what ptxas prints is read; what it refuses is named") {
  emit::Cubin cubin;
  emit::Ptxas::readLog("ptxas info    : 0 bytes gmem\n"
                       "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
                       "ptxas info    : Function properties for gemm\n"
                       "    32 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                       "ptxas info    : Used 168 registers, used 9 barriers, 64 bytes smem\n"
                       "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
                       "instructions are serialized\n",
                       cubin);
  emit::KernelResources kernel = cubin.kernels.lookup("gemm");
  CHECK(kernel.registers == 168);
  CHECK(kernel.sharedBytes == 64);
  CHECK(kernel.stackBytes == 32);
  CHECK(kernel.spillStoreBytes == 8);
  CHECK(kernel.spillLoadBytes == 12);
  CHECK(kernel.spills());
  REQUIRE(cubin.warnings.size() == 1);
  auto missing = emit::Ptxas::find("/nowhere/ptxas");
  REQUIRE(!missing);
  CHECK(llvm::toString(missing.takeError()) ==
        "--ptxas: /nowhere/ptxas is no program that can be run");
  auto other = emit::Ptxas::find("/bin/true");
  REQUIRE(!other);
  CHECK(contains(llvm::toString(other.takeError()), "does not answer --version as NVIDIA's ptxas"));
  if (auto ptxas = llvm::cantFail(emit::Ptxas::find())) {
    auto bad = ptxas->assemble("nonsense", *GpuArch::find("sm_80"));
    REQUIRE(!bad);
    CHECK(contains(llvm::toString(bad.takeError()), "refuses the code for sm_80"));
  }
}
