//===- LayoutAttrs.td - Layouts that every target may use -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_LAYOUTATTRS_TD
#define TCC_DIALECT_PRIM_LAYOUTATTRS_TD
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "tcc/Dialect/Prim/PrimBase.td"
include "tcc/Dialect/Prim/StorageLayout.td"

def Prim_AxisOrderAttr : AttrDef<Prim_Dialect, "AxisOrder", [DeclareAttrInterfaceMethods<Prim_StorageLayout>,
                                                             DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "axis_order";
  let summary = "dense, the axes from the outermost to the innermost in another order";
  let description = [{
    What reads a tensor point by point reads this one as well.

        tensor<64x32x3x3xf32, #prim.axis_order<[0, 2, 3, 1]>>    // 64x3x3x32
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order);
  let assemblyFormat = "`<` `[` $order `]` `>`";
}
#endif
