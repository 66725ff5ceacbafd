//===- SkinnyMmaKernel.cpp - Few rows by many columns, on matrix units ----===//
//
// A product of up to 16 rows reads all of its right operand once and does little else: memory is
// what it waits for, so what counts is how many bytes are on their way. Nothing goes through
// shared memory but sums: a lane reads 16 bytes of a column of the right operand straight into
// the registers that mma.sync takes them from. The instruction would have a lane hold words
// of k that lie apart, but which k is which is free as long as both operands agree: a lane's four
// words are k of two instructions.
//
// The warps of a block compute the same columns and share k: a warp takes `depth` steps of 64
// bytes a round, all of which it reads before it multiplies, and all warps together read one
// stretch of each column. In the end they add up in shared memory, in their order.
//
// Two products of one left operand (a gate, and what it opens) are computed side by side: a block
// has the same columns of both, and results are computed from both sums.
//
// Weights do not depend on the work before: the columns of the first round are read before that
// work has ended (`kept` of the schedule), those of each other round when the products of the one
// before have been made.
//
// The left operand is small, lies in the first cache, and may be computed from something else.
//
//===----------------------------------------------------------------------===//
#include "MatrixInstructions.h"
#include "Product.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

namespace {

class SkinnyMmaEmitter {
public:
  SkinnyMmaEmitter(device::KernelFrame &f, Product product)
      : f(f), b(f.b), p(std::move(product)), s(f.schedule), products(productsOf(f.launch)),
        instruction(*MatrixInstruction::of(p.leftElement, p.rightElement)),
        chunk(16 / instruction.elementBytes()), warps(s.getThreads() / GpuArch::warp),
        tiles(s.getColumns() / MatrixInstruction::columns * products.size()) {}
  void run();

private:
  using Words = SmallVector<Value, 4>;

  Value zero(Type type) {
    return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
  }
  Value piece(const OperandSource &source, const Coords &own, Value k, unsigned lanes);
  Words read(const OperandSource &source, const Coords &own, Value k, unsigned lanes);
  Value firstOf(Value round);
  Words readAt(const OperandSource &source, const Coords &own, Value first, unsigned step,
               unsigned lanes);
  SmallVector<Value> readColumns(Value round);
  SmallVector<Value> multiplyRound(Value round, ValueRange columnWords, ValueRange sums);
  SmallVector<Value> multiplyAll();
  void leave(ValueRange sums);
  void finish();

  int64_t stepWidth() const { return int64_t(4) * chunk; } ///< elements of k
  int64_t inRound() const { return stepWidth() * s.getDepth() * warps; }
  /// Rows that sums are kept of: an instruction's or half of them.
  int64_t keptRows() const { return rows > MatrixInstruction::rows / 2 ? 16 : 8; }
  /// Of the products' columns one after the other.
  Value sharedAt(Value warp, Value row, Value column) {
    Value number = f.e.addIndex(f.e.mulIndex(warp, f.e.index(keptRows())), row);
    int64_t width = int64_t(tiles) * MatrixInstruction::columns;
    Value place = f.e.addIndex(f.e.mulIndex(number, f.e.index(width)), column);
    return f.at(shared, instruction.sum, place);
  }

  device::KernelFrame &f;
  ImplicitLocOpBuilder &b;
  Product p; ///< the first one
  Schedule s;
  SmallVector<Operation *, 2> products;
  MatrixInstruction instruction;
  unsigned chunk, warps, tiles; ///< elements of 16 bytes; of a block; of all products
  int64_t rows = 1;
  Value columns, inner, batchNumber, firstColumn;
  Value warp, lane, laneRow, laneWord; ///< lane = 4 * laneRow + laneWord
  Value shared;
  OperandSource left;
  SmallVector<OperandSource, 2> rights; ///< of each product
  unsigned leftLanes = 1, rightLanes = 1;
  SmallVector<Coords> rowAt, columnAt; ///< columnAt: of the tiles of one product
};

} // namespace

/// `lanes` neighbours in k as they lie in registers of the instruction.
Value SkinnyMmaEmitter::piece(const OperandSource &source, const Coords &own, Value k,
                              unsigned lanes) {
  Value v = Product::eval(f, source.operand(source.batch, own, runCoords(f, k, p.inner, lanes)));
  Type element = storageType(source.element);
  auto wanted = VectorType::get({lanes}, element);
  if (!v)
    return zero(wanted);
  if (!isa<VectorType>(v.getType()))
    v = f.e.splat(v, lanes);
  return v.getType() == wanted ? v : Value(arith::TruncFOp::create(b, wanted, v));
}

