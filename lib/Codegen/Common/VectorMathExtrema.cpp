//===- VectorMathExtrema.cpp - Extremes of several numbers ----------------===//
//
// Where a maximum is one of the target's instructions and a choice that keeps a NaN, each of a
// chain of maxima waits for the choice before. The chain takes the bare instructions, and one
// choice at its end gives NaN where any of its numbers is one, which is asked of two at a time. The
// lanes of a vector, halved until one is left, are such a chain as well.
//
//===----------------------------------------------------------------------===//
#include "VectorMathEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

static Value notANumber(ImplicitLocOpBuilder &b, Type type) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  TypedAttr nan = FloatAttr::get(element, APFloat::getNaN(element.getFloatSemantics()));
  if (auto vector = dyn_cast<VectorType>(type))
    nan = DenseElementsAttr::get(vector, nan);
  return arith::ConstantOp::create(b, nan);
}

/// The vector of whose lanes `op` takes one half and the other.
template <typename Op> static Value halvedBy(Op op) {
  auto x = op.getLhs().template getDefiningOp<vector::ShuffleOp>();
  auto y = op.getRhs().template getDefiningOp<vector::ShuffleOp>();
  if (!x || !y || !isPlain(op) || x.getV1() != y.getV1())
    return {};
  int64_t half = x.getMask().size();
  auto isFrom = [&](vector::ShuffleOp part, int64_t first) {
    return llvm::equal(part.getMask(), llvm::seq<int64_t>(first, first + half));
  };
  bool halves = cast<VectorType>(x.getV1().getType()).getNumElements() == 2 * half &&
                isFrom(x, 0) && isFrom(y, half);
  return halves ? x.getV1() : Value();
}

/// Whether nothing but the shuffles of its halves reads `lanes`.
static bool isHalvedAlone(Value lanes) {
  llvm::SmallDenseSet<Operation *, 4> users(lanes.user_begin(), lanes.user_end());
  return users.size() == 2;
}

/// Lanes that end in one, which `end` is.
template <typename Op> static void expandHalving(Op end, arith::CmpFPredicate beyond) {
  SmallVector<Op> links;
  Value lanes = end;
  for (Op op = end; op; op = lanes.getDefiningOp<Op>()) {
    Value whole = halvedBy(op);
    if (!whole || op->getBlock() != end->getBlock() || (op != end && !isHalvedAlone(lanes)))
      break;
    links.push_back(op);
    lanes = whole;
  }
  constexpr size_t kShortest = 2;
  if (links.size() < kShortest)
    return;
  ImplicitLocOpBuilder b(end.getLoc(), end);
  Value best = lanes;
  for (Op link : llvm::reverse(links)) {
    auto half = [&](Value part) -> Value {
      return vector::ShuffleOp::create(b, best, best,
                                       part.getDefiningOp<vector::ShuffleOp>().getMask());
    };
    Value x = half(link.getLhs()), y = half(link.getRhs());
    best = arith::SelectOp::create(b, arith::CmpFOp::create(b, beyond, x, y), x, y);
  }
  Value nan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, lanes, lanes);
  Type word = b.getIntegerType(cast<VectorType>(lanes.getType()).getNumElements());
  nan = vector::BitCastOp::create(b, VectorType::get({1}, word), nan);
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(nan.getType()));
  nan = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, nan, none);
  end.replaceAllUsesWith(
      arith::SelectOp::create(b, nan, notANumber(b, end.getType()), best).getResult());
  for (Op link : links) {
    auto x = link.getLhs().template getDefiningOp<vector::ShuffleOp>();
    auto y = link.getRhs().template getDefiningOp<vector::ShuffleOp>();
    link.erase();
    for (vector::ShuffleOp part : {x, y})
      if (part.use_empty())
        part.erase();
  }
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
  if (anyNan)
    best = arith::SelectOp::create(b, anyNan, notANumber(b, end.getType()), best);
  end.replaceAllUsesWith(best);
  for (Op link : links)
    link.erase();
}

template <typename Op> static void expandChains(Operation *root, arith::CmpFPredicate beyond) {
  SmallVector<Op> ends;
  root->walk([&](Op op) {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (vector && vector.getNumElements() == 1)
      ends.push_back(op);
  });
  for (Op op : ends)
    expandHalving(op, beyond);
  ends.clear();
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
