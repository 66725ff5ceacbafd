//===- BoxedAttention.cpp - Attention for wgmma ---------------------------===//
#include "BoxedAttention.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// The axis of an operand that is neither summed over nor paired, if it is one.
static std::optional<int64_t> freeAxis(prim::DotOp dot, unsigned which) {
  ArrayRef<int64_t> batch = which ? dot.getRhsBatch() : dot.getLhsBatch();
  ArrayRef<int64_t> summed = which ? dot.getRhsContract() : dot.getLhsContract();
  std::optional<int64_t> found;
  for (int64_t axis = 0; axis < tensorType(dot->getOperand(which)).getRank(); ++axis) {
    if (llvm::is_contained(batch, axis) || llvm::is_contained(summed, axis))
      continue;
    if (found)
      return std::nullopt;
    found = axis;
  }
  return found;
}

/// Operands, the weights and the values have one type, and sums are kept in f32.
static bool hasTypes(const AttentionForm &form) {
  auto element = [](Value v) { return tensorType(v).getElementType(); };
  prim::DotOp scores = form.scores, values = form.values;
  Type type = element(scores.getLhs());
  return (type.isBF16() || type.isF16()) && element(scores.getRhs()) == type &&
         element(values.getLhs()) == type && element(values.getRhs()) == type;
}

/// The value of a constant that is the same everywhere, spread or not; 0 of anything else.
static double splatOf(Value value) {
  while (isa_and_nonnull<prim::BroadcastOp, prim::ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto constant = value.getDefiningOp<prim::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getElements()) : DenseElementsAttr();
  return dense && dense.isSplat() && dense.getElementType().isF32()
             ? dense.getSplatValue<APFloat>().convertToFloat()
             : 0;
}

/// What `score` is a positive multiple of, and the factor.
static std::pair<Value, double> positiveScale(Value score) {
  double scale = 1;
  while (auto mul = score.getDefiningOp<prim::MulOp>()) {
    double left = splatOf(mul.getLhs()), right = splatOf(mul.getRhs());
    double factor = std::max(left, right);
    if (!std::isnormal(static_cast<float>(factor * scale)) || factor <= 0)
      break;
    score = right > 0 ? mul.getLhs() : mul.getRhs();
    scale *= right > 0 ? right : left;
  }
  return {score, scale};
}

/// The conditions of a mask that say of a key whether the rows of a batch see it, if all do.
static SmallVector<KeyCondition> conditionsOfKeys(const AttentionForm &form, const KeyMask &mask,
                                                  int batchAxes) {
  auto shape = tensorType(form.score).getShape();
  if (shape != tensorType(prim::DotOp(form.scores).getResult()).getShape())
    return {};
  auto keys = static_cast<int>(shape.size()) - 1;
  bool all = llvm::all_of(mask.conditions, [&](const KeyCondition &condition) {
    return llvm::all_of(condition.at, [&](int axis) { return axis < batchAxes || axis == keys; });
  });
  return all ? mask.conditions : SmallVector<KeyCondition>();
}

