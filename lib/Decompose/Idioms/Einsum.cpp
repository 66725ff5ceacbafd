//===- Einsum.cpp - Einstein summation ------------------------------------===//
//
// Operands are taken in from left to right. Each axis carries a label; a pair
// of operands becomes one prim.dot, in which a shared label is a batch axis when
// it is needed later (in the result or by a further operand) and is contracted
// when not. A pair of which nothing is contracted is multiplied point by point. Labels that a
// single operand repeats are its diagonal; labels that it alone has and the result has not are
// summed away first.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Idioms/Einsum.h"
#include "Decompose/Idioms/Axes.h"
#include "Decompose/Idioms/Matrices.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace tcc;

namespace {

// Letters are themselves; the axes of `...` are 256, 257, .. from the right.
using Labels = SmallVector<int>;
constexpr int kEllipsis = 256;

struct Term {
  Value value;
  Labels labels;
};

struct Equation {
  SmallVector<std::string> operands;
  std::optional<std::string> result;
};

Equation parse(StringRef text) {
  std::string dense;
  for (char ch : text)
    if (ch != ' ')
      dense += ch;
  Equation e;
  auto [left, right] = StringRef(dense).split("->");
  if (StringRef(dense).contains("->"))
    e.result = right.str();
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  for (StringRef part : parts)
    e.operands.push_back(part.str());
  return e;
}

/// One label an axis; nothing, with a fault, for a bad term.
std::optional<Labels> labelsOf(PrimBuilder &b, StringRef term, int64_t ellipsisRank) {
  Labels labels;
  while (!term.empty()) {
    if (term.consume_front("...")) {
      for (int64_t i = ellipsisRank; i-- > 0;)
        labels.push_back(kEllipsis + i);
      continue;
    }
    if (!llvm::isAlpha(term[0])) {
      b.fault("has a bad equation");
      return std::nullopt;
    }
    labels.push_back(term[0]);
    term = term.drop_front();
  }
  return labels;
}

/// Keeps the diagonal where a label stands twice; its axis comes last.
void takeDiagonals(PrimBuilder &b, Term &t) {
  for (size_t i = 0; i < t.labels.size(); ++i) {
    auto *again = std::find(t.labels.begin() + i + 1, t.labels.end(), t.labels[i]);
    if (again == t.labels.end())
      continue;
    int64_t j = again - t.labels.begin();
    SmallVector<int64_t> order;
    Labels labels;
    for (int64_t axis = 0, rank = t.labels.size(); axis < rank; ++axis)
      if (axis != static_cast<int64_t>(i) && axis != j) {
        order.push_back(axis);
        labels.push_back(t.labels[axis]);
      }
    order.append({static_cast<int64_t>(i), j});
    labels.push_back(t.labels[i]);
    t = {matrices::diagonal(b, b.transpose(t.value, order)), labels};
    i = -1; // from the first one again
  }
}

/// Sums the axes whose label is not in `needed`.
void sumAway(PrimBuilder &b, Term &t, ArrayRef<int> needed) {
  SmallVector<int64_t> axes;
  Labels kept;
  for (auto [i, label] : llvm::enumerate(t.labels)) {
    if (llvm::is_contained(needed, label))
      kept.push_back(label);
    else
      axes.push_back(i);
  }
  t.value = b.reduce(prim::ReduceKind::sum, t.value, axes, false);
  t.labels = kept;
}

/// Both terms side by side, where no label of theirs is summed: the axes of `x`, then those that
/// only `y` has.
Term multiply(PrimBuilder &b, const Term &x, const Term &y) {
  SmallVector<int64_t> order, yMissing, xMissing;
  Term result{{}, x.labels};
  for (auto [i, label] : llvm::enumerate(x.labels)) {
    auto at = llvm::find(y.labels, label);
    if (at == y.labels.end())
      yMissing.push_back(i);
    else
      order.push_back(at - y.labels.begin());
  }
  for (auto [j, label] : llvm::enumerate(y.labels))
    if (!llvm::is_contained(x.labels, label)) {
      order.push_back(j);
      xMissing.push_back(result.labels.size());
      result.labels.push_back(label);
    }
  result.value = b.binary<prim::MulOp>(b.unsqueeze(x.value, xMissing),
                                       b.unsqueeze(b.transpose(y.value, order), yMissing));
  return result;
}

Term contract(PrimBuilder &b, const Term &x, const Term &y, ArrayRef<int> needed) {
  SmallVector<int64_t> xBatch, yBatch, xSum, ySum;
  Labels batch, xFree, yFree;
  auto inY = [&](int label) { return llvm::find(y.labels, label) - y.labels.begin(); };
  for (auto [i, label] : llvm::enumerate(x.labels)) {
    int64_t j = inY(label);
    if (j == static_cast<int64_t>(y.labels.size())) {
      xFree.push_back(label);
    } else if (llvm::is_contained(needed, label)) {
      xBatch.push_back(i);
      yBatch.push_back(j);
      batch.push_back(label);
    } else {
      xSum.push_back(i);
      ySum.push_back(j);
    }
  }
  for (int label : y.labels)
    if (!llvm::is_contained(x.labels, label))
      yFree.push_back(label);
  if (xSum.empty() && !tensorType(x.value).getElementType().isInteger(1))
    return multiply(b, x, y);
  Term result;
  result.value = b.dot(x.value, y.value, xBatch, yBatch, xSum, ySum);
  result.labels = batch;
  result.labels.append(xFree);
  result.labels.append(yFree);
  return result;
}

/// Labels of the result when the equation has none: those that stand once, in order.
Labels implicitResult(ArrayRef<Term> terms) {
  std::map<int, int> count;
  for (const Term &t : terms)
    for (int label : t.labels)
      ++count[label];
  Labels ellipsis, letters;
  for (auto [label, times] : count) {
    if (label >= kEllipsis)
      ellipsis.insert(ellipsis.begin(), label);
    else if (times == 1)
      letters.push_back(label);
  }
  ellipsis.append(letters);
  return ellipsis;
}

/// Axes of `...` broadcast: gives each label its full extent.
void broadcastLabels(PrimBuilder &b, MutableArrayRef<Term> terms) {
  std::map<int, Dim> extents;
  for (Term &t : terms)
    for (auto [i, label] : llvm::enumerate(t.labels)) {
      Dim d = b.dim(t.value, i);
      auto [it, isNew] = extents.try_emplace(label, d);
      if (!isNew)
        it->second = b.broadcastDims(it->second, d);
    }
  for (Term &t : terms) {
    Dims full;
    for (int label : t.labels)
      full.push_back(extents[label]);
    t.value = b.broadcastTo(t.value, full);
  }
}

} // namespace

