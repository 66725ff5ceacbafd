//===- HostProgram.h - The compiled host side of a model ---------*- C++ -*-===//
//
// Turns a function of the host dialect into `int32_t tcc_entry(struct tcc_frame *)`,
// operator by operator. The frame and the tcc_rt_* functions are those of
// lib/Runtime/Program.h; how a kernel is started is its back-end's affair.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Codegen/Common/LaunchEmitter.h"

namespace tcc::codegen {

/// Where the data of a model lies.
struct HostCallbacks {
  bool device = false; ///< the model runs on a device, whose memory the program may use
  /// Where a weight lies in the blob, in bytes.
  std::function<int64_t(llvm::StringRef)> weightOffset;
  /// Where a constant lies in the blob; it is added if it is not there.
  std::function<int64_t(mlir::ElementsAttr)> constantOffset;
  /// A new place in the state, in bytes, for a buffer that starts as this weight.
  std::function<int64_t(llvm::StringRef)> stateOffset;
};

inline constexpr llvm::StringLiteral kEntryName = "tcc_entry";

/// Adds the host function of `program` to `module` as `name`. Fails after an error at an
/// operator that may not exist after the plan phase, or that this runtime cannot do.
mlir::LogicalResult emitHostProgram(mlir::func::FuncOp program, llvm::StringRef name,
                                    mlir::ModuleOp module, LaunchEmitter &launches,
                                    const HostCallbacks &callbacks);

} // namespace tcc::codegen
