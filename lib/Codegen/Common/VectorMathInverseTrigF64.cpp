//===- VectorMathInverseTrigF64.cpp - asin, acos, atan, atan2 in f64 ------===//
//
// All are the angle of a point (x, y). It is turned by the next of five angles whose
// tangents are 0, 1/2, 1, 3/2 and infinity, which is exact up to the rounding of two
// products; a polynomial in y / x gives what is left. asin v is the angle of
// (sqrt(1 - v^2), v), acos v that of (v, sqrt(1 - v^2)).
//
//===----------------------------------------------------------------------===//
#include "VectorMathPair.h"

namespace tcc::codegen::vmath {
namespace {

constexpr double halfPi = 0x1.921fb54442d18p+0, halfPiLow = 0x1.1a62633145c07p-54;

/// An angle whose tangent is `tangent`.
struct Turn {
  double tangent, angle, low;
};
constexpr Turn turns[] = {{0.5, 0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                          {1.0, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
                          {1.5, 0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56}};
constexpr double lastOf[] = {0.4375, 0.6875, 1.1875, 2.4375};

/// atan t - t for |t| <= 7/16, of which z is the square.
Fp atanTail(Fp t, Fp z) {
  return t * z *
         poly(z, {0x1.befbc4154fba4p-7, -0x1.0500d06e92d0ap-5, 0x1.6af048f2d55d8p-5,
                  -0x1.a9ef7f14a1680p-5, 0x1.e130b26b0d72fp-5, -0x1.1108ed138ba95p-4,
                  0x1.3b132db10ab57p-4, -0x1.745d11b781d31p-4, 0x1.c71c71a0d3126p-4,
                  -0x1.24924924451cbp-3, 0x1.9999999998fe9p-3, -0x1.5555555555552p-2});
}

/// The angle of (x, y) where neither is negative, an infinity, or too large or small to be
/// multiplied by its error, and not both are 0.
Pair angleOf(Pair x, Pair y) {
  Fp ratio = y.hi / x.hi;
  Fp tangent = ratio.constant(0.0), angle = tangent, low = tangent;
  for (int i = 0; i < 3; ++i) {
    Mask beyond = ratio >= lastOf[i];
    tangent = select(beyond, turns[i].tangent, tangent);
    angle = select(beyond, turns[i].angle, angle);
    low = select(beyond, turns[i].low, low);
  }
  Mask steep = ratio >= lastOf[3];
  angle = select(steep, halfPi, angle);
  low = select(steep, halfPiLow, low);
  // The difference of y and tangent * x is exact, because they are close or one is 0.
  Pair across = exactProduct(tangent, x.hi), along = exactProduct(tangent, y.hi);
  Pair sum = exactSum(x.hi, along.hi);
  Pair opposite = {y.hi - across.hi, mulAdd(-tangent, x.lo, y.lo) - across.lo};
  Pair adjacent = {sum.hi, mulAdd(tangent, y.lo, x.lo) + (sum.lo + along.lo)};
  opposite = select(steep, {-x.hi, -x.lo}, opposite);
  adjacent = select(steep, y, adjacent);
  Pair t = opposite / adjacent;
  Fp z = t.hi * t.hi;
  Pair result = fastSum(angle, t.hi);
  return {result.hi, result.lo + (atanTail(t.hi, z) + mulAdd(-t.lo, z, t.lo + low))};
}

/// pi - angle where `left`.
Fp onSide(Mask left, Pair angle) {
  Fp whole = angle.hi + angle.lo;
  Pair mirrored = fastSum(whole.constant(2 * halfPi), -angle.hi);
  return select(left, mirrored.hi + ((mirrored.lo - angle.lo) + 2 * halfPiLow), whole);
}

/// sqrt(1 - v^2) for 0 <= v <= 1; NaN above.
Pair complement(Fp v) {
  Pair square = exactProduct(v, v);
  Pair rest = fastSum(v.constant(1.0), -square.hi);
  Fp root = sqrt(rest.hi);
  Fp error = (mulAdd(-root, root, rest.hi) + (rest.lo - square.lo)) / (root + root);
  return {root, select(root == 0.0, 0.0, error)};
}

/// Where (x, y) goes so that products of its numbers have their errors in f64.
Fp scaleOf(Fp largest) {
  return select(largest < 0x1p700, largest.constant(0x1p200),
                select(largest > 0x1p1000, largest.constant(0x1p-100), 1.0));
}

} // namespace

Fp atanF64(Fp x) {
  Fp zero = x.constant(0.0), scale = x.constant(0x1p200);
  // Above, the angle is pi/2.
  Pair angle = angleOf({scale, zero}, {atMost(abs(x), 0x1p60) * scale, zero});
  return copySign(angle.hi + angle.lo, x);
}

Fp atan2F64(Fp y, Fp x) {
  Fp a = abs(x), b = abs(y), zero = x.constant(0.0), one = x.constant(1.0);
  Mask wide = a == x.infinity(), high = b == x.infinity();
  Mask origin = (a == 0.0) & (b == 0.0);
  Fp scale = scaleOf(select(a < b, b, a));
  Fp across = select(wide | origin, one, select(high, zero, a * scale));
  Fp up = select(high, one, select(wide | origin, zero, b * scale));
  Pair angle = angleOf({across, zero}, {up, zero});
  Fp result = copySign(onSide(bits(x) < 0, angle), y);
  return select(isNaN(x) | isNaN(y), x + y, result);
}

Fp asinF64(Fp x) {
  Fp v = abs(x), scale = x.constant(0x1p200);
  Pair root = complement(v);
  Pair angle = angleOf({root.hi * scale, root.lo * scale}, {v * scale, x.constant(0.0)});
  return copySign(angle.hi + angle.lo, x);
}

Fp acosF64(Fp x) {
  Fp v = abs(x), scale = x.constant(0x1p200);
  Pair root = complement(v);
  Pair angle = angleOf({v * scale, x.constant(0.0)}, {root.hi * scale, root.lo * scale});
  return onSide(x < 0.0, angle);
}

} // namespace tcc::codegen::vmath
