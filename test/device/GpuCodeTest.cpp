// The PTX of GPU kernels: what it holds, and that ptxas takes it for every architecture, where
// there is a ptxas.
#include "KernelTexts.h"
#include "tcc/Emit/Ptx.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("PTX: 16-byte accesses, 32-bit indices, the lowest version") {
  std::string text =
      function("%x: tensor<512x4096xbf16>", "tensor<512x4096xbf16>",
               "%y = prim.exp %x : (tensor<512x4096xbf16>) -> tensor<512x4096xbf16>");
  std::string ptx = ptxOf(text, *GpuArch::find("sm_90a"));
  INFO(ptx);
  CHECK(contains(ptx, ".version 8.4"));
  CHECK(contains(ptx, ".target sm_90a"));
  CHECK(contains(ptx, ".maxntid 256"));
  CHECK(contains(ptx, "ld.global.v4.b32"));
  CHECK(contains(ptx, "st.global.v4.b32"));
  CHECK(!contains(ptx, "call"));
  CHECK(!contains(ptx, "div.u64"));
  CHECK(contains(ptxOf(text, *GpuArch::find("sm_80")), ".version 7.0"));
}

TEST_CASE("all of a thread's vectors are read before the branch of a function") {
  const std::string t = "tensor<8192x4096xbf16>";
  std::string ptx = ptxOf(function("%x: " + t, t,
                                   "%c = prim.cos %x : (" + t + ") -> " + t +
                                       "\n%y = prim.sin %c : (" + t + ") -> " + t),
                          *GpuArch::find("sm_90a"));
  INFO(ptx);
  std::string kernel = ptx.substr(ptx.find(".visible .entry"));
  std::string before = kernel.substr(0, kernel.find("bra"));
  size_t first = before.find("ld.global.v4.b32");
  REQUIRE(first != std::string::npos);
  CHECK(before.find("ld.global.v4.b32", first + 1) != std::string::npos);
}

TEST_CASE("a function that has no code is an error of the kernel, not of ptxas") {
  auto module = fused(function("%x: tensor<64xf32>", "tensor<64xf32>",
                               "%y = prim.exp %x : (tensor<64xf32>) -> tensor<64xf32>"));
  kernel::LaunchOp launch;
  module->walk([&](kernel::LaunchOp op) { launch = op; });
  const GpuArch &arch = *GpuArch::find("sm_80");
  auto schedule = codegen::device::chooseSchedule(launch, arch);
  auto kernel = kernelModule(launch, "k", schedule, arch);
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

TEST_CASE("ptxas takes every form for every architecture, without spills", "[long]") {
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
      function("%x: tensor<9x4000xf32>", "tensor<9x4000xi64>",
               "%v, %y = prim.sort %x axis 1 {descending = false} : (tensor<9x4000xf32>) -> "
               "(tensor<9x4000xf32>, tensor<9x4000xi64>)"),
      function("%x: tensor<9x2000xi64>", "tensor<9x2000xi64>",
               "%y, %p = prim.sort %x axis 1 {descending = true} : (tensor<9x2000xi64>) -> "
               "(tensor<9x2000xi64>, tensor<9x2000xi64>)"),
      function("%x: tensor<200x4000xbf16>, %i: tensor<200x4000xi64>, %u: tensor<200x4000xbf16>",
               "tensor<200x4000xbf16>",
               "%y = prim.scatter_along add %x, %i, %u axis 1 : (tensor<200x4000xbf16>, "
               "tensor<200x4000xi64>, tensor<200x4000xbf16>) -> tensor<200x4000xbf16>"),
      function("%x: tensor<20000x50xbf16>", "tensor<50xi64>",
               "%y = prim.arg_reduce max %x 0 {last = false} : (tensor<20000x50xbf16>) -> "
               "tensor<50xi64>"),
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

TEST_CASE("matrix units multiply f64 on every architecture, without spills") {
  std::string text = product("f64", "f64", 512, 512, 512, true);
  for (const GpuArch &arch : GpuArch::all()) {
    if (arch.simulated)
      continue;
    std::string ptx = ptxOf(text, arch);
    const char *shape = arch.capability == 90 ? "m16n8k16" : "m8n8k4";
    INFO(arch.name);
    CHECK(contains(ptx, std::string("mma.sync.aligned.") + shape + ".row.col.f64.f64.f64.f64"));
    CHECK(!contains(ptx, "fma.rn.f64"));
    checkAssembles(ptx, arch);
  }
}

TEST_CASE("the template for wgmma neither spills nor serialises", "[long]") {
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
        checkAssembles(ptx, arch);
      }
}

TEST_CASE("wgmma: integers and rounded f32, in clusters of blocks and tile after tile") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  struct Case {
    const char *left, *right, *result, *instruction;
    int rows;
  };
  for (const Case &c : {Case{"i8", "i8", "i32", "k32.s32.s8.s8", 4096},
                        {"ui8", "i8", "i32", "k32.s32.u8.s8", 100},
                        {"f32", "f32", "f32", "k8.f32.tf32.tf32", 4096},
                        {"f32", "f32", "f32", "k8.f32.tf32.tf32", 100},
                        {"bf16", "bf16", "bf16", "k16.f32.bf16.bf16", 128}}) {
    std::string m = std::to_string(c.rows);
    std::string a = "tensor<" + m + "x3072x" + c.left + ">",
                w = "tensor<768x3072x" + std::string(c.right) + ">",
                y = "tensor<" + m + "x768x" + c.result + ">";
    std::string text =
        function("%a: " + a + ", %w: " + w + ", %z: " + y, y,
                 "%0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (" + a + ", " + w +
                     ") -> " + y + "\n%y = prim.add %0, %z : (" + y + ", " + y + ") -> " + y);
    INFO(text);
    auto module = fused(text);
    kernel::LaunchOp launch;
    module->walk([&](kernel::LaunchOp op) { launch = op; });
    auto schedule = codegen::device::chooseSchedule(launch, arch, /*tf32=*/true);
    CHECK(schedule.getForm() == codegen::device::Form::Wgmma);
    CHECK((schedule.getSplit() > 1) == (c.rows < 1000));
    auto kernel = kernelModule(launch, "k", schedule, arch);
    REQUIRE(kernel);
    REQUIRE(succeeded(codegen::device::lowerKernelModule(*kernel, schedule)));
    std::string ptx = llvm::cantFail(emit::emitPtx(*kernel, arch));
    CHECK(contains(ptx, c.instruction));
    CHECK(contains(ptx, ".reqnctapercluster") == (schedule.getSplit() > 1));
    CHECK(contains(ptx, "barrier.cluster.arrive.relaxed") == (schedule.getSplit() > 1));
    checkAssembles(ptx, arch);
  }
}

