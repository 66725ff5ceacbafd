//===- OperandLines.cpp - Lines of an operand in shared memory ------------===//
#include "OperandLines.h"
#include "../Products/MatrixInstructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr unsigned kGroup = 8; // elements of a chunk

static Value index(ImplicitLocOpBuilder &b, Value i32) {
  return arith::IndexCastUIOp::create(b, b.getIndexType(), i32);
}

OperandLines::OperandLines(KernelFrame &f, OperandSource given, LineShape shape, Value shared)
    : f(f), b(f.b), source(std::move(given)), shape(shape), shared(shared) {
  if (source.innerFirst != shape.linesAreInner)
    runs = runsOf(f, source);
  unsigned threads = f.schedule.getThreads();
  for (unsigned i = 0; i * threads < shape.lines * shape.chunks; ++i)
    addChunk(i);
}

/// The thread's chunk `i`. Neighbours in memory are brought by neighbouring threads; where there
/// are more threads than chunks, some bring the last one.
void OperandLines::addChunk(unsigned i) {
  auto c = [&](int64_t v) { return f.i32(v); };
  auto div = [&](Value x, int64_t y) -> Value { return arith::DivUIOp::create(b, x, c(y)); };
  auto rem = [&](Value x, int64_t y) -> Value { return arith::RemUIOp::create(b, x, c(y)); };
  auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, x, y); };
  auto mul = [&](Value x, int64_t y) -> Value { return arith::MulIOp::create(b, x, c(y)); };
  unsigned threads = f.schedule.getThreads(), total = shape.lines * shape.chunks;
  Value number =
      add(arith::IndexCastUIOp::create(b, b.getI32Type(), f.thread), c(int64_t(i) * threads));
  if ((i + 1) * threads > total)
    number = arith::MinUIOp::create(b, number, c(total - 1));
  bool alongLines = source.innerFirst != shape.linesAreInner;
  Value place = alongLines ? div(number, shape.chunks) : rem(number, shape.lines);
  Value at = alongLines ? rem(number, shape.chunks) : div(number, shape.lines);
  Chunk chunk;
  chunk.offset = add(mul(place, shape.pitch()), mul(at, 16));
  // Place 8 * j + 2 * t + i of its group is line 2 * interleave * t + 2 * j + i.
  Value line = place;
  if (unsigned n = shape.interleave; n > 1) {
    Value j = rem(div(place, 8), n), t = rem(div(place, 2), 4), in = rem(place, 2);
    line = add(mul(div(place, int64_t(8) * n), int64_t(8) * n),
               add(mul(t, int64_t(2) * n), add(mul(j, 2), in)));
  }
  chunk.line = index(b, line);
  ArrayRef<Value> extents = shape.linesAreInner ? source.own : source.inner;
  Value all = f.volume(extents);
  bool whole = getConstantIntValue(all) == int64_t(shape.chunks * kGroup);
  f.e.setLanes(runs.lanes);
  for (unsigned j = 0; j < kGroup; j += runs.lanes) {
    Value first = index(b, add(mul(at, kGroup), c(j)));
    chunk.pieces.push_back(
        {runCoords(f, first, extents, runs.lanes), whole ? Value() : f.less(first, all)});
  }
  f.e.setLanes(1);
  chunks.push_back(std::move(chunk));
}

/// The values of a piece as they lie in shared memory.
Value OperandLines::evaluated(const ProductOperand &operand) {
  Value v = Product::eval(f, operand);
  if (!v)
    return {};
  if (runs.lanes > 1 && !isa<VectorType>(v.getType()))
    v = f.e.splat(v, runs.lanes);
  Type element = storageType(source.element);
  Type wanted = runs.lanes > 1 ? Type(VectorType::get({runs.lanes}, element)) : element;
  return v.getType() == wanted ? v : Value(arith::TruncFOp::create(b, wanted, v));
}

SmallVector<OperandLines::Held> OperandLines::fetch(Value first, Value end, Value offset) {
  SmallVector<Held> held;
  unsigned bytes = runs.lanes * 2;
  f.e.setLanes(runs.lanes);
  for (const Chunk &chunk : chunks) {
    Value line = f.e.addIndex(first, chunk.line);
    Coords at = runCoords(f, line, shape.linesAreInner ? source.inner : source.own, 1);
    Value before = end ? f.less(line, end) : Value();
    Value to = arith::AddIOp::create(b, offset, chunk.offset);
    SmallVector<Value> elements;
    for (auto [j, piece] : llvm::enumerate(chunk.pieces)) {
      ProductOperand operand = source.operand(source.batch, shape.linesAreInner ? piece.along : at,
                                              shape.linesAreInner ? at : piece.along);
      for (Value condition : {piece.inside, before})
        if (condition)
          operand.inside = operand.inside
                               ? Value(arith::AndIOp::create(b, operand.inside, condition))
                               : condition;
      if (runs.direct) {
        Value from = f.e.readingOf(operand.tensor, operand.at).place->pointer;
        Value here = LLVM::GEPOp::create(
            b, shared.getType(), b.getI8Type(), shared,
            ArrayRef<LLVM::GEPArg>{Value(arith::AddIOp::create(b, to, f.i32(int64_t(j) * bytes)))});
        copyAsync(b, here, from, bytes, operand.inside);
        continue;
      }
      Value v = evaluated(operand);
      if (!v)
        return held;
      for (unsigned lane = 0; lane < runs.lanes; ++lane)
        elements.push_back(runs.lanes > 1 ? Value(vector::ExtractOp::create(b, v, int64_t(lane)))
                                          : v);
    }
    if (!elements.empty()) {
      auto type = VectorType::get({kGroup}, elements[0].getType());
      held.push_back({to, vector::FromElementsOp::create(b, type, elements)});
    }
  }
  f.e.setLanes(1);
  return held;
}

void OperandLines::write(ArrayRef<Held> held) {
  for (const Held &chunk : held) {
    Value to = LLVM::GEPOp::create(b, shared.getType(), b.getI8Type(), shared,
                                   ArrayRef<LLVM::GEPArg>{chunk.offset});
    LLVM::StoreOp::create(b, chunk.chunk, to, 16);
  }
}
