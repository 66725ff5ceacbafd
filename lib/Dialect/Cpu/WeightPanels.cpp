//===- WeightPanels.cpp - Weights in the order that kernels read ----------===//
//
// Packing reads weights once and writes them once, a part for each thread, straight to where the
// artefact holds them. Weights of a linear layer lie across: their columns are transposed in
// registers four by four, because a stride between stores costs more than the shuffles.
//
//===----------------------------------------------------------------------===//
#include "tcc/Dialect/Cpu/WeightPanels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace llvm;
namespace tcc {
namespace {

/// Register tiles by register file: rows for 1, 2, 3, 4 vectors a row. They fit with
/// the vectors of B and a broadcast, and have no more rows than L1 has ways (8): a
/// row stride of 4096 bytes puts all rows into one set (14x2 then loses 25 %). Of fewer sums than
/// are in flight at once, each waits for itself.
struct TileRow {
  unsigned vectorBits, registers;
  unsigned rows[4];
  unsigned inFlight;
};
constexpr TileRow tileRows[] = {
    {512, 32, {8, 8, 8, 6}, 4},
    {256, 16, {6, 6, 4, 2}, 8},
    {128, 32, {8, 8, 7, 5}, 4},
    {128, 16, {6, 4, 3, 2}, 3},
};

/// Speed of a tile with 1, 2, 3, 4 vectors a row, relative to the best.
constexpr double vectorsSpeed[] = {0.95, 0.98, 1.0, 1.0};

/// Assumed where n is unknown.
constexpr int64_t typicalN = 256;

const TileRow &tileRow(const CpuTarget &cpu) {
  for (const TileRow &row : tileRows)
    if (row.vectorBits == cpu.vectorBits && row.registers <= cpu.vectorRegisters)
      return row;
  return tileRows[3];
}

double panelTime(const CpuTarget &cpu, double columns, unsigned vectors, unsigned lanes) {
  // The last panel computes whole vectors, its last one at half width if that holds it.
  double needed = std::max(0.5, std::ceil(2 * columns / lanes) / 2);
  unsigned used = std::clamp(unsigned(std::ceil(needed)), 1u, vectors);
  const TileRow &tile = tileRow(cpu);
  double waits = std::max(1.0, double(tile.inFlight) / (tile.rows[vectors - 1] * used));
  return needed * waits / vectorsSpeed[used - 1];
}

} // namespace

unsigned registerTileRows(const CpuTarget &cpu, unsigned vectors) {
  return tileRow(cpu).rows[vectors - 1];
}

unsigned lineTileRows(const CpuTarget &cpu, unsigned vectors, int64_t terms) {
  constexpr unsigned manyRegisters = 32, rowsOfMany = 28, someRegisters = 16, rowsOfSome = 8;
  constexpr unsigned fewTerms = 64, rowsOfSquare = 16;
  if (vectors == 1 && cpu.vectorRegisters >= manyRegisters)
    return terms <= fewTerms ? rowsOfSquare : rowsOfMany;
  if (vectors == 1 && cpu.vectorRegisters >= someRegisters)
    return rowsOfSome;
  return registerTileRows(cpu, vectors);
}

unsigned choosePanelWidth(const CpuTarget &cpu, int64_t n, unsigned accBits) {
  unsigned lanes = cpu.lanes(accBits);
  if (n <= 0)
    n = typicalN;
  // Four vectors a row pay only if enough rows remain to amortise their loads.
  unsigned mostVectors = registerTileRows(cpu, 4) >= 5 ? 4 : 3;
  unsigned best = 1;
  double bestTime = HUGE_VAL;
  for (unsigned vectors : {3u, 4u, 2u, 1u}) {
    if (vectors > mostVectors || (vectors > 1 && n <= int64_t(vectors - 1) * lanes))
      continue;
    int64_t width = int64_t(vectors) * lanes;
    double time = double(n / width) * panelTime(cpu, width, vectors, lanes);
    if (n % width)
      time += panelTime(cpu, n % width, vectors, lanes);
    if (time < bestTime - 1e-9) {
      best = vectors;
      bestTime = time;
    }
  }
  return best * lanes;
}

/// How long panels of `vectors` vectors take, each with the taps that one of its filters has: their
/// products, and a pointer for each.
static double presentTime(const CpuTarget &cpu, int64_t n, const PresentTaps &taps,
                          unsigned vectors, unsigned lanes) {
  int64_t width = int64_t(vectors) * lanes;
  int64_t run = divideCeil(n, int64_t(taps.masks.size()));
  double time = 0, rows = tileRow(cpu).rows[vectors - 1];
  for (int64_t begin = 0; begin < n; begin += width) {
    int64_t end = std::min(begin + width, n);
    uint64_t mask = 0;
    for (int64_t filter = begin; filter < end; ++filter)
      mask |= taps.masks[filter / run];
    double used = std::ceil(double(end - begin) / lanes);
    double loads = std::max(1.0, (rows + used) / (rows * used)); // for a product
    double products = panelTime(cpu, end - begin, vectors, lanes) * loads * taps.channels;
    time += popcount(mask) * (products + 1);
  }
  return time;
}

static unsigned presentPanelWidth(const CpuTarget &cpu, int64_t n, const PresentTaps &taps,
                                  ArrayRef<int64_t> widths, unsigned accBits) {
  constexpr double margin = 0.95; // of the usual width, whose task and tile are known to be good
  unsigned lanes = cpu.lanes(accBits);
  auto time = [&](int64_t width) { return presentTime(cpu, n, taps, width / lanes, lanes); };
  int64_t best = widths.front();
  double least = margin * time(best);
  for (int64_t width : widths.drop_front())
    if (double other = time(width); other < least) {
      best = width;
      least = other;
    }
  return best;
}

SmallVector<int64_t, 4> panelWidths(const CpuTarget &cpu, int64_t n, unsigned accBits,
                                    const PresentTaps &taps) {
  constexpr unsigned mostVectors = 4, fewestRows = 3; // of fewer, loads of B are not amortised
  int64_t lanes = cpu.lanes(accBits), best = choosePanelWidth(cpu, n, accBits);
  SmallVector<int64_t, 4> widths{best};
  for (unsigned vectors = 1; vectors <= mostVectors; ++vectors) {
    bool isFilled = n <= 0 || n > int64_t(vectors - 1) * lanes;
    if (isFilled && vectors * lanes != best && registerTileRows(cpu, vectors) >= fewestRows)
      widths.push_back(vectors * lanes);
  }
  if (!taps.masks.empty() && n > 0)
    std::swap(widths.front(),
              *llvm::find(widths, presentPanelWidth(cpu, n, taps, widths, accBits)));
  return widths;
}

bool shareSets(int64_t bytes, int64_t columns) {
  constexpr int64_t page = 4096, ways = 8;
  return std::gcd(bytes, page) * columns >= ways * page;
}

int64_t squarePanelWidth(const CpuTarget &cpu, int64_t n, unsigned accBits) {
  constexpr double slower = 1.06;
  constexpr int64_t square = 8;
  int64_t all[] = {1}, lanes = cpu.lanes(accBits), best = 0; // one tap, of all filters
  double least = HUGE_VAL, usual = HUGE_VAL;
  for (int64_t width : panelWidths(cpu, n, accBits)) {
    double time = presentTime(cpu, n, {all, /*channels=*/64}, width / lanes, lanes);
    usual = std::min(usual, time);
    if (registerTileRows(cpu, width / lanes) % square == 0 && time < least) {
      least = time;
      best = width;
    }
  }
  return least <= slower * usual ? best : 0;
}

std::optional<int64_t> roomForPairs(const CpuTarget &cpu, DotSteps steps, int64_t n) {
  constexpr int64_t vectors = 2, fewRegisters = 16; // by 6 rows
  int64_t width = vectors * cpu.lanes(32);
  bool wait = steps.size > 1 && !steps.bfloat && cpu.byteDot == ByteDot::Pairs;
  bool fills = n <= 0 || n > width / vectors;
  return wait && fills && cpu.vectorRegisters <= fewRegisters ? std::optional(width) : std::nullopt;
}

DotSteps byteSteps(const CpuTarget &cpu, bool lhsUnsigned, bool rhsUnsigned, unsigned lhsBits) {
  DotSteps steps{1, false, lhsUnsigned, rhsUnsigned};
  steps.lhsBits = lhsBits;
  if (lhsBits != 8 && cpu.byteDot != ByteDot::Pairs)
    return steps;
  switch (cpu.byteDot) {
  case ByteDot::None:
    return steps;
  case ByteDot::Pairs:
    steps.size = 2;
    return steps;
  case ByteDot::UnsignedSigned:
  case ByteDot::Same:
    steps.size = 4;
    steps.flipsLhs = (lhsUnsigned == rhsUnsigned) == (cpu.byteDot == ByteDot::UnsignedSigned);
    return steps;
  }
  llvm_unreachable("all kinds are handled above");
}

DotSteps saturatingSteps(const CpuTarget &cpu, bool lhsUnsigned, bool rhsUnsigned) {
  DotSteps steps{1, false, lhsUnsigned, rhsUnsigned};
  constexpr int64_t leastBits = 256; // AVX2; before SSSE3 there is no such instruction
  if (cpu.byteDot == ByteDot::Pairs && !rhsUnsigned && 32 * cpu.lanes(32) >= leastBits) {
    steps.size = 4;
    steps.flipsLhs = !lhsUnsigned;
  }
  return steps;
}

DotSteps byteStepsOf(const CpuTarget &cpu, int64_t size, bool lhsUnsigned, bool rhsUnsigned,
                     unsigned lhsBits) {
  DotSteps steps = byteSteps(cpu, lhsUnsigned, rhsUnsigned, lhsBits);
  return steps.size == size ? steps : saturatingSteps(cpu, lhsUnsigned, rhsUnsigned);
}

DotSteps bfloatSteps(const CpuTarget &cpu) {
  DotSteps steps;
  if (cpu.bfloatDot && StringRef(cpu.triple).starts_with("x86_64")) {
    steps.size = 2;
    steps.bfloat = true;
  }
  return steps;
}

SmallVector<int64_t, 4> PanelShape::dims() const {
  SmallVector<int64_t, 4> all{groups, panels, panelRows(), width};
  if (steps.size > 1)
    all.push_back(steps.size);
  return all;
}

PanelShape packedPanels(const CpuTarget &cpu, int64_t groups, int64_t n, int64_t k,
                        unsigned accBits, DotSteps steps) {
  int64_t width = choosePanelWidth(cpu, n, accBits);
  return {groups, (n + width - 1) / width, steps.count(k), width, steps};
}

/// Where each k lies, in elements.
static SmallVector<int64_t, 0> offsetsOf(ArrayRef<PanelAxis> k) {
  SmallVector<int64_t, 0> offsets{0};
  for (const PanelAxis &axis : k) {
    SmallVector<int64_t, 0> next;
    next.reserve(offsets.size() * axis.extent);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < axis.extent; ++i)
        next.push_back(offset + i * axis.stride);
    offsets = std::move(next);
  }
  return offsets;
}

