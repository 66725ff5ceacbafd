//===- ScheduleAttrs.td - How a CPU runs a kernel -*- tablegen -*-===//
#ifndef TCC_DIALECT_CPU_SCHEDULE_ATTRS_TD
#define TCC_DIALECT_CPU_SCHEDULE_ATTRS_TD
include "mlir/IR/EnumAttr.td"
include "tcc/Dialect/Cpu/CpuBase.td"
include "tcc/Dialect/Kernel/Schedule.td"

class Cpu_ScheduleAttr<string name, string nameInText> : Kernel_ScheduleAttr<Cpu_Dialect, name, nameInText> {
  let assemblyFormat = "`<` struct(params) `>`";
}

def Cpu_OptionalInt : OptionalParameter<"std::optional<int64_t>">;

def Cpu_OperandAccess : I32EnumAttr<"OperandAccess", "how a product comes to an operand", [
  I32EnumAttrCase<"InPlace", 0, "in_place">, I32EnumAttrCase<"Copied", 1, "copied">,
  I32EnumAttrCase<"Pointers", 2, "pointers">, I32EnumAttrCase<"Gathered", 3, "gathered">]> {
  let cppNamespace = "::tcc::cpu";
  let genSpecializedAttr = 0;
}
def Cpu_Epilogue : I32EnumAttr<"Epilogue", "how what follows a product is written", [
  I32EnumAttrCase<"Rolled", 0, "rolled">, I32EnumAttrCase<"Inline", 1, "inline">]> {
  let cppNamespace = "::tcc::cpu";
  let genSpecializedAttr = 0;
}

def Cpu_LoopScheduleAttr : Cpu_ScheduleAttr<"LoopSchedule", "loop_schedule"> {
  let summary = "one point after the other";
  let description = [{
    Lanes lie along `axis`; what few points the axes after it have are written out one by
    one. A task is a run of `chunk` points along `axis`, or with `block_rows` > 1 a block of
    that many such rows along `block_axis`, which is read across. `grain` tasks are worth a
    thread. Where `copied_points` is given, runs of at least that many points that lie in an operand
    as they are stored are copied as bytes. With `past_caches` results that outgrow the caches go
    to memory without them, where they lie as whole lines. The last `joined_axes` of the results,
    open or put together of parts, are one for the kernel's code, and for the other fields here; with
    `joined_pieces` they are lines of the pieces that it puts together. With `window_lines` the windows of pools are reduced along all axes but the last first, for a line of
    points at a time. With `shared` the rows of a block are not read across, but have most of what
    they compute in common: it is computed once for all of them.

        #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 4>
  }];
  let parameters = (ins "int64_t":$lanes, Cpu_DefaultInt<"0">:$axis, "int64_t":$chunk, "int64_t":$grain,
                        Cpu_DefaultInt<"0">:$block_axis, Cpu_DefaultInt<"1">:$block_rows,
                        Cpu_OptionalInt:$copied_points, DefaultValuedParameter<"bool", "false">:$past_caches,
                        Cpu_DefaultInt<"1">:$joined_axes,
                        DefaultValuedParameter<"bool", "false">:$joined_pieces,
                        DefaultValuedParameter<"bool", "false">:$window_lines,
                        DefaultValuedParameter<"bool", "false">:$shared);
}

