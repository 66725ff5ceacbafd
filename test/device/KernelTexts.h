//===- KernelTexts.h - Functions that tests of GPU kernels compile -*- C++ -*-===//
//
// The text of a function, fused into launches, run on the simulated device and compared with
// the reference interpreter. Functions that several programs of tests need are made here.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "LaunchCheck.h"
#include "mlir/AsmParser/AsmParser.h"
#include "tcc/Dialect/Prim/Prim.h"

namespace tcc::test {

/// What all functions of a program are parsed in.
mlir::MLIRContext &context();

/// The function @main of `text`, fused.
mlir::OwningOpRef<mlir::ModuleOp> fused(const std::string &text);

/// Values that depend on the calls before in the same case, the same in every run.
reference::Tensor random(DType type, llvm::ArrayRef<int64_t> shape, double low = -2,
                         double high = 2);
reference::Tensor indices(llvm::ArrayRef<int64_t> shape, int64_t low, int64_t high);
/// Whole numbers times `unit`, random too: sums of 16 bits, which the reference rounds at every
/// step, are exact.
reference::Tensor wholes(DType type, llvm::ArrayRef<int64_t> shape, double unit = 1);

/// Fails for every launch of `text` that is wrong on the simulated device, in two orders of
/// its threads.
void check(const std::string &text, llvm::ArrayRef<reference::Tensor> inputs, bool tf32 = false);

/// The schedule of `launch`: of the best template, or of `form`.
codegen::device::Schedule scheduleOf(kernel::LaunchOp launch, const GpuArch &arch,
                                     std::optional<codegen::device::Form> form);
/// The same of the one launch of `text`.
codegen::device::Schedule scheduleOf(const std::string &text,
                                     const GpuArch &arch = *GpuArch::find("sm_80"),
                                     std::optional<codegen::device::Form> form = std::nullopt);

/// Fails where the launches of `text` are wrong on the simulated device, run as `change` has it of
/// the best schedule of form `form`.
void checkAs(
    const std::string &text, llvm::ArrayRef<reference::Tensor> inputs, codegen::device::Form form,
    llvm::function_ref<codegen::device::Schedule(mlir::MLIRContext *, codegen::device::Schedule)>
        change);

/// PTX of a launch, as kernel "k", by the best template or `form`.
std::string ptxOf(kernel::LaunchOp launch, const GpuArch &arch,
                  std::optional<codegen::device::Form> form = std::nullopt);
/// The same of the one launch of `text`.
std::string ptxOf(const std::string &text, const GpuArch &arch,
                  std::optional<codegen::device::Form> form = std::nullopt);

/// Fails where ptxas, if this machine has it, refuses `ptx`, spills registers of kernel "k" or
/// warns.
void checkAssembles(const std::string &ptx, const GpuArch &arch);

/// A function of `arguments` ("%x: tensor<2xf32>, ...") that gives %y.
std::string function(const std::string &arguments, const std::string &type,
                     const std::string &body);

/// The type of a tensor, its shape as "2x3".
std::string tensor(const std::string &shape, const char *type);

std::string softmax(const std::string &rows, const std::string &row);

/// A scatter of `kind`: `updates` rows go to places of `rows` along axis 0, of whose `columns` they
/// have the first `updated`.
std::string scatterRows(const char *kind, const char *type, const std::string &rows,
                        const std::string &updates, const std::string &columns,
                        const std::string &updated);

/// A product of operands of `type` into `result`, with the right one [n, k] or [k, n], a bias and
/// an activation.
std::string product(const std::string &type, const std::string &result, int m, int n, int k,
                    bool byColumns, bool transposed = false);

/// A convolution's attributes. Vectors have a number an axis of the image.
struct Windows {
  std::vector<int64_t> strides, dilations, low, high;
  int64_t groups = 1;
  bool channelsLast = false;
  std::vector<int64_t> inputDilation = std::vector<int64_t>(strides.size(), 1);

  /// The same stride, dilation and padding on two axes, images channels last.
  static Windows square(int64_t stride, int64_t dilation, int64_t padding, int64_t groups);
};
/// "prim.conv %x, %w .." from types of operands to one of the result.
std::string convolution(const Windows &windows, const std::string &x, const std::string &w,
                        const std::string &y);

/// Attention of heads of `queries` by `keys`: scores from %q and %k, the rest as given.
std::string attention(const std::string &head, int64_t queries, int64_t keys, int64_t depth,
                      int64_t width, const std::string &type, const std::string &score,
                      bool zeroed = false);
/// Scores of type `st` that are scaled.
std::string scaled(const std::string &st);

} // namespace tcc::test
