//===- CpuCosts.cpp - How long a core takes for what ----------------------===//
#include "tcc/Target/CpuCosts.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
namespace tcc {
namespace {

struct CostRow {
  const char *name;
  CpuCosts costs;
};
constexpr CostRow costRows[] = {
#include "CpuCosts.inc"
};

} // namespace

StringRef nameOf(CpuCost cost) {
  constexpr StringLiteral names[] = {"launch",  "task",   "near_byte", "shared_byte",   "far_byte",
                                     "simple",  "divide", "function",  "long_function", "element",
                                     "product", "packed", "ordered",   "factor",        "fourier"};
  static_assert(std::size(names) == size_t(CpuCost::Count));
  return names[size_t(cost)];
}

const CpuCosts &costsOf(StringRef name) {
  const CostRow *row = find_if(costRows, [&](const CostRow &r) { return name == r.name; });
  return row == std::end(costRows) ? std::prev(row)->costs : row->costs;
}

} // namespace tcc
