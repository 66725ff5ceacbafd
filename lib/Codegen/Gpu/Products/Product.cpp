//===- Product.cpp - Contractions and convolutions as matrices ------------===//
//
// The tiled templates multiply a matrix by a matrix. This describes dots and convolutions as such:
// which axes are rows, columns and depth, and what to read for (row, k) and (k, column). Reading
// goes through the evaluator, so that views and casts of operands fuse; here is found out whether
// neighbours lie side by side, which decides how wide loads are.
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

Coords device::uniform(ArrayRef<Value> indices) {
  Coords coords;
  for (Value i : indices)
    coords.push_back(Coord::uniform(i));
  return coords;
}

namespace {

/// The axes of one operand of a contraction, by what they are.
struct Side {
  SmallVector<int64_t> batch, contract, free;
  int64_t rank;

  Side(Value v, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract)
      : batch(batch), contract(contract), rank(tensorType(v).getRank()) {
    for (int64_t axis = 0; axis < rank; ++axis)
      if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis))
        free.push_back(axis);
  }
  Coords at(ArrayRef<Coord> b, ArrayRef<Coord> own, ArrayRef<Coord> k) const {
    Coords c(rank);
    for (auto [axis, i] : llvm::zip(batch, b))
      c[axis] = i;
    for (auto [axis, i] : llvm::zip(contract, k))
      c[axis] = i;
    for (auto [axis, i] : llvm::zip(free, own))
      c[axis] = i;
    return c;
  }
};

} // namespace

int64_t device::innermostAxis(Value v) {
  ArrayRef<int64_t> shape = tensorType(v).getShape();
  int64_t axis = int64_t(shape.size()) - 1;
  while (axis > 0 && shape[axis] == 1)
    --axis;
  return axis;
}

static Product describe(KernelFrame &f, prim::DotOp dot) {
  Side l(dot.getLhs(), dot.getLhsBatch(), dot.getLhsContract());
  Side r(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract());
  auto extentsOf = [&](Value v, ArrayRef<int64_t> axes) {
    SmallVector<Value> extents;
    for (int64_t axis : axes)
      extents.push_back(f.e.extent(v, axis));
    return extents;
  };
  Product p;
  p.batch = extentsOf(dot.getLhs(), l.batch);
  p.rows = extentsOf(dot.getLhs(), l.free);
  p.inner = extentsOf(dot.getLhs(), l.contract);
  p.columns = extentsOf(dot.getRhs(), r.free);
  Value left = dot.getLhs(), right = dot.getRhs();
  p.left = [left, l](ArrayRef<Coord> batch, ArrayRef<Coord> own, ArrayRef<Coord> k) {
    return ProductOperand{left, l.at(batch, own, k), {}};
  };
  p.right = [right, r](ArrayRef<Coord> batch, ArrayRef<Coord> own, ArrayRef<Coord> k) {
    return ProductOperand{right, r.at(batch, own, k), {}};
  };
  p.at = [](ArrayRef<Coord> batch, ArrayRef<Coord> m, ArrayRef<Coord> n) {
    Coords at(batch);
    at.append(m.begin(), m.end());
    at.append(n.begin(), n.end());
    return at;
  };
  p.leftInnerFirst = llvm::is_contained(l.contract, innermostAxis(left));
  p.rightInnerFirst = llvm::is_contained(r.contract, innermostAxis(right));
  return p;
}

