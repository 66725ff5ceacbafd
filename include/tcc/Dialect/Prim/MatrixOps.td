//===- MatrixOps.td - Factors of matrices -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_MATRIXOPS_TD
#define TCC_DIALECT_PRIM_MATRIXOPS_TD
include "tcc/Dialect/Prim/PrimBase.td"

// Matrices are the last two axes; the axes before them are batches, the same of all operands.
def Prim_MatrixTensor : RankedTensorOf<[F32, F64]>;

def Prim_LuOp : Prim_Op<"lu", "LAPACK getrf", [Pure, Prim_MatrixFactor]> {
  let summary = "P x = L U: `packed` is U on and above the diagonal and L, whose diagonal is 1, below it";
  let description = [{
    x is [.., n, m]. Step k exchanges row k with row `pivots`[.., k], the first of those from k on
    whose element in column k is largest; without `pivoting` none. `order`[.., i] is the row of x that
    became row i. Both are [.., n]; rows from m on keep their places. A pivot of 0 leaves zeros below it.
  }];
  let arguments = (ins Prim_MatrixTensor:$x, DefaultValuedAttr<BoolAttr, "true">:$pivoting);
  let results = (outs Prim_MatrixTensor:$packed, RankedTensorOf<[I64]>:$pivots, RankedTensorOf<[I64]>:$order);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_CholeskyOp : Prim_Op<"cholesky", "StableHLO cholesky", [Pure, Prim_MatrixFactor]> {
  let summary = "L, lower triangular, with L L^T = x, of which the lower triangle is read";
  let description = "From the first column on that shows that x is not positive definite, the diagonal is not above 0: 0 or NaN.";
  let arguments = (ins Prim_MatrixTensor:$x);
  let results = (outs Prim_MatrixTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_TriangularSolveOp : Prim_Op<"triangular_solve", "StableHLO triangular_solve", [Pure, Prim_MatrixFactor]> {
  let summary = "X with T X = rhs, T the `upper` or the lower triangle of t, whose diagonal is taken as 1 if it is `unit`";
  let description = "t is [.., n, n], rhs and the result [.., n, m]. The other triangle is not read.";
  let arguments = (ins Prim_MatrixTensor:$t, Prim_MatrixTensor:$rhs, BoolAttr:$upper, BoolAttr:$unit);
  let results = (outs Prim_MatrixTensor:$result);
  let assemblyFormat = "$t `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_QrOp : Prim_Op<"qr", "LAPACK geqrf", [Pure, Prim_MatrixFactor]> {
  let summary = "x = Q R by reflections: `packed` is R on and above the diagonal, below it the reflections";
  let description = [{
    x is [.., n, m], Q = H_0 H_1 .., H_k = 1 - tau[.., k] v v^T, where v is 0 before row k, 1 there, and
    column k of `packed` below. `tau` is [.., n]; it is 0 where there is nothing to reflect.
  }];
  let arguments = (ins Prim_MatrixTensor:$x);
  let results = (outs Prim_MatrixTensor:$packed, Prim_MatrixTensor:$tau);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_ReflectOp : Prim_Op<"reflect", "LAPACK ormqr", [Pure, Prim_MatrixFactor]> {
  let summary = "H_0 H_1 .. y, of reflections as prim.qr gives them";
  let description = [{
    `packed` is [.., n, m], `tau` [.., k], y and the result [.., n, c]; there are min(m, k) reflections.
  }];
  let arguments = (ins Prim_MatrixTensor:$packed, Prim_MatrixTensor:$tau, Prim_MatrixTensor:$y);
  let results = (outs Prim_MatrixTensor:$result);
  let assemblyFormat = "$packed `,` $tau `,` $y attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_DoubleTensor : RankedTensorOf<[F64]>;
def Prim_SymmetricEigenOp : Prim_Op<"symmetric_eigen", "LAPACK syev", [Pure, Prim_MatrixFactor]> {
  let summary = "x = V^T diag(values) V, where values ascend and row i of V = `rows` is the vector of value i";
  let description = [{
    x is [.., n, n] and symmetric, `values` [.., n]. Without `vectors`, `rows` is room for computing, as
    `room` [.., n, 8] always is. The sign of a vector, and a basis of those of equal values, are any. All
    results are NaN where x has an element that is not finite.
  }];
  let arguments = (ins Prim_DoubleTensor:$x, BoolAttr:$vectors);
  let results = (outs Prim_DoubleTensor:$rows, Prim_DoubleTensor:$values, Prim_DoubleTensor:$room);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_SvdOp : Prim_Op<"svd", "LAPACK gesvd", [Pure, Prim_MatrixFactor]> {
  let summary = "x = left^T diag(values) right, where values descend and rows of `left` and `right` are orthonormal";
  let description = [{
    x is [.., n, m], with m at most n; `left` [.., m, n], `values` [.., m], `right` [.., m, m]. Without
    `vectors`, `left` and `right` are anything; `packed`, as x, and `room` [.., n, 8] are room for
    computing. Signs, and a basis of the vectors of equal values, are any. All results are NaN where x
    has an element that is not finite.
  }];
  let arguments = (ins Prim_DoubleTensor:$x, BoolAttr:$vectors);
  let results = (outs Prim_DoubleTensor:$packed, Prim_DoubleTensor:$left, Prim_DoubleTensor:$values,
                      Prim_DoubleTensor:$right, Prim_DoubleTensor:$room);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
#endif
