//===- PlaneConv.cpp - Convolutions whose lanes are pixels ----------------===//
//
//   task = image, group, depth x block of lines (or part of a line)
//   for block of channels:
//     copy the planes under the block (PlaneTiles.h), with zeros around the image
//     for run of terms:                         channels by taps; long sums are cut
//       for vectors of pixels, for filters:     accumulators in registers
//         for term:                             a table says how far its plane and tap are
//           load vectors, multiply by an element of each filter
//         store, or add to what the runs before made
//   for filter, line: epilogue
//
// Where copies of all channels stay in L1 (PlaneCut::storesTiles), filters are the outer loop: the
// sums of one register tile's wait for the epilogue instead of all, and tasks have more pixels.
//
// An image beyond L2 is read a few lines of each channel at a time, and a result written a few of
// each filter, too short for the hardware to read ahead: copies fetch the lines of the next task,
// and register tiles those of the result that their sums go to.
//
//===----------------------------------------------------------------------===//
#include "PlaneConv.h"
#include "../Products/PartialSums.h"
#include "../Products/ProductSpec.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Cpu/RegisterTile.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static constexpr int64_t kGrainProducts = 1 << 17;

PlaneCut codegen::cutOf(cpu::PlaneScheduleAttr attr) {
  return {attr.getLanes(), attr.getRows(),    attr.getVectors(),
          attr.getLines(), attr.getColumns(), attr.getChannels()};
}

kernel::Schedule codegen::planeSchedule(prim::ConvOp op, const CpuTarget &cpu) {
  std::optional<PlaneConv> conv = planeConv(op);
  std::optional<PlaneCut> cut =
      conv && op->hasAttr(kInPlanes) ? planeCut(cpu, *conv) : std::nullopt;
  if (!cut)
    return {};
  return cpu::PlaneScheduleAttr::get(op.getContext(), cut->lanes, cut->rows, cut->vectors,
                                     cut->lines, cut->columns, cut->channels, kGrainProducts);
}

namespace {

class PlaneEmitter {
public:
  PlaneEmitter(KernelFrame &frame, prim::ConvOp op, const PlaneConv &conv, const PlaneCut &cut);
  void emitTask(Index task);

private:
  void readExtents();
  void fillTable();
  void copyChannels(Index first, Index count);
  void copyLine(Value source, Value inside, Index start, Index to, bool fetches);
  Value loadLine(Value source, Index start, bool known);
  void clearSums();
  void emitRuns(Index firstChannel, Index count, bool isFirst);
  /// Calls `body` for each tile of filters: the first one, and how many.
  void forFilters(llvm::function_ref<void(Index first, unsigned rows)> body);
  void emitTiles(Index firstTerm, Index begin, Index end, bool isFirst);
  void emitTile(Index filter, unsigned rows, Index pixel, unsigned vectors, Index firstTerm,
                Index begin, Index end, bool isFirst);
  void fetchResult(Index filter, unsigned rows, Index pixel, unsigned vectors);
  void finish(Index count);
  void finishLine(Index m, Index from, Index columns, EpilogueFn epilogue);
  bool sumsOnce() const {
    return cut.channels == conv.channels && conv.channels * conv.taps() <= kSumBlock * 3 / 2;
  }
  VectorType vectorType() const { return VectorType::get({cut.lanes}, f32); }
  Index constant(int64_t v) { return k.constant(v); }

  KernelFrame &frame;
  KernelBuilder k;
  prim::ConvOp op;
  const PlaneConv &conv;
  const PlaneCut &cut;
  Type f32, i64;
  Index inputs[3], outputs[3]; ///< extents of the axes
  PlaneRun run;
  Value input, weights, copies, sums, table;
  bool fetchesInput, fetchesResult;        ///< beyond L2
  bool storesTiles;                        ///< filters are the outer loop
  Index image, group, depth, line, column; ///< of the task's first result
  Index firstFilter;                       ///< of those whose sums wait
  unsigned tileRows = 0;                   ///< of the tile that is written now, if it is one
};

} // namespace

