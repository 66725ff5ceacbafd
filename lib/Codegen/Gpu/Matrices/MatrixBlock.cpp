//===- MatrixBlock.cpp - A matrix that the threads of a block factor ------===//
//
// A matrix is one block's: the steps of a factorisation depend on each other, and a barrier of a
// block takes a hundredth of a launch. Result memory holds the matrix, which the L2 cache has;
// panels are in registers, a row a thread, or in shared memory. What is solved is cut into
// columns, some a block.
//
// A product that later columns lose goes through registers: a lane has a few columns of the right
// factor for all rows, a warp goes from rows to rows, and reads of several rows are under way at
// once.
//
// What turns all columns against each other, eigenvalues and singular values, has the matrix in
// shared memory, if it has room there (Jacobi.h).
//
//===----------------------------------------------------------------------===//
#include "MatrixBlock.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Codegen/Common/LineKernel.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr int64_t kAlignment = GpuArch::accessBytes;

static int64_t bytesOf(const Room &room) {
  int64_t all = 0;
  for (auto [count, bytes] : room)
    all += int64_t(llvm::alignTo(count * bytes, kAlignment));
  return all;
}

static Room roomOfSpectral(Operation *op) {
  ArrayRef<int64_t> extents = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  int64_t n = extents.drop_back().back(), m = extents.back();
  if (auto svd = dyn_cast<prim::SvdOp>(op))
    return roomOfSingular(n, m, svd.getVectors());
  return roomOfSymmetric(n, cast<prim::SymmetricEigenOp>(op).getVectors());
}

bool codegen::hasSpectralKernel(Operation *op, const GpuTarget &target) {
  auto x = cast<RankedTensorType>(op->getOperand(0).getType());
  if (!x.hasStaticShape() || !x.getNumElements())
    return false;
  return llvm::all_of(target.codes, [&](const GpuCode &code) {
    return bytesOf(roomOfSpectral(op)) <= code.arch->sharedBytes;
  });
}

/// Eigenvalues and singular values: threads enough for what a round of rotations turns at once.
static void scheduleSpectral(ScheduleChoice &s, Operation *op, int64_t n, int64_t m) {
  constexpr int64_t kMost = GpuArch::threads;
  int64_t pairs = int64_t(llvm::divideCeil(m, 2)), threads = std::min(pairs * pairs, kMost);
  s.vectors = 1;
  if (isa<prim::SvdOp>(op)) {
    s.vectors = lanesOfPair(n, m);
    threads = pairs * s.vectors;
  }
  s.threads = unsigned(llvm::alignTo(std::max<int64_t>(threads, 1), GpuArch::warp));
  s.rowThreads = s.threads;
  s.sharedBytes = unsigned(bytesOf(roomOfSpectral(op)));
}

void device::scheduleMatrices(ScheduleChoice &s, Operation *op, const GpuArch &arch) {
  constexpr int64_t kMany = 512; // rows from which on panels are half as wide
  auto x = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t n = x.getShape().drop_back().back(), m = x.getShape().back();
  int64_t bytes = elementBytes(x.getElementType());
  int64_t batches = std::max<int64_t>(1, volumeOf(x.getShape().drop_back(2)));
  unsigned ofRows = unsigned(std::clamp<int64_t>(int64_t(llvm::alignTo(n, GpuArch::warp)),
                                                 GpuArch::warp, GpuArch::threads));
  s.form = Form::Line;
  s.resident = 1; // ptxas would rather spill than have fewer blocks
  s.depth = unsigned((n > kMany ? 32 : 64) / bytes);
  if (isa<prim::SymmetricEigenOp, prim::SvdOp>(op))
    return scheduleSpectral(s, op, n, m);
  s.threads = ofRows;
  s.vectors = 1;
  // Of columns that a warp has in registers as a whole.
  constexpr unsigned kRegisters = 80;
  unsigned ofLane = ofRows / GpuArch::warp;
  auto mostTogether = [&] {
    unsigned most = 8;
    while (most > 1 && (most + 1) * ofLane * bytes / 4 > kRegisters)
      most /= 2;
    return most;
  };
  if (isa<prim::TriangularSolveOp>(op)) {
    s.columns = unsigned(std::clamp<int64_t>(m, 1, 8));
  } else if (isa<prim::ReflectOp>(op)) {
    constexpr unsigned kWarps = 4;
    s.threads = kWarps * GpuArch::warp;
    s.vectors = mostTogether();
    auto blocks = [&] { return batches * int64_t(llvm::divideCeil(m, kWarps * s.vectors)); };
    while (s.vectors > 1 && blocks() < arch.multiprocessors)
      s.vectors /= 2;
    s.columns = kWarps * s.vectors;
  } else if (isa<prim::QrOp>(op)) {
    s.threads = s.depth * GpuArch::warp; // a warp a column of a panel
    s.vectors = mostTogether();
  } else {
    // Warps that subtract products, and columns of a lane.
    constexpr unsigned kLeast = 128, kFew = 256;
    s.threads = std::max(s.threads, std::min(kLeast, unsigned(4 * llvm::alignTo(n, 8))));
    s.threads = unsigned(llvm::alignTo(s.threads, GpuArch::warp));
    // Cholesky's rows wait for one thing a step, LU's for two.
    if (isa<prim::CholeskyOp>(op) && n > kFew / 2 && n <= kFew && bytes == 4)
      s.threads = 2 * kFew;
    s.vectors = s.threads <= kFew && bytes == 4 ? 4 : 2;
    while (s.vectors > 1 && int64_t(s.vectors) * GpuArch::warp / 2 >= m)
      s.vectors /= 2;
  }
  auto qr = dyn_cast<prim::QrOp>(op);
  bool shares = qr && sharesColumns(s, qr, arch);
  s.rowThreads = s.threads;
  Room room =
      llvm::TypeSwitch<Operation *, Room>(op)
          .Case([&](prim::LuOp) { return roomOfLu(n, s.depth, bytes); })
          .Case([&](prim::CholeskyOp) { return roomOfCholesky(n, s.depth, bytes); })
          .Case([&](prim::TriangularSolveOp) {
            return roomOfTriangularSolve(s.columns, s.depth, bytes);
          })
          .Default([&](Operation *) {
            return shares ? roomOfSharedQr(n, s.depth) : roomOfReflections(n, s.depth, bytes);
          });
  s.sharedBytes = unsigned(bytesOf(room));
}

