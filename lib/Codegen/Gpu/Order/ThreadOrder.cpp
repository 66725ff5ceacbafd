//===- ThreadOrder.cpp - Short lines in order, a thread each --------------===//
//
// All elements of a line and their places are in registers, where Batcher's network merges odd and
// even ones, of any number: 26 comparisons for 9 elements, 191 for 32. Ties go to the lower place,
// which makes the order total, and so the result stable.
//
//===----------------------------------------------------------------------===//
#include "ThreadOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Calls exchange(low, high) for all comparisons that put `count` elements in order (Knuth, 5.2.2).
static void forExchanges(int64_t count, llvm::function_ref<void(int64_t, int64_t)> exchange) {
  int64_t half = int64_t(llvm::PowerOf2Ceil(uint64_t(count)) / 2);
  for (int64_t p = half; p > 0; p /= 2)
    for (int64_t q = half, r = 0, d = p; q >= p; d = q - p, q /= 2, r = p)
      for (int64_t i = 0; i + d < count; ++i)
        if ((i & p) == r)
          exchange(i, i + d);
}

bool device::emitThreadOrder(KernelFrame &f, prim::SortOp op, Coords at, Value length) {
  constexpr int64_t kMost = 32; // elements in registers
  auto known = getConstantIntValue(length);
  if (!known || *known < 2 || *known > kMost)
    return false;
  ImplicitLocOpBuilder &b = f.b;
  Type e = tensorType(op.getX()).getElementType();
  unsigned axis = op.getAxis();
  struct Entry {
    Value value, place;
  };
  auto coords = [&](int64_t i) {
    at[axis] = Coord::uniform(f.e.index(i));
    return at;
  };
  SmallVector<Entry> line;
  for (int64_t i = 0; i < *known; ++i) {
    Value v = f.e.eval(op.getX(), coords(i));
    f.failed |= !v;
    if (!v)
      return true;
    line.push_back({v, f.i32(i)});
  }
  auto comes = [&](const Entry &x, const Entry &y) -> Value {
    Value less = comesBefore(f, e, op.getDescending(), x.value, y.value);
    Value greater = comesBefore(f, e, op.getDescending(), y.value, x.value);
    Value lower = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x.place, y.place);
    Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
    return arith::OrIOp::create(b, less, arith::SelectOp::create(b, greater, no, lower));
  };
  auto chosen = [&](Value first, const Entry &x, const Entry &y) -> Entry {
    return {arith::SelectOp::create(b, first, x.value, y.value),
            arith::SelectOp::create(b, first, x.place, y.place)};
  };
  forExchanges(*known, [&](int64_t low, int64_t high) {
    Entry x = line[low], y = line[high];
    Value stays = comes(x, y);
    line[low] = chosen(stays, x, y);
    line[high] = chosen(stays, y, x);
  });
  for (auto [i, entry] : llvm::enumerate(line)) {
    f.e.store(f.results[0], coords(int64_t(i)), entry.value);
    Value place = arith::ExtUIOp::create(b, f.results[1].elementType, entry.place);
    f.e.store(f.results[1], coords(int64_t(i)), place);
  }
  return true;
}
