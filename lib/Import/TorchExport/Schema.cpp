//===- Schema.cpp - A .pt2's document as C++ -----------------------------===//
//
// The JSON of torch.export is unions within unions. Each is read into a struct with the path in
// hand, so that an error names the place in the file. Ranks are bounded, because the file may be
// anyone's.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/Schema.h"
#include "tcc/Support/Error.h"

using namespace llvm;

namespace tcc::torchexport {

namespace {

constexpr size_t kMaxRank = 64; // PyTorch's own

/// The one member of a union object.
bool readUnion(const json::Value &value, StringRef &kind, const json::Value *&content,
               json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object || object->size() != 1) {
    path.report("expected object with one member");
    return false;
  }
  kind = object->begin()->first;
  content = &object->begin()->second;
  return true;
}

bool readString(const json::Value &value, StringRef &out, json::Path path) {
  if (auto text = value.getAsString()) {
    out = *text;
    return true;
  }
  path.report("expected string");
  return false;
}

const json::Value *member(const json::Value &value, StringRef name, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected object");
    return nullptr;
  }
  const json::Value *found = object->get(name);
  if (!found)
    path.field(name).report("missing value");
  return found;
}

template <typename T> bool read(const json::Value &value, StringRef name, T &out, json::Path path) {
  const json::Value *found = member(value, name, path);
  return found && fromJSON(*found, out, path.field(name));
}

bool readText(const json::Value &value, StringRef name, StringRef &out, json::Path path) {
  const json::Value *found = member(value, name, path);
  return found && readString(*found, out, path.field(name));
}

template <typename T>
bool readList(const json::Value &value, StringRef name, SmallVectorImpl<T> &out, json::Path path) {
  const json::Value *found = member(value, name, path);
  if (!found)
    return false;
  std::vector<T> list;
  if (!llvm::json::fromJSON(*found, list, path.field(name)))
    return false;
  out.assign(list.begin(), list.end());
  return true;
}

/// `{name: T}` into a map.
template <typename T>
bool readMap(const json::Value &value, StringRef name, StringMap<T> &out, json::Path path) {
  const json::Value *found = member(value, name, path);
  if (!found)
    return false;
  const json::Object *object = found->getAsObject();
  if (!object) {
    path.field(name).report("expected object");
    return false;
  }
  for (const auto &[key, entry] : *object)
    if (!fromJSON(entry, out[StringRef(key)], path.field(name).field(key)))
      return false;
  return true;
}

/// The name of a placeholder's or output's target in its spec, by its kind.
StringRef targetField(StringRef kind) {
  return StringSwitch<StringRef>(kind)
      .Cases({"parameter", "parameter_mutation", "gradient_to_parameter"}, "parameter_name")
      .Cases({"buffer", "buffer_mutation"}, "buffer_name")
      .Case("tensor_constant", "tensor_constant_name")
      .Cases({"user_input_mutation", "gradient_to_user_input"}, "user_input_name")
      .Case("custom_obj", "custom_obj_name")
      .Case("constant_input", "name")
      .Default("");
}

/// The argument of a spec: the union itself for user inputs and outputs, a bare
/// tensor argument for the others.
bool readSpec(const json::Value &value, StringRef &kind, StringRef &target, Argument &arg,
              json::Path path) {
  const json::Value *spec;
  if (!readUnion(value, kind, spec, path))
    return false;
  json::Path inner = path.field(kind);
  StringRef field = targetField(kind);
  if (!field.empty() && !readText(*spec, field, target, inner))
    return false;
  if (kind == "constant_input" || kind == "token" || kind == "custom_obj")
    return true;
  if (kind == "user_input" || kind == "user_output")
    return read(*spec, "arg", arg, inner);
  arg.kind = "as_tensor";
  arg.value = member(*spec, "arg", inner);
  return arg.value;
}

} // namespace

bool fromJSON(const json::Value &value, SymInt &out, json::Path path) {
  StringRef kind;
  const json::Value *content;
  if (!readUnion(value, kind, content, path))
    return false;
  if (kind == "as_int") {
    out.value = content->getAsInteger();
    if (!out.value)
      path.field(kind).report("expected integer");
    return out.value.has_value();
  }
  if (kind == "as_expr")
    return readText(*content, "expr_str", out.expr, path.field(kind));
  path.report("expected as_int or as_expr");
  return false;
}

bool fromJSON(const json::Value &value, TensorMeta &out, json::Path path) {
  int64_t code, layoutCode;
  if (!read(value, "dtype", code, path) || !read(value, "layout", layoutCode, path) ||
      !readList(value, "sizes", out.sizes, path) ||
      !readList(value, "strides", out.strides, path) ||
      !read(value, "storage_offset", out.offset, path))
    return false;
  auto dtype = scalarType(code);
  if (!dtype)
    path.field("dtype").report("unsupported element type");
  else if (layout(layoutCode) != "strided")
    path.field("layout").report("unsupported layout (only strided tensors are)");
  else if (out.sizes.size() != out.strides.size())
    path.field("strides").report("expected as many strides as sizes");
  else if (out.sizes.size() > kMaxRank)
    path.field("sizes").report("more than 64 axes");
  else {
    out.dtype = *dtype;
    return true;
  }
  return false;
}

bool fromJSON(const json::Value &value, Argument &out, json::Path path) {
  return readUnion(value, out.kind, out.value, path);
}

bool fromJSON(const json::Value &value, NamedArgument &out, json::Path path) {
  return readText(value, "name", out.name, path) && read(value, "arg", out.arg, path);
}

