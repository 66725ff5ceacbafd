//===- RowSchedule.cpp - How rows are cut into blocks ---------------------===//
//
// A warp has a row, and a block has one that is longer; rows of a few vectors share a warp where
// there are enough of them, and few very long ones are shared by blocks. Short ones of which
// nothing lies in memory are a thread's each.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "../ScheduleChoice.h"
#include "tcc/Codegen/Common/RowStages.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Few rows, each reduced in one pass to one value: blocks share a row until the machine is
/// full, as long as each has work to do.
static void splitRow(ScheduleChoice &s, kernel::LaunchOp launch, int64_t vectors,
                     const GpuArch &arch) {
  constexpr int64_t kBlocks = 4; // of a multiprocessor, of kThreads
  constexpr unsigned kThreads = 512;
  auto space = tensorType(rowSpace(launch));
  int64_t rowAxes = *launch.getRows(), rows = volumeOf(space.getShape().take_front(rowAxes));
  bool values = llvm::all_of(launch.getResultTypes(), [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getRank() != space.getRank() || rowAxes == space.getRank();
  });
  std::vector<RowStage> stages = rowStages(launch);
  if (rows < 1 || rows >= arch.multiprocessors || !values || stages.size() != 1)
    return;
  int64_t wanted = llvm::divideCeil(kBlocks * arch.multiprocessors, rows);
  int64_t most = vectors < 0 ? wanted : vectors / (int64_t(kThreads) * s.vectors);
  int64_t split = std::min(wanted, most);
  if (split < 2)
    return;
  s.split = split;
  s.threads = s.rowThreads = kThreads;
  s.scratchBytes = kCounterBytes + stages[0].size() * rows * split * 8;
}

static bool gathers(kernel::LaunchOp launch) {
  return llvm::any_of(launch.getBody().front(), [](Operation &op) {
    return isa<prim::TakeOp, prim::TakeAlongOp, prim::GatherNdOp>(op);
  });
}

/// Threads of a warp for a row of `vectors`: as many as leave the fewest idle, if the `rows` fill
/// the machine with them, and whole warps; of as many idle, rather few than more blocks than start
/// in the time.
static unsigned threadsOfRow(int64_t vectors, int64_t rows, const GpuArch &arch) {
  constexpr int64_t kRounds = 4, kRoundsOfMany = 8; // vectors of a thread
  constexpr int64_t kBusy = 1024;                   // threads of a multiprocessor
  constexpr int64_t kMany = 16384;                  // the same, of a launch
  int64_t best = GpuArch::warp;
  auto places = [&](int64_t threads) { return int64_t(llvm::alignTo(vectors, threads)); };
  for (int64_t threads = GpuArch::warp / 2; threads > 0; threads /= 2) {
    bool many = rows * best > arch.multiprocessors * kMany;
    bool fits = rows > 0 && rows * threads >= arch.multiprocessors * kBusy &&
                vectors <= (many ? kRoundsOfMany : kRounds) * threads;
    if (!fits)
      break;
    if (places(threads) < places(best) || (many && places(threads) == places(best)))
      best = threads;
  }
  return unsigned(best);
}

/// Lanes of a long row that they do not divide, whose vectors are those of memory: where all of it
/// is points of such rows, or numbers for rows. 1: there is none.
static unsigned lanesOfMemory(kernel::LaunchOp launch, RankedTensorType space) {
  constexpr int64_t kLong = 4096; // elements of a row
  ArrayRef<int64_t> shape = space.getShape();
  if (!space.hasStaticShape() || shape.back() < kLong ||
      int64_t(*launch.getRows()) + 1 != space.getRank())
    return 1;
  auto fits = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.getShape() == shape ||
           (tensor.hasStaticShape() && tensor.getNumElements() <= volumeOf(shape.drop_back()));
  };
  bool plain =
      llvm::all_of(launch.getInputs().getTypes(), fits) &&
      llvm::all_of(launch.getResultTypes(), fits) &&
      llvm::all_of(launch.getBody().front(), [](Operation &op) {
        return prim::isElementwise(&op) || op.hasTrait<OpTrait::IsTerminator>() ||
               isa<prim::ReduceOp, prim::BroadcastOp, prim::ReshapeOp, prim::ConstantOp>(op);
      });
  SmallVector<int64_t> whole(shape);
  whole.back() = llvm::alignTo(whole.back(), GpuArch::accessBytes);
  return plain ? lanesFor(launch, RankedTensorType::get(whole, space.getElementType())) : 1;
}

/// What an open extent of images and lengths is taken for.
constexpr int64_t kOpenExtent = 1024;

