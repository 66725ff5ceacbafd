//===- ProductKernel.cpp - Contractions of any type and size --------------===//
//
// The general form of a product, for what no template of a matrix unit takes: a block
// computes a tile of rows and columns. In rounds it copies a slice of both operands to
// shared memory, converted to the type of the sum, and each thread adds the products of
// a few rows and columns in registers. Operands are evaluated, not only loaded, so that
// any view, type or producer may stand before the product; what follows it is evaluated
// with the sums provided.
//
// A convolution is the product of its pixels by its filters over channels and window.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

namespace {

/// A product as a batch of matrices.
struct Product {
  SmallVector<Value> batch, rows, columns, inner; ///< extents
  /// Elements of the operands, in their own type.
  std::function<Value(ArrayRef<Value> batch, ArrayRef<Value> row, ArrayRef<Value> inner)> left;
  std::function<Value(ArrayRef<Value> batch, ArrayRef<Value> inner, ArrayRef<Value> column)> right;
  /// The result's index.
  std::function<Coords(ArrayRef<Value> batch, ArrayRef<Value> row, ArrayRef<Value> column)> at;
  Type leftElement, rightElement;
  bool leftInnerFirst = true, rightInnerFirst = true; ///< neighbours in memory differ in `inner`
};

class ProductEmitter {
public:
  ProductEmitter(device::KernelFrame &f, Operation *op)
      : f(f), b(f.b), op(op), s(f.schedule),
        sum(computeType(sumType(tensorType(op->getResult(0)).getElementType()))),
        sumElement(sumType(tensorType(op->getResult(0)).getElementType())) {}
  void run();

private:
  bool describe();
  void describe(prim::DotOp dot);
  void describe(prim::ConvOp conv);
  void fill(Value shared, bool left, Value tile, Value round);
  SmallVector<Value> multiply(Value left, Value right, ValueRange sums);
  void store(ValueRange sums);
  void storeElement(Value row, Value column, Value sum);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Operation *op;
  Schedule s;
  Type sum, sumElement;
  Product p;
  Value rows, columns, inner; ///< extents as one number
  SmallVector<Value> batch;   ///< the block's
  Value batchNumber, rowTile, columnTile;
  unsigned side = 16; ///< threads along rows and along columns of a tile
};

} // namespace

static Coords uniform(ArrayRef<Value> indices) {
  Coords coords;
  for (Value i : indices)
    coords.push_back(Coord::uniform(i));
  return coords;
}

void ProductEmitter::describe(prim::DotOp dot) {
  struct Side {
    SmallVector<int64_t> batch, contract, free;
    int64_t rank;
    Coords at(ArrayRef<Value> b, ArrayRef<Value> k, ArrayRef<Value> own) const {
      Coords c(rank);
      for (auto [axis, i] : llvm::zip(batch, b))
        c[axis] = Coord::uniform(i);
      for (auto [axis, i] : llvm::zip(contract, k))
        c[axis] = Coord::uniform(i);
      for (auto [axis, i] : llvm::zip(free, own))
        c[axis] = Coord::uniform(i);
      return c;
    }
  };
  auto side = [&](Value v, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    Side side{
        SmallVector<int64_t>(batch), SmallVector<int64_t>(contract), {}, tensorType(v).getRank()};
    for (int64_t axis = 0; axis < side.rank; ++axis)
      if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis))
        side.free.push_back(axis);
    return side;
  };
  Side l = side(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract());
  Side r = side(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract());
  auto extentsOf = [&](Value v, ArrayRef<int64_t> axes) {
    SmallVector<Value> extents;
    for (int64_t axis : axes)
      extents.push_back(f.e.extent(v, axis));
    return extents;
  };
  p.batch = extentsOf(dot.getLhs(), l.batch);
  p.rows = extentsOf(dot.getLhs(), l.free);
  p.inner = extentsOf(dot.getLhs(), l.contract);
  p.columns = extentsOf(dot.getRhs(), r.free);
  p.left = [this, dot, l](ArrayRef<Value> bt, ArrayRef<Value> m, ArrayRef<Value> k) {
    return f.e.eval(prim::DotOp(dot).getLhs(), l.at(bt, k, m));
  };
  p.right = [this, dot, r](ArrayRef<Value> bt, ArrayRef<Value> k, ArrayRef<Value> n) {
    return f.e.eval(prim::DotOp(dot).getRhs(), r.at(bt, k, n));
  };
  p.at = [](ArrayRef<Value> bt, ArrayRef<Value> m, ArrayRef<Value> n) {
    Coords at = uniform(bt);
    at.append(uniform(m));
    at.append(uniform(n));
    return at;
  };
  p.leftInnerFirst = llvm::is_contained(l.contract, l.rank - 1);
  p.rightInnerFirst = llvm::is_contained(r.contract, r.rank - 1);
}