namespace {
template <unsigned size> struct Element {
  char bytes[size];
};
} // namespace

static bool areNeighbours(ArrayRef<int64_t> offsets) {
  for (size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != offsets[0] + int64_t(i))
      return false;
  return true;
}

/// to[row * width + i] = from[row + i * stride] for 16 rows and `columns` columns, four by four in
/// vectors: a stride between stores costs more than the shuffles.
static int64_t packSquares(const uint32_t *from, int64_t columns, int64_t stride, int64_t width,
                           uint32_t *to) {
  typedef uint32_t V4 __attribute__((vector_size(16), aligned(4)));
  int64_t i = 0;
  for (; i + 4 <= columns; i += 4)
    for (int64_t row = 0; row < 16; row += 4) {
      V4 c[4], pairs[4];
      for (int j = 0; j < 4; ++j)
        std::memcpy(&c[j], from + row + (i + j) * stride, sizeof(V4));
      pairs[0] = __builtin_shufflevector(c[0], c[1], 0, 4, 1, 5);
      pairs[1] = __builtin_shufflevector(c[2], c[3], 0, 4, 1, 5);
      pairs[2] = __builtin_shufflevector(c[0], c[1], 2, 6, 3, 7);
      pairs[3] = __builtin_shufflevector(c[2], c[3], 2, 6, 3, 7);
      for (int j = 0; j < 2; ++j) {
        V4 even = __builtin_shufflevector(pairs[2 * j], pairs[2 * j + 1], 0, 1, 4, 5);
        V4 odd = __builtin_shufflevector(pairs[2 * j], pairs[2 * j + 1], 2, 3, 6, 7);
        std::memcpy(to + (row + 2 * j) * width + i, &even, sizeof(V4));
        std::memcpy(to + (row + 2 * j + 1) * width + i, &odd, sizeof(V4));
      }
    }
  return i;
}

