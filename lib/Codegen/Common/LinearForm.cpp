#include "tcc/Codegen/Common/LinearForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc::codegen;

bool tcc::codegen::sameIndex(Value x, Value y) {
  if (x == y)
    return true;
  Operation *a = x.getDefiningOp(), *c = y.getDefiningOp();
  bool pure = a && (isa<arith::ArithDialect>(a->getDialect()) || isa<vector::BroadcastOp>(a));
  if (!pure || !c || a->getName() != c->getName() ||
      a->getAttrDictionary() != c->getAttrDictionary() ||
      a->getNumOperands() != c->getNumOperands())
    return false;
  return llvm::all_of(llvm::zip(a->getOperands(), c->getOperands()),
                      [](auto pair) { return sameIndex(std::get<0>(pair), std::get<1>(pair)); });
}

void LinearForm::add(Value v, int64_t factor, Value whole) {
  if (v != whole) {
    if (auto known = getConstantIntValue(v)) {
      constant += factor * *known;
      return;
    }
    if (auto spread = v.getDefiningOp<vector::BroadcastOp>())
      return add(spread.getSource(), factor, whole);
    if (auto sum = v.getDefiningOp<arith::AddIOp>()) {
      add(sum.getLhs(), factor, whole);
      return add(sum.getRhs(), factor, whole);
    }
    if (auto difference = v.getDefiningOp<arith::SubIOp>()) {
      add(difference.getLhs(), factor, whole);
      return add(difference.getRhs(), -factor, whole);
    }
    if (auto product = v.getDefiningOp<arith::MulIOp>()) {
      if (auto known = getConstantIntValue(product.getRhs()))
        return add(product.getLhs(), factor * *known, whole);
      if (auto known = getConstantIntValue(product.getLhs()))
        return add(product.getRhs(), factor * *known, whole);
    }
  }
  for (auto &[term, count] : terms)
    if (sameIndex(term, v)) {
      count += factor;
      return;
    }
  terms.push_back({v, factor});
}

int64_t LinearForm::take(Value v) {
  for (auto &term : terms)
    if (term.first == v) {
      int64_t count = term.second;
      terms.erase(&term);
      return count;
    }
  return 0;
}

bool LinearForm::operator==(const LinearForm &o) const {
  return constant == o.constant && terms.size() == o.terms.size() &&
         llvm::all_of(llvm::zip(terms, o.terms), [](auto pair) {
           auto &[x, y] = pair;
           return x.second == y.second && sameIndex(x.first, y.first);
         });
}
