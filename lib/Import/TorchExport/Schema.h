//===- Schema.h - What model.json says ---------------------------*- C++ -*-===//
//
// The parts of torch's export schema (major version 8) that a compiler needs,
// as plain structures that point into the parsed JSON document. `fromJSON`
// checks every field's presence and type; what it refuses is reported with its
// path in the document. Arguments stay JSON until their node is imported.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <vector>

namespace tcc::torchexport {

/// An integer, or an expression over symbols ("s77", "2*s0 + 1").
struct SymInt {
  std::optional<int64_t> value;
  llvm::StringRef expr; ///< when `value` is empty
};

struct TensorMeta {
  DType dtype;
  llvm::SmallVector<SymInt, 4> sizes, strides;
  SymInt offset;
};

/// One alternative of the schema's Argument union: `kind` is its tag
/// ("as_tensor"), `value` what stands under it.
struct Argument {
  llvm::StringRef kind;
  const llvm::json::Value *value = nullptr;
};

struct NamedArgument {
  llvm::StringRef name; ///< empty for higher-order operators' positional ones
  Argument arg;
};

struct Node {
  llvm::StringRef target, name, stackTrace;
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  llvm::StringMap<TensorMeta> tensors;
  llvm::StringMap<SymInt> integers; ///< the numbers that it computes with
};

/// What a placeholder stands for, or where an output goes. `target` is the
/// parameter's, buffer's, constant's or mutated input's name.
struct InputSpec {
  llvm::StringRef kind, target;
  Argument arg;
};
struct OutputSpec {
  llvm::StringRef kind, target;
  Argument arg;
};

struct Range {
  std::optional<int64_t> min, max;
};

struct Program {
  Graph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  llvm::StringMap<Range> ranges;
  std::vector<std::string> guards; ///< conditions on the inputs, in Python
};

/// Where a parameter's, buffer's or constant's data lies in the archive.
struct Payload {
  llvm::StringRef path;
  bool pickled = false;
  std::optional<TensorMeta> meta;
};

bool fromJSON(const llvm::json::Value &, SymInt &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, TensorMeta &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, Argument &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, NamedArgument &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, Node &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, Graph &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, InputSpec &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, OutputSpec &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, Program &, llvm::json::Path);
bool fromJSON(const llvm::json::Value &, Payload &, llvm::json::Path);

/// The serialised enums, which are serde's and not c10's.
std::optional<DType> scalarType(int64_t code);
std::optional<llvm::StringRef> memoryFormat(int64_t code);
std::optional<llvm::StringRef> layout(int64_t code);

/// `T` from `value`; an error says where it differs, `what` naming the value.
template <typename T>
llvm::Expected<T> readAs(const llvm::json::Value &value, llvm::StringRef what);

llvm::Error schemaError(const llvm::json::Path::Root &root);

template <typename T>
llvm::Expected<T> readAs(const llvm::json::Value &value, llvm::StringRef what) {
  T result;
  llvm::json::Path::Root root(what);
  if (!fromJSON(value, result, root))
    return schemaError(root);
  return result;
}

} // namespace tcc::torchexport
