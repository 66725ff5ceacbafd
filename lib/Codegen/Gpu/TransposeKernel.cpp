//===- TransposeKernel.cpp - Points of operands that lie across -----------===//
//
// A transpose that moves the innermost axis makes either reads or writes stride through
// memory. A block takes a square tile instead: its threads first read the transposed
// operand along the axis in which it lies and leave the values in shared memory, then
// compute the results along theirs, taking the operand's values from there. Rows of the
// shared tile are one word longer than the tile, so that both ways use all banks.
//
//===----------------------------------------------------------------------===//
#include "TransposedOperand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

std::optional<TransposedOperand> device::transposedOperand(kernel::LaunchOp launch) {
  TransposedOperand found{};
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  for (Operation &op : launch.getBody().front().without_terminator()) {
    auto transpose = dyn_cast<prim::TransposeOp>(op);
    if (!transpose) {
      // Everything else is computed at the point itself or does not lie across.
      if (!prim::isElementwise(&op) && !isa<prim::ConstantOp, prim::BroadcastOp>(op))
        return std::nullopt;
      continue;
    }
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    auto across = llvm::find(permutation, int64_t(permutation.size()) - 1) - permutation.begin();
    if (tensorType(transpose.getResult()).getShape() != space.getShape() ||
        across + 1 == int64_t(permutation.size()) ||
        (!found.operands.empty() && found.axis != across))
      return std::nullopt;
    // What a transpose reads is at another point than the results.
    if (!isa<BlockArgument>(transpose.getX()))
      return std::nullopt;
    found.axis = across;
    found.operands.push_back(transpose);
  }
  return found.operands.empty() ? std::nullopt : std::optional(found);
}

namespace {

class TransposeEmitter {
public:
  explicit TransposeEmitter(device::KernelFrame &f)
      : f(f), operands(*transposedOperand(f.launch)), extents(f.results[0].extents),
        last(extents.size() - 1) {}
  void run();

private:
  static constexpr unsigned tile = TransposedOperand::tile;
  struct Point {
    Coords at;
    Value inside;
    Value inAxis, inLast; ///< of the tile
  };
  Point pointOf(Value inAxis, Value inLast);
  Value placeOf(const Point &point);
  void read();
  void write();

  device::KernelFrame &f;
  TransposedOperand operands;
  SmallVector<Value> extents;
  unsigned last;
  SmallVector<Value> outer; ///< the block's place: an index an axis, of tiles where it is cut
  SmallVector<Value> shared;
  Value fast, slow; ///< of the thread
};

} // namespace

TransposeEmitter::Point TransposeEmitter::pointOf(Value inAxis, Value inLast) {
  Point point{{}, {}, inAxis, inLast};
  for (auto [axis, i] : llvm::enumerate(outer)) {
    Value index = i;
    if (axis == operands.axis || axis == last) {
      index = f.e.addIndex(f.e.mulIndex(i, f.e.index(tile)), axis == last ? inLast : inAxis);
      Value ok = f.less(index, extents[axis]);
      point.inside = point.inside ? Value(arith::AndIOp::create(f.b, point.inside, ok)) : ok;
    }
    point.at.push_back(Coord::uniform(index));
  }
  return point;
}

Value TransposeEmitter::placeOf(const Point &point) {
  return f.e.addIndex(f.e.mulIndex(point.inLast, f.e.index(tile + 1)), point.inAxis);
}

void TransposeEmitter::read() {
  for (unsigned step = 0; step < tile; step += f.schedule.getThreads() / tile) {
    Point point = pointOf(fast, f.e.addIndex(slow, f.e.index(step)));
    f.when(point.inside, [&] {
      for (auto [transpose, memory] : llvm::zip(operands.operands, shared)) {
        Value v = f.e.eval(transpose.getResult(), point.at);
        f.failed |= !v;
        if (v)
          LLVM::StoreOp::create(f.b, f.asStored(v),
                                f.at(memory, f.asStored(v.getType()), placeOf(point)));
      }
    });
  }
}

void TransposeEmitter::write() {
  for (unsigned step = 0; step < tile; step += f.schedule.getThreads() / tile) {
    Point point = pointOf(f.e.addIndex(slow, f.e.index(step)), fast);
    f.when(point.inside, [&] {
      f.e.forget();
      for (auto [transpose, memory] : llvm::zip(operands.operands, shared)) {
        Type type = computeType(tensorType(transpose.getResult()).getElementType());
        Value stored = LLVM::LoadOp::create(f.b, f.asStored(type),
                                            f.at(memory, f.asStored(type), placeOf(point)));
        Value v = f.asComputed(stored, type);
        f.e.bindProvider(transpose.getResult(), [v](ArrayRef<Coord>) { return v; });
      }
      SmallVector<Value> elements;
      for (Value value : f.yield().getValues()) {
        elements.push_back(f.e.eval(value, point.at));
        f.failed |= !elements.back();
      }
      for (auto [memory, element] : llvm::zip(f.results, elements))
        if (element)
          f.e.store(memory, point.at, element);
    });
  }
}

void TransposeEmitter::run() {
  SmallVector<Value> blocks(extents);
  for (unsigned axis : {operands.axis, last})
    blocks[axis] = f.e.divIndex(f.e.addIndex(blocks[axis], f.e.index(tile - 1)), f.e.index(tile));
  outer = f.delinearize(f.block, blocks);
  fast = f.e.remIndex(f.thread, f.e.index(tile));
  slow = f.e.divIndex(f.thread, f.e.index(tile));
  for (auto [i, transpose] : llvm::enumerate(operands.operands)) {
    Type type = computeType(tensorType(transpose.getResult()).getElementType());
    shared.push_back(f.shared(f.asStored(type), tile * (tile + 1), "tile" + std::to_string(i)));
  }
  read();
  f.barrier();
  write();
}

void device::emitTransposeKernel(KernelFrame &f) { TransposeEmitter(f).run(); }
