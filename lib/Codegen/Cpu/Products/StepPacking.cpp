//===- StepPacking.cpp - Copies of B as steps of k -----------------------===//
//
// Rows of B, several at a time, are interleaved so that neighbours in k are
// neighbours in memory; columns of a transposed B have their steps already, which are
// turned in registers.
//
//===----------------------------------------------------------------------===//
#include "StepPacking.h"
#include "StepDot.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
namespace tcc::codegen {
namespace {

class StepPacker {
public:
  StepPacker(KernelBuilder &k, const ContractionSpec &spec, Index columns, Index valid, Value to)
      : k(k), spec(spec), size(spec.steps.size), lanes(spec.schedule.lanes), columns(columns),
        valid(valid), to(to), element(stepElement(k, spec.steps)) {}

  void rowMajor(Value from, Index steps);
  void transposed(Value from, Index steps);
  void sums(Index steps, Value row);

private:
  Index width() { return k.constant(int64_t(spec.schedule.panelWidth()) * size); }
  /// Where the steps from `column` on lie.
  Value slot(Index step, Index column) {
    return k.address(to, element, k.mulAdd(step, width(), k.mul(column, k.constant(size))));
  }
  Value interleaved(ArrayRef<Value> rows);
  Value line(Value from, Index row, Index column);

  KernelBuilder &k;
  const ContractionSpec &spec;
  int64_t size, lanes;
  Index columns, valid;
  Value to;
  Type element;
};

} // namespace

Value StepPacker::interleaved(ArrayRef<Value> rows) {
  if (rows.size() == 1)
    return rows[0];
  SmallVector<Value> even, odd;
  for (auto [i, row] : llvm::enumerate(rows))
    (i % 2 ? odd : even).push_back(row);
  return vector::InterleaveOp::create(k.builder, k.loc, interleaved(even), interleaved(odd));
}

/// Row `row` of B from `column` on; zeros past the last row.
Value StepPacker::line(Value from, Index row, Index column) {
  auto type = VectorType::get({lanes}, element);
  bool known = k.known(row) && k.known(valid);
  if (known && *k.known(row) >= *k.known(valid))
    return k.zero(type);
  Index read = known ? row : k.min(row, k.sub(valid, k.constant(1)));
  Value values = k.loadPart(type, k.address(from, element, k.mulAdd(read, spec.bStride, column)),
                            k.max(k.sub(columns, column), k.constant(0)));
  if (known)
    return values;
  Value isRow = k.compare(arith::CmpIPredicate::slt, row, valid);
  return arith::SelectOp::create(k.builder, k.loc, isRow, values, k.zero(type));
}

void StepPacker::rowMajor(Value from, Index steps) {
  k.loop(k.constant(0), steps, k.constant(1), [&](Index step) {
    for (int64_t column = 0; column < spec.schedule.panelWidth(); column += lanes) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < size; ++i)
        rows.push_back(
            line(from, k.mulAdd(step, k.constant(size), k.constant(i)), k.constant(column)));
      k.store(interleaved(rows), slot(step, k.constant(column)));
    }
  });
}

void StepPacker::transposed(Value from, Index steps) {
  Index whole = k.min(steps, k.floorDiv(valid, k.constant(size)));
  Index squares = k.mul(k.floorDiv(whole, k.constant(lanes)), k.constant(lanes));
  // Columns that do not exist repeat the last one that does; nobody reads their sums.
  Index lastColumn = k.sub(columns, k.constant(1));
  auto type = VectorType::get({lanes}, stepType(k, spec.steps));
  k.loop(k.constant(0), k.constant(spec.schedule.panelWidth()), k.constant(lanes),
         [&](Index column) {
           SmallVector<Value> lines;
           for (int64_t lane = 0; lane < lanes; ++lane) {
             Index at = k.min(k.add(column, k.constant(lane)), lastColumn);
             lines.push_back(k.address(from, element, k.mul(at, spec.bStride)));
           }
           auto copy = [&](Index begin, Index end, auto load) {
             k.loop(begin, end, k.constant(1), [&](Index step) {
               SmallVector<Value> all;
               for (Value line : lines)
                 all.push_back(load(line, k.mul(step, k.constant(size))));
               k.store(vector::FromElementsOp::create(k.builder, k.loc, type, all),
                       slot(step, column));
             });
           };
           k.loop(k.constant(0), squares, k.constant(lanes), [&](Index step) {
             SmallVector<Value> rows;
             for (Value line : lines)
               rows.push_back(LLVM::LoadOp::create(
                   k.builder, k.loc, type, k.address(line, element, k.mul(step, k.constant(size))),
                   spec.steps.elementBits() / 8));
             for (auto [i, values] : llvm::enumerate(transposeSquare(k, rows)))
               k.store(values, slot(k.add(step, k.constant(i)), column));
           });
           copy(squares, whole, [&](Value line, Index at) {
             return loadStep(k, spec.steps, spec.steps.elementBits(), k.address(line, element, at));
           });
           copy(whole, steps, [&](Value line, Index at) {
             return loadPartOfStep(k, spec.steps, spec.steps.elementBits(), line, at, valid);
           });
         });
}

void StepPacker::sums(Index steps, Value row) {
  auto type = VectorType::get({lanes}, spec.acc);
  for (int64_t column = 0; column < spec.schedule.panelWidth(); column += lanes) {
    Value sum = k.loop(k.constant(0), steps, k.constant(1), k.zero(type),
                       [&](Index step, ValueRange in) -> SmallVector<Value> {
                         Value some = k.load(VectorType::get({lanes * size}, element),
                                             slot(step, k.constant(column)));
                         return {emitStepSum(k, spec.cpu, spec.steps, some, in[0])};
                       })[0];
    Value scale = arith::ConstantOp::create(k.builder, k.loc,
                                            k.builder.getI32IntegerAttr(spec.steps.sumScale()));
    Value scaled = arith::MulIOp::create(k.builder, k.loc, sum, k.broadcast(scale, lanes));
    k.store(scaled, k.address(row, spec.acc, k.constant(column)));
  }
}

void packStepPanel(KernelBuilder &k, const ContractionSpec &spec, Index firstColumn, Index columns,
                   const KBlock &block, Value to) {
  Index first = k.mul(block.begin, k.constant(spec.steps.size));
  StepPacker packer(k, spec, columns, k.sub(spec.kElements, first), to);
  bool transposed = spec.bLayout == PanelLayout::Transposed;
  Index offset = transposed ? k.mulAdd(firstColumn, spec.bStride, first)
                            : k.mulAdd(first, spec.bStride, firstColumn);
  Value from = k.address(spec.b, spec.bElement, offset);
  transposed ? packer.transposed(from, block.length) : packer.rowMajor(from, block.length);
  if (Value row = packedSumsAt(k, spec, to))
    packer.sums(block.length, row);
}

} // namespace tcc::codegen
