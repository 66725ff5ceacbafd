//===- OperandExtents.cpp - Sizes as extents of what a kernel reads ----------===//
//
// The host knows that two extents are equal because they are one value. A kernel has each as a
// number of its own: the extents of a tensor that it reads come with the tensor, the sizes that a
// reshape makes of them as scalars, and nothing says any more that the reshape keeps an axis. Its
// points are then numbered through all axes and taken apart by division, a point at a time.
//
// So what a reshape of several open extents is given is written in the region again, as the host
// computed it: as an extent of what the kernel reads, or as arithmetic on such. And a broadcast
// that keeps an axis whose extent only a run knows, as the host can tell, is given that axis of
// what it repeats: of an extent that might be 1 each lane would ask for its place.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Fusion/Fusion.h"
#include "llvm/ADT/BitVector.h"

namespace tcc {
#define GEN_PASS_DEF_OPERANDEXTENTSPASS
#include "tcc/Fusion/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// The host scalars of one launch, written in its region.
class OperandExtents {
public:
  explicit OperandExtents(kernel::LaunchOp launch)
      : launch(launch), body(launch.getBody().front()), b(OpBuilder::atBlockBegin(&body)) {}
  void write();

private:
  void keepAxes(prim::BroadcastOp broadcast);
  Value outside(Value size);
  void findExtents();
  Value inside(Value host, unsigned depth);

  kernel::LaunchOp launch;
  Block &body;
  OpBuilder b;
  llvm::MapVector<Value, std::pair<Value, unsigned>> extents; ///< argument of the region, axis
  DenseMap<Value, Value> written;
};

} // namespace

/// Whether a reshape takes `v`, and one size is not all that it does not know.
static bool isSizeAmongOthers(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    auto reshape = dyn_cast<prim::ReshapeOp>(user);
    return reshape && (tensorType(reshape.getX()).getNumDynamicDims() > 1 ||
                       tensorType(reshape.getResult()).getNumDynamicDims() > 1);
  });
}

/// What views are taken of.
static Value viewed(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<prim::ReshapeOp, prim::TransposeOp>(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}

/// Tensors that are reshaped come first: their extents are what a reshape keeps.
void OperandExtents::findExtents() {
  DenseSet<Value> reshaped;
  for (auto reshape : body.getOps<prim::ReshapeOp>())
    reshaped.insert(viewed(reshape.getX()));
  OpBuilder host(launch);
  for (bool wanted : {true, false})
    for (auto [argument, input] : llvm::zip_equal(body.getArguments(), launch.getInputs())) {
      if (!isa<RankedTensorType>(input.getType()) || reshaped.contains(argument) != wanted)
        continue;
      for (auto [axis, extent] : llvm::enumerate(prim::dimsOf(host, launch.getLoc(), input)))
        if (auto value = dyn_cast<Value>(extent))
          extents.insert({value, {argument, static_cast<unsigned>(axis)}});
    }
}

/// `host` by what the kernel reads, or null.
Value OperandExtents::inside(Value host, unsigned depth) {
  if (Value known = written.lookup(host))
    return known;
  Operation *op = host.getDefiningOp();
  Value result;
  if (auto it = extents.find(host); it != extents.end()) {
    auto [tensor, axis] = it->second;
    result = prim::DimOp::create(b, launch.getLoc(), b.getIndexType(), tensor, axis);
  } else if (auto constant = getConstantIntValue(host)) {
    result = arith::ConstantIndexOp::create(b, launch.getLoc(), *constant);
  } else if (depth > 0 && isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    Value x = inside(op->getOperand(0), depth - 1);
    Value y = x ? inside(op->getOperand(1), depth - 1) : Value();
    if (!y)
      return {};
    IRMapping operands;
    operands.map(op->getOperand(0), x);
    operands.map(op->getOperand(1), y);
    result = b.clone(*op, operands)->getResult(0);
  }
  if (result)
    written[host] = result;
  return result;
}

/// The host's value of an extent of the kernel, or null.
Value OperandExtents::outside(Value size) {
  if (auto argument = dyn_cast<BlockArgument>(size))
    return launch.getInputs()[argument.getArgNumber()];
  auto dim = size.getDefiningOp<prim::DimOp>();
  auto tensor = dim ? dyn_cast<BlockArgument>(dim.getX()) : BlockArgument();
  if (!tensor)
    return {};
  OpBuilder host(launch);
  Value operand = launch.getInputs()[tensor.getArgNumber()];
  return dyn_cast<Value>(prim::dimOf(host, launch.getLoc(), operand, dim.getAxis()));
}

/// Extents of `broadcast` that are those of its operand become so in the kernel as well.
void OperandExtents::keepAxes(prim::BroadcastOp broadcast) {
  RankedTensorType from = tensorType(broadcast.getX()), to = broadcast.getType();
  for (auto [i, axis] : llvm::enumerate(broadcast.getAxes())) {
    if (!from.isDynamicDim(i) || !to.isDynamicDim(axis))
      continue;
    OpBuilder before(broadcast);
    OpOperand &size = broadcast.getSizesMutable()[to.getDynamicDimIndex(axis)];
    auto own = dyn_cast<Value>(prim::dimOf(before, broadcast.getLoc(), broadcast.getX(), i));
    Value host = own ? outside(own) : Value();
    if (host && host == outside(size.get()))
      size.set(own);
  }
}

void OperandExtents::write() {
  constexpr unsigned mostOperators = 4; // one after the other
  for (auto broadcast : body.getOps<prim::BroadcastOp>())
    keepAxes(broadcast);
  for (auto dim : llvm::make_early_inc_range(body.getOps<prim::DimOp>()))
    if (dim->use_empty())
      dim->erase();
  SmallVector<unsigned> sizes;
  for (BlockArgument argument : body.getArguments())
    if (argument.getType().isIndex() && isSizeAmongOthers(argument))
      sizes.push_back(argument.getArgNumber());
  if (!sizes.empty())
    findExtents();
  llvm::BitVector gone(body.getNumArguments());
  for (unsigned number : sizes)
    if (Value size = inside(launch.getInputs()[number], mostOperators)) {
      body.getArgument(number).replaceAllUsesWith(size);
      gone.set(number);
    }
  for (BlockArgument argument : body.getArguments())
    if (argument.getType().isIndex() && argument.use_empty())
      gone.set(argument.getArgNumber());
  SmallVector<Value> kept;
  for (auto [number, input] : llvm::enumerate(launch.getInputs()))
    if (!gone[number])
      kept.push_back(input);
  body.eraseArguments(gone);
  launch.getInputsMutable().assign(kept);
}

namespace {

class OperandExtentsPass : public tcc::impl::OperandExtentsPassBase<OperandExtentsPass> {
public:
  void runOnOperation() override {
    getOperation().walk([](kernel::LaunchOp launch) { OperandExtents(launch).write(); });
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createOperandExtentsPass() {
  return std::make_unique<OperandExtentsPass>();
}
