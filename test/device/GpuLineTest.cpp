// Kernels of shapes that their general form fits badly, on the simulated device against the
// reference interpreter: lines that threads share or blocks sort, rows of odd lengths, views that
// put vectors together.
#include "KernelTexts.h"
#include <catch2/catch.hpp>
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

TEST_CASE("lines that threads share: places of extrema") {
  auto places = [](const char *kind, const char *t, std::vector<int64_t> shape, int axis,
                   const char *last, Tensor x) {
    auto text = [&](llvm::ArrayRef<int64_t> extents, llvm::StringRef element) {
      std::string all = "tensor<";
      for (int64_t d : extents)
        all += std::to_string(d) + "x";
      return all + element.str() + ">";
    };
    std::vector<int64_t> kept(shape);
    kept.erase(kept.begin() + axis);
    std::string from = text(shape, t), to = text(kept, "i64");
    check(function("%x: " + from, to,
                   std::string("%y = prim.arg_reduce ") + kind + " %x " + std::to_string(axis) +
                       " {last = " + last + "} : (" + from + ") -> " + to),
          {x});
  };
  places("max", "f32", {3, 5000}, 1, "false", random(DType::F32, {3, 5000}));
  places("min", "bf16", {50, 1000}, 1, "false", random(DType::BF16, {50, 1000}));
  places("max", "i8", {2, 700}, 1, "true", random(DType::I8, {2, 700}, -3, 3)); // many equal ones
  places("max", "i8", {2, 704}, 1, "false", random(DType::I8, {2, 704}, -3, 3));
  places("min", "f64", {1, 333}, 1, "true", random(DType::F64, {1, 333}));
  places("max", "f32", {2, 300, 40}, 1, "false", random(DType::F32, {2, 300, 40}));
  places("max", "f32", {300, 3}, 0, "true", random(DType::F32, {300, 3}));
  std::vector<double> some(2 * 900, -std::numeric_limits<double>::infinity());
  places("max", "f32", {2, 900}, 1, "false", Tensor::ofReals(DType::F32, {2, 900}, some));
  some[700] = some[650] = std::numeric_limits<double>::quiet_NaN();
  places("max", "f32", {2, 900}, 1, "false", Tensor::ofReals(DType::F32, {2, 900}, some));
  places("max", "f32", {2, 900}, 1, "true", Tensor::ofReals(DType::F32, {2, 900}, some));
  std::string open = function("%x: tensor<?x?xf32>", "tensor<?xi64>", R"(
    %y = prim.arg_reduce max %x 1 {last = false} : (tensor<?x?xf32>) -> tensor<?xi64>)");
  check(open, {random(DType::F32, {4, 777})});
  check(open, {random(DType::F32, {4, 1})});
}

TEST_CASE("lines that threads share: scans") {
  for (const char *how : {"exclusive = false, reverse = false", "exclusive = true, reverse = false",
                          "exclusive = false, reverse = true", "exclusive = true, reverse = true"})
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{3, 1, 1000}, {2, 128, 1}, {2, 3, 37}, {1, 1, 9000}, {2, 500, 64}}) {
      int axis = shape[1] > 3 ? 1 : 2;
      for (const char *t : {"f32", "bf16", "i64"}) {
        std::string type = "tensor<";
        for (int64_t d : shape)
          type += std::to_string(d) + "x";
        type += std::string(t) + ">";
        DType d =
            *prim::dtypeOf(cast<RankedTensorType>(parseType(type, &context())).getElementType());
        check(function("%x: " + type, type,
                       "%y = prim.cumulative sum %x " + std::to_string(axis) + " {" + how +
                           "} : (" + type + ") -> " + type),
              {random(d, shape)});
      }
    }
  check(function("%x: tensor<2x600xf32>", "tensor<2x600xf32>",
                 "%y = prim.cumulative max %x 1 {exclusive = false, reverse = false} : "
                 "(tensor<2x600xf32>) -> tensor<2x600xf32>"),
        {random(DType::F32, {2, 600})});
  // What it reads is computed there, of one line by all blocks twice.
  for (std::string shape : {"2x600x", "40000x"}) {
    std::string truth = "tensor<" + shape + "i1>", whole = "tensor<" + shape + "i64>";
    int64_t axis = shape == "2x600x";
    Tensor x = axis ? random(DType::Bool, {2, 600}) : random(DType::Bool, {40000});
    check(function("%x: " + truth, whole,
                   "%0 = prim.cast %x : (" + truth + ") -> " + whole +
                       "\n%y = prim.cumulative sum %0 " + std::to_string(axis) +
                       " {exclusive = false, reverse = false} : (" + whole + ") -> " + whole),
          {x});
  }
  std::string open = function("%x: tensor<?x?xf32>", "tensor<?x?xf32>", R"(
    %y = prim.cumulative sum %x 1 {exclusive = false, reverse = false} : (tensor<?x?xf32>) -> tensor<?x?xf32>)");
  check(open, {random(DType::F32, {3, 1500})});
  check(open, {random(DType::F32, {3, 0})});
}

