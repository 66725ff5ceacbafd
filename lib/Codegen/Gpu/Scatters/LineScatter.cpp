//===- LineScatter.cpp - Updates of a line, which are sorted by its block -===//
//
// Where each line along the indexed axis has indices of its own, and neither it nor they are more
// than a few for each thread of a block, a block has the line: it copies it, brings its updates in
// order by the places that they go to, in shared memory (GridSort.h), and the thread that has the
// first update of a place does all of the place, in the order that they came in. Of updates that
// replace what was there the last one of a place is enough.
//
//===----------------------------------------------------------------------===//
#include "ScatterKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// The number after the last place is that of updates that go nowhere.
static GridSortSizes sizesOf(prim::ScatterAlongOp op) {
  int64_t updates = tensorType(op.getIndices()).getDimSize(op.getAxis()),
          places = tensorType(op.getX()).getDimSize(op.getAxis());
  return {1, updates, llvm::Log2_64(uint64_t(places)) + 1,
          unsigned(llvm::divideCeil(updates, GridSortSizes::threads))};
}

bool device::scheduleLineScatter(ScheduleChoice &s, Operation *op, const GpuArch &arch) {
  constexpr int64_t kFew = 128, kMost = 4096; // updates of a line
  constexpr int64_t kLongest = 65536;         // places of one
  constexpr int64_t kMostShared = 48 << 10;   // bytes that a kernel need not ask for
  constexpr int64_t kBlocks = 8;              // of a multiprocessor
  constexpr int64_t kFewLines = 4;            // of so many multiprocessors one has a line, at most
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  if (!along || sameForAllLines(along) || !tensorType(along.getX()).hasStaticShape() ||
      !tensorType(along.getX()).getElementType().isIntOrFloat() ||
      !tensorType(along.getIndices()).hasStaticShape())
    return false;
  auto x = tensorType(along.getX());
  int64_t places = x.getDimSize(along.getAxis());
  int64_t updates = tensorType(along.getIndices()).getDimSize(along.getAxis());
  if (updates <= kFew || updates > kMost || places == 0 || places > kLongest)
    return false;
  GridSortSizes sizes = sizesOf(along);
  int64_t lines = x.getNumElements() / places;
  if (sizes.sharedBytes() > kMostShared || lines * kFewLines < arch.multiprocessors)
    return false;
  // Microseconds of blocks that run at once and of what they read and write, of which lines that
  // lie across bring whole sectors; beside those of updates in any order, or of a sort of all of
  // them. Within a third of twelve on an H200.
  if (std::optional<UpdateList> list = UpdateList::of(op)) {
    constexpr double kSector = 32, kBytes = 4e6; // kBytes: of a microsecond
    double all = double(list->updates), elements = double(x.getNumElements()),
           waves = double(llvm::divideCeil(lines, kBlocks * arch.multiprocessors));
    bool across = along.getAxis() + 1 != uint64_t(x.getRank());
    double bytes = across ? kSector : double(elementBytes(x.getElementType()));
    double index =
        across ? kSector : double(elementBytes(tensorType(along.getIndices()).getElementType()));
    double own = 5 + waves * sizes.own * (0.5 + 0.75 * sizes.passes()) +
                 (all * (bytes + index) + 2 * elements * bytes) / kBytes;
    // Lines that blocks bring in order while others copy: three at once, and sectors of what
    // changes.
    double copied =
        12 +
        double(llvm::divideCeil(list->lines, 3 * arch.multiprocessors)) * sizes.own *
            (0.5 + 0.75 * sizes.passes()) +
        (3 * all * kSector + 2 * elements * double(elementBytes(x.getElementType()))) / kBytes;
    double other = list->lines > 1      ? copied
                   : list->last         ? 10 + 2.2e-5 * all
                   : list->anyOrder     ? 10 + 4e-5 * all
                   : list->inFixedPoint ? 8 + 2e-5 * all + 1.6e-5 * double(list->slots)
                                        : 20 + 5e-5 * all * list->sort().passes();
    if (other < own)
      return false;
  }
  s.threads = GridSortSizes::threads;
  s.vectors = sizes.own;
  s.depth = sizes.digitBits();
  return true;
}

namespace {

class LineScatter {
public:
  LineScatter(KernelFrame &f, prim::ScatterAlongOp op)
      : f(f), b(f.b), op(op), axis(op.getAxis()), kind(op.getKind()),
        extents(extentsOf(f, op.getX())), sizes(sizesOf(op)), sort(f, sizes, 0) {
    SmallVector<Value> others(extents);
    others.erase(others.begin() + axis);
    for (Value i : f.delinearize(f.block, others))
      line.push_back(Coord::uniform(i));
    line.insert(line.begin() + axis, Coord::uniform(f.e.index(0)));
  }
  void run();

private:
  Coords at(Value place) const {
    Coords moved(line);
    moved[axis] = Coord::uniform(place);
    return moved;
  }
  Value read(Value from, Value place) {
    f.e.forget();
    Value v = f.e.eval(from, at(place));
    f.failed |= !v;
    return v;
  }
  Value hasUpdates();
  void copy();
  void update(Value number);
  Value withUpdates(Value number, Value key, Value old);

  KernelFrame &f;
  ImplicitLocOpBuilder &b;
  prim::ScatterAlongOp op;
  unsigned axis;
  prim::ScatterKind kind;
  SmallVector<Value> extents; ///< of the result
  GridSortSizes sizes;
  GridSort sort;
  Coords line;
};

} // namespace

