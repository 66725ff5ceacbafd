//===- Shapes.h - Types and symbolic dims ------------------------*- C++ -*-===//
//
// Turns the file's tensor metadata into MLIR types. A size that is an expression
// over symbols becomes `?`, unless the user fixed the symbols in it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Import/TorchExport/Schema.h"
#include "Import/TorchExport/SymExpr.h"
#include "mlir/IR/Builders.h"
#include "tcc/Import/ImportOptions.h"
#include "tcc/Signature/Signature.h"
#include "llvm/ADT/StringSet.h"

namespace tcc::torchexport {

class Shapes {
public:
  explicit Shapes(mlir::MLIRContext &context) : builder(&context) {}

  /// Applies the user's options to the inputs, given in order as (name, type).
  /// The error names the input or symbol, not the file.
  struct Input {
    llvm::StringRef name;
    const TensorMeta *meta;
  };
  llvm::Error bind(llvm::ArrayRef<Input> inputs, const llvm::StringMap<Range> &ranges,
                   const ImportOptions &options);

  /// Whether all sizes and strides that the graph states can be read, over symbols that the inputs
  /// or the ranges define. After `bind`.
  llvm::Error check(const Graph &graph);

  llvm::Expected<mlir::RankedTensorType> type(const TensorMeta &meta);
  /// `graph.dims`: a number or an expression's text for each dim.
  llvm::Expected<mlir::ArrayAttr> dimNames(const TensorMeta &meta);
  /// Of the symbols that are still free.
  llvm::SmallVector<Symbol> ranges();
  /// What the file states of a size, when it is no number.
  const SymExpr *expression(const SymInt &size) { return size.value ? nullptr : parsed(size.expr); }
  /// The value that the user's options give a symbol.
  std::optional<int64_t> fixedValue(llvm::StringRef symbol) const;
  /// Whether the metadata says surely that the tensor is dense and row-major.
  bool isContiguous(const TensorMeta &meta);

private:
  const SymExpr *parsed(llvm::StringRef expr);
  llvm::Expected<int64_t> size(const SymInt &size);
  llvm::Error fix(llvm::StringRef symbol, int64_t value, llvm::StringRef because);
  llvm::Error bindInput(const Input &input, llvm::ArrayRef<ShapeDim> dims);
  std::optional<int64_t> trial(const SymInt &value, int64_t seed);
  std::optional<int64_t> trial(const SymExpr &expr, int64_t seed);
  llvm::Error readRanges(const llvm::StringMap<Range> &ranges);
  bool isKnown(llvm::StringRef symbol) const;
  std::string faultOf(const SymExpr &expr);
  std::string faultOf(const SymInt &value);

  mlir::Builder builder;
  llvm::StringMap<std::optional<SymExpr>> expressions;
  llvm::StringMap<int64_t> fixed;
  struct Bounds {
    int64_t min = 0, max = INT64_MAX;
  };
  llvm::StringMap<Bounds> bounds;
  std::vector<std::string> order;      ///< of the symbols in the inputs
  llvm::StringSet<> ranged;            ///< the symbols in the file's ranges
  llvm::StringMap<std::string> faults; ///< by expression, as far as checked
};

/// Bytes that a tensor of this shape takes, or nothing when that overflows.
std::optional<uint64_t> tensorBytes(DType dtype, llvm::ArrayRef<int64_t> shape);

} // namespace tcc::torchexport
