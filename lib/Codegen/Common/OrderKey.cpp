//===- OrderKey.cpp - Elements as integers in their order -----------------===//
#include "tcc/Codegen/Common/OrderKey.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Dialect/Prim/Signedness.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

bool tcc::codegen::hasWideKeys(Type e) { return computeType(e).getIntOrFloatBitWidth() > kKeyBits; }

Type IntegerLanes::of(unsigned bits) {
  Type type = f.b.getIntegerType(bits);
  return f.e.lanes() > 1 ? Type(VectorType::get({f.e.lanes()}, type)) : type;
}

Value IntegerLanes::constant(int64_t v, unsigned bits) {
  Value one = arith::ConstantOp::create(f.b, f.b.getIntegerAttr(f.b.getIntegerType(bits), v));
  return f.e.lanes() > 1 ? f.e.splat(one, f.e.lanes()) : one;
}

Value tcc::codegen::orderKey(LaunchFrame &f, Value v, Type e, bool descending) {
  IntegerLanes lanes{f};
  unsigned width = hasWideKeys(e) ? 2 * kKeyBits : kKeyBits;
  Value key, signBit = lanes.constant(static_cast<int64_t>(uint64_t(1) << (width - 1)), width);
  if (isa<FloatType>(e)) {
    Value bits = arith::BitcastOp::create(f.b, lanes.of(width), v);
    Value zero = arith::ConstantOp::create(f.b, cast<TypedAttr>(f.b.getZeroAttr(v.getType())));
    auto compare = [&](arith::CmpFPredicate p, Value x, Value y) {
      return arith::CmpFOp::create(f.b, p, x, y);
    };
    bits = arith::SelectOp::create(f.b, compare(arith::CmpFPredicate::OEQ, v, zero),
                                   lanes.constant(0, width), bits);
    Value sign = arith::ShRSIOp::create(f.b, bits, lanes.constant(width - 1, width));
    key = arith::XOrIOp::create(f.b, bits, arith::OrIOp::create(f.b, sign, signBit));
    key = arith::SelectOp::create(f.b, compare(arith::CmpFPredicate::UNO, v, v),
                                  lanes.constant(-1, width), key);
  } else {
    bool isUnsigned = prim::isUnsigned(e), narrow = v.getType() != lanes.of(width);
    key = !narrow      ? v
          : isUnsigned ? Value(arith::ExtUIOp::create(f.b, lanes.of(width), v))
                       : Value(arith::ExtSIOp::create(f.b, lanes.of(width), v));
    if (!isUnsigned)
      key = arith::XOrIOp::create(f.b, key, signBit);
  }
  return descending ? Value(arith::XOrIOp::create(f.b, key, lanes.constant(-1, width))) : key;
}
