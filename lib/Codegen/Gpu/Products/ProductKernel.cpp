//===- ProductKernel.cpp - Contractions of any type and size --------------===//
//
// The general form of a product, for what no template of a matrix unit takes: a block
// computes a tile of rows and columns. In rounds it copies a slice of both operands to
// shared memory, converted to the type of the sum, and each thread adds the products of
// a few rows and columns in registers. Operands are evaluated, not only loaded, so that
// any view, type or producer may stand before the product; what follows it is evaluated
// with the sums provided.
//
// What the next round needs is read before the products of this one and written after
// them, to the other of two slices: one barrier a round. Neighbours are read together
// where they lie together, and a thread's rows and columns come in groups of neighbours,
// so that it reads shared memory in vectors too.
//
// Where tiles are few, blocks share one: each has a part of k, and the last one to be done adds up
// what the others left in scratch memory. So do groups of a block's threads, and add up through
// shared memory: sums that are short are then read at once. Of matrices that are small each group
// has one of its own.
//
// Sums of f64 are made by matrix units where the GPU has some: a warp has rows and columns of a
// tile together, and its lanes the sums of each square of it that the instruction gives them.
//
// A convolution is the product of its pixels by its filters over channels and window.
//
//===----------------------------------------------------------------------===//
#include "ProductKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

ProductEmitter::ProductEmitter(KernelFrame &f, Product product)
    : f(f), b(f.b), p(std::move(product)), s(f.schedule),
      sumElement(sumType(tensorType(p.op->getResult(0)).getElementType())),
      sum(computeType(sumElement)), group(groupOf(f, sumElement)), shape(GroupShape::of(s)),
      units(sumsOnUnits(sumElement, f.arch) && shape.fillsWarps(s)), ring(s.getSharedBytes() != 0),
      ahead(s.getRowThreads() && !units) {}

/// Slices of left or of right: in memory of their own, so that the assembler moves what is read of
/// one past what is written to the other, or in that which sums meet in, right behind left.
Value ProductEmitter::sharedOf(bool left) {
  if (!operands)
    return f.shared(f.asStored(sum), shape.slices(s) * shapeOf(left).elements(),
                    left ? "left" : "right");
  return left ? operands
              : f.at(operands, f.asStored(sum),
                     f.e.index(shape.slices(s) * shapeOf(true).elements()));
}

SmallVector<Value> ProductEmitter::fragment(bool left, Value slice, unsigned k) {
  Values values;
  unsigned own = left ? shape.rows : shape.columns;
  for (unsigned run = 0; run < own / group; ++run) {
    Value place = f.e.addIndex(left ? threadRow : threadColumn, f.e.index(run * runStep(left)));
    llvm::append_range(values, slicesOf(left).load(slice, k, place));
  }
  return values;
}

void ProductEmitter::addProducts(Values &sums, ValueRange left, ValueRange right) {
  auto add = [&](size_t i, size_t j) {
    Value product = emitCombine(b, prim::ReduceKind::prod, sumElement, left[i], right[j]);
    Value &total = sums[i * right.size() + j];
    total = emitCombine(b, prim::ReduceKind::sum, sumElement, product, total);
  };
  // Two rows at a time, to and fro: neighbouring multiply-adds share an operand, and the assembler
  // finds registers for them that are in different banks.
  unsigned down = ahead ? 2 : 1;
  for (size_t i = 0; i < left.size(); i += down)
    for (size_t j = 0; j < right.size(); ++j)
      for (size_t n = 0; n < down && i + n < left.size(); ++n)
        if (ahead)
          add(i + (j % 2 ? down - 1 - n : n), i / down % 2 ? right.size() - 1 - j : j);
        else
          add(i, j);
}

/// The thread's sums with the products of one slice added.
SmallVector<Value> ProductEmitter::multiply(Value slice, ValueRange sums) {
  if (units)
    return multiplyOnUnits(slice, sums);
  SmallVector<Value> next(sums.begin(), sums.end());
  for (unsigned k = 0; k < s.getDepth(); ++k)
    addProducts(next, fragment(true, slice, k), fragment(false, slice, k));
  return next;
}