static Product describe(KernelFrame &f, prim::ConvOp conv) {
  unsigned spatial = conv.getStrides().size();
  bool last = conv.getChannelsLast();
  unsigned channelAxis = last ? spatial + 1 : 1;
  Value filters = f.e.divIndex(f.e.extent(conv.getW(), 0), f.e.index(conv.getGroups()));
  Product p;
  p.batch = {f.e.index(conv.getGroups())};
  p.columns = {filters};
  for (unsigned axis = 0; axis < spatial + 2; ++axis)
    if (axis != channelAxis)
      p.rows.push_back(f.e.extent(conv.getResult(), axis));
  // The channel last: neighbours in memory, where channels are.
  for (unsigned i = 2; i < spatial + 2; ++i)
    p.inner.push_back(f.e.extent(conv.getW(), i));
  p.inner.push_back(f.e.extent(conv.getW(), 1));
  auto channelFirst = [](ArrayRef<Coord> k) {
    Coords window = {k.back()};
    window.append(k.begin(), k.end() - 1);
    return window;
  };
  p.at = [&f, channelAxis, filters](ArrayRef<Coord> group, ArrayRef<Coord> pixel,
                                    ArrayRef<Coord> filter) {
    Coords at(pixel);
    Coord channel = filter[0];
    channel.base = f.e.addIndex(f.e.mulIndex(group[0].base, filters), channel.base);
    at.insert(at.begin() + channelAxis, channel);
    return at;
  };
  auto at = p.at;
  p.left = [&f, conv, channelFirst, at](ArrayRef<Coord> group, ArrayRef<Coord> pixel,
                                        ArrayRef<Coord> k) {
    ProductOperand operand{prim::ConvOp(conv).getX(), {}, {}};
    Coord none = Coord::uniform(f.e.index(0));
    operand.at = f.e.convInputAt(conv, at(group, pixel, none), channelFirst(k), operand.inside);
    return operand;
  };
  size_t pixels = p.rows.size();
  p.right = [&f, conv, channelFirst, at, pixels,
             channelAxis](ArrayRef<Coord> group, ArrayRef<Coord> filter, ArrayRef<Coord> k) {
    Coords nowhere(pixels, Coord::uniform(f.e.index(0)));
    Coords weightAt = {at(group, nowhere, filter)[channelAxis]};
    weightAt.append(channelFirst(k));
    return ProductOperand{prim::ConvOp(conv).getW(), weightAt, {}};
  };
  p.leftInnerFirst = last;
  return p;
}

static Product withTypes(Product p, Operation *op) {
  p.op = op;
  p.leftElement = tensorType(op->getOperand(0)).getElementType();
  p.rightElement = tensorType(op->getOperand(1)).getElementType();
  return p;
}

Product device::productFrom(KernelFrame &f, prim::DotOp dot) {
  return withTypes(describe(f, dot), dot);
}

std::optional<Product> device::productIn(KernelFrame &f) {
  Operation *op = productOf(f.launch);
  if (auto dot = dyn_cast<prim::DotOp>(op))
    return productFrom(f, dot);
  if (auto conv = dyn_cast<prim::ConvOp>(op))
    return withTypes(describe(f, conv), conv);
  op->emitError("code generation for GPUs has no form of '") << op->getName() << "'";
  f.failed = true;
  return std::nullopt;
}

Value Product::eval(KernelFrame &f, const ProductOperand &operand) {
  bool vector = llvm::any_of(operand.at, [](const Coord &c) { return !c.isUniform(); });
  Value v =
      vector ? f.e.evalVector(operand.tensor, operand.at) : f.e.eval(operand.tensor, operand.at);
  if (!v) {
    f.failed = true;
    return v;
  }
  if (!operand.inside)
    return v;
  Value zero = arith::ConstantOp::create(f.b, cast<TypedAttr>(f.b.getZeroAttr(v.getType())));
  return arith::SelectOp::create(f.b, operand.inside, v, zero);
}

Product::Finished Product::finish(KernelFrame &f, Value batchNumber, Value row,
                                  ArrayRef<Coord> column, Value sums) const {
  Coords at;
  if (isa<prim::ReshapeOp>(*op->getUsers().begin())) {
    // What follows a reshape works on all rows, those of all batches, in another shape.
    Value all = f.e.addIndex(f.e.mulIndex(batchNumber, f.volume(rows)), row);
    at = uniform(f.delinearize(all, ArrayRef(f.results[0].extents).drop_back()));
    at.push_back(column.back());
  } else {
    at = this->at(uniform(f.delinearize(batchNumber, batch)), uniform(f.delinearize(row, rows)),
                  column);
  }
  f.e.bindProvider(op->getResult(0), [sums](ArrayRef<Coord>) { return sums; });
  Finished finished;
  for (Value value : f.yield().getValues()) {
    Coords stored = at;
    if (auto transpose = value.getDefiningOp<prim::TransposeOp>())
      for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
        stored[i] = at[axis];
    Value v = f.e.eval(value, stored);
    f.failed |= !v;
    finished.values.push_back(v);
    finished.places.push_back(stored);
  }
  return finished;
}

void Product::store(KernelFrame &f, const Finished &finished) {
  if (f.failed)
    return;
  for (auto [memory, value, at] : llvm::zip_equal(f.results, finished.values, finished.places))
    f.e.store(memory, at, value);
}

