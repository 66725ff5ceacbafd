//===- WgmmaInstructions.cpp - What a warp group multiplies with ----------===//
//
// wgmma runs while the warps go on: LLVM sees only that an instruction has results, and would read
// them at once. So sums pass through the instruction that waits for them.
//
//===----------------------------------------------------------------------===//
#include "WgmmaInstructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static Value constant32(ImplicitLocOpBuilder &b, int64_t v) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(v)));
}
static Value constant64(ImplicitLocOpBuilder &b, int64_t v) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(v));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

WgmmaOperand WgmmaOperand::at(ImplicitLocOpBuilder &b, Value address, int64_t sliceBytes,
                              bool byInner) {
  // 128-byte swizzle; eight rows 1024 bytes apart; addresses in units of 16 bytes.
  constexpr int64_t kSwizzle = int64_t(1) << 62, kEightRows = int64_t(1024 >> 4) << 32;
  int64_t slices = byInner ? 1 : sliceBytes >> 4;
  Value units = arith::AndIOp::create(b, arith::ShRUIOp::create(b, address, constant32(b, 4)),
                                      constant32(b, 0x3FFF));
  Value fields = constant64(b, kSwizzle | kEightRows | (slices << 16));
  Value wide = arith::ExtUIOp::create(b, b.getI64Type(), units);
  return {arith::OrIOp::create(b, wide, fields), sliceBytes, byInner};
}

Value WgmmaOperand::step(ImplicitLocOpBuilder &b, int64_t inner) const {
  int64_t bytes = byInner ? inner / 64 * sliceBytes + inner % 64 * 2 : inner * 128;
  return bytes == 0 ? descriptor
                    : Value(arith::AddIOp::create(b, descriptor, constant64(b, bytes >> 4)));
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

Type device::wgmmaSums(ImplicitLocOpBuilder &b, unsigned columns, Type sum) {
  return LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(columns / 2, sum));
}

static std::optional<NVVM::WGMMATypes> typeOf(Type element) {
  if (element.isBF16())
    return NVVM::WGMMATypes::bf16;
  if (element.isF16())
    return NVVM::WGMMATypes::f16;
  if (element.isF32())
    return NVVM::WGMMATypes::tf32;
  if (element.isInteger(8))
    return element.isUnsignedInteger() ? NVVM::WGMMATypes::u8 : NVVM::WGMMATypes::s8;
  return std::nullopt;
}

bool WgmmaInstruction::takes(Type left, Type right) {
  return typeOf(left) && typeOf(right) &&
         (left == right || (left.isInteger(8) && right.isInteger(8)));
}

Type WgmmaInstruction::sum() const {
  MLIRContext *context = element.getContext();
  return element.isInteger(8) ? Type(IntegerType::get(context, 32)) : Float32Type::get(context);
}

static unsigned numberOf(Value sums) {
  return cast<LLVM::LLVMStructType>(sums.getType()).getBody().size();
}

static void appendParts(ImplicitLocOpBuilder &b, Value sums, SmallVectorImpl<Value> &parts) {
  for (unsigned i = 0; i < numberOf(sums); ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, sums, int64_t(i)));
}

/// "=f,=f,...,0,1,...": numbers that an instruction changes.
static std::string changed(Value sums) {
  unsigned count = numberOf(sums);
  bool real = cast<LLVM::LLVMStructType>(sums.getType()).getBody()[0].isF32();
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i ? "," : "") + std::string(real ? "=f" : "=r");
  for (unsigned i = 0; i < count; ++i)
    text += "," + std::to_string(i);
  return text;
}

