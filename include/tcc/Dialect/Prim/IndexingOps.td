//===- IndexingOps.td - Data-dependent reads and writes -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_INDEXINGOPS_TD
#define TCC_DIALECT_PRIM_INDEXINGOPS_TD
include "tcc/Dialect/Prim/PrimBase.td"

// Indices are i32 or i64 and not negative (decompose adds the extent to negative
// ones); one out of range is clamped into it, so that no input reads foreign
// memory. Writes out of range are dropped. Reading from an axis without elements
// has no meaning: who cannot rule it out asserts that there are some.

def Prim_TakeOp : Prim_Op<"take", "ONNX Gather", [Pure, Prim_PointAccess, Prim_Costly, Prim_VeryCostly]> {
  let summary = "slices of x along `axis`: x.shape[:axis] + indices.shape + x.shape[axis+1:] (numpy.take)";
  let arguments = (ins AnyRankedTensor:$x, Prim_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_TakeAlongOp : Prim_Op<"take_along", "ONNX GatherElements", [Pure, Prim_PointAccess, Prim_Costly]> {
  let summary = "result[p] = x[p with p[axis] = indices[p]] (numpy.take_along_axis, ONNX GatherElements)";
  let description = "On the other axes indices may be shorter than x.";
  let arguments = (ins AnyRankedTensor:$x, Prim_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_GatherNdOp : Prim_Op<"gather_nd", "ONNX GatherND", [Pure, Prim_PointAccess, Prim_Costly]> {
  let summary = "slices of x at index tuples (ONNX GatherND)";
  let description = [{
    indices has shape batch + outer + [k]; result batch + outer + x.shape[b+k:].
  }];
  let arguments = (ins AnyRankedTensor:$x, Prim_IndexTensor:$indices, I64Attr:$batch_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $indices `batch` $batch_dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_ScatterKind : I32EnumAttr<"ScatterKind", "what happens where an update lands", [
  I32EnumAttrCase<"assign", 0>, I32EnumAttrCase<"add", 1>, I32EnumAttrCase<"mul", 2>,
  I32EnumAttrCase<"max", 3>, I32EnumAttrCase<"min", 4>]> {
  let cppNamespace = "::tcc::prim";
  let genSpecializedAttr = 0;
}
def Prim_ScatterKindAttr : EnumAttr<Prim_Dialect, Prim_ScatterKind, "scatter_kind">;
def Prim_ScatterAlongOp : Prim_Op<"scatter_along", "ONNX ScatterElements", [Pure, Prim_UpdatesFirst, Prim_RoundedOnce]> {
  let summary = "x with result[p with p[axis] = indices[p]] updated by updates[p], in row-major order of p";
  let description = [{
    indices and updates have one shape, which on the other axes may be shorter than x. max and min
    give NaN if either is NaN.
  }];
  let arguments = (ins Prim_ScatterKindAttr:$kind, AnyRankedTensor:$x, Prim_IndexTensor:$indices, AnyRankedTensor:$updates, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x `,` $indices `,` $updates `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_ScatterNdOp : Prim_Op<"scatter_nd", "ONNX ScatterND", [Pure, Prim_UpdatesFirst, Prim_RoundedOnce]> {
  let summary = "x with slices at index tuples updated, in row-major order (ONNX ScatterND)";
  let description = "indices has shape outer + [k]; updates outer + x.shape[k:].";
  let arguments = (ins Prim_ScatterKindAttr:$kind, AnyRankedTensor:$x, Prim_IndexTensor:$indices, AnyRankedTensor:$updates);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x `,` $indices `,` $updates attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_ScatterRunsOp : Prim_Op<"scatter_runs", "CUB DeviceSegmentedReduce", [Pure, Prim_UpdatesFirst, Prim_RoundedOnce]> {
  let summary = "x with slice i of axis 0 updated by slices begins[i] to begins[i + 1] - 1 of updates, in order";
  let description = [{
    The last slice is updated by all that follow. A run that ends where it begins, or before, is empty;
    numbers past the end of updates stand for it.
  }];
  let arguments = (ins Prim_ScatterKindAttr:$kind, AnyRankedTensor:$x, Prim_IndexTensor:$begins, AnyRankedTensor:$updates);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x `,` $begins `,` $updates attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_InsertSliceOp : Prim_Op<"insert_slice", "MLIR tensor.insert_slice", [Pure, Prim_UpdatesFirst]> {
  let summary = "x with x[start + i * step] = update[i]; starts and steps as in prim.slice, all of update inside x";
  let hasVerifier = 1;
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$update, Variadic<Index>:$starts,
                       DenseI64ArrayAttr:$static_starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $update `starts` $static_starts `(` $starts `)` `steps` $steps attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::OpFoldResult> getMixedStarts();";
}
def Prim_NonzeroOp : Prim_Op<"nonzero", "ONNX NonZero", [Pure]> {
  let summary = "indices of the elements that are not zero (NaN is not), row-major: [rank, count]";
  let description = "`count` is how many there are, as kernels must know before they run.";
  let hasVerifier = 1;
  let arguments = (ins AnyRankedTensor:$x, Optional<Index>:$count);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$x (`count` $count^)? attr-dict `:` functional-type($x, results)";
}
def Prim_SortOp : Prim_Op<"sort", "ATen sort, stable", [Pure]> {
  let summary = "x sorted along `axis`, stable, NaN as the largest value; and where each element came from";
  let hasVerifier = 1;
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$axis, BoolAttr:$descending);
  let results = (outs AnyRankedTensor:$values, RankedTensorOf<[I64]>:$indices);
  let assemblyFormat = "$x `axis` $axis attr-dict `:` functional-type(operands, results)";
}
def Prim_KthOp : Prim_Op<"kth", "PyTorch kthvalue", [Pure]> {
  let summary = "the element of each line along the last axis that `k` others come before, and its place";
  let description = [{
    The one that a stable sort puts there: NaN is the largest value, and of equal elements the one with
    the lower index comes before. `k` is at least 0 and less than the extent. The last axis of the results has one
    element.
  }];
  let hasVerifier = 1;
  let arguments = (ins AnyRankedTensor:$x, Index:$k, BoolAttr:$descending);
  let results = (outs AnyRankedTensor:$values, RankedTensorOf<[I64]>:$indices);
  let assemblyFormat = "$x `k` $k attr-dict `:` functional-type(operands, results)";
}
def Prim_TopKOp : Prim_Op<"top_k", "ONNX TopK", [Pure]> {
  let summary = "the `k` largest (or smallest) elements along `axis`, in order; ties by lower index";
  let description = [{
    `k` is the extent of the result's axis, at most that of x; given as an operand when that is `?`.
    NaN is the largest value.
  }];
  let hasVerifier = 1;
  let arguments = (ins AnyRankedTensor:$x, Optional<Index>:$k, I64Attr:$axis, BoolAttr:$largest);
  let results = (outs AnyRankedTensor:$values, RankedTensorOf<[I64]>:$indices);
  let assemblyFormat = "$x (`k` $k^)? `axis` $axis attr-dict `:` functional-type(operands, results)";
}
#endif
