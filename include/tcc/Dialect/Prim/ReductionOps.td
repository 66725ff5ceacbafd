//===- ReductionOps.td - Reductions, scans and windows -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_REDUCTIONOPS_TD
#define TCC_DIALECT_PRIM_REDUCTIONOPS_TD
include "tcc/Dialect/Prim/PrimBase.td"

def Prim_ReduceKind : I32EnumAttr<"ReduceKind", "an associative operator", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>, I32EnumAttrCase<"max", 2>,
  I32EnumAttrCase<"min", 3>, I32EnumAttrCase<"any", 4>, I32EnumAttrCase<"all", 5>]> {
  let cppNamespace = "::tcc::prim";
  let genSpecializedAttr = 0;
}
def Prim_ReduceKindAttr : EnumAttr<Prim_Dialect, Prim_ReduceKind, "reduce_kind">;

def Prim_ReduceOp : Prim_Op<"reduce", [Pure]> {
  let summary = "x reduced over `axes`, which vanish";
  let description = [{
    16-bit floats accumulate in f32. max and min give NaN if any element is NaN.
    Over nothing: 0, 1, lowest or -inf, highest or inf, false, true.
  }];
  let arguments = (ins Prim_ReduceKindAttr:$kind, AnyRankedTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x $axes attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_ArgReduceOp : Prim_Op<"arg_reduce", [Pure]> {
  let summary = "index of the largest (kind max) or smallest (min) element along `axis`, which vanishes";
  let description = "The first of equals, or the last with `last`; NaN counts as extreme.";
  let arguments = (ins Prim_ReduceKindAttr:$kind, AnyRankedTensor:$x, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$last);
  let results = (outs Prim_IndexTensor:$result);
  let assemblyFormat = "$kind $x $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_CumulativeOp : Prim_Op<"cumulative", [Pure]> {
  let summary = "running sum, prod, max or min along `axis`";
  let arguments = (ins Prim_ReduceKindAttr:$kind, AnyRankedTensor:$x, I64Attr:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$exclusive, DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x $axis attr-dict `:` functional-type(operands, results)";
}
def Prim_PoolOp : Prim_Op<"pool", [Pure]> {
  let summary = "x reduced over sliding windows of its trailing spatial axes";
  let description = [{
    x is [N, C, spatial...], or [N, spatial..., C] when `channels_last`. Points outside x are
    neutral (they do not count). `low` and `high` pad each spatial axis; the result extent is
    (extent + low + high - (window - 1) * dilation - 1) / stride + 1, the quotient rounded up
    when `ceil_mode` (a window then starts inside x or its low padding); `sizes` gives result
    dims that are `?`.
  }];
  let arguments = (ins Prim_ReduceKindAttr:$kind, AnyRankedTensor:$x, Variadic<Index>:$sizes,
                       DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DefaultValuedAttr<BoolAttr, "false">:$channels_last);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x `sizes` `(` $sizes `)` attr-dict `:` functional-type($x, results)";
  let hasVerifier = 1;
}
#endif