/// Rows [first, first + offsets.size()) of k of one panel, whose first element is at `from`.
template <typename T>
static void packRows(const T *from, int64_t columns, int64_t stride, int64_t width,
                     ArrayRef<int64_t> offsets, T *to) {
  constexpr size_t cacheLine = 16; // of the source, mostly: its elements along k are neighbours
  for (size_t begin = 0; begin < offsets.size(); begin += cacheLine) {
    ArrayRef<int64_t> some = offsets.slice(begin, std::min(cacheLine, offsets.size() - begin));
    int64_t done = 0;
    if constexpr (sizeof(T) == 4)
      if (stride != 1 && some.size() == cacheLine && areNeighbours(some))
        done = packSquares(reinterpret_cast<const uint32_t *>(from + some[0]), columns, stride,
                           width, reinterpret_cast<uint32_t *>(to));
    for (int64_t i = done; i < columns && stride != 1; ++i)
      for (size_t row = 0; row < some.size(); ++row)
        to[row * width + i] = from[some[row] + i * stride];
    for (int64_t offset : some) {
      if (stride == 1)
        std::memcpy(static_cast<void *>(to), from + offset, columns * sizeof(T));
      if (columns < width)
        std::memset(static_cast<void *>(to + columns), 0, (width - columns) * sizeof(T));
      to += width;
    }
  }
}