/// The same where fragments of the slice's first k are in registers, behind the sums; then those of
/// slice `next` are. `before` is called before anything is read for what follows each k.
SmallVector<Value> ProductEmitter::multiplyAhead(ValueRange carried, Value slice, Value next,
                                                 function_ref<void(unsigned)> before) {
  Values sums(carried.take_front(shape.sums())), left(carried.slice(shape.sums(), shape.rows)),
      right(carried.slice(shape.sums() + shape.rows, shape.columns));
  for (unsigned k = 0; k < s.getDepth(); ++k) {
    bool last = k + 1 == s.getDepth();
    before(k);
    Values nextLeft = fragment(true, last ? next : slice, last ? 0 : k + 1),
           nextRight = fragment(false, last ? next : slice, last ? 0 : k + 1);
    if (last)
      for (Values *values : {&nextLeft, &nextRight})
        for (Value &v : *values)
          v = f.readHere(v);
    addProducts(sums, left, right);
    left = nextLeft;
    right = nextRight;
  }
  llvm::append_range(sums, left);
  llvm::append_range(sums, right);
  return sums;
}

/// A thread's sums come in pairs of columns: of each of its rows, those of all columns.
SmallVector<Value> ProductEmitter::multiplyOnUnits(Value slice, ValueRange sums) {
  constexpr unsigned kStep = DoubleInstruction::step, kTile = DoubleInstruction::columns;
  auto instruction = DoubleInstruction::of(f.arch.capability == 90, s.getDepth());
  Value lane = f.e.remIndex(member, f.e.index(GpuArch::warp));
  Value ownK = f.e.remIndex(lane, f.e.index(kStep));
  Value ownColumn = f.e.divIndex(lane, f.e.index(kStep));
  Value column =
      f.e.addIndex(f.e.subIndex(threadColumn, f.e.mulIndex(ownK, f.e.index(group))), ownColumn);
  SmallVector<Value> next(sums);
  unsigned down = shape.rows / 2, across = shape.columns / 2; // pairs of rows, of columns
  for (unsigned first = 0; first < s.getDepth(); first += instruction.inner) {
    auto load = [&](bool left, unsigned tile, unsigned k) {
      Value place = f.e.addIndex(left ? threadRow : column, f.e.index(tile * kTile));
      return slicesOf(left).loadOne(slice, f.e.addIndex(ownK, f.e.index(first + k)), place);
    };
    SmallVector<SmallVector<Value>> ls(down), rs(across);
    for (unsigned k = 0; k < instruction.inner; k += kStep) {
      for (unsigned i = 0; i < down; ++i)
        ls[i].append({load(true, 2 * i, k), load(true, 2 * i + 1, k)});
      for (unsigned j = 0; j < across; ++j)
        rs[j].push_back(load(false, j, k));
    }
    for (unsigned i = 0; i < down; ++i)
      for (unsigned j = 0; j < across; ++j) {
        unsigned upper = 2 * i * shape.columns + 2 * j, lower = upper + shape.columns;
        SmallVector<Value> all = instruction.multiply(
            b, ls[i], rs[j], {next[upper], next[upper + 1], next[lower], next[lower + 1]});
        for (unsigned n = 0; n < 4; ++n)
          next[(n < 2 ? upper : lower) + n % 2] = all[n];
      }
  }
  return next;
}

std::optional<int64_t> ProductEmitter::rounds() const {
  std::optional<int64_t> all = getConstantIntValue(inner);
  if (!all || parts.open)
    return std::nullopt;
  return llvm::divideCeil(*all, int64_t(s.getDepth()) * s.getSplit() * s.getVectors());
}

SmallVector<Value> ProductEmitter::zeroSums() {
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sum)));
  return Values(shape.sums(), zero);
}

