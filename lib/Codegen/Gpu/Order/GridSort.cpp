//===- GridSort.cpp - Keys put in order by all blocks of a launch ---------===//
//
// A pass goes over one digit of the keys. An element's new place is the number of elements with
// lower digits, of those with its digit in earlier chunks, in earlier warps, and before it in its
// own warp. The first is known from one look at all keys, which counts the digits of every pass;
// the last comes from votes on the digit's bits. What earlier chunks have each chunk finds by
// itself: it writes how many elements of each digit it has, looks back at what those before it
// wrote, and then writes the sum, at which those behind it stop. So a pass is one phase:
//
//   clear -> count the digits of all passes -> place by the lowest digit -> ... by the highest
//
// (Adinets and Merrill, Onesweep, 2022). Chunks are drawn in their order, so that who is looked at
// runs or is done. A chunk's elements are put in order in shared memory before they are written, so
// that those of a digit lie side by side. A line that is one chunk is sorted in one phase, by a
// block in whose shared memory it stays from pass to pass.
//
//===----------------------------------------------------------------------===//
#include "GridSort.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

constexpr unsigned kWarps = GridSortSizes::threads / GpuArch::warp;
/// What a chunk says of a digit: nothing yet, how many it has, or how many it and all before have.
constexpr int64_t kOwn = 1, kAll = 2, kStateShift = 30;
constexpr int64_t kNumber = (int64_t(1) << kStateShift) - 1;
constexpr auto kRelaxed = LLVM::AtomicOrdering::monotonic;

/// A buffer's keys, or places; both are multiples of what an access has.
static int64_t arrayBytes(int64_t count, unsigned bits) {
  return int64_t(llvm::alignTo(count * (bits / 8), GpuArch::accessBytes));
}

static int64_t bufferBytes(const GridSortSizes &s) {
  return arrayBytes(s.lines * s.length, s.wordBits()) + arrayBytes(s.lines * s.length, 32);
}

unsigned GridSortSizes::ownOf(int64_t elements) {
  constexpr int64_t kMany = int64_t(1) << 19;
  return elements < kMany ? 4 : 8;
}

int64_t GridSortSizes::bytes() const {
  return 2 * bufferBytes(*this) + arrayBytes(passes() * lines * digits() * (chunks() + 1), 32);
}

int64_t GridSortSizes::sharedBytes() const {
  int64_t numbers = digits() * (kWarps + (chunks() == 1 ? 1 : passes())) + kWarps;
  return numbers * 4 + chunk() * (wordBits() / 8 + 4);
}

device::GridSort::GridSort(KernelFrame &f, GridSortSizes sizes, int64_t offset)
    : sizes(sizes), f(f), b(f.b), offset(offset), buffers(bufferBytes(sizes)),
      counts(offset + 2 * buffers),
      totals(counts + sizes.passes() * sizes.lines * sizes.digits() * sizes.chunks() * 4),
      wordType(b.getIntegerType(sizes.wordBits())), length(f.e.index(sizes.length)) {
  assert(f.schedule.getThreads() == GridSortSizes::threads && "the sort's blocks have others");
  lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp));
  Type i32 = b.getI32Type();
  ranks = f.shared(i32, sizes.digits() * kWarps, "ranks");
  bases = f.shared(i32, sizes.digits() * (alone() ? 1 : sizes.passes()), "bases");
  keys = f.shared(wordType, sizes.chunk(), "keys");
  places = f.shared(i32, sizes.chunk(), "places");
  warpTotals = f.shared(i32, kWarps, "warp_totals");
}

Value device::GridSort::word(int64_t v) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(wordType, v));
}

Value device::GridSort::keyAt(unsigned buffer, Value i) {
  return f.scratchAt(offset + buffer * buffers, wordType, i);
}

Value device::GridSort::placeAt(unsigned buffer, Value i) {
  int64_t keys = arrayBytes(sizes.lines * sizes.length, sizes.wordBits());
  return f.scratchAt(offset + buffer * buffers + keys, b.getI32Type(), i);
}

/// The digits of a line's chunk in a pass lie side by side, as the threads that ask for them.
Value device::GridSort::countAt(unsigned pass, Value line, Value chunk, Value digit) {
  Value chunks = f.e.index(sizes.chunks()), digits = f.e.index(sizes.digits());
  Value before = f.e.addIndex(f.e.index(pass * sizes.lines), line);
  before = f.e.addIndex(f.e.mulIndex(before, chunks), chunk);
  return f.scratchAt(counts, b.getI32Type(), f.e.addIndex(f.e.mulIndex(before, digits), digit));
}

