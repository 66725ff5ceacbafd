// Rows along axes before others, and short rows of any number, on the simulated device against the
// reference interpreter.
#include "KernelTexts.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Form;

/// log_softmax of %x along `axis`, computed as f32.
static std::string logSoftmax(const std::string &shape, const std::string &kept,
                              const std::string &unit, unsigned axis, const std::string &type) {
  std::string x = "tensor<" + shape + "x" + type + ">", wide = "tensor<" + shape + "xf32>",
              less = "tensor<" + kept + "xf32>", one = "tensor<" + unit + "xf32>",
              along = " [" + std::to_string(axis) + "] : (" + wide + ") -> " + less;
  std::string axes =
      std::count(shape.begin(), shape.end(), 'x') == 3 ? "[0, 1, 2, 3]" : "[0, 1, 2]";
  return function("%x: " + x, x,
                  "%w = prim.cast %x : (" + x + ") -> " + wide + "\n%0 = prim.reduce max %w" +
                      along + "\n%1 = prim.reshape %0 sizes() : (" + less + ") -> " + one +
                      "\n%2 = prim.broadcast %1 axes " + axes + " sizes() : (" + one + ") -> " +
                      wide + "\n%3 = prim.sub %w, %2 : (" + wide + ", " + wide + ") -> " + wide +
                      "\n%4 = prim.exp %3 : (" + wide + ") -> " + wide +
                      "\n%5 = prim.reduce sum %4" + along + "\n%6 = prim.reshape %5 sizes() : (" +
                      less + ") -> " + one + "\n%7 = prim.log %6 : (" + one + ") -> " + one +
                      "\n%8 = prim.broadcast %7 axes " + axes + " sizes() : (" + one + ") -> " +
                      wide + "\n%9 = prim.sub %3, %8 : (" + wide + ", " + wide + ") -> " + wide +
                      "\n%y = prim.cast %9 : (" + wide + ") -> " + x);
}

TEST_CASE(
    "rows along axes before others: a thread each, lanes of them, and threads that share one") {
  for (auto [type, d] : {std::pair("f32", DType::F32), {"bf16", DType::BF16}}) {
    std::string text = logSoftmax("8x21x15x17", "8x15x17", "8x1x15x17", 1, type);
    CHECK(scheduleOf(text).getForm() == Form::Row);
    CHECK(scheduleOf(text).getRowThreads() == 1);
    check(text, {random(d, {8, 21, 15, 17})});
    // Few points beside each other, of which each has a part of a warp; more rows than whole warps.
    text = logSoftmax("999x11x2", "999x2", "999x1x2", 1, type);
    CHECK(scheduleOf(text).getForm() == Form::Row);
    CHECK(scheduleOf(text).getRowThreads() > 1);
    check(text, {random(d, {999, 11, 2})});
    // More than a thread keeps.
    check(logSoftmax("3x70x9300", "3x9300", "3x1x9300", 1, type), {random(d, {3, 70, 9300})});
  }
  std::string text = logSoftmax("2x3x65536", "2x65536", "2x1x65536", 1, "f32");
  CHECK(scheduleOf(text).getLanes() == 2);
  check(text, {random(DType::F32, {2, 3, 65536})});
}

TEST_CASE("long rows that vectors do not divide are read in those of memory") {
  for (auto [type, d, lanes] :
       {std::tuple("f32", DType::F32, 4u), {"bf16", DType::BF16, 8u}, {"f16", DType::F16, 8u}}) {
    // Kept in registers, and read again in loops; of 2 x 9 rows each begins elsewhere in a vector.
    for (int64_t length : {5003, 20001, 40001, 140007}) {
      std::string row = std::to_string(length);
      std::string text = logSoftmax("2x9x" + row, "2x9", "2x9x1", 2, type);
      CHECK(scheduleOf(text).getForm() == Form::Row);
      // Elements of 32 bits that registers hold one by one are read so, and fewer have room beside
      // what lies outside of vectors.
      bool narrow = lanes > 4;
      CHECK(scheduleOf(text).getLanes() == (narrow || length > 16384 ? lanes : 1));
      CHECK((scheduleOf(text).getKept() > 0) == (length < (narrow ? 70000 : 40 * 1024)));
      check(text, {random(d, {2, 9, length})});
    }
  }
  // Blocks share a row, of which one has what lies outside of vectors.
  std::string text = function("%x: tensor<3x200003xf32>", "tensor<3xf32>", R"(
    %y = prim.reduce sum %x [1] : (tensor<3x200003xf32>) -> tensor<3xf32>)");
  CHECK(scheduleOf(text).getSplit() > 1);
  CHECK(scheduleOf(text).getLanes() == 4);
  check(text, {random(DType::F32, {3, 200003})});
}

