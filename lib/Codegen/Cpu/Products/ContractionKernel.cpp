//===- ContractionKernel.cpp - prim.dot as a kernel ----------------------===//
//
// The product is the template of Contraction.h; what is fused after it is
// evaluated in its epilogue, a vector of one row at a time, with the product's
// value provided from registers. A batched product runs the tasks of each batch
// entry one after the other. Operands are read in place where they are views
// (Analysis/DotOperand.h), and the result may be stored transposed or under another
// shape.
//
//===----------------------------------------------------------------------===//
#include "../KernelFrame.h"
#include "ProductSpec.h"
#include "StridedOperand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Signedness.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Operation *tcc::codegen::contractionOf(kernel::LaunchOp launch) {
  for (Operation &op : launch.getBody().front())
    if (op.hasTrait<prim::Contraction>())
      return &op;
  return nullptr;
}

unsigned tcc::codegen::productColumns(Operation *op) {
  auto dot = dyn_cast<prim::DotOp>(op);
  return dot ? tensorType(dot.getRhs()).getRank() - dot.getRhsBatch().size() -
                   dot.getRhsContract().size()
             : 1;
}

/// Types that the template reads: everything but sub-byte and 8-bit floats.
static bool readable(Type t) {
  if (t.isF16() || t.isBF16() || t.isF32() || t.isF64())
    return true;
  auto i = dyn_cast<IntegerType>(t);
  return i && i.getWidth() >= 8;
}

/// How the operands are multiplied in steps, if they are bytes, A's widened or not, or bf16 that
/// can be.
static DotSteps stepsOf(const CpuTarget &cpu, const ContractionSpec &spec) {
  if (spec.aElement.isBF16() && spec.bElement.isBF16() && spec.acc.isF32())
    return bfloatSteps(cpu);
  bool bytes = (spec.aElement.isInteger(8) || (spec.aElement.isInteger(16) && !spec.aUnsigned)) &&
               spec.bElement.isInteger(8) && spec.acc.isInteger(32);
  return bytes
             ? byteSteps(cpu, spec.aUnsigned, spec.bUnsigned, spec.aElement.getIntOrFloatBitWidth())
             : DotSteps();
}

/// Whether rows of narrower elements are copied, a vector of which takes an instruction to widen
/// and each element in a tile several. With 32 registers a few rows by a large matrix wait for
/// memory anyway.
static bool widensRows(const ContractionSpec &spec, const ContractionShape &shape) {
  const int64_t few = spec.cpu.vectorRegisters >= 32 ? 8 : 1; // rows of a tile
  bool isFar = shape.n > 0 && shape.k > 0 &&
               shape.n * shape.k * (shape.accBits / 8) > 4 * int64_t(spec.cpu.l2Bytes);
  return spec.aElement != spec.acc && spec.steps.size <= 1 && spec.groups == 1 && !spec.integers &&
         (shape.m < 0 || shape.m > (isFar ? few : 1));
}

/// Whether a matrix unit multiplies them: rows that lie in place, of whole steps or of so many that
/// copying the last ones is nothing. A single row waits for memory, and what it is multiplied with
/// is read once.
static bool takesMatrixTiles(KernelBuilder &k, const ContractionSpec &spec,
                             const ContractionShape &shape) {
  bool isKnown = spec.steps.bfloat ? spec.cpu.bfloatTiles : spec.cpu.byteTiles;
  constexpr int64_t longRow = 64;
  int64_t depth = k.known(spec.kElements).value_or(1);
  return isKnown && spec.steps.size > 1 && spec.groups == 1 && !shape.copiesA && shape.m != 1 &&
         (depth % spec.steps.size == 0 || depth >= longRow);
}

