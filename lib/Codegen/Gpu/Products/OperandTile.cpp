#include "OperandTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

unsigned device::groupOf(KernelFrame &f, Type sum) {
  Type stored = f.asStored(computeType(sum));
  return 16 / std::clamp(stored.getIntOrFloatBitWidth() / 8, 4u, 8u);
}

bool device::sumsOnUnits(Type sum, const GpuArch &arch) {
  return sum.isF64() && arch.matrixUnit != MatrixUnit::None;
}

ThreadPlace ThreadPlace::of(KernelFrame &f, Value number, unsigned down, unsigned across,
                            bool wholeRows) {
  constexpr unsigned kRows = 4;
  unsigned laneColumns =
      wholeRows ? across : std::min(across, GpuArch::warp / std::min(kRows, down));
  unsigned laneRows = GpuArch::warp / laneColumns;
  ThreadPlace place;
  Value all = f.e.index(across);
  if (laneRows < 2 || laneColumns < 2 || down % laneRows != 0 || across % laneColumns != 0) {
    place.row = f.e.divIndex(number, all);
    place.column = f.e.remIndex(number, all);
    for (unsigned distance = 1; distance < laneColumns; distance *= 2)
      place.columnDistances.push_back(distance);
    return place;
  }
  auto part = [&](Value v, unsigned from, unsigned count) {
    return f.e.remIndex(f.e.divIndex(v, f.e.index(from)), f.e.index(count));
  };
  auto beside = [&](Value high, unsigned step, Value low) {
    return f.e.addIndex(f.e.mulIndex(high, f.e.index(step)), low);
  };
  Value warp = f.e.divIndex(number, f.e.index(GpuArch::warp)),
        lane = f.e.remIndex(number, f.e.index(GpuArch::warp)),
        warpsAcross = f.e.index(across / laneColumns);
  // Of a lane's number: a bit of its column, one of its row, the rest of the column, of the row.
  Value row = beside(part(lane, 2 * laneColumns, laneRows / 2), 2, part(lane, 2, 2));
  Value column = beside(part(lane, 4, laneColumns / 2), 2, part(lane, 1, 2));
  place.row = beside(f.e.divIndex(warp, warpsAcross), laneRows, row);
  place.column = beside(f.e.remIndex(warp, warpsAcross), laneColumns, column);
  place.laneRows = laneRows;
  place.laneColumns = laneColumns;
  place.laneRow = row;
  place.laneColumn = column;
  place.columnDistances.push_back(1);
  for (unsigned distance = 4; distance < 2 * laneColumns; distance *= 2)
    place.columnDistances.push_back(distance);
  return place;
}

OperandTile::OperandTile(KernelFrame &f, OperandSource given, TileShape shape, TileThreads threads,
                         Type sum, Value shared, Value first)
    : SliceMemory(f, shape, computeType(sum), shared), source(std::move(given)), threads(threads),
      sum(sum), lanes(std::min({runsOf(f, source).lanes, shape.group,
                                shape.width * shape.depth / threads.count})) {
  for (unsigned i = 0; i < runsOfThread(); ++i)
    own.push_back(runCoords(f, f.e.addIndex(first, runAt(i).first), source.own,
                            source.innerFirst ? 1 : lanes));
}

/// Own index and k of the thread's run `i` in the slice.
std::pair<Value, Value> OperandTile::runAt(unsigned i) {
  Value number = f.e.addIndex(threads.number, f.e.index(int64_t(i) * threads.count));
  int64_t fast = (source.innerFirst ? shape.depth : shape.width) / lanes;
  Value low = f.e.mulIndex(f.e.remIndex(number, f.e.index(fast)), f.e.index(lanes));
  Value high = f.e.divIndex(number, f.e.index(fast));
  return source.innerFirst ? std::pair(high, low) : std::pair(low, high);
}

SmallVector<Value> OperandTile::read(Value round, Value inner) {
  ImplicitLocOpBuilder &b = f.b;
  SmallVector<Value> values;
  f.e.setLanes(lanes);
  for (unsigned i = 0; i < runsOfThread(); ++i) {
    Value k = f.e.addIndex(round, runAt(i).second);
    Coords kAt = runCoords(f, k, source.inner, source.innerFirst ? lanes : 1);
    Value v = Product::eval(f, source.operand(source.batch, own[i], kAt));
    if (!v)
      return {};
    v = emitCast(b, v, source.element, sum, true);
    if (lanes > 1 && !isa<VectorType>(v.getType()))
      v = f.e.splat(v, lanes);
    if (inner) {
      Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(v.getType())));
      v = arith::SelectOp::create(b, f.less(k, inner), v, zero);
    }
    values.push_back(v);
  }
  f.e.setLanes(1);
  return values;
}

Value SliceMemory::placeOf(Value k, Value own) const {
  Value pitch = f.e.index(shape.pitch());
  return shape.byOwn ? f.e.addIndex(f.e.mulIndex(own, pitch), k)
                     : f.e.addIndex(f.e.mulIndex(k, pitch), own);
}

void OperandTile::write(ArrayRef<Value> values, Value slice) {
  Value start = f.e.mulIndex(slice, f.e.index(shape.elements()));
  for (auto [i, v] : llvm::enumerate(values)) {
    auto [at, k] = runAt(i);
    Value place = f.e.addIndex(start, placeOf(k, at));
    SmallVector<Value> elements;
    for (unsigned lane = 0; lane < lanes; ++lane)
      elements.push_back(
          f.asStored(lanes > 1 ? Value(vector::ExtractOp::create(f.b, v, int64_t(lane))) : v));
    if (lanes > 1 && source.innerFirst == shape.byOwn) {
      unsigned bytes = lanes * (stored.getIntOrFloatBitWidth() / 8);
      Value all = vector::FromElementsOp::create(f.b, VectorType::get({lanes}, stored), elements);
      LLVM::StoreOp::create(f.b, all, f.at(shared, stored, place), bytes);
      continue;
    }
    for (auto [lane, element] : llvm::enumerate(elements)) {
      int64_t step = source.innerFirst == shape.byOwn ? 1 : shape.pitch();
      Value to = f.at(shared, stored, f.e.addIndex(place, f.e.index(int64_t(lane) * step)));
      LLVM::StoreOp::create(f.b, element, to);
    }
  }
}

SmallVector<Value> SliceMemory::load(Value slice, unsigned k, Value place) const {
  auto type = VectorType::get({shape.group}, stored);
  unsigned bytes = shape.group * (stored.getIntOrFloatBitWidth() / 8);
  Value start = f.e.mulIndex(slice, f.e.index(shape.elements()));
  Value at = f.e.addIndex(f.e.addIndex(start, place), f.e.index(k * shape.pitch()));
  Value v = LLVM::LoadOp::create(f.b, type, f.at(shared, stored, at), bytes);
  SmallVector<Value> values;
  for (unsigned i = 0; i < shape.group; ++i)
    values.push_back(f.asComputed(vector::ExtractOp::create(f.b, v, int64_t(i)), computed));
  return values;
}

Value SliceMemory::loadOne(Value slice, Value k, Value place) const {
  Value at = f.e.addIndex(f.e.mulIndex(slice, f.e.index(shape.elements())), placeOf(k, place));
  return f.asComputed(LLVM::LoadOp::create(f.b, stored, f.at(shared, stored, at)), computed);
}
