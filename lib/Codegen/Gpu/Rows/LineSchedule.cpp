//===- LineSchedule.cpp - Who walks along lines ---------------------------===//
//
// A thread has a line where there are lines for all threads, whose neighbours lie together. Along
// an innermost axis, and where lines are few, the threads of a warp or a block share one. A block
// sorts one that fits its shared memory, digit by digit; a short one, and the first few of a long
// one, by exchanges. Longer ones are sorted by all blocks.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "../ScheduleChoice.h"
#include "tcc/Codegen/Common/LineKernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

bool device::linesAcross(RankedTensorType x, unsigned axis) {
  return volumeOf(x.getShape().drop_front(axis + 1)) >= GpuArch::warp;
}

/// Blocks share the lines whose first few are wanted where those alone leave multiprocessors idle.
/// What all keep of a line fits the room of one.
static bool shareFirst(ScheduleChoice &s, prim::TopKOp op, int64_t lines, const GpuArch &arch) {
  constexpr int64_t kMostParts = 32, kThreads = 512;
  constexpr int64_t kLeast = 1024, kLeastOfKept = 16; // elements of a part
  auto x = tensorType(op.getX());
  int64_t length = x.getDimSize(op.getAxis()),
          kept = tensorType(op.getValues()).getDimSize(op.getAxis());
  if (lines <= 0)
    return false;
  int64_t parts =
      std::min({kMostParts, arch.multiprocessors / lines,
                length / std::max(kLeast, kLeastOfKept * kept), int64_t(s.kept) / kept});
  if (parts < 2)
    return false;
  s.threads = s.rowThreads = kThreads;
  s.split = unsigned(lines * parts);
  s.sharedBytes = OrderedRoom::of(s.kept, x.getElementType()).bytes;
  // Each in so many bytes: an element as it is computed with, and its place.
  s.scratchBytes =
      unsigned(kCounterBytes + s.split * kept * int64_t(sizeof(int64_t) + sizeof(int32_t)) +
               int64_t(sizeof(int32_t)));
  return true;
}

/// A block sorts a line, in shared memory where it has room. Of the first few of a longer line, as
/// many again have room there before all are ordered.
static void scheduleOrder(ScheduleChoice &s, Operation *op, RankedTensorType x, unsigned axis,
                          int64_t lines, const GpuArch &arch) {
  constexpr int64_t kLongSort = 4096, kLongFirst = 65536, kFewLines = 8;
  int64_t length = x.getDimSize(axis);
  bool isLong = isa<prim::SortOp>(op) ? length > kLongSort
                                      : length > kLongFirst && lines >= 0 && lines <= kFewLines;
  if (!ShapedType::isDynamic(length) && isLong && scheduleGridOrder(s, x, axis, arch))
    return;
  constexpr int64_t kShort = 8, kWarp = 32; // elements of a line
  // Threads of a multiprocessor with a line each: of what a warp could have, and of twice that. Who
  // looks for the first few walks along a line once.
  int64_t busyShort = isa<prim::SortOp>(op) ? 256 : 64, busy = 1024;
  constexpr int64_t kMost = 16384, kFewest = 2048, kBeside = 8; // elements in shared memory
  constexpr int64_t kOthers = 2048;                             // bytes of it
  bool known = !ShapedType::isDynamic(length);
  if (scheduleBlockOrder(s, x, axis, isa<prim::SortOp>(op)))
    return;
  bool many = lines >= arch.multiprocessors * (length <= kWarp ? busyShort : busy);
  if (known && (length < kShort || (length <= 2 * kWarp && many)))
    return;
  Type e = x.getElementType();
  auto fits = [&](int64_t slots) {
    return slots <= kMost && OrderedRoom::of(slots, e).bytes + kOthers <= arch.sharedBytes;
  };
  int64_t slots = known && fits(length) ? length : 0;
  if (auto first = dyn_cast<prim::TopKOp>(op)) {
    int64_t kept = tensorType(first.getValues()).getDimSize(first.getAxis());
    if (!known || ShapedType::isDynamic(kept) || kept == 0)
      return;
    int64_t room = std::max(kFewest, int64_t(llvm::PowerOf2Ceil(kBeside * kept)));
    while (!fits(room))
      room /= 2;
    if (room < length && 4 * kept <= room)
      slots = room;
    if (!slots)
      return;
  }
  s.kept = unsigned(slots);
  if (slots && slots < length && shareFirst(s, cast<prim::TopKOp>(op), lines, arch))
    return;
  s.sharedBytes = slots ? OrderedRoom::of(slots, e).bytes : 0;
  s.rowThreads = GpuArch::threads;
  if (slots)
    s.rowThreads = unsigned(std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(slots) / 2),
                                                GpuArch::warp, GpuArch::threads));
  s.threads = s.rowThreads;
}

