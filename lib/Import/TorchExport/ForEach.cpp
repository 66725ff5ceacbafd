//===- ForEach.cpp - Operators on lists of tensors --------------------------===//
//
// `_foreach_mul_.ScalarList([a, b], [2, 3])` is `mul_.Scalar(a, 2)` and `mul_.Scalar(b, 3)`, in
// this order: PyTorch's optimizers call such operators where a GPU computes all of a list in one
// launch. What a list has at a place goes to the node of that place, what is no list to each.
// Arguments keep their names where the operator on one tensor has them, and their places where it
// does not. The step of an optimizer (`_fused_adam_`) keeps its name: its rule is that of one
// tensor, and a list of a state that it does not have is empty.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/GraphImporter.h"
#include "Import/TorchExport/OpSchemas.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tcc::torchexport {

/// The operator on one tensor: its target in the functional form, for one of lists as
/// "clamp_max.ScalarList".
static std::string eachTarget(StringRef target) {
  StringRef same = llvm::StringSwitch<StringRef>(target)
                       .Cases({"maximum.Scalar", "maximum.ScalarList"}, "clamp_min.default")
                       .Cases({"minimum.Scalar", "minimum.ScalarList"}, "clamp_max.default")
                       .Case("norm.Scalar", "linalg_vector_norm.default")
                       .Case("powsum.Scalar", "linalg__powsum.default")
                       .Case("pow.ScalarAndTensor", "pow.Scalar")
                       .Cases({"pow.Scalar", "pow.ScalarList"}, "pow.Tensor_Scalar")
                       .Case("pow.List", "pow.Tensor_Tensor")
                       .Default("");
  if (!same.empty())
    return same.str();
  auto [op, overload] = target.split('.');
  bool numbers = overload.starts_with("Scalar");
  StringRef one = llvm::StringSwitch<StringRef>(op)
                      .Cases({"clamp_min", "clamp_max"}, numbers ? "default" : "Tensor")
                      .Cases({"maximum", "minimum", "addcmul", "addcdiv"}, "default")
                      .Default(overload == "default" ? "default"
                               : numbers             ? "Scalar"
                                                     : "Tensor");
  return (op + "." + one).str();
}

/// The kind of an element of a list, or none where the argument is no list.
static StringRef elementKind(StringRef kind) {
  return llvm::StringSwitch<StringRef>(kind)
      .Case("as_tensors", "as_tensor")
      .Case("as_ints", "as_int")
      .Case("as_floats", "as_float")
      .Case("as_bools", "as_bool")
      .Case("as_sym_ints", "as_sym_int")
      .Default("");
}

/// One number of a vector of them.
llvm::Expected<AliasTracker::Id> GraphImporter::elementOf(Scope &scope, Location loc,
                                                          StringRef vector, int64_t i) {
  auto id = lookup(scope, vector);
  if (!id)
    return id.takeError();
  Value from = scope.aliases.read(b, *id);
  auto type = dyn_cast<RankedTensorType>(from.getType());
  if (!type || type.getRank() != 1)
    return userError("needs a vector of numbers");
  Draft draft{"aten", "select.int", loc};
  draft.operandIds = {*id};
  draft.operands = {from};
  draft.attrs = {b.getNamedAttr("self", graph::OperandAttr::get(b.getContext(), 0)),
                 b.getNamedAttr("dim", b.getI64IntegerAttr(0)),
                 b.getNamedAttr("index", b.getI64IntegerAttr(i))};
  draft.outs = {""};
  draft.types = {RankedTensorType::get({}, type.getElementType())};
  return scope.aliases.define(create(draft).getResult(0));
}

bool GraphImporter::isOfLists(StringRef op, const Node &node) {
  return op.starts_with("_foreach_") || (op.starts_with("_fused_") && !node.inputs.empty() &&
                                         !elementKind(node.inputs.front().arg.kind).empty());
}

llvm::Error GraphImporter::importForEach(Scope &scope, const Node &node) {
  StringRef target = node.target;
  target.consume_front("torch.ops.aten.");
  auto inPlace = inPlaceSemantics(target);
  if (inPlace && inPlace->isOut)
    return userError("this operator is not supported: it writes to lists of tensors (out=)");
  StringRef lists = inPlace ? StringRef(inPlace->functional) : target;
  SmallVector<StringRef> names = argumentNames(lists);
  bool isStep = !lists.consume_front("_foreach_");
  std::string single = isStep ? lists.str() : eachTarget(lists);
  SmallVector<StringRef> singleNames = argumentNames(single);
  if (names.empty() || singleNames.empty())
    return userError("this operator is not supported");
  if (inPlace)
    single.insert(single.find('.'), "_");
  std::optional<size_t> count;
  auto counts = [&](const Argument &argument) {
    if (elementKind(argument.kind).empty())
      return true;
    const llvm::json::Array *list = argument.value->getAsArray();
    if (isStep && list && list->empty())
      return true;
    bool fits = list && count.value_or(list->size()) == list->size();
    if (list)
      count = list->size();
    return fits;
  };
  for (const NamedArgument &input : node.inputs)
    if (!counts(input.arg))
      return userError("its lists are of different lengths");
  for (const Argument &output : node.outputs)
    if (!counts(output))
      return userError("has another number of results than its lists have tensors");
  for (size_t i = 0; i < count.value_or(0); ++i) {
    Node each = node;
    std::string whole = "torch.ops.aten." + single;
    each.target = whole;
    auto pick = [&](Argument &argument) {
      StringRef kind = elementKind(argument.kind);
      const auto *list = kind.empty() ? nullptr : argument.value->getAsArray();
      if (list && !list->empty())
        argument = {kind, &(*list)[i]};
    };
    llvm::json::Value element = nullptr;
    for (NamedArgument &input : each.inputs) {
      pick(input.arg);
      size_t place = llvm::find(names, input.name) - names.begin();
      // A vector has a number for each tensor.
      if (input.name == "scalars" && input.arg.kind == "as_tensor") {
        StringRef vector = referredName(*input.arg.value).value_or("");
        auto id = elementOf(scope, sourceLocation(b.getContext(), node), vector, i);
        if (!id)
          return id.takeError();
        std::string name = (vector + "[" + llvm::Twine(i) + "]").str();
        scope.names[name] = *id;
        element = llvm::json::Object{{"name", name}};
        input.arg.value = &element;
      }
      if (!llvm::is_contained(singleNames, input.name) && place < singleNames.size())
        input.name = singleNames[place];
    }
    llvm::erase_if(each.outputs, [](const Argument &output) {
      return output.kind == "as_tensors" && output.value->getAsArray()->empty();
    });
    for (Argument &output : each.outputs)
      pick(output);
    if (llvm::Error error = importNode(scope, each))
      return error;
  }
  return llvm::Error::success();
}

} // namespace tcc::torchexport