TEST_CASE("lines that blocks sort") {
  auto sort = [](const char *t, int64_t lines, int64_t length, const char *descending, Tensor x) {
    std::string n = std::to_string(lines) + "x" + std::to_string(length) + "x";
    std::string type = "tensor<" + n + t + ">";
    check(function("%x: " + type, "tensor<" + n + "i64>",
                   std::string("%v, %y = prim.sort %x axis 1 {descending = ") + descending +
                       "} : (" + type + ") -> (" + type + ", tensor<" + n + "i64>)"),
          {x});
  };
  sort("f32", 3, 100, "false", random(DType::F32, {3, 100}));
  sort("i8", 2, 513, "true", random(DType::I8, {2, 513}, -5, 5)); // many equal ones
  sort("bf16", 1, 5000, "false", random(DType::BF16, {1, 5000}));
  sort("f32", 1, 17000, "false", random(DType::F32, {1, 17000})); // in the results
  sort("i64", 2, 1024, "true", random(DType::I64, {2, 1024}, -100, 100));
  sort("f64", 2, 300, "false", random(DType::F64, {2, 300}));
  sort("f32", 2, 4096, "true", random(DType::F32, {2, 4096}));
  auto first = [](const char *t, int64_t lines, int64_t length, int64_t kept, const char *largest,
                  Tensor x) {
    std::string l = "tensor<" + std::to_string(lines) + "x", k = std::to_string(kept) + "x";
    std::string type = l + std::to_string(length) + "x" + t + ">";
    check(function("%x: " + type, l + k + "i64>",
                   std::string("%v, %y = prim.top_k %x axis 1 {largest = ") + largest + "} : (" +
                       type + ") -> (" + l + k + t + ">, " + l + k + "i64>)"),
          {x});
  };
  first("f32", 3, 200, 10, "true", random(DType::F32, {3, 200}));
  first("f32", 2, 10000, 50, "true", random(DType::F32, {2, 10000}));
  first("i8", 1, 9000, 300, "false", random(DType::I8, {1, 9000}, -5, 5));
  first("f64", 1, 7000, 1000, "true", random(DType::F64, {1, 7000}));
  // Parts of a line, which keep equal elements; the last one is shorter.
  first("i8", 3, 9001, 20, "false", random(DType::I8, {3, 9001}, -5, 5));
  first("i64", 5, 5003, 1, "true", random(DType::I64, {5, 5003}, -900, 900));
  first("bf16", 1, 40000, 64, "true", random(DType::BF16, {1, 40000}));
}

TEST_CASE("short lines that a thread orders in registers: ties, NaN, axes, types") {
  auto sort = [](const char *t, const std::string &shape, int axis, const char *descending,
                 Tensor x) {
    std::string type = "tensor<" + shape + "x" + t + ">", places = "tensor<" + shape + "xi64>";
    for (bool second : {false, true}) {
      std::string body =
          function("%x: " + type, second ? places : type,
                   std::string(second ? "%v, %y" : "%y, %p") + " = prim.sort %x axis " +
                       std::to_string(axis) + " {descending = " + descending + "} : (" + type +
                       ") -> (" + type + ", " + places + ")");
      CHECK(scheduleOf(body).getRowThreads() == 0);
      check(body, {x});
    }
  };
  for (int64_t n : {2, 3, 5, 6, 7}) {
    std::string columns = std::to_string(n);
    sort("i8", "300x" + columns, 1, "false", random(DType::I8, {300, n}, -2, 2));
    sort("f32", columns + "x70", 0, "true", random(DType::F32, {n, 70}));
  }
  std::vector<double> values(40 * 4, 1);
  for (size_t i = 0; i < values.size(); i += 3)
    values[i] = i % 2 ? std::nan("") : -HUGE_VAL;
  sort("f64", "40x4", 1, "false", Tensor::ofReals(DType::F64, {40, 4}, values));
  sort("f64", "40x4", 1, "true", Tensor::ofReals(DType::F64, {40, 4}, values));
  sort("bf16", "28000x9", 1, "false", wholes(DType::BF16, {28000, 9}));
  sort("i64", "28000x31", 1, "true", random(DType::I64, {28000, 31}, -20, 20));
}

