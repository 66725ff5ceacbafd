//===- WinogradConv.cpp - 3x3 convolutions in tiles -----------------------===//
//
// Outputs are cut into tiles of 2x2, numbered through all images, and tiles into
// register tiles of `rows`. A task is a block of register tiles by a range of panels:
//
//   for group that the panels are of:
//     for tile in the block:                 V[point][tile][channel] in scratch
//       transform its 4x4 inputs
//     for panel of the group in the range:
//       for point of 16:                     the point's weights are used by the whole
//         for register tile in the block:    block, then never again
//           S[point][tile][column] = V[point] x panel[point]
//       for tile in the block:
//         transform S back to 2x2 outputs, epilogue for those inside the image
//
// Where the inputs of each tile lie is found once for all groups.
//
// The scratch of a task stays in L2, which bounds the block. Sums over the channels are
// cut into blocks of `sumChannels`: with them the error is that of a direct convolution
// (docs/Rationale/winograd.md), without it is nearly twice as large.
//
//===----------------------------------------------------------------------===//
#include "WinogradConv.h"
#include "../Products/PanelPacking.h"
#include "ConvRows.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Dialect/Cpu/Winograd.h"

using namespace mlir;
namespace tcc::codegen {
namespace {

constexpr int64_t sumChannels = 64, inputs = kWinogradOutputs + 2;

/// The cut into tiles, register tiles and tasks.
struct Cut {
  Index tileRows, tileColumns; ///< of an image
  Index tiles;                 ///< of all images
  Index taskTiles;             ///< of a task
  Index taskRows, taskColumns; ///< number of tasks along tiles and along panels
};

WinogradSchedule scheduleOf(const ConvSpec &spec) {
  return std::get<WinogradSchedule>(spec.schedule);
}

int64_t panelsOfGroup(const ConvSpec &spec) {
  return llvm::divideCeil(spec.filters, scheduleOf(spec).panelWidth());
}

Cut cutOf(KernelBuilder &k, const ConvSpec &spec) {
  Index two = k.constant(kWinogradOutputs);
  Cut cut;
  cut.tileRows = k.ceilDiv(spec.dims[1].output, two);
  cut.tileColumns = k.ceilDiv(spec.dims[2].output, two);
  cut.tiles = k.mul(spec.batch, k.mul(cut.tileRows, cut.tileColumns));
  WinogradSchedule schedule = scheduleOf(spec);
  int64_t panels = spec.groups * panelsOfGroup(spec);
  cut.taskColumns = k.constant(llvm::divideCeil(panels, schedule.panelsPerTask));
  Index rows = k.constant(schedule.rows);
  cut.taskTiles = k.mul(rows, taskTiles(k, schedule.tilesPerTask, schedule.leastTiles,
                                        k.ceilDiv(cut.tiles, rows), cut.taskColumns));
  cut.taskRows = k.ceilDiv(cut.tiles, cut.taskTiles);
  return cut;
}

class TaskEmitter {
public:
  TaskEmitter(KernelBuilder &k, const ConvSpec &spec, EpilogueFn epilogue)
      : k(k), spec(spec), epilogue(epilogue), cut(cutOf(k, spec)), schedule(scheduleOf(spec)),
        f32(k.builder.getF32Type()) {
    int64_t blockTiles = schedule.rows * schedule.tilesPerTask;
    rowStride = packedRowStride(spec.cpu, spec.channels, sizeof(float));
    int64_t line = spec.cpu.lineBytes / int64_t(sizeof(float));
    inputStride = blockTiles * rowStride + line; // points in different cache sets
    sumStride = blockTiles * schedule.panelWidth() + line;
    transformed = k.scratch(f32, kWinogradPoints * inputStride);
    sums = k.scratch(f32, kWinogradPoints * sumStride);
    outputs = k.scratch(f32, kWinogradOutputs * kWinogradOutputs * schedule.panelWidth());
    table = k.scratch(k.builder.getI64Type(), blockTiles * kWinogradPoints);
    int64_t pixel = spec.groups * spec.channels;
    padding = k.scratch(f32, llvm::alignTo(pixel, schedule.lanes));
    Value zeros = k.zero(VectorType::get({int64_t(schedule.lanes)}, f32));
    k.loop(k.constant(0), k.constant(pixel), k.constant(schedule.lanes),
           [&](Index at) { k.store(zeros, k.address(padding, f32, at)); });
  }

