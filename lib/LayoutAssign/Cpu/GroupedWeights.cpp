//===- GroupedWeights.cpp - Products read small integers with scales ------===//
//
// Weights of 4 bits come with a scale, and often a zero point, for each group of 32 or so along the
// sum, those of 8 bits with a scale for each column. Folded, they are floats of four to eight times
// the bytes, and a token of a language model takes as long as its weights take to come from memory:
//
//   %f = prim.cast %q                  // [n, groups, 32], of constants
//   %s = (%f - zeros) * scales         // [n, groups, 1] each, repeated
//   %y = prim.dot %x, reshape %s       // by [n, k]
// becomes
//   %w = prim.weight "q.grouped" : tensor<n x k x f32, #cpu.grouped<...>>
//   %y = prim.dot %x, %w
//
// The product widens what it reads: in registers for a few rows, a panel at a time for many
// (Codegen/Cpu/Products/GroupedPanels.h). So one model has prompts and tokens of any number read
// the same integers. k may be the first or the last axis; a group that is longer than a block of k
// is stored as equal parts. How integers were stored and unpacked before does not matter: they are
// computed here, before constants are folded, and packed at once, so that no wider form is kept.
//
// Left alone: groups that fill no words of 32 bits, and sums of floats other than f32.
//
//===----------------------------------------------------------------------===//
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"

namespace tcc {
#define GEN_PASS_DEF_GROUPEDWEIGHTSPASS
#include "tcc/LayoutAssign/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// (integers - zeros) * scales + shifts, before it is a matrix. Axes: of the columns, of the groups
/// (-1: there is one) and of a group's elements.
struct GroupedForm {
  Value integers, zeros, scales, shifts; ///< zeros and shifts may be null
  int64_t columns, groups, within;
};

/// How the integers are stored: `offset` is added to each.
struct StoredBits {
  unsigned bits;
  int offset;
};

class GroupedWeightsPass : public tcc::impl::GroupedWeightsPassBase<GroupedWeightsPass> {
public:
  GroupedWeightsPass(WeightTable *weights, const CpuTarget *cpu) : weights(weights), cpu(cpu) {}
  void runOnOperation() override {
    getOperation().walk([&](prim::DotOp op) { rewrite(op); });
  }

private:
  using Numbers = std::optional<std::vector<float>>;

  void rewrite(prim::DotOp op);
  Value grouped(Value matrix, int64_t columns);
  std::optional<reference::Tensor> valueOf(Value v);
  Numbers perGroup(Value v, const GroupedForm &form, ArrayRef<int64_t> shape);

  WeightTable *weights;
  const CpuTarget *cpu;
  /// What was made of matrices with their columns along an axis; null where that cannot be.
  DenseMap<std::pair<Value, int64_t>, Value> made;
};

} // namespace

/// Whether `v` tells no elements along `axis` apart.
static bool repeatsAlong(Value v, int64_t axis) {
  if (auto constant = v.getDefiningOp<prim::ConstantOp>())
    return isa<SplatElementsAttr>(constant.getElements());
  auto broadcast = v.getDefiningOp<prim::BroadcastOp>();
  if (!broadcast)
    return false;
  ArrayRef<int64_t> shape = tensorType(broadcast.getX()).getShape();
  return llvm::all_of(llvm::zip_equal(broadcast.getAxes(), shape),
                      [&](auto at) { return std::get<0>(at) != axis || std::get<1>(at) == 1; });
}

/// The operand of `v`, made by `Op`, that repeats along `axis`, which is put into `factor`; `v`
/// itself where it is something else. Of operators that commute it may be either.
template <typename Op> static Value without(Value v, int64_t axis, bool commutes, Value &factor) {
  auto op = v.getDefiningOp<Op>();
  if (!op)
    return v;
  Value rest = op.getLhs(), other = op.getRhs();
  if (commutes && !repeatsAlong(other, axis))
    std::swap(rest, other);
  if (!repeatsAlong(other, axis))
    return v;
  factor = other;
  return rest;
}

