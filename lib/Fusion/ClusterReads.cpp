//===- ClusterReads.cpp - Who reads a value, and how ----------------------===//
//
// The walk goes backwards, so every reader of a value has its cluster when the value's turn comes.
// Free operators are looked through, since they are computed where they are read. Kernels that
// read memory (products, operators with an algorithm of their own) are told apart from those that
// ask for a value at a point: only the latter can compute it.
//
//===----------------------------------------------------------------------===//
#include "Clustering.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::fusion;

bool tcc::fusion::readsMemory(OpOperand &use, const Cluster &cluster) {
  if (use.getOwner() == cluster.asking)
    return liesAcross(use.get());
  if (llvm::is_contained(cluster.joins, use.getOwner()))
    return true;
  if (cluster.fills && use.getOwner() == cluster.root && use.getOperandNumber() == 0)
    return false;
  bool isQueries = cluster.scores == use.getOwner() && use.getOperandNumber() == 0;
  return !isQueries && readsMemory(use);
}

bool Clustering::readsMemory(OpOperand &use) {
  Cluster *g = clusterOf.lookup(use.getOwner());
  return g ? fusion::readsMemory(use, *g) : fusion::readsMemory(use);
}

/// Whether attention reads `value` as queries or for them alone.
bool Clustering::isQuery(Value value, const Cluster &g) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isFree(user) && !clusterOf.lookup(user))
      return isQuery(user->getResult(0), g);
    return user == g.scores ? use.getOperandNumber() == 0 : g.queries.contains(user);
  });
}

void Clustering::readers(Value value, llvm::SmallSetVector<Cluster *, 4> &found, bool &memory,
                         bool copied) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    Operation *here = block.findAncestorOpInBlock(*user);
    if (here != user || isHost(user)) {
      memory |= !copied && !isa<prim::DimOp>(user);
    } else if (isFree(user)) {
      Cluster *copy = clusterOf.lookup(user);
      readers(user->getResult(0), found, memory, copied || copy);
      if (copy)
        found.insert(copy);
    } else if (Cluster *g = clusterOf.lookup(user)) {
      // Contractions and special operators read their operands from memory: that of
      // a copied view, where there is one.
      bool inMemory = readsMemory(use);
      if (inMemory && copied && !readInPlace(use))
        continue;
      found.insert(g);
      memory |= inMemory;
    }
  }
}

bool Clustering::hostReadersFollow(Value value, unsigned position) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (here != user || isHost(user))
      return isa<prim::DimOp>(user) || positions[here] > position;
    return !isFree(user) || hostReadersFollow(user->getResult(0), position);
  });
}

Access Clustering::accessIn(Cluster &g, Value value) {
  std::optional<Access> merged;
  auto take = [&](Access a) {
    for (auto [axis, entry] : llvm::enumerate(a))
      if (tensorType(value).getDimSize(axis) == 1)
        entry = kZero;
    merged = merged ? mergeAccess(*merged, a) : a;
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != &block)
      continue;
    if (isFree(user) && clusterOf.lookup(user) != &g) {
      Access at = accessIn(g, user->getResult(0));
      if (static_cast<int64_t>(at.size()) == tensorType(user->getResult(0)).getRank())
        take(operandAccess(user, use.getOperandNumber(), at));
    } else if (clusterOf.lookup(user) == &g) {
      Access reduced;
      // Loops inside a point's code get numbers that no loop dim has.
      unsigned begin = g.kind == KernelKind::Row ? g.rows : 100;
      for (unsigned i = 0; i < 8; ++i)
        reduced.push_back(begin + i);
      take(operandAccess(user, use.getOperandNumber(), g.access[user->getResult(0)], reduced));
    }
  }
  return merged.value_or(Access{});
}

unsigned Clustering::placesRead(const Cluster &g, Value value) {
  constexpr unsigned kMost = 1 << 16;
  unsigned same = 0, others = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != &block)
      continue;
    unsigned count = 0;
    if (clusterOf.lookup(user) == &g)
      count = places.lookup(user);
    else if (isFree(user))
      count = placesRead(g, user->getResult(0));
    prim::isElementwise(user) ? void(same = std::max(same, count)) : void(others += count);
  }
  return std::min(same + others, kMost);
}

bool tcc::fusion::isIdentity(ArrayRef<int> at, ArrayRef<OpFoldResult> space) {
  if (at.size() != space.size())
    return false;
  for (auto [dim, entry] : llvm::enumerate(at))
    if (entry != static_cast<int>(dim) && (entry != kZero || getConstantIntValue(space[dim]) != 1))
      return false;
  return true;
}

bool tcc::fusion::isPrefix(ArrayRef<int> at, unsigned count, ArrayRef<OpFoldResult> space) {
  unsigned next = 0;
  auto skipUnitDims = [&](int upTo) {
    while (next < count && static_cast<int>(next) != upTo && getConstantIntValue(space[next]) == 1)
      ++next;
  };
  for (int entry : at) {
    if (entry == kZero)
      continue;
    skipUnitDims(entry);
    if (entry != static_cast<int>(next++))
      return false;
  }
  skipUnitDims(-1);
  return next == count;
}

