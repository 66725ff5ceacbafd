//===- TreeEnsemble.h - Decision trees as tables -----------------*- C++ -*-===//
//
// What both forms of ai.onnx.ml's tree ensembles are read into, and the walk
// through them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

/// Nodes are numbered from 0 over all trees, leaves after them.
struct Trees {
  /// How a node tests its feature; numbered as nodes_modes of opset 5.
  enum Mode : int64_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member, kModes };

  llvm::SmallVector<int64_t> features, modes, onTrue, onFalse, missingTrue, roots, targets;
  llvm::SmallVector<double> splits;
  llvm::SmallVector<std::pair<int64_t, double>> members; ///< (node, value)
  int64_t levels = 0;                                    ///< of the deepest tree
  int64_t visits = 0;                                    ///< of a walk that goes everywhere
  int64_t nodes() const { return features.size(); }
  int64_t leaves() const { return targets.size(); }
};

/// Fills `levels` and `visits`; false when a child is no node, or the nodes form a cycle.
bool measure(Trees &trees);

/// The leaf, counted from 0, of each row of x in each tree: [rows, trees].
mlir::Value reachedLeaves(PrimBuilder &b, const Trees &trees, mlir::Value x);

} // namespace tcc