TEST_CASE("wgmma: several axes of rows, a result in f32") {
  for (const char *columns : {"64", "200", "4096"}) {
    std::string n = columns, y = "tensor<4x1000x" + n + "xf32>";
    std::string text = function(
        "%x: tensor<4x1000x136xbf16>, %p: tensor<" + n + "x136xbf16>, %z: " + y, y,
        "%0 = prim.dot %x, %p batch [] x [] contract [2] x [1] : (tensor<4x1000x136xbf16>, "
        "tensor<" +
            n + "x136xbf16>) -> " + y + "\n%y = prim.add %0, %z : (" + y + ", " + y + ") -> " + y);
    const GpuArch &arch = *GpuArch::find("sm_90a");
    std::string ptx = ptxOf(text, arch, codegen::device::Form::Wgmma);
    // In slabs, or by threads with 16 bytes each.
    CHECK((contains(ptx, "cp.async.bulk.tensor.2d.global.shared::cta") ||
           contains(ptx, "st.global.v4.b32")));
    checkAssembles(ptx, arch);
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

TEST_CASE("scales of a norm are asked into the cache before earlier work ends") {
  const std::string t = "tensor<512x768xf32>", row = "tensor<768xf32>";
  std::string text =
      function("%x: " + t + ", %s: " + row, t,
               "%0 = prim.reduce max %x [1] : (" + t + ") -> tensor<512xf32>\n" +
                   "%1 = prim.broadcast %0 axes [0] sizes() : (tensor<512xf32>) -> " + t +
                   "\n%2 = prim.sub %x, %1 : (" + t + ", " + t + ") -> " + t +
                   "\n%3 = prim.broadcast %s axes [1] sizes() : (" + row + ") -> " + t +
                   "\n%y = prim.mul %2, %3 : (" + t + ", " + t + ") -> " + t);
  std::string ptx = ptxOf(text, *GpuArch::find("sm_90a"));
  INFO(ptx);
  CHECK(ptx.find("prefetch.global.L2") < ptx.find("griddepcontrol.wait"));
  CHECK(ptx.find("griddepcontrol.wait") < ptx.find("ld.global"));
  checkAssembles(ptx, *GpuArch::find("sm_90a"));
  CHECK(!contains(ptxOf(text, *GpuArch::find("sm_80")), "prefetch"));
}

TEST_CASE("a kernel lets the next one start where its schedule says so") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  auto module = fused(function("%x: tensor<64xf32>", "tensor<64xf32>",
                               "%y = prim.exp %x : (tensor<64xf32>) -> tensor<64xf32>"));
  kernel::LaunchOp launch;
  module->walk([&](kernel::LaunchOp op) { launch = op; });
  // Beside the one before, a kernel waits at its end; what is beside it starts when it has waited,
  // or at once if it is beside another one itself.
  for (auto [early, next, beside] : {std::array{false, false, false},
                                     {true, false, false},
                                     {false, true, false},
                                     {false, false, true},
                                     {false, true, true}}) {
    auto schedule =
        codegen::device::Schedule::get(&context(), codegen::device::Form::Loop, 256, 1, 1, 0, 0, 0,
                                       0, 0, 0, 0, 1, 0, 32, 0, early, next, beside, {});
    auto kernel = kernelModule(launch, "k", schedule, arch);
    REQUIRE(kernel);
    REQUIRE(succeeded(codegen::device::lowerKernelModule(*kernel, schedule)));
    std::string ptx = llvm::cantFail(emit::emitPtx(*kernel, arch));
    INFO(ptx);
    size_t wait = ptx.find("griddepcontrol.wait"), lets = ptx.find("griddepcontrol.launch_dep");
    size_t read = ptx.find("ld.global"), write = ptx.find("st.global");
    CHECK((beside ? write < wait : wait < read));
    CHECK((lets != std::string::npos) == (early || next));
    if (early || next)
      CHECK((lets < wait) == (early || beside));
  }
}

TEST_CASE("wgmma: weights are fetched before earlier work ends") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  for (int rows : {4096, 128}) { // tile after tile, and one a block
    std::string m = std::to_string(rows);
    std::string text =
        function("%a: tensor<" + m + "x768xbf16>", "tensor<" + m + "x768xbf16>",
                 "%w = prim.weight \"w\" : tensor<768x768xbf16>\n%y = prim.dot %a, %w batch [] x "
                 "[] contract "
                 "[1] x [1] : (tensor<" +
                     m + "x768xbf16>, tensor<768x768xbf16>) -> tensor<" + m + "x768xbf16>");
    INFO(text);
    CHECK(scheduleOf(text, arch).getKept() > 0);
    std::string ptx = ptxOf(text, arch);
    // Some copies before the fetching thread waits, and some after.
    const char *copy = "cp.async.bulk.tensor.2d.shared::cluster";
    size_t wait = ptx.find("griddepcontrol.wait", ptx.find(copy));
    REQUIRE(wait != std::string::npos);
    CHECK(ptx.find(copy, wait) != std::string::npos);
    checkAssembles(ptx, arch);
  }
}

