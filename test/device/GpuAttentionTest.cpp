// Attention as GPU kernels on the simulated device against the reference interpreter: the template
// for matrix units in every tile, and what the region may hold.
#include "KernelTexts.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Form;
using reference::Tensor;

namespace {

/// softmax(%score) of extents `rows` by `keys`, cast to `type` as %p. `sizes` are those of all
/// open extents.
struct Softmax {
  std::string rows, keys, type;
  std::string sizes = "";
  /// Rows of minus infinity alone are shifted by 0 and divided by 1, or made 0 afterwards.
  bool guarded = false, zeroed = false;

  std::string all(const std::string &element = "f32") const {
    return "tensor<" + rows + "x" + keys + "x" + element + ">";
  }
  std::string row(const std::string &element = "f32") const {
    return "tensor<" + rows + "x" + element + ">";
  }
  std::string text() const;
};

} // namespace

static std::string unary(const std::string &result, const std::string &op, const std::string &x,
                         const std::string &type) {
  return "\n%" + result + " = prim." + op + " %" + x + " : (" + type + ") -> " + type;
}

static std::string binary(const std::string &result, const std::string &op, const std::string &x,
                          const std::string &y, const std::string &type) {
  return "\n%" + result + " = prim." + op + " %" + x + ", %" + y + " : (" + type + ", " + type +
         ") -> " + type;
}

std::string Softmax::text() const {
  auto rank = static_cast<int>(std::count(rows.begin(), rows.end(), 'x')) + 1;
  std::string axes;
  for (int i = 0; i < rank; ++i)
    axes += (i ? ", " : "") + std::to_string(i);
  auto spread = [&](const std::string &result, const std::string &x) {
    return "\n%" + result + " = prim.broadcast %" + x + " axes [" + axes + "] sizes(" + sizes +
           ") : (" + row() + ") -> " + all();
  };
  auto reduce = [&](const std::string &result, const std::string &kind, const std::string &x) {
    return "\n%" + result + " = prim.reduce " + kind + " %" + x + " [" + std::to_string(rank) +
           "] : (" + all() + ") -> " + row();
  };
  auto replaced = [&](const std::string &result, const std::string &x, const std::string &old,
                      const std::string &fresh) {
    return "\n%" + x + "a = prim.constant dense<" + old + "> : " + row() + "\n%" + x +
           "b = prim.constant dense<" + fresh + "> : " + row() + "\n%" + x +
           "c = prim.compare eq %" + x + ", %" + x + "a : (" + row() + ", " + row() + ") -> " +
           row("i1") + "\n%" + result + " = prim.select %" + x + "c, %" + x + "b, %" + x + " : (" +
           row("i1") + ", " + row() + ", " + row() + ") -> " + row();
  };
  std::string t = reduce("top", "max", "score");
  if (guarded)
    t += replaced("shift", "top", "0xFF800000", "0.0");
  t += spread("tops", guarded ? "shift" : "top") + binary("less", "sub", "score", "tops", all()) +
       unary("e", "exp", "less", all()) + reduce("sum", "sum", "e");
  if (guarded)
    t += replaced("divisor", "sum", "0.0", "1.0");
  t += spread("sums", guarded ? "divisor" : "sum") + binary("whole", "div", "e", "sums", all());
  if (zeroed)
    t += "\n%nan = prim.is_nan %whole : (" + all() + ") -> " + all("i1") +
         "\n%nil = prim.constant dense<0.0> : " + all() +
         "\n%kept = prim.select %nan, %nil, %whole : (" + all("i1") + ", " + all() + ", " + all() +
         ") -> " + all();
  return t + "\n%p = prim.cast %" + (zeroed ? "kept" : "whole") + " : (" + all() + ") -> " +
         all(type);
}

namespace {

/// Attention of `heads` heads of one axis.
struct Heads {
  int64_t heads, queries, keys, depth, width;
  const char *type = "bf16";
  std::string score = "";     ///< %score from %dot; empty: scaled
  std::string arguments = ""; ///< of it
  bool guarded = false, zeroed = false;

