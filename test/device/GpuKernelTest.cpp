// The general forms of GPU kernels on the simulated device against the reference interpreter.
#include "KernelTexts.h"
#include <array>
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

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

TEST_CASE("loops: points along another axis that have much in common") {
  // Channels of samples, the last thread of a row included; and images of a resize.
  for (auto [outer, channels, places] :
       {std::array<int64_t, 3>{2, 4, 9999}, {1, 3, 40001}, {6, 1, 20001}}) {
    std::string n = std::to_string(places), o = std::to_string(outer),
                x = tensor(o + "x" + std::to_string(channels) + "x" + n, "f32"),
                i = tensor(o + "x" + std::to_string(channels) + "x" + n, "i64"),
                g = tensor(o + "x" + n, "f32"), k = tensor(o + "x" + n, "i64"),
                u = tensor(o + "x1x" + n, "i64");
    bool images = channels == 1;
    std::string row = tensor(n, "f32"), at = tensor(n, "i64");
    // Sums and products of a place: up to 2691 of 9.
    auto placed = [](const std::string &type, const std::string &index) {
      std::string text;
      for (auto [name, op, l, r] : {std::array<const char *, 4>{"p", "mul", "g", "g"},
                                    {"q", "add", "p", "g"},
                                    {"r", "mul", "q", "g"},
                                    {"s", "add", "r", "p"},
                                    {"t", "add", "s", "q"},
                                    {"u", "add", "t", "g"},
                                    {"v", "add", "u", "r"},
                                    {"w", "add", "v", "s"}})
        text += std::string("%") + name + " = prim." + op + " %" + l + ", %" + r + " : (" + type +
                ", " + type + ") -> " + type + "\n";
      return text + "%1 = prim.floor %w : (" + type + ") -> " + type + "\n%2 = prim.cast %1 : (" +
             type + ") -> " + index + "\n";
    };
    std::string sampled = placed(g, k) + "%3 = prim.reshape %2 sizes() : (" + k + ") -> " + u +
                          "\n%4 = prim.broadcast %3 axes [0, 1, 2] sizes() : (" + u + ") -> " + i +
                          "\n%y = prim.take_along %x, %4 axis 2 : (" + x + ", " + i + ") -> " + x;
    std::string resized = placed(row, at) + "%3 = prim.take %x, %2 axis 2 : (" + x + ", " + at +
                          ") -> " + x + "\n%4 = prim.broadcast %w axes [2] sizes() : (" + row +
                          ") -> " + x + "\n%y = prim.mul %3, %4 : (" + x + ", " + x + ") -> " + x;
    std::string text =
        function("%x: " + x + ", %g: " + (images ? row : g), x, images ? resized : sampled);
    INFO(text);
    codegen::device::Schedule s = scheduleOf(text);
    CHECK(s.getDepth() == (images ? 2 : 1));
    CHECK(s.getVectors() > 1);
    Tensor where =
        images ? random(DType::F32, {places}, 0, 9) : random(DType::F32, {outer, places}, 0, 9);
    check(text, {random(DType::F32, {outer, channels, places}), where});
  }
}

TEST_CASE("loops of open extents: vectors, and what is less than one behind them") {
  auto sum = [](const std::string &shape, const char *t, const char *u) {
    std::string x = "tensor<" + shape + "x" + t + ">", y = "tensor<" + shape + "x" + u + ">";
    return function("%x: " + x + ", %w: " + x, y,
                    "%0 = prim.add %x, %w : (" + x + ", " + x + ") -> " + x +
                        "\n%1 = prim.cast %0 : (" + x + ") -> " + y + "\n%y = prim.add %1, %1 : (" +
                        y + ", " + y + ") -> " + y);
  };
  CHECK(scheduleOf(sum("?x?", "f32", "bf16")).getLanes() == 8);
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{1, 3}, {3, 5}, {8, 16}, {33, 77}, {1, 4097}})
    check(sum("?x?", "f32", "bf16"), {random(DType::F32, shape), random(DType::F32, shape)});
  check(sum("?", "i8", "i64"),
        {random(DType::I8, {1001}, -50, 50), random(DType::I8, {1001}, -50, 50)});
  check(sum("?x4", "f64", "f32"), {random(DType::F64, {7, 4}), random(DType::F64, {7, 4})});
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

