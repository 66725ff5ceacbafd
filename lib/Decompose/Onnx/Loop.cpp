//===- Loop.cpp - Loop and Scan --------------------------------------------===//
//
// Both become prim.while over: the number of the turn (a host index), whether to
// go on (i1), the state, and one tensor for each value that is collected over
// the turns. That tensor is made before the loop, and written slice by slice,
// when the number of turns and its shape are known by then; else it grows by
// concatenation.
//
//===----------------------------------------------------------------------===//
#include "Decompose/AllRules.h"
#include "Decompose/Onnx/Operands.h"
#include "Decompose/Onnx/PackedSequence.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;

namespace {

/// A value collected over the turns of a loop.
struct Collected {
  Type elementType;
  Dims extents;             ///< of one turn's value
  bool extentsKnown = true; ///< before the loop
};

/// Whether `d` is known outside of `region`.
bool definedOutside(Dim d, Region &region) {
  auto value = dyn_cast<Value>(d);
  return !value || !region.isAncestor(value.getParentRegion());
}

/// What one turn gives, by its host index and the state.
struct Turn {
  Dim proceed;
  SmallVector<Value> state, collected;
};
using TurnBuilder = llvm::function_ref<std::optional<Turn>(Value index, ValueRange state)>;

/// A loop of at most `turns` (null: no bound) turns.
struct LoopBuilder {
  PrimBuilder &b;
  Dim turns;
  Dim start; ///< whether to begin
  TurnBuilder body;

  bool alwaysProceeds = false;
  SmallVector<Collected> collected = {};

  Dim goesOn(ValueRange v) {
    Dim again = alwaysProceeds ? Dim(b.builder().getBoolAttr(true)) : Dim(v[1]);
    return turns ? b.andDims(b.compareDims(Cmp::slt, v[0], turns), again) : again;
  }

  SmallVector<Value> firstValues(ValueRange state) {
    SmallVector<Value> inits = {b.indexValue(b.dim(0)), conditionValue(start)};
    inits.append(state.begin(), state.end());
    return inits;
  }

  Value conditionValue(Dim d) {
    if (auto v = dyn_cast<Value>(d))
      return v;
    return arith::ConstantOp::create(b.builder(), b.location(),
                                     b.builder().getBoolAttr(*b.known(d) != 0));
  }

  Value next(Value index) { return b.indexValue(b.addDims(index, b.dim(1))); }

  /// Builds the loop once without collecting, to learn what it collects.
  bool probe(ValueRange state) {
    auto result = b.loop(
        firstValues(state), [&](ValueRange v) { return goesOn(v); },
        [&](ValueRange v) -> std::optional<SmallVector<Value>> {
          auto turn = body(v[0], v.drop_front(2));
          if (!turn)
            return std::nullopt;
          alwaysProceeds = b.known(start).value_or(0) && b.known(turn->proceed).value_or(0);
          collected.clear();
          Region &region = *v[0].getParentRegion();
          for (Value value : turn->collected) {
            Collected each{b.elem(value), b.dims(value)};
            for (Dim &d : each.extents) {
              if (definedOutside(d, region))
                continue;
              each.extentsKnown = false;
              d = b.dim(0); // what it was goes with this draft of the loop
            }
            collected.push_back(each);
          }
          SmallVector<Value> values = {next(v[0]), conditionValue(turn->proceed)};
          values.append(turn->state);
          return values;
        });
    if (result)
      (*result)[0].getDefiningOp()->erase();
    return result.has_value();
  }

  bool preallocated(const Collected &each) { return turns && alwaysProceeds && each.extentsKnown; }

  Value firstCollected(const Collected &each) {
    Dims list = each.extents;
    list.insert(list.begin(), preallocated(each) ? b.maxDims(turns, b.dim(0)) : b.dim(0));
    return b.full(list, 0, each.elementType);
  }

