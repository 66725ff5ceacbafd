//===- ElementwiseOps.td - One value a point -*- tablegen -*-===//
//
// One value a point, from operands of one shape. Fusion, code generation and the interpreter know
// these as one kind, so an operator here costs a line in each of them.
//
//===----------------------------------------------------------------------===//
#ifndef TCC_DIALECT_PRIM_ELEMENTWISEOPS_TD
#define TCC_DIALECT_PRIM_ELEMENTWISEOPS_TD
include "tcc/Dialect/Prim/PrimBase.td"

// All operands and the result have one shape; dims that are `?` are equal at run time.
class Prim_Elementwise<string mnemonic, string source, list<Trait> traits = []>
    : Prim_Op<mnemonic, source, !listconcat([Pure, Elementwise, SameOperandsAndResultShape], traits)>;

class Prim_Unary<string mnemonic, string source, Type constraint, string what, list<Trait> traits = []>
    : Prim_Elementwise<mnemonic, source, !listconcat([SameOperandsAndResultElementType], traits)> {
  let summary = what;
  let arguments = (ins constraint:$x);
  let results = (outs constraint:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
class Prim_Binary<string mnemonic, string source, Type constraint, string what, list<Trait> traits = []>
    : Prim_Elementwise<mnemonic, source, !listconcat([SameOperandsAndResultElementType], traits)> {
  let summary = what;
  let arguments = (ins constraint:$lhs, constraint:$rhs);
  let results = (outs constraint:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}
class Prim_Predicate<string mnemonic, string source, string what> : Prim_Elementwise<mnemonic, source> {
  let summary = what;
  let arguments = (ins Prim_FloatTensor:$x);
  let results = (outs Prim_BoolTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Prim_ExpOp : Prim_Unary<"exp", "StableHLO exponential", Prim_FieldTensor, "e^x", [Prim_Costly, Prim_VeryCostly]>;
def Prim_Exp2Op : Prim_Unary<"exp2", "ATen exp2", Prim_FieldTensor, "2^x">;
def Prim_Expm1Op : Prim_Unary<"expm1", "StableHLO exponential_minus_one", Prim_FieldTensor, "e^x - 1 without cancellation near 0">;
def Prim_LogOp : Prim_Unary<"log", "StableHLO log", Prim_FieldTensor, "natural logarithm", [Prim_Costly, Prim_VeryCostly]>;
def Prim_Log2Op : Prim_Unary<"log2", "ATen log2", Prim_FieldTensor, "logarithm to base 2">;
def Prim_Log10Op : Prim_Unary<"log10", "ATen log10", Prim_FieldTensor, "logarithm to base 10">;
def Prim_Log1pOp : Prim_Unary<"log1p", "StableHLO log_plus_one", Prim_FieldTensor, "log(1 + x) without cancellation near 0">;
def Prim_SqrtOp : Prim_Unary<"sqrt", "StableHLO sqrt", Prim_FieldTensor, "square root", [Prim_Costly, Prim_RoundedOnce]>;
def Prim_RsqrtOp : Prim_Unary<"rsqrt", "StableHLO rsqrt", Prim_FieldTensor, "1 / sqrt(x)", [Prim_Costly]>;
def Prim_SinOp : Prim_Unary<"sin", "StableHLO sine", Prim_FieldTensor, "sine, x in radians", [Prim_Costly, Prim_VeryCostly]>;
def Prim_CosOp : Prim_Unary<"cos", "StableHLO cosine", Prim_FieldTensor, "cosine, x in radians", [Prim_Costly, Prim_VeryCostly]>;
def Prim_TanOp : Prim_Unary<"tan", "StableHLO tan", Prim_FieldTensor, "tangent, x in radians">;
def Prim_AsinOp : Prim_Unary<"asin", "ONNX Asin", Prim_FieldTensor, "arc sine">;
def Prim_AcosOp : Prim_Unary<"acos", "ONNX Acos", Prim_FieldTensor, "arc cosine">;
def Prim_AtanOp : Prim_Unary<"atan", "ONNX Atan", Prim_FieldTensor, "arc tangent">;
def Prim_SinhOp : Prim_Unary<"sinh", "ONNX Sinh", Prim_FieldTensor, "hyperbolic sine">;
def Prim_CoshOp : Prim_Unary<"cosh", "ONNX Cosh", Prim_FieldTensor, "hyperbolic cosine">;
def Prim_TanhOp : Prim_Unary<"tanh", "StableHLO tanh", Prim_FieldTensor, "hyperbolic tangent", [Prim_Costly, Prim_VeryCostly]>;
def Prim_AsinhOp : Prim_Unary<"asinh", "ONNX Asinh", Prim_FieldTensor, "inverse hyperbolic sine">;
def Prim_AcoshOp : Prim_Unary<"acosh", "ONNX Acosh", Prim_FieldTensor, "inverse hyperbolic cosine">;
def Prim_AtanhOp : Prim_Unary<"atanh", "ONNX Atanh", Prim_FieldTensor, "inverse hyperbolic tangent">;
def Prim_LogisticOp : Prim_Unary<"logistic", "StableHLO logistic", Prim_FieldTensor, "1 / (1 + e^-x)", [Prim_Costly, Prim_VeryCostly]>;
def Prim_ErfOp : Prim_Unary<"erf", "ONNX Erf", Prim_FloatTensor, "error function", [Prim_Costly, Prim_VeryCostly]>;
def Prim_ErfcOp : Prim_Unary<"erfc", "ATen erfc", Prim_FloatTensor, "1 - erf(x)">;
def Prim_ErfinvOp : Prim_Unary<"erfinv", "ATen erfinv", Prim_FloatTensor, "inverse of erf">;
def Prim_LgammaOp : Prim_Unary<"lgamma", "ATen lgamma", Prim_FloatTensor, "log |Gamma(x)|", [Prim_Costly]>;
def Prim_DigammaOp : Prim_Unary<"digamma", "ATen digamma", Prim_FloatTensor, "derivative of lgamma", [Prim_Costly]>;
def Prim_BesselI0Op : Prim_Unary<"bessel_i0", "ATen i0", Prim_FloatTensor, "modified Bessel function of the first kind, order 0">;
def Prim_BesselI1Op : Prim_Unary<"bessel_i1", "ATen special_i1", Prim_FloatTensor, "modified Bessel function of the first kind, order 1">;
def Prim_FloorOp : Prim_Unary<"floor", "StableHLO floor", Prim_FloatTensor, "largest integer not above x", [Prim_Exact]>;
def Prim_CeilOp : Prim_Unary<"ceil", "StableHLO ceil", Prim_FloatTensor, "smallest integer not below x", [Prim_Exact]>;
def Prim_RoundOp : Prim_Unary<"round", "StableHLO round_nearest_even", Prim_FloatTensor, "nearest integer, halves to even (IEEE 754 roundToIntegralTiesToEven)", [Prim_Exact]>;
def Prim_TruncOp : Prim_Unary<"trunc", "ATen trunc", Prim_FloatTensor, "integer part", [Prim_Exact]>;
def Prim_NegOp : Prim_Unary<"neg", "StableHLO negate", Prim_NumberTensor, "-x; bool stays", [Prim_Exact]>;
def Prim_AbsOp : Prim_Unary<"abs", "StableHLO abs", Prim_RealTensor, "|x|; the smallest integer wraps", [Prim_Exact]>;
def Prim_SignOp : Prim_Unary<"sign", "StableHLO sign", Prim_RealTensor, "-1, 0 or 1; NaN stays NaN, zeros keep their sign", [Prim_Exact]>;
def Prim_NotOp : Prim_Unary<"not", "StableHLO not", Prim_IntTensor, "bitwise complement; logical not on bool">;

def Prim_IsNanOp : Prim_Predicate<"is_nan", "ONNX IsNaN", "whether x is NaN">;
def Prim_IsInfOp : Prim_Predicate<"is_inf", "ONNX IsInf", "whether x is +inf or -inf">;
def Prim_IsFiniteOp : Prim_Predicate<"is_finite", "StableHLO is_finite", "whether x is neither NaN nor infinite">;

def Prim_AddOp : Prim_Binary<"add", "StableHLO add", Prim_NumberTensor, "sum; bool is or", [Commutative, Prim_RoundedOnce]>;
def Prim_SubOp : Prim_Binary<"sub", "StableHLO subtract", Prim_NumberTensor, "difference; bool is exclusive or", [Prim_RoundedOnce]>;
def Prim_MulOp : Prim_Binary<"mul", "StableHLO multiply", Prim_NumberTensor, "product; bool is and", [Commutative, Prim_RoundedOnce]>;
def Prim_DivOp : Prim_Binary<"div", "StableHLO divide", Prim_NumberTensor, "quotient; integers truncate towards zero, division by zero gives 0", [Prim_Costly, Prim_RoundedOnce]>;
def Prim_FloorDivOp : Prim_Binary<"floor_div", "ATen floor_divide", Prim_RealTensor, "floor(lhs / rhs), the quotient rounded first (to f32 in narrower floats); integer division by zero gives 0">;
def Prim_RemOp : Prim_Binary<"rem", "StableHLO remainder", Prim_RealTensor, "remainder with the sign of lhs (C fmod); integer remainder by zero gives 0", [Prim_Costly, Prim_Exact]>;
def Prim_ModOp : Prim_Binary<"mod", "ATen remainder", Prim_RealTensor, "remainder with the sign of rhs (Python %); integer remainder by zero gives 0", [Prim_Costly]>;
def Prim_PowOp : Prim_Binary<"pow", "StableHLO power", Prim_NumberTensor, "lhs to the power rhs; a negative integer exponent gives the truncated quotient, of 0 that is 0", [Prim_Costly, Prim_VeryCostly]>;
def Prim_GcdOp : Prim_Binary<"gcd", "ATen gcd", Prim_IntTensor, "greatest common divisor of |lhs| and |rhs|, of two zeros 0; the smallest integer wraps", [Commutative, Prim_Costly, Prim_VeryCostly, Prim_Exact]>;
def Prim_Atan2Op : Prim_Binary<"atan2", "StableHLO atan2", Prim_FloatTensor, "angle of the point (rhs, lhs)">;
def Prim_MaximumOp : Prim_Binary<"maximum", "StableHLO maximum", Prim_RealTensor, "larger value, NaN if either is NaN; which of two zeros is open", [Commutative, Prim_Exact]>;
def Prim_MinimumOp : Prim_Binary<"minimum", "StableHLO minimum", Prim_RealTensor, "smaller value, NaN if either is NaN; which of two zeros is open", [Commutative, Prim_Exact]>;
def Prim_FmaxOp : Prim_Binary<"fmax", "ATen fmax", Prim_FloatTensor, "larger value, the other one if one is NaN", [Commutative, Prim_Exact]>;
def Prim_FminOp : Prim_Binary<"fmin", "ATen fmin", Prim_FloatTensor, "smaller value, the other one if one is NaN", [Commutative, Prim_Exact]>;
def Prim_CopysignOp : Prim_Binary<"copysign", "ATen copysign", Prim_FloatTensor, "|lhs| with the sign of rhs", [Prim_Exact]>;
def Prim_NextafterOp : Prim_Binary<"nextafter", "ATen nextafter", Prim_FloatTensor, "next representable value after lhs towards rhs", [Prim_Exact]>;
def Prim_AndOp : Prim_Binary<"and", "StableHLO and", Prim_IntTensor, "bitwise and", [Commutative]>;
def Prim_OrOp : Prim_Binary<"or", "StableHLO or", Prim_IntTensor, "bitwise or", [Commutative]>;
def Prim_XorOp : Prim_Binary<"xor", "StableHLO xor", Prim_IntTensor, "bitwise exclusive or", [Commutative]>;
def Prim_ShiftLeftOp : Prim_Binary<"shift_left", "StableHLO shift_left", Prim_IntTensor, "lhs * 2^rhs; 0 when rhs, taken as unsigned, is not below the width">;
def Prim_ShiftRightOp : Prim_Binary<"shift_right", "StableHLO shift_right_arithmetic and shift_right_logical", Prim_IntTensor, "floor(lhs / 2^rhs), rhs taken as unsigned: arithmetic for signed, logical for unsigned types">;

def Prim_ComparePredicate : I32EnumAttr<"ComparePredicate", "how two values are compared", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::tcc::prim";
  let genSpecializedAttr = 0;
}
def Prim_ComparePredicateAttr : EnumAttr<Prim_Dialect, Prim_ComparePredicate, "pred">;

def Prim_CompareOp : Prim_Elementwise<"compare", "StableHLO compare"> {
  let summary = "lhs PREDICATE rhs; every comparison with NaN is false but `ne`; complex values have eq and ne only";
  let arguments = (ins Prim_ComparePredicateAttr:$predicate, Prim_NumberTensor:$lhs, Prim_NumberTensor:$rhs);
  let results = (outs Prim_BoolTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}
def Prim_SelectOp : Prim_Elementwise<"select", "StableHLO select", [Prim_Exact]> {
  let summary = "onTrue where the condition holds, else onFalse";
  let arguments = (ins Prim_BoolTensor:$condition, AnyRankedTensor:$onTrue, AnyRankedTensor:$onFalse);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$condition `,` $onTrue `,` $onFalse attr-dict `:` functional-type(operands, results)";
}
def Prim_CastOp : Prim_Elementwise<"cast", "ONNX Cast", [Prim_RoundedOnce]> {
  let summary = "the value in another element type";
  let description = [{
    Float to integer truncates towards zero; out of range is the nearest bound
    and NaN is 0. Integer to narrower integer wraps. To bool: x != 0. Complex to
    real takes the real part. Float to narrower float rounds to nearest even; to
    an f8 type, `saturate` clamps overflow and infinities to the largest finite
    value (ONNX Cast, attribute saturate). To f4E2M1FN always saturates and NaN
    becomes -0. To f8E8M0FNU: the nearest power of two to |x|, halves up; 0 gives
    the smallest, NaN and infinities NaN.
  }];
  let arguments = (ins AnyRankedTensor:$x, DefaultValuedAttr<BoolAttr, "true">:$saturate);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def Prim_BitcastOp : Prim_Elementwise<"bitcast", "StableHLO bitcast_convert", [Prim_Exact]> {
  let summary = "the same bits read as another element type of equal width (bool takes 8)";
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
class Prim_ComplexPart<string mnemonic, string source, string what>
    : Prim_Elementwise<mnemonic, source, [Prim_Exact]> {
  let summary = what;
  let arguments = (ins Prim_ComplexTensor:$x);
  let results = (outs Prim_FloatTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def Prim_RealOp : Prim_ComplexPart<"real", "StableHLO real", "real part of a complex value">;
def Prim_ImagOp : Prim_ComplexPart<"imag", "StableHLO imag", "imaginary part of a complex value">;
def Prim_ComplexOp : Prim_Elementwise<"complex", "StableHLO complex", [Prim_Exact]> {
  let summary = "complex value of a real and an imaginary part";
  let arguments = (ins Prim_FloatTensor:$re, Prim_FloatTensor:$im);
  let results = (outs Prim_ComplexTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$re `,` $im attr-dict `:` functional-type(operands, results)";
}
#endif
