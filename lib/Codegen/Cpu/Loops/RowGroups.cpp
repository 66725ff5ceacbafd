//===- RowGroups.cpp - Reductions across far rows, some at a time ---------===//
//
// Across rows that come from far, a vector of sums in registers takes a run of each row, one after
// the other, and where each run begins the processor waits: its prefetchers follow a row, but find
// the next one anew, and of one row at a time memory gives a part of what it can. So rows are read
// in groups, each a stream of its own along some pages of memory, and what a group comes to is
// added to sums that lie on the stack, in L1. Rows of which only a run knows how many there are, or
// how long, are supposed to come from far: groups of those that do not take as long as single ones.
//
//===----------------------------------------------------------------------===//
#include "RowGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Rows that are read beside each other.
constexpr int64_t kTogether = 8;

/// Whether `v` is stored where it is computed, or what is computed of it alone is.
static bool isStoredInPlace(Value v) {
  return llvm::all_of(v.getUsers(), [](Operation *user) {
    return isa<kernel::YieldOp>(user) ||
           (prim::isElementwise(user) && isStoredInPlace(user->getResult(0)));
  });
}

prim::ReduceOp tcc::codegen::groupedRows(kernel::LaunchOp launch, const CpuTarget &cpu) {
  constexpr unsigned kManyRegisters = 32; // which hold runs as long as those of groups
  constexpr int64_t kFewestRows = 2 * kTogether, kLeastRowBytes = 2048, kMostOperators = 8;
  constexpr int64_t kFar = 4; // times L2, from where rows come slowly enough
  Block &body = launch.getBody().front();
  auto reductions = body.getOps<prim::ReduceOp>();
  if (cpu.vectorRegisters >= kManyRegisters || !llvm::hasSingleElement(reductions))
    return nullptr;
  prim::ReduceOp op = *reductions.begin();
  auto type = tensorType(op.getX());
  int64_t operators = 0, bytes = 0;
  for (Operation &inside : body.without_terminator()) {
    operators += prim::isElementwise(&inside);
    bool isSize = llvm::all_of(inside.getResultTypes(), [](Type t) { return t.isIndex(); });
    bool computes = &inside == op || prim::isElementwise(&inside) || isSize ||
                    isa<prim::BroadcastOp, prim::ReshapeOp, prim::ConstantOp>(inside);
    if (!computes || inside.hasTrait<prim::VeryCostly>())
      return nullptr;
  }
  for (Value v : body.getArguments())
    if (auto argument = dyn_cast<RankedTensorType>(v.getType());
        argument && argument.hasStaticShape())
      bytes = std::max(bytes, tensorBytes(argument));
  if (operators > kMostOperators || op.getAxes().size() != 1 ||
      (type.hasStaticShape() && bytes <= kFar * cpu.l2Bytes) || type.getElementType().isInteger(1))
    return nullptr;
  int64_t axis = op.getAxes().front(), columns = type.getShape().back();
  auto orOpen = [&](int64_t extent, int64_t least) {
    return ShapedType::isDynamic(extent) || extent >= least;
  };
  bool areRows = axis + 1 < type.getRank() && orOpen(type.getDimSize(axis), kFewestRows) &&
                 orOpen(columns, kLeastRowBytes / elementBytes(type.getElementType()));
  // What takes whole rows finds the next one behind.
  bool isCut = type.hasStaticShape() || ShapedType::isDynamic(columns) ||
               (areRows && groupedColumns(op) < columns);
  auto stored = cast<RankedTensorType>(launch.getResultTypes()[0]);
  return areRows && isCut && tensorType(op.getResult()).getShape() == stored.getShape() &&
                 isStoredInPlace(op.getResult())
             ? op
             : nullptr;
}

unsigned tcc::codegen::groupedLanes(prim::ReduceOp op, const CpuTarget &cpu) {
  constexpr unsigned kVectors = 2, kLeastBits = 8;
  Type element = computeType(tensorType(op.getX()).getElementType());
  return kVectors * cpu.lanes(std::max(kLeastBits, element.getIntOrFloatBitWidth()));
}

