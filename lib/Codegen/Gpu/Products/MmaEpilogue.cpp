//===- MmaEpilogue.cpp - What becomes of the sums of mma.sync -------------===//
//
// A lane has eight neighbouring columns of a row, or pairs of them. Where the result's rows are
// whole accesses it stores them at once. Elsewhere four lanes would write less than a sector of
// memory of each of eight rows: odd columns one by one, 16 times each sector. So a warp's lanes
// exchange their sums through the shared memory that slices lay in, and neighbours of the result
// are stored by neighbouring lanes: of a row, or, where results lie across, of a column.
//
//===----------------------------------------------------------------------===//
#include "MmaKernel.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// What a warp exchanges at once: a tile's rows by so many columns, words whose rows begin in
/// different banks.
constexpr unsigned kColumns = 32, kPitch = kColumns + 4, kWord = 4;

/// Whether results lie as the product's do, along columns, or all of them along something else.
MmaEmitter::Order MmaEmitter::orderOfResults() {
  unsigned across = llvm::count_if(f.yield().getValues(), [](Value v) {
    auto transpose = v.getDefiningOp<prim::TransposeOp>();
    return transpose &&
           transpose.getPermutation().back() + 1 != int64_t(transpose.getPermutation().size());
  });
  return !across                                ? Order::Columns
         : across == f.yield().getNumOperands() ? Order::Across
                                                : Order::Mixed;
}

/// Neighbouring columns that are stored at once, of so many of a thread.
unsigned MmaEmitter::lanesOfRun(unsigned most) {
  auto last = p.columns.empty() ? std::nullopt : getConstantIntValue(p.columns.back());
  int64_t extent = orderOfResults() == Order::Columns ? last.value_or(1) : 1;
  return static_cast<unsigned>(std::min<int64_t>(extent & -extent, most));
}

/// What follows the product at neighbouring columns of a row, stored where they are inside.
void MmaEmitter::storeRun(Value row, Value column, ArrayRef<Value> sums) {
  unsigned lanes = lanesOfRun(sums.size());
  bool whole = getConstantIntValue(columns).value_or(1) % t.columns == 0;
  for (unsigned i = 0; i < sums.size(); i += lanes) {
    Value first = f.e.addIndex(column, f.e.index(i));
    auto store = [&] {
      f.e.setLanes(lanes);
      Value total = sums[i];
      if (lanes > 1)
        total = vector::FromElementsOp::create(b, VectorType::get({lanes}, instruction.sum),
                                               sums.slice(i, lanes));
      p.store(f, batchNumber, row, runCoords(f, first, p.columns, lanes), total);
      f.e.setLanes(1);
    };
    whole ? store() : f.when(f.less(first, columns), store);
  }
}

/// Tiles of the instruction whose columns are neighbours in a lane.
unsigned MmaEmitter::tilesTogether() const { return operands[1].front().byInner ? 4 : 1; }

/// Whether lanes exchange what they store: four of them have a row's neighbours, which would be
/// less than a sector of memory at once.
bool MmaEmitter::exchanges() {
  constexpr unsigned kSector = 32;
  if (orderOfResults() != Order::Columns)
    return orderOfResults() == Order::Across;
  unsigned lanes = lanesOfRun(2 * tilesTogether());
  unsigned together = lanes == 2 * tilesTogether() ? 4 * lanes : lanes;
  return together * storageType(f.results[0].elementType).getIntOrFloatBitWidth() < 8 * kSector;
}

