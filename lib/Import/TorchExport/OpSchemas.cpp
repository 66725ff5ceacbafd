//===- OpSchemas.cpp - What operators of ATen take ------------------------------===//
//
// Rules look for the arguments that they know by name; one that nobody asks for
// would change nothing without a word, and one of another kind would pass for the
// default. So every node of ATen is held against PyTorch's own schema, as ONNX
// nodes are against ONNX's. AtenSchemas.inc has those of all functional operators,
// in PyTorch's notation: `Tensor self, int[1]? dim, *, ScalarType? dtype=None`.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/OpSchemas.h"
#include "Import/TorchExport/OpSemantics.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace tcc::torchexport {

namespace {

struct AtenSchema {
  StringLiteral name;
  unsigned results;
  StringLiteral arguments;
};

constexpr AtenSchema kSchemas[] = {
#define ATEN_SCHEMA(name, results, arguments) {name, results, arguments},
#include "AtenSchemas.inc"
#undef ATEN_SCHEMA
};

const AtenSchema *findSchema(StringRef target) {
  const auto *it =
      std::lower_bound(std::begin(kSchemas), std::end(kSchemas), target,
                       [](const AtenSchema &schema, StringRef name) { return schema.name < name; });
  return it != std::end(kSchemas) && it->name == target ? it : nullptr;
}

struct Formal {
  StringRef name, type; ///< type: "Tensor", "SymInt[]", .. without its "?"
  bool optional = false, hasDefault = false;
};

/// Splits "Tensor self, int[1]? dim=[0, 1], *, ..", where a default may hold commas.
SmallVector<Formal> parseFormals(StringRef text) {
  SmallVector<Formal> formals;
  while (!text.empty()) {
    unsigned depth = 0;
    size_t end = 0;
    for (; end < text.size() && (depth || text[end] != ','); ++end)
      depth += (text[end] == '[') - (text[end] == ']');
    StringRef item = text.take_front(end).trim();
    text = text.drop_front(std::min(end + 1, text.size()));
    if (item == "*")
      continue;
    auto [declared, otherwise] = item.split('=');
    Formal formal;
    std::tie(formal.type, formal.name) = declared.rsplit(' ');
    formal.hasDefault = !otherwise.empty();
    formal.optional = formal.type.consume_back("?");
    formals.push_back(formal);
  }
  return formals;
}

/// What a value of the file can be used as, by its kind.
enum Use : unsigned {
  Number = 1, // int, float, bool, complex, symbolic or not
  Integer = 2,
  Real = 4,
  Truth = 8,
  Tensor = 16,
  Text = 32,
  List = 64,
  Code = 128, // a dtype, layout, memory format or device
  Any = ~0u,
};

unsigned usesOf(StringRef kind) {
  return StringSwitch<unsigned>(kind)
      .Cases({"as_int", "as_sym_int"}, Number | Integer | Real | Truth)
      .Cases({"as_float", "as_sym_float"}, Number | Real)
      .Cases({"as_bool", "as_sym_bool"}, Number | Truth)
      .Case("as_complex", Number)
      .Cases({"as_tensor", "as_optional_tensor"}, Tensor)
      .Cases({"as_string", "as_operator"}, Text)
      .Cases({"as_scalar_type", "as_layout", "as_memory_format", "as_device"}, Code)
      .Cases({"as_tensors", "as_optional_tensors", "as_ints", "as_sym_ints", "as_floats"}, List)
      .Cases({"as_bools", "as_strings", "as_int_lists", "as_float_lists"}, List)
      .Default(Any);
}

/// A tensor of rank 0 passes for a number, a number for a tensor and for a list of one.
unsigned usesThatFit(StringRef type) {
  if (type.ends_with("]"))
    return type.starts_with("Tensor") ? List | Tensor : List | Number | Tensor;
  return StringSwitch<unsigned>(type)
      .Case("Tensor", Tensor | Number)
      .Cases({"int", "SymInt"}, Integer | Tensor)
      .Case("float", Real | Tensor)
      .Case("bool", Truth | Tensor)
      .Case("Scalar", Number | Tensor)
      .Case("str", Text)
      .Cases({"ScalarType", "Layout", "MemoryFormat", "Device"}, Code)
      .Default(Any);
}

std::string describe(StringRef kind) {
  kind.consume_front("as_");
  return kind == "none" ? "None" : "'" + printable(kind) + "'";
}

std::string checkGiven(const NamedArgument &given, ArrayRef<Formal> formals, StringRef op) {
  if (given.name.empty())
    return "an argument has no name";
  const Formal *formal = find_if(formals, [&](const Formal &f) { return f.name == given.name; });
  if (formal == formals.end())
    return "there is no argument '" + printable(given.name) + "' in " + op.str();
  bool isNone = given.arg.kind == "as_none";
  bool fits = isNone ? formal->optional : usesOf(given.arg.kind) & usesThatFit(formal->type);
  return fits ? ""
              : "argument '" + printable(given.name) + "' is " + describe(given.arg.kind) +
                    " and must be of type " + formal->type.str();
}

} // namespace

SmallVector<StringRef> argumentNames(StringRef target) {
  SmallVector<StringRef> names;
  if (const AtenSchema *schema = findSchema(target))
    for (const Formal &formal : parseFormals(schema->arguments))
      names.push_back(formal.name);
  return names;
}

std::string checkArguments(StringRef domain, StringRef target, const Node &node) {
  std::string op = (domain + "." + target).str();
  if (domain == "_operator") {
    for (const NamedArgument &given : node.inputs)
      if (given.name != "a" && given.name != "b" && !given.name.empty())
        return "there is no argument '" + printable(given.name) + "' in " + printable(op);
    return node.inputs.size() > 2 ? "has more than two arguments" : "";
  }
  std::string functional = target.str();
  auto inPlace = domain == "aten" ? inPlaceSemantics(target) : std::nullopt;
  if (inPlace)
    functional = inPlace->functional;
  const AtenSchema *schema = domain == "aten" ? findSchema(functional) : nullptr;
  if (!schema)
    return "";
  SmallVector<Formal> formals = parseFormals(schema->arguments);
  for (const NamedArgument &given : node.inputs) {
    if (inPlace && (inPlace->argument == given.name || is_contained(inPlace->others, given.name)))
      continue;
    if (std::string why = checkGiven(given, formals, op); !why.empty())
      return why;
  }
  // What dropout_ changes is called "self", what dropout takes "input".
  bool renamed =
      inPlace && inPlace->argument == "self" && !formals.empty() &&
      none_of(formals, [&](const Formal &formal) { return formal.name == inPlace->argument; });
  for (const Formal &formal : drop_begin(formals, renamed ? 1 : 0))
    if (!formal.hasDefault &&
        none_of(node.inputs, [&](const NamedArgument &given) { return given.name == formal.name; }))
      return "argument '" + formal.name.str() + "' is missing";
  if (node.outputs.size() > schema->results)
    return "has " + std::to_string(node.outputs.size()) + " results, but " + op + " gives " +
           std::to_string(schema->results);
  return "";
}

} // namespace tcc::torchexport
