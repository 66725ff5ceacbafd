//===- ElementalRandom.cpp - Philox4x32-10 --------------------------------===//
//
// Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3
// (SC 2011), as prim.random_bits says. Every point computes its block, so that no
// number depends on the width of vectors or on who computes the others.
//
//===----------------------------------------------------------------------===//
#include "LikeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/Elemental.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Value Elemental::evalRandom(prim::RandomBitsOp o, ArrayRef<Coord> at) {
  auto rt = cast<RankedTensorType>(o.getType());
  SmallVector<Value> extents;
  for (int64_t i = 0; i < rt.getRank(); ++i)
    extents.push_back(extent(o.getResult(), i));
  Value linear = widen(coordValue(linearIndex(extents, at)), numLanes > 1);
  Type i32 = likeType(b.getI32Type(), linear), i64 = likeType(b.getI64Type(), linear);
  auto constant = [&](Type t, int64_t v) {
    return constantLike(b, b.getIntegerAttr(getElementTypeOrSelf(t), v), linear);
  };
  auto low = [&](Value v) -> Value { return arith::TruncIOp::create(b, i32, v); };
  auto high = [&](Value v) -> Value {
    return arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, v, constant(i64, 32)));
  };
  auto product = [&](Value v, int64_t m) -> Value {
    return arith::MulIOp::create(b, Value(arith::ExtUIOp::create(b, i64, v)), constant(i64, m));
  };
  bool words64 = rt.getElementType().isUnsignedInteger(64);
  auto host = [&](Value v) { return widen(scalar(v), isa<VectorType>(linear.getType())); };
  Value position = arith::IndexCastOp::create(b, i64, linear);
  Value block = arith::ShRUIOp::create(b, position, constant(i64, words64 ? 1 : 2));
  Value seed = host(o.getSeed()), offset = host(o.getOffset());
  Value c0 = low(block), c1 = high(block), c2 = low(offset), c3 = high(offset);
  Value k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    Value p0 = product(c0, 0xD2511F53), p1 = product(c2, 0xCD9E8D57);
    Value n0 = arith::XOrIOp::create(b, arith::XOrIOp::create(b, high(p1), c1), k0);
    Value n2 = arith::XOrIOp::create(b, arith::XOrIOp::create(b, high(p0), c3), k1);
    c1 = low(p1);
    c3 = low(p0);
    c0 = n0;
    c2 = n2;
    k0 = arith::AddIOp::create(b, k0, constant(i32, static_cast<int32_t>(0x9E3779B9)));
    k1 = arith::AddIOp::create(b, k1, constant(i32, static_cast<int32_t>(0xBB67AE85)));
  }
  auto joined = [&](Value low, Value high) -> Value {
    Value upper =
        arith::ShLIOp::create(b, Value(arith::ExtUIOp::create(b, i64, high)), constant(i64, 32));
    return arith::OrIOp::create(b, upper, Value(arith::ExtUIOp::create(b, i64, low)));
  };
  SmallVector<Value> words = {c0, c1, c2, c3};
  if (words64)
    words = {joined(c0, c1), joined(c2, c3)};
  int64_t last = static_cast<int64_t>(words.size()) - 1;
  Value word = arith::AndIOp::create(b, low(position), constant(i32, last)), result = words[0];
  for (int64_t i = 1; i <= last; ++i) {
    Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, word, constant(i32, i));
    result = arith::SelectOp::create(b, here, words[i], result);
  }
  return result;
}