TEST_CASE("transposes by vectors: tails of tiles, types side by side") {
  for (const char *type : {"f32", "bf16", "i16"}) {
    std::string x = std::string("tensor<2x72x88x") + type + ">",
                y = std::string("tensor<88x2x72x") + type + ">";
    DType d = *prim::dtypeOf(cast<RankedTensorType>(parseType(x, &context())).getElementType());
    check(function("%x: " + x, y, "%y = prim.transpose %x [2, 0, 1] : (" + x + ") -> " + y),
          {random(d, {2, 72, 88})});
  }
  check(
      function("%x: tensor<64x40xbf16>, %v: tensor<64x40xf32>, %z: tensor<40x64xbf16>",
               "tensor<40x64xf32>", R"(
    %0 = prim.transpose %x [1, 0] : (tensor<64x40xbf16>) -> tensor<40x64xbf16>
    %1 = prim.transpose %v [1, 0] : (tensor<64x40xf32>) -> tensor<40x64xf32>
    %2 = prim.cast %0 : (tensor<40x64xbf16>) -> tensor<40x64xf32>
    %3 = prim.cast %z : (tensor<40x64xbf16>) -> tensor<40x64xf32>
    %4 = prim.mul %1, %2 : (tensor<40x64xf32>, tensor<40x64xf32>) -> tensor<40x64xf32>
    %y = prim.add %3, %4 : (tensor<40x64xf32>, tensor<40x64xf32>) -> tensor<40x64xf32>)"),
      {random(DType::BF16, {64, 40}), random(DType::F32, {64, 40}), random(DType::BF16, {40, 64})});
}

TEST_CASE("transposes of what is filled up: in vectors, and one by one") {
  for (const char *columns : {"72", "45"}) {
    std::string end = std::string(columns) + "xbf16>", x = "tensor<2x50x" + end,
                filled = "tensor<2x56x" + end, y = std::string("tensor<2x") + columns + "x56xbf16>";
    check(function("%x: " + x, y,
                   R"(
      %z = prim.constant dense<1.0> : tensor<bf16>
      %p = prim.pad %x, %z low [0, 0, 0]() interior [0, 0, 0] sizes() : ()" +
                       x + ", tensor<bf16>) -> " + filled + R"(
      %y = prim.transpose %p [0, 2, 1] : ()" +
                       filled + ") -> " + y),
          {random(DType::BF16, {2, 50, std::stoi(columns)})});
  }
}

TEST_CASE("transposes of short axes, which a tile joins") {
  struct Case {
    std::vector<int64_t> x, order;
    unsigned lanes;
  };
  std::string types[] = {"bf16", "f32"};
  // Phases of a transposed convolution, whose lines make whole vectors or not; what operands lie
  // along.
  for (const Case &k : {Case{{2, 4, 8, 2, 2, 24}, {0, 5, 1, 3, 2, 4}, 8},
                        {{2, 3, 5, 3, 3, 40}, {0, 5, 1, 3, 2, 4}, 1},
                        {{64, 6, 12}, {2, 1, 0}, 8},
                        {{45, 5, 11}, {2, 1, 0}, 1},
                        {{3, 5, 9, 4, 2, 12}, {5, 0, 3, 2, 1, 4}, 1}})
    for (const std::string &type : types) {
      auto shape = [&](llvm::ArrayRef<int64_t> extents) {
        std::string text = "tensor<";
        for (int64_t d : extents)
          text += std::to_string(d) + "x";
        return text + type + ">";
      };
      std::vector<int64_t> given;
      std::string order;
      for (int64_t axis : k.order) {
        given.push_back(k.x[axis]);
        order += (order.empty() ? "" : ", ") + std::to_string(axis);
      }
      std::string x = shape(k.x), y = shape(given),
                  c = shape(given.front() == 2 ? given[1] : given[0]);
      std::string axis = given.front() == 2 ? "1" : "0";
      std::string text =
          function("%x: " + x + ", %c: " + c + ", %z: " + y, y,
                   "%0 = prim.transpose %x [" + order + "] : (" + x + ") -> " + y +
                       "\n%1 = prim.broadcast %c axes [" + axis + "] sizes() : (" + c + ") -> " +
                       y + "\n%2 = prim.add %0, %1 : (" + y + ", " + y + ") -> " + y +
                       "\n%y = prim.mul %2, %z : (" + y + ", " + y + ") -> " + y);
      CAPTURE(text);
      auto schedule = scheduleOf(text);
      CHECK(schedule.getForm() == codegen::device::Form::Transpose);
      CHECK(schedule.getLanes() == (type == "f32" ? std::min(k.lanes, 4u) : k.lanes));
      DType d = *parseDType(type);
      check(text, {random(d, k.x), random(d, {given.front() == 2 ? given[1] : given[0]}),
                   random(d, given)});
    }
}

