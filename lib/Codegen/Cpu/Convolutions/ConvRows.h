//===- ConvRows.h - Rows of A for convolutions ------------------*- C++ -*-===//
//
// A convolution's matrix A has a row for every output pixel and a column for every
// filter tap and channel, and does not exist in memory. Two feeds stand in for it;
// both find the input pixels of a tile once and serve all panels and groups.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../Products/TileLoop.h"
#include "ZeroPoint.h"

namespace tcc::codegen {

/// Input coordinates of a pixel, outermost first; outside of the image in padding.
using Pixel = llvm::SmallVector<Index, 3>;

/// Covers [0, count) with vectors: a loop of whole ones, then halves down to one.
void forChunks(KernelBuilder &k, int64_t count, int64_t lanes,
               llvm::function_ref<void(Index at, unsigned width)> body);

/// What `body` makes of the sums where `condition` holds, else the sums.
llvm::SmallVector<mlir::Value> runIf(KernelBuilder &k, mlir::Value condition, mlir::ValueRange sums,
                                     llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);

/// Taps of a block of k, at most.
int64_t blockTaps(const ConvSpec &spec, const ContractionSchedule &schedule);

/// Truth values in memory, a byte each.
void storeFlag(KernelBuilder &k, mlir::Value flag, mlir::Value flags, Index at);
mlir::Value loadFlag(KernelBuilder &k, mlir::Value flags, Index at);

class ConvFeed : public RowFeed {
public:
  bool writesRows() const override { return true; }

protected:
  ConvFeed(const ConvSpec &spec, const ContractionSchedule &schedule)
      : spec(spec), schedule(schedule) {}

  /// Calls `body` for each row of a tile with its image and the pixel under the
  /// filter's first tap; rows that are not valid repeat the last valid one.
  using RowFn = llvm::function_ref<void(Index row, Index image, const Pixel &first)>;
  void forRows(KernelBuilder &k, const TileRows &rows, RowFn body);
  /// Output coordinates of a row: image, depth, height, width.
  llvm::SmallVector<Index, 4> outputOf(KernelBuilder &k, Index row) const;
  /// How far tap number `tap` is from the first one.
  Pixel tapShift(KernelBuilder &k, Index tap) const;
  /// Whether taps can fall outside of the image in dimension `d`.
  bool leavesImage(KernelBuilder &k, unsigned d) const;
  /// Whether so many of the taps of a tile's rows lie outside of the image that they are passed
  /// over: in the first `dims` dimensions, for tiles of `rows` rows.
  bool passesOver(KernelBuilder &k, unsigned dims, int64_t rows) const;
  /// Elements from the start of an image to a pixel.
  Index pixelOffset(KernelBuilder &k, const Pixel &pixel) const;

  const ConvSpec &spec;
  const ContractionSchedule &schedule;
};

/// Reads the input in place: a table has a pointer for every tap and row, to the
/// input pixel or, outside of the image, to a line of padding. Taps that no filter of a panel has
/// are passed over, and those that lie outside for all rows of a tile.
class PointerRows : public ConvFeed {
public:
  PointerRows(KernelBuilder &k, const ConvSpec &spec, const ContractionSchedule &schedule);
  void prepare(KernelBuilder &k, const TileRows &rows, const KBlock &block) override;
  void enterPanel(KernelBuilder &k, Index panel) override;
  llvm::SmallVector<mlir::Value> run(KernelBuilder &k, const RegisterTile &tile,
                                     const PanelSource &panel, Index group, const KBlock &block,
                                     mlir::ValueRange accs) override;

private:
  void storeMasks(KernelBuilder &k);
  /// Of a tile's rows, a lane each: what all taps' pointers start from.
  struct Origins {
    mlir::Value offset;   ///< elements from the input to the pixel under the first tap
    mlir::Value pixel[3]; ///< its coordinates; null where no tap leaves the image
  };
  Origins originsOf(KernelBuilder &k, const TileRows &rows);
  /// The same by arithmetic on lanes; nullopt where rows may wrap too often or extents are open.
  std::optional<Origins> originsInLanes(KernelBuilder &k, const TileRows &rows);

  int64_t slots; ///< rows of the table, a power of two
  mlir::Value padding, table;
  mlir::Value reached; ///< for each tap, whether a row of the tile has it inside; null: not asked
  mlir::Value masks;   ///< of a group's panels, a bit for each tap that a filter has; null: all do
  mlir::Value present; ///< that of the panel which is next; null: all of them
};

/// Copies the pixels under the filter into scratch: for few channels, where a whole
/// line of the filter is copied at once.
class GatheredRows : public ConvFeed {
public:
  GatheredRows(KernelBuilder &k, const ConvSpec &spec, const ContractionSchedule &schedule);
  void prepare(KernelBuilder &k, const TileRows &rows, const KBlock &block) override;
  llvm::SmallVector<mlir::Value> run(KernelBuilder &k, const RegisterTile &tile,
                                     const PanelSource &panel, Index group, const KBlock &block,
                                     mlir::ValueRange accs) override;

private:
  void gatherLine(KernelBuilder &k, Index image, const Pixel &pixel, mlir::Value to);
  void gatherTap(KernelBuilder &k, Index image, const Pixel &pixel, mlir::Value to);
  void copy(KernelBuilder &k, Index image, const Pixel &pixel, int64_t count, mlir::Value to);
  void fill(KernelBuilder &k, int64_t count, mlir::Value to);
  mlir::Value inside(KernelBuilder &k, const Pixel &pixel, int64_t width);

  bool lines; ///< a line of the filter is contiguous in the input
  int64_t pixelElements, rowStride;
  mlir::Type element; ///< of the copies
  mlir::Value packed;
};

} // namespace tcc::codegen