void Product::store(KernelFrame &f, Value batchNumber, Value row, ArrayRef<Coord> column,
                    Value sums) const {
  store(f, finish(f, batchNumber, row, column, sums));
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

OperandSource device::sourceOf(const Product &p, bool left, ArrayRef<Coord> batch) {
  bool innerFirst = left ? p.leftInnerFirst : p.rightInnerFirst;
  // Pixels of a convolution go in and out of the padding one by one.
  bool pixels = left && isa<prim::ConvOp>(p.op) && !innerFirst;
  return {left ? p.left : p.right,
          Coords(batch),
          left ? p.rows : p.columns,
          p.inner,
          left ? p.leftElement : p.rightElement,
          innerFirst,
          /*runs=*/!pixels};
}

Coords device::runCoords(KernelFrame &f, Value number, ArrayRef<Value> extents, unsigned lanes) {
  SmallVector<Value> units(extents);
  if (!units.empty())
    units.back() = f.e.divIndex(units.back(), f.e.index(lanes));
  Value last = f.e.subIndex(f.volume(units), f.e.index(1));
  Value unit = arith::MinUIOp::create(f.b, f.e.divIndex(number, f.e.index(lanes)), last);
  Coords at = uniform(f.delinearize(unit, units));
  if (lanes > 1) {
    Value first = arith::MulIOp::create(f.b, at.back().base, f.e.index(lanes));
    f.e.bindAligned(first);
    at.back() = Coord::affine(first, 1);
  }
  return at;
}

/// What reading `lanes` neighbours somewhere would be.
static Elemental::Reading readingOf(KernelFrame &f, const OperandSource &s, unsigned lanes) {
  f.e.setLanes(lanes);
  auto at = [&](ArrayRef<Value> extents, bool vector) {
    Coords coords;
    for (size_t i = 0; i < extents.size(); ++i) {
      // An unknown number, as the thread's will be.
      Value any = LLVM::PoisonOp::create(f.b, f.b.getI32Type());
      coords.push_back(Coord::uniform(arith::IndexCastUIOp::create(f.b, f.b.getIndexType(), any)));
    }
    if (vector)
      coords.back() =
          Coord::affine(arith::MulIOp::create(f.b, coords.back().base, f.e.index(lanes)), 1);
    return coords;
  };
  ProductOperand operand = s.operand(s.batch, at(s.own, !s.innerFirst), at(s.inner, s.innerFirst));
  return f.e.readingOf(operand.tensor, operand.at);
}

OperandRuns device::runsOf(KernelFrame &f, const OperandSource &s, unsigned most) {
  ArrayRef<Value> extents = s.innerFirst ? s.inner : s.own;
  auto extent = extents.empty() ? std::nullopt : getConstantIntValue(extents.back());
  if (!s.runs || extents.empty() || (!extent && !s.whole))
    return {};
  // Code that finds out is made aside and thrown away.
  Block aside;
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToEnd(&aside);
  unsigned bytes = storageType(s.element).getIntOrFloatBitWidth() / 8;
  OperandRuns runs;
  for (unsigned lanes = std::min(16 / bytes, most); lanes > 1 && runs.lanes == 1; lanes /= 2) {
    if (extent && *extent % lanes != 0)
      continue;
    Elemental::Reading reading = readingOf(f, s, lanes);
    if (!reading.neighbours)
      continue;
    runs.lanes = lanes;
    runs.direct = lanes * bytes >= 4 && reading.place && reading.place->elementType == s.element &&
                  reading.place->alignment >= lanes * bytes;
  }
  f.e.setLanes(1);
  return runs;
}

std::pair<Value, Value> device::tileIn(KernelFrame &f, Value number, Value tilesDown,
                                       Value tilesAcross) {
  constexpr int64_t kTogether = 8;
  Value width = f.e.mulIndex(f.e.index(kTogether), tilesAcross);
  Value first = f.e.mulIndex(f.e.divIndex(number, width), f.e.index(kTogether));
  Value rest = f.e.remIndex(number, width);
  Value height = f.minIndex(f.e.subIndex(tilesDown, first), f.e.index(kTogether));
  return {f.e.addIndex(first, f.e.remIndex(rest, height)), f.e.divIndex(rest, height)};
}

ProductParts ProductParts::of(KernelFrame &f, Value tiles, Value steps) {
  ProductParts parts{f.e.index(f.schedule.getSplit()), {}, {}, f.schedule.getMostBlocks() != 0};
  if (parts.open)
    parts.count = partsOfProduct(f.b, f.b.getLoc(), tiles, steps, f.schedule);
  parts.tile = f.e.divIndex(f.block, parts.count);
  parts.part = f.e.remIndex(f.block, parts.count);
  return parts;
}

/// The sums of all parts, in their order, which `read` finds: group `i` of part `of`.
static SmallVector<Value> addParts(KernelFrame &f, const ProductParts &parts, size_t sums,
                                   unsigned together, Value zero, Type sum,
                                   function_ref<Value(Value of, unsigned i)> readAt) {
  constexpr unsigned kMany = 16, kHeld = 64; // parts; numbers
  ImplicitLocOpBuilder &b = f.b;
  SmallVector<Value> totals(sums, zero);
  // Of many parts, those of a few blocks are on their way where a thread has registers for them.
  bool several = parts.open || f.schedule.getSplit() > kMany;
  unsigned atOnce = several ? std::max<size_t>(1, kHeld / sums) : 1;
  Value step = f.e.index(atOnce);
  Value whole = f.e.mulIndex(f.e.divIndex(parts.count, step), step);
  for (auto [begin, end, count] :
       {std::tuple(f.e.index(0), whole, atOnce), std::tuple(whole, parts.count, 1u)}) {
    if (begin == end || getConstantIntValue(begin) == getConstantIntValue(end).value_or(-1))
      continue;
    auto loop = scf::ForOp::create(b, begin, end, f.e.index(count), totals);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    totals.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    auto read = [&](unsigned n, unsigned i) {
      return readAt(f.e.addIndex(loop.getInductionVar(), f.e.index(n)), i);
    };
    auto add = [&](Value values, unsigned i) {
      for (unsigned j = 0; j < together; ++j)
        totals[i + j] = emitCombine(b, prim::ReduceKind::sum, sum, totals[i + j],
                                    vector::ExtractOp::create(b, values, int64_t(j)));
    };
    SmallVector<Value> later; // of all blocks but the last of these
    for (unsigned n = 0; n + 1 < count; ++n)
      for (unsigned i = 0; i < totals.size(); i += together)
        later.push_back(read(n, i));
    for (auto [number, values] : llvm::enumerate(later))
      add(values, unsigned(number * together % totals.size()));
    for (unsigned i = 0; i < totals.size(); i += together)
      add(read(count - 1, i), i);
    scf::YieldOp::create(b, totals);
    totals.assign(loop.getResults().begin(), loop.getResults().end());
  }
  return totals;
}

void device::shareSums(KernelFrame &f, const ProductParts &parts, ArrayRef<Value> sums, Type sum,
                       function_ref<void(ValueRange)> finish) {
  constexpr unsigned kTogether = 4, kAligned = 16; // sums, bytes
  ImplicitLocOpBuilder &b = f.b;
  auto some = VectorType::get({kTogether}, sums[0].getType());
  Value threads = f.e.index(f.schedule.getThreads());
  auto placeOf = [&](Value of, unsigned i) {
    Value number = f.e.addIndex(f.e.mulIndex(parts.tile, parts.count), of);
    number = f.e.addIndex(f.e.mulIndex(number, f.e.index(sums.size() / kTogether)),
                          f.e.index(i / kTogether));
    return f.scratchAt(0, some, f.e.addIndex(f.e.mulIndex(number, threads), f.thread));
  };
  auto share = [&] {
    for (unsigned i = 0; i < sums.size(); i += kTogether) {
      Value values = vector::FromElementsOp::create(b, some, sums.slice(i, kTogether));
      LLVM::StoreOp::create(b, values, placeOf(parts.part, i), kAligned);
    }
    f.inLastBlock(parts.tile, parts.count, [&] {
      Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sums[0].getType())));
      finish(addParts(f, parts, sums.size(), kTogether, zero, sum, [&](Value of, unsigned i) {
        return Value(LLVM::LoadOp::create(b, some, placeOf(of, i), kAligned));
      }));
    });
  };
  if (!parts.open)
    return share();
  Value alone = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, parts.count, f.e.index(1));
  f.when(alone, [&] { finish(sums); });
  f.when(f.less(f.e.index(1), parts.count), share);
}