template <typename T>
static void packElements(const T *source, const PanelPacking &packing, ArrayRef<int64_t> offsets,
                         int64_t first, int64_t last, T *to) {
  const PanelShape &shape = packing.shape;
  const auto &[extent, stride] = packing.column;
  while (first < last) {
    int64_t panel = first / shape.k, k = first % shape.k;
    int64_t rows = std::min(shape.k - k, last - first);
    int64_t g = panel / shape.panels, begin = panel % shape.panels * shape.width;
    int64_t columns = std::clamp<int64_t>(extent - begin, 0, shape.width);
    packRows(source + g * packing.group.stride + begin * stride, columns, stride, shape.width,
             offsets.slice(k, rows), to);
    to += rows * shape.width;
    first += rows;
  }
}

/// One panel of steps: `columns` of it from `from` on, the others zero.
template <typename T>
static void packSteps(const T *from, const PanelShape &shape, int64_t columns, int64_t columnStride,
                      ArrayRef<int64_t> offsets, T *to) {
  int64_t run = shape.run ? shape.run : offsets.size(), size = shape.steps.size;
  SmallVector<int32_t, 64> sums(shape.width);
  std::memset(to, 0, shape.panelRows() * shape.width * size * sizeof(T));
  T *step = to;
  for (; !offsets.empty(); offsets = offsets.drop_front(std::min<size_t>(run, offsets.size())))
    for (int64_t first = 0; first < run; first += size, step += shape.width * size)
      for (int64_t i = 0; i < std::min(size, run - first); ++i)
        for (int64_t column = 0; column < columns; ++column) {
          T value = from[offsets[first + i] + column * columnStride];
          step[column * size + i] = value;
          if constexpr (sizeof(T) == 1)
            sums[column] += shape.steps.rhsUnsigned ? int32_t(uint8_t(value)) : int8_t(value);
        }
  if (!shape.steps.addsSums())
    return;
  for (int32_t &sum : sums)
    sum *= shape.steps.sumScale();
  std::memcpy(step, sums.data(), shape.width * sizeof(int32_t));
}

