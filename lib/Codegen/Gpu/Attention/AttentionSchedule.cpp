//===- AttentionSchedule.cpp - How attention is cut into blocks -----------===//
//
// The templates for matrix units where the operands fit, that first which is estimated to take
// less, then the general form. Many queries are best in large tiles, which read keys and values
// less often. Few queries are cut small, and their keys shared by warps and blocks, until the
// machine is full: a short kernel waits for memory once, and a long cache is read as fast as memory
// gives it.
//
//===----------------------------------------------------------------------===//
#include "../ScheduleChoice.h"
#include "AttentionTile.h"
#include "BoxedAttention.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Registers of a thread, as far as they are known before ptxas: sums of both products, and
/// queries that stay.
static unsigned registersOf(const AttentionTile &t, const MatrixAttention &a) {
  constexpr unsigned kOther = 48, kKept = 128;
  unsigned down = t.warpRows / 16;
  unsigned queries = a.depthFilled() * down <= kKept ? down * a.depthFilled() / 4 : 8 * down;
  return down * (a.widthFilled() + t.warpKeys) / 2 + queries + kOther;
}

/// Lengths of texts, where they are not known: queries are their own keys.
constexpr int64_t kText = 512;

/// How many heads there are, with what is taken for open batches.
static int64_t typicalBatches(const AttentionForm &form) {
  constexpr int64_t kFew = 8;
  prim::DotOp scores = form.scores;
  int64_t batches = 1;
  for (int64_t axis : scores.getLhsBatch()) {
    int64_t extent = tensorType(scores.getLhs()).getDimSize(axis);
    batches *= ShapedType::isDynamic(extent) ? kFew : extent;
  }
  return batches;
}

/// `batches`: of what may be open.
static double mmaCost(const AttentionTile &t, unsigned stages, int64_t split,
                      const MatrixAttention &a, int64_t batches, const GpuArch &arch) {
  // As an H200 takes them, without a mask.
  constexpr double kProducts = 800, kShared = 128, kL2 = 40; // a cycle: of 16 bits, bytes, bytes
  constexpr double kScores = 8;   // a cycle, from the product to the weight
  constexpr double kProduct = 8;  // cycles of a warp alone for an mma.sync
  constexpr double kWeights = 90; // the same for 16 x 8 scores
  constexpr double kStep = 600, kMemory = 1000, kPipeline = 6500, kMeeting = 4000; // latencies
  constexpr double kParts = 700, kPartsTogether = 8; // a wait for what so many blocks found
  // Keys of a few queries, where they are not known. Of 8 heads of 300 queries, open, tiles of
  // 16 x 256 took 9.8 us, and of 32 x 128 5.8.
  constexpr int64_t kTypical = 1024;
  int64_t rows = a.rows < 0 ? kText : a.rows;
  int64_t keys = a.keys >= 0 ? a.keys : a.rows < 0 ? kText : kTypical;
  int64_t tiles = batches * int64_t(llvm::divideCeil(rows, t.rows));
  double both = a.depthFilled() + a.widthFilled(), warps = t.threads() / 32.0;
  double step = std::max({double(t.rows) * t.keys * (both / kProducts + 1 / kScores),
                          warps * t.warpKeys * both * 2 / kShared, t.stageBytes(a) / kL2});
  double alone = kStep + t.warpRows / 16.0 * (t.warpKeys / 8.0) * (both / 16 * kProduct + kWeights);
  int64_t resident = std::min(arch.sharedBytes / t.sharedBytes(a, stages),
                              int64_t(GpuArch::registers / (t.threads() * registersOf(t, a))));
  int64_t each = llvm::divideCeil(tiles * split, arch.multiprocessors);
  int64_t together = std::clamp<int64_t>(each, 1, std::max<int64_t>(1, resident));
  auto steps = double(llvm::divideCeil(llvm::divideCeil(keys, t.keys), split));
  double cost =
      double(llvm::divideCeil(each, together)) *
      (steps * std::max({alone, kMemory / (stages - 1), double(together) * step}) + kPipeline);
  if (split > 1)
    cost += kMeeting + std::ceil(double(split) / kPartsTogether) * kParts;
  return cost;
}

