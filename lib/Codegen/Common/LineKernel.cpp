//===- LineKernel.cpp - Operators that work along one axis ----------------===//
//
// Scans and extremes with their place walk along one axis, each element after what was seen before
// it. The loops are the same on every target: a lane or a thread has a line of its own, or the
// lanes share one and fold what each found at the end.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Common/LineKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/BestOfLine.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

SmallVector<Value> tcc::codegen::extentsOf(LaunchFrame &f, Value v) {
  SmallVector<Value> extents;
  for (int64_t i = 0, e = tensorType(v).getRank(); i < e; ++i)
    extents.push_back(f.e.extent(v, i));
  return extents;
}

/// `element` in all lanes at hand.
static Value inAllLanes(LaunchFrame &f, TypedAttr element) {
  Value v = arith::ConstantOp::create(f.b, element);
  return f.e.lanes() > 1 ? f.e.splat(v, f.e.lanes()) : v;
}

namespace {

/// A running reduction of one line, of one in each lane, or of a line whose elements are the lanes:
/// those are scanned by doubling (Hillis and Steele 1986), log2(lanes) steps of which only the
/// last, with what came before, waits for the vector before.
class Scan {
public:
  Scan(LaunchFrame &f, prim::CumulativeOp op, ArrayRef<Coords> lines, Value length)
      : f(f), op(op), lines(lines), length(length), e(tensorType(op.getX()).getElementType()),
        neutral(neutralElement(op.getKind(), e)) {}
  void emit(unsigned along);

private:
  SmallVector<Value> walk(Value low, Value high, unsigned along, SmallVector<Value> carried);
  Value scanned(Value v, Value &carried, unsigned along);
  Value unlessBeyond(Value v, Value &carried, unsigned along);
  Value moved(Value v, Value in, unsigned by, unsigned lanes);

  LaunchFrame &f;
  prim::CumulativeOp op;
  SmallVector<Coords> lines; ///< one, or several whose lanes are lines
  Value length;
  Type e;
  TypedAttr neutral;
};

} // namespace

/// The lanes of `v`, `by` places on, and in those before them what `in` has in its last ones.
Value Scan::moved(Value v, Value in, unsigned by, unsigned lanes) {
  SmallVector<int64_t> from;
  for (unsigned lane = 0; lane < lanes; ++lane)
    from.push_back(lane + lanes - by);
  return vector::ShuffleOp::create(f.b, in, v, from);
}

/// What is stored for the lanes of `v`, elements of a line, after those that `carried` is of in all
/// lanes; then that is of these as well.
Value Scan::scanned(Value v, Value &carried, unsigned along) {
  Value none = inAllLanes(f, neutral), before = carried;
  for (unsigned by = 1; by < along; by *= 2)
    v = emitCombine(f.b, op.getKind(), e, moved(v, none, by, along), v);
  // Of these alone first: the next vector waits for one operator, not for a shuffle as well.
  Value last = vector::ShuffleOp::create(f.b, v, v, SmallVector<int64_t>(along, along - 1));
  v = emitCombine(f.b, op.getKind(), e, carried, v);
  carried = emitCombine(f.b, op.getKind(), e, carried, last);
  return op.getExclusive() ? moved(v, before, 1, along) : v;
}

