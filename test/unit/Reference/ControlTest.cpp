//===- ControlTest.cpp - Regions, host arithmetic and faults -------------===//
//
// What the interpreter does around operators: branches, loops, launches, and whose fault an error
// is.
//
//===----------------------------------------------------------------------===//
#include "Fixture.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/Error.h"

using namespace tcc;
using namespace tcc::reference;
using namespace tcc::reference::testing;

TEST_CASE("if takes one region, which captures") {
  const char *text = R"(func.func @main(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = prim.if %c {
      %1 = prim.exp %x : (tensor<2xf32>) -> tensor<2xf32>
      prim.yield %1 : tensor<2xf32>
    } else {
      prim.yield %x : tensor<2xf32>
    } : tensor<2xf32>
    return %0 : tensor<2xf32>
  })";
  Tensor x = f32({2}, {0, 0});
  checkReals(run(text, {ints(DType::Bool, {}, {1}), x})[0], {1, 1});
  checkReals(run(text, {ints(DType::Bool, {}, {0}), x})[0], {0, 0});
}

static const char *const kDoubling = R"(
  func.func @main(%n: index, %x: tensor<?xf32>) -> (index, tensor<?xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %r:2 = prim.while(%zero, %x) {
    ^bb0(%i: index, %t: tensor<?xf32>):
      %more = arith.cmpi slt, %i, %n : index
      prim.yield %more : i1
    } do {
    ^bb0(%i: index, %t: tensor<?xf32>):
      %2 = prim.concat %t, %t axis 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %3 = arith.addi %i, %one : index
      prim.yield %3, %2 : index, tensor<?xf32>
    } : (index, tensor<?xf32>) -> (index, tensor<?xf32>)
    return %r#0, %r#1 : index, tensor<?xf32>
  })";

TEST_CASE("while carries values whose extents change") {
  auto outputs = run(kDoubling, {Tensor::ofIndex(3), f32({1}, {5})});
  checkIntegers(outputs[0], {3});
  checkReals(outputs[1], Reals(8, 5));
  checkReals(run(kDoubling, {Tensor::ofIndex(0), f32({1}, {5})})[1], {5});
}

TEST_CASE("the observer sees every result of every turn") {
  std::vector<std::string> seen;
  EvaluateOptions options;
  options.observer = [&](mlir::OpResult result, const Tensor &value) {
    seen.push_back(result.getOwner()->getName().getStringRef().str() + shapeText(value.shape()));
  };
  run(kDoubling, {Tensor::ofIndex(2), f32({1}, {5})}, {}, &options);
  CHECK(seen == std::vector<std::string>{"arith.constant[]", "arith.constant[]", "arith.cmpi[]",
                                         "prim.concat[2]", "arith.addi[]", "arith.cmpi[]",
                                         "prim.concat[4]", "arith.addi[]", "arith.cmpi[]",
                                         "prim.while[]", "prim.while[4]"});
}

TEST_CASE("every operator has an evaluator") {
  CHECK(unknownOperators() == std::vector<std::string>());
}

TEST_CASE("kernels run as the operators they hold") {
  auto outputs = run(R"(func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    %n = prim.dim %x, 0 : tensor<?xf32>
    %y = kernel.launch loop "k" ins(%x : tensor<?xf32>) sizes(%n) {
    ^bb0(%a: tensor<?xf32>):
      %b = prim.neg %a : (tensor<?xf32>) -> tensor<?xf32>
      %c = prim.abs %b : (tensor<?xf32>) -> tensor<?xf32>
      kernel.yield %c : tensor<?xf32>
    } -> tensor<?xf32>
    return %y : tensor<?xf32>
  })",
                     {f32({2}, {1, -2})});
  checkReals(outputs[0], {1, 2});
}

TEST_CASE("host arithmetic") {
  struct Row {
    const char *op;
    int64_t a, b, want;
  };
  const std::vector<Row> rows = {
      {"addi", 2, 3, 5},
      {"subi", 2, 3, -1},
      {"muli", -4, 3, -12},
      {"divsi", -7, 2, -3},
      {"floordivsi", -7, 2, -4},
      {"ceildivsi", -7, 2, -3},
      {"ceildivsi", 7, 2, 4},
      {"floordivsi", 7, -2, -4},
      {"remsi", -7, 2, -1},
      {"maxsi", -7, 2, 2},
      {"minsi", -7, 2, -7},
      {"andi", 12, 10, 8},
      {"ori", 12, 10, 14},
      {"xori", 12, 10, 6},
      {"divsi", INT64_MIN, -1, INT64_MIN},
      {"addi", INT64_MAX, 1, INT64_MIN},
  };
  for (const Row &row : rows)
    for (const char *type : {"index", "i64"}) {
      std::string text = "func.func @main(%a: " + std::string(type) + ", %b: " + type + ") -> " +
                         type + " {\n  %0 = arith." + row.op + " %a, %b : " + type +
                         "\n  return %0 : " + type + "\n}";
      checkIntegers(run(text, {Tensor::ofIndex(row.a), Tensor::ofIndex(row.b)})[0], {row.want});
    }
}