  Value collect(const Collected &each, Value into, Value value, Value index) {
    Value row = b.unsqueeze(value, {0});
    if (preallocated(each)) {
      Dims starts(b.rank(into), b.dim(0));
      starts[0] = index;
      return b.insertSlice(into, row, starts);
    }
    if (each.extentsKnown)
      return b.concat({into, row}, 0);
    auto grown = b.branch(
        b.compareDims(Cmp::eq, index, b.dim(0)), [&] { return SmallVector<Value>{row}; },
        [&] { return SmallVector<Value>{b.concat({into, row}, 0)}; });
    return (*grown)[0];
  }

  /// The final state and what was collected, along a new first axis.
  std::optional<Turn> build(ValueRange state) {
    if (!probe(state))
      return std::nullopt;
    SmallVector<Value> inits = firstValues(state);
    size_t first = inits.size();
    for (const Collected &each : collected)
      inits.push_back(firstCollected(each));
    auto results = b.loop(
        inits, [&](ValueRange v) { return goesOn(v); },
        [&](ValueRange v) -> std::optional<SmallVector<Value>> {
          auto turn = body(v[0], v.slice(2, state.size()));
          if (!turn)
            return std::nullopt;
          SmallVector<Value> values = {next(v[0]), conditionValue(turn->proceed)};
          values.append(turn->state);
          for (auto [i, each] : llvm::enumerate(collected))
            values.push_back(collect(each, v[first + i], turn->collected[i], v[0]));
          return values;
        });
    if (!results)
      return std::nullopt;
    Turn last;
    last.state.assign(results->begin() + 2, results->begin() + first);
    last.collected.assign(results->begin() + first, results->end());
    return last;
  }
};

std::vector<Lowered> lowered(ValueRange values) {
  std::vector<Lowered> list;
  for (Value v : values)
    list.push_back(Lowered::tensor(v));
  return list;
}

/// A loop whose turns are counted at compile time, turn by turn: so it can carry
/// a sequence of any tensors.
LogicalResult unrolledLoop(NodeContext &c, Region &body, int64_t turns) {
  PrimBuilder &b = c.b;
  std::vector<Lowered> state;
  for (size_t i = 2; i < c.numInputs(); ++i)
    state.push_back(c.lowered(i));
  std::vector<SmallVector<Value>> collected(c.numResults() - state.size());
  for (int64_t turn = 0; turn < turns; ++turn) {
    std::vector<Lowered> arguments = {
        Lowered::tensor(scalarOf(b, b.dim(turn), b.builder().getI64Type())),
        Lowered::tensor(b.scalar(1, b.builder().getI1Type()))};
    arguments.insert(arguments.end(), state.begin(), state.end());
    auto results = c.inlineBody(body, arguments);
    if (failed(results) || results->size() != 1 + c.numResults())
      return c.fail("its body gives the wrong number of values");
    auto proceed = b.constantInts((*results)[0].value);
    if (!proceed || proceed->empty() || (*proceed)[0] == 0)
      return c.fail("carries a sequence over a number of turns that is not known");
    for (size_t i = 0; i < c.numResults(); ++i) {
      const Lowered &result = (*results)[1 + i];
      if (i < state.size())
        state[i] = result;
      else
        collected[i - state.size()].push_back(b.unsqueeze(result.value, {0}));
    }
  }
  for (size_t i = 0; i < c.numResults(); ++i) {
    if (i >= state.size() && collected[i - state.size()].empty())
      return c.fail("collects nothing");
    (void)c.give(i, i < state.size() ? state[i]
                                     : Lowered::tensor(b.concat(collected[i - state.size()], 0)));
  }
  return success();
}

LogicalResult loopRule(NodeContext &c) {
  PrimBuilder &b = c.b;
  Region *body = c.node.body("body");
  size_t numState = c.numInputs() < 2 ? 0 : c.numInputs() - 2;
  if (!body || body->getNumArguments() != 2 + numState || c.numResults() < numState)
    return c.fail("its body does not take what it is given");
  Dim turns, start = b.builder().getBoolAttr(true);
  if (c.has(0)) {
    auto given = hostInt(c, 0);
    if (failed(given))
      return failure();
    turns = *given;
  }
  if (c.has(1)) {
    auto given = scalarOperand(c, 1);
    if (failed(given))
      return failure();
    start = b.readElements(*given)[0];
  }
  std::vector<Lowered> state;
  for (size_t i = 0; i < numState; ++i) {
    constexpr int64_t kMany = 64;
    Lowered each = c.lowered(2 + i);
    if (each.kind != Lowered::Kind::Tensor && !isPacked(each)) {
      if (turns && b.known(turns).value_or(kMany + 1) <= kMany && b.known(start).value_or(0))
        return unrolledLoop(c, *body, *b.known(turns));
      if (!canPack(b, each))
        return c.fail("carries an optional, or tensors of different ranks, over a number of turns "
                      "that is not known");
      each = packed(b, each);
    }
    state.push_back(each);
  }
  Type boolean = b.builder().getI1Type();
  auto turn = [&](Value index, ValueRange values) -> std::optional<Turn> {
    std::vector<Lowered> arguments =
        lowered({scalarOf(b, index, b.builder().getI64Type()), b.scalar(1, boolean)});
    llvm::append_range(arguments, uncarried(state, values));
    auto results = c.inlineBody(*body, arguments);
    if (failed(results) || results->size() != 1 + c.numResults())
      return std::nullopt;
    ArrayRef<Lowered> all = *results, next = all.slice(1, numState);
    auto proceed = tensorsOf(all.take_front()), collects = tensorsOf(all.drop_front(1 + numState));
    auto carries = carried(next);
    // What a packed sequence holds may only be known from here on.
    if (!proceed || !collects || !carries || !mergeRanks(state, next) ||
        b.elem((*proceed)[0]) != boolean)
      return std::nullopt;
    Turn t;
    t.proceed = b.readElements(b.reshape((*proceed)[0], ArrayRef<Dim>()))[0];
    t.state = *carries;
    t.collected = *collects;
    return t;
  };
  LoopBuilder builder{b, turns, start, turn};
  auto last = builder.build(*carried(state));
  if (!last)
    return c.fail("its state changes its rank or element type, or is no tensor");
  std::vector<Lowered> all = uncarried(state, last->state);
  llvm::append_range(all, lowered(last->collected));
  return giveAll(c, all);
}

/// Entry i of a list attribute, 0 when it is not given.
int64_t entry(NodeContext &c, StringRef name, size_t i) {
  auto list = c.intsAttr(name);
  return list && i < list->size() ? (*list)[i] : 0;
}

/// Lists of a Scan have an entry for each of its `count` inputs or outputs, or are not there.
LogicalResult checkEntries(NodeContext &c, StringRef name, int64_t count) {
  auto list = c.intsAttr(name);
  if (!list)
    return success();
  if (static_cast<int64_t>(list->size()) != count)
    return c.fail("'" + name + "' has " + llvm::Twine(list->size()) + " entries for " +
                  llvm::Twine(count));
  if (name.ends_with("directions") &&
      llvm::any_of(*list, [](int64_t v) { return v != 0 && v != 1; }))
    return c.fail("'" + name + "' has an entry that is neither 0 (forward) nor 1 (reverse)");
  return success();
}

LogicalResult scanRule(NodeContext &c) {
  PrimBuilder &b = c.b;
  Region *body = c.node.body("body");
  int64_t numScan = c.intAttr("num_scan_inputs", 0);
  // Opset 8 had sequence lengths first, and a batch axis before the scanned one.
  bool batched = c.version() < 9;
  size_t first = batched ? 1 : 0;
  int64_t numState = static_cast<int64_t>(c.numInputs() - first) - numScan;
  if (!body || numScan < 1 || numState < 0 ||
      static_cast<int64_t>(body->getNumArguments()) != numState + numScan)
    return c.fail("its body does not take what it is given");
  if (batched && c.has(0))
    return c.fail("sequence lengths are not supported");
  int64_t numCollected = static_cast<int64_t>(c.numResults()) - numState;
  if (numCollected < 0)
    return c.fail("gives fewer values than it has states");
  for (auto [name, count] :
       {std::pair("directions", numScan), std::pair("scan_input_directions", numScan),
        std::pair("scan_input_axes", numScan), std::pair("scan_output_directions", numCollected),
        std::pair("scan_output_axes", numCollected)})
    if (failed(checkEntries(c, name, count)))
      return failure();
  SmallVector<Value> state, scanned;
  SmallVector<bool> reversed;
  Dim turns;
  Dim batch;
  for (int64_t i = 0; i < numState; ++i)
    state.push_back(c.in(first + i));
  for (int64_t i = 0; i < numScan; ++i) {
    Value x = c.in(first + numState + i);
    auto axis = axisWithin(c, batched ? 1 : entry(c, "scan_input_axes", i), b.rank(x));
    if (failed(axis))
      return failure();
    SmallVector<int64_t> order = allAxes(b.rank(x));
    order.erase(order.begin() + *axis);
    order.insert(order.begin(), *axis);
    scanned.push_back(b.transpose(x, order));
    reversed.push_back(entry(c, batched ? "directions" : "scan_input_directions", i) != 0);
    Dim length = b.dim(x, *axis);
    if (turns && !b.same(turns, length)) {
      if (b.known(turns) && b.known(length))
        return c.fail("scans " + llvm::Twine(*b.known(turns)) + " and " +
                      llvm::Twine(*b.known(length)) + " elements at once");
      b.check(b.compareDims(Cmp::eq, turns, length), "Scan: inputs differ in their length");
    }
    turns = turns && b.known(turns) ? turns : length;
    batch = batched ? b.dim(x, 0) : Dim();
  }
  if (batched) {
    // The body sees one sequence; only a batch of one is that.
    if (b.known(batch) != 1)
      return c.fail("batches above one sequence are not supported before opset 9");
    for (Value &v : state)
      v = b.squeeze(v, {0});
    for (Value &v : scanned)
      v = b.squeeze(v, {1});
  }
  auto turn = [&](Value index, ValueRange values) -> std::optional<Turn> {
    SmallVector<Value> arguments(values);
    for (auto [x, back] : llvm::zip(scanned, reversed)) {
      Dim at = back ? b.subDims(b.subDims(turns, b.dim(1)), index) : Dim(index);
      arguments.push_back(b.squeeze(b.sliceAxis(x, 0, at, b.dim(1)), {0}));
    }
    auto results = c.inlineBody(*body, lowered(arguments));
    auto tensors = succeeded(results) ? tensorsOf(*results) : std::nullopt;
    if (!tensors || tensors->size() != c.numResults())
      return std::nullopt;
    Turn t;
    t.proceed = b.builder().getBoolAttr(true);
    t.state.assign(tensors->begin(), tensors->begin() + numState);
    t.collected.assign(tensors->begin() + numState, tensors->end());
    return t;
  };
  LoopBuilder builder{b, turns, b.builder().getBoolAttr(true), turn};
  auto last = builder.build(state);
  if (!last)
    return c.fail("its state changes its rank or element type, or is no tensor");
  for (auto [i, v] : llvm::enumerate(last->state))
    (void)c.give(i, batched ? b.unsqueeze(v, {0}) : v);
  for (auto [i, v] : llvm::enumerate(last->collected)) {
    if (!batched && entry(c, "scan_output_directions", i))
      v = b.reverse(v, {0});
    auto axis = axisWithin(c, batched ? 0 : entry(c, "scan_output_axes", i), b.rank(v));
    if (failed(axis))
      return failure();
    SmallVector<int64_t> order = axesFrom(1, b.rank(v));
    order.insert(order.begin() + *axis, 0);
    v = b.transpose(v, order);
    (void)c.give(numState + i, batched ? b.unsqueeze(v, {0}) : v);
  }
  return success();
}

} // namespace

void tcc::populateOnnxLoopRules(RuleSet &rules) {
  rules.add("onnx", "Loop", loopRule);
  rules.add("onnx", "Scan", scanRule);
}
