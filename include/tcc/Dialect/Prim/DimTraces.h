//===- DimTraces.h - Where extents were traced to ---------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::prim {

/// While one lives and listens to a builder, prim::dimOf through that builder remembers how far it
/// came from each value: in a chain of n operators of dynamic shape the extents of the last one are
/// then one step away and not n. For code that only appends: an operator may be erased, but the
/// operands of one that stays may not change. An operator or a block that comes to lie where an
/// erased one lay is noticed when it is inserted.
class DimTraces : public mlir::OpBuilder::Listener {
public:
  using Extent = std::pair<mlir::Value, unsigned>; ///< of a tensor, its axis

  explicit DimTraces(mlir::OpBuilder &builder);
  ~DimTraces() override;
  DimTraces(const DimTraces &) = delete;
  DimTraces &operator=(const DimTraces &) = delete;

  /// The one that listens to `builder`, or null.
  static DimTraces *of(const mlir::OpBuilder &builder);
  /// An equal extent nearer to where they all come from; of no value where nothing is known.
  Extent lookup(Extent extent) const { return known.lookup(extent); }
  void remember(llvm::ArrayRef<Extent> path, Extent end);

  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint from) override;
  void notifyBlockInserted(mlir::Block *block, mlir::Region *previous,
                           mlir::Region::iterator place) override;

private:
  void forget(mlir::ValueRange values);

  mlir::OpBuilder &builder;
  DimTraces *outer;
  llvm::DenseMap<Extent, Extent> known;
};

/// Where extent `axis` of `value` comes from, as dimOf finds it, and nothing is made: a tensor and
/// its axis, or a size that an operator was given and 0. Equal origins are equal extents.
DimTraces::Extent extentOrigin(mlir::Value value, unsigned axis);

} // namespace tcc::prim
