//===- ContractionKernel.cpp - prim.dot and prim.packed_dot as kernels ----===//
//
// The product is the template of Contraction.h; what is fused after it is
// evaluated in its epilogue, a vector of one row at a time, with the product's
// value provided from registers. A batched product runs the tasks of each batch
// entry one after the other.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "ProductSpec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

Operation *tcc::codegen::contractionOf(kernel::LaunchOp launch) {
  for (Operation &op : launch.getBody().front())
    if (isa<prim::DotOp, prim::PackedDotOp, prim::PackedConvOp, prim::ConvOp>(op))
      return &op;
  return nullptr;
}

/// The stride, in elements, of each axis of a dense tensor.
static SmallVector<Index> stridesOf(KernelBuilder &k, ArrayRef<Index> extents) {
  SmallVector<Index> strides(extents.size());
  Index stride = k.constant(1);
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    stride = k.mul(stride, extents[i]);
  }
  return strides;
}

/// Several axes as one of a single stride, if they lie one inside the other.
static std::optional<std::pair<Index, Index>> mergeAxes(KernelBuilder &k, ArrayRef<int64_t> axes,
                                                        ArrayRef<Index> extents,
                                                        ArrayRef<Index> strides) {
  if (axes.empty())
    return std::pair(k.constant(1), k.constant(0));
  for (size_t i = 0; i + 1 < axes.size(); ++i)
    if (axes[i] + 1 != axes[i + 1])
      return std::nullopt;
  Index extent = k.constant(1);
  for (int64_t axis : axes)
    extent = k.mul(extent, extents[axis]);
  return std::pair(extent, strides[axes.back()]);
}

static SmallVector<int64_t> freeAxes(int64_t rank, ArrayRef<int64_t> batch,
                                     ArrayRef<int64_t> contract) {
  SmallVector<int64_t> free;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis))
      free.push_back(axis);
  return free;
}

static bool isUnsigned(Type t) {
  auto i = dyn_cast<IntegerType>(t);
  return i && i.isUnsigned();
}

static Type accumulatorType(Type result) {
  Builder b(result.getContext());
  if (isa<FloatType>(result) && result.getIntOrFloatBitWidth() < 32)
    return b.getF32Type();
  return isa<IntegerType>(result) ? b.getIntegerType(result.getIntOrFloatBitWidth()) : result;
}

/// Types that the template reads: everything but sub-byte and 8-bit floats.
static bool readable(Type t) {
  if (t.isF16() || t.isBF16() || t.isF32() || t.isF64())
    return true;
  auto i = dyn_cast<IntegerType>(t);
  return i && i.getWidth() >= 8;
}