/// Whether so few rows lie beside each other that the threads of a warp rather share one.
static bool liesAlone(RankedTensorType space, unsigned lineAxes) {
  constexpr int64_t kSector = 32; // bytes that are read at once
  int64_t rows = volumeOf(space.getShape().take_back(lineAxes));
  return rows >= 0 && rows * elementBytes(space.getElementType()) < kSector;
}

/// Rows along axes before others: a thread has one, beside its neighbours', or so many as make a
/// vector; few that lie beside each other have threads that share one, as any row.
static void scheduleLines(ScheduleChoice &s, kernel::LaunchOp launch, RankedTensorType space,
                          unsigned lineAxes, const GpuArch &arch) {
  constexpr int64_t kKept = 64, kBusy = 512; // elements of a thread; threads of a multiprocessor
  constexpr unsigned kInFlight = 4, kThreads = 128;
  unsigned rowAxes = *launch.getRows();
  int64_t length = volumeOf(space.getShape().slice(rowAxes, space.getRank() - rowAxes - lineAxes)),
          rows = int64_t(typicalElements(space.getShape(), kOpenExtent)) / length;
  s.threads = kThreads;
  if (liesAlone(space, lineAxes)) {
    s.rowThreads = threadsOfRow(length, rows, arch);
  } else {
    s.rowThreads = 1;
    s.lanes = lanesFor(launch, space);
    while (s.lanes > 1 &&
           (length * s.lanes > kKept || rows / s.lanes < kBusy * arch.multiprocessors))
      s.lanes /= 2;
  }
  while (s.threads > GpuArch::warp &&
         llvm::divideCeil(rows / s.lanes * s.rowThreads, int64_t(s.threads)) < arch.multiprocessors)
    s.threads /= 2;
  int64_t rounds = llvm::divideCeil(length, s.rowThreads);
  if (rounds * s.lanes <= kKept)
    s.kept = unsigned(rounds * s.lanes);
  else
    s.vectors = kInFlight;
}

bool device::reducesBeforeLines(prim::ReduceOp op, const GpuArch &arch) {
  constexpr int64_t kShort = 64, kLong = 256; // elements of a row
  constexpr int64_t kLongAlone = 2048;        // the same, of one that threads share
  constexpr int64_t kFew = 16, kMany = 256;   // rows of a multiprocessor
  auto x = tensorType(op.getX());
  ArrayRef<int64_t> axes = op.getAxes();
  unsigned lineAxes = unsigned(x.getRank() - axes.back() - 1);
  bool together = axes.back() - axes.front() + 1 == int64_t(axes.size());
  if (!together || lineAxes == 0)
    return false;
  int64_t length = volumeOf(x.getShape().slice(axes.front(), axes.size())),
          all = int64_t(typicalElements(x.getShape(), kOpenExtent));
  if (length <= 0 || all == 0)
    return false;
  int64_t rows = all / length;
  // A thread has no room for more f64.
  if (x.getElementType().isF64() && length > kShort / 2)
    return false;
  if (liesAlone(x, lineAxes))
    return length <= kLongAlone && rows >= arch.multiprocessors;
  return length <= kShort ? rows >= kFew * arch.multiprocessors
                          : length <= kLong && rows >= kMany * arch.multiprocessors;
}

/// Whether a row's points are made of numbers for rows and of others that all rows share: nothing
/// of them lies side by side in memory, for the threads of a warp to read together.
static bool sharesElements(kernel::LaunchOp launch, RankedTensorType space) {
  ArrayRef<int64_t> shape = space.getShape();
  unsigned rowAxes = *launch.getRows();
  auto isSpace = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getShape() == shape;
  };
  if (llvm::any_of(launch.getInputs().getTypes(), isSpace) ||
      llvm::any_of(launch.getResultTypes(), isSpace))
    return false;
  return llvm::all_of(launch.getBody().front().without_terminator(), [&](Operation &op) {
    auto broadcast = dyn_cast<prim::BroadcastOp>(op);
    if (!broadcast || !isSpace(broadcast.getResult().getType()))
      return prim::isElementwise(&op) || isa<prim::ConstantOp, prim::ReduceOp>(op) ||
             (isa<prim::BroadcastOp, prim::ReshapeOp>(op) && !isSpace(op.getResult(0).getType()));
    bool ofRow = false, within = false;
    for (auto [extent, axis] :
         llvm::zip(tensorType(broadcast.getX()).getShape(), broadcast.getAxes()))
      if (extent != 1)
        (axis < int64_t(rowAxes) ? ofRow : within) = true;
    return !(ofRow && within);
  });
}

