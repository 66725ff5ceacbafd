//===- AtenNode.h - Arguments of an FX node, for its rule --------*- C++ -*-===//
//
// What ATen rules read their arguments with: by name, with the defaults of
// torch's schemas, which the file leaves out. A number may be an attribute or a
// computed value; an extent is either as a `Dim`.
//
// The file states the element type of every result as torch computed it, so
// rules need no type promotion for their results: `give` casts to it, and
// arithmetic is done in it (`own`). Comparisons promote their operands.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Decompose/Idioms/Axes.h"
#include "tcc/Decompose/Rules.h"

namespace tcc::aten {

class AtenNode {
public:
  /// `asVectors`: tensors that the rule reads with an axis, as torch does: of rank 0
  /// they come as vectors of one element, and what the file states as rank 0 loses
  /// that axis again.
  explicit AtenNode(NodeContext &c, llvm::ArrayRef<llvm::StringRef> asVectors = {})
      : c(c), b(c.b), asVectors(asVectors) {}

  NodeContext &c;
  PrimBuilder &b;

  //===-- Tensors -----------------------------------------------------------===//
  /// The tensor argument, or null.
  mlir::Value tensor(llvm::StringRef name) const;
  bool has(llvm::StringRef name) const;
  /// A tensor, or a number as a rank-0 tensor, in `elementType`; null if absent.
  mlir::Value number(llvm::StringRef name, mlir::Type elementType) const;
  mlir::Value number(llvm::StringRef name, double otherwise, mlir::Type elementType) const;
  /// Likewise, a number that an integer type lacks as the nearest one that it has: what bounds
  /// values.
  mlir::Value bound(llvm::StringRef name, mlir::Type elementType) const;
  /// The tensors of a list argument; a None among them is null.
  llvm::SmallVector<mlir::Value> tensors(llvm::StringRef name) const;

  //===-- Numbers, text and lists -------------------------------------------===//
  int64_t integer(llvm::StringRef name, int64_t otherwise) const;
  double real(llvm::StringRef name, double otherwise) const;
  bool flag(llvm::StringRef name, bool otherwise) const;
  llvm::StringRef text(llvm::StringRef name, llvm::StringRef otherwise = "") const;
  /// An integer that may be computed; nullopt when absent or None.
  std::optional<Dim> extent(llvm::StringRef name) const;
  Dim extent(llvm::StringRef name, int64_t otherwise) const;
  /// A list of them, or one as a list of one.
  std::optional<Dims> extents(llvm::StringRef name) const;
  /// A list of constants, likewise.
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name) const;
  std::optional<llvm::SmallVector<double>> reals(llvm::StringRef name) const;
  /// A window attribute for `count` axes: one entry stands for all; nothing or an
  /// empty list for `otherwise`. Fails on another number of entries.
  mlir::FailureOr<llvm::SmallVector<int64_t>> window(llvm::StringRef name, size_t count,
                                                     int64_t otherwise) const;
  /// An axis, within a tensor of this rank (rank 0 has axis 0, as in torch).
  mlir::FailureOr<int64_t> axis(llvm::StringRef name, int64_t otherwise, int64_t rank) const;
  mlir::FailureOr<int64_t> within(int64_t axis, int64_t rank) const;
  /// A list of distinct axes, sorted; all when absent, None or empty.
  mlir::FailureOr<llvm::SmallVector<int64_t>> axes(llvm::StringRef name, int64_t rank) const;
  /// The element type of a dtype argument, or null.
  mlir::Type dtype(llvm::StringRef name) const;

  //===-- Types -------------------------------------------------------------===//
  /// The element type of result `i` as the file states it.
  mlir::Type own(size_t i = 0) const;
  /// That in which several steps are computed: f32 for narrower floats.
  mlir::Type wide(size_t i = 0) const;
  static mlir::Type wide(mlir::Type elementType);
  /// torch's promotion of the named arguments, tensors and numbers.
  mlir::Type promoted(llvm::ArrayRef<llvm::StringRef> names) const;
  static bool isFloat(mlir::Type t) { return mlir::isa<mlir::FloatType, mlir::ComplexType>(t); }

  //===-- Results -----------------------------------------------------------===//
  /// Result 0 (or i), cast to its stated element type.
  mlir::LogicalResult give(mlir::Value v) { return give(0, v); }
  mlir::LogicalResult give(size_t i, mlir::Value v);
  /// A host integer as a result.
  mlir::LogicalResult giveExtent(Dim d);
  mlir::LogicalResult fail(const llvm::Twine &reason) const { return c.fail(reason); }

  //===-- Common steps ------------------------------------------------------===//
  /// No cast takes the real part of a complex operand: that is a fault of the model here.
  mlir::Value cast(mlir::Value v, mlir::Type t) const;
  /// The tensor in `wide()`, or complex as it is where the result is real.
  mlir::Value wideTensor(llvm::StringRef name) const;
  /// x - y as torch has it: integers wrap in the type common to both, floats are `wide()`.
  mlir::Value difference(llvm::StringRef x, llvm::StringRef y) const;
  /// |v| of real or complex v, and its conjugate.
  mlir::Value magnitude(mlir::Value v) const;
  mlir::Value conjugate(mlir::Value v) const;
  /// An attribute as a rank-0 constant, exactly (also large integers).
  mlir::Value constant(mlir::Attribute value, mlir::Type elementType) const;
  mlir::Value extentTensor(Dim d, mlir::Type elementType) const;

private:
  llvm::ArrayRef<llvm::StringRef> asVectors;
  void needConstant(llvm::StringRef name) const;
  Dim extentOf(mlir::Attribute value) const; ///< null when it is none
};

using AtenRule = mlir::LogicalResult (*)(AtenNode &);

/// One row of a family's table: `overloads`, `required` and `asVectors` are lists
/// separated by blanks. The rule runs when all required arguments are tensors.
struct AtenEntry {
  llvm::StringRef op, overloads, required;
  std::function<mlir::LogicalResult(AtenNode &)> rule;
  llvm::StringRef asVectors = {};
};
void addRules(RuleSet &rules, std::initializer_list<AtenEntry> table,
              llvm::StringRef domain = "aten");

} // namespace tcc::aten
