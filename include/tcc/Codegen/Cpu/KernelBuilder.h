//===- KernelBuilder.h - Index and pointer arithmetic of kernels -*- C++ -*-===//
//
// A kernel is loops over indices that load from and store to raw pointers. This
// wraps an OpBuilder and a location with what such code is made of: index
// arithmetic that folds constants as it is built (so that one builder serves
// static and dynamic shapes), typed addresses, loops that vanish when they run
// once, and stack scratch in the entry block.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include <optional>

namespace tcc::codegen {

using Index = mlir::OpFoldResult; ///< an index: an IntegerAttr or an `index` value

class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  // Index arithmetic on nonnegative values, folded where both sides are constant.
  Index constant(int64_t value) { return builder.getIndexAttr(value); }
  Index add(Index a, Index b);
  Index sub(Index a, Index b);
  Index mul(Index a, Index b);
  Index floorDiv(Index a, Index b);
  Index ceilDiv(Index a, Index b);
  Index rem(Index a, Index b);
  Index min(Index a, Index b);
  Index max(Index a, Index b);
  Index mulAdd(Index a, Index b, Index c) { return add(mul(a, b), c); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, Index a, Index b);

  mlir::Value toI64(Index index);
  mlir::Value value(Index index);
  static std::optional<int64_t> known(Index index);
  static bool isKnown(Index index, int64_t value) { return known(index) == value; }

  // Memory. Offsets count elements of `element`; alignment is the element's.
  mlir::Value address(mlir::Value base, mlir::Type element, Index offset);
  mlir::Value load(mlir::Type type, mlir::Value pointer);
  void store(mlir::Value value, mlir::Value pointer);
  /// A vector of i1: which of `lanes` lanes are among the first `valid`.
  mlir::Value firstLanes(unsigned lanes, Index valid);
  /// The first `valid` lanes of `type`; the others are zero and never touched.
  mlir::Value loadPart(mlir::VectorType type, mlir::Value pointer, Index valid);
  void storePart(mlir::Value value, mlir::Value pointer, Index valid);
  /// 64-byte aligned stack memory, allocated once at the kernel's entry.
  mlir::Value scratch(mlir::Type element, int64_t count);
  static constexpr unsigned kInL1 = 3, kInL2 = 2;
  void prefetch(mlir::Value pointer, unsigned locality = kInL2);

  // Values
  mlir::Value zero(mlir::Type type);
  mlir::Value broadcast(mlir::Value scalar, unsigned lanes);
  /// `value` as elements of type `element`: widened, or itself.
  mlir::Value widen(mlir::Value value, mlir::Type element, bool isUnsigned = false);

  // Control. A loop of one known iteration is emitted without the loop.
  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(Index iv, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> loop(Index lower, Index upper, Index step, mlir::ValueRange init,
                                      LoopBody body);
  void loop(Index lower, Index upper, Index step, llvm::function_ref<void(Index iv)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  void ifThenElse(mlir::Value condition, llvm::function_ref<void()> then,
                  llvm::function_ref<void()> otherwise);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace tcc::codegen
