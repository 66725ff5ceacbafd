//===- ProductKernel.cpp - Contractions of any type and size --------------===//
//
// The general form of a product, for what no template of a matrix unit takes: a block
// computes a tile of rows and columns. In rounds it copies a slice of both operands to
// shared memory, converted to the type of the sum, and each thread adds the products of
// a few rows and columns in registers. Operands are evaluated, not only loaded, so that
// any view, type or producer may stand before the product; what follows it is evaluated
// with the sums provided.
//
// What the next round needs is read before the products of this one and written after
// them, to the other of two slices: one barrier a round. Neighbours are read together
// where they lie together, and a thread's rows and columns come in groups of neighbours,
// so that it reads shared memory in vectors too.
//
// Where tiles are few, blocks share one: each has a part of k, and the last one to be done adds up
// what the others left in scratch memory.
//
// A convolution is the product of its pixels by its filters over channels and window.
//
//===----------------------------------------------------------------------===//
#include "OperandTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class ProductEmitter {
public:
  ProductEmitter(device::KernelFrame &f, Product product)
      : f(f), b(f.b), p(std::move(product)), s(f.schedule),
        sumElement(sumType(tensorType(p.op->getResult(0)).getElementType())),
        sum(computeType(sumElement)), group(groupOf(f, sumElement)) {}
  void run();

private:
  OperandTile tileOf(bool left);
  SmallVector<Value> multiply(Value slice, ValueRange sums);
  SmallVector<Value> multiplyAll();
  void store(ValueRange sums);

  /// Elements from one group of a thread's rows or columns to the next.
  int64_t groupStep() const { return int64_t(side) * group; }
  unsigned groups(unsigned width) const { return width / (side * group); }

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Product p;
  Schedule s;
  Type sumElement, sum;
  unsigned group;             ///< neighbouring rows or columns of a thread
  Value rows, columns, inner; ///< extents as one number
  Coords batch;               ///< the block's
  Value batchNumber, rowTile, columnTile;
  Value tileNumber, part;              ///< the block's tile, and which part of k it has
  Value firstInner, endInner;          ///< that part: whole slices, up to the end
  Value threadRow, threadColumn;       ///< its first ones in the tile
  SmallVector<OperandTile, 2> parts;   ///< left, right
  static constexpr unsigned side = 16; ///< threads along rows and along columns of a tile
};

} // namespace

OperandTile ProductEmitter::tileOf(bool left) {
  TileShape shape{left ? s.getRows() : s.getColumns(), s.getDepth(), group};
  Value shared = f.shared(f.asStored(sum), 2 * shape.elements(), left ? "left" : "right");
  return {f, sourceOf(p, left, batch), shape, sumElement, shared, left ? rowTile : columnTile};
}

/// The thread's sums with the products of one slice added.
SmallVector<Value> ProductEmitter::multiply(Value slice, ValueRange sums) {
  SmallVector<Value> next(sums.begin(), sums.end());
  for (unsigned k = 0; k < s.getDepth(); ++k) {
    auto load = [&](const OperandTile &part, unsigned width, Value first) {
      SmallVector<Value> values;
      for (unsigned g = 0; g < groups(width); ++g)
        llvm::append_range(values,
                           part.load(slice, k, f.e.addIndex(first, f.e.index(g * groupStep()))));
      return values;
    };
    SmallVector<Value> ls = load(parts[0], s.getRows(), threadRow);
    SmallVector<Value> rs = load(parts[1], s.getColumns(), threadColumn);
    for (auto [i, l] : llvm::enumerate(ls))
      for (auto [j, r] : llvm::enumerate(rs)) {
        Value product = emitCombine(b, prim::ReduceKind::prod, sumElement, l, r);
        Value &total = next[i * rs.size() + j];
        total = emitCombine(b, prim::ReduceKind::sum, sumElement, product, total);
      }
  }
  return next;
}

