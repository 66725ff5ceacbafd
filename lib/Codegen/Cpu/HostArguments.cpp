//===- HostArguments.cpp - What a run is given and what it leaves ---------===//
//
// Arguments are the caller's inputs, and the state that a context keeps between
// runs. Results are outputs, and new values of arguments (`graph.mutates`), which
// are written when all else is done: a run that fails changes nothing, and what
// reads the old value reads it before.
//
//===----------------------------------------------------------------------===//
#include "HostEmitter.h"
#include "tcc/Dialect/Graph/Graph.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

LogicalResult HostEmitter::bindArguments() {
  Value inputs = loadWord(frame, 1, pointer), state = loadWord(frame, 4, pointer);
  unsigned next = 0;
  for (BlockArgument argument : source.getArguments()) {
    auto initial = source.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kStateAttr);
    if (initial) {
      if (!tensorType(argument).hasStaticShape())
        return source.emitError("the size of the state '") << initial << "' is not known";
      pointers[argument] = offsetPointer(state, callbacks.stateOffset(initial.getValue()));
      continue;
    }
    unsigned i = next++;
    pointers[argument] = loadWord(inputs, 2 * i, pointer);
    Value dims = loadWord(inputs, 2 * i + 1, pointer);
    for (int64_t axis = 0, e = tensorType(argument).getRank(); axis < e; ++axis)
      if (tensorType(argument).isDynamicDim(axis)) {
        Value d = loadWord(dims, axis, i64);
        dynamicExtents[{argument, static_cast<unsigned>(axis)}] =
            arith::IndexCastOp::create(b, b.getIndexType(), d);
      }
  }
  return success();
}

void HostEmitter::nameChanges() {
  int32_t outputs = 0;
  for (unsigned i = 0, e = source.getNumResults(); i < e; ++i) {
    auto name = source.getResultAttrOfType<StringAttr>(i, graph::kMutatesAttr);
    changedNames.push_back(name ? name.getValue() : "");
    outputNumbers.push_back(outputs);
    outputs += !name;
  }
}

void HostEmitter::giveOutputs() {
  for (auto [i, v] : llvm::enumerate(source.getBody().front().getTerminator()->getOperands())) {
    if (written.contains(i) || changed(i) != "")
      continue;
    Value storage = outputStorage(i, v);
    copy(storage, pointerOf(v), byteSize(v, b.getLoc()));
  }
}

/// The argument that `v` is, or is a reshape of.
static BlockArgument argumentOf(Value v) {
  while (auto reshape = v.getDefiningOp<prim::ReshapeOp>())
    v = reshape.getX();
  return dyn_cast<BlockArgument>(v);
}

void HostEmitter::writeBack() {
  struct Change {
    Value target, from;
  };
  SmallVector<Change> changes;
  for (auto [i, v] : llvm::enumerate(source.getBody().front().getTerminator()->getOperands())) {
    StringRef name = changed(i);
    if (name == "")
      continue;
    for (BlockArgument argument : source.getArguments()) {
      auto own = source.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr);
      if (!own || own.getValue() != name || argumentOf(v) == argument)
        continue;
      Value from = pointerOf(v);
      if (argumentOf(v)) { // may be written itself before it is read: buffers that change places
        Value bytes = byteSize(argument, b.getLoc());
        from = call("tcc_rt_alloc", pointer, {frame, bytes});
        copy(from, pointerOf(v), bytes);
      }
      changes.push_back({argument, from});
    }
  }
  for (auto [target, from] : changes)
    copy(pointers[target], from, byteSize(target, b.getLoc()));
}