/// With what is taken for extents that only a run knows.
static BoxedAttention typical(BoxedAttention attention) {
  attention.batches = typicalBatches(attention.form);
  for (int64_t *length : {&attention.rows, &attention.keyCount})
    if (*length < 0)
      *length = kText;
  return attention;
}

/// A schedule for such tiles, and what it should take; none where registers or shared memory do not
/// hold them.
static std::optional<RankedChoice> wgmmaChoice(ScheduleChoice s, const BoxedAttention &attention,
                                               const BoxedAttentionTile &tile,
                                               const GpuArch &arch) {
  constexpr unsigned kHeld = 192; // values of a thread, which has 240 registers
  // As an H200 takes them: until a block multiplies, what each tile adds, and a key of 128 queries,
  // in one tile or in two beside each other; of 64 alone.
  constexpr double kStart = 5600, kTile = 500, kKey = 24, kWideKey = 0.12, kKeyAlone = 14.3,
                   kWideKeyAlone = 0.09;
  constexpr unsigned kOfSystem = 1024; // bytes of each block
  if (tile.held(attention) > kHeld || tile.sharedBytes() > arch.sharedBytes)
    return std::nullopt;
  unsigned inShared = (arch.sharedBytes + kOfSystem) / (tile.sharedBytes() + kOfSystem);
  unsigned resident = std::min(tile.resident(attention), inShared);
  s.form = Form::WgmmaAttention;
  s.rows = tile.rows;
  s.columns = tile.keys;
  s.vectors = tile.queryStages;
  s.mostBlocks = arch.multiprocessors * resident;
  s.threads = tile.threads();
  s.sharedBytes = tile.sharedBytes();
  int64_t heads = attention.batches * attention.otherRows;
  int64_t tiles = heads * int64_t(llvm::divideCeil(attention.rows, int64_t(s.rows)));
  auto both = double(attention.depth + attention.width);
  double key = std::max(kKey, both * kWideKey), alone = std::max(kKeyAlone, both * kWideKeyAlone);
  auto keys = double(llvm::alignTo(attention.keyCount, s.columns));
  int64_t each = llvm::divideCeil(tiles, arch.multiprocessors);
  if (tile.rows > BoxedAttentionTile::groupRows)
    return RankedChoice{s, kStart + double(each) * (keys * key + kTile)};
  int64_t pairs = resident > 1 ? each / 2 : 0, singles = each - 2 * pairs;
  return RankedChoice{s, kStart + double(pairs) * (keys * key + kTile) +
                             double(singles) * (keys * alone + kTile)};
}

/// All queries of a head in one tile, whose parts three warp groups take in turns: keys and values
/// come once, and one group has its scores while others have exponentials. None where two groups
/// with tiles of their own should take less.
static std::optional<RankedChoice> scheduleTurns(const ScheduleChoice &s,
                                                 const BoxedAttention &attention, int64_t keys,
                                                 const GpuArch &arch) {
  // As an H200 takes them, in units of a tile of 128 queries; scores of so many keys fit registers.
  constexpr double kTile = 1.57;
  constexpr unsigned kGroups = 3, kParts = 4, kStages = 2;
  constexpr int64_t kMostKeys = 208;
  BoxedAttentionTile tile(attention, kParts * BoxedAttentionTile::groupRows, unsigned(keys),
                          kStages, kGroups);
  int64_t heads = attention.batches * attention.otherRows;
  auto roundsOf = [&](int64_t tiles) {
    return double(llvm::divideCeil(tiles, arch.multiprocessors));
  };
  bool fits = llvm::divideCeil(attention.rows, BoxedAttentionTile::groupRows) == kParts &&
              keys <= kMostKeys &&
              tile.held(attention) + BoxedAttentionTile::otherRegisters <= tile.registers(1);
  if (!fits || kTile * roundsOf(heads) > roundsOf(2 * heads))
    return std::nullopt;
  return wgmmaChoice(s, attention, tile, arch);
}

