//===- DotTile.cpp - Products of rows and columns that lie along k --------===//
//
// A block is so many rows by four columns that its sums, a vector of each row and one of a column
// fit into the registers. Four sums are added up together: twice, neighbours of two vectors, after
// which four lanes beside each other belong to the four columns; then the halves of what is left.
//
//===----------------------------------------------------------------------===//
#include "DotTile.h"
#include "StepDot.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
namespace tcc::codegen {

Value DotTile::load(Value start, Type element, Index at, Index valid) {
  auto type = VectorType::get({int64_t(lanes) * steps.size}, element);
  Value pointer = k.address(start, element, at);
  Value values = valid ? k.loadPart(type, pointer, valid) : k.load(type, pointer);
  return steps.size > 1 ? values : k.widen(values, acc);
}

SmallVector<Value> DotTile::multiply(const Block &block, Index at, Index valid, ValueRange in) {
  SmallVector<Value> sums = llvm::to_vector(in), rows;
  for (Value row : block.rows)
    rows.push_back(load(row, block.rowElement, at, valid));
  if (!valid)
    for (Value start : block.next)
      k.prefetch(k.address(start, block.columnElement, at), KernelBuilder::kInL1);
  for (auto [i, start] : llvm::enumerate(block.columns)) {
    Value column = load(start, block.columnElement, at, valid);
    for (auto [r, row] : llvm::enumerate(rows)) {
      Value &sum = sums[r * block.columns.size() + i];
      sum = steps.size > 1 ? emitStepDot(k, cpu, steps, row, column, sum)
                           : emitMultiplyAdd(k, cpu, row, column, sum);
    }
  }
  return sums;
}

SmallVector<Value> DotTile::sums(const Block &block, Index length) {
  constexpr int64_t unroll = 2;
  int64_t step = int64_t(lanes) * steps.size;
  SmallVector<Value> all(block.rows.size() * block.columns.size(),
                         k.zero(VectorType::get({int64_t(lanes)}, acc)));
  auto loop = [&](Index begin, Index end, int64_t turns) {
    all = k.loop(begin, end, k.constant(turns * step), all, [&](Index at, ValueRange in) {
      SmallVector<Value> sums = llvm::to_vector(in);
      for (int64_t i = 0; i < turns; ++i)
        sums = multiply(block, k.add(at, k.constant(i * step)), Index(), sums);
      return sums;
    });
  };
  auto multiple = [&](int64_t of) {
    return k.mul(k.floorDiv(length, k.constant(of)), k.constant(of));
  };
  Index bulk = multiple(unroll * step), whole = multiple(step);
  loop(k.constant(0), bulk, unroll);
  loop(bulk, whole, 1);
  Index rest = k.sub(length, whole);
  if (k.isKnown(rest, 0))
    return all;
  if (k.known(rest))
    return multiply(block, whole, rest, all);
  return k.loop(whole, length, k.constant(step), all,
                [&](Index at, ValueRange in) { return multiply(block, at, rest, in); });
}

/// A vector of the sums of each one's lanes.
Value DotTile::addLanes(ArrayRef<Value> sums) {
  constexpr int64_t four = blockColumns;
  auto shuffle = [&](Value a, Value b, ArrayRef<int64_t> mask) -> Value {
    return vector::ShuffleOp::create(k.builder, k.loc, a, b, mask);
  };
  auto addNeighbours = [&](Value a, Value b) -> Value {
    SmallVector<int64_t> even, odd;
    for (int64_t first = 0; first < lanes; first += four)
      for (int64_t from : {first, int64_t(lanes) + first})
        for (int64_t pair = 0; pair < four; pair += 2) {
          even.push_back(from + pair);
          odd.push_back(from + pair + 1);
        }
    return arith::AddFOp::create(k.builder, k.loc, shuffle(a, b, even), shuffle(a, b, odd));
  };
  Value all = addNeighbours(addNeighbours(sums[0], sums[1]), addNeighbours(sums[2], sums[3]));
  for (int64_t half = lanes / 2; half >= four; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(half + i);
    }
    all = arith::AddFOp::create(k.builder, k.loc, shuffle(all, all, low), shuffle(all, all, high));
  }
  return all;
}

void DotTile::run(unsigned rows, const RowSource &a, const ColumnSource &b, Index length, Value to,
                  bool adds) {
  constexpr unsigned manyRegisters = 32, rowsOfMany = 6, rowsOfFew = 3;
  unsigned most = cpu.vectorRegisters >= manyRegisters ? rowsOfMany : rowsOfFew;
  unsigned parts = llvm::divideCeil(rows, most);
  auto four = VectorType::get({blockColumns}, acc);
  Index step = k.constant(blockColumns), last = k.sub(b.count, k.constant(1));
  std::optional<int64_t> columns = k.known(b.count);
  bool whole = columns && *columns % blockColumns == 0;
  k.loop(k.constant(0), b.count, step, [&](Index first) {
    Block block{{}, {}, {}, a.element, b.element};
    // Columns that do not exist repeat the last one that does; nobody reads their sums.
    for (unsigned i = 0; i < blockColumns; ++i) {
      Index column = k.add(first, k.constant(i));
      if (!whole)
        column = k.min(column, last);
      block.columns.push_back(k.address(b.base, b.element, k.mul(column, b.stride)));
    }
    for (unsigned part = 0, row = 0; part < parts; ++part) {
      unsigned end = row + llvm::divideCeil(rows - row, parts - part), begin = row;
      block.rows.clear();
      block.next.clear();
      if (part == 0 && b.next)
        for (Value column : block.columns)
          block.next.push_back(k.address(column, b.element, b.next));
      for (; row < end; ++row) {
        Index at = k.constant(row);
        if (a.validRows && row)
          at = k.min(at, k.sub(a.validRows, k.constant(1)));
        block.rows.push_back(k.address(a.base, a.element, k.mul(at, a.rowStride)));
      }
      SmallVector<Value> all = sums(block, length);
      for (unsigned r = 0; begin + r < end; ++r) {
        Value sum = addLanes(ArrayRef(all).slice(r * blockColumns, blockColumns));
        Value at = k.address(to, acc, k.add(k.constant((begin + r) * width), first));
        if (adds)
          sum = arith::AddFOp::create(k.builder, k.loc, k.load(four, at), sum);
        k.store(sum, at);
      }
    }
  });
}

} // namespace tcc::codegen
