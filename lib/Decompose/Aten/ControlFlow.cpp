//===- ControlFlow.cpp - torch's higher-order operators -------------------===//
//
// Their subgraphs are decomposed where they stand: into the branches of a
// condition, or the body of a loop. A map and a scan are loops over the first
// axis whose results grow in tensors that the loop carries; the first turn stands
// before the loop, since it tells their extents. Those of open extent have a turn
// that nobody needs there instead: they may go over no rows.
// What torch.func.jvp differentiates has its tangents behind its nodes (Idioms/ForwardMode.h).
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Aten/AtenNode.h"
#include "Decompose/Idioms/ForwardMode.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::aten;
using Cmp = arith::CmpIPredicate;

namespace {

std::optional<SmallVector<Value>> tensorsOf(const FailureOr<std::vector<Lowered>> &list) {
  if (failed(list))
    return std::nullopt;
  SmallVector<Value> values;
  for (const Lowered &l : *list) {
    if (l.kind != Lowered::Kind::Tensor)
      return std::nullopt;
    values.push_back(l.value);
  }
  return values;
}

/// A rank-0 bool as a host condition.
FailureOr<Dim> conditionOf(AtenNode &a, Value v) {
  if (!v || !a.b.type(v).hasStaticShape() || a.b.type(v).getNumElements() != 1)
    return a.fail("the condition is not one element");
  return a.b.readElements(a.cast(v, a.b.builder().getI1Type()))[0];
}

LogicalResult cond(AtenNode &a) {
  Region *bodies[] = {a.c.node.body("true_graph"), a.c.node.body("false_graph")};
  auto condition = conditionOf(a, a.number("pred", a.b.builder().getI1Type()));
  if (failed(condition) || !bodies[0] || !bodies[1])
    return a.fail("lacks a condition or a branch");
  bool broken = false;
  auto build = [&](Region &body) {
    auto values = tensorsOf(a.c.inlineBody(body, {}));
    broken |= !values || values->size() != a.c.numResults();
    return values.value_or(SmallVector<Value>());
  };
  auto results =
      a.b.branch(*condition, [&] { return build(*bodies[0]); }, [&] { return build(*bodies[1]); });
  if (broken || !results)
    return a.fail("its branches do not give the same tensors");
  for (auto [i, v] : llvm::enumerate(*results))
    (void)a.give(i, v);
  return success();
}

/// The tensors and numbers of a list argument, numbers as rank-0 tensors.
FailureOr<SmallVector<Value>> valuesOf(AtenNode &a, StringRef name) {
  SmallVector<Value> values;
  auto list = dyn_cast_or_null<ArrayAttr>(a.c.attr(name));
  if (!list)
    return values;
  for (auto [i, element] : llvm::enumerate(list)) {
    auto ref = dyn_cast<graph::OperandAttr>(element);
    Type t = isa<BoolAttr>(element)    ? Type(a.b.builder().getI1Type())
             : isa<FloatAttr>(element) ? Type(a.b.builder().getF64Type())
                                       : Type(a.b.builder().getI64Type());
    Value v = ref && a.c.has(ref.getIndex()) ? a.c.in(ref.getIndex()) : a.constant(element, t);
    if (!v)
      return a.fail("'" + name + "' holds something else than tensors and numbers");
    values.push_back(v);
  }
  return values;
}

LogicalResult whileLoop(AtenNode &a) {
  Region *test = a.c.node.body("cond_fn"), *body = a.c.node.body("body_fn");
  auto carried = valuesOf(a, "carried_inputs"), fixed = valuesOf(a, "additional_inputs");
  if (failed(carried) || failed(fixed) || !test || !body)
    return failure();
  size_t count = carried->size() + fixed->size();
  if (test->getNumArguments() != count || body->getNumArguments() != count ||
      a.c.numResults() != carried->size())
    return a.fail("its subgraphs take another number of values");
  auto arguments = [&](ValueRange current) {
    std::vector<Lowered> all;
    for (Value v : current)
      all.push_back(Lowered::tensor(v));
    for (Value v : *fixed)
      all.push_back(Lowered::tensor(v));
    return all;
  };
  bool broken = false;
  auto results = a.b.loop(
      *carried,
      [&](ValueRange current) -> Dim {
        auto values = tensorsOf(a.c.inlineBody(*test, arguments(current)));
        auto goesOn = values && values->size() == 1 ? conditionOf(a, values->front())
                                                    : FailureOr<Dim>(failure());
        broken |= failed(goesOn);
        return succeeded(goesOn) ? *goesOn : Dim(a.b.builder().getBoolAttr(false));
      },
      [&](ValueRange current) { return tensorsOf(a.c.inlineBody(*body, arguments(current))); });
  if (broken || !results)
    return a.fail("its subgraphs do not fit together");
  for (auto [i, v] : llvm::enumerate(*results))
    (void)a.give(i, v);
  return success();
}

/// One turn of a scan: what it carries and what it gives, from what was carried
/// and the slices k of `xs`.
std::optional<SmallVector<Value>> scanTurn(AtenNode &a, Region &body, ValueRange carried,
                                           ArrayRef<Value> xs, ArrayRef<Value> fixed, Value k) {
  std::vector<Lowered> arguments;
  for (Value v : carried)
    arguments.push_back(Lowered::tensor(v));
  for (Value x : xs)
    arguments.push_back(Lowered::tensor(a.b.take(x, k, 0)));
  for (Value v : fixed)
    arguments.push_back(Lowered::tensor(v));
  auto results = tensorsOf(a.c.inlineBody(body, arguments));
  if (!results || results->size() < carried.size())
    return std::nullopt;
  return results;
}

/// The turns of a scan from `begin` on. `carried` is what a turn takes over from the one before,
/// `held` values, and then tensors of which each turn gives a row. Gives them as the node's
/// results.
LogicalResult
turnsFrom(AtenNode &a, int64_t begin, SmallVector<Value> carried, size_t held, Dim count,
          llvm::function_ref<std::optional<SmallVector<Value>>(ValueRange have, Value k)> turn) {
  PrimBuilder &b = a.b;
  carried.push_back(b.scalar(begin, b.builder().getI64Type()));
  auto results = b.loop(
      carried,
      [&](ValueRange have) {
        return b.compareDims(Cmp::slt, b.readElements(have.back())[0], count);
      },
      [&](ValueRange have) -> std::optional<SmallVector<Value>> {
        Value k = have.back();
        auto values = turn(have.drop_back(), k);
        if (!values || values->size() != have.size() - 1)
          return std::nullopt;
        for (auto [y, all] : llvm::zip(MutableArrayRef(*values).drop_front(held),
                                       have.drop_front(held).drop_back())) {
          Dims starts(b.rank(all), b.dim(0));
          starts[0] = b.readElements(k)[0];
          y = b.insertSlice(all, b.unsqueeze(y, {0}), starts);
        }
        values->push_back(b.add(k, 1.0));
        return values;
      });
  if (!results)
    return a.fail("its subgraph does not give what it takes");
  for (auto [i, v] : llvm::enumerate(ArrayRef(*results).drop_back()))
    (void)a.give(i, v);
  return success();
}

/// A scan over as many rows as a run has, which may be none: all turns are the loop's, and what is
/// carried begins as `inits`. Extents are those of a turn on rows of zeros, whose elements nothing
/// reads.
LogicalResult scanOverAny(AtenNode &a, Region &body, ArrayRef<Value> inits, ArrayRef<Value> xs,
                          ArrayRef<Value> fixed, Dim count) {
  PrimBuilder &b = a.b;
  SmallVector<Value> zeros, carried(inits);
  for (Value x : xs) {
    Dims dims = b.dims(x);
    dims[0] = b.dim(1);
    zeros.push_back(b.full(dims, 0, b.elem(x)));
  }
  auto row = scanTurn(a, body, inits, zeros, fixed, b.scalar(0, b.builder().getI64Type()));
  if (!row || row->size() != a.c.numResults())
    return a.fail("its subgraph gives another number of values");
  for (Value y : ArrayRef(*row).drop_front(inits.size())) {
    Dims dims = {count};
    dims.append(b.dims(y));
    carried.push_back(b.full(dims, 0, b.elem(y)));
  }
  if (b.known(count) == 0) {
    for (auto [i, none] : llvm::enumerate(carried))
      (void)a.give(i, none);
    return success();
  }
  size_t held = inits.size();
  return turnsFrom(a, 0, carried, held, count, [&](ValueRange have, Value k) {
    return scanTurn(a, body, have.take_front(held), xs, fixed, k);
  });
}

/// A scan of `inits` over the first axis of `xs`; a map has no inits.
LogicalResult scanOver(AtenNode &a, StringRef function, StringRef initial, StringRef over,
                       StringRef additional) {
  PrimBuilder &b = a.b;
  Region *body = a.c.node.body(function);
  auto inits = valuesOf(a, initial), xs = valuesOf(a, over), fixed = valuesOf(a, additional);
  if (failed(inits) || failed(xs) || failed(fixed))
    return failure();
  if (!body || xs->empty() ||
      body->getNumArguments() != inits->size() + xs->size() + fixed->size() ||
      llvm::any_of(*xs, [&](Value x) { return b.rank(x) == 0; }))
    return a.fail("its subgraph takes another number of values");
  Dim count = b.dim(xs->front(), 0);
  if (b.known(count).value_or(0) == 0)
    return scanOverAny(a, *body, *inits, *xs, *fixed, count);
  size_t held = inits->size();
  auto first = scanTurn(a, *body, *inits, *xs, *fixed, b.scalar(0, b.builder().getI64Type()));
  if (!first || first->size() != a.c.numResults())
    return a.fail("its subgraph gives another number of values");
  SmallVector<Value> carried(first->begin(), first->begin() + held);
  for (Value y : ArrayRef(*first).drop_front(held)) {
    Dims dims = {count};
    dims.append(b.dims(y));
    Value all = b.full(dims, 0, b.elem(y));
    carried.push_back(b.insertSlice(all, b.unsqueeze(y, {0}), Dims(dims.size(), b.dim(0))));
  }
  return turnsFrom(a, 1, carried, held, count, [&](ValueRange have, Value k) {
    return scanTurn(a, *body, have.take_front(held), *xs, *fixed, k);
  });
}
LogicalResult scan(AtenNode &a) {
  return scanOver(a, "combine_fn", "init", "xs", "additional_inputs");
}
LogicalResult mapOver(AtenNode &a) { return scanOver(a, "f", "", "xs", "pos_args"); }

/// Each place is what the places up to it combine to, along the first axis (torch moves the axis
/// there): one after the other, as a scan of which every turn gives what it carries.
LogicalResult associativeScan(AtenNode &a) {
  PrimBuilder &b = a.b;
  Region *body = a.c.node.body("combine_fn");
  auto xs = valuesOf(a, "xs"), fixed = valuesOf(a, "additional_inputs");
  if (failed(xs) || failed(fixed))
    return failure();
  if (!body || xs->empty() || a.c.numResults() != xs->size() ||
      body->getNumArguments() != 2 * xs->size() + fixed->size() ||
      llvm::any_of(*xs, [&](Value x) { return b.rank(x) == 0; }))
    return a.fail("its subgraph takes another number of values");
  // What was combined last is a row of the results, which the next turn reads.
  return turnsFrom(a, 1, *xs, 0, b.dim(xs->front(), 0), [&](ValueRange have, Value k) {
    SmallVector<Value> before;
    for (Value all : have)
      before.push_back(b.take(all, b.sub(k, 1.0), 0));
    return scanTurn(a, *body, before, *xs, *fixed, k);
  });
}

/// The results of a function and their tangents. It is built in a block of its own, where what
/// it is given is not known: a constant would be folded away, and one value given twice be one.
LogicalResult forwardMode(AtenNode &a) {
  PrimBuilder &b = a.b;
  Region *body = a.c.node.body("f");
  auto primals = valuesOf(a, "primals"), given = valuesOf(a, "tangents"),
       fixed = valuesOf(a, "pos_args");
  if (failed(primals) || failed(given) || failed(fixed))
    return failure();
  if (!body || primals->size() != given->size() ||
      body->getNumArguments() != primals->size() + fixed->size())
    return a.fail("its subgraph takes another number of values");
  auto condition =
      arith::ConstantOp::create(b.builder(), b.location(), b.builder().getBoolAttr(true));
  auto draft = prim::IfOp::create(b.builder(), b.location(), TypeRange(), condition);
  SmallVector<Value> results;
  std::string unknown;
  Block *block;
  {
    OpBuilder::InsertionGuard guard(b.builder());
    SmallVector<Location> places(primals->size(), b.location());
    block = b.builder().createBlock(&draft->getRegion(0), {}, ValueRange(*primals), places);
    std::vector<Lowered> arguments;
    for (Value v : block->getArguments())
      arguments.push_back(Lowered::tensor(v));
    for (Value v : *fixed)
      arguments.push_back(Lowered::tensor(v));
    auto values = tensorsOf(a.c.inlineBody(*body, arguments));
    if (!values || 2 * values->size() != a.c.numResults())
      return a.fail("its subgraph gives another number of values");
    Tangents tangents(b);
    for (auto [x, t] : llvm::zip_equal(block->getArguments(), *given)) {
      t = a.cast(t, b.elem(x));
      tangents.give(x, t.getType() == x.getType() ? t : b.reshape(t, b.dims(x)));
    }
    for (Operation *op : llvm::to_vector(llvm::make_pointer_range(*block)))
      if (unknown.empty() && failed(tangents.follow(op)))
        unknown = op->getName().stripDialect().str();
    for (Value v : *values)
      results.append({v, tangents.orZeros(v)});
  }
  for (Operation &op : llvm::make_early_inc_range(*block))
    op.moveBefore(draft);
  for (auto [x, primal] : llvm::zip_equal(block->getArguments(), *primals)) {
    llvm::replace(results, Value(x), primal);
    x.replaceAllUsesWith(primal);
  }
  draft->erase();
  condition->erase();
  if (!unknown.empty())
    return a.fail("the derivative of '" + unknown +
                  "' in forward mode is not known; save program.run_decompositions()");
  for (auto [i, v] : llvm::enumerate(results))
    (void)a.give(i, v);
  return success();
}

} // namespace

void tcc::populateAtenControlFlowRules(RuleSet &rules) {
  addRules(rules,
           {{"cond", "", "", cond},
            {"while_loop", "", "", whileLoop},
            {"map_impl", "", "", mapOver},
            {"associative_scan", "", "", associativeScan},
            {"jvp", "", "", forwardMode},
            {"scan", "", "", scan}},
           "higher_order");
}
