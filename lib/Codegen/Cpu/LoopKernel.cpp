//===- LoopKernel.cpp - One point at a time -------------------------------===//
//
// All results have one shape. A task is a run of points along one axis (LoopCut), or a
// block of such rows where operands lie across them (BlockedRows.cpp); inside, vectors of
// neighbouring points, then single points.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Elements that a point sums up, if it does.
static int64_t workPerPoint(kernel::LaunchOp launch) {
  constexpr int64_t kTypical = 64;
  int64_t most = 1;
  auto count = [&](ArrayRef<int64_t> extents) {
    int64_t product = 1;
    for (int64_t d : extents)
      product *= ShapedType::isDynamic(d) ? kTypical : std::max<int64_t>(d, 1);
    most = std::max(most, product);
  };
  for (Operation &op : launch.getBody().front()) {
    if (auto reduce = dyn_cast<prim::ReduceOp>(op)) {
      SmallVector<int64_t> extents;
      for (int64_t axis : reduce.getAxes())
        extents.push_back(cast<RankedTensorType>(reduce.getX().getType()).getDimSize(axis));
      count(extents);
    } else if (auto pool = dyn_cast<prim::PoolOp>(op)) {
      count(pool.getWindow());
    } else if (isa<prim::DotOp, prim::ConvOp>(op)) {
      count(ArrayRef<int64_t>{ShapedType::kDynamic});
    }
  }
  return most;
}

LoopCut tcc::codegen::cutLoop(kernel::LaunchOp launch, const CpuTarget &cpu) {
  /// Points of about this much work make a task worth a thread.
  constexpr int64_t kGrainPoints = 16384, kMostPoints = 4096, kFewPoints = 4;
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  LoopCut cut{0, 1, kMostPoints, 1};
  if (type.getRank() == 0)
    return cut;
  cut.axis = type.getRank() - 1;
  while (cut.axis > 0) {
    int64_t extent = type.getDimSize(cut.axis), next = type.getDimSize(cut.axis - 1);
    bool few =
        !ShapedType::isDynamic(extent) && extent > 0 && cut.innerPoints * extent < kFewPoints;
    if (!few || (extent != 1 && !ShapedType::isDynamic(next) && next < extent))
      break;
    cut.innerPoints *= extent;
    --cut.axis;
  }
  int64_t work = workPerPoint(launch) * cut.innerPoints;
  cut.chunk = std::max<int64_t>(64, kMostPoints / work / 64 * 64); // a multiple of the lanes
  int64_t extent = type.getDimSize(cut.axis);
  int64_t points = ShapedType::isDynamic(extent) ? 256 : std::clamp<int64_t>(extent, 1, cut.chunk);
  bool lastAxis = cut.axis == type.getRank() - 1;
  if (auto blocked = lastAxis ? blockedAxis(launch, cpu) : std::nullopt) {
    cut.rowAxis = blocked->axis;
    cut.rows = blocked->rows;
  }
  cut.grain = std::max<int64_t>(1, kGrainPoints / (points * cut.rows * work));
  return cut;
}

namespace {

class LoopEmitter {
public:
  explicit LoopEmitter(KernelFrame &f) : f(f), out(f.results[0]), cut(cutLoop(f.launch, f.cpu)) {
    auto type = cast<RankedTensorType>(f.launch.getResultTypes()[0]);
    lanes = type.getRank() ? lanesFor(f.cpu, f.launch, type.getDimSize(cut.axis)) : 1;
  }
  void emitTask(Value task);
  void store(ArrayRef<Coords> points); ///< neighbours along the innermost axes

private:
  void emitRow(const Coords &outer, Value low, Value high);
  void emitBlock(const Coords &outer, Value low, Value high);
  void emitFullBlock(const Coords &outer, Value first, Value low, Value high);

  KernelFrame &f;
  const Memory &out;
  LoopCut cut;
  unsigned lanes;
};

} // namespace

void LoopEmitter::store(ArrayRef<Coords> points) {
  // All is read before anything is written: a result may lie in an operand's place.
  SmallVector<SmallVector<Value>> elements;
  for (Value value : f.yield().getValues()) {
    elements.emplace_back();
    for (const Coords &at : points) {
      elements.back().push_back(f.e.eval(value, at));
      if (!elements.back().back()) {
        f.failed = true;
        return;
      }
    }
  }
  for (auto [memory, values] : llvm::zip(f.results, elements))
    f.e.storeAll(memory, points, values);
}