Value device::GridSort::totalAt(unsigned pass, Value line, Value digit) {
  Value before = f.e.addIndex(f.e.index(pass * sizes.lines), line);
  before = f.e.mulIndex(before, f.e.index(sizes.digits()));
  return f.scratchAt(totals, b.getI32Type(), f.e.addIndex(before, digit));
}

static Value loaded(ImplicitLocOpBuilder &b, Type type, Value place) {
  return LLVM::LoadOp::create(b, type, place);
}

Value device::GridSort::sortedKey(Value line, Value i) {
  Value number = f.e.addIndex(f.e.mulIndex(line, f.e.index(sizes.length)), i);
  return loaded(b, wordType, keyAt((sizes.passes() - 1) % 2, number));
}

Value device::GridSort::sortedPlace(Value line, Value i) {
  Value number = f.e.addIndex(f.e.mulIndex(line, f.e.index(sizes.length)), i);
  return loaded(b, b.getI32Type(), placeAt((sizes.passes() - 1) % 2, number));
}

Value device::GridSort::digitOf(Value key, unsigned pass) {
  Value shifted = arith::ShRUIOp::create(b, key, word(int64_t(pass) * sizes.digitBits()));
  Value digit = arith::AndIOp::create(b, shifted, word(sizes.digits() - 1));
  return arith::IndexCastUIOp::create(b, b.getIndexType(), digit);
}

/// What the thread has of a chunk: its lane's elements of rows that are its warp's.
SmallVector<device::GridSort::Element> device::GridSort::elements(unsigned pass, Value line,
                                                                  Value chunk, Key key) {
  Value first = f.e.addIndex(f.e.mulIndex(chunk, f.e.index(sizes.chunk())),
                             f.e.mulIndex(warp, f.e.index(int64_t(sizes.own) * GpuArch::warp)));
  first = f.e.addIndex(first, lane);
  Value begin = f.e.mulIndex(line, length), last = f.e.subIndex(length, f.e.index(1));
  SmallVector<Element> all;
  for (unsigned i = 0; i < sizes.own; ++i) {
    Value at = f.e.addIndex(first, f.e.index(int64_t(i) * GpuArch::warp));
    Value inside = f.less(at, length);
    Value safe = f.minIndex(at, last);
    if (pass == 0) {
      Value place = arith::IndexCastUIOp::create(b, b.getI32Type(), safe);
      all.push_back({key(line, safe), place, inside});
    } else if (alone()) {
      all.push_back({keyInBlock(safe), placeInBlock(safe), inside});
    } else {
      unsigned from = (pass - 1) % 2;
      Value number = f.e.addIndex(begin, safe);
      all.push_back({loaded(b, wordType, keyAt(from, number)),
                     loaded(b, b.getI32Type(), placeAt(from, number)), inside});
    }
  }
  return all;
}

/// A part of what counts chunks' elements, which is nothing yet.
void device::GridSort::clear(Value item) {
  int64_t all = sizes.passes() * sizes.lines * sizes.digits() * (sizes.chunks() + 1);
  int64_t items = sizes.lines * sizes.chunks(), threads = GridSortSizes::threads;
  f.loop(f.e.addIndex(f.e.mulIndex(item, f.e.index(threads)), f.thread), f.e.index(all),
         items * threads, [&](Value i) {
           LLVM::StoreOp::create(b, f.i32(0), f.scratchAt(counts, b.getI32Type(), i));
         });
}

static void addTo(ImplicitLocOpBuilder &b, Value place, Value v, StringRef scope) {
  LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, place, v, kRelaxed, scope);
}

