#include "tcc/Analysis/AccessMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;

Access tcc::identityAccess(unsigned rank) {
  Access access;
  for (unsigned i = 0; i < rank; ++i)
    access.push_back(i);
  return access;
}

static Access unknownAccess(Value v) { return Access(tensorType(v).getRank(), kUnknown); }

/// Only unit axes come and go: the others correspond in order.
static Access throughReshape(prim::ReshapeOp op, ArrayRef<int> at) {
  auto x = tensorType(op.getX()), r = tensorType(op.getResult());
  Access access;
  int64_t j = 0;
  for (int64_t i = 0; i < x.getRank(); ++i) {
    if (x.getDimSize(i) == 1) {
      access.push_back(kZero);
      continue;
    }
    while (j < r.getRank() && r.getDimSize(j) == 1)
      ++j;
    bool corresponds = j < r.getRank() && r.getDimSize(j) == x.getDimSize(i);
    if (corresponds && x.isDynamicDim(i)) {
      // Two `?` correspond if they are one value.
      OpBuilder b(op);
      corresponds = isEqualConstantIntOrValue(prim::dimOf(b, op.getLoc(), op.getX(), i),
                                              prim::dimOf(b, op.getLoc(), op.getResult(), j));
    }
    if (!corresponds)
      return unknownAccess(op.getX());
    access.push_back(at[j++]);
  }
  for (; j < r.getRank(); ++j)
    if (r.getDimSize(j) != 1)
      return unknownAccess(op.getX());
  return access;
}

static Access throughBroadcast(prim::BroadcastOp op, ArrayRef<int> at) {
  auto x = tensorType(op.getX()), r = tensorType(op.getResult());
  Access access;
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    if (x.getDimSize(i) == 1) {
      access.push_back(kZero);
      continue;
    }
    bool same = !x.isDynamicDim(i);
    if (!same && r.isDynamicDim(axis)) {
      OpBuilder b(op);
      same = isEqualConstantIntOrValue(prim::dimOf(b, op.getLoc(), op.getX(), i),
                                       prim::dimOf(b, op.getLoc(), op.getResult(), axis));
    }
    access.push_back(same ? at[axis] : kUnknown);
  }
  return access;
}

Access tcc::operandAccess(Operation *op, unsigned operand, ArrayRef<int> at,
                          ArrayRef<int> reduced) {
  Value value = op->getOperand(operand);
  if (!isa<RankedTensorType>(value.getType()))
    return {};
  // Of a kernel with a template of its own nobody knows where its points lie.
  if (static_cast<int64_t>(at.size()) != tensorType(op->getResult(0)).getRank())
    return unknownAccess(value);
  if (prim::isElementwise(op))
    return Access(at);
  return llvm::TypeSwitch<Operation *, Access>(op)
      .Case([&](prim::ReshapeOp o) { return throughReshape(o, at); })
      .Case([&](prim::BroadcastOp o) { return throughBroadcast(o, at); })
      .Case([&](prim::TransposeOp o) {
        Access access(at.size());
        for (auto [i, axis] : llvm::enumerate(o.getPermutation()))
          access[axis] = at[i];
        return access;
      })
      .Case([&](prim::SliceOp o) {
        Access access(at);
        for (auto [entry, start, step, axis] :
             llvm::zip(access, o.getStaticStarts(), o.getSteps(), llvm::seq<int64_t>(0, at.size())))
          if (start != 0 || step != 1)
            entry = entry == kZero && start == 0 ? kZero : kUnknown;
        return access;
      })
      .Case([&](prim::TakeOp o) {
        unsigned axis = o.getAxis(), inner = tensorType(o.getIndices()).getRank();
        if (operand == 1)
          return Access(at.slice(axis, inner));
        Access access(at.take_front(axis));
        access.push_back(kUnknown);
        access.append(at.begin() + axis + inner, at.end());
        return access;
      })
      .Case([&](prim::ReduceOp o) {
        Access access;
        unsigned kept = 0, inner = 0;
        for (int64_t axis = 0; axis < tensorType(value).getRank(); ++axis) {
          bool gone = llvm::is_contained(o.getAxes(), axis);
          access.push_back(gone ? (inner < reduced.size() ? reduced[inner] : kUnknown) : at[kept]);
          gone ? ++inner : ++kept;
        }
        return access;
      })
      .Default([&](Operation *) { return unknownAccess(value); });
}

Access tcc::mergeAccess(ArrayRef<int> x, ArrayRef<int> y) {
  Access merged;
  for (auto [a, b] : llvm::zip(x, y))
    merged.push_back(a == b ? a : kUnknown);
  return merged;
}
