//===- TransposeKernel.cpp - Points of operands that lie across -----------===//
//
// A transpose that moves the innermost axis makes either reads or writes stride through
// memory. A block takes a square tile instead: its threads first read the transposed
// operand along the axis in which it lies and leave the values in shared memory, then
// compute the results along theirs, taking the operand's values from there.
//
// Where both axes are whole vectors, a thread reads and writes vectors of 16 bytes: a row of the
// shared tile is eight of them, and lies in another order in the rows of each vector, so that a
// vector is written at once and its neighbours across are gathered from all banks. Elsewhere rows
// of the shared tile are one element longer than the tile, so that both ways use all banks.
//
//===----------------------------------------------------------------------===//
#include "TransposedOperand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/NarrowTypes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Whether `v` is an argument with more of the same behind the last index of axes that do not lie
/// together in memory.
static bool isFilledUp(Value v) {
  auto pad = v.getDefiningOp<prim::PadOp>();
  return pad && isa<BlockArgument>(pad.getX()) && pad.getLows().empty() &&
         llvm::all_of(pad.getStaticLow(), [](int64_t low) { return low == 0; }) &&
         llvm::all_of(pad.getInterior(), [](int64_t between) { return between == 0; }) &&
         tensorType(pad.getX()).getShape().back() == tensorType(v).getShape().back();
}

std::optional<TransposedOperand> device::transposedOperand(kernel::LaunchOp launch) {
  TransposedOperand found{};
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  for (Operation &op : launch.getBody().front().without_terminator()) {
    auto transpose = dyn_cast<prim::TransposeOp>(op);
    if (!transpose) {
      // Everything else is computed at the point itself, does not lie across, is no tensor or part
      // of what a transpose reads.
      bool isRead = isa<prim::PadOp>(op) && llvm::all_of(op.getUsers(), [](Operation *user) {
                      return isa<prim::TransposeOp>(user);
                    });
      if (!isRead && !prim::isElementwise(&op) &&
          !isa<prim::ConstantOp, prim::BroadcastOp, prim::DimOp>(op))
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
    if (!isa<BlockArgument>(transpose.getX()) && !isFilledUp(transpose.getX()))
      return std::nullopt;
    found.axis = across;
    found.operands.push_back(transpose);
  }
  return found.operands.empty() ? std::nullopt : std::optional(found);
}

unsigned device::transposedLanes(kernel::LaunchOp launch) {
  constexpr unsigned kFewest = 4, kMost = 8;
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  unsigned narrowest = 64; // bits
  auto look = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      narrowest = std::min(narrowest, storageType(tensor.getElementType()).getIntOrFloatBitWidth());
  };
  for (Type type : launch.getInputs().getTypes())
    look(type);
  for (Type type : launch.getResultTypes())
    look(type);
  unsigned lanes = GpuArch::accessBytes * 8 / std::max(narrowest, 8u);
  auto whole = [&](int64_t extent) {
    return !ShapedType::isDynamic(extent) && extent % lanes == 0;
  };
  bool fits = lanes >= kFewest && lanes <= kMost && whole(space.getShape().back()) &&
              whole(space.getDimSize(transposedOperand(launch)->axis));
  return fits ? lanes : 1;
}

namespace {

class TransposeEmitter {
public:
  explicit TransposeEmitter(device::KernelFrame &f)
      : f(f), operands(*transposedOperand(f.launch)), extents(f.results[0].extents),
        last(extents.size() - 1), lanes(f.schedule.getLanes()), tile(f.schedule.getRows()) {}
  void run();

private:
  struct Point {
    Coords at;
    Value inside;
    Value inAxis, inLast; ///< of the tile
  };
  Point pointOf(Value inAxis, Value inLast, unsigned along);
  Value placeOf(const Point &point);
  Type storedType(prim::TransposeOp transpose) {
    return storageType(tensorType(transpose.getResult()).getElementType());
  }
  Value gathered(prim::TransposeOp transpose, Value memory, const Point &point);
  void read();
  void write();

  device::KernelFrame &f;
  TransposedOperand operands;
  SmallVector<Value> extents;
  unsigned last;
  unsigned lanes, tile;     ///< tile: points along both axes
  SmallVector<Value> outer; ///< the block's place: an index an axis, of tiles where it is cut
  SmallVector<Value> shared;
  Value fast, slow; ///< of the thread; fast: its first point along the axis that it reads or writes
};

} // namespace

/// The thread's points, which are neighbours along axis `along`; past the end, the last ones, which
/// must not be stored.
TransposeEmitter::Point TransposeEmitter::pointOf(Value inAxis, Value inLast, unsigned along) {
  Point point{{}, {}, inAxis, inLast};
  for (auto [axis, i] : llvm::enumerate(outer)) {
    Value index = i;
    if (axis == operands.axis || axis == last) {
      index = f.e.addIndex(f.e.mulIndex(i, f.e.index(tile)), axis == last ? inLast : inAxis);
      auto extent = getConstantIntValue(extents[axis]);
      if (!extent || *extent % tile != 0) {
        Value ok = f.less(index, extents[axis]);
        point.inside = point.inside ? Value(arith::AndIOp::create(f.b, point.inside, ok)) : ok;
        Value most = f.e.subIndex(extents[axis], f.e.index(axis == along ? lanes : 1));
        index = f.minIndex(index, most);
      }
    }
    bool varies = axis == along && lanes > 1;
    if (varies)
      f.e.bindAligned(index);
    point.at.push_back(varies ? Coord::affine(index, 1) : Coord::uniform(index));
  }
  return point;
}