SmallVector<Value> ProductEmitter::multiplyAll() {
  // Whole slices have no end to be looked for: what is read past the last one is never multiplied.
  std::optional<int64_t> all = getConstantIntValue(inner);
  int64_t ofAll = int64_t(s.getDepth()) * s.getSplit() * s.getVectors();
  Value within = ahead && !parts.open && all && *all % ofAll == 0 ? Value() : inner;
  SmallVector<Value> carried = zeroSums();
  auto writeTo = [&](Value slice, ArrayRef<SmallVector<Value>> values) {
    for (auto [part, v] : llvm::zip(slices, values))
      part.write(v, slice);
  };
  auto readFrom = [&](Value round) {
    return SmallVector<SmallVector<Value>>{slices[0].read(round, within),
                                           slices[1].read(round, within)};
  };
  // The group's slices lie together.
  bool single = shape.slicesOfGroup == 1;
  Value ofGroup = f.e.mulIndex(groupNumber, f.e.index(shape.slicesOfGroup));
  // An operand without elements is not read.
  auto first = [&] { writeTo(ofGroup, readFrom(firstInner)); };
  if (getConstantIntValue(inner).value_or(0) > 0)
    first();
  else
    f.when(f.less(f.e.index(0), inner), first);
  f.barrier();
  if (single)
    return f.failed ? carried : multiply(ofGroup, carried);
  if (ahead)
    for (bool left : {true, false})
      llvm::append_range(carried, fragment(left, ofGroup, 0));
  carried.push_back(f.e.index(0));
  auto loop = scf::ForOp::create(b, firstInner, endInner, f.e.index(s.getDepth()), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = f.e.nested([&] {
    Value slice = loop.getRegionIterArgs().back();
    Value other = f.e.subIndex(f.e.index(1), slice);
    auto later = readFrom(f.e.addIndex(loop.getInductionVar(), f.e.index(s.getDepth())));
    ValueRange in = loop.getRegionIterArgs().drop_back();
    auto writeLater = [&] { writeTo(f.e.addIndex(ofGroup, other), later); };
    SmallVector<Value> added;
    if (ahead) {
      added = multiplyAhead(in, f.e.addIndex(ofGroup, slice), f.e.addIndex(ofGroup, other),
                            [&](unsigned k) {
                              if (k + 2 == s.getDepth())
                                writeLater();
                              if (k + 1 == s.getDepth())
                                f.barrier();
                            });
    } else {
      added = multiply(f.e.addIndex(ofGroup, slice), in);
      writeLater();
      f.barrier();
    }
    added.push_back(other);
    return added;
  });
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults().take_front(shape.sums()));
}

/// Whether neighbouring columns are stored together.
bool ProductEmitter::storesVectors() const {
  return !p.columns.empty() && getConstantIntValue(p.columns.back()).value_or(1) % group == 0 &&
         llvm::none_of(f.yield().getValues(),
                       [](Value v) { return v.getDefiningOp<prim::TransposeOp>(); });
}

/// Whether the threads of a warp exchange sums that are stored one by one, so that neighbouring
/// lanes store neighbouring columns.
bool ProductEmitter::exchanges() const {
  int64_t slices = shape.slices(s) * shapeOf(true).elements(),
          exchanged = int64_t(s.getThreads()) * group;
  return !storesVectors() && place.laneRows && shape.threads % GpuArch::warp == 0 &&
         f.asStored(sum).getIntOrFloatBitWidth() == 32 && exchanged <= slices &&
         llvm::none_of(f.yield().getValues(),
                       [](Value v) { return v.getDefiningOp<prim::TransposeOp>(); });
}

