// Attention on wgmma: which launches get the template, and that ptxas takes what it gives. What it
// computes is compared with the interpreter where there is a GPU (launches.mlir).
#include "KernelTexts.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Form;

namespace {

struct Case {
  std::string type = "bf16";
  int64_t queries = 512, keys = 512, depth = 64, width = 64;
  bool causal = false, mask = false;
};

std::string dims(std::initializer_list<int64_t> extents, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t d : extents)
    text += std::to_string(d) + "x";
  return text + type + ">";
}

/// Heads whose weights are rounded before they are multiplied, as models of 16 bits have them.
std::string textOf(const Case &c) {
  constexpr int64_t h = 4;
  std::string q = dims({h, c.queries, c.depth}, c.type), k = dims({h, c.keys, c.depth}, c.type),
              v = dims({h, c.keys, c.width}, c.type), s = dims({h, c.queries, c.keys}, "f32"),
              w = dims({h, c.queries, c.keys}, c.type), r = dims({h, c.queries}, "f32"),
              m = dims({c.queries, c.keys}, "f32"), i = dims({c.queries, c.keys}, "i64"),
              b = dims({c.queries, c.keys}, "i1"), sb = dims({h, c.queries, c.keys}, "i1"),
              wide = dims({h, c.queries, c.width}, "f32"),
              y = dims({h, c.queries, c.width}, c.type);
  std::string text = "%dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (" + q + ", " +
                     k + ") -> " + s + "\n%c = prim.constant dense<0.125> : " + s +
                     "\n%0 = prim.mul %dot, %c : (" + s + ", " + s + ") -> " + s;
  std::string score = "%0";
  if (c.causal) {
    text += "\n%row = prim.iota 0 sizes() : " + i + "\n%column = prim.iota 1 sizes() : " + i +
            "\n%1 = prim.compare ge %row, %column : (" + i + ", " + i + ") -> " + b +
            "\n%2 = prim.broadcast %1 axes [1, 2] sizes() : (" + b + ") -> " + sb +
            "\n%none = prim.constant dense<0xFF800000> : " + s +
            "\n%3 = prim.select %2, %0, %none : (" + sb + ", " + s + ", " + s + ") -> " + s;
    score = "%3";
  }
  if (c.mask) {
    text += "\n%4 = prim.broadcast %m axes [1, 2] sizes() : (" + m + ") -> " + s +
            "\n%5 = prim.add " + score + ", %4 : (" + s + ", " + s + ") -> " + s;
    score = "%5";
  }
  text += "\n%top = prim.reduce max " + score + " [2] : (" + s + ") -> " + r +
          "\n%tops = prim.broadcast %top axes [0, 1] sizes() : (" + r + ") -> " + s +
          "\n%less = prim.sub " + score + ", %tops : (" + s + ", " + s + ") -> " + s +
          "\n%e = prim.exp %less : (" + s + ") -> " + s + "\n%sum = prim.reduce sum %e [2] : (" +
          s + ") -> " + r + "\n%sums = prim.broadcast %sum axes [0, 1] sizes() : (" + r + ") -> " +
          s + "\n%weights = prim.div %e, %sums : (" + s + ", " + s + ") -> " + s +
          "\n%w = prim.cast %weights : (" + s + ") -> " + w +
          "\n%wide = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (" + w + ", " + v +
          ") -> " + wide + "\n%y = prim.cast %wide : (" + wide + ") -> " + y;
  std::string arguments = "%q: " + q + ", %k: " + k + ", %v: " + v;
  return function(c.mask ? arguments + ", %m: " + m : arguments, y, text);
}

/// An open batch of such extents, some of which may be open.
std::string openText(const std::string &queries, const std::string &keys,
                     const std::string &depth) {
  auto type = [](std::initializer_list<std::string> extents, const char *element) {
    std::string text = "tensor<?x";
    for (const std::string &extent : extents)
      text += extent + "x";
    return text + element + ">";
  };
  std::string q = type({queries, depth}, "bf16"), k = type({keys, depth}, "bf16"),
              v = type({keys, "64"}, "bf16"), s = type({queries, keys}, "f32"),
              w = type({queries, keys}, "bf16"), r = type({queries}, "f32"),
              y = type({queries, "64"}, "bf16"), wide = type({queries, "64"}, "f32");
  std::string sizes = " sizes(%b" + std::string(queries == "?" ? ", %l" : "") +
                      (keys == "?" ? ", %n" : "") + ") : (";
  return function(
      "%q: " + q + ", %k: " + k + ", %v: " + v, y,
      "%b = prim.dim %q, 0 : " + q + "\n%l = prim.dim %q, 1 : " + q + "\n%n = prim.dim %k, 1 : " +
          k + "\n%s = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (" + q + ", " + k +
          ") -> " + s + "\n%top = prim.reduce max %s [2] : (" + s + ") -> " + r +
          "\n%tops = prim.broadcast %top axes [0, 1]" + sizes + r + ") -> " + s +
          "\n%less = prim.sub %s, %tops : (" + s + ", " + s + ") -> " + s +
          "\n%e = prim.exp %less : (" + s + ") -> " + s + "\n%sum = prim.reduce sum %e [2] : (" +
          s + ") -> " + r + "\n%sums = prim.broadcast %sum axes [0, 1]" + sizes + r + ") -> " + s +
          "\n%weights = prim.div %e, %sums : (" + s + ", " + s + ") -> " + s +
          "\n%w = prim.cast %weights : (" + s + ") -> " + w +
          "\n%wide = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (" + w + ", " + v +
          ") -> " + wide + "\n%y = prim.cast %wide : (" + wide + ") -> " + y);
}

} // namespace

