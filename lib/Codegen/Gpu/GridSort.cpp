//===- GridSort.cpp - Keys put in order by all blocks of a launch ---------===//
//
// A pass goes over one digit of the keys: chunks count their digits; a warp for each digit sums the
// chunks' counts, in their order; then an element's new place is the number of elements with lower
// digits, of those with its digit in earlier chunks and warps, and of those before it in its own
// warp. The last number comes from votes on the digit's bits. A line that is one chunk needs no
// counts of others, and is sorted in one phase.
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
  return 2 * bufferBytes(*this) + arrayBytes(lines * digits() * (chunks() + 1), 32);
}

device::GridSort::GridSort(KernelFrame &f, GridSortSizes sizes, int64_t offset)
    : sizes(sizes), f(f), b(f.b), offset(offset), buffers(bufferBytes(sizes)),
      counts(offset + 2 * buffers),
      totals(counts + sizes.lines * sizes.digits() * sizes.chunks() * 4),
      wordType(b.getIntegerType(sizes.wordBits())) {
  assert(f.schedule.getThreads() == GridSortSizes::threads && "the sort's blocks have others");
  lane = f.e.remIndex(f.thread, f.e.index(GpuArch::warp));
  warp = f.e.divIndex(f.thread, f.e.index(GpuArch::warp));
  Type i32 = b.getI32Type();
  ranks = f.shared(i32, sizes.digits() * kWarps, "ranks");
  bases = f.shared(i32, sizes.digits(), "bases");
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

/// `row`: a line's digit. Before its counts are summed, of one chunk; then of all before it.
Value device::GridSort::countAt(Value row, Value chunk) {
  Value number = f.e.addIndex(f.e.mulIndex(row, f.e.index(sizes.chunks())), chunk);
  return f.scratchAt(counts, b.getI32Type(), number);
}

Value device::GridSort::totalAt(Value row) { return f.scratchAt(totals, b.getI32Type(), row); }

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
  Value length = f.e.index(sizes.length), begin = f.e.mulIndex(line, length);
  SmallVector<Element> all;
  for (unsigned i = 0; i < sizes.own; ++i) {
    Value at = f.e.addIndex(first, f.e.index(int64_t(i) * GpuArch::warp));
    Value inside = f.less(at, length);
    Value safe = f.minIndex(at, f.e.index(sizes.length - 1));
    if (pass == 0) {
      Value place = arith::IndexCastUIOp::create(b, b.getI32Type(), safe);
      all.push_back({key(line, safe), place, inside});
    } else {
      unsigned from = (pass - 1) % 2;
      Value number = f.e.addIndex(begin, safe);
      all.push_back({loaded(b, wordType, keyAt(from, number)),
                     loaded(b, b.getI32Type(), placeAt(from, number)), inside});
    }
  }
  return all;
}

