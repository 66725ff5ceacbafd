// Attention as one kernel against the interpreter, which computes its primitives one by one:
// shapes around the blocks of the schedules, masks, types, heads that share keys, open extents,
// rows that see nothing, and scores beyond what exp can hold.
#include "../../CaseEngine.h"
#include "../../RandomTensor.h"
#include "PrimProgram.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Fusion/Fusion.h"
#include <cmath>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

namespace {

enum class Mask { None, Causal, Window, Additive, Bool };

struct Case {
  int64_t batch = 1, heads = 2, group = 1, queries, keys, depth, width;
  Mask mask = Mask::None;
  bool guarded = false;                          ///< against rows that see nothing
  bool zeroed = false;                           ///< weights that are not a number become 0
  bool open = false;                             ///< queries and keys are known to a run only
  bool keysAcross = false, valuesAcross = false; ///< stored transposed
  const char *type = "f32";
  double scale = 0;                ///< 0: one over the root of the depth
  std::vector<int64_t> parts = {}; ///< that the keys are joined from; none: they lie in one place
};

/// `text` with what stands for the extents and types of `c`.
std::string filled(std::string text, const Case &c) {
  auto replace = [&](const std::string &name, const std::string &by) {
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), by);
  };
  auto number = [](int64_t v) { return std::to_string(v); };
  std::string rows = c.open ? "?" : number(c.queries), keys = c.open ? "?" : number(c.keys);
  std::string head = number(c.batch) + "x" + number(c.heads) + "x", many = head + number(c.group);
  replace("$SCORES", "tensor<" + many + "x" + rows + "x" + keys + "xf32>");
  replace("$BOOLS", "tensor<" + many + "x" + rows + "x" + keys + "xi1>");
  replace("$ROWS", "tensor<" + many + "x" + rows + "xf32>");
  replace("$POSITIONS", "tensor<" + rows + "x" + keys + "xi64>");
  replace("$PLANE", "tensor<" + rows + "x" + keys + "xi1>");
  replace("$BIAS", "tensor<" + rows + "x" + keys + "xf32>");
  replace("$Q", "tensor<" + many + "x" + rows + "x" + number(c.depth) + "x" + c.type + ">");
  replace("$K", "tensor<" + head +
                    (c.keysAcross ? number(c.depth) + "x" + keys : keys + "x" + number(c.depth)) +
                    "x" + c.type + ">");
  replace("$V", "tensor<" + head +
                    (c.valuesAcross ? number(c.width) + "x" + keys : keys + "x" + number(c.width)) +
                    "x" + c.type + ">");
  replace("$R", "tensor<" + many + "x" + rows + "x" + number(c.width) + "x" + c.type + ">");
  replace("$S32", "tensor<" + many + "x" + rows + "x" + number(c.width) + "xf32>");
  replace("$MN", c.open ? "%m, %n" : "");
  replace("$M", c.open ? "%m" : "");
  replace("$CK", c.keysAcross ? "2" : "3");
  replace("$CV", c.valuesAcross ? "3" : "2");
  return text;
}

std::string partType(const Case &c, size_t part, bool values) {
  std::string keys = std::to_string(c.parts[part]),
              width = std::to_string(values ? c.width : c.depth);
  bool across = values ? c.valuesAcross : c.keysAcross;
  return "tensor<" + std::to_string(c.batch) + "x" + std::to_string(c.heads) + "x" +
         (across ? width + "x" + keys : keys + "x" + width) + "x" + c.type + ">";
}

/// The parts of the keys or of the values, one behind the other.
std::string joined(const Case &c, bool values) {
  std::string names, types, name = values ? "%v" : "%k";
  for (size_t i = 0; i < c.parts.size(); ++i) {
    names += (i ? ", " : "") + name + std::to_string(i);
    types += (i ? ", " : "") + partType(c, i, values);
  }
  bool across = values ? c.valuesAcross : c.keysAcross;
  return name + " = prim.concat " + names + " axis " + (across ? "3" : "2") + " : (" + types +
         ") -> " + (values ? "$V" : "$K") + "\n";
}

