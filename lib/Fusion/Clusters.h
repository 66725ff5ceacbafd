//===- Clusters.h - Which primitive belongs to which kernel --------*- C++ -*-===//
//
// Internal to lib/Fusion: the decision, apart from the rewriting. See the essay
// in Clusters.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Analysis/AccessMap.h"
#include "tcc/Analysis/DotOperand.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Fusion/Fusion.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tcc::fusion {

using kernel::KernelKind;

struct Cluster {
  KernelKind kind = KernelKind::Loop;
  mlir::Operation *root;                       ///< the last op; the kernel runs at its place
  unsigned position;                           ///< of the root in the block
  llvm::SmallVector<mlir::OpFoldResult> space; ///< extents of the loop space
  unsigned rows = 0;                           ///< Row: leading dims of the space that are rows
  unsigned lineDims = 0;                       ///< Row: last dims, along which nothing is reduced
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SetVector<mlir::Value> outputs;
  llvm::DenseMap<mlir::Value, Access> access; ///< how values are read in this cluster
  /// Attention that computes its queries: the product that has them on its left, and what they are
  /// computed by.
  mlir::Operation *scores = nullptr;
  llvm::DenseSet<mlir::Operation *> queries;
  /// Attention that reads what its keys and values are joined from: the concatenations.
  llvm::SmallVector<mlir::Operation *, 2> joins;
  /// Special: the operator, if it asks for its operands point by point.
  mlir::Operation *asking = nullptr;
  /// Special: whether what the operator changes a part of is one number everywhere, which is not
  /// stored first.
  bool fills = false;
};

/// Operators that cost nothing to evaluate wherever they are read.
bool isFree(mlir::Operation *op);
/// Operators with a value at a point, so that they can be part of any loop nest.
bool isPointwise(mlir::Operation *op);
/// Matrix products and convolutions, which read their operands from memory.
bool isContraction(mlir::Operation *op);
/// Whether an operator reads this operand from memory in an order of its own; else it asks for
/// its value at the points that it needs, once each.
bool readsMemory(mlir::OpOperand &use);
/// The same of an operator in `cluster`, which may compute its queries, or what it asks for.
bool readsMemory(mlir::OpOperand &use, const Cluster &cluster);
/// Whether `v` is computed from what lies in memory with another axis last, so that neighbours
/// along its last axis are far apart there.
bool liesAcross(mlir::Value v);
/// The value in memory that a product reads in place through the views before `use`.
std::optional<mlir::Value> readInPlace(mlir::OpOperand &use);
/// Operators that stay on the host.
bool isHost(mlir::Operation *op);

/// The clusters of one block, in the order in which they run. Free operators are
/// in no cluster: each cluster that reads them copies them. Without `policy.fuse`, each other
/// operator is a cluster.
std::vector<std::unique_ptr<Cluster>> formClusters(mlir::Block &block, FusionPolicy policy);

/// Makes launches of the clusters of `block` and of the blocks within.
mlir::LogicalResult fuseBlock(mlir::Block &block, FusionPolicy policy);

} // namespace tcc::fusion