TEST_CASE("wgmma: biases and residuals are read before the sums are done") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  for (int rows : {4096, 128}) { // tile after tile, and one a block
    std::string m = std::to_string(rows), y = "tensor<" + m + "x768xbf16>",
                f = "tensor<" + m + "x768xf32>";
    std::string text =
        function("%a: " + y + ", %w: tensor<768x768xbf16>, %c: tensor<768xf32>, %z: " + y, y,
                 "%0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (" + y +
                     ", tensor<768x768xbf16>) -> " + f +
                     "\n%1 = prim.broadcast %c axes [1] sizes() : (tensor<768xf32>) -> " + f +
                     "\n%2 = prim.add %0, %1 : (" + f + ", " + f + ") -> " + f +
                     "\n%3 = prim.cast %z : (" + y + ") -> " + f + "\n%4 = prim.add %2, %3 : (" +
                     f + ", " + f + ") -> " + f + "\n%y = prim.cast %4 : (" + f + ") -> " + y);
    INFO(text);
    std::string ptx = ptxOf(text, arch, codegen::device::Form::Wgmma);
    REQUIRE(contains(ptx, "ld.global"));
    CHECK(ptx.rfind("ld.global") < ptx.find("wgmma.mma_async"));
    checkAssembles(ptx, arch);
  }
}

/// A channels-last convolution of `type` with a bias and an activation.
static std::string convolutionOf(const std::string &type, const std::string &result, int channels,
                                 int filters, int groups, int stride, int taps) {
  int out = (28 + 2 * (taps / 2) - taps) / stride + 1;
  std::string n = std::to_string(filters), k = std::to_string(taps), o = std::to_string(out);
  std::string x = "tensor<16x28x28x" + std::to_string(channels) + "x" + type + ">";
  std::string w = "tensor<" + n + "x" + std::to_string(channels / groups) + "x" + k + "x" + k +
                  "x" + type + ", #prim.axis_order<[0, 2, 3, 1]>>";
  std::string y = "tensor<16x" + o + "x" + o + "x" + n + "x" + result + ">",
              b = "tensor<" + n + "x" + result + ">";
  return function("%x: " + x + ", %w: " + w + ", %b: " + b + ", %z: " + y, y,
                  "%0 = " + convolution(Windows::square(stride, 1, taps / 2, groups), x, w, y) +
                      "\n%1 = prim.broadcast %b axes [3] sizes() : (" + b + ") -> " + y +
                      "\n%2 = prim.add %0, %1 : (" + y + ", " + y + ") -> " + y +
                      "\n%3 = prim.add %2, %z : (" + y + ", " + y + ") -> " + y +
                      "\n%y = prim.logistic %3 : (" + y + ") -> " + y);
}

