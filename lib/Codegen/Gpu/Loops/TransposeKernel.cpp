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
// Where an axis is short, as the phases of a transposed convolution are, a tile has it with those
// before it in memory: results lie together along their last axes, operands along theirs.
//
//===----------------------------------------------------------------------===//
#include "../ScheduleChoice.h"
#include "TransposedOperand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/NarrowTypes.h"
#include <vector>

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

SmallVector<JoinedAxes> TransposedOperand::groups() const {
  SmallVector<JoinedAxes> all;
  unsigned rank = tensorType(operands.front()).getRank();
  for (unsigned axis = 0; axis < rank; ++axis) {
    if (axis == across.back() || axis == along.back())
      all.push_back(axis == across.back() ? across : along);
    else if (!llvm::is_contained(across, axis) && !llvm::is_contained(along, axis))
      all.push_back({axis});
  }
  return all;
}

/// Gives the tile's axes those that lie beside them in memory, until they are long enough, the
/// shorter one first. What is no transpose of an argument lies along its own axis alone.
static void joinShortAxes(TransposedOperand &found, ArrayRef<int64_t> shape) {
  constexpr int64_t kEnough = 64;
  auto transpose = found.operands[0].getDefiningOp<prim::TransposeOp>();
  ArrayRef<int64_t> order = transpose ? transpose.getPermutation() : ArrayRef<int64_t>();
  bool alike = llvm::all_of(found.operands, [&](Value v) {
    auto other = v.getDefiningOp<prim::TransposeOp>();
    return other && other.getPermutation() == order && isa<BlockArgument>(other.getX());
  });
  auto length = [&](const JoinedAxes &axes) {
    int64_t all = 1;
    for (unsigned axis : axes)
      all = ShapedType::isDynamic(shape[axis]) ? kEnough : all * shape[axis];
    return all;
  };
  auto grow = [&](JoinedAxes &axes) {
    // Axis of the results, or of the operands, that lies before those.
    int64_t next = int64_t(axes.front()) - 1;
    if (&axes == &found.across) {
      int64_t before = alike ? order[axes.front()] - 1 : -1;
      next = before < 0 ? -1 : llvm::find(order, before) - order.begin();
    }
    if (next < 0 || ShapedType::isDynamic(shape[next]) || length(axes) >= kEnough ||
        llvm::is_contained(found.across, next) || llvm::is_contained(found.along, next))
      return false;
    axes.insert(axes.begin(), next);
    return true;
  };
  for (bool grows = true; grows;) {
    bool first = length(found.across) < length(found.along);
    grows = grow(first ? found.across : found.along) || grow(first ? found.along : found.across);
  }
}

static bool isView(Operation *op) {
  return isa<prim::TransposeOp, prim::SliceOp, prim::ReshapeOp>(op);
}

/// The axis of `v` along which neighbours lie in memory: of views of arguments, and of what is
/// computed from such point by point. Null if there is none.
static std::optional<unsigned> axisInMemory(Value v) {
  auto shape = tensorType(v).getShape();
  if (isa<BlockArgument>(v) || isFilledUp(v))
    return shape.empty() ? std::nullopt : std::optional(unsigned(shape.size()) - 1);
  Operation *op = v.getDefiningOp();
  std::optional<unsigned> axis;
  if (prim::isElementwise(op)) {
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()) ||
          isa_and_nonnull<prim::BroadcastOp, prim::ConstantOp>(operand.getDefiningOp()))
        continue;
      std::optional<unsigned> own = axisInMemory(operand);
      if (!own || (axis && axis != own))
        return std::nullopt;
      axis = own;
    }
    return axis;
  }
  axis = isView(op) ? axisInMemory(op->getOperand(0)) : std::nullopt;
  if (!axis)
    return std::nullopt;
  auto before = tensorType(op->getOperand(0)).getShape();
  if (auto transpose = dyn_cast<prim::TransposeOp>(op))
    return llvm::find(transpose.getPermutation(), int64_t(*axis)) -
           transpose.getPermutation().begin();
  if (auto slice = dyn_cast<prim::SliceOp>(op)) {
    bool whole = getConstantIntValue(slice.getMixedStarts()[*axis]) == 0 &&
                 slice.getSteps()[*axis] == 1 && shape[*axis] == before[*axis];
    return whole ? axis : std::nullopt;
  }
  if (ShapedType::isDynamicShape(shape) || ShapedType::isDynamicShape(before))
    return std::nullopt;
  // Of an axis that is cut the innermost part.
  for (unsigned i = shape.size(); i-- > 0;)
    if (shape[i] > 1 && before[*axis] % shape[i] == 0 &&
        volumeOf(shape.drop_front(i + 1)) == volumeOf(before.drop_front(*axis + 1)))
      return i;
  return std::nullopt;
}