bool fromJSON(const json::Value &value, Node &out, json::Path path) {
  if (!readText(value, "target", out.target, path) || !read(value, "inputs", out.inputs, path) ||
      !read(value, "outputs", out.outputs, path))
    return false;
  const json::Object &object = *value.getAsObject();
  if (auto name = object.getString("name"))
    out.name = *name;
  if (const json::Object *metadata = object.getObject("metadata"))
    if (auto trace = metadata->getString("stack_trace"))
      out.stackTrace = *trace;
  return true;
}

/// PyTorch 2.11 states the places and the counts of unique values in the type of the values; its
/// kernels give int64, whatever that is.
static void correctIndexTypes(Graph &graph) {
  for (const Node &node : graph.nodes) {
    bool findsUnique = llvm::is_contained({"torch.ops.aten.unique_dim.default",
                                           "torch.ops.aten.unique_consecutive.default",
                                           "torch.ops.aten._unique2.default"},
                                          node.target);
    if (!findsUnique || node.outputs.empty())
      continue;
    for (const Argument &output : ArrayRef(node.outputs).drop_front()) {
      const json::Object *tensor = output.value->getAsObject();
      std::optional<StringRef> name = tensor ? tensor->getString("name") : std::nullopt;
      if (auto found = name ? graph.tensors.find(*name) : graph.tensors.end();
          found != graph.tensors.end())
        found->second.dtype = DType::I64;
    }
  }
}

bool fromJSON(const json::Value &value, Graph &out, json::Path path) {
  if (!read(value, "inputs", out.inputs, path) || !read(value, "outputs", out.outputs, path) ||
      !read(value, "nodes", out.nodes, path) ||
      !readMap(value, "tensor_values", out.tensors, path) ||
      !readMap(value, "sym_int_values", out.integers, path))
    return false;
  correctIndexTypes(out);
  return true;
}

bool fromJSON(const json::Value &value, InputSpec &out, json::Path path) {
  return readSpec(value, out.kind, out.target, out.arg, path);
}

bool fromJSON(const json::Value &value, OutputSpec &out, json::Path path) {
  return readSpec(value, out.kind, out.target, out.arg, path);
}

static bool fromJSON(const json::Value &value, Range &out, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected object");
    return false;
  }
  for (auto [name, bound] : {std::pair("min_val", &out.min), std::pair("max_val", &out.max)}) {
    const json::Value *given = object->get(name);
    if (!given || given->kind() == json::Value::Null)
      continue; // unbounded
    *bound = given->getAsInteger();
    if (!*bound) {
      path.field(name).report("expected integer or null");
      return false;
    }
  }
  return true;
}

bool fromJSON(const json::Value &value, Program &out, json::Path path) {
  const json::Value *version = member(value, "schema_version", path);
  int64_t major;
  if (!version || !read(*version, "major", major, path.field("schema_version")))
    return false;
  if (major != 8) {
    path.field("schema_version").report("unsupported schema version (8 is known)");
    return false;
  }
  const json::Value *module = member(value, "graph_module", path);
  if (!module)
    return false;
  json::Path modulePath = path.field("graph_module");
  const json::Value *signature = member(*module, "signature", modulePath);
  json::Path signaturePath = modulePath.field("signature");
  return signature && read(*module, "graph", out.graph, modulePath) &&
         read(*signature, "input_specs", out.inputs, signaturePath) &&
         read(*signature, "output_specs", out.outputs, signaturePath) &&
         readMap(value, "range_constraints", out.ranges, path) &&
         (!value.getAsObject()->get("guards_code") || read(value, "guards_code", out.guards, path));
}

bool fromJSON(const json::Value &value, Payload &out, json::Path path) {
  if (!readText(value, "path_name", out.path, path) ||
      !read(value, "use_pickle", out.pickled, path))
    return false;
  const json::Value *meta = value.getAsObject()->get("tensor_meta");
  if (!meta || meta->kind() == json::Value::Null)
    return true;
  return fromJSON(*meta, out.meta.emplace(), path.field("tensor_meta"));
}

std::optional<DType> scalarType(int64_t code) {
  switch (code) {
  case 1:
    return DType::U8;
  case 2:
    return DType::I8;
  case 3:
    return DType::I16;
  case 4:
    return DType::I32;
  case 5:
    return DType::I64;
  case 6:
    return DType::F16;
  case 7:
    return DType::F32;
  case 8:
    return DType::F64;
  case 10:
    return DType::C64;
  case 11:
    return DType::C128;
  case 12:
    return DType::Bool;
  case 13:
    return DType::BF16;
  case 28:
    return DType::U16;
  case 29:
    return DType::F8E4M3FN;
  case 30:
    return DType::F8E5M2;
  case 31:
    return DType::F8E4M3FNUZ;
  case 32:
    return DType::F8E5M2FNUZ;
  case 33:
    return DType::F8E8M0FNU;
  case 34:
    return DType::U32;
  case 35:
    return DType::U64;
  default:
    return std::nullopt;
  }
}

std::optional<StringRef> memoryFormat(int64_t code) {
  static constexpr StringLiteral names[] = {"unknown", "contiguous_format", "channels_last",
                                            "channels_last_3d", "preserve_format"};
  if (code < 0 || code >= static_cast<int64_t>(std::size(names)))
    return std::nullopt;
  return names[code];
}

std::optional<StringRef> layout(int64_t code) {
  static constexpr StringLiteral names[] = {"unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
                                            "sparse_bsr", "sparse_bsc", "mkldnn",     "strided"};
  if (code < 0 || code >= static_cast<int64_t>(std::size(names)))
    return std::nullopt;
  return names[code];
}

Error schemaError(const json::Path::Root &root) {
  return userError(printable(toString(root.getError())));
}

} // namespace tcc::torchexport
