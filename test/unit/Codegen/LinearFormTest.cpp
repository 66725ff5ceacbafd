// Addresses are compared as linear forms: two expressions that are equal must have equal forms, or
// an access is taken for a gather.
#include "tcc/Codegen/Common/LinearForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc::codegen;

namespace {

/// Expressions over two indices, `i` and `j`.
struct Expressions {
  Expressions() : b(UnknownLoc::get(&context), &context) {
    context.loadDialect<arith::ArithDialect, func::FuncDialect>();
    module = ModuleOp::create(b.getLoc());
    b.setInsertionPointToEnd(module->getBody());
    Type index = b.getIndexType();
    auto function = func::FuncOp::create(b, "f", b.getFunctionType({index, index}, {}));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToEnd(entry);
    i = entry->getArgument(0);
    j = entry->getArgument(1);
  }
  Value constant(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivUIOp::create(b, x, y); }
  static LinearForm form(Value v, Value whole = {}) {
    LinearForm result;
    result.add(v, 1, whole);
    return result;
  }

  MLIRContext context;
  ImplicitLocOpBuilder b;
  OwningOpRef<ModuleOp> module;
  Value i, j;
};

} // namespace

TEST_CASE("sums, differences and constant factors are taken apart") {
  Expressions x;
  // 3 * (i - 2) + j + i
  Value v = x.add(x.add(x.mul(x.constant(3), x.sub(x.i, x.constant(2))), x.j), x.i);
  LinearForm form = Expressions::form(v);
  CHECK(form.constant == -6);
  CHECK(form.take(x.i) == 4);
  CHECK(form.take(x.i) == 0);
  CHECK(form.take(x.j) == 1);
  CHECK(form.terms.empty());
}

TEST_CASE("equal expressions have equal forms wherever they were built") {
  Expressions x;
  auto quotient = [&](int64_t by) { return x.add(x.div(x.i, x.constant(by)), x.j); };
  CHECK(Expressions::form(quotient(4)) == Expressions::form(quotient(4)));
  CHECK_FALSE(Expressions::form(quotient(4)) == Expressions::form(quotient(5)));
  CHECK_FALSE(Expressions::form(x.add(x.i, x.constant(1))) == Expressions::form(x.i));
  CHECK(sameIndex(x.mul(x.i, x.j), x.mul(x.i, x.j)));
  CHECK_FALSE(sameIndex(x.mul(x.i, x.j), x.add(x.i, x.j)));
}

TEST_CASE("a whole is left as it is, a constant too") {
  Expressions x;
  Value whole = x.mul(x.i, x.constant(16)), zero = x.constant(0);
  LinearForm form = Expressions::form(x.add(whole, x.constant(5)), whole);
  CHECK(form.take(whole) == 1);
  CHECK(form.constant == 5);
  CHECK(Expressions::form(x.add(zero, x.j), zero).take(zero) == 1);
}
