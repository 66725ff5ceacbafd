//===- KernelBuilder.cpp - Index and pointer arithmetic of kernels --------===//
//
// Index arithmetic folds while it is built. Templates are written once for known and unknown
// extents, and for known ones the loops, masks and tails that would never run are never made: LLVM
// would find most of it, but only after compiling it.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Cpu/KernelBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <algorithm>

using namespace mlir;
namespace tcc::codegen {

std::optional<int64_t> KernelBuilder::known(Index index) { return getConstantIntValue(index); }

Value KernelBuilder::value(Index index) {
  return getValueOrCreateConstantIndexOp(builder, loc, index);
}

Value KernelBuilder::toI64(Index index) {
  if (std::optional<int64_t> constant = known(index))
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(*constant));
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value(index));
}

/// Folds `a op b` when both are known, else creates the operation.
template <typename Op, typename Fold>
static Index emitBinary(KernelBuilder &k, Index a, Index b, Fold fold) {
  std::optional<int64_t> ka = k.known(a), kb = k.known(b);
  if (ka && kb)
    return k.constant(fold(*ka, *kb));
  return Op::create(k.builder, k.loc, k.value(a), k.value(b)).getResult();
}

Index KernelBuilder::add(Index a, Index b) {
  if (isKnown(a, 0))
    return b;
  if (isKnown(b, 0))
    return a;
  return emitBinary<arith::AddIOp>(*this, a, b, [](int64_t x, int64_t y) { return x + y; });
}

Index KernelBuilder::sub(Index a, Index b) {
  if (isKnown(b, 0))
    return a;
  return emitBinary<arith::SubIOp>(*this, a, b, [](int64_t x, int64_t y) { return x - y; });
}

Index KernelBuilder::mul(Index a, Index b) {
  if (isKnown(a, 1) || isKnown(b, 0))
    return b;
  if (isKnown(b, 1) || isKnown(a, 0))
    return a;
  return emitBinary<arith::MulIOp>(*this, a, b, [](int64_t x, int64_t y) { return x * y; });
}

Index KernelBuilder::floorDiv(Index a, Index b) {
  if (isKnown(b, 1))
    return a;
  return emitBinary<arith::DivUIOp>(*this, a, b, [](int64_t x, int64_t y) { return x / y; });
}

Index KernelBuilder::ceilDiv(Index a, Index b) {
  if (isKnown(b, 1))
    return a;
  return floorDiv(add(a, sub(b, constant(1))), b);
}

Index KernelBuilder::rem(Index a, Index b) {
  if (isKnown(b, 1))
    return constant(0);
  return emitBinary<arith::RemUIOp>(*this, a, b, [](int64_t x, int64_t y) { return x % y; });
}

Index KernelBuilder::min(Index a, Index b) {
  return emitBinary<arith::MinSIOp>(*this, a, b,
                                    [](int64_t x, int64_t y) { return std::min(x, y); });
}

Index KernelBuilder::max(Index a, Index b) {
  return emitBinary<arith::MaxSIOp>(*this, a, b,
                                    [](int64_t x, int64_t y) { return std::max(x, y); });
}

Value KernelBuilder::compare(arith::CmpIPredicate predicate, Index a, Index b) {
  return arith::CmpIOp::create(builder, loc, predicate, value(a), value(b));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static unsigned elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? std::max(1u, element.getIntOrFloatBitWidth() / 8) : 8;
}

Value KernelBuilder::address(Value base, Type element, Index offset) {
  if (isKnown(offset, 0))
    return base;
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto flags = LLVM::GEPNoWrapFlags::none;
  if (std::optional<int64_t> constant = known(offset); constant && llvm::isInt<31>(*constant))
    return LLVM::GEPOp::create(builder, loc, pointer, element, base,
                               ArrayRef<LLVM::GEPArg>{int32_t(*constant)}, flags);
  return LLVM::GEPOp::create(builder, loc, pointer, element, base,
                             ArrayRef<LLVM::GEPArg>{toI64(offset)}, flags);
}

