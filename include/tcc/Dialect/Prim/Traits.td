//===- Traits.td - What passes ask of a primitive -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_TRAITS_TD
#define TCC_DIALECT_PRIM_TRAITS_TD
include "mlir/IR/OpBase.td"

// What several passes ask of an operator is said once, where it is defined. The C++ side of each
// is in Traits.h; `op->hasTrait<prim::View>()` and `prim::has<prim::View>(op)` ask.
class Prim_Trait<string name, string what> : NativeOpTrait<name> {
  let cppNamespace = "::tcc::prim";
  string summary = what;
}

// Where it runs.
def Prim_HostOperator : Prim_Trait<"HostOperator", "runs between kernels, in the host program">;

// Where its elements come from.
def Prim_ModelConstant : Prim_Trait<"ModelConstant", "a constant of the model, small or in the weight table">;
def Prim_Generated : Prim_Trait<"Generated", "each element follows from its index and host scalars">;
def Prim_View : Prim_Trait<"View", "each element is one of the operand's, which its index alone says">;
def Prim_StridedView : Prim_Trait<"StridedView", "a view that axes, split and permuted, and an offset describe">;
def Prim_Rearrangement : Prim_Trait<"Rearrangement", "a view, or one of several operands or with a border">;
def Prim_PointAccess : Prim_Trait<"PointAccess", "not elementwise, but any element can be had alone at the cost of a few">;
def Prim_UpdatesFirst : Prim_Trait<"UpdatesFirst", "the first operand with some elements changed: it may be done in place">;

// What is computed.
def Prim_Contraction : Prim_Trait<"Contraction", "sums of products of two operands">;
def Prim_MatrixProduct : Prim_Trait<"MatrixProduct", "a contraction over whole axes">;
def Prim_Convolution : Prim_Trait<"Convolution", "a contraction over windows">;
def Prim_MatrixFactor : Prim_Trait<"MatrixFactor", "factors of matrices, or what is solved with them: the last two axes">;
def Prim_Reduction : Prim_Trait<"Reduction", "each element combines many of the operand's">;

// What it costs, and how it rounds.
def Prim_Costly : Prim_Trait<"Costly", "computing an element again costs more than reading it">;
def Prim_VeryCostly : Prim_Trait<"VeryCostly", "costly enough that a row of it is kept between two loops">;
def Prim_Exact : Prim_Trait<"Exact", "each element is one that was there, or a whole number: nothing is rounded">;
def Prim_RoundedOnce : Prim_Trait<"RoundedOnce", "the exact result, rounded once">;
#endif
