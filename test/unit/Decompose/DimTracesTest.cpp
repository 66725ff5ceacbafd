// Traces of extents are remembered by operator. One that outlived its operator would give the
// extent of another that lies at the same address.
#include "tcc/Dialect/Prim/DimTraces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "tcc/Dialect/Prim/Prim.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;

TEST_CASE("a remembered extent is forgotten with its operator, and by no other builder") {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<prim::PrimDialect, func::FuncDialect, arith::ArithDialect>();
  Location loc = UnknownLoc::get(&context);
  auto type = RankedTensorType::get({ShapedType::kDynamic}, Float32Type::get(&context));
  auto function = func::FuncOp::create(loc, "main", FunctionType::get(&context, {type, type}, {}));
  Block *block = function.addEntryBlock();
  Value x = block->getArgument(0), y = block->getArgument(1);
  OpBuilder builder = OpBuilder::atBlockEnd(block), other = builder;
  {
    prim::DimTraces traces(builder);
    CHECK(prim::DimTraces::of(builder) == &traces);
    CHECK(!prim::DimTraces::of(other));
    Value v = x;
    for (int i = 0; i < 10; ++i)
      v = prim::NegOp::create(builder, loc, type, v);
    auto dim = cast<Value>(prim::dimOf(builder, loc, v, 0)).getDefiningOp<prim::DimOp>();
    CHECK(dim.getX() == x);
    CHECK(traces.lookup({v, 0}).first == x);
    // What comes to lie where an erased operator lay is another.
    Operation *last = v.getDefiningOp();
    last->setOperand(0, y);
    traces.notifyOperationInserted(last, {});
    CHECK(!traces.lookup({v, 0}).first);
    CHECK(cast<Value>(prim::dimOf(builder, loc, v, 0)).getDefiningOp<prim::DimOp>().getX() == y);
    // So is a block's argument, of which somebody knows the extent.
    Block inner;
    Value z = inner.addArgument(type, loc);
    traces.remember(prim::DimTraces::Extent(z, 0), {x, 0});
    CHECK(prim::dimOf(builder, loc, z, 0) == prim::dimOf(builder, loc, x, 0));
    traces.notifyBlockInserted(&inner, nullptr, {});
    CHECK(!traces.lookup({z, 0}).first);
  }
  CHECK(!builder.getListener());
  CHECK(!prim::DimTraces::of(builder));
  function.erase();
}
