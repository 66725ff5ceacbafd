//===- Arguments.cpp - Node arguments and outputs -------------------------===//
//
// Every alternative of the schema's Argument union becomes an attribute; what
// refers to a value becomes an operand and `#graph.operand<i>` in its place.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/GraphImporter.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringSwitch.h"
#include <limits>

using namespace mlir;

namespace tcc::torchexport {

namespace {

enum class Scalar {
  None,
  Int,
  Float,
  Bool,
  String,
  DTypeCode,
  MemoryFormatCode,
  LayoutCode,
  Device
};

Scalar scalarKind(StringRef kind) {
  return llvm::StringSwitch<Scalar>(kind)
      .Cases({"as_int", "as_ints", "as_int_lists"}, Scalar::Int)
      .Cases({"as_float", "as_floats", "as_float_lists"}, Scalar::Float)
      .Cases({"as_bool", "as_bools"}, Scalar::Bool)
      .Cases({"as_string", "as_strings", "as_operator"}, Scalar::String)
      .Case("as_scalar_type", Scalar::DTypeCode)
      .Case("as_memory_format", Scalar::MemoryFormatCode)
      .Case("as_layout", Scalar::LayoutCode)
      .Case("as_device", Scalar::Device)
      .Default(Scalar::None);
}

/// JSON has no infinities: they are text.
std::optional<double> readFloat(const llvm::json::Value &value) {
  if (auto number = value.getAsNumber())
    return *number;
  auto text = value.getAsString();
  if (!text)
    return std::nullopt;
  constexpr double inf = std::numeric_limits<double>::infinity();
  return llvm::StringSwitch<std::optional<double>>(*text)
      .Case("Infinity", inf)
      .Case("-Infinity", -inf)
      .Case("NaN", std::numeric_limits<double>::quiet_NaN())
      .Default(std::nullopt);
}

/// One number, text or enum code, or null when it is not of its kind.
Attribute scalarAttr(OpBuilder &b, Scalar kind, const llvm::json::Value &value) {
  auto text = [&](std::optional<StringRef> s) -> Attribute {
    return s ? b.getStringAttr(*s) : Attribute();
  };
  auto code = value.getAsInteger();
  switch (kind) {
  case Scalar::Int:
    return code ? b.getI64IntegerAttr(*code) : Attribute();
  case Scalar::Float: {
    auto number = readFloat(value);
    return number ? b.getF64FloatAttr(*number) : Attribute();
  }
  case Scalar::Bool: {
    auto truth = value.getAsBoolean();
    return truth ? b.getBoolAttr(*truth) : Attribute();
  }
  case Scalar::String:
    return text(value.getAsString());
  case Scalar::DTypeCode: {
    auto dtype = code ? scalarType(*code) : std::nullopt;
    return dtype ? text(dtypeName(*dtype)) : Attribute();
  }
  case Scalar::MemoryFormatCode:
    return code ? text(memoryFormat(*code)) : Attribute();
  case Scalar::LayoutCode:
    return code ? text(layout(*code)) : Attribute();
  case Scalar::Device: {
    const llvm::json::Object *device = value.getAsObject();
    return device ? text(device->getString("type")) : Attribute();
  }
  case Scalar::None:
    break;
  }
  return {};
}

llvm::Error malformed(const Argument &argument) {
  return userError("a malformed argument '" + printable(argument.kind) + "'");
}

} // namespace

std::optional<StringRef> referredName(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return std::nullopt;
  if (auto name = object->getString("name"))
    return name;
  return object->getString("as_name");
}

llvm::Expected<Attribute> GraphImporter::operandRef(Scope &scope, StringRef name, Draft &draft) {
  auto id = lookup(scope, name);
  if (!id)
    return id.takeError();
  auto known = llvm::find(draft.operandIds, *id);
  unsigned index = known - draft.operandIds.begin();
  if (known == draft.operandIds.end()) {
    draft.operandIds.push_back(*id);
    draft.operands.push_back(scope.aliases.read(b, *id));
  }
  return graph::OperandAttr::get(b.getContext(), index);
}

/// Lists, also of lists and of values mixed with numbers.
llvm::Expected<Attribute> GraphImporter::convertList(Scope &scope, const Argument &argument,
                                                     Draft &draft) {
  const llvm::json::Array *array = argument.value->getAsArray();
  if (!array)
    return malformed(argument);
  Scalar scalar = scalarKind(argument.kind);
  SmallVector<Attribute> list;
  for (const llvm::json::Value &element : *array) {
    Attribute attr;
    if (element.getAsArray()) {
      auto inner = convertList(scope, {argument.kind, &element}, draft);
      if (!inner)
        return inner.takeError();
      attr = *inner;
    } else if (scalar != Scalar::None) {
      attr = scalarAttr(b, scalar, element);
    } else if (auto name = referredName(element)) {
      auto ref = operandRef(scope, *name, draft);
      if (!ref)
        return ref.takeError();
      attr = *ref;
    } else {
      // A union: an optional tensor, or a number among symbolic ones.
      Argument inner;
      llvm::json::Path::Root root;
      if (!fromJSON(element, inner, root))
        return malformed(argument);
      auto converted = convert(scope, inner, draft);
      if (!converted)
        return converted.takeError();
      attr = *converted;
    }
    if (!attr)
      return malformed(argument);
    list.push_back(attr);
  }
  return b.getArrayAttr(list);
}

llvm::Expected<Attribute> GraphImporter::convert(Scope &scope, const Argument &argument,
                                                 Draft &draft) {
  const llvm::json::Value &value = *argument.value;
  StringRef kind = argument.kind;
  if (kind == "as_none")
    return b.getUnitAttr();
  if (kind == "as_tensor") {
    auto name = referredName(value);
    return name ? operandRef(scope, *name, draft) : malformed(argument);
  }
  static constexpr StringLiteral unions[] = {"as_sym_int", "as_sym_bool", "as_sym_float",
                                             "as_optional_tensor"};
  if (llvm::is_contained(unions, kind)) {
    if (auto name = referredName(value))
      return operandRef(scope, *name, draft);
    Argument inner;
    llvm::json::Path::Root root;
    if (!fromJSON(value, inner, root) || llvm::is_contained(unions, inner.kind))
      return malformed(argument);
    return convert(scope, inner, draft);
  }
  if (value.getAsArray())
    return convertList(scope, argument, draft);
  if (Attribute attr = scalarAttr(b, scalarKind(kind), value))
    return attr;
  if (kind == "as_complex") {
    const llvm::json::Object *parts = value.getAsObject();
    const llvm::json::Value *re = parts ? parts->get("real") : nullptr;
    const llvm::json::Value *im = parts ? parts->get("imag") : nullptr;
    auto real = re ? readFloat(*re) : std::nullopt, imag = im ? readFloat(*im) : std::nullopt;
    if (real && imag)
      return b.getDictionaryAttr({b.getNamedAttr("real", b.getF64FloatAttr(*real)),
                                  b.getNamedAttr("imag", b.getF64FloatAttr(*imag))});
  }
  if (kind == "as_custom_obj")
    return userError("custom objects (torchbind) are not supported");
  if (kind.starts_with("as_") && scalarKind(kind) == Scalar::None && kind != "as_complex")
    return userError("an argument of the unknown kind '" + printable(kind) + "'");
  return malformed(argument);
}

/// The name of argument i of a higher-order operator, or of one called through it:
/// files leave it out. Empty where the operator is none of these; nothing where it
/// takes no such argument.
static std::optional<StringRef> positional(StringRef target, size_t i) {
  using Names = std::array<StringRef, 4>;
  Names names =
      llvm::StringSwitch<Names>(target)
          .Case("cond", {"pred", "true_graph", "false_graph", "operands"})
          .Case("while_loop", {"cond_fn", "body_fn", "carried_inputs", "additional_inputs"})
          .Case("scan", {"combine_fn", "init", "xs", "additional_inputs"})
          .Case("associative_scan", {"combine_fn", "xs", "additional_inputs", ""})
          .Case("map_impl", {"f", "xs", "pos_args", ""})
          .Case("_linalg_check_errors.default", {"info", "api_name", "is_matrix", ""})
          .Default({});
  if (names[0].empty())
    return "";
  return i < names.size() && !names[i].empty() ? std::optional(names[i]) : std::nullopt;
}

/// Operators whose factors are those of the transposed matrix if its rows lie one behind another.
static bool tellsOrder(StringRef domain, StringRef target) {
  return domain == "aten" &&
         (target == "_linalg_det.default" || target == "_linalg_slogdet.default");
}

/// Whether the elements of a tensor lie row by row, where the file says how they lie.
static bool liesByRows(Shapes &shapes, const Scope &scope, const Argument &argument) {
  auto name = argument.kind == "as_tensor" ? referredName(*argument.value) : std::nullopt;
  auto known = name ? scope.graph.tensors.find(*name) : scope.graph.tensors.end();
  return known == scope.graph.tensors.end() || shapes.isContiguous(known->getValue());
}

llvm::Error GraphImporter::readArguments(Scope &scope, const Node &node, Draft &draft) {
  for (auto [i, input] : llvm::enumerate(node.inputs)) {
    auto place = positional(draft.target, i);
    if (input.name.empty() && !place)
      return userError("has " + llvm::Twine(node.inputs.size()) + " arguments, more than it takes");
    std::string name = !input.name.empty() ? input.name.str()
                       : !place->empty()   ? place->str()
                                           : "arg" + std::to_string(i);
    if (input.arg.kind == "as_graph") {
      const llvm::json::Object *object = input.arg.value->getAsObject();
      const llvm::json::Value *body = object ? object->get("graph") : nullptr;
      if (!body)
        return malformed(input.arg);
      auto graph = readAs<Graph>(*body, "subgraph");
      if (!graph)
        return graph.takeError();
      if (llvm::Error error = shapes.check(*graph))
        return error;
      draft.graphs.emplace_back(name, std::make_unique<Graph>(std::move(*graph)));
      continue;
    }
    auto attr = convert(scope, input.arg, draft);
    if (!attr)
      return userError("argument '" + printable(name) + "': " + toString(attr.takeError()));
    if (draft.attr(name))
      return userError("argument '" + printable(name) + "' is there twice");
    draft.attrs.push_back(b.getNamedAttr(name, *attr));
    if (name == "A" && tellsOrder(draft.domain, draft.target))
      draft.attrs.push_back(
          b.getNamedAttr("by_rows", b.getBoolAttr(liesByRows(shapes, scope, input.arg))));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

llvm::Error GraphImporter::addOutput(Scope &scope, const Argument &output, Draft &draft) {
  auto add = [&](StringRef name, Type type) {
    draft.outs.push_back(name.str());
    draft.types.push_back(type);
  };
  StringRef kind = output.kind;
  if (kind == "as_none") {
    add("", NoneType::get(b.getContext()));
    return llvm::Error::success();
  }
  if (kind == "as_tensors" || kind == "as_optional_tensors") {
    const llvm::json::Array *array = output.value->getAsArray();
    if (!array)
      return malformed(output);
    for (const llvm::json::Value &element : *array) {
      Argument inner{"as_tensor", &element};
      llvm::json::Path::Root root;
      if (kind == "as_optional_tensors" && !fromJSON(element, inner, root))
        return malformed(output);
      if (llvm::Error error = addOutput(scope, inner, draft))
        return error;
    }
    return llvm::Error::success();
  }
  if (kind == "as_optional_tensor") {
    Argument inner;
    llvm::json::Path::Root root;
    if (!fromJSON(*output.value, inner, root) || inner.kind == kind)
      return malformed(output);
    return addOutput(scope, inner, draft);
  }
  auto name = referredName(*output.value);
  if (kind == "as_tensor") {
    if (!name)
      return malformed(output);
    auto type = typeOf(scope, *name);
    if (!type)
      return type.takeError();
    add(*name, *type);
    return llvm::Error::success();
  }
  Type element = llvm::StringSwitch<Type>(kind)
                     .Cases({"as_sym_int", "as_int"}, b.getI64Type())
                     .Cases({"as_sym_float", "as_float"}, b.getF64Type())
                     .Cases({"as_sym_bool", "as_bool"}, b.getI1Type())
                     .Default(Type());
  if (!element)
    return userError("an output of the unknown kind '" + printable(kind) + "'");
  add(name.value_or(""), RankedTensorType::get({}, element));
  return llvm::Error::success();
}

llvm::Error GraphImporter::readOutputs(Scope &scope, const Node &node, Draft &draft) {
  for (const Argument &output : node.outputs)
    if (llvm::Error error = addOutput(scope, output, draft))
      return error;
  return llvm::Error::success();
}

Value GraphImporter::literal(const Argument &argument) {
  Scalar kind = scalarKind(argument.kind);
  Attribute value = scalarAttr(b, kind, *argument.value);
  Type element = kind == Scalar::Int     ? Type(b.getI64Type())
                 : kind == Scalar::Float ? Type(b.getF64Type())
                 : kind == Scalar::Bool  ? Type(b.getI1Type())
                                         : Type();
  if (!value || !element)
    return {};
  auto dtype = b.getStringAttr(dtypeName(*prim::dtypeOf(element)));
  return makeAten(b, b.getUnknownLoc(), "scalar_tensor.default", {},
                  {b.getNamedAttr("s", value), b.getNamedAttr("dtype", dtype)},
                  RankedTensorType::get({}, element))
      .getResult(0);
}

llvm::Expected<Value> GraphImporter::outputValue(Scope &scope, const Argument &argument) {
  if (auto name = referredName(*argument.value))
    return read(scope, *name);
  if (argument.kind == "as_sym_int" || argument.kind == "as_sym_float" ||
      argument.kind == "as_sym_bool") {
    Argument inner;
    llvm::json::Path::Root root;
    if (!fromJSON(*argument.value, inner, root))
      return malformed(argument);
    return literal(inner);
  }
  return literal(argument);
}

} // namespace tcc::torchexport