TEST_CASE("loops: rows of odd lengths, vectors through views") {
  check(function("%x: tensor<40x30x37xbf16>, %z: tensor<40x30x37xf32>", "tensor<40x30x37xbf16>", R"(
    %c = prim.constant dense<0.5> : tensor<f32>
    %0 = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<40x30x37xf32>
    %1 = prim.cast %x : (tensor<40x30x37xbf16>) -> tensor<40x30x37xf32>
    %2 = prim.mul %1, %z : (tensor<40x30x37xf32>, tensor<40x30x37xf32>) -> tensor<40x30x37xf32>
    %3 = prim.add %2, %0 : (tensor<40x30x37xf32>, tensor<40x30x37xf32>) -> tensor<40x30x37xf32>
    %y = prim.cast %3 : (tensor<40x30x37xf32>) -> tensor<40x30x37xbf16>)"),
        {random(DType::BF16, {40, 30, 37}), random(DType::F32, {40, 30, 37})});
  check(
      function("%x: tensor<300x24xf32>, %z: tensor<300x8xf32>, %w: tensor<300x16xf32>",
               "tensor<300x48xf32>", R"(
    %0 = prim.neg %z : (tensor<300x8xf32>) -> tensor<300x8xf32>
    %y = prim.concat %x, %0, %w axis 1 : (tensor<300x24xf32>, tensor<300x8xf32>, tensor<300x16xf32>) -> tensor<300x48xf32>)"),
      {random(DType::F32, {300, 24}), random(DType::F32, {300, 8}), random(DType::F32, {300, 16})});
  check(function("%x: tensor<200x80xbf16>, %z: tensor<100x80xbf16>", "tensor<300x80xbf16>", R"(
    %0 = prim.reverse %x [0] : (tensor<200x80xbf16>) -> tensor<200x80xbf16>
    %y = prim.concat %0, %z axis 0 : (tensor<200x80xbf16>, tensor<100x80xbf16>) -> tensor<300x80xbf16>)"),
        {random(DType::BF16, {200, 80}), random(DType::BF16, {100, 80})});
  check(function("%x: tensor<90x56x8xf32>, %v: tensor<f32>", "tensor<92x58x24xf32>", R"(
    %y = prim.pad %x, %v low [1, 1, 8] () interior [0, 0, 0] sizes() : (tensor<90x56x8xf32>, tensor<f32>) -> tensor<92x58x24xf32>)"),
        {random(DType::F32, {90, 56, 8}), random(DType::F32, {})});
  check(function("%x: tensor<300x64xf32>, %i: tensor<500x64xi64>, %j: tensor<500x1xi64>",
                 "tensor<500x64xf32>", R"(
    %0 = prim.take_along %x, %i axis 0 : (tensor<300x64xf32>, tensor<500x64xi64>) -> tensor<500x64xf32>
    %1 = prim.gather_nd %x, %j batch 0 : (tensor<300x64xf32>, tensor<500x1xi64>) -> tensor<500x64xf32>
    %y = prim.add %0, %1 : (tensor<500x64xf32>, tensor<500x64xf32>) -> tensor<500x64xf32>)"),
        {random(DType::F32, {300, 64}), indices({500, 64}, 0, 299), indices({500, 1}, 0, 299)});
}

