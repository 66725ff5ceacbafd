//===- ElementalRandom.cpp - Philox4x32-10 --------------------------------===//
//
// Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3
// (SC 2011), as prim.random_bits says. A number is a function of its position, so that none depends
// on the width of vectors or on who computes the others. A point computes its block and takes a
// word; neighbours that begin with a block compute each block once, and take all of its words.
//
//===----------------------------------------------------------------------===//
#include "LikeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/Elemental.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// Words of blocks (i64, one or a vector), whose seed and offset are of the same shape.
class Philox {
public:
  Philox(ImplicitLocOpBuilder &b, Value block)
      : b(b), block(block), i32(likeType(b.getI32Type(), block)),
        i64(likeType(b.getI64Type(), block)) {}

  /// Four of 32 bits, or two of 64.
  SmallVector<Value> words(Value seed, Value offset, bool wide);
  Value constant(Type t, int64_t v) {
    return constantLike(b, b.getIntegerAttr(getElementTypeOrSelf(t), v), block);
  }
  Value low(Value v) { return arith::TruncIOp::create(b, i32, v); }

private:
  Value high(Value v) {
    return arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, v, constant(i64, 32)));
  }
  Value product(Value v, int64_t m) {
    return arith::MulIOp::create(b, Value(arith::ExtUIOp::create(b, i64, v)), constant(i64, m));
  }
  Value joined(Value low, Value high) {
    Value upper =
        arith::ShLIOp::create(b, Value(arith::ExtUIOp::create(b, i64, high)), constant(i64, 32));
    return arith::OrIOp::create(b, upper, Value(arith::ExtUIOp::create(b, i64, low)));
  }

  ImplicitLocOpBuilder &b;
  Value block;

public:
  Type i32, i64;
};

} // namespace

SmallVector<Value> Philox::words(Value seed, Value offset, bool wide) {
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
  if (wide)
    return {joined(c0, c1), joined(c2, c3)};
  return {c0, c1, c2, c3};
}

/// x[0], y[0], x[1], y[1], ..
static Value interleaved(ImplicitLocOpBuilder &b, Value x, Value y) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> mask;
  for (int64_t i = 0; i < lanes; ++i)
    mask.append({i, lanes + i});
  return vector::ShuffleOp::create(b, x, y, mask);
}

Value Elemental::evalRandom(prim::RandomBitsOp o, ArrayRef<Coord> at) {
  constexpr unsigned kFewestBlocks = 4;
  auto rt = cast<RankedTensorType>(o.getType());
  SmallVector<Value> extents;
  for (int64_t i = 0; i < rt.getRank(); ++i)
    extents.push_back(extent(o.getResult(), i));
  Coord position = linearIndex(extents, at);
  bool wide = rt.getElementType().isUnsignedInteger(64);
  int64_t last = wide ? 1 : 3, shift = wide ? 1 : 2;
  Value seed = scalar(o.getSeed()), offset = scalar(o.getOffset());

  auto alone = [&]() -> Value {
    Value linear = widen(coordValue(position), numLanes > 1);
    bool isVector = isa<VectorType>(linear.getType());
    Type i64 = likeType(b.getI64Type(), linear);
    Value number = arith::IndexCastOp::create(b, i64, linear);
    Value count = constantLike(b, b.getI64IntegerAttr(shift), linear);
    Philox philox(b, arith::ShRUIOp::create(b, number, count));
    SmallVector<Value> words = philox.words(widen(seed, isVector), widen(offset, isVector), wide);
    Value word = arith::AndIOp::create(b, philox.low(number), philox.constant(philox.i32, last));
    Value result = words[0];
    for (int64_t i = 1; i <= last; ++i) {
      Value here =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, word, philox.constant(philox.i32, i));
      result = arith::SelectOp::create(b, here, words[i], result);
    }
    return result;
  };
  unsigned blocks = numLanes >> shift;
  if (position.vector || position.step != 1 || blocks < kFewestBlocks ||
      blocks << shift != numLanes)
    return alone();

  Type i64 = b.getI64Type();
  Value first = arith::IndexCastOp::create(b, i64, position.base);
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(v));
  };
  Value within = arith::AndIOp::create(b, first, constant(last));
  Value begins = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, within, constant(0));
  auto branch =
      scf::IfOp::create(b, VectorType::get({int64_t(numLanes)}, b.getIntegerType(wide ? 64 : 32)),
                        begins, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  auto vector = VectorType::get({int64_t(blocks)}, i64);
  auto all = [&](Value v) -> Value { return vector::BroadcastOp::create(b, vector, v); };
  Value numbers = arith::ConstantOp::create(
      b, b.getI64VectorAttr(llvm::to_vector(llvm::seq<int64_t>(0, blocks))));
  Value block = arith::ShRUIOp::create(b, first, constant(shift));
  Philox philox(b, arith::AddIOp::create(b, all(block), numbers));
  SmallVector<Value> words = philox.words(all(seed), all(offset), wide);
  Value line =
      wide ? interleaved(b, words[0], words[1])
           : interleaved(b, interleaved(b, words[0], words[2]), interleaved(b, words[1], words[3]));
  scf::YieldOp::create(b, line);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, alone());
  return branch.getResult(0);
}