def Cpu_RowScheduleAttr : Cpu_ScheduleAttr<"RowSchedule", "row_schedule"> {
  let summary = "a row a task";
  let description = [{
    Lanes lie along the last axis. What is costly to compute and read by several loops over
    a row is kept on the stack where a row has at most `kept` elements. `grain` rows are
    worth a thread. With `across` the lanes are as many rows, whose elements are done one place
    after the other. `past_caches` is as in a loop_schedule. Of rows that are reduced along axes
    before their last ones a task is a block of `columns` points of the last axis, if that is given.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$grain, "int64_t":$kept,
                        DefaultValuedParameter<"bool", "false">:$across,
                        DefaultValuedParameter<"bool", "false">:$past_caches,
                        DefaultValuedParameter<"int64_t", "0">:$columns);
}

def Cpu_ContractionScheduleAttr : Cpu_ScheduleAttr<"ContractionSchedule", "contraction_schedule"> {
  let summary = "a product in register tiles";
  let description = [{
    A register tile is `rows` rows of A by one panel of B, `vectors` vectors of `lanes`
    columns, with k unrolled by `unroll`. A task is `tiles_per_task` tiles by
    `panels_per_task` panels, one block of `k_block` of k after the other where that is given.
    `a` and `b` say how the operands are read. 8-bit operands are multiplied `step_bytes` at
    a time, bf16 in pairs; with `matrix_tiles` by a matrix unit, in tiles of up to 32 rows. The epilogue is written out for every vector of a tile, or in a loop over its
    rows. As many tasks as do `grain_products` multiply-adds are worth a thread; where that
    is not given one task is. `least_tiles` is given where only a run knows how many tiles there
    are: of few, a task has fewer than `tiles_per_task`, down to that, so that threads share them.
    With `single_tile` a run has `rows` rows at most, whatever the types say: it is a part of a
    `#kernel.by_size`.

    Where B lies along k and `b` is `in_place`, lanes are neighbours in k: no panel is copied, and the
    lanes of each sum are added up at the end (lib/Codegen/Cpu/Products/DotTile.h).

    Of convolutions, rows are output pixels and columns filters: `a` is `pointers`, one for
    each tap and row, or `gathered`, the pixels under the filter side by side.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$vectors, "int64_t":$rows, "int64_t":$unroll,
                        "int64_t":$tiles_per_task, "int64_t":$panels_per_task, Cpu_OptionalInt:$k_block,
                        EnumParameter<Cpu_OperandAccess>:$a, EnumParameter<Cpu_OperandAccess>:$b,
                        Cpu_DefaultInt<"1">:$step_bytes,
                        DefaultValuedParameter<"bool", "false">:$matrix_tiles, EnumParameter<Cpu_Epilogue>:$epilogue,
                        Cpu_OptionalInt:$grain_products, Cpu_OptionalInt:$least_tiles,
                        DefaultValuedParameter<"bool", "false">:$single_tile);
}

def Cpu_WinogradScheduleAttr : Cpu_ScheduleAttr<"WinogradSchedule", "winograd_schedule"> {
  let summary = "a 3x3 convolution in tiles of 2x2 outputs";
  let description = [{
    A register tile is `rows` tiles by one panel of `vectors` vectors of `lanes` filters; a
    task `tiles_per_task` register tiles by `panels_per_task` panels; `least_tiles` as of
    contraction_schedule.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$vectors, "int64_t":$rows, "int64_t":$tiles_per_task,
                        "int64_t":$panels_per_task, Cpu_OptionalInt:$least_tiles);
}

def Cpu_LineScheduleAttr : Cpu_ScheduleAttr<"LineSchedule", "line_schedule"> {
  let summary = "a convolution of groups narrower than a vector, line by line";
  let description = [{
    A task is one line of output pixels, `pixels` at a time in registers, by
    `vectors_per_task` vectors of `lanes` filters of neighbouring groups.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$pixels, "int64_t":$vectors_per_task);
}

def Cpu_PlaneScheduleAttr : Cpu_ScheduleAttr<"PlaneSchedule", "plane_schedule"> {
  let summary = "a convolution whose lanes are pixels";
  let description = [{
    A task is `columns` pixels of each of `lines` neighbouring lines of results, by all filters of a
    group; it copies the input planes of `channels` channels at a time. A register tile is up to
    `rows` filters by `vectors` vectors of `lanes` pixels. As many tasks as do `grain_products`
    multiply-adds are worth a thread. Of open planes a run has the lines and columns that fit
    the scratch memory of these.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$rows, "int64_t":$vectors, "int64_t":$lines, "int64_t":$columns,
                        "int64_t":$channels, "int64_t":$grain_products);
}

def Cpu_AttentionScheduleAttr : Cpu_ScheduleAttr<"AttentionSchedule", "attention_schedule"> {
  let summary = "attention with a running softmax";
  let description = [{
    A task has up to `task_rows` queries and goes over the keys in blocks of `keys`. The scores
    of a block stay in a cache: they are computed in register tiles of `rows` queries by
    `vectors` vectors of `lanes` keys, and their exponentials multiplied with the values in
    tiles of `value_rows` by `value_vectors` vectors. With `split` > 1 that many tasks share the
    keys of the same queries; a second round of tasks combines what they found, in order. With
    `matrix_tiles` both are products of bf16 by a matrix unit, in tiles of 32 rows by two vectors:
    the exponentials are rounded to bf16. As many tasks as do `grain_products` multiply-adds are
    worth a thread.

        #cpu.attention_schedule<lanes = 16, vectors = 4, rows = 6, value_vectors = 4,
          value_rows = 6, task_rows = 66, keys = 256, grain_products = 131072>
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$vectors, "int64_t":$rows, "int64_t":$value_vectors,
                        "int64_t":$value_rows, "int64_t":$task_rows, "int64_t":$keys, Cpu_DefaultInt<"1">:$split,
                        DefaultValuedParameter<"bool", "false">:$matrix_tiles, "int64_t":$grain_products);
}

def Cpu_SpecialScheduleAttr : Cpu_ScheduleAttr<"SpecialSchedule", "special_schedule"> {
  let summary = "an operator with an algorithm of its own";
  let description = [{
    Lines along the operator's axis are its tasks, where it has one; those of factors of matrices
    are matrices, or `lanes` columns of what is solved with them; those of a scatter are
    ranges along the axes that no index chooses; else all of it is one. Copies take up to
    `lanes` elements at a time. `grain` tasks are worth a thread.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$grain);
}
#endif