Value tcc::einsum(PrimBuilder &b, StringRef text, ArrayRef<Value> operands) {
  auto fail = [&](const llvm::Twine &why) {
    b.fault(why);
    return Value();
  };
  Equation equation = parse(text);
  if (equation.operands.size() != operands.size())
    return fail("the equation has " + llvm::Twine(equation.operands.size()) + " operands");
  Type own = b.elem(operands[0]);
  SmallVector<Term> terms;
  int64_t ellipsisRank = 0;
  for (auto [i, part] : llvm::enumerate(equation.operands)) {
    StringRef term(part);
    bool ellipsis = term.contains("...");
    int64_t letters = term.size() - (ellipsis ? 3 : 0), rank = b.rank(operands[i]);
    if (ellipsis ? rank < letters : rank != letters)
      return fail("operand " + llvm::Twine(i) + " has rank " + llvm::Twine(rank) +
                  ", the equation gives it " + llvm::Twine(letters) + " labels");
    ellipsisRank = std::max(ellipsisRank, ellipsis ? rank - letters : 0);
    auto labels = labelsOf(b, term, rank - letters);
    if (!labels)
      return {};
    terms.push_back({operands[i], *labels});
  }
  Labels result = implicitResult(terms);
  if (equation.result) {
    auto labels = labelsOf(b, *equation.result, ellipsisRank);
    if (!labels)
      return {};
    result = *labels;
  }
  broadcastLabels(b, terms);
  bool single = terms.size() == 1;
  for (Term &t : terms) {
    t.value = single || terms.size() == 2 ? t.value : widen(b, t.value);
    takeDiagonals(b, t);
  }
  Term total = terms[0];
  for (size_t i = 0; i < terms.size(); ++i) {
    Labels needed = result;
    for (size_t j = i + 1; j < terms.size(); ++j)
      needed.append(terms[j].labels);
    if (i == 0) {
      sumAway(b, total, needed);
      continue;
    }
    Labels alone = needed;
    alone.append(total.labels);
    sumAway(b, terms[i], alone);
    total = contract(b, total, terms[i], needed);
    sumAway(b, total, needed);
  }
  SmallVector<int64_t> order;
  for (int label : result) {
    auto *it = llvm::find(total.labels, label);
    if (it == total.labels.end() || llvm::is_contained(order, it - total.labels.begin()))
      return fail("the result has a label that no operand has, or one twice");
    order.push_back(it - total.labels.begin());
  }
  return b.cast(b.transpose(total.value, order), own);
}
