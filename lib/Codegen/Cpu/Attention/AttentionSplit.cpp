//===- AttentionSplit.cpp - Tasks that share the keys of a query ----------===//
//
// A query of a few heads over many keys is less tasks than there are threads. Each of `split`
// tasks then goes over its part of the blocks of keys and writes what it found to scratch memory:
// of each row its part of the result, its top and its sum. Tasks of a second round add the parts
// up, first to last, each scaled from its own top to that of all, so that the result does not
// depend on who was first.
//
//===----------------------------------------------------------------------===//
#include "../Products/TileLoop.h"
#include "AttentionEmitter.h"
#include <limits>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

void AttentionEmitter::runSplit() {
  parts = f.nextWord(LLVM::LLVMPointerType::get(k.builder.getContext()));
  Value round = f.nextWord(k.builder.getI64Type());
  Value zero = arith::ConstantOp::create(k.builder, k.loc, k.builder.getI64IntegerAttr(0));
  Value first = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::eq, round, zero);
  Index blocks = spec.rowBlocks(k, schedule), split = k.constant(schedule.getSplit());
  auto forTasks = [&](llvm::function_ref<void(Index)> body) {
    k.loop(f.begin, f.end, k.constant(1), [&](Index task) { f.e.nested([&] { body(task); }); });
  };
  auto begin = [&](Index task) { beginTask(k.floorDiv(task, blocks), k.rem(task, blocks)); };
  k.ifThenElse(
      first,
      [&] {
        forTasks([&](Index task) {
          begin(k.floorDiv(task, split));
          emitKeys(k.rem(task, split));
          keepPart(task);
        });
      },
      [&] {
        forTasks([&](Index task) {
          begin(task);
          combineParts(task);
          emitResults();
        });
      });
}

/// Row `row` of what task `task` of the first round found.
Value AttentionEmitter::partAt(Index task, Index row, int64_t element) {
  Index record = k.mulAdd(task, k.constant(schedule.getTaskRows()), row);
  return k.address(parts, f32,
                   k.mulAdd(record, k.constant(splitRecord(form)), k.constant(element)));
}

void AttentionEmitter::keepPart(Index task) {
  k.loop(k.constant(0), rows, k.constant(1), [&](Index row) {
    for (int64_t column = 0; column < width; column += lanes)
      k.storePart(k.load(lanesType, at(results, row, k.constant(column))),
                  partAt(task, row, column), k.constant(width - column));
    k.store(k.load(f32, k.address(tops, f32, row)), partAt(task, row, width));
    k.store(rowSum(row), partAt(task, row, width + 1));
  });
}

void AttentionEmitter::combineParts(Index task) {
  Index split = k.constant(schedule.getSplit()), zero = k.constant(0), one = k.constant(1);
  Index firstPart = k.mul(task, split);
  k.loop(zero, rows, one, [&](Index row) {
    auto partTop = [&](Index part) {
      return k.load(f32, partAt(k.add(firstPart, part), row, width));
    };
    Value none = number(-std::numeric_limits<float>::infinity());
    SmallVector<Value> top =
        k.loop(zero, split, one, {none}, [&](Index part, ValueRange in) -> SmallVector<Value> {
          return {larger(partTop(part), in[0])};
        });
    Value shift = ownShift(top[0]);
    SmallVector<Value> sums = {number(0)};
    for (int64_t column = 0; column < width; column += lanes)
      sums.push_back(k.zero(lanesType));
    sums = k.loop(zero, split, one, sums, [&](Index part, ValueRange in) {
      Index from = k.add(firstPart, part);
      Value scale = exp(sub(partTop(part), shift));
      SmallVector<Value> next = {
          multiplyAdd(scale, k.load(f32, partAt(from, row, width + 1)), in[0])};
      for (int64_t column = 0; column < width; column += lanes) {
        Value found = k.loadPart(lanesType, partAt(from, row, column), k.constant(width - column));
        next.push_back(multiplyAdd(splat(scale), found, in[next.size()]));
      }
      return next;
    });
    k.store(top[0], k.address(tops, f32, row));
    Value sumAt = k.address(this->sums, f32, k.mul(row, k.constant(lanes)));
    k.store(k.zero(lanesType), sumAt);
    k.store(sums[0], sumAt);
    for (int64_t column = 0; column < width; column += lanes)
      k.store(sums[1 + column / lanes], at(results, row, k.constant(column)));
  });
}