/// A run of each of a warp's threads, which begin at `row` and at column `first`, by `memory` that
/// only they use: each then has single sums of the rectangle that these are, in its rows.
SmallVector<ProductEmitter::Stored> ProductEmitter::exchanged(Value memory, Value row, Value first,
                                                              ArrayRef<Value> sums) {
  Type stored = f.asStored(sum);
  int64_t width = int64_t(place.laneColumns) * group;
  Value own = f.e.addIndex(f.e.mulIndex(place.laneRow, f.e.index(width)),
                           f.e.mulIndex(place.laneColumn, f.e.index(group)));
  Values values;
  for (Value v : sums)
    values.push_back(f.asStored(v));
  auto some = VectorType::get({group}, stored);
  NVVM::SyncWarpOp::create(b, f.i32(-1)); // what lay there has been read
  LLVM::StoreOp::create(b, vector::FromElementsOp::create(b, some, values),
                        f.at(memory, stored, own), GpuArch::accessBytes);
  NVVM::SyncWarpOp::create(b, f.i32(-1));
  Value lane = f.e.remIndex(member, f.e.index(GpuArch::warp));
  Value warpRow = f.e.subIndex(row, f.e.mulIndex(place.laneRow, f.e.index(rowsOfRun())));
  Value warpColumn = f.e.subIndex(first, f.e.mulIndex(place.laneColumn, f.e.index(group)));
  SmallVector<Stored> all;
  for (unsigned n = 0; n < group; ++n) {
    Value at = f.e.addIndex(lane, f.e.index(n * GpuArch::warp));
    Value v = LLVM::LoadOp::create(b, stored, f.at(memory, stored, at));
    Value down = f.e.divIndex(at, f.e.index(width)), across = f.e.remIndex(at, f.e.index(width));
    all.push_back({f.e.addIndex(warpRow, f.e.mulIndex(down, f.e.index(rowsOfRun()))),
                   f.e.addIndex(warpColumn, across), f.asComputed(v, sum)});
  }
  return all;
}

/// The sums of the thread's run `number`, counted along its rows, stored where they are inside:
/// neighbouring columns where all of them are inside, or none. `memory`: where a warp exchanges
/// single ones.
void ProductEmitter::storeRun(Value number, ArrayRef<Value> sums, Value memory) {
  unsigned lanes = storesVectors() ? group : 1;
  Value runsOfRow = f.e.index(shape.columns / group);
  Value i = f.e.divIndex(number, runsOfRow), j = f.e.remIndex(number, runsOfRow);
  Value ofGroup = f.e.index(rowsOfRun());
  Value down =
      f.e.addIndex(f.e.mulIndex(f.e.divIndex(i, ofGroup), f.e.index(runStep(/*ofRows=*/true))),
                   f.e.remIndex(i, ofGroup));
  Value row = f.e.addIndex(f.e.addIndex(rowTile, threadRow), down);
  Value first = f.e.addIndex(f.e.addIndex(columnTile, threadColumn),
                             f.e.mulIndex(j, f.e.index(runStep(/*ofRows=*/false))));
  SmallVector<Stored> all;
  if (memory)
    all = exchanged(memory, row, first, sums);
  for (unsigned n = 0; !memory && n < group; n += lanes)
    all.push_back({row, f.e.addIndex(first, f.e.index(n)), sums[n]});
  for (auto [n, one] : llvm::enumerate(all)) {
    Value inside = arith::AndIOp::create(b, f.less(one.row, rows), f.less(one.column, columns));
    if (here)
      inside = arith::AndIOp::create(b, inside, here);
    for (auto [first, at] : {std::pair(firstRow, one.row), std::pair(firstColumn, one.column)})
      if (first)
        inside = arith::AndIOp::create(b, inside, f.notBelow(at, first));
    f.when(inside, [&, &one = one] {
      f.e.setLanes(lanes);
      Value total = one.sum;
      if (lanes > 1)
        total = vector::FromElementsOp::create(b, VectorType::get({lanes}, sum), sums);
      p.store(f, batchNumber, one.row, runCoords(f, one.column, p.columns, lanes), total);
    });
    f.e.setLanes(1);
  }
}

void ProductEmitter::store(ValueRange sums) {
  SmallVector<Value> all(sums);
  Value memory;
  if (exchanges()) {
    f.barrier(); // slices have been read
    Value ofWarp = f.e.mulIndex(f.e.divIndex(f.thread, f.e.index(GpuArch::warp)),
                                f.e.index(int64_t(GpuArch::warp) * group));
    memory = f.at(slicesBegin, f.asStored(sum), ofWarp);
  }
  for (unsigned run = 0; run * group < all.size(); ++run)
    storeRun(f.e.index(run), ArrayRef(all).slice(run * group, group), memory);
}

