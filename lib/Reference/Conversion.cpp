//===- Conversion.cpp - Casts, comparisons and complex parts -------------===//
//
// The elementwise operators whose result has another element type.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include <cstring>

namespace tcc::reference {

namespace {

llvm::Expected<Tensor> cast(prim::CastOp op, Operands operands) {
  const Tensor &x = operands[0];
  if (resultDType(op) == x.dtype())
    return x; // `saturate` is about other types
  llvm::Expected<Tensor> result = Tensor::allocate(resultDType(op), x.shape());
  if (!result)
    return result;
  withWide(x.dtype(), [&]<typename W>() {
    W run[kRun];
    for (int64_t first = 0; first < x.elements(); first += kRun) {
      int64_t length = std::min(kRun, x.elements() - first);
      widen(x.dtype(), at(x, first), length, run);
      narrow(result->dtype(), run, length, at(*result, first), op.getSaturate());
    }
  });
  return result;
}

/// The bits of `x` as elements of `type`, in the form a Tensor keeps them in.
llvm::Expected<Tensor> bitcast(prim::BitcastOp op, Operands operands) {
  const Tensor &x = operands[0];
  DType type = resultDType(op);
  if (bitWidth(type) != bitWidth(x.dtype()))
    return undefinedOn(x.dtype());
  return Tensor::fromPacked(type, x.shape(), x.packed());
}

template <typename W> bool compareValues(prim::ComparePredicate predicate, W a, W b) {
  using enum prim::ComparePredicate;
  if constexpr (std::is_same_v<W, Complex>) {
    return predicate == eq ? a == b : a != b;
  } else {
    switch (predicate) {
    case eq:
      return a == b;
    case ne:
      return a != b;
    case lt:
      return a < b;
    case le:
      return a <= b;
    case gt:
      return a > b;
    case ge:
      return a >= b;
    }
  }
  return false;
}

llvm::Expected<Tensor> compare(prim::CompareOp op, Operands operands) {
  const Tensor &lhs = operands[0], &rhs = operands[1];
  if (llvm::Error error = checkSameShapes(operands))
    return error;
  using enum prim::ComparePredicate;
  prim::ComparePredicate predicate = op.getPredicate();
  if (isComplex(lhs.dtype()) && predicate != eq && predicate != ne)
    return undefinedOn(lhs.dtype());
  llvm::Expected<Tensor> result = Tensor::allocate(DType::Bool, lhs.shape());
  if (!result)
    return result;
  withWide(lhs.dtype(), [&]<typename W>() {
    W a[kRun], b[kRun];
    for (int64_t first = 0; first < lhs.elements(); first += kRun) {
      int64_t length = std::min(kRun, lhs.elements() - first);
      widen(lhs.dtype(), at(lhs, first), length, a);
      widen(rhs.dtype(), at(rhs, first), length, b);
      for (int64_t i = 0; i < length; ++i)
        at(*result, first)[i] = compareValues(predicate, a[i], b[i]);
    }
  });
  return result;
}

llvm::Expected<Tensor> select(prim::SelectOp, Operands operands) {
  if (llvm::Error error = checkSameShapes(operands))
    return error;
  const Tensor &condition = operands[0], &onTrue = operands[1], &onFalse = operands[2];
  llvm::Expected<Tensor> result = Tensor::allocate(onTrue.dtype(), onTrue.shape());
  if (!result)
    return result;
  withBytes(elementBytes(onTrue.dtype()), [&]<typename T>() {
    const T *yes = onTrue.as<T>(), *no = onFalse.as<T>();
    T *to = result->mutableAs<T>();
    for (int64_t i = 0, e = onTrue.elements(); i < e; ++i)
      to[i] = condition.data()[i] ? yes[i] : no[i];
  });
  return result;
}

template <typename Op, bool imaginary> llvm::Expected<Tensor> complexPart(Op, Operands operands) {
  const Tensor &x = operands[0];
  if (!isComplex(x.dtype()))
    return undefinedOn(x.dtype());
  DType type = x.dtype() == DType::C64 ? DType::F32 : DType::F64;
  llvm::Expected<Tensor> result = Tensor::allocate(type, x.shape());
  if (!result)
    return result;
  withBytes(elementBytes(type), [&]<typename T>() {
    for (int64_t i = 0, e = x.elements(); i < e; ++i)
      result->mutableAs<T>()[i] = x.as<T>()[2 * i + imaginary];
  });
  return result;
}

llvm::Expected<Tensor> complexOf(prim::ComplexOp op, Operands operands) {
  if (llvm::Error error = checkSameShapes(operands))
    return error;
  const Tensor &re = operands[0], &im = operands[1];
  if (re.dtype() != DType::F32 && re.dtype() != DType::F64)
    return undefinedOn(re.dtype());
  DType type = re.dtype() == DType::F32 ? DType::C64 : DType::C128;
  llvm::Expected<Tensor> result = Tensor::allocate(type, re.shape());
  if (!result)
    return result;
  withBytes(elementBytes(re.dtype()), [&]<typename T>() {
    for (int64_t i = 0, e = re.elements(); i < e; ++i) {
      result->mutableAs<T>()[2 * i] = re.as<T>()[i];
      result->mutableAs<T>()[2 * i + 1] = im.as<T>()[i];
    }
  });
  return result;
}

} // namespace

void addConversions(Evaluators &all) {
  using namespace prim;
  all.add<CastOp, cast>();
  all.add<BitcastOp, bitcast>();
  all.add<CompareOp, compare>();
  all.add<SelectOp, select>();
  all.add<RealOp, complexPart<RealOp, false>>();
  all.add<ImagOp, complexPart<ImagOp, true>>();
  all.add<ComplexOp, complexOf>();
}

} // namespace tcc::reference
