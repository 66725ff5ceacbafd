//===- ContractionOps.td - Sums of products -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_CONTRACTIONOPS_TD
#define TCC_DIALECT_PRIM_CONTRACTIONOPS_TD
include "tcc/Dialect/Prim/PrimBase.td"

def Prim_DotOp : Prim_Op<"dot", "StableHLO dot_general", [Pure, Prim_Contraction, Prim_MatrixProduct]> {
  let summary = "generalised matrix product";
  let description = [{
    The result is batch axes, free axes of lhs, free axes of rhs, each in order (StableHLO
    dot_general). The sum is kept in the result's element type, or in f32 when that is narrower;
    i8 and ui8 operands, in any mixture, give i32. Operands of narrow floats may give f32. An i8
    or ui8 rhs beside a lhs of floats is widened to its type.
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `contract` $lhs_contract `x` $rhs_contract attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_ConvOp : Prim_Op<"conv", "StableHLO dynamic_conv", [Pure, Prim_Contraction, Prim_Convolution]> {
  let summary = "convolution (cross-correlation) over any number of spatial axes";
  let description = [{
    x is [N, C, spatial...], w [O, C/groups, window...], result [N, O, spatial...]; with
    `channels_last` x is [N, spatial..., C], result [N, spatial..., O]. Points outside x are 0.
    `input_dilation` puts that many minus one zeros between neighbours of x (a transposed
    convolution). Result extent = ((extent - 1) * input_dilation + 1 + low + high -
    ((window - 1) * dilation + 1)) / stride + 1; `sizes` gives result dims that are `?`.
    i8 and ui8 operands give i32; each number of such an x counts less `zero`, and points outside of
    it are 0 all the same.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$w, Variadic<Index>:$sizes, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$input_dilation, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       I64Attr:$groups, DefaultValuedAttr<BoolAttr, "false">:$channels_last,
                       DefaultValuedAttr<I64Attr, "0">:$zero);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $w `sizes` `(` $sizes `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Prim_FftOp : Prim_Op<"fft", "StableHLO fft", [Pure]> {
  let summary = "discrete Fourier transform of complex x along `axis`: X[k] = sum of x[j] exp(-2 pi i j k / n)";
  let description = "`inverse`: with the other sign in the exponent, divided by n.";
  let hasVerifier = 1;
  let arguments = (ins RankedTensorOf<[AnyComplex]>:$x, I64Attr:$axis, BoolAttr:$inverse);
  let results = (outs RankedTensorOf<[AnyComplex]>:$result);
  let assemblyFormat = "$x `axis` $axis attr-dict `:` functional-type(operands, results)";
}
def Prim_FourierOp : Prim_Op<"fourier", "FFTW: transforms c2c, r2c and c2r", [Pure]> {
  let summary = "X[k] = sum of x[j] exp(-2 pi i j k / n) along `axis`, complex numbers as two parts";
  let description = [{
    From re and im to re and im: n complex elements. From re alone: x is real, of n elements; the
    result is all of X or its first n / 2 + 1 elements, from which the others follow. To re alone:
    x is the first n / 2 + 1 elements, from which the others follow, and X is real, of n.
    `inverse`: with the other sign in the exponent. Results are multiplied by `scale`. n is known.
  }];
  let arguments = (ins RankedTensorOf<[F32, F64]>:$re, Optional<RankedTensorOf<[F32, F64]>>:$im, I64Attr:$axis, BoolAttr:$inverse,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Variadic<RankedTensorOf<[F32, F64]>>:$parts);
  let assemblyFormat = "$re (`,` $im^)? `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool fromReal() { return !getIm(); }
    bool toReal() { return getParts().size() == 1; }
    /// n: the elements of a line, whatever of them is there.
    int64_t getLength();
  }];
}
#endif
