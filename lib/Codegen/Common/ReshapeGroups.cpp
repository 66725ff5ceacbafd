//===- ReshapeGroups.cpp - Which axes of a reshape correspond ---------------===//
#include "tcc/Codegen/Common/ReshapeGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tcc/Codegen/Common/LinearForm.h"

using namespace mlir;
using namespace tcc::codegen;

static std::optional<SmallVector<AxisGroup>> knownGroups(ArrayRef<int64_t> x, ArrayRef<int64_t> r);

/// The same where each side has one open extent, at `i` and `j`: they are equal if as many elements
/// lie after one as after the other, and as many before.
static std::optional<SmallVector<AxisGroup>> groupsAround(ArrayRef<int64_t> x, unsigned i,
                                                          ArrayRef<int64_t> r, unsigned j) {
  auto groups = knownGroups(x.take_front(i), r.take_front(j));
  auto after = knownGroups(x.drop_front(i + 1), r.drop_front(j + 1));
  if (!groups || !after)
    return std::nullopt;
  groups->push_back({i, i + 1, j, j + 1});
  for (const AxisGroup &g : *after)
    groups->push_back({g.xBegin + i + 1, g.xEnd + i + 1, g.rBegin + j + 1, g.rEnd + j + 1});
  return groups;
}

/// Splits a reshape of at most one open extent into the smallest groups of axes that correspond.
static std::optional<SmallVector<AxisGroup>> knownGroups(ArrayRef<int64_t> x, ArrayRef<int64_t> r) {
  if (llvm::count_if(x, ShapedType::isDynamic) == 1 &&
      llvm::count_if(r, ShapedType::isDynamic) == 1)
    return groupsAround(x, llvm::find_if(x, ShapedType::isDynamic) - x.begin(), r,
                        llvm::find_if(r, ShapedType::isDynamic) - r.begin());
  SmallVector<AxisGroup> groups;
  unsigned i = 0, j = 0;
  while (i < x.size() || j < r.size()) {
    AxisGroup group{i, i, j, j};
    int64_t nx = 1, nr = 1;
    bool first = true;
    while (first || nx != nr) {
      first = false;
      bool takeX = j >= r.size() || (i < x.size() && nx <= nr);
      int64_t d = takeX ? (i < x.size() ? x[i] : -1) : r[j];
      if (d < 0 || (takeX && i >= x.size()))
        return std::nullopt;
      (takeX ? nx : nr) *= d;
      ++(takeX ? i : j);
      if (nx == 0 || nr == 0)
        return std::nullopt;
    }
    group.xEnd = i;
    group.rEnd = j;
    groups.push_back(group);
  }
  return groups;
}

namespace {

/// How many elements some axes hold: a number, and extents that only a run knows.
struct OpenCount {
  int64_t constant = 1;
  SmallVector<Value, 2> symbols;

  void multiply(Value extent) {
    if (auto known = getConstantIntValue(extent)) {
      constant *= *known;
    } else if (auto product = extent.getDefiningOp<arith::MulIOp>()) {
      multiply(product.getLhs());
      multiply(product.getRhs());
    } else {
      symbols.push_back(extent);
    }
  }
  /// Takes out of both what is one value.
  void cancel(OpenCount &other) {
    llvm::erase_if(symbols, [&](Value mine) {
      auto *same = llvm::find_if(other.symbols, [&](Value v) { return sameIndex(v, mine); });
      bool found = same != other.symbols.end();
      if (found)
        other.symbols.erase(same);
      return found;
    });
  }
};

} // namespace

/// The smallest groups at the front, by extents that are one value on both sides, as far as that
/// is known.
static SmallVector<AxisGroup> leadingGroups(ArrayRef<Value> x, ArrayRef<Value> r) {
  SmallVector<AxisGroup> groups;
  unsigned i = 0, j = 0;
  while (i < x.size() || j < r.size()) {
    AxisGroup group{i, i, j, j};
    OpenCount nx, nr;
    do {
      bool wantsX = !nr.symbols.empty(), wantsR = !nx.symbols.empty();
      if (wantsX && wantsR)
        return groups;
      bool takeX = wantsX || (!wantsR && nx.constant <= nr.constant);
      if (!wantsX && !wantsR) // units may be left on one side
        takeX = j == r.size() || (takeX && i < x.size());
      if (takeX ? i == x.size() : j == r.size())
        return groups;
      takeX ? nx.multiply(x[i++]) : nr.multiply(r[j++]);
      nx.cancel(nr);
    } while (nx.constant != nr.constant || !nx.symbols.empty() || !nr.symbols.empty());
    if (nx.constant == 0)
      return groups;
    group.xEnd = i;
    group.rEnd = j;
    groups.push_back(group);
  }
  return groups;
}

static SmallVector<Value> reversed(ArrayRef<Value> list) { return {list.rbegin(), list.rend()}; }

SmallVector<AxisGroup> tcc::codegen::axisGroups(ArrayRef<Value> x, ArrayRef<Value> r) {
  auto shapeOf = [](ArrayRef<Value> extents) {
    return llvm::map_to_vector(extents, [](Value extent) {
      return getConstantIntValue(extent).value_or(ShapedType::kDynamic);
    });
  };
  if (auto known = knownGroups(shapeOf(x), shapeOf(r)))
    return *known;
  SmallVector<AxisGroup> groups = leadingGroups(x, r);
  unsigned i = groups.empty() ? 0 : groups.back().xEnd, j = groups.empty() ? 0 : groups.back().rEnd;
  SmallVector<AxisGroup> behind =
      leadingGroups(reversed(x.drop_front(i)), reversed(r.drop_front(j)));
  unsigned xEnd = x.size(), rEnd = r.size();
  for (AxisGroup &g : behind) {
    g = {unsigned(x.size()) - g.xEnd, unsigned(x.size()) - g.xBegin, unsigned(r.size()) - g.rEnd,
         unsigned(r.size()) - g.rBegin};
    xEnd = g.xBegin;
    rEnd = g.rBegin;
  }
  if (i < xEnd || j < rEnd)
    groups.push_back({i, xEnd, j, rEnd});
  groups.append(behind);
  return groups;
}
