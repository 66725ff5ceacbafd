//===- GpuAttrs.td - How GPUs run a kernel -*- tablegen -*-===//
#ifndef TCC_DIALECT_GPU_GPU_ATTRS_TD
#define TCC_DIALECT_GPU_GPU_ATTRS_TD
include "mlir/IR/EnumAttr.td"
include "tcc/Dialect/Kernel/Schedule.td"

def Gpu_Dialect : Dialect {
  let name = "gpu";
  let cppNamespace = "::tcc::gpu";
  let useDefaultAttributePrinterParser = 1;
  let summary = "What scheduling and code generation of GPUs agree on";
  let description = [{
    The schedules of launches on GPUs. MLIR's dialect of that name is not used here.
  }];
}

def Gpu_Form : I32EnumAttr<"Form", "the loop nest of a GPU kernel", [
  I32EnumAttrCase<"Loop", 0, "loop">, I32EnumAttrCase<"Transpose", 1, "transpose">,
  I32EnumAttrCase<"Column", 2, "column">, I32EnumAttrCase<"Row", 3, "row">,
  I32EnumAttrCase<"Line", 4, "line">, I32EnumAttrCase<"Scatter", 5, "scatter">,
  I32EnumAttrCase<"Collect", 6, "collect">, I32EnumAttrCase<"Product", 7, "product">,
  I32EnumAttrCase<"Wgmma", 8, "wgmma">, I32EnumAttrCase<"Mma", 9, "mma">,
  I32EnumAttrCase<"Skinny", 10, "skinny">, I32EnumAttrCase<"Attention", 11, "attention">,
  I32EnumAttrCase<"WgmmaAttention", 12, "wgmma_attention">,
  I32EnumAttrCase<"MmaAttention", 13, "mma_attention">,
  I32EnumAttrCase<"SkinnyMma", 14, "skinny_mma">]> {
  let cppNamespace = "::tcc::gpu";
  let genSpecializedAttr = 0;
}

class Gpu_DefaultSize<string value> : DefaultValuedParameter<"unsigned", value>;

