//===- WeightPanels.h - Weights in the order that kernels read --*- C++ -*-===//
//
// A CPU kernel reads its weights as panels: `width` output columns at a time, all
// of k for them, contiguous. Layout packs weights so at compile time, codegen
// reads them; what both must agree on is here, below either. The order itself is recorded
// as an encoding of the weight's type, #cpu.panels.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Target/Cpu.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc {

/// Rows of the register tile that goes with `vectors` (1 to 4) vectors a row.
unsigned registerTileRows(const CpuTarget &cpu, unsigned vectors);

/// The same where A's rows are copied near each other (a convolution's lines), so that L1 has ways
/// for any number. Of one vector, as many as registers hold the sums of: each vector of B is loaded
/// for more products so, and no sum waits for itself. Of few `terms` storing is the most, by
/// squares.
unsigned lineTileRows(const CpuTarget &cpu, unsigned vectors, int64_t terms);

/// Rows of a register tile of the matrix unit.
inline constexpr int64_t kMatrixTileRows = 32;
/// 32-bit sums of a line of a matrix unit's register.
inline constexpr int64_t kMatrixTileLanes = 16;

/// Columns of a packed panel for `n` output columns (-1: unknown) whose sums have
/// `accBits` bits. A multiple of the vector length.
unsigned choosePanelWidth(const CpuTarget &cpu, int64_t n, unsigned accBits = 32);

/// The taps that filters have, a mask for each of equal runs of them (Dialect/Prim/PresentTaps.h);
/// no masks: all have all.
struct PresentTaps {
  llvm::ArrayRef<int64_t> masks;
  int64_t channels = 1;
};

/// All widths that a target has register tiles for and that `n` columns fill: that one first, or
/// where filters have some taps only another one, whose panels have fewer between them.
llvm::SmallVector<int64_t, 4> panelWidths(const CpuTarget &cpu, int64_t n, unsigned accBits = 32,
                                          const PresentTaps &taps = {});

/// Whether `columns` that lie `bytes` apart share so few sets of a cache that their lines replace
/// each other: whole pages, or parts of one.
bool shareSets(int64_t bytes, int64_t columns);

/// The width of panels whose register tiles have rows that make whole squares, which lines of a
/// cache are stored by, of about the speed of the others; 0: none is.
int64_t squarePanelWidth(const CpuTarget &cpu, int64_t n, unsigned accBits = 32);

/// How 8-bit numbers or bf16 are multiplied into 32-bit sums: `size` neighbours in k are one
/// step of k. Instructions for bytes that take two signednesses only get lhs with its sign bit
/// flipped, which is less or more by 128; the weights' column sums make up for it, and for the
/// number that lhs has where it is nothing.
struct DotSteps {
  unsigned size = 1; ///< 1: element by element, like any other type
  bool flipsLhs = false;
  bool lhsUnsigned = false, rhsUnsigned = false;
  bool bfloat = false;  ///< of bf16, not of bytes
  unsigned lhsBits = 8; ///< of bytes: 16 where lhs comes widened, as instructions for pairs take it
  int32_t lhsZero = 0;  ///< each number of lhs counts less that

  /// What the column sums are multiplied by to be added to the products.
  int32_t sumScale() const { return (!flipsLhs ? 0 : lhsUnsigned ? 128 : -128) - lhsZero; }
  bool addsSums() const { return sumScale() != 0; }
  /// Steps of bytes that are as wide as the sums.
  int64_t sumSteps() const { return addsSums() ? sizeof(int32_t) / size : 0; }
  unsigned elementBits() const { return bfloat ? 16 : 8; }
  unsigned lhsElementBits() const { return bfloat ? 16 : lhsBits; }
  int64_t count(int64_t k) const { return (k + size - 1) / size; }
};
DotSteps byteSteps(const CpuTarget &cpu, bool lhsUnsigned, bool rhsUnsigned, unsigned lhsBits = 8);
/// Steps that instructions take whose sums of two products saturate at 16 bits (x86 without VNNI):
/// of weights that never make them (fitsSaturatingSteps). Of size 1 where there are none.
DotSteps saturatingSteps(const CpuTarget &cpu, bool lhsUnsigned, bool rhsUnsigned);
/// The width of panels whose tiles have room for what products of pairs of bytes wait in before
/// they are added, beside the sums, and widen a vector of B for as many rows as there are. None
/// where steps are others, or registers many, or columns too few.
std::optional<int64_t> roomForPairs(const CpuTarget &cpu, DotSteps steps, int64_t n);
/// Those of panels with steps of `size`, whichever that is.
DotSteps byteStepsOf(const CpuTarget &cpu, int64_t size, bool lhsUnsigned, bool rhsUnsigned,
                     unsigned lhsBits);
