//===- ConvKernel.h - A convolution for tests and benchmarks ----*- C++ -*-===//
#pragma once
#include "KernelRunner.h"
#include "tcc/Codegen/Cpu/Conv.h"

namespace tcc::test {

struct ConvCase {
  int64_t batch = 1;
  int64_t input[3] = {1, 1, 1}; ///< depth, height, width
  int64_t channels, filters;    ///< of all groups
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  int64_t groups = 1;
  bool dynamic = false;  ///< batch and extents are read from memory
  bool winograd = false; ///< in tiles

  int64_t output(unsigned d) const {
    return (input[d] + 2 * pad[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
  }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t pixels() const { return batch * output(0) * output(1) * output(2); }
  double flops() const { return 2.0 * pixels() * filters * taps() * (channels / groups); }
};

/// A module with @conv(args = {input, weights, output, bias, batch, 3 x input extent,
/// 3 x output extent}), output = relu(conv + bias), and @tasks, which stores the number
/// of tasks to args[11].
mlir::OwningOpRef<mlir::ModuleOp>
convModule(mlir::MLIRContext &context, const CpuTarget &cpu, const ConvCase &shape,
           std::optional<codegen::ContractionSchedule> schedule = {});

/// Weights [filters][channels / groups][kernel] as the kernel reads them.
std::vector<float> packConvWeights(const CpuTarget &cpu, const float *weights,
                                   const ConvCase &shape);

/// One output element before bias and relu, in double.
double convReference(const ConvCase &shape, const float *input, const float *weights, int64_t pixel,
                     int64_t filter);

} // namespace tcc::test