/// In tiles of so many warp groups, and as many keys at a time as registers and shared memory hold.
static std::optional<RankedChoice> scheduleOpen(const ScheduleChoice &s,
                                                const BoxedAttention &attention, unsigned groups,
                                                unsigned mostKeys, const GpuArch &arch) {
  constexpr unsigned kStep = 16;
  std::optional<RankedChoice> found;
  for (unsigned keys = mostKeys; keys >= kStep && !found; keys -= kStep) {
    BoxedAttentionTile tile(attention, groups * BoxedAttentionTile::groupRows, keys,
                            /*queryStages=*/1, groups);
    found = wgmmaChoice(s, attention, tile, arch);
  }
  return found;
}

/// Of few queries, or what is evaluated for each score: small tiles, several beside each other.
static std::optional<RankedChoice>
scheduleFewOpen(const ScheduleChoice &s, const BoxedAttention &attention, const GpuArch &arch) {
  constexpr unsigned kKeys = 64;
  return scheduleOpen(s, attention, 1, kKeys, arch);
}

/// Of many. Open, 8 heads of 64 with 8192 queries and keys took 290 us in 64 x 128, 363 in 64 x 64
/// and 306 in 128 x 128, 16 of 128 1159, 961 and 851; 16 heads of 64 with 300 4.8, 4.5 and 6.6.
static std::optional<RankedChoice>
scheduleManyOpen(const ScheduleChoice &s, const BoxedAttention &attention, const GpuArch &arch) {
  constexpr unsigned kKeys = 128;
  constexpr int64_t kNarrow = 128; // of both products together
  if (attention.isEvaluated())
    return scheduleFewOpen(s, attention, arch);
  return scheduleOpen(s, attention, attention.depth + attention.width <= kNarrow ? 1 : 2, kKeys,
                      arch);
}

