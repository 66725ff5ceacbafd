//===- WindowLines.cpp - Windows of a pool, a line at a time --------------===//
//
// Neighbours along a line of a pool see nearly the same, and where its windows lie some elements
// apart each of their elements is an access of several vectors. Of the rows that the windows of a
// line cover one line is made first, in vectors as they lie in memory; it stays in the first cache,
// with what is neutral before and behind it, and the windows are taken from there without asking
// where it ends. A window of 5x5 costs 5 accesses for what windows have in common, and 5 for each.
//
//===----------------------------------------------------------------------===//
#include "WindowLines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Dialect/Cpu/PoolLines.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Whether `v` reaches what is stored through operators on points alone.
static bool isStoredAtItsPoints(Value v) {
  return llvm::all_of(v.getUsers(), [](Operation *user) {
    return isa<kernel::YieldOp>(user) ||
           (prim::isElementwise(user) && isStoredAtItsPoints(user->getResult(0)));
  });
}

SmallVector<prim::PoolOp> tcc::codegen::poolsOfLines(kernel::LaunchOp launch) {
  SmallVector<prim::PoolOp> pools;
  for (auto pool : launch.getBody().getOps<prim::PoolOp>())
    if (cpu::takesLines(pool) && isStoredAtItsPoints(pool.getResult()))
      pools.push_back(pool);
  return pools;
}

unsigned tcc::codegen::lanesOfLine(unsigned most, int64_t extent) {
  constexpr unsigned fewest = 4;
  if (ShapedType::isDynamic(extent))
    return most;
  return std::clamp<uint64_t>(llvm::PowerOf2Ceil(extent), std::min(fewest, most), most);
}

/// Columns from a window's first to behind its last.
static int64_t reachOf(prim::PoolOp pool) {
  return (pool.getWindow().back() - 1) * pool.getDilations().back() + 1;
}

WindowLines::WindowLines(KernelFrame &f, int64_t points) : f(f), lanes(f.cpu.lanes(32)) {
  constexpr unsigned alignment = 64;
  for (prim::PoolOp pool : poolsOfLines(f.launch)) {
    int64_t extent = tensorType(pool.getResult()).getShape().back();
    int64_t most = ShapedType::isDynamic(extent) ? points : std::min(points, extent);
    // Whole vectors are written before and behind the line.
    int64_t line =
        (std::max<int64_t>(most, 1) - 1) * pool.getStrides().back() + reachOf(pool) + 2 * lanes;
    int64_t elements = llvm::alignTo(line, lanes);
    Type element = computeType(tensorType(pool.getX()).getElementType());
    Value pointer = LLVM::AllocaOp::create(
        f.b, LLVM::LLVMPointerType::get(f.b.getContext()), storageType(element),
        arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(kTogether * elements)), alignment);
    Memory scratch{pointer, {f.e.index(kTogether * elements)}, element};
    Line &made =
        *pools.emplace_back(std::make_unique<Line>(pool, scratch, elements, Value(), Value()));
    f.e.bindProvider(pool.getResult(),
                     [this, &made](ArrayRef<Coord> at) { return evaluate(made, at); });
  }
}

void WindowLines::choose(Value number, Value low) {
  for (auto &line : pools) {
    Value stride = f.e.index(line->pool.getStrides().back()),
          before = f.e.index(line->pool.getLow().back());
    line->begin = f.e.subIndex(f.e.mulIndex(low, stride), before);
    line->first = f.e.mulIndex(number, f.e.index(line->elements));
  }
}

void WindowLines::fill(const Coords &outer, Value high) {
  for (auto &line : pools)
    fill(*line, outer, high);
}

/// Where a column lies in scratch, and those that the lanes are from there on.
Coord WindowLines::placeOf(const Line &line, Value column, int64_t step) {
  return Coord::affine(f.e.addIndex(line.first, f.e.subIndex(column, line.begin)), step);
}

Value WindowLines::larger(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return f.e.index(std::max(*cx, *cy));
  return arith::MaxSIOp::create(f.b, x, y);
}

/// What the windows take along the last axis, from a line that is there.
Value WindowLines::evaluate(const Line &line, ArrayRef<Coord> at) {
  prim::PoolOp pool = line.pool;
  int64_t stride = pool.getStrides().back(), low = pool.getLow().back();
  const Coord &point = at.back();
  if (point.vector) {
    pool.emitError("points of a line are not evenly apart");
    return {};
  }
  Value begin = f.e.subIndex(f.e.mulIndex(point.base, f.e.index(stride)), f.e.index(low)), result;
  for (int64_t tap = 0; tap < pool.getWindow().back(); ++tap) {
    Value column = f.e.addIndex(begin, f.e.index(tap * pool.getDilations().back()));
    Value v = f.e.load(line.scratch, placeOf(line, column, point.step * stride));
    Type element = tensorType(pool.getX()).getElementType();
    result = result ? emitCombine(f.b, pool.getKind(), element, result, v) : v;
  }
  return result;
}

void WindowLines::fill(const Line &line, const Coords &outer, Value high) {
  prim::PoolOp pool = line.pool;
  auto type = tensorType(pool.getX());
  Value stride = f.e.index(pool.getStrides().back()), before = f.e.index(pool.getLow().back());
  Value last = f.e.mulIndex(f.e.subIndex(high, f.e.index(1)), stride);
  Value wanted = f.e.addIndex(f.e.subIndex(last, before), f.e.index(reachOf(pool)));
  Value first = larger(line.begin, f.e.index(0));
  Value end = larger(f.minIndex(wanted, f.e.extent(pool.getX(), type.getRank() - 1)), first);
  Value none =
      arith::ConstantOp::create(f.b, neutralElement(pool.getKind(), type.getElementType()));
  auto neutral = [&](Value from, Value to) {
    f.e.setLanes(lanes);
    f.loop(from, to, lanes, [&](Value i) {
      f.e.store(line.scratch, placeOf(line, i, lanes > 1), f.e.splat(none, lanes));
    });
    f.e.setLanes(1);
  };
  neutral(line.begin, first);
  int64_t extent = type.getShape().back();
  unsigned ofLine = f.cpu.maskedMemory ? lanesOfLine(lanes, extent) : lanesFor(lanes, extent);
  f.overlappingLoop(first, end, ofLine, /*lowAligned=*/false, [&](ArrayRef<Value> places) {
    SmallVector<Value> values;
    for (Value i : places) {
      Coords at = outer;
      at.push_back(Coord::affine(i, f.e.lanes() > 1));
      values.push_back(f.e.evalPoolOfLine(pool, at));
      f.failed |= !values.back();
    }
    for (auto [i, v] : llvm::zip(places, values))
      if (v)
        f.e.store(line.scratch, placeOf(line, i, f.e.lanes() > 1), v);
  });
  neutral(end, wanted);
}
