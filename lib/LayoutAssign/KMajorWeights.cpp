//===- KMajorWeights.cpp - Weights in rows of what a result sums ----------===//
//
// A matrix unit multiplies rows of k by rows of k, and threads of a GPU copy 16 bytes at
// a time. So constant right operands of products are transposed at compile time, where that
// is how they do not lie yet: all of k for a column lies together.
//
//   %y = prim.dot %x, %w batch [] x [] contract [1] x [0]
// becomes
//   %r = prim.weight "w.rows" : tensor<768x768xbf16>
//   %y = prim.dot %x, %r batch [] x [] contract [1] x [1]
//
// Columns along several axes, as those of experts that all rows are multiplied by, are one:
//
//   %w : tensor<8x1024x5632xbf16> contract [1]   becomes   %r : tensor<45056x1024xbf16>
//
// A channels-last convolution of single points is the product of its pixels by its filters,
// and becomes one: what is known of products need not be known of it as well. Other filters
// keep their shape and lie window first, then channels, as the pixels under the window do:
//
//   %w : tensor<64x32x3x3xbf16>
// becomes
//   %w : tensor<64x32x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>
//
// Where each channel is a group of its own, neighbours are channels too: [2, 3, 1, 0].
//
// Images have fewer channels than are copied at once: they are filled up to four. Where channels
// are put last, which copies them, they are filled up to whole accesses. Where the
// window steps over several pixels of a row, as many become one pixel of more channels:
//
//   %w : tensor<64x3x7x7xbf16>, strides = [2, 2], of tensor<1x224x224x3xbf16>
// becomes
//   %w : tensor<64x8x7x4xbf16, #prim.axis_order<[0, 2, 3, 1]>>, strides = [2, 1], of 1x224x112x8
//
// with filters of zeros where the window begins or ends amid such pixels. A pixel beside the window
// that is no number then shows in its result.
//
// Windows that do not overlap (the patches of a vision transformer) hold each pixel once, so that a
// convolution of few channels is a product of patches:
//
//   %w : tensor<768x3x16x16xbf16>, strides = [16, 16], of tensor<8x224x224x3xbf16>
// becomes
//   %w : tensor<768x768xbf16>, of tensor<8x14x14x768xbf16>, the pixels reordered
//
// Pixels have to be copied anyway, and whole channels need not: those convolutions stay.
//
// Groups of few channels leave most of a matrix unit idle, and are read a few bytes at a time. So
// neighbouring groups become one of 64 channels, whose filters are zero at the channels of the
// others (a matrix of blocks on the diagonal):
//
//   %w : tensor<256x8x3x3xbf16>, groups = 32
// becomes
//   %w : tensor<256x64x3x3xbf16, #prim.axis_order<[0, 2, 3, 1]>>, groups = 4
//
// That is up to 16 times the multiplications, of a unit that had nothing else to do. A value that
// is no number or infinite then reaches the results of the groups beside its own. All groups of odd
// numbers of channels become one that is filled up, where channels are put last.
//
// Filters that a run is given or computes (RunTimeFilters.cpp) are put in such an order by a
// kernel, unless multiplying takes no longer than that. Their groups stay.
//
// Products in 32 bits or more stay, unless they have few rows: no matrix unit takes them, and
// the general form reads either order.
//
//===----------------------------------------------------------------------===//
#include "ConvChannels.h"
#include "RunTimeFilters.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/OpenExtents.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Support/WeightTable.h"
#include <cstring>
#include <map>

namespace tcc {
#define GEN_PASS_DEF_KMAJORWEIGHTSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class KMajorWeights {
public:
  explicit KMajorWeights(WeightTable &weights) : weights(weights) {}
  void transpose(prim::DotOp op);
  void multiply(prim::ConvOp op);
  void multiplyPatches(prim::ConvOp op);
  void reorder(prim::ConvOp op);
  /// A convolution of few channels over joined pixels; false where it is none.
  bool joinPixels(prim::ConvOp op);

private:
  const Weight *weightOf(Value v);
  /// Whether the filters of `op` can be put in another order, now or in a run.
  bool areMovable(prim::ConvOp op) { return weightOf(op.getW()) || areOfRun(op); }
  /// `op` as a product of the last axis of `rows` by its filters, which lie as they do.
  void becomeProduct(prim::ConvOp op, Value rows, StringRef suffix);
  /// The weight `v` as what `make` makes of it; equal requests share one.
  Value derived(Value v, StringRef suffix, RankedTensorType type,
                function_ref<Weight(const Weight &)> make);