std::optional<ProductSpec> tcc::codegen::productSpec(OpBuilder &b, Location loc, Operation *op,
                                                     ArrayRef<Index> lhsExtents,
                                                     ArrayRef<Index> rhsExtents,
                                                     const CpuTarget &cpu) {
  KernelBuilder k(b, loc);
  ProductSpec p;
  ContractionSpec &spec = p.spec;
  auto lt = tensorType(op->getOperand(0)), rt = tensorType(op->getOperand(1));
  Type result = tensorType(op->getResult(0)).getElementType();
  if (!readable(lt.getElementType()) || !readable(rt.getElementType()) || !readable(result))
    return std::nullopt;
  bool isFloat = isa<FloatType>(result);
  if (isFloat != isa<FloatType>(lt.getElementType()) ||
      isFloat != isa<FloatType>(rt.getElementType()))
    return std::nullopt;
  spec.cpu = cpu;
  spec.acc = accumulatorType(result);
  spec.aElement = storageType(lt.getElementType());
  spec.bElement = storageType(rt.getElementType());
  spec.aUnsigned = isUnsigned(lt.getElementType());
  spec.bUnsigned = isUnsigned(rt.getElementType());
  SmallVector<Index> ls = stridesOf(k, lhsExtents);
  p.batch = k.constant(1);
  if (auto packed = dyn_cast<prim::PackedDotOp>(op)) {
    spec.m = k.constant(1);
    for (Index extent : lhsExtents.drop_back())
      spec.m = k.mul(spec.m, extent);
    spec.n = k.constant(packed.getColumns());
    spec.k = k.constant(rt.getDimSize(2));
    spec.aRowStride = spec.k;
    spec.aKStride = k.constant(1);
    spec.bLayout = PanelLayout::Packed;
  } else {
    auto dot = cast<prim::DotOp>(op);
    SmallVector<Index> rs = stridesOf(k, rhsExtents);
    SmallVector<int64_t> lf = freeAxes(lt.getRank(), dot.getLhsBatch(), dot.getLhsContract());
    SmallVector<int64_t> rf = freeAxes(rt.getRank(), dot.getRhsBatch(), dot.getRhsContract());
    if (dot.getLhsContract().size() != 1)
      return std::nullopt;
    auto rows = mergeAxes(k, lf, lhsExtents, ls), columns = mergeAxes(k, rf, rhsExtents, rs);
    if (!rows || !columns)
      return std::nullopt;
    spec.m = rows->first;
    spec.n = columns->first;
    spec.k = lhsExtents[dot.getLhsContract()[0]];
    spec.aRowStride = rows->second;
    spec.aKStride = ls[dot.getLhsContract()[0]];
    Index kStride = rs[dot.getRhsContract()[0]];
    if (k.isKnown(columns->second, 1) || rf.empty()) {
      spec.bLayout = PanelLayout::RowMajor;
      spec.bStride = kStride;
    } else if (k.isKnown(kStride, 1)) {
      spec.bLayout = PanelLayout::Transposed;
      spec.bStride = columns->second;
    } else {
      return std::nullopt;
    }
    for (auto [l, r] : llvm::zip(dot.getLhsBatch(), dot.getRhsBatch())) {
      p.batchExtents.push_back(lhsExtents[l]);
      p.lhsBatchStrides.push_back(ls[l]);
      p.rhsBatchStrides.push_back(rs[r]);
      p.batch = k.mul(p.batch, lhsExtents[l]);
    }
  }
  ContractionShape shape;
  shape.m = k.known(spec.m).value_or(-1);
  shape.n = k.known(spec.n).value_or(-1);
  shape.k = k.known(spec.k).value_or(-1);
  shape.accBits = spec.acc.getIntOrFloatBitWidth();
  shape.b = spec.bLayout;
  shape.packsA = !k.isKnown(spec.aKStride, 1);
  spec.schedule = chooseContraction(cpu, shape);
  return p;
}

/// Where a result that is a transpose of the product's shape is stored for the
/// product's point `at`.
static Coords storedAt(Value yielded, ArrayRef<Coord> at) {
  auto transpose = yielded.getDefiningOp<prim::TransposeOp>();
  if (!transpose)
    return Coords(at);
  Coords moved;
  for (int64_t axis : transpose.getPermutation())
    moved.push_back(at[axis]);
  return moved;
}

