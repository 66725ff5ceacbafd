//===- ControlOps.td - Control flow, randomness and run-time checks -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_CONTROLOPS_TD
#define TCC_DIALECT_PRIM_CONTROLOPS_TD
include "tcc/Dialect/Prim/PrimBase.td"

def Prim_YieldOp : Prim_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region with its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}
def Prim_IfOp : Prim_Op<"if", [RecursiveMemoryEffects, SingleBlock, NoRegionArguments]> {
  let summary = "one of two regions by a host condition; regions capture outer values";
  let arguments = (ins I1:$condition);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = "$condition $thenRegion `else` $elseRegion attr-dict `:` type($results)";
  let hasVerifier = 1;
}
def Prim_WhileOp : Prim_Op<"while", [RecursiveMemoryEffects]> {
  let summary = "a loop over carried values";
  let description = [{
    The first region takes the carried values and yields an i1 (host scalar): go on or not. The second
    takes them and yields the next ones. Carried tensors may change `?` extents from one turn to the next.
  }];
  let arguments = (ins Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inits `)` $condition `do` $body attr-dict `:` functional-type($inits, $results)";
  let hasVerifier = 1;
}
def Prim_RandomBitsOp : Prim_Op<"random_bits", [Pure]> {
  let summary = "uniform random 32-bit words from Philox4x32-10 (Salmon et al., SC 2011)";
  let description = [{
    `seed` is a rank-0 i64 tensor whose low and high half are the key. Word i of the result is word
    i mod 4 of counter i / 4 (low half first, the upper two words 0). `sizes` gives dims that are `?`.
  }];
  let hasVerifier = 1;
  let arguments = (ins RankedTensorOf<[I64]>:$seed, Variadic<Index>:$sizes);
  let results = (outs RankedTensorOf<[UI32]>:$result);
  let assemblyFormat = "$seed `sizes` `(` $sizes `)` attr-dict `:` functional-type($seed, results)";
}
def Prim_AssertOp : Prim_Op<"assert", []> {
  let summary = "stops the run with an error message unless the host condition holds";
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}
#endif