std::string program(const Case &c) {
  std::string text = "func.func @main(%q: $Q, %k: $K, %v: $V, %mask: ";
  text += c.mask == Mask::Bool ? "$PLANE" : "$BIAS";
  text += ") -> $R {\n";
  for (size_t i = 0; i < c.parts.size(); ++i)
    text.insert(text.find("%mask"), "%k" + std::to_string(i) + ": " + partType(c, i, false) +
                                        ", %v" + std::to_string(i) + ": " + partType(c, i, true) +
                                        ", ");
  if (!c.parts.empty()) {
    text.erase(text.find("%k: $K, %v: $V, "), std::string("%k: $K, %v: $V, ").size());
    text += joined(c, false) + joined(c, true);
  }
  if (c.open)
    text += "%m = prim.dim %q, 3 : $Q\n%n = prim.dim %k, " + std::string(c.keysAcross ? "3" : "2") +
            " : $K\n";
  text +=
      "%dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [4] x [$CK] : ($Q, $K) -> $SCORES\n"
      "%s0 = prim.constant dense<" +
      std::to_string(c.scale ? c.scale : 1 / std::sqrt(double(c.depth))) +
      "> : tensor<f32>\n"
      "%s1 = prim.broadcast %s0 axes [] sizes($MN) : (tensor<f32>) -> $SCORES\n"
      "%scaled = prim.mul %dot, %s1 : ($SCORES, $SCORES) -> $SCORES\n"
      "%i0 = prim.constant dense<0xFF800000> : tensor<f32>\n";
  if (c.mask == Mask::Additive)
    text += "%bias = prim.broadcast %mask axes [3, 4] sizes($MN) : ($BIAS) -> $SCORES\n"
            "%score = prim.add %scaled, %bias : ($SCORES, $SCORES) -> $SCORES\n";
  else if (c.mask != Mask::None) {
    text += "%i1 = prim.broadcast %i0 axes [] sizes($MN) : (tensor<f32>) -> $SCORES\n";
    std::string plane = "%mask";
    if (c.mask != Mask::Bool) {
      text += "%row = prim.iota 0 sizes($MN) : $POSITIONS\n"
              "%key = prim.iota 1 sizes($MN) : $POSITIONS\n"
              "%before = prim.compare ge %row, %key : ($POSITIONS, $POSITIONS) -> $PLANE\n";
      plane = "%before";
    }
    if (c.mask == Mask::Window) {
      text += "%w0 = prim.constant dense<37> : tensor<i64>\n"
              "%w1 = prim.broadcast %w0 axes [] sizes($MN) : (tensor<i64>) -> $POSITIONS\n"
              "%far = prim.sub %row, %w1 : ($POSITIONS, $POSITIONS) -> $POSITIONS\n"
              "%near = prim.compare lt %far, %key : ($POSITIONS, $POSITIONS) -> $PLANE\n"
              "%both = prim.and %before, %near : ($PLANE, $PLANE) -> $PLANE\n";
      plane = "%both";
    }
    text += "%seen = prim.broadcast " + plane +
            " axes [3, 4] sizes($MN) : ($PLANE) -> $BOOLS\n"
            "%score = prim.select %seen, %scaled, %i1 : ($BOOLS, $SCORES, $SCORES) -> $SCORES\n";
  }
  std::string score = c.mask == Mask::None ? "%scaled" : "%score";
  text += "%top = prim.reduce max " + score + " [4] : ($SCORES) -> $ROWS\n";
  std::string top = "%top";
  if (c.guarded) {
    text += "%n1 = prim.broadcast %i0 axes [] sizes($M) : (tensor<f32>) -> $ROWS\n"
            "%z0 = prim.constant dense<0.0> : tensor<f32>\n"
            "%z1 = prim.broadcast %z0 axes [] sizes($M) : (tensor<f32>) -> $ROWS\n"
            "%is = prim.compare eq %top, %n1 : ($ROWS, $ROWS) -> $NONE\n"
            "%shift = prim.select %is, %z1, %top : ($NONE, $ROWS, $ROWS) -> $ROWS\n";
    top = "%shift";
  }
  text += "%tops = prim.broadcast " + top +
          " axes [0, 1, 2, 3] sizes($MN) : ($ROWS) -> $SCORES\n"
          "%less = prim.sub " +
          score +
          ", %tops : ($SCORES, $SCORES) -> $SCORES\n"
          "%e = prim.exp %less : ($SCORES) -> $SCORES\n"
          "%sum = prim.reduce sum %e [4] : ($SCORES) -> $ROWS\n";
  std::string sum = "%sum";
  if (c.guarded) {
    text += "%o0 = prim.constant dense<1.0> : tensor<f32>\n"
            "%o1 = prim.broadcast %o0 axes [] sizes($M) : (tensor<f32>) -> $ROWS\n"
            "%atleast = prim.maximum %sum, %o1 : ($ROWS, $ROWS) -> $ROWS\n";
    sum = "%atleast";
  }
  text += "%sums = prim.broadcast " + sum +
          " axes [0, 1, 2, 3] sizes($MN) : ($ROWS) -> $SCORES\n"
          "%weights = prim.div %e, %sums : ($SCORES, $SCORES) -> $SCORES\n" +
          (c.zeroed
               ? "%nan = prim.is_nan %weights : ($SCORES) -> $BOOLS\n"
                 "%zero = prim.constant dense<0.0> : tensor<f32>\n"
                 "%zeros = prim.broadcast %zero axes [] sizes($MN) : (tensor<f32>) -> $SCORES\n"
                 "%w = prim.select %nan, %zeros, %weights : ($BOOLS, $SCORES, $SCORES) -> $SCORES\n"
               : "") +
          "%r = prim.dot " + (c.zeroed ? "%w" : "%weights") +
          ", %v batch [0, 1] x [0, 1] contract [4] x [$CV] : ($SCORES, $V) "
          "-> $S32\n";
  if (std::string(c.type) == "f32")
    text += "return %r : $R\n}\n";
  else
    text += "%y = prim.cast %r : ($S32) -> $R\nreturn %y : $R\n}\n";
  for (size_t at; (at = text.find("$NONE")) != std::string::npos;)
    text.replace(at, 5,
                 "tensor<" + std::to_string(c.batch) + "x" + std::to_string(c.heads) + "x" +
                     std::to_string(c.group) + "x" + (c.open ? "?" : std::to_string(c.queries)) +
                     "xi1>");
  return filled(text, c);
}

