//===- HostOps.td - What a run does, step by step ----------*- tablegen -*-===//
//
// The program that a run follows, after plan: memory is taken, kernels are started, memory is
// given back. Nothing is implicit, so that code generation is one case an operator, and peak
// memory, reports and liveness are read off instead of computed again.
//
//===----------------------------------------------------------------------===//
#ifndef TCC_DIALECT_HOST_OPS_TD
#define TCC_DIALECT_HOST_OPS_TD
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tcc/Dialect/Kernel/OnHost.td"

def Host_Dialect : Dialect {
  let name = "host";
  let cppNamespace = "::tcc::host";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let summary = "What a run does: memory, copies, launches, reads and checks";
  let description = [{
    Given by the plan phase, translated one to one by code generation. A model is a
    `func.func` over memory: it takes the inputs and the state, and returns the outputs,
    and for each changed argument (`graph.mutates`) that argument. Its operators run in
    their order. Beside these are `host.kernel`s, the code that launches start, and
    arithmetic on extents (`arith`, `math`) and control flow (`scf`).

    A tensor in memory is a `memref` with its elements in row-major order, compact. Its
    memory space says where: none is the host's memory, `#host.space<device>` a device's,
    `#host.space<pinned>` the host's that a device reads and writes as well. Memory comes
    from the caller (arguments, outputs), from the blob of weights, from an arena, in which
    the plan gave each result an offset, or from the run's heap (`host.alloc`). Blocks of
    the heap belong to one value at a time: the value that is freed, or that a loop or a
    branch hands on.

    Launches, copies and reads are ordered in a `stream`. Within one, each starts when
    those before it are done; the host waits only in `host.read` and where the run ends.
    The CPU has one stream, 0, and is done with a launch when it returns.
  }];
}

//===----------------------------------------------------------------------===//
// Memory spaces and types
//===----------------------------------------------------------------------===//

def Host_MemorySpace : I32EnumAttr<"MemorySpace", "where memory lies", [
  I32EnumAttrCase<"host", 0>, I32EnumAttrCase<"pinned", 1>, I32EnumAttrCase<"device", 2>]> {
  let cppNamespace = "::tcc::host";
  let genSpecializedAttr = 0;
}
def Host_MemorySpaceAttr : EnumAttr<Host_Dialect, Host_MemorySpace, "space"> {
  let assemblyFormat = "`<` $value `>`";
}
def Host_SpaceParameter : EnumParameter<Host_MemorySpace> {
  let defaultValue = "::tcc::host::MemorySpace::host";
}
def Host_ArenaType : TypeDef<Host_Dialect, "Arena"> {
  let mnemonic = "arena";
  let summary = "memory that several tensors share; offsets and sizes count in its unit";
  let parameters = (ins Host_SpaceParameter:$space);
  let assemblyFormat = "(`<` $space^ `>`)?";
}

def Host_Memory : Type<And<[CPred<"::llvm::isa<::mlir::MemRefType>($_self)">,
                            CPred<"::tcc::host::isCompact(::llvm::cast<::mlir::MemRefType>($_self))">]>,
                       "compact tensor in memory", "::mlir::MemRefType">;
def Host_Block : AnyTypeOf<[Host_Memory, Host_ArenaType]>;
def Host_Scalar : Type<CPred<"$_self.isIntOrIndexOrFloat()">, "host scalar">;
def Host_Stream : DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">;