Value TransposeEmitter::placeOf(const Point &point) {
  if (lanes == 1)
    return f.e.addIndex(f.e.mulIndex(point.inLast, f.e.index(tile + 1)), point.inAxis);
  Value vector = f.e.index(lanes);
  Value chunk = arith::XOrIOp::create(f.b, f.e.divIndex(point.inAxis, vector),
                                      f.e.divIndex(point.inLast, vector));
  Value inRow = f.e.addIndex(f.e.mulIndex(chunk, vector), f.e.remIndex(point.inAxis, vector));
  return f.e.addIndex(f.e.mulIndex(point.inLast, f.e.index(tile)), inRow);
}

/// All is on its way before the first of it is stored.
void TransposeEmitter::read() {
  SmallVector<std::pair<Value, Value>> found; // what is stored, and where
  SmallVector<unsigned> bytes;
  for (unsigned step = 0; step < tile; step += f.schedule.getThreads() * lanes / tile) {
    Point point = pointOf(fast, f.e.addIndex(slow, f.e.index(step)), operands.axis);
    for (auto [transpose, memory] : llvm::zip(operands.operands, shared)) {
      Value v = f.e.evalVector(transpose.getResult(), point.at);
      f.failed |= !v;
      if (!v)
        return;
      Type type = storedType(transpose);
      found.push_back({toStorage(f.b, v, tensorType(transpose.getResult()).getElementType()),
                       f.at(memory, type, placeOf(point))});
      bytes.push_back(
          std::min<unsigned>(type.getIntOrFloatBitWidth() / 8 * lanes, GpuArch::accessBytes));
    }
  }
  for (auto [one, alignment] : llvm::zip(found, bytes))
    LLVM::StoreOp::create(f.b, one.first, one.second, alignment);
}

/// The operand's values at the thread's points, from shared memory.
Value TransposeEmitter::gathered(prim::TransposeOp transpose, Value memory, const Point &point) {
  Type type = storedType(transpose);
  Value first = placeOf(point);
  SmallVector<Value> elements;
  for (unsigned lane = 0; lane < lanes; ++lane)
    elements.push_back(LLVM::LoadOp::create(
        f.b, type, f.at(memory, type, f.e.addIndex(first, f.e.index(int64_t(lane) * tile)))));
  Value stored = lanes == 1 ? elements[0]
                            : Value(vector::FromElementsOp::create(
                                  f.b, VectorType::get({int64_t(lanes)}, type), elements));
  return fromStorage(f.b, stored, tensorType(transpose.getResult()).getElementType());
}

void TransposeEmitter::write() {
  SmallVector<std::pair<Point, SmallVector<Value>>> found;
  for (unsigned step = 0; step < tile; step += f.schedule.getThreads() * lanes / tile) {
    auto &[point, elements] = found.emplace_back(
        pointOf(f.e.addIndex(slow, f.e.index(step)), fast, last), SmallVector<Value>());
    f.e.forget();
    for (auto [transpose, memory] : llvm::zip(operands.operands, shared)) {
      Value v = gathered(transpose, memory, point);
      f.e.bindProvider(transpose.getResult(), [v](ArrayRef<Coord>) { return v; });
    }
    for (Value value : f.yield().getValues()) {
      elements.push_back(f.e.eval(value, point.at));
      f.failed |= !elements.back();
      if (f.failed)
        return;
    }
  }
  for (auto &[point, elements] : found) {
    auto store = [&, &point = point, &elements = elements] {
      for (auto [memory, element] : llvm::zip(f.results, elements))
        f.e.store(memory, point.at, element);
    };
    point.inside ? f.when(point.inside, store) : store();
  }
}

void TransposeEmitter::run() {
  SmallVector<Value> blocks(extents);
  for (unsigned axis : {operands.axis, last})
    blocks[axis] = f.e.divIndex(f.e.addIndex(blocks[axis], f.e.index(tile - 1)), f.e.index(tile));
  outer = f.delinearize(f.block, blocks);
  f.e.setLanes(lanes);
  Value units = f.e.index(tile / lanes);
  fast = f.e.mulIndex(f.e.remIndex(f.thread, units), f.e.index(lanes));
  slow = f.e.divIndex(f.thread, units);
  for (auto [i, transpose] : llvm::enumerate(operands.operands))
    shared.push_back(f.shared(storedType(transpose), int64_t(tile) * (lanes == 1 ? tile + 1 : tile),
                              "tile" + std::to_string(i)));
  read();
  f.barrier();
  write();
}

void device::emitTransposeKernel(KernelFrame &f) { TransposeEmitter(f).run(); }