/// Extents are equal as values, or asked of the same axis in two places.
static bool sameExtent(OpFoldResult x, OpFoldResult y) {
  if (isEqualConstantIntOrValue(x, y))
    return true;
  auto dimOf = [](OpFoldResult d) {
    auto value = dyn_cast<Value>(d);
    return value ? value.getDefiningOp<prim::DimOp>() : prim::DimOp();
  };
  prim::DimOp dx = dimOf(x), dy = dimOf(y);
  return dx && dy && dx.getX() == dy.getX() && dx.getAxis() == dy.getAxis();
}

bool tcc::fusion::sameExtents(ArrayRef<OpFoldResult> x, ArrayRef<OpFoldResult> y) {
  return x.size() == y.size() && llvm::all_of(llvm::zip(x, y), [](auto p) {
           return sameExtent(std::get<0>(p), std::get<1>(p));
         });
}

/// Whether `v` is read by one pool, between two transposes for its channels to come last, whose
/// windows read each element more than once.
static bool isTurnedForPool(Value v) {
  auto pool = v.hasOneUse() ? dyn_cast<prim::PoolOp>(*v.user_begin()) : prim::PoolOp();
  if (!pool || !pool.getChannelsLast() || !pool.getResult().hasOneUse() ||
      !isa<prim::TransposeOp>(*pool.getResult().user_begin()))
    return false;
  auto result = tensorType(pool.getResult());
  int64_t reads = result.hasStaticShape() ? result.getNumElements() : 0;
  for (int64_t window : pool.getWindow())
    reads *= window;
  return reads > tensorType(v).getNumElements();
}

/// Whether rows of a transposed value are taken by an index, of as many elements as it has or
/// nobody knows how many: each would be gathered.
static bool givesRows(prim::TransposeOp op) {
  constexpr int64_t kShort = 4; // elements, which are as many accesses either way
  auto turned = tensorType(op.getResult());
  if (!turned.isDynamicDim(turned.getRank() - 1) && turned.getShape().back() < kShort)
    return false;
  int64_t taken = 0;
  SmallVector<Value> values = {op.getResult()};
  while (!values.empty()) {
    Value v = values.pop_back_val();
    for (OpOperand &use : v.getUses()) {
      if (use.getOwner()->getNumResults() != 1 || isHost(use.getOwner()))
        return false;
      auto type = tensorType(use.getOwner()->getResult(0));
      if (auto take = dyn_cast<prim::TakeOp>(use.getOwner())) {
        bool ofRows = use.getOperandNumber() == 0 &&
                      static_cast<int64_t>(take.getAxis()) + 1 < tensorType(v).getRank();
        if (!ofRows)
          return false;
        if (!type.hasStaticShape())
          return true;
        taken += type.getNumElements();
        continue;
      }
      if (!isa<prim::ReshapeOp>(use.getOwner()) || type.getRank() == 0 ||
          type.getShape().back() != tensorType(v).getShape().back())
        return false;
      values.push_back(use.getOwner()->getResult(0));
    }
  }
  return taken > 0 && (!turned.hasStaticShape() || taken >= turned.getNumElements());
}

/// Whether a transposed value is sooner turned in memory than read across: by windows, by rows that
/// lie in it as columns, as rows that are taken, or by an index along its last axis, from many more
/// points than it has.
bool Clustering::turnsFirst(prim::TransposeOp op) {
  constexpr int64_t kOften = 4, kWorthKernel = 4096;
  auto type = tensorType(op.getResult());
  ArrayRef<int64_t> order = op.getPermutation();
  if (order.empty() || order.back() == int64_t(order.size()) - 1)
    return false;
  if (policy.fuse && givesRows(op))
    return true;
  if (!type.hasStaticShape())
    return false;
  if (policy.fuse && isTurnedForPool(op.getResult()))
    return true;
  llvm::SmallSetVector<Cluster *, 4> found;
  bool memory = false;
  readers(op.getResult(), found, memory);
  bool areRows =
      !found.empty() && llvm::all_of(found, [](Cluster *g) { return g->kind == KernelKind::Row; });
  if (policy.fuse && areRows && type.getNumElements() >= kWorthKernel && policy.model &&
      policy.model->copiesTurnedRows())
    return true;
  return policy.fuse && !found.empty() && llvm::all_of(found, [&](Cluster *g) {
           std::optional<int64_t> points = 1;
           for (OpFoldResult extent : g->space)
             if (auto known = getConstantIntValue(extent); points && known)
               points = *points * *known;
             else
               points = std::nullopt;
           Access at = accessIn(*g, op.getResult());
           return g->kind == KernelKind::Loop && points &&
                  *points >= kOften * type.getNumElements() && !at.empty() && at.back() == kUnknown;
         });
}

/// Whether the value of a free operator must lie in memory. A reshape renames what its
/// operand is stored in.
bool Clustering::needsCopy(Value view) {
  return llvm::any_of(view.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (block.findAncestorOpInBlock(*user) != user || isHost(user))
      return !isa<prim::DimOp>(user);
    if (clusterOf.lookup(user))
      return readsMemory(use) && !(isContraction(user) && readInPlace(use));
    return isa<prim::ReshapeOp>(user) && needsCopy(user->getResult(0));
  });
}