  WeightTable &weights;
  std::map<std::string, std::string> derivedNames;
};

} // namespace

const Weight *KMajorWeights::weightOf(Value v) {
  auto op = v.getDefiningOp<prim::WeightOp>();
  const Weight *weight = op && !prim::layoutOf(v) ? weights.lookup(op.getName()) : nullptr;
  bool whole = weight && bitWidth(weight->dtype) >= 8 && bitWidth(weight->dtype) <= 64;
  return whole && weight->elements() ? weight : nullptr;
}

Value KMajorWeights::derived(Value v, StringRef suffix, RankedTensorType type,
                             function_ref<Weight(const Weight &)> make) {
  auto op = v.getDefiningOp<prim::WeightOp>();
  std::string wanted = (op.getName() + suffix).str();
  std::string &name = derivedNames[wanted];
  if (name.empty()) {
    Weight weight = make(*weightOf(v));
    llvm::append_range(weight.shape, prim::storedType(type).getShape());
    name = weights.add(wanted, std::move(weight));
  }
  OpBuilder b(op);
  return prim::WeightOp::create(b, op.getLoc(), type, b.getStringAttr(name));
}

namespace {
/// Matrices one after the other, whose columns become rows of `filled` elements: zeros but for what
/// begins at their first element, or where the matrix's group of `ofGroup` has its place in rows
/// that `groups` share.
struct Matrices {
  int64_t rows, columns, filled, ofGroup = 1, groups = 1;

  int64_t placeOf(int64_t matrix) const { return matrix / ofGroup % groups * rows; }
};
} // namespace

/// Rows [first, last) of the transpose of the matrix at `source`, from element `place` of a row on.
template <unsigned size>
static void transposeRows(const char *source, Matrices m, int64_t place, int64_t first,
                          int64_t last, char *to) {
  constexpr int64_t kBlock = 64; // rows of the source that stay in a cache
  if (m.filled != m.rows)
    std::memset(to, 0, (last - first) * m.filled * size);
  to += place * size;
  for (int64_t begin = 0; begin < m.rows; begin += kBlock)
    for (int64_t column = first; column < last; ++column)
      for (int64_t row = begin; row < std::min(m.rows, begin + kBlock); ++row)
        std::memcpy(to + ((column - first) * m.filled + row) * size,
                    source + (row * m.columns + column) * size, size);
}

/// A weight of matrices as that of their transposes.
static Weight transposed(const Weight &source, Matrices m) {
  unsigned bytes = bitWidth(source.dtype) / 8;
  uint64_t grain = m.filled * bytes;
  auto make = [source, m, bytes, grain](uint64_t begin, uint64_t end, char *to) {
    auto transpose = bytes == 1   ? transposeRows<1>
                     : bytes == 2 ? transposeRows<2>
                     : bytes == 4 ? transposeRows<4>
                                  : transposeRows<8>;
    int64_t first = begin / grain, last = end / grain;
    while (first < last) {
      int64_t matrix = first / m.columns, from = first % m.columns;
      int64_t until = std::min(m.columns, from + last - first);
      transpose(source.bytes.data() + matrix * m.rows * m.columns * bytes, m, m.placeOf(matrix),
                from, until, to);
      to += (until - from) * grain;
      first += until - from;
    }
  };
  return {source.dtype, {}, {}, nullptr, std::make_shared<WeightMaker>(WeightMaker{grain, make})};
}

namespace {
/// Pixels along the last axis that become one, and the window over them.
struct JoinedPixels {
  int64_t pixels, shift, taps; ///< shift: taps of zeros before the first
  int64_t low, high;           ///< padding
};
} // namespace

/// How the window of `op`, which steps over several pixels of rows of even many, sees them as one;
/// null where it does not.
static std::optional<JoinedPixels> joinedPixels(prim::ConvOp op) {
  constexpr int64_t kMost = 4;
  size_t last = op.getStrides().size() - 1;
  int64_t pixels = op.getStrides()[last], low = op.getLow()[last];
  int64_t extent = tensorType(op.getX()).getShape()[last + 1];
  int64_t places = tensorType(op.getResult()).getShape()[last + 1];
  if (pixels < 2 || pixels > kMost || ShapedType::isDynamic(extent) || extent % pixels != 0 ||
      ShapedType::isDynamic(places) || low < 0 || op.getDilations()[last] != 1 ||
      op.getInputDilation()[last] != 1)
    return std::nullopt;
  JoinedPixels joined{pixels, 0, 0, int64_t(llvm::divideCeil(low, pixels)), 0};
  joined.shift = joined.low * pixels - low;
  int64_t window = tensorType(op.getW()).getShape().back();
  joined.taps = int64_t(llvm::divideCeil(window + joined.shift, pixels));
  joined.high = places - 1 + joined.taps - extent / pixels - joined.low;
  return joined.high >= 0 ? std::optional(joined) : std::nullopt;
}

