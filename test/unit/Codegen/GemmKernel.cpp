#include "GemmKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Dialect/Cpu/WeightPanels.h"

using namespace mlir;
using namespace tcc::codegen;
namespace tcc::test {
namespace {

struct Kernel {
  func::FuncOp function;
  Value args, begin, end;
};

Kernel startKernel(OpBuilder &builder, ModuleOp module, StringRef name) {
  builder.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  auto function = func::FuncOp::create(builder, module.getLoc(), name,
                                       builder.getFunctionType({pointer, i64, i64}, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  return {function, entry->getArgument(0), entry->getArgument(1), entry->getArgument(2)};
}

Value argument(KernelBuilder &k, Value args, int64_t index, Type type) {
  return k.load(type, k.address(args, k.builder.getI64Type(), k.constant(index)));
}

Value toIndex(KernelBuilder &k, Value value) {
  return arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), value);
}

ContractionSpec makeSpec(KernelBuilder &k, const CpuTarget &cpu, const GemmCase &shape,
                         const ContractionSchedule &schedule, Value args) {
  auto pointer = LLVM::LLVMPointerType::get(k.builder.getContext());
  auto dim = [&](bool dynamic, int64_t value, int64_t index) -> Index {
    if (!dynamic)
      return k.constant(value);
    return toIndex(k, argument(k, args, index, k.builder.getI64Type()));
  };
  ContractionSpec spec;
  spec.cpu = cpu;
  spec.schedule = schedule;
  spec.m = dim(shape.dynamicM, shape.m, 4);
  spec.n = dim(shape.dynamicN, shape.n, 5);
  spec.k = dim(shape.dynamicK, shape.k, 6);
  spec.acc = spec.aElement = spec.bElement = k.builder.getF32Type();
  spec.a = argument(k, args, 0, pointer);
  spec.b = argument(k, args, 1, pointer);
  spec.aRowStride = shape.transposedA ? k.constant(1) : spec.k;
  spec.aKStride = shape.transposedA ? spec.m : k.constant(1);
  spec.bLayout = shape.layout;
  spec.bStride = shape.layout == PanelLayout::RowMajor ? spec.n : spec.k;
  return spec;
}

void emitGemm(OpBuilder &builder, ModuleOp module, const CpuTarget &cpu, const GemmCase &shape,
              const ContractionSchedule &schedule) {
  Kernel kernel = startKernel(builder, module, "gemm");
  KernelBuilder k(builder, module.getLoc());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  ContractionSpec spec = makeSpec(k, cpu, shape, schedule, kernel.args);
  Value c = argument(k, kernel.args, 2, pointer), bias = argument(k, kernel.args, 3, pointer);
  Type f32 = builder.getF32Type();
  auto epilogue = [&](OpBuilder &b, Location loc, Value m, Value n, Value acc, Index valid) {
    KernelBuilder e(b, loc);
    auto type = cast<VectorType>(acc.getType());
    if (shape.relu) {
      Value add = e.loadPart(type, e.address(bias, f32, n), valid);
      acc = arith::AddFOp::create(b, loc, acc, add);
      acc = arith::MaximumFOp::create(b, loc, acc, e.zero(type));
    }
    e.storePart(acc, e.address(c, f32, e.mulAdd(m, spec.n, n)), valid);
  };
  emitContractionTasks(builder, module.getLoc(), spec, toIndex(k, kernel.begin),
                       toIndex(k, kernel.end), epilogue);
  func::ReturnOp::create(builder, module.getLoc());
}

void emitTaskCount(OpBuilder &builder, ModuleOp module, const CpuTarget &cpu, const GemmCase &shape,
                   const ContractionSchedule &schedule) {
  Kernel kernel = startKernel(builder, module, "tasks");
  KernelBuilder k(builder, module.getLoc());
  ContractionSpec spec = makeSpec(k, cpu, shape, schedule, kernel.args);
  Value count = k.value(emitContractionTaskCount(builder, module.getLoc(), spec));
  Value wide = arith::IndexCastOp::create(builder, k.loc, builder.getI64Type(), count);
  k.store(wide, k.address(kernel.args, builder.getI64Type(), k.constant(7)));
  func::ReturnOp::create(builder, module.getLoc());
}

} // namespace

llvm::SmallVector<ContractionSchedule> candidatesOf(const CpuTarget &cpu, const GemmCase &shape) {
  ContractionShape known;
  known.m = shape.dynamicM ? -1 : shape.m;
  known.n = shape.dynamicN ? -1 : shape.n;
  known.k = shape.dynamicK ? -1 : shape.k;
  known.b = shape.layout;
  known.copiesA = shape.transposedA && shape.copiedA;
  known.alongK = !shape.transposedA;
  return rankContraction(cpu, known, /*variations=*/true);
}

ContractionSchedule scheduleOf(const CpuTarget &cpu, const GemmCase &shape) {
  return candidatesOf(cpu, shape).front();
}

OwningOpRef<ModuleOp> gemmModule(MLIRContext &context, const CpuTarget &cpu, const GemmCase &shape,
                                 const ContractionSchedule &schedule) {
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, builder.getUnknownLoc());
  emitGemm(builder, *module, cpu, shape, schedule);
  emitTaskCount(builder, *module, cpu, shape, schedule);
  return module;
}

std::vector<float> layOutB(const std::vector<float> &b, const GemmCase &shape, int64_t panelWidth) {
  if (shape.layout == PanelLayout::RowMajor)
    return b;
  std::vector<float> out(shape.n * shape.k);
  if (shape.layout == PanelLayout::Transposed) {
    for (int64_t k = 0; k < shape.k; ++k)
      for (int64_t n = 0; n < shape.n; ++n)
        out[n * shape.k + k] = b[k * shape.n + n];
    return out;
  }
  PanelShape panels{1, (shape.n + panelWidth - 1) / panelWidth, shape.k, panelWidth};
  llvm::SmallVector<char, 0> bytes =
      packPanels(reinterpret_cast<const char *>(b.data()), sizeof(float),
                 {panels, {1, 0}, {shape.n, 1}, {{shape.k, shape.n}}});
  out.resize(panels.elements());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

} // namespace tcc::test
