//===- ClusterReflections.cpp - QR by the blocks of a cluster -------------===//
//
// Each warp of the cluster has a few columns in its registers from the first reflection to the
// last: column j is that of block j mod `split`, and there of one warp after the other. The warp
// whose column is next makes the reflection of it and sends it to the shared memory of all blocks
// (ClusterExchange.h), where every warp waits for it and reflects its later columns. So a step is
// what one warp does, and what is sent, and no panel is read again.
//
// Reflections come to a ring; all blocks meet before it begins anew. A lane's elements lie four
// together there, which are sent, and read, at once.
//
//===----------------------------------------------------------------------===//
#include "../ClusterExchange.h"
#include "MatrixBlock.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kTogether = 4;
constexpr unsigned kThreads = 512;

static int64_t ofLaneOf(int64_t rows) { return int64_t(llvm::divideCeil(rows, GpuArch::warp)); }

/// Elements of a reflection in the ring: those of all lanes, then its factor.
static int64_t pitchOf(int64_t rows) {
  return int64_t(llvm::alignTo(ofLaneOf(rows), kTogether)) * GpuArch::warp + kTogether;
}

Room device::roomOfSharedQr(int64_t rows, int64_t reflections) {
  return {{pitchOf(rows) * reflections, 4}, {reflections, ClusterExchange::bytesOfBarrier}};
}

/// As many blocks as give a warp a column or two, where all matrices are factored at once.
bool device::sharesColumns(ScheduleChoice &s, prim::QrOp op, const GpuArch &arch) {
  constexpr int64_t kLeast = 32, kMostElements = 64; // steps; of a lane
  constexpr unsigned kReflections = 16, kMostBlocks = 8, kColumns = 2;
  auto x = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t rows = x.getShape().drop_back().back(), columns = x.getShape().back();
  int64_t batches = volumeOf(x.getShape().drop_back(2)), warps = kThreads / GpuArch::warp;
  if (!arch.clusters() || arch.simulated || !ClusterExchange::canSend(x.getElementType()) ||
      std::min(rows, columns) < kLeast)
    return false;
  auto ofWarp = [&](unsigned split) { return int64_t(llvm::divideCeil(columns, split * warps)); };
  unsigned split = 2;
  while (split < kMostBlocks && ofWarp(split) > kColumns)
    split *= 2;
  // Parts of a GPU have as many multiprocessors as larger clusters do not divide.
  int64_t usable = int64_t(arch.multiprocessors) * 3 / 4;
  if (batches * split > usable || ofWarp(split) * ofLaneOf(rows) > kMostElements)
    return false;
  s.threads = kThreads;
  s.vectors = unsigned(ofWarp(split));
  s.split = split;
  s.depth = kReflections;
  return true;
}

namespace {

class SharedQr {
public:
  SharedQr(MatrixBlock &m, prim::QrOp op)
      : m(m), f(m.f), b(m.b), op(op), exchange(f, f.schedule.getSplit()),
        split(f.schedule.getSplit()), ofWarp(f.schedule.getVectors()), depth(f.schedule.getDepth()),
        ofLane(ofLaneOf(m.rows)), warps(f.schedule.getThreads() / GpuArch::warp),
        steps(std::min(m.rows, m.columns)), ring(m.room(m.type, pitchOf(m.rows) * depth)),
        barriers(m.room(b.getI64Type(), depth)) {
    for (int64_t e = 0; e < ofLane; ++e)
      rows.push_back(f.e.addIndex(m.lane, f.e.index(e * GpuArch::warp)));
  }
  void run();

private:
  int64_t together() const { return int64_t(split) * warps; } ///< columns, of a warp each
  Value columnOf(int64_t i) {
    Value inBlock = f.e.addIndex(m.warp, f.e.index(i * warps));
    return f.e.addIndex(f.e.mulIndex(inBlock, f.e.index(split)), exchange.rank);
  }
  Value barrierOf(Value k) {
    return f.at(barriers, b.getI64Type(), f.e.remIndex(k, f.e.index(depth)));
  }
  Value inRing(Value k, Value element) {
    Value slot = f.e.remIndex(k, f.e.index(depth));
    return f.at(ring, m.type,
                f.e.addIndex(f.e.mulIndex(slot, f.e.index(pitchOf(m.rows))), element));
  }
  /// Where `kTogether` elements of the lane lie, from element `e` on.
  Value placeOf(Value k, int64_t e) {
    Value lane = f.e.mulIndex(m.lane, f.e.index(kTogether));
    return inRing(k, f.e.addIndex(lane, f.e.index(e * GpuArch::warp)));
  }
  Value factorOf(Value k) { return inRing(k, f.e.index(pitchOf(m.rows) - kTogether)); }
  void expect();
  void make(Value k, ArrayRef<Value> column);
  SmallVector<Value> bring(Value k);
  void store(ArrayRef<Value> column, Value number);
  SmallVector<Value> step(int64_t first, Value k, ArrayRef<Value> have);