/// 16 bytes of k from `k` on.
SkinnyMmaEmitter::Words SkinnyMmaEmitter::read(const OperandSource &source, const Coords &own,
                                               Value k, unsigned lanes) {
  f.e.setLanes(lanes);
  SmallVector<Value> elements;
  Value all;
  for (unsigned i = 0; i < chunk; i += lanes) {
    all = piece(source, own, f.e.addIndex(k, f.e.index(i)), lanes);
    for (unsigned lane = 0; lane < lanes; ++lane)
      elements.push_back(vector::ExtractOp::create(b, all, int64_t(lane)));
  }
  f.e.setLanes(1);
  if (lanes < chunk)
    all = vector::FromElementsOp::create(b, VectorType::get({chunk}, elements[0].getType()),
                                         elements);
  Value words = vector::BitCastOp::create(b, VectorType::get({4}, b.getI32Type()), all);
  Words separate;
  for (int64_t i = 0; i < 4; ++i)
    separate.push_back(vector::ExtractOp::create(b, words, i));
  return separate;
}

/// The lane's first k in a round.
Value SkinnyMmaEmitter::firstOf(Value round) {
  Value step = f.e.mulIndex(f.e.addIndex(f.e.mulIndex(round, f.e.index(warps)), warp),
                            f.e.index(s.getDepth()));
  return f.e.addIndex(f.e.mulIndex(step, f.e.index(stepWidth())),
                      f.e.mulIndex(laneWord, f.e.index(chunk)));
}

/// 16 bytes of k of a round's step that begins at `first`.
SkinnyMmaEmitter::Words SkinnyMmaEmitter::readAt(const OperandSource &source, const Coords &own,
                                                 Value first, unsigned step, unsigned lanes) {
  Value k = f.e.addIndex(first, f.e.index(step * stepWidth()));
  Words words = read(source, own, k, lanes);
  // Past the end one operand of zeros is enough, unless the other has an infinity there.
  if (getConstantIntValue(inner).value_or(1) % inRound() != 0) {
    Value inside = f.less(k, inner);
    for (Value &word : words)
      word = arith::SelectOp::create(b, inside, word, zero(b.getI32Type()));
  }
  return words;
}

/// The words of the warp's steps of a round, of all columns of each.
SmallVector<Value> SkinnyMmaEmitter::readColumns(Value round) {
  Value first = firstOf(round);
  SmallVector<Value> all;
  for (unsigned i = 0; i < s.getDepth(); ++i)
    for (const OperandSource &right : rights)
      for (const Coords &column : columnAt)
        llvm::append_range(all, readAt(right, column, first, i, rightLanes));
  return all;
}

/// The sums with the products of the warp's steps of one round added.
SmallVector<Value> SkinnyMmaEmitter::multiplyRound(Value round, ValueRange columnWords,
                                                   ValueRange given) {
  Value first = firstOf(round), none = zero(b.getI32Type());
  SmallVector<Words> lefts;
  for (unsigned i = 0; i < s.getDepth(); ++i)
    for (const Coords &row : rowAt)
      lefts.push_back(readAt(left, row, first, i, leftLanes));
  SmallVector<Value> sums(given);
  for (unsigned i = 0; i < s.getDepth(); ++i)
    for (unsigned half : {0u, 2u}) {
      auto low = ArrayRef<Value>(lefts[i * rowAt.size()]).slice(half, 2);
      Words l = {low[0], none, low[1], none};
      if (rowAt.size() > 1) {
        l[1] = lefts[i * 2 + 1][half];
        l[3] = lefts[i * 2 + 1][half + 1];
      }
      SmallVector<Value> leftWords = instruction.rounded(b, l);
      for (unsigned tile = 0; tile < tiles; ++tile) {
        SmallVector<Value> r(columnWords.slice(size_t(i * tiles + tile) * 4 + half, 2));
        SmallVector<Value> added = instruction.multiply(b, leftWords, instruction.rounded(b, r),
                                                        ArrayRef(sums).slice(size_t(tile) * 4, 4));
        llvm::copy(added, sums.begin() + size_t(tile) * 4);
      }
    }
  return sums;
}

SmallVector<Value> SkinnyMmaEmitter::multiplyAll() {
  SmallVector<Value> state(size_t(tiles) * 4, zero(instruction.sum));
  bool early = s.getKept() != 0;
  if (early)
    llvm::append_range(state, readColumns(f.e.index(0)));
  f.awaitEarlierWork();
  auto sumsOf = [&](ValueRange all) { return all.take_front(size_t(tiles) * 4); };
  auto wordsOf = [&](ValueRange all) { return all.drop_front(size_t(tiles) * 4); };
  Value rounds = f.e.divIndex(f.e.addIndex(inner, f.e.index(inRound() - 1)), f.e.index(inRound()));
  Value last = early ? f.e.subIndex(rounds, f.e.index(1)) : rounds;
  if (getConstantIntValue(rounds) == 1 && !early)
    return multiplyRound(f.e.index(0), readColumns(f.e.index(0)), state);
  auto loop = scf::ForOp::create(b, f.e.index(0), last, f.e.index(1), state);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    f.e.nested([&] {
      Value round = loop.getInductionVar();
      ValueRange before = loop.getRegionIterArgs();
      SmallVector<Value> words(wordsOf(before));
      if (!early)
        words = readColumns(round);
      SmallVector<Value> next = multiplyRound(round, words, sumsOf(before));
      if (early)
        llvm::append_range(next, readColumns(f.e.addIndex(round, f.e.index(1))));
      scf::YieldOp::create(b, next);
    });
  }
  ValueRange after = loop.getResults();
  return early ? multiplyRound(last, wordsOf(after), sumsOf(after)) : SmallVector<Value>(after);
}