TEST_CASE("rows that are replaced are so by vectors") {
  check(function("%x: tensor<8x16xbf16>, %u: tensor<3x16xbf16>", "tensor<8x16xbf16>",
                 "%y = prim.insert_slice %x, %u starts [6, 0] () steps [-2, 1] : "
                 "(tensor<8x16xbf16>, tensor<3x16xbf16>) -> tensor<8x16xbf16>"),
        {random(DType::BF16, {8, 16}), random(DType::BF16, {3, 16})});
}

TEST_CASE("sums whose elements lie inside, short rows, short axes across") {
  for (const char *type : {"f32", "bf16"}) {
    DType d = std::string(type) == "f32" ? DType::F32 : DType::BF16;
    std::string t = type;
    check(function("%x: tensor<7x5x600x" + t + ">", "tensor<5x" + t + ">",
                   "%y = prim.reduce sum %x [0, 2] : (tensor<7x5x600x" + t + ">) -> tensor<5x" + t +
                       ">"),
          {random(d, {7, 5, 600}, 0, 1)});
    check(function("%x: tensor<40000x7x" + t + ">", "tensor<40000x" + t + ">",
                   "%y = prim.reduce max %x [1] : (tensor<40000x7x" + t + ">) -> tensor<40000x" +
                       t + ">"),
          {random(d, {40000, 7})});
    check(function("%x: tensor<5x3x17x20x" + t + ">", "tensor<5x17x20x3x" + t + ">",
                   "%y = prim.transpose %x [0, 2, 3, 1] : (tensor<5x3x17x20x" + t +
                       ">) -> tensor<5x17x20x3x" + t + ">"),
          {random(d, {5, 3, 17, 20})});
    check(function("%x: tensor<50x4x8x" + t + ">", "tensor<50x8x4x" + t + ">",
                   "%y = prim.transpose %x [0, 2, 1] : (tensor<50x4x8x" + t +
                       ">) -> tensor<50x8x4x" + t + ">"),
          {random(d, {50, 4, 8})});
  }
}

TEST_CASE("lines of open length: digit by digit where a block has room, exchanged where not") {
  std::string open =
      function("%x: tensor<?x?xf32>", "tensor<?x?xi64>",
               "%v, %y = prim.sort %x axis 1 {descending = false} : (tensor<?x?xf32>) -> "
               "(tensor<?x?xf32>, tensor<?x?xi64>)");
  codegen::device::Schedule s = scheduleOf(open);
  CHECK(s.getDepth() == 8);
  for (int64_t length : {1, 300, 2048, 2049, 3000})
    check(open, {random(DType::F32, {2, length})});
}

TEST_CASE("places of extrema of few long lines that lie across are shared by blocks") {
  auto places = [](const char *t, const std::string &from, const std::string &to, int axis,
                   Tensor x) {
    std::string all = "tensor<" + from + "x" + t + ">", kept = "tensor<" + to + "xi64>";
    std::string text = function("%x: " + all, kept,
                                "%y = prim.arg_reduce max %x " + std::to_string(axis) +
                                    " {last = false} : (" + all + ") -> " + kept);
    codegen::device::Schedule s = scheduleOf(text);
    CHECK(s.getForm() == codegen::device::Form::Line);
    CHECK(s.getSplit() > 1);
    check(text, {x});
  };
  places("bf16", "3000x50", "50", 0, random(DType::BF16, {3000, 50}));
  places("i8", "2x1500x37", "2x37", 1, random(DType::I8, {2, 1500, 37}, -9, 9)); // many equal ones
}

