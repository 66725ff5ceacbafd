//===- SkinnyKernel.cpp - Few rows by many columns ------------------------===//
//
// A product of few rows reads all of its right operand for little arithmetic: memory is
// what it waits for. A warp computes a few columns for all rows. Its lanes walk along k
// together, 16 bytes of each column and row at a time, keep a sum for every pair, and add
// theirs up in the end. Nothing goes through shared memory: what the rows' elements are
// read again for lies in the first cache.
//
// For types that no matrix unit takes; mma.sync has tiles of 16 rows for the others.
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
        sum(computeType(sumElement)) {}
  void run();

private:
  /// Elements of an operand at `own` for the lane's part of k.
  Value read(const OperandSource &source, const Coords &own, const Coords &k);
  SmallVector<Value> multiplyAll();
  Value total(Value v);

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Product p;
  Schedule s;
  Type sumElement, sum;
  OperandSource left, right;
  unsigned lanes = 1;
  Value lane, columns, batchNumber, firstColumn;
  SmallVector<Coords> rowAt, columnAt;
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

/// The lane's sums, row by row.
SmallVector<Value> SkinnyEmitter::multiplyAll() {
  Type type = lanes > 1 ? Type(VectorType::get({lanes}, sum)) : sum;
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
  SmallVector<Value> none(rowAt.size() * columnAt.size(), zero);
  auto loop = scf::ForOp::create(b, f.e.mulIndex(lane, f.e.index(lanes)), f.volume(p.inner),
                                 f.e.index(int64_t(GpuArch::warp) * lanes), none);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  f.e.setLanes(lanes);
  SmallVector<Value> next = f.e.nested([&] {
    Coords k = runCoords(f, loop.getInductionVar(), p.inner, lanes);
    SmallVector<Value> ls, rs, sums(loop.getRegionIterArgs());
    for (const Coords &row : rowAt)
      ls.push_back(read(left, row, k));
    for (const Coords &column : columnAt)
      rs.push_back(read(right, column, k));
    for (auto [i, l] : llvm::enumerate(ls))
      for (auto [j, r] : llvm::enumerate(rs)) {
        Value product = emitCombine(b, prim::ReduceKind::prod, sumElement, l, r);
        Value &all = sums[i * rs.size() + j];
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

void SkinnyEmitter::run() {
  unsigned warps = s.getThreads() / GpuArch::warp, perWarp = s.getColumns();
  columns = f.volume(p.columns);
  Value perBlock = f.e.index(int64_t(warps) * perWarp);
  Value tiles = f.e.divIndex(f.e.addIndex(columns, f.e.index(warps * perWarp - 1)), perBlock);
  SmallVector<Value> place = f.delinearize(f.block, {f.volume(p.batch), tiles});
  batchNumber = place[0];
  Value warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp));
  lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  firstColumn =
      f.e.addIndex(f.e.mulIndex(place[1], perBlock), f.e.mulIndex(warp, f.e.index(perWarp)));
  Coords batch = uniform(f.delinearize(batchNumber, p.batch));
  left = sourceOf(p, true, batch);
  right = sourceOf(p, false, batch);
  if (left.innerFirst && right.innerFirst)
    lanes = std::min({runsOf(f, left).lanes, runsOf(f, right).lanes,
                      16 / std::clamp(sum.getIntOrFloatBitWidth() / 8, 2u, 8u)});
  int64_t rows = *getConstantIntValue(f.volume(p.rows));
  for (int64_t row = 0; row < rows; ++row)
    rowAt.push_back(runCoords(f, f.e.index(row), p.rows, 1));
  for (unsigned i = 0; i < perWarp; ++i)
    columnAt.push_back(runCoords(f, f.e.addIndex(firstColumn, f.e.index(i)), p.columns, 1));
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
  Value row = f.e.divIndex(lane, f.e.index(perWarp));
  Value column = f.e.addIndex(firstColumn, f.e.remIndex(lane, f.e.index(perWarp)));
  Value inside =
      arith::AndIOp::create(b, f.less(lane, f.e.index(sums.size())), f.less(column, columns));
  f.when(inside, [&] { p.store(f, batchNumber, row, runCoords(f, column, p.columns, 1), mine); });
}

void device::emitSkinnyKernel(KernelFrame &f) {
  if (std::optional<Product> product = productIn(f))
    SkinnyEmitter(f, *product).run();
}
