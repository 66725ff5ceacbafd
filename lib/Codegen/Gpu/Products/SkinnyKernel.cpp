//===- SkinnyKernel.cpp - Few rows by many columns, or many by few --------===//
//
// A product of few rows reads all of its right operand for little arithmetic: memory is
// what it waits for. A warp computes a few columns for all rows. Its lanes walk along k
// together, 16 bytes of each column and row at a time, keep a sum for every pair, and add
// theirs up in the end. Nothing goes through shared memory: what the rows' elements are
// read again for lies in the first cache. A product of few columns, such as a matrix by a
// vector, is the same with its operands exchanged.
//
// For types that no matrix unit takes, and few columns of others; mma.sync has tiles of 16 rows
// for the rest.
//
//===----------------------------------------------------------------------===//
#include "Product.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class SkinnyEmitter {
public:
  SkinnyEmitter(device::KernelFrame &f, Product product)
      : f(f), b(f.b), p(std::move(product)), s(f.schedule),
        sumElement(sumType(cast<RankedTensorType>(p.op->getResult(0).getType()).getElementType())),
        sum(computeType(sumElement)), across(s.getRows() > 0) {}
  void run();

private:
  /// Elements of an operand at `own` for the lane's part of k.
  Value read(const OperandSource &source, const Coords &own, const Coords &k);
  SmallVector<Value> multiplyAll();
  SmallVector<Value> addSteps(Value begin, Value end, int64_t step, unsigned together,
                              ValueRange sums);
  Value total(Value v);
  void addUp(Value tile, Value mine, llvm::function_ref<void(Value)> finish);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Product p;
  Schedule s;
  Type sumElement, sum;
  bool across; ///< the few are columns
  OperandSource few, many;
  unsigned lanes = 1;
  Value lane, batchNumber;
  Value part;                        ///< of k, where blocks share it
  SmallVector<Coords> fewAt, manyAt; ///< of all few, of the warp's others
};

} // namespace

Value SkinnyEmitter::read(const OperandSource &source, const Coords &own, const Coords &k) {
  Coords batch = uniform(f.delinearize(batchNumber, p.batch));
  Value v = Product::eval(f, source.operand(batch, own, k));
  if (!v)
    return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sum)));
  v = emitCast(b, v, source.element, sumElement, true);
  return lanes > 1 && !isa<VectorType>(v.getType()) ? f.e.splat(v, lanes) : v;
}

/// The lane's sums, for each of the few those of the warp's others.
SmallVector<Value> SkinnyEmitter::multiplyAll() {
  Type type = lanes > 1 ? Type(VectorType::get({lanes}, sum)) : sum;
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
  SmallVector<Value> none(fewAt.size() * manyAt.size(), zero);
  Value begin = f.e.mulIndex(lane, f.e.index(lanes)), end = f.volume(p.inner);
  int64_t step = int64_t(GpuArch::warp) * lanes;
  if (part) {
    int64_t all = step * s.getSplit();
    Value steps = f.e.divIndex(f.e.addIndex(end, f.e.index(all - 1)), f.e.index(all));
    Value first = f.e.mulIndex(part, f.e.mulIndex(steps, f.e.index(step)));
    end = f.minIndex(end, f.e.addIndex(first, f.e.mulIndex(steps, f.e.index(step))));
    begin = f.e.addIndex(begin, first);
  }
  // Of rows that lie at odd places a lane reads little at once: several steps are on their way.
  constexpr int64_t kOnTheirWay = 64, kEnough = 32; // bytes of a lane
  int64_t bytes = int64_t(manyAt.size()) * lanes *
                  std::max<int64_t>(1, storageType(many.element).getIntOrFloatBitWidth() / 8);
  // Two vectors of 16 bytes in each step are enough: 4 x 4096 x 4096 took 21.3 us in single steps
  // and 29.9 in two at once (H200).
  int64_t together = bytes >= kEnough ? 1 : std::clamp<int64_t>(kOnTheirWay / bytes, 1, 8);
  // Several rows of single elements are as much as registers hold: 3 x 50,257 x 1001 took 193 us in
  // single steps and 237 in four at once (H200).
  if (together == 1 || (lanes == 1 && fewAt.size() > 1))
    return addSteps(begin, end, step, 1, none);
  // As many steps as are whole, then those that are left.
  Value length = f.e.subIndex(f.e.addIndex(end, f.e.index(step - 1)), f.minIndex(begin, end));
  Value rounds = f.e.divIndex(length, f.e.index(step * together));
  Value middle = f.e.addIndex(begin, f.e.mulIndex(rounds, f.e.index(step * together)));
  SmallVector<Value> sums = addSteps(begin, middle, step, unsigned(together), none);
  return f.failed ? sums : addSteps(middle, end, step, 1, sums);
}