std::optional<TransposedOperand> device::transposedOperand(kernel::LaunchOp launch) {
  TransposedOperand found{};
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  DenseSet<Operation *> read; // for views, at other points than the results
  for (Operation &op : llvm::reverse(launch.getBody().front().without_terminator())) {
    bool computed =
        prim::isElementwise(&op) || isa<prim::ConstantOp, prim::BroadcastOp, prim::DimOp>(op);
    if (!computed && !isView(&op) && !isa<prim::PadOp>(op))
      return std::nullopt;
    auto isRead = [&](Operation *user) { return isView(user) || read.contains(user); };
    if (!op.use_empty() && llvm::all_of(op.getUsers(), isRead)) {
      read.insert(&op);
      continue;
    }
    if (computed)
      continue;
    Value v = op.getResult(0);
    std::optional<unsigned> across = isView(&op) ? axisInMemory(v) : std::nullopt;
    if (!across || tensorType(v).getShape() != space.getShape() || *across + 1 == space.getRank() ||
        llvm::any_of(op.getUsers(), isRead) ||
        (!found.operands.empty() && found.across[0] != *across))
      return std::nullopt;
    found.across = {*across};
    found.operands.push_back(v);
  }
  if (found.operands.empty())
    return std::nullopt;
  std::reverse(found.operands.begin(), found.operands.end());
  found.along = {unsigned(space.getRank()) - 1};
  joinShortAxes(found, space.getShape());
  return found;
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
  auto whole = [&](const JoinedAxes &axes) {
    int64_t extent =
        volumeOf(llvm::map_to_vector(axes, [&](unsigned axis) { return space.getDimSize(axis); }));
    return extent >= 0 && extent % lanes == 0;
  };
  std::optional<TransposedOperand> operands = transposedOperand(launch);
  bool fits =
      lanes >= kFewest && lanes <= kMost && whole(operands->across) && whole(operands->along);
  return fits ? lanes : 1;
}

namespace {

class TransposeEmitter {
public:
  explicit TransposeEmitter(device::KernelFrame &f)
      : f(f), operands(*transposedOperand(f.launch)), extents(f.results[0].extents),
        groups(operands.groups()), lanes(f.schedule.getLanes()), tile(f.schedule.getRows()) {}
  void run();

private:
  struct Point {
    Coords at;
    Value inside;
    Value inAcross, inAlong; ///< of the tile
    Coord number;            ///< along the axes that the thread reads or writes along
  };
  Value volume(const JoinedAxes &axes);
  Point pointOf(Value inAcross, Value inAlong, const JoinedAxes &lanesAlong);
  void spread(const JoinedAxes &axes, const Coord &number, Coords &at);
  Coords joined(Coords at, const JoinedAxes &axes, const Coord &number);
  Memory joined(Memory memory, unsigned axes);
  Value placeOf(const Point &point);
  static Type storedType(Value v) { return storageType(tensorType(v).getElementType()); }
  Value valueOf(Value operand, const Point &point);
  Value gathered(Value operand, Value memory, const Point &point);
  void read();
  void write();