/// Panels [first, last) of those of all groups.
template <typename T>
static void packStepPanels(const char *source, const PanelPacking &packing,
                           ArrayRef<int64_t> offsets, int64_t first, int64_t last, char *packed) {
  const T *from = reinterpret_cast<const T *>(source);
  T *to = reinterpret_cast<T *>(packed);
  const PanelShape &shape = packing.shape;
  const auto &[extent, stride] = packing.column;
  for (int64_t panel = first; panel < last; ++panel) {
    int64_t begin = panel % shape.panels * shape.width;
    packSteps(from + panel / shape.panels * packing.group.stride + begin * stride, shape,
              std::clamp<int64_t>(extent - begin, 0, shape.width), stride, offsets, to);
    to += shape.panelRows() * shape.width * shape.steps.size;
  }
}

void packPanelRows(const char *source, unsigned elementBytes, const PanelPacking &packing,
                   int64_t first, int64_t last, char *packed) {
  SmallVector<int64_t, 0> offsets = offsetsOf(packing.k);
  const PanelShape &shape = packing.shape;
  if (shape.steps.size > 1)
    return (elementBytes == 1 ? packStepPanels<char>
                              : packStepPanels<uint16_t>)(source, packing, offsets,
                                                          first / shape.panelRows(),
                                                          last / shape.panelRows(), packed);
  assert(int64_t(offsets.size()) == shape.k && "k's axes do not make up k");
  auto pack = [&]<unsigned size>() {
    using T = Element<size>;
    packElements(reinterpret_cast<const T *>(source), packing, offsets, first, last,
                 reinterpret_cast<T *>(packed));
  };
  switch (elementBytes) {
  case 1:
    return pack.operator()<1>();
  case 2:
    return pack.operator()<2>();
  case 4:
    return pack.operator()<4>();
  case 8:
    return pack.operator()<8>();
  default:
    llvm_unreachable("no kernel reads panels of such elements");
  }
}

SmallVector<char, 0> packPanels(const char *source, unsigned elementBytes,
                                const PanelPacking &packing) {
  SmallVector<char, 0> packed;
  packed.resize_for_overwrite(packing.shape.elements() * elementBytes);
  packPanelRows(source, elementBytes, packing, 0, packing.shape.rows(), packed.data());
  return packed;
}

bool fitsSaturatingSteps(const char *source, const PanelPacking &packing) {
  constexpr int most = 32767 / 255, least = -32768 / 255;
  const PanelShape &shape = packing.shape;
  int64_t rowBytes = shape.width * shape.steps.size;
  SmallVector<int8_t, 0> panel(shape.panelRows() * rowBytes);
  char *packed = reinterpret_cast<char *>(panel.data());
  for (int64_t first = 0; first < shape.rows(); first += shape.panelRows()) {
    packPanelRows(source, /*elementBytes=*/1, packing, first, first + shape.panelRows(), packed);
    for (int64_t at = 0; at < shape.k * rowBytes; at += 2) { // not the sums
      int x = panel[at], y = panel[at + 1];
      if (std::max(x, 0) + std::max(y, 0) > most || std::min(x, 0) + std::min(y, 0) < least)
        return false;
    }
  }
  return true;
}

