//===- ColumnKernel.cpp - Few points, each of a long reduction ------------===//
//
// Sums over leading axes: neighbouring results read neighbouring elements, but there are
// too few of them to fill the machine with a thread each. The threads of a block are a
// rectangle: one side are neighbouring results, a vector of them each and at most a warp,
// the other (`row_threads`) shares the elements of each. A thread keeps several loads in
// flight; its partial results meet those of its warp by exchanges, then those of the other
// warps in shared memory, and are combined in a fixed order. Where even the blocks are few,
// several share the same results: they meet in scratch memory in the same way. Of open lengths how
// many do is left to the run (`most_blocks`).
//
// A vector by a matrix is such a sum too, of products, where the matrix lies in rows of results.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "../ScheduleChoice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Whether what is computed from `found` is so at the result's own point, whatever its axes are
/// called.
static bool staysAtPoints(kernel::LaunchOp launch, Operation *found) {
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  auto longAxes = [](RankedTensorType type) {
    SmallVector<int64_t> extents(type.getShape());
    llvm::erase(extents, 1);
    return extents;
  };
  auto ofPoints = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return longAxes(tensor) == longAxes(space) ||
           (tensor.hasStaticShape() && space.hasStaticShape() &&
            tensor.getNumElements() == space.getNumElements());
  };
  llvm::SmallPtrSet<Operation *, 8> after{found};
  for (Operation &op : launch.getBody().front().without_terminator()) {
    bool reads =
        llvm::any_of(op.getOperands(), [&](Value v) { return after.contains(v.getDefiningOp()); });
    if (reads && !prim::isElementwise(&op) && !isa<prim::ReshapeOp>(op))
      return false;
    if (reads)
      after.insert(&op);
  }
  return llvm::all_of(after, [&](Operation *op) { return ofPoints(op->getResult(0).getType()); });
}

prim::ReduceOp device::columnReduction(kernel::LaunchOp launch) {
  prim::ReduceOp found;
  for (Operation &op : launch.getBody().front().without_terminator()) {
    auto reduce = dyn_cast<prim::ReduceOp>(op);
    if (isa<prim::PoolOp>(op) || (reduce && found))
      return {};
    if (reduce)
      found = reduce;
  }
  bool hasPoints = cast<RankedTensorType>(launch.getResultTypes()[0]).getRank() > 0;
  return found && hasPoints && staysAtPoints(launch, found) ? found : prim::ReduceOp();
}

prim::DotOp device::columnProduct(kernel::LaunchOp launch) {
  // Rows; of them all but one read what the cache has then; elements of k.
  constexpr int64_t kMostRows = 4, kCachedBytes = int64_t(24) << 20, kLeast = 128;
  auto dot = dyn_cast_or_null<prim::DotOp>(productOf(launch));
  auto space = cast<RankedTensorType>(launch.getResultTypes()[0]);
  if (!dot || !isa<BlockArgument>(dot.getRhs()) || dot.getRhsContract().empty())
    return {};
  auto right = tensorType(dot.getRhs()), result = tensorType(dot.getResult());
  Type element = result.getElementType();
  bool known = result.hasStaticShape() && space.hasStaticShape();
  auto last = right.getRank() - 1;
  bool rows = !llvm::is_contained(dot.getRhsContract(), last) &&
              !llvm::is_contained(dot.getRhsBatch(), last);
  Type sum = sumType(element), read = right.getElementType();
  bool narrow = read.isF16() || read.isBF16();
  bool exact = sum.isIntOrFloat() && sum.getIntOrFloatBitWidth() >= 32 &&
               (narrow ? sum.isF32() : element == read && sum == element);
  if (!known || !rows || !exact || space.getRank() == 0 ||
      space.getShape().back() != right.getShape().back())
    return {};
  // Only what is summed may be open.
  int64_t inner = 1, many = 1; // with batches
  for (auto [axis, extent] : llvm::enumerate(right.getShape()))
    if (!llvm::is_contained(dot.getRhsContract(), axis))
      many *= extent;
    else
      inner *= ShapedType::isDynamic(extent) ? kTypicalReduction : extent;
  int64_t few = many ? result.getNumElements() / many : 0;
  // Of narrow floats matrix units multiply 16 rows by 32 columns at least, and read a matrix once:
  // 4 x 2048 x 2048 took 12.3 us so and 6.6 there, 2 x 100,000 x 2 2.7 and 78.
  constexpr int64_t kFewColumns = 32;
  bool cached = narrow ? right.getShape().back() < kFewColumns
                       : many * inner * elementBytes(read) <= kCachedBytes;
  bool pays = few == 1 || (few > 1 && few <= kMostRows && cached);
  bool plain = llvm::all_of(launch.getBody().front().without_terminator(), [&](Operation &op) {
    return &op == dot || prim::isElementwise(&op) || op.hasTrait<prim::Generated>() ||
           isa<prim::BroadcastOp, prim::ReshapeOp>(op);
  });
  return pays && plain && inner >= kLeast && staysAtPoints(launch, dot) ? dot : prim::DotOp();
}

