//===- VectorMathExtrema.cpp - Extremes of several numbers ----------------===//
//
// Where a maximum is one of the target's instructions and a choice that keeps a NaN, each of a chain
// of maxima waits for the choice before. The chain takes the bare instructions, and one choice at
// its end gives NaN where any of its numbers is one, which is asked of two at a time.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
namespace tcc::codegen::vmath {

/// What is compared, in order, if `op` is an extreme of numbers whose zeros need no order.
template <typename Op> static bool isPlain(Op op) {
  Type element = getElementTypeOrSelf(op.getType());
  return (element.isF32() || element.isF64()) &&
         arith::bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::nsz);
}

/// `op` where it is part of the chain that ends after it.
template <typename Op> static Op linkBefore(Value v, Operation *end) {
  Op op = v.getDefiningOp<Op>();
  return op && op->hasOneUse() && op->getBlock() == end->getBlock() && isPlain(op) ? op : Op();
}

template <typename Op> static void expandChain(Op end, arith::CmpFPredicate beyond) {
  SmallVector<Op> links = {end};
  while (Op before = linkBefore<Op>(links.back().getLhs(), end))
    links.push_back(before);
  constexpr size_t kShortest = 2; // of one there is nothing to gain
  if (links.size() < kShortest)
    return;
  SmallVector<Value> numbers = {links.back().getLhs()};
  for (Op link : llvm::reverse(links))
    numbers.push_back(link.getRhs());

  ImplicitLocOpBuilder b(end.getLoc(), end);
  Value best = numbers.front();
  for (Value x : ArrayRef(numbers).drop_front())
    best = arith::SelectOp::create(b, arith::CmpFOp::create(b, beyond, best, x), best, x);
  llvm::erase_if(numbers, [](Value v) { return matchPattern(v, m_Constant()); });
  Value anyNan;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    Value other = numbers[std::min(i + 1, numbers.size() - 1)];
    Value nan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, numbers[i], other);
    anyNan = anyNan ? arith::OrIOp::create(b, anyNan, nan) : nan;
  }
  auto element = cast<FloatType>(getElementTypeOrSelf(end.getType()));
  TypedAttr nan = FloatAttr::get(element, APFloat::getNaN(element.getFloatSemantics()));
  if (auto vector = dyn_cast<VectorType>(end.getType()))
    nan = DenseElementsAttr::get(vector, nan);
  if (anyNan)
    best = arith::SelectOp::create(b, anyNan, arith::ConstantOp::create(b, nan), best);
  end.replaceAllUsesWith(best);
  for (Op link : links)
    link.erase();
}

template <typename Op> static void expandChains(Operation *root, arith::CmpFPredicate beyond) {
  SmallVector<Op> ends;
  root->walk([&](Op op) {
    auto next = op->hasOneUse() ? dyn_cast<Op>(*op->user_begin()) : Op();
    bool isLink = next && next.getLhs() == op.getResult() && linkBefore<Op>(op.getResult(), next);
    if (isPlain(op) && !(isLink && isPlain(next)))
      ends.push_back(op);
  });
  for (Op op : ends)
    expandChain(op, beyond);
}

void expandExtrema(Operation *root) {
  expandChains<arith::MaximumFOp>(root, arith::CmpFPredicate::OGT);
  expandChains<arith::MinimumFOp>(root, arith::CmpFPredicate::OLT);
}

} // namespace tcc::codegen::vmath
