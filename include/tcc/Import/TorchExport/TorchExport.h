//===- TorchExport.h - `.pt2` → graph ----------------------------*- C++ -*-===//
//
// The import phase for files that torch.export.save writes (torch 2.9 and
// later). Weights are used where they lie in the mapped file; nothing in the
// file is ever executed or unpickled.
//
// What @main looks like afterwards:
// - Arguments: the flattened user inputs in order (constants left out), each
//   with `graph.name` and `graph.dims`; then one for every buffer that the model
//   changes, with `graph.state = "weight"` naming its initial value.
// - Results: the flattened user outputs in order (None and Python constants left
//   out; a number that the graph computes is a rank-0 tensor); then the new value
//   of every changed input and buffer, with `graph.mutates = "its name"`.
// - `graph.ranges = {s11 = array<i64: 1, 8>}`: bounds of symbolic dims.
// - The body is functional whichever dialect the file is in: in-place operators
//   and writes through views became values (lib/Import/TorchExport/Aliases.h).
// - A node is `graph.node "aten" "conv2d.default"` with `attrs` by argument name:
//   `#graph.operand<i>` for a tensor or a computed number, an array for a list,
//   unit for None, a string for a dtype ("f32"), layout, device or memory format.
//   Arguments that keep their default are absent, as in the file.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace tcc {
class DiskCache;
struct ImportOptions;
class WeightTable;

/// Reads the model at `path`. Every fault of the file is one UserError that
/// names the file and the node or field.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importTorchExport(llvm::StringRef path,
                                                                    const ImportOptions &options,
                                                                    WeightTable &weights,
                                                                    mlir::MLIRContext &context);

/// Holds every entry of the archive at `path` against the CRC-32 that the archive states of it. The
/// importer does so for the program alone: reading all weights takes longer than it, so this may
/// run beside the phases, and an unchanged file that passed is remembered in `cache`. A file that
/// is no archive passes: the importer tells.
llvm::Error checkTorchExportSums(llvm::StringRef path, const DiskCache &cache);

/// Whether the file at `path` starts as a zip archive does, which is how `.pt2`
/// is told from ONNX.
bool looksLikeTorchExport(llvm::StringRef path);

} // namespace tcc