/// The digits of a chunk in all passes go to those of its line.
void device::GridSort::count(Value line, Value chunk, Key key) {
  Type i32 = b.getI32Type();
  int64_t all = sizes.passes() * sizes.digits();
  auto forDigits = [&](function_ref<void(Value)> body) {
    f.loop(f.thread, f.e.index(all), GridSortSizes::threads, body);
  };
  forDigits([&](Value i) { LLVM::StoreOp::create(b, f.i32(0), f.at(bases, i32, i)); });
  SmallVector<Element> own = elements(0, line, chunk, key);
  f.barrier();
  for (const Element &element : own)
    f.when(element.inside, [&] {
      for (unsigned pass = 0; pass < sizes.passes(); ++pass) {
        Value digit = f.e.addIndex(digitOf(element.key, pass), f.e.index(pass * sizes.digits()));
        addTo(b, f.at(bases, i32, digit), f.i32(1), "block");
      }
    });
  f.barrier();
  forDigits([&](Value i) {
    Value digits = f.e.index(sizes.digits()), pass = f.e.divIndex(i, digits);
    Value some = loaded(b, i32, f.at(bases, i32, i));
    Value row = f.e.addIndex(f.e.mulIndex(pass, f.e.index(sizes.lines)), line);
    Value place = f.e.addIndex(f.e.mulIndex(row, digits), f.e.remIndex(i, digits));
    f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, some, f.i32(0)),
           [&] { addTo(b, f.scratchAt(totals, i32, place), some, "device"); });
  });
}

/// The sums of what lanes before this one have, and of what all have.
std::pair<Value, Value> device::GridSort::scanned(Value v) {
  Value before = f.i32(0), all = v;
  for (unsigned distance = 1; distance < GpuArch::warp; distance *= 2) {
    Value other = exchangeLanes(b, all, distance);
    Value bit = arith::AndIOp::create(b, lane, f.e.index(distance));
    Value upper = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, f.e.index(0));
    before = arith::AddIOp::create(b, before, arith::SelectOp::create(b, upper, other, f.i32(0)));
    all = arith::AddIOp::create(b, all, other);
  }
  return {before, all};
}

void device::GridSort::tell(Value place, Value state, Value number) {
  Value word = arith::OrIOp::create(b, number, state);
  LLVM::StoreOp::create(b, word, place, /*alignment=*/4, /*isVolatile=*/false,
                        /*isNonTemporal=*/false, /*isInvariantGroup=*/false, kRelaxed, "device");
}

/// How many elements of the thread's digit the chunks before this one have.
Value device::GridSort::lookBack(unsigned pass, Value line, Value chunk, Value digit, Value asks) {
  constexpr unsigned kAhead = 8; // chunks that are asked at once
  Type i32 = b.getI32Type();
  auto is = [&](arith::CmpIPredicate how, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, how, x, y);
  };
  auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(b, x, y); };
  using P = arith::CmpIPredicate;
  Value before = arith::IndexCastUIOp::create(b, i32, chunk);
  Value goes = both(asks, is(P::ne, before, f.i32(0)));
  // The sum, how many chunks are before those that it has, and whether some of them are needed.
  auto more = [&](OpBuilder &, Location, ValueRange state) {
    scf::ConditionOp::create(b, state[2], state);
  };
  auto look = [&](OpBuilder &, Location, ValueRange state) {
    f.e.nested([&] {
      Value sum = state[0], left = state[1], none = f.i32(0);
      SmallVector<Value> said;
      for (unsigned i = 0; i < kAhead; ++i) {
        Value at = arith::SubIOp::create(b, left, f.i32(1 + int64_t(i)));
        at = arith::IndexCastUIOp::create(b, b.getIndexType(), arith::MaxSIOp::create(b, at, none));
        said.push_back(LLVM::LoadOp::create(b, i32, countAt(pass, line, at, digit),
                                            /*alignment=*/4, /*isVolatile=*/false,
                                            /*isNonTemporal=*/false, /*isInvariant=*/false,
                                            /*isInvariantGroup=*/false, kRelaxed, "device"));
      }
      Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true)), reads = yes, needs = yes;
      for (Value word : said) {
        Value kind = arith::ShRUIOp::create(b, word, f.i32(kStateShift));
        Value number = arith::AndIOp::create(b, word, f.i32(kNumber));
        Value counts = both(reads, is(P::ne, kind, none)), last = is(P::eq, kind, f.i32(kAll));
        sum = arith::SelectOp::create(b, counts, arith::AddIOp::create(b, sum, number), sum);
        left = arith::SelectOp::create(b, counts, arith::SubIOp::create(b, left, f.i32(1)), left);
        Value ends = both(counts, last), goesOn = arith::XOrIOp::create(b, ends, yes);
        needs = both(needs, goesOn);
        reads = both(counts, goesOn);
      }
      scf::YieldOp::create(b, ValueRange{sum, left, needs});
    });
  };
  auto loop = scf::WhileOp::create(b, TypeRange{i32, i32, b.getI1Type()},
                                   ValueRange{f.i32(0), before, goes}, more, look);
  f.e.forget();
  return loop.getResult(0);
}

