//===- KernelCodegen.cpp - Templates by kind and their task spaces --------===//
#include "tcc/Codegen/Cpu/KernelCodegen.h"
#include "ProductSpec.h"
#include "SpecialKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using kernel::KernelKind;

namespace {

/// Host index arithmetic that folds.
struct HostIndex {
  OpBuilder &b;
  Location loc;
  OpFoldResult constant(int64_t v) { return b.getIndexAttr(v); }
  template <typename Op>
  OpFoldResult apply(OpFoldResult x, OpFoldResult y, int64_t (*fold)(int64_t, int64_t)) {
    auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
    if (cx && cy)
      return constant(fold(*cx, *cy));
    return Op::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, x),
                      getValueOrCreateConstantIndexOp(b, loc, y))
        .getResult();
  }
  OpFoldResult mul(OpFoldResult x, OpFoldResult y) {
    return apply<arith::MulIOp>(x, y, [](int64_t a, int64_t c) { return a * c; });
  }
  OpFoldResult max(OpFoldResult x, OpFoldResult y) {
    return apply<arith::MaxSIOp>(x, y, [](int64_t a, int64_t c) { return std::max(a, c); });
  }
  OpFoldResult ceilDiv(OpFoldResult x, OpFoldResult y) {
    return apply<arith::CeilDivSIOp>(x, y, [](int64_t a, int64_t c) { return (a + c - 1) / c; });
  }
};

} // namespace

static TaskSpace loopTasks(HostIndex h, kernel::LaunchOp launch, ArrayRef<OpFoldResult> dims,
                           const CpuTarget &cpu) {
  LoopCut cut = cutLoop(launch, cpu);
  if (dims.empty())
    return {h.constant(1), h.constant(1)};
  OpFoldResult tasks = h.ceilDiv(dims[cut.axis], h.constant(cut.chunk));
  for (auto [axis, d] : llvm::enumerate(dims.take_front(cut.axis)))
    tasks = h.mul(tasks, axis == cut.rowAxis ? h.ceilDiv(d, h.constant(cut.rows)) : d);
  return {tasks, h.constant(cut.grain)};
}

/// Tasks worth a thread, of `tasks` that make up a product of m x n x k: a thread that
/// waits for work takes some microseconds to answer.
static OpFoldResult productGrain(HostIndex h, OpFoldResult tasks, ArrayRef<OpFoldResult> extents) {
  constexpr int64_t kGrainProducts = 1 << 17;
  OpFoldResult products = h.constant(1);
  for (OpFoldResult d : extents)
    products = h.mul(products, d);
  return h.ceilDiv(h.mul(tasks, h.constant(kGrainProducts)), h.max(products, h.constant(1)));
}

/// The extents of an operand of an op in the region, as host values.
static SmallVector<Index> hostExtents(OpBuilder &b, kernel::LaunchOp launch, Value inside) {
  auto argument = cast<BlockArgument>(inside);
  return prim::dimsOf(b, launch.getLoc(), launch.getInputs()[argument.getArgNumber()]);
}

/// The extents of the product of `launch`, whose result may be a transpose of it.
static SmallVector<Index> productExtents(OpBuilder &b, kernel::LaunchOp launch) {
  SmallVector<Index> stored = prim::dimsOf(b, launch.getLoc(), launch.getResult(0));
  Value yielded = launch.getBody().front().getTerminator()->getOperand(0);
  auto transpose = yielded.getDefiningOp<prim::TransposeOp>();
  if (!transpose)
    return stored;
  SmallVector<Index> extents(stored.size());
  for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
    extents[axis] = stored[i];
  return extents;
}

