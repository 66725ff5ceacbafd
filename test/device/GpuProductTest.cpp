// Products in large squares of a thread, whose slices come by registers or by copies, on the
// simulated device against the reference interpreter.
#include "KernelTexts.h"
#include "tcc/Emit/Ptx.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Schedule;
using reference::Tensor;

TEST_CASE("products: what is multiplied next is read ahead, brought by registers or by copies") {
  struct Way {
    unsigned rows, columns, depth, threads, across, parts, split, stages;
  };
  struct Sizes {
    int64_t m, n, k;
    bool leftAcross, rightAcross; ///< neighbours in memory differ in rows, or columns
    const char *type = "f32";
  };
  for (const Sizes &z : {Sizes{70, 150, 130, false, false},
                         {132, 136, 96, false, true},
                         {13, 140, 300, true, true},
                         {129, 33, 77, true, false},
                         {70, 68, 130, false, false, "f64"},
                         {33, 129, 64, true, true, "f64"}}) {
    std::string t = z.type;
    auto matrix = [&](int64_t own, bool across) {
      std::string o = std::to_string(own), k = std::to_string(z.k);
      return "tensor<2x" + (across ? k + "x" + o : o + "x" + k) + "x" + t + ">";
    };
    auto shape = [&](int64_t own, bool across) {
      return across ? llvm::SmallVector<int64_t>{2, z.k, own}
                    : llvm::SmallVector<int64_t>{2, own, z.k};
    };
    std::string l = matrix(z.m, z.leftAcross), r = matrix(z.n, z.rightAcross),
                y = "tensor<2x" + std::to_string(z.m) + "x" + std::to_string(z.n) + "x" + t + ">";
    std::string text =
        function("%a: " + l + ", %b: " + r, y,
                 std::string("%0 = prim.dot %a, %b batch [0] x [0] contract [") +
                     (z.leftAcross ? "1" : "2") + "] x [" + (z.rightAcross ? "1" : "2") + "] : (" +
                     l + ", " + r + ") -> " + y + "\n%y = prim.neg %0 : (" + y + ") -> " + y);
    DType d = *parseDType(t);
    unsigned bytes = d == DType::F64 ? 8 : 4;
    for (const Way &w : {Way{128, 128, 8, 128, 16, 1, 1, 0},
                         {128, 128, 8, 128, 8, 1, 2, 4},
                         {64, 64, 16, 64, 8, 2, 1, 3},
                         {64, 64, 8, 128, 16, 1, 3, 0},
                         {32, 64, 16, 32, 8, 4, 2, 3},
                         {64, 128, 16, 128, 16, 1, 1, 3}}) {
      CAPTURE(text, w.rows, w.columns, w.threads, w.parts, w.split, w.stages);
      checkAs(text, {random(d, shape(z.m, z.leftAcross)), random(d, shape(z.n, z.rightAcross))},
              codegen::device::Form::Product, [&](MLIRContext *context, Schedule s) {
                unsigned tiles =
                    2 * llvm::divideCeil(z.m, w.rows) * llvm::divideCeil(z.n, w.columns);
                unsigned sums = w.rows * w.columns * bytes;
                unsigned slice = w.depth * (w.rows + w.columns + 8) * bytes;
                if (bytes == 8) // whichever way it lies
                  slice = (w.rows + w.columns) * (w.depth + 4) * bytes + w.depth * 8 * bytes;
                unsigned shared = w.stages ? std::max(w.parts * w.stages * slice,
                                                      w.parts > 1 ? w.parts * sums : 0)
                                           : 0;
                return Schedule::get(
                    context, s.getForm(), w.threads * w.parts, 1, w.parts, w.across, 0, w.rows,
                    w.columns, w.depth, shared, 0, w.split,
                    w.split > 1 ? codegen::device::kCounterBytes + tiles * w.split * sums : 0,
                    s.getIndexBits(), s.getNextEarly());
              });
    }
  }
}