/// The same of an extremum: where no lane goes beyond what came before, as it is of most of a line
/// in no order, nothing is scanned.
Value Scan::unlessBeyond(Value v, Value &carried, unsigned along) {
  bool largest = op.getKind() == prim::ReduceKind::max;
  bool isExtremum = largest || op.getKind() == prim::ReduceKind::min;
  if (!isExtremum || e.isInteger(1))
    return scanned(v, carried, along);
  Value inside;
  if (isa<FloatType>(e)) { // equal zeros may differ
    auto p = largest ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT;
    inside = arith::CmpFOp::create(f.b, p, v, carried);
  } else {
    using P = arith::CmpIPredicate;
    auto p = prim::isUnsigned(e) ? (largest ? P::ule : P::uge) : (largest ? P::sle : P::sge);
    inside = arith::CmpIOp::create(f.b, p, v, carried);
  }
  inside = vector::ReductionOp::create(f.b, vector::CombiningKind::AND, inside);
  SmallVector<Type> types(2, v.getType());
  auto branch = scf::IfOp::create(f.b, types, inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(f.b, ValueRange{carried, carried});
  f.b.setInsertionPointToStart(branch.elseBlock());
  Value next = carried, stored = scanned(v, next, along);
  scf::YieldOp::create(f.b, ValueRange{stored, next});
  carried = branch.getResult(1);
  return branch.getResult(0);
}

/// Stores the results for [low, high), whole vectors with lanes `along` the line, after what
/// `carried` is of, for each line; of what the results then are.
SmallVector<Value> Scan::walk(Value low, Value high, unsigned along, SmallVector<Value> carried) {
  auto loop = scf::ForOp::create(f.b, low, high, f.e.index(along), carried);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  carried = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  if (op.getReverse())
    i = f.e.subIndex(f.e.subIndex(length, f.e.index(1)), i);
  f.e.nested([&]() -> Value {
    SmallVector<Value> read;
    for (Coords &at : lines) {
      at[op.getAxis()] = Coord::affine(i, along == 1 ? 0 : op.getReverse() ? -1 : 1);
      read.push_back(f.e.evalVector(op.getX(), at));
      f.failed |= !read.back();
    }
    if (f.failed)
      return {};
    for (auto [at, v, before] : llvm::zip_equal(lines, read, carried)) {
      if (along > 1) {
        f.e.store(f.results[0], at, unlessBeyond(v, before, along));
        continue;
      }
      v = emitCombine(f.b, op.getKind(), e, before, v);
      f.e.store(f.results[0], at, op.getExclusive() ? before : v);
      before = v;
    }
    return carried.front();
  });
  scf::YieldOp::create(f.b, carried);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void Scan::emit(unsigned along) {
  Value begin = f.e.index(0);
  if (along == 1) {
    walk(begin, length, 1, SmallVector<Value>(lines.size(), inAllLanes(f, neutral)));
    return;
  }
  Value n = f.e.index(along), whole = f.e.mulIndex(f.e.divIndex(length, n), n);
  f.e.setLanes(along);
  SmallVector<Value> carried = walk(begin, whole, along, {inAllLanes(f, neutral)});
  f.e.setLanes(1);
  if (auto end = getConstantIntValue(whole); !end || end != getConstantIntValue(length))
    walk(whole, length, 1, {vector::ExtractOp::create(f.b, carried.front(), int64_t(0))});
}

void tcc::codegen::emitScans(LaunchFrame &f, prim::CumulativeOp op, ArrayRef<Coords> lines,
                             Value length) {
  Scan(f, op, lines, length).emit(/*along=*/1);
}

/// Whether `x` comes before `y` when ordered; NaN is the largest.
Value tcc::codegen::comesBefore(LaunchFrame &f, Type e, bool descending, Value x, Value y) {
  if (descending)
    std::swap(x, y);
  if (isa<FloatType>(e)) {
    Value less = arith::CmpFOp::create(f.b, arith::CmpFPredicate::OLT, x, y);
    Value xNumber = arith::CmpFOp::create(f.b, arith::CmpFPredicate::ORD, x, x);
    Value yNan = arith::CmpFOp::create(f.b, arith::CmpFPredicate::UNO, y, y);
    return arith::OrIOp::create(f.b, less, arith::AndIOp::create(f.b, xNumber, yNan));
  }
  auto less = prim::isUnsigned(e) ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  return arith::CmpIOp::create(f.b, less, x, y);
}

SmallVector<Value> tcc::codegen::forEachLane(LaunchFrame &f, Value first, Value mask,
                                             ValueRange carried, LaneBody body) {
  ImplicitLocOpBuilder &b = f.b;
  Type word = b.getIntegerType(cast<VectorType>(mask.getType()).getNumElements());
  Value bits = vector::BitCastOp::create(b, VectorType::get({1}, word), mask);
  bits = vector::ExtractOp::create(b, bits, int64_t(0));
  SmallVector<Value> start = {bits};
  llvm::append_range(start, carried);
  auto types = llvm::map_to_vector(start, [](Value v) { return v.getType(); });
  SmallVector<Location> locs(start.size(), b.getLoc());
  auto loop = scf::WhileOp::create(b, types, start);
  OpBuilder::InsertionGuard guard(b);
  Block *head = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value left = head->getArgument(0), none = arith::ConstantOp::create(b, b.getIntegerAttr(word, 0));
  Value any = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, left, none);
  scf::ConditionOp::create(b, any, head->getArguments());

  Block *block = b.createBlock(&loop.getAfter(), {}, types, locs);
  left = block->getArgument(0);
  Value lane = LLVM::CountTrailingZerosOp::create(b, word, left, /*is_zero_poison=*/true);
  lane = arith::IndexCastUIOp::create(b, b.getIndexType(), lane);
  SmallVector<Value> next = f.e.nested(
      [&] { return body(f.e.addIndex(first, lane), block->getArguments().drop_front()); });
  Value one = arith::ConstantOp::create(b, b.getIntegerAttr(word, 1));
  left = arith::AndIOp::create(b, left, arith::SubIOp::create(b, left, one));
  next.insert(next.begin(), left);
  scf::YieldOp::create(b, next);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front());
}