/// Takes `matrix` apart.
static std::optional<GroupedForm> groupedForm(Value matrix, int64_t columns) {
  ArrayRef<int64_t> shape = tensorType(matrix).getShape();
  GroupedForm form{{}, {}, {}, {}, columns, -1, 1 - columns};
  Value numbers = matrix;
  if (auto reshape = matrix.getDefiningOp<prim::ReshapeOp>()) {
    ArrayRef<int64_t> from = tensorType(reshape.getX()).getShape();
    numbers = reshape.getX();
    if (from.size() != 3 || from[columns ? 2 : 0] != shape[columns])
      return std::nullopt;
    form.columns = columns ? 2 : 0;
    form.groups = columns ? 0 : 1;
    form.within = form.groups + 1;
  }
  numbers = without<prim::AddOp>(numbers, form.within, true, form.shifts);
  numbers = without<prim::MulOp>(numbers, form.within, true, form.scales);
  numbers = without<prim::SubOp>(numbers, form.within, false, form.zeros);
  auto cast = numbers.getDefiningOp<prim::CastOp>();
  if (!form.scales || !cast || !isa<IntegerType>(tensorType(cast.getX()).getElementType()) ||
      tensorType(cast.getX()).getElementTypeBitWidth() > 8 ||
      !tensorType(cast.getX()).hasStaticShape())
    return std::nullopt;
  form.integers = cast.getX();
  return form;
}

/// The value of what is made of constants alone.
std::optional<reference::Tensor> GroupedWeightsPass::valueOf(Value v) {
  SetVector<Operation *> slice;
  BackwardSliceOptions backward;
  backward.inclusive = true;
  backward.omitBlockArguments = false;
  if (failed(getBackwardSlice(v, &slice, backward)) || slice.empty())
    return std::nullopt;
  DenseMap<Value, reference::Tensor> values;
  for (Operation *op : slice) {
    if (op->getNumRegions() || !reference::isEvaluable(op->getName()) || !isMemoryEffectFree(op) ||
        !llvm::all_of(op->getOperands(), [&](Value operand) { return values.contains(operand); }))
      return std::nullopt;
    SmallVector<reference::Tensor> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values[operand]);
    auto results = reference::evaluateOp(op, operands, *weights);
    if (!results) {
      llvm::consumeError(results.takeError());
      return std::nullopt;
    }
    for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
      values[result] = value;
  }
  return values[v];
}

/// `v`, which repeats along a group, as [columns][groups].
GroupedWeightsPass::Numbers GroupedWeightsPass::perGroup(Value v, const GroupedForm &form,
                                                         ArrayRef<int64_t> shape) {
  int64_t columns = shape[form.columns], groups = form.groups < 0 ? 1 : shape[form.groups];
  Value source = v;
  int64_t columnStride = 0, groupStride = 0, stride = 1;
  if (auto broadcast = v.getDefiningOp<prim::BroadcastOp>()) {
    source = broadcast.getX();
    ArrayRef<int64_t> from = tensorType(source).getShape();
    for (size_t i = from.size(); i-- > 0; stride *= from[i]) {
      int64_t axis = broadcast.getAxes()[i];
      if (from[i] != 1)
        (axis == form.columns ? columnStride : groupStride) = stride;
    }
  }
  auto value = valueOf(source);
  if (!value || value->dtype() != DType::F32)
    return std::nullopt;
  std::vector<float> all(columns * groups);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t g = 0; g < groups; ++g)
      all[column * groups + g] = value->as<float>()[column * columnStride + g * groupStride];
  return all;
}

/// The fewest bits that hold the integers of groups of `group`, which fill whole words.
static std::optional<StoredBits> storedBits(ArrayRef<char> integers, bool isUnsigned,
                                            int64_t group) {
  int least = 0, most = 0;
  for (char c : integers) {
    int i = isUnsigned ? int(uint8_t(c)) : int(static_cast<signed char>(c));
    least = std::min(least, i);
    most = std::max(most, i);
  }
  for (unsigned bits : {2U, 4U, 8U}) {
    int count = 1 << bits, offset = least < 0 ? count / 2 : 0;
    if (least + offset >= 0 && most + offset < count && group * bits % 32 == 0)
      return StoredBits{bits, offset};
  }
  return std::nullopt;
}

/// The longest equal parts of a group that are stored as groups: a block of k has whole ones.
static int64_t storedGroup(int64_t group) {
  constexpr int64_t most = 256, fewest = 4;
  for (int64_t parts = llvm::divideCeil(group, most); parts <= group / fewest; ++parts)
    if (group % parts == 0 && group / parts % fewest == 0)
      return group / parts;
  return 0;
}

/// The zero point that all groups have, if it is an integer.
static std::optional<int64_t> commonZero(ArrayRef<float> zeros, int offset) {
  if (zeros.empty())
    return offset;
  bool same = llvm::all_of(zeros, [&](float z) { return z == zeros[0]; });
  if (!same || std::fabs(zeros[0]) > 256 || zeros[0] != std::floor(zeros[0]))
    return std::nullopt;
  return int64_t(zeros[0]) + offset;
}