/// The most keys at a time that registers and shared memory hold, all where they are few, and no
/// more of them past the last key than need be.
static std::optional<RankedChoice> scheduleWgmma(const ScheduleChoice &s,
                                                 const BoxedAttention &given, const GpuArch &arch) {
  BoxedAttention attention = typical(given);
  constexpr int64_t kFewRows = 32, kMostKeys = 128, kAllKeys = 256, kStep = 16;
  if (attention.rows <= kFewRows)
    return std::nullopt;
  if (given.isOpen())
    return given.rows < 0 ? scheduleManyOpen(s, attention, arch)
                          : scheduleFewOpen(s, attention, arch);
  // Where tiles are short a block's next one has its queries on their way beside its keys, unless
  // that costs another block its place: 384 heads of 128 keys from memory took 10.6 us without and
  // 10.0 with it, 197 keys 19.4 and 19.5, 16 of 4096 x 128 216 and 218.
  constexpr int64_t kShortTile = 128; // keys
  int64_t heads = attention.batches * attention.otherRows;
  auto choose = [&](unsigned groups, int64_t keys) {
    int64_t rows = int64_t(groups) * BoxedAttentionTile::groupRows;
    auto in = [&](unsigned queryStages) {
      BoxedAttentionTile tile(attention, unsigned(rows), unsigned(keys), queryStages, groups);
      return wgmmaChoice(s, attention, tile, arch);
    };
    std::optional<RankedChoice> one = in(1), two = in(2);
    bool helps = attention.keyCount <= kShortTile && two &&
                 two->choice.mostBlocks == one->choice.mostBlocks &&
                 heads * int64_t(llvm::divideCeil(attention.rows, rows)) > one->choice.mostBlocks;
    return helps ? two : one;
  };
  bool isBounded = !attention.mask.bounds.empty();
  int64_t allKeys = llvm::alignTo(attention.keyCount, kStep);
  std::optional<RankedChoice> wide;
  for (int64_t most = kMostKeys; most >= kStep && !wide; most -= kStep) {
    int64_t blocks = llvm::divideCeil(attention.keyCount, most);
    wide = choose(2, llvm::alignTo(llvm::divideCeil(attention.keyCount, blocks), kStep));
  }
  // Tiles of 64 queries, where those of 128 leave multiprocessors idle: as many keys at a time as
  // registers hold where one is alone, half of that where two are beside each other.
  constexpr double kSurely = 0.95;
  int64_t tiles =
      heads * int64_t(llvm::divideCeil(attention.rows, int64_t(BoxedAttentionTile::groupRows)));
  std::optional<RankedChoice> small;
  for (int64_t most = tiles <= arch.multiprocessors ? kMostKeys : kMostKeys / 2;
       most >= kStep && !small; most -= kStep) {
    int64_t blocks = llvm::divideCeil(attention.keyCount, most);
    small = choose(1, llvm::alignTo(llvm::divideCeil(attention.keyCount, blocks), kStep));
  }
  if (small && (!wide || small->cost < kSurely * wide->cost))
    return small;
  // One turn for all keys: 197 take 19.6 us in a batch of 384 heads, and 20.7 in two turns.
  if (wide && !isBounded && allKeys > kMostKeys && allKeys <= kAllKeys) {
    auto all = scheduleTurns(s, attention, allKeys, arch);
    if (!all)
      all = choose(2, allKeys);
    if (all) {
      all->cost = wide->cost;
      return all;
    }
  }
  // Measured with heads of 64, causal: tiles of 64 queries in two or three blocks a multiprocessor
  // begin and end beside each other. Few keys at a time hide fewer, and take longer each: 512 keys
  // 15.9 us with 64 of them, 18.2 with 128 and 17.7 in tiles of 128 queries, 4096 keys 88.5, 81.7
  // and 85.0.
  constexpr int64_t kNarrow = 128, kShort = 1024; // of both products together; keys
  if (!isBounded || attention.depth + attention.width > kNarrow || attention.isEvaluated())
    return wide;
  auto narrow = choose(1, attention.keyCount <= kShort ? kMostKeys / 2 : kMostKeys);
  bool fills = wide && narrow &&
               attention.batches * attention.otherRows * attention.rows >=
                   int64_t(narrow->choice.mostBlocks) * narrow->choice.rows;
  if (!fills)
    return wide;
  narrow->cost = wide->cost;
  return narrow;
}

/// The tile, stages and split that should take least; none where none fits.
static std::optional<RankedChoice> scheduleMma(ScheduleChoice s, const MatrixAttention &a,
                                               int64_t batches, const GpuArch &arch) {
  constexpr int64_t kStatic = 1024;        // bytes of other shared memory
  constexpr unsigned kMostRegisters = 245; // beyond which ptxas spills
  s.form = Form::MmaAttention;
  std::optional<RankedChoice> best;
  for (const AttentionTile &t : AttentionTile::all())
    for (unsigned stages : {2, 3, 4}) {
      bool inUse = stages == 2 || a.keys < 0 || a.keys > int64_t(stages - 1) * t.keys;
      if (!inUse || t.sharedBytes(a, stages) + kStatic > arch.sharedBytes ||
          registersOf(t, a) > kMostRegisters)
        continue;
      bool known = a.batch >= 0 && a.rows >= 0;
      int64_t tiles = known ? a.batch * llvm::divideCeil(a.rows, t.rows) : 0;
      for (int64_t split : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
        bool shares = known && tiles <= int64_t(kCounterBytes / sizeof(int32_t)) &&
                      (a.keys < 0 || split * int64_t(t.keys) <= a.keys);
        if (split > 1 && !shares)
          break;
        double cost = mmaCost(t, stages, split, a, batches, arch);
        if (best && cost >= best->cost)
          continue;
        s.rows = t.rows;
        s.columns = t.keys;
        s.threads = t.threads();
        s.rowThreads = t.rowThreads();
        s.vectors = stages;
        s.sharedBytes = t.sharedBytes(a, stages);
        s.split = split;
        s.scratchBytes =
            split > 1 ? kCounterBytes + tiles * split * t.rows * AttentionTile::scratchPitch(a) * 4
                      : 0;
        best = {s, cost};
      }
    }
  return best;
}