TEST_CASE("attention on wgmma neither spills nor serialises", "[long]") {
  const GpuArch &arch = *GpuArch::find("sm_90a");
  for (const Case &c : {Case{"bf16", 512, 512, 64, 64, false, false},
                        {"bf16", 4096, 4096, 128, 128, false, false},
                        {"f16", 4096, 4096, 128, 128, true, false},
                        {"bf16", 197, 197, 64, 64, false, false},
                        {"f16", 300, 300, 96, 80, true, false},
                        {"bf16", 200, 1000, 256, 256, false, false},
                        {"bf16", 200, 1000, 256, 256, true, true},
                        {"bf16", 250, 250, 64, 64, false, false},
                        {"bf16", 8192, 8192, 64, 64, true, false},
                        {"f16", 8192, 1000, 64, 64, true, false},
                        {"f16", 333, 333, 128, 128, false, true},
                        {"bf16", 512, 512, 128, 128, true, true}}) {
    std::string text = textOf(c);
    INFO(text);
    std::string ptx = ptxOf(text, arch, Form::WgmmaAttention);
    CHECK(ptx.find("wgmma.mma_async") != std::string::npos);
    CHECK(ptx.find("cp.async.bulk.tensor.3d") != std::string::npos);
    checkAssembles(ptx, arch);
  }
}

TEST_CASE("attention on wgmma evaluates what only the region knows of a score") {
  // A factor goes into the exponent, and what a comparison of positions hides is known from bounds.
  std::string ptx = ptxOf(textOf({"bf16", 512, 512, 64, 64, true, false}), *GpuArch::find("sm_90a"),
                          Form::WgmmaAttention);
  CHECK(ptx.find("ld.global") == std::string::npos);
  CHECK(ptx.find("setp.ge.s64") == std::string::npos);
  ptx = ptxOf(textOf({"bf16", 512, 512, 64, 64, false, true}), *GpuArch::find("sm_90a"),
              Form::WgmmaAttention);
  CHECK(ptx.find("ld.global.v2.b32") != std::string::npos);
}

TEST_CASE("attention on wgmma: what the template takes") {
  auto takes = [](const std::string &text, const char *arch = "sm_90a") {
    auto module = fused(text);
    bool found = false;
    module->walk([&](kernel::LaunchOp launch) {
      for (auto schedule : codegen::device::schedulesFor(launch, *GpuArch::find(arch)))
        found |= schedule.getForm() == Form::WgmmaAttention;
    });
    return found;
  };
  CHECK(takes(textOf({"bf16", 512, 512, 64, 64})));
  CHECK(takes(textOf({"f16", 33, 201, 40, 24}))); // zeros stand past the head's end
  CHECK(takes(textOf({"bf16", 100, 5, 256, 256, true, true})));
  CHECK(!takes(textOf({"bf16", 512, 512, 64, 64}), "sm_80"));
  CHECK(!takes(textOf({"bf16", 512, 512, 64, 64}), "sm_100"));
  CHECK(!takes(textOf({"bf16", 16, 512, 64, 64})));  // few queries would leave a tile empty
  CHECK(!takes(textOf({"bf16", 512, 512, 60, 64}))); // copies begin at multiples of 16 bytes
  CHECK(!takes(textOf({"bf16", 512, 512, 64, 60})));
  // Lengths and batches may be open, but not the heads' sizes; few queries are still known.
  CHECK(takes(openText("?", "?", "64")));
  CHECK(takes(openText("100", "?", "64")));
  CHECK(!takes(openText("16", "?", "64")));
  CHECK(!takes(openText("?", "?", "?")));
  // Weights that are not rounded are not multiplied in 16 bits.
  CHECK(!takes(attention("8", 512, 512, 64, 64, "bf16", scaled("tensor<8x512x512xf32>"))));
}