namespace {

class ColumnEmitter {
public:
  explicit ColumnEmitter(device::KernelFrame &f)
      : f(f), b(f.b), dot(columnProduct(f.launch)),
        reduce(dot ? prim::ReduceOp() : columnReduction(f.launch)),
        found(dot ? dot.getOperation() : reduce.getOperation()),
        kind(dot ? prim::ReduceKind::sum : reduce.getKind()),
        element(dot ? sumType(tensorType(dot.getResult()).getElementType())
                    : tensorType(reduce.getX()).getElementType()),
        lanes(f.schedule.getLanes()), rowThreads(f.schedule.getRowThreads()),
        side(f.schedule.getThreads() / rowThreads), warps(f.schedule.getThreads() / GpuArch::warp) {
  }
  void run();

private:
  static constexpr unsigned inFlight = kColumnLoads;
  Value valueAt(ArrayRef<Coord> point, Value number);
  Value productAt(ArrayRef<Coord> point, ArrayRef<Value> inner);
  Value combine(Value x, Value y) { return emitCombine(b, kind, element, x, y); }
  Value tree(SmallVector<Value> parts);
  Value partial(ArrayRef<Coord> point);
  Value partialOfParts(Value group);
  Coords pointIn(ArrayRef<Value> extents, Value unit);
  Value partialAt(Value warp, unsigned lane, Type stored);
  void meet(Value mine);
  Value met();
  Value partAt(Value group, Value part);
  void finish(Value inside);
  void shareParts(Value group, Value inside);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::DotOp dot;       ///< of products
  prim::ReduceOp reduce; ///< or of elements
  Operation *found;      ///< either
  prim::ReduceKind kind;
  Type element;
  unsigned lanes;
  unsigned rowThreads, side; ///< threads that share a result, and neighbours of a block
  unsigned warps;
  Value neutral, shared;
  Coords point;               ///< of the thread, in the results
  SmallVector<Value> reduced; ///< extents
  Value length;               ///< of the reduction
  Value column, share;        ///< of the thread in the block
  Value part;                 ///< of the blocks that share results
  Value count;                ///< of those blocks
  bool open = false;          ///< a run says how many they are
};

} // namespace

Value ColumnEmitter::valueAt(ArrayRef<Coord> point, Value number) {
  SmallVector<Value> inner = f.delinearize(number, reduced);
  if (dot)
    return productAt(point, inner);
  Coords at;
  unsigned kept = 0;
  for (int64_t axis = 0; axis < tensorType(reduce.getX()).getRank(); ++axis) {
    const auto *it = llvm::find(reduce.getAxes(), axis);
    bool isKept = it == reduce.getAxes().end();
    at.push_back(isKept ? point[kept++] : Coord::uniform(inner[it - reduce.getAxes().begin()]));
  }
  return f.e.evalVector(reduce.getX(), at);
}

Value ColumnEmitter::productAt(ArrayRef<Coord> point, ArrayRef<Value> inner) {
  /// `free`: the axis of results that is the operand's first free one.
  auto read = [&](Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract,
                  size_t free) -> Value {
    Coords at;
    for (int64_t axis = 0; axis < tensorType(operand).getRank(); ++axis) {
      const auto *summed = llvm::find(contract, axis), *shared = llvm::find(batch, axis);
      if (summed != contract.end())
        at.push_back(Coord::uniform(inner[summed - contract.begin()]));
      else
        at.push_back(point[shared != batch.end() ? size_t(shared - batch.begin()) : free++]);
    }
    Value v = f.e.evalVector(operand, at);
    if (!v)
      return v;
    v = emitCast(b, v, tensorType(operand).getElementType(), element, true);
    return lanes > 1 && !isa<VectorType>(v.getType()) ? f.e.splat(v, lanes) : v;
  };
  size_t batches = dot.getLhsBatch().size(),
         rows = tensorType(dot.getLhs()).getRank() - batches - dot.getLhsContract().size();
  Value left = read(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract(), batches),
        right = read(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract(), batches + rows);
  return left && right ? emitCombine(b, prim::ReduceKind::prod, element, left, right) : Value();
}

Value ColumnEmitter::tree(SmallVector<Value> parts) {
  for (size_t n = parts.size(); n > 1; n /= 2)
    for (size_t i = 0; i < n / 2; ++i)
      parts[i] = combine(parts[i], parts[i + n / 2]);
  return parts[0];
}

