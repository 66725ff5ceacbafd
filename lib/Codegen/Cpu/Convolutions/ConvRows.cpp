//===- ConvRows.cpp - Rows of A for convolutions --------------------------===//
//
// Output pixels are numbered through all images, so a tile may cross lines and images and every
// tile is full but the last: what a padded border costs is one select a pointer. The pointers of a
// tap are computed together, as a vector with a lane a row: validity by an unsigned compare per
// dimension, then a select between the pixel and the line of padding.
//
//===----------------------------------------------------------------------===//
#include "ConvRows.h"
#include "../Products/PanelPacking.h"
#include "../Products/PartialSums.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
namespace tcc::codegen {

//===----------------------------------------------------------------------===//
// Pixels
//===----------------------------------------------------------------------===//

SmallVector<Index, 4> ConvFeed::outputOf(KernelBuilder &k, Index row) const {
  SmallVector<Index, 4> at(4);
  for (int d = 2; d >= 0; --d) {
    at[d + 1] = k.rem(row, spec.dims[d].output);
    row = k.floorDiv(row, spec.dims[d].output);
  }
  at[0] = row;
  return at;
}

void ConvFeed::forRows(KernelBuilder &k, const TileRows &rows, RowFn body) {
  Index zero = k.constant(0), one = k.constant(1);
  SmallVector<Value> start;
  for (Index coordinate : outputOf(k, rows.first))
    start.push_back(k.value(coordinate));
  k.loop(zero, k.constant(rows.count), one, start, [&](Index row, ValueRange at) {
    Pixel first;
    for (auto [d, dim] : llvm::enumerate(spec.dims)) {
      Index scaled = k.mul(at[d + 1], k.constant(dim.stride));
      first.push_back(k.isKnown(dim.output, 1) && k.isKnown(dim.padBefore, 0)
                          ? zero
                          : k.sub(scaled, dim.padBefore));
    }
    body(row, at[0], first);
    // The next pixel: one to the right, carried into the dimensions before.
    SmallVector<Value> next(4);
    Value step = k.value(one);
    if (rows.valid) {
      Value more = k.compare(arith::CmpIPredicate::slt, k.add(row, one), rows.valid);
      step = arith::SelectOp::create(k.builder, k.loc, more, step, k.value(zero));
    }
    for (int d = 2; d >= 0; --d) {
      Value moved = k.value(k.add(at[d + 1], step));
      Value wraps = k.compare(arith::CmpIPredicate::eq, moved, spec.dims[d].output);
      next[d + 1] = arith::SelectOp::create(k.builder, k.loc, wraps, k.value(zero), moved);
      step = arith::SelectOp::create(k.builder, k.loc, wraps, k.value(one), k.value(zero));
    }
    next[0] = k.value(k.add(at[0], step));
    return next;
  });
}

Pixel ConvFeed::tapShift(KernelBuilder &k, Index tap) const {
  Pixel shift(3);
  for (int d = 2; d >= 0; --d) {
    const ConvDim &dim = spec.dims[d];
    shift[d] = k.mul(k.rem(tap, k.constant(dim.kernel)), k.constant(dim.dilation));
    tap = k.floorDiv(tap, k.constant(dim.kernel));
    if (dim.kernel == 1)
      shift[d] = k.constant(0);
  }
  return shift;
}

bool ConvFeed::leavesImage(KernelBuilder &k, unsigned d) const {
  const ConvDim &dim = spec.dims[d];
  std::optional<int64_t> input = k.known(dim.input), output = k.known(dim.output);
  if (!k.isKnown(dim.padBefore, 0) || !input || !output)
    return true;
  return (*output - 1) * dim.stride + (dim.kernel - 1) * dim.dilation >= *input;
}

/// Pixels whose tap lies outside come in a run at each end of an axis, of which a tile's rows have
/// all or cross its border.
bool ConvFeed::passesOver(KernelBuilder &k, unsigned dims, int64_t rows) const {
  constexpr double worthATest = 0.02;
  if (spec.steps.addsSums()) // these have products of zeros as well
    return false;
  double reached = 1, inner = 1; // pixels of the dimensions that follow
  for (unsigned d = 3; d-- > 0;) {
    const ConvDim &dim = spec.dims[d];
    std::optional<int64_t> input = k.known(dim.input), output = k.known(dim.output);
    std::optional<int64_t> pad = k.known(dim.padBefore);
    if (!input || !output || !pad || *output < 1)
      return false;
    double outside = 0;
    for (int64_t tap = 0; tap < dim.kernel && d < dims; ++tap) {
      int64_t first = tap * dim.dilation - *pad, stride = dim.stride;
      int64_t before = first < 0 ? llvm::divideCeil(-first, stride) : 0;
      int64_t end = *input > first ? llvm::divideCeil(*input - first, stride) : 0;
      for (int64_t run : {std::min(before, *output), std::max<int64_t>(*output - end, 0)})
        outside += std::max(0.0, run * inner - double(rows - 1));
    }
    inner *= *output;
    reached *= 1 - outside / (inner * dim.kernel);
  }
  return reached < 1 - worthATest;
}

Index ConvFeed::pixelOffset(KernelBuilder &k, const Pixel &pixel) const {
  Index offset = k.constant(0);
  for (unsigned d = 0; d < 3; ++d)
    if (!k.isKnown(pixel[d], 0))
      offset = k.add(offset, k.mul(pixel[d], spec.strides[d]));
  return offset;
}

void storeFlag(KernelBuilder &k, Value flag, Value flags, Index at) {
  Type byte = k.builder.getI8Type();
  k.store(arith::ExtUIOp::create(k.builder, k.loc, byte, flag), k.address(flags, byte, at));
}

Value loadFlag(KernelBuilder &k, Value flags, Index at) {
  Type byte = k.builder.getI8Type();
  Value loaded = k.load(byte, k.address(flags, byte, at));
  return arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::ne, loaded, k.zero(byte));
}

