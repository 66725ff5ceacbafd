// Loops of recurrent layers that are one kernel, on the simulated device.
#include "KernelTexts.h"
#include "LaunchCheck.h"
#include "mlir/Pass/PassManager.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "tcc/Target/Gpu.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;

/// A loop over `turns` whose body `steps` makes `next` of the states %h and %c, of [batch, units],
/// and of the turn's part %x of the inputs, of [batch, gates].
static std::string layer(int turns, int batch, int units, int gates, const std::string &type,
                         const std::string &matrices, const std::string &steps,
                         const std::string &next, bool backwards) {
  auto tensor = [&](std::vector<int> shape) {
    std::string text = "tensor<";
    for (int extent : shape)
      text += std::to_string(extent) + "x";
    return text + type + ">";
  };
  std::string state = tensor({batch, units}), all = tensor({turns, batch, units}),
              one = tensor({1, batch, units}), given = tensor({turns, batch, gates}),
              row = tensor({1, batch, gates}), x = tensor({batch, gates});
  std::string carried = "%i: index, %h: " + state + ", %c: " + state + ", %o: " + all;
  std::string types = "(index, " + state + ", " + state + ", " + all + ")";
  std::string place = backwards ? "%place" : "%i";
  return "func.func @main(%xs: " + given + ", %h0: " + state + ", %c0: " + state + ", " + matrices +
         ") -> (" + state + ", " + state + ", " + all + ") {\n" +
         "%zero = arith.constant 0 : index\n%none = prim.constant dense<0.0> : " + all + "\n" +
         "%all:4 = prim.while(%zero, %h0, %c0, %none) {\n^bb0(" + carried + "):\n" +
         "%turns = arith.constant " + std::to_string(turns) + " : index\n" +
         "%more = arith.cmpi slt, %i, %turns : index\nprim.yield %more : i1\n} do {\n^bb0(" +
         carried + "):\n%one = arith.constant 1 : index\n%last = arith.constant " +
         std::to_string(turns - 1) + " : index\n%place = arith.subi %last, %i : index\n" +
         "%xr = prim.slice %xs starts [-9223372036854775808, 0, 0](" + place +
         ") steps [1, 1, 1] sizes() : (" + given + ") -> " + row +
         "\n%x = prim.reshape %xr sizes() : (" + row + ") -> " + x + "\n" + steps +
         "%out = prim.reshape " + next + " sizes() : (" + state + ") -> " + one +
         "\n%on = prim.insert_slice %o, %out starts [-9223372036854775808, 0, 0](" + place +
         ") steps [1, 1, 1] : (" + all + ", " + one + ", index) -> " + all +
         "\n%after = arith.addi %i, %one : index\nprim.yield %after, " + next +
         ", %cn, %on : index, " + state + ", " + state + ", " + all + "\n} : " + types + " -> " +
         types + "\nreturn %all#1, %all#2, %all#3 : " + state + ", " + state + ", " + all + "\n}";
}

/// The launches of `text` give what the interpreter gives, and its loop is one of them.
static void checkLayer(const std::string &text, llvm::ArrayRef<reference::Tensor> inputs) {
  INFO(text);
  auto module = fused(text);
  PassManager passes(module->getContext());
  passes.addPass(codegen::createRecurrenceLaunchesPass(llvm::cantFail(GpuTarget::parse("sm_80"))));
  REQUIRE(succeeded(passes.run(*module)));
  unsigned loops = 0;
  module->walk([&](kernel::LaunchOp launch) { loops += launch.getName() == "recurrence"; });
  CHECK(loops == 1);
  auto wrong = simulateLaunches(module->lookupSymbol<func::FuncOp>("main"), inputs, WeightTable(),
                                *GpuArch::find("sm_80"), {0, 7});
  if (!wrong)
    FAIL(llvm::toString(wrong.takeError()));
  for (const std::string &line : *wrong)
    FAIL_CHECK(line);
}

TEST_CASE("recurrent layers: rows of the batch go through all turns in a block") {
  for (const char *type : {"f32", "f16", "bf16"})
    for (auto [turns, batch, units] :
         {std::array{5, 2, 8}, {3, 130, 12}, {4, 3, 31}, {2, 1, 100}}) {
      // The interpreter rounds every sum; after long ones of bf16 turns differ by more than a unit.
      if (type == std::string("bf16") && units > 16)
        continue;
      std::string t = type, b = std::to_string(batch), n = std::to_string(units),
                  g = std::to_string(3 * units), state = "tensor<" + b + "x" + n + "x" + t + ">",
                  gates = "tensor<" + b + "x" + g + "x" + t + ">",
                  matrix = "tensor<" + g + "x" + n + "x" + t + ">";
      auto part = [&](const std::string &name, int from) {
        return "%" + name + " = prim.slice %s starts [0, " + std::to_string(from * units) +
               "]() steps [1, 1] sizes() : (" + gates + ") -> " + state + "\n";
      };
      auto two = [&](const std::string &name, const std::string &op, const std::string &x,
                     const std::string &y) {
        return "%" + name + " = prim." + op + " %" + x + ", %" + y + " : (" + state + ", " + state +
               ") -> " + state + "\n";
      };
      auto one = [&](const std::string &name, const std::string &op, const std::string &x) {
        return "%" + name + " = prim." + op + " %" + x + " : (" + state + ") -> " + state + "\n";
      };
      // A cell that forgets, and an output of it.
      std::string steps = "%p = prim.dot %h, %r batch [] x [] contract [1] x [1] : (" + state +
                          ", " + matrix + ") -> " + gates + "\n%s = prim.add %x, %p : (" + gates +
                          ", " + gates + ") -> " + gates + "\n" + part("s0", 0) + part("s1", 1) +
                          part("s2", 2) + one("f", "logistic", "s0") + one("a", "tanh", "s1") +
                          one("u", "logistic", "s2") + two("fc", "mul", "f", "c") +
                          two("cn", "add", "fc", "a") + two("hn", "mul", "u", "cn");
      DType d = *parseDType(t);
      llvm::SmallVector<reference::Tensor> inputs = {
          random(d, {turns, batch, 3 * units}), random(d, {batch, units}),
          random(d, {batch, units}), random(d, {3 * units, units}, -0.3, 0.3)};
      checkLayer(layer(turns, batch, units, 3 * units, t, "%r: " + matrix, steps, "%hn", false),
                 inputs);
      // A product of what is computed from the sums of another one, from the last turn on.
      std::string square = "tensor<" + n + "x" + n + "x" + t + ">";
      steps += two("rh", "mul", "f", "h") +
               "%q = prim.dot %rh, %w batch [] x [] contract [1] x [1] : (" + state + ", " +
               square + ") -> " + state + "\n" + two("b", "add", "q", "a") + one("hw", "tanh", "b");
      inputs.push_back(random(d, {units, units}, -0.3, 0.3));
      checkLayer(layer(turns, batch, units, 3 * units, t, "%r: " + matrix + ", %w: " + square,
                       steps, "%hw", true),
                 inputs);
    }
}