class Host_Op<string mnemonic, list<Trait> traits = []> : Op<Host_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Host_ArenaOp : Host_Op<"arena", [Pure]> {
  let summary = "the memory that a context keeps from run to run, of `bytes` bytes; its unit is a byte";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$bytes);
  let results = (outs Host_ArenaType:$arena);
  let assemblyFormat = "$bytes attr-dict `:` type($arena)";
}
def Host_AllocArenaOp : Host_Op<"alloc_arena"> {
  let summary = "memory of this run, of `units` times the product of `extents` bytes";
  let description = [{
    Its unit is as many bytes as that product: tensors whose unknown extents are these share it,
    whatever they are. To be freed.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$units, Variadic<Index>:$extents);
  let results = (outs Host_ArenaType:$arena);
  let assemblyFormat = "$units `times` `(` $extents `)` attr-dict `:` type($arena)";
  let hasVerifier = 1;
}
def Host_SliceOp : Host_Op<"slice", [Pure]> {
  let summary = "a tensor in an arena, `offset` of its units from the start";
  let arguments = (ins Host_ArenaType:$arena, ConfinedAttr<I64Attr, [IntNonNegative]>:$offset,
                       Variadic<Index>:$sizes);
  let results = (outs Host_Memory:$result);
  let assemblyFormat = "$arena `[` $offset `]` `sizes` `(` $sizes `)` attr-dict `:` type($arena) `->` type($result)";
  let hasVerifier = 1;
}
def Host_AllocOp : Host_Op<"alloc"> {
  let summary = "a block of the run's heap for one tensor; `sizes` gives the dims that are `?`";
  let arguments = (ins Variadic<Index>:$sizes);
  let results = (outs Host_Memory:$result);
  let assemblyFormat = "`sizes` `(` $sizes `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Host_FreeOp : Host_Op<"free"> {
  let summary = "gives a block of the heap, or an arena of this run, back";
  let arguments = (ins Host_Block:$block);
  let assemblyFormat = "$block attr-dict `:` type($block)";
  let hasVerifier = 1;
}
def Host_OutputOp : Host_Op<"output"> {
  let summary = "the storage of output `number` of the model, whose shape is known now; once each";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$number, Variadic<Index>:$sizes);
  let results = (outs Host_Memory:$result);
  let assemblyFormat = "$number `sizes` `(` $sizes `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Host_WeightOp : Host_Op<"weight", [Pure]> {
  let summary = "a tensor of the weight table, where it lies in the model's weights";
  let arguments = (ins StrAttr:$name);
  let results = (outs Host_Memory:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Host_ConstantOp : Host_Op<"constant", [Pure]> {
  let summary = "a tensor of known elements, which become part of the model's weights";
  let arguments = (ins ElementsAttr:$elements);
  let results = (outs Host_Memory:$result);
  let assemblyFormat = "$elements attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Host_ViewOp : Host_Op<"view", [Pure]> {
  let summary = "the same memory as another tensor: of another shape, or a result that takes it over";
  let arguments = (ins Host_Memory:$memory, Variadic<Index>:$sizes);
  let results = (outs Host_Memory:$result);
  let assemblyFormat = "$memory `sizes` `(` $sizes `)` attr-dict `:` type($memory) `->` type($result)";
  let hasVerifier = 1;
}
def Host_PartOp : Host_Op<"part", [Pure]> {
  let summary = "elements of `memory` that lie together, from row-major `position` on, all inside";
  let arguments = (ins Host_Memory:$memory, Index:$position);
  let results = (outs Host_Memory:$result);
  let assemblyFormat = "$memory `[` $position `]` attr-dict `:` type($memory) `->` type($result)";
  let hasVerifier = 1;
}
def Host_DimOp : Host_Op<"dim", [Pure]> {
  let summary = "an extent that a tensor brings with it: of an argument, of what a loop carries";
  let arguments = (ins Host_Memory:$memory, I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$memory `,` $axis attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What is done
//===----------------------------------------------------------------------===//

def Host_CopyOp : Host_Op<"copy"> {
  let summary = "the elements of `from` into `to`, which has its shape and does not overlap it";
  let arguments = (ins Host_Memory:$from, Host_Memory:$to, Host_Stream:$stream);
  let assemblyFormat = "$from `to` $to (`stream` `(` $stream^ `)`)? attr-dict `:` type($from) `to` type($to)";
  let hasVerifier = 1;
}
def Host_LaunchOp : Host_Op<"launch", [AttrSizedOperandSegments,
                                       DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "starts a kernel: it reads `inputs` and writes `outs`";
  let description = [{
    The kernel's arguments are the inputs, tensors in memory and host scalars, and then the
    extents of `outs` that are `?`. A tensor of `outs` may be one of `inputs`: the kernel then
    reads, to make an element, only the element in its place.

    ```mlir
    host.launch @k0_relu ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
    ```

    With `on_host` it runs on the host of a model whose other launches run on a device, and is done when
    the program goes on.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyTypeOf<[Host_Memory, Host_Scalar]>>:$inputs,
                       Variadic<Host_Memory>:$outs, OptionalAttr<Kernel_OnHostAttr>:$on_host, Host_Stream:$stream);
  let assemblyFormat = [{
    $kernel `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` $outs `:` type($outs) `)`
    (`stream` `(` $stream^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// The kernel that this starts.
    ::tcc::host::KernelOp getKernelOp();
  }];
}
def Host_ReadOp : Host_Op<"read"> {
  let summary = "one element as a host scalar, at row-major `position`; waits for what the stream does before";
  let description = [{
    The element is converted to the scalar's type: an integer may be taken as `index`, bool as i1.
    Of a device's memory it is copied first.
  }];
  let arguments = (ins Host_Memory:$memory, I64Attr:$position, Host_Stream:$stream);
  let results = (outs Host_Scalar:$result);
  let assemblyFormat = [{
    $memory `[` $position `]` (`stream` `(` $stream^ `)`)? attr-dict `:` functional-type($memory, $result)
  }];
  let hasVerifier = 1;
}
def Host_AssertOp : Host_Op<"assert"> {
  let summary = "stops the run with an error message unless the condition holds";
  let description = [{
    Nothing depends on when it stops: kernels read and write their own memory whatever the data. A
    check that only reports bad data may therefore come after the last launch.
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

def Host_FlagOp : Host_Op<"flag"> {
  let summary = "memory for a truth value of a launch: where it comes out as `bad`, the run has failed";
  let description = [{
    Host and device share the memory, so that nobody waits: the run, or a later one of its context, finds
    the value and reports the message (DeviceChecks.c).

    ```mlir
    %0 = host.flag true, "an index is out of range" : memref<i1, #host.space<pinned>>
    host.launch @k0_any ins(%bad : memref<8xi1, #host.space<device>>) outs(%0 : memref<i1, #host.space<pinned>>)
    ```
  }];
  let arguments = (ins BoolAttr:$bad, StrAttr:$message);
  let results = (outs Host_Memory:$result);
  let assemblyFormat = "$bad `,` $message attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Host_RandomSeedOp : Host_Op<"random_seed"> {
  let summary = "the seed of the context that runs";
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Host_RandomDrawOp : Host_Op<"random_draw"> {
  let summary = "how often a generator of the context was drawn from before, now once more";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$generator);
  let results = (outs I64:$number);
  let assemblyFormat = "$generator attr-dict `:` type($number)";
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Host_KernelOp : Host_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, HasParent<"::mlir::ModuleOp">]> {
  let summary = "what launches start: one `kernel.launch` or several, and arithmetic on extents";
  let description = [{
    Tensors here are values; where they lie is up to each launch. How many functions a back-end
    makes of it is its own affair. With `on_host` it is for the host of a model whose other kernels are for a device.

    ```mlir
    host.kernel @k0_relu {
    ^bb0(%x: tensor<?xf32>, %n: index):
      %y = kernel.launch loop "relu" ins(%x : tensor<?xf32>) sizes(%n) { ... } -> tensor<?xf32>
      host.yield %y : tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$on_host);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// The one kernel.launch that it is; null if there are several.
    ::tcc::kernel::LaunchOp getKernelLaunch();
  }];
  let assemblyFormat = "$sym_name $body attr-dict";
  let hasVerifier = 1;
}
def Host_YieldOp : Host_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the tensors that a kernel writes, in the order of `outs`";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}
#endif