//===----------------------------------------------------------------------===//
// The place of an extremum
//===----------------------------------------------------------------------===//

static constexpr int64_t kMostPlaces = std::numeric_limits<int32_t>::max();

BestOfLine::BestOfLine(LaunchFrame &f, Sought sought, Coords at, Value length, bool fits)
    : f(f), sought(sought), at(std::move(at)), e(tensorType(sought.x).getElementType()) {
  // Places in lanes as narrow as the values.
  auto known = getConstantIntValue(length);
  bool few = fits || (known && *known <= kMostPlaces);
  place = few ? f.b.getI32Type() : f.b.getI64Type();
}

/// Whether `v` is better than `best`; NaN is, either way.
Value BestOfLine::beyond(Value v, Value best) {
  bool largest = sought.kind == prim::ReduceKind::max;
  if (!isa<FloatType>(e))
    return comesBefore(f, e, largest, v, best);
  using P = arith::CmpFPredicate;
  Value further = arith::CmpFOp::create(f.b, largest ? P::UGT : P::ULT, v, best);
  return arith::AndIOp::create(f.b, further, arith::CmpFOp::create(f.b, P::ORD, best, best));
}

Value BestOfLine::equal(Value v, Value best) {
  if (!isa<FloatType>(e))
    return arith::CmpIOp::create(f.b, arith::CmpIPredicate::eq, v, best);
  using P = arith::CmpFPredicate;
  auto compare = [&](P p, Value l, Value r) { return arith::CmpFOp::create(f.b, p, l, r); };
  Value nan = arith::AndIOp::create(f.b, compare(P::UNO, v, v), compare(P::UNO, best, best));
  return arith::OrIOp::create(f.b, compare(P::OEQ, v, best), nan);
}

/// Where all elements are as bad as this, the first one's place is right.
BestOfLine::Best BestOfLine::none() {
  return {inAllLanes(f, neutralElement(sought.kind, e)), inAllLanes(f, f.b.getZeroAttr(place))};
}

Value BestOfLine::elements(Value first, unsigned along) {
  at[sought.axis] = Coord::affine(first, along > 1 ? 1 : 0);
  Value v = f.e.evalVector(sought.x, at);
  f.failed |= !v;
  return v;
}

BestOfLine::Best BestOfLine::with(const Best &best, Value v, Value first, unsigned along) {
  if (!v)
    return best;
  Value here = arith::IndexCastOp::create(f.b, place, first);
  if (f.e.lanes() > 1)
    here = f.e.splat(here, f.e.lanes());
  if (along > 1) {
    auto lanes = VectorType::get({along}, place);
    SmallVector<Attribute> steps;
    for (unsigned lane = 0; lane < along; ++lane)
      steps.push_back(f.b.getIntegerAttr(place, lane));
    here = arith::AddIOp::create(
        f.b, here, arith::ConstantOp::create(f.b, DenseElementsAttr::get(lanes, steps)));
  }
  Value better = beyond(v, best.value);
  if (sought.last)
    better = arith::OrIOp::create(f.b, better, equal(v, best.value));
  return {arith::SelectOp::create(f.b, better, v, best.value),
          arith::SelectOp::create(f.b, better, here, best.place)};
}

