//===- FuseKernels.cpp - Clusters become kernel.launch ops ------------------===//
//
// Clusters.cpp decides; this moves the operators. A launch takes as arguments what it reads from
// memory, and copies what is free to compute again. Reshapes of results stay outside, since they
// only rename memory.
//
//===----------------------------------------------------------------------===//
#include "Clusters.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

namespace tcc {
#define GEN_PASS_DECL_FUSEKERNELSPASS
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "tcc/Fusion/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;
using namespace tcc::fusion;

namespace {

/// Builds the region of one launch: copies what the cluster computes, and takes
/// what it reads from memory or the host as arguments.
class LaunchBuilder {
public:
  LaunchBuilder(Cluster &cluster, const DenseSet<Operation *> &free, Block *body)
      : cluster(cluster), freeOps(free), body(body) {
    builder.setInsertionPointToStart(body);
  }
  Value get(Value value, bool fromMemory);
  SmallVector<Value> inputs;

private:
  Value argument(Value value);
  /// The views between `source`, which lies in memory, and `value`.
  Value viewOf(Value value, Value source);
  Cluster &cluster;
  const DenseSet<Operation *> &freeOps;
  Block *body;
  OpBuilder builder{body->getParentOp()->getContext()};
  IRMapping map, arguments;
};

} // namespace

/// Constants that are operands of instructions; others are read from memory.
static bool isImmediate(prim::ConstantOp op) {
  constexpr int64_t kMaxImmediates = 2;
  auto dense = dyn_cast<DenseElementsAttr>(op.getElements());
  return dense && (dense.isSplat() || dense.getNumElements() <= kMaxImmediates);
}

Value LaunchBuilder::argument(Value value) {
  if (Value known = arguments.lookupOrNull(value))
    return known;
  inputs.push_back(value);
  Value argument = body->addArgument(value.getType(), value.getLoc());
  arguments.map(value, argument);
  return argument;
}

Value LaunchBuilder::viewOf(Value value, Value source) {
  if (value == source)
    return argument(source);
  Operation *op = value.getDefiningOp();
  IRMapping operands;
  operands.map(op->getOperand(0), viewOf(op->getOperand(0), source));
  return builder.clone(*op, operands)->getResult(0);
}

Value LaunchBuilder::get(Value value, bool fromMemory) {
  Operation *op = value.getDefiningOp();
  if (!isa<RankedTensorType>(value.getType())) {
    // Host scalars; constants are cheaper inside than passed.
    if (op && op->hasTrait<OpTrait::ConstantLike>()) {
      if (Value known = map.lookupOrNull(value))
        return known;
      Value copy = builder.clone(*op)->getResult(0);
      map.map(value, copy);
      return copy;
    }
    return argument(value);
  }
  bool here = op && cluster.ops.contains(op);
  bool free = op && !here && !fromMemory && freeOps.contains(op) &&
              op->getBlock() == cluster.root->getBlock();
  if (auto constant = dyn_cast_or_null<prim::ConstantOp>(op); constant && !fromMemory)
    free = isImmediate(constant);
  if (!here && !free)
    return argument(value);
  if (Value known = map.lookupOrNull(value))
    return known;
  IRMapping operands;
  for (OpOperand &use : op->getOpOperands()) {
    bool operandsInMemory = readsMemory(use, cluster);
    std::optional<Value> source = operandsInMemory ? readInPlace(use) : std::nullopt;
    if (source && cluster.ops.contains(source->getDefiningOp()))
      source.reset(); // the weights of attention, which the kernel computes
    operands.map(use.get(), source ? viewOf(use.get(), *source) : get(use.get(), operandsInMemory));
  }
  Operation *copy = builder.clone(*op, operands);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    map.map(from, to);
  return map.lookup(value);
}

/// A name that tells a reader what the kernel does: its operators, most telling
/// ones first in program order.
static std::string kernelName(Cluster &cluster) {
  SmallVector<StringRef> names;
  SmallVector<Operation *> ops(cluster.ops.begin(), cluster.ops.end());
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ops) {
    StringRef name = op->getName().stripDialect();
    if (!llvm::is_contained(names, name) && names.size() < 5)
      names.push_back(name);
  }
  return llvm::join(names, "_");
}

