//===- CountedScatter.cpp - Whole numbers that are added to few elements --===//
//
// A histogram adds many updates to few elements, where memory does those of one element one after
// the other. Sums of integers do not depend on their order, so each block adds up a part of the
// updates in its shared memory first:
//
//   cleared    the block's sums
//   counted    its part of the updates, and one block copies what the tensor had
//   added      what each block has, to the result
//
// One block that has all updates adds what it has to what the tensor had, and nobody waits. Sums of
// floats that count, to which each update adds one or nothing, are those of integers as well:
// every sum of some of them is a whole number that the type holds.
//
// Sums of 64 bits are two numbers of 32, which shared memory adds at once; what is carried is added
// to the upper one.
//
//===----------------------------------------------------------------------===//
#include "SortedScatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kThreads = device::GridSortSizes::threads;

/// All elements of a tensor are zero, as a constant says.
static bool isZeros(Value v) {
  while (auto broadcast = v.getDefiningOp<prim::BroadcastOp>())
    v = broadcast.getX();
  auto constant = v.getDefiningOp<prim::ConstantOp>();
  if (!constant)
    return false;
  auto elements = dyn_cast<SplatElementsAttr>(constant.getElements());
  return elements && isa<FloatType>(elements.getElementType()) &&
         elements.getSplatValue<APFloat>().isZero();
}

/// Whether sums are whole numbers, each step of the way.
static bool addsWholeNumbers(Operation *op, prim::ScatterKind kind, int64_t meeting) {
  Type e = tensorType(op->getResult(0)).getElementType();
  if (kind != prim::ScatterKind::add)
    return false;
  if (e.isInteger(32) || e.isInteger(64))
    return true;
  // f32 holds all whole numbers up to 2^24.
  constexpr int64_t kMost = int64_t(1) << 24;
  auto cast = op->getOperand(2).getDefiningOp<prim::CastOp>();
  return (e.isF32() || e.isF64()) && cast && meeting <= kMost && isZeros(op->getOperand(0)) &&
         tensorType(cast.getX()).getElementType().isInteger(1);
}

bool device::scheduleCountedScatter(ScheduleChoice &s, kernel::LaunchOp launch,
                                    const UpdateList &list, const GpuArch &arch) {
  constexpr int64_t kLeast = 512, kMostElements = 4096;
  constexpr int64_t kOfOneBlock = 4096; // updates
  constexpr int64_t kOfBlock = 8;       // updates of a thread, at least
  constexpr int64_t kOfElement = 2;     // updates for each sum that a block adds to the result
  constexpr int64_t kBlocks = 8;        // of a multiprocessor
  Operation *op = specialOf(launch);
  auto along = dyn_cast<prim::ScatterAlongOp>(op);
  auto kind = op->getAttrOfType<prim::ScatterKindAttr>("kind");
  if (list.open || !kind || !addsWholeNumbers(op, kind.getValue(), list.meeting) ||
      (along && !coversRows(along)))
    return false;
  int64_t elements = list.slots * list.points, all = list.updates * list.points;
  if (all < kLeast || elements > kMostElements)
    return false;
  int64_t blocks = 1;
  if (all > kOfOneBlock) {
    blocks = std::min({all / (kThreads * kOfBlock), all / (kOfElement * elements),
                       kBlocks * int64_t(arch.multiprocessors)});
    if (blocks < 2)
      return false;
    s.scratchBytes = kCounterBytes;
  }
  bool isDouble = tensorType(op->getResult(0)).getElementType().isInteger(64);
  s.threads = kThreads;
  s.rowThreads = 1;
  s.kept = unsigned(elements);
  s.sharedBytes = unsigned(elements * (isDouble ? 2 : 1) * int64_t(sizeof(int32_t)));
  s.split = unsigned(blocks);
  return true;
}

/// The block's sum for an element; of 64 bits `upper` is that of the upper half. i32
Value SortedScatter::countAt(Value element, bool upper) {
  if (upper)
    element = f.e.addIndex(element, f.e.index(list.slots * list.points));
  return f.at(touched, b.getI32Type(), element);
}

/// Adds an update to the block's sum.
void SortedScatter::count(const Update &update) {
  auto add = [&](Value v, bool upper) -> Value {
    return LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, countAt(update.element, upper), v,
                                     LLVM::AtomicOrdering::monotonic, "block");
  };
  Type type = update.v.getType(), i32 = b.getI32Type();
  if (isa<FloatType>(type)) {
    add(arith::FPToSIOp::create(b, i32, update.v), false);
  } else if (type == i32) {
    add(update.v, false);
  } else {
    Value low = arith::TruncIOp::create(b, i32, update.v);
    Value shift = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
    Value high = arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, update.v, shift));
    Value sum = arith::AddIOp::create(b, add(low, false), low);
    Value carries = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, sum, low);
    high = arith::AddIOp::create(b, high, arith::ExtUIOp::create(b, i32, carries));
    f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, high, f.i32(0)),
           [&] { add(high, true); });
  }
}

/// The block's sum, as the result has it.
Value SortedScatter::counted(Value element, Type type) {
  Value low = LLVM::LoadOp::create(b, b.getI32Type(), countAt(element, false));
  if (isa<FloatType>(type))
    return arith::SIToFPOp::create(b, type, low);
  if (type == b.getI32Type())
    return low;
  Value high = LLVM::LoadOp::create(b, b.getI32Type(), countAt(element, true));
  Value shift = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
  return arith::OrIOp::create(
      b, arith::ExtUIOp::create(b, type, low),
      arith::ShLIOp::create(b, arith::ExtUIOp::create(b, type, high), shift));
}

void SortedScatter::runCounted() {
  touched = f.dynamicShared();
  int64_t elements = list.slots * list.points, blocks = f.schedule.getSplit();
  Type type = computeType(tensorType(x).getElementType());
  f.loop(
      f.thread, f.e.index(f.schedule.getSharedBytes() / sizeof(int32_t)), kThreads,
      [&](Value word) { LLVM::StoreOp::create(b, f.i32(0), f.at(touched, b.getI32Type(), word)); });
  f.barrier();
  forUpdates(f.block, blocks,
             [&](const Update &update) { f.when(update.inside, [&] { count(update); }); });
  f.barrier();
  auto forElements = [&](auto &&body) {
    f.loop(f.thread, f.e.index(elements), kThreads, [&](Value element) {
      f.e.forget();
      Value points = f.e.index(list.points);
      body(element, target(f.e.divIndex(element, points), f.e.remIndex(element, points)));
    });
  };
  if (blocks == 1)
    return forElements([&](Value element, const Coords &to) {
      if (Value old = read(x, to))
        f.e.store(f.results[0], to, updatedElement(f, kind, old, counted(element, type)));
    });
  device::GridPhases phases(f);
  phases.run(1, [&](Value item) { copyElements(item, 1); });
  phases.finish(blocks, [&](Value) {
    forElements([&](Value element, const Coords &to) {
      Value sum = counted(element, type), place = f.e.index(0);
      bool isFloat = isa<FloatType>(type);
      Value none = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
      Value some = isFloat ? Value(arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, sum, none))
                           : Value(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, sum, none));
      for (auto [c, extent] : llvm::zip(to, extents))
        place = f.e.addIndex(f.e.mulIndex(place, extent), c.base);
      f.when(some, [&] {
        LLVM::AtomicRMWOp::create(b, isFloat ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add,
                                  f.at(f.results[0].pointer, type, place), sum,
                                  LLVM::AtomicOrdering::monotonic, "device");
      });
    });
  });
}