/// The sum of what threads before this one have; all of the block come here.
Value device::GridSort::beforeInBlock(Value v) {
  auto [before, all] = scanned(v);
  Type i32 = b.getI32Type();
  f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(0)),
         [&, all = all] { LLVM::StoreOp::create(b, all, f.at(warpTotals, i32, warp)); });
  f.barrier();
  Value sum = before;
  for (unsigned i = 0; i + 1 < kWarps; ++i) {
    Value total = loaded(b, i32, f.at(warpTotals, i32, f.e.index(i)));
    Value earlier = f.less(f.e.index(i), warp);
    sum = arith::AddIOp::create(b, sum, arith::SelectOp::create(b, earlier, total, f.i32(0)));
  }
  return sum;
}

void device::GridSort::place(unsigned pass, Value line, Value chunk, Key key) {
  Type i32 = b.getI32Type();
  Value digits = f.e.index(sizes.digits());
  auto rankAt = [&](Value warp, Value digit) {
    return f.at(ranks, i32, f.e.addIndex(f.e.mulIndex(warp, digits), digit));
  };
  f.loop(f.thread, f.e.index(sizes.digits() * kWarps), GridSortSizes::threads,
         [&](Value i) { LLVM::StoreOp::create(b, f.i32(0), f.at(ranks, i32, i)); });
  SmallVector<Element> own = elements(pass, line, chunk, key);
  f.barrier();
  auto vote = [&](Value condition) {
    return Value(
        NVVM::VoteSyncOp::create(b, i32, f.i32(-1), condition, NVVM::VoteSyncKind::ballot));
  };
  Value one = f.i32(1),
        laneBit = arith::ShLIOp::create(b, one, arith::IndexCastUIOp::create(b, i32, lane));
  Value earlier = arith::SubIOp::create(b, laneBit, one); // lanes
  auto ones = [&](Value v) { return Value(math::CtPopOp::create(b, v)); };
  SmallVector<std::pair<Value, Value>> placed; // digits, and ranks among the warp's
  for (const Element &element : own) {
    Value digit = digitOf(element.key, pass), peers = vote(element.inside);
    for (unsigned bit = 0; bit < sizes.digitBits(); ++bit) {
      Value masked = arith::AndIOp::create(b, digit, f.e.index(int64_t(1) << bit));
      Value set = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, f.e.index(0));
      Value with = vote(set);
      Value without = arith::XOrIOp::create(b, with, f.i32(-1));
      peers = arith::AndIOp::create(b, peers, arith::SelectOp::create(b, set, with, without));
    }
    Value before = ones(arith::AndIOp::create(b, peers, earlier));
    Value known = loaded(b, i32, rankAt(warp, digit));
    NVVM::SyncWarpOp::create(b, f.i32(-1));
    Value first = arith::AndIOp::create(
        b, element.inside, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, before, f.i32(0)));
    f.when(first, [&] {
      LLVM::StoreOp::create(b, arith::AddIOp::create(b, known, ones(peers)), rankAt(warp, digit));
    });
    NVVM::SyncWarpOp::create(b, f.i32(-1));
    placed.push_back({digit, arith::AddIOp::create(b, known, before)});
  }
  f.barrier();
  // A thread for each digit: what of it earlier warps have, and what lies before all.
  Value counts = f.less(f.thread, digits),
        digit = f.minIndex(f.thread, f.e.index(sizes.digits() - 1));
  // The others read nothing: the last digit's thread writes at once what they would read.
  auto read = [&](OpBuilder &, Location) {
    SmallVector<Value> parts;
    f.e.nested([&] {
      for (unsigned i = 0; i < kWarps; ++i)
        parts.push_back(loaded(b, i32, rankAt(f.e.index(i), digit)));
    });
    scf::YieldOp::create(b, parts);
  };
  auto nothing = [&](OpBuilder &, Location) {
    scf::YieldOp::create(b, SmallVector<Value>(kWarps, f.i32(0)));
  };
  auto parts = scf::IfOp::create(b, counts, read, nothing).getResults();
  Value total = f.i32(0);
  for (auto [i, part] : llvm::enumerate(parts)) {
    f.when(counts,
           [&, i = i] { LLVM::StoreOp::create(b, total, rankAt(f.e.index(int64_t(i)), digit)); });
    total = arith::AddIOp::create(b, total, part);
  }
  if (!alone())
    f.when(counts, [&] {
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chunk, f.e.index(0));
      Value state = arith::SelectOp::create(b, isFirst, f.i32(kAll << kStateShift),
                                            f.i32(kOwn << kStateShift));
      tell(countAt(pass, line, chunk, digit), state, total);
    });
  Value local = beforeInBlock(total);
  f.when(counts, [&] { LLVM::StoreOp::create(b, local, f.at(bases, i32, digit)); });
  f.barrier();
  for (auto [element, at] : llvm::zip(own, placed))
    f.when(element.inside, [&, &element = element, &at = at] {
      Value sum = arith::AddIOp::create(b, loaded(b, i32, f.at(bases, i32, at.first)),
                                        loaded(b, i32, rankAt(warp, at.first)));
      sum = arith::AddIOp::create(b, sum, at.second);
      Value to = arith::IndexCastUIOp::create(b, b.getIndexType(), sum);
      LLVM::StoreOp::create(b, element.key, f.at(keys, wordType, to));
      LLVM::StoreOp::create(b, element.place, f.at(places, i32, to));
    });
  if (!alone()) {
    Value lower =
        arith::SelectOp::create(b, counts, loaded(b, i32, totalAt(pass, line, digit)), f.i32(0));
    Value base = beforeInBlock(lower), earlier = lookBack(pass, line, chunk, digit, counts);
    f.when(counts, [&] {
      Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, chunk, f.e.index(0));
      f.when(isLater, [&] {
        tell(countAt(pass, line, chunk, digit), f.i32(kAll << kStateShift),
             arith::AddIOp::create(b, earlier, total));
      });
      // From places in the chunk to those in the line.
      Value first = arith::SubIOp::create(b, arith::AddIOp::create(b, base, earlier), local);
      LLVM::StoreOp::create(b, first, f.at(bases, i32, digit));
    });
  }
  f.barrier();
  if (alone() && (pass + 1 < sizes.passes() || !f.scratch))
    return;
  Value begin = f.e.mulIndex(line, f.e.index(sizes.length));
  Value before = f.e.mulIndex(chunk, f.e.index(sizes.chunk()));
  for (unsigned i = 0; i < sizes.own; ++i) {
    Value from = f.e.addIndex(f.thread, f.e.index(int64_t(i) * GridSortSizes::threads));
    f.when(f.less(f.e.addIndex(before, from), f.e.index(sizes.length)), [&] {
      Value key = loaded(b, wordType, f.at(keys, wordType, from)), to = from;
      if (!alone()) {
        Value first = loaded(b, i32, f.at(bases, i32, digitOf(key, pass)));
        to = f.e.addIndex(arith::IndexCastOp::create(b, b.getIndexType(), first), from);
      }
      to = f.e.addIndex(begin, to);
      LLVM::StoreOp::create(b, key, keyAt(pass % 2, to));
      LLVM::StoreOp::create(b, loaded(b, i32, f.at(places, i32, from)), placeAt(pass % 2, to));
    });
  }
}