TEST_CASE("host conversions, comparisons and floats") {
  auto outputs =
      run(R"(func.func @main(%a: index, %f: f64) -> (i64, i1, i1, index, f64, i64, i32, i64, i1) {
    %0 = arith.index_cast %a : index to i64
    %1 = arith.cmpi sgt, %0, %0 : i64
    %2 = arith.cmpi ult, %a, %a : index
    %t = arith.constant true
    %3 = arith.select %t, %a, %a : index
    %4 = arith.mulf %f, %f : f64
    %5 = arith.fptosi %4 : f64 to i64
    %6 = arith.trunci %0 : i64 to i32
    %7 = arith.extsi %t : i1 to i64
    %8 = arith.cmpf olt, %f, %4 : f64
    %9 = math.floor %f : f64
    %10 = math.ceil %f : f64
    %11 = arith.uitofp %t : i1 to f64
    %12 = arith.addf %9, %10 : f64
    %13 = arith.addf %12, %11 : f64
    %14 = arith.cmpf oeq, %13, %13 : f64
    prim.assert %14, "1 + 2 + 1 is a number"
    return %0, %1, %2, %3, %4, %5, %6, %7, %8 : i64, i1, i1, index, f64, i64, i32, i64, i1
  })",
          {Tensor::ofIndex((int64_t(1) << 32) + 7), reals(DType::F64, {}, {1.5})});
  Integers want = {(int64_t(1) << 32) + 7, 0, 0, (int64_t(1) << 32) + 7, 2, 2, 7, -1, 1};
  for (size_t i = 0; i < want.size(); ++i)
    CHECK(outputs[i].integer(0) == want[i]);
  CHECK(outputs[4].real(0) == 2.25);
}

TEST_CASE("division by zero and failed assertions are the user's") {
  const char *text = R"(func.func @main(%a: index) -> index {
    %zero = arith.constant 0 : index
    %ok = arith.cmpi ne, %a, %zero : index
    prim.assert %ok, "the batch is empty"
    %0 = arith.divsi %zero, %zero : index
    return %0 : index
  })";
  CHECK(errorOf(text, {Tensor::ofIndex(0)}).find("the batch is empty") != std::string::npos);
  auto failed = tryRun(text, {Tensor::ofIndex(1)});
  REQUIRE(!failed);
  llvm::Error error = failed.takeError();
  CHECK(error.isA<UserError>());
  CHECK(llvm::toString(std::move(error)).find("division by zero") != std::string::npos);
}

TEST_CASE("inputs are checked") {
  const char *text = R"(func.func @main(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
    return %x : tensor<2x?xf32>
  })";
  CHECK(errorOf(text, {}) == "@main takes 1 inputs, not 0");
  CHECK(errorOf(text, {f32({3, 1}, {1, 2, 3})}) ==
        "input 0 is f32[3, 1] where tensor<2x?xf32> is expected");
  CHECK(errorOf(text, {i64({2, 1}, {1, 2})}) ==
        "input 0 is i64[2, 1] where tensor<2x?xf32> is expected");
  checkReals(run(text, {f32({2, 1}, {1, 2})})[0], {1, 2});
}

TEST_CASE("weights are looked up by name") {
  const char *text = R"(func.func @main() -> tensor<2xi8> {
    %0 = prim.weight "w" : tensor<2xi8>
    return %0 : tensor<2xi8>
  })";
  WeightTable table;
  CHECK(errorOf(text, {}, table).find("there is no weight 'w'") != std::string::npos);
  table.addOwned("w", DType::I8, {2}, {1, -1});
  checkIntegers(run(text, {}, table)[0], {1, -1});
}

/// The words for a seed and an offset, of `type`.
static Tensor words(int64_t seed, int64_t offset, const std::string &type) {
  std::string text = "func.func @main(%s: i64, %o: i64) -> " + type +
                     " {\n  %0 = prim.random_bits %s, %o sizes() : " + type +
                     "\n  return %0 : " + type + "\n}";
  return run(text, {Tensor::ofIndex(seed), Tensor::ofIndex(offset)})[0];
}

TEST_CASE("Philox4x32-10 gives the published numbers") {
  // Random123's known answer for counter 0 and key 0. The others are of an implementation that
  // gives all three of its known answers: key a4093822 299f31d0, offset 13198a2e 03707344.
  CHECK(words(0, 0, "tensor<4xui32>").integers() ==
        Integers{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  int64_t seed = 0x299f31d0a4093822, offset = 0x0370734413198a2e;
  Integers want = {0xb60a410e, 0x61bd7780, 0xa53f3958, 0x3d51eb3f,
                   0x314ddb4b, 0x0ab83527, 0x9fc3cabe};
  CHECK(words(seed, offset, "tensor<7xui32>").integers() == want);
  CHECK(words(seed, offset, "tensor<1x3x1xui32>").integers() ==
        Integers(want.begin(), want.begin() + 3));
  CHECK(words(seed, offset, "tensor<3xui64>").integers() ==
        Integers{0x61bd7780b60a410e, 0x3d51eb3fa53f3958, 0x0ab83527314ddb4b});
}

static const char *const kDraws = R"(
  module attributes {tcc.generators = 1 : i64} {
  func.func @main(%ok: i1) -> (i64, i64, i64, i64) {
    %0 = prim.random_seed : i64
    %1 = prim.random_draw 0 : i64
    %2 = prim.random_draw 1 : i64
    %3 = prim.random_draw 0 : i64
    prim.assert %ok, "not this time"
    return %0, %1, %2, %3 : i64, i64, i64, i64
  }
  })";

TEST_CASE("draws are counted by generator, from run to run, unless the run fails") {
  RandomState random;
  random.seed = 42;
  EvaluateOptions options;
  options.random = &random;
  auto drawn = [&] {
    Integers values;
    for (const Tensor &value : run(kDraws, {ints(DType::Bool, {}, {1})}, {}, &options))
      values.push_back(value.integer(0));
    return values;
  };
  CHECK(drawn() == Integers{42, 0, 0, 1});
  CHECK(drawn() == Integers{42, 2, 1, 3});
  auto failed = tryRun(kDraws, {ints(DType::Bool, {}, {0})}, {}, &options);
  REQUIRE(!failed);
  llvm::consumeError(failed.takeError());
  CHECK(drawn() == Integers{42, 4, 2, 5});
}
