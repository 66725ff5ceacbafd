//===- ControlOps.td - Control flow, randomness and run-time checks -*- tablegen -*-===//
#ifndef TCC_DIALECT_PRIM_CONTROLOPS_TD
#define TCC_DIALECT_PRIM_CONTROLOPS_TD
include "tcc/Dialect/Prim/PrimBase.td"

def Prim_YieldOp : Prim_Op<"yield", "MLIR scf.yield", [Pure, Terminator, ReturnLike, Prim_HostOperator]> {
  let summary = "ends a region with its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}
def Prim_IfOp : Prim_Op<"if", "StableHLO if", [RecursiveMemoryEffects, SingleBlock, NoRegionArguments, Prim_HostOperator]> {
  let summary = "one of two regions by a host condition; regions capture outer values";
  let arguments = (ins I1:$condition);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = "$condition $thenRegion `else` $elseRegion attr-dict `:` type($results)";
  let hasVerifier = 1;
}
def Prim_WhileOp : Prim_Op<"while", "StableHLO while", [RecursiveMemoryEffects, Prim_HostOperator]> {
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
def Prim_RandomSeedOp : Prim_Op<"random_seed", "own: a context has a seed", [Pure, Prim_HostOperator]> {
  let summary = "the seed of the context that runs";
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Prim_RandomDrawOp : Prim_Op<"random_draw", "own: a context counts draws", [MemoryEffects<[MemRead, MemWrite]>, Prim_HostOperator]> {
  let summary = "how often a generator of the context was drawn from before, now once more";
  let description = [{
    A context counts the draws of each of its generators over all its runs. Generator 0 serves every
    node that names no seed; each node with a seed of its own has one of the others, as many as
    `tcc.generators` of the module says. A run that fails leaves the counts as they were.
  }];
  let hasVerifier = 1;
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$generator);
  let results = (outs I64:$number);
  let assemblyFormat = "$generator attr-dict `:` type($number)";
}
def Prim_RandomBitsOp : Prim_Op<"random_bits", "StableHLO rng_bit_generator, Philox", [Pure, Prim_PointAccess, Prim_Costly, Prim_VeryCostly]> {
  let summary = "uniform random words of 32 or 64 bits from Philox4x32-10 (Salmon et al., SC 2011)";
  let description = [{
    The low and high half of `seed` are the key; a counter has the block in its lower two words and
    `offset` in its upper two, low half first. 32-bit word i of the sequence is word i mod 4 of block
    i / 4; element i of a result of 64 bits is words 2i (low) and 2i + 1. So an element depends on the
    seed, the offset and its position alone. `sizes` gives dims that are `?`.
  }];
  let hasVerifier = 1;
  let arguments = (ins I64:$seed, I64:$offset, Variadic<Index>:$sizes);
  let results = (outs RankedTensorOf<[UI32, UI64]>:$result);
  let assemblyFormat = "$seed `,` $offset `sizes` `(` $sizes `)` attr-dict `:` type($result)";
}
def Prim_AssertOp : Prim_Op<"assert", "ATen _assert_async", [Prim_HostOperator]> {
  let summary = "stops the run with an error message unless the host condition holds";
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}
#endif