PlaneEmitter::PlaneEmitter(KernelFrame &frame, prim::ConvOp op, const PlaneConv &conv,
                           const PlaneCut &cut)
    : frame(frame), k(frame.b, frame.b.getLoc()), op(op), conv(conv), cut(cut),
      f32(frame.b.getF32Type()), i64(frame.b.getI64Type()) {
  readExtents();
  input = frame.e.memoryOf(op.getX())->pointer;
  weights = frame.e.memoryOf(op.getW())->pointer;
  // The last vectors of a tile reach behind the last pixel.
  int64_t beyond = (cut.vectors + 1) * cut.lanes + 4 * cut.lanes;
  copies = k.scratch(f32, cut.channels * cut.channelStride(conv) + beyond);
  storesTiles = cut.storesTiles(frame.cpu, conv);
  firstFilter = constant(0);
  sums = k.scratch(f32, cut.waitingFilters(frame.cpu, conv) * cut.sumStride(conv));
  table = k.scratch(i64, cut.channels * conv.taps());
  fillTable();
  auto isFar = [&](Value v) {
    auto type = tensorType(v);
    return type.hasStaticShape() &&
           type.getNumElements() * int64_t(sizeof(float)) > frame.cpu.l2Bytes;
  };
  Value stored = frame.yield().getValues()[0];
  fetchesInput = isFar(op.getX()) && k.isKnown(run.columnBlocks, 1);
  fetchesResult = isFar(op.getResult()) && tensorType(stored) == tensorType(op.getResult());
}

void PlaneEmitter::readExtents() {
  size_t spatial = op.getStrides().size();
  const Memory *memory = frame.e.memoryOf(op.getX());
  for (size_t axis = 0; axis < 3; ++axis) {
    bool exists = axis + spatial >= 3;
    unsigned at = axis + spatial - 1; // of the tensors
    inputs[axis] = exists ? getAsOpFoldResult(memory->extents[at]) : constant(1);
    outputs[axis] = exists ? getAsOpFoldResult(frame.e.extent(op.getResult(), at)) : constant(1);
  }
  run = planeRun(k, conv, cut, getAsOpFoldResult(memory->extents[0]), outputs);
}

/// How far the plane and place of each term are from those of the first.
void PlaneEmitter::fillTable() {
  const PlaneAxis *axes = conv.axes;
  int64_t across = axes[1].planes().size(), along = axes[2].planes().size();
  int64_t taps = conv.taps();
  k.loop(constant(0), constant(cut.channels), constant(1), [&](Index channel) {
    Index base = k.mul(channel, run.channelStride);
    Index at = k.mul(channel, constant(taps));
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t x = tap % axes[2].kernel, rest = tap / axes[2].kernel;
      int64_t y = rest % axes[1].kernel, z = rest / axes[1].kernel;
      int64_t plane = (z * across + axes[1].plane(y)) * along + axes[2].plane(x);
      Index offset =
          k.mulAdd(constant(axes[1].shift(y)), run.lineStride, constant(axes[2].shift(x)));
      offset = k.mulAdd(constant(plane), run.planeStride, offset);
      k.store(k.toI64(k.add(base, offset)), k.address(table, i64, k.add(at, constant(tap))));
    }
  });
}

void PlaneEmitter::emitTask(Index task) {
  auto take = [&](Index extent) {
    Index at = k.rem(task, extent);
    task = k.floorDiv(task, extent);
    return at;
  };
  column = k.mul(take(run.columnBlocks), run.columns);
  line = k.mul(take(run.lineBlocks), run.lines);
  depth = take(outputs[0]);
  group = take(constant(conv.groups));
  image = task;
  if (storesTiles) {
    Index channels = constant(conv.channels);
    copyChannels(constant(0), channels);
    return forFilters([&](Index first, unsigned rows) {
      firstFilter = first;
      tileRows = rows;
      if (!sumsOnce())
        clearSums();
      emitRuns(constant(0), channels, /*isFirst=*/sumsOnce());
      finish(constant(rows));
    });
  }
  auto block = [&](Index first, bool isFirst) {
    bool equal = conv.channels % cut.channels == 0;
    Index count = equal ? constant(cut.channels)
                        : k.min(constant(cut.channels), k.sub(constant(conv.channels), first));
    copyChannels(first, count);
    emitRuns(first, count, isFirst);
  };
  if (sumsOnce()) {
    block(constant(0), /*isFirst=*/true);
  } else {
    clearSums();
    k.loop(constant(0), constant(conv.channels), constant(cut.channels),
           [&](Index first) { block(first, /*isFirst=*/false); });
  }
  finish(constant(conv.filters));
}

