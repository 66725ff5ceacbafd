//===- HostScalars.cpp - arith on host scalars, and prim.assert ----------===//
//
// Host code computes extents and conditions with arith and some math. A scalar is a rank-0
// Tensor of the type's DType (i64 for index); integers wrap at its width.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

namespace tcc::reference {

namespace {

using namespace mlir;

llvm::Expected<Tensor> scalar(Type type, int64_t value) {
  if (type.isIndex())
    return Tensor::ofIndex(value);
  std::optional<DType> dtype = prim::dtypeOf(type);
  if (!dtype || isFloat(*dtype) || isComplex(*dtype))
    return llvm::createStringError("computes on a type that is not a host scalar");
  return Tensor::ofIntegers(*dtype, {}, value);
}

llvm::Expected<Tensor> scalar(Type type, double value) {
  std::optional<DType> dtype = prim::dtypeOf(type);
  if (!dtype)
    return llvm::createStringError("computes on a type that is not a host scalar");
  return Tensor::ofReals(*dtype, {}, value);
}

llvm::Expected<Tensor> constant(arith::ConstantOp op, Operands) {
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue()))
    return scalar(op.getType(), op.getType().isInteger(1) ? integer.getValue().getZExtValue() != 0
                                                          : integer.getValue().getSExtValue());
  if (auto real = dyn_cast<FloatAttr>(op.getValue()))
    return scalar(op.getType(), real.getValueAsDouble());
  return llvm::createStringError("is not a constant host scalar");
}

template <typename Op, auto function>
llvm::Expected<Tensor> integerBinary(Op op, Operands operands) {
  return scalar(op.getType(),
                static_cast<int64_t>(function(operands[0].integer(0), operands[1].integer(0))));
}

/// Division by zero is the user's fault: an extent that the model divides by.
template <typename Op, auto function>
llvm::Expected<Tensor> integerDivision(Op op, Operands operands) {
  int64_t divisor = operands[1].integer(0);
  if (divisor == 0)
    return userError("division by zero");
  return integerBinary<Op, function>(op, operands);
}

template <typename Op, auto function> llvm::Expected<Tensor> realBinary(Op op, Operands operands) {
  return scalar(op.getType(), function(operands[0].real(0), operands[1].real(0)));
}

template <typename Op, auto function> llvm::Expected<Tensor> realUnary(Op op, Operands operands) {
  return scalar(op.getType(), function(operands[0].real(0)));
}

template <typename Op> llvm::Expected<Tensor> toInteger(Op op, Operands operands) {
  return scalar(op.getType(), operands[0].integer(0));
}

/// Rounded once; i1 is 0 or -1.
llvm::Expected<Tensor> signedToReal(arith::SIToFPOp op, Operands operands) {
  std::optional<DType> dtype = prim::dtypeOf(op.getType());
  if (!dtype)
    return llvm::createStringError("computes on a type that is not a host scalar");
  int64_t value = operands[0].integer(0);
  return Tensor::ofIntegers(*dtype, {}, operands[0].dtype() == DType::Bool ? -value : value);
}

template <typename Op> llvm::Expected<Tensor> toReal(Op op, Operands operands) {
  return scalar(op.getType(), operands[0].real(0));
}

/// `value` without the bits that its type does not have.
uint64_t unsignedValue(const Tensor &value) {
  unsigned width = value.dtype() == DType::Bool ? 1 : bitWidth(value.dtype());
  return static_cast<uint64_t>(value.integer(0)) & (~uint64_t(0) >> (64 - width));
}

template <typename Op> llvm::Expected<Tensor> zeroExtend(Op op, Operands operands) {
  return scalar(op.getType(), static_cast<int64_t>(unsignedValue(operands[0])));
}

llvm::Expected<Tensor> unsignedToReal(arith::UIToFPOp op, Operands operands) {
  return scalar(op.getType(), static_cast<double>(unsignedValue(operands[0])));
}

/// i1 extends to all ones.
llvm::Expected<Tensor> signExtend(arith::ExtSIOp op, Operands operands) {
  int64_t value = operands[0].integer(0);
  return scalar(op.getType(), operands[0].dtype() == DType::Bool ? -value : value);
}

llvm::Expected<Tensor> compareIntegers(arith::CmpIOp op, Operands operands) {
  int64_t a = operands[0].integer(0), b = operands[1].integer(0);
  uint64_t ua = unsignedValue(operands[0]), ub = unsignedValue(operands[1]);
  auto result = [&] {
    using enum arith::CmpIPredicate;
    switch (op.getPredicate()) {
    case eq:
      return a == b;
    case ne:
      return a != b;
    case slt:
      return a < b;
    case sle:
      return a <= b;
    case sgt:
      return a > b;
    case sge:
      return a >= b;
    case ult:
      return ua < ub;
    case ule:
      return ua <= ub;
    case ugt:
      return ua > ub;
    case uge:
      return ua >= ub;
    }
    return false;
  };
  return scalar(op.getType(), static_cast<int64_t>(result()));
}