TEST_CASE("rows along axes before others: values of rows alone") {
  std::string text = function("%x: tensor<40x9x100xf32>", "tensor<40x100xf32>", R"(
    %0 = prim.reduce max %x [1] : (tensor<40x9x100xf32>) -> tensor<40x100xf32>
    %1 = prim.reshape %0 sizes() : (tensor<40x100xf32>) -> tensor<40x1x100xf32>
    %2 = prim.broadcast %1 axes [0, 1, 2] sizes() : (tensor<40x1x100xf32>) -> tensor<40x9x100xf32>
    %3 = prim.sub %x, %2 : (tensor<40x9x100xf32>, tensor<40x9x100xf32>) -> tensor<40x9x100xf32>
    %4 = prim.exp %3 : (tensor<40x9x100xf32>) -> tensor<40x9x100xf32>
    %5 = prim.reduce sum %4 [1] : (tensor<40x9x100xf32>) -> tensor<40x100xf32>
    %6 = prim.log %5 : (tensor<40x100xf32>) -> tensor<40x100xf32>
    %y = prim.add %0, %6 : (tensor<40x100xf32>, tensor<40x100xf32>) -> tensor<40x100xf32>)");
  CHECK(scheduleOf(text).getForm() == Form::Row);
  check(text, {random(DType::F32, {40, 9, 100})});
}

TEST_CASE("short rows share warps whatever their number") {
  std::string text =
      function("%x: tensor<28001x7xf32>", "tensor<28001xf32>",
               "%y = prim.reduce sum %x [1] : (tensor<28001x7xf32>) -> tensor<28001xf32>");
  CHECK(scheduleOf(text).getRowThreads() == 8);
  check(text, {random(DType::F32, {28001, 7})});
}

TEST_CASE("rows of open length: as many blocks share one as have a part of it") {
  std::string text = function("%x: tensor<3x?xf32>, %w: tensor<?xi64>", "tensor<3xf32>", R"(
    %0 = prim.reduce sum %x [1] : (tensor<3x?xf32>) -> tensor<3xf32>
    %1 = prim.reduce max %w [0] : (tensor<?xi64>) -> tensor<i64>
    %2 = prim.cast %1 : (tensor<i64>) -> tensor<f32>
    %3 = prim.broadcast %2 axes [] sizes() : (tensor<f32>) -> tensor<3xf32>
    %y = prim.add %0, %3 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>)");
  for (int64_t n : {1, 700, 5000, 70001})
    check(text, {random(DType::F32, {3, n}, 0, 1), random(DType::I64, {n}, -99, 99)});
}

TEST_CASE("rows of open length are a warp's each where they are short") {
  std::string text = function("%x: tensor<19x?xbf16>", "tensor<19x?xbf16>", R"(
    %d = prim.dim %x, 1 : tensor<19x?xbf16>
    %w = prim.cast %x : (tensor<19x?xbf16>) -> tensor<19x?xf32>
    %0 = prim.reduce max %w [1] : (tensor<19x?xf32>) -> tensor<19xf32>
    %1 = prim.reshape %0 sizes() : (tensor<19xf32>) -> tensor<19x1xf32>
    %2 = prim.broadcast %1 axes [0, 1] sizes(%d) : (tensor<19x1xf32>) -> tensor<19x?xf32>
    %3 = prim.sub %w, %2 : (tensor<19x?xf32>, tensor<19x?xf32>) -> tensor<19x?xf32>
    %4 = prim.exp %3 : (tensor<19x?xf32>) -> tensor<19x?xf32>
    %5 = prim.reduce sum %4 [1] : (tensor<19x?xf32>) -> tensor<19xf32>
    %6 = prim.reshape %5 sizes() : (tensor<19xf32>) -> tensor<19x1xf32>
    %7 = prim.broadcast %6 axes [0, 1] sizes(%d) : (tensor<19x1xf32>) -> tensor<19x?xf32>
    %8 = prim.div %4, %7 : (tensor<19x?xf32>, tensor<19x?xf32>) -> tensor<19x?xf32>
    %y = prim.cast %8 : (tensor<19x?xf32>) -> tensor<19x?xbf16>)");
  CHECK(scheduleOf(text).getRows() > 0);
  for (int64_t n : {0, 1, 31, 256, 257, 1000, 1024, 1025, 3001})
    check(text, {random(DType::BF16, {19, n})});
}

TEST_CASE("rows along axes before others are assembled for every architecture", "[long]") {
  for (const GpuArch &arch : GpuArch::all())
    if (!arch.simulated)
      for (const char *type : {"f32", "bf16"}) {
        INFO(arch.name << " " << type);
        checkAssembles(ptxOf(logSoftmax("8x21x99x101", "8x99x101", "8x1x99x101", 1, type), arch),
                       arch);
        checkAssembles(ptxOf(logSoftmax("999x101x2", "999x2", "999x1x2", 1, type), arch), arch);
      }
}
