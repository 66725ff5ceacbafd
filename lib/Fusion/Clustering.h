//===- Clustering.h - The walk that forms clusters ---------------*- C++ -*-===//
//
// Internal to lib/Fusion. Clusters.cpp decides what joins what, ClusterProducts.cpp what goes with
// a product and ClusterRows.cpp where reductions go; ClusterReads.cpp tells who reads a value, at
// which index, and whether from memory.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Clusters.h"
#include "tcc/Analysis/AttentionForm.h"
#include "tcc/Dialect/Prim/DimTraces.h"

namespace tcc::fusion {

/// The axes before those that a reduction of rows takes, and after them.
struct RowAxes {
  unsigned rows, line;
};

class Clustering {
public:
  Clustering(mlir::Block &block, FusionPolicy policy)
      : block(block), policy(policy), builder(block.getParentOp()->getContext()) {
    unsigned n = 0;
    for (mlir::Operation &op : block)
      positions[&op] = n++;
  }
  std::vector<std::unique_ptr<Cluster>> run();

private:
  /// Whoever reads `value` through free operators: clusters, or memory.
  /// `copied`: a view of the value is written to memory for those who need it there.
  void readers(mlir::Value value, llvm::SmallSetVector<Cluster *, 4> &clusters, bool &memory,
               bool copied = false);
  /// Whether the host reads `value`, if at all, after `position`.
  bool hostReadersFollow(mlir::Value value, unsigned position);
  /// The index at which cluster `g` reads `value`.
  Access accessIn(Cluster &g, mlir::Value value);
  /// At how many places a point of cluster `g` reads `value`: operators on the way that shift what
  /// they read ask again, others at the place where they are asked.
  unsigned placesRead(const Cluster &g, mlir::Value value);
  void place(mlir::Operation *op);
  bool asksForPoints(mlir::Operation *op) const {
    return policy.fuse && policy.model && policy.model->asksForPoints(op);
  }
  bool isApart(mlir::Operation *op) const { return policy.apart && policy.apart->contains(op); }
  Cluster *startCluster(mlir::Operation *op);
  bool needsCopy(mlir::Value view);
  bool turnsFirst(prim::TransposeOp op);
  bool readsMemory(mlir::OpOperand &use);
  bool isQuery(mlir::Value value, const Cluster &g);
  llvm::SmallVector<mlir::OpFoldResult> extentsOf(mlir::Operation *op, mlir::Value v);
  bool joins(mlir::Operation *op, Cluster &g);
  std::optional<RowAxes> rowAxesOf(prim::ReduceOp op);
  bool computesForRows(prim::ReduceOp op) const;
  bool wantsOwnPass(prim::ReduceOp op, const Cluster &g);
  bool joinsRows(prim::ReduceOp op, Cluster &g);
  bool isOfLines(mlir::Operation *op, const Cluster &g, llvm::ArrayRef<int> at);
  bool joinsPoints(prim::ReduceOp op, Cluster &g);
  bool joinsEpilogue(mlir::Operation *op, Cluster &g);
  bool goesWithProduct(mlir::Operation *op, Cluster &g);
  bool addsToProduct(mlir::Operation *op);
  bool endsProduct(mlir::Operation *op, Cluster &g);
  bool joinsAsking(mlir::Operation *op, Cluster &g);
  bool storesParts(mlir::Operation *op);
  bool leavesTranspose(mlir::Operation *product, const Cluster &g);
  bool isReadInPlace(Cluster &g, mlir::Value v);
  void takeAttention(mlir::Operation *op, Cluster &g);
  void takeJoins(const AttentionForm &form, Cluster &g);
  bool worthRecomputing(mlir::Operation *op, Cluster &g);
  bool worthEachRow(mlir::Operation *op, const Cluster &g, const Access &at);
  bool hasFewPoints(const Cluster &g) const;
  void add(mlir::Operation *op, Cluster &g);

  mlir::Block &block;
  FusionPolicy policy;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<mlir::Operation *, Cluster *> clusterOf;
  llvm::DenseMap<mlir::Operation *, unsigned> places; ///< in its cluster, at which it is computed
  std::vector<std::unique_ptr<Cluster>> clusters;
  mlir::OpBuilder builder;
  prim::DimTraces traces{builder};
};

/// The dims of a row kernel's space at which it reads what it reduces.
Access reducedAccess(RowAxes axes, llvm::ArrayRef<mlir::OpFoldResult> space);

KernelKind contractionKind(mlir::Operation *op);
/// Whether an access is at the loop index itself, unit axes aside.
bool isIdentity(llvm::ArrayRef<int> at, llvm::ArrayRef<mlir::OpFoldResult> space);
/// Whether an access walks the first `count` loop dims in order, unit axes and loop
/// dims of one iteration aside.
bool isPrefix(llvm::ArrayRef<int> at, unsigned count, llvm::ArrayRef<mlir::OpFoldResult> space);
/// Extents are equal as values, or asked of the same axis in two places.
bool sameExtents(llvm::ArrayRef<mlir::OpFoldResult> x, llvm::ArrayRef<mlir::OpFoldResult> y);

} // namespace tcc::fusion