/// What the thread's share of the elements combines to.
Value ColumnEmitter::partial(ArrayRef<Coord> point) {
  Value apart = f.e.mulIndex(f.e.index(rowThreads), count);
  Value step = f.e.mulIndex(apart, f.e.index(inFlight));
  Value begin = share;
  if (part)
    begin = f.e.addIndex(f.e.mulIndex(part, f.e.index(rowThreads)), share);
  Value rounds = f.e.divIndex(f.e.addIndex(length, f.e.subIndex(step, f.e.index(1))), step);
  auto loop = scf::ForOp::create(b, f.e.index(0), rounds, f.e.index(1), ValueRange{neutral});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value total = f.e.nested([&] {
    SmallVector<Value> values;
    Value first = f.e.addIndex(f.e.mulIndex(loop.getInductionVar(), step), begin);
    for (unsigned i = 0; i < inFlight; ++i) {
      Value number = f.e.addIndex(first, f.e.mulIndex(apart, f.e.index(i)));
      Value inside = f.less(number, length);
      Value safe = arith::MinUIOp::create(b, number, f.e.subIndex(length, f.e.index(1)));
      Value v = valueAt(point, safe);
      f.failed |= !v;
      values.push_back(v ? Value(arith::SelectOp::create(b, inside, v, neutral)) : neutral);
    }
    return combine(loop.getRegionIterArg(0), tree(values));
  });
  scf::YieldOp::create(b, total);
  return loop.getResult(0);
}

Value ColumnEmitter::partialAt(Value warp, unsigned lane, Type stored) {
  Value place = f.e.addIndex(f.e.mulIndex(warp, f.e.index(side)), column);
  return f.at(shared, stored, f.e.addIndex(place, f.e.index(int64_t(lane) * warps * side)));
}

/// Each warp combines what its threads have of a result, and leaves it in shared memory.
void ColumnEmitter::meet(Value mine) {
  SmallVector<Value> totals;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value v = lanes > 1 ? Value(vector::ExtractOp::create(b, mine, int64_t(lane))) : mine;
    for (unsigned distance = GpuArch::warp / 2; distance >= side; distance /= 2)
      v = combine(v, exchangeLanes(b, v, distance));
    totals.push_back(v);
  }
  Value inWarp = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  Value warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp));
  f.when(f.less(inWarp, f.e.index(side)), [&] {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Value v = f.asStored(totals[lane]);
      LLVM::StoreOp::create(b, v, partialAt(warp, lane, v.getType()));
    }
  });
  f.barrier();
}

/// What has met there.
Value ColumnEmitter::met() {
  auto vector = dyn_cast<VectorType>(neutral.getType());
  Type computed = vector ? vector.getElementType() : neutral.getType(),
       stored = f.asStored(computed);
  SmallVector<Value> totals;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> parts;
    for (unsigned i = 0; i < warps; ++i) {
      Value from = partialAt(f.e.index(i), lane, stored);
      parts.push_back(f.asComputed(LLVM::LoadOp::create(b, stored, from), computed));
    }
    totals.push_back(tree(parts));
  }
  return vector ? Value(vector::FromElementsOp::create(b, vector, totals)) : totals[0];
}

Value ColumnEmitter::partAt(Value group, Value number) {
  Type stored = f.asStored(cast<TypedAttr>(neutralElement(kind, element)).getType());
  Value row = f.e.addIndex(f.e.mulIndex(group, count), number);
  Value place = f.e.addIndex(f.e.mulIndex(row, f.e.index(side)), column);
  return f.scratchAt(0, stored, f.e.mulIndex(place, f.e.index(lanes)));
}

/// The same of the parts that blocks left in scratch memory.
Value ColumnEmitter::partialOfParts(Value group) {
  auto vector = dyn_cast<VectorType>(neutral.getType());
  Type computed = vector ? vector.getElementType() : neutral.getType();
  Value last = f.e.subIndex(count, f.e.index(1));
  auto add = [&](Value total, Value first) -> Value {
    Value number = f.e.addIndex(first, share);
    Value from = partAt(group, f.minIndex(number, last));
    SmallVector<Value> read;
    for (unsigned lane = 0; lane < lanes; ++lane)
      read.push_back(
          f.asComputed(LLVM::LoadOp::create(b, f.asStored(computed),
                                            f.at(from, f.asStored(computed), f.e.index(lane))),
                       computed));
    Value v = vector ? Value(vector::FromElementsOp::create(b, vector, read)) : read[0];
    return combine(total, arith::SelectOp::create(b, f.less(number, count), v, neutral));
  };
  Value total = neutral;
  if (!open) {
    for (int64_t first = 0; first < int64_t(f.schedule.getSplit()); first += rowThreads)
      total = add(total, f.e.index(first));
    return total;
  }
  auto loop =
      scf::ForOp::create(b, f.e.index(0), count, f.e.index(rowThreads), ValueRange{neutral});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  total = f.e.nested([&] { return add(loop.getRegionIterArg(0), loop.getInductionVar()); });
  scf::YieldOp::create(b, total);
  return loop.getResult(0);
}