  device::KernelFrame &f;
  TransposedOperand operands;
  SmallVector<Value> extents;
  SmallVector<JoinedAxes> groups;
  unsigned lanes, tile;     ///< tile: points along both axes
  SmallVector<Value> outer; ///< the block's place: an index a group, of tiles where it is cut
  SmallVector<Value> shared;
  Value fast, slow; ///< of the thread; fast: its first point along the axis that it reads or writes
};

} // namespace

Value TransposeEmitter::volume(const JoinedAxes &axes) {
  return f.volume(llvm::map_to_vector(axes, [&](unsigned axis) { return extents[axis]; }));
}

/// The indices along `axes` of what is numbered along all of them.
void TransposeEmitter::spread(const JoinedAxes &axes, const Coord &number, Coords &at) {
  if (number.isUniform()) {
    auto of = llvm::map_to_vector(axes, [&](unsigned axis) { return extents[axis]; });
    for (auto [axis, index] : llvm::zip_equal(axes, f.delinearize(number.base, of)))
      at[axis] = Coord::uniform(index);
    return;
  }
  Coord rest = number;
  for (unsigned axis : llvm::reverse(axes)) {
    if (axis == axes.front()) {
      at[axis] = rest;
      break;
    }
    Value v = f.e.coordValue(rest), extent = f.e.splat(extents[axis], lanes);
    at[axis] = Coord::any(arith::RemUIOp::create(f.b, v, extent));
    rest = Coord::any(arith::DivUIOp::create(f.b, v, extent));
  }
}

/// The thread's points, which are neighbours along `lanesAlong`; past the end, the last ones, which
/// must not be stored.
TransposeEmitter::Point TransposeEmitter::pointOf(Value inAcross, Value inAlong,
                                                  const JoinedAxes &lanesAlong) {
  Point point{Coords(extents.size()), {}, inAcross, inAlong, {}};
  for (auto [group, i] : llvm::zip_equal(groups, outer)) {
    Value index = i;
    if (operands.isCut(group)) {
      index = f.e.addIndex(f.e.mulIndex(i, f.e.index(tile)),
                           group == operands.along ? inAlong : inAcross);
      Value all = volume(group);
      auto extent = getConstantIntValue(all);
      if (!extent || *extent % tile != 0) {
        Value ok = f.less(index, all);
        point.inside = point.inside ? Value(arith::AndIOp::create(f.b, point.inside, ok)) : ok;
        Value most = f.e.subIndex(all, f.e.index(group == lanesAlong ? lanes : 1));
        index = f.minIndex(index, most);
      }
    }
    bool varies = group == lanesAlong && lanes > 1;
    if (varies)
      f.e.bindAligned(index);
    Coord number = varies ? Coord::affine(index, 1) : Coord::uniform(index);
    if (group == lanesAlong)
      point.number = number;
    spread(group, number, point.at);
  }
  return point;
}

/// An index an axis, of which the last ones are one.
Coords TransposeEmitter::joined(Coords at, const JoinedAxes &axes, const Coord &number) {
  at.truncate(at.size() - axes.size());
  at.push_back(number);
  return at;
}

Memory TransposeEmitter::joined(Memory memory, unsigned axes) {
  SmallVector<Value> last(ArrayRef(memory.extents).take_back(axes));
  memory.extents.truncate(memory.extents.size() - axes);
  memory.extents.push_back(f.volume(last));
  return memory;
}

Value TransposeEmitter::placeOf(const Point &point) {
  if (lanes == 1)
    return f.e.addIndex(f.e.mulIndex(point.inAlong, f.e.index(tile + 1)), point.inAcross);
  Value vector = f.e.index(lanes);
  Value chunk = arith::XOrIOp::create(f.b, f.e.divIndex(point.inAcross, vector),
                                      f.e.divIndex(point.inAlong, vector));
  Value inRow = f.e.addIndex(f.e.mulIndex(chunk, vector), f.e.remIndex(point.inAcross, vector));
  return f.e.addIndex(f.e.mulIndex(point.inAlong, f.e.index(tile)), inRow);
}

