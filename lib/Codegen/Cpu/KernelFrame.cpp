//===- KernelFrame.cpp - Arguments and loops of one kernel ----------------===//
//
// Loops over a run of points differ in what they do with the points that whole vectors leave: one
// by one, as a vector of which a part is masked, or as one that ends where the run does and does
// some points again. Which of them are right depends on the target and on what the body may do
// twice; what is known of the run's length decides how much code they are.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "Order/LanePicker.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

KernelFrame::KernelFrame(kernel::LaunchOp launch, func::FuncOp function, const CpuTarget &cpu)
    : LaunchFrame(launch), function(function), cpu(cpu) {
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  begin = entry->getArgument(1);
  end = entry->getArgument(2);
  words = entry->getArgument(0);
  bindArguments(LLVM::LLVMPointerType::get(b.getContext()), 0,
                [&](Type type) { return nextWord(type); });
  setPickerFor(cpu, e);
}

Value KernelFrame::nextWord(Type type) {
  Value at = LLVM::GEPOp::create(b, words.getType(), b.getI64Type(), words,
                                 ArrayRef<LLVM::GEPArg>{wordsRead++});
  auto load = LLVM::LoadOp::create(b, type, at, 8);
  load.setInvariant(true);
  return load;
}

bool KernelFrame::endsMasked(Value low, Value high, unsigned lanes) {
  auto from = getConstantIntValue(low), to = getConstantIntValue(high);
  return cpu.maskedMemory && lanes > 1 && !(from && to && (*to - *from) % lanes <= 1);
}

bool KernelFrame::endsOverlapping(Value low, Value high, unsigned lanes) {
  auto from = getConstantIntValue(low), to = getConstantIntValue(high);
  return !cpu.maskedMemory && lanes > 1 && from && to && *to - *from >= lanes &&
         (*to - *from) % lanes > 1;
}

Value KernelFrame::lanesUpTo(Value i, Value high) {
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, e.lanes()));
  Value left = arith::IndexCastOp::create(b, b.getI32Type(), e.subIndex(high, i));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                               arith::ConstantOp::create(b, b.getI32VectorAttr(numbers)),
                               e.splat(left, e.lanes()));
}

Value KernelFrame::wholeVectors(Value high, unsigned lanes,
                                function_ref<void(ArrayRef<Value>)> body) {
  Value n = e.index(lanes), end = e.mulIndex(e.divIndex(high, n), n);
  e.setLanes(lanes);
  loop(e.index(0), end, lanes, [&](Value i) {
    e.bindAligned(i);
    body(i);
  });
  e.setLanes(1);
  return end;
}

void KernelFrame::vectorLoop(Value low, Value high, unsigned lanes, bool lowAligned,
                             function_ref<void(Value)> body) {
  Value middle = low;
  if (lanes > 1) {
    Value n = e.index(lanes), length = e.subIndex(high, low);
    middle = e.addIndex(low, e.mulIndex(e.divIndex(length, n), n));
    e.setLanes(lanes);
    loop(low, middle, lanes, [&](Value i) {
      if (lowAligned)
        e.bindAligned(i);
      body(i);
    });
    e.setLanes(1);
  }
  auto cl = getConstantIntValue(middle), ch = getConstantIntValue(high);
  if (cl && ch && *cl == *ch)
    return;
  if (!endsMasked(low, high, lanes))
    return loop(middle, high, 1, body);
  e.setLanes(lanes);
  loop(middle, high, lanes, [&](Value i) {
    e.setMask(lanesUpTo(i, high));
    body(i);
  });
  e.setLanes(1);
}

void KernelFrame::overlappingLoop(Value low, Value high, unsigned lanes, bool lowAligned,
                                  function_ref<void(ArrayRef<Value>)> body) {
  if (!endsOverlapping(low, high, lanes))
    return vectorLoop(low, high, lanes, lowAligned, [&](Value i) { body(i); });
  int64_t from = *getConstantIntValue(low), to = *getConstantIntValue(high);
  int64_t last = from + ((to - from) / lanes - 1) * lanes;
  if (last > from)
    vectorLoop(low, e.index(last), lanes, lowAligned, [&](Value i) { body(i); });
  e.setLanes(lanes);
  e.nested([&] { body({e.index(last), e.index(to - lanes)}); });
  e.setLanes(1);
}

void KernelFrame::narrowingLoop(Value low, Value high, unsigned lanes,
                                function_ref<void(Value)> body, bool masksEnd, int64_t least) {
  constexpr unsigned kNarrower = 4, kFewest = 4;
  unsigned fewest = kFewest;
  for (unsigned n = lanes; n > 1; n = n / kNarrower >= kFewest ? n / kNarrower : 1) {
    fewest = n;
    Value count = e.index(n);
    Value middle = e.addIndex(low, e.mulIndex(e.divIndex(e.subIndex(high, low), count), count));
    if (auto from = getConstantIntValue(low); from && from == getConstantIntValue(middle))
      continue;
    e.setLanes(n);
    loop(low, middle, n, body);
    e.setLanes(1);
    low = middle;
  }
  auto from = getConstantIntValue(low), to = getConstantIntValue(high);
  if (from && from == to)
    return;
  bool one = from && to && *to - *from == 1;
  bool again = !cpu.maskedMemory && fewest > 1 && least >= fewest;
  if (!masksEnd || !(cpu.maskedMemory || again) || one)
    return loop(low, high, 1, body);
  e.setLanes(fewest);
  loop(low, high, fewest, [&](Value i) {
    if (again)
      return body(e.subIndex(high, e.index(fewest)));
    e.setMask(lanesUpTo(i, high));
    body(i);
  });
  e.setLanes(1);
}

unsigned tcc::codegen::lanesFor(unsigned most, int64_t extent) {
  unsigned lanes = most;
  if (ShapedType::isDynamic(extent))
    return lanes;
  while (lanes > 1 && extent < lanes)
    lanes /= 2;
  return lanes < 4 ? 1 : lanes;
}

int64_t tcc::codegen::pointsAfter(RankedTensorType type, unsigned axis) {
  int64_t points = 1;
  for (int64_t extent : type.getShape().drop_front(std::min<size_t>(axis + 1, type.getRank())))
    points *= extent;
  return points;
}

Value tcc::codegen::combined(KernelFrame &f, prim::ReduceOp reduce, TypedAttr none, Value sum,
                             ArrayRef<Coord> at, Value mask) {
  Value v = f.e.evalVector(reduce.getX(), at);
  f.failed |= !v;
  if (!v)
    return sum;
  if (mask) {
    Value nothing = f.e.splat(arith::ConstantOp::create(f.b, none), f.e.lanes());
    v = arith::SelectOp::create(f.b, mask, v, nothing);
  }
  Type element = tensorType(reduce.getX()).getElementType();
  return emitCombine(f.b, reduce.getKind(), element, sum, v);
}