void ColumnEmitter::finish(Value inside) {
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share, f.e.index(0));
  f.when(arith::AndIOp::create(b, leads, inside), [&] {
    Value total = met();
    f.e.bindProvider(found->getResult(0), [total](ArrayRef<Coord>) { return total; });
    SmallVector<Value> elements;
    for (Value value : f.yield().getValues()) {
      elements.push_back(f.e.eval(value, point));
      f.failed |= !elements.back();
    }
    for (auto [memory, v] : llvm::zip(f.results, elements))
      if (v)
        f.e.store(memory, point, v);
  });
}

/// Where results of these extents have their vector number `unit`.
Coords ColumnEmitter::pointIn(ArrayRef<Value> extents, Value unit) {
  if (extents.empty())
    return {};
  size_t along = extents.size() - 1; // the axis of neighbours
  while (along > 0 && getConstantIntValue(extents[along]) == 1)
    --along;
  SmallVector<Value> units(extents);
  units[along] = f.e.divIndex(units[along], f.e.index(lanes));
  Coords point;
  for (Value i : f.delinearize(unit, units))
    point.push_back(Coord::uniform(i));
  if (lanes > 1) {
    Value first = arith::MulIOp::create(b, point[along].base, f.e.index(lanes));
    f.e.bindAligned(first);
    point[along] = Coord::affine(first, 1);
  }
  return point;
}

void ColumnEmitter::run() {
  SmallVector<Value> kept;
  if (dot) {
    for (int64_t axis : dot.getRhsContract())
      reduced.push_back(f.e.extent(dot.getRhs(), axis));
    for (int64_t extent : tensorType(dot.getResult()).getShape())
      kept.push_back(f.e.index(extent));
  } else {
    for (int64_t axis : reduce.getAxes())
      reduced.push_back(f.e.extent(reduce.getX(), axis));
    for (int64_t axis = 0; axis < tensorType(reduce.getX()).getRank(); ++axis)
      if (!llvm::is_contained(reduce.getAxes(), axis))
        kept.push_back(f.e.extent(reduce.getX(), axis));
  }
  length = f.volume(reduced);
  f.e.setLanes(lanes);
  neutral = arith::ConstantOp::create(b, neutralElement(kind, element));
  shared = f.shared(f.asStored(neutral.getType()), int64_t(warps) * side * lanes, "partials");
  if (lanes > 1)
    neutral = f.e.splat(neutral, lanes);
  column = f.e.remIndex(f.thread, f.e.index(side));
  share = f.e.divIndex(f.thread, f.e.index(side));
  Value units = f.e.divIndex(f.volume(f.results[0].extents), f.e.index(lanes));
  Value group = f.block;
  open = f.schedule.getMostBlocks() != 0;
  count = f.e.index(f.schedule.getSplit());
  if (open) {
    Value groups = f.e.divIndex(f.e.addIndex(units, f.e.index(side - 1)), f.e.index(side));
    count = partsOfOpenColumns(b, b.getLoc(), groups, length, f.schedule);
  }
  if (f.schedule.getSplit() > 1) {
    part = f.e.remIndex(f.block, count);
    group = f.e.divIndex(f.block, count);
  }
  Value number = f.e.addIndex(f.e.mulIndex(group, f.e.index(side)), column);
  Value inside = f.less(number, units);
  Value safe = arith::MinUIOp::create(b, number, f.e.subIndex(units, f.e.index(1)));
  point = pointIn(f.results[0].extents, safe);
  meet(partial(pointIn(kept, safe)));
  if (!part)
    return finish(inside);
  auto share = [&] { shareParts(group, inside); };
  if (!open)
    return share();
  Value alone = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, f.e.index(1));
  f.when(alone, [&] { finish(inside); });
  f.when(f.less(f.e.index(1), count), share);
}

/// Leaves what the block has of its points for the last block that shares them.
void ColumnEmitter::shareParts(Value group, Value inside) {
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share, f.e.index(0));
  f.when(leads, [&] {
    Value total = met(), to = partAt(group, part);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Value v = lanes > 1 ? Value(vector::ExtractOp::create(b, total, int64_t(lane))) : total;
      LLVM::StoreOp::create(b, f.asStored(v), f.at(to, f.asStored(v.getType()), f.e.index(lane)));
    }
  });
  f.inLastBlock(group, count, [&] {
    meet(partialOfParts(group));
    finish(inside);
  });
}

void device::emitColumnKernel(KernelFrame &f) { ColumnEmitter(f).run(); }