/// Filters [filters, channels, rows, taps] as [filters, rows, joined taps, pixels, filled].
static Weight ofJoinedPixels(const Weight &source, ArrayRef<int64_t> shape, JoinedPixels joined,
                             int64_t filled) {
  int64_t channels = shape[1], taps = shape.back(), rows = 1;
  for (int64_t extent : shape.drop_front(2).drop_back())
    rows *= extent;
  unsigned bytes = bitWidth(source.dtype) / 8;
  int64_t across = joined.taps * joined.pixels;
  uint64_t grain = rows * across * filled * bytes;
  auto make = [=](uint64_t begin, uint64_t end, char *to) {
    std::memset(to, 0, end - begin);
    for (uint64_t filter = begin / grain; filter < end / grain; ++filter, to += grain)
      for (int64_t channel = 0; channel < channels; ++channel)
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t tap = 0; tap < taps; ++tap) {
            int64_t from = ((filter * channels + channel) * rows + row) * taps + tap;
            int64_t place = (row * across + joined.shift + tap) * filled + channel;
            std::memcpy(to + place * bytes, source.bytes.data() + from * bytes, bytes);
          }
  };
  return {source.dtype, {}, {}, nullptr, std::make_shared<WeightMaker>(WeightMaker{grain, make})};
}

/// Rows of the left operand are known and few: the product is bound by the weights it reads.
static bool hasFewRows(prim::DotOp op) {
  constexpr int64_t kFew = 8;
  int64_t rows = 1;
  for (int64_t extent : tensorType(op.getResult()).getShape().drop_back())
    rows = ShapedType::isDynamic(extent) || rows > kFew ? kFew + 1 : rows * extent;
  return rows <= kFew;
}

void KMajorWeights::transpose(prim::DotOp op) {
  auto l = tensorType(op.getLhs()), r = tensorType(op.getRhs());
  if (!weightOf(op.getRhs()) || r.getRank() < 2 || !op.getLhsBatch().empty() ||
      op.getRhsContract().size() != 1 ||
      !(isForMatrixUnits(l.getElementType(), r.getElementType()) ||
        (l.getElementType() == r.getElementType() && hasFewRows(op))))
    return;
  int64_t summed = op.getRhsContract()[0], rows = r.getDimSize(summed), columns = 1;
  for (int64_t extent : r.getShape().drop_front(summed + 1))
    columns *= extent;
  bool liesSo = summed + 1 == r.getRank();
  if (liesSo && r.getRank() == 2)
    return;
  int64_t all = r.getNumElements() / rows;
  auto type = RankedTensorType::get({all, rows}, r.getElementType());
  // What else sums another axis of it has other rows.
  std::string suffix = r.getRank() == 2 ? ".rows" : ".rows" + std::to_string(summed);
  Value right = derived(op.getRhs(), suffix, type, [&](const Weight &source) {
    return liesSo ? Weight{source.dtype, {}, source.bytes, source.owner}
                  : transposed(source, {rows, columns, rows});
  });
  OpBuilder b(op);
  SmallVector<int64_t> shape(op.getType().getShape().drop_back(r.getRank() - 1));
  shape.push_back(all);
  Value dot = prim::DotOp::create(b, op.getLoc(), op.getType().clone(shape), op.getLhs(), right,
                                  ArrayRef<int64_t>(), ArrayRef<int64_t>(), op.getLhsContract(),
                                  ArrayRef<int64_t>{1});
  if (dot.getType() != op.getType())
    dot = prim::ReshapeOp::create(b, op.getLoc(), op.getType(), dot, openExtents(b, dot));
  op.getResult().replaceAllUsesWith(dot);
  op.erase();
}

static bool isAll(ArrayRef<int64_t> list, int64_t value) {
  return llvm::all_of(list, [&](int64_t v) { return v == value; });
}

void KMajorWeights::multiply(prim::ConvOp op) {
  auto w = tensorType(op.getW());
  if (!areMovable(op) || !op.getChannelsLast() || op.getGroups() != 1 ||
      !isAll(w.getShape().drop_front(2), 1) || !isAll(op.getStrides(), 1) ||
      !isAll(op.getInputDilation(), 1) || !isAll(op.getLow(), 0) || !isAll(op.getHigh(), 0))
    return;
  becomeProduct(op, op.getX(), ".points");
}