void PlaneEmitter::clearSums() {
  Index count = k.mul(constant(cut.waitingFilters(frame.cpu, conv)), run.sumStride);
  Value none = k.zero(vectorType());
  k.loop(constant(0), count, constant(cut.lanes),
         [&](Index at) { k.store(none, k.address(sums, f32, at)); });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void PlaneEmitter::copyChannels(Index first, Index count) {
  const PlaneAxis *axes = conv.axes;
  Index lineElements = inputs[2], planeElements = k.mul(lineElements, inputs[1]);
  Index channels = constant(conv.groups * conv.channels);
  Index start = k.add(k.mulAdd(image, channels, k.mul(group, constant(conv.channels))), first);
  SmallVector<int64_t, 4> across = axes[1].planes();
  int64_t along = axes[2].planes().size();
  Index copied = k.add(run.lines, constant(axes[1].shift(axes[1].kernel - 1)));
  k.loop(constant(0), count, constant(1), [&](Index channel) {
    Index from = k.mul(k.add(start, channel), k.mul(inputs[0], planeElements));
    Index to = k.mul(channel, run.channelStride);
    k.loop(constant(0), constant(axes[0].kernel), constant(1), [&](Index z) {
      Index slice =
          k.sub(k.add(k.mul(depth, constant(axes[0].stride)), k.mul(z, constant(axes[0].dilation))),
                constant(axes[0].low));
      for (auto [number, rest] : llvm::enumerate(across)) {
        auto copy = [&, number = number, rest = rest](Index y, bool fetches) {
          Index row = k.sub(k.add(k.mul(k.add(line, y), constant(axes[1].stride)), constant(rest)),
                            constant(axes[1].low));
          auto inside = [&](Index at, Index extent) {
            return k.compare(arith::CmpIPredicate::ult, at, extent);
          };
          Value exists = arith::AndIOp::create(k.builder, k.loc, inside(slice, inputs[0]),
                                               inside(row, inputs[1]));
          Index offset = k.add(k.mulAdd(slice, planeElements, from), k.mul(row, lineElements));
          Index plane = k.mulAdd(z, constant(across.size() * along), constant(number * along));
          Index place = k.add(k.mulAdd(plane, run.planeStride, to), k.mul(y, run.lineStride));
          Index begin = k.sub(k.mul(column, constant(axes[2].stride)), constant(axes[2].low));
          copyLine(k.address(input, f32, offset), exists, begin, place, fetches);
        };
        // The next task has the last lines but as many as it has of its own.
        Index again = fetchesInput ? k.sub(copied, run.lines) : copied;
        k.loop(constant(0), again, constant(1), [&](Index y) { copy(y, false); });
        if (fetchesInput)
          k.loop(again, copied, constant(1), [&](Index y) { copy(y, true); });
      }
    });
  });
}

/// As many elements as all planes of a vector take, from `start` of the line on; zeros outside.
Value PlaneEmitter::loadLine(Value source, Index start, bool known) {
  int64_t count = cut.lanes * conv.axes[2].stride;
  auto type = VectorType::get({count}, f32);
  Value pointer = k.address(source, f32, start);
  if (known)
    return k.load(type, pointer);
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, count));
  auto integers = VectorType::get({count}, k.builder.getI32Type());
  Value lanes = arith::ConstantOp::create(
      k.builder, k.loc, DenseElementsAttr::get(integers, ArrayRef<int32_t>(numbers)));
  Value first = arith::TruncIOp::create(k.builder, k.loc, k.builder.getI32Type(), k.toI64(start));
  lanes = arith::AddIOp::create(k.builder, k.loc, lanes, k.broadcast(first, count));
  Value width =
      arith::TruncIOp::create(k.builder, k.loc, k.builder.getI32Type(), k.toI64(inputs[2]));
  Value extent = k.broadcast(width, count);
  Value mask = arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ult, lanes, extent);
  return LLVM::MaskedLoadOp::create(k.builder, k.loc, type, pointer, mask, k.zero(type),
                                    k.builder.getI32IntegerAttr(4));
}

