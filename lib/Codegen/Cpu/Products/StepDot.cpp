//===- StepDot.cpp - Products of steps of narrow numbers ------------------===//
//
// x86 with VNNI multiplies u8 by s8 in either order, Arm's dot products bytes of one
// signedness; both by four, exactly. x86 without VNNI multiplies pairs of 16-bit
// numbers (vpmaddwd), exactly as well. Layout widens A there (LayoutAssign/Cpu/WidenBytes.cpp), so
// that a pair of it is broadcast as it is loaded. Pairs of bytes (vpmaddubsw) saturate at 16 bits:
// they are taken of packed weights alone, of which no pair can (fitsSaturatingSteps), as of those
// that were rounded to 7 bits for such CPUs.
// Pairs of bf16 are multiplied into sums of f32 (vdpbf16ps): each product is added and
// rounded, the second one first; subnormal factors and sums are zero.
//
//===----------------------------------------------------------------------===//
#include "StepDot.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
namespace tcc::codegen {

Type stepElement(KernelBuilder &k, DotSteps steps) {
  return k.builder.getIntegerType(steps.elementBits());
}

Type stepType(KernelBuilder &k, DotSteps steps) {
  return k.builder.getIntegerType(steps.elementBits() * steps.size);
}

Value loadStep(KernelBuilder &k, DotSteps steps, unsigned bits, Value pointer) {
  // Rows of A start anywhere: loads have the alignment of an element.
  return LLVM::LoadOp::create(k.builder, k.loc, k.builder.getIntegerType(bits * steps.size),
                              pointer, bits / 8);
}

Value loadPartOfStep(KernelBuilder &k, DotSteps steps, unsigned bits, Value row, Index first,
                     Index valid) {
  Type element = k.builder.getIntegerType(bits), step = k.builder.getIntegerType(bits * steps.size);
  Value all = k.zero(step);
  for (unsigned i = 0; i < steps.size; ++i) {
    Index at = k.add(first, k.constant(i)), last = k.sub(valid, k.constant(1));
    bool known = k.known(at) && k.known(valid);
    if (known && *k.known(at) >= *k.known(valid))
      break;
    Value value = k.load(element, k.address(row, element, known ? at : k.min(at, last)));
    if (!known)
      value =
          arith::SelectOp::create(k.builder, k.loc, k.compare(arith::CmpIPredicate::slt, at, valid),
                                  value, k.zero(element));
    Value wide = arith::ExtUIOp::create(k.builder, k.loc, step, value);
    Value shift = arith::ConstantOp::create(k.builder, k.loc,
                                            k.builder.getIntegerAttr(step, int64_t(bits) * i));
    all = arith::OrIOp::create(k.builder, k.loc, all,
                               arith::ShLIOp::create(k.builder, k.loc, wide, shift));
  }
  return all;
}

Value spreadStep(KernelBuilder &k, DotSteps steps, Value step, unsigned lanes) {
  Value spread = k.broadcast(step, lanes);
  Type element = steps.bfloat ? Type(k.builder.getBF16Type())
                              : k.builder.getIntegerType(steps.lhsElementBits());
  auto type = VectorType::get({int64_t(lanes) * steps.size}, element);
  Value all = LLVM::BitcastOp::create(k.builder, k.loc, type, spread);
  if (!steps.flipsLhs)
    return all;
  Value sign = arith::ConstantOp::create(k.builder, k.loc,
                                         DenseElementsAttr::get(type, llvm::APInt(8, 0x80)));
  return arith::XOrIOp::create(k.builder, k.loc, all, sign);
}

static Value callIntrinsic(KernelBuilder &k, const llvm::Twine &name, Type result,
                           ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(k.builder, k.loc, result, k.builder.getStringAttr(name),
                                       operands)
      .getResult(0);
}

/// Pairs of u8 by s8, and pairs of their sums: four products a lane.
static Value emitSaturatingDot(KernelBuilder &k, Value lhs, Value rhs, Value acc) {
  int64_t bits = 32 * cast<VectorType>(acc.getType()).getNumElements();
  auto sums = VectorType::get({bits / 16}, k.builder.getI16Type());
  bool isWide = bits == 512, isWhole = bits == 256;
  Value pairs = callIntrinsic(k,
                              isWide    ? "llvm.x86.avx512.pmaddubs.w.512"
                              : isWhole ? "llvm.x86.avx2.pmadd.ub.sw"
                                        : "llvm.x86.ssse3.pmadd.ub.sw.128",
                              sums, {lhs, rhs});
  Value ones =
      arith::ConstantOp::create(k.builder, k.loc, DenseElementsAttr::get(sums, llvm::APInt(16, 1)));
  Value fours = callIntrinsic(k,
                              isWide    ? "llvm.x86.avx512.pmaddw.d.512"
                              : isWhole ? "llvm.x86.avx2.pmadd.wd"
                                        : "llvm.x86.sse2.pmadd.wd",
                              acc.getType(), {pairs, ones});
  return arith::AddIOp::create(k.builder, k.loc, acc, fours);
}

/// `lhsUnsigned`: once flipped.
static Value emitDot(KernelBuilder &k, const CpuTarget &cpu, bool lhsUnsigned, bool rhsUnsigned,
                     Value lhs, Value rhs, Value acc) {
  int64_t lanes = cast<VectorType>(acc.getType()).getNumElements(), bits = 32 * lanes;
  switch (cpu.byteDot) {
  case ByteDot::None:
    break;
  case ByteDot::Pairs: {
    Type i16 = k.builder.getI16Type();
    StringRef name = bits == 512   ? "llvm.x86.avx512.pmaddw.d.512"
                     : bits == 256 ? "llvm.x86.avx2.pmadd.wd"
                                   : "llvm.x86.sse2.pmadd.wd";
    Value products = callIntrinsic(
        k, name, acc.getType(), {k.widen(lhs, i16, lhsUnsigned), k.widen(rhs, i16, rhsUnsigned)});
    return arith::AddIOp::create(k.builder, k.loc, acc, products);
  }
  case ByteDot::UnsignedSigned:
    assert(lhsUnsigned != rhsUnsigned && "one operand is signed");
    if (!lhsUnsigned)
      std::swap(lhs, rhs);
    return callIntrinsic(k, "llvm.x86.avx512.vpdpbusd." + llvm::Twine(bits), acc.getType(),
                         {acc, lhs, rhs});
  case ByteDot::Same:
    assert(lhsUnsigned == rhsUnsigned && "both operands have one signedness");
    return callIntrinsic(k, lhsUnsigned ? "llvm.aarch64.neon.udot" : "llvm.aarch64.neon.sdot",
                         acc.getType(), {acc, lhs, rhs});
  }
  llvm_unreachable("such bytes are not multiplied in steps");
}

Value emitStepDot(KernelBuilder &k, const CpuTarget &cpu, DotSteps steps, Value lhs, Value rhs,
                  Value acc) {
  if (steps.bfloat) {
    int64_t bits = 32 * cast<VectorType>(acc.getType()).getNumElements();
    return callIntrinsic(k, "llvm.x86.avx512bf16.dpbf16ps." + llvm::Twine(bits), acc.getType(),
                         {acc, lhs, rhs});
  }
  if (cpu.byteDot == ByteDot::Pairs && steps.size == 4)
    return emitSaturatingDot(k, lhs, rhs, acc);
  return emitDot(k, cpu, steps.lhsUnsigned != steps.flipsLhs, steps.rhsUnsigned, lhs, rhs, acc);
}

Value emitStepSum(KernelBuilder &k, const CpuTarget &cpu, DotSteps steps, Value rhs, Value acc) {
  auto type = cast<VectorType>(rhs.getType());
  Value ones =
      arith::ConstantOp::create(k.builder, k.loc, DenseElementsAttr::get(type, llvm::APInt(8, 1)));
  return emitStepDot(k, cpu, steps, ones, rhs, acc); // 1 is 1 in either signedness
}

} // namespace tcc::codegen