  std::string scores(const std::string &element = "f32") const {
    return "tensor<" + std::to_string(heads) + "x" + std::to_string(queries) + "x" +
           std::to_string(keys) + "x" + element + ">";
  }
  std::string operand(int64_t rows, int64_t columns) const {
    return "tensor<" + std::to_string(heads) + "x" + std::to_string(rows) + "x" +
           std::to_string(columns) + "x" + type + ">";
  }
  std::string text() const {
    std::string q = operand(queries, depth), k = operand(keys, depth), v = operand(keys, width),
                y = operand(queries, width);
    Softmax softmax{std::to_string(heads) + "x" + std::to_string(queries),
                    std::to_string(keys),
                    type,
                    "",
                    guarded,
                    zeroed};
    return function("%q: " + q + ", %k: " + k + ", %v: " + v + arguments, y,
                    "%dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (" + q + ", " + k +
                        ") -> " + scores() + "\n" + (score.empty() ? scaled(scores()) : score) +
                        softmax.text() +
                        "\n%y = prim.dot %p, %v batch [0] x [0] contract [2] x [1] : (" +
                        scores(type) + ", " + v + ") -> " + y);
  }
  std::vector<Tensor> inputs() const {
    DType d = *parseDType(type);
    return {random(d, {heads, queries, depth}), random(d, {heads, keys, depth}),
            random(d, {heads, keys, width})};
  }
};

} // namespace

/// %score where query `offset` before or at the key; else minus infinity.
static std::string causal(const Heads &h, int64_t offset = 0) {
  std::string plane = std::to_string(h.queries) + "x" + std::to_string(h.keys);
  std::string it = "tensor<" + plane + "xi64>", pt = "tensor<" + plane + "xi1>";
  return "%row = prim.iota 0 sizes() : " + it + "\n%key = prim.iota 1 sizes() : " + it +
         "\n%more = prim.constant dense<" + std::to_string(offset) + "> : " + it +
         binary("last", "add", "row", "more", it) + "\n%before = prim.compare ge %last, %key : (" +
         it + ", " + it + ") -> " + pt +
         "\n%seen = prim.broadcast %before axes [1, 2] sizes() : (" + pt + ") -> " +
         h.scores("i1") + "\n%none = prim.constant dense<0xFF800000> : " + h.scores() +
         "\n%score = prim.select %seen, %dot, %none : (" + h.scores("i1") + ", " + h.scores() +
         ", " + h.scores() + ") -> " + h.scores();
}

/// %score of the key behind the query; else the lowest number, which all keys of the last query
/// have.
static std::string nextAlone(const Heads &h) {
  std::string text = causal(h, 1);
  auto replace = [&](const std::string &old, const std::string &fresh) {
    text.replace(text.find(old), old.size(), fresh);
  };
  replace("compare ge", "compare eq");
  replace("0xFF800000", "-3.40282347E+38");
  return text;
}

/// The same with every launch of attention run by `schedule`.
static void checkWith(const std::string &text, llvm::ArrayRef<Tensor> inputs,
                      codegen::device::Schedule schedule) {
  auto module = fused(text);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  const GpuArch &arch = *GpuArch::find("sm_80");
  unsigned launches = 0;
  main.walk([&](kernel::LaunchOp launch) {
    REQUIRE(launch.getKind() == kernel::KernelKind::Attention);
    MLIRContext *context = launch.getContext();
    launch.setScheduleAttr(
        tcc::gpu::SchedulesAttr::get(context, StringAttr::get(context, arch.name), schedule));
    ++launches;
  });
  CHECK(launches == 1);
  auto wrong = simulateLaunches(main, inputs, WeightTable(), arch, {0, 7});
  if (!wrong)
    FAIL(llvm::toString(wrong.takeError()));
  for (const std::string &line : *wrong)
    FAIL_CHECK(line);
}

static void checkMma(const std::string &text, llvm::ArrayRef<Tensor> inputs) {
  INFO(text);
  CHECK(scheduleOf(text).getForm() == Form::MmaAttention);
  check(text, inputs);
}