void KMajorWeights::becomeProduct(prim::ConvOp op, Value rows, StringRef suffix) {
  auto w = tensorType(op.getW());
  int64_t filters = w.getDimSize(0), last = tensorType(rows).getRank() - 1;
  auto type = RankedTensorType::get({filters, w.getNumElements() / filters}, w.getElementType());
  OpBuilder b(op);
  Value right = weightOf(op.getW())
                    ? derived(op.getW(), suffix, type,
                              [](const Weight &source) {
                                return Weight{source.dtype, {}, source.bytes, source.owner};
                              })
                    : prim::ReshapeOp::create(b, op.getLoc(), type, op.getW(), ValueRange());
  Value dot =
      prim::DotOp::create(b, op.getLoc(), op.getType(), rows, right, ArrayRef<int64_t>(),
                          ArrayRef<int64_t>(), ArrayRef<int64_t>{last}, ArrayRef<int64_t>{1});
  op.getResult().replaceAllUsesWith(dot);
  op.erase();
}

void KMajorWeights::multiplyPatches(prim::ConvOp op) {
  constexpr int64_t kGrain = 128; // bits that are copied at once
  auto x = tensorType(op.getX()), w = tensorType(op.getW());
  ArrayRef<int64_t> window = w.getShape().drop_front(2),
                    image = x.getShape().drop_back().drop_front();
  if (!areMovable(op) || !op.getChannelsLast() || op.getGroups() != 1 ||
      !isForMatrixUnits(x.getElementType(), w.getElementType()) || op.getStrides() != window ||
      !isAll(op.getDilations(), 1) || !isAll(op.getInputDilation(), 1) || !isAll(op.getLow(), 0) ||
      !isAll(op.getHigh(), 0))
    return;
  int64_t bits = w.getElementTypeBitWidth();
  if (w.getDimSize(1) * bits % kGrain == 0 ||
      w.getNumElements() / w.getDimSize(0) * bits % kGrain != 0)
    return;
  // [N, h, p, w, q, C] as [N, h, w, C, p, q]; rather from [N, C, h, p, w, q], where x comes from
  // that.
  Value pixels = op.getX();
  prim::TransposeOp turn = turnOf(op);
  if (turn)
    pixels = turn.getX();
  SmallVector<int64_t> cut{x.getDimSize(0)}, rows{x.getDimSize(0)}, order{0}, inner;
  if (turn)
    cut.push_back(w.getDimSize(1));
  for (auto [extent, taps] : llvm::zip(image, window)) {
    if (ShapedType::isDynamic(extent) || extent % taps != 0)
      return;
    order.push_back(int64_t(cut.size()));
    inner.push_back(int64_t(cut.size()) + 1);
    cut.append({extent / taps, taps});
    rows.push_back(extent / taps);
  }
  order.push_back(turn ? 1 : int64_t(cut.size()));
  order.append(inner);
  if (!turn)
    cut.push_back(w.getDimSize(1));
  rows.push_back(w.getNumElements() / w.getDimSize(0));
  OpBuilder b(op);
  SmallVector<Value> open = openExtents(b, op.getX());
  SmallVector<int64_t> turned;
  for (int64_t axis : order)
    turned.push_back(cut[axis]);
  pixels = prim::ReshapeOp::create(b, op.getLoc(), x.clone(cut), pixels, open);
  Value patches = prim::TransposeOp::create(b, op.getLoc(), x.clone(turned), pixels, order);
  becomeProduct(op, prim::ReshapeOp::create(b, op.getLoc(), x.clone(rows), patches, open),
                ".patches");
}

/// The axes of a window, between the filters and their channels.
static prim::AxisOrderAttr windowFirst(RankedTensorType w) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(2, w.getRank()));
  order.insert(order.begin(), 0);
  order.push_back(1);
  return prim::AxisOrderAttr::get(w.getContext(), order);
}