/// What is best with [low, high) seen after `from`; with lanes `along` the line, whole vectors.
BestOfLine::Best BestOfLine::walk(Value low, Value high, unsigned along, const Best &from) {
  auto loop =
      scf::ForOp::create(f.b, low, high, f.e.index(along), ValueRange{from.value, from.place});
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  Value v = f.e.nested([&] { return elements(i, along); });
  Best next = with({loop.getRegionIterArg(0), loop.getRegionIterArg(1)}, v, i, along);
  scf::YieldOp::create(f.b, ValueRange{next.value, next.place});
  return {loop.getResult(0), loop.getResult(1)};
}

BestOfLine::Best BestOfLine::better(const Best &x, const Best &y) {
  Value wins = arith::CmpIOp::create(
      f.b, sought.last ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, y.place, x.place);
  wins = arith::AndIOp::create(f.b, wins, equal(y.value, x.value));
  wins = arith::OrIOp::create(f.b, wins, beyond(y.value, x.value));
  return {arith::SelectOp::create(f.b, wins, y.value, x.value),
          arith::SelectOp::create(f.b, wins, y.place, x.place)};
}

BestOfLine::Best BestOfLine::folded(Best lanes, unsigned count, unsigned to) {
  for (unsigned width = count; width > to; width /= 2) {
    auto half = [&](Value v, unsigned from) -> Value {
      return vector::ShuffleOp::create(f.b, v, v,
                                       llvm::to_vector(llvm::seq<int64_t>(from, from + width / 2)));
    };
    lanes = better({half(lanes.value, 0), half(lanes.place, 0)},
                   {half(lanes.value, width / 2), half(lanes.place, width / 2)});
  }
  if (to > 1)
    return lanes;
  return {vector::ExtractOp::create(f.b, lanes.value, int64_t(0)),
          vector::ExtractOp::create(f.b, lanes.place, int64_t(0))};
}

/// The best of a line that a run knows the length of, in each of fewer lanes than `along`, but for
/// what is left behind some whole vectors, which is found from the index on that is given as well.
/// Short lines do not fill several registers, which it takes long to fold.
std::tuple<BestOfLine::Best, unsigned, Value> BestOfLine::ofOpen(Value length, unsigned along) {
  constexpr unsigned kMany = 32, kParts = 4; // lanes of several registers, in each of which
  Value first = f.e.index(0);
  unsigned width = along >= kMany ? along / kParts : along;
  f.e.setLanes(width);
  Best best = none();
  if (width < along) {
    Value turns = f.e.index(int64_t(kParts) * along);
    Value isLong = arith::CmpIOp::create(f.b, arith::CmpIPredicate::uge, length, turns);
    SmallVector<Type> types = {best.value.getType(), best.place.getType(), f.b.getIndexType()};
    auto branch = scf::IfOp::create(f.b, types, isLong, /*withElseRegion=*/true);
    OpBuilder inside = branch.getElseBodyBuilder();
    scf::YieldOp::create(inside, f.b.getLoc(), ValueRange{best.value, best.place, first});
    f.b.setInsertionPointToStart(branch.thenBlock());
    f.e.setLanes(along);
    Value n = f.e.index(along), whole = f.e.mulIndex(f.e.divIndex(length, n), n);
    Best found = folded(walk(first, whole, along, none()), along, width);
    scf::YieldOp::create(f.b, ValueRange{found.value, found.place, whole});
    f.b.setInsertionPointAfter(branch);
    f.e.setLanes(width);
    best = {branch.getResult(0), branch.getResult(1)};
    first = branch.getResult(2);
  }
  Value n = f.e.index(width), rest = f.e.mulIndex(f.e.divIndex(length, n), n);
  best = walk(first, rest, width, best);
  // The last vector ends where the line does.
  Value fits = arith::CmpIOp::create(f.b, arith::CmpIPredicate::uge, length, n);
  Value some = arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, length, rest);
  Value last = arith::SelectOp::create(f.b, arith::AndIOp::create(f.b, fits, some),
                                       f.e.subIndex(length, n), length);
  best = walk(last, length, width, best);
  return {best, width, arith::SelectOp::create(f.b, fits, length, rest)};
}

