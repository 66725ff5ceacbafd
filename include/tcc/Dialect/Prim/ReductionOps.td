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

def Prim_ReduceOp : Prim_Op<"reduce", "StableHLO reduce, by name instead of a body", [Pure, Prim_Reduction]> {
  let summary = "x reduced over `axes`, which vanish";
  let description = [{
    16-bit floats accumulate in f32. max and min give NaN if any element is NaN.
    any and all take bool, max and min real numbers; the result has x's element type.
    Over nothing: 0, 1, -inf or the lowest, inf or the highest, false, true.
  }];
  let arguments = (ins Prim_ReduceKindAttr:$kind, AnyRankedTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x $axes attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_ArgReduceOp : Prim_Op<"arg_reduce", "ONNX ArgMax and ArgMin", [Pure]> {
  let summary = "index of the largest (kind max) or smallest (min) element along `axis`, which vanishes";
  let description = "The first of equals, or the last with `last`; NaN counts as extreme. The axis must have elements.";
  let arguments = (ins Prim_ReduceKindAttr:$kind, AnyRankedTensor:$x, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$last);
  let results = (outs Prim_IndexTensor:$result);
  let assemblyFormat = "$kind $x $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_CumulativeOp : Prim_Op<"cumulative", "ONNX CumSum, of any reduction", [Pure]> {
  let summary = "running reduction along `axis`: the result at i is that of elements 0 to i";
  let description = [{
    `exclusive` leaves out element i (the first is then the reduction of nothing); `reverse` runs
    from the last element to the first. 16-bit floats accumulate in f32.
  }];
  let hasVerifier = 1;
  let arguments = (ins Prim_ReduceKindAttr:$kind, AnyRankedTensor:$x, I64Attr:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$exclusive, DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x $axis attr-dict `:` functional-type(operands, results)";
}
def Prim_PoolOp : Prim_Op<"pool", "StableHLO reduce_window, by name instead of a body", [Pure, Prim_Reduction]> {
  let summary = "x reduced over sliding windows of its trailing spatial axes";
  let description = [{
    x is [N, C, spatial...], or [N, spatial..., C] when `channels_last`. Window o of a spatial axis
    is the points o * stride - low + k * dilation; those outside x do not count, and a window with
    none inside gives the reduction of nothing. The result extent is the type's, or given by `sizes`
    where that is `?`: (extent + low + high - (window - 1) * dilation - 1) / stride + 1, the quotient
    rounded up where the model says so (ONNX ceil_mode).
  }];
  let arguments = (ins Prim_ReduceKindAttr:$kind, AnyRankedTensor:$x, Variadic<Index>:$sizes,
                       DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DefaultValuedAttr<BoolAttr, "false">:$channels_last);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $x `sizes` `(` $sizes `)` attr-dict `:` functional-type($x, results)";
  let hasVerifier = 1;
}
#endif
