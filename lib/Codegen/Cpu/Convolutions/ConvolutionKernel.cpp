//===- ConvolutionKernel.cpp - Convolutions with packed weights as kernels ===//
//
// Rows of the template are output pixels, columns output channels; a kernel of
// another form of convolution (unknown weights, transposed) is elemental.
//
//===----------------------------------------------------------------------===//
#include "../Products/ProductSpec.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Prim/PresentTaps.h"
#include "tcc/Dialect/Prim/Signedness.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

std::optional<ConvSpec> tcc::codegen::convSpec(OpBuilder &b, Location loc, prim::ConvOp op,
                                               ArrayRef<Index> in, ArrayRef<Index> out,
                                               const CpuTarget &cpu) {
  KernelBuilder k(b, loc);
  ConvSpec spec;
  cpu::PanelsAttr panels = cpu::panelsOf(op.getW());
  size_t spatial = op.getStrides().size();
  if (!cpu::panelWidth(op.getW()) || spatial < 1 || spatial > 3)
    return std::nullopt;
  auto x = tensorType(op.getX()), w = tensorType(op.getW());
  spec.cpu = cpu;
  spec.batch = in[0];
  for (ConvDim &dim : spec.dims) {
    dim.input = dim.output = k.constant(1);
    dim.padBefore = k.constant(0);
  }
  for (size_t i = 0; i < spatial; ++i) {
    ConvDim &dim = spec.dims[3 - spatial + i];
    dim.input = in[i + 1];
    dim.output = out[i + 1];
    dim.padBefore = k.constant(op.getLow()[i]);
    dim.kernel = w.getDimSize(i + 2);
    dim.stride = op.getStrides()[i];
    dim.dilation = op.getDilations()[i];
  }
  Type result = tensorType(op.getResult()).getElementType();
  spec.groups = op.getGroups();
  spec.panelWidth = cpu::panelWidth(op.getW());
  spec.channels = w.getDimSize(1);
  spec.filters = w.getDimSize(0) / spec.groups;
  spec.presentTaps = llvm::to_vector(prim::presentTaps(op));
  spec.inputElement = storageType(x.getElementType());
  spec.weightElement = storageType(w.getElementType());
  spec.inputUnsigned = prim::isUnsigned(x.getElementType());
  spec.weightUnsigned = prim::isUnsigned(w.getElementType());
  spec.acc = storageType(sumType(result));
  if (panels && panels.getStep() > 1)
    spec.steps = isa<FloatType>(spec.acc)
                     ? bfloatSteps(cpu)
                     : byteStepsOf(cpu, panels.getStep(), spec.inputUnsigned, spec.weightUnsigned,
                                   spec.inputElement.getIntOrFloatBitWidth());
  spec.zero = op.getZero();
  if (spec.steps.size > 1)
    spec.steps.lhsZero = static_cast<int32_t>(spec.zero);
  spec.winograd = !panels;
  setDenseStrides(k, spec);
  return spec;
}

bool tcc::codegen::emitConvolutionKernel(KernelFrame &f, const ConvSchedule &schedule) {
  auto op = cast<prim::ConvOp>(contractionOf(f.launch));
  const Memory *input = f.e.memoryOf(op.getX()), *weights = f.e.memoryOf(op.getW());
  SmallVector<Index> in, out;
  SmallVector<Value> pixels;
  unsigned rank = tensorType(op.getResult()).getRank();
  for (Value v : input->extents)
    in.push_back(getAsOpFoldResult(v));
  for (unsigned i = 0; i < rank; ++i) {
    Value d = f.e.extent(op.getResult(), i);
    out.push_back(getAsOpFoldResult(d));
    if (i + 1 < rank)
      pixels.push_back(d);
  }
  auto spec = convSpec(f.b, f.b.getLoc(), op, in, out, f.cpu);
  spec->schedule = schedule;
  spec->input = input->pointer;
  spec->weights = weights->pointer;
  withEpilogue(f, op, {}, pixels, true, [&](EpilogueFn epilogue) {
    emitConvTasks(f.b, f.b.getLoc(), *spec, f.begin, f.end, epilogue);
  });
  return !f.failed;
}