def Gpu_ScheduleAttr : Kernel_ScheduleAttr<Gpu_Dialect, "Schedule", "schedule"> {
  let assemblyFormat = "`<` struct(params) `>`";
  let summary = "blocks of threads on one GPU architecture";
  let description = [{
    | form | who does what |
    |---|---|
    | `loop` | each thread computes `vectors` vectors of `lanes` points, all read before one is written; of a depthwise convolution a strip: `rows` neighbours along the last spatial axis by `lanes` channels; with `depth`, the vectors are neighbours along the axis that is so many before the last; with `scratch_bytes`, a check of what is read beside that |
    | `transpose` | each block computes a tile of points, of operands that lie across |
    | `column` | several threads share the reduction of each of few points, and `split` blocks; with `most_blocks`, of up to so many blocks as many as a run's points and lengths make worth it |
    | `row` | `row_threads` threads reduce a row; `kept` points of each stay in registers; of open length, a block has `rows` rows, a warp each, if these prove to be short, and keeps `kept` points of each thread, if that suffices |
    | `line` | each thread walks along an axis; or `row_threads` threads share a line, `vectors` accesses of `lanes` elements each at a time, or sort it, `kept` elements in shared memory; with `scratch_bytes`, `split` blocks do so with all lines; or takes `rows` rows of a batch through all turns of a loop, with `kept` words of weights in registers, and `split` blocks share the units |
    | `scatter` | each block writes a range of what the indices do not choose; or `row_threads` threads have a row and all its updates, which with `scratch_bytes` `split` blocks sort first, or of which each of them finds those of its `rows` rows; `vectors` parts of those of a row are done apart; or each block notes, in `shared_bytes`, the last updates of `rows` places of `columns` lines, or adds up in them what goes to all of the `kept` elements |
    | `collect` | one warp gathers what a condition selects, in order; or, with `scratch_bytes`, `split` blocks do so, which count first |
    | `product` | each block computes a tile of `rows` by `columns`, from slices of `depth` in shared memory; or groups of its threads one for each of `lanes` matrices, or of `vectors` parts of what is summed; with `row_threads` of a group along a row, each reads what it multiplies next beside what it multiplies, and with `shared_bytes` copies bring slices to a ring there; with `most_blocks`, of up to so many blocks as many share what a tile sums as a run's tiles and sums make worth it, `split` at most |
    | `wgmma` | the same on the matrix units of sm_90a, tile after tile by at most `most_blocks` blocks, `row_threads` threads (0: all that multiply) to a tile; with no `most_blocks` a tile a block, and `split` blocks share what it sums; columns that are weights are fetched for `kept` steps before earlier work ends |
    | `mma` | as `product`, a warp at a time on the matrix units, `vectors` slices on their way; `split` blocks share what a tile sums, or with `most_blocks` as many as for `product` |
    | `skinny` | each warp computes `columns` columns of few rows, or `rows` rows of few columns |
    | `skinny_mma` | each block computes `columns` columns of few rows on matrix units, whose warps share what is summed, `depth` steps of 64 bytes a round; columns that are weights are read `kept` steps ahead, at first before earlier work ends |
    | `attention` | each block keeps the results of `rows` queries and goes over the keys, `columns` at a time |
    | `mma_attention` | the same on the matrix units, `vectors` tiles of keys on their way, `row_threads` threads for each query; `split` blocks share the keys |
    | `wgmma_attention` | the same on the matrix units of sm_90a, one block of queries after the other by at most `most_blocks` blocks, `vectors` of them on their way |

    A block has `threads` threads, and registers such that `resident` blocks (0: as the form says) fit a
    multiprocessor; it asks for `shared_bytes` of dynamic shared memory; a launch for
    `scratch_bytes` of the device's, in which the `split` blocks meet that share a row, columns, a tile or keys.
    Indices have `index_bits` bits. With `next_early` the next kernel of the stream may start once all blocks of
    this one have; with `next_beside`, once all of them know that the work before this one has ended. That
    one is `beside` it then: it needs nothing of this one, and waits for it when it has done all else.
    Where a GPU has no room for clusters of `split` blocks, each launch is the `narrow` kernel's, with as many blocks.

        #gpu.schedule<form = loop, threads = 256, lanes = 4, index_bits = 32>
  }];
  let parameters = (ins EnumParameter<Gpu_Form>:$form, "unsigned":$threads, Gpu_DefaultSize<"1">:$lanes,
                        Gpu_DefaultSize<"1">:$vectors, Gpu_DefaultSize<"0">:$row_threads,
                        Gpu_DefaultSize<"0">:$kept, Gpu_DefaultSize<"0">:$rows,
                        Gpu_DefaultSize<"0">:$columns, Gpu_DefaultSize<"0">:$depth,
                        Gpu_DefaultSize<"0">:$shared_bytes, Gpu_DefaultSize<"0">:$most_blocks,
                        Gpu_DefaultSize<"1">:$split, Gpu_DefaultSize<"0">:$scratch_bytes,
                        Gpu_DefaultSize<"64">:$index_bits,
                        Gpu_DefaultSize<"0">:$resident,
                        DefaultValuedParameter<"bool", "false">:$next_early,
                        DefaultValuedParameter<"bool", "false">:$next_beside,
                        DefaultValuedParameter<"bool", "false">:$beside,
                        OptionalParameter<"::tcc::gpu::ScheduleAttr">:$narrow);
  let builders = [
    AttrBuilder<(ins "::tcc::gpu::Form":$form, "unsigned":$threads, "unsigned":$lanes, "unsigned":$vectors,
                     "unsigned":$rowThreads, "unsigned":$kept, "unsigned":$rows, "unsigned":$columns,
                     "unsigned":$depth, "unsigned":$sharedBytes, "unsigned":$mostBlocks, "unsigned":$split,
                     "unsigned":$scratchBytes, "unsigned":$indexBits, "unsigned":$resident), [{
      return $_get($_ctxt, form, threads, lanes, vectors, rowThreads, kept, rows, columns, depth, sharedBytes,
                   mostBlocks, split, scratchBytes, indexBits, resident, false, false, false, ScheduleAttr());
    }]>
  ];
}

def Gpu_SchedulesAttr : Kernel_ScheduleAttr<Gpu_Dialect, "Schedules", "schedules"> {
  let summary = "a schedule for each GPU architecture that a model is for";
  let description = [{
    In the order in which a model carries their code.

        #gpu.schedules<sm_80 = <form = product, threads = 256, ...>, sm_90a = <form = wgmma, ...>>
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$archs,
                        ArrayRefParameter<"::tcc::gpu::ScheduleAttr">:$schedules);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The schedule for `arch`; null where the launch has none.
    ::tcc::gpu::ScheduleAttr find(::llvm::StringRef arch) const;
  }];
}
#endif