llvm::Expected<Tensor> compareReals(arith::CmpFOp op, Operands operands) {
  llvm::APFloat a(operands[0].real(0)), b(operands[1].real(0));
  return scalar(op.getType(),
                static_cast<int64_t>(arith::applyCmpPredicate(op.getPredicate(), a, b)));
}

llvm::Expected<Tensor> select(arith::SelectOp op, Operands operands) {
  return operands[0].integer(0) != 0 ? operands[1] : operands[2];
}

llvm::Expected<Results> assertion(prim::AssertOp op, Operands operands) {
  if (operands[0].integer(0) == 0)
    return userError(printable(op.getMessage(), 1000));
  return Results();
}

int64_t quotient(int64_t a, int64_t b) { return b == -1 ? wrapSub<int64_t>(0, a) : a / b; }
int64_t remainder(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t floorQuotient(int64_t a, int64_t b) {
  return quotient(a, b) - (remainder(a, b) != 0 && (a < 0) != (b < 0));
}
int64_t ceilQuotient(int64_t a, int64_t b) {
  return quotient(a, b) + (remainder(a, b) != 0 && (a < 0) == (b < 0));
}
double nanMaximum(double a, double b) { return isNan(a) || a > b ? a : b; }
double nanMinimum(double a, double b) { return isNan(a) || a < b ? a : b; }

template <typename Op, auto function> void addInteger(Evaluators &all) {
  all.add<Op, integerBinary<Op, function>>();
}
template <typename Op, auto function> void addReal(Evaluators &all) {
  all.add<Op, realBinary<Op, function>>();
}

void addIntegers(Evaluators &all) {
  using namespace arith;
  using I = int64_t;
  addInteger<AddIOp, wrapAdd<I>>(all);
  addInteger<SubIOp, wrapSub<I>>(all);
  addInteger<MulIOp, wrapMul<I>>(all);
  addInteger<MaxSIOp, [](I a, I b) { return std::max(a, b); }>(all);
  addInteger<MinSIOp, [](I a, I b) { return std::min(a, b); }>(all);
  addInteger<AndIOp, [](I a, I b) { return a & b; }>(all);
  addInteger<OrIOp, [](I a, I b) { return a | b; }>(all);
  addInteger<XOrIOp, [](I a, I b) { return a ^ b; }>(all);
  all.add<DivSIOp, integerDivision<DivSIOp, quotient>>();
  all.add<FloorDivSIOp, integerDivision<FloorDivSIOp, floorQuotient>>();
  all.add<CeilDivSIOp, integerDivision<CeilDivSIOp, ceilQuotient>>();
  all.add<RemSIOp, integerDivision<RemSIOp, remainder>>();
  all.add<CmpIOp, compareIntegers>();
}

void addReals(Evaluators &all) {
  using namespace arith;
  addReal<AddFOp, [](double a, double b) { return a + b; }>(all);
  addReal<SubFOp, [](double a, double b) { return a - b; }>(all);
  addReal<MulFOp, [](double a, double b) { return a * b; }>(all);
  addReal<DivFOp, [](double a, double b) { return a / b; }>(all);
  addReal<MaximumFOp, nanMaximum>(all);
  addReal<MinimumFOp, nanMinimum>(all);
  all.add<NegFOp, realUnary<NegFOp, [](double x) { return -x; }>>();
  all.add<CmpFOp, compareReals>();
  all.add<math::FloorOp, realUnary<math::FloorOp, [](double x) { return std::floor(x); }>>();
  all.add<math::CeilOp, realUnary<math::CeilOp, [](double x) { return std::ceil(x); }>>();
}

void addConverters(Evaluators &all) {
  using namespace arith;
  all.add<IndexCastOp, toInteger<IndexCastOp>>();
  all.add<TruncIOp, toInteger<TruncIOp>>();
  all.add<FPToSIOp, toInteger<FPToSIOp>>();
  all.add<ExtSIOp, signExtend>();
  all.add<ExtUIOp, zeroExtend<ExtUIOp>>();
  all.add<IndexCastUIOp, zeroExtend<IndexCastUIOp>>();
  all.add<SIToFPOp, signedToReal>();
  all.add<UIToFPOp, unsignedToReal>();
  all.add<ExtFOp, toReal<ExtFOp>>();
  all.add<TruncFOp, toReal<TruncFOp>>();
}

} // namespace

void addHostScalars(Evaluators &all) {
  addIntegers(all);
  addReals(all);
  addConverters(all);
  all.add<arith::ConstantOp, constant>();
  all.add<arith::SelectOp, select>();
  all.add<prim::AssertOp, assertion>();
}

} // namespace tcc::reference
