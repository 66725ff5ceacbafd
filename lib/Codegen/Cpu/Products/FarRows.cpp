//===- FarRows.cpp - How a large B is read where it lies ------------------===//
#include "FarRows.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace tcc::codegen {
namespace {

/// At least so many columns of each row of a large B, or fewer, where a few threads would have
/// nothing to do.
constexpr int64_t streamedColumns = 1024, streamedTasks = 4, leastStreamed = 1024;
/// Rows of B beside each other for so many of A, where the cache that cores share holds it.
constexpr int64_t highRows = 6, highBlock = 64;
/// The same where a task copies B before use, bytes of each, if the sums of A's rows leave room.
constexpr int64_t copiedRows = 64, copiedBytes = 1024, leastCopied = 512;
/// Bytes of stack that a kernel may use for packed panels, and for partial sums.
constexpr int64_t scratchLimit = 64 << 10;
/// Rows of A that wait for more of the cache that cores share, and those beside which copying B is
/// nothing.
constexpr int64_t fewRows = 48, manyRows = 1024;
/// The most rows that a panel which leaves L1 is not copied for.
constexpr int64_t leftRows = 24;
/// Rows that lie so far apart are in the same sets of the caches.
constexpr int64_t pageBytes = 4096, pagedRows = 128;

int64_t bytesOfB(const ContractionShape &shape) { return shape.n * shape.k * (shape.accBits / 8); }
bool readsWholeLines(const CpuTarget &cpu, const ContractionShape &shape,
                     const ContractionSchedule &schedule) {
  return schedule.panelWidth() * (shape.accBits / 8) % cpu.lineBytes == 0;
}
/// What the cache that cores share gives fast enough.
int64_t nearBytes(const CpuTarget &cpu) { return cpu.lastBytes / 5; }

/// Whether panels of parts of lines, which each tile reads again, are better copied once: where
/// they come from beyond L2, since what a batch's matrices take comes between (one that L1 holds is
/// read ahead well enough), and for many rows where vectors lie across two lines.
bool leavesParts(const CpuTarget &cpu, const ContractionShape &shape) {
  bool isFar = bytesOfB(shape) > cpu.l1Bytes && shape.entries * bytesOfB(shape) > cpu.l2Bytes;
  bool splitsVectors = shape.rowBytes % (cpu.vectorBits / 8) != 0;
  bool isHigh = shape.m <= 0 || shape.m > pagedRows;
  return isFar || (splitsVectors && isHigh);
}

} // namespace

bool readsNearRows(const CpuTarget &cpu, const ContractionShape &shape,
                   const ContractionSchedule &schedule) {
  if (shape.rowBytes <= 0 || shape.n <= 0 || shape.k <= 0 || shape.m > manyRows)
    return false;
  bool isFew = shape.m > 0 && shape.m <= fewRows;
  bool wholeLines = readsWholeLines(cpu, shape, schedule);
  bool isPaged = shape.rowBytes % pageBytes == 0;
  if (isPaged && !(wholeLines && shape.m > 0 && shape.m <= pagedRows))
    return false;
  if (shape.alongRows && !wholeLines)
    return false;
  // A panel of parts of lines, of which each tile reads both ends, leaves L1.
  int64_t panelBytes = schedule.panelWidth() * shape.k * (shape.accBits / 8);
  if (!wholeLines && panelBytes > cpu.l1Bytes && !(shape.m > 0 && shape.m <= leftRows))
    return false;
  if (!wholeLines && !isFew && leavesParts(cpu, shape))
    return false;
  int64_t most = nearBytes(cpu);
  if (isFew && wholeLines) // rows within a page are found sooner
    most += shape.rowBytes < pageBytes ? most : most / 2;
  return bytesOfB(shape) <= most;
}

int64_t nearRowsBlock(const CpuTarget &cpu, const ContractionShape &shape,
                      const ContractionSchedule &schedule) {
  constexpr int64_t nearBlock = 256, farBlock = 128;
  int64_t block = bytesOfB(shape) > nearBytes(cpu) ? farBlock : nearBlock;
  int64_t panelBytes = schedule.panelWidth() * shape.k * (shape.accBits / 8);
  bool resident = panelBytes <= cpu.l2Bytes / 4 && block == nearBlock;
  if (shape.k <= block || (resident && shape.rowBytes % pageBytes != 0 && !shape.alongRows))
    return 0;
  return block;
}

FarRows FarRows::of(const CpuTarget &cpu, const ContractionShape &shape, int64_t k,
                    const ContractionSchedule &schedule) {
  int64_t bytes = shape.accBits / 8, m = shape.m, n = shape.n, l2 = cpu.l2Bytes;
  if (shape.b != PanelLayout::RowMajor || shape.matrixTiles || m <= 0 || n <= 0 ||
      (shape.k <= 0 && schedule.packsB()))
    return {};
  int64_t tiles = llvm::divideCeil(m, schedule.rows), each = n * k * bytes;
  bool isBatch = shape.entries >= streamedTasks && shape.entries * each > (m <= 2 ? 2 : 4) * l2 &&
                 k >= 2 * beside && n * bytes >= leastStreamed * tiles;
  if (each <= (m <= 2 ? l2 / 2 : 4 * l2) && (schedule.packsB() || !isBatch))
    return {};
  if (!schedule.packsB()) {
    // Rows of a high tile compute while they wait, so that fewer sums are kept meanwhile.
    bool isHigh = m >= highRows && !isBatch && readsWholeLines(cpu, shape, schedule) &&
                  shape.rowBytes > 0 && shape.rowBytes % pageBytes != 0 &&
                  each <= cpu.lastBytes * 3 / 4;
    return {isHigh ? highBlock : beside * tiles,
            std::min(streamedColumns / tiles, isBatch ? n : n / streamedTasks), tiles};
  }
  int64_t columns = std::min(
      {copiedBytes / bytes, n / streamedTasks, scratchLimit / (bytes * schedule.rows * tiles)});
  return columns * bytes < leastCopied ? FarRows() : FarRows{copiedRows, columns, tiles};
}

} // namespace tcc::codegen
