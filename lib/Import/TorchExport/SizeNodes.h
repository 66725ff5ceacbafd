//===- SizeNodes.h - Nodes that compute with extents ------------*- C++ -*-===//
//
// What checks of inputs are made of: Python's operators on sizes, which decompose turns into
// arithmetic of the host.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Builders.h"
#include <variant>

namespace tcc::torchexport {

class SizeNodes {
public:
  /// A constant, or a value of the model.
  using Number = std::variant<int64_t, double, mlir::Value>;

  explicit SizeNodes(mlir::OpBuilder &builder) : b(builder) {}
  mlir::Value number(llvm::StringRef domain, llvm::StringRef target,
                     llvm::ArrayRef<Number> arguments);
  mlir::Value real(llvm::StringRef domain, llvm::StringRef target,
                   llvm::ArrayRef<Number> arguments);
  mlir::Value truth(llvm::StringRef domain, llvm::StringRef target,
                    llvm::ArrayRef<Number> arguments);
  mlir::Value choice(const Number &condition, const Number &yes, const Number &no, bool isReal);
  /// Python's round(x, digits) of a double.
  mlir::Value rounded(const Number &x, int64_t digits);
  static constexpr int64_t kMaxDigits = 22; ///< 10**22 is the last one that is a double
  mlir::Value extent(mlir::Value tensor, int64_t axis);
  /// A run fails with the message where the condition does not hold.
  void require(mlir::Value condition, const llvm::Twine &message);

private:
  mlir::Value node(llvm::StringRef domain, llvm::StringRef target, llvm::ArrayRef<Number> arguments,
                   mlir::Type element, llvm::StringRef names = "abc");

  mlir::OpBuilder &b;
};

} // namespace tcc::torchexport
