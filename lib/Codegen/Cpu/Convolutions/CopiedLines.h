//===- CopiedLines.h - Lines of a convolution's input -----------*- C++ -*-===//
//
// Where there are few channels, what lies under one filter is short, and finding it costs as much
// as multiplying it. A task is a line of outputs, or a part of one: the input lines under it are
// copied to scratch once, with zeros where they leave the image. From then on every pixel is a
// constant away from the first, and the register tile needs no addresses of its own.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "ConvRows.h"

namespace tcc::codegen {

/// The lines that an output line reads.
LineCopies lineCopies(const ConvSpec &spec);

class CopiedLines : public ConvFeed {
public:
  CopiedLines(KernelBuilder &k, const ConvSpec &spec, const ContractionSchedule &schedule);
  /// The tasks that follow are of output line `number`, counted through all images.
  void setLine(Index number) { line = number; }
  void begin(KernelBuilder &k, Index first, Index end) override;
  void prepare(KernelBuilder &k, const TileRows &rows, const KBlock &block) override;
  bool writesRows() const override { return false; }
  bool keepsPanels() const override { return true; }
  llvm::SmallVector<mlir::Value> run(KernelBuilder &k, const RegisterTile &tile,
                                     const PanelSource &panel, Index group, const KBlock &block,
                                     mlir::ValueRange accs) override;

private:
  /// Copies elements [first, first + length) of an input line, of which some may not exist.
  void copyLine(KernelBuilder &k, mlir::Value from, mlir::Value inside, Index first, Index length,
                mlir::Value to);
  mlir::Value copyOf(KernelBuilder &k, Index line) const;

  LineCopies copies;
  int64_t lineStride; ///< elements of scratch for a line
  mlir::Value scratch;
  mlir::Value reached;               ///< for each line, whether the image has it; null: not asked
  Index line, firstPixel, tilePixel; ///< the tile's first pixel from the task's on
};

} // namespace tcc::codegen
