//===- ScatterRuns.cpp - Updates that come in runs ------------------------===//
//
// Where the updates of a row of the result follow one another (bags of embeddings), each would wait
// for what the one before stored. The row is in registers instead, from its first update to its
// last; of a long row as many vectors as half of the registers hold, one run after the other.
//
//===----------------------------------------------------------------------===//
#include "ScatterRuns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// Neighbouring elements of a row.
struct Piece {
  int64_t column;
  unsigned lanes;
};

class RunEmitter {
public:
  RunEmitter(KernelFrame &f, const ScatterRun &run) : f(f), run(run), op(run.op) {}
  std::vector<SmallVector<Piece>> blocks();
  void emitBlock(ArrayRef<Piece> block, bool fetches);

private:
  Coords at(Value row, const Piece &piece) {
    return {Coord::uniform(row), Coord::affine(f.e.index(piece.column), piece.lanes > 1 ? 1 : 0)};
  }

  KernelFrame &f;
  const ScatterRun &run;
  prim::ScatterRunsOp op;
};

} // namespace

prim::ReduceKind tcc::codegen::reductionOf(prim::ScatterKind kind) {
  return kind == prim::ScatterKind::add   ? prim::ReduceKind::sum
         : kind == prim::ScatterKind::mul ? prim::ReduceKind::prod
         : kind == prim::ScatterKind::max ? prim::ReduceKind::max
                                          : prim::ReduceKind::min;
}

bool tcc::codegen::keepsInRegisters(prim::ScatterRunsOp op) {
  RankedTensorType type = tensorType(op.getResult());
  constexpr int64_t kMostColumns = 1024; // code is written out for each vector of them
  Type e = type.getElementType();
  return type.getRank() == 2 && !type.isDynamicDim(1) && type.getDimSize(1) > 0 &&
         type.getDimSize(1) <= kMostColumns && op.getKind() != prim::ScatterKind::assign &&
         e.isIntOrFloat() && computeType(e) == storageType(e) && e.getIntOrFloatBitWidth() >= 32;
}

/// The vectors of a row, as many at a time as leave the other half of the registers.
std::vector<SmallVector<Piece>> RunEmitter::blocks() {
  RankedTensorType type = tensorType(op.getResult());
  int64_t width = type.getDimSize(1), most = f.cpu.lanes(type.getElementTypeBitWidth());
  size_t registers = std::max(1u, f.cpu.vectorRegisters / 2);
  std::vector<SmallVector<Piece>> all(1);
  for (int64_t column = 0; column < width;) {
    if (all.back().size() == registers)
      all.emplace_back();
    unsigned lanes = llvm::bit_floor<uint64_t>(std::min(most, width - column));
    all.back().push_back({column, lanes});
    column += lanes;
  }
  return all;
}

/// Updates some vectors of the row by all of its run.
void RunEmitter::emitBlock(ArrayRef<Piece> block, bool fetches) {
  ImplicitLocOpBuilder &b = f.b;
  const Memory &out = f.results[0];
  SmallVector<Value> start;
  for (const Piece &piece : block) {
    f.e.setLanes(piece.lanes);
    start.push_back(f.e.load(out, at(run.row, piece)));
  }
  auto loop = scf::ForOp::create(b, run.begin, run.end, f.e.index(1), start);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = f.e.nested([&] {
      Value update = loop.getInductionVar();
      f.e.setLanes(1);
      if (fetches)
        run.fetch(update);
      f.e.forget();
      SmallVector<Value> values;
      auto kind = reductionOf(op.getKind());
      for (auto [piece, sum] : llvm::zip_equal(block, loop.getRegionIterArgs())) {
        f.e.setLanes(piece.lanes);
        Value v = f.e.evalVector(op.getUpdates(), at(update, piece));
        f.failed |= !v;
        values.push_back(v ? emitCombine(b, kind, out.elementType, sum, v) : Value(sum));
      }
      return values;
    });
    scf::YieldOp::create(b, next);
  }
  for (auto [piece, value] : llvm::zip_equal(block, loop.getResults())) {
    f.e.setLanes(piece.lanes);
    f.e.store(out, at(run.row, piece), value);
  }
  f.e.setLanes(1);
}

void tcc::codegen::emitInRegisters(KernelFrame &f, const ScatterRun &run) {
  RunEmitter emitter(f, run);
  for (auto [i, block] : llvm::enumerate(emitter.blocks()))
    emitter.emitBlock(block, /*fetches=*/i == 0);
}