/// The indices may be fewer than the tensor's along the other axes.
Value LineScatter::hasUpdates() {
  Value inside = arith::ConstantOp::create(b, b.getBoolAttr(true));
  for (auto [i, extent] : llvm::enumerate(tensorType(op.getIndices()).getShape()))
    if (i != axis && extent != tensorType(op.getX()).getDimSize(unsigned(i)))
      inside = arith::AndIOp::create(b, inside, f.less(line[i].base, f.e.index(extent)));
  return inside;
}

void LineScatter::copy() {
  constexpr int64_t kInFlight = 4;
  int64_t step = GridSortSizes::threads;
  Value last = f.e.subIndex(extents[axis], f.e.index(1));
  auto all = [&] {
    f.loop(f.thread, extents[axis], step * kInFlight, [&](Value first) {
      SmallVector<std::pair<Value, Value>> copied;
      for (int64_t i = 0; i < kInFlight; ++i) {
        // The last one several times is as good as once.
        Value place = f.minIndex(f.e.addIndex(first, f.e.index(i * step)), last);
        copied.push_back({place, read(op.getX(), place)});
      }
      for (auto &[place, v] : copied)
        if (v)
          f.e.store(f.results[0], at(place), v);
    });
  };
  Value elsewhere = liesElsewhere(f, op.getX());
  elsewhere ? f.when(elsewhere, all) : all();
}

/// What becomes of `old` by the updates from number `number` on that have its key.
Value LineScatter::withUpdates(Value number, Value key, Value old) {
  constexpr unsigned kInFlight = 4;
  Value last = f.e.index(sizes.length - 1);
  auto some = [&](OpBuilder &, Location, ValueRange carried) {
    scf::ConditionOp::create(b, carried[1], carried);
  };
  auto next = [&](OpBuilder &, Location, ValueRange carried) {
    SmallVector<Value> result;
    f.e.nested([&] {
      SmallVector<std::pair<Value, Value>> found; // elements, and whether they go to the place
      Value mine = carried[1];
      for (unsigned i = 0; i < kInFlight; ++i) {
        Value own = f.e.addIndex(carried[0], f.e.index(i)), safe = f.minIndex(own, last);
        Value same = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, sort.keyInBlock(safe), key);
        mine = arith::AndIOp::create(
            b, mine, arith::AndIOp::create(b, same, f.less(own, f.e.index(sizes.length))));
        Value place = arith::IndexCastUIOp::create(b, b.getIndexType(), sort.placeInBlock(safe));
        found.push_back({read(op.getUpdates(), place), mine});
      }
      Value sum = carried[2];
      for (auto &[v, goes] : found)
        if (v)
          sum = arith::SelectOp::create(b, goes, updatedElement(f, kind, sum, v), sum);
      result = {f.e.addIndex(carried[0], f.e.index(kInFlight)), mine, sum};
    });
    scf::YieldOp::create(b, result);
  };
  Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
  auto loop = scf::WhileOp::create(b, TypeRange{b.getIndexType(), b.getI1Type(), old.getType()},
                                   ValueRange{number, yes, old}, some, next);
  f.e.forget();
  return loop.getResult(2);
}

/// What number `number` of the updates in order has to do.
void LineScatter::update(Value number) {
  using P = arith::CmpIPredicate;
  bool assigns = kind == prim::ScatterKind::assign;
  Value key = sort.keyInBlock(number);
  Value beside = assigns
                     ? f.minIndex(f.e.addIndex(number, f.e.index(1)), f.e.index(sizes.length - 1))
                     : f.e.subIndex(arith::MaxUIOp::create(b, number, f.e.index(1)), f.e.index(1));
  Value isEnd = arith::CmpIOp::create(b, P::eq, number, f.e.index(assigns ? sizes.length - 1 : 0));
  Value differs = arith::CmpIOp::create(b, P::ne, key, sort.keyInBlock(beside));
  Value place = arith::IndexCastUIOp::create(b, b.getIndexType(), key);
  Value acts = arith::AndIOp::create(b, arith::OrIOp::create(b, isEnd, differs),
                                     f.less(place, extents[axis]));
  f.when(acts, [&] {
    Value result;
    if (assigns) {
      Value from = arith::IndexCastUIOp::create(b, b.getIndexType(), sort.placeInBlock(number));
      result = read(op.getUpdates(), from);
    } else if (Value old = read(op.getX(), place)) {
      result = withUpdates(number, key, old);
    }
    if (result)
      f.e.store(f.results[0], at(place), result);
  });
}

void LineScatter::run() {
  copy();
  // All threads of a block have the same line.
  f.when(hasUpdates(), [&] {
    Value length = f.e.index(sizes.length);
    sort.runLine(f.block, length, [&](Value, Value update) {
      Value index = read(op.getIndices(), update);
      if (!index)
        return f.i32(0);
      auto [inside, place] = checkedIndex(f, index, extents[axis]);
      place = arith::SelectOp::create(b, inside, place, extents[axis]);
      return Value(arith::IndexCastUIOp::create(b, b.getI32Type(), place));
    });
    f.loop(f.thread, length, GridSortSizes::threads, [&](Value number) { update(number); });
  });
}

void device::emitLineScatter(KernelFrame &f) {
  LineScatter(f, cast<prim::ScatterAlongOp>(specialOf(f.launch))).run();
}
