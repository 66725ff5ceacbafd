//===- PrimBase.td - Classes shared by the families of primitives -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_BASE_TD
#define TCC_DIALECT_PRIM_BASE_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "tcc/Dialect/Prim/Traits.td"

def Prim_Dialect : Dialect {
  let name = "prim";
  let cppNamespace = "::tcc::prim";
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let summary = "The closed set of typed, functional tensor operators";
  let description = [{
    Everything a model computes, in operators small enough that fusion, code
    generation, the reference interpreter and differentiation each handle the
    whole set. All operators are functional on ranked tensors; a dim that is not
    known at compile time is `?` in the type and an `index` value where an
    operator makes it. Nothing broadcasts implicitly: `prim.broadcast` does.

    Signless integers are signed; `ui8` and the like are unsigned; `i1` is bool.
    Integers wrap at their width. Floats narrower than f32 are computed in f32 or
    better and rounded to nearest even; where a result is beyond the largest
    finite value it is infinite, or NaN in a type without infinity, or the
    largest value in f4E2M1FN, which has neither. The running definition of every
    operator is the reference interpreter (lib/Reference).
  }];
}

// `source` is the specification that an operator follows; where it follows none, "own: " and why
// there is one.
class Prim_Op<string mnemonic, string source, list<Trait> traits = []> : Op<Prim_Dialect, mnemonic, traits> {
  string follows = source;
}

// Element-type groups.
def Prim_FloatTensor : RankedTensorOf<[AnyFloat]>;
def Prim_FieldTensor : RankedTensorOf<[AnyFloat, AnyComplex]>;
def Prim_RealTensor : RankedTensorOf<[AnyFloat, AnyInteger]>;
def Prim_NumberTensor : RankedTensorOf<[AnyFloat, AnyInteger, AnyComplex]>;
def Prim_ComplexTensor : RankedTensorOf<[AnyComplex]>;
def Prim_IntTensor : RankedTensorOf<[AnyInteger]>;
def Prim_BoolTensor : RankedTensorOf<[I1]>;
def Prim_IndexTensor : RankedTensorOf<[I32, I64]>;
#endif