/// Adds up what the groups have, in their order, each the same runs of all, and stores that.
void ProductEmitter::addUp(ValueRange sums) {
  unsigned runs = sums.size() / group, each = llvm::divideCeil(runs, s.getVectors());
  Type stored = f.asStored(sum);
  auto some = VectorType::get({group}, stored);
  unsigned aligned = group * (stored.getIntOrFloatBitWidth() / 8);
  auto placeOf = [&](Value of, Value run) {
    Value number = f.e.addIndex(f.e.mulIndex(of, f.e.index(runs)), run);
    number = f.e.addIndex(f.e.mulIndex(number, f.e.index(shape.threads)), member);
    return f.at(operands, some, number);
  };
  f.barrier(); // slices have been read
  for (unsigned run = 0; run < runs; ++run) {
    SmallVector<Value> values;
    for (Value v : sums.slice(run * group, group))
      values.push_back(f.asStored(v));
    LLVM::StoreOp::create(b, vector::FromElementsOp::create(b, some, values),
                          placeOf(groupNumber, f.e.index(run)), aligned);
  }
  f.barrier();
  auto runAt = [&](unsigned i) {
    return f.e.addIndex(f.e.mulIndex(groupNumber, f.e.index(each)), f.e.index(i));
  };
  auto totalsOf = [&](Value run) {
    SmallVector<Value> totals;
    for (unsigned g = 0; g < s.getVectors(); ++g) {
      Value v = LLVM::LoadOp::create(b, some, placeOf(f.e.index(g), run), aligned);
      for (unsigned lane = 0; lane < group; ++lane) {
        Value one = f.asComputed(vector::ExtractOp::create(b, v, int64_t(lane)), sum);
        if (g == 0)
          totals.push_back(one);
        else
          totals[lane] = emitCombine(b, prim::ReduceKind::sum, sumElement, totals[lane], one);
      }
    }
    return totals;
  };
  // Nobody else reads what a warp's threads have added up.
  auto memoryOf = [&](Value run) {
    Value lane = f.e.remIndex(member, f.e.index(GpuArch::warp));
    Value number = f.e.mulIndex(run, f.e.index(shape.threads));
    number = f.e.addIndex(number, f.e.subIndex(member, lane));
    return exchanges() ? f.at(operands, some, number) : Value();
  };
  if (s.getSplit() == 1) {
    for (unsigned i = 0; i < each; ++i) {
      Value run = runAt(i);
      f.when(f.less(run, f.e.index(runs)), [&] { storeRun(run, totalsOf(run), memoryOf(run)); });
    }
    return;
  }
  // Each group has as many runs as the next (the schedule sees to it), for the other blocks' ones.
  SmallVector<Value> all;
  for (unsigned i = 0; i < each; ++i)
    all.append(totalsOf(runAt(i)));
  shareSums(f, parts, all, sumElement, [&](ValueRange totals) {
    for (unsigned i = 0; i < each; ++i)
      storeRun(runAt(i), SmallVector<Value>(totals.slice(i * group, group)), memoryOf(runAt(i)));
  });
}

