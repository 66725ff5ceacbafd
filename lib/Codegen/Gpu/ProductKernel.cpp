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
// A convolution is the product of its pixels by its filters over channels and window.
//
//===----------------------------------------------------------------------===//
#include "Product.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

namespace {

class ProductEmitter {
public:
  ProductEmitter(device::KernelFrame &f, Product product)
      : f(f), b(f.b), p(std::move(product)), s(f.schedule),
        sumElement(sumType(tensorType(p.op->getResult(0)).getElementType())),
        sum(computeType(sumElement)), stored(f.asStored(sum)),
        group(16 / std::clamp(stored.getIntOrFloatBitWidth() / 8, 4u, 8u)) {}
  void run();

private:
  /// An operand's part of the tile.
  struct Part {
    OperandSource source;
    unsigned width, lanes;
    Value shared, ownFirst;
    SmallVector<Coords> own; ///< of the thread's runs
  };
  Part partOf(bool left);
  unsigned runsOfThread(const Part &part) const {
    return part.width * s.getDepth() / (s.getThreads() * part.lanes);
  }
  std::pair<Value, Value> runAt(const Part &part, unsigned i);
  SmallVector<Value> read(Part &part, Value round);
  void write(Part &part, ArrayRef<Value> values, Value slice);
  SmallVector<Value> load(const Part &part, Value slice, unsigned k, Value threadPlace);
  SmallVector<Value> multiply(Value slice, ValueRange sums);
  SmallVector<Value> multiplyAll();
  void store(ValueRange sums);

  /// From one k to the next in shared memory: whole vectors, and threads that write neighbours
  /// in k use different banks.
  int64_t pitchOf(const Part &part) const { return part.width + group; }
  /// Elements from one group of a thread's rows or columns to the next.
  int64_t groupStep() const { return int64_t(side) * group; }
  unsigned groups(unsigned width) const { return width / (side * group); }

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Product p;
  Schedule s;
  Type sumElement, sum, stored;
  unsigned group;             ///< neighbouring rows or columns of a thread
  Value rows, columns, inner; ///< extents as one number
  Coords batch;               ///< the block's
  Value batchNumber, rowTile, columnTile;
  Value threadRow, threadColumn;       ///< its first ones in the tile
  SmallVector<Part, 2> parts;          ///< left, right
  static constexpr unsigned side = 16; ///< threads along rows and along columns of a tile
};

} // namespace

ProductEmitter::Part ProductEmitter::partOf(bool left) {
  Part part;
  part.source = sourceOf(p, left, batch);
  part.width = left ? s.getRows() : s.getColumns();
  part.lanes =
      std::min({runsOf(f, part.source).lanes, group, part.width * s.getDepth() / s.getThreads()});
  part.ownFirst = left ? rowTile : columnTile;
  part.shared = f.shared(stored, 2 * pitchOf(part) * s.getDepth(), left ? "left" : "right");
  for (unsigned i = 0; i < runsOfThread(part); ++i)
    part.own.push_back(runCoords(f, f.e.addIndex(part.ownFirst, runAt(part, i).first),
                                 part.source.own, part.source.innerFirst ? 1 : part.lanes));
  return part;
}

/// Own index and k of the thread's run `i` in the slice.
std::pair<Value, Value> ProductEmitter::runAt(const Part &part, unsigned i) {
  Value number = f.e.addIndex(f.thread, f.e.index(int64_t(i) * s.getThreads()));
  int64_t fast = (part.source.innerFirst ? s.getDepth() : part.width) / part.lanes;
  Value low = f.e.mulIndex(f.e.remIndex(number, f.e.index(fast)), f.e.index(part.lanes));
  Value high = f.e.divIndex(number, f.e.index(fast));
  return part.source.innerFirst ? std::pair(high, low) : std::pair(low, high);
}

/// The thread's runs of the slice from k = `round` on, of the type of the sum. Past the inner
/// extent they are 0; past the others anything, for nothing of it is stored.
SmallVector<Value> ProductEmitter::read(Part &part, Value round) {
  SmallVector<Value> values;
  f.e.setLanes(part.lanes);
  for (unsigned i = 0; i < runsOfThread(part); ++i) {
    Value k = f.e.addIndex(round, runAt(part, i).second);
    Coords kAt = runCoords(f, k, part.source.inner, part.source.innerFirst ? part.lanes : 1);
    Value v = Product::eval(f, part.source.operand(batch, part.own[i], kAt));
    if (!v)
      return {};
    v = emitCast(b, v, part.source.element, sumElement, true);
    if (part.lanes > 1 && !isa<VectorType>(v.getType()))
      v = f.e.splat(v, part.lanes);
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(v.getType())));
    values.push_back(arith::SelectOp::create(b, f.less(k, inner), v, zero));
  }
  f.e.setLanes(1);
  return values;
}