void device::emitMatrixKernel(KernelFrame &f) {
  Builder builder(f.b.getContext());
  for (auto [i, type] : llvm::enumerate(f.function.getArgumentTypes()))
    if (isa<LLVM::LLVMPointerType>(type))
      f.function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                            builder.getI64IntegerAttr(GpuArch::accessBytes));
  Operation *op = kernel::specialOf(f.launch);
  MatrixBlock m(f, op);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](prim::LuOp lu) { emitLu(m, lu); })
      .Case([&](prim::CholeskyOp cholesky) { emitCholesky(m, cholesky); })
      .Case([&](prim::TriangularSolveOp solve) { emitTriangularSolve(m, solve); })
      .Case([&](prim::QrOp qr) { m.isShared() ? emitSharedQr(m, qr) : emitQr(m, qr); })
      .Case([&](prim::ReflectOp reflect) { emitReflect(m, reflect); })
      .Case([&](prim::SymmetricEigenOp eigen) { emitSymmetric(m, eigen); })
      .Case([&](prim::SvdOp svd) { emitSingular(m, svd); });
}

MatrixBlock::MatrixBlock(KernelFrame &f, Operation *op) : f(f), b(f.b) {
  auto x = cast<RankedTensorType>(op->getResult(0).getType());
  type = x.getElementType();
  rows = x.getShape().drop_back().back();
  columns = x.getShape().back();
  width = f.schedule.getDepth();
  lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp));
  shared = f.dynamicShared();
  Value matrix = f.block;
  if (int64_t ofBlock = f.schedule.getColumns()) {
    Value parts = f.e.index(int64_t(llvm::divideCeil(columns, ofBlock)));
    firstColumn = f.e.mulIndex(f.e.remIndex(f.block, parts), f.e.index(ofBlock));
    matrix = f.e.divIndex(f.block, parts);
  } else if (isShared()) {
    matrix = f.e.divIndex(f.block, f.e.index(f.schedule.getSplit()));
  }
  base = f.e.mulIndex(matrix, f.e.index(rows * columns));
  ArrayRef<Value> extents(f.results[0].extents);
  for (Value i : f.delinearize(matrix, extents.drop_back(2)))
    batch.push_back(Coord::uniform(i));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value MatrixBlock::number(double v) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, v));
}

Value MatrixBlock::multiplyAdd(Value x, Value y, Value sum) {
  return math::FmaOp::create(b, x, y, sum);
}

Value MatrixBlock::negated(Value v) { return arith::NegFOp::create(b, v); }

Value MatrixBlock::isEqual(Value i, Value j) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, i, j);
}