void ProductEmitter::describe(prim::ConvOp conv) {
  unsigned spatial = conv.getStrides().size();
  bool last = conv.getChannelsLast();
  unsigned channelAxis = last ? spatial + 1 : 1;
  Value filters = f.e.divIndex(f.e.extent(conv.getW(), 0), f.e.index(conv.getGroups()));
  p.batch = {f.e.index(conv.getGroups())};
  p.columns = {filters};
  for (unsigned axis = 0; axis < spatial + 2; ++axis)
    if (axis != channelAxis)
      p.rows.push_back(f.e.extent(conv.getResult(), axis));
  // The channel last: neighbours in memory, where channels are.
  for (unsigned i = 2; i < spatial + 2; ++i)
    p.inner.push_back(f.e.extent(conv.getW(), i));
  p.inner.push_back(f.e.extent(conv.getW(), 1));
  auto window = [](ArrayRef<Value> k) {
    SmallVector<Value> channelFirst = {k.back()};
    channelFirst.append(k.begin(), k.end() - 1);
    return channelFirst;
  };
  p.at = [this, channelAxis, filters](ArrayRef<Value> group, ArrayRef<Value> pixel,
                                      ArrayRef<Value> filter) {
    Coords at = uniform(pixel);
    Value channel = f.e.addIndex(f.e.mulIndex(group[0], filters), filter[0]);
    at.insert(at.begin() + channelAxis, Coord::uniform(channel));
    return at;
  };
  p.left = [this, conv, window](ArrayRef<Value> group, ArrayRef<Value> pixel, ArrayRef<Value> k) {
    return f.e.evalConvInput(conv, p.at(group, pixel, {f.e.index(0)}), window(k));
  };
  p.right = [this, conv, window](ArrayRef<Value> group, ArrayRef<Value> k, ArrayRef<Value> filter) {
    SmallVector<Value> nowhere(p.rows.size(), f.e.index(0));
    return f.e.evalConvWeight(conv, p.at(group, nowhere, filter), window(k));
  };
  p.leftInnerFirst = last;
}

bool ProductEmitter::describe() {
  p.leftElement = tensorType(op->getOperand(0)).getElementType();
  p.rightElement = tensorType(op->getOperand(1)).getElementType();
  bool known = llvm::TypeSwitch<Operation *, bool>(op)
                   .Case<prim::DotOp, prim::ConvOp>([&](auto o) {
                     describe(o);
                     return true;
                   })
                   .Default([](Operation *) { return false; });
  if (!known)
    op->emitError("code generation for GPUs has no form of '") << op->getName() << "'";
  return known;
}

/// From one k to the next in shared memory: odd, so that threads which write neighbours in k
/// use different banks.
static int64_t pitchOf(unsigned width) { return width + 1; }

/// Copies the block's part of an operand, from inner index `round` on, to shared memory:
/// element (k, i) of the tile at k * pitch + i. Past the inner extent it is 0; past the
/// others it is anything, for nothing of it is stored.
void ProductEmitter::fill(Value shared, bool left, Value tile, Value round) {
  unsigned width = left ? s.getRows() : s.getColumns();
  bool innerFirst = left ? p.leftInnerFirst : p.rightInnerFirst;
  Value extent = left ? rows : columns;
  SmallVector<Value> stored;
  SmallVector<Value> places;
  for (unsigned i = 0; i < width * s.getDepth() / s.getThreads(); ++i) {
    Value number = f.e.addIndex(f.thread, f.e.index(int64_t(i) * s.getThreads()));
    unsigned fast = innerFirst ? s.getDepth() : width;
    Value low = f.e.remIndex(number, f.e.index(fast));
    Value high = f.e.divIndex(number, f.e.index(fast));
    Value k = innerFirst ? low : high, own = innerFirst ? high : low;
    places.push_back(f.e.addIndex(f.e.mulIndex(k, f.e.index(pitchOf(width))), own));
    Value kIndex = f.e.addIndex(round, k);
    Value inside = f.less(kIndex, inner);
    auto clamp = [&](Value v, Value bound) -> Value {
      return arith::MinUIOp::create(b, v, f.e.subIndex(bound, f.e.index(1)));
    };
    SmallVector<Value> kAt = f.delinearize(clamp(kIndex, inner), p.inner);
    Value ownIndex = clamp(f.e.addIndex(tile, own), extent);
    Value v = left ? p.left(batch, f.delinearize(ownIndex, p.rows), kAt)
                   : p.right(batch, kAt, f.delinearize(ownIndex, p.columns));
    if (!v) {
      f.failed = true;
      return;
    }
    v = emitCast(b, v, left ? p.leftElement : p.rightElement, sumElement, true);
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sum)));
    stored.push_back(arith::SelectOp::create(b, inside, v, zero));
  }
  for (auto [place, v] : llvm::zip(places, stored)) {
    LLVM::StoreOp::create(b, f.asStored(v), f.at(shared, f.asStored(sum), place));
  }
}

