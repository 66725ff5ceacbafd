//===- Aliases.h - In-place operators and views as values --------*- C++ -*-===//
//
// torch's training dialect writes into tensors, also through views of them; the
// graph dialect has values only. While nodes are imported in order, every name
// of the file is an alias: either storage of its own or a view of another alias,
// made by a view operator. Reading an alias gives its current value. Writing one
// gives its storage a new value, by undoing the views between them (a write
// through `select` is a `select_scatter` into what it was selected from), and
// every other view of that storage is made again when it is next read.
//
// This is functionalisation as torch does it (torch/_functorch, FunctionalTensor),
// but lazy: a program that writes nothing gets the very operators it had.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Builders.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace tcc::torchexport {

class AliasTracker {
public:
  using Id = unsigned;

  /// A tensor with storage of its own.
  Id define(mlir::Value value);
  /// Result `result` of `view`, which looks into `source`, its operand number
  /// `operand`.
  Id defineView(Id source, graph::NodeOp view, unsigned operand, unsigned result);

  mlir::Value read(mlir::OpBuilder &builder, Id id);
  /// Sets the elements of `id`. The error says what view cannot be written.
  llvm::Error write(mlir::OpBuilder &builder, Id id, mlir::Value value);
  /// Whether the storage that `id` is, or looks into, was written.
  bool written(Id id) const { return aliases[storageOf(id)].version > 0; }

private:
  struct Alias {
    mlir::Value value;
    unsigned version = 0;     ///< of the storage when `value` was made
    std::optional<Id> source; ///< of a view
    graph::NodeOp view;
    unsigned operand = 0, result = 0;
  };
  Id storageOf(Id id) const;

  std::vector<Alias> aliases;
};

/// A functional ATen node.
graph::NodeOp makeAten(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef target,
                       mlir::ValueRange operands, mlir::ArrayRef<mlir::NamedAttribute> attrs,
                       mlir::TypeRange results);

/// The value of `view`'s operand after result number `result` was set to
/// `updated`; `source` is the operand's value before.
llvm::Expected<mlir::Value> writeThrough(mlir::OpBuilder &builder, graph::NodeOp view,
                                         unsigned operand, unsigned result, mlir::Value source,
                                         mlir::Value updated);

} // namespace tcc::torchexport
