#include "Decompose/Idioms/Extents.h"

using namespace mlir;
using namespace tcc;

/// Splits a product into its factors; constants are multiplied into `constant`.
static void factorise(Dim d, SmallVectorImpl<Dim> &symbols, int64_t &constant) {
  if (auto value = PrimBuilder::known(d)) {
    constant *= *value;
    return;
  }
  if (auto product = cast<Value>(d).getDefiningOp<arith::MulIOp>()) {
    factorise(getAsOpFoldResult(product.getLhs()), symbols, constant);
    factorise(getAsOpFoldResult(product.getRhs()), symbols, constant);
    return;
  }
  symbols.push_back(d);
}

Ratio::Ratio(ArrayRef<Dim> total, ArrayRef<Dim> parts) {
  for (Dim d : total)
    factorise(d, above, p);
  for (Dim d : parts)
    factorise(d, below, q);
  for (auto *it = below.begin(); it != below.end();) {
    auto *match = llvm::find_if(above, [&](Dim d) { return PrimBuilder::same(d, *it); });
    if (match == above.end()) {
      ++it;
      continue;
    }
    above.erase(match);
    it = below.erase(it);
  }
  if (q != 0 && p % q == 0) {
    p /= q;
    q = 1;
  }
}

Dim Ratio::quotient(PrimBuilder &b) const {
  Dim product = b.mulDims(b.productOf(above), b.dim(p));
  if (exact())
    return product;
  // An empty tensor: anything goes, but a division by zero.
  return b.floorDivDims(product, b.maxDims(b.mulDims(b.productOf(below), b.dim(q)), b.dim(1)));
}
