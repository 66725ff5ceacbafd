//===- PrimOps.td - All families of primitives -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_PRIMOPS_TD
#define TCC_DIALECT_PRIM_PRIMOPS_TD
include "tcc/Dialect/Prim/LayoutAttrs.td"
include "tcc/Dialect/Prim/ElementwiseOps.td"
include "tcc/Dialect/Prim/ShapeOps.td"
include "tcc/Dialect/Prim/IndexingOps.td"
include "tcc/Dialect/Prim/ReductionOps.td"
include "tcc/Dialect/Prim/ContractionOps.td"
include "tcc/Dialect/Prim/MatrixOps.td"
include "tcc/Dialect/Prim/ControlOps.td"
#endif