TEST_CASE("lines that all blocks sort: several chunks, types, axes, ties, the first of a line",
          "[long]") {
  auto orders = [](const char *t, std::vector<int64_t> shape, int axis, bool descending, Tensor x,
                   int64_t kept = 0) {
    auto text = [&](llvm::ArrayRef<int64_t> extents, llvm::StringRef element) {
      std::string all = "tensor<";
      for (int64_t d : extents)
        all += std::to_string(d) + "x";
      return all + element.str() + ">";
    };
    std::vector<int64_t> cut = shape;
    if (kept)
      cut[axis] = kept;
    std::string from = text(shape, t), values = text(cut, t), places = text(cut, "i64");
    std::string op = kept ? "prim.top_k %x axis " + std::to_string(axis) + " {largest = "
                          : "prim.sort %x axis " + std::to_string(axis) + " {descending = ";
    op += std::string(descending ? "true" : "false") + "} : (" + from + ") -> (" + values + ", " +
          places + ")";
    for (bool second : {false, true}) {
      std::string body = function("%x: " + from, second ? places : values,
                                  (second ? "%v, %y = " : "%y, %p = ") + op);
      codegen::device::Schedule s = scheduleOf(body);
      CHECK(s.getForm() == codegen::device::Form::Line);
      CHECK(s.getScratchBytes());
      check(body, {x});
    }
  };
  orders("f32", {3, 5000}, 1, false, random(DType::F32, {3, 5000}));
  orders("bf16", {2, 4100}, 1, true, random(DType::BF16, {2, 4100}));
  orders("i64", {4500, 2}, 0, true, random(DType::I64, {4500, 2}, -900, 900));
  orders("ui8", {1, 4200}, 1, false, random(DType::U8, {1, 4200}, 0, 250));
  orders("f32", {2, 66000}, 1, true, random(DType::F32, {2, 66000}), 300);
}

TEST_CASE("lines that all blocks scan in chunks") {
  auto scans = [](const char *op, const char *t, const std::string &shape, int axis, Tensor x) {
    std::string type = "tensor<" + shape + "x" + t + ">";
    std::string body =
        function("%x: " + type, type,
                 std::string("%y = prim.cumulative ") + op + " : (" + type + ") -> " + type);
    codegen::device::Schedule s = scheduleOf(body);
    CHECK(s.getForm() == codegen::device::Form::Line);
    CHECK(s.getScratchBytes());
    check(body, {x});
  };
  scans("sum %x 1 {exclusive = false, reverse = false}", "i64", "2x33000", 1,
        random(DType::I64, {2, 33000}, -9, 9));
  scans("max %x 0 {exclusive = false, reverse = true}", "f32", "40001", 0,
        random(DType::F32, {40001}));
  scans("sum %x 1 {exclusive = true, reverse = false}", "i32", "3x32768", 1,
        random(DType::I32, {3, 32768}, -9, 9));
}

TEST_CASE("lines of open length that prove to be long are scanned by all blocks") {
  auto scanOf = [](const std::string &type, const char *how) {
    return function("%x: " + type, type,
                    std::string("%y = prim.cumulative ") + how + " : (" + type + ") -> " + type);
  };
  std::string one = scanOf("tensor<?xi32>", "sum %x 0 {exclusive = false, reverse = false}");
  CHECK(scheduleOf(one).getScratchBytes());
  for (int64_t length : {0, 1, 700, 8191, 8192, 70001})
    check(one, {random(DType::I32, {length}, -9, 9)});
  std::string few = scanOf("tensor<3x?xf32>", "max %x 1 {exclusive = true, reverse = true}");
  CHECK(scheduleOf(few).getScratchBytes());
  for (int64_t length : {5, 9000})
    check(few, {random(DType::F32, {3, length})});
  // Many lines, and who knows how many, are a block's each.
  for (const char *type : {"tensor<500x?xf32>", "tensor<?x?xf32>"})
    CHECK(!scheduleOf(scanOf(type, "sum %x 1 {exclusive = false, reverse = false}"))
               .getScratchBytes());
}

TEST_CASE("places of extrema that several blocks of a line look for") {
  auto places = [](const std::string &shape, const char *t, int axis, const std::string &kept,
                   const char *last, Tensor x) {
    std::string from = "tensor<" + shape + "x" + t + ">", to = "tensor<" + kept + "i64>";
    std::string body = function("%x: " + from, to,
                                "%y = prim.arg_reduce max %x " + std::to_string(axis) +
                                    " {last = " + last + "} : (" + from + ") -> " + to);
    CHECK(scheduleOf(body).getScratchBytes());
    check(body, {x});
  };
  places("100003", "f32", 0, "", "false", random(DType::F32, {100003}));
  places("3x40000", "bf16", 1, "3x", "false", random(DType::BF16, {3, 40000}));
  for (const char *last : {"false", "true"}) { // many equal ones
    places("2x33000", "i8", 1, "2x", last, random(DType::I8, {2, 33000}, -3, 3));
    std::vector<double> some(50000, -std::numeric_limits<double>::infinity());
    places("50000", "f32", 0, "", last, Tensor::ofReals(DType::F32, {50000}, some));
    some[40000] = some[20000] = std::numeric_limits<double>::quiet_NaN();
    places("50000", "f32", 0, "", last, Tensor::ofReals(DType::F32, {50000}, some));
  }
}