BestOfLine::Best BestOfLine::ofAll(Value length, unsigned along) {
  Best best;
  Value rest = f.e.index(0);
  auto known = getConstantIntValue(length);
  if (along > 1 && !known) {
    std::tie(best, along, rest) = ofOpen(length, along);
    best = folded(best, along);
    f.e.setLanes(1);
  } else if (along > 1) {
    Value n = f.e.index(along);
    rest = f.e.mulIndex(f.e.divIndex(length, n), n);
    f.e.setLanes(along);
    best = walk(f.e.index(0), rest, along, none());
    // The last vector of a known length ends where the line does: what it sees again changes
    // nothing.
    if (*known >= along && *known % along != 0) {
      best = walk(f.e.index(*known - along), length, along, best);
      rest = length;
    }
    best = folded(best, along);
    f.e.setLanes(1);
  } else {
    best = none();
  }
  auto from = getConstantIntValue(rest);
  if (!from || from != getConstantIntValue(length))
    best = walk(rest, length, 1, best);
  return best;
}

Value BestOfLine::placeAs(const Best &best, Type element) {
  unsigned have = place.getIntOrFloatBitWidth(), want = element.getIntOrFloatBitWidth();
  Type type = f.e.lanes() > 1 ? Type(VectorType::get({f.e.lanes()}, element)) : element;
  if (have < want)
    return arith::ExtSIOp::create(f.b, type, best.place);
  return have > want ? Value(arith::TruncIOp::create(f.b, type, best.place)) : best.place;
}

void BestOfLine::store(const Best &best) {
  Coords line(at);
  line.erase(line.begin() + sought.axis);
  f.e.store(f.results[0], line, placeAs(best, f.results[0].elementType));
}

static void emitBest(LaunchFrame &f, prim::ArgReduceOp op, const Coords &at, Value length,
                     unsigned along) {
  auto emit = [&](bool fits) {
    BestOfLine line(f, BestOfLine::Sought::of(op), at, length, fits);
    line.store(line.ofAll(length, along));
  };
  if (along == 1 || getConstantIntValue(length))
    return emit(/*fits=*/false);
  // Places of 64 bits fill twice the registers: only lines that need them have those.
  Value fits =
      arith::CmpIOp::create(f.b, arith::CmpIPredicate::ule, length, f.e.index(kMostPlaces));
  auto branch = scf::IfOp::create(f.b, fits, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested([&] { emit(/*fits=*/true); });
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.e.nested([&] { emit(/*fits=*/false); });
}

/// The first one element, which is the best unless a NaN comes after all others.
static bool emitFirst(LaunchFrame &f, prim::TopKOp op, Coords at, Value length, unsigned along) {
  RankedTensorType type = tensorType(op.getX());
  unsigned axis = op.getAxis();
  if (getConstantIntValue(f.results[0].extents[axis]) != 1 ||
      !(op.getLargest() || isa<IntegerType>(type.getElementType())))
    return false;
  auto kind = op.getLargest() ? prim::ReduceKind::max : prim::ReduceKind::min;
  BestOfLine line(f, {op.getX(), axis, kind}, at, length);
  BestOfLine::Best best = line.ofAll(length, along);
  at[axis] = Coord::uniform(f.e.index(0));
  f.e.store(f.results[0], at, best.value);
  f.e.store(f.results[1], at, line.placeAs(best, f.results[1].elementType));
  return true;
}

std::optional<std::pair<Value, unsigned>> tcc::codegen::lineAxis(Operation *op) {
  using Line = std::optional<std::pair<Value, unsigned>>;
  return llvm::TypeSwitch<Operation *, Line>(op)
      .Case<prim::CumulativeOp, prim::ArgReduceOp, prim::SortOp, prim::TopKOp>(
          [](auto o) { return Line({o.getX(), static_cast<unsigned>(o.getAxis())}); })
      .Default([](Operation *) { return std::nullopt; });
}

void tcc::codegen::emitLine(LaunchFrame &f, Operation *op, Coords at, Value length,
                            unsigned along) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](prim::CumulativeOp o) { Scan(f, o, ArrayRef<Coords>(at), length).emit(along); })
      .Case([&](prim::ArgReduceOp o) { emitBest(f, o, at, length, along); })
      .Case([&](prim::SortOp o) {
        emitOrderedLine(f, o.getX(), o.getAxis(), o.getDescending(), at, length);
      })
      .Case([&](prim::TopKOp o) {
        if (!emitFirst(f, o, at, length, along) &&
            !emitFirstOfLine(f, o.getX(), o.getAxis(), o.getLargest(), at, length, along))
          emitOrderedLine(f, o.getX(), o.getAxis(), o.getLargest(), at, length, along);
      });
}