/// Tasks of a contraction or convolution that a template does.
static std::optional<TaskSpace> productTasks(OpBuilder &b, kernel::LaunchOp launch,
                                             const CpuTarget &cpu) {
  Operation *op = launch.getKind() == KernelKind::Contraction ||
                          launch.getKind() == KernelKind::Convolution
                      ? contractionOf(launch)
                      : nullptr;
  if (!op)
    return std::nullopt;
  Value first = memoryBehind(op->getOperand(0)), second = memoryBehind(op->getOperand(1));
  if (!isa<BlockArgument>(first) || !isa<BlockArgument>(second))
    return std::nullopt;
  HostIndex h{b, launch.getLoc()};
  if (auto conv = dyn_cast<prim::PackedConvOp>(op)) {
    auto spec = convSpec(b, launch.getLoc(), conv, hostExtents(b, launch, conv.getX()),
                         productExtents(b, launch), cpu);
    if (!spec)
      return std::nullopt;
    return TaskSpace{emitConvTaskCount(b, launch.getLoc(), *spec), h.constant(1)};
  }
  if (isa<prim::ConvOp>(op))
    return std::nullopt;
  auto product = productSpec(b, launch.getLoc(), op, hostExtents(b, launch, first),
                             hostExtents(b, launch, second), cpu);
  if (!product)
    return std::nullopt;
  if (auto dot = dyn_cast<prim::DotOp>(op)) {
    int64_t rank = cast<RankedTensorType>(dot.getRhs().getType()).getRank();
    if (rank - static_cast<int64_t>(dot.getRhsBatch().size() + dot.getRhsContract().size()) > 1)
      return std::nullopt;
  }
  const ContractionSpec &spec = product->spec;
  Index tasks = h.mul(emitContractionTaskCount(b, launch.getLoc(), spec), product->batch);
  return TaskSpace{tasks, productGrain(h, tasks, {product->batch, spec.m, spec.n, spec.k})};
}

/// Lines along an axis in parallel, or one task.
static TaskSpace specialTasks(OpBuilder &b, HostIndex h, kernel::LaunchOp launch) {
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  auto line = lineAxis(yield.getValues()[0].getDefiningOp());
  OpFoldResult tasks = h.constant(1);
  if (line)
    for (auto [i, d] : llvm::enumerate(hostExtents(b, launch, line->first)))
      if (i != line->second)
        tasks = h.mul(tasks, d);
  return {tasks, h.constant(line ? 4 : 1)};
}

TaskSpace tcc::codegen::taskSpace(OpBuilder &b, kernel::LaunchOp launch, const CpuTarget &cpu) {
  HostIndex h{b, launch.getLoc()};
  SmallVector<OpFoldResult> dims = prim::dimsOf(b, launch.getLoc(), launch.getResult(0));
  if (launch.getKind() == KernelKind::Row) {
    OpFoldResult tasks = h.constant(1);
    for (OpFoldResult d : ArrayRef(dims).take_front(*launch.getRows()))
      tasks = h.mul(tasks, d);
    return {tasks, h.constant(4)};
  }
  if (auto space = productTasks(b, launch, cpu))
    return *space;
  if (launch.getKind() == KernelKind::Special)
    return specialTasks(b, h, launch);
  return loopTasks(h, launch, dims, cpu);
}

static bool emitTemplate(KernelFrame &frame) {
  switch (frame.launch.getKind()) {
  case KernelKind::Loop:
    return emitLoopKernel(frame);
  case KernelKind::Row:
    return emitRowKernel(frame);
  case KernelKind::Contraction:
    return emitContractionKernel(frame);
  case KernelKind::Convolution:
    return emitConvolutionKernel(frame);
  case KernelKind::Special:
    return emitSpecialKernel(frame);
  }
  llvm_unreachable("all kinds are handled above");
}

func::FuncOp tcc::codegen::emitKernel(kernel::LaunchOp launch, ModuleOp module, StringRef name,
                                      const CpuTarget &cpu) {
  MLIRContext *context = module.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Type index = b.getIndexType(), pointer = LLVM::LLVMPointerType::get(context);
  auto function = func::FuncOp::create(b, launch.getLoc(), name,
                                       b.getFunctionType({pointer, index, index}, {}));
  KernelFrame frame(launch, function, cpu);
  bool ok = emitTemplate(frame);
  func::ReturnOp::create(frame.b);
  return ok ? function : func::FuncOp();
}
