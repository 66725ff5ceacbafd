// Activations of what is rounded to 16 bits: the instructions that a GPU takes for them.
#include "KernelTexts.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;

namespace {

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

/// PTX of x times its sigmoid, in `type`.
std::string siluOf(const std::string &type) {
  const std::string t = "tensor<512x4096x" + type + ">";
  return ptxOf(function("%x: " + t, t,
                        "%s = prim.logistic %x : (" + t + ") -> " + t +
                            "\n%y = prim.mul %x, %s : (" + t + ", " + t + ") -> " + t),
               *GpuArch::find("sm_90a"));
}

} // namespace

TEST_CASE("a narrow quotient by one plus an exponential sees no subnormal numbers") {
  for (const char *type : {"bf16", "f16"}) {
    std::string ptx = siluOf(type);
    INFO(ptx);
    CHECK(countOf(ptx, "ex2.approx.ftz") > 0);
    CHECK(countOf(ptx, "rcp.approx.ftz") == countOf(ptx, "ex2.approx.ftz"));
    CHECK(countOf(ptx, "rcp.approx.f32") == 0);
    CHECK(countOf(ptx, "ex2.approx.f32") == 0);
    CHECK(countOf(ptx, "0f3E800000") > 0); // of a quarter, whose reciprocal is normal
  }
}

TEST_CASE("a quotient of 32 bits by one plus an exponential is rounded right") {
  std::string ptx = siluOf("f32");
  INFO(ptx);
  CHECK(countOf(ptx, "rcp.approx.ftz") == 0);
}

TEST_CASE("of a narrow gelu by tanh no half, and one factor of the argument, is multiplied") {
  const std::string t = "tensor<512x4096xbf16>", w = "tensor<512x4096xf32>";
  std::string body = "%f = prim.cast %x : (" + t + ") -> " + w;
  for (auto [name, value] : {std::pair{"a", "0.5"}, {"c", "0.797885"}, {"o", "1.0"}})
    body += std::string("\n%") + name + " = prim.constant dense<" + value + "> : " + w;
  auto binary = [&](const char *to, const char *op, const char *x, const char *y) {
    body += std::string("\n%") + to + " = prim." + op + " %" + x + ", %" + y + " : (" + w + ", " +
            w + ") -> " + w;
  };
  binary("h", "mul", "f", "a");
  binary("u", "mul", "f", "c");
  body += "\n%t = prim.tanh %u : (" + w + ") -> " + w;
  binary("p", "add", "t", "o");
  binary("g", "mul", "h", "p");
  body += "\n%y = prim.cast %g : (" + w + ") -> " + t;
  std::string ptx = ptxOf(function("%x: " + t, t, body), *GpuArch::find("sm_90a"));
  INFO(ptx);
  size_t elements = countOf(ptx, "ex2.approx.ftz");
  CHECK(elements > 0);
  CHECK(countOf(ptx, "rcp.approx.ftz") == elements);
  // The exponent's factor and the product with x.
  CHECK(countOf(ptx, "mul.f32") + countOf(ptx, "mul.rn.f32") == 2 * elements);
}