Tensor random(DType type, llvm::ArrayRef<int64_t> shape, double low, double high) {
  return randomTensor(caseEngine(1), type, shape, low, high);
}

/// Half of the points, and none in the last row.
Tensor seen(int64_t rows, int64_t keys, bool additive) {
  std::mt19937 &engine = caseEngine(2);
  std::vector<double> reals;
  std::vector<int64_t> bools;
  for (int64_t i = 0; i < rows * keys; ++i) {
    bool holds = engine() % 2 && i < (rows - 1) * keys;
    reals.push_back(holds ? double(engine() % 100) / 50 : -INFINITY);
    bools.push_back(holds);
  }
  return additive ? Tensor::ofReals(DType::F32, {rows, keys}, reals)
                  : Tensor::ofIntegers(DType::Bool, {rows, keys}, bools);
}

double farthest(const Tensor &have, const Tensor &want) {
  std::vector<double> h = have.reals(), w = want.reals();
  double largest = 1e-30, gap = 0;
  for (double v : w)
    if (std::isfinite(v))
      largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < w.size(); ++i) {
    if (h[i] == w[i] || (std::isnan(h[i]) && std::isnan(w[i])))
      continue;
    double d = std::abs(h[i] - w[i]) / largest;
    gap = std::max(gap, std::isnan(d) ? INFINITY : d);
  }
  return gap;
}

void check(const Case &c) {
  INFO(program(c));
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program(c), &primContext());
  REQUIRE(module);
  bool f32 = std::string(c.type) == "f32";
  DType type = f32 ? DType::F32 : std::string(c.type) == "f16" ? DType::F16 : DType::BF16;
  auto matrix = [&](bool across, int64_t rows, int64_t columns) {
    return random(type, {c.batch, c.heads, across ? columns : rows, across ? rows : columns}, -2,
                  2);
  };
  std::vector<Tensor> inputs = {
      random(type, {c.batch, c.heads, c.group, c.queries, c.depth}, -2, 2)};
  for (int64_t keys : c.parts.empty() ? std::vector{c.keys} : c.parts) {
    inputs.push_back(matrix(c.keysAcross, keys, c.depth));
    inputs.push_back(matrix(c.valuesAcross, keys, c.width));
  }
  inputs.push_back(seen(c.queries, c.keys, c.mask != Mask::Bool));
  Outputs want = interpreted(*module, inputs);
  // One kernel, whatever the back-end would prefer.
  mlir::PassManager passes(&primContext());
  passes.addPass(createFuseKernelsPass());
  REQUIRE(succeeded(passes.run(*module)));
  unsigned launches = 0;
  module->walk([&](kernel::LaunchOp launch) {
    ++launches;
    CHECK(launch.getKind() == kernel::KernelKind::Attention);
  });
  REQUIRE(launches == 1);
  double tolerance = f32 ? 2e-6 : type == DType::F16 ? 2e-3 : 1.6e-2;
  for (const std::string &cpu : runnableCpus()) {
    INFO(cpu);
    auto have = compiled(*module, inputs, cpu, Phase::Fuse);
    if (!have)
      FAIL(llvm::toString(have.takeError()));
    CHECK(farthest(have->front(), want.front()) <= tolerance);
  }
}

} // namespace

