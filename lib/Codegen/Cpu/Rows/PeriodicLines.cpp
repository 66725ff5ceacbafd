//===- PeriodicLines.cpp - What is the same for each of the lines ---------===//
//
// Lines of a few elements are one line for a kernel of points (CollapsedRows.cpp), so that they
// fill vectors. What each of them has in common, a scale of seven columns, begins anew there every
// seven elements. The kernel writes it one after the other for a period and a vector more: from any
// place in the period on a vector of it lies in memory.
//
//        element of the line   0 1 2 3 4 5 6 7 8 ..
//        scratch               a b c d e f g a b c d e f g a b c ..
//                                      [ from 3 on: a vector ]
//
//===----------------------------------------------------------------------===//
#include "PeriodicLines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

int64_t tcc::codegen::periodOf(prim::BroadcastOp op, size_t joined) {
  RankedTensorType x = tensorType(op.getX()), given = tensorType(op.getResult());
  if (!x.hasStaticShape() || !given.hasStaticShape() || joined > size_t(given.getRank()))
    return 0;
  int64_t rank = given.getRank(), begin = rank - joined, from = rank, period = 1;
  SmallVector<int64_t> own(rank, 1);
  for (auto [extent, axis] : llvm::zip_equal(x.getShape(), op.getAxes()))
    own[axis] = extent;
  while (from > begin && own[from - 1] == given.getDimSize(from - 1))
    period *= own[--from];
  bool same = llvm::all_of(ArrayRef(own).take_front(from), [](int64_t d) { return d == 1; });
  return same && from > begin && period > 1 ? period : 0;
}

int64_t tcc::codegen::periodOf(Operation *op) {
  auto reshape = dyn_cast<prim::ReshapeOp>(op);
  auto broadcast = reshape ? reshape.getX().getDefiningOp<prim::BroadcastOp>() : nullptr;
  if (!broadcast)
    return 0;
  ArrayRef<int64_t> lines = tensorType(broadcast.getResult()).getShape(),
                    line = tensorType(reshape.getResult()).getShape();
  if (line.empty() || line.size() >= lines.size() ||
      lines.take_front(line.size() - 1) != line.drop_back())
    return 0;
  return periodOf(broadcast, lines.size() - line.size() + 1);
}

static void keepPeriod(KernelFrame &f, prim::ReshapeOp line, int64_t period, unsigned lanes) {
  ImplicitLocOpBuilder &b = f.b;
  auto broadcast = line.getX().getDefiningOp<prim::BroadcastOp>();
  RankedTensorType type = tensorType(broadcast.getResult());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), element = type.getElementType();
  Value count = arith::ConstantOp::create(b, b.getI64IntegerAttr(period + lanes));
  Memory memory{LLVM::AllocaOp::create(b, pointer, storageType(element), count, 64),
                {f.e.index(period + lanes)},
                element};
  SmallVector<Value> extents;
  for (int64_t extent : type.getShape())
    extents.push_back(f.e.index(extent));
  f.loop(f.e.index(0), f.e.index(period + lanes), 1, [&](Value i) {
    Coords at;
    for (Value place : f.delinearize(f.e.remIndex(i, f.e.index(period)), extents))
      at.push_back(Coord::uniform(place));
    Value v = f.e.eval(broadcast.getResult(), at);
    f.failed |= !v;
    if (v)
      f.e.store(memory, Coord::uniform(i), v);
  });
  f.e.bindProvider(line.getResult(), [&f, memory, period](ArrayRef<Coord> at) {
    Coord last = at.back();
    Value whole = f.e.index(period);
    if (!last.vector && (last.step == 0 || last.step == 1))
      return f.e.load(memory, Coord::affine(f.e.remIndex(last.base, whole), last.step));
    Value places = f.e.coordValue(last);
    return f.e.load(memory,
                    Coord::any(arith::RemUIOp::create(f.b, places, f.e.splat(whole, f.e.lanes()))));
  });
}

void tcc::codegen::keepPeriods(KernelFrame &f, unsigned lanes) {
  for (Operation &op : f.launch.getBody().front())
    if (int64_t period = periodOf(&op))
      keepPeriod(f, cast<prim::ReshapeOp>(op), period, lanes);
}
