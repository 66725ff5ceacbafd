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
// A channels-last convolution of single points is the product of its pixels by its filters,
// and becomes one: what is known of products need not be known of it as well.
//
// Products in 32 bits or more stay: no matrix unit takes them, and the general form reads
// either order.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
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

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

namespace {

class KMajorWeights {
public:
  explicit KMajorWeights(WeightTable &weights) : weights(weights) {}
  void transpose(prim::DotOp op);
  void multiply(prim::ConvOp op);

private:
  const Weight *weightOf(Value v);
  /// The weight `v` as what `make` makes of it; equal requests share one.
  Value derived(Value v, StringRef suffix, ArrayRef<int64_t> shape,
                function_ref<Weight(const Weight &)> make);

  WeightTable &weights;
  std::map<std::string, std::string> derivedNames;
};

} // namespace

const Weight *KMajorWeights::weightOf(Value v) {
  auto op = v.getDefiningOp<prim::WeightOp>();
  const Weight *weight = op ? weights.lookup(op.getName()) : nullptr;
  return weight && weight->elements() ? weight : nullptr;
}

Value KMajorWeights::derived(Value v, StringRef suffix, ArrayRef<int64_t> shape,
                             function_ref<Weight(const Weight &)> make) {
  auto op = v.getDefiningOp<prim::WeightOp>();
  std::string wanted = (op.getName() + suffix).str();
  std::string &name = derivedNames[wanted];
  if (name.empty()) {
    Weight weight = make(*weightOf(v));
    weight.shape.assign(shape.begin(), shape.end());
    name = weights.add(wanted, std::move(weight));
  }
  OpBuilder b(op);
  auto type = RankedTensorType::get(shape, tensorType(v).getElementType());
  return prim::WeightOp::create(b, op.getLoc(), type, b.getStringAttr(name));
}

/// Rows [first, last) of the transpose of `source`, which has `columns` columns.
template <unsigned size>
static void transposeRows(const char *source, int64_t rows, int64_t columns, int64_t first,
                          int64_t last, char *to) {
  constexpr int64_t kBlock = 64; // rows of the source that stay in a cache
  for (int64_t begin = 0; begin < rows; begin += kBlock)
    for (int64_t column = first; column < last; ++column)
      for (int64_t row = begin; row < std::min(rows, begin + kBlock); ++row)
        std::memcpy(to + ((column - first) * rows + row) * size,
                    source + (row * columns + column) * size, size);
}

/// Operands that some matrix unit multiplies.
static bool isForMatrixUnits(Type x, Type w) {
  return (x.isInteger(8) && w.isInteger(8)) || (x == w && (x.isF16() || x.isBF16()));
}

void KMajorWeights::transpose(prim::DotOp op) {
  auto l = tensorType(op.getLhs()), r = tensorType(op.getRhs());
  if (!weightOf(op.getRhs()) || r.getRank() != 2 || !op.getLhsBatch().empty() ||
      op.getRhsContract() != ArrayRef<int64_t>{0} ||
      !isForMatrixUnits(l.getElementType(), r.getElementType()))
    return;
  int64_t rows = r.getDimSize(0), columns = r.getDimSize(1);
  Value right = derived(op.getRhs(), ".rows", {columns, rows}, [&](const Weight &source) {
    bool bytes = bitWidth(source.dtype) == 8;
    uint64_t grain = rows * (bytes ? 1 : 2);
    auto make = [source, rows, columns, bytes, grain](uint64_t begin, uint64_t end, char *to) {
      auto transpose = bytes ? transposeRows<1> : transposeRows<2>;
      transpose(source.bytes.data(), rows, columns, begin / grain, end / grain, to);
    };
    return Weight{
        source.dtype, {}, {}, nullptr, std::make_shared<WeightMaker>(WeightMaker{grain, make})};
  });
  OpBuilder b(op);
  Value dot =
      prim::DotOp::create(b, op.getLoc(), op.getType(), op.getLhs(), right, ArrayRef<int64_t>(),
                          ArrayRef<int64_t>(), op.getLhsContract(), ArrayRef<int64_t>{1});
  op.getResult().replaceAllUsesWith(dot);
  op.erase();
}

static bool isAll(ArrayRef<int64_t> list, int64_t value) {
  return llvm::all_of(list, [&](int64_t v) { return v == value; });
}

void KMajorWeights::multiply(prim::ConvOp op) {
  auto w = tensorType(op.getW());
  int64_t channels = tensorType(op.getX()).getRank() - 1;
  if (!weightOf(op.getW()) || !op.getChannelsLast() || op.getGroups() != 1 ||
      !isAll(w.getShape().drop_front(2), 1) || !isAll(op.getStrides(), 1) ||
      !isAll(op.getInputDilation(), 1) || !isAll(op.getLow(), 0) || !isAll(op.getHigh(), 0))
    return;
  Value right = derived(op.getW(), ".points", w.getShape().take_front(2),
                        [](const Weight &source) { return source; });
  OpBuilder b(op);
  Value dot =
      prim::DotOp::create(b, op.getLoc(), op.getType(), op.getX(), right, ArrayRef<int64_t>(),
                          ArrayRef<int64_t>(), ArrayRef<int64_t>{channels}, ArrayRef<int64_t>{1});
  op.getResult().replaceAllUsesWith(dot);
  op.erase();
}

namespace {

class KMajorWeightsPass : public tcc::impl::KMajorWeightsPassBase<KMajorWeightsPass> {
public:
  explicit KMajorWeightsPass(WeightTable *weights) : weights(weights) {}
  void runOnOperation() override {
    KMajorWeights layout(*weights);
    getOperation().walk([&](prim::ConvOp op) { layout.multiply(op); });
    getOperation().walk([&](prim::DotOp op) { layout.transpose(op); });
  }

private:
  WeightTable *weights;
};

} // namespace

std::unique_ptr<Pass> tcc::createKMajorWeightsPass(WeightTable *weights) {
  return std::make_unique<KMajorWeightsPass>(weights);
}