/// The warp's sums where the others see them.
void SkinnyMmaEmitter::leave(ValueRange sums) {
  auto pair = VectorType::get({2}, instruction.sum);
  for (unsigned tile = 0; tile < tiles; ++tile)
    for (unsigned half = 0; half < rowAt.size(); ++half) {
      Value column = f.e.addIndex(f.e.mulIndex(laneWord, f.e.index(2)),
                                  f.e.index(int64_t(tile) * MatrixInstruction::columns));
      Value row = f.e.addIndex(laneRow, f.e.index(int64_t(half) * 8));
      Value two = vector::FromElementsOp::create(b, pair, sums.slice(tile * 4 + half * 2, 2));
      LLVM::StoreOp::create(b, two, sharedAt(warp, row, column), 8);
    }
}

/// Each thread adds up what the warps have of a result, and finishes it.
void SkinnyMmaEmitter::finish() {
  int64_t all = rows * s.getColumns(), width = s.getColumns();
  for (int64_t begin = 0; begin < all; begin += s.getThreads()) {
    Value number = f.e.addIndex(f.thread, f.e.index(begin));
    Value row = f.e.divIndex(number, f.e.index(width)),
          place = f.e.remIndex(number, f.e.index(width));
    Value column = f.e.addIndex(firstColumn, place);
    Value inside = f.less(column, columns);
    if (all - begin < s.getThreads())
      inside = arith::AndIOp::create(b, inside, f.less(number, f.e.index(all)));
    f.when(inside, [&] {
      SmallVector<Value, 2> totals;
      for (auto [which, op] : llvm::enumerate(products)) {
        Value at = f.e.addIndex(place, f.e.index(int64_t(which) * width)), total;
        for (unsigned i = 0; i < warps; ++i) {
          Value x = LLVM::LoadOp::create(b, instruction.sum, sharedAt(f.e.index(i), row, at));
          total = !total                    ? x
                  : instruction.sum.isF32() ? Value(arith::AddFOp::create(b, total, x))
                                            : Value(arith::AddIOp::create(b, total, x));
        }
        f.e.bindProvider(op->getResult(0), [total](ArrayRef<Coord>) { return total; });
        totals.push_back(total);
      }
      p.store(f, batchNumber, row, runCoords(f, column, p.columns, 1), totals[0]);
    });
  }
}

void SkinnyMmaEmitter::run() {
  columns = f.volume(p.columns);
  inner = f.volume(p.inner);
  rows = *getConstantIntValue(f.volume(p.rows));
  Value width = f.e.index(s.getColumns());
  Value blocks = f.e.divIndex(f.e.addIndex(columns, f.e.index(s.getColumns() - 1)), width);
  SmallVector<Value> place = f.delinearize(f.block, {f.volume(p.batch), blocks});
  batchNumber = place[0];
  firstColumn = f.e.mulIndex(place[1], width);
  warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp));
  lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  laneRow = f.e.divIndex(lane, f.e.index(4));
  laneWord = f.e.remIndex(lane, f.e.index(4));
  Coords batch = uniform(f.delinearize(batchNumber, p.batch));
  left = sourceOf(p, true, batch);
  for (Operation *op : products)
    rights.push_back(sourceOf(productFrom(f, cast<prim::DotOp>(op)), false, batch));
  leftLanes = std::min(chunk, runsOf(f, left).lanes);
  rightLanes = std::min(chunk, runsOf(f, rights[0]).lanes);
  for (const OperandSource &other : ArrayRef(rights).drop_front())
    rightLanes = std::min(rightLanes, runsOf(f, other).lanes);
  for (int64_t first = 0; first < rows; first += 8)
    rowAt.push_back(runCoords(f, f.e.addIndex(laneRow, f.e.index(first)), p.rows, 1));
  for (int64_t first = 0; first < s.getColumns(); first += MatrixInstruction::columns) {
    Value column = f.e.addIndex(firstColumn, f.e.index(first));
    columnAt.push_back(runCoords(f, f.e.addIndex(column, laneRow), p.columns, 1));
  }
  int64_t kept = int64_t(warps) * keptRows() * tiles * MatrixInstruction::columns;
  shared = f.shared(instruction.sum, kept, "sums");
  SmallVector<Value> sums = multiplyAll();
  if (f.failed)
    return;
  leave(sums);
  f.barrier();
  finish();
}

void device::emitSkinnyMmaKernel(KernelFrame &f) {
  if (std::optional<Product> product = productIn(f))
    SkinnyMmaEmitter(f, *product).run();
}