TEST_CASE("transposes of what is viewed and computed before, and cut") {
  std::string text =
      function("%x: tensor<2x9x9x256xbf16>, %c: tensor<64xbf16>", "tensor<2x64x16x16xbf16>", R"(
    %0 = prim.reshape %x sizes() : (tensor<2x9x9x256xbf16>) -> tensor<2x9x9x2x2x64xbf16>
    %1 = prim.transpose %0 [0, 1, 3, 2, 4, 5] : (tensor<2x9x9x2x2x64xbf16>) -> tensor<2x9x2x9x2x64xbf16>
    %2 = prim.reshape %1 sizes() : (tensor<2x9x2x9x2x64xbf16>) -> tensor<2x18x18x64xbf16>
    %3 = prim.slice %2 starts [0, 1, 1, 0]() steps [1, 1, 1, 1] sizes() : (tensor<2x18x18x64xbf16>) -> tensor<2x16x16x64xbf16>
    %4 = prim.broadcast %c axes [3] sizes() : (tensor<64xbf16>) -> tensor<2x16x16x64xbf16>
    %5 = prim.add %3, %4 : (tensor<2x16x16x64xbf16>, tensor<2x16x16x64xbf16>) -> tensor<2x16x16x64xbf16>
    %y = prim.transpose %5 [0, 3, 1, 2] : (tensor<2x16x16x64xbf16>) -> tensor<2x64x16x16xbf16>)");
  auto schedule = scheduleOf(text);
  CHECK(schedule.getForm() == codegen::device::Form::Transpose);
  CHECK(schedule.getLanes() == 8);
  check(text, {random(DType::BF16, {2, 9, 9, 256}), random(DType::BF16, {64})});
}

TEST_CASE("loops: the channels of a pixel are written at once") {
  check(function("%x: tensor<2x3x128x112xf32>", "tensor<2x128x112x4xbf16>", R"(
    %0 = prim.cast %x : (tensor<2x3x128x112xf32>) -> tensor<2x3x128x112xbf16>
    %1 = prim.transpose %0 [0, 2, 3, 1] : (tensor<2x3x128x112xbf16>) -> tensor<2x128x112x3xbf16>
    %c = prim.constant dense<1.5> : tensor<bf16>
    %y = prim.pad %1, %c low [0, 0, 0, 0]() interior [0, 0, 0, 0] sizes()
      : (tensor<2x128x112x3xbf16>, tensor<bf16>) -> tensor<2x128x112x4xbf16>)"),
        {random(DType::F32, {2, 3, 128, 112})});
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
                                *GpuArch::find("sm_80"), /*seeds=*/{0});
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