static SmallVector<ContractionSchedule> rank(KernelBuilder &k, const ContractionSpec &spec,
                                             Index batch, bool variations) {
  ContractionShape shape;
  shape.m = k.known(spec.m).value_or(-1);
  shape.n = k.known(spec.n).value_or(-1);
  shape.k = k.known(spec.k).value_or(-1);
  shape.accBits = spec.acc.getIntOrFloatBitWidth();
  shape.b = spec.bLayout;
  shape.panelWidth = spec.panelWidth;
  if (spec.steps.size > 1 && !spec.panelWidth)
    shape.panelWidth = roomForPairs(spec.cpu, spec.steps, shape.n);
  shape.copiesA = !k.isKnown(spec.aKStride, 1) || widensRows(spec, shape);
  shape.alongRows = !k.isKnown(spec.aKStride, 1) && k.isKnown(spec.aRowStride, 1) &&
                    spec.aElement == spec.acc && spec.steps.size == 1;
  if (spec.bLayout == PanelLayout::RowMajor && spec.bElement == spec.acc)
    shape.rowBytes = k.known(spec.bStride).value_or(0) * (shape.accBits / 8);
  if (spec.integers)
    shape.group = spec.integers->group;
  shape.inPairs = spec.steps.size > 1 && spec.steps.bfloat;
  shape.matrixTiles = takesMatrixTiles(k, spec, shape);
  shape.alongK = isa<FloatType>(spec.acc) && k.isKnown(spec.aKStride, 1) &&
                 (spec.steps.size == 1 || spec.steps.bfloat);
  auto splitsLines = [&](Index stride, Type element) {
    int64_t bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
    return k.known(stride).value_or(1) * bytes % spec.cpu.lineBytes != 0;
  };
  shape.splitsLines =
      shape.alongK && spec.bLayout == PanelLayout::Transposed &&
      (splitsLines(spec.aRowStride, spec.aElement) || splitsLines(spec.bStride, spec.bElement));
  shape.entries = std::max<int64_t>(1, k.known(batch).value_or(1));
  SmallVector<ContractionSchedule> ranked = rankContraction(spec.cpu, shape, variations);
  for (ContractionSchedule &schedule : ranked)
    schedule.stepBytes = spec.steps.size;
  return ranked;
}

/// Takes narrow operands in steps, which `k` then counts.
static void takeSteps(KernelBuilder &k, ContractionSpec &spec) {
  spec.steps = stepsOf(spec.cpu, spec);
  spec.kElements = spec.k;
  spec.k = k.ceilDiv(spec.k, k.constant(spec.steps.size));
}

SmallVector<ContractionSchedule> tcc::codegen::rankSchedules(KernelBuilder &k,
                                                             const ContractionSpec &spec,
                                                             Index batch, bool variations) {
  // Steps are taken of operands that come packed so, or are copied before use.
  if (spec.bLayout != PanelLayout::Packed && stepsOf(spec.cpu, spec).size > 1 &&
      k.isKnown(spec.aKStride, 1)) {
    ContractionSpec inSteps = spec;
    takeSteps(k, inSteps);
    SmallVector<ContractionSchedule> ranked = rank(k, inSteps, batch, variations);
    bool inPlace = spec.bLayout == PanelLayout::RowMajor; // rows of B hold no steps
    if (!ranked.empty() && (ranked.front().packsB() || !inPlace))
      return ranked;
  }
  return rank(k, spec, batch, variations);
}

void tcc::codegen::setSchedule(KernelBuilder &k, ContractionSpec &spec,
                               const ContractionSchedule &schedule) {
  if (schedule.stepBytes > spec.steps.size)
    takeSteps(k, spec);
  spec.schedule = schedule;
  if (schedule.singleTile && schedule.rows == 1)
    spec.m = k.constant(1);
}

