//===- MaskedRows.cpp - Rows of which a part is chosen by position --------===//
//
// Of a triangle, each row is chosen from two values by how far along it a point is. Asked at every
// vector, both values are computed, and what is not kept is read as well. The place where the
// answer changes is computed once a row instead: vectors before it have the one value, those behind
// it the other, and only the vector around it asks.
//
//===----------------------------------------------------------------------===//
#include "MaskedRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

constexpr int64_t kVectors = 8; ///< that a row is worth being cut for

std::optional<MaskedRows> tcc::codegen::maskedRowsOf(kernel::LaunchOp launch, unsigned lanes,
                                                     const CpuTarget &cpu) {
  constexpr size_t kMost = 16;
  constexpr unsigned kNarrowBytes = 2; ///< what is asked in 32 bits is several times as wide
  auto values = launch.getBody().front().getTerminator()->getOperands();
  if (values.size() != 1 || lanes < 4)
    return std::nullopt;
  RankedTensorType type = tensorType(values[0]);
  if (type.getRank() == 0 ||
      (!cpu.maskedMemory && elementBytes(type.getElementType()) > kNarrowBytes))
    return std::nullopt;
  int64_t extent = type.getShape().back();
  if (!ShapedType::isDynamic(extent) && extent < kVectors * int64_t(lanes))
    return std::nullopt;
  // Operators on elements, which ask for operands where they are asked.
  llvm::SmallSetVector<Operation *, kMost> seen;
  auto visit = [&](Value v) {
    Operation *op = v.getDefiningOp();
    if (op && prim::isElementwise(op) && seen.size() < kMost)
      seen.insert(op);
  };
  visit(values[0]);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i];
    if (auto select = dyn_cast<prim::SelectOp>(op))
      if (SmallVector<KeyBound> bounds = boundsOf(select.getCondition()); !bounds.empty())
        return MaskedRows{select, std::move(bounds)};
    for (Value operand : op->getOperands())
      visit(operand);
  }
  return std::nullopt;
}

/// The lanes of `v`, of which LLVM does not know that they are a constant: it would make a call of
/// a loop that stores one, which takes twice as long for rows of a few kB.
static Value asUnknown(KernelFrame &f, Value v) {
  auto type = v ? dyn_cast<VectorType>(v.getType()) : VectorType();
  if (!type || !v.getDefiningOp<arith::ConstantOp>() || !llvm::Triple(f.cpu.triple).isX86() ||
      type.getNumElements() * type.getElementTypeBitWidth() != f.cpu.vectorBits)
    return v;
  return LLVM::InlineAsmOp::create(f.b, TypeRange(type), v, "", "=v,0", /*has_side_effects=*/false,
                                   /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      ->getResult(0);
}

/// The row in its parts.
static void emitParts(KernelFrame &f, const MaskedRows &rows, const Coords &outer, Value low,
                      Value high, unsigned lanes, bool mayRepeat, function_ref<void(Value)> body) {
  Type i64 = f.b.getI64Type(), index = f.b.getIndexType();
  auto wide = [&](Value v) { return arith::IndexCastOp::create(f.b, i64, v).getResult(); };
  KeyRange range = emitKeyRange(f.e, rows.bounds, outer, {wide(low), wide(high)});
  f.failed |= !range.begin;
  if (f.failed)
    return;
  auto within = [&](Value v, Value from, Value to) -> Value {
    return arith::MinSIOp::create(f.b, arith::MaxSIOp::create(f.b, v, from), to);
  };
  Value begin = within(arith::IndexCastOp::create(f.b, index, range.begin), low, high);
  Value end = within(arith::IndexCastOp::create(f.b, index, range.end), begin, high);
  // Whole vectors from `low` on, up to the place or past it.
  Value n = f.e.index(lanes);
  auto vectorsTo = [&](Value place, bool past) {
    Value length = f.e.subIndex(place, low);
    if (past)
      length = f.e.addIndex(length, f.e.index(lanes - 1));
    return f.e.addIndex(low, f.e.mulIndex(f.e.divIndex(length, n), n));
  };
  Value whole = vectorsTo(high, false);
  auto cut = [&](Value place, bool past, Value from) {
    return within(vectorsTo(place, past), from, whole);
  };
  Value beginsIn = cut(begin, false, low), inside = cut(begin, true, beginsIn);
  Value endsIn = cut(end, false, inside), behind = cut(end, true, endsIn);
  auto vectors = [&](Value from, Value to, Value chosen) {
    prim::SelectOp select = rows.select;
    if (chosen)
      f.e.bindProvider(select.getResult(), [&f, chosen](ArrayRef<Coord> at) {
        return asUnknown(f, f.e.evalVector(chosen, at));
      });
    f.e.setLanes(lanes);
    f.loop(from, to, lanes, [&](Value i) {
      f.e.bindAligned(i);
      body(i);
    });
    f.e.setLanes(1);
    f.e.bindProvider(select.getResult(), {});
  };
  prim::SelectOp select = rows.select;
  vectors(low, beginsIn, select.getOnFalse());
  vectors(beginsIn, inside, {});
  vectors(inside, endsIn, select.getOnTrue());
  vectors(endsIn, behind, {});
  vectors(behind, whole, select.getOnFalse());
  auto from = getConstantIntValue(whole), to = getConstantIntValue(high);
  if (from && from == to)
    return;
  auto first = getConstantIntValue(low);
  if (mayRepeat && !f.cpu.maskedMemory && first && to && *to - *first >= lanes) {
    f.e.setLanes(lanes);
    f.e.nested([&] { body(f.e.index(*to - lanes)); });
    f.e.setLanes(1);
    return;
  }
  f.vectorLoop(whole, high, lanes, /*lowAligned=*/false, body);
}

void tcc::codegen::emitMaskedRow(KernelFrame &f, const MaskedRows &rows, const Coords &outer,
                                 Value low, Value high, unsigned lanes, bool mayRepeat,
                                 function_ref<void(Value)> body, function_ref<void()> whole) {
  auto parts = [&] { emitParts(f, rows, outer, low, high, lanes, mayRepeat, body); };
  if (getConstantIntValue(high) && getConstantIntValue(low))
    return parts();
  Value isLong = arith::CmpIOp::create(f.b, arith::CmpIPredicate::sge, f.e.subIndex(high, low),
                                       f.e.index(kVectors * int64_t(lanes)));
  auto branch = scf::IfOp::create(f.b, isLong, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  f.e.nested(parts);
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.e.nested(whole);
}
