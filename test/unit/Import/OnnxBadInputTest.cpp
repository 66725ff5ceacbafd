// A model that is wrong gives one error that names what is wrong.
#include "OnnxModels.h"
#include "mlir/IR/MLIRContext.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include <catch2/catch.hpp>
#include <ctime>

using namespace tcc;
using namespace tcc::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

TEST_CASE("files that are no models") {
  for (llvm::StringRef bytes : {"", "hello world",
                                "\x7f"
                                "ELF\2\1\1",
                                "\x08", "\x08\x07"})
    CHECK_THAT(importBytes(bytes)->error, StartsWith("m.onnx: "));
  CHECK_THAT(importBytes("")->error, Contains("empty"));
  CHECK_THAT(importBytes(std::string(4096, '\0'))->error, Contains("at byte 0 is damaged"));
  mlir::MLIRContext context;
  WeightTable weights;
  auto error = [&](llvm::StringRef path) {
    return llvm::toString(importOnnx(path, {}, weights, context).takeError());
  };
  CHECK_THAT(error("/no/such/file.onnx"), Contains("cannot be opened"));
  CHECK_THAT(error("/"), Contains("no regular file"));
  CHECK_THAT(error("/dev/zero"), Contains("no regular file"));
}

TEST_CASE("header") {
  auto model = graphModel("(float[2] x) => (float[2] y) { y = Relu(x) }");
  auto with = [&](auto change) {
    onnx::ModelProto copy = model;
    change(copy);
    return importModel(copy)->error;
  };
  CHECK_THAT(with([](auto &m) { m.clear_graph(); }), Contains("no graph"));
  CHECK_THAT(with([](auto &m) { m.clear_ir_version(); }), Contains("no ir_version"));
  CHECK_THAT(with([](auto &m) { m.set_ir_version(99); }), Contains("ir_version is 99"));
  CHECK_THAT(with([](auto &m) { m.clear_opset_import(); }), Contains("opset_import"));
  CHECK_THAT(with([](auto &m) { m.mutable_opset_import(0)->set_version(999); }),
             Contains("opset 999") && Contains("28"));
  CHECK_THAT(with([](auto &m) { m.mutable_opset_import(0)->set_version(-1); }), Contains("-1"));
  CHECK_THAT(with([](auto &m) {
               auto &again = *m.add_opset_import();
               again.set_domain("ai.onnx");
               again.set_version(12);
             }),
             Contains("twice"));
  CHECK(with([](auto &m) {
          m.set_ir_version(2);
          m.clear_opset_import();
          m.mutable_graph()->mutable_node(0)->set_op_type("Neg");
          m.mutable_graph()->mutable_node(0)->clear_attribute();
        }) == "");
}

TEST_CASE("names") {
  CHECK_THAT(errorOf("(float[2] x) => (float[2] y) { y = Add(x, nowhere) }"),
             Contains("node 'y' (Add): its input 'nowhere' is defined by no node"));
  CHECK_THAT(errorOf("(float[2] x) => (float[2] y) { z = Relu(x) }"),
             Contains("output 'y'") && Contains("made by no node"));
  CHECK_THAT(errorOf("(float[2] x) => (float[2] y) { y = Relu(x) y = Neg(x) }"),
             Contains("'y' is defined twice"));
  CHECK_THAT(errorOf("(float[2] x) => (float[2] x) { x = Relu(x) }"), Contains("cycle"));
  CHECK_THAT(errorOf("(float[2] x, float[3] x) => (float[2] y) { y = Relu(x) }"),
             Contains("two inputs called 'x'"));
  CHECK_THAT(errorOf("(float[2] x) => () { y = Relu(x) }"), Contains("no outputs"));
  auto model = graphModel("(float[2] x) => (float[2] y) { y = Relu(x) }");
  model.mutable_graph()->mutable_node(0)->clear_op_type();
  CHECK_THAT(importModel(model)->error, Contains("no op_type"));
  model.mutable_graph()->mutable_input(0)->clear_name();
  CHECK_THAT(importModel(model)->error, Contains("an input has no name"));
  model.mutable_graph()->mutable_input(0)->set_name("\xff");
  CHECK_THAT(importModel(model)->error, Contains("'\\xff' has a name that is not UTF-8"));
}

TEST_CASE("cycles name their nodes") {
  CHECK_THAT(errorOf("(float[2] x) => (float[2] y) "
                     "{ a = Add(x, c) b = Relu(a) c = Neg(b) y = Abs(c) }"),
             Contains("3 nodes depend on each other in a cycle") && Contains("node 'a' (Add)") &&
                 Contains("node 'b' (Relu)") && Contains("node 'c' (Neg)"));
  // Through what a subgraph captures.
  CHECK_THAT(errorOf(R"((bool c, float[2] x) => (float[2] y) {
    t = Relu(y)
    y = If (c) <then_branch = a () => (float[2] u) { u = Neg(t) },
                else_branch = b () => (float[2] v) { v = Neg(x) }>
  })"),
             Contains("cycle"));
}

TEST_CASE("operators against their schemas") {
  auto one = [](const std::string &node) {
    return errorOf("(float[2, 3] x, int64[2] i) => (float[2, 3] y) { " + node + " }");
  };
  CHECK_THAT(one("y = Add(x)"), Contains("node 'y' (Add): has 1 inputs but takes 2"));
  CHECK_THAT(one("y, z = Relu(x)"), Contains("has 2 outputs but takes 1"));
  CHECK_THAT(one("y = Concat(x, x)"), Contains("attribute 'axis' is missing"));
  CHECK_THAT(one("y = Softmax <axis = 1.5> (x)"), Contains("is a float but must be an integer"));
  CHECK_THAT(one("y = Softmax <axes = 1> (x)"), Contains("no attribute 'axes' in opset 20"));
  CHECK_THAT(one("y = Add(x, i)"), Contains("(i) is tensor(int64) but 'x' is tensor(float)"));
  CHECK_THAT(one("y = Sin(i)"), Contains("tensor(int64), which Sin of opset 20 does not take"));
  CHECK_THAT(one("y = MatMul(x, x)"), Contains("node 'y' (MatMul)") && Contains("ncompatible"));
  CHECK_THAT(one("y = Constant()"), Contains("exactly one attribute"));
  CHECK_THAT(one("y = Constant <value = 3> ()"), Contains("'value' is no value"));
}