std::optional<ProductSpec> tcc::codegen::productSpec(OpBuilder &b, Location loc, Operation *op,
                                                     ArrayRef<Index> lhsExtents,
                                                     ArrayRef<Index> rhsExtents,
                                                     const CpuTarget &cpu, Value rhsPart) {
  KernelBuilder k(b, loc);
  ProductSpec p;
  ContractionSpec &spec = p.spec;
  auto lt = tensorType(op->getOperand(0)), rt = tensorType(op->getOperand(1));
  Type result = tensorType(op->getResult(0)).getElementType();
  if (!readable(lt.getElementType()) || !readable(rt.getElementType()) || !readable(result))
    return std::nullopt;
  bool isFloat = isa<FloatType>(result);
  if (isFloat != isa<FloatType>(lt.getElementType()) ||
      (isFloat != isa<FloatType>(rt.getElementType()) && !rt.getElementType().isInteger(8)))
    return std::nullopt;
  spec.cpu = cpu;
  spec.acc = storageType(sumType(result));
  spec.aElement = storageType(lt.getElementType());
  spec.bElement = storageType(rt.getElementType());
  spec.aUnsigned = prim::isUnsigned(lt.getElementType());
  spec.bUnsigned = prim::isUnsigned(rt.getElementType());
  p.batch = k.constant(1);
  auto dot = cast<prim::DotOp>(op);
  auto setPacked = [&](int64_t depth, int64_t columns, int64_t width) {
    spec.m = k.constant(1);
    for (Index extent : lhsExtents.drop_back())
      spec.m = k.mul(spec.m, extent);
    spec.n = k.constant(columns);
    spec.k = spec.aRowStride = k.constant(depth);
    spec.aKStride = k.constant(1);
    spec.bLayout = PanelLayout::Packed;
    spec.panelWidth = width;
    p.lhsOffset = p.rhsOffset = k.constant(0);
  };
  if (cpu::PanelsAttr panels = cpu::panelsOf(dot.getRhs())) {
    int64_t depth = rt.getDimSize(dot.getRhsContract()[0]);
    setPacked(depth, rt.getDimSize(panels.getColumns()), panels.getWidth());
    if (panels.getStep() > 1) {
      spec.steps = stepsOf(cpu, spec);
      if (spec.steps.size != panels.getStep())
        spec.steps = saturatingSteps(cpu, spec.aUnsigned, spec.bUnsigned);
      spec.kElements = spec.k;
      spec.k = k.constant(spec.steps.count(depth));
    }
  } else if (cpu::GroupedAttr grouped = cpu::groupedOf(dot.getRhs())) {
    spec.integers = cpu::groupsOf(grouped, rt.getShape());
    setPacked(spec.integers->k(), spec.integers->columns, grouped.getWidth());
  } else {
    auto lhs = stridedOperand(k, dot, 0, lhsExtents);
    auto rhs = stridedOperand(k, dot, 1, rhsExtents, rhsPart);
    if (!lhs || !rhs)
      return std::nullopt;
    spec.m = lhs->extent(k, lhs->axes.free);
    spec.n = rhs->extent(k, rhs->axes.free);
    spec.k = lhs->extent(k, lhs->axes.contract);
    spec.aRowStride = lhs->stride(k, lhs->axes.free, 0);
    spec.aKStride = lhs->stride(k, lhs->axes.contract, 1);
    bool rowMajor = rhs->axes.isContiguous(rhs->axes.free);
    spec.bLayout = rowMajor ? PanelLayout::RowMajor : PanelLayout::Transposed;
    spec.bStride =
        rowMajor ? rhs->stride(k, rhs->axes.contract, 1) : rhs->stride(k, rhs->axes.free, 1);
    p.lhsOffset = lhs->offset;
    p.rhsOffset = rhs->offset;
    for (auto [l, r] : llvm::zip(lhs->axes.batch, rhs->axes.batch)) {
      p.batchExtents.push_back(lhs->extent(k, l));
      p.lhsBatchStrides.push_back(lhs->stride(k, l, 0));
      p.rhsBatchStrides.push_back(rhs->stride(k, r, 0));
      p.batch = k.mul(p.batch, p.batchExtents.back());
    }
  }
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

namespace {

/// What is fused after a product, for the template's rows and columns.
class FusedEpilogue {
public:
  FusedEpilogue(KernelFrame &f, Operation *product, ArrayRef<Value> batch,
                ArrayRef<Value> rowExtents, bool hasColumns, Value firstRow)
      : f(f), product(product), batch(batch), rowExtents(rowExtents), hasColumns(hasColumns),
        firstRow(firstRow) {}

  /// Computes and stores the results of `valid` of the lanes of `acc`.
  void emit(Value m, Value n, Value acc, Index valid);
  /// The one result's value for row m and the columns of `acc`, all of them or as many as are
  /// known to be valid.
  Value value(Value m, Value n, Value acc, Index valid);
  Value address(Value m, Value n);
  /// The result as neighbours along the rows, if it is.
  std::optional<TurnedResult> turned();
  bool isFar(); ///< the one result, which lies as rows do, leaves the caches

private:
  Coords pointsAt(Value m, Value n, unsigned lanes);
  Value maskFor(unsigned lanes, Index valid);
  void emitMasked(Value m, Value n, Value acc, Value mask);

  KernelFrame &f;
  Operation *product;
  ArrayRef<Value> batch, rowExtents;
  bool hasColumns;
  Value firstRow; ///< null: 0
};

} // namespace

static unsigned lanesOf(Value acc) {
  auto vector = dyn_cast<VectorType>(acc.getType());
  return vector ? vector.getDimSize(0) : 1;
}

Coords FusedEpilogue::pointsAt(Value m, Value n, unsigned lanes) {
  Coords at;
  for (Value i : batch)
    at.push_back(Coord::uniform(i));
  if (firstRow)
    m = f.e.addIndex(firstRow, m);
  for (Value i : f.delinearize(m, rowExtents))
    at.push_back(Coord::uniform(i));
  if (hasColumns)
    at.push_back(Coord::affine(n, lanes > 1 ? 1 : 0));
  return at;
}

/// The first `valid` of the lanes.
Value FusedEpilogue::maskFor(unsigned lanes, Index valid) {
  SmallVector<int64_t> steps;
  for (unsigned i = 0; i < lanes; ++i)
    steps.push_back(i);
  auto type = VectorType::get({lanes}, f.b.getIndexType());
  Value lane = arith::ConstantOp::create(f.b, DenseElementsAttr::get(type, ArrayRef(steps)));
  auto known = getConstantIntValue(valid);
  Value count = known ? f.e.index(*known) : cast<Value>(valid);
  return arith::CmpIOp::create(f.b, arith::CmpIPredicate::slt, lane, f.e.splat(count, lanes));
}

void FusedEpilogue::emitMasked(Value m, Value n, Value acc, Value mask) {
  f.e.setLanes(lanesOf(acc));
  f.e.setMask(mask);
  Coords at = pointsAt(m, n, lanesOf(acc));
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
}

void FusedEpilogue::emit(Value m, Value n, Value acc, Index valid) {
  if (!hasColumns && isa<VectorType>(acc.getType()))
    acc = vector::ExtractOp::create(f.b, acc, 0); // the one column
  unsigned lanes = lanesOf(acc);
  auto known = getConstantIntValue(valid);
  if (known == lanes || lanes == 1)
    return emitMasked(m, n, acc, {});
  // The right edge: only some lanes exist.
  if (known)
    return emitMasked(m, n, acc, maskFor(lanes, valid));
  Value whole =
      arith::CmpIOp::create(f.b, arith::CmpIPredicate::sge, cast<Value>(valid), f.e.index(lanes));
  auto branch = scf::IfOp::create(f.b, whole, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  emitMasked(m, n, acc, {});
  f.b.setInsertionPointToStart(branch.elseBlock());
  emitMasked(m, n, acc, maskFor(lanes, valid));
}

Value FusedEpilogue::value(Value m, Value n, Value acc, Index valid) {
  unsigned lanes = lanesOf(acc);
  f.e.setLanes(lanes);
  if (lanes > 1 && getConstantIntValue(valid) != lanes)
    f.e.setMask(maskFor(lanes, valid));
  f.e.bindProvider(product->getResult(0), [acc](ArrayRef<Coord>) { return acc; });
  Value yielded = f.yield().getValues()[0];
  Value v = f.e.evalVector(yielded, storedAt(yielded, pointsAt(m, n, lanes)));
  f.failed |= !v;
  f.e.setMask({});
  f.e.setLanes(1);
  return v ? v : acc;
}

Value FusedEpilogue::address(Value m, Value n) {
  Coords at = storedAt(f.yield().getValues()[0], pointsAt(m, n, 1));
  const Memory &memory = f.results[0];
  Value offset = f.e.index(0);
  for (auto [extent, c] : llvm::zip_equal(memory.extents, at))
    offset = f.e.addIndex(f.e.mulIndex(offset, extent), c.base);
  KernelBuilder k(f.b, f.b.getLoc());
  return k.address(memory.pointer, storageType(memory.elementType), offset);
}

std::optional<TurnedResult> FusedEpilogue::turned() {
  if (!hasColumns || f.results.size() != 1)
    return std::nullopt;
  auto transpose = f.yield().getValues()[0].getDefiningOp<prim::TransposeOp>();
  Type element = f.results[0].elementType;
  if (!transpose || computeType(element) != storageType(element))
    return std::nullopt;
  // Behind the columns lie the last axes of the rows, in their order.
  ArrayRef<int64_t> order = transpose.getPermutation();
  int64_t columns = order.size() - 1, place = llvm::find(order, columns) - order.begin();
  size_t after = columns - place;
  if (order.size() != batch.size() + rowExtents.size() + 1 || after == 0 ||
      after > rowExtents.size())
    return std::nullopt;
  for (size_t i = 0; i < after; ++i)
    if (order[place + 1 + i] != columns - int64_t(after - i))
      return std::nullopt;
  Value run = f.e.index(1);
  for (Value extent : rowExtents.take_back(after))
    run = f.e.mulIndex(run, extent);
  TurnedResult result;
  result.element = storageType(element);
  result.columnStride = result.run = getAsOpFoldResult(run);
  return result;
}

bool FusedEpilogue::isFar() {
  constexpr unsigned manyRegisters = 32; // with which it has not been measured
  constexpr int64_t farShares = 4;       // of L2: the last cache gives less fast enough
  Value yielded = f.yield().getValues()[0];
  RankedTensorType type = tensorType(yielded);
  return hasColumns && f.results.size() == 1 && f.cpu.vectorRegisters < manyRegisters &&
         type.hasStaticShape() && !yielded.getDefiningOp<prim::TransposeOp>() &&
         f.results[0].extents.size() == batch.size() + rowExtents.size() + 1 &&
         tensorBytes(type) > farShares * int64_t(f.cpu.l2Bytes);
}

/// Runs `emitTemplate` with an epilogue that works at the template's builder.
void tcc::codegen::withEpilogue(KernelFrame &f, Operation *product, ArrayRef<Value> batch,
                                ArrayRef<Value> rowExtents, bool hasColumns,
                                llvm::function_ref<void(EpilogueFn)> emitTemplate, Value firstRow) {
  FusedEpilogue fused(f, product, batch, rowExtents, hasColumns, firstRow);
  std::optional<TurnedResult> turned = fused.turned();
  auto at = [&](OpBuilder &builder, llvm::function_ref<void()> emit) {
    OpBuilder::InsertionGuard guard(f.b);
    f.b.restoreInsertionPoint(builder.saveInsertionPoint());
    f.e.nested([&] {
      f.e.forget();
      emit();
    });
    builder.restoreInsertionPoint(f.b.saveInsertionPoint());
  };
  auto value = [&](OpBuilder &builder, Location, Value m, Value n, Value acc, Index valid) {
    Value result;
    at(builder, [&] { result = fused.value(m, n, acc, valid); });
    return result;
  };
  auto address = [&](OpBuilder &builder, Location, Value m, Value n) {
    Value result;
    at(builder, [&] { result = fused.address(m, n); });
    return result;
  };
  if (turned) {
    turned->value = value;
    turned->address = address;
  }
  auto store = [&](OpBuilder &builder, Location, Value m, Value n, Value acc, Index valid) {
    at(builder, [&] { fused.emit(m, n, acc, valid); });
  };
  FarResult far{elementBytes(f.results[0].elementType), address};
  emitTemplate(EpilogueFn(store, turned ? &*turned : nullptr, fused.isFar() ? &far : nullptr));
}

static SmallVector<Index> asIndices(ValueRange extents) {
  SmallVector<Index> all;
  for (Value v : extents)
    all.push_back(getAsOpFoldResult(v));
  return all;
}

bool tcc::codegen::emitContractionKernel(KernelFrame &f, const ContractionSchedule &schedule) {
  Operation *op = contractionOf(f.launch);
  const Memory *lhs = f.e.memoryOf(memoryBehind(op->getOperand(0)));
  const Memory *rhs = f.e.memoryOf(memoryBehind(op->getOperand(1)));
  auto product =
      productSpec(f.b, f.b.getLoc(), op, asIndices(lhs->extents), asIndices(rhs->extents), f.cpu);
  KernelBuilder k(f.b, f.b.getLoc());
  setSchedule(k, product->spec, schedule);
  unsigned batchRank = product->batchExtents.size();
  unsigned columnRank = productColumns(op), resultRank = tensorType(op->getResult(0)).getRank();
  bool hasColumns = columnRank == 1;
  unsigned rowRank = resultRank - batchRank - columnRank;
  // What follows a reshape works on all rows, batch entries too, in another shape.
  bool reshaped = isa<prim::ReshapeOp>(*op->getUsers().begin());
  SmallVector<Value> rowExtents;
  for (unsigned i = 0; i < rowRank && !reshaped; ++i)
    rowExtents.push_back(f.e.extent(op->getResult(0), batchRank + i));
  if (reshaped)
    llvm::append_range(rowExtents, ArrayRef(f.results[0].extents).drop_back());
  ContractionSpec &spec = product->spec;
  if (batchRank == 0) {
    spec.a = k.address(lhs->pointer, spec.aElement, product->lhsOffset);
    spec.b = k.address(rhs->pointer, spec.bElement, product->rhsOffset);
    withEpilogue(f, op, {}, rowExtents, hasColumns, [&](EpilogueFn epilogue) {
      emitContractionTasks(f.b, f.b.getLoc(), spec, f.begin, f.end, epilogue);
    });
    return !f.failed;
  }
  // The tasks of an entry that a thread has are done together, as those of a single product are.
  Index perEntry = emitContractionTaskCount(f.b, f.b.getLoc(), spec);
  Index begin = f.begin, end = f.end;
  k.loop(k.floorDiv(begin, perEntry), k.ceilDiv(end, perEntry), k.constant(1), [&](Index at) {
    f.e.nested([&] {
      Value entry = k.value(at);
      Index before = k.mul(at, perEntry);
      Index first = k.max(k.sub(begin, before), k.constant(0));
      Index last = k.min(k.sub(end, before), perEntry);
      SmallVector<Value> extents;
      for (Index d : product->batchExtents)
        extents.push_back(k.value(d));
      SmallVector<Value> batch = f.delinearize(entry, extents);
      Index a = product->lhsOffset, b = product->rhsOffset;
      for (auto [i, v] : llvm::enumerate(batch)) {
        a = k.mulAdd(v, product->lhsBatchStrides[i], a);
        b = k.mulAdd(v, product->rhsBatchStrides[i], b);
      }
      spec.a = k.address(lhs->pointer, spec.aElement, a);
      spec.b = k.address(rhs->pointer, spec.bElement, b);
      Value firstRow = reshaped ? f.e.mulIndex(entry, k.value(spec.m)) : Value();
      if (reshaped)
        batch.clear();
      auto emit = [&](EpilogueFn epilogue) {
        if (k.isKnown(perEntry, 1))
          return emitContractionTask(f.b, f.b.getLoc(), spec, k.value(k.constant(0)), epilogue);
        emitContractionTasks(f.b, f.b.getLoc(), spec, k.value(first), k.value(last), epilogue);
      };
      withEpilogue(f, op, batch, rowExtents, hasColumns, emit, firstRow);
    });
  });
  return !f.failed;
}
