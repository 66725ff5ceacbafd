//===- PeakMemory.cpp - What a host program holds at most -----------------===//
//
// The program says when memory is taken and when it is free again; between two launches
// that is followed through. Sizes are constants times products of extents, which are
// compared with the model's dims at a typical value.
//
//===----------------------------------------------------------------------===//
#include "tcc/Analysis/PeakMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Signature/Signature.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tcc;

namespace {

struct Extent {
  std::string text;
  double value; ///< with the model's dims at kTypical
};
constexpr double kTypical = 128;

/// A block of memory: so many bytes times a product of extents.
struct BlockSize {
  double bytes;
  std::string extents;
  double typical; ///< bytes with the dims at kTypical
};

} // namespace

int64_t tcc::arenaBytes(ModuleOp module, host::MemorySpace space) {
  int64_t bytes = 0;
  module.walk([&](host::ArenaOp op) {
    if (op.getArena().getType().getSpace() == space)
      bytes = std::max<int64_t>(bytes, op.getBytes());
  });
  return bytes;
}

/// The model's own name for dim `axis` of `argument`; "" where it has none.
static StringRef dimName(BlockArgument argument, unsigned axis) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function ? Signature(function).argument(argument.getArgNumber()).symbol(axis) : "";
}

static Extent extentOf(Value v) {
  Operation *op = v.getDefiningOp();
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant)))
    return {std::to_string(constant.getSExtValue()), double(constant.getSExtValue())};
  if (auto dim = dyn_cast_or_null<host::DimOp>(op))
    if (auto argument = dyn_cast<BlockArgument>(dim.getMemory()))
      if (StringRef name = dimName(argument, dim.getAxis()); !name.empty())
        return {name.str(), kTypical};
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    Extent x = extentOf(op->getOperand(0)), y = extentOf(op->getOperand(1));
    if (isa<arith::MulIOp>(op))
      return {x.text + "*" + y.text, x.value * y.value};
    bool adds = isa<arith::AddIOp>(op);
    return {"(" + x.text + (adds ? " + " : " - ") + y.text + ")",
            adds ? x.value + y.value : x.value - y.value};
  }
  return {"?", kTypical};
}

static BlockSize sizeOf(double bytes, ValueRange extents) {
  BlockSize size{bytes, "", bytes};
  SmallVector<std::string> texts;
  for (Value v : extents) {
    if (matchPattern(v, m_Constant())) {
      Extent known = extentOf(v);
      size.bytes *= known.value;
      size.typical *= known.value;
      continue;
    }
    Extent extent = extentOf(v);
    texts.push_back(extent.text);
    size.typical *= extent.value;
  }
  llvm::sort(texts);
  size.extents = llvm::join(texts, "*");
  return size;
}

/// What `op` takes from the heap, if it takes memory.
static std::optional<BlockSize> taken(Operation &op) {
  if (auto arena = dyn_cast<host::AllocArenaOp>(op))
    return sizeOf(static_cast<double>(arena.getUnits()), arena.getExtents());
  auto block = dyn_cast<host::AllocOp>(op);
  if (!block)
    return std::nullopt;
  MemRefType type = block.getResult().getType();
  auto bytes = static_cast<double>(elementBytes(type.getElementType()));
  for (int64_t d : type.getShape())
    bytes *= ShapedType::isDynamic(d) ? 1 : static_cast<double>(d);
  return sizeOf(bytes, block.getSizes());
}

/// The last operator of `block` that needs the memory of `v`: the one that frees it, or to
/// which it goes, or its last reader.
static Operation *lastHolder(Value v, Block &block) {
  Operation *last = v.getDefiningOp();
  for (Operation *user : v.getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (isa<host::ViewOp>(user) && here == user)
      here = lastHolder(user->getResult(0), block);
    if (last->isBeforeInBlock(here))
      last = here;
  }
  return last;
}

MemorySum tcc::allocatedPeak(func::FuncOp program) {
  Block &block = program.getBody().front();
  DenseMap<Operation *, SmallVector<BlockSize>> freedAfter;
  MemorySum held, peak;
  double typical = 0, highest = 0;
  for (Operation &op : block) {
    if (std::optional<BlockSize> size = taken(op)) {
      freedAfter[lastHolder(op.getResult(0), block)].push_back(*size);
      held[size->extents] += size->bytes;
      typical += size->typical;
    }
    if (isa<host::LaunchOp>(op) && typical > highest) {
      highest = typical;
      peak = held;
    }
    for (const BlockSize &size : freedAfter.lookup(&op)) {
      held[size.extents] -= size.bytes;
      typical -= size.typical;
    }
  }
  std::erase_if(peak, [](const auto &part) { return part.second == 0; });
  return peak;
}