std::optional<BoxedAttention> device::boxedAttention(kernel::LaunchOp launch) {
  constexpr int64_t kStep = 16, kColumns = 8; // of what an instruction sums, and of its result
  AttentionForm form = attentionOf(launch);
  prim::DotOp scores = form.scores, values = form.values;
  auto shape = tensorType(scores.getResult()).getShape();
  std::optional<int64_t> keyAxis = freeAxis(scores, 1), valueAxis = freeAxis(values, 1);
  if (!hasTypes(form) || !keyAxis || !valueAxis || values.getRhsContract().size() != 1)
    return std::nullopt;
  // The result of a product has axes of the batch, then of rows, then of columns.
  unsigned batchAxes = scores.getLhsBatch().size(), rowAxes = shape.size() - 1 - batchAxes;
  ArrayRef<int64_t> rows = shape.slice(batchAxes, rowAxes);
  if (rowAxes == 0 || llvm::count_if(rows, ShapedType::isDynamic) > 1)
    return std::nullopt;
  const int64_t *open = llvm::find_if(rows, ShapedType::isDynamic);
  unsigned tiled = (open != rows.end() ? open : llvm::max_element(rows)) - rows.begin();
  SmallVector<int64_t> freeAxes;
  for (int64_t axis = 0; axis < tensorType(scores.getLhs()).getRank(); ++axis)
    if (!llvm::is_contained(scores.getLhsBatch(), axis) &&
        !llvm::is_contained(scores.getLhsContract(), axis))
      freeAxes.push_back(axis);
  auto q = boxOperand(scores, 0, freeAxes[tiled]), k = boxOperand(scores, 1, *keyAxis),
       v = boxOperand(values, 1, *valueAxis);
  if (!q || !k || !v || !q->byInner(freeAxes[tiled]))
    return std::nullopt;
  auto volume = [](ArrayRef<int64_t> extents) {
    return ShapedType::isDynamicShape(extents)
               ? -1
               : std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
  };
  SmallVector<int64_t> otherRows(rows);
  otherRows.erase(otherRows.begin() + tiled);
  KeyMask mask = keyMaskOf(form.score);
  SmallVector<KeyCondition> conditions = conditionsOfKeys(form, mask, int(batchAxes));
  auto [core, scale] = positiveScale(conditions.empty() ? mask.seen : mask.chosen);
  BoxedAttention a{form,
                   std::move(mask),
                   std::move(conditions),
                   core,
                   scale,
                   *q,
                   *k,
                   *v,
                   batchAxes,
                   rowAxes,
                   tiled,
                   volume(shape.take_front(batchAxes)),
                   volume(otherRows),
                   volume(rows[tiled]),
                   volume(shape.back()),
                   tensorType(scores.getLhs()).getDimSize(scores.getLhsContract()[0]),
                   tensorType(values.getResult()).getShape().back(),
                   k->byInner(int(*keyAxis)),
                   v->byInner(int(*valueAxis))};
  // Weights of what lies past the last key are zero; the values there must be numbers. So must
  // queries and keys past the head's end be.
  bool endsWell = v->endsWith(int(values.getRhsContract()[0]));
  if (a.depth % kStep != 0)
    endsWell &= a.keysByInner && q->endsWith(q->columnAxis) && k->endsWith(k->columnAxis);
  bool knowsHeads = !ShapedType::isDynamic(a.depth) && !ShapedType::isDynamic(a.width);
  if (!knowsHeads || a.depth % kColumns || a.width % kColumns || !endsWell)
    return std::nullopt;
  return a;
}

/// Registers of each thread when a block starts.
static unsigned registersAtStart(unsigned threads) {
  constexpr unsigned kUnit = 8;
  return llvm::alignDown(GpuArch::registers / threads, kUnit);
}

unsigned BoxedAttentionTile::registers(unsigned resident) const {
  constexpr unsigned kMost = 240, kUnit = 8;
  unsigned groups = consumers + 1;
  unsigned all = std::min(registersAtStart(threads() * resident), kMost) * groups;
  return std::min<unsigned>(kMost, llvm::alignDown((all - fetchRegisters) / consumers, kUnit));
}

unsigned BoxedAttentionTile::resident(const BoxedAttention &a) const {
  constexpr unsigned kMost = 4;
  // ptxas takes no instruction that needs more than a block starts with: its sums, and others.
  unsigned sums = std::max(keys, unsigned(a.width)) / 2;
  auto fits = [&](unsigned blocks) {
    return registers(blocks) >= held(a) + otherRegisters &&
           registersAtStart(threads() * blocks) >= sums + otherRegisters;
  };
  unsigned resident = 1;
  while (resident < kMost && fits(resident + 1))
    ++resident;
  return resident;
}

BoxedAttentionTile::BoxedAttentionTile(const BoxedAttention &a, unsigned rows, unsigned keys,
                                       unsigned queryStages, unsigned consumers)
    : rows(rows), keys(keys), queryStages(queryStages), consumers(consumers) {
  // Boxes of 64 columns, side by side.
  auto bytes = [](int64_t rows, int64_t columns) {
    return static_cast<unsigned>(rows * llvm::alignTo(columns, BoxOperand::columns) * 2);
  };
  queryBytes = bytes(rows, a.depth);
  keyBytes = a.keysByInner ? bytes(keys, a.depth) : bytes(a.depth, keys);
  valueBytes = a.valuesByInner ? bytes(a.width, keys) : bytes(keys, a.width);
}

BoxedAttentionTile BoxedAttentionTile::of(Schedule schedule, const BoxedAttention &a) {
  return {a, schedule.getRows(), schedule.getColumns(), schedule.getVectors(),
          schedule.getThreads() / 128 - 1};
}