TEST_CASE("attention by mma.sync: head sizes, tails of queries and keys, types") {
  for (const Heads &h : {Heads{2, 70, 130, 32, 32},
                         {1, 197, 197, 64, 64},
                         {3, 17, 64, 48, 80},
                         {1, 33, 100, 128, 128, "f16"},
                         {1, 20, 70, 256, 256},
                         {2, 5, 3, 40, 24},
                         {1, 9, 31, 7, 20, "f16"},
                         {1, 130, 257, 16, 96}})
    checkMma(h.text(), h.inputs());
}

TEST_CASE("attention by mma.sync: every tile, stages, keys shared by warps and by blocks",
          "[long]") {
  struct Tile {
    unsigned rows, keys, threads, rowThreads;
  };
  auto schedule = [](const Tile &t, unsigned stages, unsigned split) {
    constexpr unsigned shared = 240 << 10, scratch = 1 << 20, bits = 32;
    return codegen::device::Schedule::get(&context(), Form::MmaAttention, t.threads, 1, stages,
                                          t.rowThreads, 0, t.rows, t.keys, 0, shared, 0, split,
                                          split > 1 ? scratch : 0, bits, 0);
  };
  Heads plain{2, 70, 200, 64, 48}, masked{1, 150, 260, 32, 32};
  masked.score = causal(masked, 20);
  for (const Tile &t : {Tile{128, 64, 128, 4},
                        {128, 64, 256, 4},
                        {64, 64, 128, 4},
                        {32, 64, 128, 8},
                        {32, 128, 128, 8},
                        {16, 64, 128, 16},
                        {16, 128, 128, 16},
                        {16, 256, 256, 32},
                        {64, 32, 128, 4},
                        {32, 32, 128, 8}})
    for (auto [stages, split] : {std::pair(2u, 1u), {3u, 3u}}) {
      INFO(t.rows << " x " << t.keys << ", " << t.threads << " threads, split " << split);
      checkWith(plain.text(), plain.inputs(), schedule(t, stages, split));
      checkWith(masked.text(), masked.inputs(), schedule(t, stages, split));
    }
}

TEST_CASE("attention by mma.sync: masks") {
  for (int64_t offset : {0, 60, -5}) {
    // With an offset below 0 the first rows see nothing.
    Heads h{1, 80, 140, 32, 32};
    h.score = causal(h, offset);
    h.guarded = true;
    checkMma(h.text(), h.inputs());
    h.guarded = false;
    h.zeroed = true;
    checkMma(h.text(), h.inputs());
  }
  // Blocks of keys that are all hidden come before and behind the one that is seen.
  Heads next{1, 140, 140, 32, 32};
  next.score = nextAlone(next);
  checkMma(next.text(), next.inputs());
  // Added, for all rows or each; of numbers of keys that vectors divide and do not.
  for (int64_t keys : {96, 77}) {
    Heads h{2, 40, keys, 64, 64, "f16"};
    std::string n = std::to_string(keys), bt = "tensor<2x" + n + "xf32>";
    h.arguments = ", %b: " + bt;
    h.score = "%bias = prim.broadcast %b axes [0, 2] sizes() : (" + bt + ") -> " + h.scores() +
              binary("score", "add", "dot", "bias", h.scores());
    auto inputs = h.inputs();
    inputs.push_back(random(DType::F32, {2, keys}, -3, 3));
    checkMma(h.text(), inputs);
    std::string ct = "tensor<40x" + n + "xi1>";
    h.arguments = ", %c: " + ct;
    h.score = "%seen = prim.broadcast %c axes [1, 2] sizes() : (" + ct + ") -> " + h.scores("i1") +
              "\n%none = prim.constant dense<0xFF800000> : " + h.scores() +
              "\n%score = prim.select %seen, %dot, %none : (" + h.scores("i1") + ", " + h.scores() +
              ", " + h.scores() + ") -> " + h.scores();
    inputs.back() = random(DType::Bool, {40, keys}, 0, 1);
    checkMma(h.text(), inputs);
  }
}