void device::GridSort::count(unsigned pass, Value line, Value chunk, Key key) {
  Type i32 = b.getI32Type();
  Value digits = f.e.index(sizes.digits());
  Value counts = f.less(f.thread, digits);
  f.when(counts, [&] { LLVM::StoreOp::create(b, f.i32(0), f.at(bases, i32, f.thread)); });
  SmallVector<Element> own = elements(pass, line, chunk, key);
  f.barrier();
  for (const Element &element : own)
    f.when(element.inside, [&] {
      LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add,
                                f.at(bases, i32, digitOf(element.key, pass)), f.i32(1),
                                LLVM::AtomicOrdering::monotonic, StringRef("block"));
    });
  f.barrier();
  f.when(counts, [&] {
    Value row = f.e.addIndex(f.e.mulIndex(line, digits), f.thread);
    LLVM::StoreOp::create(b, loaded(b, i32, f.at(bases, i32, f.thread)), countAt(row, chunk));
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

/// The counts of eight digits' chunks, a warp each, become those of the chunks before.
void device::GridSort::sumCounts(Value item) {
  constexpr int64_t kInFlight = 4;
  Type i32 = b.getI32Type();
  Value row = f.e.addIndex(f.e.mulIndex(item, f.e.index(kWarps)), warp);
  Value chunks = f.e.index(sizes.chunks());
  f.when(f.less(row, f.e.index(sizes.lines * sizes.digits())), [&] {
    auto loop = scf::ForOp::create(b, f.e.index(0), chunks, f.e.index(kInFlight * GpuArch::warp),
                                   ValueRange{f.i32(0)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value sum = loop.getRegionIterArg(0);
      f.e.nested([&] {
        SmallVector<std::pair<Value, Value>> parts; // places and counts
        for (int64_t i = 0; i < kInFlight; ++i) {
          Value at = f.e.addIndex(f.e.addIndex(loop.getInductionVar(), lane),
                                  f.e.index(i * GpuArch::warp));
          Value safe = f.minIndex(at, f.e.index(sizes.chunks() - 1));
          Value part = loaded(b, i32, countAt(row, safe));
          parts.push_back({at, arith::SelectOp::create(b, f.less(at, chunks), part, f.i32(0))});
        }
        for (auto &[at, part] : parts) {
          auto [before, all] = scanned(part);
          f.when(f.less(at, chunks), [&, at = at, before = before] {
            LLVM::StoreOp::create(b, arith::AddIOp::create(b, sum, before), countAt(row, at));
          });
          sum = arith::AddIOp::create(b, sum, all);
        }
      });
      scf::YieldOp::create(b, sum);
    }
    f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, f.e.index(0)),
           [&] { LLVM::StoreOp::create(b, loop.getResult(0), totalAt(row)); });
  });
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
  Value total = f.i32(0), row = f.e.addIndex(f.e.mulIndex(line, digits), digit);
  for (auto [i, part] : llvm::enumerate(parts)) {
    f.when(counts,
           [&, i = i] { LLVM::StoreOp::create(b, total, rankAt(f.e.index(int64_t(i)), digit)); });
    total = arith::AddIOp::create(b, total, part);
  }
  bool alone = sizes.chunks() == 1;
  if (!alone)
    total = loaded(b, i32, totalAt(row));
  Value base = beforeInBlock(arith::SelectOp::create(b, counts, total, f.i32(0)));
  f.when(counts, [&] {
    Value sum =
        alone ? base : Value(arith::AddIOp::create(b, base, loaded(b, i32, countAt(row, chunk))));
    LLVM::StoreOp::create(b, sum, f.at(bases, i32, digit));
  });
  f.barrier();
  Value begin = f.e.mulIndex(line, f.e.index(sizes.length));
  for (auto [element, at] : llvm::zip(own, placed))
    f.when(element.inside, [&, &element = element, &at = at] {
      Value sum = arith::AddIOp::create(b, loaded(b, i32, f.at(bases, i32, at.first)),
                                        loaded(b, i32, rankAt(warp, at.first)));
      sum = arith::AddIOp::create(b, sum, at.second);
      Value to = f.e.addIndex(begin, arith::IndexCastUIOp::create(b, b.getIndexType(), sum));
      LLVM::StoreOp::create(b, element.key, keyAt(pass % 2, to));
      LLVM::StoreOp::create(b, element.place, placeAt(pass % 2, to));
    });
}

void device::GridSort::run(GridPhases &phases, Key key, function_ref<void(Value)> beside) {
  int64_t items = sizes.lines * sizes.chunks();
  auto split = [&](Value item) {
    return std::pair(f.e.divIndex(item, f.e.index(sizes.chunks())),
                     f.e.remIndex(item, f.e.index(sizes.chunks())));
  };
  if (sizes.chunks() == 1)
    return phases.run(items, [&](Value line) {
      beside(line);
      for (unsigned pass = 0; pass < sizes.passes(); ++pass) {
        if (pass)
          f.barrier();
        place(pass, line, f.e.index(0), key);
      }
    });
  for (unsigned pass = 0; pass < sizes.passes(); ++pass) {
    phases.run(items, [&](Value item) {
      if (pass == 0)
        beside(item);
      auto [line, chunk] = split(item);
      count(pass, line, chunk, key);
    });
    phases.run(int64_t(llvm::divideCeil(sizes.lines * sizes.digits(), kWarps)),
               [&](Value item) { sumCounts(item); });
    phases.run(items, [&](Value item) {
      auto [line, chunk] = split(item);
      place(pass, line, chunk, key);
    });
  }
}