  MatrixBlock &m;
  KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::QrOp op;
  ClusterExchange exchange;
  int64_t split, ofWarp, depth, ofLane, warps, steps;
  Value ring, barriers;
  SmallVector<Value> rows; ///< of the lane
};

} // namespace

/// A reflection for each place of the ring.
void SharedQr::expect() {
  for (int64_t k = 0; k < depth; ++k)
    exchange.expect(f.at(barriers, b.getI64Type(), f.e.index(k)),
                    (int64_t(ofLane) * GpuArch::warp + 1) * elementBytes(m.type));
  exchange.meet();
}

void SharedQr::store(ArrayRef<Value> column, Value number) {
  for (auto [v, row] : llvm::zip_equal(column, rows))
    f.when(f.less(row, f.e.index(m.rows)), [&, v = v, row = row] { m.putElement(v, row, number); });
}

void SharedQr::make(Value k, ArrayRef<Value> column) {
  Reflection made = reflectionOf(m, k, rows, column);
  Value barrier = barrierOf(k);
  int64_t e = 0;
  for (; e + kTogether <= ofLane; e += kTogether)
    exchange.send(ArrayRef(made.v).slice(e, kTogether), placeOf(k, e), barrier);
  for (int64_t i = 0; e + i < ofLane; ++i)
    exchange.send(made.v[e + i], f.at(placeOf(k, e), m.type, f.e.index(i)), barrier);
  f.when(m.isEqual(m.lane, f.e.index(0)), [&] {
    exchange.send(made.factor, factorOf(k), barrier);
    m.putInColumn(made.factor, 1, k);
  });
  store(made.packed, k);
}

/// The lane's elements of reflection k.
SmallVector<Value> SharedQr::bring(Value k) {
  auto four = VectorType::get({kTogether}, m.type);
  SmallVector<Value> v;
  for (int64_t e = 0; e < ofLane; e += kTogether) {
    Value read = LLVM::LoadOp::create(b, four, placeOf(k, e), GpuArch::accessBytes);
    for (int64_t i = 0; i < std::min(kTogether, ofLane - e); ++i)
      v.push_back(vector::ExtractOp::create(b, read, i));
  }
  return v;
}

/// Step k of those in which the warps' columns `first` are made; `have` begins with that one.
SmallVector<Value> SharedQr::step(int64_t first, Value k, ArrayRef<Value> have) {
  Value zero = f.e.index(0), place = f.e.remIndex(k, f.e.index(depth));
  Value again = arith::AndIOp::create(b, m.isEqual(place, zero), f.less(zero, k));
  f.when(again, [&] { expect(); });
  Value own = columnOf(first);
  f.when(m.isEqual(own, k), [&] { make(k, have.take_front(ofLane)); });
  Value round = f.e.divIndex(k, f.e.index(depth));
  exchange.await(barrierOf(k), f.e.remIndex(round, f.e.index(2)));
  auto reflect = [&] {
    return reflected(m, bring(k), LLVM::LoadOp::create(b, m.type, factorOf(k)), have);
  };
  Value isLater = f.less(k, own);
  if (first + 1 == ofWarp)
    return m.where(isLater, have, reflect);
  SmallVector<Value> next = reflect();
  for (int64_t e = 0; e < ofLane; ++e)
    next[e] = arith::SelectOp::create(b, isLater, next[e], have[e]);
  return next;
}

void SharedQr::run() {
  exchange.makeBarriers(barriers, unsigned(depth));
  expect();
  SmallVector<Value> have;
  for (int64_t i = 0; i < ofWarp; ++i) {
    Value column = f.minIndex(columnOf(i), f.e.index(m.columns - 1));
    for (Value row : rows)
      have.push_back(m.operand(op.getX(), f.minIndex(row, f.e.index(m.rows - 1)), column));
  }
  f.when(m.isEqual(exchange.rank, f.e.index(0)), [&] { clearFactors(m); });
  int64_t first = 0;
  for (;; ++first) {
    int64_t low = first * together(), high = std::min(low + together(), steps);
    have = m.carry(f.e.index(low), f.e.index(high), 1, have, [&](Value k, ValueRange now) {
      return step(first, k, SmallVector<Value>(now));
    });
    if (high == steps)
      break;
    have.erase(have.begin(), have.begin() + ofLane);
  }
  // Columns that have no step.
  for (int64_t i = first; i < ofWarp; ++i) {
    Value column = columnOf(i), left = f.less(f.e.index(steps - 1), column);
    Value inside = arith::AndIOp::create(b, left, f.less(column, f.e.index(m.columns)));
    f.when(inside, [&] { store(ArrayRef(have).slice((i - first) * ofLane, ofLane), column); });
  }
  exchange.meet(); // nobody ends whom others may still send to
}

void device::emitSharedQr(MatrixBlock &m, prim::QrOp op) { SharedQr(m, op).run(); }