SmallVector<Value> runIf(KernelBuilder &k, Value condition, ValueRange sums,
                         llvm::function_ref<SmallVector<Value>()> body) {
  auto branch =
      scf::IfOp::create(k.builder, k.loc, sums.getTypes(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(k.builder);
  k.builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(k.builder, k.loc, body());
  k.builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(k.builder, k.loc, sums);
  return branch.getResults();
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

/// Steps of k that the channels of one tap make.
static int64_t tapSteps(const ConvSpec &spec) { return spec.steps.count(spec.channels); }

int64_t blockTaps(const ConvSpec &spec, const ContractionSchedule &schedule) {
  int64_t taps = spec.dims[0].kernel * spec.dims[1].kernel * spec.dims[2].kernel;
  return schedule.kBlock ? std::min(taps, schedule.kBlock / tapSteps(spec)) : taps;
}

PointerRows::PointerRows(KernelBuilder &k, const ConvSpec &spec,
                         const ContractionSchedule &schedule)
    : ConvFeed(spec, schedule), slots(llvm::PowerOf2Ceil(schedule.rows)) {
  Type i64 = k.builder.getI64Type();
  table = k.scratch(i64, blockTaps(spec, schedule) * slots);
  if (!spec.presentTaps.empty())
    storeMasks(k);
  if (!leavesImage(k, 0) && !leavesImage(k, 1) && !leavesImage(k, 2))
    return;
  if (passesOver(k, 3, schedule.rows))
    reached = k.scratch(k.builder.getI8Type(), blockTaps(spec, schedule));
  int64_t lanes = schedule.lanes, length = llvm::alignTo(spec.groups * spec.channels, lanes);
  padding = k.scratch(spec.inputElement, length);
  Value pad = k.broadcast(zeroOf(k, spec), lanes);
  k.loop(k.constant(0), k.constant(length), k.constant(lanes),
         [&](Index at) { k.store(pad, k.address(padding, spec.inputElement, at)); });
}

void PointerRows::storeMasks(KernelBuilder &k) {
  OpBuilder &b = k.builder;
  int64_t width = schedule.panelWidth(), run = spec.filters / spec.presentTaps.size();
  int64_t panels = llvm::divideCeil(spec.filters, width);
  masks = k.scratch(b.getI64Type(), panels);
  for (int64_t panel = 0; panel < panels; ++panel) {
    int64_t mask = 0, end = std::min(spec.filters, (panel + 1) * width);
    for (int64_t filter = panel * width; filter < end; ++filter)
      mask |= spec.presentTaps[filter / run];
    k.store(arith::ConstantIntOp::create(b, k.loc, b.getI64Type(), mask),
            k.address(masks, b.getI64Type(), k.constant(panel)));
  }
}

void PointerRows::enterPanel(KernelBuilder &k, Index panel) {
  if (!masks)
    return;
  Index panels = k.constant(llvm::divideCeil(spec.filters, int64_t(schedule.panelWidth())));
  if (spec.groups > 1)
    panel = k.rem(panel, panels);
  Type i64 = k.builder.getI64Type();
  present = k.load(i64, k.address(masks, i64, panel));
}

/// Coordinates are those of the first row plus the lane, carried into the dimensions before. Row by
/// row through memory, the vectors would wait for their lanes' stores.
std::optional<PointerRows::Origins> PointerRows::originsInLanes(KernelBuilder &k,
                                                                const TileRows &rows) {
  constexpr int64_t mostWraps = 2;
  OpBuilder &b = k.builder;
  auto lanes = VectorType::get({slots}, b.getI64Type());
  auto splat = [&](Index value) { return k.broadcast(k.toI64(value), slots); };
  auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, k.loc, x, y); };
  auto times = [&](Value x, Index factor) -> Value {
    return k.isKnown(factor, 1) ? x : arith::MulIOp::create(b, k.loc, x, splat(factor));
  };
  int64_t carried = slots - 1; // at most
  for (int d = 2; d >= 0; --d) {
    std::optional<int64_t> extent = k.known(spec.dims[d].output);
    if (!extent || *extent < 1 || (*extent > 1 && (*extent - 1 + carried) / *extent > mostWraps))
      return std::nullopt;
    carried = (*extent - 1 + carried) / *extent;
  }

  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, slots));
  Value carry =
      arith::ConstantOp::create(b, k.loc, DenseElementsAttr::get(lanes, ArrayRef(numbers)));
  if (rows.valid)
    carry = arith::MinUIOp::create(b, k.loc, carry, splat(k.sub(rows.valid, k.constant(1))));
  SmallVector<Index, 4> start = outputOf(k, rows.first);
  Origins found;
  Value zero = k.zero(lanes), one = splat(k.constant(1));
  carried = slots - 1;
  for (int d = 2; d >= 0; --d) {
    const ConvDim &dim = spec.dims[d];
    int64_t extent = *k.known(dim.output), wraps = (extent - 1 + carried) / extent;
    carried = wraps;
    Value at = zero;
    if (extent > 1) {
      at = add(splat(start[d + 1]), carry);
      carry = zero;
      for (int64_t i = 0; i < wraps; ++i) {
        Value past =
            arith::CmpIOp::create(b, k.loc, arith::CmpIPredicate::uge, at, splat(dim.output));
        Value back = arith::SubIOp::create(b, k.loc, at, splat(dim.output));
        at = arith::SelectOp::create(b, k.loc, past, back, at);
        carry = arith::SelectOp::create(b, k.loc, past, add(carry, one), carry);
      }
    }
    Value pixel = times(at, k.constant(dim.stride));
    if (!k.isKnown(dim.padBefore, 0))
      pixel = arith::SubIOp::create(b, k.loc, pixel, splat(dim.padBefore));
    if (leavesImage(k, d))
      found.pixel[d] = pixel;
    Value part = times(pixel, spec.strides[d]);
    found.offset = found.offset ? add(found.offset, part) : part;
  }
  found.offset = add(found.offset, times(add(splat(start[0]), carry), spec.imageStride));
  return found;
}

