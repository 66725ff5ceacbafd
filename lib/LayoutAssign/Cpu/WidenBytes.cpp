//===- WidenBytes.cpp - Bytes that are multiplied in pairs come as such ---===//
//
// x86 without VNNI multiplies pairs of 16-bit numbers (vpmaddwd). A row of A is read again for each
// panel of B, and a byte pair that is broadcast and widened each time costs three instructions,
// two of which share ports with the products. Widened where it is stored, a pair is broadcast as it
// is loaded. B stays bytes: of a tile each vector of it is widened once for all rows.
//
//   %x = prim.cast %floats : to ui8
//   %y = prim.conv %x, %w
//   %f = prim.cast %x : to f32              // of a residual
// becomes
//   %x = prim.cast %floats : to ui8
//   %a = prim.cast %x : to i16
//   %y = prim.conv %a, %w
//   %f = prim.cast %a : to f32
//
// Fusion puts the cast into the kernel that makes the bytes, which nobody reads then. Other readers
// that widen the bytes anyway read the wider ones, so that one of the two is stored. Runs after
// weights are packed, whose order says how they are multiplied: kernels of single elements
// (depthwise convolutions) widen to 32 bits, those of four bytes a step (StepDot.cpp) do not.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/LayoutAssign/LayoutAssign.h"

namespace tcc {
#define GEN_PASS_DEF_WIDENBYTESPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class WidenBytesPass : public tcc::impl::WidenBytesPassBase<WidenBytesPass> {
public:
  explicit WidenBytesPass(const CpuTarget *cpu) : cpu(cpu) {}
  void runOnOperation() override;

private:
  const CpuTarget *cpu;
};

} // namespace

static bool areBytes(Value x, Value w, Value result) {
  auto isByte = [](Value v) { return tensorType(v).getElementType().isInteger(8); };
  return isByte(x) && isByte(w) && tensorType(result).getElementType().isInteger(32);
}

/// Weights that are packed in pairs say so; others are single elements, or fours.
static bool arePairs(Value weights) {
  cpu::PanelsAttr panels = cpu::panelsOf(weights);
  return panels && panels.getStep() == 2;
}

/// Whether its kernel multiplies pairs of bytes that lie beside each other in `op`'s rows.
static bool takesPairs(prim::DotOp op) {
  bool packed = bool(prim::layoutOf(op.getRhs()));
  return areBytes(op.getLhs(), op.getRhs(), op.getResult()) && op.getLhsContract().size() == 1 &&
         op.getLhsContract()[0] == tensorType(op.getLhs()).getRank() - 1 &&
         (!packed || arePairs(op.getRhs()));
}

static bool takesPairs(prim::ConvOp op) {
  return areBytes(op.getX(), op.getW(), op.getResult()) && arePairs(op.getW());
}

void WidenBytesPass::runOnOperation() {
  if (cpu->byteDot != ByteDot::Pairs)
    return;
  SetVector<Value> bytes;
  SmallVector<OpOperand *> operands;
  getOperation().walk([&](Operation *op) {
    auto dot = dyn_cast<prim::DotOp>(op);
    auto conv = dyn_cast<prim::ConvOp>(op);
    if (!(dot && takesPairs(dot)) && !(conv && takesPairs(conv)))
      return;
    operands.push_back(&op->getOpOperand(0));
    bytes.insert(op->getOperand(0));
  });
  DenseMap<Value, Value> widened;
  for (Value x : bytes) {
    OpBuilder b(&getContext());
    b.setInsertionPointAfterValue(x);
    RankedTensorType type = tensorType(x).clone(b.getI16Type());
    Value wide = widened[x] = prim::CastOp::create(b, x.getLoc(), type, x);
    for (OpOperand &use : llvm::make_early_inc_range(x.getUses())) {
      auto cast = dyn_cast<prim::CastOp>(use.getOwner());
      if (!cast || cast.getResult() == wide)
        continue;
      Type to = tensorType(cast.getResult()).getElementType();
      if (to.isF32() || to.isInteger(32))
        use.set(wide);
    }
  }
  for (OpOperand *operand : operands)
    operand->set(widened[operand->get()]);
}

std::unique_ptr<Pass> tcc::createWidenBytesPass(const CpuTarget *cpu) {
  return std::make_unique<WidenBytesPass>(cpu);
}