Value KernelBuilder::load(Type type, Value pointer) {
  return LLVM::LoadOp::create(builder, loc, type, pointer, elementBytes(type));
}

void KernelBuilder::store(Value value, Value pointer) {
  LLVM::StoreOp::create(builder, loc, value, pointer, elementBytes(value.getType()));
}

Value KernelBuilder::firstLanes(unsigned lanes, Index valid) {
  auto type = VectorType::get({int64_t(lanes)}, builder.getI1Type());
  if (std::optional<int64_t> count = known(valid)) {
    SmallVector<bool> bits(lanes);
    std::fill_n(bits.begin(), std::min<int64_t>(*count, lanes), true);
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, bits));
  }
  // Masks are computed with 32 bits.
  return vector::CreateMaskOp::create(builder, loc, type, value(min(valid, constant(lanes))));
}

Value KernelBuilder::loadPart(VectorType type, Value pointer, Index valid) {
  unsigned lanes = type.getNumElements();
  if (std::optional<int64_t> count = known(valid); count && *count >= lanes)
    return load(type, pointer);
  return LLVM::MaskedLoadOp::create(builder, loc, type, pointer, firstLanes(lanes, valid),
                                    zero(type), builder.getI32IntegerAttr(elementBytes(type)));
}

void KernelBuilder::storePart(Value value, Value pointer, Index valid) {
  unsigned lanes = cast<VectorType>(value.getType()).getNumElements();
  if (std::optional<int64_t> count = known(valid); count && *count >= lanes)
    return store(value, pointer);
  LLVM::MaskedStoreOp::create(builder, loc, value, pointer, firstLanes(lanes, valid),
                              elementBytes(value.getType()));
}

Value KernelBuilder::scratch(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  Region *region = builder.getInsertionBlock()->getParent();
  while (!isa<FunctionOpInterface>(region->getParentOp()))
    region = region->getParentOp()->getParentRegion();
  builder.setInsertionPointToStart(&region->front());
  Value size = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                        builder.getI64IntegerAttr(count));
  return LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                                element, size, /*alignment=*/64);
}

void KernelBuilder::prefetch(Value pointer, unsigned locality) {
  LLVM::Prefetch::create(builder, loc, pointer, /*rw=*/0, locality, /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value KernelBuilder::zero(Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

Value KernelBuilder::broadcast(Value scalar, unsigned lanes) {
  return vector::BroadcastOp::create(builder, loc,
                                     VectorType::get({int64_t(lanes)}, scalar.getType()), scalar);
}

Value KernelBuilder::widen(Value value, Type element, bool isUnsigned) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  Type to = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    to = vector.clone(element);
  if (isa<FloatType>(from))
    return arith::ExtFOp::create(builder, loc, to, value);
  if (isa<FloatType>(element))
    return isUnsigned ? arith::UIToFPOp::create(builder, loc, to, value).getResult()
                      : arith::SIToFPOp::create(builder, loc, to, value).getResult();
  return isUnsigned ? arith::ExtUIOp::create(builder, loc, to, value).getResult()
                    : arith::ExtSIOp::create(builder, loc, to, value).getResult();
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelBuilder::loop(Index lower, Index upper, Index step, ValueRange init,
                                       LoopBody body) {
  std::optional<int64_t> lo = known(lower), hi = known(upper), by = known(step);
  if (lo && hi && *lo >= *hi)
    return llvm::to_vector(init);
  if (lo && hi && by && *lo + *by >= *hi)
    return body(lower, init);
  auto loop = scf::ForOp::create(builder, loc, value(lower), value(upper), value(step), init);
  OpBuilder::InsertionGuard guard(builder);
  if (init.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(builder, loc, results);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void KernelBuilder::loop(Index lower, Index upper, Index step,
                         llvm::function_ref<void(Index iv)> body) {
  loop(lower, upper, step, {}, [&](Index iv, ValueRange) {
    body(iv);
    return SmallVector<Value>();
  });
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

void KernelBuilder::ifThenElse(Value condition, llvm::function_ref<void()> then,
                               llvm::function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
  builder.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

} // namespace tcc::codegen