void LoopEmitter::emitTask(Value task) {
  Value line = out.extents[cut.axis], chunk = f.e.index(cut.chunk);
  SmallVector<Value> outer(ArrayRef(out.extents).take_front(cut.axis));
  if (cut.rows > 1)
    outer[cut.rowAxis] = f.e.divIndex(f.e.addIndex(outer[cut.rowAxis], f.e.index(cut.rows - 1)),
                                      f.e.index(cut.rows));
  Value chunks = f.e.divIndex(f.e.addIndex(line, f.e.index(cut.chunk - 1)), chunk);
  Coords at;
  for (Value i : f.delinearize(f.e.divIndex(task, chunks), outer))
    at.push_back(Coord::uniform(i));
  Value low = f.e.mulIndex(f.e.remIndex(task, chunks), chunk);
  Value high = f.minIndex(f.e.addIndex(low, chunk), line);
  if (getConstantIntValue(chunks) == 1) {
    low = f.e.index(0);
    high = line;
  }
  cut.rows > 1 ? emitBlock(at, low, high) : emitRow(at, low, high);
}

void LoopEmitter::emitRow(const Coords &outer, Value low, Value high) {
  SmallVector<Value> innerExtents(ArrayRef(out.extents).drop_front(cut.axis + 1));
  f.vectorLoop(low, high, lanes, true, [&](Value i) {
    SmallVector<Coords> points;
    for (int64_t inner = 0; inner < cut.innerPoints; ++inner) {
      Coords &point = points.emplace_back(outer);
      point.push_back(Coord::affine(i, f.e.lanes() > 1 ? 1 : 0));
      for (Value c : f.delinearize(f.e.index(inner), innerExtents))
        point.push_back(Coord::uniform(c));
    }
    store(points);
  });
}

/// A whole block, or the rows that are left, one after the other.
void LoopEmitter::emitBlock(const Coords &outer, Value low, Value high) {
  Value extent = out.extents[cut.rowAxis], rows = f.e.index(cut.rows);
  // Never folded: reads are recognised by it.
  Value first = arith::MulIOp::create(f.b, outer[cut.rowAxis].base, rows);
  auto known = getConstantIntValue(extent);
  if (known && *known % cut.rows == 0)
    return emitFullBlock(outer, first, low, high);
  Value end = f.e.addIndex(first, rows);
  Value whole = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ule, end, extent);
  auto branch = scf::IfOp::create(f.b, whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested([&] { emitFullBlock(outer, first, low, high); });
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.loop(first, extent, 1, [&](Value row) {
    Coords at = outer;
    at[cut.rowAxis] = Coord::uniform(row);
    emitRow(at, low, high);
  });
}

/// Vectors of all rows while there are lanes for one, narrower ones after that, then
/// single points.
void LoopEmitter::emitFullBlock(const Coords &outer, Value first, Value low, Value high) {
  for (unsigned n = lanes; n >= 4; n /= 2) {
    Value count = f.e.index(n);
    Value middle =
        f.e.addIndex(low, f.e.mulIndex(f.e.divIndex(f.e.subIndex(high, low), count), count));
    if (auto from = getConstantIntValue(low); from && from == getConstantIntValue(middle))
      continue;
    f.e.setLanes(n);
    f.loop(low, middle, n, [&](Value i) {
      f.e.bindAligned(i);
      unsigned rows = std::min<int64_t>(cut.rows, n);
      for (int64_t block = 0; block < cut.rows; block += rows) {
        Value base = block ? Value(arith::AddIOp::create(f.b, first, f.e.index(block))) : first;
        for (unsigned row = 0; row < rows; ++row) {
          f.e.setRowBlock({base, rows, row});
          Coords at = outer;
          at[cut.rowAxis] = Coord::uniform(f.e.addIndex(base, f.e.index(row)));
          at.push_back(Coord::affine(i, 1));
          store(at);
        }
      }
    });
    f.e.setLanes(1);
    low = middle;
  }
  if (auto from = getConstantIntValue(low); from && from == getConstantIntValue(high))
    return;
  f.loop(first, f.e.addIndex(first, f.e.index(cut.rows)), 1, [&](Value row) {
    f.loop(low, high, 1, [&](Value i) {
      Coords at = outer;
      at[cut.rowAxis] = Coord::uniform(row);
      at.push_back(Coord::uniform(i));
      store(at);
    });
  });
}

bool tcc::codegen::emitLoopKernel(KernelFrame &f) {
  LoopEmitter emitter(f);
  f.loop(f.begin, f.end, 1, [&](Value task) {
    f.results[0].extents.empty() ? emitter.store(Coords()) : emitter.emitTask(task);
  });
  return !f.failed;
}