/// Columns of a panel: of the highest register tiles, which widen a number for the most rows, the
/// widest that `n` columns fill.
static int64_t groupedWidth(const CpuTarget &cpu, int64_t n) {
  int64_t lanes = cpu.lanes(32), vectors = 1;
  while (vectors < 4 && n > vectors * lanes &&
         registerTileRows(cpu, vectors + 1) == registerTileRows(cpu, 1))
    ++vectors;
  return vectors * lanes;
}

/// The name of the first weight that `v` is made of.
static prim::WeightOp firstWeight(Value v) {
  Operation *op = v.getDefiningOp();
  while (op && !isa<prim::WeightOp>(op) && op->getNumOperands() > 0)
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_if_present<prim::WeightOp>(op);
}

/// `matrix` with its columns along axis `columns` as a weight that is grouped, or null.
Value GroupedWeightsPass::grouped(Value matrix, int64_t columns) {
  auto form = groupedForm(matrix, columns);
  if (!form)
    return {};
  RankedTensorType type = tensorType(matrix), from = tensorType(form->integers);
  ArrayRef<int64_t> shape = from.getShape();
  int64_t n = type.getDimSize(columns), k = type.getDimSize(1 - columns);
  int64_t group = storedGroup(shape[form->within]), parts = group ? shape[form->within] / group : 0;
  if (n == 0 || k == 0 || group == 0)
    return {};
  auto integers = valueOf(form->integers);
  auto scales = perGroup(form->scales, *form, shape);
  Numbers none = std::vector<float>(), zeros = none, shifts = none;
  if (form->zeros)
    zeros = perGroup(form->zeros, *form, shape);
  if (form->shifts)
    shifts = perGroup(form->shifts, *form, shape);
  if (!integers || !scales || !zeros || !shifts)
    return {};
  ArrayRef<char> bytes(integers->data(), integers->elements());
  auto bits = storedBits(bytes, from.getElementType().isUnsignedInteger(), group);
  if (!bits)
    return {};
  GroupedShape stored{n, k / group, group, groupedWidth(*cpu, n), bits->bits, {}};
  if (shifts->empty())
    stored.zero = commonZero(*zeros, bits->offset);

  std::vector<uint8_t> raised(bytes.size());
  llvm::transform(bytes, raised.begin(), [&](char c) { return uint8_t(c + bits->offset); });
  std::vector<float> partScales, offsets;
  for (size_t i = 0; i < scales->size(); ++i) {
    float zero = static_cast<float>(bits->offset) + (zeros->empty() ? 0 : (*zeros)[i]);
    float offset = (shifts->empty() ? 0 : (*shifts)[i]) - zero * (*scales)[i];
    partScales.insert(partScales.end(), parts, (*scales)[i]);
    offsets.insert(offsets.end(), parts, offset);
  }
  GroupedSource source{raised, columns ? 1 : k, columns ? n : 1, partScales, offsets};

  OpBuilder b(matrix.getContext());
  b.setInsertionPointAfterValue(matrix);
  auto layout =
      cpu::GroupedAttr::get(b.getContext(), columns, stored.width, group, stored.bits, stored.zero);
  prim::WeightOp made = firstWeight(form->integers);
  const Weight *first = made ? weights->describe(made.getName()) : nullptr;
  std::string name = (made ? made.getName().str() : std::string("integers")) + ".grouped";
  auto owner = std::make_shared<std::vector<char>>(packGroups(source, stored));
  Weight weight{DType::F32, stored.dims(), *owner,
                owner,      nullptr,       first ? first->role : WeightRole::Constant};
  name = weights->add(name, std::move(weight));
  return prim::WeightOp::create(b, matrix.getLoc(), type.cloneWithEncoding(layout),
                                b.getStringAttr(name));
}

void GroupedWeightsPass::rewrite(prim::DotOp op) {
  auto isF32 = [](Value v) { return tensorType(v).getElementType().isF32(); };
  RankedTensorType lhs = tensorType(op.getLhs()), rhs = tensorType(op.getRhs());
  if (!isF32(op.getResult()) || !isF32(op.getLhs()) || !isF32(op.getRhs()) || rhs.getRank() != 2 ||
      !rhs.hasStaticShape() || !op.getLhsBatch().empty() || op.getRhsContract().size() != 1 ||
      op.getLhsContract() != ArrayRef(lhs.getRank() - 1))
    return;
  int64_t columns = 1 - op.getRhsContract()[0];
  auto [known, isNew] = made.try_emplace({op.getRhs(), columns});
  if (isNew)
    known->second = grouped(op.getRhs(), columns);
  if (Value weight = known->second)
    op.getRhsMutable().assign(weight);
}

std::unique_ptr<Pass> tcc::createGroupedWeightsPass(WeightTable *weights, const CpuTarget *cpu) {
  return std::make_unique<GroupedWeightsPass>(weights, cpu);
}