void PlaneEmitter::copyLine(Value source, Value inside, Index start, Index to, bool fetches) {
  const PlaneAxis &axis = conv.axes[2];
  int64_t stride = axis.stride, taken = cut.lanes * stride;
  SmallVector<int64_t, 4> planes = axis.planes();
  auto store = [&](Value all, Index at) {
    for (auto [number, rest] : llvm::enumerate(planes)) {
      SmallVector<int64_t> picked;
      for (int64_t lane = 0; lane < cut.lanes; ++lane)
        picked.push_back(lane * stride + rest);
      Value lanes = stride == 1
                        ? all
                        : vector::ShuffleOp::create(k.builder, k.loc, all, all, picked).getResult();
      Index place = k.add(k.add(to, at), k.mul(constant(number), run.planeStride));
      k.store(lanes, k.address(copies, f32, place));
    }
  };
  Index end = run.lineStride, step = constant(cut.lanes);
  auto fetch = [&](Value first, int64_t elements) {
    for (int64_t byte = 0; byte < elements * 4; byte += frame.cpu.lineBytes)
      k.prefetch(k.address(first, k.builder.getI8Type(), constant(byte)));
  };
  Index later = k.mul(k.mul(run.lines, constant(conv.axes[1].stride)), inputs[2]);
  auto copy = [&] {
    k.loop(constant(0), end, step, [&](Index at) {
      Index from = k.add(start, k.mul(at, constant(stride)));
      if (fetches)
        fetch(k.address(source, f32, k.add(from, later)), taken);
      Value low = k.compare(arith::CmpIPredicate::sge, from, constant(0));
      Value high = k.compare(arith::CmpIPredicate::sle, k.add(from, constant(taken)), inputs[2]);
      Value whole = arith::AndIOp::create(k.builder, k.loc, low, high);
      k.ifThenElse(
          whole, [&] { store(loadLine(source, from, /*known=*/true), at); },
          [&] { store(loadLine(source, from, /*known=*/false), at); });
    });
  };
  auto clear = [&] {
    if (fetches)
      k.loop(constant(0), end, step, [&](Index at) {
        Index from = k.add(start, k.mul(at, constant(stride)));
        fetch(k.address(source, f32, k.add(from, later)), taken);
      });
    Value none = k.zero(vectorType());
    k.loop(constant(0), end, step, [&](Index at) {
      for (size_t number = 0; number < planes.size(); ++number)
        k.store(none,
                k.address(copies, f32, k.mulAdd(constant(number), run.planeStride, k.add(to, at))));
    });
  };
  k.ifThenElse(inside, copy, clear);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Terms [0, channels * taps) of a block, in runs of equal length.
void PlaneEmitter::emitRuns(Index firstChannel, Index count, bool isFirst) {
  int64_t taps = conv.taps(), most = cut.channels * taps;
  Index firstTerm = k.mul(firstChannel, constant(taps)), length = k.mul(count, constant(taps));
  if (most <= kSumBlock * 3 / 2)
    return emitTiles(firstTerm, constant(0), length, isFirst);
  int64_t run = llvm::divideCeil(most, llvm::divideCeil(most, kSumBlock));
  k.loop(constant(0), length, constant(run), [&](Index begin) {
    emitTiles(firstTerm, begin, k.min(k.add(begin, constant(run)), length), isFirst);
  });
}

void PlaneEmitter::forFilters(llvm::function_ref<void(Index first, unsigned rows)> body) {
  int64_t tiles = llvm::divideCeil(conv.filters, cut.rows);
  int64_t large = conv.filters - tiles * (cut.rows - 1); // tiles of all rows; the others: one less
  k.loop(constant(0), constant(large), constant(1),
         [&](Index tile) { body(k.mul(tile, constant(cut.rows)), cut.rows); });
  k.loop(constant(large), constant(tiles), constant(1), [&](Index tile) {
    body(k.add(k.mul(tile, constant(cut.rows - 1)), constant(large)), cut.rows - 1);
  });
}

void PlaneEmitter::emitTiles(Index firstTerm, Index begin, Index end, bool isFirst) {
  auto filters = [&](Index pixel, unsigned count) {
    auto tile = [&](Index filter, unsigned rows) {
      emitTile(filter, rows, pixel, count, firstTerm, begin, end, isFirst);
    };
    tileRows ? tile(firstFilter, tileRows) : forFilters(tile);
  };
  // Of equal size but for a vector: a last one of a single vector would wait for its few sums.
  Index vectors = k.floorDiv(run.sumStride, constant(cut.lanes));
  Index chunks = k.ceilDiv(vectors, constant(cut.vectors)), fewest = k.floorDiv(vectors, chunks);
  Index large = k.sub(vectors, k.mul(chunks, fewest));
  auto from = [&](Index chunk) {
    Index before = k.add(k.mul(chunk, fewest), k.min(chunk, large));
    return k.mul(before, constant(cut.lanes));
  };
  if (std::optional<int64_t> few = k.known(fewest)) {
    k.loop(constant(0), large, constant(1), [&](Index chunk) { filters(from(chunk), *few + 1); });
    return k.loop(large, chunks, constant(1), [&](Index chunk) { filters(from(chunk), *few); });
  }
  k.loop(constant(0), chunks, constant(1), [&](Index chunk) {
    Index next = k.add(chunk, constant(1)), size = k.sub(from(next), from(chunk));
    for (int64_t count = 1; count <= cut.vectors; ++count)
      k.ifThen(k.compare(arith::CmpIPredicate::eq, size, constant(count * cut.lanes)),
               [&] { filters(from(chunk), count); });
  });
}

/// Lines of the cache that the sums of a tile go to, all but for what lies between lines of pixels.
void PlaneEmitter::fetchResult(Index filter, unsigned rows, Index pixel, unsigned vectors) {
  const PlaneAxis *axes = conv.axes;
  Index y = k.floorDiv(pixel, run.lineStride);
  Index x = k.add(column, k.rem(pixel, run.lineStride));
  int64_t plane = axes[1].output * axes[2].output;
  Index first = k.add(k.mul(image, constant(conv.groups)), group);
  first = k.mul(k.mulAdd(first, constant(conv.filters), filter), constant(axes[0].output));
  Index at = k.mulAdd(k.add(line, y), constant(axes[2].output), x);
  at = k.mulAdd(k.add(first, depth), constant(plane), at);
  Value result = k.address(frame.results[0].pointer, f32, at);
  for (unsigned r = 0; r < rows; ++r)
    for (int64_t lane = 0; lane < vectors * cut.lanes; lane += frame.cpu.lineBytes / 4)
      k.prefetch(k.address(result, f32, constant(r * axes[0].output * plane + lane)));
}

void PlaneEmitter::emitTile(Index filter, unsigned rows, Index pixel, unsigned vectors,
                            Index firstTerm, Index begin, Index end, bool isFirst) {
  constexpr int64_t kWrittenOut = 96; // products of vectors in a turn
  int64_t terms = conv.channels * conv.taps();
  if (fetchesResult && isFirst)
    fetchResult(filter, rows, pixel, vectors);
  SmallVector<Value> zeros(rows * vectors, k.zero(vectorType()));
  Index number = k.mulAdd(group, constant(conv.filters), filter);
  Value row = k.address(weights, f32, k.mulAdd(number, constant(terms), firstTerm));
  Value pixels = k.address(copies, f32, pixel);
  auto step = [&](Index term, ValueRange in) {
    SmallVector<Value> accs = llvm::to_vector(in), loaded;
    Value offset = k.load(i64, k.address(table, i64, term));
    auto pointer = LLVM::LLVMPointerType::get(k.builder.getContext());
    Value at =
        LLVM::GEPOp::create(k.builder, k.loc, pointer, f32, pixels, ArrayRef<LLVM::GEPArg>{offset});
    for (unsigned v = 0; v < vectors; ++v)
      loaded.push_back(k.load(vectorType(), k.address(at, f32, constant(v * cut.lanes))));
    Value element = k.address(row, f32, term);
    for (unsigned r = 0; r < rows; ++r) {
      Value a = k.broadcast(k.load(f32, k.address(element, f32, constant(r * terms))), cut.lanes);
      for (unsigned v = 0; v < vectors; ++v) {
        Value &acc = accs[r * vectors + v];
        acc = emitMultiplyAdd(k, frame.cpu, a, loaded[v], acc);
      }
    }
    return accs;
  };
  int64_t unroll = std::clamp<int64_t>(kWrittenOut / (rows * vectors), 1, 4);
  Index length = k.sub(end, begin), turns = constant(unroll);
  Index whole = k.mul(k.floorDiv(length, turns), turns), bulk = k.add(begin, whole);
  SmallVector<Value> accs = k.loop(begin, bulk, turns, zeros, [&](Index term, ValueRange in) {
    SmallVector<Value> some = llvm::to_vector(in);
    for (int64_t i = 0; i < unroll; ++i)
      some = step(k.add(term, constant(i)), some);
    return some;
  });
  accs = k.loop(bulk, end, constant(1), accs, step);
  Index waiting = k.sub(filter, firstFilter);
  Value to = k.address(sums, f32, k.mulAdd(waiting, run.sumStride, pixel));
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned v = 0; v < vectors; ++v) {
      Value place =
          k.address(to, f32, k.mulAdd(constant(r), run.sumStride, constant(v * cut.lanes)));
      Value sum = accs[r * vectors + v];
      if (!isFirst)
        sum = arith::AddFOp::create(k.builder, k.loc, k.load(vectorType(), place), sum);
      k.store(sum, place);
    }
}

