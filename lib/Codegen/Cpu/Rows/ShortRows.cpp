//===- ShortRows.cpp - Rows of a few elements, several in a vector --------===//
//
// Of rows that fill a part of a vector, lanes along a row are idle, and what they hold is folded
// row by row. Here the lanes are rows: all elements of a vector of rows are in registers, a vector
// for each place of a row, and a reduction goes from one to the next. Nothing is folded, and what
// one reduction has read or computed the next one finds:
//
//        x[r][0..n)                 lanes are rows r..r+L
//   row r:   a b c d e      place 0: a f ..    max, sum, ..
//   row r+1: f g h i j      place 1: b g ..      |
//   ...                     ...                  v   of L rows at once
//
// Rows are read as they lie, a few vectors of each, and turned in registers (LaneTranspose.cpp).
// The last rows, fewer than lanes, are done one by one in the same order, so that a sum does not
// depend on which rows a thread has.
//
//===----------------------------------------------------------------------===//
#include "ShortRows.h"
#include "../Loops/Moves.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Codegen/Common/RowStages.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

unsigned tcc::codegen::lanesOfShortRows(kernel::LaunchOp launch, const CpuTarget &cpu) {
  constexpr int64_t kFewest = 5, kMost = 32, kMostOfOne = 12, kFewestRows = 256;
  constexpr unsigned kBits = 32;
  Block &body = launch.getBody().front();
  auto first = *body.getOps<prim::ReduceOp>().begin();
  ArrayRef<int64_t> shape = tensorType(first.getX()).getShape();
  if (launch.getRows() != 1 || shape.size() != 2 || first.getAxes() != ArrayRef<int64_t>(1))
    return 1;
  int64_t rows = shape[0], length = shape[1];
  // Where a row has one reduction and no more, folding it costs little of a few vectors.
  bool one = llvm::hasSingleElement(body.getOps<prim::ReduceOp>()) &&
             llvm::all_of(body.without_terminator(), llvm::IsaPred<prim::ReduceOp, prim::CastOp>);
  bool isShort = length >= kFewest && length <= (one ? kMostOfOne : kMost);
  if (!isShort || (!ShapedType::isDynamic(rows) && rows < kFewestRows))
    return 1;
  unsigned bits = kBits;
  for (Value operand : body.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType())) {
      Type element = type.getElementType();
      if (!element.isIntOrFloat())
        return 1;
      bits = std::max(bits, element.getIntOrFloatBitWidth());
    }
  unsigned functions = 0;
  for (Operation &op : body.without_terminator()) {
    bool inLanes = isa<prim::ReduceOp>(op) || prim::isElementwise(&op) ||
                   moves(&op, Move::Repeat, Move::Constant, Move::Reshape);
    functions += op.hasTrait<prim::VeryCostly>();
    if (functions > 1 || !inLanes)
      return 1;
  }
  for (Type given : launch.getResultTypes())
    if (cast<RankedTensorType>(given).getRank() != 1)
      return 1;
  return cpu.lanes(bits);
}

namespace {

class ShortRowsEmitter {
public:
  ShortRowsEmitter(KernelFrame &f, unsigned lanes)
      : f(f), lanes(lanes), stages(rowStages(f.launch)),
        length(tensorType(stages.front().front().getX()).getDimSize(1)) {}
  bool run();

private:
  void emitRows(Value row);
  void reduce(const RowStage &stage, Value row);
  Coords at(Value row, Value place) {
    return {Coord::affine(row, f.e.lanes() > 1 ? 1 : 0), Coord::uniform(place)};
  }

  KernelFrame &f;
  unsigned lanes;
  std::vector<RowStage> stages;
  int64_t length;
};

} // namespace

void ShortRowsEmitter::reduce(const RowStage &stage, Value row) {
  constexpr int64_t kMostBlock = 8, kLeastBlock = 4;
  ImplicitLocOpBuilder &b = f.b;
  SmallVector<TypedAttr> neutrals;
  SmallVector<Value> totals;
  for (prim::ReduceOp r : stage) {
    neutrals.push_back(neutralElement(r.getKind(), tensorType(r.getX()).getElementType()));
    Value none = arith::ConstantOp::create(b, neutrals.back());
    totals.push_back(f.e.lanes() > 1 ? f.e.splat(none, f.e.lanes()) : none);
  }
  for (int64_t done = 0; done < length;) {
    int64_t left = length - done, block = kMostBlock;
    if (left <= kLeastBlock || length < kMostBlock)
      block = kLeastBlock;
    int64_t first = std::min(done, length - block);
    // Never folded: reads are recognised by it.
    Value base = arith::MaxSIOp::create(b, f.e.index(first), f.e.index(0));
    for (int64_t place = 0; place < block; ++place) {
      if (f.e.lanes() > 1)
        f.e.setRowBlock({base, unsigned(block), unsigned(place)});
      Coords here = at(row, f.e.addIndex(base, f.e.index(place)));
      bool again = first + place < done;
      if (again && place > 0) // the first one reads for all
        continue;
      for (auto [r, neutral, total] : llvm::zip_equal(stage, neutrals, totals)) {
        Value next = combined(f, r, neutral, total, here, /*mask=*/Value());
        if (!again)
          total = next;
      }
    }
    done = first + block;
  }
  f.e.setRowBlock({});
  for (auto [r, total] : llvm::zip_equal(stage, totals))
    f.e.bindProvider(prim::ReduceOp(r).getResult(),
                     [total = total](ArrayRef<Coord>) { return total; });
}

void ShortRowsEmitter::emitRows(Value row) {
  for (const RowStage &stage : stages)
    reduce(stage, row);
  SmallVector<Value> given;
  Coords here = {Coord::affine(row, f.e.lanes() > 1 ? 1 : 0)};
  for (Value value : f.yield().getValues()) {
    given.push_back(f.e.evalVector(value, here));
    f.failed |= !given.back();
  }
  for (auto [memory, value] : llvm::zip(f.results, given))
    if (value)
      f.e.store(memory, here, value);
}

bool ShortRowsEmitter::run() {
  f.vectorLoop(f.begin, f.end, lanes, /*lowAligned=*/false, [&](Value row) { emitRows(row); });
  return !f.failed;
}

bool tcc::codegen::emitShortRows(KernelFrame &frame, cpu::RowScheduleAttr schedule) {
  return ShortRowsEmitter(frame, schedule.getLanes()).run();
}