bool device::generalAttention(const AttentionForm &form, const GpuArch &arch) {
  // Microseconds on an H200: of a launch, of 64 rows by 64 keys and heads of 64, of three launches,
  // of a product that waits for its slices; of 16 bytes that a score is written and read in.
  constexpr double kStart = 3, kTile = 4.8, kThree = 12, kWait = 6, kFlop = 1 / 35e6,
                   kScore = 16 / 3.5e6, kGain = 1.1;
  constexpr int64_t kSide = 64, kFewRows = 32, kMostWidth = 128;
  auto isF32 = [](Value v) { return tensorType(v).getElementType().isF32(); };
  prim::DotOp scores = form.scores, values = form.values;
  if (!isF32(scores.getLhs()) || !isF32(scores.getRhs()) || !isF32(values.getRhs()))
    return false;
  ProductSizes sizes = ProductSizes::of(scores);
  if (sizes.batch < 0)
    sizes.batch = typicalBatches(form);
  for (int64_t *length : {&sizes.rows, &sizes.columns})
    if (*length < 0)
      *length = kText;
  int64_t width = tensorType(values.getResult()).getShape().back();
  bool fits = sizes.batch > 0 && sizes.rows >= kFewRows && sizes.columns > 0 && sizes.inner > 0 &&
              width > 0 && std::max(sizes.inner, width) <= kMostWidth;
  int64_t blocks = sizes.batch * int64_t(llvm::divideCeil(sizes.rows, kSide));
  if (!fits || 3 * blocks < arch.multiprocessors)
    return false;
  auto keyTiles = double(llvm::divideCeil(sizes.columns, kSide));
  double both = double(sizes.inner + width), waves = double(blocks) / arch.multiprocessors;
  double one = kStart + std::max(1.0, waves) * keyTiles * kTile * both / (2 * kSide);
  double scoreCount = double(sizes.batch) * double(sizes.rows) * double(sizes.columns);
  double three = kThree + std::min(kWait, keyTiles) + scoreCount * (2 * both * kFlop + kScore);
  return one < kGain * three;
}

static int64_t widthOf(const AttentionForm &form) {
  return tensorType(prim::DotOp(form.values).getResult()).getShape().back();
}

/// Eight by eight scores and results of a thread read shared memory less often, where there are
/// many of all: 16 x 2048 x 128 took 970 us, and 891.
static bool gainsByWideTiles(const AttentionForm &form) {
  constexpr int64_t kWideHead = 128, kManyKeys = 1024;
  ProductSizes scores = ProductSizes::of(form.scores);
  return widthOf(form) == kWideHead && scores.inner == kWideHead &&
         (scores.columns < 0 || scores.columns >= kManyKeys);
}

/// Tiles of the general form. Four by four scores of a thread, of slices of operands as of a
/// product; with narrow heads eight by four: 256 heads of 49 x 32 took 7.1 us on an H200, and 9.2.
/// Of wide values two slices and the weights of 64 rows have more than the 48 KB that a block may
/// have unasked.
static void takeGeneralTiles(ScheduleChoice &s, const AttentionForm &form, bool wide) {
  constexpr int64_t kNarrow = 32, kWide = 192;
  bool narrow = widthOf(form) <= kNarrow, wideValues = widthOf(form) > kWide;
  s.rows = wideValues ? 32 : 64;
  s.columns = wide ? 128 : 64;
  s.rowThreads = narrow ? 8 : 16;
  s.threads = narrow || wideValues || wide ? 128 : 256;
  s.depth = wideValues || wide ? 8 : 16;
}

