#include "OnnxModels.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "onnx/defs/parser.h"
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "tcc/Support/Error.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;

onnx::ModelProto tcc::test::parseModel(llvm::StringRef text) {
  onnx::ModelProto model;
  std::string copy = text.str();
  auto status = onnx::OnnxParser::Parse(model, copy.c_str());
  INFO(status.ErrorMessage());
  REQUIRE(status.IsOK());
  return model;
}

onnx::ModelProto tcc::test::graphModel(llvm::StringRef body) {
  return parseModel("<ir_version: 10, opset_import: [\"\" : 20]> g " + body.str());
}

std::unique_ptr<Imported> tcc::test::importBytes(llvm::StringRef bytes, ImportOptions options,
                                                 llvm::StringRef path) {
  auto result = std::make_unique<Imported>();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  options.fileRead = [&](llvm::StringRef file) { result->files.push_back(file.str()); };
  auto module = importOnnx(llvm::MemoryBuffer::getMemBufferCopy(bytes), path, options,
                           result->weights, context);
  if (module) {
    CHECK(succeeded(mlir::verify(**module)));
    llvm::raw_string_ostream stream(result->ir);
    (*module)->print(stream);
    return result;
  }
  llvm::handleAllErrors(module.takeError(), [&](const UserError &error) {
    llvm::raw_string_ostream stream(result->error);
    error.log(stream);
  });
  CHECK_FALSE(result->error.empty());
  CHECK(result->error.size() < 4000);
  return result;
}

std::unique_ptr<Imported> tcc::test::importModel(const onnx::ModelProto &model,
                                                 ImportOptions options, llvm::StringRef path) {
  return importBytes(model.SerializePartialAsString(), std::move(options), path);
}

std::string tcc::test::irOf(llvm::StringRef body, ImportOptions options) {
  auto result = importModel(graphModel(body), std::move(options));
  INFO(result->error);
  CHECK(result->error.empty());
  return result->ir;
}

std::string tcc::test::errorOf(llvm::StringRef body, ImportOptions options) {
  auto result = importModel(graphModel(body), std::move(options));
  INFO(result->ir);
  CHECK(result->ir.empty());
  return result->error;
}

std::vector<onnx::ModelProto> tcc::test::sampleModels() {
  return {
      graphModel(R"((float[N, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[N, M] y)
        <int64[2] shape = {0, -1}, float[4] b = {1, 2, 3, 4}> {
          c = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w, b)
          r = Relu(c)
          p = MaxPool <kernel_shape = [2, 2]> (r)
          y = Reshape(p, shape)
        })"),
      graphModel(R"((bool c, float[K] x) => (float[K] y, float[T, K] scans) {
          n = Constant <value_int = 3> ()
          t = If (c) <
            then_branch = a () => (float[K] u) { u = Neg(x) },
            else_branch = b () => (float[K] v) { v = Abs(x) }>
          y, scans = Loop (n, c, t) <
            body = l (int64 i, bool go, float[K] s) => (bool go2, float[K] s2, float[K] o) {
              go2 = Identity(go)
              s2 = Add(s, x)
              o = Mul(s2, x)
            }>
        })"),
      parseModel(R"(<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
        g (float[2, N] x) => (float[2, N] y, string[2] s) {
          y = f.scaled <k = 2.5> (x)
          s = Constant <value_strings = ["a", "b"]> ()
        }
        <domain: "f", opset_import: ["" : 18]>
        scaled <k> (a) => (b) {
          f = Constant <value_float: float = @k> ()
          m = Mul(a, f)
          b = LayerNormalization <axis = 1> (m, f)
        })"),
  };
}