/// 16 rows of 32 columns of the warp, from `row` and `column` of its own on, by memory that only it
/// uses: neighbouring lanes store neighbours of the result.
void MmaEmitter::storeExchanged(Value memory, unsigned row, unsigned column, ValueRange sums) {
  constexpr unsigned kRows = MatrixInstruction::rows;
  unsigned together = tilesTogether(), across = t.warpColumns / 8;
  auto placeOf = [&](Value row, Value column) {
    return bytesBehind(memory, mul(add(mul(row, kPitch), column), kWord));
  };
  NVVM::SyncWarpOp::create(b, c(-1)); // what lay there has been read
  Value laneRow = shr(lane, 2), laneColumn = mul(band(lane, 3), 2 * together);
  for (unsigned half : {0u, 1u})
    for (unsigned tile = 0; tile < kColumns / 8; ++tile) {
      unsigned first = ((row / kRows * across + column / 8 + tile) * 2 + half) * 2;
      Value pair = vector::FromElementsOp::create(b, VectorType::get({2}, instruction.sum),
                                                  ValueRange{sums[first], sums[first + 1]});
      Value at = add(laneColumn, c(together == 1 ? tile * 8 : tile * 2));
      LLVM::StoreOp::create(b, pair, placeOf(add(laneRow, c(half * 8)), at), 2 * kWord);
    }
  NVVM::SyncWarpOp::create(b, c(-1));
  bool turned = orderOfResults() == Order::Across;
  unsigned lanes = lanesOfRun(8), ofRow = kColumns / lanes;
  Value down = turned ? band(lane, kRows - 1) : shr(lane, llvm::Log2_32(ofRow));
  Value over = turned ? shr(lane, llvm::Log2_32(kRows)) : mul(band(lane, ofRow - 1), lanes);
  Type type = lanes > 1 ? Type(VectorType::get({lanes}, instruction.sum)) : instruction.sum;
  SmallVector<std::pair<Value, Value>> places;
  SmallVector<Value> values;
  for (unsigned n = 0; n < kRows / lanes; ++n) {
    Value r = turned ? down : add(down, c(n * lanes)), k = turned ? add(over, c(n * 2)) : over;
    values.push_back(LLVM::LoadOp::create(b, type, placeOf(r, k),
                                          std::min(lanes * kWord, unsigned(GpuArch::accessBytes))));
    places.push_back({f.e.addIndex(rowTile, toIndex(add(add(warpRow, r), c(row)))),
                      f.e.addIndex(columnTile, toIndex(add(add(warpColumn, k), c(column))))});
  }
  f.e.setLanes(lanes);
  for (auto [value, place] : llvm::zip_equal(values, places)) {
    auto [row, column] = place;
    Value inside = arith::AndIOp::create(b, f.less(row, rows), f.less(column, columns));
    f.when(inside, [&, value = value, row = row, column = column] {
      p.store(f, batchNumber, row, runCoords(f, column, p.columns, lanes), value);
    });
  }
  f.e.setLanes(1);
}

void MmaEmitter::store(ValueRange sums) {
  unsigned down = t.warpRows / 16, across = t.warpColumns / 8, together = tilesTogether();
  if (exchanges()) {
    Value memory = sharedAt(mul(shr(tid, 5), int64_t(MatrixInstruction::rows) * kPitch * kWord));
    for (unsigned i = 0; i < down; ++i)
      for (unsigned j = 0; j < across; j += 4)
        storeExchanged(memory, i * 16, j * 8, sums);
    return;
  }
  Value laneRow = shr(lane, 2), laneColumn = mul(band(lane, 3), 2 * together);
  for (unsigned i = 0; i < down; ++i)
    for (unsigned half : {0u, 1u}) {
      Value place = add(add(warpRow, laneRow), c(i * 16 + half * 8));
      Value row = f.e.addIndex(rowTile, toIndex(place));
      auto storeRow = [&] {
        for (unsigned j = 0; j < across; j += together) {
          SmallVector<Value> run;
          for (unsigned tile = j; tile < j + together; ++tile)
            for (unsigned column : {0u, 1u})
              run.push_back(sums[(i * across + tile) * 4 + half * 2 + column]);
          Value column = add(add(warpColumn, laneColumn), c(j * 8));
          storeRun(row, f.e.addIndex(columnTile, toIndex(column)), run);
        }
      };
      bool whole = getConstantIntValue(rows).value_or(1) % t.rows == 0;
      whole ? storeRow() : f.when(f.less(row, rows), storeRow);
    }
}
