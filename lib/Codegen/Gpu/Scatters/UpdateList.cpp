//===- UpdateList.cpp - What a scatter's updates are ----------------------===//
//
// How many there are and what they go to, and what follows from that: whether their order shows,
// and whose it is to bring them in order.
//
//===----------------------------------------------------------------------===//
#include "ScatterKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// What one block can sort in its shared memory needs no other.
constexpr int64_t kOfBlock = int64_t(device::GridSortSizes::threads) * 16;

/// Whether what `op` makes of an element is the same in whatever order its updates come, by an
/// operation that memory does.
static bool isOrderless(Operation *op, prim::ScatterKind kind) {
  Type e = tensorType(op->getResult(0)).getElementType();
  using K = prim::ScatterKind;
  return (e.isInteger(32) || e.isInteger(64)) &&
         (kind == K::add || kind == K::max || kind == K::min);
}

bool device::coversRows(prim::ScatterAlongOp op) {
  return !sameForAllLines(op) ||
         llvm::all_of(llvm::enumerate(tensorType(op.getX()).getShape()), [&](auto it) {
           return it.index() == op.getAxis() ||
                  it.value() == tensorType(op.getIndices()).getDimSize(it.index());
         });
}

/// Whether sums of floats take less time as those of integers, in any order, than in theirs: an
/// atomic operation an update, or two of f64, against the passes of a sort. Microseconds, of f32
/// fitted to eight of an H100.
static bool sumsInFixedPoint(Operation *op, const device::UpdateList &list) {
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  auto x = tensorType(op->getOperand(0));
  // Rows of which the updates have a part only are left to the sort.
  bool whole = !along || device::coversRows(along);
  Type e = x.getElementType();
  bool isDouble = e.isF64();
  if (!(e.isF32() || e.isF16() || e.isBF16() || isDouble) || !whole)
    return false;
  double updates = list.updates, all = updates * list.points, passes = list.sort().passes(),
         elements = double(list.slots) * list.points;
  double sorted = 20 + 5e-5 * updates * passes + 1e-5 * all;
  double integers = 8 + (isDouble ? 5e-5 : 2e-5) * all + (isDouble ? 2.4e-5 : 1.6e-5) * elements;
  return integers < sorted;
}

/// Sums of an element in fixed point: of 16 bits, whose digits are few, one mostly holds all.
static unsigned windowsFor(Type e) { return e.isF64() ? 3 : e.isF32() ? 2 : 1; }

std::optional<device::UpdateList> device::UpdateList::of(Operation *op) {
  UpdateList list{};
  if (auto along = dyn_cast<prim::ScatterAlongOp>(op)) {
    auto shape = tensorType(along.getX()).getShape(),
         updates = tensorType(along.getIndices()).getShape();
    unsigned axis = along.getAxis();
    bool rows = sameForAllLines(along);
    list = {volumeOf(updates), volumeOf(shape), 1, updates[axis]};
    if (rows && list.updates > 0 && list.slots > 0)
      list = {updates[axis], shape[axis], list.slots / shape[axis], updates[axis]};
  } else if (auto tuples = dyn_cast<prim::ScatterNdOp>(op)) {
    auto shape = tensorType(tuples.getX()).getShape(),
         indices = tensorType(tuples.getIndices()).getShape();
    if (ShapedType::isDynamic(indices.back()))
      return std::nullopt;
    list = {volumeOf(indices.drop_back()), volumeOf(shape.take_front(indices.back())),
            volumeOf(shape.drop_front(indices.back())), volumeOf(indices.drop_back())};
  }
  auto kind = op->getAttrOfType<prim::ScatterKindAttr>("kind");
  if (list.updates < 0 || list.slots < 0 || list.points < 0) {
    list.open = list.anyOrder = kind && isOrderless(op, kind.getValue());
    return list.open ? std::optional(list) : std::nullopt;
  }
  if (list.updates == 0 || list.slots == 0 || list.points == 0)
    return std::nullopt;
  list.last = kind.getValue() == prim::ScatterKind::assign;
  list.anyOrder = isOrderless(op, kind.getValue());
  list.inFixedPoint = kind.getValue() == prim::ScatterKind::add && sumsInFixedPoint(op, list);
  list.few = !list.last && !list.anyOrder && !list.inFixedPoint && list.updates <= list.slots;
  list.windows = windowsFor(tensorType(op->getOperand(0)).getElementType());
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  if (list.few && along && !sameForAllLines(along) && list.meeting <= kOfBlock) {
    list.lines = list.updates / list.meeting;
    list.places = tensorType(along.getX()).getDimSize(along.getAxis());
  }
  return list;
}

/// The number after the last slot, or place, is that of updates that go nowhere.
device::GridSortSizes device::UpdateList::sort() const {
  auto ofThread = [](int64_t n) { return unsigned(llvm::divideCeil(n, GridSortSizes::threads)); };
  if (lines > 1)
    return {lines, meeting, llvm::Log2_64(uint64_t(places)) + 1, ofThread(meeting)};
  unsigned own = updates <= kOfBlock ? ofThread(updates) : GridSortSizes::ownOf(updates);
  return {1, updates, llvm::Log2_64(uint64_t(slots)) + 1, own};
}