static Value assembly(ImplicitLocOpBuilder &b, Type type, ValueRange operands, StringRef text,
                      StringRef constraints) {
  return LLVM::InlineAsmOp::create(b, type, operands, text, constraints, /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

Value WgmmaInstruction::multiply(ImplicitLocOpBuilder &b, Value sums, Value left, Value right,
                                 bool rightByInner, bool isFirst, bool leftByInner) const {
  auto inner = static_cast<int>(bytes * 8 / element.getIntOrFloatBitWidth());
  return NVVM::WgmmaMmaAsyncOp::create(
      b, sums.getType(), sums, left, right,
      NVVM::MMAShapeAttr::get(b.getContext(), 64, columns, inner), *typeOf(element),
      *typeOf(this->right ? this->right : element),
      sum().isF32() ? NVVM::WGMMATypes::f32 : NVVM::WGMMATypes::s32,
      isFirst ? NVVM::WGMMAScaleOut::zero : NVVM::WGMMAScaleOut::one, NVVM::WGMMAScaleIn::one,
      NVVM::WGMMAScaleIn::one, leftByInner ? NVVM::MMALayout::row : NVVM::MMALayout::col,
      rightByInner ? NVVM::MMALayout::col : NVVM::MMALayout::row, NVVM::MMAIntOverflowAttr());
}

Value WgmmaInstruction::multiply(ImplicitLocOpBuilder &b, Value sums, ValueRange left, Value right,
                                 bool rightByInner) const {
  unsigned count = columns / 2;
  auto list = [](unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned i = first; i < first + count; ++i)
      text += (i == first ? "$" : ", $") + std::to_string(i);
    return text + "}";
  };
  bool words = element.isF32(); // which always lie by inner
  std::string name = words ? "tf32" : element.isBF16() ? "bf16" : "f16";
  std::string text = "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n" +
                     std::to_string(columns) + (words ? "k8" : "k16") + ".f32." + name + "." +
                     name + " " + list(0, count) + ", " + list(2 * count, 4) + ", $" +
                     std::to_string(2 * count + 4) + ", p, 1, 1" +
                     (words          ? ""
                      : rightByInner ? ", 0"
                                     : ", 1") +
                     ";\n}";
  SmallVector<Value> operands;
  appendParts(b, sums, operands);
  llvm::append_range(operands, left);
  operands.push_back(right);
  return assembly(b, sums.getType(), operands, text, changed(sums) + ",r,r,r,r,l");
}

void device::beginChain(ImplicitLocOpBuilder &b) { NVVM::WgmmaFenceAlignedOp::create(b); }
void device::endChain(ImplicitLocOpBuilder &b) { NVVM::WgmmaGroupSyncAlignedOp::create(b); }

Value device::awaitChains(ImplicitLocOpBuilder &b, Value sums, unsigned pending, ValueRange read) {
  SmallVector<Value> operands;
  appendParts(b, sums, operands);
  std::string constraints = changed(sums);
  for (Value word : read) {
    operands.push_back(word);
    constraints += ",r";
  }
  return assembly(b, sums.getType(), operands,
                  "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";", constraints);
}

void device::awaitReads(ImplicitLocOpBuilder &b, unsigned pending, ValueRange read) {
  std::string constraints;
  for (size_t i = 0; i < read.size(); ++i)
    constraints += i ? ",r" : "r";
  LLVM::InlineAsmOp::create(
      b, TypeRange(), read, "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";",
      constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

//===----------------------------------------------------------------------===//
// Copies and barriers
//===----------------------------------------------------------------------===//

void device::awaitBarrier(ImplicitLocOpBuilder &b, Value barrier, Value parity) {
  constexpr int64_t kTicks = 10000000;
  NVVM::MBarrierTryWaitParityOp::create(b, barrier, parity, constant32(b, kTicks));
}

void device::arriveAtBarrier(ImplicitLocOpBuilder &b, Value barrier) {
  NVVM::MBarrierArriveOp::create(b, Type(b.getI64Type()), barrier, Value());
}

void device::expectBytes(ImplicitLocOpBuilder &b, Value barrier, int64_t bytes) {
  expectBytes(b, barrier, constant32(b, bytes));
}

void device::expectBytes(ImplicitLocOpBuilder &b, Value barrier, Value bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(b, Type(), barrier, bytes, NVVM::MemScopeKind::CTA, false,
                                         Value());
}

void device::copyWindow(ImplicitLocOpBuilder &b, Value to, Value map, ValueRange place,
                        ValueRange taps, Value barrier) {
  Value cluster =
      LLVM::AddrSpaceCastOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 7), to);
  auto mode = taps.empty() ? NVVM::TMALoadMode::TILE : NVVM::TMALoadMode::IM2COL;
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, cluster, map, place, barrier, taps, Value(), Value(), mode,
      /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), Value());
}

void device::copyBox(ImplicitLocOpBuilder &b, Value to, Value map, ValueRange place,
                     Value barrier) {
  copyWindow(b, to, map, place, {}, barrier);
}

void device::prefetchMap(ImplicitLocOpBuilder &b, Value map) {
  NVVM::PrefetchOp::create(b, NVVM::PrefetchCacheLevelAttr(), NVVM::CacheEvictionPriorityAttr(),
                           map, Value(), /*tensormap=*/true);
}

SharedSlices SharedSlices::in(ImplicitLocOpBuilder &b, Value raw) {
  Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), raw);
  Value aligned = arith::AndIOp::create(b, arith::AddIOp::create(b, address, constant32(b, 1023)),
                                        constant32(b, -1024));
  return {LLVM::IntToPtrOp::create(b, raw.getType(), aligned), aligned};
}

Value device::uniformWarp(ImplicitLocOpBuilder &b, Value thread) {
  Value warp = arith::ShRUIOp::create(b, thread, constant32(b, 5));
  return NVVM::ShflOp::create(b, b.getI32Type(), constant32(b, -1), warp, constant32(b, 0),
                              constant32(b, 31), NVVM::ShflKind::idx, UnitAttr());
}
