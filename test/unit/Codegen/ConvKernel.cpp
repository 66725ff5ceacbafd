//===- ConvKernel.cpp - Convolutions of the template as functions ---------===//
//
// The module has the kernel, which does a range of tasks, and a function that gives their number.
// Extents that a case leaves open are read from the arguments, so that the template sees them as
// a model's kernel does. The yardstick sums in double, tap by tap.
//
//===----------------------------------------------------------------------===//
#include "ConvKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include <cstring>

using namespace mlir;
using namespace tcc::codegen;
namespace tcc::test {
namespace {

struct Kernel {
  Value args, begin, end;
};

Kernel startKernel(KernelBuilder &k, ModuleOp module, StringRef name) {
  OpBuilder &builder = k.builder;
  builder.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  auto function =
      func::FuncOp::create(builder, k.loc, name, builder.getFunctionType({pointer, i64, i64}, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto index = [&](Value value) {
    return arith::IndexCastOp::create(builder, k.loc, builder.getIndexType(), value).getResult();
  };
  return {entry->getArgument(0), index(entry->getArgument(1)), index(entry->getArgument(2))};
}

Value argument(KernelBuilder &k, Value args, int64_t index, Type type) {
  return k.load(type, k.address(args, k.builder.getI64Type(), k.constant(index)));
}

ConvSpec makeSpec(KernelBuilder &k, const CpuTarget &cpu, const ConvCase &shape, Value args,
                  std::optional<ContractionSchedule> schedule) {
  auto pointer = LLVM::LLVMPointerType::get(k.builder.getContext());
  auto extent = [&](int64_t value, int64_t index, bool dynamic) -> Index {
    if (!dynamic)
      return k.constant(value);
    Value loaded = argument(k, args, index, k.builder.getI64Type());
    return arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), loaded)
        .getResult();
  };
  ConvSpec spec;
  spec.cpu = cpu;
  spec.winograd = shape.winograd;
  spec.batch = extent(shape.batch, 4, shape.dynamic);
  for (unsigned d = 0; d < 3; ++d) {
    bool dynamic = shape.dynamic && (shape.input[d] > 1 || d == 2);
    spec.dims[d] = {extent(shape.input[d], 5 + d, dynamic),
                    extent(shape.output(d), 8 + d, dynamic),
                    k.constant(shape.pad[d]),
                    shape.kernel[d],
                    shape.stride[d],
                    shape.dilation[d]};
  }
  spec.groups = shape.groups;
  spec.channels = shape.channels / shape.groups;
  spec.filters = shape.filters / shape.groups;
  spec.inputElement = spec.weightElement = spec.acc = k.builder.getF32Type();
  spec.input = argument(k, args, 0, pointer);
  spec.weights = argument(k, args, 1, pointer);
  setDenseStrides(k, spec);
  spec.schedule = schedule ? ConvSchedule(*schedule) : rankConvSchedules(k, spec).front();
  return spec;
}

} // namespace

OwningOpRef<ModuleOp> convModule(MLIRContext &context, const CpuTarget &cpu, const ConvCase &shape,
                                 std::optional<ContractionSchedule> schedule) {
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, builder.getUnknownLoc());
  KernelBuilder k(builder, builder.getUnknownLoc());
  auto pointer = LLVM::LLVMPointerType::get(&context);
  Type f32 = builder.getF32Type(), i64 = builder.getI64Type();

  Kernel conv = startKernel(k, *module, "conv");
  ConvSpec spec = makeSpec(k, cpu, shape, conv.args, schedule);
  Value output = argument(k, conv.args, 2, pointer), bias = argument(k, conv.args, 3, pointer);
  emitConvTasks(builder, k.loc, spec, conv.begin, conv.end,
                [&](OpBuilder &b, Location loc, Value m, Value n, Value acc, Index valid) {
                  KernelBuilder e(b, loc);
                  auto type = cast<VectorType>(acc.getType());
                  Value add = e.loadPart(type, e.address(bias, f32, n), valid);
                  acc = arith::AddFOp::create(b, loc, acc, add);
                  acc = arith::MaximumFOp::create(b, loc, acc, e.zero(type));
                  Index offset = e.mulAdd(m, e.constant(shape.filters), n);
                  e.storePart(acc, e.address(output, f32, offset), valid);
                });
  func::ReturnOp::create(builder, k.loc);

  Kernel tasks = startKernel(k, *module, "tasks");
  Index count = emitConvTaskCount(builder, k.loc, makeSpec(k, cpu, shape, tasks.args, schedule));
  k.store(k.toI64(count), k.address(tasks.args, i64, k.constant(11)));
  func::ReturnOp::create(builder, k.loc);
  return module;
}

std::vector<float> packConvWeights(const CpuTarget &cpu, const float *weights,
                                   const ConvCase &shape) {
  if (shape.winograd) {
    PanelShape panels = winogradPanels(choosePanelWidth(cpu, shape.filters / shape.groups),
                                       shape.filters, shape.channels / shape.groups);
    std::vector<float> packed(panels.elements());
    packWinograd(weights, shape.filters, panels, 0, panels.groups, packed.data());
    return packed;
  }
  ConvExtents extents{shape.groups, shape.filters / shape.groups, shape.channels / shape.groups,
                      shape.taps()};
  PanelShape panels = convPanels(cpu, extents);
  int64_t columns = shape.filters / panels.groups, filterSize = extents.channels * extents.taps;
  llvm::SmallVector<char, 0> bytes =
      packPanels(reinterpret_cast<const char *>(weights), sizeof(float),
                 {panels,
                  {panels.groups, columns * filterSize},
                  {columns, filterSize},
                  {{extents.taps, 1}, {extents.channels, extents.taps}}});
  std::vector<float> packed(bytes.size() / sizeof(float));
  std::memcpy(packed.data(), bytes.data(), bytes.size());
  return packed;
}

double convReference(const ConvCase &shape, const float *input, const float *weights, int64_t pixel,
                     int64_t filter) {
  int64_t at[3], rest = pixel;
  for (int d = 2; d >= 0; --d) {
    at[d] = rest % shape.output(d);
    rest /= shape.output(d);
  }
  int64_t channels = shape.channels / shape.groups;
  int64_t firstChannel = filter / (shape.filters / shape.groups) * channels;
  double sum = 0;
  for (int64_t tap = 0; tap < shape.taps(); ++tap) {
    int64_t left = tap, offset = rest;
    bool inside = true;
    int64_t position[3];
    for (int d = 2; d >= 0; --d) {
      position[d] =
          at[d] * shape.stride[d] - shape.pad[d] + left % shape.kernel[d] * shape.dilation[d];
      left /= shape.kernel[d];
      inside &= position[d] >= 0 && position[d] < shape.input[d];
    }
    if (!inside)
      continue;
    for (unsigned d = 0; d < 3; ++d)
      offset = offset * shape.input[d] + position[d];
    for (int64_t c = 0; c < channels; ++c)
      sum += double(input[offset * shape.channels + firstChannel + c]) *
             weights[(filter * channels + c) * shape.taps() + tap];
  }
  return sum;
}

} // namespace tcc::test
