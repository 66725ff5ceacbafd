//===- ByteDot.cpp - Products of steps of bytes --------------------------===//
//
// x86 with VNNI multiplies u8 by s8 in either order, Arm's dot products bytes of one
// signedness; both by four, exactly. x86 without VNNI multiplies pairs of 16-bit
// numbers (vpmaddwd), exactly as well: 8-bit pairs (vpmaddubsw) would saturate.
//
//===----------------------------------------------------------------------===//
#include "ByteDot.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
namespace tcc::codegen {

Value loadByteStep(KernelBuilder &k, ByteSteps bytes, Value pointer) {
  // Rows of A start anywhere: loads have the alignment of a byte.
  Type step = k.builder.getIntegerType(8 * bytes.size);
  return LLVM::LoadOp::create(k.builder, k.loc, step, pointer, /*alignment=*/1);
}

Value loadPartOfByteStep(KernelBuilder &k, ByteSteps bytes, Value row, Index first, Index valid) {
  Type byte = k.builder.getI8Type(), step = k.builder.getIntegerType(8 * bytes.size);
  Value all = k.zero(step);
  for (unsigned i = 0; i < bytes.size; ++i) {
    Index at = k.add(first, k.constant(i)), last = k.sub(valid, k.constant(1));
    bool known = k.known(at) && k.known(valid);
    if (known && *k.known(at) >= *k.known(valid))
      break;
    Value value = k.load(byte, k.address(row, byte, known ? at : k.min(at, last)));
    if (!known)
      value = arith::SelectOp::create(
          k.builder, k.loc, k.compare(arith::CmpIPredicate::slt, at, valid), value, k.zero(byte));
    Value wide = arith::ExtUIOp::create(k.builder, k.loc, step, value);
    Value shift =
        arith::ConstantOp::create(k.builder, k.loc, k.builder.getIntegerAttr(step, int64_t(8) * i));
    all = arith::OrIOp::create(k.builder, k.loc, all,
                               arith::ShLIOp::create(k.builder, k.loc, wide, shift));
  }
  return all;
}

static VectorType byteVector(KernelBuilder &k, int64_t count) {
  return VectorType::get({count}, k.builder.getI8Type());
}

Value spreadByteStep(KernelBuilder &k, ByteSteps bytes, Value step, unsigned lanes) {
  Value spread = k.broadcast(step, lanes);
  Value all =
      LLVM::BitcastOp::create(k.builder, k.loc, byteVector(k, int64_t(lanes) * bytes.size), spread);
  if (!bytes.flipsLhs)
    return all;
  auto type = cast<VectorType>(all.getType());
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

Value emitByteDot(KernelBuilder &k, const CpuTarget &cpu, ByteSteps bytes, Value lhs, Value rhs,
                  Value acc) {
  return emitDot(k, cpu, bytes.lhsUnsigned != bytes.flipsLhs, bytes.rhsUnsigned, lhs, rhs, acc);
}

Value emitByteSum(KernelBuilder &k, const CpuTarget &cpu, ByteSteps bytes, Value rhs, Value acc) {
  auto type = cast<VectorType>(rhs.getType());
  Value ones =
      arith::ConstantOp::create(k.builder, k.loc, DenseElementsAttr::get(type, llvm::APInt(8, 1)));
  return emitByteDot(k, cpu, bytes, ones, rhs, acc); // 1 is 1 in either signedness
}

} // namespace tcc::codegen
