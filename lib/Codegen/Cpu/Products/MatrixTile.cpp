//===- MatrixTile.cpp - Register tiles of a matrix unit -------------------===//
//
// The tile registers are named in the instructions, so that LLVM has nothing to allocate: sums
// first, then A, then B. How many rows and bytes a row each has is read from memory by LDTILECFG,
// which clears them all: k that is no multiple of a turn's steps ends with a turn of its own,
// around which sums are in memory. Where rows of A end within a step, that turn's are copied first,
// with zeros behind them.
//
//===----------------------------------------------------------------------===//
#include "MatrixTile.h"

using namespace mlir;
namespace tcc::codegen {
namespace {

constexpr unsigned kFirstA = 4, kFirstB = 6, kRegisters = 8;
constexpr int64_t kStepBytes = 4, kRowBytes = 64; // of a step of A or B, and of a tile's row

unsigned sumRegister(unsigned row, unsigned column) { return 2 * row + column; }

Value registerNumber(KernelBuilder &k, unsigned number) {
  Type i8 = k.builder.getI8Type();
  return LLVM::ConstantOp::create(k.builder, k.loc, i8, k.builder.getIntegerAttr(i8, number));
}

void call(KernelBuilder &k, StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(k.builder, k.loc, k.builder.getStringAttr("llvm.x86." + name),
                                operands);
}

/// Loads or stores a tile register whose rows are `stride` bytes apart.
void move(KernelBuilder &k, StringRef name, unsigned number, Value at, Index stride) {
  call(k, name, {registerNumber(k, number), at, k.toI64(stride)});
}

Value bytesFrom(KernelBuilder &k, Value base, Index bytes) {
  return k.address(base, k.builder.getI8Type(), bytes);
}

/// Bytes of any two signednesses, unlike vectors' (DotSteps): sums begin with zero.
StringRef instructionOf(DotSteps kind) {
  if (kind.bfloat)
    return "tdpbf16ps";
  if (kind.lhsUnsigned)
    return kind.rhsUnsigned ? "tdpbuud" : "tdpbusd";
  return kind.rhsUnsigned ? "tdpbsud" : "tdpbssd";
}

} // namespace

MatrixTile::MatrixTile(KernelBuilder &k, DotSteps kind, Index rows, unsigned vectors, int64_t depth,
                       int64_t block)
    : k(k), kind(kind), rows(rows), vectors(vectors), steps(mostSteps) {
  constexpr int64_t fewestSteps = 12; // of fewer, a turn of its own for the rest is cheaper
  for (int64_t some = mostSteps; some >= fewestSteps; --some)
    if (depth % some == 0 && block % some == 0) {
      steps = some;
      break;
    }
}

void MatrixTile::configure() {
  configuration = k.scratch(k.builder.getI8Type(), kRowBytes);
  configure(k.constant(steps));
}

/// Palette 1: bytes a row of each register from byte 16 on, then rows from byte 48 on.
void MatrixTile::configure(Index steps) {
  constexpr int64_t palette = 1, bytesAt = 16, rowsAt = 48;
  Type i8 = k.builder.getI8Type(), i16 = k.builder.getI16Type();
  auto put = [&](Type type, int64_t at, Index value) {
    Value narrow = arith::TruncIOp::create(k.builder, k.loc, type, k.toI64(value));
    k.store(narrow, bytesFrom(k, configuration, k.constant(at)));
  };
  k.store(k.zero(VectorType::get({kRowBytes}, i8)), configuration);
  put(i8, 0, k.constant(palette));
  Index block = k.constant(blockRows), first = k.min(rows, block);
  // The second block of rows has one where it is not used.
  Index second = k.max(k.constant(1), k.sub(k.max(rows, block), block));
  for (unsigned number = 0; number < kRegisters; ++number) {
    bool isB = number >= kFirstB, isA = !isB && number >= kFirstA;
    bool isSecond = isA ? number > kFirstA : number >= sumRegister(1, 0);
    put(i16, bytesAt + 2 * number,
        isA ? k.mul(steps, k.constant(kStepBytes)) : k.constant(kRowBytes));
    put(i8, rowsAt + number, isB ? steps : isSecond ? second : first);
  }
  call(k, "ldtilecfg", configuration);
}

void MatrixTile::zeroSums(const Blocks &blocks) {
  for (unsigned row = 0; row < blocks.rows; ++row)
    for (unsigned column = 0; column < blocks.columns; ++column)
      call(k, "tilezero", registerNumber(k, sumRegister(row, column)));
}

void MatrixTile::moveSums(const Blocks &blocks, Value sums, bool load) {
  for (unsigned row = 0; row < blocks.rows; ++row)
    for (unsigned column = 0; column < blocks.columns; ++column) {
      int64_t offset = row * blockRows * sumBytes + (blocks.firstColumn + column) * kRowBytes;
      move(k, load ? "tileloadd64" : "tilestored64", sumRegister(row, column),
           bytesFrom(k, sums, k.constant(offset)), k.constant(sumBytes));
    }
}

/// The steps of A from its own `begin` on and those of B from `at` on, as many as the registers are
/// configured for.
void MatrixTile::multiply(const Blocks &blocks, const RowSource &a, Index begin,
                          const PanelSource &b, Index at) {
  int64_t stride = vectors * kRowBytes;
  Value left = k.address(a.base, a.element, k.mul(begin, a.kStride));
  Value right = bytesFrom(k, b.base, k.mul(at, k.constant(stride)));
  Index rowBytes = k.mul(a.rowStride, k.constant(a.element.getIntOrFloatBitWidth() / 8));
  for (unsigned row = 0; row < blocks.rows; ++row)
    move(k, "tileloadd64", kFirstA + row,
         bytesFrom(k, left, k.mul(rowBytes, k.constant(row * blockRows))), rowBytes);
  for (unsigned column = 0; column < blocks.columns; ++column)
    move(k, "tileloadd64", kFirstB + column,
         bytesFrom(k, right, k.constant((blocks.firstColumn + column) * kRowBytes)),
         k.constant(stride));
  for (unsigned row = 0; row < blocks.rows; ++row)
    for (unsigned column = 0; column < blocks.columns; ++column)
      call(k, instructionOf(kind),
           {registerNumber(k, sumRegister(row, column)), registerNumber(k, kFirstA + row),
            registerNumber(k, kFirstB + column)});
}

/// The rows of A from the step `at` on, in `padded`: as many as a register has.
RowSource MatrixTile::padRows(const RowSource &a, Index at) {
  unsigned bits = a.element.getIntOrFloatBitWidth();
  int64_t elements = kRowBytes * 8 / bits;
  auto type = VectorType::get({elements}, a.element);
  Index valid = k.sub(a.validK, k.mul(at, k.constant(kind.size)));
  k.loop(k.constant(0), rows, k.constant(1), [&](Index row) {
    Index offset = k.add(k.mul(row, a.rowStride), k.mul(at, a.kStride));
    k.store(k.loadPart(type, k.address(a.base, a.element, offset), valid),
            k.address(padded, a.element, k.mul(row, k.constant(elements))));
  });
  RowSource copy = a;
  copy.base = padded;
  copy.rowStride = k.constant(elements);
  return copy;
}

void MatrixTile::runBlocks(unsigned rowBlocks, const RowSource &a, const PanelSource &b,
                           Index length, Value to, bool adds) {
  constexpr unsigned mostColumns = 2;
  Index turn = k.constant(steps), full = length;
  if (a.validK)
    full = k.min(length, k.floorDiv(a.validK, k.constant(kind.size)));
  Index whole = k.sub(full, k.rem(full, turn)), rest = k.sub(length, whole);
  for (unsigned first = 0; first < vectors; first += mostColumns) {
    Blocks blocks{rowBlocks, std::min(mostColumns, vectors - first), first};
    adds ? moveSums(blocks, to, /*load=*/true) : zeroSums(blocks);
    k.loop(k.constant(0), whole, turn, [&](Index at) { multiply(blocks, a, at, b, at); });
    moveSums(blocks, to, /*load=*/false);
    auto multiplyRest = [&] {
      RowSource last = a.validK ? padRows(a, whole) : a;
      configure(rest);
      moveSums(blocks, to, /*load=*/true);
      multiply(blocks, last, a.validK ? k.constant(0) : whole, b, whole);
      moveSums(blocks, to, /*load=*/false);
      configure(turn);
    };
    if (!k.known(rest))
      k.ifThen(k.compare(arith::CmpIPredicate::sgt, rest, k.constant(0)), multiplyRest);
    else if (!k.isKnown(rest, 0))
      multiplyRest();
  }
}

void MatrixTile::run(const RowSource &a, const PanelSource &b, Index length, Value to, bool adds,
                     int64_t stride) {
  constexpr int64_t sumSize = 4;
  sumBytes = stride ? stride * sumSize : vectors * kRowBytes;
  if (a.validK && !padded)
    padded = k.scratch(k.builder.getI8Type(), mostRows * kRowBytes);
  auto with = [&](unsigned rowBlocks) { runBlocks(rowBlocks, a, b, length, to, adds); };
  if (std::optional<int64_t> known = k.known(rows))
    return with(*known > blockRows ? 2 : 1);
  k.ifThenElse(
      k.compare(arith::CmpIPredicate::sgt, rows, k.constant(blockRows)), [&] { with(2); },
      [&] { with(1); });
}

void releaseMatrixTiles(KernelBuilder &k) { call(k, "tilerelease", {}); }

} // namespace tcc::codegen
