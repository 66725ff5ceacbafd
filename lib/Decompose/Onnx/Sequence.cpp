//===- Sequence.cpp - Sequences and optionals -------------------------------===//
//
// A sequence is a list of values at compile time; its operators are list
// operators and leave nothing behind. Its length must therefore be known, its
// tensors may have any shapes. An optional is a value or nothing, likewise.
// Where the length is only known at run time, the tensors have one rank and the
// sequence is packed (PackedSequence.h).
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/PackedSequence.h"

using namespace mlir;
using namespace tcc;

namespace {

FailureOr<std::vector<Lowered>> sequenceIn(NodeContext &c, size_t i) {
  if (!c.has(i) || c.lowered(i).kind != Lowered::Kind::Sequence || isPacked(c.lowered(i)))
    return c.fail("operand " + llvm::Twine(i) + " is no sequence of known length");
  return c.lowered(i).elements;
}

/// The position in operand i as a constant in [0, end), or `otherwise` when absent.
FailureOr<int64_t> positionIn(NodeContext &c, size_t i, int64_t length, int64_t end,
                              int64_t otherwise) {
  if (!c.has(i))
    return otherwise;
  auto given = hostInt(c, i);
  if (failed(given))
    return failure();
  auto constant = c.b.known(*given);
  if (!constant)
    return c.fail("the position must be a constant");
  int64_t position = *constant < 0 ? *constant + length : *constant;
  if (position < 0 || position >= end)
    return c.fail("position " + llvm::Twine(*constant) + " is outside a sequence of " +
                  llvm::Twine(length));
  return position;
}

LogicalResult construct(NodeContext &c) {
  std::vector<Lowered> elements;
  for (size_t i = 0; i < c.numInputs(); ++i)
    elements.push_back(c.lowered(i));
  return c.give(0, Lowered::sequence(elements));
}

LogicalResult empty(NodeContext &c) {
  Lowered sequence = Lowered::sequence({});
  sequence.elementType = onnxElementType(c.b.context(), c.intAttr("dtype", 1));
  return c.give(0, sequence);
}

LogicalResult insert(NodeContext &c) {
  if (isPacked(c.lowered(0))) {
    if (c.has(2)) {
      auto position = hostInt(c, 2);
      if (failed(position))
        return failure();
      auto longer = packedInsert(c, c.lowered(0), c.in(1), *position);
      return failed(longer) ? failure() : c.give(0, *longer);
    }
    auto longer = packedAppend(c.b, c.lowered(0), c.in(1));
    return longer ? c.give(0, *longer) : c.fail("the elements differ in rank or type");
  }
  auto list = sequenceIn(c, 0);
  if (failed(list))
    return failure();
  int64_t length = list->size();
  auto position = positionIn(c, 2, length, length + 1, length);
  if (failed(position))
    return failure();
  list->insert(list->begin() + *position, c.lowered(1));
  return c.give(0, Lowered::sequence(*list));
}

LogicalResult erase(NodeContext &c) {
  if (isPacked(c.lowered(0))) {
    auto position = c.has(1) ? hostInt(c, 1) : FailureOr<Dim>(c.b.dim(-1));
    if (failed(position))
      return failure();
    auto shorter = packedErase(c, c.lowered(0), *position);
    return failed(shorter) ? failure() : c.give(0, *shorter);
  }
  auto list = sequenceIn(c, 0);
  if (failed(list))
    return failure();
  int64_t length = list->size();
  if (length == 0)
    return c.fail("the sequence is empty");
  auto position = positionIn(c, 1, length, length, length - 1);
  if (failed(position))
    return failure();
  list->erase(list->begin() + *position);
  return c.give(0, Lowered::sequence(*list));
}

LogicalResult at(NodeContext &c) {
  auto given = hostInt(c, 1);
  if (failed(given))
    return failure();
  if (isPacked(c.lowered(0))) {
    auto element = packedAt(c, c.lowered(0), *given);
    return failed(element) ? failure() : c.give(*element);
  }
  auto list = sequenceIn(c, 0);
  if (failed(list))
    return failure();
  PrimBuilder &b = c.b;
  int64_t length = list->size();
  if (b.known(*given) || length == 0) {
    auto position = positionIn(c, 1, length, length, 0);
    return failed(position) ? failure() : c.give(0, (*list)[*position]);
  }
  // A position that is data: a choice among all elements.
  Lowered chosen = list->front();
  for (int64_t i = 1; i < length; ++i) {
    const Lowered &element = (*list)[i];
    if (element.kind != Lowered::Kind::Tensor || chosen.kind != Lowered::Kind::Tensor)
      return c.fail("the position must be a constant");
    auto result = b.branch(
        isNamedAxis(b, *given, i, length), [&] { return SmallVector<Value>{element.value}; },
        [&] { return SmallVector<Value>{chosen.value}; });
    if (!result)
      return c.fail("the position must be a constant: the elements differ in rank");
    chosen = Lowered::tensor((*result)[0]);
  }
  return c.give(0, chosen);
}

LogicalResult length(NodeContext &c) {
  if (isPacked(c.lowered(0)))
    return c.give(scalarOf(c.b, packedLength(c.b, c.lowered(0)), c.b.builder().getI64Type()));
  auto list = sequenceIn(c, 0);
  if (failed(list))
    return failure();
  return c.give(scalarOf(c.b, c.b.dim(list->size()), c.b.builder().getI64Type()));
}

LogicalResult concatFrom(NodeContext &c) {
  if (isPacked(c.lowered(0))) {
    auto all = packedConcat(c, c.lowered(0), c.intAttr("axis", 0), c.intAttr("new_axis", 0));
    return failed(all) ? failure() : c.give(*all);
  }
  auto list = sequenceIn(c, 0);
  if (failed(list))
    return failure();
  PrimBuilder &b = c.b;
  bool newAxis = c.intAttr("new_axis", 0);
  if (list->empty() || list->front().kind != Lowered::Kind::Tensor)
    return c.fail("there is nothing to concatenate");
  int64_t rank = b.rank(list->front().value) + newAxis;
  auto axis = axisWithin(c, c.intAttr("axis", 0), rank);
  if (failed(axis))
    return failure();
  SmallVector<Value> parts;
  for (const Lowered &element : *list) {
    if (element.kind != Lowered::Kind::Tensor || b.rank(element.value) + newAxis != rank)
      return c.fail("the elements differ in rank");
    parts.push_back(newAxis ? b.unsqueeze(element.value, {*axis}) : element.value);
  }
  return c.give(b.concat(parts, *axis));
}

/// Into a number of parts that only the run knows, or that is large.
LogicalResult packedSplit(NodeContext &c, Value x, int64_t axis, Dim size, bool drop) {
  PrimBuilder &b = c.b;
  if (axis != 0 && b.known(size) != 1)
    return c.fail("the number of parts must be known, but for parts of 1 and the first axis");
  if (b.rank(x) > 8)
    return c.fail("has parts of too many axes, in an unknown number");
  b.check(b.compareDims(arith::CmpIPredicate::sgt, size, b.dim(0)), "a part has no extent");
  return c.give(0, packedParts(b, x, axis, size, drop));
}

LogicalResult splitTo(NodeContext &c) {
  auto axis = axisAttr(c, 0);
  if (failed(axis))
    return failure();
  PrimBuilder &b = c.b;
  Value x = c.in(0);
  Dim extent = b.dim(x, *axis);
  Dims sizes;
  bool drop = !c.has(1) && !c.intAttr("keepdims", 1);
  if (c.has(1) && b.rank(c.in(1)) == 1) {
    auto given = hostInts(c, 1);
    if (failed(given))
      return failure();
    sizes = *given;
  } else {
    Dim each = b.dim(1);
    if (c.has(1)) {
      auto given = hostInt(c, 1);
      if (failed(given))
        return failure();
      each = *given;
    }
    auto size = b.known(each), total = b.known(extent);
    constexpr int64_t kMany = 4096;
    if (size && *size < 1)
      return c.fail("has parts of no extent");
    if (!size || !total || *total / *size > kMany)
      return packedSplit(c, x, *axis, each, drop);
    for (int64_t start = 0; start < *total; start += *size)
      sizes.push_back(b.dim(std::min(*size, *total - start)));
  }
  std::vector<Lowered> parts;
  Dim start = b.dim(0);
  for (Dim size : sizes) {
    Value part = b.sliceAxis(x, *axis, start, size);
    parts.push_back(Lowered::tensor(drop ? b.squeeze(part, {*axis}) : part));
    start = b.addDims(start, size);
  }
  if (b.known(start) && b.known(extent) && b.known(start) != b.known(extent))
    return c.fail("the parts do not add up to the axis");
  return c.give(0, Lowered::sequence(parts));
}

LogicalResult map(NodeContext &c) {
  auto list = sequenceIn(c, 0);
  Region *body = c.node.body("body");
  if (failed(list) || !body)
    return c.fail("needs a sequence of known length");
  std::vector<std::vector<Lowered>> results(c.numResults());
  for (size_t i = 0; i < list->size(); ++i) {
    std::vector<Lowered> arguments = {(*list)[i]};
    for (size_t k = 1; k < c.numInputs(); ++k) {
      const Lowered &other = c.lowered(k);
      if (isPacked(other))
        return c.fail("needs sequences of known length");
      if (other.kind == Lowered::Kind::Sequence && other.elements.size() != list->size())
        return c.fail("the sequences differ in length");
      arguments.push_back(other.kind == Lowered::Kind::Sequence ? other.elements[i] : other);
    }
    auto turn = c.inlineBody(*body, arguments);
    if (failed(turn) || turn->size() != c.numResults())
      return c.fail("its body gives the wrong number of values");
    for (size_t k = 0; k < c.numResults(); ++k)
      results[k].push_back((*turn)[k]);
  }
  for (size_t k = 0; k < c.numResults(); ++k)
    (void)c.give(k, Lowered::sequence(results[k]));
  return success();
}

LogicalResult optional(NodeContext &c) {
  return c.give(0, c.numInputs() > 0 ? c.lowered(0) : Lowered());
}

LogicalResult optionalHas(NodeContext &c) {
  return c.give(c.b.scalar(c.has(0) ? 1 : 0, c.b.builder().getI1Type()));
}

LogicalResult optionalGet(NodeContext &c) {
  return c.has(0) ? c.give(0, c.lowered(0)) : c.fail("the optional is empty");
}

} // namespace

void tcc::populateOnnxSequenceRules(RuleSet &rules) {
  static const std::pair<StringRef, LogicalResult (*)(NodeContext &)> kTable[] = {
      {"SequenceConstruct", construct},
      {"SequenceEmpty", empty},
      {"SequenceInsert", insert},
      {"SequenceErase", erase},
      {"SequenceAt", at},
      {"SequenceLength", length},
      {"ConcatFromSequence", concatFrom},
      {"SplitToSequence", splitTo},
      {"SequenceMap", map},
      {"Optional", optional},
      {"OptionalHasElement", optionalHas},
      {"OptionalGetElement", optionalGet}};
  for (auto [op, rule] : kTable)
    rules.add("onnx", op, rule);
}