PointerRows::Origins PointerRows::originsOf(KernelBuilder &k, const TileRows &rows) {
  if (auto found = originsInLanes(k, rows))
    return *found;
  Type i64 = k.builder.getI64Type(), lanes = VectorType::get({slots}, i64);
  Value origins = k.scratch(i64, 4 * slots);
  auto originAt = [&](unsigned field, Index row) {
    return k.address(origins, i64, k.add(k.constant(field * slots), row));
  };
  forRows(k, rows, [&](Index row, Index image, const Pixel &first) {
    Index offset = k.mulAdd(image, spec.imageStride, pixelOffset(k, first));
    k.store(k.toI64(offset), originAt(3, row));
    for (unsigned d = 0; d < 3; ++d)
      if (leavesImage(k, d))
        k.store(k.toI64(first[d]), originAt(d, row));
  });
  Origins found;
  found.offset = k.load(lanes, originAt(3, k.constant(0)));
  for (unsigned d = 0; d < 3; ++d)
    if (leavesImage(k, d))
      found.pixel[d] = k.load(lanes, originAt(d, k.constant(0)));
  return found;
}

void PointerRows::prepare(KernelBuilder &k, const TileRows &rows, const KBlock &block) {
  OpBuilder &b = k.builder;
  Type i64 = b.getI64Type();
  Origins origins = originsOf(k, rows);
  int64_t bytes = spec.inputElement.getIntOrFloatBitWidth() / 8;
  auto splat = [&](Index value) { return k.broadcast(k.toI64(value), slots); };
  auto addressOf = [&](Value pointer) {
    return k.broadcast(LLVM::PtrToIntOp::create(b, k.loc, i64, pointer), slots);
  };
  Index steps = k.constant(tapSteps(spec));
  Index firstTap = k.floorDiv(block.begin, steps);
  k.loop(k.constant(0), k.floorDiv(block.length, steps), k.constant(1), [&](Index at) {
    Pixel shift = tapShift(k, k.add(firstTap, at));
    Value offset = arith::AddIOp::create(b, k.loc, origins.offset, splat(pixelOffset(k, shift)));
    offset = arith::MulIOp::create(b, k.loc, offset, splat(k.constant(bytes)));
    Value pointers = arith::AddIOp::create(b, k.loc, addressOf(spec.input), offset), all;
    for (unsigned d = 0; d < 3; ++d) {
      if (!leavesImage(k, d))
        continue;
      Value pixel = arith::AddIOp::create(b, k.loc, origins.pixel[d], splat(shift[d]));
      Value inside = arith::CmpIOp::create(b, k.loc, arith::CmpIPredicate::ult, pixel,
                                           splat(spec.dims[d].input));
      all = all ? arith::AndIOp::create(b, k.loc, all, inside).getResult() : inside;
      pointers = arith::SelectOp::create(b, k.loc, inside, pointers, addressOf(padding));
    }
    if (reached)
      storeFlag(k, vector::ReductionOp::create(b, k.loc, vector::CombiningKind::OR, all), reached,
                at);
    k.store(pointers, k.address(table, i64, k.mul(at, k.constant(slots))));
  });
}

