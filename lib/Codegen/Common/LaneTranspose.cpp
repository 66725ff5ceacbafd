//===- LaneTranspose.cpp - Reads along the rows of a block -----------===//
//
// Lanes that lie `stride` elements apart cost a gather. When a loop nest writes a
// block of rows at once (RowBlock), and the rows lie next to each other in memory, the
// same elements are read as vectors along the rows, one a lane, and transposed in
// registers; each row then takes its vector:
//
//        rows j0..j0+R, contiguous          lanes, contiguous in the result
//   lane 0: x x x x                         row 0: x y z w
//   lane 1: y y y y     --transpose-->      row 1: x y z w
//   ...                                     ...
//
// The elements read are those that the rows read: each row's address must be the first
// row's plus its number, or minus it, where the vectors end at the first row's and rows take them
// in turn from the last; this is found by taking the index expression apart. Lanes may lie
// anywhere, as those of an axis that joins two do. What cannot be taken apart, or is behind a mask
// or a condition, stays a gather.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/LaneAccess.h"
#include "tcc/Codegen/Common/NarrowTypes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

//===----------------------------------------------------------------------===//
// Index expressions
//===----------------------------------------------------------------------===//

/// Whether `v` is arithmetic of block arguments and of what `block` does not compute,
/// none of them `without`.
static bool isArithmetic(Value v, Block *block, Value without) {
  if (v == without)
    return false;
  Operation *op = v.getDefiningOp();
  if (!op || op->getBlock() != block)
    return true;
  return (isa<arith::ArithDialect>(op->getDialect()) || isa<vector::BroadcastOp>(op)) &&
         llvm::all_of(op->getOperands(), [&](Value x) { return isArithmetic(x, block, without); });
}

/// What lane `lane` of an index vector is, by arithmetic on that lane alone where the vector is
/// arithmetic.
Value LaneAccess::laneOf(Value v, unsigned lane) {
  if (!isa<VectorType>(v.getType()))
    return v;
  if (DenseIntElementsAttr elements; matchPattern(v, m_Constant(&elements)))
    return index(elements.getValues<APInt>()[lane].getSExtValue());
  if (auto spread = v.getDefiningOp<vector::BroadcastOp>())
    return spread.getSource();
  using Fold = Value (LaneAccess::*)(Value, Value);
  Operation *op = v.getDefiningOp();
  Fold fold = isa_and_nonnull<arith::AddIOp>(op)    ? &LaneAccess::addIndex
              : isa_and_nonnull<arith::SubIOp>(op)  ? &LaneAccess::subIndex
              : isa_and_nonnull<arith::MulIOp>(op)  ? &LaneAccess::mulIndex
              : isa_and_nonnull<arith::DivUIOp>(op) ? &LaneAccess::divIndex
              : isa_and_nonnull<arith::RemUIOp>(op) ? &LaneAccess::remIndex
                                                    : Fold();
  if (!fold)
    return vector::ExtractOp::create(b, v, int64_t(lane));
  Value x = laneOf(op->getOperand(0), lane);
  return (this->*fold)(x, laneOf(op->getOperand(1), lane));
}

//===----------------------------------------------------------------------===//
// Transposing in registers
//===----------------------------------------------------------------------===//

/// Each stage swaps the blocks of `half` elements that lie off the diagonal of blocks twice as
/// large.
void tcc::codegen::transposeSquare(ImplicitLocOpBuilder &b, MutableArrayRef<Value> rows) {
  int64_t n = rows.size();
  for (int64_t half = n / 2; half; half /= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t i = 0; i < n; ++i) {
      upper.push_back(i & half ? n + (i ^ half) : i);
      lower.push_back(i & half ? n + i : i ^ half);
    }
    for (int64_t i = 0; i < n; ++i) {
      if (i & half)
        continue;
      Value x = rows[i], y = rows[i | half];
      rows[i] = vector::ShuffleOp::create(b, x, y, upper);
      rows[i | half] = vector::ShuffleOp::create(b, x, y, lower);
    }
  }
}

/// `columns` vectors of `rows` elements, as `rows` vectors of `columns` elements.
static SmallVector<Value> transposeVectors(ImplicitLocOpBuilder &b, ArrayRef<Value> columns,
                                           unsigned rows) {
  SmallVector<Value> result(rows);
  SmallVector<SmallVector<Value>> parts; // of each square: its rows
  for (size_t i = 0; i < columns.size(); i += rows) {
    parts.emplace_back(columns.slice(i, rows));
    transposeSquare(b, parts.back());
  }
  for (unsigned row = 0; row < rows; ++row) {
    SmallVector<Value> pieces;
    for (auto &part : parts)
      pieces.push_back(part[row]);
    for (; pieces.size() > 1; pieces.truncate(pieces.size() / 2)) {
      int64_t length = cast<VectorType>(pieces[0].getType()).getNumElements();
      auto both = llvm::to_vector(llvm::seq<int64_t>(0, 2 * length));
      for (size_t i = 0; i < pieces.size() / 2; ++i)
        pieces[i] = vector::ShuffleOp::create(b, pieces[2 * i], pieces[2 * i + 1], both);
    }
    result[row] = pieces[0];
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Value LaneAccess::loadFromRows(const Memory &memory, ArrayRef<Coord> at) {
  if (!block.rows || mask || numLanes % block.rows)
    return {};
  size_t last = at.size();
  while (last > 0 && getConstantIntValue(memory.extents[last - 1]) == 1)
    --last;
  if (last-- == 0)
    return {};

  Rows rows;
  bool spread = false, backwards = false;
  Block *here = b.getInsertionBlock();
  for (auto [i, c] : llvm::enumerate(at)) {
    LinearForm form;
    form.add(c.vector ? c.vector : c.base, 1, block.first);
    int64_t perRow = form.take(block.first);
    if (i == last ? std::abs(perRow) != 1 || c.step != 0 : perRow != 0)
      return {};
    for (auto &[term, count] : form.terms) {
      if (!isArithmetic(term, here, block.first))
        return {};
      spread |= isa<VectorType>(term.getType());
    }
    if (i == last)
      form.constant -= perRow * block.row;
    backwards |= perRow < 0;
    spread |= c.step != 0;
    rows.at.push_back({std::move(form), c.step});
  }
  if (!spread)
    return {};

  rows.pointer = memory.pointer;
  rows.backwards = backwards;
  for (const Rows &known : knownRows)
    if (known.pointer == rows.pointer && known.at == rows.at && known.backwards == backwards)
      return fromStorage(b, known.vectors[block.row], memory.elementType);
  if (block.row != 0) // the first row met another address
    return {};

  Type element = storageType(memory.elementType);
  auto vectorType = VectorType::get({block.rows}, element);
  unsigned align = std::max<unsigned>(1, element.getIntOrFloatBitWidth() / 8);
  SmallVector<Value> columns;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    Coords column;
    for (const Coord &c : at)
      column.push_back(Coord::uniform(c.vector ? laneOf(c.vector, lane)
                                               : addIndex(c.base, index(lane * c.step))));
    Value least = linearIndex(memory.extents, column).base;
    if (backwards)
      least = subIndex(least, index(block.rows - 1));
    Value pointer = pointerAt(memory, least);
    columns.push_back(LLVM::LoadOp::create(b, vectorType, pointer, align));
  }
  rows.vectors = transposeVectors(b, columns, block.rows);
  if (backwards)
    std::reverse(rows.vectors.begin(), rows.vectors.end());
  knownRows.push_back(rows);
  return fromStorage(b, rows.vectors[0], memory.elementType);
}
