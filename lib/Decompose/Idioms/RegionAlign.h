//===- RegionAlign.h - Regions of images, pooled -----------------*- C++ -*-===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"

namespace tcc {

struct RegionPooling {
  int64_t height = 1, width = 1; ///< bins of the result
  double scale = 1;              ///< from the regions' coordinates to pixels
  int64_t samples = 0;           ///< a bin has along an axis; 0: by the region's extent
  bool halfPixel = true;         ///< coordinates are of pixels' centres
  bool average = true;           ///< else the largest sample
};

/// Regions [R, 4] (left, top, right, bottom) of the images [R] of x: [R, C, height, width]. Null,
/// with a fault, when the operands do not fit together.
mlir::Value alignRegions(PrimBuilder &b, mlir::Value x, mlir::Value regions, mlir::Value images,
                         const RegionPooling &o);

/// The largest element of each bin, of regions in whole pixels, likewise; an empty bin has 0.
mlir::Value maximaOfRegions(PrimBuilder &b, mlir::Value x, mlir::Value regions, mlir::Value images,
                            const RegionPooling &o);

/// Likewise of position-sensitive images, in which each bin has channels of its own (channel c of
/// bin (i, j) is channel (c * height + i) * width + j of x): means of samples, and of whole pixels.
mlir::Value alignParts(PrimBuilder &b, mlir::Value x, mlir::Value regions, mlir::Value images,
                       const RegionPooling &o);
mlir::Value meansOfParts(PrimBuilder &b, mlir::Value x, mlir::Value regions, mlir::Value images,
                         const RegionPooling &o);

} // namespace tcc