Value TransposeEmitter::valueOf(Value operand, const Point &point) {
  if (operands.across.size() == 1)
    return f.e.evalVector(operand, point.at);
  auto transpose = operand.getDefiningOp<prim::TransposeOp>();
  Coords source(point.at.size());
  for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
    source[axis] = point.at[i];
  return f.e.load(joined(*f.e.memoryOf(transpose.getX()), operands.across.size()),
                  joined(source, operands.across, point.number));
}

/// All is on its way before the first of it is stored.
void TransposeEmitter::read() {
  SmallVector<std::pair<Value, Value>> found; // what is stored, and where
  SmallVector<unsigned> bytes;
  for (unsigned step = 0; step < tile; step += f.schedule.getThreads() * lanes / tile) {
    Point point = pointOf(fast, f.e.addIndex(slow, f.e.index(step)), operands.across);
    for (auto [operand, memory] : llvm::zip(operands.operands, shared)) {
      Value v = valueOf(operand, point);
      f.failed |= !v;
      if (!v)
        return;
      Type type = storedType(operand);
      found.push_back({toStorage(f.b, v, tensorType(operand).getElementType()),
                       f.at(memory, type, placeOf(point))});
      bytes.push_back(
          std::min<unsigned>(type.getIntOrFloatBitWidth() / 8 * lanes, GpuArch::accessBytes));
    }
  }
  for (auto [one, alignment] : llvm::zip(found, bytes))
    LLVM::StoreOp::create(f.b, one.first, one.second, alignment);
}

/// The operand's values at the thread's points, from shared memory.
Value TransposeEmitter::gathered(Value operand, Value memory, const Point &point) {
  Type type = storedType(operand);
  Value first = placeOf(point);
  SmallVector<Value> elements;
  for (unsigned lane = 0; lane < lanes; ++lane)
    elements.push_back(LLVM::LoadOp::create(
        f.b, type, f.at(memory, type, f.e.addIndex(first, f.e.index(int64_t(lane) * tile)))));
  Value stored = lanes == 1 ? elements[0]
                            : Value(vector::FromElementsOp::create(
                                  f.b, VectorType::get({int64_t(lanes)}, type), elements));
  return fromStorage(f.b, stored, tensorType(operand).getElementType());
}

void TransposeEmitter::write() {
  std::vector<std::pair<Point, SmallVector<Value>>> found;
  for (unsigned step = 0; step < tile; step += f.schedule.getThreads() * lanes / tile) {
    auto &[point, elements] = found.emplace_back(
        pointOf(f.e.addIndex(slow, f.e.index(step)), fast, operands.along), SmallVector<Value>());
    f.e.forget();
    for (auto [operand, memory] : llvm::zip(operands.operands, shared)) {
      f.e.bindProvider(operand,
                       [v = gathered(operand, memory, point)](ArrayRef<Coord>) { return v; });
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
        f.e.store(joined(memory, operands.along.size()),
                  joined(point.at, operands.along, point.number), element);
    };
    point.inside ? f.when(point.inside, store) : store();
  }
}

void TransposeEmitter::run() {
  SmallVector<Value> blocks;
  for (const JoinedAxes &group : groups) {
    Value all = volume(group);
    blocks.push_back(operands.isCut(group)
                         ? f.e.divIndex(f.e.addIndex(all, f.e.index(tile - 1)), f.e.index(tile))
                         : all);
  }
  outer = f.delinearize(f.block, blocks);
  f.e.setLanes(lanes);
  Value units = f.e.index(tile / lanes);
  fast = f.e.mulIndex(f.e.remIndex(f.thread, units), f.e.index(lanes));
  slow = f.e.divIndex(f.thread, units);
  for (auto [i, operand] : llvm::enumerate(operands.operands))
    shared.push_back(f.shared(storedType(operand), int64_t(tile) * (lanes == 1 ? tile + 1 : tile),
                              "tile" + std::to_string(i)));
  read();
  f.barrier();
  write();
}

void device::emitTransposeKernel(KernelFrame &f) { TransposeEmitter(f).run(); }