/// Rows from which on tiles whose threads have many scores fill the machine.
static int64_t rowsOfWideTiles(const ScheduleChoice &s, const GpuArch &arch) {
  constexpr int64_t kBlocks = 2; // of a multiprocessor
  return kBlocks * int64_t(s.rows) * arch.multiprocessors;
}

void device::scheduleAttention(SmallVector<ScheduleChoice> &all, kernel::LaunchOp launch,
                               const GpuArch &arch) {
  constexpr double kSurely = 0.9; // of the estimate for wgmma
  ScheduleChoice general = all.pop_back_val();
  auto boxed = arch.matrixUnit == MatrixUnit::Wgmma ? boxedAttention(launch) : std::nullopt;
  auto tiled =
      arch.matrixUnit != MatrixUnit::None ? matrixAttention(attentionOf(launch)) : std::nullopt;
  auto wgmma = boxed ? scheduleWgmma(general, *boxed, arch) : std::nullopt;
  int64_t batches = typicalBatches(attentionOf(launch));
  auto mma = tiled ? scheduleMma(general, *tiled, batches, arch) : std::nullopt;
  if (wgmma)
    all.push_back(wgmma->choice);
  if (mma)
    all.insert(wgmma && !boxed->isOpen() && mma->cost < kSurely * wgmma->cost ? all.begin()
                                                                              : all.end(),
               mma->choice);
  general.form = Form::Attention;
  AttentionForm form = attentionOf(launch);
  takeGeneralTiles(general, form, /*wide=*/false);
  ProductSizes scores = ProductSizes::of(form.scores);
  bool manyRows = scores.batch < 0 || scores.rows < 0 ||
                  scores.batch * scores.rows >= rowsOfWideTiles(general, arch);
  if (manyRows && gainsByWideTiles(form))
    takeGeneralTiles(general, form, /*wide=*/true);
  all.push_back(general);
}

SmallVector<FewRows> device::scheduleFewQueries(kernel::LaunchOp launch, Schedule many,
                                                const GpuArch &arch) {
  constexpr int64_t kTiles = 7, kOf = 4; // so many quarters of a tile for each multiprocessor
  if (many.getForm() == Form::Attention) {
    AttentionForm form = attentionOf(launch);
    ScheduleChoice few(many);
    takeGeneralTiles(few, form, /*wide=*/false);
    if (tensorType(form.scores.getResult()).hasStaticShape() ||
        few.attr(launch.getContext()) == many)
      return {};
    return {{few.attr(launch.getContext()), rowsOfWideTiles(few, arch) * widthOf(form)}};
  }
  std::optional<BoxedAttention> attention = boxedAttention(launch);
  if (!attention || attention->rows >= 0)
    return {};
  auto few = scheduleFewOpen(ScheduleChoice(many), typical(*attention), arch);
  if (!few || few->choice.attr(launch.getContext()) == many)
    return {};
  int64_t rows = kTiles * int64_t(arch.multiprocessors) * few->choice.rows / kOf;
  return {{few->choice.attr(launch.getContext()), rows * attention->width}};
}

SmallVector<RankedChoice> device::otherAttentions(const ScheduleChoice &start,
                                                  kernel::LaunchOp launch, const GpuArch &arch) {
  constexpr unsigned kStep = 16, kMostKeys = 256;
  std::optional<BoxedAttention> given = boxedAttention(launch);
  SmallVector<RankedChoice> all;
  if (!given)
    return all;
  BoxedAttention attention = typical(*given);
  auto keys = unsigned(std::min<int64_t>(kMostKeys, llvm::alignTo(attention.keyCount, kStep)));
  for (unsigned groups : {1, 2})
    for (unsigned most = kStep; most <= keys; most += kStep)
      for (unsigned queryStages : {1, 2}) {
        BoxedAttentionTile tile(attention, groups * BoxedAttentionTile::groupRows, most,
                                queryStages, groups);
        if (auto found = wgmmaChoice(start, attention, tile, arch))
          insertByCost(all, *found);
      }
  keepNear(all);
  return all;
}
