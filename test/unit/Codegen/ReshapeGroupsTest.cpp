// Axes of a reshape that hold as many elements are found by extents that are one value, where only
// a run knows them.
#include "tcc/Codegen/Common/ReshapeGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc::codegen;

namespace {

/// Extents made of numbers and of `n`, `h` and `w`.
struct Extents {
  Extents() : b(UnknownLoc::get(&context), &context) {
    context.loadDialect<arith::ArithDialect, func::FuncDialect>();
    module = ModuleOp::create(b.getLoc());
    b.setInsertionPointToEnd(module->getBody());
    Type index = b.getIndexType();
    auto function = func::FuncOp::create(b, "f", b.getFunctionType({index, index, index}, {}));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToEnd(entry);
    n = entry->getArgument(0);
    h = entry->getArgument(1);
    w = entry->getArgument(2);
  }
  Value of(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
  Value times(Value x, int64_t v) { return arith::MulIOp::create(b, x, of(v)); }
  /// "x axes|result axes" of each group.
  static std::vector<std::string> groups(ArrayRef<Value> x, ArrayRef<Value> r) {
    std::vector<std::string> all;
    for (const AxisGroup &g : axisGroups(x, r)) {
      std::string text;
      for (unsigned i = g.xBegin; i < g.xEnd; ++i)
        text += std::to_string(i);
      text += "|";
      for (unsigned i = g.rBegin; i < g.rEnd; ++i)
        text += std::to_string(i);
      all.push_back(text);
    }
    return all;
  }

  MLIRContext context;
  ImplicitLocOpBuilder b;
  OwningOpRef<ModuleOp> module;
  Value n, h, w;
};

using Groups = std::vector<std::string>;

} // namespace

TEST_CASE("known extents correspond by their products") {
  Extents e;
  CHECK(Extents::groups({e.of(4), e.of(6)}, {e.of(2), e.of(2), e.of(6)}) == Groups{"0|01", "1|2"});
}

TEST_CASE("axes that are kept stay by themselves") {
  Extents e;
  CHECK(Extents::groups({e.n, e.of(96), e.h, e.w}, {e.n, e.of(1), e.of(2), e.of(2), e.of(24), e.h,
                                                    e.w}) == Groups{"0|0", "1|1234", "2|5", "3|6"});
}

TEST_CASE("axes that are merged are those whose product is written") {
  Extents e;
  CHECK(Extents::groups({e.n, e.of(24), e.h, e.of(2), e.w, e.of(2)},
                        {e.n, e.of(24), e.times(e.h, 2), e.times(e.w, 2)}) ==
        Groups{"0|0", "1|1", "23|2", "45|3"});
}

TEST_CASE("what is not known to correspond is one group between those that do") {
  Extents e;
  CHECK(Extents::groups({e.n, e.h, e.w, e.of(8)}, {e.n, e.w, e.h, e.of(2), e.of(4)}) ==
        Groups{"0|0", "12|12", "3|34"});
  CHECK(Extents::groups({e.h, e.w}, {e.n, e.of(3)}) == Groups{"01|01"});
}

TEST_CASE("units stand alone or go with a neighbour") {
  Extents e;
  CHECK(Extents::groups({e.h, e.w}, {e.of(1), e.h, e.w, e.of(1)}) == Groups{"0|01", "1|2", "|3"});
}