/// Stores the sums that wait, of `count` filters.
void PlaneEmitter::finish(Index count) {
  SmallVector<Value> rowExtents;
  unsigned rank = tensorType(op.getResult()).getRank();
  for (unsigned axis = 1; axis + 1 < rank; ++axis)
    rowExtents.push_back(frame.e.extent(op.getResult(), axis));
  Value entry = k.value(image);
  withEpilogue(frame, op, entry, rowExtents, /*hasColumns=*/true, [&](EpilogueFn epilogue) {
    Index lines = k.min(run.lines, k.sub(outputs[1], line));
    Index columns = k.min(run.columns, k.sub(outputs[2], column));
    if (k.isKnown(k.rem(outputs[2], run.columns), 0))
      columns = run.columns;
    k.loop(constant(0), count, constant(1), [&](Index filter) {
      Index channel = k.mulAdd(group, constant(conv.filters), k.add(firstFilter, filter));
      Index slice = k.mulAdd(channel, outputs[0], depth);
      k.loop(constant(0), lines, constant(1), [&](Index y) {
        Index m = k.add(k.mulAdd(slice, outputs[1], line), y);
        Index from = k.mulAdd(filter, run.sumStride, k.mul(y, run.lineStride));
        finishLine(m, from, columns, epilogue);
      });
    });
  });
}

