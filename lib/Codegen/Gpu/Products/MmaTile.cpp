//===- MmaTile.cpp - How blocks tile products for mma.sync ----------------===//
#include "MmaTile.h"
#include "tcc/Codegen/Common/Elemental.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

// A warp's part needs 16 rows and 32 columns at least; more of both read shared memory less
// often. Eight chunks a line of a tile are no fewer than its threads.
constexpr MmaTile kTiles[] = {{128, 256, 64, 64}, {128, 128, 64, 32}, {128, 64, 64, 32},
                              {64, 128, 64, 32},  {64, 64, 32, 32},   {128, 32, 32, 32},
                              {64, 32, 16, 32},   {32, 128, 32, 32},  {32, 64, 16, 32},
                              {16, 128, 16, 32},  {16, 64, 16, 32}};

ArrayRef<MmaTile> MmaTile::all() { return kTiles; }

MmaTile MmaTile::of(Schedule schedule) {
  const auto *tile = llvm::find_if(kTiles, [&](const MmaTile &t) {
    return t.rows == schedule.getRows() && t.columns == schedule.getColumns();
  });
  assert(tile != std::end(kTiles) && "the schedule model takes tiles of the table");
  return *tile;
}

MmaProduct MmaProduct::with(int64_t open) const {
  MmaProduct sized = *this;
  for (int64_t *extent : {&sized.rows, &sized.columns})
    if (*extent < 0)
      *extent = open;
  return sized;
}

unsigned MmaProduct::depth() const { return MmaTile::lineBytes / instruction.elementBytes(); }

/// The product of some extents; -1 where one is not known.
static int64_t volume(RankedTensorType type, function_ref<bool(int64_t)> has) {
  int64_t product = 1;
  for (auto [axis, d] : llvm::enumerate(type.getShape()))
    if (has(axis))
      product = ShapedType::isDynamic(d) || product < 0 ? -1 : product * d;
  return product;
}

static void sizesOf(prim::DotOp dot, ProductSizes &product) {
  auto isIn = [](ArrayRef<int64_t> axes) {
    return [axes](int64_t axis) { return llvm::is_contained(axes, axis); };
  };
  auto isFree = [](ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    return [batch, contract](int64_t axis) {
      return !llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis);
    };
  };
  auto l = tensorType(dot.getLhs()), r = tensorType(dot.getRhs());
  product.batch = volume(l, isIn(dot.getLhsBatch()));
  product.rows = volume(l, isFree(dot.getLhsBatch(), dot.getLhsContract()));
  product.columns = volume(r, isFree(dot.getRhsBatch(), dot.getRhsContract()));
  product.inner = volume(l, isIn(dot.getLhsContract()));
}

static void sizesOf(prim::ConvOp conv, ProductSizes &product) {
  auto w = tensorType(conv.getW()), y = tensorType(conv.getResult());
  int64_t channels = conv.getChannelsLast() ? y.getRank() - 1 : 1;
  product.batch = conv.getGroups();
  product.columns = w.isDynamicDim(0) ? -1 : w.getDimSize(0) / product.batch;
  product.rows = volume(y, [&](int64_t axis) { return axis != channels; });
  product.inner = volume(w, [](int64_t axis) { return axis > 0; });
}

ProductSizes ProductSizes::of(Operation *product) {
  ProductSizes sizes;
  if (auto dot = dyn_cast<prim::DotOp>(product))
    sizesOf(dot, sizes);
  else
    sizesOf(cast<prim::ConvOp>(product), sizes);
  return sizes;
}

std::optional<MmaProduct> device::mmaProduct(kernel::LaunchOp launch, bool tf32) {
  Operation *op = productOf(launch);
  return op ? mmaProduct(op, tf32) : std::nullopt;
}

std::optional<MmaProduct> device::mmaProduct(Operation *op, bool tf32) {
  auto l = tensorType(op->getOperand(0)), r = tensorType(op->getOperand(1));
  auto instruction = MatrixInstruction::of(l.getElementType(), r.getElementType());
  if (!instruction || (instruction->rounds() && !tf32) ||
      computeType(sumType(tensorType(op->getResult(0)).getElementType())) != instruction->sum)
    return std::nullopt;
  MmaProduct product{ProductSizes::of(op), *instruction};
  product.open = product.isOpen();
  product.openInner = product.inner < 0;
  if (product.openInner)
    product.inner = kTypicalReduction;
  return product.inner > 0 ? std::optional(product) : std::nullopt;
}

bool device::isSkinnyMma(Operation *op, const MmaProduct &product) {
  constexpr int64_t kRows = MatrixInstruction::rows;
  auto dot = dyn_cast<prim::DotOp>(op);
  if (!dot || product.rows < 1 || product.rows > kRows)
    return false;
  auto isLast = [&](Value v, ArrayRef<int64_t> axes) {
    RankedTensorType type = tensorType(v);
    if (axes.empty() || axes.back() + 1 != type.getRank() || type.isDynamicDim(axes.back()))
      return false;
    int64_t bytes = type.getShape().back() * product.instruction.elementBytes();
    return bytes % GpuArch::accessBytes == 0;
  };
  return isLast(dot.getLhs(), dot.getLhsContract()) && isLast(dot.getRhs(), dot.getRhsContract());
}

bool device::sharesFewRows(Operation *first, Operation *second) {
  auto x = dyn_cast<prim::DotOp>(first), y = dyn_cast<prim::DotOp>(second);
  bool alike = x && y && x.getLhs() == y.getLhs() && x->getAttrs() == y->getAttrs() &&
               x.getRhs().getType() == y.getRhs().getType() && x.getType() == y.getType();
  std::optional<MmaProduct> product = alike ? mmaProduct(x, /*tf32=*/false) : std::nullopt;
  return product && isSkinnyMma(x, *product) && isSkinnyMma(y, *product);
}