/// Blocks share lines that lie across, a warp of neighbours each of `groups`, where those alone
/// leave multiprocessors idle and each block has rounds of accesses worth meeting the others for.
static void splitAcross(ScheduleChoice &s, int64_t length, int64_t groups, const GpuArch &arch) {
  constexpr int64_t kBlocks = 2, kRounds = 4; // kBlocks: of a multiprocessor
  constexpr int64_t kInFlight = 4;            // accesses of a round
  int64_t rounds = llvm::divideCeil(length, kInFlight * s.rowThreads);
  int64_t parts = std::min(kBlocks * arch.multiprocessors / groups, rounds / kRounds);
  if (parts < 2)
    return;
  s.split = unsigned(groups * parts);
  s.scratchBytes = unsigned(kCounterBytes + s.split * GpuArch::warp * 2 * int64_t(sizeof(int64_t)));
}

void device::scheduleLine(ScheduleChoice &s, kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr int64_t kBusy = 256, kFull = 1024; // threads of a multiprocessor
  constexpr int64_t kNear = 256; // bytes of a line of which neighbouring threads read neighbours
  constexpr int64_t kShort = 16; // elements that a thread had better walk along alone
  constexpr int64_t kLong = 32768, kFewLines = 2; // of two multiprocessors
  constexpr int64_t kPart = 4;                    // accesses of a thread to a part of a line
  constexpr int64_t kOwn = 8;        // accesses of a thread to a line that a block shares
  constexpr unsigned kUnknown = 128; // threads of a line of any length
  constexpr unsigned kMost = 512;    // of a block: more have too few registers for a scan
  s.form = Form::Line;
  s.threads = 128;
  Operation *op = specialOf(launch);
  auto [value, axis] = *lineAxis(op);
  auto x = tensorType(value);
  int64_t length = x.getDimSize(axis), inner = volumeOf(x.getShape().drop_front(axis + 1)),
          lines = volumeOf(x.getShape().take_front(axis));
  lines = lines < 0 || inner < 0 ? -1 : lines * inner;
  auto scan = dyn_cast<prim::CumulativeOp>(op);
  bool known = !ShapedType::isDynamic(length);
  if (!x.getElementType().isIntOrFloat())
    return;
  if (isa<prim::SortOp, prim::TopKOp>(op))
    return scheduleOrder(s, op, x, axis, lines, arch);
  if (inner < 0 || (known && length < kShort))
    return;
  bool across = linesAcross(x, axis);
  bool near = across || inner > 1;
  bool small = known && length * elementBytes(x.getElementType()) <= kNear;
  if ((near && lines >= arch.multiprocessors * kBusy) ||
      (small && lines >= arch.multiprocessors * kFull))
    return;
  bool whole = inner == 1 && !(scan && scan.getReverse());
  s.lanes = whole ? lanesFor(launch, x) : 1;
  if (scan && s.lanes == 1)
    s.vectors = 4;
  int64_t accesses = known ? llvm::divideCeil(length, s.lanes * s.vectors) : -1;
  if (across) {
    // A warp's lanes have a line each, and its warps share them.
    s.rowThreads = 4;
    while (s.rowThreads * GpuArch::warp < kMost && accesses > kOwn * s.rowThreads)
      s.rowThreads *= 2;
    s.threads = s.rowThreads * GpuArch::warp;
    if (!scan && known && lines > 0)
      splitAcross(s, length, llvm::divideCeil(lines, int64_t(GpuArch::warp)), arch);
    return;
  }
  // Places of extrema in few lines, which may be long: a block has nothing else to do.
  bool alone = !known && !scan && lines > 0 && lines <= int64_t(arch.multiprocessors);
  s.rowThreads = known ? GpuArch::warp : alone ? kMost : kUnknown;
  while (s.rowThreads < (scan ? kMost : GpuArch::threads) &&
         accesses > kOwn * int64_t(s.rowThreads))
    s.rowThreads *= 2;
  s.threads = std::max(s.threads, s.rowThreads);
  constexpr unsigned kBlocks = 2; // of a multiprocessor
  bool few = lines > 0 && lines * kFewLines <= arch.multiprocessors;
  bool isLong = known && length >= kLong && few;
  if (scan && (isLong || (few && !known))) {
    if (!known) // it may be long
      s.threads = s.rowThreads = kMost;
    s.split = unsigned(arch.multiprocessors) * kBlocks;
    s.scratchBytes = unsigned(kCounterBytes + lines * s.rowThreads * int64_t(sizeof(int64_t)));
    return;
  }
  if (isLong) {
    constexpr int64_t kThreads = 256;
    s.threads = s.rowThreads = kThreads;
    int64_t parts = std::min({kThreads, kBlocks * int64_t(arch.multiprocessors) / lines,
                              length / (kThreads * s.lanes * kPart)});
    s.split = unsigned(lines * parts);
    s.scratchBytes = unsigned(kCounterBytes + s.split * 2 * int64_t(sizeof(int64_t)));
    return;
  }
  // Few lines are spread over the machine.
  while (lines > 0 && s.threads > s.rowThreads &&
         llvm::divideCeil(lines * s.rowThreads, int64_t(s.threads)) < arch.multiprocessors)
    s.threads /= 2;
}