SmallVector<Value> PointerRows::run(KernelBuilder &k, const RegisterTile &tile,
                                    const PanelSource &panel, Index group, const KBlock &block,
                                    ValueRange accs) {
  Index steps = k.constant(tapSteps(spec)), channels = k.constant(spec.channels);
  RowSource source;
  source.element = spec.inputElement;
  source.isUnsigned = spec.inputUnsigned;
  source.kStride = k.constant(spec.steps.size);
  source.offset = k.mul(group, channels);
  if (spec.channels % spec.steps.size)
    source.validK = channels;
  Index zero = k.constant(0), one = k.constant(1);
  Index taps = k.floorDiv(block.length, steps);
  auto at = [&](Index tap) {
    source.table = k.address(table, k.builder.getI64Type(), k.mul(tap, k.constant(slots)));
    return panel.from(k, k.mul(tap, steps));
  };
  Value mask = std::exchange(present, Value());
  Index firstTap = k.floorDiv(block.begin, steps);
  Type bit = k.builder.getI1Type();
  auto isPresent = [&](Index tap) {
    Value inside = reached ? loadFlag(k, reached, tap) : Value();
    if (!mask)
      return inside;
    Value bits = arith::ShRUIOp::create(k.builder, k.loc, mask, k.toI64(k.add(firstTap, tap)));
    Value some = arith::TruncIOp::create(k.builder, k.loc, bit, bits);
    return inside ? arith::AndIOp::create(k.builder, k.loc, inside, some).getResult() : some;
  };
  bool asks = mask || reached;
  auto runTap = [&](Index tap, ValueRange in) {
    PanelSource part = at(tap);
    return emitRun(k, spec.cpu, tile, source, part, steps, schedule.unroll, in);
  };
  auto runTaps = [&](Index begin, Index end, ValueRange init) {
    return k.loop(begin, end, one, init, [&](Index tap, ValueRange in) {
      return asks ? runIf(k, isPresent(tap), in, [&] { return runTap(tap, in); }) : runTap(tap, in);
    });
  };
  if (!sumBlock(k, tile, block.length))
    return runTaps(zero, taps, accs);
  PartialSums sums(k, tile, accs);
  int64_t together = std::max<int64_t>(1, kSumBlock / spec.channels);
  if (together == 1)
    k.loop(zero, taps, one, [&](Index tap) {
      auto add = [&] {
        PanelSource part = at(tap);
        addRun(k, spec.cpu, tile, source, part, steps, schedule.unroll, sums);
      };
      asks ? k.ifThen(isPresent(tap), add) : add();
    });
  else
    k.loop(zero, taps, k.constant(together), [&](Index first) {
      Index end = k.min(taps, k.add(first, k.constant(together)));
      sums.add(runTaps(first, end, zeroTile(k, tile)));
    });
  return sums.total();
}

} // namespace tcc::codegen