SmallVector<Value> ProductEmitter::multiplyAll() {
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sum)));
  SmallVector<Value> carried(s.getRows() / side * (s.getColumns() / side), zero);
  auto writeTo = [&](Value slice, ArrayRef<SmallVector<Value>> values) {
    for (auto [part, v] : llvm::zip(parts, values))
      part.write(v, slice);
  };
  auto readFrom = [&](Value round) {
    return SmallVector<SmallVector<Value>>{parts[0].read(round, inner),
                                           parts[1].read(round, inner)};
  };
  // An operand without elements is not read.
  auto first = [&] { writeTo(f.e.index(0), readFrom(firstInner)); };
  if (getConstantIntValue(inner).value_or(0) > 0)
    first();
  else
    f.when(f.less(f.e.index(0), inner), first);
  f.barrier();
  carried.push_back(f.e.index(0));
  auto loop = scf::ForOp::create(b, firstInner, endInner, f.e.index(s.getDepth()), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = f.e.nested([&] {
    Value slice = loop.getRegionIterArgs().back();
    Value other = f.e.subIndex(f.e.index(1), slice);
    auto ahead = readFrom(f.e.addIndex(loop.getInductionVar(), f.e.index(s.getDepth())));
    SmallVector<Value> added = multiply(slice, loop.getRegionIterArgs().drop_back());
    writeTo(other, ahead);
    f.barrier();
    added.push_back(other);
    return added;
  });
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults().drop_back());
}

/// Stores runs of neighbouring columns where all of them are inside, or none.
void ProductEmitter::store(ValueRange sums) {
  bool whole = !p.columns.empty() &&
               getConstantIntValue(p.columns.back()).value_or(1) % group == 0 &&
               llvm::none_of(f.yield().getValues(),
                             [](Value v) { return v.getDefiningOp<prim::TransposeOp>(); });
  unsigned lanes = whole ? group : 1, perRow = s.getColumns() / side;
  for (unsigned n = 0; n < sums.size(); n += lanes) {
    auto placeOf = [&](unsigned i) { return i / group * groupStep() + i % group; };
    Value row = f.e.addIndex(f.e.addIndex(rowTile, threadRow), f.e.index(placeOf(n / perRow)));
    Value column =
        f.e.addIndex(f.e.addIndex(columnTile, threadColumn), f.e.index(placeOf(n % perRow)));
    Value inside = arith::AndIOp::create(b, f.less(row, rows), f.less(column, columns));
    f.when(inside, [&] {
      f.e.setLanes(lanes);
      Value total = sums[n];
      if (lanes > 1)
        total =
            vector::FromElementsOp::create(b, VectorType::get({lanes}, sum), sums.slice(n, lanes));
      p.store(f, batchNumber, row, runCoords(f, column, p.columns, lanes), total);
    });
    f.e.setLanes(1);
  }
}

void ProductEmitter::run() {
  rows = f.volume(p.rows);
  columns = f.volume(p.columns);
  inner = f.volume(p.inner);
  auto tiles = [&](Value extent, unsigned size) {
    return f.e.divIndex(f.e.addIndex(extent, f.e.index(size - 1)), f.e.index(size));
  };
  Value tilesM = tiles(rows, s.getRows()), tilesN = tiles(columns, s.getColumns());
  tileNumber = f.block;
  firstInner = f.e.index(0);
  endInner = inner;
  if (s.getSplit() > 1) {
    Value split = f.e.index(s.getSplit());
    tileNumber = f.e.divIndex(f.block, split);
    part = f.e.remIndex(f.block, split);
    Value each = tiles(inner, s.getDepth() * s.getSplit());
    each = f.e.mulIndex(each, f.e.index(s.getDepth()));
    firstInner = f.e.mulIndex(part, each);
    endInner = f.minIndex(f.e.addIndex(firstInner, each), inner);
  }
  SmallVector<Value> place = f.delinearize(tileNumber, {f.volume(p.batch), tilesM, tilesN});
  batchNumber = place[0];
  batch = uniform(f.delinearize(batchNumber, p.batch));
  rowTile = f.e.mulIndex(place[1], f.e.index(s.getRows()));
  columnTile = f.e.mulIndex(place[2], f.e.index(s.getColumns()));
  threadRow = f.e.mulIndex(f.e.divIndex(f.thread, f.e.index(side)), f.e.index(group));
  threadColumn = f.e.mulIndex(f.e.remIndex(f.thread, f.e.index(side)), f.e.index(group));
  for (bool left : {true, false})
    parts.push_back(tileOf(left));
  SmallVector<Value> sums = multiplyAll();
  if (f.failed)
    return;
  if (s.getSplit() == 1)
    return store(sums);
  shareSums(f, tileNumber, part, sums, sumElement, [&](ValueRange totals) { store(totals); });
}

void device::emitProductKernel(KernelFrame &f) {
  if (std::optional<Product> product = productIn(f))
    ProductEmitter(f, *product).run();
}