TEST_CASE("attention: extents around the blocks") {
  for (auto [queries, keys] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 300}, {7, 64}, {64, 64}, {65, 257}, {130, 520}})
    check({.queries = queries, .keys = keys, .depth = 64, .width = 64});
  for (auto [depth, width] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {40, 33}, {80, 128}, {256, 256}})
    check({.queries = 19, .keys = 77, .depth = depth, .width = width});
}

TEST_CASE("attention: masks, and rows that see nothing") {
  for (Mask mask : {Mask::Causal, Mask::Window, Mask::Additive, Mask::Bool})
    for (bool guarded : {false, true}) {
      check({.queries = 150,
             .keys = 150,
             .depth = 16,
             .width = 16,
             .mask = mask,
             .guarded = guarded});
      check({.group = 3,
             .queries = 40,
             .keys = 333,
             .depth = 16,
             .width = 24,
             .mask = mask,
             .guarded = guarded,
             .open = true});
    }
}

TEST_CASE("attention: tiles of queries that see a part of a block") {
  for (Mask mask : {Mask::Causal, Mask::Window, Mask::Bool})
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{77, 77},
                                 {128, 128},
                                 {40, 200},
                                 {150, 64},
                                 {20, 9},
                                 {300, 257}})
      check({.queries = queries,
             .keys = keys,
             .depth = 24,
             .width = 20,
             .mask = mask,
             .guarded = mask != Mask::Causal});
}

TEST_CASE("attention: heads that share keys") {
  check({.batch = 2, .group = 4, .queries = 1, .keys = 300, .depth = 32, .width = 32});
  check({.group = 8, .queries = 30, .keys = 70, .depth = 32, .width = 32, .mask = Mask::Causal});
}

TEST_CASE("attention: tasks share the keys of few queries") {
  check({.queries = 1, .keys = 3000, .depth = 64, .width = 70});
  for (Mask mask : {Mask::Causal, Mask::Additive})
    check({.heads = 1,
           .group = 2,
           .queries = 3,
           .keys = 4100,
           .depth = 16,
           .width = 16,
           .mask = mask,
           .guarded = true});
}

TEST_CASE("attention: a query or two, which read keys where they lie") {
  for (const char *type : {"f32", "bf16", "f16"})
    for (auto [queries, depth] : {std::pair<int64_t, int64_t>{1, 64}, {2, 33}, {1, 3}, {2, 256}}) {
      check({.queries = queries, .keys = 301, .depth = depth, .width = 70, .type = type});
      check({.queries = queries,
             .keys = 1003,
             .depth = depth,
             .width = 20,
             .mask = Mask::Additive,
             .open = true,
             .type = type});
    }
}

TEST_CASE("attention: keys and values stored across") {
  for (bool keys : {false, true})
    check({.queries = 33,
           .keys = 301,
           .depth = 24,
           .width = 40,
           .keysAcross = keys,
           .valuesAcross = true});
  check({.queries = 33, .keys = 90, .depth = 24, .width = 40, .open = true, .keysAcross = true});
}

TEST_CASE("attention: keys and values that are joined from parts") {
  auto of = [](Case c, std::vector<int64_t> parts) {
    c.parts = std::move(parts);
    c.keys = 0;
    for (int64_t keys : c.parts)
      c.keys += keys;
    check(c);
  };
  of({.group = 4, .queries = 1, .keys = 0, .depth = 64, .width = 64}, {300, 1});
  of({.heads = 1, .group = 2, .queries = 3, .keys = 0, .depth = 16, .width = 70}, {4099, 3});
  of({.queries = 5, .keys = 0, .depth = 33, .width = 40}, {4, 1, 250});
  for (Mask mask : {Mask::Causal, Mask::Window, Mask::Additive, Mask::Bool}) {
    of({.queries = 170, .keys = 0, .depth = 16, .width = 16, .mask = mask, .guarded = true},
       {70, 100});
    of({.heads = 1,
        .queries = 2,
        .keys = 0,
        .depth = 16,
        .width = 16,
        .mask = mask,
        .guarded = true},
       {1, 3000, 50});
  }
  for (bool keys : {false, true})
    of({.queries = 33,
        .keys = 0,
        .depth = 24,
        .width = 40,
        .keysAcross = keys,
        .valuesAcross = !keys,
        .type = "bf16"},
       {65, 200});
}

TEST_CASE("attention: narrow types") {
  for (const char *type : {"bf16", "f16"}) {
    check(
        {.queries = 70, .keys = 130, .depth = 64, .width = 48, .mask = Mask::Causal, .type = type});
    check({.group = 4, .queries = 1, .keys = 200, .depth = 64, .width = 64, .type = type});
  }
}

TEST_CASE("attention: scores beyond what exp can hold") {
  check({.queries = 20, .keys = 400, .depth = 32, .width = 32, .scale = 300});
}