/// The thread's sums with the products of one round added. Its rows and columns lie
/// `side` apart, so that neighbouring threads read neighbouring words.
SmallVector<Value> ProductEmitter::multiply(Value left, Value right, ValueRange sums) {
  Type stored = f.asStored(sum);
  Value threadRow = f.e.divIndex(f.thread, f.e.index(side));
  Value threadColumn = f.e.remIndex(f.thread, f.e.index(side));
  SmallVector<Value> next(sums.begin(), sums.end());
  unsigned perRow = s.getRows() / side, perColumn = s.getColumns() / side;
  for (unsigned k = 0; k < s.getDepth(); ++k) {
    auto read = [&](Value shared, Value own, unsigned width, unsigned i) -> Value {
      Value place = f.e.addIndex(own, f.e.index(k * pitchOf(width) + i * side));
      Value v = LLVM::LoadOp::create(b, stored, f.at(shared, stored, place));
      return f.asComputed(v, sum);
    };
    SmallVector<Value> ls, rs;
    for (unsigned i = 0; i < perRow; ++i)
      ls.push_back(read(left, threadRow, s.getRows(), i));
    for (unsigned j = 0; j < perColumn; ++j)
      rs.push_back(read(right, threadColumn, s.getColumns(), j));
    for (unsigned i = 0; i < perRow; ++i)
      for (unsigned j = 0; j < perColumn; ++j) {
        Value product = emitCombine(b, prim::ReduceKind::prod, sumElement, ls[i], rs[j]);
        Value &total = next[i * perColumn + j];
        total = emitCombine(b, prim::ReduceKind::sum, sumElement, product, total);
      }
  }
  return next;
}

/// What follows the product at one point, stored.
void ProductEmitter::storeElement(Value row, Value column, Value total) {
  Coords at;
  if (isa<prim::ReshapeOp>(*op->getUsers().begin())) {
    // What follows a reshape works on all rows, those of all batches, in another shape.
    Value all = f.e.addIndex(f.e.mulIndex(batchNumber, rows), row);
    at = uniform(f.delinearize(all, ArrayRef(f.results[0].extents).drop_back()));
    at.push_back(Coord::uniform(column));
  } else {
    at = p.at(batch, f.delinearize(row, p.rows), f.delinearize(column, p.columns));
  }
  f.e.bindProvider(op->getResult(0), [total](ArrayRef<Coord>) { return total; });
  for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
    Coords stored = at;
    if (auto transpose = value.getDefiningOp<prim::TransposeOp>())
      for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
        stored[i] = at[axis];
    Value v = f.e.eval(value, stored);
    if (!v) {
      f.failed = true;
      return;
    }
    f.e.store(memory, stored, v);
  }
}

void ProductEmitter::store(ValueRange sums) {
  Value threadRow = f.e.addIndex(rowTile, f.e.divIndex(f.thread, f.e.index(side)));
  Value threadColumn = f.e.addIndex(columnTile, f.e.remIndex(f.thread, f.e.index(side)));
  unsigned perColumn = s.getColumns() / side;
  for (auto [n, total] : llvm::enumerate(sums)) {
    Value row = f.e.addIndex(threadRow, f.e.index(int64_t(n / perColumn) * side));
    Value column = f.e.addIndex(threadColumn, f.e.index(int64_t(n % perColumn) * side));
    Value inside = arith::AndIOp::create(b, f.less(row, rows), f.less(column, columns));
    f.when(inside, [&, total = total] {
      f.e.forget();
      storeElement(row, column, total);
    });
  }
}

void ProductEmitter::run() {
  if (!describe()) {
    f.failed = true;
    return;
  }
  rows = f.volume(p.rows);
  columns = f.volume(p.columns);
  inner = f.volume(p.inner);
  auto tiles = [&](Value extent, unsigned size) {
    return f.e.divIndex(f.e.addIndex(extent, f.e.index(size - 1)), f.e.index(size));
  };
  Value tilesM = tiles(rows, s.getRows()), tilesN = tiles(columns, s.getColumns());
  SmallVector<Value> place = f.delinearize(f.block, {f.volume(p.batch), tilesM, tilesN});
  batchNumber = place[0];
  batch = f.delinearize(batchNumber, p.batch);
  rowTile = f.e.mulIndex(place[1], f.e.index(s.getRows()));
  columnTile = f.e.mulIndex(place[2], f.e.index(s.getColumns()));

  Type stored = f.asStored(sum);
  Value left = f.shared(stored, pitchOf(s.getRows()) * s.getDepth(), "left");
  Value right = f.shared(stored, pitchOf(s.getColumns()) * s.getDepth(), "right");
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sum)));
  SmallVector<Value> sums(s.getRows() / side * (s.getColumns() / side), zero);
  auto loop = scf::ForOp::create(b, f.e.index(0), inner, f.e.index(s.getDepth()), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = f.e.nested([&] {
      fill(left, true, rowTile, loop.getInductionVar());
      fill(right, false, columnTile, loop.getInductionVar());
      f.barrier();
      SmallVector<Value> added = multiply(left, right, loop.getRegionIterArgs());
      f.barrier();
      return added;
    });
    scf::YieldOp::create(b, next);
  }
  if (!f.failed)
    store(loop.getResults());
}

void device::emitProductKernel(KernelFrame &f) { ProductEmitter(f, productOf(f.launch)).run(); }