DotSteps bfloatSteps(const CpuTarget &cpu);

/// Packed weights: [groups][panels][k][width], columns past `n` of a group are zero.
/// With steps, [groups][panels][steps of k][width][size]: every `run` of k
/// fills whole steps, with zeros at its end. Where column sums are added, each panel ends
/// with steps that hold i32: these sums, scaled.
struct PanelShape {
  int64_t groups = 1, panels = 1, k = 1, width = 1;
  DotSteps steps = {};
  int64_t run = 0; ///< 0: all of k

  int64_t panelRows() const { return k + steps.sumSteps(); }
  int64_t rows() const { return groups * panels * panelRows(); }
  int64_t elements() const { return rows() * width * steps.size; }
  /// As the shape of a tensor, of rank 4 or 5.
  llvm::SmallVector<int64_t, 4> dims() const;
};

/// The shape for `groups` matrices of k x n.
PanelShape packedPanels(const CpuTarget &cpu, int64_t groups, int64_t n, int64_t k,
                        unsigned accBits = 32, DotSteps steps = {});

/// One axis of the weights as they come: extent and stride in elements.
struct PanelAxis {
  int64_t extent, stride;
};

/// Where the elements of weights that lie row-major go in panels: element (g, n, k) lies at
/// g * group.stride + n * column.stride + the strides of k, whose axes are given outermost
/// first: {{kh, ..}, {kw, ..}, {c, ..}} for a convolution.
struct PanelPacking {
  PanelShape shape;
  PanelAxis group, column;
  llvm::SmallVector<PanelAxis, 4> k;
};

/// Packs weights of `elementBytes` a piece.
llvm::SmallVector<char, 0> packPanels(const char *source, unsigned elementBytes,
                                      const PanelPacking &packing);
/// The same for rows [first, last) of all groups * panels * k rows of `width` elements;
/// steps of several elements are packed a whole panel at a time.
void packPanelRows(const char *source, unsigned elementBytes, const PanelPacking &packing,
                   int64_t first, int64_t last, char *packed);
/// And back; column sums are left out.
void unpackPanels(const char *packed, unsigned elementBytes, const PanelPacking &packing, char *to);
/// Whether bytes that are packed so leave 16 bits in no sum of two products with an unsigned byte.
bool fitsSaturatingSteps(const char *source, const PanelPacking &packing);

/// Extents of a convolution's weights; `channels` and `filters` are those of a group.
struct ConvExtents {
  int64_t groups = 1, filters = 1, channels = 1, taps = 1;
};

/// Narrow groups, of fewer filters than a vector has lanes: the lanes of a vector of
/// output channels, which holds one group (8 filters) or several side by side (depthwise
/// to 4 filters). Their panels are as wide and count as one group. 0: not narrow.
unsigned narrowGroupLanes(const CpuTarget &cpu, const ConvExtents &extents, unsigned accBits = 32);

/// Whether the input under the whole filter is copied side by side before it is
/// multiplied: a run over the channels of one tap is too short for a pointer of its own.
bool gathersTaps(const ConvExtents &extents);

/// Whether filters are so few that their input lines are copied, however many channels there are: a
/// tile of one vector has more rows than there are registers for pointers.
bool copiesFewFilters(const CpuTarget &cpu, const ConvExtents &extents, unsigned accBits = 32);

/// byteSteps for a convolution; of size 1 where its kernel takes single elements.
DotSteps convByteSteps(const CpuTarget &cpu, const ConvExtents &extents, bool inputUnsigned,
                       bool weightUnsigned);

/// bfloatSteps for a convolution, in the same way. Few terms are read from lines that are widened
/// when they are copied, and a CPU with a matrix unit multiplies single numbers faster than pairs.
DotSteps convBfloatSteps(const CpuTarget &cpu, const ConvExtents &extents);

/// The panels of convolution weights; k runs over taps, then channels.
PanelShape convPanels(const CpuTarget &cpu, const ConvExtents &extents, unsigned accBits = 32,
                      DotSteps steps = {});

} // namespace tcc