TEST_CASE("types that state more axes than fit in memory") {
  auto model = graphModel("(float[2] x, int64[1099511627776] shape) => (float[N] y) {"
                          "  y = Expand(x, shape) }");
  for (int64_t opset : {8, 20}) {
    model.mutable_opset_import(0)->set_version(opset);
    CHECK_THAT(importModel(model)->error,
               Contains("'shape' states 1099511627776 axes; at most 64"));
  }
}

TEST_CASE("domains that are not imported are listed") {
  auto model = graphModel("(float[2] x) => (float[2] y) { t = a.One(x) y = b.Two(t) }");
  CHECK_THAT(importModel(model)->error, Contains("2 nodes are of a domain") &&
                                            Contains("node 't' (One) of domain 'a'") &&
                                            Contains("node 'y' (Two) of domain 'b'"));
}

TEST_CASE("types of inputs") {
  auto model = graphModel("(float[2] x) => (float[2] y) { y = Relu(x) }");
  auto &input = *model.mutable_graph()->mutable_input(0);
  auto &tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.mutable_shape()->mutable_dim(0)->set_dim_value(-7);
  CHECK_THAT(importModel(model)->error, Contains("input 'x' has a dim of -7"));
  tensor.mutable_shape()->mutable_dim(0)->set_dim_value(INT64_MAX);
  CHECK_THAT(importModel(model)->error, Contains("input 'x' has a shape whose size overflows"));
  tensor.set_elem_type(77);
  CHECK_THAT(importModel(model)->error, Contains("element type that is not supported (77)"));
  tensor.set_elem_type(1);
  for (int i = 0; i < 64; ++i)
    tensor.mutable_shape()->add_dim()->set_dim_value(1);
  CHECK_THAT(importModel(model)->error, Contains("has 65 axes; at most 64"));
  input.clear_type();
  CHECK_THAT(importModel(model)->error, Contains("input 'x' has no type"));
}

TEST_CASE("functions that never end or grow without bound") {
  const char *head = "<ir_version: 10, opset_import: [\"\" : 20, \"f\" : 1]> "
                     "g (float[2] x) => (float[2] y) { y = f.f0(x) } ";
  auto function = [](const std::string &name, const std::string &body) {
    return "<domain: \"f\", opset_import: [\"\" : 20, \"f\" : 1]> " + name + " (a) => (b) { " +
           body + " } ";
  };
  CHECK_THAT(importModel(parseModel(head + function("f0", "b = f.f0(a)")))->error,
             Contains("calls itself"));
  std::string text = head;
  for (int i = 0; i < 100; ++i)
    text += function("f" + std::to_string(i), "b = f.f" + std::to_string(i + 1) + "(a)");
  CHECK_THAT(importModel(parseModel(text))->error, Contains("more than 64 deep"));
  text = head;
  for (int i = 0; i < 40; ++i) {
    std::string next = "f.f" + std::to_string(i + 1);
    text += function("f" + std::to_string(i), "c = " + next + "(a) b = " + next + "(c)");
  }
  text += function("f40", "b = Relu(a)");
  clock_t start = clock(); // of the CPU: others may keep the machine busy
  CHECK_THAT(importModel(parseModel(text))->error, Contains("expand to more than"));
  CHECK(clock() - start < 60 * CLOCKS_PER_SEC);
}

/// `depth` Ifs in each other, written innermost first: protobuf would recurse.
static std::string nestedIfs(unsigned depth) {
  auto field = [](unsigned number, const std::string &payload) {
    std::string out;
    auto varint = [&](size_t v) {
      for (; v >= 0x80; v >>= 7)
        out.push_back(static_cast<char>(v | 0x80));
      out.push_back(static_cast<char>(v));
    };
    varint(number << 3 | 2);
    varint(payload.size());
    return out + payload;
  };
  std::string attribute = field(1, "then_branch") + std::string("\xa0\x01\x05", 3);
  std::string graph =
      field(1, field(1, "x") + field(2, "y") + field(4, "Relu")) + field(12, field(1, "y"));
  for (unsigned i = 0; i < depth; ++i)
    graph = field(1, field(1, "c") + field(2, "y") + field(4, "If") +
                         field(5, attribute + field(6, graph))) +
            field(12, field(1, "y"));
  return std::string("\x08\x0a", 2) + field(7, graph);
}

TEST_CASE("subgraphs nested too deep") {
  CHECK_THAT(importBytes(nestedIfs(10'000))->error, Contains("nested more than 100 deep"));
  // Just below the limit the nesting is no fault.
  CHECK_THAT(importBytes(nestedIfs(99))->error, !Contains("nested"));
}

TEST_CASE("text of the file is escaped and bounded") {
  auto model = graphModel("(float[2] x) => (float[2] y) { y = Relu(x) }");
  model.mutable_graph()->mutable_node(0)->set_op_type(std::string(100'000, '\x1b'));
  model.mutable_graph()->mutable_node(0)->set_input(0, "\x1b[31m\n");
  std::string error = importModel(model)->error;
  CHECK_THAT(error, Contains("\\x1b[31m\\x0a"));
  CHECK(error.find('\x1b') == std::string::npos);
}