/// A layer whose gates are parts of the inputs and of one product of the state, as an LSTM has four
/// and a GRU three, the last one's product apart.
static std::string gated(int batch, int units, bool hasCell) {
  std::string n = std::to_string(units), b = std::to_string(batch),
              g = std::to_string((hasCell ? 4 : 3) * units),
              state = "tensor<" + b + "x" + n + "xf32>", gates = "tensor<" + b + "x" + g + "xf32>",
              matrix = "tensor<" + g + "x" + n + "xf32>";
  auto op = [&](const std::string &name, const std::string &kind, std::vector<std::string> of,
                const std::string &type) {
    std::string values, types;
    for (const std::string &v : of) {
      values += (values.empty() ? "%" : ", %") + v;
      types += (types.empty() ? "" : ", ") + type;
    }
    return "%" + name + " = prim." + kind + " " + values + " : (" + types + ") -> " + type + "\n";
  };
  auto part = [&](const std::string &name, const std::string &of, int from) {
    return "%" + name + " = prim.slice %" + of + " starts [0, " + std::to_string(from * units) +
           "]() steps [1, 1] sizes() : (" + gates + ") -> " + state + "\n";
  };
  std::string steps = "%p = prim.dot %h, %r batch [] x [] contract [1] x [1] : (" + state + ", " +
                      matrix + ") -> " + gates +
                      "\n%pb = prim.broadcast %bias axes [1] sizes() : " + "(tensor<" + g +
                      "xf32>) -> " + gates + "\n" + op("q", "add", {"p", "pb"}, gates);
  if (hasCell) {
    steps += op("s", "add", {"x", "q"}, gates);
    for (int i = 0; i < 4; ++i)
      steps += part("s" + std::to_string(i), "s", i);
    steps += op("i_", "logistic", {"s0"}, state) + op("f", "logistic", {"s1"}, state) +
             op("a", "tanh", {"s2"}, state) + op("u", "logistic", {"s3"}, state) +
             op("fc", "mul", {"f", "c"}, state) + op("ia", "mul", {"i_", "a"}, state) +
             op("cn", "add", {"fc", "ia"}, state) + op("ct", "tanh", {"cn"}, state) +
             op("hn", "mul", {"u", "ct"}, state);
  } else {
    for (int i = 0; i < 3; ++i)
      steps += part("x" + std::to_string(i), "x", i) + part("q" + std::to_string(i), "q", i);
    steps += op("s0", "add", {"x0", "q0"}, state) + op("s1", "add", {"x1", "q1"}, state) +
             op("f", "logistic", {"s0"}, state) + op("u", "logistic", {"s1"}, state) +
             op("fq", "mul", {"f", "q2"}, state) + op("s2", "add", {"x2", "fq"}, state) +
             op("a", "tanh", {"s2"}, state) + op("d", "sub", {"h", "a"}, state) +
             op("ud", "mul", {"u", "d"}, state) + op("hn", "add", {"ud", "a"}, state) +
             op("cn", "add", {"c", "a"}, state);
  }
  return layer(9, batch, units, (hasCell ? 4 : 3) * units, "f32",
               "%r: " + matrix + ", %bias: tensor<" + g + "xf32>", steps, "%hn", false);
}

TEST_CASE("recurrent layers do not spill on any architecture") {
  for (const GpuArch &arch : GpuArch::all())
    for (bool hasCell : {false, true})
      for (auto [batch, units] :
           {std::pair{3, 64}, {3, 128}, {200, 96}, {200, 128}, {500, 31}, {32, 256}, {3, 320}}) {
        // ptxas reads too much of a state at once there, whatever registers are left to it.
        if (arch.capability == 120 && units >= 96)
          continue;
        std::string text = gated(batch, units, hasCell);
        INFO(arch.name << ' ' << text);
        auto module = fused(text);
        PassManager passes(module->getContext());
        passes.addPass(
            codegen::createRecurrenceLaunchesPass(llvm::cantFail(GpuTarget::parse(arch.name))));
        REQUIRE(succeeded(passes.run(*module)));
        kernel::LaunchOp loop;
        module->walk([&](kernel::LaunchOp launch) {
          if (launch.getName() == "recurrence")
            loop = launch;
        });
        if (!loop)
          continue; // a matrix that no block of the architecture has room for
        checkAssembles(ptxOf(loop, arch), arch);
      }
}