void device::scheduleRow(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  // Elements of a thread that fit its registers, and passes over them worth writing out.
  constexpr int64_t kKept = 64, kRounds = 16;
  constexpr int64_t kInWarp = 8, kInBlock = 4; // vectors of a thread, at least
  constexpr int64_t kElements = 16, kMany = 8; // the same, of many rows for a multiprocessor
  constexpr unsigned kInFlight = 4;
  constexpr int64_t kWord = 4; // bytes of a register
  auto space = tensorType(rowSpace(launch));
  if (unsigned lineAxes = lineAxesOf(launch))
    return scheduleLines(s, launch, space, lineAxes, arch);
  int64_t length = volumeOf(space.getShape().drop_front(*launch.getRows()));
  if (length <= 0) { // open, or a loop of no turns
    s.rowThreads = s.threads;
    s.vectors = kInFlight;
    if (length < 0)
      splitRow(s, launch, -1, arch);
    constexpr unsigned kKeptOfOpen = 8; // elements of a thread
    if (length < 0 && s.split == 1) {
      // Few rows are long, if any are: statistics of the groups of an image.
      int64_t rows = volumeOf(space.getShape().take_front(*launch.getRows()));
      bool few = rows > 0 && rows <= arch.multiprocessors;
      if (few)
        s.threads = s.rowThreads = GpuArch::threads;
      s.rows = few ? 1 : s.threads / GpuArch::warp;
      // What is read once need not be kept.
      bool once =
          rowStages(launch).size() == 1 && llvm::none_of(launch.getResultTypes(), [&](Type type) {
            return cast<RankedTensorType>(type).getRank() == space.getRank();
          });
      s.kept = once ? 0 : kKeptOfOpen;
    }
    return;
  }
  s.lanes = lanesFor(launch, space);
  // Rows of 32 bits whose elements fit one by one are read so: vectors across their ends take more
  // registers than they save accesses. 4096 x 9001 takes 77 us on an H200 so, and 127.
  unsigned across = lanesOfMemory(launch, space);
  int64_t bytes = GpuArch::accessBytes / across; // of an element, in memory
  bool unaligned =
      across > s.lanes && (bytes < kWord || length > kRounds * int64_t(GpuArch::threads));
  if (unaligned)
    s.lanes = across;
  int64_t vectors = std::max<int64_t>(1, length / s.lanes);
  int64_t rows = volumeOf(space.getShape().take_front(*launch.getRows()));
  s.rowThreads = threadsOfRow(vectors, rows, arch);
  constexpr int64_t kShort = 64, kBusy = 1024; // elements of a row; rows of a multiprocessor
  if (length <= kShort && rows >= kBusy * arch.multiprocessors && sharesElements(launch, space)) {
    s.rowThreads = 1;
    s.kept = unsigned(length);
    return;
  }
  int64_t own = rows >= kMany * arch.multiprocessors ? kElements / s.lanes : 0;
  if (vectors > std::max(kInWarp, own) * GpuArch::warp) {
    // A block a row: a few vectors a thread.
    s.threads = 128;
    while (s.threads < GpuArch::threads && vectors > std::max(kInBlock, own) * int64_t(s.threads))
      s.threads *= 2;
    s.rowThreads = s.threads;
  }
  // Few rows are spread over the machine, a warp a block at least.
  while (rows > 0 && s.threads > std::max(GpuArch::warp, s.rowThreads) &&
         llvm::divideCeil(rows * s.rowThreads, int64_t(s.threads)) < arch.multiprocessors)
    s.threads /= 2;
  int64_t rounds = llvm::divideCeil(vectors, s.rowThreads);
  bool keeps = rounds <= kRounds && rounds * s.lanes <= kKept;
  // The same of 32 bits, beside what is before a row's first vector and behind its last: 128 x
  // 50257 takes 21 us without keeping, and 30.
  constexpr int64_t kBesideEnds = 40;
  if (unaligned && bytes >= kWord)
    keeps &= rounds * s.lanes * bytes <= kBesideEnds * kWord;
  // What is gathered is waited for, element by element: few rows have more threads for it.
  constexpr int64_t kGathered = 16; // elements of a thread
  if (keeps && rounds * s.lanes > kGathered && gathers(launch)) {
    splitRow(s, launch, vectors, arch);
    if (s.split > 1)
      return;
  }
  if (keeps) {
    s.kept = rounds * s.lanes;
    return;
  }
  s.vectors = kInFlight;
  splitRow(s, launch, vectors, arch);
}
