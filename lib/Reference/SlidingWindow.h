//===- SlidingWindow.h - Which point a window sees -------------*- C++ -*-===//
#pragma once
#include "Reference/Evaluators.h"

namespace tcc::reference {

/// The index arithmetic that convolutions and pooling share: which input point
/// each output point sees through each point ("tap") of the window.
class SlidingWindow {
public:
  struct Axis {
    int64_t input, output, window;
    int64_t stride = 1, dilation = 1, inputDilation = 1, low = 0;
  };
  explicit SlidingWindow(llvm::ArrayRef<Axis> axes) : axes(axes) {}

  int64_t taps() const { return product(&Axis::window); }
  int64_t outputs() const { return product(&Axis::output); }
  int64_t inputs() const { return product(&Axis::input); }

  /// For output points [begin, end), row-major: the row-major position of the
  /// input point seen through `tap`, or -1 outside or between input points.
  void sources(int64_t tap, int64_t begin, int64_t end, int64_t *to) const;

private:
  int64_t product(int64_t Axis::*extent) const;
  llvm::SmallVector<Axis, 3> axes;
};

/// [N, spatial..., C] as [N, C, spatial...], and back.
llvm::Expected<Tensor> channelsFirst(const Tensor &x);
llvm::Expected<Tensor> channelsLast(const Tensor &x);

} // namespace tcc::reference