TEST_CASE("wgmma: windows of an image are copied tap by tap, without spills") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  struct Case {
    const char *type, *result;
    int channels, filters, groups, stride, taps;
  };
  for (const Case &c : {Case{"bf16", "bf16", 64, 64, 1, 1, 3},
                        {"bf16", "bf16", 256, 256, 1, 2, 3},
                        {"f16", "f32", 72, 200, 1, 1, 5},
                        {"bf16", "bf16", 1024, 2048, 1, 2, 1},
                        {"bf16", "bf16", 256, 256, 4, 1, 3}}) {
    std::string text =
        convolutionOf(c.type, c.result, c.channels, c.filters, c.groups, c.stride, c.taps);
    INFO(text);
    std::string ptx = ptxOf(text, arch, codegen::device::Form::Wgmma);
    CHECK(contains(ptx, "wgmma.mma_async"));
    CHECK(contains(ptx, "cp.async.bulk.tensor.4d.shared::cluster.global.im2col"));
    CHECK(contains(ptx, "cp.async.bulk.tensor.3d"));
    checkAssembles(ptx, arch);
  }
}

TEST_CASE("wgmma takes no convolution that a tensor map has no room for") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  auto forms = [&](const std::string &text) {
    auto module = fused(text);
    kernel::LaunchOp launch;
    module->walk([&](kernel::LaunchOp op) { launch = op; });
    return llvm::map_to_vector(codegen::device::schedulesFor(launch, arch),
                               [](codegen::device::Schedule s) { return s.getForm(); });
  };
  auto takes = [&](const std::string &text) {
    return llvm::is_contained(forms(text), codegen::device::Form::Wgmma);
  };
  CHECK(takes(convolutionOf("bf16", "bf16", 64, 64, 1, 1, 3)));
  CHECK(!takes(convolutionOf("f32", "f32", 64, 64, 1, 1, 3)));   // exact
  CHECK(!takes(convolutionOf("bf16", "bf16", 12, 64, 1, 1, 3))); // pixels of 24 bytes
  CHECK(takes(convolutionOf("bf16", "bf16", 64, 60, 1, 1, 3)));  // a result that nothing copies
  CHECK(!takes(convolutionOf("bf16", "bf16", 64, 64, 2, 1, 3))); // groups of 32 channels
  CHECK(!takes(convolutionOf("bf16", "bf16", 64, 64, 1, 9, 1))); // far apart
}

TEST_CASE("the template for mma.sync does not spill on any architecture", "[long]") {
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
                          {"f32", "f32", 4096, 4096, 4096, false},
                          {"bf16", "bf16", 33, 4096, 4096, true},
                          {"i8", "i32", 100, 300, 500, false}}) {
      std::string text = product(c.type, c.result, c.m, c.n, c.k, c.byColumns);
      INFO(arch.name << ' ' << text);
      std::string ptx = ptxOf(text, arch, codegen::device::Form::Mma);
      CHECK(contains(ptx, "mma.sync.aligned"));
      CHECK(contains(ptx, "ldmatrix.sync.aligned"));
      CHECK(contains(ptx, "cp.async"));
      // Rows of f32 are copied as they lie, and none past the end.
      CHECK((c.m != 33 || contains(ptx, ", 16, 0;")));
      CHECK((std::string(c.type) != "f32" || !contains(ptx, "st.shared.v4")));
      checkAssembles(ptx, arch);
    }
}

TEST_CASE("few rows go from memory to matrix units, several reads at a time") {
  struct Case {
    const char *type, *result;
    int m, n, k;
  };
  for (const GpuArch &arch : GpuArch::all())
    for (const Case &c : {Case{"bf16", "bf16", 1, 2048, 2048},
                          {"f16", "f32", 16, 8192, 2048},
                          {"bf16", "bf16", 4, 32000, 4096},
                          {"i8", "i32", 8, 4096, 4096}}) {
      std::string text = product(c.type, c.result, c.m, c.n, c.k, true);
      INFO(arch.name << ' ' << text);
      std::string ptx = ptxOf(text, arch, codegen::device::Form::SkinnyMma);
      // All of a round are read before the first is multiplied: four of weights and those of rows,
      // or several times as many.
      size_t first = ptx.find("mma.sync.aligned"), next = ptx.find("bra", first);
      std::string round = ptx.substr(0, first);
      int reads = 0;
      for (size_t at = 0; (at = round.find("ld.global.v4.b32", at)) != std::string::npos; ++at)
        ++reads;
      CHECK(reads >= 5);
      CHECK(!contains(ptx.substr(first, next - first), "ld.global.v4.b32"));
      CHECK(!contains(ptx, "ldmatrix"));

      checkAssembles(ptx, arch);
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