void unpackPanels(const char *packed, unsigned elementBytes, const PanelPacking &packing,
                  char *to) {
  SmallVector<int64_t, 0> offsets = offsetsOf(packing.k);
  const PanelShape &shape = packing.shape;
  int64_t run = shape.run ? shape.run : offsets.size(), size = shape.steps.size;
  for (int64_t g = 0; g < shape.groups; ++g)
    for (auto [k, offset] : llvm::enumerate(offsets)) {
      int64_t step = int64_t(k) / run * shape.steps.count(run) + int64_t(k) % run / size;
      for (int64_t n = 0; n < packing.column.extent; ++n) {
        int64_t row = (g * shape.panels + n / shape.width) * shape.panelRows() + step;
        int64_t from = (row * shape.width + n % shape.width) * size + int64_t(k) % run % size;
        int64_t at = g * packing.group.stride + n * packing.column.stride + offset;
        std::memcpy(to + at * elementBytes, packed + from * elementBytes, elementBytes);
      }
    }
}

unsigned narrowGroupLanes(const CpuTarget &cpu, const ConvExtents &extents, unsigned accBits) {
  unsigned lanes = cpu.lanes(accBits);
  bool narrow = extents.groups > 1 && extents.channels <= extents.filters &&
                extents.filters < lanes && isPowerOf2_64(extents.filters) &&
                isPowerOf2_64(extents.channels);
  if (!narrow)
    return 0;
  // A lane of every group is spread by a shuffle within 128 bits, which is cheap; wider
  // groups have a vector each and their input comes by broadcasting loads.
  return extents.filters * accBits <= 128 ? lanes : extents.filters;
}

bool gathersTaps(const ConvExtents &extents) {
  constexpr int64_t fewChannels = 16;
  return extents.groups == 1 && extents.channels < fewChannels && extents.taps > 1;
}

/// Terms of a pixel that are copied at once; more are a block of taps at a time, in single
/// elements.
static constexpr int64_t mostGathered = 4096;

bool copiesFewFilters(const CpuTarget &cpu, const ConvExtents &extents, unsigned accBits) {
  constexpr unsigned manyRegisters = 32;
  return cpu.vectorRegisters >= manyRegisters && extents.groups == 1 && extents.taps > 1 &&
         extents.filters <= cpu.lanes(accBits);
}

DotSteps convByteSteps(const CpuTarget &cpu, const ConvExtents &extents, bool inputUnsigned,
                       bool weightUnsigned) {
  bool single = narrowGroupLanes(cpu, extents) ||
                (gathersTaps(extents) && extents.taps * extents.channels > mostGathered);
  return single ? DotSteps() : byteSteps(cpu, inputUnsigned, weightUnsigned);
}

DotSteps convBfloatSteps(const CpuTarget &cpu, const ConvExtents &extents) {
  constexpr int64_t leastGathered = 64; // terms: below, copied lines are faster
  int64_t terms = extents.taps * extents.channels;
  bool single = cpu.bfloatTiles || narrowGroupLanes(cpu, extents) ||
                (gathersTaps(extents) && (terms < leastGathered || terms > mostGathered));
  return single ? DotSteps() : bfloatSteps(cpu);
}

PanelShape convPanels(const CpuTarget &cpu, const ConvExtents &extents, unsigned accBits,
                      DotSteps steps) {
  int64_t filterSize = extents.channels * extents.taps;
  if (int64_t lanes = narrowGroupLanes(cpu, extents, accBits)) {
    int64_t columns = extents.groups * extents.filters;
    return {1, (columns + lanes - 1) / lanes, filterSize, lanes};
  }
  PanelShape shape = packedPanels(cpu, extents.groups, extents.filters, filterSize, accBits, steps);
  if (steps.size > 1 && !gathersTaps(extents)) {
    shape.run = extents.channels;
    shape.k = extents.taps * steps.count(extents.channels);
  }
  return shape;
}

} // namespace tcc
