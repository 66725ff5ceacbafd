//===- PrimBuilder.h - Makes prim ops with inferred types --------*- C++ -*-===//
//
// What decomposition rules are written in. Every method infers its result type,
// broadcasts where NumPy would, and folds: an operator on small constants is
// evaluated by the reference interpreter, and arithmetic on small integer (and
// float, and bool) tensors whose elements are known host scalars - extents among
// them - stays host arithmetic. A Shape → Gather → Mul → Concat → Reshape
// chain therefore never becomes tensors, and `prim.reshape` gets the extents as
// index values, static wherever they are.
//
// An extent ("Dim") is an OpFoldResult: an index attribute or an index value.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc {
class WeightTable;
struct Weight;

using Dim = mlir::OpFoldResult;
using Dims = llvm::SmallVector<Dim>;

class PrimBuilder {
public:
  PrimBuilder(mlir::OpBuilder &builder, mlir::Location loc, const WeightTable *weights = nullptr)
      : b(builder), loc(loc), weights(weights) {}

  mlir::OpBuilder &builder() { return b; }
  mlir::MLIRContext *context() { return b.getContext(); }
  mlir::Location location() const { return loc; }
  void setLocation(mlir::Location l) { loc = l; }

  //===-- Types ------------------------------------------------------------===//
  static mlir::RankedTensorType type(mlir::Value v);
  static mlir::Type elem(mlir::Value v) { return type(v).getElementType(); }
  static int64_t rank(mlir::Value v) { return type(v).getRank(); }
  /// Axis counted from the end when negative; asserts that it is in range.
  static int64_t axisOf(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

  //===-- Extents (host index arithmetic, folded) --------------------------===//
  Dim dim(int64_t value) { return b.getIndexAttr(value); }
  Dim dim(mlir::Value tensor, int64_t axis);
  Dims dims(mlir::Value tensor);
  static std::optional<int64_t> known(Dim d) { return mlir::getConstantIntValue(d); }
  Dim addDims(Dim a, Dim b);
  Dim subDims(Dim a, Dim b);
  Dim mulDims(Dim a, Dim b);
  Dim floorDivDims(Dim a, Dim b); ///< rounds towards -inf
  Dim ceilDivDims(Dim a, Dim b);
  Dim remDims(Dim a, Dim b);
  Dim minDims(Dim a, Dim b);
  Dim maxDims(Dim a, Dim b);
  Dim productOf(llvm::ArrayRef<Dim> dims);
  /// a where `condition` (an i1 attribute or value) holds, else b.
  Dim selectDims(Dim condition, Dim a, Dim b);
  Dim compareDims(mlir::arith::CmpIPredicate predicate, Dim a, Dim b);
  /// Logic on host conditions (i1 attributes or values).
  Dim andDims(Dim a, Dim b);
  Dim orDims(Dim a, Dim b);
  Dim notDim(Dim a);
  /// Whether an extent is surely not negative, as far as its arithmetic tells.
  static bool nonNegative(Dim d);
  mlir::Value indexValue(Dim d);
  /// Two extents that broadcast to one (NumPy): equal, or one of them 1.
  Dim broadcastDims(Dim a, Dim b);
  /// Whether no two known extents stand against that.
  static bool broadcastable(llvm::ArrayRef<Dim> x, llvm::ArrayRef<Dim> y);
  /// Whether two extents are surely equal.
  static bool same(Dim a, Dim b);
  /// Stops the run unless `condition` (i1) holds.
  void check(Dim condition, llvm::StringRef message);

  //===-- Constants and host tensors ---------------------------------------===//
  mlir::Value constant(mlir::ElementsAttr value);
  /// The one result of `op`, or the constant that it is where its operands are small
  /// constants; `op` is then gone.
  mlir::Value folded(mlir::Operation *op);
  /// Rank-0 constant of any number type.
  mlir::Value scalar(double value, mlir::Type elementType);
  mlir::Value ints(llvm::ArrayRef<int64_t> values); ///< rank-1 i64
  mlir::Value full(llvm::ArrayRef<Dim> dims, double value, mlir::Type elementType);
  mlir::Value full(llvm::ArrayRef<Dim> dims, mlir::Value scalar);
  /// A tensor of `elementType` made of host scalars, row-major.
  mlir::Value fromHost(llvm::ArrayRef<Dim> elements, llvm::ArrayRef<int64_t> shape,
                       mlir::Type elementType);
  /// The elements of a small tensor as host scalars if they are known without
  /// running anything: signed integers as index, bool as i1, floats as themselves.
  std::optional<Dims> hostElements(mlir::Value tensor);
  /// As above, reading the tensor at run time if need be (prim.extract). The
  /// tensor must have a static shape.
  Dims readElements(mlir::Value tensor);
  /// The constant that a small weight is, so that its elements are known.
  mlir::Value constant(const Weight &weight);
  /// All elements as constants, or nullopt; looks into weights of moderate size.
  std::optional<llvm::SmallVector<int64_t>> constantInts(mlir::Value tensor);
  std::optional<llvm::SmallVector<double>> constantFloats(mlir::Value tensor);
  mlir::Value iota(llvm::ArrayRef<Dim> dims, int64_t axis, mlir::Type elementType);

  //===-- Elementwise, with NumPy broadcasting -----------------------------===//
  template <typename Op> mlir::Value unary(mlir::Value x) {
    if (mlir::Value v = foldUnary(Op::getOperationName(), x))
      return v;
    return folded(Op::create(b, loc, type(x), x));
  }
  template <typename Op> mlir::Value predicate(mlir::Value x) {
    return folded(Op::create(b, loc, type(x).clone(b.getI1Type()), x));
  }
  template <typename Op> mlir::Value binary(mlir::Value x, mlir::Value y) {
    if (mlir::Value v = foldBinary(Op::getOperationName(), x, y))
      return v;
    broadcastTogether(x, y);
    if (elem(x) != elem(y))
      fault("operands differ in element type");
    return folded(Op::create(b, loc, refined(x, y), x, y));
  }
#define TCC_BINARY(NAME, OP)                                                                       \
  mlir::Value NAME(mlir::Value x, mlir::Value y) { return binary<prim::OP>(x, y); }                \
  mlir::Value NAME(mlir::Value x, double y) { return NAME(x, scalar(y, elem(x))); }
  TCC_BINARY(add, AddOp)
  TCC_BINARY(sub, SubOp)
  TCC_BINARY(mul, MulOp)
  TCC_BINARY(div, DivOp)
  TCC_BINARY(maximum, MaximumOp)
  TCC_BINARY(minimum, MinimumOp)
  TCC_BINARY(pow, PowOp)
#undef TCC_BINARY
#define TCC_UNARY(NAME, OP)                                                                        \
  mlir::Value NAME(mlir::Value x) { return unary<prim::OP>(x); }
  TCC_UNARY(neg, NegOp)
  TCC_UNARY(abs, AbsOp)
  TCC_UNARY(exp, ExpOp)
  TCC_UNARY(log, LogOp)
  TCC_UNARY(sqrt, SqrtOp)
  TCC_UNARY(rsqrt, RsqrtOp)
  TCC_UNARY(tanh, TanhOp)
  TCC_UNARY(logistic, LogisticOp)
  TCC_UNARY(logicalNot, NotOp)
#undef TCC_UNARY
  mlir::Value compare(prim::ComparePredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value compare(prim::ComparePredicate predicate, mlir::Value x, double y) {
    return compare(predicate, x, scalar(y, elem(x)));
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value cast(mlir::Value x, mlir::Type elementType, bool saturate = true);

  //===-- Shape ------------------------------------------------------------===//
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<Dim> dims);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// NumPy broadcast_to: axes align at the end.
  mlir::Value broadcastTo(mlir::Value x, llvm::ArrayRef<Dim> dims);
  /// x axis i becomes result axis axes[i].
  mlir::Value broadcastInDim(mlir::Value x, llvm::ArrayRef<Dim> dims, llvm::ArrayRef<int64_t> axes);
  void broadcastTogether(mlir::Value &x, mlir::Value &y);
  Dims broadcastShapes(llvm::ArrayRef<Dim> x, llvm::ArrayRef<Dim> y);
  mlir::Value unsqueeze(mlir::Value x, llvm::ArrayRef<int64_t> axes); ///< axes of the result
  mlir::Value squeeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<Dim> starts, llvm::ArrayRef<Dim> sizes,
                    llvm::ArrayRef<int64_t> steps);
  /// x[.., start : start + size, ..] on one axis.
  mlir::Value sliceAxis(mlir::Value x, int64_t axis, Dim start, Dim size, int64_t step = 1);
  mlir::Value pad(mlir::Value x, mlir::Value value, llvm::ArrayRef<Dim> low,
                  llvm::ArrayRef<Dim> high, llvm::ArrayRef<int64_t> interior = {});
  /// x with update written from `starts` on, every axis in steps of 1.
  mlir::Value insertSlice(mlir::Value x, mlir::Value update, llvm::ArrayRef<Dim> starts);
  mlir::Value concat(mlir::ValueRange inputs, int64_t axis);
  mlir::Value reverse(mlir::Value x, llvm::ArrayRef<int64_t> axes);

  //===-- Indexing ---------------------------------------------------------===//
  /// Adds the extent to negative indices.
  mlir::Value wrapIndices(mlir::Value indices, Dim extent);
  mlir::Value take(mlir::Value x, mlir::Value indices, int64_t axis);
  mlir::Value takeAlong(mlir::Value x, mlir::Value indices, int64_t axis);
  /// Indices of the elements that are not zero, [rank, count].
  mlir::Value nonzero(mlir::Value x);
  mlir::Value gatherNd(mlir::Value x, mlir::Value indices, int64_t batchDims);

  //===-- Reductions and contractions --------------------------------------===//
  mlir::Value reduce(prim::ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes,
                     bool keepDims);
  /// Where the largest or smallest element along `axis` is, as i64.
  mlir::Value argReduce(prim::ReduceKind kind, mlir::Value x, int64_t axis, bool keepDims,
                        bool last = false);
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepDims);
  mlir::Value softmax(mlir::Value x, int64_t axis);
  /// The result has `elementType`, or that of lhs.
  mlir::Value dot(mlir::Value lhs, mlir::Value rhs, llvm::ArrayRef<int64_t> lhsBatch,
                  llvm::ArrayRef<int64_t> rhsBatch, llvm::ArrayRef<int64_t> lhsContract,
                  llvm::ArrayRef<int64_t> rhsContract, mlir::Type elementType = {});
  /// numpy.matmul of operands of rank >= 1, broadcasting batch axes.
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, mlir::Type elementType = {});
  struct Window {
    llvm::SmallVector<int64_t> window, strides, dilations, inputDilation, low, high;
  };
  mlir::Value conv(mlir::Value x, mlir::Value w, const Window &window, int64_t groups,
                   mlir::Type elementType = {});
  /// `ceilMode` as in prim.pool.
  mlir::Value pool(prim::ReduceKind kind, mlir::Value x, const Window &window, bool ceilMode);

  //===-- Control flow -------------------------------------------------------===//
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  /// What `onTrue` builds where the condition holds, else what `onFalse` builds.
  /// Extents that differ become `?`; nullopt when ranks or element types do.
  std::optional<llvm::SmallVector<mlir::Value>> branch(Dim condition, Body onTrue, Body onFalse);

  /// A loop over carried values: `condition` gives a host i1 and `body` the next
  /// values, each from the current ones. Both may be built more than once, until
  /// the carried types hold for every turn; nullopt when there are none, or when
  /// `body` gives nothing.
  std::optional<llvm::SmallVector<mlir::Value>>
  loop(mlir::ValueRange inits, llvm::function_ref<Dim(mlir::ValueRange)> condition,
       llvm::function_ref<std::optional<llvm::SmallVector<mlir::Value>>(mlir::ValueRange)> body);

  /// The tensor type of `dims`, with `?` for what is not known.
  mlir::RankedTensorType typeOf(llvm::ArrayRef<Dim> dims, mlir::Type elementType);
  /// The values of the dims that are `?`, in order.
  llvm::SmallVector<mlir::Value> dynamicSizes(llvm::ArrayRef<Dim> dims);

  /// Records that operands do not fit together (shapes, element types). What is
  /// built then means nothing; decompose reports the node. The first one stays.
  void fault(const llvm::Twine &reason) {
    if (problem.empty())
      problem = reason.str();
  }
  std::string takeFault() { return std::exchange(problem, std::string()); }

private:
  mlir::Type refined(mlir::Value x, mlir::Value y);
  mlir::Value foldUnary(llvm::StringRef op, mlir::Value x);
  mlir::Value foldBinary(llvm::StringRef op, mlir::Value x, mlir::Value y);
  template <typename Op> Dim arith2(Dim a, Dim b);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const WeightTable *weights;
  std::string problem;
};

} // namespace tcc
