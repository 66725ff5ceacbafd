//===- CpuAttrs.td - How weights lie for CPUs, and kernels run -*- tablegen -*-===//
#ifndef TCC_DIALECT_CPU_CPUATTRS_TD
#define TCC_DIALECT_CPU_CPUATTRS_TD
include "mlir/IR/TensorEncoding.td"
include "tcc/Dialect/Cpu/CpuBase.td"
include "tcc/Dialect/Cpu/ScheduleAttrs.td"
include "tcc/Dialect/Prim/StorageLayout.td"

class Cpu_LayoutAttr<string name, string nameInText>
    : AttrDef<Cpu_Dialect, name, [DeclareAttrInterfaceMethods<Prim_StorageLayout>,
                                  DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = nameInText;
  let genVerifyDecl = 1;
}

def Cpu_PanelsAttr : Cpu_LayoutAttr<"Panels", "panels"> {
  let summary = "columns of a product side by side, `width` at a time";
  let description = [{
    Axis `columns` of the tensor, in `groups` of neighbours, is cut into panels of `width`; past the
    last column they hold zeros. In a panel lie the axes `k`, outermost first:
    [groups, panels, k, width].

    With `step` > 1 so many neighbours in k are one step of a dot instruction, and lie together:
    [groups, panels, steps, width, step]. Every `run` of k fills whole steps, with zeros at its
    end; 0 is all of k. Where the instruction wants the other operand with its sign flipped, a last
    step of each panel holds the columns' sums times `sums`, as i32.

        tensor<128x64xf32, #cpu.panels<k = [0], columns = 1, width = 24>>       // 1x3x128x24
        tensor<16x17x3x3xi8, #cpu.panels<k = [2, 3, 1], columns = 0, width = 16, step = 2, run = 17>>
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$k, "int64_t":$columns, "int64_t":$width,
                        Cpu_DefaultInt<"1">:$groups, Cpu_DefaultInt<"1">:$step, Cpu_DefaultInt<"0">:$run,
                        Cpu_DefaultInt<"0">:$sums);
  let assemblyFormat = "`<` `k` `=` `[` $k `]` `,` struct($columns, $width, $groups, $step, $run, $sums) `>`";
}

def Cpu_GroupedAttr : Cpu_LayoutAttr<"Grouped", "grouped"> {
  let summary = "panels of small integers that have a scale for each group along the sum";
  let description = [{
    A matrix of f32 that is (integer - zero) * scale, with one zero point and one scale for each `group` of k in
    each column. Axis `columns` is cut into panels of `width`, past the last column of zeros, and a panel holds
    words of 32 bits: [panels, groups, rows, width]. The rows of a group are its integers, 32 / `bits` of them
    along k in a word, lowest bits first, its scales, and -zero * scale, unless all have the zero point `zero`.

        tensor<128x64xf32, #cpu.grouped<columns = 0, width = 48, group = 32, bits = 4>>             // 3x2x6x48
        tensor<64x128xf32, #cpu.grouped<columns = 1, width = 48, group = 32, bits = 4, zero = 8>>   // 3x2x5x48
  }];
  let parameters = (ins "int64_t":$columns, "int64_t":$width, "int64_t":$group, "int64_t":$bits,
                        Cpu_OptionalInt:$zero);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Cpu_WinogradAttr : Cpu_LayoutAttr<"Winograd", "winograd"> {
  let summary = "3x3 weights transformed for tiles of 2x2 outputs";
  let description = [{
    Weights [filters, channels, 3, 3] of f32 are transformed to 16 points (Dialect/Cpu/Winograd.h),
    which lie in panels of `width` filters: [panels, 16, channels, width].

        tensor<64x32x3x3xf32, #cpu.winograd<width = 24>>                        // 3x16x32x24
  }];
  let parameters = (ins "int64_t":$width);
  let assemblyFormat = "`<` struct(params) `>`";
}
#endif
