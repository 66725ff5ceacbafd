//===- Symbolic.cpp - Numbers that the graph computes, and control flow ---===//
//
// Sizes and what Python computes of them are rank-0 tensors whose elements are
// host scalars, so all of this is folded into index arithmetic.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using P = prim::ComparePredicate;

namespace {

LogicalResult size(AtenNode &a) {
  Value x = a.tensor("self");
  auto axis = a.axis("dim", 0, a.b.rank(x));
  if (failed(axis) || a.b.rank(x) == 0)
    return a.fail("needs an axis");
  return a.giveExtent(a.b.dim(x, *axis));
}

LogicalResult elementCount(AtenNode &a) {
  return a.giveExtent(a.b.productOf(a.b.dims(a.tensor("self"))));
}

/// Every tensor lies by itself, so that what is counted from its storage is counted from it.
LogicalResult storageOffset(AtenNode &a) { return a.giveExtent(a.b.dim(0)); }

template <typename Op> LogicalResult arithmetic(AtenNode &a) {
  Value x = a.number("a", a.own()), y = a.number("b", a.own());
  return x && y ? a.give(a.b.binary<Op>(x, y)) : a.fail("an operand is no number");
}

template <P predicate> LogicalResult compare(AtenNode &a) {
  Type t = a.promoted({"a", "b"});
  Value x = a.number("a", t), y = a.number("b", t);
  return x && y ? a.give(a.b.compare(predicate, x, y)) : a.fail("an operand is no number");
}

LogicalResult negate(AtenNode &a) {
  Value x = a.number("a", a.own());
  return x ? a.give(a.b.neg(x)) : a.fail("the operand is no number");
}

LogicalResult logicalNot(AtenNode &a) {
  Value x = a.number("a", a.b.builder().getI1Type());
  return x ? a.give(a.b.logicalNot(x)) : a.fail("the operand is no number");
}

/// sym_int, sym_float, trunc, ceil, floor: `a` or `x` in the result's type.
template <typename Op> LogicalResult convert(AtenNode &a) {
  StringRef name = a.has("a") ? "a" : "x";
  Value v = a.tensor(name);
  Type t = v ? a.b.elem(v) : a.promoted({name});
  v = a.number(name, t);
  if (!v)
    return a.fail("the operand is no number");
  if constexpr (!std::is_void_v<Op>)
    if (isa<FloatType>(t))
      v = a.b.unary<Op>(v);
  return a.give(v);
}

LogicalResult squareRoot(AtenNode &a) {
  Value x = a.number("a", a.own());
  return x ? a.give(a.b.sqrt(x)) : a.fail("the operand is no number");
}

LogicalResult choose(AtenNode &a) {
  Value c = a.number("b", a.b.builder().getI1Type());
  Value x = a.number("t", a.own()), y = a.number("f", a.own());
  return c && x && y ? a.give(a.b.select(c, x, y)) : a.fail("an operand is no number");
}

/// A one-element tensor as a number.
LogicalResult item(AtenNode &a) {
  Value x = a.tensor("self");
  auto count = a.b.known(a.b.productOf(a.b.dims(x)));
  if (count && *count != 1)
    return a.fail("the tensor has " + llvm::Twine(*count) + " elements");
  return a.give(a.b.reshape(x, ArrayRef<int64_t>{}));
}

LogicalResult assertHolds(AtenNode &a, StringRef name) {
  Value x = a.number(name, a.b.builder().getI1Type());
  if (!x || !a.b.type(x).hasStaticShape() || a.b.type(x).getNumElements() != 1)
    return a.fail("the condition is no number");
  StringRef message = a.text("assert_msg", "a check of the model fails");
  a.b.check(a.b.readElements(x)[0], message.substr(0, 500));
  return success();
}
/// A type is no value: whatever reads it was told when the program was exported.
LogicalResult constantType(AtenNode &) { return success(); }

LogicalResult assertScalar(AtenNode &a) { return assertHolds(a, "self"); }

} // namespace

void tcc::populateAtenSymbolicRules(RuleSet &rules) {
  addRules(rules, {{"sym_size", "int", "self", size},
                   {"sym_numel", "default", "self", elementCount},
                   {"numel", "default", "self", elementCount},
                   {"sym_storage_offset", "default", "self", storageOffset},
                   {"item", "default", "self", item},
                   {"_local_scalar_dense", "default", "self", item},
                   {"result_type", "Tensor Scalar Scalar_Tensor Scalar_Scalar", "", constantType},
                   {"_assert_scalar", "default", "", assertScalar},
                   {"_assert_async", "default msg", "self", assertScalar}});
  addRules(rules,
           {{"add", "", "", arithmetic<prim::AddOp>},
            {"sub", "", "", arithmetic<prim::SubOp>},
            {"mul", "", "", arithmetic<prim::MulOp>},
            {"floordiv", "", "", arithmetic<prim::FloorDivOp>},
            {"mod", "", "", arithmetic<prim::ModOp>},
            {"truediv", "", "", arithmetic<prim::DivOp>},
            {"pow", "", "", arithmetic<prim::PowOp>},
            {"and_", "", "", arithmetic<prim::AndOp>},
            {"or_", "", "", arithmetic<prim::OrOp>},
            {"xor", "", "", arithmetic<prim::XorOp>},
            {"lshift", "", "", arithmetic<prim::ShiftLeftOp>},
            {"rshift", "", "", arithmetic<prim::ShiftRightOp>},
            {"neg", "", "", negate},
            {"pos", "", "", convert<void>},
            {"eq", "", "", compare<P::eq>},
            {"ne", "", "", compare<P::ne>},
            {"lt", "", "", compare<P::lt>},
            {"le", "", "", compare<P::le>},
            {"gt", "", "", compare<P::gt>},
            {"ge", "", "", compare<P::ge>}},
           "_operator");
  addRules(rules,
           {{"sym_max", "", "", arithmetic<prim::MaximumOp>},
            {"sym_min", "", "", arithmetic<prim::MinimumOp>},
            {"sym_not", "", "", logicalNot},
            {"sym_int", "", "", convert<prim::TruncOp>},
            {"sym_float", "", "", convert<void>},
            {"sym_ite", "", "", choose},
            {"sym_sqrt", "", "", squareRoot}},
           "torch");
  addRules(rules,
           {{"trunc", "", "", convert<prim::TruncOp>},
            {"ceil", "", "", convert<prim::CeilOp>},
            {"floor", "", "", convert<prim::FloorOp>}},
           "math");
  addRules(rules, {{"round", "", "", convert<prim::RoundOp>}}, "builtins");
}
