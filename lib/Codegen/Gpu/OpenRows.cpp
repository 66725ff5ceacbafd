//===- OpenRows.cpp - Rows whose length only a run knows ------------------===//
//
// How many blocks have a row, or rows a block. The host counts blocks by it and the kernel finds
// its row by it, each from the length that it knows.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Value device::partsOfOpenRow(OpBuilder &b, Location loc, Value length, Schedule schedule) {
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  Value round = constant(int64_t(schedule.getRowThreads()) * schedule.getVectors());
  Value rounds = arith::CeilDivSIOp::create(b, loc, length, round);
  rounds = arith::MinSIOp::create(b, loc, rounds, constant(schedule.getSplit()));
  return arith::MaxSIOp::create(b, loc, rounds, constant(1));
}

Value device::openRowsHaveWarps(OpBuilder &b, Location loc, Value length) {
  constexpr int64_t kShort = 1024;
  Value most = arith::ConstantIndexOp::create(b, loc, kShort);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, length, most);
}

Value device::rowsOfOpenBlock(OpBuilder &b, Location loc, Value length, Schedule schedule) {
  auto constant = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  return arith::SelectOp::create(b, loc, openRowsHaveWarps(b, loc, length),
                                 constant(schedule.getRows()), constant(1));
}
