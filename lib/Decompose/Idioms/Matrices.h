//===- Matrices.h - Factors of matrices and what is made of them --*- C++ -*-===//
//
// Matrices are the last two axes of a tensor of f32 or f64, or of complex numbers
// of these; those before them are batches. Extents may be known at run time alone.
// LU, Cholesky, QR, triangular systems, eigenvalues of symmetric matrices and singular values are
// primitives, of complex matrices loops; eigenvalues without symmetry are loops of element
// operators over the whole batch.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc::matrices {

/// The extents before the last `last` ones.
Dims batchOf(PrimBuilder &b, mlir::Value x, int64_t last = 2);
/// [..] -> [.., 1].
mlir::Value spread(PrimBuilder &b, mlir::Value v);
/// [.., n] as a column, [.., n, 1].
mlir::Value asColumn(PrimBuilder &b, mlir::Value v);
/// x where `mask` holds, else 0.
mlir::Value where(PrimBuilder &b, mlir::Value mask, mlir::Value x);
/// x with its last two axes exchanged.
mlir::Value transposed(PrimBuilder &b, mlir::Value x);
/// The same, conjugated: x^H, x^T of real matrices.
mlir::Value adjoint(PrimBuilder &b, mlir::Value x);
/// f64, or the complex type of it.
mlir::Type inDoubles(mlir::Type elementType);
/// Index of the row (`fromEnd` = 2) or column (1) at each element of x's shape.
mlir::Value position(PrimBuilder &b, mlir::Value x, int64_t fromEnd);
/// column - row for each place of a matrix, in as few bits as lanes of a mask need not be widened
/// to.
mlir::Value distance(PrimBuilder &b, Dim rows, Dim columns);
/// n x n unit matrices for these batches.
mlir::Value identity(PrimBuilder &b, llvm::ArrayRef<Dim> batch, Dim n, mlir::Type elementType);
mlir::Value diagonal(PrimBuilder &b, mlir::Value x); ///< [.., min(n, m)]
mlir::Value lower(PrimBuilder &b, mlir::Value x, bool unit = false);
mlir::Value upper(PrimBuilder &b, mlir::Value x);
/// Batches of both broadcast to one shape.
void broadcastBatches(PrimBuilder &b, mlir::Value &x, mlir::Value &y);

/// What a loop carries, from what it carried and the turn's number (i64[]).
using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
/// Turns 0 .. count - 1; few known ones are written out.
llvm::SmallVector<mlir::Value> repeat(PrimBuilder &b, Dim count, mlir::ValueRange inits, Step step);

struct LU {
  mlir::Value packed; ///< L below the diagonal (which is 1), U on and above it
  mlir::Value order;  ///< i64 [.., n]: the row of the operand that became row i
  mlir::Value pivots; ///< i64 [.., min(n, m)]: the row that row i changed places with
  mlir::Value sign;   ///< [..]: the permutation's, 1 or -1
};
/// By elimination, with partial pivoting if asked for.
LU factorLU(PrimBuilder &b, mlir::Value x, bool pivoting = true);
/// The rows of x in the order that these pivots (from 0) make.
mlir::Value orderOf(PrimBuilder &b, mlir::Value pivots, Dim rows);
mlir::Value rowsInOrder(PrimBuilder &b, mlir::Value x, mlir::Value order);
mlir::Value determinant(PrimBuilder &b, const LU &lu);

/// T X = B for a triangle; only that triangle of `t` is read.
mlir::Value solveTriangular(PrimBuilder &b, mlir::Value t, mlir::Value rhs, bool isUpper,
                            bool unit);
mlir::Value solve(PrimBuilder &b, const LU &lu, mlir::Value rhs);
/// L with L L^H = x; NaN where x is not positive definite.
mlir::Value factorCholesky(PrimBuilder &b, mlir::Value x);

struct QR {
  mlir::Value q; ///< n x n, or n x min(n, m)
  mlir::Value r; ///< upper: as x, or min(n, m) x m
};
/// The reflections that make R of x: R with them below it, and tau [.., n].
struct Reflections {
  mlir::Value packed, tau;
};
Reflections reflectionsOf(PrimBuilder &b, mlir::Value x);
/// By reflections, with LAPACK's signs; all of Q only if it is to be `complete`.
QR factorQR(PrimBuilder &b, mlir::Value x, bool complete);

/// The first columns of H_0 H_1 ..: H_k = 1 - tau_k v v^H, with v the column k of `packed` below
/// the diagonal and 1 on it.
mlir::Value reflected(PrimBuilder &b, mlir::Value packed, mlir::Value tau, Dim columns);

struct Eigen {
  mlir::Value values;  ///< [.., n], ascending, real
  mlir::Value vectors; ///< columns
};
/// Of matrices that are their own adjoints, real ones in f64; `vectors` are null unless asked for.
Eigen eigenSymmetric(PrimBuilder &b, mlir::Value x, bool vectors);

struct GeneralEigen {
  mlir::Value values;  ///< [.., n], complex
  mlir::Value vectors; ///< columns of length 1; null unless asked for
  mlir::Value holds;   ///< [..]: whether they were found
};
/// Of any square matrices, real or complex, in f64; what is below `epsilon` beside its neighbours
/// has vanished.
GeneralEigen eigenGeneral(PrimBuilder &b, mlir::Value x, bool vectors, double epsilon);

struct SVD {
  mlir::Value u;      ///< columns, n x min(n, m), or n x n
  mlir::Value values; ///< [.., min(n, m)], descending, real
  mlir::Value v;      ///< columns, m x min(n, m), or m x m: x = U S V^H
};
/// Which vectors of singular values are asked for.
enum class Singular { Values, Vectors, AllVectors };
/// Of real matrices in f64, or complex ones; u and v are null where `Values` are asked for. Where
/// it is not known whether rows or columns are more, both ways are compiled.
SVD factorSVD(PrimBuilder &b, mlir::Value x, Singular asked);

/// What the primitives lu (packed, pivots, order), cholesky, triangular_solve, qr (packed, tau),
/// reflect, symmetric_eigen and svd give, by loops of element operators; also of complex numbers,
/// x^H in the place of x^T.
using Factors = llvm::SmallVector<mlir::Value>;
Factors luLoop(PrimBuilder &b, mlir::Value x, bool pivoting);
mlir::Value choleskyLoop(PrimBuilder &b, mlir::Value x);
mlir::Value triangularLoop(PrimBuilder &b, mlir::Value t, mlir::Value rhs, bool isUpper, bool unit);
Factors qrLoop(PrimBuilder &b, mlir::Value x);
mlir::Value reflectLoop(PrimBuilder &b, mlir::Value packed, mlir::Value tau, mlir::Value y);
Factors eigenLoop(PrimBuilder &b, mlir::Value x);
Factors svdLoop(PrimBuilder &b, mlir::Value x);

} // namespace tcc::matrices