/// Element (k, own) of a slice lies at k * pitch + own.
void ProductEmitter::write(Part &part, ArrayRef<Value> values, Value slice) {
  for (auto [i, v] : llvm::enumerate(values)) {
    auto [own, k] = runAt(part, i);
    Value place = f.e.addIndex(slice, f.e.addIndex(f.e.mulIndex(k, f.e.index(pitchOf(part))), own));
    for (unsigned lane = 0; lane < part.lanes; ++lane) {
      Value element = part.lanes > 1 ? Value(vector::ExtractOp::create(b, v, int64_t(lane))) : v;
      int64_t step = part.source.innerFirst ? pitchOf(part) : 1;
      Value at = f.at(part.shared, stored, f.e.addIndex(place, f.e.index(lane * step)));
      LLVM::StoreOp::create(b, f.asStored(element), at);
    }
  }
}

/// The thread's rows or columns of a slice at one k.
SmallVector<Value> ProductEmitter::load(const Part &part, Value slice, unsigned k,
                                        Value threadPlace) {
  SmallVector<Value> values;
  auto type = VectorType::get({group}, stored);
  unsigned bytes = group * (stored.getIntOrFloatBitWidth() / 8);
  for (unsigned g = 0; g < groups(part.width); ++g) {
    Value place = f.e.addIndex(f.e.addIndex(slice, threadPlace),
                               f.e.index(k * pitchOf(part) + g * groupStep()));
    Value v = LLVM::LoadOp::create(b, type, f.at(part.shared, stored, place), bytes);
    for (unsigned i = 0; i < group; ++i)
      values.push_back(f.asComputed(vector::ExtractOp::create(b, v, int64_t(i)), sum));
  }
  return values;
}

/// The thread's sums with the products of one slice added.
SmallVector<Value> ProductEmitter::multiply(Value slice, ValueRange sums) {
  SmallVector<Value> next(sums.begin(), sums.end());
  for (unsigned k = 0; k < s.getDepth(); ++k) {
    SmallVector<Value> ls = load(
        parts[0], f.e.mulIndex(slice, f.e.index(pitchOf(parts[0]) * s.getDepth())), k, threadRow);
    SmallVector<Value> rs =
        load(parts[1], f.e.mulIndex(slice, f.e.index(pitchOf(parts[1]) * s.getDepth())), k,
             threadColumn);
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
      write(part, v, f.e.mulIndex(slice, f.e.index(pitchOf(part) * s.getDepth())));
  };
  auto readFrom = [&](Value round) {
    return SmallVector<SmallVector<Value>>{read(parts[0], round), read(parts[1], round)};
  };
  // An operand without elements is not read.
  auto first = [&] { writeTo(f.e.index(0), readFrom(f.e.index(0))); };
  if (getConstantIntValue(inner).value_or(0) > 0)
    first();
  else
    f.when(f.less(f.e.index(0), inner), first);
  f.barrier();
  carried.push_back(f.e.index(0));
  auto loop = scf::ForOp::create(b, f.e.index(0), inner, f.e.index(s.getDepth()), carried);
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
  SmallVector<Value> place = f.delinearize(f.block, {f.volume(p.batch), tilesM, tilesN});
  batchNumber = place[0];
  batch = uniform(f.delinearize(batchNumber, p.batch));
  rowTile = f.e.mulIndex(place[1], f.e.index(s.getRows()));
  columnTile = f.e.mulIndex(place[2], f.e.index(s.getColumns()));
  threadRow = f.e.mulIndex(f.e.divIndex(f.thread, f.e.index(side)), f.e.index(group));
  threadColumn = f.e.mulIndex(f.e.remIndex(f.thread, f.e.index(side)), f.e.index(group));
  for (bool left : {true, false})
    parts.push_back(partOf(left));
  SmallVector<Value> sums = multiplyAll();
  if (!f.failed)
    store(sums);
}

void device::emitProductKernel(KernelFrame &f) {
  if (std::optional<Product> product = productIn(f))
    ProductEmitter(f, *product).run();
}