  void emit(Index task);

private:
  struct Tile {
    Index image, row, column; ///< the two in outputs
  };
  Tile tileAt(Index number);
  void findInputs(const Tile &tile, Index slot);
  void transformInputs(Index slot, Index firstChannel);
  void emitGroup(Index group, Index slots, Index firstPanel, Index endPanel);
  void emitPanel(Index panel, bool full);
  void emitProducts(Index point, Index panel, ArrayRef<unsigned> widths);
  void transformSums(Index slot, ArrayRef<unsigned> widths);
  void finishTile(const Tile &tile, Index panel, int64_t columns, ArrayRef<unsigned> widths);

  Value tableOf(Index slot) {
    return k.address(table, k.builder.getI64Type(), k.mul(slot, k.constant(kWinogradPoints)));
  }
  Value vectorAdd(Value a, Value b) { return arith::AddFOp::create(k.builder, k.loc, a, b); }
  Value vectorSub(Value a, Value b) { return arith::SubFOp::create(k.builder, k.loc, a, b); }

  KernelBuilder &k;
  const ConvSpec &spec;
  EpilogueFn epilogue;
  Cut cut;
  WinogradSchedule schedule;
  Type f32;
  int64_t rowStride, inputStride, sumStride; ///< elements
  Value transformed, sums, outputs, table, padding;
  Index firstTile, tileCount, registerTiles; ///< of the task
};

} // namespace

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

TaskEmitter::Tile TaskEmitter::tileAt(Index number) {
  Index two = k.constant(kWinogradOutputs);
  Index line = k.floorDiv(number, cut.tileColumns);
  return {k.floorDiv(line, cut.tileRows), k.mul(k.rem(line, cut.tileRows), two),
          k.mul(k.rem(number, cut.tileColumns), two)};
}

/// Fills the slot's part of the table with pointers to the 16 pixels under the tile: to padding
/// where they are outside of the image.
void TaskEmitter::findInputs(const Tile &tile, Index slot) {
  OpBuilder &b = k.builder;
  Type i64 = b.getI64Type();
  auto lanes = VectorType::get({inputs}, i64);
  auto splat = [&](Value scalar) { return k.broadcast(scalar, inputs); };
  auto step = [&](int64_t bytes) {
    SmallVector<int64_t> values;
    for (int64_t i = 0; i < inputs; ++i)
      values.push_back(i * bytes);
    return arith::ConstantOp::create(b, k.loc, DenseElementsAttr::get(lanes, ArrayRef(values)))
        .getResult();
  };
  auto address = [&](Value pointer) {
    return LLVM::PtrToIntOp::create(b, k.loc, i64, pointer).getResult();
  };
  Index row = k.sub(tile.row, spec.dims[1].padBefore);
  Index column = k.sub(tile.column, spec.dims[2].padBefore);
  Value columns = arith::AddIOp::create(b, k.loc, splat(k.toI64(column)), step(1));
  Value columnsInside = arith::CmpIOp::create(b, k.loc, arith::CmpIPredicate::ult, columns,
                                              splat(k.toI64(spec.dims[2].input)));
  Index offset = k.mulAdd(tile.image, spec.imageStride,
                          k.add(k.mul(row, spec.strides[1]), k.mul(column, spec.strides[2])));
  Value pointers =
      arith::AddIOp::create(b, k.loc, splat(address(k.address(spec.input, f32, offset))),
                            step(spec.groups * spec.channels * int64_t(sizeof(float))));
  Value outside = splat(address(padding)), to = tableOf(slot);
  for (int64_t i = 0; i < inputs; ++i) {
    Value rowInside =
        k.compare(arith::CmpIPredicate::ult, k.add(row, k.constant(i)), spec.dims[1].input);
    Value inside = arith::AndIOp::create(b, k.loc, columnsInside, splat(rowInside));
    Index shift = k.mul(k.mul(spec.strides[1], k.constant(i)), k.constant(sizeof(float)));
    Value line = arith::AddIOp::create(b, k.loc, pointers, splat(k.toI64(shift)));
    k.store(arith::SelectOp::create(b, k.loc, inside, line, outside),
            k.address(to, i64, k.constant(i * inputs)));
  }
}

/// V = B^T d B for a group's channels of the tile that the slot's part of the table points to:
/// B^T = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1].
void TaskEmitter::transformInputs(Index slot, Index firstChannel) {
  auto pointer = LLVM::LLVMPointerType::get(k.builder.getContext());
  auto transform = [&](std::array<Value, inputs> d) {
    return std::array<Value, inputs>{vectorSub(d[0], d[2]), vectorAdd(d[1], d[2]),
                                     vectorSub(d[2], d[1]), vectorSub(d[1], d[3])};
  };
  Value to = k.address(transformed, f32, k.mul(slot, k.constant(rowStride))), from = tableOf(slot);
  forChunks(k, spec.channels, schedule.lanes, [&](Index channel, unsigned width) {
    auto type = VectorType::get({int64_t(width)}, f32);
    std::array<std::array<Value, inputs>, inputs> columns, rows; // [column][row], [row][column]
    for (int64_t j = 0; j < inputs; ++j) {
      std::array<Value, inputs> d;
      for (int64_t i = 0; i < inputs; ++i) {
        Value pixel = k.load(pointer, k.address(from, pointer, k.constant(i * inputs + j)));
        d[i] = k.load(type, k.address(pixel, f32, k.add(firstChannel, channel)));
      }
      columns[j] = transform(d);
    }
    Value at = k.address(to, f32, channel);
    for (int64_t i = 0; i < inputs; ++i) {
      rows[i] = transform({columns[0][i], columns[1][i], columns[2][i], columns[3][i]});
      for (int64_t j = 0; j < inputs; ++j)
        k.store(rows[i][j], k.address(at, f32, k.constant((i * inputs + j) * inputStride)));
    }
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The sums of one point, for all register tiles of the block.
void TaskEmitter::emitProducts(Index point, Index panel, ArrayRef<unsigned> widths) {
  RegisterTile tile{schedule.rows, SmallVector<unsigned>(widths), f32};
  Index width = k.constant(schedule.panelWidth()), channels = k.constant(spec.channels);
  Index slice = k.mulAdd(panel, k.constant(kWinogradPoints), point);
  PanelSource weights;
  weights.element = f32;
  weights.base = k.address(spec.weights, f32, k.mul(slice, k.mul(channels, width)));
  weights.kStride = width;
  Value next = k.address(weights.base, f32, k.mul(channels, width));
  int64_t blocks = llvm::divideCeil(spec.channels, sumChannels);
  Index block = k.constant(llvm::alignTo(llvm::divideCeil(spec.channels, blocks), 2));

  k.loop(k.constant(0), registerTiles, k.constant(1), [&](Index registerTile) {
    Index slot = k.mul(registerTile, k.constant(schedule.rows));
    RowSource rows;
    rows.element = f32;
    rows.base =
        k.address(transformed, f32,
                  k.add(k.mul(point, k.constant(inputStride)), k.mul(slot, k.constant(rowStride))));
    rows.rowStride = k.constant(rowStride);
    rows.kStride = k.constant(1);
    PanelSource source = weights;
    if (schedule.tilesPerTask > 1) { // each register tile fetches its part of the next slice
      source.aheadStep =
          llvm::divideCeil(schedule.panelWidth() * int64_t(sizeof(float)), schedule.tilesPerTask);
      Index part = k.mul(registerTile, k.constant(spec.channels * source.aheadStep));
      source.ahead = k.address(next, k.builder.getI8Type(), part);
    }
    Value to = k.address(sums, f32, k.add(k.mul(point, k.constant(sumStride)), k.mul(slot, width)));
    auto storeSums = [&](ValueRange accs, bool add) {
      for (unsigned row = 0, i = 0; row < schedule.rows; ++row)
        for (unsigned at = row * schedule.panelWidth(), v = 0; v < widths.size();
             at += widths[v++]) {
          Value place = k.address(to, f32, k.constant(at)), acc = accs[i++];
          k.store(add ? vectorAdd(k.load(acc.getType(), place), acc) : acc, place);
        }
    };
    k.loop(k.constant(0), channels, block, [&](Index begin) {
      bool equal = spec.channels % *k.known(block) == 0;
      Index length = equal ? block : k.min(block, k.sub(channels, begin));
      RowSource part = rows;
      part.base = k.address(rows.base, f32, begin);
      SmallVector<Value> accs = emitRun(k, spec.cpu, tile, part, source.from(k, begin), length,
                                        /*unroll=*/2, zeroTile(k, tile));
      if (blocks == 1)
        return storeSums(accs, false);
      k.ifThenElse(
          k.compare(arith::CmpIPredicate::eq, begin, k.constant(0)),
          [&] { storeSums(accs, false); }, [&] { storeSums(accs, true); });
    });
  });
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Y = A^T S A into `outputs`: A^T = [1 1 1 0; 0 1 -1 -1].
void TaskEmitter::transformSums(Index slot, ArrayRef<unsigned> widths) {
  auto transform = [&](std::array<Value, inputs> s) {
    return std::array<Value, kWinogradOutputs>{vectorAdd(vectorAdd(s[0], s[1]), s[2]),
                                               vectorSub(vectorSub(s[1], s[2]), s[3])};
  };
  Value from = k.address(sums, f32, k.mul(slot, k.constant(schedule.panelWidth())));
  int64_t column = 0;
  for (unsigned width : widths) {
    auto type = VectorType::get({int64_t(width)}, f32);
    std::array<std::array<Value, kWinogradOutputs>, inputs> columns;
    for (int64_t j = 0; j < inputs; ++j) {
      std::array<Value, inputs> s;
      for (int64_t i = 0; i < inputs; ++i)
        s[i] =
            k.load(type, k.address(from, f32, k.constant((i * inputs + j) * sumStride + column)));
      columns[j] = transform(s);
    }
    for (int64_t i = 0; i < kWinogradOutputs; ++i) {
      auto row = transform({columns[0][i], columns[1][i], columns[2][i], columns[3][i]});
      for (int64_t j = 0; j < kWinogradOutputs; ++j)
        k.store(row[j],
                k.address(outputs, f32,
                          k.constant((i * kWinogradOutputs + j) * schedule.panelWidth() + column)));
    }
    column += width;
  }
}

/// The epilogue of the tile's pixels that are inside the image.
void TaskEmitter::finishTile(const Tile &tile, Index panel, int64_t columns,
                             ArrayRef<unsigned> widths) {
  Index zero = k.constant(0), one = k.constant(1), two = k.constant(kWinogradOutputs);
  Index height = spec.dims[1].output, width = spec.dims[2].output;
  Index firstColumn = k.mul(panel, k.constant(schedule.panelWidth()));
  auto inside = [&](Index at, Index extent) {
    return k.isKnown(k.rem(extent, two), 0) ? two : k.min(two, k.sub(extent, at));
  };
  k.loop(zero, inside(tile.row, height), one, [&](Index i) {
    Index line = k.mulAdd(tile.image, height, k.add(tile.row, i));
    k.loop(zero, inside(tile.column, width), one, [&](Index j) {
      Value m = k.value(k.mulAdd(line, width, k.add(tile.column, j)));
      Index pixel = k.mul(k.mulAdd(i, two, j), k.constant(schedule.panelWidth()));
      int64_t column = 0;
      for (unsigned lanes : widths) {
        Value acc = k.load(VectorType::get({int64_t(lanes)}, f32),
                           k.address(outputs, f32, k.add(pixel, k.constant(column))));
        Index valid = k.constant(std::min<int64_t>(lanes, columns - column));
        epilogue(k.builder, k.loc, m, k.value(k.add(firstColumn, k.constant(column))), acc, valid);
        column += lanes;
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void TaskEmitter::emitPanel(Index panel, bool full) {
  int64_t width = schedule.panelWidth(), columns = full ? width : spec.filters % width;
  SmallVector<unsigned> widths = panelVectors(columns, schedule.lanes);
  k.loop(k.constant(0), k.constant(kWinogradPoints), k.constant(1),
         [&](Index point) { emitProducts(point, panel, widths); });
  k.loop(k.constant(0), tileCount, k.constant(1), [&](Index slot) {
    transformSums(slot, widths);
    finishTile(tileAt(k.add(firstTile, slot)), panel, columns, widths);
  });
}

/// What panels [firstPanel, endPanel) of a group's filters give, of those that there are.
void TaskEmitter::emitGroup(Index group, Index slots, Index firstPanel, Index endPanel) {
  Index one = k.constant(1), channels = k.constant(spec.channels);
  k.loop(k.constant(0), slots, one,
         [&](Index slot) { transformInputs(slot, k.mul(group, channels)); });
  int64_t filters = spec.groups * spec.filters; // panels of several groups are whole
  Index fullPanels = k.constant(filters / schedule.panelWidth());
  Index panels = k.constant(llvm::divideCeil(filters, schedule.panelWidth()));
  k.loop(firstPanel, k.min(endPanel, fullPanels), one,
         [&](Index panel) { emitPanel(panel, /*full=*/true); });
  k.loop(k.max(firstPanel, fullPanels), k.min(endPanel, panels), one,
         [&](Index panel) { emitPanel(panel, /*full=*/false); });
}

void TaskEmitter::emit(Index task) {
  Index one = k.constant(1);
  firstTile = k.mul(k.rem(task, cut.taskRows), cut.taskTiles);
  tileCount = k.min(cut.taskTiles, k.sub(cut.tiles, firstTile));
  registerTiles = k.ceilDiv(tileCount, k.constant(schedule.rows));
  // What is missing in the last register tile repeats the last tile.
  Index lastTile = k.sub(cut.tiles, one);
  Index slots = k.mul(registerTiles, k.constant(schedule.rows));
  k.loop(k.constant(0), slots, one,
         [&](Index slot) { findInputs(tileAt(k.min(k.add(firstTile, slot), lastTile)), slot); });

  Index panelsPerTask = k.constant(schedule.panelsPerTask);
  Index firstPanel = k.mul(k.floorDiv(task, cut.taskRows), panelsPerTask);
  Index endPanel = k.add(firstPanel, panelsPerTask);
  if (spec.groups == 1)
    return emitGroup(k.constant(0), slots, firstPanel, endPanel);
  Index ofGroup = k.constant(panelsOfGroup(spec));
  endPanel = k.min(endPanel, k.constant(spec.groups * panelsOfGroup(spec)));
  k.loop(k.floorDiv(firstPanel, ofGroup), k.ceilDiv(endPanel, ofGroup), one, [&](Index group) {
    Index first = k.mul(group, ofGroup);
    emitGroup(group, slots, k.max(firstPanel, first), k.min(endPanel, k.add(first, ofGroup)));
  });
}

WinogradShape winogradShape(KernelBuilder &k, const ConvSpec &spec) {
  Index two = k.constant(kWinogradOutputs);
  Index image = k.mul(k.ceilDiv(spec.dims[1].output, two), k.ceilDiv(spec.dims[2].output, two));
  auto known = [&](Index extent) { return k.known(extent).value_or(-1); };
  return {known(k.mul(spec.batch, image)),
          spec.channels,
          spec.filters,
          known(image),
          spec.panelWidth,
          spec.groups};
}

Index emitWinogradTaskCount(KernelBuilder &k, const ConvSpec &spec) {
  Cut cut = cutOf(k, spec);
  return k.mul(cut.taskRows, cut.taskColumns);
}

void emitWinogradTasks(KernelBuilder &k, const ConvSpec &spec, Index begin, Index end,
                       EpilogueFn epilogue) {
  TaskEmitter emitter(k, spec, epilogue);
  k.loop(begin, end, k.constant(1), [&](Index task) { emitter.emit(task); });
}

} // namespace tcc::codegen
