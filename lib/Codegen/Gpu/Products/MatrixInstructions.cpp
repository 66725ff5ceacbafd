//===- MatrixInstructions.cpp - What a warp multiplies with ---------------===//
#include "MatrixInstructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <array>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

static std::optional<NVVM::MMATypes> typeOf(Type element) {
  if (element.isBF16())
    return NVVM::MMATypes::bf16;
  if (element.isF16())
    return NVVM::MMATypes::f16;
  if (element.isF32())
    return NVVM::MMATypes::tf32;
  if (element.isInteger(8))
    return element.isUnsignedInteger() ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  return std::nullopt;
}

std::optional<MatrixInstruction> MatrixInstruction::of(Type left, Type right) {
  auto l = typeOf(left), r = typeOf(right);
  bool bytes = left.isInteger(8) && right.isInteger(8);
  if (!l || !r || (l != r && !bytes))
    return std::nullopt;
  MLIRContext *context = left.getContext();
  return MatrixInstruction{*l, *r,
                           bytes ? Type(IntegerType::get(context, 32)) : Float32Type::get(context)};
}

unsigned MatrixInstruction::elementBytes() const { return rounds() ? 4 : sum.isF32() ? 2 : 1; }

SmallVector<Value> MatrixInstruction::rounded(ImplicitLocOpBuilder &b, ValueRange words) const {
  SmallVector<Value> all(words);
  if (rounds())
    for (Value &word : all)
      word = NVVM::ConvertFloatToTF32Op::create(b, b.getI32Type(),
                                                arith::BitcastOp::create(b, b.getF32Type(), word),
                                                NVVM::FPRoundingMode::RNA);
  return all;
}

static SmallVector<Value> partsOf(ImplicitLocOpBuilder &b, Value structure) {
  SmallVector<Value> parts;
  size_t count = cast<LLVM::LLVMStructType>(structure.getType()).getBody().size();
  for (size_t i = 0; i < count; ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, structure, static_cast<int64_t>(i)));
  return parts;
}

SmallVector<Value> MatrixInstruction::multiply(ImplicitLocOpBuilder &b, ValueRange left,
                                               ValueRange right, ValueRange sums) const {
  auto words = [&](ValueRange given) {
    SmallVector<Value> typed(given);
    if (this->left == NVVM::MMATypes::f16)
      for (Value &word : typed)
        word = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()), word);
    return typed;
  };
  auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, sum));
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (!sum.isF32())
    overflow = NVVM::MMAIntOverflow::wrapped;
  Value product = NVVM::MmaOp::create(
      b, result, words(left), words(right), sums,
      ArrayRef<int64_t>{rows, columns, int64_t(bytes / elementBytes())}, std::nullopt, overflow,
      std::array{this->left, this->right}, std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return partsOf(b, product);
}

DoubleInstruction DoubleInstruction::of(bool hasLarge, unsigned depth) {
  for (unsigned inner : {16, 8})
    if (hasLarge && depth % inner == 0)
      return {inner, true};
  return {step, hasLarge};
}

SmallVector<Value> DoubleInstruction::multiply(ImplicitLocOpBuilder &b, ValueRange left,
                                               ValueRange right, ValueRange sums) const {
  Type f64 = b.getF64Type();
  auto structure = [&](unsigned count) {
    return LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, f64));
  };
  if (!whole) {
    constexpr std::array types{NVVM::MMATypes::f64, NVVM::MMATypes::f64};
    constexpr std::array layouts{NVVM::MMALayout::row, NVVM::MMALayout::col};
    SmallVector<Value> all;
    for (unsigned half = 0; half < 2; ++half) {
      SmallVector<Value> own(sums.slice(2 * half, 2));
      for (unsigned k = 0; k < inner / step; ++k)
        own = partsOf(b, NVVM::MmaOp::create(b, structure(2), left.slice(2 * k + half, 1),
                                             right.slice(k, 1), own, ArrayRef<int64_t>{8, 8, 4},
                                             std::nullopt, std::nullopt, types, layouts));
      llvm::append_range(all, own);
    }
    return all;
  }
  // The dialect's operator has no such shape.
  SmallVector<Value> operands(left);
  llvm::append_range(operands, right);
  llvm::append_range(operands, sums);
  unsigned next = 0;
  std::string constraints = "=d,=d,=d,=d,";
  auto numbers = [&](unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(next++);
    return "{" + text + "}";
  };
  std::string changed = numbers(4), a = numbers(left.size()), c = numbers(right.size());
  for (unsigned i = 0; i < left.size() + right.size(); ++i)
    constraints += "d,";
  constraints += "0,1,2,3";
  std::string text = "mma.sync.aligned.m16n8k" + std::to_string(inner) +
                     ".row.col.f64.f64.f64.f64 " + changed + ", " + a + ", " + c + ", " + changed +
                     ";";
  return partsOf(b, LLVM::InlineAsmOp::create(b, structure(4), operands, text, constraints,
                                              /*has_side_effects=*/false, /*is_align_stack=*/false,
                                              LLVM::tailcallkind::TailCallKind::None,
                                              LLVM::AsmDialectAttr(), ArrayAttr())
                        .getResult(0));
}

SmallVector<Value> device::loadMatrices(ImplicitLocOpBuilder &b, Value address, unsigned count,
                                        bool transposed) {
  Type word = b.getI32Type();
  Type result =
      count == 1 ? word
                 : LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, word));
  Value loaded = NVVM::LdMatrixOp::create(
      b, result, address, count, transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
  return count == 1 ? SmallVector<Value>{loaded} : partsOf(b, loaded);
}

void device::copyAsync(ImplicitLocOpBuilder &b, Value to, Value from, unsigned bytes,
                       Value inside) {
  Value given;
  if (inside) {
    Value all = arith::ConstantOp::create(b, b.getI32IntegerAttr(bytes)),
          none = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    given = arith::SelectOp::create(b, inside, all, none);
  }
  // 16 bytes are kept out of the first cache: shared memory has them.
  auto modifier = bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(b, to, from, bytes, modifier, given);
}

void device::commitCopies(ImplicitLocOpBuilder &b) { NVVM::CpAsyncCommitGroupOp::create(b); }

void device::awaitCopies(ImplicitLocOpBuilder &b, unsigned groups) {
  NVVM::CpAsyncWaitGroupOp::create(b, groups);
}