int64_t tcc::codegen::groupedColumns(prim::ReduceOp op) {
  constexpr int64_t kMostBytes = 4096, kLeastBytes = 1024, kTasks = 8;
  auto type = tensorType(op.getResult());
  constexpr int64_t kOpenRows = 4; // of results, where only a run knows how many there are
  int64_t columns = type.getShape().back(), rows = 1;
  for (int64_t extent : type.getShape().drop_back())
    rows *= ShapedType::isDynamic(extent) ? kOpenRows : extent;
  int64_t bytes = elementBytes(computeType(type.getElementType())), run = kMostBytes / bytes;
  if (ShapedType::isDynamic(columns))
    return kLeastBytes / bytes;
  while (run > kLeastBytes / bytes && rows * llvm::divideCeil(columns, run) < kTasks)
    run /= 2;
  return run;
}

RowGroups::RowGroups(KernelFrame &f, prim::ReduceOp op, int64_t columns) : f(f), op(op) {
  constexpr unsigned kAlignment = 64;
  Type element = computeType(tensorType(op.getX()).getElementType());
  Value pointer = LLVM::AllocaOp::create(
      f.b, LLVM::LLVMPointerType::get(f.b.getContext()), storageType(element),
      arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(columns)), kAlignment);
  sums = {pointer, {f.e.index(columns)}, element};
  f.e.bindProvider(op.getResult(),
                   [this](ArrayRef<Coord> at) { return this->f.e.load(sums, placeOf(at.back())); });
}

Coords RowGroups::placeOf(const Coord &column) const {
  return {Coord::affine(f.e.subIndex(column.base, low), column.step)};
}

/// Adds rows from `first` on to what the sums have, if they have begun.
void RowGroups::add(const Coords &outer, Value first, int64_t rows, bool begun, Value high) {
  Type e = tensorType(op.getX()).getElementType();
  auto lanes = groupedLanes(op, f.cpu);
  f.narrowingLoop(low, high, lanes, [&](Value i) {
    Coord column = Coord::affine(i, f.e.lanes() > 1 ? 1 : 0);
    SmallVector<Value> values;
    for (int64_t row = 0; row < rows; ++row) {
      Coords at(outer);
      at.push_back(column);
      at.insert(at.begin() + op.getAxes().front(),
                Coord::uniform(f.e.addIndex(first, f.e.index(row))));
      values.push_back(f.e.evalVector(op.getX(), at));
      f.failed |= !values.back();
      if (f.failed)
        return;
    }
    for (; values.size() > 1; values.truncate((values.size() + 1) / 2))
      for (size_t k = 0, half = (values.size() + 1) / 2; k + half < values.size(); ++k)
        values[k] = emitCombine(f.b, op.getKind(), e, values[k], values[k + half]);
    Value sum = values.front();
    if (begun)
      sum = emitCombine(f.b, op.getKind(), e, f.e.load(sums, placeOf(column)), sum);
    f.e.store(sums, placeOf(column), sum);
  });
}

void RowGroups::fill(const Coords &outer, Value low, Value high) {
  this->low = low;
  if (tensorType(op.getX()).isDynamicDim(op.getAxes().front()))
    return fillOpen(outer, low, high);
  int64_t rows = tensorType(op.getX()).getDimSize(op.getAxes().front());
  int64_t whole = rows / kTogether * kTogether;
  add(outer, f.e.index(0), kTogether, /*begun=*/false, high);
  f.loop(f.e.index(kTogether), f.e.index(whole), kTogether,
         [&](Value first) { add(outer, first, kTogether, /*begun=*/true, high); });
  if (rows > whole)
    add(outer, f.e.index(whole), rows - whole, /*begun=*/true, high);
}

/// The same of rows that a run counts, of which there may be no group, or none at all.
void RowGroups::fillOpen(const Coords &outer, Value low, Value high) {
  unsigned axis = op.getAxes().front();
  Value rows = f.e.extent(op.getX(), axis), group = f.e.index(kTogether);
  Value whole = f.e.mulIndex(f.e.divIndex(rows, group), group);
  TypedAttr none = neutralElement(op.getKind(), tensorType(op.getX()).getElementType());
  f.narrowingLoop(low, high, groupedLanes(op, f.cpu), [&](Value i) {
    Coord column = Coord::affine(i, f.e.lanes() > 1 ? 1 : 0);
    Value v = arith::ConstantOp::create(f.b, none);
    f.e.store(sums, placeOf(column), f.e.lanes() > 1 ? f.e.splat(v, f.e.lanes()) : v);
  });
  f.loop(f.e.index(0), whole, kTogether,
         [&](Value first) { add(outer, first, kTogether, /*begun=*/true, high); });
  f.loop(whole, rows, 1, [&](Value row) { add(outer, row, 1, /*begun=*/true, high); });
}