TEST_CASE("attention by mma.sync: heads that share keys, few queries and long caches") {
  auto grouped = [](int64_t queries, int64_t keys) {
    std::string m = std::to_string(queries), n = std::to_string(keys);
    std::string q = "tensor<2x4x" + m + "x64xbf16>", k = "tensor<2x" + n + "x64xbf16>",
                s = "tensor<2x4x" + m + "x" + n + "x";
    Softmax softmax{"2x4x" + m, n, "bf16"};
    return function("%q: " + q + ", %k: " + k + ", %v: " + k, q,
                    "%dot = prim.dot %q, %k batch [0] x [0] contract [3] x [2] : (" + q + ", " + k +
                        ") -> " + s + "f32>\n" + scaled(s + "f32>") + softmax.text() +
                        "\n%y = prim.dot %p, %v batch [0] x [0] contract [3] x [1] : (" + s +
                        "bf16>, " + k + ") -> " + q);
  };
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>(1, 1000), {3, 513}, {30, 96}}) {
    std::string text = grouped(queries, keys);
    checkMma(text, {random(DType::BF16, {2, 4, queries, 64}), random(DType::BF16, {2, keys, 64}),
                    random(DType::BF16, {2, keys, 64})});
  }
  // A machine for 16 rows: blocks share their keys.
  CHECK(scheduleOf(grouped(1, 4096)).getSplit() > 8);
  CHECK(scheduleOf(grouped(1, 4096)).getRows() == 16);
}

TEST_CASE("attention by mma.sync: few queries are computed where they are read") {
  // Rotated by their position, as a decoder does, beside the heads that share their keys.
  auto rotated = [](int64_t queries) {
    std::string m = std::to_string(queries), q = "tensor<2x4x" + m + "x64xbf16>",
                half = "tensor<2x4x" + m + "x32xbf16>", k = "tensor<2x300x64xbf16>",
                s = "tensor<2x4x" + m + "x300x";
    auto part = [&](const std::string &name, const std::string &start) {
      return "\n%" + name + " = prim.slice %x starts [0, 0, 0, " + start +
             "]() steps [1, 1, 1, 1] sizes() : (" + q + ") -> " + half;
    };
    auto spread = [&](const std::string &name, const std::string &of) {
      return "\n%" + name + " = prim.broadcast %" + of +
             " axes [3] sizes() : (tensor<32xbf16>) -> " + half;
    };
    Softmax softmax{"2x4x" + m, "300", "bf16"};
    return function(
        "%x: " + q + ", %cos: tensor<32xbf16>, %sin: tensor<32xbf16>, %k: " + k + ", %v: " + k, q,
        part("a", "0") + part("b", "32") + spread("c", "cos") + spread("d", "sin") +
            binary("ac", "mul", "a", "c", half) + binary("bd", "mul", "b", "d", half) +
            binary("low", "sub", "ac", "bd", half) + binary("bc", "mul", "b", "c", half) +
            binary("ad", "mul", "a", "d", half) + binary("high", "add", "bc", "ad", half) +
            "\n%q = prim.concat %low, %high axis 3 : (" + half + ", " + half + ") -> " + q +
            "\n%dot = prim.dot %q, %k batch [0] x [0] contract [3] x [2] : (" + q + ", " + k +
            ") -> " + s + "f32>\n" + scaled(s + "f32>") + softmax.text() +
            "\n%y = prim.dot %p, %v batch [0] x [0] contract [3] x [1] : (" + s + "bf16>, " + k +
            ") -> " + q);
  };
  auto launches = [](const std::string &text) {
    auto module = fused(text);
    unsigned count = 0;
    module->walk([&](kernel::LaunchOp) { ++count; });
    return count;
  };
  for (int64_t queries : {1, 3}) {
    CHECK(launches(rotated(queries)) == 1);
    // Queries are sums of two products of numbers up to 1, 0.47 in the mean, rounded to 2^-9 of
    // themselves. That moves a score by 0.25 sqrt(64) 0.47 2^-9 1.15 = 0.002 for keys up to 2 (1.15
    // in the mean), and outputs by as much of them. With four times as large queries it was 0.01.
    checkMma(rotated(queries),
             {random(DType::BF16, {2, 4, queries, 64}, -1, 1), random(DType::BF16, {32}, -1, 1),
              random(DType::BF16, {32}, -1, 1), random(DType::BF16, {2, 300, 64}),
              random(DType::BF16, {2, 300, 64})});
  }
  CHECK(launches(rotated(40)) == 2); // they would be computed again and again
}