/// Stores a line of `columns` results, whose sums begin at `from`: vectors, then what is left of
/// one, in shorter ones where masks cost something.
void PlaneEmitter::finishLine(Index m, Index from, Index columns, EpilogueFn epilogue) {
  auto store = [&](Index x, int64_t lanes, Index valid) {
    auto type = VectorType::get({lanes}, f32);
    Value sum = k.load(type, k.address(sums, f32, k.add(from, x)));
    epilogue(k.builder, k.loc, k.value(m), k.value(k.add(column, x)), sum, valid);
  };
  Index lanes = constant(cut.lanes), rest = k.rem(columns, lanes), whole = k.sub(columns, rest);
  k.loop(constant(0), whole, lanes, [&](Index x) { store(x, cut.lanes, lanes); });
  std::optional<int64_t> left = k.known(rest);
  if (frame.cpu.maskedMemory && left != 0)
    return k.loop(whole, columns, lanes, [&](Index x) { store(x, cut.lanes, rest); });
  for (int64_t part = cut.lanes / 2; part; part /= 2) {
    Index twice = constant(2 * part), begin = k.mul(k.floorDiv(columns, twice), twice);
    Index end = k.mul(k.floorDiv(columns, constant(part)), constant(part));
    k.loop(begin, end, constant(part), [&](Index x) { store(x, part, constant(part)); });
  }
}

bool codegen::emitPlaneConvolution(KernelFrame &f, cpu::PlaneScheduleAttr schedule) {
  auto op = cast<prim::ConvOp>(contractionOf(f.launch));
  std::optional<PlaneConv> conv = planeConv(op);
  PlaneCut cut = cutOf(schedule);
  PlaneEmitter emitter(f, op, *conv, cut);
  KernelBuilder k(f.b, f.b.getLoc());
  k.loop(f.begin, f.end, k.constant(1), [&](Index task) { emitter.emitTask(task); });
  return !f.failed;
}
