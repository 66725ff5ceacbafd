//===- Suppression.cpp - The best of boxes that overlap -----------------------===//
//
// Greedy by nature: the best box left is taken, and those that overlap it too
// much are dropped. One loop goes over the classes of all images. It first narrows
// the class to the boxes above the score threshold, of which there are few, and an
// inner loop then takes the best of these, drops what it covers by setting its
// score to -inf, and appends a row to the result. No sort and no table of all
// pairs are needed.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Suppression.h"
#include "Decompose/Checks.h"
#include "Decompose/Idioms/Axes.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;
using K = prim::ReduceKind;
using Cmp = arith::CmpIPredicate;

namespace {

constexpr double kTaken = Suppression::kLowest;

/// Boxes by the coordinates of two corners and their areas, each [count].
struct Boxes {
  Value top, left, bottom, right, area;
};

class Suppressor {
public:
  Suppressor(PrimBuilder &b, const Suppression &o) : b(b), o(o), f32(b.builder().getF32Type()) {}
  Value run();

private:
  Boxes corners(Value boxes);
  /// Overlap of each box with that at `index`, as a share of their union.
  Value overlap(const Boxes &all, Dim index);
  Value bestOf(Value scores);
  std::optional<SmallVector<Value>> takeFromClass(Dim image, Dim kind, Value rows);

  PrimBuilder &b;
  const Suppression &o;
  Type f32;
  Value boxes, scores, scoreLimit;
};

Boxes Suppressor::corners(Value list) {
  auto column = [&](int64_t i) { return b.squeeze(b.sliceAxis(list, 1, b.dim(i), b.dim(1)), {1}); };
  Value v[] = {column(0), column(1), column(2), column(3)};
  Boxes r;
  if (o.centers) { // x, y, width, height
    Value halfWidth = b.mul(v[2], 0.5), halfHeight = b.mul(v[3], 0.5);
    r = {b.sub(v[1], halfHeight),
         b.sub(v[0], halfWidth),
         b.add(v[1], halfHeight),
         b.add(v[0], halfWidth),
         {}};
  } else {
    r = {b.minimum(v[0], v[2]),
         b.minimum(v[1], v[3]),
         b.maximum(v[0], v[2]),
         b.maximum(v[1], v[3]),
         {}};
  }
  r.area = b.mul(b.sub(r.bottom, r.top), b.sub(r.right, r.left));
  return r;
}

Value Suppressor::overlap(const Boxes &all, Dim index) {
  auto own = [&](Value v) { return b.sliceAxis(v, 0, index, b.dim(1)); };
  Value height = b.sub(b.minimum(all.bottom, own(all.bottom)), b.maximum(all.top, own(all.top)));
  Value width = b.sub(b.minimum(all.right, own(all.right)), b.maximum(all.left, own(all.left)));
  Value common = b.mul(b.maximum(height, 0.0), b.maximum(width, 0.0));
  Value share = b.div(common, b.sub(b.add(all.area, own(all.area)), common));
  Value solid =
      b.binary<prim::AndOp>(b.compare(P::gt, all.area, 0.0), b.compare(P::gt, own(all.area), 0.0));
  return b.select(solid, share, b.scalar(0, f32));
}

Value Suppressor::bestOf(Value list) { return b.reduce(K::max, list, {0}, false); }

/// `rows` with those of one class of one image appended.
std::optional<SmallVector<Value>> Suppressor::takeFromClass(Dim image, Dim kind, Value rows) {
  Type i64 = b.builder().getI64Type();
  Dim count = b.dim(scores, 2), one = b.dim(1), zero = b.dim(0);
  Value line = b.reshape(b.slice(scores, {image, kind, zero}, {one, one, count}, {1, 1, 1}), count);
  Value found = b.nonzero(b.compare(P::gt, line, scoreLimit));
  Dim candidates = b.dim(found, 1);
  Value place = b.reshape(found, candidates);
  Value own = b.squeeze(b.sliceAxis(boxes, 0, image, one), {0});
  Boxes all = corners(b.take(own, place, 0));
  SmallVector<Value> first = {b.indexValue(zero), b.take(line, place, 0), rows};
  auto condition = [&](ValueRange v) {
    Dim left = b.readElements(b.compare(P::gt, bestOf(v[1]), kTaken))[0];
    return b.andDims(b.compareDims(Cmp::slt, v[0], o.most), left);
  };
  auto body = [&](ValueRange v) -> std::optional<SmallVector<Value>> {
    Value at = prim::ArgReduceOp::create(b.builder(), b.location(), RankedTensorType::get({}, i64),
                                         K::max, v[1], 0);
    Dim best = b.readElements(at)[0];
    Value covered = b.compare(P::gt, overlap(all, best), o.overlap);
    Value isBest = b.compare(P::eq, b.iota({candidates}, 0, i64), scalarOf(b, best, i64));
    Value left = b.select(b.binary<prim::OrOp>(covered, isBest), b.scalar(kTaken, f32), v[1]);
    Dim box = b.readElements(b.reshape(b.sliceAxis(place, 0, best, one), ArrayRef<Dim>()))[0];
    Value row = b.fromHost({image, kind, box}, {1, 3}, i64);
    return SmallVector<Value>{b.indexValue(b.addDims(v[0], one)), left, b.concat({v[2], row}, 0)};
  };
  return b.loop(first, condition, body);
}

Value Suppressor::run() {
  auto fail = [&](const llvm::Twine &why) {
    b.fault(why);
    return Value();
  };
  if (b.rank(o.boxes) != 3 || b.rank(o.scores) != 3)
    return fail("needs boxes and scores of rank 3");
  boxes = b.cast(o.boxes, f32);
  scores = b.cast(o.scores, f32);
  Type i64 = b.builder().getI64Type();
  requireSame(b, b.dim(boxes, 2), b.dim(4), "the numbers of a box");
  requireSame(b, b.dim(boxes, 0), b.dim(scores, 0), "the images of boxes and scores");
  b.check(b.compareDims(Cmp::eq, b.dim(boxes, 1), b.dim(scores, 2)),
          "NonMaxSuppression: boxes and scores differ in number");
  scoreLimit = o.score ? o.score : b.scalar(kTaken, f32);
  Dim kinds = b.dim(scores, 1), turns = b.mulDims(b.dim(scores, 0), kinds);
  SmallVector<Value> first = {b.indexValue(b.dim(0)), b.full({b.dim(0), b.dim(3)}, 0, i64)};
  auto rows = b.loop(
      first, [&](ValueRange v) { return b.compareDims(Cmp::slt, v[0], turns); },
      [&](ValueRange v) -> std::optional<SmallVector<Value>> {
        auto inner = takeFromClass(b.floorDivDims(v[0], kinds), b.remDims(v[0], kinds), v[1]);
        if (!inner)
          return std::nullopt;
        return SmallVector<Value>{b.indexValue(b.addDims(v[0], b.dim(1))), (*inner)[2]};
      });
  if (!rows)
    return fail("its loops have no common type");
  return (*rows)[1];
}

} // namespace

Value tcc::suppress(PrimBuilder &b, const Suppression &o) { return Suppressor(b, o).run(); }