TEST_CASE("Fourier transforms: lengths, axes, types, real lines in pairs, inverse") {
  using Shape = std::vector<int64_t>;
  auto text = [](const Shape &shape, const std::string &t) {
    std::string all = "tensor<";
    for (int64_t d : shape)
      all += std::to_string(d) + "x";
    return all + t + ">";
  };
  struct Case {
    Shape shape; // of re
    int axis;
    bool complex;
    int64_t result; // along the axis
    bool one;       // of two parts
  };
  const Case cases[] = {{{5, 1}, 1, true, 1, false},        {{300, 2}, 1, true, 2, false},
                        {{7, 3, 8}, 2, true, 8, false},     {{9, 60}, 1, true, 60, false},
                        {{2, 512}, 1, true, 512, false},    {{1, 1024}, 1, true, 1024, false},
                        {{2, 13, 10}, 1, true, 13, false},  {{3, 64, 20}, 1, true, 64, false},
                        {{256, 9}, 0, true, 256, false},    {{5, 400}, 1, false, 201, false},
                        {{4, 77}, 1, false, 39, false},     {{3, 36}, 1, false, 36, false},
                        {{2, 4096}, 1, false, 2049, false}, {{3, 64, 3}, 1, false, 33, false},
                        {{5, 201}, 1, true, 400, true},     {{4, 33, 6}, 1, true, 65, true},
                        {{1, 2}, 1, true, 2, true},         {{281, 24}, 1, false, 13, false},
                        {{93, 20, 3}, 1, false, 11, false}, {{281, 13}, 1, true, 24, true},
                        {{93, 11, 3}, 1, true, 21, true}}; // two of many real lines are one
  for (const Case &c : cases)
    for (const char *inverse : {"false", "true"})
      for (const char *t : {"f32", "f64"}) {
        Shape to(c.shape);
        to[c.axis] = c.result;
        std::string from = text(c.shape, t), result = text(to, t), body = "%re";
        std::string operands = from, arguments = "%re: " + from;
        if (c.complex) {
          body += ", %im";
          operands += ", " + from;
          arguments += ", %im: " + from;
        }
        body = "prim.fourier " + body + " axis " + std::to_string(c.axis) +
               " {inverse = " + inverse + ", scale = 0.5 : f64} : (" + operands + ") -> ";
        DType type =
            *prim::dtypeOf(cast<RankedTensorType>(parseType(from, &context())).getElementType());
        std::vector<Tensor> inputs{random(type, c.shape)};
        if (c.complex)
          inputs.push_back(random(type, c.shape));
        INFO(from << " " << c.axis << " " << c.result << " " << inverse);
        if (c.one) {
          check(function(arguments, result, "%y = " + body + result), inputs);
        } else {
          body = "%y, %z = " + body + "(" + result + ", " + result + ")";
          check("func.func @main(" + arguments + ") -> (" + result + ", " + result + ") {\n" +
                    body + "\nreturn %y, %z : " + result + ", " + result + "\n}\n",
                inputs);
        }
      }
}

