//===- VectorMath.cpp - Elementary functions as plain arithmetic ----------===//
#include "tcc/Codegen/Common/VectorMath.h"
#include "VectorMathEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace tcc::codegen {
namespace {
using vmath::Emitter;
using vmath::Fp;

/// The results of an operation of the math dialect on f32 or f64 operands; empty
/// for one that LLVM knows.
SmallVector<Fp> expandOp(Operation *op, ArrayRef<Fp> x) {
  using Results = SmallVector<Fp>;
  return TypeSwitch<Operation *, Results>(op)
      .Case([&](math::ExpOp) { return Results{exp(x[0])}; })
      .Case([&](math::Exp2Op) { return Results{exp2(x[0])}; })
      .Case([&](math::ExpM1Op) { return Results{expm1(x[0])}; })
      .Case([&](math::LogOp) { return Results{log(x[0])}; })
      .Case([&](math::Log2Op) { return Results{log2(x[0])}; })
      .Case([&](math::Log10Op) { return Results{log10(x[0])}; })
      .Case([&](math::Log1pOp) { return Results{log1p(x[0])}; })
      .Case([&](math::SinOp) { return Results{sin(x[0])}; })
      .Case([&](math::CosOp) { return Results{cos(x[0])}; })
      .Case([&](math::SincosOp) {
        auto [s, c] = sincos(x[0]);
        return Results{s, c};
      })
      .Case([&](math::TanOp) { return Results{tan(x[0])}; })
      .Case([&](math::TanhOp) { return Results{tanh(x[0])}; })
      .Case([&](math::ErfOp) { return Results{erf(x[0])}; })
      .Case([&](math::PowFOp) { return Results{pow(x[0], x[1])}; })
      .Case([&](math::RsqrtOp) { return Results{1.0 / sqrt(x[0])}; })
      .Default([](Operation *) { return Results{}; });
}

bool allFloat(Operation *op) {
  return llvm::all_of(op->getOperandTypes(),
                      [](Type t) { return isa<FloatType>(getElementTypeOrSelf(t)); });
}

void expandOne(Operation *op, const ExpandMathOptions &options) {
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  Emitter emitter{builder, options};
  if (!allFloat(op))
    return;
  Type type = op->getOperand(0).getType();
  bool narrow = getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32;
  Type wide = vmath::withElementType(type, builder.getF32Type());
  SmallVector<Fp> operands;
  for (Value v : op->getOperands())
    operands.push_back({&emitter, narrow ? arith::ExtFOp::create(builder, wide, v) : v});
  SmallVector<Fp> results = expandOp(op, operands);
  if (results.empty())
    return;
  for (auto [old, expanded] : llvm::zip_equal(op->getResults(), results))
    old.replaceAllUsesWith(narrow ? Value(arith::TruncFOp::create(builder, type, expanded.v))
                                  : expanded.v);
  op->erase();
}

class ExpandMathPass : public PassWrapper<ExpandMathPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  ExpandMathPass() = default;
  explicit ExpandMathPass(const ExpandMathOptions &options) { hasFma = options.hasFma; }
  ExpandMathPass(const ExpandMathPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "tcc-codegen-expand-math"; }
  StringRef getDescription() const override { return "Elementary functions as plain arithmetic"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }
  void runOnOperation() override { expandMath(getOperation(), {hasFma}); }

private:
  Option<bool> hasFma{*this, "has-fma", llvm::cl::desc("The target has fused multiply-add"),
                      llvm::cl::init(true)};
};

} // namespace

void expandMath(Operation *root, const ExpandMathOptions &options) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    expandOne(op, options);
}

std::unique_ptr<Pass> createExpandMathPass(const ExpandMathOptions &options) {
  return std::make_unique<ExpandMathPass>(options);
}
void registerExpandMathPass() {
  registerPass([] { return createExpandMathPass(); });
}

} // namespace tcc::codegen
