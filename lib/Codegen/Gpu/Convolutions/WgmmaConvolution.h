//===- WgmmaConvolution.h - Convolutions for wgmma ---------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A channels-last convolution is the product of its windows by its
// filters. The windows' rows are in memory nowhere: a bulk tensor copy in its im2col mode takes
// one tap of neighbouring windows, 64 channels at a time, with zeros for what is padding. So a
// step of the product is a slice of channels of a tap.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"
#include <optional>

namespace tcc::codegen::device {

struct ConvolutionWindow {
  prim::ConvOp op;
  llvm::SmallVector<int64_t, 3> taps;        ///< of each spatial axis
  int64_t channels, filters, filtersOfGroup; ///< channels: of a group, in units of 16 bits

  /// Null unless im2col copies take the convolution: channels last, no dilated input, operands in
  /// memory, filters in the order [filters, taps, channels], padding, strides and dilations that
  /// a tensor map has room for. Several groups need whole slices of channels and whole columns of
  /// the narrowest tile.
  static std::optional<ConvolutionWindow> of(prim::ConvOp op);

  int64_t slices() const; ///< of a group's channels
  int64_t steps() const;
  /// Whether a tile of so many filters is of one group.
  bool fits(int64_t columns) const {
    return filtersOfGroup == filters || filtersOfGroup % columns == 0;
  }

  /// The image's and the filters' tensor maps, of tiles of `rows` by `columns`.
  llvm::SmallVector<TensorMap> tensorMaps(mlir::OpBuilder &b, kernel::LaunchOp launch,
                                          unsigned rows, unsigned columns) const;

  /// Coordinates of bulk tensor copies, innermost axis first, 32 bits.
  struct Copies {
    llvm::SmallVector<mlir::Value> image, taps; ///< taps: 16 bits
  };
  /// Where the window of pixel `row` stands.
  llvm::SmallVector<mlir::Value> windowAt(KernelFrame &f, mlir::Value row) const;
  /// The filters of step `step`, from `firstColumn` on.
  llvm::SmallVector<mlir::Value> filtersAt(KernelFrame &f, mlir::Value firstColumn,
                                           mlir::Value step) const;
  /// The image's copy of step `step` for tiles whose first window stands at `window`.
  Copies copiesAt(KernelFrame &f, mlir::ValueRange window, mlir::Value firstColumn,
                  mlir::Value step) const;
};

} // namespace tcc::codegen::device