TEST_CASE("attention by mma.sync: heads beside each other, stored transposed, keys across") {
  // [B, S, H, D] with keys and values of one joined projection, as exporters write it.
  std::string t = "tensor<2x50x4x32xbf16>", s = "tensor<2x4x50x50x";
  Softmax softmax{"2x4x50", "50", "bf16"};
  std::string joined = function("%x: tensor<2x50x384xbf16>", t,
                                R"(
    %0 = prim.reshape %x sizes() : (tensor<2x50x384xbf16>) -> tensor<2x50x3x128xbf16>
    %q0 = prim.slice %0 starts [0, 0, 0, 0]() steps [1, 1, 1, 1] sizes() : (tensor<2x50x3x128xbf16>) -> tensor<2x50x1x128xbf16>
    %k0 = prim.slice %0 starts [0, 0, 1, 0]() steps [1, 1, 1, 1] sizes() : (tensor<2x50x3x128xbf16>) -> tensor<2x50x1x128xbf16>
    %v0 = prim.slice %0 starts [0, 0, 2, 0]() steps [1, 1, 1, 1] sizes() : (tensor<2x50x3x128xbf16>) -> tensor<2x50x1x128xbf16>
    %q = prim.reshape %q0 sizes() : (tensor<2x50x1x128xbf16>) -> tensor<2x50x4x32xbf16>
    %k = prim.reshape %k0 sizes() : (tensor<2x50x1x128xbf16>) -> tensor<2x50x4x32xbf16>
    %v = prim.reshape %v0 sizes() : (tensor<2x50x1x128xbf16>) -> tensor<2x50x4x32xbf16>
    %dot = prim.dot %q, %k batch [0, 2] x [0, 2] contract [3] x [3] : (tensor<2x50x4x32xbf16>, tensor<2x50x4x32xbf16>) -> tensor<2x4x50x50xf32>
    )" + scaled(s + "f32>") + softmax.text() +
                                    "\n%z = prim.dot %p, %v batch [0, 1] x [0, 2] contract "
                                    "[3] x [1] : (" +
                                    s + "bf16>, " + t +
                                    ") -> tensor<2x4x50x32xbf16>\n%y = prim.transpose %z "
                                    "[0, 2, 1, 3] : (tensor<2x4x50x32xbf16>) -> " +
                                    t);
  checkMma(joined, {random(DType::BF16, {2, 50, 384})});
  // Keys [d, n] and values [w, n]: evaluated one by one.
  std::string a = "tensor<2x40x32xbf16>", across = "tensor<2x32x70xbf16>", c = "tensor<2x40x70x";
  Softmax other{"2x40", "70", "bf16"};
  checkMma(function("%q: " + a + ", %k: " + across + ", %v: " + across, a,
                    "%dot = prim.dot %q, %k batch [0] x [0] contract [2] x [1] : (" + a + ", " +
                        across + ") -> " + c + "f32>\n" + scaled(c + "f32>") + other.text() +
                        "\n%y = prim.dot %p, %v batch [0] x [0] contract [2] x [2] : (" + c +
                        "bf16>, " + across + ") -> " + a),
           {random(DType::BF16, {2, 40, 32}), random(DType::BF16, {2, 32, 70}),
            random(DType::BF16, {2, 32, 70})});
}

