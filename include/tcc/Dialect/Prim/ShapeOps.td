//===- ShapeOps.td - Constants, views and other pure index maps -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_SHAPEOPS_TD
#define TCC_DIALECT_PRIM_SHAPEOPS_TD
include "tcc/Dialect/Prim/PrimBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Prim_ConstantOp : Prim_Op<"constant", "StableHLO constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>, Prim_ModelConstant, Prim_Generated]> {
  let summary = "a small or splat constant";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let extraClassDeclaration = "::mlir::ElementsAttr getElements();";
  let hasFolder = 1;
}
def Prim_WeightOp : Prim_Op<"weight", "own: data stays out of the IR", [Pure, Prim_HostOperator, Prim_ModelConstant]> {
  let summary = "a constant whose data is in the weight table";
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}
def Prim_IotaOp : Prim_Op<"iota", "StableHLO dynamic_iota", [Pure, Prim_Generated]> {
  let summary = "the index along `axis` at every point, converted as prim.cast converts i64";
  let description = "`sizes` gives the dims that are `?` in the result type, in order.";
  let arguments = (ins I64Attr:$axis, Variadic<Index>:$sizes);
  let results = (outs Prim_RealTensor:$result);
  let assemblyFormat = "$axis `sizes` `(` $sizes `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Prim_DimOp : Prim_Op<"dim", "StableHLO get_dimension_size", [Pure, Prim_HostOperator]> {
  let summary = "the extent of one axis";
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$x `,` $axis attr-dict `:` type($x)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Prim_FromElementsOp : Prim_Op<"from_elements", "MLIR tensor.from_elements", [Pure, Prim_Generated]> {
  let summary = "a small static tensor of host scalars (index, integer or float), row-major";
  let description = [{
    Where shape arithmetic becomes a tensor. An `index` element is converted to
    the result's element type, as prim.cast converts i64; a value of another type likewise.
  }];
  let arguments = (ins Variadic<AnyType>:$elements);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$elements attr-dict `:` functional-type($elements, results)";
  let hasVerifier = 1;
}
def Prim_ExtractOp : Prim_Op<"extract", "MLIR tensor.extract", [Pure, Prim_HostOperator]> {
  let summary = "one element of a tensor as a host scalar, at row-major `position`";
  let description = [{
    The element is converted to the scalar's type as prim.cast does: an integer may be taken as
    `index`, bool as i1. A position past the end stops the run.
  }];
  let hasVerifier = 1;
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$position);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$x `[` $position `]` attr-dict `:` functional-type($x, results)";
}
def Prim_ReshapeOp : Prim_Op<"reshape", "StableHLO dynamic_reshape", [Pure, Prim_View, Prim_StridedView, Prim_Rearrangement]> {
  let summary = "the same elements in row-major order under another shape";
  let description = "`sizes` gives the dims that are `?` in the result type, in order.";
  let arguments = (ins AnyRankedTensor:$x, Variadic<Index>:$sizes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `sizes` `(` $sizes `)` attr-dict `:` functional-type($x, results)";
  let hasVerifier = 1;
}
def Prim_TransposeOp : Prim_Op<"transpose", "StableHLO transpose", [Pure, Prim_View, Prim_StridedView, Prim_Rearrangement]> {
  let summary = "axes permuted: result axis i is x axis permutation[i]";
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x $permutation attr-dict `:` functional-type($x, results)";
  let hasVerifier = 1;
}
def Prim_BroadcastOp : Prim_Op<"broadcast", "StableHLO dynamic_broadcast_in_dim", [Pure, Prim_View, Prim_Rearrangement]> {
  let summary = "x repeated along new and unit axes";
  let description = [{
    x axis i is result axis `axes[i]` (increasing); its extent is 1 or that of
    the result, which for `?` is decided at run time. `sizes` gives the dims
    that are `?` in the result type, in order.
  }];
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$axes, Variadic<Index>:$sizes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `axes` $axes `sizes` `(` $sizes `)` attr-dict `:` functional-type($x, results)";
  let hasVerifier = 1;
}
def Prim_SliceOp : Prim_Op<"slice", "ONNX Slice", [Pure, AttrSizedOperandSegments, Prim_View, Prim_StridedView, Prim_Rearrangement]> {
  let summary = "result[i] = x[start + i * step] on every axis";
  let description = [{
    `starts` (static_starts where not dynamic) are in range and steps are not
    zero (negative steps walk back); every element taken lies in x. `sizes` gives
    the result dims that are `?`.
    A start of INT64_MIN in `static_starts` takes the next of `starts`.
  }];
  let arguments = (ins AnyRankedTensor:$x, Variadic<Index>:$starts, Variadic<Index>:$sizes,
                       DenseI64ArrayAttr:$static_starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `starts` $static_starts `(` $starts `)` `steps` $steps `sizes` `(` $sizes `)` attr-dict `:` functional-type($x, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::OpFoldResult> getMixedStarts();";
}
def Prim_PadOp : Prim_Op<"pad", "StableHLO dynamic_pad", [Pure, AttrSizedOperandSegments, Prim_Rearrangement, Prim_PointAccess]> {
  let summary = "x inside a border of the rank-0 tensor `value`";
  let description = [{
    `low` elements before, the rest after; `interior` elements between
    neighbours. `low` may be negative (crops); what does not fit the result falls
    away. `lows` gives the entries of
    `static_low` that are INT64_MIN, `sizes` the result dims that are `?`.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$value, Variadic<Index>:$lows, Variadic<Index>:$sizes,
                       DenseI64ArrayAttr:$static_low, DenseI64ArrayAttr:$interior);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $value `low` $static_low `(` $lows `)` `interior` $interior `sizes` `(` $sizes `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = "::llvm::SmallVector<::mlir::OpFoldResult> getMixedLow();";
}
def Prim_ConcatOp : Prim_Op<"concat", "StableHLO concatenate", [Pure, Prim_Rearrangement, Prim_PointAccess, Prim_Costly]> {
  let summary = "operands one after the other along `axis`";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type($inputs, results)";
  let hasVerifier = 1;
}
def Prim_ReverseOp : Prim_Op<"reverse", "StableHLO reverse", [Pure, Prim_View, Prim_Rearrangement]> {
  let summary = "x with the given axes reversed";
  let arguments = (ins AnyRankedTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$x $axes attr-dict `:` functional-type($x, results)";
}
#endif