/// Evaluates what is fused after the product for `valid` of the lanes of `acc`.
static void emitEpilogue(KernelFrame &f, Operation *product, ArrayRef<Value> batch,
                         ArrayRef<Value> rowExtents, bool hasColumns, Value m, Value n, Value acc,
                         Index valid) {
  auto vector = dyn_cast<VectorType>(acc.getType());
  unsigned lanes = vector ? vector.getDimSize(0) : 1;
  auto emit = [&](Value mask) {
    f.e.setLanes(lanes);
    f.e.setMask(mask);
    Coords at;
    for (Value i : batch)
      at.push_back(Coord::uniform(i));
    for (Value i : f.delinearize(m, rowExtents))
      at.push_back(Coord::uniform(i));
    if (hasColumns)
      at.push_back(Coord::affine(n, lanes > 1 ? 1 : 0));
    f.e.bindProvider(product->getResult(0), [acc](ArrayRef<Coord>) { return acc; });
    for (auto [value, memory] : llvm::zip(f.yield().getValues(), f.results)) {
      Coords stored = storedAt(value, at);
      Value v = f.e.eval(value, stored);
      if (!v) {
        f.failed = true;
        break;
      }
      f.e.store(memory, stored, v);
    }
    f.e.setMask({});
    f.e.setLanes(1);
  };
  auto known = getConstantIntValue(valid);
  if (known == lanes || lanes == 1) {
    emit({});
    return;
  }
  // The right edge: only some lanes exist.
  auto maskFor = [&]() -> Value {
    SmallVector<int64_t> steps;
    for (unsigned i = 0; i < lanes; ++i)
      steps.push_back(i);
    auto type = VectorType::get({lanes}, f.b.getIndexType());
    Value lane = arith::ConstantOp::create(f.b, DenseElementsAttr::get(type, ArrayRef(steps)));
    Value count = known ? f.e.index(*known) : cast<Value>(valid);
    return arith::CmpIOp::create(f.b, arith::CmpIPredicate::slt, lane, f.e.splat(count, lanes));
  };
  if (known) {
    emit(maskFor());
    return;
  }
  Value whole =
      arith::CmpIOp::create(f.b, arith::CmpIPredicate::sge, cast<Value>(valid), f.e.index(lanes));
  auto branch = scf::IfOp::create(f.b, whole, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  emit({});
  f.b.setInsertionPointToStart(branch.elseBlock());
  emit(maskFor());
}

/// Runs `emitTemplate` with an epilogue that works at the template's builder.
void tcc::codegen::withEpilogue(KernelFrame &f, Operation *product, ArrayRef<Value> batch,
                                ArrayRef<Value> rowExtents, bool hasColumns,
                                llvm::function_ref<void(EpilogueFn)> emitTemplate) {
  emitTemplate([&](OpBuilder &builder, Location, Value m, Value n, Value acc, Index valid) {
    OpBuilder::InsertionGuard guard(f.b);
    f.b.restoreInsertionPoint(builder.saveInsertionPoint());
    f.e.nested([&] {
      f.e.forget();
      emitEpilogue(f, product, batch, rowExtents, hasColumns, m, n, acc, valid);
    });
    builder.restoreInsertionPoint(f.b.saveInsertionPoint());
  });
}

static SmallVector<Index> asIndices(ValueRange extents) {
  SmallVector<Index> all;
  for (Value v : extents)
    all.push_back(getAsOpFoldResult(v));
  return all;
}

bool tcc::codegen::emitContractionKernel(KernelFrame &f) {
  Operation *op = contractionOf(f.launch);
  const Memory *lhs = f.e.memoryOf(op->getOperand(0)), *rhs = f.e.memoryOf(op->getOperand(1));
  auto product = lhs && rhs ? productSpec(f.b, f.b.getLoc(), op, asIndices(lhs->extents),
                                          asIndices(rhs->extents), f.cpu)
                            : std::nullopt;
  if (!product)
    return emitLoopKernel(f);
  KernelBuilder k(f.b, f.b.getLoc());
  unsigned batchRank = product->batchExtents.size();
  auto resultType = tensorType(op->getResult(0));
  bool hasColumns = true;
  unsigned rowRank;
  if (auto dot = dyn_cast<prim::DotOp>(op)) {
    rowRank = freeAxes(tensorType(dot.getLhs()).getRank(), dot.getLhsBatch(), dot.getLhsContract())
                  .size();
    unsigned columnRank = resultType.getRank() - batchRank - rowRank;
    if (columnRank > 1)
      return emitLoopKernel(f);
    hasColumns = columnRank == 1;
  } else {
    rowRank = resultType.getRank() - 1;
  }
  SmallVector<Value> rowExtents;
  for (unsigned i = 0; i < rowRank; ++i)
    rowExtents.push_back(f.e.extent(op->getResult(0), batchRank + i));
  ContractionSpec &spec = product->spec;
  if (batchRank == 0) {
    spec.a = lhs->pointer;
    spec.b = rhs->pointer;
    withEpilogue(f, op, {}, rowExtents, hasColumns, [&](EpilogueFn epilogue) {
      emitContractionTasks(f.b, f.b.getLoc(), spec, f.begin, f.end, epilogue);
    });
    return !f.failed;
  }
  Value perBatch = k.value(emitContractionTaskCount(f.b, f.b.getLoc(), spec));
  f.loop(f.begin, f.end, 1, [&](Value task) {
    Value entry = f.e.divIndex(task, perBatch), inner = f.e.remIndex(task, perBatch);
    SmallVector<Value> extents;
    for (Index d : product->batchExtents)
      extents.push_back(k.value(d));
    SmallVector<Value> batch = f.delinearize(entry, extents);
    Index a = k.constant(0), b = k.constant(0);
    for (auto [i, v] : llvm::enumerate(batch)) {
      a = k.mulAdd(v, product->lhsBatchStrides[i], a);
      b = k.mulAdd(v, product->rhsBatchStrides[i], b);
    }
    spec.a = k.address(lhs->pointer, spec.aElement, a);
    spec.b = k.address(rhs->pointer, spec.bElement, b);
    withEpilogue(f, op, batch, rowExtents, hasColumns, [&](EpilogueFn epilogue) {
      emitContractionTask(f.b, f.b.getLoc(), spec, inner, epilogue);
    });
  });
  return !f.failed;
}
