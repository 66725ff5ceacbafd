// Every way in which ONNX stores a tensor ends in the same bytes.
#include "OnnxModels.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;
using Catch::Matchers::Contains;
using onnx::TensorProto;

namespace {

/// A model that adds nothing to the initializer "w".
onnx::ModelProto modelOf(const TensorProto &tensor) {
  auto model = graphModel("(float[1] x) => (float[1] y) { y = Relu(x) }");
  auto &w = *model.mutable_graph()->add_initializer();
  w = tensor;
  w.set_name("w");
  return model;
}

TensorProto tensorOf(int32_t type, const std::vector<int64_t> &dims) {
  TensorProto tensor;
  tensor.set_data_type(type);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  return tensor;
}

std::string bytesOf(const TensorProto &tensor, DType dtype) {
  auto result = importModel(modelOf(tensor));
  INFO(result->error);
  const Weight *w = result->weights.lookup("w");
  REQUIRE(w);
  CHECK(w->dtype == dtype);
  return std::string(w->bytes.begin(), w->bytes.end());
}

std::string errorOf(const TensorProto &tensor) {
  auto result = importModel(modelOf(tensor));
  INFO(result->ir);
  CHECK_THAT(result->error, Contains("m.onnx: initializer 'w' "));
  return result->error;
}

/// A folder that is removed again.
struct Folder {
  llvm::SmallString<128> path;
  Folder() { REQUIRE_FALSE(llvm::sys::fs::createUniqueDirectory("tcc-onnx", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  std::string operator/(llvm::StringRef name) const { return (path + "/" + name).str(); }
  void write(llvm::StringRef name, llvm::StringRef bytes) const {
    std::error_code code;
    llvm::raw_fd_ostream(*this / name, code) << bytes;
    REQUIRE_FALSE(code);
  }
};

TensorProto externalTensor(const char *location, const char *offset, const char *length) {
  auto tensor = tensorOf(TensorProto::FLOAT, {2});
  tensor.set_data_location(TensorProto::EXTERNAL);
  for (auto [key, value] :
       {std::pair("location", location), {"offset", offset}, {"length", length}}) {
    if (!value)
      continue;
    auto &entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return tensor;
}

} // namespace

TEST_CASE("typed lists of integers") {
  auto tensor = tensorOf(TensorProto::INT64, {2});
  tensor.add_int64_data(-2);
  tensor.add_int64_data(int64_t(1) << 40);
  CHECK(bytesOf(tensor, DType::I64) ==
        std::string("\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\1\0\0", 16));
  // Several types share int32_data, with negative numbers as ten-byte varints.
  struct Case {
    int32_t type;
    DType dtype;
    std::string bytes;
  };
  for (const Case &c : {Case{TensorProto::INT32, DType::I32, {"\xff\xff\xff\xff\3\0\0\0", 8}},
                        Case{TensorProto::INT16, DType::I16, {"\xff\xff\3\0", 4}},
                        Case{TensorProto::INT8, DType::I8, {"\xff\3", 2}},
                        Case{TensorProto::UINT8, DType::U8, {"\xff\3", 2}},
                        Case{TensorProto::BFLOAT16, DType::BF16, {"\xff\xff\3\0", 4}},
                        Case{TensorProto::FLOAT16, DType::F16, {"\xff\xff\3\0", 4}},
                        Case{TensorProto::FLOAT8E5M2, DType::F8E5M2, {"\xff\3", 2}},
                        Case{TensorProto::BOOL, DType::Bool, {"\1\1", 2}}}) {
    auto list = tensorOf(c.type, {2});
    list.add_int32_data(-1);
    list.add_int32_data(3);
    CHECK(bytesOf(list, c.dtype) == c.bytes);
  }
  // Two elements of four bits share an entry; the last byte is half full.
  for (auto [type, dtype] : {std::pair(TensorProto::INT4, DType::I4),
                             {TensorProto::UINT4, DType::U4},
                             {TensorProto::FLOAT4E2M1, DType::F4E2M1FN}}) {
    auto nibbles = tensorOf(type, {3});
    nibbles.add_int32_data(0x21);
    nibbles.add_int32_data(0x03);
    CHECK(bytesOf(nibbles, dtype) == "\x21\x03");
  }
  auto pairs = tensorOf(TensorProto::INT2, {5});
  pairs.set_raw_data("\x1b\x02");
  CHECK(bytesOf(pairs, DType::I2) == "\x1b\x02");
  auto unsigned32 = tensorOf(TensorProto::UINT32, {1});
  unsigned32.add_uint64_data(0xfffffffe);
  CHECK(bytesOf(unsigned32, DType::U32) == "\xfe\xff\xff\xff");
}

TEST_CASE("typed lists of floats, raw bytes and complex numbers") {
  auto floats = tensorOf(TensorProto::FLOAT, {2});
  floats.add_float_data(1.0f);
  floats.add_float_data(2.0f);
  const std::string bytes("\0\0\x80\x3f\0\0\0\x40", 8);
  CHECK(bytesOf(floats, DType::F32) == bytes);
  auto raw = tensorOf(TensorProto::FLOAT, {2});
  raw.set_raw_data(bytes);
  CHECK(bytesOf(raw, DType::F32) == bytes);
  auto complex = tensorOf(TensorProto::COMPLEX64, {1});
  complex.add_float_data(1.0f);
  complex.add_float_data(2.0f);
  CHECK(bytesOf(complex, DType::C64) == bytes);
  auto doubles = tensorOf(TensorProto::DOUBLE, {});
  doubles.add_double_data(1.0);
  CHECK(bytesOf(doubles, DType::F64) == std::string("\0\0\0\0\0\0\xf0\x3f", 8));
}

TEST_CASE("a list in several pieces, and unpacked") {
  // 1: dims {3}, 2: FLOAT, 4: packed {1.0}, 4: single 2.0, 4: packed {1.0}
  const std::string one("\0\0\x80\x3f", 4), two("\0\0\0\x40", 4);
  std::string wire =
      std::string("\x08\x03\x10\x01\x22\x04", 6) + one + "\x25" + two + "\x22\x04" + one;
  TensorProto tensor;
  REQUIRE(tensor.ParseFromString(wire));
  CHECK(bytesOf(tensor, DType::F32) == one + two + one);
}

TEST_CASE("large tensors point into the file") {
  auto tensor = tensorOf(TensorProto::FLOAT, {1000});
  tensor.set_raw_data(std::string(4000, 'x'));
  auto result = importModel(modelOf(tensor));
  const Weight *w = result->weights.lookup("w");
  REQUIRE(w);
  CHECK(w->bytes.size() == 4000);
  CHECK(w->bytes[3999] == 'x');
  // The buffer's owner: the bytes stay when the importer is gone.
  CHECK(w->owner);
  tensor.clear_raw_data();
  for (int i = 0; i < 1000; ++i)
    tensor.add_float_data(static_cast<float>(i));
  result = importModel(modelOf(tensor));
  w = result->weights.lookup("w");
  REQUIRE(w);
  float last;
  std::memcpy(&last, w->bytes.data() + 3996, 4);
  CHECK(last == 999.0f);
}

TEST_CASE("tensors that contradict themselves") {
  auto tensor = tensorOf(TensorProto::FLOAT, {2});
  tensor.set_raw_data("123");
  CHECK_THAT(errorOf(tensor), Contains("has 3 bytes of data, but float of its shape needs 8"));
  tensor.clear_raw_data();
  CHECK_THAT(errorOf(tensor), Contains("has 0 bytes"));
  tensor.add_int32_data(5);
  CHECK_THAT(errorOf(tensor), Contains("has 0 bytes"));
  tensor.set_data_type(99);
  CHECK_THAT(errorOf(tensor), Contains("element type that is not supported (99)"));
  CHECK_THAT(errorOf(tensorOf(TensorProto::FLOAT, {-2})), Contains("has a dim of -2"));
  CHECK_THAT(errorOf(tensorOf(TensorProto::FLOAT, {int64_t(1) << 40, int64_t(1) << 40})),
             Contains("overflows"));
  CHECK_THAT(errorOf(tensorOf(TensorProto::FLOAT, {int64_t(1) << 40})), Contains("has 0 bytes"));
  CHECK_THAT(errorOf(tensorOf(TensorProto::FLOAT, std::vector<int64_t>(65, 1))),
             Contains("more than 64 axes"));
  auto ints = tensorOf(TensorProto::INT8, {1});
  ints.add_int32_data(1);
  ints.add_int32_data(2);
  CHECK_THAT(errorOf(ints), Contains("more data than its shape says"));
  auto text = tensorOf(TensorProto::STRING, {2});
  text.add_string_data("a");
  CHECK_THAT(errorOf(text), Contains("has 1 texts but its shape says 2"));
  auto segment = tensorOf(TensorProto::FLOAT, {});
  segment.mutable_segment()->set_begin(0);
  CHECK_THAT(importModel(modelOf(segment))->error, Contains("segments"));
}

TEST_CASE("external data") {
  Folder folder;
  folder.write("w.bin", std::string(4, 'a') + std::string(8, 'b') + std::string(4, 'c'));
  auto import = [&](const char *location, const char *offset, const char *length) {
    return importModel(modelOf(externalTensor(location, offset, length)), {}, folder / "m.onnx");
  };
  auto result = import("w.bin", "4", "8");
  INFO(result->error);
  const Weight *w = result->weights.lookup("w");
  REQUIRE(w);
  CHECK(std::string(w->bytes.begin(), w->bytes.end()) == "bbbbbbbb");
  CHECK(result->files == std::vector<std::string>{folder / "w.bin"});
  CHECK(import("w.bin", nullptr, nullptr)->weights.lookup("w")->bytes[7] == 'b');

  auto refused = [&](const char *location, const char *offset, const char *length) {
    auto result = import(location, offset, length);
    CHECK_THAT(result->error, Contains("initializer 'w' "));
    return result->error;
  };
  CHECK_THAT(refused("w.bin", "12", "8"), Contains("past the end of 'w.bin' (16 bytes)"));
  CHECK_THAT(refused("w.bin", "99999999999999999999", "8"), Contains("offset"));
  CHECK_THAT(refused("w.bin", "-4", "8"), Contains("offset '-4'"));
  CHECK_THAT(refused("w.bin", "0", "18446744073709551615"), Contains("past the end"));
  CHECK_THAT(refused("w.bin", "0", "4"), Contains("has 4 bytes"));
  CHECK_THAT(refused("absent.bin", "0", "8"), Contains("cannot be opened"));
  CHECK_THAT(refused("", "0", "8"), Contains("is empty"));
  CHECK_THAT(refused(".", "0", "8"), Contains("no regular file"));
}

TEST_CASE("external data stays in the model's folder") {
  Folder folder;
  REQUIRE_FALSE(llvm::sys::fs::create_directory(folder / "model"));
  REQUIRE_FALSE(llvm::sys::fs::create_directory(folder / "model2"));
  folder.write("secret.bin", "12345678");
  folder.write("model2/secret.bin", "12345678");
  folder.write("model/inside.bin", "12345678");
  REQUIRE_FALSE(llvm::sys::fs::create_link("../secret.bin", folder / "model/link.bin"));
  REQUIRE_FALSE(llvm::sys::fs::create_link("../model2", folder / "model/folder"));
  REQUIRE_FALSE(llvm::sys::fs::create_link("inside.bin", folder / "model/alias.bin"));
  auto error = [&](const char *location) {
    return importModel(modelOf(externalTensor(location, "0", "8")), {}, folder / "model/m.onnx")
        ->error;
  };
  CHECK_THAT(error("../secret.bin"), Contains("leaves the model's folder"));
  CHECK_THAT(error("a/../../secret.bin"), Contains("leaves the model's folder"));
  CHECK_THAT(error((folder / "secret.bin").c_str()), Contains("absolute"));
  CHECK_THAT(error("link.bin"), Contains("link out of the model's folder"));
  CHECK_THAT(error("folder/secret.bin"), Contains("link out of the model's folder"));
  CHECK(error("alias.bin") == "");
  CHECK(error("./inside.bin") == "");
}

TEST_CASE("sparse tensors are written out") {
  auto model = graphModel("(float[3, 2] x) => (float[3, 2] y) { y = Add(x, s) }");
  auto &sparse = *model.mutable_graph()->add_sparse_initializer();
  *sparse.mutable_values() = tensorOf(TensorProto::FLOAT, {2});
  sparse.mutable_values()->set_name("s");
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_values()->add_float_data(7);
  *sparse.mutable_indices() = tensorOf(TensorProto::INT64, {2});
  sparse.mutable_indices()->add_int64_data(1);
  sparse.mutable_indices()->add_int64_data(4);
  sparse.add_dims(3);
  sparse.add_dims(2);
  auto check = [&] {
    auto result = importModel(model);
    INFO(result->error);
    const Weight *w = result->weights.lookup("s");
    REQUIRE(w);
    const auto *values = reinterpret_cast<const float *>(w->bytes.data());
    CHECK(std::vector<float>(values, values + 6) == std::vector<float>{0, 5, 0, 0, 7, 0});
  };
  check();
  auto &indices = *sparse.mutable_indices();
  indices.add_dims(2);
  indices.clear_int64_data();
  for (int64_t index : {0, 1, 2, 0})
    indices.add_int64_data(index);
  check();
  indices.set_int64_data(2, 3);
  CHECK_THAT(importModel(model)->error, Contains("index out of its shape"));
  sparse.set_dims(0, int64_t(1) << 40);
  CHECK_THAT(importModel(model)->error, Contains("1 GB is the limit"));
}