TEST_CASE("Fourier transforms: pairs are read and stored, in another order too") {
  // Parts of numbers that lie as pairs, and pairs of what comes of them, by the transpose `order`.
  struct Case {
    std::vector<int64_t> shape;
    int axis;
    std::vector<int64_t> order;
    bool real = false;
  };
  const Case cases[] = {
      {{3, 60}, 1, {}},           {{3, 64, 20}, 1, {}},       {{2, 12, 64}, 2, {0, 2, 1}},
      {{2, 16, 9}, 1, {0, 2, 1}}, {{5, 3, 16}, 2, {1, 0, 2}}, {{2, 7, 13}, 2, {2, 0, 1}},
      {{1, 1024}, 1, {1, 0}},     {{5, 36}, 1, {}, true},     {{2, 7, 30}, 2, {0, 2, 1}, true}};
  auto text = [](const std::vector<int64_t> &shape, const std::string &t, const char *tail = "") {
    std::string all = "tensor<";
    for (int64_t d : shape)
      all += std::to_string(d) + "x";
    return all + tail + t + ">";
  };
  for (const Case &c : cases)
    for (const char *inverse : {"false", "true"})
      for (const std::string t : {"f32", "f64"}) {
        std::vector<int64_t> result(c.shape), pairs(c.shape);
        if (c.real)
          result[c.axis] = c.shape[c.axis] / 2 + 1;
        std::string zeros, ones, order;
        for (size_t i = 0; i < c.shape.size(); ++i) {
          zeros += "0, ";
          ones += "1, ";
        }
        std::vector<int64_t> stored(result);
        for (size_t i = 0; i < c.order.size(); ++i) {
          stored[i] = result[c.order[i]];
          order += (i ? ", " : "") + std::to_string(c.order[i]);
        }
        std::string x = text(c.shape, t, "2x"), part = text(c.shape, t, "1x"),
                    from = text(c.shape, t), to = text(result, t), moved = text(stored, t),
                    last = text(stored, t, "1x"), all = text(stored, t, "2x"), body;
        for (std::string i : {"0", "1"})
          body += "%p" + i + " = prim.slice %x starts [" + zeros + i + "]() steps [" + ones +
                  "1] sizes() : (" + x + ") -> " + part + "\n%q" + i + " = prim.reshape %p" + i +
                  " sizes() : (" + part + ") -> " + from + "\n";
        body += "%r0, %r1 = prim.fourier " + std::string(c.real ? "%q0" : "%q0, %q1") + " axis " +
                std::to_string(c.axis) + " {inverse = " + inverse + ", scale = 0.5 : f64} : (" +
                from + (c.real ? "" : ", " + from) + ") -> (" + to + ", " + to + ")\n";
        for (std::string i : {"0", "1"}) {
          std::string at = "%r" + i;
          if (!c.order.empty()) {
            body += "%t" + i + " = prim.transpose %r" + i + " [" + order + "] : (" + to + ") -> " +
                    moved + "\n";
            at = "%t" + i;
          }
          body +=
              "%s" + i + " = prim.reshape " + at + " sizes() : (" + moved + ") -> " + last + "\n";
        }
        body += "%y = prim.concat %s0, %s1 axis " + std::to_string(c.shape.size()) + " : (" + last +
                ", " + last + ") -> " + all;
        pairs.push_back(2);
        INFO(x << " " << c.axis << " [" << order << "] " << inverse);
        check(function("%x: " + x, all, body),
              {random(t == "f32" ? DType::F32 : DType::F64, pairs)});
      }
}

TEST_CASE("Fourier transforms: the first numbers of each line are stored") {
  check(function("%x: tensor<3x7x12xf32>", "tensor<3x43x2xf32>", R"(
    %0:2 = prim.fourier %x axis 2 {inverse = false} : (tensor<3x7x12xf32>) -> (tensor<3x7x12xf32>, tensor<3x7x12xf32>)
    %1 = prim.transpose %0#0 [0, 2, 1] : (tensor<3x7x12xf32>) -> tensor<3x12x7xf32>
    %2 = prim.reshape %1 sizes() : (tensor<3x12x7xf32>) -> tensor<3x84xf32>
    %3 = prim.slice %2 starts [0, 0]() steps [1, 1] sizes() : (tensor<3x84xf32>) -> tensor<3x43xf32>
    %4 = prim.reshape %3 sizes() : (tensor<3x43xf32>) -> tensor<3x43x1xf32>
    %5 = prim.transpose %0#1 [0, 2, 1] : (tensor<3x7x12xf32>) -> tensor<3x12x7xf32>
    %6 = prim.reshape %5 sizes() : (tensor<3x12x7xf32>) -> tensor<3x84xf32>
    %7 = prim.slice %6 starts [0, 0]() steps [1, 1] sizes() : (tensor<3x84xf32>) -> tensor<3x43xf32>
    %8 = prim.reshape %7 sizes() : (tensor<3x43xf32>) -> tensor<3x43x1xf32>
    %y = prim.concat %4, %8 axis 2 : (tensor<3x43x1xf32>, tensor<3x43x1xf32>) -> tensor<3x43x2xf32>)"),
        {random(DType::F32, {3, 7, 12})});
}

