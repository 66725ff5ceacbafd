//===- Cpu.h - The cpu dialect -----------------------------------*- C++ -*-===//
//
// Encodings that layout gives the weights of a model for CPUs, and how launches run on them. See
// CpuAttrs.td and ScheduleAttrs.td.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/TensorEncoding.h"
#include "tcc/Dialect/Cpu/GroupedWeights.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"

#include "tcc/Dialect/Cpu/CpuDialect.h.inc"
#include "tcc/Dialect/Cpu/CpuEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Cpu/CpuAttrs.h.inc"

namespace tcc::cpu {

/// How `weights` lie, if they are in panels, grouped or in tiles; else null.
PanelsAttr panelsOf(mlir::Value weights);
GroupedAttr groupedOf(mlir::Value weights);
WinogradAttr tilesOf(mlir::Value weights);

/// Columns of one panel of any of these; 0 where `weights` lie row-major.
int64_t panelWidth(mlir::Value weights);

/// What packs and unpacks a tensor of `shape`.
PanelPacking packingOf(PanelsAttr panels, llvm::ArrayRef<int64_t> shape);
GroupedShape groupsOf(GroupedAttr grouped, llvm::ArrayRef<int64_t> shape);
/// The panels of transformed weights of `shape`.
PanelShape panelsOf(WinogradAttr tiles, llvm::ArrayRef<int64_t> shape);

} // namespace tcc::cpu
