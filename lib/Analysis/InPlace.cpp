//===- InPlace.cpp - Kernels that may write over what they read -----------===//
//
// A point of the result may be stored where an input lies if no other point of the
// kernel reads that place. The access maps tell: from the result, read at the loop
// index, back through the region to the argument; if every way there leads to the
// loop index again, each point reads its own place only. A row kernel reads a row in
// several loops and stores in the last of them, in the order of the points, so the
// same holds for its rows. Contractions read their operands at other points, but the
// residual that an epilogue adds may be overwritten.
//
// Kernels with several results are left out: the second would be computed when the
// first is stored already. So are operators with an algorithm of their own, but for
// those that change a part of a tensor: they copy the rest, which lies there already
// (the outputs of a recurrent layer, one turn at a time; a cache of keys and values).
//
//===----------------------------------------------------------------------===//
#include "tcc/Analysis/InPlace.h"
#include "tcc/Analysis/AccessMap.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;

/// How each value of the region is read when the result is read at the loop index.
static DenseMap<Value, Access> accessesOf(kernel::LaunchOp launch) {
  Block &body = launch.getBody().front();
  Value result = body.getTerminator()->getOperand(0);
  unsigned space = tensorType(result).getRank();
  if (std::optional<int64_t> rows = launch.getRows())
    space = *rows;
  Access reduced; // a row kernel's inner axes follow its rows
  for (unsigned i = 0; i < 8; ++i)
    reduced.push_back((launch.getRows() ? space : 100) + i);

  DenseMap<Value, Access> accesses;
  accesses[result] = identityAccess(tensorType(result).getRank());
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    auto at = op.getNumResults() == 1 ? accesses.find(op.getResult(0)) : accesses.end();
    for (OpOperand &operand : op.getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      Access read(tensorType(operand.get()).getRank(), kUnknown);
      // Slices start where their operand does, but may end earlier.
      if (at != accesses.end() && !isa<prim::SliceOp>(op))
        read = operandAccess(&op, operand.getOperandNumber(), Access(at->second), reduced);
      auto [known, isNew] = accesses.try_emplace(operand.get(), read);
      if (!isNew)
        known->second = mergeAccess(known->second, read);
      at = op.getNumResults() == 1 ? accesses.find(op.getResult(0)) : accesses.end();
    }
  }
  return accesses;
}

/// Whether `at` walks all axes of `type` in order, unit axes aside.
static bool isInPlace(ArrayRef<int> at, RankedTensorType type, RankedTensorType result) {
  SmallVector<int64_t> extents, resultExtents, resultAxes;
  SmallVector<int> entries;
  for (auto [entry, d] : llvm::zip_equal(at, type.getShape()))
    if (d != 1) {
      extents.push_back(d);
      entries.push_back(entry);
    }
  for (auto [axis, d] : llvm::enumerate(result.getShape()))
    if (d != 1) {
      resultExtents.push_back(d);
      resultAxes.push_back(axis);
    }
  return extents == resultExtents && llvm::equal(entries, resultAxes);
}

/// The input that `launch` copies before it changes a part of it, if it does that.
static std::optional<unsigned> changedInput(kernel::LaunchOp launch) {
  Operation *op = launch.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
  if (!prim::has<prim::UpdatesFirst>(op))
    return std::nullopt;
  auto changed = dyn_cast<BlockArgument>(op->getOperand(0));
  if (!changed || !changed.hasOneUse())
    return std::nullopt;
  return changed.getArgNumber();
}

SmallVector<unsigned> tcc::overwritableInputs(kernel::LaunchOp launch) {
  SmallVector<unsigned> inputs;
  if (launch.getNumResults() != 1)
    return inputs;
  if (launch.getKind() == kernel::KernelKind::Special) {
    if (std::optional<unsigned> changed = changedInput(launch))
      inputs.push_back(*changed);
    return inputs;
  }
  RankedTensorType result = tensorType(launch.getResult(0));
  DenseMap<Value, Access> accesses = accessesOf(launch);
  for (BlockArgument argument : launch.getBody().getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto at = accesses.find(argument);
    if (!type || at == accesses.end() ||
        elementBytes(type.getElementType()) != elementBytes(result.getElementType()))
      continue;
    if (isInPlace(at->second, type, result))
      inputs.push_back(argument.getArgNumber());
  }
  return inputs;
}