void device::GridSort::runLine(Value line, Value elements, Key key) {
  assert(alone() && "a block has one chunk");
  length = elements;
  for (unsigned pass = 0; pass < sizes.passes(); ++pass)
    place(pass, line, f.e.index(0), key);
}

Value device::GridSort::keyInBlock(Value i) { return loaded(b, wordType, f.at(keys, wordType, i)); }

Value device::GridSort::placeInBlock(Value i) {
  return loaded(b, b.getI32Type(), f.at(places, b.getI32Type(), i));
}

void device::GridSort::run(GridPhases &phases, Key key, function_ref<void(Value)> beside) {
  int64_t items = sizes.lines * sizes.chunks();
  auto split = [&](Value item) {
    return std::pair(f.e.divIndex(item, f.e.index(sizes.chunks())),
                     f.e.remIndex(item, f.e.index(sizes.chunks())));
  };
  if (alone())
    return phases.run(items, [&](Value line) {
      beside(line);
      for (unsigned pass = 0; pass < sizes.passes(); ++pass)
        place(pass, line, f.e.index(0), key);
    });
  phases.run(items, [&](Value item) {
    beside(item);
    clear(item);
  });
  phases.run(items, [&](Value item) {
    auto [line, chunk] = split(item);
    count(line, chunk, key);
  });
  for (unsigned pass = 0; pass < sizes.passes(); ++pass)
    phases.run(items, [&](Value item) {
      auto [line, chunk] = split(item);
      place(pass, line, chunk, key);
    });
}
