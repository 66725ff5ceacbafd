//===- ScheduleAttrs.td - How a kernel is run on its target -*- tablegen -*-===//
//
// What the schedule phase writes on a launch and everything after reads. A target's
// schedules are attributes of their own behind one interface: the CPU's, then the GPUs'.
// Sizes are constants. Where an extent is open they hold for whatever it is: the number
// of tasks or blocks is a formula over the extents of a run, with these sizes in it.
//
//===----------------------------------------------------------------------===//
#ifndef TCC_DIALECT_KERNEL_SCHEDULE_ATTRS_TD
#define TCC_DIALECT_KERNEL_SCHEDULE_ATTRS_TD
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "tcc/Dialect/Kernel/KernelBase.td"

def Kernel_Schedule : AttrInterface<"Schedule"> {
  let cppNamespace = "::tcc::kernel";
  let description = [{How a launch is cut into tasks and what loops a task is.}];
  let methods = [
    InterfaceMethod<"Fails, with an error at the launch, where it cannot run so.",
                    "::llvm::LogicalResult", "verifyLaunch", (ins "::mlir::Operation *":$launch)>
  ];
}

class Kernel_ScheduleAttr<string name, string nameInText>
    : AttrDef<Kernel_Dialect, name, [DeclareAttrInterfaceMethods<Kernel_Schedule>]> {
  let mnemonic = nameInText;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Kernel_DefaultInt<string value> : DefaultValuedParameter<"int64_t", value>;
def Kernel_OptionalInt : OptionalParameter<"std::optional<int64_t>">;

def Kernel_OperandAccess : I32EnumAttr<"OperandAccess", "how a product comes to an operand", [
  I32EnumAttrCase<"InPlace", 0, "in_place">, I32EnumAttrCase<"Copied", 1, "copied">,
  I32EnumAttrCase<"Pointers", 2, "pointers">, I32EnumAttrCase<"Gathered", 3, "gathered">]> {
  let cppNamespace = "::tcc::kernel";
  let genSpecializedAttr = 0;
}
def Kernel_Epilogue : I32EnumAttr<"Epilogue", "how what follows a product is written", [
  I32EnumAttrCase<"Rolled", 0, "rolled">, I32EnumAttrCase<"Inline", 1, "inline">]> {
  let cppNamespace = "::tcc::kernel";
  let genSpecializedAttr = 0;
}

def Kernel_LoopScheduleAttr : Kernel_ScheduleAttr<"LoopSchedule", "loop_schedule"> {
  let summary = "one point after the other";
  let description = [{
    Lanes lie along `axis`; what few points the axes after it have are written out one by
    one. A task is a run of `chunk` points along `axis`, or with `block_rows` > 1 a block of
    that many such rows along `block_axis`, which is read across. `grain` tasks are worth a
    thread.

        #kernel.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 4>
  }];
  let parameters = (ins "int64_t":$lanes, Kernel_DefaultInt<"0">:$axis, "int64_t":$chunk, "int64_t":$grain,
                        Kernel_DefaultInt<"0">:$block_axis, Kernel_DefaultInt<"1">:$block_rows);
}

def Kernel_RowScheduleAttr : Kernel_ScheduleAttr<"RowSchedule", "row_schedule"> {
  let summary = "a row a task";
  let description = [{
    Lanes lie along the last axis. What is costly to compute and read by several loops over
    a row is kept on the stack where a row has at most `kept` elements. `grain` rows are
    worth a thread.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$grain, "int64_t":$kept);
}

def Kernel_ContractionScheduleAttr : Kernel_ScheduleAttr<"ContractionSchedule", "contraction_schedule"> {
  let summary = "a product in register tiles";
  let description = [{
    A register tile is `rows` rows of A by one panel of B, `vectors` vectors of `lanes`
    columns, with k unrolled by `unroll`. A task is `tiles_per_task` tiles by
    `panels_per_task` panels, one block of `k_block` of k after the other where that is given.
    `a` and `b` say how the operands are read. 8-bit operands are multiplied `step_bytes` at
    a time. The epilogue is written out for every vector of a tile, or in a loop over its
    rows. As many tasks as do `grain_products` multiply-adds are worth a thread; where that
    is not given one task is.

    Of convolutions, rows are output pixels and columns filters: `a` is `pointers`, one for
    each tap and row, or `gathered`, the pixels under the filter side by side.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$vectors, "int64_t":$rows, "int64_t":$unroll,
                        "int64_t":$tiles_per_task, "int64_t":$panels_per_task, Kernel_OptionalInt:$k_block,
                        EnumParameter<Kernel_OperandAccess>:$a, EnumParameter<Kernel_OperandAccess>:$b,
                        Kernel_DefaultInt<"1">:$step_bytes, EnumParameter<Kernel_Epilogue>:$epilogue,
                        Kernel_OptionalInt:$grain_products);
}

def Kernel_WinogradScheduleAttr : Kernel_ScheduleAttr<"WinogradSchedule", "winograd_schedule"> {
  let summary = "a 3x3 convolution in tiles of 2x2 outputs";
  let description = [{
    A register tile is `rows` tiles by one panel of `vectors` vectors of `lanes` filters; a
    task `tiles_per_task` register tiles by `panels_per_task` panels.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$vectors, "int64_t":$rows, "int64_t":$tiles_per_task,
                        "int64_t":$panels_per_task);
}

def Kernel_LineScheduleAttr : Kernel_ScheduleAttr<"LineSchedule", "line_schedule"> {
  let summary = "a convolution of groups narrower than a vector, line by line";
  let description = [{
    A task is one line of output pixels, `pixels` at a time in registers, by
    `vectors_per_task` vectors of `lanes` filters of neighbouring groups.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$pixels, "int64_t":$vectors_per_task);
}

def Kernel_AttentionScheduleAttr : Kernel_ScheduleAttr<"AttentionSchedule", "attention_schedule"> {
  let summary = "attention with a running softmax";
  let description = [{
    A task has up to `task_rows` queries and goes over the keys in blocks of `keys`. The scores
    of a block stay in a cache: they are computed in register tiles of `rows` queries by
    `vectors` vectors of `lanes` keys, and their exponentials multiplied with the values in
    tiles of `value_rows` by `value_vectors` vectors. With `split` > 1 that many tasks share the
    keys of the same queries; a second round of tasks combines what they found, in order. As many
    tasks as do `grain_products` multiply-adds are worth a thread.

        #kernel.attention_schedule<lanes = 16, vectors = 4, rows = 6, value_vectors = 4,
          value_rows = 6, task_rows = 66, keys = 256, grain_products = 131072>
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$vectors, "int64_t":$rows, "int64_t":$value_vectors,
                        "int64_t":$value_rows, "int64_t":$task_rows, "int64_t":$keys, Kernel_DefaultInt<"1">:$split,
                        "int64_t":$grain_products);
}

def Kernel_SpecialScheduleAttr : Kernel_ScheduleAttr<"SpecialSchedule", "special_schedule"> {
  let summary = "an operator with an algorithm of its own";
  let description = [{
    Lines along the operator's axis are its tasks, where it has one; those of factors of matrices
    are matrices, or `lanes` columns of what is solved with them; those of a scatter are
    ranges along the axes that no index chooses; else all of it is one. Copies take up to
    `lanes` elements at a time. `grain` tasks are worth a thread.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$grain);
}

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

def Kernel_GpuForm : I32EnumAttr<"GpuForm", "the loop nest of a GPU kernel", [
  I32EnumAttrCase<"Loop", 0, "loop">, I32EnumAttrCase<"Transpose", 1, "transpose">,
  I32EnumAttrCase<"Column", 2, "column">, I32EnumAttrCase<"Row", 3, "row">,
  I32EnumAttrCase<"Line", 4, "line">, I32EnumAttrCase<"Scatter", 5, "scatter">,
  I32EnumAttrCase<"Collect", 6, "collect">, I32EnumAttrCase<"Product", 7, "product">,
  I32EnumAttrCase<"Wgmma", 8, "wgmma">, I32EnumAttrCase<"Mma", 9, "mma">,
  I32EnumAttrCase<"Skinny", 10, "skinny">, I32EnumAttrCase<"Attention", 11, "attention">,
  I32EnumAttrCase<"WgmmaAttention", 12, "wgmma_attention">,
  I32EnumAttrCase<"MmaAttention", 13, "mma_attention">,
  I32EnumAttrCase<"SkinnyMma", 14, "skinny_mma">]> {
  let cppNamespace = "::tcc::kernel";
  let genSpecializedAttr = 0;
}

class Kernel_DefaultSize<string value> : DefaultValuedParameter<"unsigned", value>;

def Kernel_GpuScheduleAttr : Kernel_ScheduleAttr<"GpuSchedule", "gpu_schedule"> {
  let summary = "blocks of threads on one GPU architecture";
  let description = [{
    | form | who does what |
    |---|---|
    | `loop` | each thread computes `vectors` vectors of `lanes` points, all read before one is written |
    | `transpose` | each block computes a tile of points, of operands that lie across |
    | `column` | several threads share the reduction of each of few points |
    | `row` | `row_threads` threads reduce a row; `kept` points of each stay in registers |
    | `line` | each thread walks along an axis |
    | `scatter` | each block writes a range of what the indices do not choose |
    | `collect` | one warp gathers what a condition selects, in order |
    | `product` | each block computes a tile of `rows` by `columns`, from slices of `depth` in shared memory |
    | `wgmma` | the same, tile after tile, by at most `most_blocks` blocks on the matrix units of sm_90a |
    | `mma` | as `product`, a warp at a time on the matrix units, `vectors` slices on their way; `split` blocks share what a tile sums |
    | `skinny` | each warp computes `columns` columns of few rows |
    | `skinny_mma` | each block computes `columns` columns of few rows on matrix units, whose warps share what is summed, `depth` steps of 64 bytes a round |
    | `attention` | each block keeps the results of `rows` queries and goes over the keys, `columns` at a time |
    | `mma_attention` | the same on the matrix units, `vectors` tiles of keys on their way, `row_threads` threads for each query; `split` blocks share the keys |
    | `wgmma_attention` | the same on the matrix units of sm_90a |

    A block has `threads` threads and asks for `shared_bytes` of dynamic shared memory; a launch for
    `scratch_bytes` of the device's, in which the `split` blocks meet that share a row, columns, a tile or keys.
    Indices have `index_bits` bits.

        #kernel.gpu_schedule<form = loop, threads = 256, lanes = 4, index_bits = 32>
  }];
  let parameters = (ins EnumParameter<Kernel_GpuForm>:$form, "unsigned":$threads, Kernel_DefaultSize<"1">:$lanes,
                        Kernel_DefaultSize<"1">:$vectors, Kernel_DefaultSize<"0">:$row_threads,
                        Kernel_DefaultSize<"0">:$kept, Kernel_DefaultSize<"0">:$rows,
                        Kernel_DefaultSize<"0">:$columns, Kernel_DefaultSize<"0">:$depth,
                        Kernel_DefaultSize<"0">:$shared_bytes, Kernel_DefaultSize<"0">:$most_blocks,
                        Kernel_DefaultSize<"1">:$split, Kernel_DefaultSize<"0">:$scratch_bytes,
                        Kernel_DefaultSize<"64">:$index_bits);
}

def Kernel_GpuSchedulesAttr : AttrDef<Kernel_Dialect, "GpuSchedules", [DeclareAttrInterfaceMethods<Kernel_Schedule>]> {
  let mnemonic = "gpu_schedules";
  let summary = "a schedule for each GPU architecture that a model is for";
  let description = [{
    In the order in which a model carries their code.

        #kernel.gpu_schedules<sm_80 = <form = product, threads = 256, ...>, sm_90a = <form = wgmma, ...>>
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$archs,
                        ArrayRefParameter<"::tcc::kernel::GpuScheduleAttr">:$schedules);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The schedule for `arch`; null where the launch has none.
    ::tcc::kernel::GpuScheduleAttr find(::llvm::StringRef arch) const;
  }];
}
#endif