TEST_CASE("rows: a warp, a block, in registers and in loops") {
  for (int row : {1, 3, 31, 64, 100, 512, 1000, 2048, 4097, 12288})
    check(softmax("5", std::to_string(row)), {random(DType::F32, {5, row})});
  check(softmax("3", "70000"), {random(DType::F32, {3, 70000})});
  // Enough short rows to share warps: eight threads each, and four of which one has nothing.
  check(softmax("13824", "32"), {random(DType::F32, {13824, 32})});
  check(softmax("36864", "12"), {random(DType::F32, {36864, 12})});
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

TEST_CASE("sums over leading axes of open extents are shared by threads of a block") {
  auto sums = [](const char *kind, const std::string &from, const std::string &to, const char *axes,
                 const char *t, std::vector<Tensor> given) {
    std::string x = "tensor<" + from + "x" + t + ">", y = "tensor<" + to + "x" + t + ">";
    std::string text = function("%x: " + x, y,
                                std::string("%s = prim.reduce ") + kind + " %x " + axes + " : (" +
                                    x + ") -> " + y + "\n%y = prim.neg %s : (" + y + ") -> " + y);
    CHECK(scheduleOf(text).getForm() == codegen::device::Form::Column);
    for (const Tensor &one : given)
      check(text, {one});
  };
  sums("sum", "?x?", "?", "[0]", "f32",
       {random(DType::F32, {300, 70}), random(DType::F32, {1, 5}), random(DType::F32, {70, 2000})});
  sums("max", "?x64", "64", "[0]", "bf16",
       {random(DType::BF16, {700, 64}), random(DType::BF16, {3, 64})});
  sums("sum", "?x300x?", "?", "[0, 1]", "i32", {random(DType::I32, {4, 300, 7}, -9, 9)});
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
  CHECK(few.getRowThreads() == 64);
  CHECK(few.getSplit() > 16);
  check(average("1", "112x112", "32", "1x32x1x1"), {random(DType::BF16, {1, 112, 112, 32}, 0, 1)});
  check(average("1", "28x29", "72", "1x72x1x1"), {random(DType::BF16, {1, 28, 29, 72})});
  check(average("3", "17x31", "7", "3x7x1x1"), {random(DType::BF16, {3, 17, 31, 7})});
  // Few elements: blocks of few threads, and of few neighbours.
  auto small = scheduleOf(average("2", "7x7", "160", "2x160x1x1"));
  CHECK(small.getForm() == codegen::device::Form::Column);
  CHECK(small.getThreads() == 128);
  CHECK(small.getRowThreads() == 64);
  CHECK(small.getSplit() == 1);
  check(average("2", "7x7", "160", "2x160x1x1"), {random(DType::BF16, {2, 7, 7, 160})});
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
  for (const char *kind : {"assign", "add"}) {
    // Rows of one index each, in parts of 60 places; a single line; lines of indices of their own.
    check(
        function("%x: tensor<500x40xbf16>, %i: tensor<700x1xi64>, %u: tensor<700x40xbf16>",
                 "tensor<500x40xbf16>",
                 std::string("%0 = prim.broadcast %i axes [0, 1] sizes() : (tensor<700x1xi64>) -> "
                             "tensor<700x40xi64>\n%y = prim.scatter_along ") +
                     kind +
                     " %x, %0, %u axis 0 : (tensor<500x40xbf16>, tensor<700x40xi64>, "
                     "tensor<700x40xbf16>) -> tensor<500x40xbf16>"),
        {random(DType::BF16, {500, 40}), indices({700, 1}, -3, 505),
         random(DType::BF16, {700, 40})});
    check(
        function("%x: tensor<1x900xf32>, %i: tensor<1x1000xi64>, %u: tensor<1x1000xf32>",
                 "tensor<1x900xf32>",
                 std::string("%y = prim.scatter_along ") + kind +
                     " %x, %i, %u axis 1 : (tensor<1x900xf32>, tensor<1x1000xi64>, "
                     "tensor<1x1000xf32>) -> tensor<1x900xf32>"),
        {random(DType::F32, {1, 900}), indices({1, 1000}, 0, 899), random(DType::F32, {1, 1000})});
    check(function("%x: tensor<300x50xi32>, %i: tensor<203x33xi32>, %u: tensor<203x33xi32>",
                   "tensor<300x50xi32>",
                   std::string("%y = prim.scatter_along ") + kind +
                       " %x, %i, %u axis 0 : (tensor<300x50xi32>, tensor<203x33xi32>, "
                       "tensor<203x33xi32>) -> tensor<300x50xi32>"),
          {random(DType::I32, {300, 50}, -9, 9), random(DType::I32, {203, 33}, 0, 290),
           random(DType::I32, {203, 33}, -9, 9)});
  }
  std::string open = function("%x: tensor<?x?xf32>, %i: tensor<?x?xi64>, %u: tensor<?x?xf32>",
                              "tensor<?x?xf32>", R"(
    %y = prim.scatter_along add %x, %i, %u axis 0 : (tensor<?x?xf32>, tensor<?x?xi64>, tensor<?x?xf32>) -> tensor<?x?xf32>)");
  check(open, {random(DType::F32, {30, 7}), indices({50, 7}, 0, 29), random(DType::F32, {50, 7})});
  check(open, {random(DType::F32, {30, 7}), indices({0, 7}, 0, 29), random(DType::F32, {0, 7})});
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
  // Runs of several warps and blocks, and several rounds of one.
  for (int64_t rows : {25, 2100}) {
    Tensor many = random(DType::I8, {rows, 1000}, -1.4, 1.4);
    std::string extents = std::to_string(rows) + "x1000xi8";
    std::string hits =
        std::to_string(llvm::count_if(many.reals(), [](double v) { return v != 0; }));
    std::string text =
        function("%x: tensor<" + extents + ">", "tensor<2x" + hits + "xi64>",
                 "%y = prim.nonzero %x : (tensor<" + extents + ">) -> tensor<2x" + hits + "xi64>");
    CHECK(scheduleOf(text).getScratchBytes());
    check(text, {many});
  }
}