SmallVector<Value> MatrixBlock::carry(Value low, Value high, int64_t step, ValueRange values,
                                      function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(
      b, low, high, f.e.index(step), values, [&](OpBuilder &, Location, Value i, ValueRange have) {
        // `b` does not follow the builder that it is given.
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(i.getParentBlock());
        SmallVector<Value> next = f.e.nested([&] { return body(i, have); });
        scf::YieldOp::create(b, next);
      });
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> MatrixBlock::where(Value condition, ValueRange values,
                                      function_ref<SmallVector<Value>()> body) {
  auto branch = scf::IfOp::create(b, values.getTypes(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, f.e.nested([&] { return body(); }));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, values);
  return SmallVector<Value>(branch.getResults());
}

void MatrixBlock::forPanels(int64_t count, function_ref<void(Value, int64_t)> body) {
  int64_t whole = count / width * width;
  if (whole > width)
    f.loop(f.e.index(0), f.e.index(whole), width, [&](Value k0) { body(k0, width); });
  else if (whole)
    body(f.e.index(0), width);
  if (whole < count)
    body(f.e.index(whole), count - whole);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value MatrixBlock::room(Type element, int64_t count) {
  Value start = f.at(shared, b.getI8Type(), f.e.index(used));
  used += bytesOf({{count, elementBytes(element)}});
  return start;
}

Value MatrixBlock::get(Value base, Type element, Value index) {
  return LLVM::LoadOp::create(b, element, f.at(base, element, index));
}

void MatrixBlock::put(Value v, Value base, Value index) {
  LLVM::StoreOp::create(b, v, f.at(base, v.getType(), index));
}

Coords MatrixBlock::at(Value i, Value j) {
  Coords coords(batch);
  coords.push_back(Coord::uniform(i));
  coords.push_back(Coord::uniform(j));
  return coords;
}

Value MatrixBlock::operand(Value x, Value i, Value j) {
  f.e.forget();
  Value v = f.e.eval(x, at(i, j));
  f.failed |= !v;
  return v ? v : number(0);
}

Value MatrixBlock::operandInColumn(Value x, Value i) {
  f.e.forget();
  Coords coords(batch);
  coords.push_back(Coord::uniform(i));
  Value v = f.e.eval(x, coords);
  f.failed |= !v;
  return v ? v : number(0);
}

Value MatrixBlock::element(Value i, Value j) {
  Value place = f.e.addIndex(f.e.mulIndex(i, f.e.index(columns)), j);
  return get(f.results[0].pointer, f.e.addIndex(base, place));
}

void MatrixBlock::putElement(Value v, Value i, Value j) {
  Value place = f.e.addIndex(f.e.mulIndex(i, f.e.index(columns)), j);
  put(v, f.results[0].pointer, f.e.addIndex(base, place));
}

void MatrixBlock::putInColumn(Value v, unsigned result, Value i) {
  Coords coords(batch);
  coords.push_back(Coord::uniform(i));
  f.e.store(f.results[result], coords, v);
}

void MatrixBlock::putInMatrix(Value v, unsigned result, Value i, Value j) {
  f.e.store(f.results[result], at(i, j), v);
}

void MatrixBlock::copy(Value x) {
  constexpr int64_t kInFlight = 8;
  int64_t all = rows * columns, step = f.schedule.getThreads();
  f.loop(f.thread, f.e.index(all), step * kInFlight, [&](Value first) {
    SmallVector<std::array<Value, 3>> read;
    for (int64_t r = 0; r < kInFlight; ++r) {
      Value place = f.e.addIndex(first, f.e.index(r * step));
      place = f.minIndex(place, f.e.index(all - 1));
      Value i = f.e.divIndex(place, f.e.index(columns)),
            j = f.e.remIndex(place, f.e.index(columns));
      read.push_back({operand(x, i, j), i, j});
    }
    for (auto [v, i, j] : read)
      putElement(v, i, j);
  });
}

void MatrixBlock::subtractProduct(Value low, Value first, Value end, int64_t depth, Factor left,
                                  Factor right, bool symmetric) {
  constexpr int64_t kRows = 4; // at once
  int64_t ofLane = f.schedule.getVectors(), warps = f.schedule.getThreads() / GpuArch::warp;
  Value lastRow = f.e.index(rows - 1), lastColumn = f.e.subIndex(end, f.e.index(1));
  f.loop(first, end, ofLane * GpuArch::warp, [&](Value column) {
    struct Column {
      Value at, inside;
      SmallVector<Value> right;
    };
    SmallVector<Column> own;
    for (int64_t c = 0; c < ofLane; ++c) {
      Value number = f.e.addIndex(column, f.e.addIndex(lane, f.e.index(c * GpuArch::warp)));
      Column one{f.minIndex(number, lastColumn), f.less(number, end), {}};
      for (int64_t k = 0; k < depth; ++k)
        one.right.push_back(negated(right(one.at, k)));
      own.push_back(std::move(one));
    }
    Value from = f.e.addIndex(symmetric ? column : low, f.e.mulIndex(warp, f.e.index(kRows)));
    f.loop(from, f.e.index(rows), warps * kRows, [&](Value row) {
      SmallVector<Value> at, inside;
      SmallVector<SmallVector<Value>> sums(kRows);
      for (int64_t r = 0; r < kRows; ++r) {
        Value number = f.e.addIndex(row, f.e.index(r));
        at.push_back(f.minIndex(number, lastRow));
        inside.push_back(f.less(number, f.e.index(rows)));
        for (const Column &one : own)
          sums[r].push_back(element(at[r], one.at));
      }
      for (int64_t r = 0; r < kRows; ++r)
        for (int64_t k = 0; k < depth; ++k) {
          Value factor = left(at[r], k);
          for (auto [one, sum] : llvm::zip_equal(own, sums[r]))
            sum = multiplyAdd(factor, one.right[k], sum);
        }
      for (int64_t r = 0; r < kRows; ++r)
        for (auto [one, sum] : llvm::zip_equal(own, sums[r]))
          f.when(arith::AndIOp::create(b, inside[r], one.inside),
                 [&, sum = sum, &one = one] { putElement(sum, at[r], one.at); });
    });
  });
}