bool KMajorWeights::joinPixels(prim::ConvOp op) {
  auto x = tensorType(op.getX()), w = tensorType(op.getW());
  if (!areMovable(op) || !op.getChannelsLast() || op.getGroups() != 1 ||
      w.getDimSize(1) > kFewChannels || !isForMatrixUnits(x.getElementType(), w.getElementType()))
    return false;
  std::optional<JoinedPixels> joined = joinedPixels(op);
  if (!joined)
    return false;
  SmallVector<int64_t> shape(w.getShape()), image(x.getShape());
  shape[1] = kFewChannels * joined->pixels;
  shape.back() = joined->taps;
  auto type = RankedTensorType::get(shape, w.getElementType(), windowFirst(w));
  std::string suffix =
      ".pixels" + std::to_string(joined->pixels) + "." + std::to_string(joined->shift);
  OpBuilder b(op);
  Value filters =
      weightOf(op.getW())
          ? derived(op.getW(), suffix, type,
                    [&](const Weight &source) {
                      return ofJoinedPixels(source, w.getShape(), *joined, kFewChannels);
                    })
          : joinedTaps(b, op.getW(), type, joined->pixels, joined->shift);
  image.back() = kFewChannels * joined->pixels;
  image[image.size() - 2] /= joined->pixels;
  Value pixels = w.getDimSize(1) < kFewChannels ? withChannels(op, kFewChannels) : op.getX();
  Value input =
      prim::ReshapeOp::create(b, op.getLoc(), x.clone(image), pixels, openExtents(b, op.getX()));
  auto with = [](ArrayRef<int64_t> numbers, int64_t last) {
    SmallVector<int64_t> changed(numbers);
    changed.back() = last;
    return changed;
  };
  op.getXMutable().assign(input);
  op.getWMutable().assign(filters);
  op.setStrides(with(op.getStrides(), 1));
  op.setLow(with(op.getLow(), joined->low));
  op.setHigh(with(op.getHigh(), joined->high));
  return true;
}

void KMajorWeights::reorder(prim::ConvOp op) {
  auto x = tensorType(op.getX()), w = tensorType(op.getW());
  bool isWeight = weightOf(op.getW());
  if (!(isWeight || areOfRun(op)) || !op.getChannelsLast() ||
      !(isForMatrixUnits(x.getElementType(), w.getElementType()) ||
        x.getElementType() == w.getElementType()))
    return;
  int64_t filters = w.getDimSize(0), channels = w.getDimSize(1);
  int64_t taps = w.getNumElements() / (filters * channels);
  bool isDepthwise = op.getGroups() > 1 && channels == 1;
  // Those of a pixel are copied at once.
  bool fills = op.getGroups() == 1 && taps > 1 && channels < kFewChannels &&
               isForMatrixUnits(x.getElementType(), w.getElementType());
  int64_t together = isWeight ? groupsTogether(op) : 1, ofGroup = filters / int64_t(op.getGroups());
  int64_t joined = channels * together;
  int64_t whole = together == int64_t(op.getGroups()) ? wholeChannels(op, joined) : joined;
  int64_t filled = fills ? kFewChannels : whole;
  // The window's axes, with the filters and channels around them.
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(2, w.getRank()));
  order.push_back(1);
  order.insert(isDepthwise ? order.end() : order.begin(), 0);
  SmallVector<int64_t> shape(w.getShape());
  shape[1] = filled;
  auto type = RankedTensorType::get(shape, w.getElementType(),
                                    prim::AxisOrderAttr::get(op.getContext(), order));
  std::string suffix = together > 1 ? ".groups" + std::to_string(op.getGroups()) : ".taps";
  if (whole > joined)
    suffix = ".filled" + std::to_string(op.getGroups());
  OpBuilder b(op);
  if (isWeight)
    op.getWMutable().assign(derived(op.getW(), suffix, type, [&](const Weight &source) {
      return transposed(source, isDepthwise ? Matrices{filters, taps, filters}
                                            : Matrices{channels, taps, filled, ofGroup, together});
    }));
  else
    op.getWMutable().assign(inOrder(b, op.getW(), type));
  op.setGroups(op.getGroups() / together);
  if (fills)
    op.getXMutable().assign(withChannels(op, filled));
  else if (whole > joined)
    op.getXMutable().assign(withChannels(op, whole, turnOf(op)));
}

namespace {

class KMajorWeightsPass : public tcc::impl::KMajorWeightsPassBase<KMajorWeightsPass> {
public:
  explicit KMajorWeightsPass(WeightTable *weights) : weights(weights) {}
  void runOnOperation() override {
    KMajorWeights layout(*weights);
    getOperation().walk([&](prim::ConvOp op) { layout.multiply(op); });
    getOperation().walk([&](prim::ConvOp op) { layout.multiplyPatches(op); });
    getOperation().walk([&](prim::ConvOp op) {
      if (!layout.joinPixels(op))
        layout.reorder(op);
    });
    getOperation().walk([&](prim::DotOp op) { layout.transpose(op); });
  }

private:
  WeightTable *weights;
};

} // namespace

std::unique_ptr<Pass> tcc::createKMajorWeightsPass(WeightTable *weights) {
  return std::make_unique<KMajorWeightsPass>(weights);
}