/// Reshapes of a kernel's result stay on the host: those that stood before the
/// kernel, which sits where its last operator was, follow it.
static void moveReshapesAfter(Value value, Operation *definition) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
    if (isa<prim::ReshapeOp>(user) && user->getBlock() == definition->getBlock() &&
        user->isBeforeInBlock(definition)) {
      user->moveAfter(definition);
      moveReshapesAfter(user->getResult(0), user);
    }
}

static LogicalResult buildLaunch(Cluster &cluster, const DenseSet<Operation *> &free) {
  Operation *root = cluster.root;
  OpBuilder b(root);
  SmallVector<Type> types;
  SmallVector<Value> sizes;
  for (Value v : cluster.outputs) {
    types.push_back(v.getType());
    for (OpFoldResult d : prim::dimsOf(b, root->getLoc(), v))
      if (auto size = dyn_cast<Value>(d); size)
        sizes.push_back(size);
  }
  // A traced extent may be static although the type says `?`.
  size_t dynamic = 0;
  for (Type t : types)
    dynamic += cast<RankedTensorType>(t).getNumDynamicDims();
  if (dynamic != sizes.size()) {
    sizes.clear();
    for (Value v : cluster.outputs)
      for (auto [axis, d] : llvm::enumerate(prim::dimsOf(b, root->getLoc(), v)))
        if (cast<RankedTensorType>(v.getType()).isDynamicDim(axis))
          sizes.push_back(getValueOrCreateConstantIndexOp(b, root->getLoc(), d));
  }
  SmallVector<Location> locs;
  for (Operation *op : cluster.ops)
    locs.push_back(op->getLoc());
  Location loc = FusedLoc::get(root->getContext(), locs);

  Region region;
  Block *body = &region.emplaceBlock();
  IntegerAttr rows;
  if (cluster.kind == KernelKind::Row)
    rows = b.getI64IntegerAttr(cluster.rows);
  auto launch = kernel::LaunchOp::create(b, loc, types, cluster.kind, rows, kernelName(cluster),
                                         /*schedule=*/kernel::Schedule(), /*on_host=*/nullptr,
                                         ValueRange{}, sizes);
  launch.getBody().takeBody(region);
  body = &launch.getBody().front();
  LaunchBuilder inside(cluster, free, body);
  SmallVector<Value> yielded;
  for (Value v : cluster.outputs)
    yielded.push_back(inside.get(v, false));
  OpBuilder end = OpBuilder::atBlockEnd(body);
  kernel::YieldOp::create(end, loc, yielded);
  launch.getInputsMutable().assign(inside.inputs);
  SmallVector<Value> outputs(cluster.outputs.begin(), cluster.outputs.end());
  for (auto [from, to] : llvm::zip(outputs, launch.getResults()))
    from.replaceAllUsesWith(to);
  for (Value result : launch.getResults())
    moveReshapesAfter(result, launch);
  return success();
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<prim::PrimDialect>(op.getDialect()) && isOpTriviallyDead(&op))
      op.erase();
}

LogicalResult tcc::fusion::fuseBlock(Block &block, FusionPolicy policy) {
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      if (!isa<kernel::LaunchOp>(op))
        for (Block &nested : region)
          if (failed(fuseBlock(nested, policy)))
            return failure();
  // A mask is free by what it is computed from, which a launch may have written by the time that
  // another copies the mask.
  DenseSet<Operation *> free;
  for (Operation &op : block)
    if (isFree(&op))
      free.insert(&op);
  for (auto &cluster : formClusters(block, policy))
    if (failed(buildLaunch(*cluster, free)))
      return failure();
  eraseDead(block);
  return success();
}

namespace {

class FuseKernelsPass : public tcc::impl::FuseKernelsPassBase<FuseKernelsPass> {
public:
  explicit FuseKernelsPass(FusionPolicy policy) : model(policy.model) {
    fuse = policy.fuse;
    attention = policy.attention;
  }
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(fuseBlock(function.getBody().front(), {fuse, attention, model})))
        return signalPassFailure();
  }

private:
  const ScheduleModel *model;
};

} // namespace

std::unique_ptr<Pass> tcc::createFuseKernelsPass(FusionPolicy policy) {
  return std::make_unique<FuseKernelsPass>(policy);
}