TEST_CASE("Fourier transforms: what they read is computed there") {
  check(function("%x: tensor<6x40xf32>, %w: tensor<64xf32>", "tensor<6x64xf32>", R"(
    %v = prim.constant dense<0.25> : tensor<f32>
    %0 = prim.pad %x, %v low [0, 3]() interior [0, 0] sizes() : (tensor<6x40xf32>, tensor<f32>) -> tensor<6x64xf32>
    %1 = prim.broadcast %w axes [1] sizes() : (tensor<64xf32>) -> tensor<6x64xf32>
    %2 = prim.mul %0, %1 : (tensor<6x64xf32>, tensor<6x64xf32>) -> tensor<6x64xf32>
    %3, %4 = prim.fourier %2 axis 1 {inverse = false} : (tensor<6x64xf32>) -> (tensor<6x33xf32>, tensor<6x33xf32>)
    %5 = prim.exp %3 : (tensor<6x33xf32>) -> tensor<6x33xf32>
    %6 = prim.sub %3, %4 : (tensor<6x33xf32>, tensor<6x33xf32>) -> tensor<6x33xf32>
    %7 = prim.tanh %6 : (tensor<6x33xf32>) -> tensor<6x33xf32>
    %y = prim.fourier %5, %7 axis 1 {inverse = true, scale = 0.015625 : f64} : (tensor<6x33xf32>, tensor<6x33xf32>) -> tensor<6x64xf32>)"),
        {random(DType::F32, {6, 40}), random(DType::F32, {64})});
}

TEST_CASE("Fourier transforms: numbers are stored in another type") {
  check(function("%x: tensor<37x7xf32>", "tensor<37x4x2xf32>", R"(
    %0 = prim.cast %x : (tensor<37x7xf32>) -> tensor<37x7xf64>
    %1:2 = prim.fourier %0 axis 1 {inverse = false, scale = 0.5 : f64} : (tensor<37x7xf64>) -> (tensor<37x4xf64>, tensor<37x4xf64>)
    %2 = prim.cast %1#0 : (tensor<37x4xf64>) -> tensor<37x4xf32>
    %3 = prim.reshape %2 sizes() : (tensor<37x4xf32>) -> tensor<37x4x1xf32>
    %4 = prim.cast %1#1 : (tensor<37x4xf64>) -> tensor<37x4xf32>
    %5 = prim.reshape %4 sizes() : (tensor<37x4xf32>) -> tensor<37x4x1xf32>
    %y = prim.concat %3, %5 axis 2 : (tensor<37x4x1xf32>, tensor<37x4x1xf32>) -> tensor<37x4x2xf32>)"),
        {random(DType::F32, {37, 7})});
  check(function("%x: tensor<5x11xf64>, %z: tensor<5x11xf64>", "tensor<11x5x2xbf16>", R"(
    %1:2 = prim.fourier %x, %z axis 1 {inverse = true} : (tensor<5x11xf64>, tensor<5x11xf64>) -> (tensor<5x11xf64>, tensor<5x11xf64>)
    %2 = prim.cast %1#0 : (tensor<5x11xf64>) -> tensor<5x11xbf16>
    %3 = prim.transpose %2 [1, 0] : (tensor<5x11xbf16>) -> tensor<11x5xbf16>
    %4 = prim.reshape %3 sizes() : (tensor<11x5xbf16>) -> tensor<11x5x1xbf16>
    %5 = prim.cast %1#1 : (tensor<5x11xf64>) -> tensor<5x11xbf16>
    %6 = prim.transpose %5 [1, 0] : (tensor<5x11xbf16>) -> tensor<11x5xbf16>
    %7 = prim.reshape %6 sizes() : (tensor<11x5xbf16>) -> tensor<11x5x1xbf16>
    %y = prim.concat %4, %7 axis 2 : (tensor<11x5x1xbf16>, tensor<11x5x1xbf16>) -> tensor<11x5x2xbf16>)"),
        {random(DType::F64, {5, 11}), random(DType::F64, {5, 11})});
}