/// The sums with those of the lane's steps in such a range added, so many of them read at once.
SmallVector<Value> SkinnyEmitter::addSteps(Value begin, Value end, int64_t step, unsigned together,
                                           ValueRange given) {
  auto loop = scf::ForOp::create(b, begin, end, f.e.index(step * together), given);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  f.e.setLanes(lanes);
  SmallVector<Value> next = f.e.nested([&] {
    SmallVector<SmallVector<Value>> ls(together), rs(together);
    for (unsigned n = 0; n < together; ++n) {
      Value at = f.e.addIndex(loop.getInductionVar(), f.e.index(n * step));
      Coords k = runCoords(f, at, p.inner, lanes);
      for (const Coords &one : fewAt)
        ls[n].push_back(read(few, one, k));
      for (const Coords &one : manyAt)
        rs[n].push_back(read(many, one, k));
    }
    SmallVector<Value> sums(loop.getRegionIterArgs());
    for (unsigned n = 0; n < together; ++n)
      for (auto [i, l] : llvm::enumerate(ls[n]))
        for (auto [j, r] : llvm::enumerate(rs[n])) {
          Value product = emitCombine(b, prim::ReduceKind::prod, sumElement, l, r);
          Value &all = sums[i * rs[n].size() + j];
          all = emitCombine(b, prim::ReduceKind::sum, sumElement, product, all);
        }
    return sums;
  });
  f.e.setLanes(1);
  if (!f.failed)
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

/// The sum over the warp of what the lanes have.
Value SkinnyEmitter::total(Value v) {
  if (lanes > 1) {
    Value all = vector::ExtractOp::create(b, v, int64_t(0));
    for (unsigned i = 1; i < lanes; ++i)
      all = emitCombine(b, prim::ReduceKind::sum, sumElement, all,
                        vector::ExtractOp::create(b, v, int64_t(i)));
    v = all;
  }
  return reduceWarp(b, v, prim::ReduceKind::sum, sumElement);
}

/// Leaves the thread's sum for the last block that has a part of it, which adds all up in order.
void SkinnyEmitter::addUp(Value tile, Value mine, llvm::function_ref<void(Value)> finish) {
  constexpr unsigned kTogether = 16; // loads on their way
  Type stored = f.asStored(sum);
  Value split = f.e.index(s.getSplit()), threads = f.e.index(s.getThreads());
  auto placeOf = [&](Value of) {
    Value number = f.e.addIndex(f.e.mulIndex(tile, split), of);
    return f.scratchAt(0, stored, f.e.addIndex(f.e.mulIndex(number, threads), f.thread));
  };
  LLVM::StoreOp::create(b, f.asStored(mine), placeOf(part));
  f.inLastBlock(tile, s.getSplit(), [&] {
    Value all;
    for (unsigned first = 0; first < s.getSplit(); first += kTogether) {
      SmallVector<Value> read;
      for (unsigned i = first; i < std::min(first + kTogether, s.getSplit()); ++i)
        read.push_back(LLVM::LoadOp::create(b, stored, placeOf(f.e.index(i))));
      for (Value v : read) {
        v = f.asComputed(v, sum);
        all = all ? emitCombine(b, prim::ReduceKind::sum, sumElement, all, v) : v;
      }
    }
    finish(all);
  });
}

void SkinnyEmitter::run() {
  unsigned warps = s.getThreads() / GpuArch::warp, each = across ? s.getRows() : s.getColumns();
  const SmallVector<Value> &ofFew = across ? p.columns : p.rows,
                           &ofMany = across ? p.rows : p.columns;
  Value extent = f.volume(ofMany), perBlock = f.e.index(int64_t(warps) * each);
  Value tiles = f.e.divIndex(f.e.addIndex(extent, f.e.index(warps * each - 1)), perBlock);
  Value tile = f.block;
  if (s.getSplit() > 1) {
    part = f.e.remIndex(f.block, f.e.index(s.getSplit()));
    tile = f.e.divIndex(f.block, f.e.index(s.getSplit()));
  }
  // Of open rows a block has so many, the last one again past their end.
  Value rowTiles = f.e.index(1), rows = f.volume(p.rows);
  if (s.getDepth())
    rowTiles =
        f.e.divIndex(f.e.addIndex(rows, f.e.index(s.getDepth() - 1)), f.e.index(s.getDepth()));
  SmallVector<Value> place = f.delinearize(tile, {f.volume(p.batch), rowTiles, tiles});
  batchNumber = place[0];
  Value firstFew = f.e.mulIndex(place[1], f.e.index(s.getDepth()));
  Value warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp));
  lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  Value first = f.e.addIndex(f.e.mulIndex(place[2], perBlock), f.e.mulIndex(warp, f.e.index(each)));
  Coords batch = uniform(f.delinearize(batchNumber, p.batch));
  few = sourceOf(p, !across, batch);
  many = sourceOf(p, across, batch);
  if (few.innerFirst && many.innerFirst) {
    auto elementsOf = [](Type type, unsigned least) {
      return 16 / std::clamp(storageType(type).getIntOrFloatBitWidth() / 8, least, 8u);
    };
    lanes = std::min({runsOf(f, few).lanes, runsOf(f, many).lanes, elementsOf(many.element, 2)});
  }
  int64_t count = s.getDepth() ? int64_t(s.getDepth()) : *getConstantIntValue(f.volume(ofFew));
  for (int64_t i = 0; i < count; ++i)
    fewAt.push_back(runCoords(f, f.e.addIndex(firstFew, f.e.index(i)), ofFew, 1));
  for (unsigned i = 0; i < each; ++i)
    manyAt.push_back(runCoords(f, f.e.addIndex(first, f.e.index(i)), ofMany, 1));
  SmallVector<Value> sums = multiplyAll();
  if (f.failed)
    return;
  // Each lane finishes one result.
  Value mine;
  for (auto [i, v] : llvm::enumerate(sums)) {
    Value all = total(v);
    Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(i));
    mine = mine ? Value(arith::SelectOp::create(b, here, all, mine)) : all;
  }
  Value row = f.e.addIndex(firstFew, f.e.divIndex(lane, f.e.index(each)));
  Value column = f.e.addIndex(first, f.e.remIndex(lane, f.e.index(each)));
  Value inside =
      arith::AndIOp::create(b, f.less(lane, f.e.index(sums.size())), f.less(column, extent));
  if (s.getDepth())
    inside = arith::AndIOp::create(b, inside, f.less(row, rows));
  if (across)
    std::swap(row, column);
  auto finish = [&](Value all) {
    f.when(inside, [&] { p.store(f, batchNumber, row, runCoords(f, column, p.columns, 1), all); });
  };
  part ? addUp(tile, mine, finish) : finish(mine);
}

void device::emitSkinnyKernel(KernelFrame &f) {
  if (std::optional<Product> product = productIn(f))
    SkinnyEmitter(f, *product).run();
}