TEST_CASE("convolutions with a filter for each channel, of planes: strips along a line") {
  struct Case {
    std::string x, w, result, strides, dilations, low, high;
    std::vector<int64_t> shape, filters;
  };
  const Case cases[] = {{"2x6x9x13",
                         "6x1x3x5",
                         "2x6x9x13",
                         "1, 1",
                         "1, 1",
                         "1, 2",
                         "1, 2",
                         {2, 6, 9, 13},
                         {6, 1, 3, 5}},
                        {"1x8x20x19",
                         "8x1x3x3",
                         "1x8x10x10",
                         "2, 2",
                         "1, 1",
                         "1, 1",
                         "1, 1",
                         {1, 8, 20, 19},
                         {8, 1, 3, 3}},
                        {"3x5x11x10",
                         "5x1x3x3",
                         "3x5x11x10",
                         "1, 1",
                         "2, 2",
                         "2, 2",
                         "2, 2",
                         {3, 5, 11, 10},
                         {5, 1, 3, 3}},
                        {"2x7x50", "7x1x4", "2x7x53", "1", "1", "3", "3", {2, 7, 50}, {7, 1, 4}}};
  for (const Case &c : cases)
    for (auto [type, d] : {std::pair("f32", DType::F32), {"bf16", DType::BF16}}) {
      std::string x = tensor(c.x, type), w = tensor(c.w, type), y = tensor(c.result, type);
      std::string gaps = c.shape.size() == 3 ? "1" : "1, 1";
      std::string text =
          function("%x: " + x + ", %w: " + w, y,
                   "%0 = prim.conv %x, %w sizes() {strides = array<i64: " + c.strides +
                       ">, dilations = array<i64: " + c.dilations +
                       ">, input_dilation = array<i64: " + gaps + ">, low = array<i64: " + c.low +
                       ">, high = array<i64: " + c.high +
                       ">, groups = " + std::to_string(c.shape[1]) + " : i64} : (" + x + ", " + w +
                       ") -> " + y + "\n%y = prim.logistic %0 : (" + y + ") -> " + y);
      INFO(text);
      Schedule s = scheduleOf(text);
      bool neighbours = c.strides.find('2') == std::string::npos;
      CHECK((s.getForm() == codegen::device::Form::Loop && s.getRows() > 0) == neighbours);
      check(text, {random(d, c.shape), random(d, c.filters)});
    }
}

TEST_CASE("wgmma: operands of 32 bits that lie along columns come out of registers") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  for (auto [m, k, n] : {std::array{512, 4096, 4096}, {100, 768, 768}, {2048, 500, 1000}}) {
    auto matrix = [](int rows, int columns) {
      return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
    };
    std::string l = matrix(m, k), r = matrix(k, n), y = matrix(m, n);
    std::string text = function("%a: " + l + ", %b: " + r, y,
                                "%y = prim.dot %a, %b batch [] x [] contract [1] x [0] : (" + l +
                                    ", " + r + ") -> " + y);
    INFO(text);
    auto module = fused(text);
    kernel::LaunchOp launch;
    module->walk([&](kernel::LaunchOp op) { launch = op; });
    auto schedule = codegen::device::chooseSchedule(launch, arch, /*tf32=*/true);
    CHECK(schedule.getForm() == codegen::device::Form::Wgmma);
    CHECK(schedule.getMostBlocks() == 0);
    auto kernel = kernelModule(launch, "k", schedule, arch);
    REQUIRE(kernel);
    REQUIRE(succeeded(codegen::device::lowerKernelModule(*kernel, schedule)));
    std::string ptx = llvm::cantFail(emit::emitPtx(*kernel, arch));
    CHECK(ptx.find("k8.f32.tf32.tf32 {") != std::string::npos);
    CHECK(ptx.find("cvt.rna.tf32.f32") != std::string::npos);
    checkAssembles(ptx, arch);
  }
}

TEST_CASE("wgmma: rows of a tile that has few come in small boxes") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  // Copies into shared memory and tensor maps of a product of so many rows, tile after tile.
  auto countsOf = [&](const std::string &rows) {
    std::string x = "tensor<" + rows + "x768xbf16>", y = "tensor<" + rows + "x3072xbf16>";
    std::string text = function("%a: " + x + ", %w: tensor<3072x768xbf16>", y,
                                "%y = prim.dot %a, %w batch [] x [] contract [1] x [1] : (" + x +
                                    ", tensor<3072x768xbf16>) -> " + y);
    std::string ptx = ptxOf(text, arch, codegen::device::Form::Wgmma);
    INFO(ptx);
    checkAssembles(ptx, arch);
    auto count = [&](llvm::StringRef what) { return llvm::StringRef(ptx).count(what); };
    return std::pair(count("cp.async.bulk.tensor.2d.shared::cluster"), count(".param .align 64"));
  };
  auto whole = countsOf("4096"), nearly = countsOf("4090"), part = countsOf("4000"),
       open = countsOf("?");
  CHECK(nearly == whole);
  CHECK(part.first > whole.first);
  CHECK(part.second == whole.second + 1);
  CHECK(open.first > whole.first);
  CHECK(open.second == part.second);
}