TEST_CASE("attention by mma.sync: open extents") {
  std::string q = "tensor<?x?x32xbf16>", s = "tensor<?x?x?x";
  Softmax softmax{"?x?", "?", "bf16", "%h, %m, %n"};
  std::string text = function("%q: " + q + ", %k: " + q + ", %v: " + q, q,
                              R"(
    %h = prim.dim %q, 0 : tensor<?x?x32xbf16>
    %m = prim.dim %q, 1 : tensor<?x?x32xbf16>
    %n = prim.dim %k, 1 : tensor<?x?x32xbf16>
    %score = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : ()" +
                                  q + ", " + q + ") -> " + s + "f32>" + softmax.text() +
                                  "\n%y = prim.dot %p, %v batch [0] x [0] contract [2] x "
                                  "[1] : (" +
                                  s + "bf16>, " + q + ") -> " + q);
  for (auto [m, n] : {std::pair<int64_t, int64_t>(1, 300), {90, 41}})
    checkMma(text, {random(DType::BF16, {2, m, 32}), random(DType::BF16, {2, n, 32}),
                    random(DType::BF16, {2, n, 32})});
}

TEST_CASE("attention that matrix units do not multiply has the general form") {
  Heads h{2, 70, 130, 24, 20, "f32"};
  CHECK(scheduleOf(h.text()).getForm() == Form::Attention);
}

TEST_CASE("the general form of attention: threads of a row, rows and keys of a thread") {
  struct Way {
    unsigned threads, rowThreads, rows, keys, depth;
  };
  auto masked = [](Heads h) {
    h.score = causal(h, 3);
    return h;
  };
  for (const Heads &h : {Heads{2, 70, 130, 24, 20, "f32"}, masked({3, 150, 150, 40, 33, "f32"}),
                         masked({1, 40, 90, 7, 128, "f32"})})
    for (const Way &w : {Way{256, 16, 64, 64, 16},
                         {128, 8, 64, 64, 16},
                         {128, 16, 32, 64, 8},
                         {64, 8, 32, 32, 16}}) {
      CAPTURE(h.text(), w.threads, w.rowThreads, w.rows, w.keys, w.depth);
      checkWith(h.text(), h.inputs(),
                codegen::device::Schedule::get(&context(), Form::Attention, w.threads, 1, 1,
                                               w.rowThreads, 0, w.rows, w.keys, w.depth, 0, 0, 1, 0,
                                               32, 0));
    }
}

TEST_CASE("attention by mma.sync does not spill on any architecture", "[long]") {
  Heads hidden{96, 512, 512, 64, 64};
  hidden.score = causal(hidden);
  for (const GpuArch &arch : GpuArch::all())
    for (const Heads &h : {Heads{96, 512, 512, 64, 64},
                           {384, 197, 197, 64, 64, "f16"},
                           {12, 128, 128, 64, 64},
                           {64, 2048, 2048, 128, 128},
                           hidden,
                           {8, 4, 4096, 64, 64},
                           {16, 1000, 1000, 256, 256},
                           {2, 5, 77, 40, 24}}) {
      INFO(arch.name << ' ' << h.text());
      std::string ptx = ptxOf(h.text(), arch, Form::MmaAttention);
      for (const char *part : {"mma.sync.aligned", "ldmatrix.sync.aligned", "cp.async.cg",
                               "ex2.approx.ftz.f32", "max.f32"})
        CHECK(ptx.find(part) != std::string::npos);
      checkAssembles(ptx, arch);
    }
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
            .getForm() == tcc::gpu::Form::Attention);
  check(attention("2", 70, 130, 24, 20, "f32", scaled("tensor<2x70x130xf32>")),
        inputs(DType::F32, 2, 70, 130, 24, 20));
  check(attention("3", 5, 3, 7, 70, "f32", scaled("tensor<3x5x3xf32>")),
        inputs(DType::F32, 3, 5, 3, 7, 70));
  check(attention("2", 40, 90, 256, 256, "f32", scaled("tensor<2x40x90xf32>")),
        inputs(DType::F32, 2, 40, 90, 256, 256));
  check(attention("1", 150, 150, 16, 16, "bf16", causal("1", "150x150")),
        inputs(DType::BF16, 1, 150, 150, 16, 16));
  check(attention("2", 66, 20, 16, 16, "f16", causal("2", "66x20"), true),
        inputs(DType::F16, 2, 66, 20, 16, 16));
}