/// The block's tile, and its part of k.
void ProductEmitter::findTile() {
  auto tiles = [&](Value extent, unsigned size) {
    return f.e.divIndex(f.e.addIndex(extent, f.e.index(size - 1)), f.e.index(size));
  };
  Value tilesM = tiles(rows, s.getRows()), tilesN = tiles(columns, s.getColumns());
  tileNumber = f.block;
  firstInner = f.e.index(0);
  endInner = inner;
  Value batches = f.volume(p.batch), all = f.volume({tiles(batches, s.getLanes()), tilesM, tilesN});
  if (s.getSplit() * s.getVectors() > 1) {
    unsigned round = s.getDepth() * s.getVectors();
    Value own = f.e.index(0);
    parts = ProductParts::of(f, all, tiles(inner, round));
    tileNumber = parts.tile;
    if (s.getVectors() > 1)
      own = groupNumber;
    Value among = f.e.mulIndex(parts.count, f.e.index(round));
    Value each = f.e.divIndex(f.e.addIndex(inner, f.e.subIndex(among, f.e.index(1))), among);
    each = f.e.mulIndex(each, f.e.index(s.getDepth()));
    firstInner =
        f.e.mulIndex(f.e.addIndex(f.e.mulIndex(parts.part, f.e.index(s.getVectors())), own), each);
    endInner = f.e.addIndex(firstInner, each);
    // Groups meet at each round, and read zeros past the end.
    if (s.getVectors() == 1)
      endInner = f.minIndex(endInner, inner);
  }
  SmallVector<Value> place =
      f.delinearize(tileNumber, {tiles(batches, s.getLanes()), tilesM, tilesN});
  if (ring) {
    place = f.delinearize(tileNumber, {batches, f.e.mulIndex(tilesM, tilesN), f.e.index(1)});
    std::tie(place[1], place[2]) = tileIn(f, place[1], tilesM, tilesN);
  }
  batchNumber = place[0];
  if (s.getLanes() > 1) {
    batchNumber = f.e.addIndex(f.e.mulIndex(batchNumber, f.e.index(s.getLanes())), groupNumber);
    here = f.less(batchNumber, batches);
    batchNumber = f.minIndex(batchNumber, f.e.subIndex(batches, f.e.index(1)));
  }
  batch = uniform(f.delinearize(batchNumber, p.batch));
  rowTile = f.e.mulIndex(place[1], f.e.index(s.getRows()));
  columnTile = f.e.mulIndex(place[2], f.e.index(s.getColumns()));
}

/// The thread's first row and column in the tile.
void ProductEmitter::placeThread() {
  Value across = f.e.index(shape.across);
  if (units) {
    Value warp = f.e.divIndex(member, f.e.index(GpuArch::warp)),
          lane = f.e.remIndex(member, f.e.index(GpuArch::warp)),
          step = f.e.index(DoubleInstruction::step);
    across = f.e.index(s.getColumns() / shape.warpColumns());
    threadRow = f.e.addIndex(f.e.mulIndex(f.e.divIndex(warp, across), f.e.index(shape.warpRows())),
                             f.e.divIndex(lane, step));
    threadColumn =
        f.e.addIndex(f.e.mulIndex(f.e.remIndex(warp, across), f.e.index(shape.warpColumns())),
                     f.e.mulIndex(f.e.remIndex(lane, step), f.e.index(group)));
  } else {
    place = ThreadPlace::of(f, member, shape.down, shape.across);
    threadRow = f.e.mulIndex(place.row, f.e.index(group));
    threadColumn = f.e.mulIndex(place.column, f.e.index(group));
  }
}

/// Shared memory, and what brings slices to it.
void ProductEmitter::shareSlices() {
  if (ring)
    return shareRing();
  shape.slicesOfGroup = rounds() == 1 ? 1 : 2;
  if (s.getVectors() > 1)
    operands = f.shared(f.asStored(sum),
                        std::max(shape.slices(s) * sliceElements(),
                                 int64_t(s.getVectors()) * s.getRows() * s.getColumns()),
                        "operands");
  for (bool left : {true, false}) {
    Value memory = sharedOf(left);
    if (left)
      slicesBegin = memory;
    slices.emplace_back(f, sourceOf(p, left, batch), shapeOf(left),
                        TileThreads{shape.threads, member}, sumElement, memory,
                        left ? rowTile : columnTile);
  }
}

void ProductEmitter::run() {
  rows = f.volume(p.rows);
  columns = f.volume(p.columns);
  inner = f.volume(p.inner);
  member = f.e.remIndex(f.thread, f.e.index(shape.threads));
  groupNumber = f.e.divIndex(f.thread, f.e.index(shape.threads));
  findTile();
  placeThread();
  shareSlices();
  SmallVector<Value> sums = ring ? multiplyRing() : multiplyAll();
  if (f.failed)
    return;
  if (s.getVectors() > 1)
    return addUp(sums);
  if (s.getSplit() == 1)
    return store(sums);
  shareSums(f, parts, sums, sumElement, [&](ValueRange totals) { store(totals); });
}

void device::emitProductKernel(KernelFrame &f) {
  if (std::optional<Product> product = productIn(f))
    ProductEmitter(f, *product).run();
}
